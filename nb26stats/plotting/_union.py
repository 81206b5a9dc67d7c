"""Union information of several sources beside what they tell together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import dress, few_ticks, need, one_axes
from ._colors import ATOM_COLORS, OKABE_ITO
from ._pid import draw_bars
from ._terms import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_union(result: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the union information of several sources and the synergy they add together.

    Parameters
    ----------
    result : UnionResult
        What ``union_information`` returns.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    **style
        Properties of the bars (``color``, ``height``, ...).

    Returns
    -------
    Axes
        The axes drawn on: one bar where the joint information is not known, two otherwise.

    Examples
    --------
    >>> from nb26stats import plotting
    >>> from nb26stats.information import UnionResult
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_union(UnionResult(value=1.5, joint=2.0, gap=0.0))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['union', 'synergy']
    """
    need(result, "result", "a UnionResult", "value", "joint", "synergy", "base")
    unit = unit_of(float(result.base))
    labels, values = ["union"], [float(result.value)]
    colors = [OKABE_ITO["blue"]]
    if np.isfinite(result.joint):
        labels.append("synergy")
        values.append(float(result.synergy))
        colors.append(ATOM_COLORS["synergy"])
    panel = one_axes(ax, (4.6, 1.3))
    draw_bars(panel, labels, values, {"color": colors, "height": 0.62, **style})
    dress(panel, x=f"information ({unit})", title="Several sources about the target")
    few_ticks(panel, x=5, y=None)
    panel.tick_params(axis="y", length=0)
    return panel
