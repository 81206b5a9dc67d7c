"""Checks of one file: what would make an analysis wrong without an error."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._warnings import NB26StatsWarning
from nb26stats.nwb._align import column_verdict
from nb26stats.nwb._areas import UNKNOWN, unit_areas
from nb26stats.nwb._observed import merge_intervals
from nb26stats.nwb._tables import column_names, interval_tables, is_ragged, read_column
from nb26stats.nwb._units import find_units, read_spikes, span_problem, units_tables
from nb26stats.nwb.errors import NB26NWBError

from ._parts import cut, listing, plural

if TYPE_CHECKING:
    from nb26stats.nwb import Session
    from nb26stats.nwb._units import SpikeTrains


@dataclass(frozen=True)
class Problem:
    """One finding: which check, what was found, and what to do about it."""

    check: str
    what: str
    advice: str


def find_problems(session: Session) -> list[Problem]:
    """Return what the checks find: spikes, tables of intervals, areas, spans."""
    found: list[Problem] = []
    trains = _spikes(session, found)
    tables = interval_tables(session)
    for name, table in tables.items():
        found += _table_problems(session, name, table)
    if trains is not None:
        found += _area_problems(session)
        found += _outside(trains)
        found += _spans(trains, tables)
    return found


def _spikes(session: Session, found: list[Problem]) -> SpikeTrains | None:
    """Read the spikes; add what is wrong with them."""
    elsewhere = [name for name in units_tables(session) if name != "units"]
    if session.nwbfile.units is None:
        if elsewhere:
            found.append(
                Problem(
                    "units",
                    f"The units are not in the usual place but in {listing(elsewhere)}.",
                    f"Pass units={elsewhere[0]!r} to units and spike_counts.",
                )
            )
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            trains = read_spikes(session)
        except NB26NWBError as err:
            text = cut(err)
            found.append(Problem("spikes", f"The spikes cannot be read: {text}.", ""))
            return None
    if trains.n_nonfinite:
        found.append(
            Problem(
                "non-finite spikes",
                f"{plural(trains.n_nonfinite, 'spike time')} are NaN or infinite.",
                "They are left out of all counts.",
            )
        )
    if trains.n_unsorted:
        found.append(
            Problem(
                "unsorted spikes",
                f"The spikes of {plural(trains.n_unsorted, 'unit')} are not in ascending order.",
                "They are sorted when read here; other programs may count them wrongly.",
            )
        )
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, NB26StatsWarning) and "NaN or infinite" not in text:
            found.append(Problem("spikes", text[:1].upper() + text[1:] + ".", ""))
    return trains


def _table_problems(session: Session, name: str, table: Any) -> list[Problem]:
    found = []
    empty, relative = [], []
    if not len(table.id):
        return []
    for column in column_names(table):
        if is_ragged(table, column):
            continue
        try:
            values = read_column(table, column)
        except NB26NWBError as err:
            found.append(Problem("tables", cut(err) + ".", ""))
            continue
        if values.dtype.kind != "f":
            continue
        missing = np.isnan(values)
        if missing.all():
            empty.append(column)
        elif column == "start_time" and missing.any():
            found.append(
                Problem(
                    "NaN columns",
                    f"{plural(int(missing.sum()), 'row')} of table {cut(name, 80)} have no "
                    "start_time.",
                    "Windows aligned to it leave these rows out.",
                )
            )
        else:
            verdict = column_verdict(session, table, column)
            if verdict.verdict == "relative":
                relative.append((column, verdict.fr))
    if empty:
        found.append(
            Problem(
                "NaN columns",
                f"In table {cut(name, 80)} {listing(empty)} "
                f"{'holds' if len(empty) == 1 else 'hold'} no value at all, only NaN.",
                "Nothing can be aligned to it."
                if len(empty) == 1
                else "Nothing can be aligned to them.",
            )
        )
    if relative:
        names = [f"{cut(c, 60)} ({fr:.0%} of rows fit)" for c, fr in relative]
        found.append(
            Problem(
                "relative times",
                f"In table {cut(name, 80)} these times count from each row's start_time, not from "
                f"the start of the session: {listing(names)}.",
                "Say relative_to='start_time' when you align to them; as they stand they point "
                "to wrong moments.",
            )
        )
    return found


def _area_problems(session: Session) -> list[Problem]:
    try:
        areas = unit_areas(session, find_units(session))
    except NB26NWBError as err:
        return [Problem("areas", cut(err) + ".", "")]
    n = int(np.sum(areas.area == UNKNOWN))
    if not n:
        return []
    total = len(areas.area)
    return [
        Problem(
            "unknown areas",
            f"The brain area of {n} of {plural(total, 'unit')} is not stated.",
            "If another column names it, pass areas_from= to units and spike_counts.",
        )
    ]


def _outside(trains: SpikeTrains) -> list[Problem]:
    if trains.obs_intervals is None:
        return []
    intervals, rows = trains.obs_intervals
    n, units = 0, 0
    # at a Unix clock neighbouring float64 values lie further apart than any fixed slack
    largest = float(np.abs(trains.times).max()) if trains.times.size else 1.0
    slack = max(1e-9, 4.0 * float(np.spacing(largest)))
    for u in range(len(trains.index) - 1):
        own = intervals[rows[u] : rows[u + 1]]
        if not len(own):
            continue
        starts, stops = merge_intervals(own, slack)
        times = trains.times[trains.index[u] : trains.index[u + 1]]
        if not starts.size:
            continue
        place = np.searchsorted(starts, times + slack, side="right") - 1
        inside = (place >= 0) & (times <= stops[np.maximum(place, 0)] + slack)
        n += int((~inside).sum())
        units += int((~inside).any())
    if not n:
        return []
    return [
        Problem(
            "spikes outside obs_intervals",
            f"{plural(n, 'spike')} of {plural(units, 'unit')} lie outside the unit's own "
            "observation intervals.",
            "Spikes or intervals are wrong, or they are on different clocks.",
        )
    ]


def _spans(trains: SpikeTrains, tables: dict[str, Any]) -> list[Problem]:
    """Compare the time of the spikes with the time of the trials, or of all tables."""
    used = {"trials": tables["trials"]} if "trials" in tables else tables
    parts = []
    for table in used.values():
        for column in ("start_time", "stop_time"):
            if column in column_names(table):
                values = np.asarray(read_column(table, column))
                if values.dtype.kind in "iuf":
                    parts.append(values.astype(np.float64))
    events = np.concatenate(parts) if parts else np.empty(0)
    events = events[np.isfinite(events)]
    if not events.size or not trains.times.size:
        return []
    found = []
    problem = span_problem(trains.times, events)
    if problem:
        found.append(Problem("spans", problem[:1].upper() + problem[1:] + ".", ""))
    first, last = float(trains.times.min()), float(trains.times.max())
    if events.min() > last or events.max() < first:
        what = "trials" if "trials" in tables else "intervals"
        found.append(
            Problem(
                "spans",
                f"Spikes and {what} do not overlap: spikes run from {first:.6g} to {last:.6g} s, "
                f"{what} from {events.min():.6g} to {events.max():.6g} s.",
                "They are on different clocks, or belong to different sessions.",
            )
        )
    return found
