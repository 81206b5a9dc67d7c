"""Facts for the command line: what is in a file, and what its columns can be used for."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from nb26stats import nwb
from nb26stats.nwb._align import TIME_WORDS, column_verdict
from nb26stats.nwb._describe import describe
from nb26stats.nwb._tables import column_names, interval_tables, is_ragged

from ._parts import cut

if TYPE_CHECKING:
    from nb26stats.nwb import Session


def facts(session: Session) -> dict[str, Any]:
    """Return what ``info`` shows, built from dict, list, str, bool, int, float and None only."""
    out = describe(session)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        out["alignable"] = {
            name: _columns(session, table) for name, table in interval_tables(session).items()
        }
        out["convention"] = _convention(session)
        _read_units(session)
    seen = dict.fromkeys(cut(w.message) for w in caught if issubclass(w.category, UserWarning))
    out["warnings"] = list(seen)
    return out


def _columns(session: Session, table: Any) -> list[dict[str, Any]]:
    """Return clock and shares of each column that holds times."""
    found: list[dict[str, Any]] = []
    for column in column_names(table):
        if is_ragged(table, column):
            continue
        try:
            verdict = column_verdict(session, table, column)
        except nwb.NB26NWBError as err:
            found.append({"column": column, "verdict": "unreadable", "note": cut(err)})
            continue
        named = any(word in column.lower() for word in TIME_WORDS)
        if verdict.verdict != "undecided" or (named and not math.isnan(verdict.fa)):
            found.append(
                {
                    "column": column,
                    "verdict": verdict.verdict,
                    "reference": verdict.reference,
                    "share_absolute": _number(verdict.fa),
                    "share_relative": _number(verdict.fr),
                    "note": cut(verdict.note),
                }
            )
    return found


def _convention(session: Session) -> str | None:
    try:
        return str(nwb.behavior(session).attrs["convention"])
    except ValueError:
        return None


def _read_units(session: Session) -> None:
    """Read the units once for the warnings that brings."""
    try:
        nwb.units(session)
    except nwb.MissingTableError:
        pass
    except nwb.NB26NWBError as err:
        warnings.warn(f"the units cannot be read: {cut(err)}", stacklevel=1)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def as_text(found: dict[str, Any]) -> str:
    """Return the facts as lines for a terminal."""
    lines = [
        f"{found['file'] or 'NWB file in memory'}  NWB {found['nwb_version'] or 'version unknown'}",
        f"identifier      {cut(found['identifier'], 100)}",
        f"description     {cut(found['session_description'], 100)}",
        f"session start   {found['session_start_time']}",
    ]
    subject = ", ".join(f"{k} {cut(v, 60)}" for k, v in found["subject"].items())
    lines.append(f"subject         {cut(subject, 300) or 'not stated'}")
    for place in ("acquisition", "stimulus"):
        if found[place]:
            lines.append(f"{place:<15} {_typed(found[place])}")
    for module, items in found["processing"].items():
        lines.append(f"processing      {cut(module, 60)}: {_typed(items)}")
    lines += _unit_lines(found)
    lines += _table_lines(found)
    lines.append(f"behaviour       {found['convention'] or 'no known convention'}")
    for text in found["warnings"]:
        lines.append(f"warning         {text}")
    for text in found["read_warnings"]:
        lines.append(f"reader's remark {cut(text)}")
    return "\n".join(lines)


def _unit_lines(found: dict[str, Any]) -> list[str]:
    units = found["units"]
    if units is None:
        where = ", ".join(found["units_elsewhere"])
        return ["units           none" + (f"; elsewhere: {cut(where, 200)}" if where else "")]
    spikes = "" if units["has_spike_times"] else ", without spike times"
    lines = [f"units           {units['n_units']}{spikes}"]
    ranked = sorted(units["areas"].items(), key=lambda item: (-item[1], item[0]))
    for area, n in ranked:
        lines.append(f"  {cut(area, 60):<30} {n}")
    if units["hemispheres"]:
        sides = ", ".join(f"{cut(k, 20)} {v}" for k, v in units["hemispheres"].items())
        lines.append(f"  hemispheres: {sides}")
    lines += [f"  note: {cut(note)}" for note in units["area_notes"]]
    return lines


def _table_lines(found: dict[str, Any]) -> list[str]:
    if not found["intervals"]:
        return ["tables          none with start and stop times"]
    lines = []
    for name, n in found["intervals"].items():
        lines.append(f"table           {cut(name, 60)}  {n} rows")
        for row in found["alignable"].get(name, []):
            clock = {"absolute": "session clock", "relative": f"relative to {row.get('reference')}"}
            lines.append(
                f"  {cut(row['column'], 40):<30} {clock.get(row['verdict'], row['verdict'])}"
            )
    if found["columns"]:
        names = ", ".join(c["name"] for c in found["columns"])
        lines.append(f"columns         {cut(found['table'], 60)}: {cut(names, 400)}")
    return lines


def _typed(items: dict[str, str]) -> str:
    return cut(", ".join(f"{name} ({kind})" for name, kind in items.items()) or "empty", 300)
