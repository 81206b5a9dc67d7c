"""Rows into the state: pilot, native calls of bounded length, and the state as of now."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core, cuda

from . import _sparse
from ._csr import CsrRows
from ._history import note, rows_to_note
from ._pilot import finish_pilot
from ._rows import Rows
from ._schedule import steps
from ._state import OPEN, State, aligned, rounded

END, FULL, TOO_LARGE, BAD_STEP, TOO_FAR = range(5)
# multiply-adds of one native call: well below a second, so that an interrupt is answered
CALL_WORK = 2e9
# closed blocks kept for the replicates: a part of the replicates' own size, or this many bytes
SLOT_SHARE = 0.4
SLOT_BYTES = 2**18


def _row_work(state: State, x: Rows) -> float:
    if isinstance(x, CsrRows):
        return _sparse.row_work(state, x)
    s = state.settings
    columns = s.n_tracked + s.n_components * s.n_bootstrap
    per_column = 2.0 * s.n_features + s.block_size / 2
    return columns * per_column + s.n_features * s.block_size / 2


def _slots(state: State, n_blocks: int, row_work: float) -> tuple[NDArray[Any], ...]:
    """Memory for closed blocks: rows, or the mean before sparse rows; products; steps; sizes."""
    s = state.settings
    dtype = state.directions.dtype
    m8, stride = s.slot_rows, state.directions.shape[1]
    shape = (rounded(s.n_features),) if s.sparse else (m8, stride)
    each = (math.prod(shape) + m8 * m8) * dtype.itemsize
    n = 1
    if state.replicates is not None:
        room = max(SLOT_SHARE * state.replicates.nbytes, SLOT_BYTES) / each
        work = CALL_WORK / (row_work * s.block_size)
        n = max(1, min(n_blocks, int(room), int(work)))
    return (
        aligned((n, *shape), dtype),
        aligned((n, m8, m8), dtype),
        np.empty((n, m8)),
        np.empty((n, 3 if s.sparse else 2), np.int64),
    )


def _refuse(state: State, stop: int) -> None:
    row = state.n_seen
    narrow = "; pass float64 data" if state.settings.dtype == "float32" else ""
    if stop == TOO_LARGE:
        raise ValueError(
            f"X is too large at row {row} (counted from 0): its squared length overflows "
            f"{state.settings.dtype}; rescale the columns{narrow}"
        )
    if stop == BAD_STEP:
        raise ValueError(
            f"the step of row {row} (counted from 0) is outside the range of "
            f"{state.settings.dtype}; rescale the columns{narrow}"
        )
    if stop == TOO_FAR:
        raise ValueError(
            f"row {row} (counted from 0) is too large for its step: the step times its squared "
            f"length leaves the range of {state.settings.dtype}; leave the outlier out or take "
            f"smaller steps{narrow}"
        )


def _check_whole(state: State) -> None:
    if state.torn:
        raise RuntimeError(
            "an interrupted update left the replicates behind the estimate; call fit again"
        )


def _take_pilot(state: State, x: Rows, n_threads: int) -> int:
    """Centre rows into the pilot until it is full; return how many were taken."""
    s = state.settings
    at = state.n_seen
    n = min(len(x), s.pilot_size - at)
    if isinstance(x, CsrRows):
        taken, stop = _sparse.take_pilot(state, x[:n])
    else:
        assert state.pilot is not None
        out = state.pilot[at : at + n]
        taken, stop = core().oja_center(s.sizes, s.rule, state.arrays, x[:n], out)
    if taken < n:
        _refuse(state, stop)
    if state.n_seen == s.pilot_size:
        finish_pilot(state, n_threads)
    return n


def absorb(
    state: State, x: Rows, *, first: int = 0, n_threads: int = 0, device: str = "cpu"
) -> None:
    """Take rows ``x`` (n, d) of the stream's kind, finite; arrays as native code takes them.

    ``first`` is the index of the state's first replicate, when it holds only a part of them.
    """
    s = state.settings
    _check_whole(state)
    state.own()
    at = 0
    if not state.started:
        at = _take_pilot(state, x, n_threads)
    if at == len(x):
        return
    on_device = device == "cuda" and state.replicates is not None
    row_work = _row_work(state, x)
    slots = _slots(state, (int(state.counts[OPEN]) + len(x) - at) // s.block_size + 1, row_work)
    most = max(1, int(CALL_WORK / row_work))
    if on_device or (s.sparse and state.replicates is not None):
        most = len(slots[0]) * s.block_size  # what a call closes stays in the slots
    while at < len(x):
        _note(state, slots, first, n_threads, device)
        part = x[at : at + min(most, rows_to_note(state))]
        eta = steps(state, len(part))
        if isinstance(part, CsrRows):
            taken, blocks, stop = _sparse.absorb_rows(state, part, eta, slots, first, n_threads)
        else:
            state.torn = on_device
            taken, blocks, stop = core().oja_rows(
                s.sizes,
                s.rule,
                state.arrays,
                part,
                eta,
                slots,
                None if on_device else state.replicates,
                s.weights,
                first,
                on_device,
                n_threads,
            )
            if on_device:
                assert state.replicates is not None
                _apply(state, slots, blocks, state.replicates, first, n_threads, device)
                state.torn = False
        at += taken
        if stop not in (END, FULL):
            _refuse(state, stop)
    _note(state, slots, first, n_threads, device)


def _note(
    state: State,
    slots: tuple[NDArray[Any], ...],
    first: int,
    n_threads: int,
    device: str,
) -> None:
    """Keep the errors of the replicates where the number of rows has doubled."""
    if rows_to_note(state) > 0:
        return
    s = state.settings
    assert state.replicates is not None
    now = state.copy(groups=slice(0, 0))
    blocks = _close(now, slots)
    directions = now.directions[: s.n_components, : s.n_features].astype(np.float64)
    groups, _, _, lanes = state.replicates.shape
    errors = np.zeros((groups, lanes))
    # a few groups at a time, so that there is no second copy of all replicates, but two for threads
    step = 2 * max(1, groups // 32) if groups >= 16 else 1
    room = aligned((step, *state.replicates.shape[1:]), state.replicates.dtype)
    # a basis of everything has no error, not even of rounding
    for g in range(0, groups if s.n_components < s.n_features else 0, step):
        part = state.replicates[g : g + step]
        some = room[: len(part)]
        some[...] = part
        _apply(now, slots, blocks, some, first + g * lanes, n_threads, device)
        errors[g : g + step] = core().oja_errors(s.sizes, directions, some, n_threads)
    note(state, errors.ravel()[: s.n_bootstrap - first])


def _close(state: State, slots: tuple[NDArray[Any], ...]) -> int:
    """Apply the open block to the estimate and leave it in the first slot: 0 or 1 blocks."""
    s = state.settings
    if s.sparse:
        return _sparse.close_block(state, slots)
    blocks: int = core().oja_close(s.sizes, state.arrays, slots, None, s.weights, 0, 0)
    return blocks


def _apply(
    state: State,
    slots: tuple[NDArray[Any], ...],
    blocks: int,
    lanes: NDArray[Any],
    first: int,
    n_threads: int,
    device: str,
) -> None:
    """Apply the blocks of the first slots to replicates, of which the first has that index."""
    s = state.settings
    if not blocks:
        return
    if s.sparse:
        _sparse.apply_blocks(state, slots, blocks, lanes, first, n_threads)
    elif device == "cuda":
        cuda().oja_replicates(s.sizes, s.weights, slots, blocks, lanes, first)
    else:
        core().oja_replicates(s.sizes, s.weights, slots, blocks, lanes, first, n_threads)


def current(
    state: State, *, replicates: bool, first: int = 0, n_threads: int = 0, device: str = "cpu"
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return directions (k0, d) and, if asked, the native replicates with the open rows applied."""
    _check_whole(state)
    d = state.settings.n_features
    if state.counts[OPEN] == 0:
        return state.directions[:, :d].copy(), state.replicates if replicates else None
    now = state.copy() if replicates else state.copy(groups=slice(0, 0))
    slots = _slots(now, 1, 1.0)
    blocks = _close(now, slots)
    if not replicates:
        now.replicates = None
    if now.replicates is not None:
        _apply(now, slots, blocks, now.replicates, first, n_threads, device)
    return now.directions[:, :d].copy(), now.replicates
