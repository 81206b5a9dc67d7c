"""Step sizes by row number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._state import GAP, OFFSET, SCALE, State


def begin(state: State) -> None:
    """Set what depends on the gap; with a pilot its end has set the automatic step already."""
    s, sums = state.settings, state.sums
    if s.schedule == "auto" and s.init != "pilot":
        # no pilot, no scale of the data: nothing is known that could bound the first steps
        sums[SCALE], sums[OFFSET] = s.c / sums[GAP], 0.0
    if s.schedule == "theory":
        assert s.n_total is not None
        state.constant_step = s.c * math.log(s.n_total) / (s.n_total * float(sums[GAP]))


def steps(state: State, n: int) -> NDArray[np.float64] | None:
    """Return the steps of the next ``n`` rows; None where native code makes the automatic ones."""
    s = state.settings
    first = state.n_seen + 1
    if s.schedule == "auto":
        return None
    if s.schedule == "decay":
        return s.eta0 / (s.beta + np.arange(first, first + n, dtype=np.float64))
    if s.schedule == "constant":
        return np.full(n, s.eta0)
    if s.schedule == "theory":
        return np.full(n, state.constant_step)
    assert s.rate is not None
    given = np.asarray(s.rate(np.arange(first, first + n, dtype=np.float64)))
    if given.dtype.kind not in "iuf":
        raise TypeError(f"learning_rate must return real numbers, got {given.dtype.name}")
    if given.ndim == 0:
        given = np.full(n, given)
    if given.shape != (n,):
        raise ValueError(f"learning_rate returned shape {given.shape} for {n} row numbers")
    out = np.ascontiguousarray(given, dtype=np.float64)
    bad = ~(np.isfinite(out) & (out > 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"learning_rate returned {out[i]:g} for row {first + i}, but steps must be positive "
            "and finite"
        )
    return out


def next_step(state: State) -> float:
    """Return the step of the row that comes next; NaN while the pilot is still collected."""
    if not state.started:
        return float("nan")
    made = steps(state, 1)
    if made is not None:
        return float(made[0])
    return float(state.sums[SCALE] / (state.sums[OFFSET] + state.n_seen + 1))
