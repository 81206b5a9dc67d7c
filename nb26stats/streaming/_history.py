"""Errors of the replicates along the stream, kept where the number of rows has doubled."""

from __future__ import annotations

import sys

import numpy as np

from ._inference import F64
from ._state import State

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


def note(state: State, errors: F64) -> None:
    """Add an entry for the rows seen so far."""
    held = state.history_errors.reshape(-1, len(errors))
    state.history_errors = np.vstack([held, errors])
    state.history_rows = np.append(state.history_rows, state.n_seen)
