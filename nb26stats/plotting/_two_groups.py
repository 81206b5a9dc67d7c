"""Two groups of z-scores: densities over the histogram and what they say; q-values of p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import (
    GREY,
    PALE,
    SMALL,
    dress,
    few_ticks,
    line_style,
    many_axes,
    need,
    new_figure,
    number,
)
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

ALL, NULL, CALLED = OKABE_ITO["blue"], OKABE_ITO["vermillion"], 0.2
"""Colours of both densities, and the local false discovery rate below which z are usually named."""


def plot_two_groups(result: Any, ax: Any = None, **style: Any) -> NDArray[np.object_]:
    """Draw the histogram of z-scores with both densities, and below it their lfdr.

    Parameters
    ----------
    result : TwoGroupsResult
        What ``two_groups`` returns.
    ax : sequence of two matplotlib axes, optional
        Where to draw: histogram, local false discovery rate. A new figure by default.
    **style
        Properties of the lines of the fit to all and of the local false discovery rate.

    Returns
    -------
    ndarray of Axes
        The two axes.

    Raises
    ------
    TypeError
        If ``result`` is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import plotting, two_groups
    >>> z = np.random.default_rng(0).normal(size=2000)
    >>> with plotting.style(offscreen=True):
    ...     axes = plotting.plot_two_groups(two_groups(z))
    >>> axes[1].get_xlabel()
    'z-score'
    """
    need(result, "result", "what two_groups returns", "lfdr", "f0", "counts", "misfit")
    top, low = _stacked() if ax is None else many_axes(ax, 2, columns=1, height=2.0)
    x, width = result.x, result.x[1] - result.x[0]
    line = {"color": ALL, "linewidth": 1.4, **line_style(style)}
    top.bar(x, result.counts, width, color=PALE, linewidth=0, label="z-scores")
    top.plot(x, result.f, **line, label="fit to all")
    top.plot(
        x,
        result.p0 * result.f0,
        color=NULL,
        linewidth=1.4,
        linestyle=(0, (5, 2)),
        label=f"null, {number(100 * result.p0)} % of z",
    )
    top.legend(frameon=False, fontsize=SMALL, loc="upper right")
    # one full bin of ties must not hide all the others
    top.set_ylim(0, 1.08 * max(float(result.f.max()), float(np.quantile(result.counts, 0.99))))
    n, called = len(result.z), result.lfdr <= CALLED
    dress(top, y="z-scores per bin", title=f"{n:,} z-scores and the null among them")
    few_ticks(top, y=4)
    order = np.argsort(result.z, kind="stable")
    low.plot(result.z[order], result.lfdr[order], **line)
    low.axhline(CALLED, color=PALE, linewidth=0.8, zorder=0)
    if called.any():
        low.plot(
            result.z[called],
            np.full(int(called.sum()), -0.06),
            "|",
            color=NULL,
            markersize=6,
            markeredgewidth=0.8,
            clip_on=False,
        )
    low.set_ylim(-0.12, 1.05)
    low.set_xlim(float(x[0] - width), float(x[-1] + width))
    dress(
        low,
        x="z-score",
        y="local FDR",
        title=f"{int(called.sum()):,} z-scores at a local FDR of {CALLED:g} or less",
    )
    low.set_yticks([0.0, CALLED, 0.5, 1.0])
    few_ticks(low, y=None)
    return np.array([top, low], dtype=object)


def plot_q_values(result: Any, ax: Any = None, **style: Any) -> NDArray[np.object_]:
    """Draw the share of true nulls against its threshold, and q-values against p-values.

    Parameters
    ----------
    result : QValuesResult
        What ``q_values`` returns.
    ax : sequence of two matplotlib axes, optional
        Where to draw: pi0, q-values. A new figure by default.
    **style
        Properties of the line of the q-values.

    Returns
    -------
    ndarray of Axes
        The two axes.

    Raises
    ------
    TypeError
        If ``result`` is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import plotting, q_values
    >>> p = np.random.default_rng(0).random(500) ** 1.2
    >>> with plotting.style(offscreen=True):
    ...     axes = plotting.plot_q_values(q_values(p))
    >>> axes[1].get_xlabel()
    'p-value'
    """
    need(result, "result", "what q_values returns", "pi0_lam", "lam", "q", "p")
    left, right = many_axes(ax, 2, columns=2, height=2.6, sharex=False, sharey=False)
    line = {"color": ALL, "linewidth": 1.4, **line_style(style)}
    left.plot(result.lam, result.pi0_lam, "o", color=ALL, markersize=3.5)
    left.axhline(result.pi0, color=NULL, linewidth=1.4, linestyle=(0, (5, 2)))
    left.set_xlim(0, 1)
    left.set_ylim(0, 1.1 * max(1.0, float(result.pi0_lam.max())))
    left.annotate(
        f"in use: {number(result.pi0)}",
        (0.02, result.pi0),
        xycoords=("axes fraction", "data"),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
        fontsize=SMALL,
        color=NULL,
    )
    dress(
        left,
        x="threshold of p",
        y="share of true nulls",
        title="True nulls, from the p above a threshold",
    )
    few_ticks(left, x=5, y=5)
    order = np.argsort(result.p, kind="stable")
    right.plot([0, 1], [0, 1], color=PALE, linewidth=0.8, zorder=0)
    right.plot(result.p[order], result.q[order], **line)
    right.annotate("q = p", (0.75, 0.75), ha="left", va="top", fontsize=SMALL, color=GREY)
    right.set_xlim(0, 1)
    right.set_ylim(0, 1.02)
    few = int((result.q <= 0.05).sum())
    dress(
        right,
        x="p-value",
        y="q-value",
        title=f"{few:,} of {len(result.q):,} q-values at most 0.05",
    )
    few_ticks(right, x=5, y=5)
    return np.array([left, right], dtype=object)


def _stacked() -> tuple[Axes, Axes]:
    """Return two axes over one another that share z, the upper one taller."""
    figure = new_figure((4.6, 4.4))
    grid = figure.add_gridspec(2, 1, height_ratios=(3, 2))
    low = figure.add_subplot(grid[1])
    top = figure.add_subplot(grid[0], sharex=low)
    top.tick_params(labelbottom=False)
    return top, low
