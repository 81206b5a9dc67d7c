"""I_ccs: redundancy as common change in surprisal."""

from __future__ import annotations

from typing import Any

import numpy as np

from nb26stats._numba.maxent import fit_pairs

from ._measures import F64

TOLERANCE = 1e-13
FIRST_SWEEPS = 1000
MAX_SWEEPS = 50_000
SMALLEST_MASS = 1e-12
SMALLEST_CHANGE = 1e-9


def _log_ratio(joint: F64, condition: F64, target: F64) -> F64:
    """Return ``log p(s | a) / p(s)``, 0 where a mass is or where nothing changes but rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out: F64 = np.log(joint) - np.log(condition) - np.log(target)
    return np.where(np.isfinite(out) & (np.abs(out) > SMALLEST_CHANGE), out, 0.0)


def _reachable(pmf: F64) -> F64:
    """Return 1 for cells that some table with the pairs' marginals of ``pmf`` fills, else 0.

    A direction that changes no marginal and leads upwards from every zero is scaled until each of
    the zeros it can fill has moved by 1: a linear program.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    cell = np.arange(pmf.size)
    places = np.unravel_index(cell, pmf.shape)
    rows = [
        np.ravel_multi_index((places[i], places[j]), (pmf.shape[i], pmf.shape[j]))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    ones = np.ones(pmf.size)
    marginals = sparse.vstack([sparse.csr_matrix((ones, (row, cell))) for row in rows])
    zero = np.flatnonzero(pmf.ravel() == 0)
    upwards = sparse.csr_matrix(
        (ones[: zero.size], (np.arange(zero.size), zero)), shape=(zero.size, pmf.size)
    )
    # unknowns: the direction of every cell, then what each zero is worth, at most 1
    least = np.full(pmf.size, -np.inf)
    least[zero] = 0.0
    program: dict[str, Any] = {
        "c": np.repeat([0.0, -1.0], [pmf.size, zero.size]),
        "A_ub": sparse.hstack([-upwards, sparse.identity(zero.size)]),
        "b_ub": np.zeros(zero.size),
        "A_eq": sparse.hstack([marginals, sparse.csr_matrix((marginals.shape[0], zero.size))]),
        "b_eq": np.zeros(marginals.shape[0]),
        "bounds": np.column_stack(
            [np.append(least, 0.0 * zero), np.repeat([np.inf, 1.0], [pmf.size, zero.size])]
        ),
    }
    found = linprog(**program)
    out = np.ones(pmf.size)
    if found.success:
        out[zero] = found.x[pmf.size :] > 0.5
    return out.reshape(pmf.shape)


def largest_entropy(pmf: F64) -> F64:
    """Return the distribution of largest entropy with the marginals of every pair of ``pmf``."""
    q = np.full(pmf.shape, 1.0 / pmf.size)
    sweeps = fit_pairs(pmf, q, TOLERANCE, FIRST_SWEEPS)
    if sweeps == FIRST_SWEEPS:
        if (pmf == 0).any():
            # masses that must vanish do so too slowly, and hold up the others
            q *= _reachable(pmf)
        fit_pairs(pmf, q, TOLERANCE, MAX_SWEEPS)
    return q


def common_change(pmf: F64) -> float:
    """Return the redundancy of Ince (2017) in nats; it may be negative.

    Local terms are taken under the distribution of largest entropy that keeps the marginals of
    both sources with the target and of the sources with each other; an event counts when both
    sources and the pair change the surprisal of the target in the same direction as they do in
    common.

    Parameters
    ----------
    pmf : ndarray of shape (nX, nY, nS)
        Joint distribution.
    """
    q = largest_entropy(np.ascontiguousarray(pmf))
    target = q.sum(axis=(0, 1))
    h_x = _log_ratio(q.sum(axis=1), q.sum(axis=(1, 2))[:, None], target)[:, None, :]
    h_y = _log_ratio(q.sum(axis=0), q.sum(axis=(0, 2))[:, None], target)[None, :, :]
    h_xy = _log_ratio(q, q.sum(axis=2)[:, :, None], target)
    common = h_x + h_y - h_xy
    sign = np.sign(common)
    same = (np.sign(h_x) == sign) & (np.sign(h_y) == sign) & (np.sign(h_xy) == sign)
    counts = same & (q > SMALLEST_MASS) & (np.abs(common) > SMALLEST_CHANGE)
    return float((q * common)[counts].sum())
