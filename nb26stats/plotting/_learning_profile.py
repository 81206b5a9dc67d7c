"""The profile of one parameter: how fast the fit gets worse away from its best value."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import (
    GREY,
    PALE,
    SMALL,
    dress,
    few_ticks,
    line_style,
    log_ticks,
    need,
    number,
    one_axes,
    plain,
)
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS = {
    "alpha": "learning rate α",
    "beta": "inverse temperature β",
    "lapse": "lapse rate",
}


def plot_profile(result: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw a profile likelihood with the drop that bounds its interval.

    Parameters
    ----------
    result : ProfileResult
        What ``profile_likelihood`` of a fitted learning rule returns: ``name``, ``grid``,
        ``objective``, ``maximum``, ``estimate``, ``interval``, ``level`` and ``converged``.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    **style
        Properties of the curve (``color``, ``linewidth``, ...).

    Returns
    -------
    Axes
        The axes drawn on. The dashed line is the drop of half the chi-squared quantile at the
        level of the result; open points are refits that did not converge.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from nb26stats import plotting
    >>> profile = SimpleNamespace(name="beta", grid=[1.0, 2.0, 3.0], objective=[-9.0, -5.0, -8.0],
    ...     maximum=-5.0, estimate=2.0, interval=(1.4, 2.8), level=0.95, converged=[True] * 3)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_profile(profile)
    >>> ax.get_xlabel()
    'inverse temperature β'
    """
    kind = "what profile_likelihood returns"
    need(result, "result", kind, "name", "grid", "objective", "maximum", "interval", "level")
    grid = np.asarray(result.grid, dtype=np.float64)
    drop = np.asarray(result.objective, dtype=np.float64) - float(result.maximum)
    name, level = str(result.name), float(result.level)
    cut = NormalDist().inv_cdf(0.5 + level / 2) ** 2 / 2
    panel = one_axes(ax, (4.6, 3.0))
    line = {"color": OKABE_ITO["blue"], "linewidth": 1.4, "zorder": 2, **line_style(style)}
    panel.plot(grid, drop, **line)
    ended = np.asarray(getattr(result, "converged", np.ones(grid.size)), dtype=bool)
    for part, face in ((ended, line["color"]), (~ended, "white")):
        panel.plot(
            grid[part],
            drop[part],
            linestyle="none",
            marker="o",
            markersize=3.5,
            markerfacecolor=face,
            markeredgecolor=line["color"],
            zorder=3,
        )
    _scale(panel, grid, drop, cut, log=name in ("alpha", "beta"))
    panel.axhline(-cut, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    _mark_interval(panel, result, cut, line["color"])
    dress(panel, x=WORDS.get(name, f"weight {plain(name)}"), y="log-likelihood, from its maximum")
    panel.set_title(_title(name, result, level), loc="left", fontsize=SMALL + 1)
    panel.annotate(
        f"{100 * level:g} %: drop\nof {cut:.2f}",
        (1.0, -cut),
        xycoords=("axes fraction", "data"),
        xytext=(5, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=SMALL,
        color=GREY,
        annotation_clip=False,
    )
    return panel


def _scale(ax: Axes, grid: Any, drop: Any, cut: float, *, log: bool) -> None:
    """Choose the scales: the drop from a little above 0 to where it no longer matters."""
    lowest = float(np.nanmin(drop)) if np.isfinite(drop).any() else -cut
    floor = max(min(lowest, -1.3 * cut), -8 * cut)
    ax.set_ylim(1.06 * floor, -0.06 * floor)
    if log and float(grid.min()) > 0 and float(grid.max()) > 2 * float(grid.min()):
        ax.set_xscale("log")
        room = (float(grid.max()) / float(grid.min())) ** 0.03
        ax.set_xlim(float(grid.min()) / room, float(grid.max()) * room)
        log_ticks(ax)
        few_ticks(ax, x=None, y=5)
    else:
        few_ticks(ax, x=5, y=5)


def _mark_interval(ax: Axes, result: Any, cut: float, color: Any) -> None:
    """Draw the interval as a bar on the cut, and the estimate as a light line."""
    low, high = (float(v) for v in result.interval)
    estimate = float(getattr(result, "estimate", np.nan))
    if np.isfinite(estimate):
        ax.axvline(estimate, color=PALE, linewidth=0.8, zorder=0)
    left, right = ax.get_xlim()
    # a side that the grid leaves open runs to the edge of the axes
    ends = [low if np.isfinite(low) else left, high if np.isfinite(high) else right]
    ax.plot(
        ends, [-cut, -cut], color=color, linewidth=3.0, solid_capstyle="butt", label="_interval"
    )
    ax.set_xlim(left, right)


def _title(name: str, result: Any, level: float) -> str:
    what = WORDS.get(name, plain(name)).split(" ")[-1] if name != "lapse" else "lapse"
    low, high = (number(float(v)) if np.isfinite(v) else "open" for v in result.interval)
    estimate = float(getattr(result, "estimate", np.nan))
    best = f"{what} = {number(estimate)}, " if np.isfinite(estimate) else ""
    text = f"{best}{100 * level:g} % interval {low} to {high}"
    return (text[:1].upper() + text[1:] if what == "lapse" else text).replace("-", "\N{MINUS SIGN}")
