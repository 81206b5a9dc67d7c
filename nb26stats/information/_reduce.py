"""Principal axes of a population."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

F64 = NDArray[np.float64]

SMALLEST_SHARE = 1e-12
"""Variance relative to the first axis below which an axis is rounding."""


def principal_axes(cov: F64, k: int) -> F64:
    """Return orthonormal axes of the largest variance.

    Parameters
    ----------
    cov : ndarray of shape (d, d)
        Covariance of the population.
    k : int
        Number of axes wanted.

    Returns
    -------
    ndarray of shape (d, at most min(k, d))
        Axes by falling variance; fewer than min(k, d) where the rest has none.
    """
    d = len(cov)
    values, vectors = eigh(cov, subset_by_index=[d - min(k, d), d - 1])
    kept = values > SMALLEST_SHARE * values[-1]
    axes: F64 = vectors[:, kept][:, ::-1]
    return axes
