"""Union information of Gaussian sources by minimising over the coupling of their noises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def coupled(h_x: F64, h_y: F64, cross: F64) -> tuple[float, F64]:
    """Return I(M; X, Y) in nats where the noises have this cross-covariance, and its gradient.

    X = h_x M + noise and Y = h_y M + noise with M and both noises white.
    """
    dx = len(h_x)
    gains = np.vstack([h_x, h_y])
    noise = np.block([[np.eye(dx), cross], [cross.T, np.eye(len(h_y))]])
    solved = np.linalg.solve(noise, gains)
    precision = np.eye(gains.shape[1]) + gains.T @ solved
    gradient = -solved @ np.linalg.solve(precision, solved.T)
    return 0.5 * float(np.linalg.slogdet(precision)[1]), gradient[:dx, dx:]


def union_by_descent(h_x: F64, h_y: F64, iterations: int = 6000) -> float:
    """Return the least of `coupled`: projected gradient, singular values clipped below one."""
    cross = np.zeros((len(h_x), len(h_y)))
    value, gradient = coupled(h_x, h_y, cross)
    step = 1.0
    for _ in range(iterations):
        while True:
            u, s, vt = np.linalg.svd(cross - step * gradient, full_matrices=False)
            moved = (u * np.minimum(s, 1 - 1e-12)) @ vt
            new, new_gradient = coupled(h_x, h_y, moved)
            if new <= value - 1e-4 / step * np.sum((moved - cross) ** 2):
                break
            step *= 0.5
            if step < 1e-14:
                return value
        change = np.abs(moved - cross).max()
        cross, value, gradient, step = moved, new, new_gradient, 1.6 * step
        if change < 1e-12:
            break
    return value


def union_coupling(h_x: F64, h_y: F64) -> F64:
    """Return the cross-covariance of the noises that attains the union information.

    C* is the largest covariance below both posteriors; a channel with information J* = C*^-1 - I
    degrades into either source.
    """
    c_x, c_y = (np.linalg.inv(np.eye(h.shape[1]) + h.T @ h) for h in (h_x, h_y))
    root = np.linalg.cholesky(c_x)
    half = np.linalg.solve(root, c_y)
    values, vectors = np.linalg.eigh(np.linalg.solve(root, half.T))
    axes = root @ vectors
    best = (axes * np.minimum(1.0, values)) @ axes.T
    needed = np.linalg.inv(best) - np.eye(len(best))
    out: F64 = h_x @ np.linalg.pinv(needed) @ h_y.T
    return out
