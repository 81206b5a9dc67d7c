"""Averages over treated rows: what the model allows, and how far that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import (
    PALE,
    SMALL,
    corner_note,
    dress,
    few_ticks,
    line_style,
    many_axes,
    need,
    number,
)
from ._colors import OKABE_ITO
from ._responder_words import caution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

SHARES = {"erpf": "responders"}
EFFECTS = {
    "att": "all treated",
    "responder_effect": "responders",
    "care": "responders,\nrow by row",
}
COLOR = OKABE_ITO["blue"]


def plot_estimands(result: Any, ax: Any = None, **style: Any) -> NDArray[np.object_]:
    """Draw the share of responders and mean effects of a causal two-groups model.

    A dot is a value that the data identify, a thick line the bounds where they do not: more rows
    do not shorten it. Thin lines are confidence limits, where the fit has resamples. Effects on
    responders divide by small priors and may run out of the figure; an arrow then tells the end.

    Parameters
    ----------
    result : NonparametricC2G, SemiparametricC2G or C2GResult
        A fitted estimator or its ``result()``.
    ax : sequence of two matplotlib axes, optional
        Where to draw. A new figure by default.
    **style
        Properties of the dots and lines.

    Returns
    -------
    ndarray of Axes
        The axes of the share and of the effects, in units of y.

    Raises
    ------
    TypeError
        If ``result`` is of another kind.

    Examples
    --------
    >>> from nb26stats import NonparametricC2G, datasets, plotting
    >>> data = datasets.simulate_additive(300, tau=5, random_state=1)
    >>> model = NonparametricC2G(n_bootstrap=20, device="cpu", random_state=0)
    >>> model = model.fit(data.X, data.y, treatment=data.treatment)
    >>> with plotting.style(offscreen=True):
    ...     share, effects = plotting.plot_estimands(model)
    >>> effects.get_xlabel()
    'mean effect (units of y)'
    """
    kind = "a fitted causal two-groups model or its result()"
    need(result, "result", kind, "to_frame", "plot")
    whole = result.result() if callable(getattr(result, "result", None)) else result
    need(whole, "result", kind, "estimands", "control_used")
    table = whole.estimands
    look = {"color": COLOR, "solid_capstyle": "butt", **line_style(style)}
    panels = many_axes(ax, 2, columns=2, height=1.6, sharex=False, sharey=False)
    for panel, names in zip(panels, (SHARES, EFFECTS), strict=True):
        shown = {name: words for name, words in names.items() if name in table.index}
        low, high = (0.0, 1.0) if names is SHARES else _limits(table.loc[list(shown)])
        for k, name in enumerate(shown):
            _interval(panel, table.loc[name], float(k), low, high, look)
        margin = 0.04 * (high - low)
        panel.set_xlim(low - margin, high + margin)
        panel.set_ylim(len(shown) - 0.4, -0.6)
        panel.set_yticks(range(len(shown)), list(shown.values()))
    share, effects = panels
    n, level = int(table["n"].max()), float(table["level"].max())
    limits = np.isfinite(table[["ci_low", "ci_high"]].to_numpy(dtype=float)).any()
    note = f"thin: {level:.0%} confidence" if limits else "no confidence limits: no resamples"
    if caution(whole):
        # below the title, and no longer than the panel is wide
        note += "\n" + caution(whole).replace(": ", ":\n")
    dress(share, x="share of the treated", title=f"Who responds ({n:,} treated)")
    dress(effects, x="mean effect (units of y)", title="How strongly")
    effects.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
    corner_note(share, note)
    for panel in panels:
        few_ticks(panel, x=5, y=None)
        panel.tick_params(axis="y", length=0)
    return panels


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the effects; what divides by small priors does not set it alone."""
    ends = table[["lower", "upper", "ci_low", "ci_high"]]
    stable = np.concatenate(
        [
            ends.loc[table.index == "att"].to_numpy(dtype=float).ravel(),
            ends.loc[table.index == "responder_effect", ["lower", "upper"]].to_numpy(float).ravel(),
        ]
    )
    stable = stable[np.isfinite(stable)]
    if not len(stable):
        return -1.0, 1.0
    low, high = min(0.0, float(stable.min())), max(0.0, float(stable.max()))
    reach = (high - low) or 1.0
    every = ends.to_numpy(dtype=float)
    every = every[np.isfinite(every)]
    return max(low - reach, min(low, every.min())), min(high + reach, max(high, every.max()))


def _interval(
    panel: Axes, row: pd.Series, height: float, low: float, high: float, look: dict[str, Any]
) -> None:
    for names, width in ((("ci_low", "ci_high"), 1.2), (("lower", "upper"), 4.0)):
        ends = row[list(names)].to_numpy(dtype=float)
        if not np.isfinite(ends).all():
            continue
        if ends[0] == ends[1]:
            panel.plot(ends[:1], [height], **{"marker": "o", "markersize": 5, **look})
            continue
        inside = np.clip(ends, low, high)
        panel.plot(inside, [height, height], **{"linewidth": width, **look})
    # the outer end of either side, where it leaves the figure
    left = np.nanmin([row["lower"], row["ci_low"]])
    right = np.nanmax([row["upper"], row["ci_high"]])
    if left < low:
        _beyond(panel, low, height, "<", float(left), look["color"])
    if right > high:
        _beyond(panel, high, height, ">", float(right), look["color"])


def _beyond(panel: Axes, at: float, height: float, marker: str, end: float, color: Any) -> None:
    panel.plot([at], [height], marker, color=color, markersize=6, clip_on=False)
    panel.annotate(
        f"to {number(end)}",
        (at, height),
        xytext=(0, -6),
        textcoords="offset points",
        ha="left" if marker == "<" else "right",
        va="top",
        fontsize=SMALL,
        color=color,
    )
