"""I_ccs: redundancy as common change in surprisal."""

from __future__ import annotations

import numpy as np

from nb26stats._numba.maxent import fit_pairs

from ._measures import F64

TOLERANCE = 1e-13
MAX_SWEEPS = 50_000
SMALLEST_MASS = 1e-12
SMALLEST_CHANGE = 1e-9


def _log_ratio(joint: F64, condition: F64, target: F64) -> F64:
    """Return ``log p(s | a) / p(s)`` where the masses are positive, else 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out: F64 = np.log(joint) - np.log(condition) - np.log(target)
    return np.where(np.isfinite(out), out, 0.0)


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
    q = np.full(pmf.shape, 1.0 / pmf.size)
    fit_pairs(np.ascontiguousarray(pmf), q, TOLERANCE, MAX_SWEEPS)
    target = q.sum(axis=(0, 1))
    h_x = _log_ratio(q.sum(axis=1), q.sum(axis=(1, 2))[:, None], target)[:, None, :]
    h_y = _log_ratio(q.sum(axis=0), q.sum(axis=(0, 2))[:, None], target)[None, :, :]
    h_xy = _log_ratio(q, q.sum(axis=2)[:, :, None], target)
    common = h_x + h_y - h_xy
    sign = np.sign(common)
    same = (np.sign(h_x) == sign) & (np.sign(h_y) == sign) & (np.sign(h_xy) == sign)
    counts = same & (q > SMALLEST_MASS) & (np.abs(common) > SMALLEST_CHANGE)
    return float((q * common)[counts].sum())
