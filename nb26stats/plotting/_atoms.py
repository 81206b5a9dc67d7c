"""Atoms of an information decomposition over time, each with its null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_text

from ._axes import LABEL, SMALL, dress, end_labels, few_ticks, many_axes, plain, time_zero
from ._courses import (
    NULL_SD,
    Course,
    about,
    checked_terms,
    choices,
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
from ._terms import ATOMS, TERM_COLORS, called, two_names, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_ROWS = 6
"""More pairs and targets than this do not fit one figure."""


def plot_atoms(
    result: Any,
    ax: Any = None,
    *,
    pair: Any = None,
    target: str | None = None,
    atoms: Sequence[str] | str | None = None,
    names: Sequence[str] | None = None,
    event: str | None = None,
    time_unit: str = "s",
    **style: Any,
) -> Axes | NDArray[np.object_]:
    """Draw how the parts of the information of two areas about a target change with time.

    One panel per atom, on one scale. The grey band is the null: mean and two standard deviations
    of the permutations in each bin. The bar at the top marks the bins that are significant at the
    level of the fit, corrected over bins; the text below it gives the onset, and its interval where
    the fit has one. Terms that the null says nothing about have neither band nor bar.

    Parameters
    ----------
    result : TimeResolvedPIDResult or TimeResolvedPID
        A result, or the fitted estimator.
    ax : matplotlib axes or sequence of axes, optional
        One axes takes all atoms of one pair and target together, with the widest null; otherwise
        one axes per panel. A new figure by default, with a row per pair and target.
    pair, target : optional
        The pair and the target to draw; all by default.
    atoms : str or sequence of str, optional
        Terms to draw: ``"redundancy"``, ``"unique_1"``, ``"unique_2"``, ``"synergy"`` (these four
        by default), ``"mi_1"``, ``"mi_2"``, ``"mi_12"``.
    names : sequence of two str, optional
        What the two sources are called; by default as the pair says. For one pair only.
    event : str, optional
        What time zero is called.
    time_unit : str, default="s"
        Unit of the times of the fit.
    **style
        Properties of the lines (``color``, ``linewidth``, ...).

    Returns
    -------
    Axes or ndarray of Axes
        The one axes given, or one per panel. Lines run through the middles of the bins; onsets are
        starts of bins.

    Raises
    ------
    ValueError
        If a pair, target or atom is unknown, or more is asked for than fits.

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> from nb26stats import plotting
    >>> rows = [
    ...     ("V1-IT", "image", atom, 0.01 * k, 0.1 * k, 0.0, 0.05, k > 1)
    ...     for atom in ("redundancy", "unique_1", "unique_2", "synergy") for k in range(5)
    ... ]
    >>> columns = ["pair", "target", "atom", "time", "value", "null_mean", "null_sd", "significant"]
    >>> latencies = ["pair", "target", "atom", "onset", "offset", "ci_low", "ci_high"]
    >>> course = SimpleNamespace(
    ...     table=pd.DataFrame(rows, columns=columns), latencies=pd.DataFrame(columns=latencies),
    ...     base=2,
    ... )
    >>> with plotting.style(offscreen=True):
    ...     panels = plotting.plot_atoms(course, event="image")
    >>> len(panels), panels[1].get_title(loc="left")
    (4, 'unique to V1')
    """
    time_unit = as_text(time_unit, "time_unit")
    terms = checked_terms(atoms, "atoms", ATOMS)
    table, latencies, base = read(result)
    unit = unit_of(base)
    if ax is not None and np.ndim(np.asarray(ax, dtype=object)) == 0:
        one = one_choice(table, pair, target)
        shown = [course(table, latencies, *one, term) for term in terms]
        return _together(ax, shown, two_names(names, one[0]), unit, event, time_unit, style)
    rows = choices(table, pair, target)
    if len(rows) > MAX_ROWS or (ax is None and len(rows) * len(terms) > 28):
        raise ValueError(
            f"the result holds {len(rows)} pairs and targets, and a figure takes {MAX_ROWS}: "
            "choose with pair= or target="
        )
    if names is not None and len({str(p) for p, _ in rows}) > 1:
        raise ValueError("names are those of one pair: choose it with pair=")
    columns = len(terms)
    panels = many_axes(ax, columns * len(rows), columns=columns, height=1.75)
    shown = [course(table, latencies, *one, term) for one in rows for term in terms]
    for panel, one_course in zip(panels, shown, strict=True):
        called_by = two_names(names, one_course.pair)
        _panel(panel, one_course, called_by, time_unit, style)
        # in a figure of our own the labels stand once at its edges
        dress(
            panel,
            x="" if ax is None else time_label(event, time_unit),
            y="" if ax is None else f"information ({unit})",
        )
        panel.set_title(
            called(one_course.term, called_by),
            loc="left",
            fontsize=SMALL + 0.5,
            color=TERM_COLORS[one_course.term],
        )
        few_ticks(panel, x=4)
        time_zero(panel)
    # the verdict, and in one panel the name of the band below it
    lines = 2 + max(verdict(one, time_unit).count("\n") for one in shown)
    set_limits(list(panels), shown, room=0.12 + 0.14 * lines)
    _name_of_band(panels, shown, time_unit)
    if ax is None:
        _edges(panels, rows, columns, names, unit, event, time_unit)
    return panels


def _panel(
    ax: Axes, one: Course, names: tuple[str, str], time_unit: str, style: dict[str, Any]
) -> None:
    if one.tested:
        draw_null(ax, *one.band, one)
    draw_line(ax, one, style)
    draw_bars(ax, one)
    note(ax, verdict(one, time_unit), 0.03, 0.95, va="top")


def _name_of_band(panels: NDArray[np.object_], shown: list[Course], time_unit: str) -> None:
    """Write once what the grey band is, in the first panel that has one, below the verdict."""
    for panel, one in zip(panels, shown, strict=True):
        if one.tested:
            above = 1 + verdict(one, time_unit).count("\n")
            panel.annotate(
                f"grey: null ± {NULL_SD:g} SD",
                (0.03, 0.95),
                xycoords="axes fraction",
                xytext=(0, -1.25 * SMALL * above),
                textcoords="offset points",
                va="top",
                fontsize=SMALL - 0.5,
                color=TERM_COLORS["redundancy"],
            )
            return


def _edges(
    panels: NDArray[np.object_],
    rows: list[tuple[Any, Any]],
    columns: int,
    names: Sequence[str] | None,
    unit: str,
    event: str | None,
    time_unit: str,
) -> None:
    """Label a figure of our own: title, outer axes, and each row where there are several."""
    figure = panels[0].figure
    figure.supxlabel(time_label(event, time_unit), fontsize=LABEL)
    figure.supylabel(f"information ({unit})", fontsize=LABEL)
    several = len(rows) > 1
    pair, target = rows[0]
    called_by = two_names(names, pair)
    what = "a target" if several and len({str(t) for _, t in rows}) > 1 else about(target)
    who = "two areas" if several and len({str(p) for p, _ in rows}) > 1 else " and ".join(called_by)
    figure.suptitle(f"Information of {who} about {what}", x=0.01, ha="left", fontsize=LABEL + 1)
    if several:
        for k, (one_pair, one_target) in enumerate(rows):
            label = " and ".join(two_names(names, one_pair))
            panels[k * columns].set_ylabel(f"{label}\n{plain(one_target, 24)}", fontsize=SMALL)


def _together(
    ax: Any,
    shown: list[Course],
    names: tuple[str, str],
    unit: str,
    event: str | None,
    time_unit: str,
    style: dict[str, Any],
) -> Axes:
    """Draw all terms in one axes, with the outermost edges of their nulls as one band."""
    panel: Axes = many_axes(ax, 1, columns=1, height=2.8)[0]
    tested = [one for one in shown if one.tested]
    if tested:
        low = np.nanmin([one.band[0] for one in tested], axis=0)
        high = np.nanmax([one.band[1] for one in tested], axis=0)
        draw_null(panel, low, high, tested[0])
    for row, one in enumerate(shown):
        draw_line(panel, one, style, among=True)
        draw_bars(panel, one, row)
    dress(
        panel,
        x=time_label(event, time_unit),
        y=f"information ({unit})",
        title=f"Information of {' and '.join(names)} about {about(shown[0].target)}",
    )
    set_limits([panel], shown, room=0.05 + 0.05 * len(shown))
    few_ticks(panel)
    time_zero(panel)
    end_labels(
        panel,
        [(called(one.term, names), _last(one), TERM_COLORS[one.term]) for one in shown],
    )
    return panel


def _last(one: Course) -> float:
    finite = one.value[np.isfinite(one.value)]
    return float(finite[-1]) if finite.size else 0.0
