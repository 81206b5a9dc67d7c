"""Section: what the units do together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _code
from ._context import NO_UNITS, MissingPartError
from ._figures import png_of
from ._parts import Builder, Figure, plural

if TYPE_CHECKING:
    from ._context import Context
    from ._parts import Section

MAX_COMPONENTS = 3
N_BOOTSTRAP = 200
LEVEL = 0.95

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
        arguments, counts = _second_bins(context)
    except MissingPartError as gap:
        return out.missing(str(gap), "")
    rows = np.sqrt(counts.to_array()[0])
    n_rows, n_units = rows.shape
    if n_units < 2:
        return out.missing(
            "Components need two or more units; this choice holds one.",
            "No components: there is one unit.",
        )
    k = min(MAX_COMPONENTS, n_units - 1)
    needed = 2 * max(50, 10 * (k + 1), min(n_units, 200))
    if n_rows < needed:
        return out.missing(
            f"The spikes span {plural(n_rows, 'second')}; components of {n_units} units with "
            f"intervals need {needed} bins of 1 s or more.",
            "No components: the recording is too short.",
        )
    if not rows.any() or not np.ptp(rows, axis=0).any():
        return out.missing("The spike counts do not vary, so there are no components.")
    try:
        pca, lower, upper = context.once("components", lambda: _fit(rows, k))
    except MissingPartError as gap:
        return out.missing(str(gap))
    ids, areas = _names(counts)
    share = 100 * np.asarray(pca.explained_variance_ratio_)
    lines = [
        _code.call("counts", "nwb.spike_counts", arguments),
        "cells = counts.concat()",
        'ids, areas = cells.unit_ids["all"], cells.unit_area["all"]',
        'rows = np.sqrt(cells.counts["all"][0])',
        f"pca = OjaPCA(n_components={k}, n_bootstrap={N_BOOTSTRAP}, random_state=0).fit(rows)",
        "with plotting.style():",
        "    ax = plotting.plot_components(",
        "        pca, names=ids, groups=areas, file_areas=cells.info['file_areas']",
        "    )",
        _NUMBERS,
    ]
    numbers = _table(pca, lower, upper, ids)
    clear = int(((lower > 0) | (upper < 0))[0].sum())
    doubts = context.warnings.get("components", [])
    # a number that the intervals cannot carry must not stand in the summary alone
    short = any("autocorrelated" in doubt for doubt in doubts)
    out.finding = (
        f"The first component carries {share[0]:.2g} % of the variance of {n_units} units in 1-s "
        f"bins; the interval excludes 0 for {clear} of its {n_units} loadings"
        + (", but the intervals are too short (see the figure)." if short else ".")
    )
    out.say(out.finding)
    out.warn([*context.warnings.get("seconds", []), *map(_from_one, doubts)])
    with context.collect("components"):
        # drawing asks for the intervals again, with the warnings that are kept already
        png = png_of(
            lambda: plotting.plot_components(
                pca,
                names=ids,
                groups=areas,
                file_areas=counts.info["file_areas"],
                level=LEVEL,
            )
        )
    out.add(
        Figure(
            "components",
            png,
            alt=f"Loadings of {plural(n_units, 'unit')} on {plural(k, 'component')}, with "
            f"bootstrap intervals. {out.finding}",
            caption="Points: loading of each unit, coloured by area, on the leading principal "
            "components of the square roots of its spike counts (which evens out the variances "
            f"of quiet and busy units) in {n_rows:,} bins of 1 s. Bars: {100 * LEVEL:g} % "
            f"intervals from {N_BOOTSTRAP} bootstrap replicates of the streaming estimate. They "
            "take the bins as independent; neighbouring bins are not, so the bars are too short. "
            "The sign of a component is arbitrary.",
            code=_code.block(
                context.path,
                lines,
                imports=[
                    "import numpy as np",
                    "import pandas as pd",
                    "",
                    "from nb26stats import OjaPCA",
                ],
            ),
            numbers=numbers,
        )
    )
    return out.done()


def _from_one(text: str) -> str:
    """Count components from 1 in a warning of the estimator, as the figure does."""

    def raised(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + 1), match[0])

    text = re.sub(r"components? [\d, and]+(?= \(counted from 0\))", raised, text, flags=re.I)
    text = re.sub(r"component \d+(?=, r=)", raised, text)
    return text.replace(" (counted from 0)", "")


def _second_bins(context: Context) -> tuple[dict[str, Any], Any]:
    _, seconds = context.span
    arguments = context.session_arguments(1.0, seconds)
    return arguments, context.session_counts("seconds", arguments)


def _fit(rows: Any, k: int) -> tuple[Any, Any, Any]:
    from nb26stats.streaming import OjaPCA

    pca = OjaPCA(n_components=k, n_bootstrap=N_BOOTSTRAP, random_state=0).fit(rows)
    lower, upper = pca.component_intervals(level=LEVEL)
    return pca, np.asarray(lower), np.asarray(upper)


def _names(counts: Any) -> tuple[Any, Any]:
    cells = counts.concat()
    return cells.unit_ids["all"], cells.unit_area["all"]


def _table(pca: Any, lower: Any, upper: Any, ids: Any) -> Any:
    import pandas as pd

    index = pd.MultiIndex.from_product([range(1, len(lower) + 1), ids], names=["component", "unit"])
    return pd.DataFrame(
        {"loading": pca.components_.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}, index
    )
