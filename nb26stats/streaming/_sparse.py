"""Sparse rows in the state: what is kept of them, and the native calls that take them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core

from ._csr import CsrRows, joined, no_rows, zero_rows

if TYPE_CHECKING:
    from ._settings import Settings
    from ._state import State

# members of ``moments`` in csrc/include/nb26/oja_sparse_api.hpp
TOTAL_SQUARE, BASE_SQUARE, LAST_TOTAL_SQUARE, LAST_TOTAL_DOT, LAST_SQUARE = range(5)
N_MOMENTS = 6  # and whether a row before the open block is known


@dataclass(eq=False)
class SparseParts:
    """What a stream of sparse rows keeps in place of dense rows.

    ``rows`` are those of the pilot until it is full; then the row before the open block, if it was
    not in the pilot, and the open block. ``total`` is the sum of all rows and ``base`` the same
    where the open block starts.
    """

    rows: CsrRows
    total: NDArray[np.float64]
    base: NDArray[np.float64]
    projected: NDArray[np.float64]
    moments: NDArray[np.float64]
    started: bool

    @property
    def sums(self) -> tuple[NDArray[np.float64], ...]:
        """What the native functions change, in their order."""
        return self.total, self.base, self.projected, self.moments

    def copy(self) -> SparseParts:
        """Return an independent copy; rows are never changed in place."""
        total, base, projected, moments = (a.copy() for a in self.sums)
        return SparseParts(self.rows, total, base, projected, moments, self.started)

    def own(self) -> None:
        """Copy arrays that another process has sent read-only."""
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray) and not value.flags.carray:
                setattr(self, f.name, np.array(value))


def new_parts(settings: Settings) -> SparseParts:
    """Return the parts before the first row."""
    s = settings
    return SparseParts(
        rows=no_rows(s.n_features, s.dtype),
        total=np.zeros(s.n_features),
        base=np.zeros(s.n_features),
        projected=np.zeros(s.n_tracked),
        moments=np.zeros(N_MOMENTS),
        started=s.pilot_size == 0,
    )


def _arrays(state: State) -> tuple[NDArray[Any], ...]:
    assert state.sparse is not None
    return (
        state.directions,
        state.open_steps,
        state.tracked,
        state.counts,
        state.sums,
        *state.sparse.sums,
    )


def held(state: State) -> int:
    """Return how many rows the state must hold."""
    seen, n_open, _, _, pilot = state.counts.tolist()
    if state.sparse is not None and not state.sparse.started:
        return int(seen)
    return int(n_open) + int(seen - n_open > pilot)


def check_parts(state: State) -> None:
    """Raise ValueError where the parts do not fit the state."""
    assert state.sparse is not None
    s = state.settings
    rows = state.sparse.rows
    if len(rows) != held(state):
        raise ValueError(f"state must hold {held(state)} rows, got {len(rows)}")
    # what the native functions check, on copies of what the call would change
    arrays = tuple(a.copy() for a in _arrays(state))
    core().oja_sparse_pilot(s.sizes, s.rule, arrays, rows.arrays)


def take_pilot(state: State, x: CsrRows) -> tuple[int, int]:
    """Count rows into the pilot: (rows taken, why it stopped)."""
    s = state.settings
    parts = state.sparse
    assert parts is not None
    own = x.native(s.dtype)
    seen = state.n_seen
    state.torn = True
    try:
        taken, stop = core().oja_sparse_pilot(s.sizes, s.rule, _arrays(state), own.arrays)
    finally:
        # an interrupt is raised when the native call is over, so the counts tell what it took
        parts.rows = joined(parts.rows, own[: state.n_seen - seen])
        state.torn = False
    return int(taken), int(stop)


def start(state: State) -> None:
    """Go from the pilot, whose directions are set, to the stream."""
    s = state.settings
    assert state.sparse is not None
    core().oja_sparse_settle(s.sizes, _arrays(state))
    state.sparse.rows = no_rows(s.n_features, s.dtype)
    state.sparse.started = True


def start_from_total(state: State, total: NDArray[np.float64]) -> None:
    """Start a stream, its directions and counts set, after rows of which only the sum is known.

    A row of zeros stands for the last of them.
    """
    s = state.settings
    assert state.sparse is not None
    state.sparse.total[:] = total
    start(state)
    state.sparse.rows = zero_rows(held(state), s.n_features, s.dtype)
    state.sparse.moments[LAST_TOTAL_SQUARE] = state.sparse.moments[TOTAL_SQUARE]


def row_work(state: State, x: CsrRows) -> float:
    """Return multiply-adds of one row."""
    s = state.settings
    columns = s.n_tracked + s.n_components * s.n_bootstrap
    values = len(x.values) / max(len(x), 1)
    block = s.n_features * (s.n_components + 4) / s.block_size
    return columns * (2.0 * values + s.block_size / 2 + block)


def absorb_rows(
    state: State,
    x: CsrRows,
    eta: NDArray[np.float64] | None,
    slots: tuple[NDArray[Any], ...],
    first: int,
    n_threads: int,
) -> tuple[int, int, int]:
    """Absorb rows: (rows taken, blocks closed, why it stopped)."""
    s = state.settings
    parts = state.sparse
    assert parts is not None
    before = len(parts.rows)
    rows = joined(parts.rows, x)
    seen = state.n_seen
    state.torn = True
    try:
        taken, blocks, stop = core().oja_sparse_rows(
            s.sizes,
            s.rule,
            _arrays(state),
            rows.arrays,
            eta,
            slots,
            state.replicates,
            s.weights,
            first,
            n_threads,
        )
    finally:
        # an interrupt is raised when the native call is over, so the counts tell what it took
        end = before + state.n_seen - seen
        # a copy, so that the rows of the call are given back
        parts.rows = rows[end - held(state) : end].native(s.dtype)
        state.torn = False
    return int(taken), int(blocks), int(stop)


def close_block(state: State, slots: tuple[NDArray[Any], ...]) -> int:
    """Apply the open block to the estimate and leave it in the first slot: 0 or 1 blocks."""
    s = state.settings
    assert state.sparse is not None
    rows = state.sparse.rows.arrays
    return int(core().oja_sparse_close(s.sizes, s.rule, _arrays(state), rows, slots))


def apply_blocks(
    state: State,
    slots: tuple[NDArray[Any], ...],
    blocks: int,
    lanes: NDArray[Any],
    first: int,
    n_threads: int,
) -> None:
    """Apply the blocks of the first slots, whose rows the state still holds, to replicates."""
    s = state.settings
    assert state.sparse is not None
    rows = state.sparse.rows.arrays
    core().oja_sparse_replicates(
        s.sizes, s.rule, s.weights, rows, slots, blocks, lanes, first, n_threads
    )
