"""Ridge penalty by generalised cross-validation, and leave-one-out residuals, of a linear smoother.

The smoother is given by the orthonormal eigenvectors Q of its kernel and their eigenvalues L, so
that all penalties cost one decomposition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

PENALTIES: F64 = np.logspace(-5.0, 5.0, 50)


def choose_penalty(
    eigenvalues: F64, along: F64, n: int, outside: float = 0.0
) -> tuple[float, float]:
    """Return the penalty of least generalised cross-validation score, and that score.

    Parameters
    ----------
    eigenvalues : ndarray of shape (m,)
        Of the kernel, none negative.
    along : ndarray of shape (m,)
        Coordinates Q'y of the outcome.
    n : int
        Rows; m, or more where the kernel has a lower rank.
    outside : float
        Squared norm of the part of the outcome that is orthogonal to Q.
    """
    left = PENALTIES[:, None] / (eigenvalues + PENALTIES[:, None])
    squares = ((left * along) ** 2).sum(axis=1) + outside
    freedom = left.sum(axis=1) + (n - len(eigenvalues))
    score = n * squares / freedom**2
    best = int(score.argmin())
    return float(PENALTIES[best]), float(score[best])


def loo_residuals(Q: F64, eigenvalues: F64, y: F64, penalty: float) -> F64:
    """Return every outcome less its prediction from all other rows.

    With the smoother's residuals e and diagonal h it is e / (1 - h); both are computed from what
    the penalty leaves over, so that rows which fit themselves lose no digits.
    """
    n, m = Q.shape
    left = penalty / (eigenvalues + penalty)
    along = Q.T @ y
    residual, rest = Q @ (left * along), (Q * Q) @ left
    if m < n:
        residual += y - Q @ along
        rest += 1.0 - (Q * Q).sum(axis=1)
    return np.asarray(residual / rest)
