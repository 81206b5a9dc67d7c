"""Plain facts about an open file, for the summary, the command line and the report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tables import column_names, describe_columns, find_table, interval_tables
from ._units import units_tables
from .errors import NB26NWBError

if TYPE_CHECKING:
    from ._session import Session

_MAX_LINES = 30
_MAX_TEXT = 100


def contents(session: Session) -> str:
    """Return in one line what the file holds, for error messages."""
    nwb = session.nwbfile
    parts = []
    for name, items in (("acquisition", nwb.acquisition), ("stimulus", nwb.stimulus)):
        if items:
            parts.append(f"{name}: {_listed(items)}")
    for name, module in nwb.processing.items():
        parts.append(f"processing/{name}: {_listed(module.data_interfaces)}")
    tables = interval_tables(session)
    if tables:
        rows = [f"{name} ({len(t)} rows)" for name, t in tables.items()]
        parts.append(f"intervals: {_listed(rows)}")
    for name, table in units_tables(session).items():
        parts.append(f"{name} ({len(table)} units)")
    if nwb.electrodes is not None:
        parts.append(f"electrodes ({len(nwb.electrodes)} rows)")
    return "; ".join(parts) or "nothing but its header"


def describe(session: Session, table: str = "trials") -> dict[str, Any]:
    """Return plain facts about the file: only dict, list, str, bool, int, float and None.

    Parameters
    ----------
    session : Session
        Open session.
    table : str
        The interval table whose columns are listed, when it exists.

    Returns
    -------
    dict
        ``file``, ``path``, ``size_bytes``, ``identifier``, ``session_description``,
        ``session_start_time`` and ``timestamps_reference_time`` (ISO text), ``nwb_version``,
        ``namespaces``, ``subject`` (its filled fields), ``header`` (lab, institution, …),
        ``acquisition``, ``stimulus`` and ``processing`` (name -> type), ``intervals``
        (name -> number of rows), ``table`` and ``columns`` (name, dtype, description) of the
        asked table, ``n_trials``, ``units`` (None, or name, ``n_units``, ``columns``,
        ``has_spike_times``, ``areas`` name -> number of units, ``hemispheres``, ``area_source``,
        ``area_notes``, ``has_obs_intervals``), ``units_elsewhere``, ``n_electrodes`` and
        ``read_warnings``.
    """
    from ._areas import unit_areas

    nwb = session.nwbfile
    tables = interval_tables(session)
    facts: dict[str, Any] = {
        "file": session.path.name if session.path is not None else None,
        "path": str(session.path) if session.path is not None else None,
        "size_bytes": _size(session),
        "identifier": str(nwb.identifier),
        "session_description": str(nwb.session_description or ""),
        "session_start_time": _iso(nwb.session_start_time),
        "timestamps_reference_time": _iso(nwb.timestamps_reference_time),
        "nwb_version": session.nwb_version,
        "namespaces": dict(session.namespaces),
        "subject": _subject(nwb.subject),
        "header": _header(nwb),
        "acquisition": {str(k): type(v).__name__ for k, v in nwb.acquisition.items()},
        "stimulus": {str(k): type(v).__name__ for k, v in nwb.stimulus.items()},
        "processing": {
            str(k): {str(n): type(v).__name__ for n, v in m.data_interfaces.items()}
            for k, m in nwb.processing.items()
        },
        "intervals": {name: len(t) for name, t in tables.items()},
        "table": table if table in tables else None,
        "columns": describe_columns(find_table(session, table)) if table in tables else [],
        "n_trials": len(tables["trials"]) if "trials" in tables else None,
        "units": None,
        "units_elsewhere": [n for n in units_tables(session) if n != "units"],
        "n_electrodes": len(nwb.electrodes) if nwb.electrodes is not None else 0,
        "read_warnings": list(session.read_warnings),
    }
    if nwb.units is not None:
        names = column_names(nwb.units)
        try:
            areas = unit_areas(session, nwb.units)
            known: dict[str, Any] = {
                "areas": dict(Counter(areas.area.tolist())),
                "hemispheres": {}
                if areas.hemisphere is None
                else dict(Counter(areas.hemisphere.tolist())),
                "area_source": areas.source,
                "area_notes": areas.notes,
            }
        except NB26NWBError as err:
            known = {"areas": {}, "hemispheres": {}, "area_source": {}, "area_notes": [str(err)]}
        facts["units"] = {
            "name": "units",
            "n_units": len(nwb.units),
            "columns": describe_columns(nwb.units),
            "has_spike_times": "spike_times" in names,
            "has_obs_intervals": "obs_intervals" in names,
            **known,
        }
    return facts


def summary(session: Session) -> str:
    """Return the facts as text, at most 30 lines of at most 120 characters."""
    f = describe(session)
    lines = [
        f"NWB file {f['file'] or '(in memory)'}"
        + (f", schema {f['nwb_version']}" if f["nwb_version"] else ""),
        f"  identifier   {_short(f['identifier'])}",
        f"  description  {_short(f['session_description'])}",
        f"  start        {f['session_start_time']}",
    ]
    if f["subject"]:
        keys = ("subject_id", "species", "sex", "age")
        shown = [f"{k}: {f['subject'][k]}" for k in keys if k in f["subject"]]
        lines.append(f"  subject      {_short(', '.join(shown))}")
    if f["acquisition"]:
        lines.append(f"  acquisition  {_short(_typed(f['acquisition']))}")
    for name, items in list(f["processing"].items())[:5]:
        lines.append(f"  processing/{_short(name)}  {_short(_typed(items))}")
    if f["intervals"]:
        rows = [f"{name} ({n} rows)" for name, n in f["intervals"].items()]
        lines.append(f"  intervals    {_short(', '.join(rows))}")
    else:
        lines.append("  intervals    none")
    if f["columns"]:
        lines.append(f"  trial columns  {_short(', '.join(c['name'] for c in f['columns']), 300)}")
    lines.extend(_unit_lines(f))
    if f["read_warnings"]:
        lines.append(f"  {len(f['read_warnings'])} remarks of the reader, first:")
        lines.append(f"    {_short(f['read_warnings'][0])}")
    return "\n".join(lines[:_MAX_LINES])


def _unit_lines(f: dict[str, Any]) -> list[str]:
    units = f["units"]
    if units is None:
        more = f"; units tables elsewhere: {', '.join(f['units_elsewhere'])}"
        return ["  units        none" + (more if f["units_elsewhere"] else "")]
    lines = [f"  units        {units['n_units']}"]
    if not units["has_spike_times"]:
        lines[0] += " (no spike times)"
    ranked = sorted(units["areas"].items(), key=lambda item: -item[1])
    for area, n in ranked[:8]:
        lines.append(f"    {_short(area)}  {n}")
    if len(ranked) > 8:
        lines.append(f"    and {len(ranked) - 8} more areas")
    lines.extend(f"    note: {_short(note, 200)}" for note in units["area_notes"][:3])
    return lines


def _subject(subject: Any) -> dict[str, str]:
    if subject is None:
        return {}
    keys = ("subject_id", "species", "strain", "genotype", "sex", "age", "weight", "description")
    found = {k: getattr(subject, k, None) for k in keys}
    born = getattr(subject, "date_of_birth", None)
    out = {k: str(v) for k, v in found.items() if v not in (None, "")}
    if born is not None:
        out["date_of_birth"] = _iso(born) or str(born)
    return out


def _header(nwb: Any) -> dict[str, str]:
    keys = (
        "experimenter",
        "lab",
        "institution",
        "experiment_description",
        "session_id",
        "related_publications",
        "keywords",
        "notes",
    )
    out = {}
    for key in keys:
        value = getattr(nwb, key, None)
        if value is None or (isinstance(value, str) and not value):
            continue
        if not isinstance(value, str):
            try:
                value = ", ".join(
                    v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
                    for v in np.atleast_1d(np.asarray(value[:], dtype=object))
                )
            except (TypeError, ValueError):
                value = str(value)
        if value:
            out[key] = value
    return out


def _size(session: Session) -> int | None:
    path = session.path
    if path is None or not path.exists():
        return None
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size


def _iso(value: Any) -> str | None:
    if value is None:
        return None
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _listed(items: Any, most: int = 12) -> str:
    names = [str(i) for i in items]
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return (", ".join(names[:most]) or "empty") + more


def _typed(items: dict[str, str]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in items.items()) or "empty"


def _short(text: str, most: int = _MAX_TEXT) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"
