"""Who responded: local false discovery rates, densities of both arms at a row, residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_choice

from ._axes import GREY, PALE, SMALL, corner_note, dress, few_ticks, need, one_axes
from ._colors import OKABE_ITO
from ._responder_density import draw_densities
from ._responder_words import excess

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

KINDS = ("lfdr", "density", "residuals")
CONTROL, TREATED, SELECTED = GREY, OKABE_ITO["sky"], OKABE_ITO["vermillion"]
COLUMNS = {
    "lfdr": ("control_score",),
    "density": ("y", "prior", "trimmed"),
    "residuals": ("y", "null_mean"),
}
"""What a figure needs in the table, beside who is treated, selected, and the lfdr."""
SIZE = (4.6, 3.0)
N_BINS = 25
BEYOND = 0.002
"""Share of residuals at either end that may not fit into the figure."""


def plot_responders(
    result: Any, kind: str = "lfdr", ax: Axes | None = None, *, row: Any = None, **style: Any
) -> Axes:
    """Draw the fit of a causal two-groups model.

    Parameters
    ----------
    result : NonparametricC2G, SemiparametricC2G or C2GResult
        A fitted estimator or its ``result()``, which has no densities.
    kind : {"lfdr", "density", "residuals"}, default="lfdr"
        Local false discovery rates of the treated rows, the selected ones in colour, with the
        scores of the controls; densities of both arms at the covariates of one row; outcomes less
        their mean without response, in both arms. Controls are weighted to resemble the treated
        rows where the treatment was not randomised.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    row : int, optional
        Position of the row for "density"; by default the treated row of least lfdr.
    **style
        Properties of what stands for the treated rows: bars in "lfdr", a line in the others.

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
    '1 of 2 treated rows selected at q = 0.1'
    """
    need(result, "result", "a fitted causal two-groups model or its result()", "to_frame", "plot")
    draw = as_choice(kind, "kind", KINDS)
    table = result.to_frame()
    if not {"treated", "lfdr", "selected", *COLUMNS[draw]} <= set(table.columns):
        raise TypeError(
            "result must be a fitted causal two-groups model or its result(), "
            f"got {type(result).__name__}"
        )
    if draw == "lfdr":
        return _lfdr(result, table, ax, style)
    if draw == "residuals":
        return _residuals(result, table, ax, style)
    need(result, "result", "the fitted estimator: its result() has no densities", "_density_at")
    return draw_densities(result, table, row, ax, style)


def arms(table: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are treated and in use, and which are controls."""
    known = table["treated"].notna().to_numpy()
    treated = table["treated"].fillna(False).to_numpy(dtype=bool)
    out = (
        table["trimmed"].to_numpy(dtype=bool) if "trimmed" in table else np.zeros(len(known), bool)
    )
    return treated & ~out, known & ~treated


def _weights(table: Any, controls: NDArray[np.bool_]) -> F64:
    """Return what controls count for, as shares of one."""
    if "control_weight" not in table:
        return np.full(int(controls.sum()), 1.0 / max(int(controls.sum()), 1))
    weight: F64 = table["control_weight"].to_numpy(dtype=float)[controls]
    return np.asarray(weight / weight.sum())


def _controls_label(weight: F64) -> str:
    even = not len(weight) or np.ptp(weight) == 0.0
    return f"{len(weight):,} controls" + ("" if even else ", weighted")


