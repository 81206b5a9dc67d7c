"""How far the joint correlations are moved towards the identity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_choice, as_float

F64 = NDArray[np.float64]

BY_DATA = ("ledoit-wolf", "oas")


def standardised(x: F64) -> F64:
    """Return columns of mean 0 and sample variance 1; every column varies."""
    centred = x - x.mean(axis=0)
    out: F64 = centred / np.sqrt((centred**2).sum(axis=0) / (len(x) - 1))
    return out


def as_regularization(value: object) -> str | float | None:
    """Return a clean setting: None, a name, or a weight in [0, 1]."""
    if value is None:
        return None
    if isinstance(value, str):
        return as_choice(value, "regularization", BY_DATA)
    return as_float(value, "regularization", minimum=0.0, maximum=1.0)


def shrinkage_weight(z: F64, regularization: str | float | None) -> float:
    """Return the weight of the identity for standardised columns ``z``.

    Parameters
    ----------
    z : ndarray of shape (n, d)
        All columns of sources and target, standardised.
    regularization : {None, "ledoit-wolf", "oas"} or float
        No shrinkage, the weight of Ledoit & Wolf (2004) or of Chen et al. (2010), or the weight.

    Returns
    -------
    float
        Weight in [0, 1].
    """
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    if regularization == "ledoit-wolf":
        return float(ledoit_wolf_shrinkage(z, assume_centered=True))
    if regularization == "oas":
        return float(oas(z, assume_centered=True)[1])
    return float(regularization or 0.0)


def shrunk(correlation: F64, weight: float) -> F64:
    """Return correlations moved towards the identity by ``weight``."""
    out = (1.0 - weight) * correlation
    np.fill_diagonal(out, 1.0)
    return out
