"""Kernel ridge regression with a Gaussian kernel, tuned by generalised cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nb26stats._blas import one_blas_thread
from nb26stats._workers import on_arrival

from ._gcv import choose_penalty, loo_residuals

F64 = NDArray[np.float64]

WIDTHS: F64 = np.geomspace(0.25, 64.0, 6)
"""Bandwidths to try, as multiples of the median squared distance of two rows."""
BLOCK = 2048
"""Rows predicted at a time."""


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """A fitted regression.

    Attributes
    ----------
    loo : ndarray of shape (n,)
        Prediction of every row from all others.
    score : float
        Generalised cross-validation score.
    penalty, bandwidth : float
        Settings of least score; the kernel is exp(-distance^2 / (2 bandwidth)).
    centre : float
        Mean of the outcome, to which predictions shrink.
    x : ndarray of shape (n, p)
        Training rows.
    coef : ndarray of shape (n,)
        Weights of their kernels.
    """

    loo: F64
    score: float
    penalty: float
    bandwidth: float
    centre: float
    x: F64
    coef: F64

    def predict(self, x: F64) -> F64:
        """Return predictions at rows that were not trained on."""
        from scipy.spatial.distance import cdist

        out = np.empty(len(x))
        with one_blas_thread():
            for i in range(0, len(x), BLOCK):
                squared = cdist(x[i : i + BLOCK], self.x, "sqeuclidean")
                out[i : i + BLOCK] = np.exp(squared / (-2.0 * self.bandwidth)) @ self.coef
        return out + self.centre


def fit_kernel_ridge(
    x: F64, y: F64, weight: F64 | None = None, *, n_jobs: int | None = None
) -> KernelRidge:
    """Fit with the bandwidth and the penalty of least generalised cross-validation score.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Covariates on comparable scales.
    y : ndarray of shape (n,)
        Outcome.
    weight : ndarray of shape (n,), optional
        How often each row counts. Leaving a row out leaves out all of its copies.
    n_jobs : int, optional
        Jobs over bandwidths.
    """
    from scipy.spatial.distance import pdist, squareform

    pairs = pdist(x, "sqeuclidean")
    squared = squareform(pairs)
    unit = typical(pairs)
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    found: list[KernelRidge] = Parallel(n_jobs=n_jobs)(
        delayed(on_arrival(_fit))(x, y, root, squared, float(width) * unit) for width in WIDTHS
    )
    return min(found, key=lambda model: model.score)


def typical(squared_distances: F64) -> float:
    """Return the median squared distance; where most rows coincide, the mean of the others."""
    middle = float(np.median(squared_distances))
    if middle > 0.0:
        return middle
    apart = squared_distances[squared_distances > 0.0]
    return float(apart.mean()) if len(apart) else 1.0


def _fit(x: F64, y: F64, root: F64, squared: F64, bandwidth: float) -> KernelRidge:
    from scipy.linalg import eigh

    # rows and columns times the roots of the weights: a weighted problem becomes a plain one
    kernel = np.exp(squared / (-2.0 * bandwidth))
    kernel *= root[:, None]
    kernel *= root
    centre = float(np.average(y, weights=root**2))
    target = root * (y - centre)
    with one_blas_thread():
        values, Q = eigh(kernel, driver="evd", overwrite_a=True, check_finite=False)
        np.maximum(values, 0.0, out=values)
        along = Q.T @ target
        penalty, score = choose_penalty(values, along, len(y))
        loo = y - loo_residuals(Q, values, target, penalty) / root
        coef = root * (Q @ (along / (values + penalty)))
    return KernelRidge(loo, score, penalty, bandwidth, centre, x, coef)
