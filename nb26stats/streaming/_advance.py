"""Rows into the state: pilot, native calls of bounded length, and the state as of now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core, cuda

from ._history import errors_of, note, rows_to_note
from ._pilot import finish_pilot
from ._schedule import steps
from ._state import OPEN, State, aligned, copy_aligned, rounded

END, FULL, TOO_LARGE, BAD_STEP, TOO_FAR = range(5)
# multiply-adds of one native call: well below a second, so that an interrupt is answered
CALL_WORK = 2e9
# closed blocks kept for the replicates: a part of the replicates' own size, or this many bytes
SLOT_SHARE = 0.4
SLOT_BYTES = 2**20


def _row_work(state: State) -> float:
    s = state.settings
    columns = s.n_tracked + s.n_components * s.n_bootstrap
    per_column = 2.0 * s.n_features + s.block_size / 2
    return columns * per_column + s.n_features * s.block_size / 2


def _slots(state: State, n_blocks: int) -> tuple[NDArray[Any], ...]:
    """Memory for closed blocks: rows, products of rows, steps, sizes."""
    s = state.settings
    dtype = state.directions.dtype
    m8, stride = rounded(s.block_size), state.directions.shape[1]
    each = m8 * (stride + m8) * dtype.itemsize
    n = 1
    if state.replicates is not None:
        room = max(SLOT_SHARE * state.replicates.nbytes, SLOT_BYTES) / each
        work = CALL_WORK / (_row_work(state) * s.block_size)
        n = max(1, min(n_blocks, int(room), int(work)))
    return (
        aligned((n, m8, stride), dtype),
        aligned((n, m8, m8), dtype),
        np.empty((n, m8)),
        np.empty((n, 2), np.int64),
    )


def _refuse(state: State, stop: int) -> None:
    row = state.n_seen + 1
    narrow = "; pass float64 data" if state.settings.dtype == "float32" else ""
    if stop == TOO_LARGE:
        raise ValueError(
            f"X is too large at row {row} (counted from 1): its squared length overflows "
            f"{state.settings.dtype}; rescale the columns{narrow}"
        )
    if stop == BAD_STEP:
        raise ValueError(
            f"the step of row {row} (counted from 1) is outside the range of "
            f"{state.settings.dtype}; rescale the columns{narrow}"
        )
    if stop == TOO_FAR:
        raise ValueError(
            f"row {row} (counted from 1) is too large for its step: the step times its squared "
            f"length leaves the range of {state.settings.dtype}; leave the outlier out or take "
            f"smaller steps{narrow}"
        )


def _check_whole(state: State) -> None:
    if state.torn:
        raise RuntimeError(
            "an interrupted update left the replicates behind the estimate; call fit again"
        )


def _take_pilot(state: State, x: NDArray[Any], n_threads: int) -> int:
    """Centre rows into the pilot until it is full; return how many were taken."""
    s = state.settings
    assert state.pilot is not None
    at = state.n_seen
    n = min(len(x), s.pilot_size - at)
    taken, stop = core().oja_center(s.sizes, s.rule, state.arrays, x[:n], state.pilot[at : at + n])
    if taken < n:
        _refuse(state, stop)
    if state.n_seen == s.pilot_size:
        finish_pilot(state, n_threads)
    return n


def absorb(
    state: State, x: NDArray[Any], *, first: int = 0, n_threads: int = 0, device: str = "cpu"
) -> None:
    """Take rows ``x`` (n, d), C-contiguous, of the working dtype, finite.

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
    slots = _slots(state, (int(state.counts[OPEN]) + len(x) - at) // s.block_size + 1)
    most = max(1, int(CALL_WORK / _row_work(state)))
    if state.replicates is not None:
        most = len(slots[0]) * s.block_size
    while at < len(x):
        _note(state, first, n_threads, device)
        part = x[at : at + min(most, rows_to_note(state))]
        eta = steps(state, len(part))
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
            if blocks:
                cuda().oja_replicates(s.sizes, s.weights, slots, blocks, state.replicates, first)
            state.torn = False
        at += taken
        if stop not in (END, FULL):
            _refuse(state, stop)
    _note(state, first, n_threads, device)


def _note(state: State, first: int, n_threads: int, device: str) -> None:
    """Keep the errors of the replicates where the number of rows has doubled."""
    if rows_to_note(state) > 0:
        return
    s = state.settings
    assert state.replicates is not None
    now = state.copy(groups=slice(0, 0))
    now.replicates = None
    slots = _slots(now, 1)
    blocks = core().oja_close(s.sizes, now.arrays, slots, None, s.weights, 0, n_threads)
    directions = now.directions[: s.n_components, : s.n_features].astype(np.float64)
    groups, _, _, lanes = state.replicates.shape
    errors = []
    # a few groups at a time, so that there is no second copy of all replicates
    step = max(1, groups // 16)
    for g in range(0, groups, step):
        at = first + g * lanes
        some = copy_aligned(state.replicates[g : g + step])
        if blocks and device == "cuda":
            cuda().oja_replicates(s.sizes, s.weights, slots, blocks, some, at)
        elif blocks:
            core().oja_replicates(s.sizes, s.weights, slots, blocks, some, at, n_threads)
        errors.append(errors_of(directions, some, min(len(some) * lanes, s.n_bootstrap - at)))
    note(state, np.concatenate(errors))


def current(
    state: State, *, replicates: bool, first: int = 0, n_threads: int = 0, device: str = "cpu"
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return directions (k0, d) and, if asked, the native replicates with the open rows applied."""
    s = state.settings
    _check_whole(state)
    d = s.n_features
    if state.counts[OPEN] == 0:
        return state.directions[:, :d].copy(), state.replicates if replicates else None
    now = state.copy() if replicates else state.copy(groups=slice(0, 0))
    if not replicates:
        now.replicates = None
    on_device = device == "cuda" and now.replicates is not None
    slots = _slots(now, 1)
    own = None if on_device else now.replicates
    blocks = core().oja_close(s.sizes, now.arrays, slots, own, s.weights, first, n_threads)
    if on_device:
        cuda().oja_replicates(s.sizes, s.weights, slots, blocks, now.replicates, first)
    return now.directions[:, :d].copy(), now.replicates
