"""Trials, problems and real animals for tests of learning rules."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.learning import det

from nb26stats.learning._box import Box, box
from nb26stats.learning._model import F64, Model
from nb26stats.learning._optimize import Task
from nb26stats.learning._trials import Trials

MICE = Path(
    os.environ.get("NB26STATS_MICE")
    or Path(__file__).parents[2] / "shared" / "data" / "mice" / "mice_trials.csv.gz"
)
# the file has no licence that lets it come with the package
ABSENT = "the trials of the mice are not on this machine: NB26STATS_MICE names the file"
needs_mice = pytest.mark.skipif(not MICE.is_file(), reason=ABSENT)


def mice() -> pd.DataFrame:
    """Trials of all mice that began naive, with the columns of a table of animals."""
    table = pd.read_csv(MICE).rename(
        columns={"mouse": "animal", "signed_contrast": "contrast", "choice_right": "choice"}
    )
    return table[table["animal"] != "DAP044"].reset_index(drop=True)


def mouse(name: str) -> pd.DataFrame:
    """Trials of one mouse, with the columns of the file; skips the test where that is absent."""
    if not MICE.is_file():
        pytest.skip(ABSENT)
    table = pd.read_csv(MICE)
    return table[table["mouse"] == name].reset_index(drop=True)


def fixed_trials(n: int) -> Trials:
    """Trials made by arithmetic: first fixed, then correct choices."""
    x, choice, reward, side, _ = det(n)
    return Trials(x, choice, reward, side, None, np.ones(n, dtype=bool))


def problem(model: Model, trials: Trials, u: F64, region: Box | None = None) -> Task:
    """The problem of maximising the likelihood of all counted trials from one or more starts."""
    region = box(model) if region is None else region
    starts = np.atleast_2d(u)
    n = len(starts)
    return Task(
        trials=trials,
        masks=trials.mask[None],
        which_mask=np.zeros(n, dtype=np.int64),
        starts=starts,
        free=np.tile(region.free, (n, 1)),
        lower=region.lower,
        upper=region.upper,
    )
