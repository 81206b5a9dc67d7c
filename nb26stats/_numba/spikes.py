"""Spike binning around events: the one kernel, and the loop over blocks of units and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._progress import track

from ._jit import kernel

LIMITS = {
    "int32": 2**31 - 1,
    "uint16": 2**16 - 1,
    "uint8": 2**8 - 1,
    "float32": 2**24,  # beyond these two, adding one changes nothing
    "float64": 2**53,
}
"""Largest count each storage type holds exactly."""

_TILE_BYTES = 1 << 20  # one event's bins for a block of units should stay in the cache
_VISITS = 1 << 22  # steps of one native call: well under a second
_SEARCH_STEPS = 16  # of one search for the first spike of a window


@kernel
def _count_block(
    spikes: NDArray[np.float64],
    index: NDArray[np.int64],
    units: NDArray[np.int64],
    times: NDArray[np.float64],
    rows: NDArray[np.int64],
    w0: float,
    bin_size: float,
    n_bins: int,
    tol: float,
    pad: float,
    limit: int,
    column: int,
    out: NDArray[Any],
) -> int:
    """Add the spikes around ascending ``times`` to columns of ``out``; return lost counts."""
    n_units = units.size
    first = np.empty(n_units, np.int64)
    last = np.empty(n_units, np.int64)
    for j in range(n_units):
        first[j] = index[units[j]]
        last[j] = index[units[j] + 1]
    before = w0 - pad
    after = w0 + n_bins * bin_size + pad
    lost = 0
    for i in range(times.size):
        t = times[i]
        row = rows[i]
        low = t + before
        high = t + after
        for j in range(n_units):
            p = first[j]
            end = last[j]
            if p < end and spikes[p] < low:
                # windows only move right: double the step from the last place, then halve
                step = 1
                right = p + 1
                while right < end and spikes[right] < low:
                    p = right
                    step *= 2
                    right = p + step
                if right > end:
                    right = end
                p += 1
                while p < right:
                    middle = (p + right) >> 1
                    if spikes[middle] < low:
                        p = middle + 1
                    else:
                        right = middle
                first[j] = p
            while p < end:
                s = spikes[p]
                if s >= high:
                    break
                # this order of operations is part of the definition of a bin
                x = ((s - t) - w0) / bin_size
                r = np.rint(x)
                k = int(r) if abs(x - r) * bin_size <= tol else int(np.floor(x))
                if 0 <= k < n_bins:
                    count = out[row, k, column + j]
                    if count >= limit:
                        lost += 1
                    else:
                        out[row, k, column + j] = count + 1
                p += 1
    return lost


def count_spikes(
    spikes: NDArray[np.float64],
    index: NDArray[np.int64],
    groups: Sequence[NDArray[np.int64]],
    events: NDArray[np.float64],
    *,
    w0: float,
    bin_size: float,
    n_bins: int,
    tol: float,
    dtype: str = "int32",
    n_threads: int = 1,
) -> tuple[list[NDArray[Any]], int]:
    """Count spikes in bins around events, one array per group of units.

    Parameters
    ----------
    spikes : ndarray of float64, shape (n_spikes,)
        Spike times in seconds, finite, ascending within each unit.
    index : ndarray of int64, shape (n_file_units + 1,)
        Unit ``u`` owns ``spikes[index[u]:index[u + 1]]``.
    groups : sequence of ndarray of int64
        Unit rows of each group, in the order of the last axis of its array.
    events : ndarray of float64, shape (n_events,)
        Event times in seconds, in any order; rows of events that are not finite stay zero.
    w0, bin_size : float
        Left end of the window relative to the event, and width of a bin, in seconds.
    n_bins : int
        Number of bins.
    tol : float
        A spike at most this far (seconds) left of an edge belongs to the bin on its right.
    dtype : str
        A key of ``LIMITS``.
    n_threads : int
        Python threads; the numbers do not depend on it.

    Returns
    -------
    arrays : list of ndarray, each (n_events, n_bins, len(group))
        Counts, C-contiguous.
    n_lost : int
        Counts that did not fit ``dtype``; the arrays are then not to be used.
    """
    arrays = [np.zeros((events.size, n_bins, g.size), dtype) for g in groups]
    finite = np.flatnonzero(np.isfinite(events))
    rows = finite[np.argsort(events[finite], kind="stable")]
    times = np.ascontiguousarray(events[rows])
    if times.size == 0 or spikes.size == 0:
        return arrays, 0
    reach = float(np.abs([times[0], times[-1], spikes.min(), spikes.max()]).max())
    # the search may start a little early: the exact test decides, bin by bin
    pad = 2.0 * tol + 8.0 * float(np.spacing(reach + abs(w0) + n_bins * bin_size))
    tasks = _tasks(spikes, index, groups, times, arrays, n_bins * bin_size, n_threads)

    def run(task: tuple[int, slice, slice]) -> int:
        g, some_units, some_events = task
        return int(
            _count_block(
                spikes,
                index,
                groups[g][some_units],
                times[some_events],
                rows[some_events],
                w0,
                bin_size,
                n_bins,
                tol,
                pad,
                LIMITS[dtype],
                some_units.start,
                arrays[g],
            )
        )

    return arrays, _run_all(run, tasks, n_threads)


def _tasks(
    spikes: NDArray[np.float64],
    index: NDArray[np.int64],
    groups: Sequence[NDArray[np.int64]],
    times: NDArray[np.float64],
    arrays: Sequence[NDArray[Any]],
    width: float,
    n_threads: int,
) -> list[tuple[int, slice, slice]]:
    """Cut the work into calls short enough to interrupt; no two share a column and an event."""
    span = max(float(spikes.max() - spikes.min()), width)
    tasks = []
    for g, units in enumerate(groups):
        row_bytes = max(1, arrays[g].shape[1] * arrays[g].itemsize)
        block = max(32, _TILE_BYTES // row_bytes)
        if n_threads > 1:
            block = max(16, min(block, -(-units.size // n_threads)))
        for a in range(0, units.size, block):
            here = slice(a, min(a + block, units.size))
            inside = float((index[units[here] + 1] - index[units[here]]).sum()) * width / span
            per_event = _SEARCH_STEPS * (here.stop - a) + inside
            step = max(1, int(_VISITS / per_event))
            tasks += [(g, here, slice(b, b + step)) for b in range(0, times.size, step)]
    return tasks


def _run_all(run: Any, tasks: list[tuple[int, slice, slice]], n_threads: int) -> int:
    quiet = len(tasks) < 8
    if n_threads == 1 or len(tasks) < 2:
        return sum(run(t) for t in track(tasks, desc="binning spikes", quiet=quiet))
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(n_threads)
    try:
        done = track(pool.map(run, tasks), desc="binning spikes", total=len(tasks), quiet=quiet)
        return sum(done)
    finally:
        pool.shutdown(cancel_futures=True)
