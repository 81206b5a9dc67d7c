"""Default fits of mice end no lower than many restarts of scipy's L-BFGS-B."""

from __future__ import annotations

import numpy as np
import pytest
from learning_optimum import fitted, searched
from learning_tools import mice, needs_mice

ENOUGH = 0.5


@needs_mice
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_default_fits_are_no_worse_than_many_restarts_of_scipy(architecture: str) -> None:
    table = mice()
    names = list(table["animal"].unique())[:6]
    gains = []
    for name in names:
        own = table[table["animal"] == name]
        best = searched(own, architecture, 40, seed=1).max()
        gains.append(fitted(own, architecture, seed=0).loglik_ - best)
    print(architecture, dict(zip(names, np.round(gains, 2), strict=True)))
    # 95 % of all mice: at most one of six
    assert np.sum(np.array(gains) >= -ENOUGH) >= len(names) - 1
