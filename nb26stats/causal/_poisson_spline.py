"""Density of z by Lindsey's method: counts in bins, a Poisson fit with a natural spline."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

TOL = 1e-12
MAX_ITER = 100
MAX_HALVINGS = 30
FUZZ = 1e-7
"""Share of a bin within which a value counts as lying on the break below it, as R's ``hist``."""
LOWEST = -500.0
"""Least log of a fitted count: empty stretches have a fit of zero, and zero has no log."""


@dataclass(frozen=True, eq=False)
class Binned:
    """Counts in equal bins and their smooth fit.

    Attributes
    ----------
    x : ndarray of shape (k,)
        Centres of the bins.
    counts : ndarray of shape (k,)
        Values in each bin.
    f : ndarray of shape (k,)
        Fitted counts.
    log_f : ndarray of shape (k,)
        Their logarithm.
    misfit : float
        Mean squared Pearson-like residual of the inner bins, 1 where the spline fits.
    """

    x: F64
    counts: F64
    f: F64
    log_f: F64
    misfit: float


def fit_counts(z: F64, n_breaks: int, df: int) -> Binned:
    """Return the fit to the histogram of ``z``, whose values are not all equal."""
    breaks = np.linspace(z.min(), z.max(), n_breaks)
    x = (breaks[:-1] + breaks[1:]) / 2
    # bins are closed on the right, the first on both sides
    edges = breaks[1:-1] + FUZZ * (breaks[1] - breaks[0])
    counts = np.bincount(np.searchsorted(edges, z), minlength=len(x)).astype(np.float64)
    log_f = poisson_fit(counts, spline_basis(len(x), df))
    f = np.exp(log_f)
    inner = slice(1, -1)
    misfit = float(np.sum((counts - f)[inner] ** 2 / (f[inner] + 1.0)) / (len(x) - 2 - df))
    return Binned(x, counts, f, log_f, misfit)


@functools.lru_cache(maxsize=16)
def spline_basis(n: int, df: int) -> F64:
    """Return an orthonormal basis of natural cubic splines at ``n`` equally spaced points.

    There is a knot at each end and ``df - 1`` at the quantiles between; the basis spans constants
    too, so it has ``df + 1`` columns. Equal spacing makes it the same for all data.
    """
    x = np.linspace(0.0, 1.0, n)
    knots = np.linspace(0.0, 1.0, df + 1)
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    steps = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    columns = np.column_stack([np.ones(n), x, steps[:, :-1] - steps[:, -1:]])
    basis = np.ascontiguousarray(np.linalg.qr(columns)[0])
    basis.setflags(write=False)
    return basis


def poisson_fit(counts: F64, basis: F64) -> F64:
    """Return the log of the fitted means, by reweighted least squares with halved steps."""
    from scipy.linalg import lstsq

    eta = np.log(counts + 0.1)
    inside: F64 | None = None  # the last fit that lies in the space of the basis
    loss = np.inf
    for _ in range(MAX_ITER):
        mean = np.exp(eta)
        root = np.sqrt(mean)
        right = root * eta + (counts - mean) / root
        # pivoted QR stays defined where empty bins leave columns without weight
        found = lstsq(root[:, None] * basis, right, lapack_driver="gelsy", check_finite=False)
        new = basis @ found[0]
        if inside is not None:
            new = _shorter(counts, inside, new, loss)
        new = np.clip(new, LOWEST, -LOWEST)
        old, loss = loss, _loss(counts, new)
        inside = eta = new
        if abs(old - loss) <= TOL * (abs(loss) + 0.1):
            break
    return eta


def _loss(counts: F64, eta: F64) -> float:
    return float(np.sum(np.exp(np.clip(eta, LOWEST, -LOWEST)) - counts * eta))


def _shorter(counts: F64, old: F64, new: F64, loss: float) -> F64:
    """Return ``new``, or a point on the way to it that is no worse than ``old``."""
    step = 1.0
    for _ in range(MAX_HALVINGS):
        trial = old + step * (new - old)
        if _loss(counts, trial) <= loss + TOL * (abs(loss) + 0.1):
            return np.asarray(trial)
        step /= 2
    return old
