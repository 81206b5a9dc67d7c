"""Section: what two areas tell about the cue and the choice, together and alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _code
from ._context import NO_UNITS, MissingPartError
from ._figures import png_of
from ._information_fit import (
    ALPHA,
    N_PERMUTATIONS,
    InformationFit,
    bin_of,
    fit_information,
    named,
    no_trials_for,
    two_or_why_not,
)
from ._parts import Builder, Figure, Table, cut, plural

if TYPE_CHECKING:
    import pandas as pd

    from nb26stats.nwb import SpikeCounts

    from ._context import Context
    from ._parts import Section

TERMS = ("mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy")
UNITS = {"time": "s", **dict.fromkeys(TERMS, "bits")}


def section(context: Context) -> Section:
    """Return the decomposition over time for the two areas with most units."""
    out = Builder("information", "What two areas tell", line="activity")
    try:
        sizes = {str(a): int(n) for a, n in context.units["area"].value_counts().items()}
    except MissingPartError:
        return out.missing(NO_UNITS, "")
    try:
        if context.options.selects:
            sizes = {a: len(ids) for a, ids in context.counts.unit_ids.items()}
    except MissingPartError:
        pass
    try:
        areas = two_or_why_not(sizes)
    except MissingPartError as gap:
        return out.missing(str(gap), "No information of two areas: fewer than two are named.")
    try:
        context.event  # noqa: B018 - without trials there is no time zero
    except MissingPartError:
        return out.missing(no_trials_for(sizes), "No information of two areas: no trials.")
    try:
        rows = context.behavior
    except MissingPartError as gap:
        return out.missing(str(gap), "")
    arguments = _arguments(context, areas)
    try:
        counts = context.counts_of("information counts", arguments)
        fit = context.once(
            "information", lambda: fit_information(counts, rows.iloc[counts.trial_index], areas)
        )
    except MissingPartError as gap:
        return out.missing(str(gap))
    return _page(context, out, fit, counts, arguments, len(named(sizes)))


def _arguments(context: Context, areas: tuple[str, str]) -> dict[str, Any]:
    return {**context.count_arguments, "bin_size": bin_of(context), "areas": list(areas)}


def _page(
    context: Context,
    out: Builder,
    fit: InformationFit,
    counts: SpikeCounts,
    arguments: dict[str, Any],
    n_areas: int,
) -> Section:
    from nb26stats import plotting

    first, second = (cut(a, 60) for a in fit.areas)
    out.title = f"What {first} and {second} tell about the {fit.about}"
    table = fit.pid.latencies_.set_index("atom")
    out.finding = _finding(fit, table)
    out.say(out.finding)
    if n_areas > 2:
        out.say(f"Shown are the two areas with the most units, of {n_areas}.")
    if len(fit.columns) == 1:
        out.say(
            "The target is one number per trial, so by construction only the area that tells more "
            "has a unique part, and what the other tells counts as redundant."
        )
    key = ("information counts", "information")
    out.warn([text for k in key for text in context.warnings.get(k, [])])
    event = context.event.name
    out.add(
        Figure(
            "information",
            png_of(lambda: plotting.plot_two_areas(fit.pid, names=list(fit.areas), event=event)),
            alt=f"Information of {first} and {second} about the {fit.about} over time, its parts, "
            f"and when they are significant. {out.finding}",
            caption=_caption(fit, counts, event),
            code=_code.block(
                context.path,
                _lines(context, fit, arguments, event),
                imports=[
                    "import numpy as np",
                    "",
                    "from nb26stats.information import TimeResolvedPID",
                ],
            ),
            numbers=_numbers(fit),
            units=UNITS,
        )
    )
    out.add(Table(_latencies(table, fit), "Onset, offset and peak", index=False))
    return out.done()


def _finding(fit: InformationFit, table: pd.DataFrame) -> str:
    first, second = (cut(a, 40) for a in fit.areas)
    begins = {str(atom): float(onset) for atom, onset in table["onset"].items()}
    peak, when = float(table["peak"].to_dict()["mi_12"]), begins["mi_12"]
    if not np.isfinite(when):
        return (
            f"{first} and {second} together tell nothing about the {fit.about} that stands out "
            f"from permuted trials (at most {peak:.2g} bits)."
        )
    names = {
        "redundancy": "redundancy (both alike)",
        "unique_1": f"unique to {first}",
        "unique_2": f"unique to {second}",
        "synergy": "synergy (only the two together)",
    }
    found = [
        f"{words} from {begins[atom]:.3g} s"
        for atom, words in names.items()
        if np.isfinite(begins[atom])
    ]
    parts = (
        f" Significant parts: {', '.join(found)}." if found else " No single part is significant."
    )
    return (
        f"{first} and {second} together tell up to {peak:.2g} bits about the {fit.about}, from "
        f"{when:.3g} s on.{parts}"
    )


def _caption(fit: InformationFit, counts: SpikeCounts, event: str) -> str:
    (n1, n2), (a1, a2) = fit.n_units, (cut(a, 60) for a in fit.areas)
    size = fit.dimensions
    reduced = (
        f", reduced to {plural(size, 'principal component')} per area" if size < max(n1, n2) else ""
    )
    return (
        f"Information in bits about the {fit.about} of {plural(fit.n_trials, 'trial')} in the "
        f"square roots of the spike counts of {plural(n1, 'unit')} in {a1} and {n2} in {a2}"
        f"{reduced}, in bins of {1000 * counts.bin_size:g} ms; times are starts of bins after "
        f"{cut(event, 60)}. "
        "Gaussian estimate with the closed form of the BROJA measure, corrected for its bias by a "
        f"parametric bootstrap. Grey: mean ± 2 SD of {N_PERMUTATIONS} permutations of the trials' "
        f"{fit.about}. Bars: bins above the largest permuted value of all bins at the "
        f"{100 * ALPHA:g} % level; an onset needs three in a row. Permuting tests whether there is "
        "any information; once there is, redundancy and synergy beyond the band do not by "
        "themselves show that either differs from zero."
    )


def _lines(
    context: Context, fit: InformationFit, arguments: dict[str, Any], event: str
) -> list[str]:
    behavior = {} if context.table_name == "trials" else {"table": context.table_name}
    sides = '["left", "right"]'
    cue = f' & rows["stim_side"].isin({sides})' if len(fit.columns) > 1 else ""
    return [
        _code.call("counts", "nwb.spike_counts", arguments),
        _code.call("trials", "nwb.behavior", behavior),
        "rows = trials.iloc[counts.trial_index]",
        'clean = rows["include"].fillna(False) & ~rows["photostim"].fillna(False)',
        f'keep = (clean & rows["choice"].isin({sides}){cue}).to_numpy(bool)',
        "areas = {}",
        f"for area in {list(fit.areas)!r}:",
        "    seen = counts.valid[area][keep].all(axis=0)",
        "    areas[area] = np.sqrt(counts.counts[area][keep][:, :, seen])",
        f"columns = {list(fit.columns)!r}",
        'target = np.column_stack([rows[c][keep] == "right" for c in columns]).astype(float)',
        "pid = TimeResolvedPID(",
        f"    area_pca={fit.dimensions}, n_permutations={N_PERMUTATIONS}, alpha={ALPHA:g}, "
        "random_state=0",
        f").fit(areas, {{'the {fit.about}': target}}, counts.time)",
        "with plotting.style():",
        f"    ax = plotting.plot_two_areas(pid, names={list(fit.areas)!r}, event={event!r})",
        f"terms = {list(TERMS)!r}",
        'numbers = pid.to_frame().pivot(index="time", columns="atom", values="value")[terms]',
    ]


def _numbers(fit: InformationFit) -> pd.DataFrame:
    frame: pd.DataFrame = fit.pid.to_frame()
    wide: pd.DataFrame = frame.pivot(index="time", columns="atom", values="value")[list(TERMS)]
    return wide


def _latencies(table: pd.DataFrame, fit: InformationFit) -> pd.DataFrame:
    import pandas as pd

    first, second = (cut(a, 40) for a in fit.areas)
    words = [
        first,
        second,
        "both",
        "redundancy",
        f"unique to {first}",
        f"unique to {second}",
        "synergy",
    ]
    return pd.DataFrame(
        {
            "part": words,
            "onset (s)": table.loc[list(TERMS), "onset"].to_numpy(),
            "offset (s)": table.loc[list(TERMS), "offset"].to_numpy(),
            "peak (bits)": table.loc[list(TERMS), "peak"].round(4).to_numpy(),
            "at (s)": table.loc[list(TERMS), "peak_time"].to_numpy(),
        }
    )
