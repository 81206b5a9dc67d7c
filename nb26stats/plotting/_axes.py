"""What all figures share: where the axes come from, spines, labels, time zero, safe text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._colors import OKABE_ITO
from ._style import OFFSCREEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

WIDE = 7.1
"""Width of a figure in inches: 180 mm, two columns of a journal."""
GREY = OKABE_ITO["grey"]
PALE = "#b0b0b0"
LABEL = 9.0
SMALL = 8.0
MAX_LABEL = 40


def plain(text: object, limit: int = MAX_LABEL) -> str:
    """Return text for a figure: one line, cut, and with ``$`` shown as a dollar sign."""
    flat = " ".join(str(text).split())
    if len(flat) > limit:
        flat = flat[: limit - 1] + "…"
    # lone surrogates and control characters cannot be drawn
    flat = "".join(c if c.isprintable() else "?" for c in flat)
    return flat.replace("$", r"\$")


def line_style(style: dict[str, Any]) -> dict[str, Any]:
    """Return the style of a line with short names (``lw``) written out, as our defaults are."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(style, Line2D)


def need(value: object, name: str, kind: str, *attributes: str) -> None:
    """Raise TypeError unless ``value`` has what a result of that kind has."""
    if not all(hasattr(value, attribute) for attribute in attributes):
        raise TypeError(f"{name} must be {kind}, got {type(value).__name__}")


def new_figure(size: tuple[float, float]) -> Figure:
    """Open a figure: one that notebooks show, or inside ``style(offscreen=True)`` a bare one."""
    if OFFSCREEN.get():
        from matplotlib.figure import Figure

        return Figure(figsize=size, layout="constrained")
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size, layout="constrained")


def one_axes(ax: Axes | None, size: tuple[float, float] = (WIDE, 2.8)) -> Axes:
    """Return ``ax``, or the axes of a new figure."""
    return new_figure(size).add_subplot() if ax is None else _as_axes(ax)


def many_axes(
    ax: Any, n: int, *, columns: int, height: float, sharex: bool = True, sharey: bool = True
) -> NDArray[np.object_]:
    """Return ``n`` axes: those given (one per panel), or a new grid of panels with shared axes."""
    if ax is not None:
        given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if given.size != n:
            raise ValueError(f"ax holds {given.size} axes but the figure has {n} panels")
        for each in given:
            _as_axes(each)
        return given
    rows = -(-n // columns)
    figure = new_figure((WIDE, height * rows + 0.5))
    return panel_grid(figure, n, columns=columns, sharex=sharex, sharey=sharey)


def panel_grid(
    figure: Figure, n: int, *, columns: int, sharex: bool = True, sharey: bool = True
) -> NDArray[np.object_]:
    """Add ``n`` panels in ``columns`` columns to an empty figure."""
    rows = -(-n // columns)
    panels: list[Axes] = []
    for k in range(n):
        first = panels[0] if panels else None
        panel = figure.add_subplot(
            rows,
            columns,
            k + 1,
            sharex=first if sharex else None,
            sharey=first if sharey else None,
        )
        # tick labels only at the left and at the lowest panel of each column
        if sharey and k % columns:
            panel.tick_params(labelleft=False)
        if sharex and k + columns < n:
            panel.tick_params(labelbottom=False)
        panels.append(panel)
    return np.array(panels, dtype=object)


def dress(ax: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Set labels and title and leave only the left and bottom spines."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(labelsize=SMALL + 0.5, width=0.8, length=3)
    if x:
        ax.set_xlabel(x, fontsize=LABEL)
    if y:
        ax.set_ylabel(y, fontsize=LABEL)
    if title:
        ax.set_title(title, loc="left", fontsize=LABEL + 1)


def few_ticks(ax: Axes, *, x: int | None = 7, y: int | None = 4) -> None:
    """Use few, round ticks."""
    from matplotlib.ticker import MaxNLocator

    if x is not None:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=x, steps=[1, 2, 5, 10]))
    if y is not None:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=y, steps=[1, 2, 5, 10]))


def log_ticks(ax: Axes) -> None:
    """Write plain numbers on logarithmic axes: at the decades, with 2 and 5 where they are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if axis.get_scale() == "log":
            few = np.log10(limits[1] / limits[0]) < 2.2
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12))
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
            axis.set_minor_locator(NullLocator())


def number(value: float, digits: int = 3) -> str:
    """Return a number with few digits; powers of ten only where it is very small or large."""
    if not 0.99e-4 < abs(value) < 1.01e6:
        return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_zero(ax: Axes, name: str = "") -> None:
    """Draw the thin line at time zero; with ``name``, write it once above the line."""
    ax.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
    if name:
        ax.annotate(
            plain(name),
            (0.0, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, -1),
            textcoords="offset points",
            va="top",
            ha="left",
            fontsize=SMALL,
            color=GREY,
        )


def corner_note(ax: Axes, text: str) -> None:
    """Write lines of small grey words into the upper left corner of the axes."""
    ax.annotate(
        text,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        fontsize=SMALL,
        color=GREY,
    )


def end_labels(ax: Axes, labels: Sequence[tuple[str, float, str]]) -> None:
    """Write labels (text, height in data, colour) right of the axes without overlap."""
    low, high = ax.get_ylim()
    # a text line of 8.5 pt on axes of about 150 pt
    gap = 0.1 * (high - low)
    order = sorted(range(len(labels)), key=lambda k: labels[k][1])
    heights = [min(max(labels[k][1], low), high) for k in order]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + gap)
    for k in range(len(heights) - 1, -1, -1):
        heights[k] = min(heights[k], high if k == len(heights) - 1 else heights[k + 1] - gap)
    for k, height in zip(order, heights, strict=True):
        text, _, color = labels[k]
        ax.annotate(
            text,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=SMALL + 0.5,
            color=color,
            annotation_clip=False,
        )


def _as_axes(ax: object) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib axes, got {type(ax).__name__}")
    return ax
