"""Gaussian partial information the slow way: by formula, and by minimising over couplings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def posterior(cov: F64, given: NDArray[np.intp], target: NDArray[np.intp]) -> F64:
    """Return the covariance of the target given some variables."""
    cross = cov[np.ix_(target, given)]
    own = cov[np.ix_(given, given)]
    out: F64 = cov[np.ix_(target, target)] - cross @ np.linalg.solve(own, cross.T)
    return out


def information(cov: F64, dims: tuple[int, int, int]) -> F64:
    """Return I_X, I_Y, I_XY and I_U in nats of a covariance in the order X, Y, M.

    The eigenvalues of the pencil (C_Y, C_X) are those of L^-1 C_Y L^-T, C_X = L L'.
    """
    x = np.arange(dims[0])
    y = np.arange(dims[0], dims[0] + dims[1])
    target = np.arange(dims[0] + dims[1], sum(dims))
    c_x, c_y = posterior(cov, x, target), posterior(cov, y, target)
    c_xy = posterior(cov, np.concatenate([x, y]), target)
    whole = np.linalg.slogdet(cov[np.ix_(target, target)])[1]
    i_x, i_y, i_xy = (0.5 * (whole - np.linalg.slogdet(c)[1]) for c in (c_x, c_y, c_xy))
    root = np.linalg.cholesky(c_x)
    half = np.linalg.solve(root, c_y)
    logs = np.log(np.linalg.eigvalsh(np.linalg.solve(root, half.T)))
    return np.array([i_x, i_y, i_xy, i_x - 0.5 * logs[logs < 0].sum()])


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


def channel_covariance(h_x: F64, h_y: F64) -> F64:
    """Return the covariance of X, Y, M for white M and independent white noises."""
    root = np.block(
        [
            [np.eye(len(h_x)), np.zeros((len(h_x), len(h_y))), h_x],
            [np.zeros((len(h_y), len(h_x))), np.eye(len(h_y)), h_y],
            [np.zeros((h_x.shape[1], len(h_x) + len(h_y))), np.eye(h_x.shape[1])],
        ]
    )
    out: F64 = root @ root.T
    return out


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
