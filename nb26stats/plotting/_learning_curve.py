"""How an animal's behaviour changed with learning, and what a fitted network does in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_list, as_prob

from ._axes import PALE, SMALL, dress, few_ticks, line_style, many_axes, need, plain
from ._colors import ARCHITECTURE_COLORS, OKABE_ITO

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    F64 = NDArray[np.float64]

ANIMAL = "#1a1a1a"
MEASURES = {
    "accuracy": ("share correct", "Accuracy", 0.5),
    "bias": ("bias to the right", "Bias", 0.0),
    "sensitivity": ("sensitivity", "Sensitivity", 0.0),
}
"""Column: label of its axis, title of its panel, and the value of an animal that only guesses."""
MAX_MARKERS = 60
MAX_BOUNDARIES = 40


def plot_learning_curve(
    result: pd.DataFrame,
    ax: Sequence[Axes] | None = None,
    *,
    simulated: Sequence[pd.DataFrame] | None = None,
    sessions: ArrayLike | None = None,
    architecture: str | None = None,
    level: float = 0.95,
    **style: Any,
) -> NDArray[np.object_]:
    """Draw accuracy, bias and sensitivity along learning, of the animal and of a fitted network.

    Parameters
    ----------
    result : pandas.DataFrame
        What :func:`nb26stats.learning.behavior_metrics` returns: a row per window or session with
        ``accuracy``, ``bias`` and ``sensitivity``. With ``start`` and ``stop`` the points stand at
        the middles of these spans of trials, else at the entries of the index.
    ax : sequence of three matplotlib axes, optional
        Where to draw. A new figure by default.
    simulated : sequence of pandas.DataFrame, optional
        The same for free runs of the fitted network on the same trials, one table a run; drawn as
        their median and a band that holds the share ``level`` of the runs.
    sessions : array-like of shape (T,), optional
        Session of each trial; light lines mark where one ends. Not needed where each row of
        ``result`` is a session.
    architecture : {"1L", "2L", "2NL"}, optional
        Network that was simulated: its colour and its name.
    level : float, default=0.95
        Share of the runs inside the band.
    **style
        Properties of the animal's line (``color``, ``linewidth``, ...).

    Returns
    -------
    ndarray of Axes
        Three panels: accuracy, bias, sensitivity.

    Raises
    ------
    ValueError
        If a column is missing, or a simulated table has other windows.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats import plotting
    >>> real = pd.DataFrame({"accuracy": [0.5, 0.8], "bias": [0.1, 0.0],
    ...     "sensitivity": [0.0, 0.6]}, index=[1, 2])
    >>> with plotting.style(offscreen=True):
    ...     panels = plotting.plot_learning_curve(real)
    >>> [panel.get_title(loc="left") for panel in panels]
    ['Accuracy', 'Bias', 'Sensitivity']
    """
    level = as_prob(level, "level")
    table = _checked(result, "result")
    runs = [_checked(run, "simulated") for run in _runs(simulated)]
    for k, run in enumerate(runs):
        if len(run) != len(table):
            raise ValueError(
                f"run {k} of simulated has {len(run)} windows but the animal has {len(table)}; "
                "compute both with the same windows"
            )
    if not len(table):
        raise ValueError("there is nothing to draw: no window has enough trials")
    x, label, ends = _positions(table)
    color = ARCHITECTURE_COLORS.get(str(architecture), OKABE_ITO["blue"])
    panels = many_axes(ax, 3, columns=3, height=2.4, sharex=True, sharey=False)
    edges = few(ends) if sessions is None else boundaries(sessions)
    for panel, (name, (y, title, guess)) in zip(panels, MEASURES.items(), strict=True):
        for edge in edges:
            panel.axvline(edge, color="#e4e4e4", linewidth=0.6, zorder=-1)
        panel.axhline(guess, color=PALE, linewidth=0.8, zorder=0)
        values = [table[name], *(run[name] for run in runs)]
        shown = np.array([v.to_numpy(dtype=np.float64) for v in values])
        if runs:
            _draw_runs(panel, x, shown[1:], level, color)
        line: dict[str, Any] = {"color": ANIMAL, "linewidth": 1.4, "label": "animal", "zorder": 3}
        if len(x) <= MAX_MARKERS:
            line.update(marker="o", markersize=2.5)
        panel.plot(x, shown[0], **{**line, **line_style(style)})
        dress(panel, y=y, title=title)
        _limits(panel, name, shown)
        few_ticks(panel, x=4, y=5)
    panels[1].set_xlabel(plain(label, 60), fontsize=SMALL + 1)
    if runs:
        _key(panels[2], len(runs), architecture, level, color)
    return panels


def _runs(simulated: Any) -> list[Any]:
    if simulated is None:
        return []
    if hasattr(simulated, "columns"):
        return [simulated]
    return as_list(simulated, "simulated")


def _checked(table: Any, name: str) -> pd.DataFrame:
    need(table, name, "a table from behavior_metrics", "columns", "iloc")
    missing = [column for column in MEASURES if column not in table.columns]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}; give what behavior_metrics returns")
    return table  # type: ignore[no-any-return]


def _positions(table: pd.DataFrame) -> tuple[F64, str, F64]:
    """Return where the points stand, what the axis is called, and where sessions end."""
    if {"start", "stop"} <= set(table.columns):
        spans = table[["start", "stop"]].to_numpy(dtype=np.float64)
        ends = spans[1:, 0] - 0.5 if "session" in table.columns else spans[:0, 0]
        return (spans.sum(axis=1) - 1) / 2, "trial, from 0", ends
    index = table.index.to_numpy()
    none = np.empty(0)
    if index.dtype.kind in "iuf":
        return index.astype(np.float64), str(table.index.name or "window"), none
    return np.arange(float(len(table))), f"{table.index.name or 'window'}, from 0", none


def boundaries(sessions: Any) -> list[float]:
    """Return where one session ends and the next begins, in trials."""
    if sessions is None:
        return []
    labels = np.asarray(sessions)
    return few(np.flatnonzero(labels[1:] != labels[:-1]).astype(np.float64) + 0.5)


def few(edges: F64) -> list[float]:
    """Return the edges, or none where so many lines would be a grey field."""
    return [] if len(edges) > MAX_BOUNDARIES else [float(edge) for edge in edges]


def _draw_runs(ax: Axes, x: F64, runs: F64, level: float, color: str) -> None:
    """Draw median and band of the runs; a window that a run could not fill is left out of it."""
    known = np.isfinite(runs).any(axis=0)
    edges = np.full((3, len(x)), np.nan)
    tails = [(1 - level) / 2, 0.5, (1 + level) / 2]
    edges[:, known] = np.nanquantile(runs[:, known], tails, axis=0)
    if len(runs) > 1:
        ax.fill_between(x, edges[0], edges[2], color=color, alpha=0.22, linewidth=0, zorder=1)
    ax.plot(x, edges[1], color=color, linewidth=1.4, label="simulated", zorder=2)


def _limits(ax: Axes, name: str, shown: F64) -> None:
    finite = shown[np.isfinite(shown)]
    if name == "accuracy":
        ax.set_ylim(min(0.4, float(finite.min()) - 0.02) if finite.size else 0.4, 1.0)
    elif name == "bias":
        reach = max(0.1, 1.1 * float(np.abs(finite).max())) if finite.size else 0.5
        ax.set_ylim(-reach, reach)
    else:
        ax.set_ylim(min(-0.05, float(finite.min()) - 0.02) if finite.size else -0.05, 1.0)


def _key(ax: Axes, n_runs: int, architecture: str | None, level: float, color: str) -> None:
    """Name the lines once, in the right corner of the last panel that they leave free."""
    who = plain(architecture) if architecture else "network"
    runs = f"median and\n{100 * level:g} % of {n_runs} runs" if n_runs > 1 else "one run"
    ends = [np.asarray(line.get_ydata())[-1] for line in ax.get_lines() if line.get_zorder() > 1]
    top = bool(np.nanmax([0.0, *ends]) < 0.55)
    entries = [("animal", ANIMAL), (f"{who}: {runs}", color)]
    for k, (text, shade) in enumerate(entries if top else entries[::-1]):
        height = 11 * k if top or not k else 11 * (1 + entries[1][0].count("\n"))
        ax.annotate(
            text,
            (1.0, 1.0 if top else 0.0),
            xycoords="axes fraction",
            xytext=(-1, -2 - height if top else 3 + height),
            textcoords="offset points",
            ha="right",
            va="top" if top else "bottom",
            fontsize=SMALL,
            color=shade,
            bbox={"facecolor": "white", "alpha": 0.75, "pad": 0.5, "linewidth": 0},
            zorder=4,
        )
