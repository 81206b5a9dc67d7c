"""The null distribution of z: estimated from its centre, theoretical, or given."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

MAX_ITER = 100
TOL = 1e-13
MAX_HALVINGS = 40
PASSES = 2
"""The window follows the estimate, and the two never settle; the published method looks twice."""
QUARTILE = 0.6744897501960817
MANY = 500_000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)


@dataclass(frozen=True)
class Null:
    """Share of null values and their normal distribution."""

    p0: float
    delta: float
    sigma: float


NONE = Null(math.nan, math.nan, math.nan)
"""What is reported of an estimate that does not exist."""


def sorted_quantile(ordered: F64, at: float) -> float:
    """Return the quantile of a sorted array, linear between order statistics."""
    place = at * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def centre_and_scale(ordered: F64) -> tuple[float, float]:
    """Return the median and the interquartile range in units of a normal's."""
    spread = sorted_quantile(ordered, 0.75) - sorted_quantile(ordered, 0.25)
    return sorted_quantile(ordered, 0.5), spread / (2 * QUARTILE)


def mle_null(ordered: F64) -> Null:
    """Return the normal distribution fitted to the values in a central window, truncated there.

    Parameters
    ----------
    ordered : ndarray of shape (n,)
        Sorted values.

    Returns
    -------
    Null
        All NaN where the values in the window have no peak that a normal could fit.
    """
    from scipy.special import ndtr

    n = len(ordered)
    half = 1.0 if n > MANY else 4.3 * math.exp(-0.26 * math.log10(n))
    delta, sigma = centre_and_scale(ordered)
    inside = np.empty(0)
    low = high = 0.0
    for _ in range(PASSES):
        low, high = delta - half * sigma, delta + half * sigma
        first, last = np.searchsorted(ordered, low), np.searchsorted(ordered, high, side="right")
        inside = ordered[first:last]
        if not len(inside):
            return NONE
        u = (inside - delta) / sigma
        found = truncated_normal(float(u.mean()), float(np.mean(u * u)), half)
        if found is None:
            return NONE
        delta, sigma = delta + sigma * found[0], sigma * found[1]
    mass = float(ndtr((high - delta) / sigma) - ndtr((low - delta) / sigma))
    if not mass > 0:
        return NONE
    return Null(len(inside) / n / mass, delta, sigma)


def truncated_normal(m1: float, m2: float, half: float) -> tuple[float, float] | None:
    """Return mean and SD of the normal whose part on ``[-half, half]`` has these two moments.

    The density on the window is ``exp(a u + b u**2)`` up to a factor, and its log-likelihood is
    concave in ``(a, b)``, so Newton's method with halved steps finds the optimum from anywhere.
    The moments are Gauss-Legendre sums, good to rounding for so smooth a function.

    Returns
    -------
    tuple of float, or None
        None where there is no optimum, or where ``b >= 0`` and the density has no peak.
    """
    u = half * NODES
    powers = np.stack([u, u * u])
    theta = np.array([0.0, -0.5])
    target = np.array([m1, m2])
    value, density = _log_partition(theta, powers)
    value -= float(theta @ target)
    for _ in range(MAX_ITER):
        mean = powers @ density
        centred = powers - mean[:, None]
        hessian = (centred * density) @ centred.T
        gradient = mean - target
        determinant = hessian[0, 0] * hessian[1, 1] - hessian[0, 1] ** 2
        if not determinant > 0:
            return None
        step = np.array(
            [
                hessian[0, 1] * gradient[1] - hessian[1, 1] * gradient[0],
                hessian[0, 1] * gradient[0] - hessian[0, 0] * gradient[1],
            ]
        )
        step /= determinant
        decrease = -float(gradient @ step)
        if decrease <= TOL * TOL or not math.isfinite(decrease):
            break
        for _ in range(MAX_HALVINGS):
            new, trial_density = _log_partition(theta + step, powers)
            new -= float((theta + step) @ target)
            # rounding hides gains below its own size
            if new <= value + 1e-14 * (1 + abs(value)):
                break
            step = step / 2
        theta, value, density = theta + step, new, trial_density
    else:
        return None
    if not theta[1] < 0:
        return None
    sigma = math.sqrt(-0.5 / theta[1])
    return float(theta[0]) * sigma * sigma, sigma


def _log_partition(theta: F64, powers: F64) -> tuple[float, F64]:
    """Return the log of the integral, and the weights of the nodes under the density."""
    log_density = theta @ powers
    top = float(log_density.max())
    weight = WEIGHTS * np.exp(log_density - top)
    total = float(weight.sum())
    return top + math.log(total), weight / total


def central_null(x: F64, f: F64, log_f: F64, inner: NDArray[np.bool_]) -> Null:
    """Return the normal distribution whose log density is the parabola through the fitted centre.

    Parameters
    ----------
    x, f, log_f : ndarray of shape (k,)
        Centres of bins, fitted counts and their logarithm.
    inner : ndarray of shape (k,)
        Which bins are central.

    Returns
    -------
    Null
        All NaN where the parabola opens upwards or too few bins are central.
    """
    if inner.sum() < 3:
        return NONE
    top = float(x[np.argmax(f)])
    # in units of the window, so that the squares are neither lost nor too large
    unit = float(np.abs(x[inner] - top).max())
    u = (x - top) / unit
    c0, c1, c2 = np.polynomial.polynomial.polyfit(u[inner], log_f[inner], 2)
    if not c2 < 0:
        return NONE
    delta, sigma = top - unit * c1 / (2 * c2), unit / math.sqrt(-2 * c2)
    with np.errstate(over="ignore"):
        p0 = float(np.exp(c0 + c1 * u + c2 * u * u).sum() / f.sum())
    return Null(p0, float(delta), float(sigma)) if math.isfinite(p0) else NONE


def normal_counts(x: F64, delta: float, sigma: float, total: float) -> F64:
    """Return a normal density at ``x``, scaled so that it sums to ``total``."""
    log_density = -0.5 * ((x - delta) / sigma) ** 2
    density = np.exp(log_density - log_density.max())
    return np.asarray(density * (total / density.sum()))


def central_share(f: F64, f0: F64, inner: NDArray[np.bool_]) -> float:
    """Return the share of null values that makes both densities agree on the central bins."""
    null = float(f0[inner].sum())
    return float(f[inner].sum()) / null if null > 0 else math.nan
