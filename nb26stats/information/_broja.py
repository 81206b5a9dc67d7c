"""Tables through the native BROJA solver: in batches, within bounds, with a warning where open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nb26stats import _warnings
from nb26stats._dispatch import core

from ._atoms import F64

SECONDS = 0.2
"""Rough length of one native call, after which Ctrl-C is heard."""
SLOW = 5e8
"""Operations per second that even an old machine reaches."""
ROUNDING = 1e-12
"""Nats by which sums over a table may disagree."""


class Broja(NamedTuple):
    """Decompositions of ``m`` tables."""

    information: F64
    """Columns ``I_X, I_Y, I_XY, I_U`` in nats, shape ``(m, 4)``."""
    gap: F64
    """How much too large each ``I_U`` may be, in nats."""
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.int64]
    q: F64
    """Tables of least information, the shape of ``pmfs``."""


def broja(pmfs: F64, *, tol: float, max_iter: int, n_threads: int, warn: bool = True) -> Broja:
    """Return the BROJA decomposition of tables of one shape.

    Parameters
    ----------
    pmfs : ndarray of shape (m, nX, nY, nS)
        Non-negative tables, each of sum 1.
    tol : float
        Tolerance in nats.
    max_iter : int
        Iterations of the first run of the solver.
    n_threads : int
        Threads, 0 for what OpenMP offers. The results do not depend on it.
    warn : bool
        Whether tables that stay open, or leave the bounds of the union information, give a
        ConvergenceWarning.

    Returns
    -------
    Broja
        Informations, gaps and solutions.
    """
    pmfs = np.ascontiguousarray(pmfs, dtype=np.float64)
    size = _batch(*pmfs.shape[1:])
    solve = core().broja
    parts = [
        solve(pmfs[i : i + size], tol, max_iter, n_threads)
        for i in range(0, max(len(pmfs), 1), size)
    ]
    columns = zip(*parts, strict=True)
    out = Broja(*(np.concatenate(column) if len(parts) > 1 else column[0] for column in columns))
    beyond = bound(out.information, out.gap)
    if warn:
        _warn(out, beyond)
    return out


def bound(information: F64, gap: F64) -> NDArray[np.bool_]:
    """Put ``I_U`` between its bounds where at most ten gaps are missing; say where more are.

    The bounds are ``max(I_X, I_Y)`` and ``min(I_X + I_Y, I_XY)``. ``information`` is changed in
    place, and only its last column, so that the atoms still add up.
    """
    one, two, both, union = information.T
    low = np.maximum(one, two)
    # a sum and its parts differ by rounding where a source tells everything
    high = np.maximum(np.minimum(one + two, both), low)
    inside = np.clip(union, low, high)
    near: NDArray[np.bool_] = np.abs(union - inside) <= 10 * gap + ROUNDING
    information[near, 3] = inside[near]
    return ~near


def _batch(n_x: int, n_y: int, n_s: int) -> int:
    """Return how many tables one native call takes."""
    few, many = sorted((n_x, n_y))
    schur = n_s * few
    step = many * (n_s**3 / 3 + n_s**3 * few + n_s * schur**2) + schur**3 / 3 + 2000
    return max(1, int(SECONDS * SLOW / (15 * step)))


def _warn(out: Broja, beyond: NDArray[np.bool_]) -> None:
    from sklearn.exceptions import ConvergenceWarning

    many = len(out.gap)
    still = np.flatnonzero(~out.converged)
    if still.size:
        worst = still[np.argmax(out.gap[still])]
        which = "the solver" if many == 1 else f"the solver of {still.size} of {many} tables"
        first = "" if many == 1 else f", at table {worst}"
        _warnings.warn(
            f"{which} stopped before the tolerance: the union information may be "
            f"{out.gap[worst]:.2g} nats too large{first}; raise max_iter or tol",
            ConvergenceWarning,
        )
    outside = np.flatnonzero(beyond & out.converged)
    if outside.size:
        _warnings.warn(
            f"the union information of {outside.size} of {many} tables leaves its bounds by more "
            f"than ten gaps, first at table {outside[0]}; treat it with care",
            ConvergenceWarning,
        )
