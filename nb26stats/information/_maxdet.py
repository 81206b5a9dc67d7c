"""The largest covariance below several others: maximise log det C subject to C <= C_i."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

F64 = NDArray[np.float64]

FIRST = 0.9
SHRINK = 0.15
GAP = 1e-10 * float(np.log(2))
"""Nats of mutual information within which the optimum is certified."""
MOST_STEPS = 400
NEAR = 0.25
"""Squared Newton decrement, over mu, below which multipliers are positive and mu falls."""
LEAST_BARRIER = 1e-13
MOST_HALVINGS = 50
MOST_VAIN = 3
"""Lower barriers in a row that may fail to improve the certificate."""
ROUNDING = 1e-14


class Largest(NamedTuple):
    """A feasible C and how far it may be from the optimum."""

    log_det: float
    gap: float
    """Bound on half of what log det C lacks, in nats."""


def largest_below(covs: F64) -> Largest:
    """Return the largest log det of a C that no C_i - C makes indefinite.

    A barrier method: Newton steps on log det C + mu sum log det (C_i - C) over the entries of the
    lower triangle, mu falling. For any positive definite Z_i the optimum is at most
    ``sum tr Z_i C_i - d - log det sum Z_i``, which certifies the gap of whatever C was reached;
    Z_i is mu (C_i - C)^-1 where the next Newton step will take it.

    Parameters
    ----------
    covs : ndarray of shape (k, d, d)
        Positive definite matrices.

    Returns
    -------
    Largest
        log det C and the gap.
    """
    k, d = covs.shape[:2]
    rows, columns = np.tril_indices(d)
    # an entry off the diagonal stands for two
    twice = np.where(rows == columns, 1.0, 2.0)
    root = np.linalg.cholesky(np.linalg.inv(np.linalg.inv(covs).sum(axis=0)))
    # in these coordinates the inverses of the C_i add up to the identity
    half = np.linalg.solve(root, covs)
    covs = np.linalg.solve(root, half.transpose(0, 2, 1))
    covs = 0.5 * (covs + covs.transpose(0, 2, 1))
    c = FIRST * np.eye(d)
    mu = 1.0
    best = Largest(d * float(np.log(FIRST)), np.inf)
    since = 0
    for _ in range(MOST_STEPS):
        inverse, slack = _inverse(c), _inverse(covs - c)
        curvature = _curvature(inverse, rows, columns)
        for part in slack:
            curvature += mu * _curvature(part, rows, columns)
        gradient = inverse - mu * slack.sum(axis=0)
        slope = twice * gradient[rows, columns]
        step = _solved(curvature, slope)
        if step is None:
            break
        move = np.zeros((d, d))
        move[rows, columns] = move[columns, rows] = step
        decrement = float(slope @ step)
        near = decrement < NEAR * min(mu, 1.0)
        if near:
            before = best.gap
            best = _better(best, c, covs, mu * (slack + slack @ move @ slack))
            since = 0 if best.gap < before else since + 1
            # what rounding hides is not found by going on
            if best.gap < GAP or mu * k * d < LEAST_BARRIER or since == MOST_VAIN:
                break
        new = _along(c, move, covs, mu, decrement)
        if new is None and not near:
            break
        c = c if new is None else new
        mu *= SHRINK if near else 1.0
    return Largest(best.log_det + 2.0 * float(np.log(np.diag(root)).sum()), best.gap)


def _inverse(matrices: F64) -> F64:
    """Return inverses that are positive semi-definite whatever the rounding."""
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, ROUNDING * 1e-3 * values[..., -1:])
    parts = vectors / np.sqrt(values)[..., None, :]
    out: F64 = parts @ np.swapaxes(parts, -1, -2)
    return out


def _solved(matrix: F64, right: F64) -> F64 | None:
    """Return the solution, or None where rounding has made the matrix indefinite."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    try:
        factor = cho_factor(matrix * scale * scale[:, None], lower=True)
    except np.linalg.LinAlgError:
        return None
    out: F64 = scale * cho_solve(factor, scale * right)
    return out


def _curvature(p: F64, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> F64:
    """Return minus the second derivative of log det at the inverse of ``p``, by entries."""
    a = p[np.ix_(rows, rows)] * p[np.ix_(columns, columns)]
    a += p[np.ix_(rows, columns)] * p[np.ix_(columns, rows)]
    half = np.where(rows == columns, 0.5, 1.0)
    out: F64 = 2.0 * a * half * half[:, None]
    return out


def _better(best: Largest, c: F64, covs: F64, multipliers: F64) -> Largest:
    log_det = float(np.linalg.slogdet(c)[1])
    total = multipliers.sum(axis=0)
    bound = float(np.sum(multipliers * covs)) - len(c) - float(np.linalg.slogdet(total)[1])
    gap = 0.5 * (bound - log_det)
    return Largest(log_det, max(gap, 0.0)) if gap < best.gap else best


def _along(c: F64, move: F64, covs: F64, mu: float, decrement: float) -> F64 | None:
    """Return C after the longest tried part of a step by which the barrier function gains."""
    before = _barrier(c, covs, mu)
    length = 1.0
    for _ in range(MOST_HALVINGS):
        new = c + length * move
        # near the centre the gain is lost in rounding, and a full step is right
        if _barrier(new, covs, mu) >= before + 0.25 * length * decrement - ROUNDING * abs(before):
            return new
        length *= 0.5
    return None


def _barrier(c: F64, covs: F64, mu: float) -> float:
    try:
        own = np.linalg.cholesky(c)
        slack = np.linalg.cholesky(covs - c)
    except np.linalg.LinAlgError:
        return -np.inf
    slacks = np.log(np.diagonal(slack, axis1=1, axis2=2)).sum()
    return 2.0 * float(np.log(np.diag(own)).sum() + mu * slacks)
