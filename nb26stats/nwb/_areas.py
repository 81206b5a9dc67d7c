"""Which brain area a unit belongs to, and which units an ``areas=`` argument means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_list, as_text

from ._data import as_array, load, objects
from ._tables import (
    column_names,
    index_offsets,
    is_ragged,
    read_column,
    require_column,
    row_ids,
)
from .errors import MissingColumnError

if TYPE_CHECKING:
    from ._session import Session

UNKNOWN = "unknown"
MIXED = "mixed"

_UNIT_COLUMNS = ("location", "brain_area", "brain_region", "area", "structure_acronym")
_EMPTY = {"", "unknown", "none", "nan"}
_PAIR = re.compile(r"\s*([A-Za-z_][\w ]*?)\s*:\s*(.*?)\s*$", re.DOTALL)


@dataclass(frozen=True)
class Areas:
    """The area of each unit and where it was found.

    Attributes
    ----------
    area : ndarray of str, shape (n_units,)
        Clean names; ``"unknown"`` where nothing is stated, ``"mixed"`` where electrodes disagree.
    location_raw : ndarray of str, shape (n_units,)
        The text of the file behind each name, ``""`` where there is none.
    hemisphere : ndarray of str or None
        Where the file states it in ``key: value`` text; ``"unknown"`` for the other units.
    source : dict of str to int
        Number of units per place the area was found in.
    notes : list of str
        Readings the user should know of.
    """

    area: NDArray[Any]
    location_raw: NDArray[Any]
    hemisphere: NDArray[Any] | None
    source: dict[str, int]
    notes: list[str]


@dataclass(frozen=True)
class _Place:
    area: str
    raw: str
    hemisphere: str


def unit_areas(session: Session, table: Any, areas_from: str | None = None) -> Areas:
    """Return the area of each unit of ``table`` by the first rule that knows it.

    The order is: the column named by ``areas_from``; a text column of the units (``location``,
    ``brain_area``, ``brain_region``, ``area``, ``structure_acronym``); the electrode of the peak
    channel; the electrodes the unit was recorded on (majority of the known ones); the location
    of the electrode group; ``"unknown"``.
    """
    n = len(table.id)
    finder = _Finder(session, table, n)
    places: list[_Place | None] = [None] * n
    sources: list[str] = [UNKNOWN] * n
    for source, found in finder.rules(areas_from):
        for u, place in enumerate(found):
            if places[u] is None and place is not None:
                places[u], sources[u] = place, source
        if all(p is not None for p in places):
            break
    known = [p or _Place(UNKNOWN, "", "") for p in places]
    hemispheres = [p.hemisphere for p in known]
    notes = list(finder.notes)
    sides: dict[str, set[str]] = {}
    for p in known:
        if p.hemisphere:
            sides.setdefault(p.area, set()).add(p.hemisphere)
    for area, both in sides.items():
        if len(both) > 1:
            notes.append(
                f"area {area} holds units of several hemispheres ({', '.join(sorted(both))})"
            )
    return Areas(
        area=objects([p.area for p in known]),
        location_raw=objects([p.raw for p in known]),
        hemisphere=objects([h or UNKNOWN for h in hemispheres]) if any(hemispheres) else None,
        source=dict(Counter(sources)),
        notes=notes,
    )


def group_units(
    area: Sequence[str] | NDArray[Any],
    areas: str | Sequence[str] | Mapping[str, Any] | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Return area -> positions of its units (file order), as an ``areas=`` argument asks.

    Parameters
    ----------
    area : sequence of str
        Area of each unit.
    areas : str, sequence of str, mapping of str to str or sequence of str, optional
        None: every area, in order of first appearance. Names match without regard to case and
        select every spelling; a mapping makes groups under its own names.
    """
    names = [str(a) for a in area]
    spelled: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spelled.setdefault(name.casefold(), []).append(name)
    members = {a: np.flatnonzero([n == a for n in names]) for a in dict.fromkeys(names)}
    if areas is None:
        return members

    def matching(wanted: object) -> list[str]:
        key = as_text(wanted, "areas").strip().casefold()
        if key not in spelled:
            listed = ", ".join(f"{a} ({len(m)} units)" for a, m in members.items()) or "none"
            raise ValueError(f"areas: no area {wanted!r} in this file; its areas are: {listed}")
        return spelled[key]

    groups: dict[str, NDArray[np.int64]] = {}
    if isinstance(areas, Mapping):
        taken: dict[int, str] = {}
        for label, wanted in areas.items():
            as_text(label, "areas")
            if not len(as_list(wanted, f"areas[{label!r}]")):
                raise ValueError(f"areas[{label!r}] must name at least one area, got an empty list")
            positions = sorted(
                {
                    int(u)
                    for w in as_list(wanted, f"areas[{label!r}]")
                    for a in matching(w)
                    for u in members[a]
                }
            )
            for u in positions:
                if u in taken:
                    raise ValueError(
                        f"areas: the groups {taken[u]!r} and {label!r} share units of "
                        f"{names[u]!r}; groups must not overlap"
                    )
                taken[u] = label
            groups[label] = np.asarray(positions, np.int64)
    else:
        for wanted in as_list(areas, "areas"):
            for name in matching(wanted):
                groups[name] = members[name]
    if not groups:
        raise ValueError("areas must name at least one area, got an empty list")
    return groups


