"""I_ccs: redundancy as common change in surprisal."""

from __future__ import annotations

import numpy as np

from ._maxent import largest_entropy
from ._measures import F64

SMALLEST_MASS = 1e-12
SMALLEST_CHANGE = 1e-9


def _log_ratio(joint: F64, condition: F64, target: F64) -> F64:
    """Return ``log p(s | a) / p(s)``, 0 where a mass is or where nothing changes but rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out: F64 = np.log(joint) - np.log(condition) - np.log(target)
    return np.where(np.isfinite(out) & (np.abs(out) > SMALLEST_CHANGE), out, 0.0)


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
    # q has these marginals too, but only to the accuracy of the fit
    target = pmf.sum(axis=(0, 1))
    h_x = _log_ratio(pmf.sum(axis=1), pmf.sum(axis=(1, 2))[:, None], target)[:, None, :]
    h_y = _log_ratio(pmf.sum(axis=0), pmf.sum(axis=(0, 2))[:, None], target)[None, :, :]
    h_xy = _log_ratio(q, pmf.sum(axis=2)[:, :, None], target)
    common = h_x + h_y - h_xy
    sign = np.sign(common)
    same = (np.sign(h_x) == sign) & (np.sign(h_y) == sign) & (np.sign(h_xy) == sign)
    counts = same & (q > SMALLEST_MASS) & (np.abs(common) > SMALLEST_CHANGE)
    return float((q * common)[counts].sum())
