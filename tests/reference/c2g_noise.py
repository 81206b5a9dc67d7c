"""Noise densities by plain NumPy loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid

F64 = NDArray[np.float64]


def normal(y: F64, mean: F64, scale: float) -> F64:
    """Return the density of N(mean, scale^2)."""
    return np.asarray(np.exp(-0.5 * ((y - mean) / scale) ** 2) / (scale * np.sqrt(2 * np.pi)))


def recursion(y: F64, grid: F64, scale: float, orders: NDArray[np.int64]) -> tuple[float, F64]:
    """Return the mean log predictive density and the mean mixing density over the sweeps."""
    evidence, mean = 0.0, np.zeros(len(grid))
    for order in orders:
        u = np.full(len(grid), 1 / (grid[-1] - grid[0]))
        for i, j in enumerate(order):
            f = u * normal(y[j], grid, scale)
            mass = max(1e-10, ((f[1:] + f[:-1]) @ np.diff(grid)) / 2)
            step = (3 + i) ** -0.67
            u = (1 - step) * u + step * f / mass
            evidence += np.log(mass)
        mean += u
    return evidence / len(orders), mean / len(orders)


def averaged(y: F64, grid: F64, scales: F64, orders: NDArray[np.int64]) -> F64:
    """Return the density on the grid, averaged over the scales by their evidence."""
    evidence, parts = [], []
    for scale in scales:
        log_mass, u = recursion(y, grid, scale, orders)
        z = (u * normal(grid[:, None], grid, scale)).sum(axis=1)
        evidence.append(log_mass)
        parts.append(z / trapezoid(z, grid))
    weights = np.exp(np.array(evidence) - max(evidence))
    out = (weights / weights.sum()) @ np.array(parts)
    return np.asarray(out / trapezoid(out, grid))


def em_step(weights: F64, table: F64) -> tuple[F64, float]:
    """Return the weights of the mixture after one step, and the log-likelihood before it."""
    density = table @ weights
    return weights * (table / density[:, None]).mean(axis=0), float(np.log(density).sum())