def clean_area(text: object) -> str:
    """Return the area's name in ``text``; ``"unknown"`` for the ways files write nothing."""
    return _place(text).area


def _place(text: object) -> _Place:
    """Read one location: plain names, or ``key: value; key: value``."""
    raw = "" if text is None else str(text)
    name, hemisphere = raw.strip(), ""
    pairs = _pairs(name)
    if "brain_region" in pairs:
        name = pairs["brain_region"]
        hemisphere = pairs.get("hemisphere", "").lower()
        if hemisphere in _EMPTY or hemisphere == "n/a":
            hemisphere = ""
    if name.casefold() in _EMPTY or (pairs and name.casefold() == "n/a"):
        name = UNKNOWN
    return _Place(name, raw, hemisphere)


def _pairs(text: str) -> dict[str, str]:
    if ":" not in text:
        return {}
    out: dict[str, str] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        match = _PAIR.match(part)
        if match is None:
            return {}
        out.setdefault(match.group(1).strip().lower().replace(" ", "_"), match.group(2))
    return out


class _Finder:
    """The rules, each giving a place (or None) per unit."""

    def __init__(self, session: Session, table: Any, n: int) -> None:
        self.session = session
        self.table = table
        self.n = n
        self.names = column_names(table)
        self.notes: list[str] = []

    def rules(self, areas_from: str | None) -> Any:
        if areas_from is not None:
            wanted = as_text(areas_from, "areas_from")
            if wanted.startswith("electrodes/"):
                column = wanted.removeprefix("electrodes/")
                yield from self._electrode_rules(column, required=True)
            else:
                yield wanted, self._unit_column(wanted)
            return
        for name in _UNIT_COLUMNS:
            if name in self.names and not is_ragged(self.table, name):
                values = read_column(self.table, name)
                if values.dtype == object:
                    yield name, [_known(_place(v)) for v in values]
        yield from self._electrode_rules("location", required=False)
        if "electrode_group" in self.names:
            yield (
                "electrode_group",
                [_known(_place(getattr(g, "location", None))) for g in self._groups(self.table)],
            )

    def _unit_column(self, name: str) -> list[_Place | None]:
        if name not in self.names:
            electrodes = self._electrodes()
            more = [f"electrodes/{c}" for c in column_names(electrodes)] if electrodes else []
            raise MissingColumnError(
                f"areas_from={name!r} is no column of the units; it can be one of "
                f"{', '.join(self.names) or 'none'}"
                + (f", or of the electrodes: {', '.join(more)}" if more else "")
            )
        if name == "electrode_group":
            return [_known(_place(getattr(g, "name", None))) for g in self._groups(self.table)]
        return [_known(_place(v)) for v in read_column(self.table, name)]

    def _electrodes(self) -> Any:
        if self.session.nwbfile.electrodes is not None or not _has(self.table, "electrodes"):
            return self.session.nwbfile.electrodes
        region = self.table["electrodes"]
        return getattr(getattr(region, "target", region), "table", None)

    def _electrode_rules(self, column: str, *, required: bool) -> Any:
        electrodes = self._electrodes()
        if electrodes is None:
            if required:
                raise MissingColumnError(
                    f"areas_from='electrodes/{column}': the file has no table of electrodes"
                )
            return
        if column not in column_names(electrodes):
            if required:
                require_column(electrodes, column)
            return
        places = [_place(v) for v in read_column(electrodes, column)]
        if "peak_channel_id" in self.names:
            yield "peak_channel_id", self._by_id(electrodes, places)
        if "peak_channel" in self.names and "electrode_group" in self.names:
            yield "peak_channel", self._by_site(electrodes, places)
        if "electrodes" in self.names:
            yield "electrodes", self._by_region(electrodes, column, places)

    def _by_id(self, electrodes: Any, places: list[_Place]) -> list[_Place | None]:
        if is_ragged(self.table, "peak_channel_id"):
            return [None] * self.n
        row_of = {_key(v): i for i, v in enumerate(row_ids(electrodes))}
        rows = [row_of.get(_key(v)) for v in read_column(self.table, "peak_channel_id")]
        return [None if r is None else _known(places[r]) for r in rows]

    def _by_site(self, electrodes: Any, places: list[_Place]) -> list[_Place | None]:
        site = next((c for c in ("site_id", "local_index") if c in column_names(electrodes)), None)
        if site is None or is_ragged(electrodes, site) or is_ragged(self.table, "peak_channel"):
            return [None] * self.n
        groups = [id(g) for g in self._groups(electrodes)] if _has(electrodes, "group") else []
        if not groups:
            return [None] * self.n
        row_of = {
            (g, _key(v)): i
            for i, (g, v) in enumerate(zip(groups, read_column(electrodes, site), strict=True))
        }
        own = [id(g) for g in self._groups(self.table)]
        peaks = read_column(self.table, "peak_channel")
        shift = 0
        if site != "site_id":
            shift = next(
                (
                    k
                    for k in (0, -1, 1)
                    if all(
                        (g, _shifted(p, k)) in row_of
                        for g, p in zip(own, peaks, strict=True)
                        if _key(p) is not None
                    )
                ),
                0,
            )
            if shift:
                self.notes.append(
                    f"peak_channel counts from {1 if shift < 0 else 0} and {site} from "
                    f"{0 if shift < 0 else 1}: peak_channel {shift:+d} was matched to {site}"
                )
        rows = [row_of.get((g, _shifted(p, shift))) for g, p in zip(own, peaks, strict=True)]
        return [None if r is None else _known(places[r]) for r in rows]

    def _by_region(self, electrodes: Any, column: str, places: list[_Place]) -> list[_Place | None]:
        region = self.table["electrodes"]
        inner = getattr(region, "target", region)
        target = getattr(inner, "table", None)
        if target is not None and target is not electrodes:
            if column not in column_names(target):
                return [None] * self.n
            places = [_place(v) for v in read_column(target, column)]
        rows = as_array(inner.data, "'electrodes' of the units")
        if hasattr(region, "target"):
            offsets = index_offsets(region, "'electrodes' of the units", len(rows))
        else:
            offsets = np.arange(len(rows) + 1, dtype=np.int64)
        there = (rows >= 0) & (rows < len(places))
        if not there.all():
            self.notes.append(
                f"{int((~there).sum())} references of the units to electrodes lead beyond the "
                f"{len(places)} electrodes and were left out"
            )
        out: list[_Place | None] = []
        for u in range(self.n):
            own = slice(offsets[u], offsets[u + 1])
            out.append(_majority([places[r] for r in rows[own][there[own]].tolist()]))
        return out

    def _groups(self, table: Any) -> list[Any]:
        name = "group" if _has(table, "group") and table is not self.table else "electrode_group"
        if not _has(table, name):
            return [None] * len(table.id)
        return list(load(table[name].data, f"{name!r} of {table.name!r}"))


def _has(table: Any, name: str) -> bool:
    return name in column_names(table)


def _known(place: _Place) -> _Place | None:
    return None if place.area == UNKNOWN else place


def _majority(places: list[_Place]) -> _Place | None:
    known = [p for p in places if p.area != UNKNOWN]
    if not known:
        return None
    ranked = Counter(p.area for p in known).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return _Place(MIXED, " | ".join(dict.fromkeys(p.raw for p in known)), _common(known))
    winners = [p for p in known if p.area == ranked[0][0]]
    return _Place(winners[0].area, winners[0].raw, _common(winners))


def _common(places: list[_Place]) -> str:
    sides = {p.hemisphere for p in places if p.hemisphere}
    return sides.pop() if len(sides) == 1 else ("both" if sides else "")


def _key(value: Any) -> Any:
    """Whole numbers as int whatever their type; None for NaN."""
    if isinstance(value, (float, np.floating)):
        return int(value) if np.isfinite(value) and float(value).is_integer() else None
    if isinstance(value, (int, np.integer)):
        return int(value)
    return value


def _shifted(value: Any, shift: int) -> Any:
    key = _key(value)
    return key + shift if isinstance(key, int) else key
