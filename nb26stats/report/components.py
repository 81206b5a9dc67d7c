"""Section: what the units do together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _code
from ._component_fit import (
    FEWEST_BLOCKS,
    LEVEL,
    MAX_COMPONENTS,
    N_BOOTSTRAP,
    fit_components,
    in_random_order,
    stretches_of,
)
from ._context import NO_UNITS, MissingPartError
from ._figures import png_of
from ._parts import Builder, Figure, Table, plural

if TYPE_CHECKING:
    import pandas as pd

    from ._component_fit import ComponentFit, Stretches
    from ._context import Context
    from ._parts import Section

_NUMBERS = """\
lower, upper = pca.component_intervals(level=0.95)
index = pd.MultiIndex.from_product([range(1, len(lower) + 1), ids], names=["component", "unit"])
numbers = pd.DataFrame(
    {"loading": pca.components_.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}, index
)"""


def section(context: Context) -> Section:
    """Return the leading components with bootstrap intervals."""
    from nb26stats import plotting

    out = Builder("components", "Leading components", line="activity")
    try:
        context.units  # noqa: B018 - without units there is nothing to draw here
    except MissingPartError:
        return out.missing(NO_UNITS, "")
    try:
        seconds = context.span[1]
        cut = stretches_of(seconds, len(context.units))
        arguments = context.session_arguments(cut.bin_size, cut.seconds)
        counts = context.counts_of("bins", arguments)
    except MissingPartError as gap:
        return out.missing(str(gap), "")
    counted = np.sqrt(counts.to_array()[0])
    n_units = counted.shape[1]
    if n_units < 2:
        return out.missing(
            "Components need two or more units; this choice holds one.",
            "No components: there is one unit.",
        )
    needed = 2 * max(50, min(n_units, 200))
    if seconds < needed:
        return out.missing(
            f"The spikes span {plural(seconds, 'second')}; components of {n_units} units with "
            f"intervals need {needed} s or more.",
            "No components: the recording is too short.",
        )
    if not counted.any() or not np.ptp(counted, axis=0).any():
        return out.missing("The spike counts do not vary, so there are no components.")
    rows = in_random_order(counted, cut.rows)
    try:
        fit = context.once("components", lambda: fit_components(rows, cut.rows, cut.bin_size))
    except MissingPartError as gap:
        return out.missing(str(gap))
    cells = counts.concat()
    ids, areas = cells.unit_ids["all"].tolist(), cells.unit_area["all"].tolist()
    out.finding = _finding(fit, cut, n_units)
    out.say(out.finding)
    out.say(_bars(fit, cut))
    # the page says in its own words when blocks are short
    doubts = [d for d in context.warnings.get("components", []) if "is short for rows" not in d]
    out.warn([*context.warnings.get("bins", []), *_too_short(fit, cut), *map(_from_one, doubts)])
    with context.collect("components"):
        # drawing asks for the intervals again, with the warnings that are kept already
        png = png_of(
            lambda: plotting.plot_components(
                fit.pca,
                names=ids,
                groups=areas,
                file_areas=counts.info["file_areas"],
                feature="unit",
                level=LEVEL,
            )
        )
    k = len(fit.lower)
    out.add(
        Figure(
            "components",
            png,
            alt=f"Loadings of {plural(n_units, 'unit')} on {plural(k, 'component')}, with "
            f"bootstrap intervals. {out.finding}",
            caption=_caption(fit, cut),
            code=_code.block(
                context.path,
                _lines(arguments, fit, cut),
                imports=[
                    "import numpy as np",
                    "import pandas as pd",
                    "",
                    "from nb26stats import OjaPCA",
                ],
            ),
            numbers=_numbers(fit, ids),
        )
    )
    out.add(Table(_widths(fit), "Bars under longer blocks", index=False))
    return out.done()


def _finding(fit: ComponentFit, cut: Stretches, n_units: int) -> str:
    share = 100 * float(fit.pca.explained_variance_ratio_[0])
    clear = int(((fit.lower > 0) | (fit.upper < 0))[0].sum())
    # a number that the intervals cannot carry must not stand in the summary alone
    doubt = "" if fit.settled else ", but the intervals are too short (see the figure)"
    return (
        f"The first component carries {share:.2g} % of the variance of {n_units} units in "
        f"{cut.bin_size:g}-s bins; the interval excludes 0 for {clear} of its {n_units} loadings"
        f"{doubt}."
    )


def _bars(fit: ComponentFit, cut: Stretches) -> str:
    k = len(fit.lower)
    shown = "one component is" if k == 1 else f"{k} components are"
    settled = ""
    if fit.settled:
        last = fit.block == fit.widths["rows"].iloc[-1]
        settled = (
            f"; the last doubling of the block changed them by {100 * (fit.growth - 1):.0f} %"
            if last
            else "; longer blocks widen them by a tenth at most"
        )
    return (
        f"Of up to {MAX_COMPONENTS} components, the variance falls by the largest factor after "
        f"component {k}, so {shown} shown. Bins of one recording are not independent, so the "
        f"bootstrap weighs blocks of {_seconds(fit.block, cut)}; the median half-width of the bars "
        f"is {fit.gain:.2g} times that from single bins{settled}."
    )


def _too_short(fit: ComponentFit, cut: Stretches) -> list[str]:
    """Return what keeps the bars from being right, in plain words."""
    if fit.settled:
        return []
    longest = _seconds(fit.block, cut)
    if fit.needed > fit.block:
        return [
            "The bars are too short: bins of this recording stay correlated for so long that "
            f"blocks of {_seconds(fit.needed, cut)} or more are called for, and the recording "
            f"holds {FEWEST_BLOCKS} blocks of at most {longest}. Going by the correlation of "
            f"neighbouring bins the bars should be {fit.held**-0.5:.1f} times as long, or longer."
        ]
    return [
        f"The bars are too short, by an unknown factor: they still grew by "
        f"{100 * (fit.growth - 1):.0f} % when the blocks went from {_seconds(fit.block / 2, cut)} "
        f"to {longest}, and the recording holds too few longer blocks to go on. Some changes "
        "of the activity outlast them. Read the bars as the spread between stretches of "
        f"{longest}, not between recordings."
    ]


def _caption(fit: ComponentFit, cut: Stretches) -> str:
    count = "component" if len(fit.lower) == 1 else "components"
    return (
        f"Points: loading of each unit, coloured by area, on the leading principal {count} of the "
        "square roots of its spike counts (which evens out the variances of quiet and busy units) "
        f"in {fit.n_rows:,} bins of {cut.bin_size:g} s. Stretches of {_seconds(cut.rows, cut)} "
        "enter the streaming estimate in random order, so that slow drift does not pass for the "
        f"newest data. Bars: {100 * LEVEL:g} % intervals, each on its own, from {N_BOOTSTRAP} "
        f"bootstrap replicates with one weight per block of {_seconds(fit.block, cut)}. The sign "
        "of a component is arbitrary."
    )


def _lines(arguments: dict[str, Any], fit: ComponentFit, cut: Stretches) -> list[str]:
    weighed = {
        "n_components": len(fit.lower),
        "n_bootstrap": N_BOOTSTRAP,
        "multiplier_block": fit.block,
        "pilot_size": fit.pilot_size,
        "random_state": 0,
    }
    given = ", ".join(f"{name}={value}" for name, value in weighed.items())
    return [
        _code.call("counts", "nwb.spike_counts", arguments),
        "cells = counts.concat()",
        'ids, areas = cells.unit_ids["all"], cells.unit_area["all"]',
        'rows = np.sqrt(cells.counts["all"][0])',
        f"# stretches of {_seconds(cut.rows, cut)} in random order",
        f"whole = rows[:{fit.n_rows}].reshape(-1, {cut.rows}, len(ids))",
        "rows = np.random.default_rng(0).permutation(whole).reshape(-1, len(ids))",
        "pca = OjaPCA(",
        f"    {given}",
        ").fit(rows)",
        "with plotting.style():",
        "    ax = plotting.plot_components(",
        "        pca, names=ids, groups=areas, file_areas=cells.info['file_areas'], feature='unit'",
        "    )",
        _NUMBERS,
    ]


def _seconds(rows: float, cut: Stretches) -> str:
    return f"{rows * cut.bin_size:.3g} s"


def _from_one(text: str) -> str:
    """Count components from 1 in a warning of the estimator, as the figure does."""

    def raised(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + 1), match[0])

    text = re.sub(r"components? [\d, and]+(?= \(counted from 0\))", raised, text, flags=re.I)
    text = re.sub(r"component \d+(?=, r=)", raised, text)
    return text.replace(" (counted from 0)", "")


def _numbers(fit: ComponentFit, ids: list[Any]) -> pd.DataFrame:
    import pandas as pd

    numbers = {
        "loading": fit.pca.components_.ravel(),
        "lower": fit.lower.ravel(),
        "upper": fit.upper.ravel(),
    }
    index = pd.MultiIndex.from_product(
        [range(1, len(fit.lower) + 1), ids], names=["component", "unit"]
    )
    return pd.DataFrame(numbers, index)


def _widths(fit: ComponentFit) -> pd.DataFrame:
    import pandas as pd

    frame = fit.widths
    return pd.DataFrame(
        {
            "block (s)": frame["block"].round(6),
            "blocks": frame["n_blocks"],
            "median half-width of the bars": frame["half_width"].round(4),
            "shown": frame["rows"] == fit.block,
        }
    )
