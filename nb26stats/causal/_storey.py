"""Share of true nulls among p-values, and q-values."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from nb26stats._warnings import warn

F64 = NDArray[np.float64]

LAMBDA = np.arange(1, 20) / 20
LAMBDA.setflags(write=False)
SPLINE_DF = 3.0


def pi0_curve(ordered: F64) -> F64:
    """Return the estimate of pi0 at every lambda, from sorted p-values."""
    above = len(ordered) - np.searchsorted(ordered, LAMBDA)
    return np.asarray(above / len(ordered) / (1.0 - LAMBDA))


def estimate_pi0(ordered: F64, curve: F64, method: str) -> float:
    """Return pi0 by "smoother" or "bootstrap"; where that is not positive, by the next method.

    The order is smoother, bootstrap, 1.
    """
    if method == "smoother":
        value = min(1.0, float(smoother_weights() @ curve))
        if value > 0:
            return value
        after = _bootstrap(len(ordered), curve)
        warn(
            f'pi0="smoother" gives {value:.3g}, for hardly any p-value is large; '
            + (f'pi0="bootstrap" is used: {after:.3g}' if after > 0 else "pi0 = 1 is used")
        )
        return after if after > 0 else 1.0
    value = _bootstrap(len(ordered), curve)
    if value > 0:
        return value
    warn('pi0="bootstrap" gives 0, for no p-value is large; pi0 = 1 is used')
    return 1.0


def _bootstrap(m: int, curve: F64) -> float:
    above = curve * m * (1.0 - LAMBDA)
    least = np.quantile(curve, 0.1)
    error = above / (m * (1.0 - LAMBDA)) ** 2 * (1.0 - above / m) + (curve - least) ** 2
    return min(1.0, float(curve[error == error.min()].min()))


@functools.lru_cache(maxsize=1)
def smoother_weights() -> F64:
    """Return the weights that give the smoothing spline's value at the last lambda.

    The spline is the natural cubic one with as many effective degrees of freedom as SPLINE_DF
    says, in Reinsch's form; it is linear in the values, and the lambdas are always the same.
    """
    from scipy.optimize import brentq

    n, h = len(LAMBDA), LAMBDA[1] - LAMBDA[0]
    q = np.zeros((n, n - 2))
    r = np.zeros((n - 2, n - 2))
    for j in range(n - 2):
        q[j : j + 3, j] = np.array([1.0, -2.0, 1.0]) / h
        r[j, j] = 2.0 * h / 3.0
        if j:
            r[j, j - 1] = r[j - 1, j] = h / 6.0
    penalty = q @ np.linalg.solve(r, q.T)
    size, direction = np.linalg.eigh((penalty + penalty.T) / 2)
    size = np.maximum(size, 0.0)
    size[:2] = 0.0  # straight lines cost nothing

    def surplus(log_a: float) -> float:
        return float(np.sum(1.0 / (1.0 + math.exp(log_a) * size))) - SPLINE_DF

    top = math.log(size[-1])
    a = math.exp(brentq(surplus, -top - 10.0, -top + 40.0, xtol=1e-13))
    weights = (direction[-1] / (1.0 + a * size)) @ direction.T
    weights.setflags(write=False)
    return np.asarray(weights)


def q_of(p: F64, order: NDArray[np.int64], pi0: float) -> F64:
    """Return the q-values of p-values whose sorting order is known."""
    rank = np.arange(1, len(p) + 1)
    falling = np.minimum.accumulate((pi0 * len(p) * p[order] / rank)[::-1])[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(falling, 1.0)
    return out
