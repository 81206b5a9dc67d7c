"""Where the trials of the mice lie, which are no part of the package."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

FILE = Path(
    os.environ.get(
        "NB26STATS_MICE",
        str(Path(__file__).parents[2] / "shared" / "data" / "mice" / "mice_trials.csv.gz"),
    )
)
needs_mice = pytest.mark.skipif(
    not FILE.is_file(), reason="the trials of the mice have no licence and are not shipped"
)


@cache
def mice() -> pd.DataFrame:
    """All naive mice, with the columns that tables of several animals have."""
    table = pd.read_csv(FILE).rename(
        columns={"mouse": "animal", "signed_contrast": "contrast", "choice_right": "choice"}
    )
    return table[table["animal"] != "DAP044"].reset_index(drop=True)
