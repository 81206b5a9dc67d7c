"""Spikes as ticks: trials of a few units, or all units in one window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_int, as_list

from ._axes import GREY, SMALL, WIDE, dress, few_ticks, many_axes, need, one_axes, plain, time_zero
from ._colors import colors_in_file
from ._psth import event_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_PANELS = 12


def plot_raster(
    counts: Any,
    ax: Any = None,
    *,
    units: Sequence[int] | int | None = None,
    event: str = "",
    **style: Any,
) -> Axes | NDArray[np.object_]:
    """Draw one tick for every bin that holds a spike.

    With several windows there is one panel per unit and one row per window, the first at the top.
    With a single window there is one panel, and each unit is a row.

    Parameters
    ----------
    counts : SpikeCounts
        Counts in fine bins (1 ms, say) of the units and windows to draw.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw, one axes per panel. A new figure by default.
    units : sequence of int, optional
        Positions of the units to draw, from 0 in the order of ``counts.concat()``; all by default.
    event : str, default=""
        Name of time zero; by default the column that the windows were aligned to.
    **style
        Properties of the ticks (``color``, ``linewidth``, ...).

    Returns
    -------
    Axes or ndarray of Axes
        One axes for a single panel, else one per unit.

    Raises
    ------
    ValueError
        If there is no unit or no window, a position is out of range, or more than 12 panels would
        be needed.

    Examples
    --------
    >>> from nb26stats import datasets, nwb, plotting
    >>> path = datasets.path("A8604-211122_phy.nwb")
    >>> counts = nwb.spike_counts(path, align_to=[10.0], window=(0.0, 10.0), bin_size=0.001)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_raster(counts)
    >>> [float(y) for y in ax.get_ylim()]
    [3.0, 0.0]
    """
    need(counts, "counts", "what spike_counts returns", "counts", "areas", "unit_index")
    array, areas, ids = stacked(counts)
    chosen: Sequence[int] = range(array.shape[2])
    if units is not None:
        chosen = [as_int(u, "units", minimum=0) for u in as_list(units, "units")]
        for position in chosen:
            if position >= array.shape[2]:
                raise ValueError(
                    f"units={position} must lie in [0, {array.shape[2] - 1}], the units counted"
                )
    if not len(chosen) or not array.shape[0]:
        raise ValueError("there is nothing to draw: the counts hold no unit or no window")
    colors = colors_in_file(areas, counts.info.get("file_areas", ()))
    centers = np.asarray(counts.bin_centers, dtype=np.float64)
    width = float(counts.bin_size)
    span = (centers[0] - width / 2, centers[-1] + width / 2)
    if array.shape[0] == 1:
        panel = one_axes(ax, (WIDE, float(np.clip(0.9 + 0.09 * len(chosen), 1.6, 6.0))))
        order = sorted(chosen, key=lambda u: areas.index(areas[u]))
        for row, unit in enumerate(order):
            at = centers[array[0, :, unit] > 0]
            line = {"color": colors[areas[unit]], "linewidth": _thin(at.size, WIDE - 1), **style}
            _ticks(panel, at, np.full(at.size, row), len(order), line)
        _area_marks(panel, [areas[u] for u in order], colors)
        start = float(np.asarray(counts.event_times)[0])
        dress(panel, x=f"time from {start:g} s in the session (s)", title="Spikes of all units")
        panel.set_ylim(len(order), 0)
        panel.set_xlim(*span)
        few_ticks(panel, y=None)
        return panel
    if len(chosen) > MAX_PANELS:
        raise ValueError(
            f"{len(chosen)} units need as many panels, more than {MAX_PANELS}; choose with units="
        )
    name = event or event_name(counts)
    n = array.shape[0]
    columns = min(3, len(chosen))
    panels = many_axes(ax, len(chosen), columns=columns, height=2.6)
    for k, (panel, unit) in enumerate(zip(panels, chosen, strict=True)):
        rows, bins = np.nonzero(array[:, :, unit] > 0)
        thin = _thin(bins.size / n, WIDE / columns - 0.6)
        line = {"color": colors[areas[unit]], "linewidth": thin, **style}
        _ticks(panel, centers[bins], rows, n, line)
        dress(
            panel,
            x=f"time from {plain(name, 24)} (s)",
            y="trial" if k % 3 == 0 else "",
        )
        panel.set_title(
            f"unit {plain(ids[unit], 12)}, {plain(areas[unit], 18)}",
            loc="left",
            fontsize=SMALL + 1,
            color=colors[areas[unit]],
        )
        panel.set_xlim(*span)
        panel.set_ylim(n, 0)
        few_ticks(panel, x=5, y=5)
        time_zero(panel)
    return panels if len(chosen) > 1 else panels[0]


def stacked(counts: Any) -> tuple[NDArray[Any], list[str], list[Any]]:
    """Return all areas as one array (windows, bins, units in file order), areas and ids."""
    keys = [a for a in counts.areas for _ in range(np.asarray(counts.counts[a]).shape[2])]
    ids = [unit for a in counts.areas for unit in np.asarray(counts.unit_ids[a]).tolist()]
    rows = [row for a in counts.areas for row in np.asarray(counts.unit_index[a]).tolist()]
    order = np.argsort(np.array(rows, dtype=np.int64), kind="stable")
    return counts.to_array(), [keys[k] for k in order], [ids[k] for k in order]


def _ticks(
    ax: Axes, x: NDArray[Any], rows: NDArray[Any], n_rows: int, line: dict[str, Any]
) -> None:
    # of many rows each gets less than a pixel: ticks stay tall enough to be seen
    height = max(0.9, n_rows / 110)
    ax.vlines(x, rows + 0.5 - height / 2, rows + 0.5 + height / 2, **line)


def _thin(n: float, width: float) -> float:
    """Return the line width in points at which ``n`` ticks cover half of ``width`` inches."""
    return float(np.clip(0.5 * 72 * width / max(n, 1.0), 0.25, 1.0))


def _area_marks(ax: Axes, areas: list[str], colors: dict[str, str]) -> None:
    """Name each area beside its rows; small groups that would overlap are left to the caption."""
    ax.set_yticks([])
    starts = [k for k in range(len(areas)) if k == 0 or areas[k] != areas[k - 1]]
    ends = [*starts[1:], len(areas)]
    last = -1.0
    # one line of text takes about 0.13 inch of an axes that is about (height - 0.7) inch tall
    figure = ax.get_figure(root=True)
    height = float(figure.get_size_inches()[1] if figure else 3.0) - 0.7
    line = 0.15 * len(areas) / max(height, 0.5)
    for a, b in zip(starts, ends, strict=True):
        middle = (a + b) / 2
        if middle - last < line and last >= 0:
            continue
        last = middle
        ax.annotate(
            f"{plain(areas[a], 16)} ({b - a})",
            (0.0, middle),
            xycoords=("axes fraction", "data"),
            xytext=(-6, 0),
            textcoords="offset points",
            va="center",
            ha="right",
            fontsize=SMALL,
            color=colors.get(areas[a], GREY),
            annotation_clip=False,
        )
