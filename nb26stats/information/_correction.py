"""Which bins stand out from the permutations, for all bins of a course together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Flags = NDArray[np.bool_]

CLUSTER_FORMING = 2.33
# information closer than this counts as equal: exact zeros must tie in spite of rounding
DIGITS = 12
EQUAL = 1e-11


def fewest_permutations(alpha: float) -> int:
    """Return the smallest number of permutations whose p-values reach ``alpha``."""
    return math.ceil(1.0 / alpha - 1e-9) - 1


def order_number(alpha: float, n_permutations: int) -> int:
    """Return the number, from 1, of the maximum that is the threshold."""
    return math.ceil((1.0 - alpha) * (n_permutations + 1) - 1e-9)


@dataclass(frozen=True, eq=False)
class Corrected:
    """Rows of atoms against their null.

    Attributes
    ----------
    mean, sd : ndarray (rows,)
        Mean and standard deviation of the null over permutations and bins.
    z, p : ndarray (rows, bins)
        Standardised values and corrected p-values.
    significant : ndarray (rows, bins)
        Whether p is at most alpha.
    by_maximum : ndarray (rows, bins)
        The same by the maximum over bins, whichever correction was asked for; latencies use it.
    threshold : ndarray (rows,)
        Value of z above which a bin passes the maximum.
    """

    mean: F64
    sd: F64
    z: F64
    p: F64
    significant: Flags
    by_maximum: Flags
    threshold: F64


def null_moments(null: F64) -> tuple[F64, F64]:
    """Return mean and standard deviation (rows,) over permutations and bins of (P, rows, bins)."""
    rows = [np.round(null[:, i], DIGITS) for i in range(null.shape[1])]
    return np.array([r.mean() for r in rows]), np.array([r.std() for r in rows])


def standardise(values: F64, mean: F64, sd: F64) -> F64:
    """Return z of values (..., rows, bins); infinite beside a null that never varies."""
    difference = np.round(values, DIGITS) - mean[..., None]
    flat = sd[..., None] < EQUAL
    difference = np.where(flat & (np.abs(difference) < EQUAL), 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / np.where(flat, 0.0, sd[..., None])
    return np.where(difference == 0.0, 0.0, z)


def standardise_by_others(null: F64) -> F64:
    """Return z of each permutation (P, bins) by the mean and deviation of the other ones.

    The data do not enter their own null, so neither must a permutation where z of several rows, or
    z and a fixed number, are compared: few permutations would otherwise look too tame.
    """
    null = np.round(null, DIGITS)
    count, n_bins = null.shape
    centre = null.mean()
    apart = null - centre
    others = (count - 1) * n_bins
    mean = (apart.sum() - apart.sum(axis=1)) / others
    square = (apart**2).sum()
    variance = (square - (apart**2).sum(axis=1)) / others - mean**2
    # what is left of equal numbers after they cancelled
    variance[variance < 1e-12 * square / others] = 0.0
    return standardise(null, centre + mean, np.sqrt(variance))


def correct(
    values: F64, null: F64, tested: Flags, *, alpha: float, correction: str, scope: str
) -> Corrected:
    """Compare values (rows, bins) with null (permutations, rows, bins).

    Parameters
    ----------
    values, null : ndarray
        Observed and permuted values.
    tested : ndarray (rows,)
        Rows that the null says something about; the others get NaN.
    alpha : float
        Level.
    correction : {"max", "cluster"}
        Maximum of z over bins, or mass of runs of bins above a fixed z.
    scope : {"separate", "all"}
        Whether each row has its own null of maxima, or all tested rows share one.
    """
    mean, sd = null_moments(null)
    z = standardise(values, mean, sd)
    maxima = np.empty((len(null), len(values)))
    masses = np.empty_like(maxima)
    apart = len(null) > 2 and (scope == "all" or correction == "cluster")
    for i in range(len(values)):
        permuted = standardise(null[:, i], mean[i : i + 1], sd[i : i + 1])
        others = standardise_by_others(null[:, i]) if apart else permuted
        maxima[:, i] = (others if scope == "all" else permuted).max(axis=1)
        if correction == "cluster":
            masses[:, i] = _running_mass(others).max(axis=1)
    maxima = _shared(maxima, tested, scope)
    number = order_number(alpha, len(null))
    threshold = np.partition(maxima, number - 1, axis=0)[number - 1]
    by_p = _p_values(z, maxima)
    by_maximum = (by_p <= alpha + 1e-12) & tested[:, None]
    p = by_p if correction == "max" else _p_of_clusters(z, _shared(masses, tested, scope))
    significant = (p <= alpha + 1e-12) & tested[:, None]
    out = [np.where(tested, x, np.nan) for x in (mean, sd, threshold)]
    z, p = (np.where(tested[:, None], x, np.nan) for x in (z, p))
    return Corrected(out[0], out[1], z, p, significant, by_maximum, out[2])


def _shared(maxima: F64, tested: Flags, scope: str) -> F64:
    if scope == "separate":
        return maxima
    return np.repeat(maxima[:, tested].max(axis=1, keepdims=True), maxima.shape[1], axis=1)


def _p_values(statistic: F64, maxima: F64) -> F64:
    """Return (1 + number of maxima at or above the statistic) / (P + 1), row by row."""
    count = len(maxima)
    ordered = np.sort(maxima, axis=0)
    out = np.empty_like(statistic)
    for i, row in enumerate(statistic):
        out[i] = (1 + count - np.searchsorted(ordered[:, i], row, side="left")) / (count + 1)
    return out


def _running_mass(z: F64) -> F64:
    """Return, bin by bin, the sum of z over the run of bins above the forming value so far."""
    out = np.empty_like(z)
    mass = np.zeros(z.shape[:-1])
    for b in range(z.shape[-1]):
        above = z[..., b] > CLUSTER_FORMING
        mass = np.where(above, mass + np.where(above, z[..., b], 0.0), 0.0)
        out[..., b] = mass
    return out


def _p_of_clusters(z: F64, masses: F64) -> F64:
    """Return the p-value of the cluster each bin is in, 1 outside clusters."""
    running = _running_mass(z)
    mass = np.zeros_like(z)
    for b in range(z.shape[1] - 1, -1, -1):
        ends = (
            running[:, b]
            if b == z.shape[1] - 1
            else np.where(running[:, b + 1] > 0, mass[:, b + 1], running[:, b])
        )
        mass[:, b] = np.where(running[:, b] > 0, ends, 0.0)
    p = _p_values(mass, masses)
    return np.where(mass > 0, p, 1.0)
