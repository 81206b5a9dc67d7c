"""Units and their spike trains: one bulk read, a table with one row per unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_text
from nb26stats._warnings import warn

from ._data import as_array
from ._session import as_session
from ._tables import (
    column_names,
    index_offsets,
    interval_tables,
    is_ragged,
    provenance,
    read_frame,
    read_ragged,
    require_column,
    row_ids,
    stored_data,
)
from .errors import CorruptFileError, MissingColumnError, MissingTableError, NB26NWBError

if TYPE_CHECKING:
    import pandas as pd

    from ._areas import Areas
    from ._session import Session

_CHUNK = 1 << 20


@dataclass(frozen=True)
class SpikeTrains:
    """All spike times of a file in one array, each unit ascending.

    Attributes
    ----------
    times : ndarray of float64, shape (n_spikes,)
        Seconds on the session clock, unit after unit; finite, ascending within a unit.
    index : ndarray of int64, shape (n_units + 1,)
        Unit ``u`` owns ``times[index[u]:index[u + 1]]``.
    unit_ids : ndarray, shape (n_units,)
        Ids of the units, in file order.
    unsorted : ndarray of bool, shape (n_units,)
        Units whose times were not ascending in the file.
    n_unsorted, n_nonfinite : int
        Units that had to be sorted; spikes that were removed because NaN or infinite.
    obs_intervals : tuple or None
        ``(intervals (m, 2) float64, index (n_units + 1,) int64)`` when the table has the column.
    """

    times: NDArray[np.float64]
    index: NDArray[np.int64]
    unit_ids: NDArray[Any]
    unsorted: NDArray[np.bool_]
    n_unsorted: int
    n_nonfinite: int
    obs_intervals: tuple[NDArray[np.float64], NDArray[np.int64]] | None


def units(s: Any, units: str = "units", areas_from: str | None = None) -> pd.DataFrame:
    """Return one row per unit: its plain columns, area and spike summary.

    Parameters
    ----------
    s : str, path-like, Session or pynwb.NWBFile
        The file.
    units : str, default="units"
        ``"units"``, or where else a units table lies, such as ``"acquisition/UnitsTest"``.
    areas_from : str, optional
        Column of the units table that names the area, or ``"electrodes/COLUMN"`` for a column of
        the electrodes; by default the usual places are looked through.

    Returns
    -------
    pandas.DataFrame
        Index ``id``; the columns of the file with one value per unit, then ``n_spikes``,
        ``t_first`` and ``t_last`` (s), ``area``, ``location_raw``, ``hemisphere`` (only where the
        file states it), ``unsorted`` and ``has_obs_intervals``. A column of the file with one of
        these names is kept as ``file_<name>``.

    Raises
    ------
    MissingTableError
        The file has no such units table.
    MissingColumnError
        The units have no spike times, or the column of ``areas_from`` does not exist.
    CorruptFileError
        The index of the spike times contradicts them.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> un = nbn.units(datasets.path("A2929-200711_neurosuite.nwb"))
    >>> un.groupby("area")["n_spikes"].size().to_dict()
    {'adn': 7, 'ca1': 8}
    """
    from ._areas import unit_areas

    with as_session(s) as session:
        table = find_units(session, units)
        trains = read_spikes(session, units)
        areas = unit_areas(session, table, areas_from)
        frame = unit_frame(session, table, trains, areas, units)
        _warn_span(trains, session)
        return frame


def unit_frame(
    session: Session, table: Any, trains: SpikeTrains, areas: Areas, units: str
) -> pd.DataFrame:
    """Return the frame of :func:`units` from spikes and areas that have been read already."""
    names = [n for n in column_names(table) if not is_ragged(table, n)]
    frame = read_frame(table, names)
    if "electrode_group" in column_names(table):
        frame["electrode_group"] = read_ragged(table, "electrode_group")
    first, last = trains.index[:-1], trains.index[1:]
    some = last > first
    t_first = np.full(len(some), np.nan)
    t_last = np.full(len(some), np.nan)
    t_first[some] = trains.times[first[some]]
    t_last[some] = trains.times[last[some] - 1]
    added: dict[str, Any] = {
        "n_spikes": last - first,
        "t_first": t_first,
        "t_last": t_last,
        "area": areas.area,
        "location_raw": areas.location_raw,
        "unsorted": trains.unsorted,
        "has_obs_intervals": _has_intervals(trains),
    }
    if areas.hemisphere is not None and "hemisphere" not in frame:
        added["hemisphere"] = areas.hemisphere
    frame = frame.rename(columns={n: f"file_{n}" for n in added if n in frame})
    for name, values in added.items():
        frame[name] = values
    frame.attrs["nb26stats"] = {
        **provenance(session, table, units, names),
        "area_source": areas.source,
        "notes": list(areas.notes),
    }
    return frame


def find_units(session: Session, units: str = "units") -> Any:
    """Return the units table called ``units`` or raise MissingTableError with what there is."""
    as_text(units, "units")
    tables = units_tables(session)
    for key in (units, units.removeprefix("processing/")):
        if key in tables:
            return tables[key]
    from ._describe import contents

    offer = ""
    if tables:
        offer = "; units tables found: " + ", ".join(
            f"{name} ({len(t)} units), pass units={name!r}" for name, t in tables.items()
        )
    what = "no units table" if units == "units" else f"no units table {units!r}"
    raise MissingTableError(
        f"this file ({session.label}) has {what}{offer}. It has: {contents(session)}"
    )


def units_tables(session: Session) -> dict[str, Any]:
    """Return every units table of the file by the name that ``units=`` takes."""
    from pynwb.misc import Units

    nwb = session.nwbfile
    found: dict[str, Any] = {}
    if nwb.units is not None:
        found["units"] = nwb.units
    places = [("acquisition", nwb.acquisition), ("scratch", nwb.scratch)]
    places += [(name, module.data_interfaces) for name, module in nwb.processing.items()]
    places.append(("analysis", nwb.analysis))
    for place, items in places:
        for name, item in (items or {}).items():
            if isinstance(item, Units):
                found[f"{place}/{name}"] = item
    return found


def read_spikes(session: Session, units: str = "units") -> SpikeTrains:
    """Read all spike times at once, check them, and sort the units that need it.

    Warns once when non-finite times are removed and once when the stored type is too coarse.
    Units that were not ascending are only reported in the result: the caller decides whether
    that deserves a warning.
    """
    table = find_units(session, units)
    if "spike_times" not in column_names(table):
        try:
            require_column(table, "spike_times")
        except MissingColumnError as err:
            raise MissingColumnError(f"{session.label}: {err}") from None
    times, index = _flat_times(table)
    times, index, n_nonfinite = _drop_nonfinite(times, index)
    if n_nonfinite:
        warn(f"{n_nonfinite} spike times are NaN or infinite and were left out")
    unsorted = _sort_in_place(times, index)
    return SpikeTrains(
        times=times,
        index=index,
        unit_ids=row_ids(table),
        unsorted=unsorted,
        n_unsorted=int(unsorted.sum()),
        n_nonfinite=n_nonfinite,
        obs_intervals=_obs_intervals(table),
    )


def span_problem(times: NDArray[np.float64], events: NDArray[np.float64]) -> str | None:
    """Return a sentence when spikes and events cover spans that differ 100-fold, else None."""
    events = events[np.isfinite(events)]
    if len(times) < 2 or len(events) < 2:
        return None
    spikes = float(times.max() - times.min())
    span = float(events.max() - events.min())
    if not (spikes > 0 and span > 0) or span / 100 <= spikes <= span * 100:
        return None
    return (
        f"the spikes span {spikes:g} s but the events {span:g} s; spike times should be seconds, "
        "are they samples or milliseconds?"
    )


def _flat_times(table: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    column = table["spike_times"]
    n = len(table.id)
    if hasattr(column, "target"):
        stored = as_array(column.target.data, "spike_times")
        index = index_offsets(column, "'spike_times'", len(stored))
    else:
        stored = as_array(column.data, "spike_times")
        index = np.arange(len(stored) + 1, dtype=np.int64)
    if len(index) != n + 1 or stored.ndim != 1:
        raise CorruptFileError(
            f"'spike_times' has {len(index) - 1} rows (shape {stored.shape}) for {n} units; "
            "copy or download the file again"
        )
    if stored.dtype.kind not in "fiu":
        raise NB26NWBError(f"'spike_times' holds {stored.dtype} values, not seconds")
    if stored.dtype != np.float64 and len(stored):
        _warn_coarse(stored)
    # the sort works in place: never on an array that belongs to the user
    shared = isinstance(stored_data(getattr(column, "target", column)), np.ndarray)
    times = np.ascontiguousarray(stored.astype(np.float64, copy=shared))
    return times, index


def _warn_coarse(stored: NDArray[Any]) -> None:
    if stored.dtype.kind == "f":
        finite = stored[np.isfinite(stored)]
        top = np.abs(finite).max() if len(finite) else stored.dtype.type(0)
        spacing = float(np.spacing(top))
    else:
        spacing = 1.0
    if spacing > 1e-6:
        warn(
            f"spike times are stored as {stored.dtype.name}, whose values lie {spacing:.2g} s "
            "apart at the largest time: bin edges cannot be exact"
        )


def _drop_nonfinite(
    times: NDArray[np.float64], index: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    parts = [
        a + np.flatnonzero(~np.isfinite(times[a : a + _CHUNK]))
        for a in range(0, len(times), _CHUNK)
    ]
    bad = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not bad.size:
        return times, index, 0
    return np.delete(times, bad), index - np.searchsorted(bad, index), int(bad.size)


def _sort_in_place(times: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Sort each unit of ``times`` that is not ascending; return which ones those were."""
    unsorted = np.zeros(len(index) - 1, dtype=bool)
    for a in range(0, len(times) - 1, _CHUNK):
        part = times[a : a + _CHUNK + 1]
        falls = a + 1 + np.flatnonzero(part[1:] < part[:-1])
        owner = np.searchsorted(index, falls, side="right") - 1
        unsorted[owner[index[owner] != falls]] = True
    for u in np.flatnonzero(unsorted):
        times[index[u] : index[u + 1]].sort()
    return unsorted


