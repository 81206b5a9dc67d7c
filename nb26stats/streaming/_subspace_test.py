"""Test of a given subspace against the replicates' errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._results import Result

from ._inference import F64, basis_rows, subspace_errors

if TYPE_CHECKING:
    import pandas as pd

# sines of angles up to this many units in the last place are rounding
ROUNDING = 16.0
METRIC_NAMES = {
    "sin2_fro": "sum of squared sines",
    "sin2_op": "largest squared sine",
    "sin_op": "largest sine",
    "projection_fro": "distance of projections",
}


@dataclass(frozen=True, repr=False)
class SubspaceTest(Result):
    """Whether the components span a given subspace; ``OjaPCA.subspace_test`` makes it.

    Attributes
    ----------
    statistic : float
        Distance of the estimate from the given subspace.
    pvalue : float
        Share of the replicates, the estimate counted as one of them, that lie at least as far from
        the estimate.
    metric : str
        The distance.
    n_bootstrap : int
        Number of replicates B; the smallest p-value is 1 / (B + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import OjaPCA
    >>> X = np.random.default_rng(0).normal(size=(2000, 4)) * [3, 1, 1, 1]
    >>> test = OjaPCA(1, n_bootstrap=99, random_state=0).fit(X).subspace_test([[0], [1], [0], [0]])
    >>> test.pvalue
    0.01
    """

    statistic: float
    pvalue: float
    metric: str
    n_bootstrap: int

    def to_frame(self) -> pd.DataFrame:
        """Return the test as a table of one row.

        Returns
        -------
        pandas.DataFrame
            Columns ``statistic``, ``pvalue``, ``metric`` and ``n_bootstrap``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "statistic": [self.statistic],
                "pvalue": [self.pvalue],
                "metric": [self.metric],
                "n_bootstrap": [self.n_bootstrap],
            }
        )

    def summary(self) -> str:
        """Return the test as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        least = 1.0 / (self.n_bootstrap + 1)
        lines = [
            "Test of a subspace against bootstrap replicates",
            "=" * 52,
            f"{'H0':<24}{'span = V':>28}",
            f"{METRIC_NAMES[self.metric]:<24}{self.statistic:>28.4g}",
            f"{'p-value':<24}{self.pvalue:>28.4g}",
            f"{'replicates':<24}{self.n_bootstrap:>28d}",
            "-" * 52,
        ]
        if self.pvalue <= least * (1 + 1e-9):
            lines.append(f"* the p-value is the smallest that {self.n_bootstrap} replicates allow")
        return "\n".join(lines)


def make_test(
    V: object,
    metric: str,
    directions: F64,
    replicates: F64,
    dtype: str,
    names: NDArray[Any] | None,
) -> SubspaceTest:
    """Return the test of span(V) for orthonormal rows (k, d) and their replicates (B, k, d)."""
    k, d = directions.shape
    errors = subspace_errors(directions, replicates, metric)
    basis = basis_rows(V, k, d, names)
    statistic = float(subspace_errors(basis, directions[None], metric)[0])
    sine = float(np.sqrt(subspace_errors(basis, directions[None], "sin2_fro")[0]))
    # a distance within rounding speaks for nothing, even if replicates agree to more digits
    exact = sine <= ROUNDING * float(np.finfo(dtype).eps)
    beyond = len(errors) if exact else int(np.sum(errors >= statistic))
    return SubspaceTest(
        statistic=statistic,
        pvalue=(1 + beyond) / (len(errors) + 1),
        metric=metric,
        n_bootstrap=len(errors),
    )
