"""Slow oracle of the Gaussian decomposition: closed form in plain NumPy and SciPy, in nats.

Covariances have the order X, Y, M; the four values are I_X, I_Y, I_XY and the union information.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

Floats = NDArray[np.float64]


def whitened_gain(cov: Floats, target: slice, source: Any) -> Floats:
    """Return K with ``I - K K'`` the posterior covariance of the whitened target."""
    low_m = cholesky(cov[target, target], lower=True)
    low_s = cholesky(cov[np.ix_(source, source)], lower=True)
    cross = solve_triangular(low_m, cov[target][:, source], lower=True)
    gain: Floats = solve_triangular(low_s, cross.T, lower=True).T
    return gain


def posteriors(cov: Floats, dims: tuple[int, int, int]) -> tuple[Floats, Floats, Floats]:
    """Return the posterior covariances of the whitened target given X, Y and both."""
    dx, dy, dm = dims
    target = slice(dx + dy, dx + dy + dm)
    index = np.arange(dx + dy)
    gains = [whitened_gain(cov, target, s) for s in (index[:dx], index[dx:], index)]
    c_x, c_y, c_xy = (np.eye(dm) - gain @ gain.T for gain in gains)
    return c_x, c_y, c_xy


def information(cov: Floats, dims: tuple[int, int, int]) -> Floats:
    """Return I_X, I_Y, I_XY and the union information of the optimal coupling."""
    c_x, c_y, c_xy = posteriors(cov, dims)
    i_x, i_y, i_xy = (-0.5 * float(np.linalg.slogdet(c)[1]) for c in (c_x, c_y, c_xy))
    ratio = np.log(eigh(c_y, c_x, eigvals_only=True))
    union = i_x + 0.5 * float(np.maximum(0.0, -ratio).sum())
    return np.array([i_x, i_y, i_xy, union])


def mean_of_draws(cov: Floats, dims: tuple[int, int, int], factors: Floats) -> Floats:
    """Return the mean of the four values over the covariances ``L A A' L'``."""
    low = np.linalg.cholesky(cov)
    draws = [low @ factor for factor in factors]
    return np.mean([information(t @ t.T, dims) for t in draws], axis=0)


def channels_covariance(r: Floats, k: Floats) -> tuple[Floats, tuple[int, int, int]]:
    """Return the joint covariance behind white coordinates, and its dimensions.

    ``r`` (dy, dx + dy) gives Y in the coordinates (z_x, z_{y|x}), ``k`` (dm, dx + dy) the gains of
    the whitened target on them.
    """
    dy, d = r.shape
    dm = k.shape[0]
    dx = d - dy
    to_xy = np.vstack([np.eye(dx, d), r])
    white = np.block([[np.eye(d), k.T], [k, np.eye(dm)]])
    change = np.block([[to_xy, np.zeros((d, dm))], [np.zeros((dm, d)), np.eye(dm)]])
    return change @ white @ change.T, (dx, dy, dm)


def lattice_covariance(dm: int, dx: int, dy: int, k: int) -> Floats:
    """Return a fixed well-conditioned covariance without random numbers, order X, Y, M."""
    n = dm + dx + dy
    i, j = np.arange(n)[:, None], np.arange(2 * n + 1)[None]
    a = ((3 * i**2 + 5 * j + k * i * j + 1) % 7) - 3.0
    cov = a @ a.T / (2 * n + 1) + 0.5 * np.eye(n)
    order = np.r_[dm : dm + dx + dy, :dm]
    return cov[np.ix_(order, order)]


def channel_covariance(h_x: Floats, h_y: Floats, noise: Floats | None = None) -> Floats:
    """Return the covariance (X, Y, M) of ``X = h_x M + e``, ``Y = h_y M + f`` with white M.

    ``noise`` (dx, dy) is the covariance of e and f, each of which is white.
    """
    h = np.vstack([h_x, h_y])
    dx = len(h_x)
    joint = np.eye(len(h))
    if noise is not None:
        joint[:dx, dx:], joint[dx:, :dx] = noise, noise.T
    return np.block([[h @ h.T + joint, h], [h.T, np.eye(h.shape[1])]])