def _lfdr(result: Any, table: Any, ax: Axes | None, style: dict[str, Any]) -> Axes:
    treated, controls = arms(table)
    selected = table["selected"].to_numpy(dtype=bool)
    lfdr = table["lfdr"].to_numpy(dtype=float)
    controls &= np.isfinite(table["control_score"].to_numpy(dtype=float))
    score = table["control_score"].to_numpy(dtype=float)[controls]
    n, chosen = int(treated.sum()), int(selected.sum())
    # few rows make few bars
    n_bins = int(np.clip(np.sqrt(2 * n), 10, N_BINS))
    edges = np.linspace(0.0, 1.0, n_bins + 1).tolist()
    panel = one_axes(ax, SIZE)
    heights, _, _ = panel.hist(
        [lfdr[treated & selected], lfdr[treated & ~selected]],
        edges,
        stacked=True,
        label=[f"{chosen:,} selected", f"{n - chosen:,} other treated"],
        **{"color": [SELECTED, TREATED], "linewidth": 0, **style},
    )
    top = float(np.max(heights))
    if len(score):
        weight = _weights(table, controls)
        outline, _, _ = panel.hist(
            score,
            edges,
            weights=n * weight,
            histtype="step",
            color=CONTROL,
            linewidth=1.2,
            label=f"{_controls_label(weight)}, to scale",
        )
        top = max(top, float(np.max(outline)))
    panel.set_xlim(0, 1)
    # room for the legend above the highest bar
    panel.set_ylim(0, 1.5 * top)
    left = int(table["trimmed"].sum()) if "trimmed" in table else 0
    panel.legend(
        frameon=False,
        fontsize=SMALL,
        title=f"{left:,} treated left out: no comparable controls" if left else "",
        title_fontsize=SMALL,
        loc="upper center",
    )
    q = _target(result)
    dress(
        panel,
        x="local false discovery rate (probability of no response)",
        y="treated rows",
        title=f"{chosen:,} of {n:,} treated rows selected" + (f" at q = {q:g}" if q else ""),
    )
    few_ticks(panel, x=5, y=5)
    return panel


def _target(result: Any) -> float:
    """Return the rate that the selection in the table was made at."""
    setting = getattr(result, "_setting", result)
    return float(setting.q)


def _residuals(result: Any, table: Any, ax: Axes | None, style: dict[str, Any]) -> Axes:
    treated, controls = arms(table)
    residual = (table["y"] - table["null_mean"]).to_numpy(dtype=float)
    weight = _weights(table, controls)
    n1 = int(treated.sum())
    both = residual[treated | controls]
    low, high = _limits(both)
    beyond = int(((both < low) | (both > high)).sum())
    n_bins = int(np.clip(np.sqrt(2 * min(n1, len(weight))), 10, 2 * N_BINS))
    edges = np.linspace(low, high, n_bins + 1)
    share = 1.0 / (edges[1] - edges[0])
    panel = one_axes(ax, SIZE)
    top = 0.0
    for values, each, look, label in (
        (residual[controls], weight, {"color": CONTROL}, _controls_label(weight)),
        (
            residual[treated],
            np.full(n1, 1.0 / n1),
            {"color": OKABE_ITO["blue"], **style},
            f"{n1:,} treated",
        ),
    ):
        # density over all rows, those beyond the axis too
        heights, _, _ = panel.hist(
            values,
            edges.tolist(),
            weights=each * share,
            label=label,
            **{"histtype": "step", "linewidth": 1.4, **look},
        )
        top = max(top, float(np.max(heights)))
    # as high as the bars: words are above
    panel.axvline(0.0, ymax=1 / 1.35, color=PALE, linewidth=0.8, zorder=0)
    panel.set_xlim(low, high)
    panel.set_ylim(0, 1.35 * top)
    panel.legend(frameon=False, fontsize=SMALL, loc="upper right")
    notes = [f"{name} = {z:.1f}" for name, z in excess(result).items()]
    if beyond:
        notes.append(f"{beyond:,} beyond the axis")
    if notes:
        corner_note(panel, "\n".join(notes))
    dress(
        panel,
        x="outcome less its mean without response (units of y)",
        y="density (per unit of y)",
        title="Residuals of treated rows and controls",
    )
    few_ticks(panel, x=5, y=4)
    return panel


def _limits(values: F64) -> tuple[float, float]:
    """Return the range of the values, less what one or two far ones would add to it."""
    ordered = np.sort(values)
    # one far value at least at either end
    far = min(int(np.ceil(BEYOND * len(ordered))), (len(ordered) - 1) // 2)
    low, high = float(ordered[far]), float(ordered[-1 - far])
    margin = 0.25 * (high - low)
    low, high = max(low - margin, float(ordered[0])), min(high + margin, float(ordered[-1]))
    # equal residuals have no range
    return (low, high) if high > low else (low - 0.5, high + 0.5)
