"""Section: firing rate of each area around the event, or over the session."""

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

    from ._context import Context, Event
    from ._parts import Section

MAX_AREAS = 40
"""More panels than this do not fit a page."""
BINS = 300
UNITS = {"time": "s", "mean": "spikes/s", "sem": "spikes/s", "rate": "spikes/s"}
MAX_NAMED = 12
"""With more areas the caption leaves the numbers of units to the titles of the panels."""


def section(context: Context) -> Section:
    """Return the mean rate of each area with its SEM."""
    out = Builder("psth", "Firing around the event", line="activity")
    try:
        context.units  # noqa: B018 - without units there is nothing to draw here
    except MissingPartError:
        out.title = "Firing rates"
        return out.missing(NO_UNITS, "")
    try:
        event, counts = context.event, context.counts
    except MissingPartError as gap:
        out.title = "Firing over the session"
        out.say(str(gap))
        out.warn(_warnings(context))
        return _session(context, out)
    return _around(context, out, event, counts)


def _warnings(context: Context) -> list[str]:
    return [text for key in ("event", "counts") for text in context.warnings.get(key, [])]


def _around(context: Context, out: Builder, event: Event, counts: SpikeCounts) -> Section:
    import pandas as pd

    from nb26stats import plotting

    parts: list[Any] = [counts.psth(area) for area in counts.areas]
    parts = [part for part in parts if part.n_units]
    name = event.name
    out.title = f"Firing around {cut(name, 60)}"
    clock = f", read as seconds after {event.reference}" if event.verdict == "relative" else ""
    out.say(
        f"Windows are aligned to the column {cut(event.column, 80)}{cut(clock, 80)}, because "
        f"{event.why}; {plural(counts.n_trials, 'window')} of {len(context.trials)} rows."
    )
    lit = _photostimulated(context, counts)
    if lit:
        out.say(
            f"{lit} of these windows belong to trials with photostimulation, which may change "
            "firing; --trials leaves them out."
        )
    if isinstance(context.count_arguments.get("trials"), _code.Raw):
        out.warn(
            [
                f"The table has {len(context.trials):,} rows, whose counts would fill the memory: "
                f"one row in {context.step} was used. Choose rows with --trials."
            ]
        )
    out.warn(_warnings(context))
    if not parts:
        return out.missing(
            "No unit was observed over a whole window, so no rate can be given.",
        )
    largest = sorted(sorted(parts, key=lambda p: -p.n_units)[:MAX_AREAS], key=parts.index)
    out.finding = _change(largest, name)
    out.say(out.finding)
    if len(parts) > len(largest):
        out.say(f"Shown are the {MAX_AREAS} areas with the most units, of {len(parts)}.")
    lines = [_code.call("counts", "nwb.spike_counts", context.count_arguments)]
    if len(parts) == len(largest):
        if len(parts) == len(counts.areas):
            lines.append("psths = [counts.psth(area) for area in counts.areas]")
        else:
            lines.append("psths = [p for p in map(counts.psth, counts.areas) if p.n_units]")
    else:
        names = [p.area for p in largest]
        lines.append(f"areas = {names!r}")
        lines.append("psths = [counts.psth(area) for area in areas]")
    lines += [
        "with plotting.style():",
        f"    ax = plotting.plot_psth(psths, event={name!r})",
        'numbers = pd.concat({p.area: p.to_frame().set_index("time") for p in psths}, '
        'names=["area"])',
    ]
    numbers = pd.concat({p.area: p.to_frame().set_index("time") for p in largest}, names=["area"])
    out.add(
        Figure(
            "psth",
            png_of(lambda: plotting.plot_psth(largest, event=name)),
            alt=f"Mean firing rate of {listing([p.area for p in largest], 8)} around "
            f"{cut(name, 60)}, with standard errors. {out.finding}",
            caption=_caption(context, event, counts, largest),
            code=_code.block(context.path, lines, imports=["import pandas as pd", ""]),
            numbers=numbers,
            units=UNITS,
        )
    )
    return out.done()


def _photostimulated(context: Context, counts: SpikeCounts) -> int:
    """Return how many of the windows are in trials that the behaviour table marks so."""
    try:
        light = context.behavior["photostim"].fillna(False).to_numpy(dtype=bool)
    except MissingPartError:
        return 0
    return int(light[counts.trial_index].sum())