def _obs_intervals(
    table: Any,
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    if "obs_intervals" not in column_names(table):
        return None
    column = table["obs_intervals"]
    inner = getattr(column, "target", column)
    flat = as_array(inner.data, "obs_intervals")
    flat = flat.reshape(0, 2) if not flat.size else flat
    if flat.ndim != 2 or flat.shape[1] != 2 or flat.dtype.kind not in "fiu":
        raise CorruptFileError(
            f"'obs_intervals' must hold (start, stop) pairs, found shape {flat.shape}"
        )
    if hasattr(column, "target"):
        index = index_offsets(column, "'obs_intervals'", len(flat))
    else:
        index = np.arange(len(flat) + 1, dtype=np.int64)
    if len(index) != len(table.id) + 1:
        raise CorruptFileError(
            f"'obs_intervals' has {len(index) - 1} rows for {len(table.id)} units; "
            "copy or download the file again"
        )
    return np.ascontiguousarray(flat, dtype=np.float64), index


def _has_intervals(trains: SpikeTrains) -> NDArray[np.bool_]:
    if trains.obs_intervals is None:
        return np.zeros(len(trains.unit_ids), dtype=bool)
    return np.diff(trains.obs_intervals[1]) > 0


def _warn_span(trains: SpikeTrains, session: Session) -> None:
    trial_table = interval_tables(session).get("trials")
    if trial_table is None or "start_time" not in column_names(trial_table):
        return
    starts = as_array(trial_table["start_time"].data, "start_time")
    problem = span_problem(trains.times, np.asarray(starts, np.float64).ravel())
    if problem:
        warn(problem)
