"""Slow references for spike binning: whole ticks, exact fractions, and the rule spelled out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def count_ticks(
    spikes: Sequence[int], events: Sequence[int], start: int, width: int, n_bins: int
) -> np.ndarray:
    """Counts (n_events, n_bins) where every time is a whole number of the same tick."""
    out = np.zeros((len(events), n_bins), np.int64)
    for e, t in enumerate(events):
        for s in spikes:
            k = (int(s) - int(t) - start) // width
            if 0 <= k < n_bins:
                out[e, k] += 1
    return out


def count_exact(
    spikes: Sequence[Fraction],
    events: Sequence[Fraction],
    start: Fraction,
    width: Fraction,
    n_bins: int,
) -> np.ndarray:
    """Counts (n_events, n_bins) by rational arithmetic: half-open bins, nothing rounded."""
    out = np.zeros((len(events), n_bins), np.int64)
    for e, t in enumerate(events):
        for s in spikes:
            k = math.floor((s - t - start) / width)
            if 0 <= k < n_bins:
                out[e, k] += 1
    return out


def count_rule(
    spikes: Sequence[float],
    events: Sequence[float],
    start: float,
    width: float,
    n_bins: int,
    tol: float,
) -> np.ndarray:
    """Counts (n_events, n_bins) by visiting every spike for every event, in Python floats."""
    out = np.zeros((len(events), n_bins), np.int64)
    for e, t in enumerate(events):
        if not math.isfinite(t):
            continue
        for s in spikes:
            x = ((float(s) - float(t)) - start) / width
            nearest = round(x)  # halves go to the even side, as rint does
            k = nearest if abs(x - nearest) * width <= tol else math.floor(x)
            if 0 <= k < n_bins:
                out[e, k] += 1
    return out


def count_searchsorted(
    spikes: np.ndarray, index: np.ndarray, edges: np.ndarray, dtype: str = "int32"
) -> np.ndarray:
    """Counts (n_events, n_bins, n_units) from one ``searchsorted`` per unit on all ``edges``."""
    n_events, n_edges = edges.shape
    out = np.zeros((n_events, n_edges - 1, index.size - 1), dtype)
    flat = edges.ravel()
    for u in range(index.size - 1):
        place = np.searchsorted(spikes[index[u] : index[u + 1]], flat).reshape(edges.shape)
        out[:, :, u] = np.diff(place, axis=1)
    return out
