"""Local false discovery rates from a density of p-values that may only fall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

NARROWEST = 1e-290
"""Least distance between p-values whose slope is still a number."""


def grenander(p: F64, pi0: float) -> F64:
    """Return ``pi0`` over the slope of the least concave majorant of the distribution of p."""
    from sklearn.isotonic import isotonic_regression

    value, place, count = np.unique(p, return_inverse=True, return_counts=True)
    gap = np.diff(value, prepend=0.0)
    lfdr = np.zeros(len(value))
    # a p-value of 0 is a jump, so its slope has no end
    some = gap > 0
    if not some.any():
        return lfdr[place.reshape(-1)]
    width = np.maximum(gap[some], NARROWEST)
    slope = isotonic_regression(
        count[some] / (len(p) * width), sample_weight=width, increasing=False
    )
    lfdr[some] = np.minimum(1.0, pi0 / slope)
    return lfdr[place.reshape(-1)]
