"""What a fitted model hands to the selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Fitted quantities at the n rows of :class:`Rows`.

    Attributes
    ----------
    lfdr : ndarray of shape (n,)
        Out-of-sample local false discovery rate of treated rows; NaN at controls.
    control_score : ndarray of shape (n,)
        The same formula at controls, out of sample; NaN at treated rows.
    prior : ndarray of shape (n,)
        Estimated prior of response, or its lower bound.
    null_mean : ndarray of shape (n,)
        Mean outcome without response, in units of y.
    effect : ndarray of shape (n,) or None
        Effect of response in units of y, where the model has one number for it.
    ess : ndarray of shape (n,)
        Effective number of controls behind a row; NaN where the model has no neighbours.
    """

    lfdr: F64
    control_score: F64
    prior: F64
    null_mean: F64
    effect: F64 | None
    ess: F64
