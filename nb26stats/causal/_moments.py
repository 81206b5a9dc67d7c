"""Whether treated residuals are further from zero than the controls', in standard errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def excess_z(treated: F64, control: F64, weight: F64 | None = None) -> float:
    """Return the difference of two means over its standard error.

    Parameters
    ----------
    treated, control : ndarray
        Residuals, or their squares.
    weight : ndarray, optional
        Weights of the controls that make their covariates like those of the treated rows.
    """
    if weight is None:
        mean, variance = float(control.mean()), float(control.var()) / len(control)
    else:
        # sums, not products: BLAS splits long ones over threads
        share = weight / weight.sum()
        mean = float(np.sum(share * control))
        variance = float(np.sum((share * (control - mean)) ** 2))
    error = np.sqrt(float(treated.var()) / len(treated) + variance)
    return (float(treated.mean()) - mean) / float(error)
