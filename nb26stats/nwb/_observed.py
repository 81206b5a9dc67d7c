"""Which windows were observed: observation intervals, invalid times, first and last spike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._tables import read_column

if TYPE_CHECKING:
    from ._units import SpikeTrains


def merge_intervals(
    intervals: NDArray[np.float64], gap: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ascending starts and stops of (n, 2) intervals, joined where at most ``gap`` apart.

    Rows that are not numbers, or that stop before they start, are left out.
    """
    good = intervals[:, 1] >= intervals[:, 0]  # False for NaN, too
    rows = intervals[good]
    if rows.shape[0] == 0:
        return np.empty(0), np.empty(0)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    reach = np.maximum.accumulate(rows[:, 1])
    with np.errstate(invalid="ignore"):  # an open end minus an open end
        new = np.r_[True, rows[1:, 0] - reach[:-1] > gap]
    first = np.flatnonzero(new)
    last = np.r_[first[1:] - 1, rows.shape[0] - 1]
    return rows[first, 0], reach[last]


def observed(
    trains: SpikeTrains,
    units: NDArray[np.int64],
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    tol: float,
) -> NDArray[np.bool_]:
    """Return whether each window lies in one observation interval of each unit.

    Parameters
    ----------
    trains : SpikeTrains
        Spikes and observation intervals of the file.
    units : ndarray of int64, shape (n_units,)
        Rows of the units wanted.
    begin, end : ndarray of float64, shape (n_events,)
        Ends of the windows on the session clock; NaN for an event without a time.
    tol : float
        Slack in seconds at both ends.

    Returns
    -------
    ndarray of bool, shape (n_events, n_units)
        True throughout for a unit without intervals; False for an event without a time.
    """
    out = np.ones((begin.size, units.size), bool)
    if trains.obs_intervals is not None:
        flat, index = trains.obs_intervals
        for j, u in enumerate(units):
            rows = flat[index[u] : index[u + 1]]
            if rows.shape[0]:
                out[:, j] = _inside(*merge_intervals(rows, tol), begin, end, tol)
    out[~np.isfinite(begin)] = False
    return out


def _inside(
    starts: NDArray[np.float64],
    stops: NDArray[np.float64],
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    tol: float,
) -> NDArray[np.bool_]:
    if starts.size == 0:
        return np.zeros(begin.size, bool)
    place = np.searchsorted(starts, begin + tol, side="right") - 1
    return np.asarray((place >= 0) & (end <= stops[np.maximum(place, 0)] + tol))


def invalid_intervals(nwbfile: Any) -> NDArray[np.float64]:
    """Return the file's invalid times as (n, 2); an end that is missing is taken as open."""
    table = nwbfile.invalid_times
    if table is None or len(table) == 0:
        return np.empty((0, 2))
    start = read_column(table, "start_time").astype(np.float64)
    stop = read_column(table, "stop_time").astype(np.float64)
    start = np.where(np.isnan(start), -np.inf, start)
    return np.column_stack([start, np.where(np.isnan(stop), np.inf, stop)])


def overlaps(
    intervals: NDArray[np.float64],
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    tol: float,
) -> NDArray[np.bool_]:
    """Return for each window whether it shares more than ``tol`` seconds with an interval."""
    with np.errstate(invalid="ignore"):
        long_enough = intervals[:, 1] - intervals[:, 0] > tol
    starts, stops = merge_intervals(intervals[long_enough], 0.0)
    if starts.size == 0:
        return np.zeros(begin.size, bool)
    # the first interval that ends late enough is the only one that needs a look
    place = np.minimum(np.searchsorted(stops, begin + tol, side="right"), starts.size - 1)
    shared = np.minimum(stops[place], end) - np.maximum(starts[place], begin)
    return np.asarray(shared > tol)


def spike_span(trains: SpikeTrains) -> tuple[float, float] | None:
    """Return the first and last spike time of all units, or None when there is none."""
    first, last = trains.index[:-1], trains.index[1:]
    some = last > first
    if not some.any():
        return None
    # each unit is ascending
    return float(trains.times[first[some]].min()), float(trains.times[last[some] - 1].max())


def has_intervals(trains: SpikeTrains) -> NDArray[np.bool_]:
    """Return for each unit of the file whether it has observation intervals."""
    if trains.obs_intervals is None:
        return np.zeros(trains.index.size - 1, bool)
    return np.asarray(np.diff(trains.obs_intervals[1]) > 0)
