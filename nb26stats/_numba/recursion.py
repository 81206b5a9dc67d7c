"""Mixing densities on a grid: predictive recursion and expectation-maximisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel

NOTHING = 1e-290
"""Density, as a part of the highest, below which the rest of a row is left at zero."""


@kernel
def normal_table(
    y: NDArray[np.float64], start: float, step: float, scale: float, out: NDArray[np.float64]
) -> None:
    """Fill row i of ``out`` with the normal densities of ``y[i]`` around equally spaced points.

    From the nearest point outward each value is the last one times a ratio that shrinks by a
    constant factor; after m points that is exact to about m^2 / 2 roundings.
    """
    points = out.shape[1]
    height = 1.0 / (scale * np.sqrt(2.0 * np.pi))
    factor = np.exp(-((step / scale) ** 2))
    for i in range(y.size):
        out[i, :] = 0.0
        nearest = int(min(max(np.rint((y[i] - start) / step), 0.0), points - 1.0))
        off = y[i] - (start + nearest * step)
        first = np.exp(-0.5 * (off / scale) ** 2)
        for side in (1, -1):
            value = first
            ratio = np.exp((side * off * step - 0.5 * step * step) / scale**2)
            g = nearest
            while 0 <= g < points and value > NOTHING:
                out[i, g] = height * value
                value *= ratio
                ratio *= factor
                g += side


@kernel
def predictive_recursion(
    table: NDArray[np.float64],
    orders: NDArray[np.int64],
    step: float,
    least: float,
    total: NDArray[np.float64],
) -> float:
    """Add up the mixing densities of all sweeps in ``total``; return their log predictive density.

    ``table`` holds the densities of the observations around equally spaced points ``step`` apart,
    each row of ``orders`` one sweep through the rows of the table (Newton 2002, Sankhya A 64, 306).
    A predictive density counts as ``least`` where it is lower.
    """
    n, points = orders.shape[1], table.shape[1]
    whole = points - points % 8
    u = np.empty(points)
    f = np.empty(points)
    # once for all sweeps: a power costs as much as fifty points of the grid
    gain = np.empty(n)
    for i in range(n):
        gain[i] = (3.0 + i) ** -0.67
    log_predictive = 0.0
    for sweep in range(orders.shape[0]):
        u[:] = 1.0 / (step * (points - 1))
        for i in range(n):
            row = table[orders[sweep, i]]
            for g in range(points):
                f[g] = u[g] * row[g]
            # eight sums, so that additions need not wait for one another
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for g in range(0, whole, 8):
                a0 += f[g]
                a1 += f[g + 1]
                a2 += f[g + 2]
                a3 += f[g + 3]
                a4 += f[g + 4]
                a5 += f[g + 5]
                a6 += f[g + 6]
                a7 += f[g + 7]
            mass = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))
            for g in range(whole, points):
                mass += f[g]
            mass = max(step * (mass - 0.5 * (f[0] + f[points - 1])), least)
            old, new = 1.0 - gain[i], gain[i] / mass
            for g in range(points):
                u[g] = old * u[g] + new * f[g]
            log_predictive += np.log(mass)
        for g in range(points):
            total[g] += u[g]
    return log_predictive


@kernel
def mixture_em(
    table: NDArray[np.float64],
    use: NDArray[np.bool_],
    weights: NDArray[np.float64],
    tol: float,
    max_iter: int,
    path: NDArray[np.float64],
) -> int:
    """Climb to the most likely weights of the columns of ``table`` for the rows in ``use``.

    ``path`` takes the log-likelihood after every iteration; returns their number. Stops when an
    iteration gains less than ``tol`` of it.
    """
    n, points = table.shape
    whole = points - points % 8
    share = np.empty(points)
    part = np.empty(points)
    before = -np.inf
    for iteration in range(max_iter):
        share[:] = 0.0
        log_likelihood, count = 0.0, 0
        for i in range(n):
            if not use[i]:
                continue
            row = table[i]
            for g in range(points):
                part[g] = weights[g] * row[g]
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for g in range(0, whole, 8):
                a0 += part[g]
                a1 += part[g + 1]
                a2 += part[g + 2]
                a3 += part[g + 3]
                a4 += part[g + 4]
                a5 += part[g + 5]
                a6 += part[g + 6]
                a7 += part[g + 7]
            density = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))
            for g in range(whole, points):
                density += part[g]
            density = max(density, 1e-300)
            log_likelihood += np.log(density)
            count += 1
            inverse = 1.0 / density
            for g in range(points):
                share[g] += inverse * row[g]
        path[iteration] = log_likelihood
        if log_likelihood - before <= tol * abs(log_likelihood):
            return iteration + 1
        before = log_likelihood
        for g in range(points):
            weights[g] *= share[g] / count
    return max_iter
