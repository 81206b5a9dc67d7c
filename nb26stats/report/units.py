"""Section: the units and their areas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._context import MissingPartError
from ._parts import Builder, Table, cut, listing, plural

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context
    from ._parts import Section

SHOWN = 20
GAP = 0.3
EXPECTED = 50


def section(context: Context) -> Section:
    """Return units and rates per area, and the first units."""
    import pandas as pd

    out = Builder("units", "Units")
    try:
        frame = context.units
    except MissingPartError as gap:
        return out.missing(str(gap), "No units, so no firing rates.")
    first, last = frame["t_first"].min(), frame["t_last"].max()
    seconds = float(last - first) if np.isfinite(first) and last > first else np.nan
    rate = frame["n_spikes"] / seconds
    groups = [(str(area), frame["area"] == area) for area in dict.fromkeys(frame["area"])]
    table = pd.DataFrame(
        [
            {
                "area": cut(area, 80),
                "units": int(own.sum()),
                "spikes": int(frame.loc[own, "n_spikes"].sum()),
                "median rate (spikes/s)": rate[own].median() if np.isfinite(seconds) else np.nan,
                "lowest": rate[own].min(),
                "highest": rate[own].max(),
                **_sides(frame, own),
            }
            for area, own in groups
        ]
    )
    span = f" between {first:.2f} and {last:.2f} s" if np.isfinite(seconds) else ""
    named = [area for area, _ in groups if area != "unknown"]
    where = (
        f"{plural(len(groups), 'area')} ({listing(named, 8)})"
        if named
        else "no stated area: the file leaves the locations empty"
    )
    out.say(
        f"{plural(len(frame), 'unit')} in {where}; "
        f"{plural(int(frame['n_spikes'].sum()), 'spike')}{span}."
    )
    out.warn(context.warnings.get("units", []))
    out.warn(_silent(frame, first, last))
    notes = frame.attrs.get("nb26stats", {}).get("notes", [])
    for note in notes:
        text = cut(note)
        out.say(text[:1].upper() + text[1:] + ("" if text.endswith(".") else "."))
    out.add(
        Table(
            table, "Units per area; rates are over the time from first to last spike", index=False
        )
    )
    columns = ["area", "n_spikes"]
    shown = frame[columns].head(SHOWN).copy()
    shown.insert(2, "rate (spikes/s)", rate.head(SHOWN))
    shown["first spike (s)"] = frame["t_first"].head(SHOWN)
    shown["last spike (s)"] = frame["t_last"].head(SHOWN)
    for extra in ("unsorted", "quality", "hemisphere"):
        if extra in frame and not (extra == "unsorted" and not frame[extra].any()):
            shown[extra] = frame[extra].head(SHOWN)
    shown.index.name = "id"
    title = "The units" if len(frame) <= SHOWN else f"The first {SHOWN} of {len(frame)} units"
    out.add(Table(shown, title))
    return out.done()


def _silent(frame: pd.DataFrame, first: float, last: float) -> list[str]:
    """Warn about units whose spikes stop, or begin, far inside the recording."""
    if not last > first or bool(frame["has_obs_intervals"].all()):
        return []
    own = frame["t_last"] - frame["t_first"]
    gap = np.maximum(frame["t_first"] - first, last - frame["t_last"])
    # a unit that fired on would have left many spikes in the gap
    expected = frame["n_spikes"] / own.where(own > 0) * gap
    odd = (gap > GAP * (last - first)) & (expected > EXPECTED) & ~frame["has_obs_intervals"]
    names = [str(i) for i in frame.index[odd]]
    if not names:
        return []
    verb = "fires" if len(names) == 1 else "fire"
    return [
        f"{plural(len(names), 'unit')} (id {listing(names, 10, 20)}) {verb} only in a part of the "
        "recording, and the file does not say when each unit was observed. If it was lost or not "
        "yet found in the rest, rates over all trials are too low: choose the trials with --trials."
    ]


def _sides(frame: pd.DataFrame, own: pd.Series[Any]) -> dict[str, str]:
    if "hemisphere" not in frame:
        return {}
    counts = frame.loc[own, "hemisphere"].astype(str).value_counts()
    return {"hemisphere": ", ".join(f"{cut(side, 20)} {n}" for side, n in counts.items())}
