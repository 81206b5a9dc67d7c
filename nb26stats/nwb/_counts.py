"""Spike counts around events, straight from an NWB file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats import _check
from nb26stats._numba.spikes import LIMITS, count_spikes
from nb26stats._version import __version__
from nb26stats._warnings import warn

from ._align import Alignment, event_times
from ._areas import group_units, unit_areas
from ._counts_result import SpikeCounts
from ._observed import has_intervals, invalid_intervals, observed, overlaps, spike_span
from ._select import select_quality, select_rows
from ._session import as_session
from ._tables import trials as read_trials
from ._units import find_units, read_spikes, span_problem, unit_frame
from ._window import bin_grid, edge_tolerance, refuse_too_large

if TYPE_CHECKING:
    import pandas as pd

    from ._session import Session
    from ._units import SpikeTrains


def spike_counts(
    s: Any,
    *,
    align_to: str | ArrayLike = "start_time",
    window: Sequence[float] = (-0.5, 1.0),
    bin_size: float = 0.01,
    areas: str | Sequence[str] | Mapping[str, Any] | None = None,
    quality: str | Callable[[pd.DataFrame], Any] | None = None,
    table: str = "trials",
    trials: ArrayLike | str | None = None,
    relative_to: str = "auto",
    units: str = "units",
    areas_from: str | None = None,
    dtype: str = "int32",
    on_nan: str = "drop",
    on_outside: str = "mask",
    rate: bool = False,
    tol: float | None = None,
    n_threads: int = 1,
) -> SpikeCounts:
    """Count the spikes of each unit in time bins around each event.

    A spike at time s belongs to bin ``k = floor((s - event - window[0]) / bin_size)``; bins are
    half-open, a spike on an edge (within ``tol``) belongs to the bin on its right. A spike counts
    once in each window that holds it, so overlapping windows are fine.

    Parameters
    ----------
    s : str, path-like, Session or pynwb.NWBFile
        The file.
    align_to : str or array-like, default="start_time"
        Column of the trial table that holds the events, or their times in seconds on the session
        clock (then no table is needed).
    window : pair of float, default=(-0.5, 1.0)
        Start and stop in seconds from the event; a whole number of bins.
    bin_size : float, default=0.01
        Width of a bin in seconds.
    areas : str, sequence or mapping, optional
        Areas to count, whatever their case; a mapping ``{"V1": ["VISp1", "VISp2/3"]}`` joins
        areas. All by default.
    quality : str or callable, optional
        A word of the units' quality column (``"good"``), a query on the units frame
        (``"snr > 2"``), or a function of that frame that returns a mask. All units by default.
    table : str, default="trials"
        Table of events: a name among the file's intervals, or ``"module/name"``.
    trials : mask, positions or str, optional
        Which rows: boolean mask, 0-based row positions (kept in the order given), or a query such
        as ``"response == 'correct'"``.
    relative_to : str, default="auto"
        What the times of ``align_to`` count from: ``"session"``, the name of a column to add
        (``"start_time"``), or ``"auto"``, which looks where in the trials the times fall and warns
        when it takes them as relative to ``start_time``.
    units : str, default="units"
        Where the units table lies.
    areas_from : str, optional
        Column of the units, or ``"electrodes/COLUMN"``, that names the area.
    dtype : {"int32", "uint16", "uint8", "float32", "float64"}, default="int32"
        Type of the counts.
    on_nan : {"drop", "raise", "keep"}, default="drop"
        Events without a time: left out with a warning, an error, or rows of NaN (the counts are
        then float64).
    on_outside : {"mask", "drop", "raise"}, default="mask"
        Windows the recording does not cover: only ``valid`` says so; events at which no unit is
        valid, and those that reach past the first or last spike of a file without observation
        intervals, are left out; or an error.
    rate : bool, default=False
        Return spikes/s (float64) instead of counts.
    tol : float, optional
        Slack in seconds at bin edges; by default a nanosecond, or more where times are so large
        that they are rounded more coarsely. 0 gives plain half-open bins.
    n_threads : int, default=1
        Threads; 0 takes all cores. The result does not depend on it.

    Returns
    -------
    SpikeCounts
        ``counts`` by area, each (n_trials, n_bins, n_units).

    Raises
    ------
    MissingTableError, MissingColumnError
        If the file lacks the table or column; the message lists what there is.
    ValueError
        If an argument is out of range, the window is not a whole number of bins, or it is not
        clear what the times of ``align_to`` count from.
    OverflowError
        If a count does not fit ``dtype``.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> counts = nbn.spike_counts(
    ...     datasets.path("A2929-200711_neurosuite.nwb"),
    ...     table="sleep_ripples",
    ...     window=(-0.1, 0.2),
    ...     bin_size=0.01,
    ... )
    >>> counts.areas, counts.counts["ca1"].shape
    (['adn', 'ca1'], (594, 30, 8))
    >>> int(counts.counts["ca1"].sum(axis=(0, 2)).argmax())
    12
    """
    w0, width, n_bins = bin_grid(window, bin_size)
    dtype = _dtype(dtype)
    on_nan = _check.as_choice(on_nan, "on_nan", ("drop", "raise", "keep"))
    on_outside = _check.as_choice(on_outside, "on_outside", ("mask", "drop", "raise"))
    rate = _check.as_bool(rate, "rate")
    tol = None if tol is None else _check.as_float(tol, "tol", minimum=0.0)
    n_threads = _check.as_int(n_threads, "n_threads", minimum=0) or len(_cores())
    with as_session(s) as session:
        events = _events(session, align_to, table, relative_to, trials)
        found = _read_units(session, units, areas_from, areas, quality)
        invalid = invalid_intervals(session.nwbfile)
        source = {
            "file": None if session.path is None else str(session.path),
            "identifier": str(session.nwbfile.identifier),
            "nwb_version": session.nwb_version,
        }
    trains = found.trains
    tol = edge_tolerance(tol, width, trains.times, events.times)
    _warn_about_clocks(trains, events.times)

    rows, n_nan = _with_times(events, on_nan)
    begin = events.times[rows] + w0
    end = events.times[rows] + (w0 + n_bins * width)
    valid = {a: observed(trains, u, begin, end, tol) for a, u in found.groups.items()}
    in_invalid = overlaps(invalid, begin, end, tol)
    for mask in valid.values():
        mask[in_invalid] = False
    outside = _outside(trains, begin, end, tol)
    outside_rows = [int(r) for r in rows[outside]]
    use = _covered(valid, outside, begin, on_outside)
    rows = rows[use]
    n_units = sum(u.size for u in found.groups.values())
    if events.rows.size and rows.size == 0:
        warn(f"none of the {events.rows.size} events is left: the counts have no trials")
    refuse_too_large(rows.size, n_bins, n_units, 8 if rate else np.dtype(dtype).itemsize)

    names = list(found.groups)
    times = events.times[rows]
    stored = "float64" if rate or on_nan == "keep" else dtype
    arrays, n_lost = count_spikes(
        trains.times,
        trains.index,
        [found.groups[a] for a in names],
        times,
        w0=w0,
        bin_size=width,
        n_bins=n_bins,
        tol=tol,
        dtype=stored,
        n_threads=n_threads,
    )
    if n_lost:
        raise OverflowError(
            f"{n_lost} spikes did not fit: {dtype} holds at most {LIMITS[dtype]} per bin; use "
            "dtype='int32'"
        )
    no_time = ~np.isfinite(times)
    for array in arrays:
        if rate:
            array /= width
        if no_time.any():
            array[no_time] = np.nan
    n_invalid = sum(int((~v[use]).sum()) for v in valid.values())
    info = {
        **source,
        "table": table if events.frame is not None else None,
        **events.info,
        "window": [w0, w0 + n_bins * width],
        "bin_size": width,
        "n_bins": n_bins,
        "tol": tol,
        "rate": rate,
        "dtype": stored,
        "on_nan": on_nan,
        "n_nan": n_nan,
        "n_dropped_nan": n_nan if on_nan == "drop" else 0,
        "on_outside": on_outside,
        "n_dropped_outside": int((~use).sum()),
        "outside_spikes": outside_rows,
        "n_units_with_obs_intervals": int(has_intervals(trains).sum()),
        "n_invalid_times": int(invalid.shape[0]),
        "n_windows_in_invalid_times": int(in_invalid.sum()),
        "n_not_valid": n_invalid,
        **found.info,
        "nb26stats": __version__,
    }
    return SpikeCounts(
        counts=dict(zip(names, arrays, strict=True)),
        areas=names,
        time=np.asarray(w0 + np.arange(n_bins) * width, np.float64),
        bin_centers=np.asarray(w0 + (np.arange(n_bins) + 0.5) * width, np.float64),
        trial_index=rows,
        trial_id=events.ids[rows],
        event_times=times,
        unit_ids={a: trains.unit_ids[u] for a, u in found.groups.items()},
        valid={a: v[use] for a, v in valid.items()},
        info=info,
        unit_index=found.groups,
        unit_area={a: found.area[u] for a, u in found.groups.items()},
        bin_size=width,
        rate=rate,
        trials=None if events.frame is None else events.frame.iloc[rows],
    )


@dataclass(frozen=True)
class _Events:
    times: NDArray[np.float64]  # of the whole table
    ids: NDArray[Any]
    rows: NDArray[np.int64]  # the selected ones
    frame: pd.DataFrame | None
    info: dict[str, Any]


@dataclass(frozen=True)
class _UnitsRead:
    trains: SpikeTrains
    groups: dict[str, NDArray[np.int64]]
    area: NDArray[np.object_]
    info: dict[str, Any]


def _events(session: Session, align_to: Any, table: str, relative_to: str, trials: Any) -> _Events:
    times, ids, found = event_times(
        session, align_to=align_to, table=table, relative_to=relative_to
    )
    frame = None if found.verdict == "array" else read_trials(session, table)
    rows = np.arange(times.size)
    if trials is not None:
        rows = select_rows(frame, trials, name="trials", n_rows=times.size)
        if times.size and rows.size == 0:
            warn(f"trials={_short(trials)} selects none of the {times.size} events")
    info = {
        **_alignment_info(found, relative_to),
        "trials": None if trials is None else _short(trials),
        "n_events": int(times.size),
        "n_selected": int(rows.size),
    }
    return _Events(times, ids, rows, frame, info)


def _alignment_info(found: Alignment, relative_to: str) -> dict[str, Any]:
    return {
        "align_to": found.column,
        "verdict": found.verdict,
        "reference": found.reference,
        "relative_to": relative_to,
        "fa": None if np.isnan(found.fa) else found.fa,
        "fr": None if np.isnan(found.fr) else found.fr,
        "alignment_note": found.note,
    }


def _read_units(
    session: Session, units: str, areas_from: str | None, areas: Any, quality: Any
) -> _UnitsRead:
    table = find_units(session, units)
    trains = read_spikes(session, units)
    place = unit_areas(session, table, areas_from)
    keep = np.ones(trains.unit_ids.size, bool)
    picked: dict[str, Any] = {"n_excluded": 0}
    if quality is not None:
        keep, picked = select_quality(unit_frame(session, table, trains, place, units), quality)
    groups = group_units(place.area, areas)
    groups = {a: u[keep[u]] for a, u in groups.items()}
    if areas is None:
        groups = {a: u for a, u in groups.items() if u.size}
    emptied = [a for a, u in groups.items() if u.size == 0]
    if keep.size and not keep.any():
        warn(f"quality={_short(quality)} leaves none of the {keep.size} units")
    elif emptied:
        warn(f"quality={_short(quality)} leaves no unit in {', '.join(emptied)}")
    if trains.n_unsorted:
        warn(
            f"the spike times of {trains.n_unsorted} of {keep.size} units were not ascending and "
            "were sorted"
        )
    info = {
        "units": units,
        "n_units_in_file": int(keep.size),
        "quality": None if quality is None else _short(quality),
        "quality_column": picked.get("column"),
        "n_excluded": int(picked["n_excluded"]),
        "n_unsorted": trains.n_unsorted,
        "n_nonfinite": trains.n_nonfinite,
        "areas_from": areas_from,
        "area_source": dict(place.source),
        "file_areas": list(dict.fromkeys(str(a) for a in place.area)),
        "area_notes": list(place.notes),
    }
    return _UnitsRead(trains, groups, np.asarray(place.area, dtype=object), info)


def _with_times(events: _Events, on_nan: str) -> tuple[NDArray[np.int64], int]:
    """Return the selected rows that stay, and how many of the selected have no time."""
    missing = ~np.isfinite(events.times[events.rows])
    n = int(missing.sum())
    if n == 0 or on_nan == "keep":
        return events.rows, n
    text = f"{n} of {events.rows.size} events have no time in {events.info['align_to']!r} (NaN)"
    if on_nan == "raise":
        raise ValueError(f"{text}; on_nan='drop' leaves them out, 'keep' gives rows of NaN")
    warn(f"{text} and were left out")
    return events.rows[~missing], n


def _outside(
    trains: SpikeTrains, begin: NDArray[np.float64], end: NDArray[np.float64], tol: float
) -> NDArray[np.bool_]:
    """Return windows that reach past the spikes of a file without observation intervals."""
    span = spike_span(trains)
    if span is None or has_intervals(trains).any():
        return np.zeros(begin.size, bool)
    outside = (begin < span[0] - tol) | (end > span[1] + tol)  # False for NaN
    n, known = int(outside.sum()), int(np.isfinite(begin).sum())
    spikes = f"spikes run from {span[0]:.6g} to {span[1]:.6g} s"
    if n and not np.any((end >= span[0]) & (begin <= span[1])):
        warn(
            f"no spike can fall in any of the {known} windows: {spikes}, windows from "
            f"{np.nanmin(begin):.6g} to {np.nanmax(end):.6g} s; do the events count from another "
            "zero (relative_to='start_time')?"
        )
    elif n:
        warn(
            f"{n} of {known} windows start before the first or end after the last spike "
            f"({spikes}); info['outside_spikes'] lists them, on_outside='drop' leaves them out"
        )
    return outside


def _covered(
    valid: Mapping[str, NDArray[np.bool_]],
    outside: NDArray[np.bool_],
    begin: NDArray[np.float64],
    on_outside: str,
) -> NDArray[np.bool_]:
    """Return which windows stay under ``on_outside``; events without a time are not judged."""
    use = np.ones(outside.size, bool)
    if on_outside == "mask":
        return use
    masks = [v for v in valid.values() if v.shape[1]]
    unseen = np.zeros(outside.size, bool)
    if masks:
        unseen = ~np.any([v.any(axis=1) for v in masks], axis=0) & np.isfinite(begin)
    if on_outside == "drop":
        return use & ~unseen & ~outside
    if unseen.any() or outside.any():
        raise ValueError(
            f"{int(unseen.sum())} windows lie where no selected unit was observed, and "
            f"{int(outside.sum())} start before the first or end after the last spike; "
            "on_outside='drop' leaves them out, 'mask' keeps them"
        )
    return use


def _warn_about_clocks(trains: SpikeTrains, events: NDArray[np.float64]) -> None:
    problem = span_problem(trains.times, events)
    if problem:
        warn(problem)


def _dtype(dtype: Any) -> str:
    if not isinstance(dtype, str) and dtype is not None:  # numpy takes None for float64
        try:
            dtype = np.dtype(dtype).name
        except TypeError:
            raise TypeError(
                f"dtype must be one of {', '.join(map(repr, LIMITS))}, got {type(dtype).__name__}"
            ) from None
    return _check.as_choice(dtype, "dtype", LIMITS)


def _cores() -> Sequence[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def _short(value: Any) -> str:
    """Return a selection as text for messages and provenance."""
    if isinstance(value, str):
        return repr(value)
    if callable(value):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else repr(value)
