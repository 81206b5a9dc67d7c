"""Two areas at a glance: what they tell, how it divides, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_text

from ._axes import (
    SMALL,
    WIDE,
    dress,
    end_labels,
    few_ticks,
    many_axes,
    new_figure,
    time_zero,
)
from ._courses import (
    NULL_SD,
    Course,
    about,
    course,
    draw_bars,
    draw_line,
    draw_null,
    note,
    one_choice,
    read,
    set_limits,
    time_label,
    verdict,
)
from ._terms import ATOMS, MEASURED, TERM_COLORS, TERMS, called, two_names, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def plot_two_areas(
    result: Any,
    ax: Any = None,
    *,
    pair: Any = None,
    target: str | None = None,
    names: Sequence[str] | None = None,
    event: str | None = None,
    time_unit: str = "s",
    **style: Any,
) -> NDArray[np.object_]:
    """Draw one pair of areas: its information, the atoms, and when each is significant.

    Three panels over one time axis. Above, the information of each area alone and of both
    together; in the middle the atoms it falls into; below, for each of the seven terms, the time
    from its onset to its offset, with the interval of the onset where the fit has one. The grey
    bands are the widest null of the terms in the panel (mean and two standard deviations of the
    permutations); bars at the top mark significant bins at the level of the fit.

    Parameters
    ----------
    result : TimeResolvedPIDResult or TimeResolvedPID
        A result, or the fitted estimator.
    ax : sequence of three matplotlib axes, optional
        Where to draw. A new figure by default.
    pair, target : optional
        Which pair and target, where the result holds several.
    names : sequence of two str, optional
        What the two areas are called; by default as the pair says.
    event : str, optional
        What time zero is called.
    time_unit : str, default="s"
        Unit of the times of the fit.
    **style
        Properties of the lines of the upper two panels.

    Returns
    -------
    ndarray of Axes
        The three axes.

    Raises
    ------
    ValueError
        If the pair or target is unknown, or several fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> from nb26stats import plotting
    >>> terms = ["mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy"]
    >>> rows = [
    ...     ("V1-IT", "image", term, 0.01 * k, 0.1 * k, 0.0, 0.05, k > 1)
    ...     for term in terms for k in range(5)
    ... ]
    >>> columns = ["pair", "target", "atom", "time", "value", "null_mean", "null_sd", "significant"]
    >>> latencies = ["pair", "target", "atom", "onset", "offset", "ci_low", "ci_high"]
    >>> course = SimpleNamespace(
    ...     table=pd.DataFrame(rows, columns=columns), latencies=pd.DataFrame(columns=latencies),
    ...     base=2,
    ... )
    >>> with plotting.style(offscreen=True):
    ...     panels = plotting.plot_two_areas(course, event="image")
    >>> panels[2].get_xlabel()
    'time from image (s)'
    """
    time_unit = as_text(time_unit, "time_unit")
    table, latencies, base = read(result)
    chosen = one_choice(table, pair, target)
    called_by = two_names(names, chosen[0])
    unit = unit_of(base)
    shown = {term: course(table, latencies, *chosen, term) for term in TERMS}
    panels = _new_panels() if ax is None else many_axes(ax, 3, columns=1, height=2.0)
    titles = (
        f"Information of {' and '.join(called_by)} about {about(chosen[1])}",
        "The parts it falls into",
        "From onset to offset",
    )
    for panel, terms, title in zip(panels[:2], (MEASURED, ATOMS), titles[:2], strict=True):
        courses = [shown[term] for term in terms]
        _lines(panel, courses, style)
        dress(panel, y=f"information ({unit})", title=title)
        set_limits([panel], courses, room=0.08 + 0.05 * len(courses))
        few_ticks(panel)
        time_zero(panel)
        end_labels(
            panel, [(called(c.term, called_by), _last(c), TERM_COLORS[c.term]) for c in courses]
        )
        panel.tick_params(labelbottom=ax is not None)
    _spans(panels[2], list(shown.values()), called_by, time_unit)
    dress(panels[2], x=time_label(event, time_unit), title=titles[2])
    time_zero(panels[2])
    few_ticks(panels[2], y=None)
    panels[2].tick_params(axis="y", length=0)
    if any(c.tested for c in shown.values()):
        note(panels[0], f"grey: null ± {NULL_SD:g} SD", 0.01, 0.86, va="top")
    return panels


def _new_panels() -> NDArray[np.object_]:
    figure = new_figure((WIDE, 6.3))
    grid = figure.add_gridspec(3, 1, height_ratios=(1.0, 1.0, 0.9))
    first = figure.add_subplot(grid[0])
    rest = [figure.add_subplot(grid[k], sharex=first) for k in (1, 2)]
    return np.array([first, *rest], dtype=object)


def _lines(ax: Axes, courses: list[Course], style: dict[str, Any]) -> None:
    tested = [one for one in courses if one.tested]
    if tested:
        low = np.nanmin([one.band[0] for one in tested], axis=0)
        high = np.nanmax([one.band[1] for one in tested], axis=0)
        draw_null(ax, low, high, tested[0])
    for row, one in enumerate(courses):
        draw_line(ax, one, style, among=True)
        draw_bars(ax, one, row)


def _spans(ax: Axes, courses: list[Course], names: tuple[str, str], time_unit: str) -> None:
    """Draw a bar from onset to offset for each term, with the interval of the onset."""
    from matplotlib.patheffects import Normal, Stroke

    left = min(float(one.time[0]) for one in courses)
    right = max(float(one.time[-1]) + one.width for one in courses)
    for place, one in enumerate(courses):
        color = TERM_COLORS[one.term]
        if np.isfinite(one.onset):
            end = one.offset if np.isfinite(one.offset) else right
            ax.barh(place, end - one.onset, left=one.onset, height=0.5, color=color, alpha=0.85)
        if np.isfinite(one.ci_low) and np.isfinite(one.ci_high):
            # the bar of both areas is black too
            halo = [Stroke(linewidth=3.2, foreground="white"), Normal()]
            ax.plot(
                [one.ci_low, one.ci_high],
                [place, place],
                color="black",
                linewidth=1.2,
                path_effects=halo,
            )
        ax.annotate(
            verdict(one, time_unit, " ").removeprefix("onset "),
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=SMALL - 0.5,
            color=color,
            annotation_clip=False,
        )
    ax.set_yticks(range(len(courses)), [called(one.term, names) for one in courses])
    for label, one in zip(ax.get_yticklabels(), courses, strict=True):
        label.set_color(TERM_COLORS[one.term])
    ax.set_ylim(len(courses) - 0.4, -0.6)
    ax.set_xlim(left, right)


def _last(one: Course) -> float:
    finite = one.value[np.isfinite(one.value)]
    return float(finite[-1]) if finite.size else 0.0
