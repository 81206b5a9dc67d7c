"""The measure ``delta``: how far either channel is from being a degraded copy of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

F64 = NDArray[np.float64]

TOLERANCE = 1e-10
MOST_STEPS = 2000


def delta_unions(
    covs: F64, dims: tuple[int, int, int], information: F64, factors: F64 | None
) -> tuple[F64, F64 | None]:
    """Return the union information that the deficiencies imply, and its mean over draws.

    With D_X the deficiency of Y as a simulator of X and D_Y the other way round, the redundancy is
    min(I_X - D_X, I_Y - D_Y) (Venkatesh & Schamberg 2022).

    Parameters
    ----------
    covs : ndarray of shape (m, d, d)
        Joint covariances in the order X, Y, M.
    dims : tuple of int
        Numbers of variables (dx, dy, dm).
    information : ndarray of shape (m, 4)
        I_X, I_Y and I_XY of the covariances in nats, and a fourth column that is not read.
    factors : ndarray of shape (B, d, d), or None
        Lower factors A of draws L A A' L'.

    Returns
    -------
    union : ndarray of shape (m,)
        In nats.
    mean : ndarray of shape (m,), or None
        Its mean over the draws.
    """
    union = np.array(
        [_union(cov, dims, four[:2]) for cov, four in zip(covs, information, strict=True)]
    )
    if factors is None:
        return union, None
    mean = np.empty(len(covs))
    for p, cov in enumerate(covs):
        root = np.linalg.cholesky(cov)
        drawn = [root @ factor for factor in factors]
        mean[p] = np.mean([_union(t @ t.T, dims, None) for t in drawn])
    return union, mean


def deficiency(h_x: F64, h_y: F64) -> float:
    """Return the least divergence, in nats, of a simulation of X from Y, averaged over M.

    The channels are X = h_x M + noise and Y = h_y M + noise with M and the noises white. The
    simulation is T Y + noise, so its covariance V given M is at least T T'. Over V the optimum is
    known: with A = I + R R', R = h_x - T h_y, it is A with the eigenvalues of A^-1/2 T T' A^-1/2
    raised to at least 1. What remains is smooth in T, and has one minimum because the problem is
    convex in V^-1 and V^-1 T.

    Parameters
    ----------
    h_x, h_y : ndarray of shape (dx, dm), (dy, dm)
        Gains.

    Returns
    -------
    float
        At least 0; 0 where X is a degraded copy of Y.
    """
    dx, dy = len(h_x), len(h_y)
    start = np.linalg.solve(np.eye(dy) + h_y @ h_y.T, h_y @ h_x.T).T

    def objective(flat: F64) -> tuple[float, F64]:
        t = flat.reshape(dx, dy)
        value, slope = _divergence(t, h_x, h_y)
        return value, slope.ravel()

    options: Any = {"maxiter": MOST_STEPS, "maxcor": 30, "ftol": 1e-15, "gtol": TOLERANCE}
    done = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return max(0.0, float(done.fun))


def _divergence(t: F64, h_x: F64, h_y: F64) -> tuple[float, F64]:
    """Return the objective of ``deficiency`` at T, and its gradient."""
    rest = h_x - t @ h_y
    low = np.linalg.cholesky(np.eye(len(t)) + rest @ rest.T)
    inner = solve_triangular(low, t, lower=True)
    vectors, roots, _ = np.linalg.svd(inner, full_matrices=True)
    squares = np.zeros(len(t))
    squares[: len(roots)] = roots**2
    raised = np.maximum(1.0, squares)
    value = float(np.log(np.diag(low)).sum()) + 0.5 * float(
        np.sum(1.0 / raised + np.log(raised) - 1.0)
    )
    # V^-1 = F diag(1 / raised) F', and the multiplier of V >= T T' is F diag(.) F' as well
    frame = solve_triangular(low, vectors, lower=True, trans="T")
    precision = (frame / raised) @ frame.T
    multiplier = (frame * (0.5 * (1.0 / raised - 1.0 / raised**2))) @ frame.T
    slope: F64 = -precision @ rest @ h_y.T + 2.0 * multiplier @ t
    return value, slope


def _union(cov: F64, dims: tuple[int, int, int], alone: F64 | None) -> float:
    dx, dy, _ = dims
    blocks = (slice(0, dx), slice(dx, dx + dy), slice(dx + dy, None))
    h_x, h_y = (_gains(cov, block, blocks[2]) for block in blocks[:2])
    if alone is None:
        alone = np.array([0.5 * np.linalg.slogdet(np.eye(len(h)) + h @ h.T)[1] for h in (h_x, h_y)])
    i_x, i_y = (float(v) for v in alone)
    redundancy = min(i_x - deficiency(h_x, h_y), i_y - deficiency(h_y, h_x))
    return i_x + i_y - redundancy


def _gains(cov: F64, source: slice, target: slice) -> F64:
    """Return H of the source as H M + noise, with M and the noise white."""
    low_m = cholesky(cov[target, target], lower=True)
    cross = solve_triangular(low_m, cov[target, source], lower=True).T
    low = cholesky(cov[source, source] - cross @ cross.T, lower=True)
    out: F64 = solve_triangular(low, cross, lower=True)
    return out
