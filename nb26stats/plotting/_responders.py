"""Who responded: local false discovery rates, densities of both arms at a row, residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_choice, as_int

from ._axes import GREY, PALE, SMALL, dress, few_ticks, need, number, one_axes
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("lfdr", "density", "residuals")
CONTROL, TREATED, SELECTED = GREY, OKABE_ITO["sky"], OKABE_ITO["vermillion"]
N_BINS = 25
N_GRID = 400


def plot_responders(
    result: Any, kind: str = "lfdr", *, row: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the fit of a causal two-groups model.

    Parameters
    ----------
    result : NonparametricC2G, SemiparametricC2G or C2GResult
        A fitted estimator or its ``result()``, which has no densities.
    kind : {"lfdr", "density", "residuals"}, default="lfdr"
        Local false discovery rates of the treated rows, the selected ones in colour, over the
        scores of the controls; densities of both arms at the covariates of one row; outcomes less
        their mean without response, in both arms.
    row : int, optional
        Position of the row for "density"; by default the treated row of least lfdr.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If there is no such kind or row.
    TypeError
        If ``result`` is of another kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats import plotting
    >>> from nb26stats.causal import C2GResult
    >>> table = pd.DataFrame({"treated": [True, True, False], "selected": [True, False, False],
    ...     "lfdr": [0.02, 0.8, None], "control_score": [None, None, 0.7]})
    >>> result = C2GResult(table, pd.DataFrame(), 0.1, "calibrated", 0.05, 2, 1, 0)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_responders(result)
    >>> ax.get_title(loc="left")
    '1 of 2 treated rows selected'
    """
    need(result, "result", "a fitted causal two-groups model or its result()", "to_frame", "plot")
    draw = as_choice(kind, "kind", KINDS)
    table = result.to_frame()
    if not {"treated", "lfdr", "selected"} <= set(table.columns):
        raise TypeError(
            "result must be a fitted causal two-groups model or its result(), "
            f"got {type(result).__name__}"
        )
    if draw == "lfdr":
        return _lfdr(table, ax)
    if draw == "residuals":
        return _residuals(table, ax)
    need(result, "result", "the fitted estimator: its result() has no densities", "_density_at")
    return _density(result, table, row, ax)


def _lfdr(table: Any, ax: Axes | None) -> Axes:
    treated = table["treated"].fillna(False).to_numpy(dtype=bool)
    selected = table["selected"].to_numpy(dtype=bool)
    lfdr = table["lfdr"].to_numpy(dtype=float)
    score = table["control_score"].to_numpy(dtype=float)
    score = score[np.isfinite(score)]
    n, chosen = int(treated.sum()), int(selected.sum())
    edges = np.linspace(0.0, 1.0, N_BINS + 1).tolist()
    panel = one_axes(ax, (4.6, 3.0))
    panel.hist(
        [lfdr[treated & selected], lfdr[treated & ~selected]],
        edges,
        stacked=True,
        color=[SELECTED, TREATED],
        label=["selected", "other treated"],
        linewidth=0,
    )
    if len(score):
        panel.hist(
            score,
            edges,
            weights=np.full(len(score), n / len(score)),
            histtype="step",
            color=CONTROL,
            linewidth=1.2,
            label="scores of controls, to scale",
        )
    panel.set_xlim(0, 1)
    panel.legend(frameon=False, fontsize=SMALL, loc="upper center")
    dress(
        panel,
        x="local false discovery rate",
        y="rows",
        title=f"{chosen} of {n} treated rows selected",
    )
    few_ticks(panel, x=5, y=5)
    return panel


def _residuals(table: Any, ax: Axes | None) -> Axes:
    treated = table["treated"].fillna(False).to_numpy(dtype=bool)
    residual = (table["y"] - table["null_mean"]).to_numpy(dtype=float)
    known = np.isfinite(residual)
    parts = {
        "controls": (residual[known & ~treated], CONTROL),
        "treated": (residual[known & treated], OKABE_ITO["blue"]),
    }
    edges = np.histogram_bin_edges(residual[known], bins=2 * N_BINS).tolist()
    panel = one_axes(ax, (4.6, 3.0))
    for name, (values, color) in parts.items():
        panel.hist(
            values, edges, density=True, histtype="step", color=color, linewidth=1.4, label=name
        )
    panel.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
    panel.legend(frameon=False, fontsize=SMALL)
    dress(
        panel,
        x="outcome less its mean without response",
        y="density",
        title="What treatment adds to the residuals",
    )
    few_ticks(panel, x=5, y=4)
    return panel


def _density(model: Any, table: Any, row: Any, ax: Axes | None) -> Axes:
    lfdr = table["lfdr"].to_numpy(dtype=float)
    y = table["y"].to_numpy(dtype=float)
    if row is None:
        at = int(np.nanargmin(lfdr))
    else:
        at = as_int(row, "row", minimum=0, maximum=len(table) - 1)
    if not np.isfinite(y[at]):
        raise ValueError(f"row={at} was left out of the fit")
    low, high = np.nanmin(y), np.nanmax(y)
    grid = np.linspace(low - 0.05 * (high - low), high + 0.05 * (high - low), N_GRID)
    f0, ft = model._density_at(at, grid)
    panel = one_axes(ax, (4.6, 3.0))
    panel.plot(grid, f0, color=CONTROL, linewidth=1.4, label="controls like this row")
    panel.plot(grid, ft, color=OKABE_ITO["blue"], linewidth=1.4, label="treated like this row")
    panel.axvline(y[at], color=SELECTED, linewidth=1.0, linestyle=(0, (4, 2)), label="its outcome")
    panel.set_ylim(bottom=0.0)
    right = y[at] > (low + high) / 2
    panel.legend(frameon=False, fontsize=SMALL, loc="upper left" if right else "upper right")
    score = f", lfdr {number(lfdr[at])}" if np.isfinite(lfdr[at]) else ", a control"
    dress(panel, x="outcome", y="density", title=f"Row {at}{score}")
    few_ticks(panel, x=5, y=4)
    return panel
