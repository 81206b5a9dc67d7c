"""Section: which trials with light changed the activity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _code
from ._causal_fit import (
    ENDS,
    EPOCHS,
    PLACEBOS,
    LightFit,
    LightTrials,
    Q,
    count_arguments,
    fit_light,
    in_words,
    light_trials,
)
from ._context import NO_UNITS, MissingPartError
from ._figures import png_of
from ._parts import Builder, Figure, Table, plural

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context
    from ._parts import Section

SIZE = (7.1, 2.9)
"""Inches."""
TITLE, YLABEL = "Trials with light, and without", "trials with light"
UNITS = {"activity": "√(spikes/s)"}
NEEDED = "Which trials light changed needs trials, some of them marked as having light."
BELIEVE = (
    "To read a name as an effect of light, believe that light has no after-effect on the trials "
    "that follow, since these are the controls; that it has nothing to do with whether a trial "
    "counts as performed; and that the recording is stable. Nobody named does not mean that "
    "nothing changed: see what could have been found."
)


def section(context: Context) -> Section:
    """Return who is named among the trials with light."""
    out = Builder("causal", "Which trials light changed", line="activity")
    try:
        context.units  # noqa: B018 - the section on units says why there are none
    except MissingPartError:
        return out.missing(NO_UNITS, "")
    try:
        behavior, trials = context.behavior, context.trials
    except MissingPartError as gap:
        return out.missing(f"{NEEDED} {gap}", "")
    try:
        chosen = context.once("light", lambda: light_trials(trials, behavior))
    except MissingPartError as gap:
        # most files have no light, and nobody misses it there
        none = "No trial is marked" in str(gap)
        return out.missing(str(gap), "" if none else None)
    arguments = count_arguments(context, chosen)
    try:
        counts = context.counts_of("light counts", arguments)
        fit = context.once(
            "light fit", lambda: fit_light(counts, behavior.iloc[counts.trial_index], chosen)
        )
    except MissingPartError as gap:
        return out.missing(str(gap))
    return _page(context, out, fit, chosen, arguments)


def _page(
    context: Context,
    out: Builder,
    fit: LightFit,
    chosen: LightTrials,
    arguments: dict[str, Any],
) -> Section:
    out.title = f"In which trials light changed firing in the {chosen.epoch}"
    out.finding = _finding(fit, chosen)
    effect = fit.effect
    out.say(
        f"{out.finding} The mean effect of light on the square root of the rate in the "
        f"{chosen.epoch} is {effect.lower:.2f} √(spikes/s) "
        f"({100 * effect.level:g} % limits {effect.ci_low:.2f} to {effect.ci_high:.2f})."
    )
    if not chosen.told:
        out.say(f"The file does not say when the light was on; the {chosen.epoch} is assumed.")
    out.warn([text for k in ("light counts", "light fit") for text in context.warnings.get(k, [])])
    out.add(
        Figure(
            "causal",
            png_of(lambda: _draw(fit)),
            alt="Local false discovery rates of the trials with light, and of trials without that "
            f"are scored as if they had light. {out.finding}",
            caption=_caption(fit, chosen),
            code=_code.block(
                context.path,
                _lines(context, fit, chosen, arguments),
                imports=[
                    "import numpy as np",
                    "import pandas as pd",
                    "",
                    "from nb26stats.causal import NonparametricC2G",
                ],
            ),
            numbers=_numbers(fit),
            units=UNITS,
        )
    )
    if len(fit.placebos):
        out.say(
            f"What could have been found: trials without light were called lit at random "
            f"{PLACEBOS} times, and the {chosen.epoch} was changed in about half of those."
        )
        frame = fit.placebos.rename(
            columns={"changed in the delay": f"changed in the {chosen.epoch}"}
        )
        out.add(Table(frame, f"Trials of a study of placebos, means of {PLACEBOS}", index=False))
    out.say(BELIEVE)
    return out.done()


def _draw(fit: LightFit) -> Any:
    from nb26stats import plotting

    ax = plotting.plot_responders(fit.model)
    ax.figure.set_size_inches(*SIZE)  # type: ignore[union-attr]
    ax.set_title(TITLE, loc="left")
    ax.set_ylabel(YLABEL)
    return ax


def _finding(fit: LightFit, chosen: LightTrials) -> str:
    n, named = int(fit.light.sum()), len(fit.model.select())
    if not named:
        return (
            f"None of {plural(n, 'trial')} with light can be named as changed in the "
            f"{chosen.epoch}, at a false discovery rate of {Q:g}."
        )
    return (
        f"Of {plural(n, 'trial')} with light {named} are named as changed in the {chosen.epoch}; "
        f"at most {100 * Q:g} % of such names are expected to be wrong."
    )


def _caption(fit: LightFit, chosen: LightTrials) -> str:
    n, dark = int(fit.light.sum()), int((~fit.light).sum())
    return (
        f"{plural(n, 'trial')} with light against {dark} without, from the first with light on. "
        f"Outcome: square root of the firing rate of {in_words(fit.units, fit.n_units)} in the "
        f"{chosen.epoch} ({chosen.width:g} s), under a window that fades in and out; units that "
        f"are silent in the first or last {ENDS} trials are left out. Covariates, all from before "
        "the light: activity in as long a time before, activity of the trial before, side, "
        "whether the trial before was correct, and the number of the trial. Left, towards 0, are "
        "trials that no trial without light resembles; the outline is what controls would look "
        f"like. Selection at a false discovery rate of {Q:g}, rule {fit.model.control_used_!r}."
    )


def _numbers(fit: LightFit) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(
        {
            "trial": fit.trials,
            "activity": fit.outcome,
            "lfdr": fit.model.lfdr_,
            "named": fit.model.selected_,
        }
    )
    return table[fit.light].set_index("trial")


def _lines(
    context: Context, fit: LightFit, chosen: LightTrials, arguments: dict[str, Any]
) -> list[str]:
    behavior = {} if context.table_name == "trials" else {"table": context.table_name}
    width = chosen.width
    first = {k: _code.Raw("rows", v) if k == "trials" else v for k, v in arguments.items()}
    trials = {} if context.table_name == "trials" else {"table": context.table_name}
    return [
        _code.call("behavior", "nwb.behavior", behavior),
        _code.call("trials", "nwb.trials", trials),
        'performed = behavior["include"].fillna(False).to_numpy(bool)',
        'light = behavior["photostim"].fillna(False).to_numpy(bool)',
        f"seen = np.isfinite(trials[{EPOCHS[chosen.epoch][0]!r}].to_numpy(float))",
        "from_then_on = np.arange(len(light)) >= np.argmax(performed & light)",
        "rows = np.flatnonzero(performed & from_then_on & seen).tolist()",
        _code.call("counts", "nwb.spike_counts", first),
        f"units = {fit.units!r}",
        "spikes = sum(",
        "    counts.counts[area][:, :, np.isin(counts.unit_ids[area], units)].sum(axis=2)",
        "    for area in counts.areas",
        ")",
        "time, rows = counts.bin_centers, behavior.iloc[counts.trial_index]",
        "",
        "",
        "def root_rate(start, stop):",
        "    inside = (time > start) & (time < stop)",
        "    weight = np.where(inside, np.sin(np.pi * (time - start) / (stop - start)) ** 2, 0)",
        "    return np.sqrt(spikes @ weight / (weight.sum() * (time[1] - time[0])))",
        "",
        "",
        f"activity = root_rate(0, {width:g})",
        "before = pd.DataFrame(",
        "    {",
        f'        "before": root_rate(-{width:g}, 0),',
        '        "previous": np.roll(activity, 1),',
        '        "right": rows["stim_side"].eq("right").fillna(False).to_numpy(bool),',
        '        "previous correct": (rows["reward"].shift() == 1).to_numpy(),',
        '        "number": np.arange(len(rows)),',
        "    }",
        ").astype(float)",
        'lit = rows["photostim"].fillna(False).to_numpy(bool)',
        f"model = NonparametricC2G(q={Q:g}, random_state=0).fit(before, activity, treatment=lit)",
        "with plotting.style():",
        "    ax = plotting.plot_responders(model)",
        f"    ax.figure.set_size_inches{SIZE}",
        f'    ax.set_title({TITLE!r}, loc="left")',
        f"    ax.set_ylabel({YLABEL!r})",
        "table = pd.DataFrame(",
        '    {"trial": counts.trial_id, "activity": activity, "lfdr": model.lfdr_, '
        '"named": model.selected_}',
        ")",
        'numbers = table[lit].set_index("trial")',
    ]