def _caption(context: Context, event: Event, counts: SpikeCounts, parts: list[Any]) -> str:
    window = context.count_arguments["window"]
    over = {p.sem_over for p in parts}
    band = "Band: mean ± one standard error (SEM) "
    if over == {"units"}:
        band += "over units."
    elif over == {"trials"}:
        band += "over trials, as there is one unit" + (" per area." if len(parts) > 1 else ".")
    else:
        single = [p.area for p in parts if p.sem_over == "trials"]
        band += f"over units; over trials in {listing(single, 6)}, with one unit."
    trials = sorted({p.n_trials for p in parts})
    if len(trials) == 1 and len(parts) > MAX_NAMED:
        numbers = f"n: units as named above the panels; {plural(trials[0], 'trial')}."
    elif len(trials) == 1:
        numbers = listing([f"{p.area} {plural(p.n_units, 'unit')}" for p in parts], 50)
        numbers = f"n: {numbers}; {plural(trials[0], 'trial')}."
    else:
        numbers = listing(
            [f"{p.area} {plural(p.n_units, 'unit')}, {plural(p.n_trials, 'trial')}" for p in parts],
            50,
        )
        numbers = f"n: {numbers}."
    left_out = sum(p.n_units_left_out for p in parts)
    if left_out:
        numbers += f" {plural(left_out, 'unit')} without an observed window left out."
    clock = f" after {cut(event.reference, 60)}" if event.verdict == "relative" else ""
    return (
        f"Line: mean firing rate over units, each unit's rate being the mean over its valid "
        f"trials, in bins of {1000 * counts.bin_size:g} ms from {window[0]:g} to {window[1]:g} s. "
        f"{band} Time zero: {cut(event.column, 80)}{clock}. {numbers}"
    )


def _change(parts: list[Any], name: str) -> str:
    """Say where the mean rate leaves its level before time zero the furthest."""
    best = None
    for part in parts:
        before = part.time + part.bin_size <= 1e-9
        base = float(part.mean[before].mean()) if before.any() else math.nan
        reference = base if np.isfinite(base) else float(part.mean.mean())
        k = int(np.argmax(np.abs(part.mean - reference)))
        size = abs(float(part.mean[k]) - reference)
        if best is None or size > best[0]:
            best = (size, part, k, base)
    assert best is not None
    size, part, k, base = best
    if size == 0.0:
        return f"The mean rate does not change around {cut(name, 60)}."
    at = f"{part.mean[k]:.3g} spikes/s at {part.bin_centers[k]:.3g} s"
    change = (
        f"from a mean of {base:.3g} spikes/s before {cut(name, 60)} to {at}"
        if np.isfinite(base)
        else f"from its mean of {part.mean.mean():.3g} spikes/s to {at}"
    )
    who = f"{cut(part.area, 80)} ({plural(part.n_units, 'unit')})"
    if len(parts) == 1:
        return f"{who}: the largest change is {change}."
    return f"The largest change is in {who}: {change}."


def _place(area: str) -> str:
    return "units of no stated area" if area == "unknown" else cut(area, 60)


def _session(context: Context, out: Builder) -> Section:
    """Draw the mean rate over the session, for files without events."""
    from nb26stats import plotting

    try:
        start, seconds = context.span
        width = float(max(1, math.ceil(seconds / BINS)))
        arguments = context.session_arguments(width, width * (seconds // width))
        counts = context.counts_of("rates", arguments)
    except MissingPartError as gap:
        return out.missing(str(gap))
    out.warn(context.warnings.get("rates", []))
    dropped = ""
    if len(counts.areas) > MAX_AREAS:
        ranked = sorted(counts.areas, key=lambda a: -counts.counts[a].shape[2])[:MAX_AREAS]
        arguments["areas"] = [a for a in counts.areas if a in ranked]
        dropped = f" Shown are the {MAX_AREAS} areas with the most units, of {len(counts.areas)}."
        counts = context.counts_of("rates of some areas", arguments)
    numbers: pd.DataFrame = plotting.mean_rates(counts)
    means = {a: float(numbers[a, "rate"].mean()) for a in counts.areas}
    out.finding = (
        "Mean rate over the session: "
        + listing([f"{_place(a)} {m:.3g} spikes/s" for a, m in means.items()], 6)
        + "."
    )
    out.say(out.finding + dropped)
    lines = [
        _code.call("counts", "nwb.spike_counts", arguments),
        "with plotting.style():",
        "    ax = plotting.plot_rates(counts)",
        "numbers = plotting.mean_rates(counts)",
    ]
    units = (
        ["units as named above the panels"]
        if len(counts.areas) > MAX_NAMED
        else [f"{cut(a, 60)} {plural(counts.counts[a].shape[2], 'unit')}" for a in counts.areas]
    )
    out.add(
        Figure(
            "rates",
            png_of(lambda: plotting.plot_rates(counts)),
            alt=f"Mean firing rate of {listing(counts.areas, 8)} over the session. {out.finding}",
            caption=f"Line: mean firing rate over units in bins of {width:g} s, from the first "
            f"whole second with spikes ({start:g} s on the session clock). Band: mean ± one "
            "standard error (SEM) over units; none where an area has one unit. There is no "
            f"event, so there are no trials: one session. n: {listing(units, 50)}. Times in which "
            "a unit was not observed count as silent.",
            code=_code.block(context.path, lines),
            numbers=numbers,
            units=UNITS,
        )
    )
    return out.done()
