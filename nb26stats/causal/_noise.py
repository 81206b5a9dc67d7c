"""Density of the noise around a regression, from residuals that were predicted out of sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline
from scipy.special import softmax

from nb26stats._numba.piecewise import evaluate_cubic
from nb26stats._numba.recursion import mixture_em, normal_table, predictive_recursion

F64 = NDArray[np.float64]
N_POINTS = 200
MARGIN = 0.1
"""Part of the range of the residuals that the grid goes beyond them."""
N_SWEEPS, N_SCALES, N_FOLDS = 10, 30, 5
SCALES = (0.05, 1.5)
"""Widths of the mixed normals, in standard deviations of the residuals."""
FLOOR = 1e-8
"""Density below which the logarithm is not followed, as a part of its maximum."""
EM_TOL, EM_ITER, EM_SCALES = 1e-8, 500, 10
ROUGH_TOL = 1e-6
"""Gain at which a fit stops that only ranks widths."""
LEAST = 1e-10
"""Least predictive density of a residual; less where residuals spread by more than 1."""
GAUSSIAN_REACH = 12.0
SWEEPS, FOLDS = 2, 3
"""Purposes of random numbers: orders of sweeps, folds."""


@dataclass(frozen=True, eq=False)
class Noise:
    """A density by its logarithm, a cubic on equal intervals that falls along lines outside.

    Parameters
    ----------
    start, step : float
        Left end of the first interval, and their length.
    coefficients : ndarray of shape (n_intervals, 4)
        Cubics in the distance from the left end, highest power first.
    ends : ndarray of shape (4,)
        Value and slope of the line on the left, then on the right.
    """

    start: float
    step: float
    coefficients: F64
    ends: F64

    def log_density_and_score(self, r: F64) -> tuple[F64, F64]:
        """Return log g and its derivative at residuals of any shape."""
        x = np.ascontiguousarray(r, dtype=np.float64)
        value, slope = np.empty(x.size), np.empty(x.size)
        evaluate_cubic(x.ravel(), self.start, self.step, self.coefficients, self.ends, value, slope)
        return value.reshape(x.shape), slope.reshape(x.shape)

    def log_density(self, r: F64) -> F64:
        """Return log g at residuals of any shape."""
        return self.log_density_and_score(r)[0]

    def score(self, r: F64) -> F64:
        """Return the derivative of log g at residuals of any shape."""
        return self.log_density_and_score(r)[1]


def fit_noise(
    residuals: F64, *, kind: str, seed: int, on_done: Callable[[int], object] | None = None
) -> Noise:
    """Return the density of residuals.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        Out-of-sample residuals of the controls.
    kind : {"predictive_recursion", "npmle", "gaussian"}
        A mixture of normals by predictive recursion, averaged over widths by their predictive
        likelihood; the most likely mixture, its width by held-out likelihood; or one normal.
    seed : int
        Key of the orders of the sweeps, or of the folds.
    on_done : callable, optional
        Called with 1 after each width.

    Raises
    ------
    ValueError
        If the residuals do not vary, or not enough for their size to be told.
    """
    y = np.ascontiguousarray(residuals, dtype=np.float64)
    spread = float(y.std())
    if not spread > 1e-12 * float(np.abs(y).max(initial=0.0)):
        raise ValueError(
            "the residuals of the controls do not vary: their outcome follows from the covariates, "
            "and there is no noise to compare the treated with"
        )
    if kind == "gaussian":
        return _gaussian(float(np.sqrt(np.mean(y**2))))
    grid = grid_of(y)
    fit = _npmle if kind == "npmle" else _recursion
    return from_grid(grid, fit(y, grid, spread, seed, on_done or (lambda _: None)))


def grid_of(y: F64) -> F64:
    """Return the points on which mixtures of the residuals live."""
    low, high = float(y.min()), float(y.max())
    return np.linspace(low - MARGIN * (high - low), high + MARGIN * (high - low), N_POINTS)


def from_grid(grid: F64, density: F64) -> Noise:
    """Return the spline of the logarithm of a density on a grid, falling outward at its ends."""
    value = np.log(np.maximum(density, FLOOR * density.max()))
    spline = CubicSpline(grid, value, bc_type="natural")
    width = float(grid[-1] - grid[0])
    left = max(float(spline(grid[0], 1)), 1 / width)
    right = min(float(spline(grid[-1], 1)), -1 / width)
    return Noise(
        start=float(grid[0]),
        step=width / (len(grid) - 1),
        coefficients=np.ascontiguousarray(spline.c.T),
        ends=np.array([value[0], left, value[-1], right]),
    )


def orders(n: int, seed: int, n_sweeps: int = N_SWEEPS) -> NDArray[np.int64]:
    """Return the orders in which sweeps go through ``n`` residuals."""
    return np.array(
        [
            np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SWEEPS, i))).permutation(
                n
            )
            for i in range(n_sweeps)
        ],
        dtype=np.int64,
    )


def _recursion(
    y: F64, grid: F64, spread: float, seed: int, on_done: Callable[[int], object]
) -> F64:
    scales = spread * np.geomspace(*SCALES, N_SCALES)
    sweeps, step = orders(len(y), seed), float(grid[1] - grid[0])
    # in large units every density is low, and none of them tells an outlier
    least = LEAST / max(spread, 1.0)
    table = np.empty((len(y), len(grid)))
    evidence, mixtures = np.empty(N_SCALES), np.empty((N_SCALES, len(grid)))
    for k, scale in enumerate(scales):
        total = np.zeros(len(grid))
        normal_table(y, grid[0], step, scale, table)
        evidence[k] = predictive_recursion(table, sweeps, step, least, total) / N_SWEEPS
        mixtures[k] = _mixed(grid, total, scale)
        on_done(1)
    return _normalised(grid, softmax(evidence) @ mixtures)


def _npmle(y: F64, grid: F64, spread: float, seed: int, on_done: Callable[[int], object]) -> F64:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(FOLDS, 0)))
    fold = rng.permutation(len(y)) % N_FOLDS
    table, path = np.empty((len(y), len(grid))), np.empty(EM_ITER)
    step = float(grid[1] - grid[0])
    scales = spread * np.geomspace(*SCALES, EM_SCALES)
    held_out = np.empty(EM_SCALES)
    for k, scale in enumerate(scales):
        normal_table(y, grid[0], step, scale, table)
        held_out[k] = 0.0
        for f in range(N_FOLDS):
            weights = np.full(len(grid), 1 / len(grid))
            mixture_em(table, fold != f, weights, ROUGH_TOL, EM_ITER, path)
            # einsum adds in one order; a matrix product may not
            seen = np.einsum("ig,g->i", table[fold == f], weights)
            held_out[k] += np.log(np.maximum(seen, 1e-300)).sum()
        on_done(1)
    scale = scales[int(np.argmax(held_out))]
    normal_table(y, grid[0], step, scale, table)
    weights = np.full(len(grid), 1 / len(grid))
    mixture_em(table, np.ones(len(y), dtype=bool), weights, EM_TOL, EM_ITER, path)
    return _mixed(grid, weights, scale)


def _mixed(grid: F64, weights: F64, scale: float) -> F64:
    """Return the normalised mixture of normals around the grid points."""
    table = np.empty((len(grid), len(grid)))
    normal_table(grid, grid[0], grid[1] - grid[0], scale, table)
    return _normalised(grid, np.einsum("ig,g->i", table, weights))


def _normalised(grid: F64, density: F64) -> F64:
    return np.asarray(density / trapezoid(density, grid))


def _gaussian(sd: float) -> Noise:
    """Return a normal density around 0; the parabola is exact for 12 standard deviations."""
    reach = GAUSSIAN_REACH * sd
    top = -float(np.log(sd)) - 0.5 * float(np.log(2 * np.pi))
    edge = top - 0.5 * GAUSSIAN_REACH**2
    slope = GAUSSIAN_REACH / sd
    # two intervals that meet in the middle: powers of the distance from their left ends
    left = [0.0, -0.5 / sd**2, slope, edge]
    right = [0.0, -0.5 / sd**2, 0.0, top]
    return Noise(-reach, reach, np.array([left, right]), np.array([edge, slope, edge, -slope]))
