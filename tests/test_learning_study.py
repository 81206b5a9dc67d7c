"""All mice that began naive: what their choices say about architectures."""

from __future__ import annotations

import pytest
from learning_tools import mice, needs_mice

from nb26stats.learning import compare_architectures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@needs_mice
def test_one_layer_is_never_best() -> None:
    table = compare_architectures(mice(), random_state=0, n_jobs=2)
    n = len(table.index.unique("animal"))
    assert n == mice()["animal"].nunique()
    assert table.attrs["fair"]
    assert table.attrs["n_best"]["1L"] == 0
    assert table.attrs["n_best_bic"]["1L"] == 0
    # no tie either: every mouse is far from one layer
    assert (table["verdict"].xs("1L", level="architecture") == "worse").all()
    assert (table["dbic"].xs("1L", level="architecture") > 4.0).all()
    print(table.attrs["n_best"], table.attrs["n_best_bic"], table.attrs["n_tied"])
