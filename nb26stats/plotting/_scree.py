"""Variance along each component."""

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
    log_ticks,
    need,
    number,
    one_axes,
)
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE_RANGE = 50.0
"""Variances that differ by more than this factor are drawn on a logarithmic axis."""


def plot_scree(result: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the variance along each component, the next direction, and the level of the rest.

    The estimator tracks one direction beyond the components, drawn hollow: the drop to it is the
    eigengap that the components rest on. There are no error bars, since the replicates tell the
    uncertainty of directions and not of variances.

    Parameters
    ----------
    result : OjaPCA
        A fitted estimator.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    **style
        Properties of the points and their line (``color``, ``marker``, ...).

    Returns
    -------
    Axes
        The axes drawn on. Variances that differ by more than a factor of 50 are on a logarithmic
        axis.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import OjaPCA, plotting
    >>> rows = np.random.default_rng(0).normal(size=(800, 5)) * [3, 2, 1, 1, 1]
    >>> pca = OjaPCA(n_components=2, random_state=0).fit(rows)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_scree(pca)
    >>> ax.get_xlabel()
    'component'
    """
    need(
        result,
        "result",
        "a fitted OjaPCA",
        "components_",
        "explained_variance_",
        "next_variance_",
        "noise_variance_",
    )
    values = np.asarray(result.explained_variance_, dtype=np.float64)
    k, d = np.shape(result.components_)
    after, noise = float(result.next_variance_), float(result.noise_variance_)
    tracked = bool(np.isfinite(after))
    drawn = [*values, *([after] if tracked else []), *([noise] if k < d else [])]
    panel = one_axes(ax, (4.4, 3.0))
    high, low = max(drawn), min(drawn)
    if low > 0 and high / low > WIDE_RANGE:
        panel.set_yscale("log")
        panel.set_ylim(low / 2, high * 2)
    else:
        panel.set_ylim(0, 1.12 * high if high > 0 else 1.0)
    line = {
        "color": OKABE_ITO["blue"],
        "marker": "o",
        "markersize": 5,
        "linewidth": 1.2,
        **line_style(style),
    }
    panel.plot(np.arange(1, k + 1), values, **line)
    panel.set_xlim(0.5, k + 1.5 if k < d else k + 0.5)
    if k < d:
        panel.axhline(noise, color=PALE, linewidth=1.0, zorder=0)
        others = f"mean of the\nother {d - k}" if d - k > 1 else "the other\none"
        _beside(panel, f"{others}: {number(noise)}", noise)
    if tracked:
        hollow = {**line, "markerfacecolor": "white", "linestyle": "none"}
        panel.plot([k + 1], [after], **hollow)
        _gap(panel, k, float(values[-1]), after)
    count = "1 component" if k == 1 else f"{k} components"
    dress(
        panel,
        x="component",
        y="variance along the direction",
        title=f"Variance along {count}, without error bars",
    )
    if panel.get_yscale() == "log":
        log_ticks(panel)
    else:
        few_ticks(panel, x=None, y=5)
    numbers = range(1, k + 2 if k < d else k + 1)
    step = -(-len(numbers) // 12)
    panel.set_xticks(
        list(numbers)[::step], [f"next ({j})" if j > k else str(j) for j in list(numbers)[::step]]
    )
    return panel


def _gap(ax: Axes, k: int, last: float, after: float) -> None:
    """Mark the drop from the last component to the next direction, halfway between them."""
    if not last > after:
        ax.annotate(
            "no gap",
            (k + 0.5, last),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=SMALL,
            color=GREY,
        )
        return
    ax.annotate(
        "",
        (k + 0.5, after),
        xytext=(k + 0.5, last),
        arrowprops={"arrowstyle": "<->", "color": GREY, "linewidth": 0.8, "shrinkA": 0},
    )
    middle = np.sqrt(last * after) if ax.get_yscale() == "log" else (last + after) / 2
    ax.annotate(
        f"gap {number(last - after)}",
        (k + 0.5, middle),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SMALL,
        color=GREY,
    )


def _beside(ax: Axes, text: str, height: float) -> None:
    """Write right of the axes."""
    ax.annotate(
        text,
        (1.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SMALL,
        color=GREY,
        annotation_clip=False,
    )
