"""The additive responder model by its formulas, slowly: every fit from scratch, nothing shared.

Noise is normal here, so that the effect's fit is a linear system; the package's other densities
are tested where they are built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PENALTIES = np.logspace(-5, 5, 50)
WIDTHS = np.geomspace(0.25, 64, 6)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def kernel(a: Array, b: Array, bandwidth: float) -> Array:
    """Return exp(-|a - b|^2 / (2 bandwidth)) for every pair."""
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / (2 * bandwidth))


def median_distance(x: Array) -> float:
    """Return the median squared distance over pairs of rows."""
    first, second = np.triu_indices(len(x), 1)
    return float(np.median(((x[first] - x[second]) ** 2).sum(axis=1)))


def kernel_ridge(x: Array, y: Array, new: Array, bandwidth: float, penalty: float) -> Array:
    """Return predictions at ``new``; ``y`` is centred already."""
    coef = np.linalg.solve(kernel(x, x, bandwidth) + penalty * np.eye(len(x)), y)
    return kernel(new, x, bandwidth) @ coef


def leave_one_out(x: Array, y: Array, bandwidth: float, penalty: float) -> Array:
    """Return the prediction of every row by a fit to the others, all centred alike."""
    out = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        out[i] = kernel_ridge(x[rest], y[rest] - y.mean(), x[i : i + 1], bandwidth, penalty)[0]
    return out + y.mean()


def gcv(x: Array, y: Array, bandwidth: float, penalty: float) -> float:
    """Return the generalised cross-validation score of kernel ridge regression."""
    n, k = len(y), kernel(x, x, bandwidth)
    hat = k @ np.linalg.inv(k + penalty * np.eye(n))
    residual = (y - y.mean()) - hat @ (y - y.mean())
    return float((residual**2).mean() / (1 - np.trace(hat) / n) ** 2)


def features(x: Array, frequency: Array, phase: Array) -> Array:
    """Return intercept, covariates and cosines."""
    waves = np.sqrt(2 / len(phase)) * np.cos(x @ frequency + phase)
    return np.column_stack([np.ones(len(x)), x, waves])


def _penalty(m: int, ridge: float) -> Array:
    return np.diag(np.r_[0.0, np.full(m - 1, ridge)])


def fit_effect(phi: Array, r: Array, weight: Array, variance: float, ridge: float) -> Array:
    """Return coefficients of the effect under normal noise."""
    left = (phi.T * weight) @ phi / variance + _penalty(phi.shape[1], ridge)
    return np.linalg.solve(left, phi.T @ (weight * r) / variance)


def fit_prior(phi: Array, omega: Array, counts: Array, ridge: float) -> Array:
    """Return coefficients of the log odds, by many plain steps of Newton."""
    coef, penalty = np.zeros(phi.shape[1]), _penalty(phi.shape[1], ridge)
    for _ in range(200):
        p = sigmoid(phi @ coef)
        slope = phi.T @ (counts * (p - omega)) + penalty @ coef
        curvature = (phi.T * (counts * p * (1 - p))) @ phi + penalty
        # half a step never overshoots on these data
        coef = coef - 0.5 * np.linalg.solve(curvature, slope)
    return coef


@dataclasses.dataclass
class Fit:
    """What EM ends with."""

    omega: Array
    effect: Array
    log_odds: Array
    effect_coef: Array
    prior_coef: Array
    n_iter: int


def em(
    phi: Array,
    r: Array,
    variance: float,
    fold: NDArray[np.int64],
    omega: Array,
    ridges: Sequence[float],
    max_iter: int,
    tol: float,
) -> Fit:
    """Alternate as the model says, with every coefficient fitted anew."""
    n, ones = len(r), np.ones(len(r))
    chosen = [ridges[0], ridges[0]]
    step = 0
    while True:
        choose = step < 5 or (step + 1) % 10 == 0
        tables: list[dict[float, Array]] = [{}, {}]
        for which, table in enumerate(tables):
            for ridge in ridges if choose else [chosen[which]]:
                table[ridge] = np.empty(n)
                for k in np.unique(fold):
                    a, b = fold != k, fold == k
                    coef = (
                        fit_effect(phi[a], r[a], omega[a], variance, ridge)
                        if which == 0
                        else fit_prior(phi[a], omega[a], ones[a], ridge)
                    )
                    table[ridge][b] = phi[b] @ coef
        if choose:
            loss = {v: float((omega * (r - d) ** 2).sum()) for v, d in tables[0].items()}
            chosen[0] = min(loss, key=lambda v: loss[v])
            loss = {
                v: float((np.log(1 + np.exp(eta)) - omega * eta).sum())
                for v, eta in tables[1].items()
            }
            chosen[1] = min(loss, key=lambda v: loss[v])
        d, eta = tables[0][chosen[0]], tables[1][chosen[1]]
        new = sigmoid(eta + (r**2 - (r - d) ** 2) / (2 * variance))
        change, omega, step = np.abs(new - omega).mean(), new, step + 1
        if change < tol or step == max_iter:
            break
    return Fit(
        omega,
        d,
        eta,
        fit_effect(phi, r, omega, variance, chosen[0]),
        fit_prior(phi, omega, ones, chosen[1]),
        step,
    )
