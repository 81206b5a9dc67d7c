"""Confidence regions for the rows of loadings, one ellipsoid per feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_prob
from nb26stats._results import Result

from ._inference import F64, basis_rows, rotated, row_covariances

if TYPE_CHECKING:
    import pandas as pd

SINGULAR = 1e-10
# deviations of this many units in the last place are rounding, not spread
ROUNDING = 16.0
SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class RowRegions(Result):
    """One ellipsoid per feature for its row of loadings; ``OjaPCA.row_regions`` makes them.

    The region of feature i is the set of v with (c - v)' S^-1 (c - v) <= r^2 for its centre c and
    covariance S. Unpacks into ``centre, cov, radius2``.

    Attributes
    ----------
    centre : ndarray of shape (d, k)
        Loadings, ``components_.T``.
    cov : ndarray of shape (d, k, k)
        Mean square deviation of the replicates' rows after rotation towards the estimate.
    radius2 : float
        Squared radius: the chi-square quantile of ``level`` for k degrees of freedom.
    row_radius2 : ndarray of shape (d,)
        The same for each row's own rank; below ``radius2`` where a covariance is singular.
    rank : ndarray of shape (d,)
        Rank of each covariance; with less than k its pseudoinverse is used.
    level : float
        Coverage of each region on its own.
    features : ndarray of shape (d,)
        Names of the features, or their numbers from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import OjaPCA
    >>> X = np.random.default_rng(0).normal(size=(2000, 4)) * [3, 1, 1, 1]
    >>> regions = OjaPCA(1, n_bootstrap=99, random_state=0).fit(X).row_regions(level=0.99)
    >>> regions.nonzero.tolist()
    [True, False, False, False]
    >>> regions.contains([[1], [0], [0], [0]]).tolist()
    [True, True, True, True]
    """

    centre: F64
    cov: F64
    radius2: float
    row_radius2: F64
    rank: NDArray[np.int64]
    level: float
    features: NDArray[Any]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.centre, self.cov, self.radius2))

    def _distance2(self, rows: F64) -> F64:
        values, vectors = np.linalg.eigh(self.cov)
        along = ((self.centre - rows)[:, None, :] @ vectors)[:, 0, :]
        # eigenvalues ascend, so that those in use are the last ones
        used = np.arange(values.shape[1]) >= values.shape[1] - self.rank[:, None]
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=used)
        return np.asarray(np.sum(along**2 * inverse, axis=1))

    @property
    def nonzero(self) -> NDArray[np.bool_]:
        """Which features have loadings that are not all zero at this level, (d,).

        The row of a feature is zero exactly when it has no part in the subspace, whatever basis is
        chosen in it.
        """
        return np.asarray(self._distance2(np.zeros_like(self.centre)) > self.row_radius2)

    def contains(self, V: ArrayLike) -> NDArray[np.bool_]:
        """Return for each feature whether its region holds the row of a given subspace.

        Parameters
        ----------
        V : array-like of shape (d, k)
            Columns that span the subspace; they are made orthonormal and turned within their span
            as close to the estimate as they get, which is what the regions are for.

        Returns
        -------
        ndarray of bool, shape (d,)
            True where the region holds the row.

        Raises
        ------
        ValueError
            For another shape, or columns that are linearly dependent.
        """
        d, k = self.centre.shape
        names = self.features if self.features.dtype.kind in "OU" else None
        rows = rotated(self.centre.T, basis_rows(V, k, d, names)[None])[0].T
        return np.asarray(self._distance2(rows) <= self.row_radius2)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per loading.

        Returns
        -------
        pandas.DataFrame
            Columns ``feature``, ``component``, ``loading`` and ``standard_error``.
        """
        import pandas as pd

        d, k = self.centre.shape
        spread = np.sqrt(np.diagonal(self.cov, axis1=1, axis2=2))
        return pd.DataFrame(
            {
                "feature": np.repeat(self.features, k),
                "component": np.tile(np.arange(k), d),
                "loading": self.centre.ravel(),
                "standard_error": spread.ravel(),
            }
        )

    def summary(self) -> str:
        """Return a text table: how many features take part, and the most certain of them.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        d, k = self.centre.shape
        distance = self._distance2(np.zeros_like(self.centre))
        order = np.argsort(-distance, kind="stable")[:SHOWN]
        lines = [
            f"Regions of the rows of loadings, level {self.level:g}",
            "=" * 60,
            f"{'features':<40}{d:>20d}",
            f"{'components':<40}{k:>20d}",
            f"{'squared radius':<40}{self.radius2:>20.5g}",
            f"{'regions that leave out zero':<40}{int(self.nonzero.sum()):>20d}",
            f"{'regions of less than full rank':<40}{int(np.sum(self.rank < k)):>20d}",
            "-" * 60,
            f"{'feature':<24}{'length of row':>18}{'squared distance':>18}",
        ]
        lines += [
            f"{str(self.features[i])[:23]:<24}{np.linalg.norm(self.centre[i]):>18.4f}"
            f"{distance[i]:>18.4g}"
            for i in order
        ]
        if d > SHOWN:
            lines.append(f"… {d - SHOWN} more features, all nearer to zero in this distance")
        return "\n".join(lines)


def make_regions(
    directions: F64, replicates: F64, level: float, dtype: str, features: NDArray[Any]
) -> RowRegions:
    """Return regions from orthonormal rows (k, d) and their replicates (B, k, d)."""
    from scipy.special import gammaincinv

    level = as_prob(level, "level")
    cov = row_covariances(directions, replicates)
    values = np.linalg.eigvalsh(cov)
    least = (ROUNDING * float(np.finfo(dtype).eps)) ** 2
    rank = np.sum(values > np.maximum(SINGULAR * values[:, -1:], least), axis=1)
    k = cov.shape[1]
    # chi-square quantiles of 0, 1, ..., k degrees of freedom
    quantiles = np.r_[0.0, 2.0 * gammaincinv(np.arange(1, k + 1) / 2.0, level)]
    return RowRegions(
        centre=np.ascontiguousarray(directions.T),
        cov=cov,
        radius2=float(quantiles[k]),
        row_radius2=quantiles[rank],
        rank=rank.astype(np.int64),
        level=level,
        features=features,
    )
