"""Section: what the file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nb26stats.nwb._describe import describe

from ._parts import Builder, Table, cut, plural

if TYPE_CHECKING:
    from ._context import Context
    from ._parts import Section


def section(context: Context) -> Section:
    """Return one row per object of the file."""
    import pandas as pd

    out = Builder("contents", "What is in the file", line="contents")
    facts = context.once("facts", lambda: describe(context.session, context.table_name))
    rows: list[tuple[str, str, str, str]] = []
    for place in ("acquisition", "stimulus"):
        rows += [(place, name, kind, "") for name, kind in facts[place].items()]
    for module, items in facts["processing"].items():
        rows += [(f"processing/{module}", name, kind, "") for name, kind in items.items()]
    rows += [
        ("intervals", name, "TimeIntervals", plural(n, "row"))
        for name, n in facts["intervals"].items()
    ]
    units = facts["units"]
    if units is not None:
        note = "" if units["has_spike_times"] else ", no spike times"
        rows.append(("units", "units", "Units", plural(units["n_units"], "unit") + note))
    rows += [("elsewhere", name, "Units", "") for name in facts["units_elsewhere"]]
    if facts["n_electrodes"]:
        rows.append(
            ("electrodes", "electrodes", "table", plural(facts["n_electrodes"], "electrode"))
        )
    out.finding = _finding(facts)
    out.say(out.finding)
    if not rows:
        return out.missing("The file holds nothing but its header.")
    frame = pd.DataFrame(
        [[cut(cell, 120) for cell in row] for row in rows],
        columns=["where", "name", "type", "size"],
    )
    out.add(Table(frame, index=False, max_rows=80))
    return out.done()


def _finding(facts: dict[str, Any]) -> str:
    trials, units = facts["n_trials"], facts["units"]
    parts = [plural(trials, "trial") if trials is not None else "no trial table"]
    if trials is None and facts["intervals"]:
        parts[0] += f" but {plural(len(facts['intervals']), 'other interval table')}"
    if units is None:
        parts.append("no units")
    else:
        n = len(units["areas"])
        known = [a for a in units["areas"] if a != "unknown"]
        where = f" in {plural(n, 'area')}" if known else ", areas not stated"
        parts.append(plural(units["n_units"], "unit") + where)
    return f"The file has {parts[0]} and {parts[1]}."
