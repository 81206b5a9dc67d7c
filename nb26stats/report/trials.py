"""Section: the trial table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats.nwb._align import column_verdict
from nb26stats.nwb._tables import column_names, find_table

from ._context import MissingPartError
from ._parts import Builder, Table, cut, listing, plural, show

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context
    from ._parts import Section

HEAD = 5


def section(context: Context) -> Section:
    """Return the first rows and one line per column."""
    import pandas as pd

    out = Builder("trials", "Trials")
    try:
        frame = context.trials
    except MissingPartError as gap:
        return out.missing(str(gap), "No trials to align to.")
    name = context.table_name
    out.title = "Trials" if name == "trials" else f"Table {cut(name, 60)}"
    start = frame["start_time"].to_numpy(dtype=np.float64)
    span = ""
    if np.isfinite(start).any():
        span = f", starting from {np.nanmin(start):.2f} to {np.nanmax(start):.2f} s"
    out.say(f"{plural(len(frame), 'row')}{span} on the session clock.")
    descriptions = frame.attrs.get("nb26stats", {}).get("descriptions", {})
    table = find_table(context.session, name)
    rows = []
    for column in frame.columns:
        values = frame[column]
        rows.append(
            {
                "column": cut(column, 80),
                "missing": int(values.isna().sum()),
                "distinct": _distinct(values),
                "values": _values(values),
                "clock": _clock(context, table, str(column), values),
                "description": cut(descriptions.get(column, "")),
            }
        )
    out.add(Table(pd.DataFrame(rows), "Columns", index=False))
    if any(row["clock"] not in ("", "session") for row in rows):
        out.say(
            "Clock: what the times of a column count from. Undecided columns need to be told "
            "(--relative-to session, or the name of a column)."
        )
    others = [name for name in column_names(table) if name not in frame.columns]
    if others:
        out.say(f"Not shown, as they hold lists or links: {listing(others, 12)}.")
    head = frame.head(HEAD).map(_brief).T
    head.columns = [f"id {cut(i, 20)}" for i in head.columns]
    head.index.name = "column"
    rows_text = plural(min(HEAD, len(frame)), "row")
    out.add(Table(head, f"The first {rows_text}", right=True))
    return out.done()


def _brief(value: Any) -> Any:
    return cut(value, 100) if isinstance(value, str) else value


def _values(values: pd.Series[Any]) -> str:
    known = values.dropna()
    if not len(known):
        return "–"
    if values.dtype.kind in "iuf":
        low, mid, high = known.min(), known.median(), known.max()
        if low == high:
            return f"all {show(low)}"
        return f"{show(low)} to {show(high)}, median {show(mid)}"
    counts = known.astype(str).value_counts()
    if len(counts) > 12 and counts.iloc[0] == 1:
        return f"for example {listing(counts.index.tolist(), 2, 40)}"
    shown = [f"{cut(word, 40)} ({n})" for word, n in counts.head(5).items()]
    return ", ".join(shown) + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")


def _distinct(values: pd.Series[Any]) -> int:
    try:
        return int(values.nunique())
    except TypeError:
        return int(values.astype(str).nunique())


def _clock(context: Context, table: Any, column: str, values: pd.Series[Any]) -> str:
    if values.dtype.kind != "f":
        return ""
    if not values.notna().any():
        return "no times"
    try:
        found = column_verdict(context.session, table, column)
    except ValueError:
        return ""
    if found.verdict == "absolute":
        return "session"
    if found.verdict == "relative":
        return f"from {found.reference}"
    return "undecided"
