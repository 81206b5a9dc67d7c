"""Section: single spikes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _code
from ._context import NO_UNITS, MissingPartError
from ._figures import png_of
from ._parts import Builder, Figure, cut, listing, plural

if TYPE_CHECKING:
    import pandas as pd

    from nb26stats.nwb import SpikeCounts

    from ._context import Context
    from ._parts import Section

N_UNITS = 3
FINEST = 0.001
SECONDS = 10
MAX_ROWS = 1000
MAX_FINE_BINS = 4000
MAX_TICKS = 60_000

_NUMBERS = """\
cells = counts.concat()
numbers = pd.DataFrame(
    {
        "area": cells.unit_area["all"],
        "spikes": cells.counts["all"].sum(axis=(0, 1)),
        "windows_with_spikes": cells.counts["all"].any(axis=1).sum(axis=0),
    },
    index=pd.Index(cells.unit_ids["all"], name="unit"),
)"""


def section(context: Context) -> Section:
    """Return the raster of the busiest units, or of the first seconds of the session."""
    out = Builder("raster", "Spike rasters")
    try:
        context.units  # noqa: B018 - without units there is nothing to draw here
    except MissingPartError:
        return out.missing(NO_UNITS, "")
    try:
        counts = context.counts
    except MissingPartError:
        return _first_seconds(context, out)
    return _busiest(context, out, counts)


def _busiest(context: Context, out: Builder, counts: SpikeCounts) -> Section:
    from nb26stats import plotting

    totals = [
        (float(np.nansum(counts.counts[area][:, :, j])), area, j)
        for area in counts.areas
        for j in range(counts.counts[area].shape[2])
    ]
    best = sorted(totals, key=lambda t: -t[0])[:N_UNITS]
    positions = sorted(int(counts.unit_index[area][j]) for _, area, j in best)
    arguments = dict(context.count_arguments)
    for choice in ("areas", "quality"):
        arguments.pop(choice, None)
    arguments["quality"] = _these_units(context.units, positions)
    arguments["bin_size"] = _fine(counts.bin_size, counts.n_bins)
    step = max(math.ceil(counts.n_trials / MAX_ROWS), math.ceil(best[0][0] / MAX_TICKS))
    if step > 1:
        rows = counts.trial_index[::step].tolist()
        arguments["trials"] = rows
        out.say(f"One trial in {step} is drawn.")
    try:
        fine = context.counts_of("raster", arguments)
    except MissingPartError as gap:
        return out.missing(str(gap))
    numbers = _numbers(fine)
    name = context.event.name
    out.title = f"Spikes around {cut(name, 60)}"
    rows_text = [f"unit {cut(i, 20)} has {int(n):,}" for i, n in numbers["spikes"].items()]
    out.say(
        f"The {'unit' if len(positions) == 1 else plural(len(positions), 'unit')} with most spikes "
        "in the windows: "
        f"{listing(rows_text, N_UNITS)}."
    )
    out.warn(context.warnings.get("raster", []))
    lines = [
        _code.call("counts", "nwb.spike_counts", arguments),
        "with plotting.style():",
        f"    ax = plotting.plot_raster(counts, event={name!r})",
        _NUMBERS,
    ]
    width = 1000 * fine.bin_size
    out.add(
        Figure(
            "raster",
            png_of(lambda: plotting.plot_raster(fine, event=name)),
            alt=f"Raster of {plural(len(positions), 'unit')}: one row per trial, one tick per "
            f"{width:g} ms with a spike, around {cut(name, 60)}.",
            caption=f"Each row is one of {plural(fine.n_trials, 'trial')}, in the order of the "
            f"table from the top; each tick a bin of {width:g} ms that holds a spike. Time zero: "
            f"{cut(arguments['align_to'], 80)}. Single trials are shown as they are, so there is "
            "no band.",
            code=_code.block(context.path, lines, imports=["import pandas as pd", ""]),
            numbers=numbers,
        )
    )
    return out.done()


def _first_seconds(context: Context, out: Builder) -> Section:
    from nb26stats import plotting

    try:
        _, seconds = context.span
        length = min(SECONDS, seconds)
        arguments = context.session_arguments(FINEST, length)
        fine = context.counts_of("raster", arguments)
    except MissingPartError as gap:
        return out.missing(str(gap), "")
    numbers = _numbers(fine)
    start = float(fine.event_times[0])
    out.title = f"Spikes of the first {length} s"
    out.say(
        f"{plural(int(numbers['spikes'].sum()), 'spike')} of {plural(fine.n_units, 'unit')} in "
        f"{plural(length, 'second')} from {start:g} s on the session clock."
    )
    out.warn(context.warnings.get("raster", []))
    lines = [
        _code.call("counts", "nwb.spike_counts", arguments),
        "with plotting.style():",
        "    ax = plotting.plot_raster(counts)",
        _NUMBERS,
    ]
    per_area = [f"{cut(a, 60)} {plural(fine.counts[a].shape[2], 'unit')}" for a in fine.areas]
    out.add(
        Figure(
            "raster",
            png_of(lambda: plotting.plot_raster(fine)),
            alt=f"Raster of {plural(fine.n_units, 'unit')} over {length} s: one row per unit, one "
            "tick per millisecond with a spike.",
            caption=f"Each row is a unit, grouped by area ({listing(per_area, 50)}); each tick a "
            f"bin of 1 ms that holds a spike. Time zero: {start:g} s on the session clock, the "
            "first whole second with spikes. Single spikes are shown as they are, so there is no "
            "band.",
            code=_code.block(context.path, lines, imports=["import pandas as pd", ""]),
            numbers=numbers,
        )
    )
    return out.done()


def _numbers(counts: SpikeCounts) -> pd.DataFrame:
    """Return what the code block computes: spikes of each unit, and windows that hold any."""
    import pandas as pd

    cells = counts.concat()
    return pd.DataFrame(
        {
            "area": cells.unit_area["all"],
            "spikes": cells.counts["all"].sum(axis=(0, 1)),
            "windows_with_spikes": cells.counts["all"].any(axis=1).sum(axis=0),
        },
        index=pd.Index(cells.unit_ids["all"], name="unit"),
    )


def _these_units(units: pd.DataFrame, positions: list[int]) -> _code.Raw:
    """Return the choice of these units: by id, or by position where ids repeat."""
    if units.index.is_unique:
        ids = [units.index[p] for p in positions]
        ids = [i.item() if hasattr(i, "item") else i for i in ids]
        return _code.Raw(f"lambda units: units.index.isin({ids!r})", _by_id(ids))
    return _code.Raw(
        f"lambda units: [row in {positions!r} for row in range(len(units))]",
        lambda frame: [row in positions for row in range(len(frame))],
    )


def _by_id(ids: list[Any]) -> Any:
    return lambda units: units.index.isin(ids)


def _fine(bin_size: float, n_bins: int) -> float:
    """Return the largest width of at most 1 ms that divides the bins of the rates.

    Of a long window a panel has fewer dots than milliseconds: there 4000 bins are enough.
    """
    finest = max(FINEST, n_bins * bin_size / MAX_FINE_BINS)
    return float(bin_size / max(1, math.ceil(bin_size / finest - 1e-9)))
