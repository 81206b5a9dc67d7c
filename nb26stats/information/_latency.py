"""When information begins, peaks and ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """How an onset is read off a course.

    Attributes
    ----------
    times : ndarray (bins,)
        Starts of the bins.
    min_run : int
        Consecutive significant bins that count as a response.
    method : {"run", "fraction"}
        Onset at the first bin of such a run, or where a part of the peak is reached.
    fraction : float
        That part.
    """

    times: F64
    min_run: int
    method: str
    fraction: float


def runs(flags: Flags, min_run: int) -> list[tuple[int, int]]:
    """Return (first bin, bin after the last) of every run of at least ``min_run`` true bins."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b)) for a, b in zip(starts, stops, strict=True) if b - a >= min_run]


def onset_offset(values: F64, significant: Flags, rule: Rule) -> tuple[float, float]:
    """Return onset and offset of one course, NaN where there is none.

    The offset is the start of the first bin after the last run; it is NaN where that run lasts to
    the end of the recording.
    """
    found = runs(significant, rule.min_run)
    if not found:
        return np.nan, np.nan
    first, after = found[0][0], found[-1][1]
    if rule.method == "fraction":
        above = values - values[rule.times < 0].mean()
        reached = np.flatnonzero(above >= rule.fraction * above.max())
        if above.max() <= 0:
            return np.nan, np.nan
        first, after = int(reached[0]), int(reached[-1]) + 1
    return float(rule.times[first]), float(rule.times[after]) if after < len(values) else np.nan


def latencies(values: F64, significant: Flags, rule: Rule) -> tuple[F64, F64]:
    """Return onsets and offsets (rows,) of courses (rows, bins)."""
    pairs = [onset_offset(v, s, rule) for v, s in zip(values, significant, strict=True)]
    onsets, offsets = np.array(pairs).T.reshape(2, -1)
    return onsets, offsets


def interval(draws: F64, level: float) -> tuple[float, float]:
    """Return the percentile interval of the draws that are not NaN."""
    present = draws[np.isfinite(draws)]
    if present.size == 0:
        return np.nan, np.nan
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(present, [tail, 1.0 - tail])
    return float(low), float(high)
