"""Random Fourier features of a Gaussian kernel, and a ridge regression on many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nb26stats._blas import one_blas_thread
from nb26stats._workers import on_arrival

from ._gcv import choose_penalty, loo_residuals
from ._krr import WIDTHS, typical

F64 = NDArray[np.float64]

N_FEATURES = 1024
"""Features of the regression that stands in for kernel ridge on many rows."""
SAMPLE = 500
"""Rows of which the median distance is taken."""
BLOCK = 4096
"""Rows whose features are computed at a time."""


@dataclass(frozen=True, eq=False)
class Features:
    """An intercept, the covariates, and cosines of random directions.

    Attributes
    ----------
    frequency : ndarray of shape (p, m)
        Directions; their scale is one over the width of the kernel.
    phase : ndarray of shape (m,)
        Offsets of the cosines.
    """

    frequency: F64
    phase: F64

    def __call__(self, x: F64) -> F64:
        """Return the features (n, 1 + p + m) of rows."""
        n, p = x.shape
        m = len(self.phase)
        out = np.empty((n, 1 + p + m))
        out[:, 0] = 1.0
        out[:, 1 : 1 + p] = x
        if m:
            with one_blas_thread():
                waves = np.matmul(x, self.frequency)
            waves += self.phase
            out[:, 1 + p :] = np.sqrt(2.0 / m) * np.cos(waves)
        return out


def draw_features(p: int, n_features: int, bandwidth: float, rng: np.random.Generator) -> Features:
    """Draw features of the kernel exp(-distance^2 / (2 bandwidth)); none without a covariate."""
    m = n_features if p else 0
    frequency = rng.normal(size=(p, m)) / np.sqrt(bandwidth)
    return Features(frequency, rng.uniform(0.0, 2.0 * np.pi, m))


def sampled_distance(x: F64) -> float:
    """Return the median squared distance of two of at most 500 rows, evenly picked."""
    from scipy.spatial.distance import pdist

    if x.shape[1] == 0:
        return 1.0
    rows = np.linspace(0, len(x) - 1, min(len(x), SAMPLE)).astype(np.int64)
    return typical(pdist(x[rows], "sqeuclidean"))


@dataclass(frozen=True, eq=False)
class FeatureRidge:
    """A fitted regression on features; see :class:`KernelRidge` for what the names mean."""

    loo: F64
    score: float
    penalty: float
    bandwidth: float
    centre: float
    features: Features
    coef: F64

    def predict(self, x: F64) -> F64:
        """Return predictions at rows that were not trained on."""
        out = np.empty(len(x))
        with one_blas_thread():
            for i in range(0, len(x), BLOCK):
                out[i : i + BLOCK] = self.features(x[i : i + BLOCK])[:, 1:] @ self.coef
        return out + self.centre


def fit_feature_ridge(
    x: F64,
    y: F64,
    weight: F64 | None = None,
    *,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> FeatureRidge:
    """Fit with the bandwidth and the penalty of least generalised cross-validation score.

    Parameters are those of :func:`fit_kernel_ridge`; ``rng`` draws one set of directions, which
    all bandwidths share.
    """
    unit = sampled_distance(x)
    drawn = draw_features(x.shape[1], N_FEATURES, 1.0, rng)
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    found: list[FeatureRidge] = Parallel(n_jobs=n_jobs)(
        delayed(on_arrival(_fit))(x, y, root, drawn, float(width) * unit) for width in WIDTHS
    )
    return min(found, key=lambda model: model.score)


def _fit(x: F64, y: F64, root: F64, drawn: Features, bandwidth: float) -> FeatureRidge:
    from scipy.linalg import eigh

    features = Features(drawn.frequency / np.sqrt(bandwidth), drawn.phase)
    centre = float(np.average(y, weights=root**2))
    target = root * (y - centre)
    rows = features(x)[:, 1:]
    rows *= root[:, None]
    with one_blas_thread():
        # the singular values and vectors of the features, by way of their products
        values, V = eigh(rows.T @ rows, driver="evd", overwrite_a=True, check_finite=False)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        values, V = values[kept], V[:, kept] / np.sqrt(values[kept])
        along = V.T @ (rows.T @ target)
        outside = max(float(target @ target - along @ along), 0.0)
        penalty, score = choose_penalty(values, along, len(y), outside)
        coef = V @ (along * values / (values + penalty))
        loo = y - loo_residuals(rows @ V, values, target, penalty) / root
    return FeatureRidge(loo, score, penalty, bandwidth, centre, features, coef)
