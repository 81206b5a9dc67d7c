"""Errors of the replicates along the stream, kept where the number of rows has doubled."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._inference import F64, subspace_errors
from ._state import State, lanes_to_replicates

# first entry of a stream without a pilot
FIRST = 64


def rows_to_note(state: State) -> int:
    """Return how many rows to take until the next entry; 0 when it is due now."""
    n = state.n_seen
    if state.replicates is None:
        return sys.maxsize
    at = 2 * state.settings.pilot_size or FIRST
    last = int(state.history_rows[-1]) if len(state.history_rows) else 0
    while at < n or at <= last:
        at *= 2
    return at - n


def errors_of(directions: F64, lanes: NDArray[Any], n: int) -> F64:
    """Return the errors of the first ``n`` replicates in ``lanes`` around ``directions``.

    To be called with BLAS held at one thread.
    """
    made = lanes_to_replicates(lanes, n, directions.shape[1]).astype(np.float64, copy=False)
    return subspace_errors(directions, made, "sin2_fro")


def note(state: State, errors: F64) -> None:
    """Add an entry for the rows seen so far."""
    held = state.history_errors.reshape(-1, len(errors))
    state.history_errors = np.vstack([held, errors])
    state.history_rows = np.append(state.history_rows, state.n_seen)
