"""One pass over a source of rows, by one task or by joblib tasks over groups of replicates."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from nb26stats._progress import bar
from nb26stats._workers import on_arrival

from ._advance import absorb
from ._rows import Rows, check_rows, is_slab_source, parts, read, slabs, stays_here, working
from ._state import State

# multiply-adds below which a progress bar is not worth its import
QUIET_WORK = 2e10


def _clean(state: State, rows: Rows, first_row: int, *, checked: bool) -> Rows:
    s = state.settings
    if not checked:
        check_rows(rows, s.missing, first_row=first_row)
    rows, skipped = working(rows, s)
    state.n_skipped += skipped
    return rows


def worth_a_bar(state: State, n_rows: int) -> bool:
    """Whether ``n_rows`` take so long that a progress bar is welcome."""
    s = state.settings
    return float(n_rows) * s.n_components * max(s.n_bootstrap, 1) * 4 * s.n_features > QUIET_WORK


def take_pilot(state: State, source: Any, n_rows: int, n_threads: int) -> int:
    """Feed the pilot and nothing more; return how many rows of the source were read."""
    checked = not is_slab_source(source)
    at = 0
    while not state.started and at < n_rows:
        end = min(n_rows, at + state.settings.pilot_size - state.n_seen)
        rows = _clean(state, read(source, at, end), at, checked=checked)
        if len(rows):
            absorb(state, rows, n_threads=n_threads)
        at = end
    return at


def take_rest(
    state: State,
    source: Any,
    start: int,
    first_replicate: int,
    n_threads: int,
    device: str,
    show: bool,
) -> State:
    """Absorb the source's rows from ``start`` on; module-level, so that joblib can send it."""
    slab = is_slab_source(source)
    n_rows = int(source.shape[0])
    with bar(n_rows, desc="OjaPCA", unit="row", quiet=not show) as shown:
        shown.update(start)
        for a, raw in slabs(source, start) if slab else parts(source, start):
            rows = _clean(state, raw, a, checked=not slab)
            if len(rows):
                absorb(state, rows, first=first_replicate, n_threads=n_threads, device=device)
            shown.update(len(raw))
            del raw, rows  # before the next slab is read
    return state


def run(state: State, source: Any, *, n_jobs: int | None, n_threads: int, device: str) -> State:
    """Return the state after every row of ``source``."""
    from joblib import Parallel, delayed, effective_n_jobs

    n_rows = int(source.shape[0])
    start = take_pilot(state, source, n_rows, n_threads)
    groups = 0 if state.replicates is None else len(state.replicates)
    tasks = min(groups, effective_n_jobs(n_jobs))
    show = worth_a_bar(state, n_rows)
    if start == n_rows:
        return state
    if tasks <= 1:
        return take_rest(state, source, start, 0, n_threads, device, show)
    if stays_here(source):
        raise ValueError(
            f"n_jobs={n_jobs} needs data that can be sent to other processes, and an open HDF5 "
            "dataset cannot; read it first or leave n_jobs=None"
        )
    edges = list(itertools.pairwise(np.linspace(0, groups, tasks + 1).astype(int).tolist()))
    assert state.replicates is not None
    lanes = state.replicates.shape[3]
    # every task repeats the estimate's own few columns, which is cheaper than sending its blocks
    done: list[State] = Parallel(n_jobs=tasks)(
        delayed(on_arrival(take_rest))(
            state.copy(groups=slice(a, b)), source, start, a * lanes, n_threads, device, False
        )
        for a, b in edges
    )
    whole = done[0]
    for part, (a, b) in zip(done, edges, strict=True):
        state.replicates[a:b] = part.replicates
    whole.replicates = state.replicates
    whole.history_errors = np.concatenate([part.history_errors for part in done], axis=1)
    return whole
