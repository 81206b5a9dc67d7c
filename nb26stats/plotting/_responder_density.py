"""Densities of both arms at the covariates of one row, and where its outcome lies in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_int

from ._axes import GREY, SMALL, dress, few_ticks, line_style, number, one_axes, plain
from ._colors import OKABE_ITO
from ._responder_words import caution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

N_GRID = 400
CONTROL, TREATED, OUTCOME = GREY, OKABE_ITO["blue"], OKABE_ITO["vermillion"]
HEADROOM = 1.6
"""Height of the axes over that of the curves, with room for the legend."""
FAINT = 0.002
"""Densities below this share of the highest are not worth a place on the axis."""


def draw_densities(
    model: Any, table: Any, row: Any, ax: Axes | None, style: dict[str, Any]
) -> Axes:
    """Draw f0, ft and what of ft no response explains, at one row of a fitted model."""
    at = _which(table, row)
    y = float(table["y"].iloc[at])
    grid = _window(model, at, table["y"].to_numpy(dtype=float))
    f0, ft = model._density_at(at, grid)
    bands = model._density_bands(at, grid)
    panel = one_axes(ax, (4.8, 3.2))
    line = {"color": TREATED, "linewidth": 1.4, **line_style(style)}
    said = caution(model)
    if bands is not None:
        for (lower, upper), color in (
            (bands.control, CONTROL),
            (bands.treated, line["color"]),
        ):
            panel.fill_between(grid, lower, upper, color=color, alpha=0.22, linewidth=0)
        said = f"bands: middle {bands.level:.0%} of {bands.n_resamples} resamples"
    panel.plot(grid, f0, color=CONTROL, linewidth=1.4, label="controls like this row")
    panel.plot(grid, ft, label="treated like this row", **line)
    prior = float(table["prior"].iloc[at])
    panel.plot(
        grid,
        (1.0 - prior) * f0,
        color=CONTROL,
        linewidth=1.2,
        linestyle=(0, (4, 2)),
        label=f"no response: {1.0 - prior:.2f} × controls",
    )
    # as high as the curves: the legend is above
    panel.axvline(
        y, ymax=1 / HEADROOM, color=OUTCOME, linewidth=1.2, label=f"its outcome, {number(y)}"
    )
    panel.set_xlim(grid[0], grid[-1])
    highest = [f0, ft] + ([] if bands is None else [bands.control[1], bands.treated[1]])
    panel.set_ylim(0.0, HEADROOM * max(float(np.max(f)) for f in highest))
    panel.legend(
        frameon=False,
        fontsize=SMALL,
        loc="upper center",
        ncols=2,
        columnspacing=1.0,
        handlelength=1.6,
        title=said,
        title_fontsize=SMALL,
    )
    dress(
        panel,
        x="outcome (units of y)",
        y="density (per unit of y)",
        title=_title(table, at),
    )
    few_ticks(panel, x=5, y=4)
    return panel


def _which(table: Any, row: Any) -> int:
    """Return the position of the row, by default the treated one of least lfdr."""
    if row is None:
        return int(np.nanargmin(table["lfdr"].to_numpy(dtype=float)))
    at = as_int(row, "row", minimum=0, maximum=len(table) - 1)
    if table["treated"].isna().iloc[at]:
        raise ValueError(f"row={at} was left out of the fit")
    return at


def _window(model: Any, at: int, y: F64) -> F64:
    """Return outcomes over the part of the axis where either density is, and the row's own."""
    low, high = float(np.nanmin(y)), float(np.nanmax(y))
    margin = 0.05 * (high - low)
    coarse = np.linspace(low - margin, high + margin, 2 * N_GRID)
    f0, ft = model._density_at(at, coarse)
    seen = coarse[np.maximum(f0, ft) > FAINT * max(np.max(f0), np.max(ft))]
    ends = [float(seen[0]), float(seen[-1]), y[at]] if len(seen) else [low, high]
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low)
    return np.linspace(low - margin, high + margin, N_GRID)


def _title(table: Any, at: int) -> str:
    """Return which row it is and what became of it."""
    import pandas as pd

    name = f"Row {at}"
    if not isinstance(table.index, pd.RangeIndex):
        name += f" ({plain(table.index[at], 18)})"
    lfdr = float(table["lfdr"].iloc[at])
    if not np.isfinite(lfdr):
        return f"{name}, a control"
    if table["trimmed"].iloc[at]:
        return f"{name}, left out: no comparable controls"
    fate = "selected" if table["selected"].iloc[at] else "not selected"
    return f"{name}, lfdr {number(lfdr)}, {fate}"
