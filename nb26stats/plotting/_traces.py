"""Mean traces with a band, one panel or many: shared by the figures of rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import LABEL, SMALL, dress, end_labels, few_ticks, many_axes, one_axes, plain, time_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_IN_ONE = 4
"""More traces than this go to panels of their own."""


@dataclass(frozen=True)
class Trace:
    """One line with its band."""

    name: str
    note: str
    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    sem: NDArray[np.float64]
    color: str


def draw(
    traces: Sequence[Trace],
    ax: Any,
    *,
    x: str,
    y: str,
    title: str,
    zero: str | None = None,
    **style: Any,
) -> Axes | NDArray[np.object_]:
    """Draw up to four traces in one axes with labels beside them, or one panel per trace."""
    if not traces:
        raise ValueError("there is nothing to draw: the result holds no area")
    together = len(traces) <= MAX_IN_ONE and (ax is None or np.ndim(np.asarray(ax, object)) == 0)
    if together:
        panel = one_axes(ax)
        for trace in traces:
            _line(panel, trace, style)
        dress(panel, x=x, y=y, title=title)
        _limits([panel], traces)
        if zero is not None:
            time_zero(panel, zero)
        if len(traces) > 1:
            end_labels(
                panel,
                [
                    (f"{plain(t.name, 24)}{_line_note(t.note)}", _last(t.mean), t.color)
                    for t in traces
                ],
            )
        return panel
    columns = 2 if len(traces) <= 6 else 4
    panels = many_axes(ax, len(traces), columns=columns, height=1.5 if columns == 2 else 1.25)
    for k, (panel, trace) in enumerate(zip(panels, traces, strict=True)):
        _line(panel, trace, style)
        # in a figure of our own the labels stand once at its edges
        dress(panel, x="" if ax is None else x, y="" if ax is None else y)
        panel.set_title(
            f"{plain(trace.name, 20)}{_line_note(trace.note)}",
            loc="left",
            fontsize=SMALL + 0.5,
            color=trace.color,
        )
        if zero is not None:
            time_zero(panel, zero if k == 0 else "")
    _limits(list(panels), traces)
    if ax is None:
        figure = panels[0].figure
        figure.suptitle(title, x=0.01, ha="left", fontsize=LABEL + 1)
        figure.supxlabel(x, fontsize=LABEL)
        figure.supylabel(y, fontsize=LABEL)
    return panels


def _line(ax: Axes, trace: Trace, style: dict[str, Any]) -> None:
    line = {"color": trace.color, "linewidth": 1.4, **style}
    ax.plot(trace.x, trace.mean, **line)
    if np.isfinite(trace.sem).any():
        ax.fill_between(
            trace.x,
            trace.mean - trace.sem,
            trace.mean + trace.sem,
            color=line["color"],
            alpha=0.22,
            linewidth=0,
        )


def _limits(panels: list[Axes], traces: Sequence[Trace]) -> None:
    """Set common limits: all of the time axis, rates from zero to just above the bands."""
    top = 0.0
    for trace in traces:
        high = trace.mean + np.nan_to_num(trace.sem)
        if np.isfinite(high).any():
            top = max(top, float(np.nanmax(high)))
    # x holds the middles of the bins; the axis covers the whole bins
    half = max(float(t.x[1] - t.x[0]) / 2 if t.x.size > 1 else 0.5 for t in traces)
    left = min(float(t.x[0]) for t in traces) - half
    right = max(float(t.x[-1]) for t in traces) + half
    for panel in panels:
        # small panels need more room above for the name of time zero
        panel.set_ylim(0.0, (1.08 if len(panels) == 1 else 1.3) * top if top > 0 else 1.0)
        panel.set_xlim(left, right)
        few_ticks(panel, x=7 if len(panels) <= 6 else 4)


def _last(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if finite.size else 0.0


def _line_note(note: str) -> str:
    return f", {note}" if note else ""
