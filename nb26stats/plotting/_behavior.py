"""What the animal did: choices by contrast, accuracy along the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_float

from ._axes import GREY, PALE, SMALL, WIDE, dress, few_ticks, need, one_axes
from ._blocks import accuracy_blocks, fitted_points, psychometric_points
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot_psychometric(result: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the share of choices to the right against signed contrast, with Wilson intervals.

    Parameters
    ----------
    result : pandas.DataFrame or PsychometricResult
        What :func:`psychometric_points` returns, or a behaviour table (then with 95 % intervals),
        or what :func:`nb26stats.learning.fit_psychometric` returns (then with the fitted curve).
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    **style
        Properties of the points and bars (``color``, ``marker``, ...).

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If there is no trial with a choice and a contrast.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats import plotting
    >>> trials = pd.DataFrame({"signed_contrast": [-1, -1, 1, 1], "choice": ["left", "left",
    ...     "left", "right"], "include": True, "photostim": False})
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_psychometric(trials)
    >>> ax.get_ylabel()
    'share of choices to the right'
    """
    fitted = hasattr(result, "levels") and callable(getattr(result, "p_right", None))
    if fitted:
        points = fitted_points(result)
    else:
        kind = "a behaviour table, psychometric_points of one, or a fitted psychometric curve"
        need(result, "result", kind, "columns", "iloc")
        points = result if "p_right" in result.columns else psychometric_points(result)
    if not len(points):
        raise ValueError("there is nothing to draw: no trial has a choice and a contrast")
    panel = one_axes(ax, (4.4, 3.0))
    x = 100 * points.index.to_numpy(dtype=np.float64)
    panel.axhline(0.5, color=PALE, linewidth=0.8, zorder=0)
    panel.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
    if fitted:
        curve = np.linspace(points.index[0], points.index[-1], 201)
        panel.plot(100 * curve, result.p_right(curve), color=OKABE_ITO["blue"], linewidth=1.4)
        style = {"linestyle": "none", **style}
    _points(panel, x, points, "p_right", style)
    dress(
        panel,
        x="contrast, right minus left (%)",
        y="share of choices to the right",
        title=f"Choices by contrast, {int(points['n_trials'].sum())} trials",
    )
    panel.set_ylim(-0.02, 1.02)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    few_ticks(panel, x=6, y=None)
    return panel


def plot_accuracy(
    result: pd.DataFrame, ax: Axes | None = None, *, chance: float | None = None, **style: Any
) -> Axes:
    """Draw the share of correct trials along the session, in blocks with Wilson intervals.

    Parameters
    ----------
    result : pandas.DataFrame
        What :func:`accuracy_blocks` returns, or a behaviour table (then with its defaults).
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    chance : float, optional
        Level to mark as chance, such as 0.5.
    **style
        Properties of the points and bars (``color``, ``marker``, ...).

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If there is no trial with an outcome.

    Examples
    --------
    >>> from nb26stats import datasets, nwb, plotting
    >>> table = nwb.behavior(datasets.path(datasets.list_nwb()[3]))
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_accuracy(table, chance=0.5)
    >>> ax.get_xlabel()
    'trial (row of the table, from 0)'
    """
    need(result, "result", "a behaviour table or accuracy_blocks of one", "columns", "iloc")
    blocks = result if "accuracy" in result.columns else accuracy_blocks(result)
    if not len(blocks):
        raise ValueError("there is nothing to draw: no trial has an outcome")
    if chance is not None:
        chance = as_float(chance, "chance", minimum=0.0, maximum=1.0)
    panel = one_axes(ax, (WIDE, 2.6))
    x = (blocks["first_trial"].to_numpy() + blocks["last_trial"].to_numpy()) / 2
    if chance is not None:
        panel.axhline(chance, color=PALE, linewidth=0.8, zorder=0)
        panel.annotate(
            "chance",
            (1.0, chance),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=GREY,
            annotation_clip=False,
        )
    _points(panel, x, blocks, "accuracy", style)
    outcome = str(blocks.attrs.get("outcome", "correct"))
    word = "rewarded" if outcome == "reward" else "correct"
    dress(
        panel,
        x="trial (row of the table, from 0)",
        y=f"share of {word} trials",
        title=f"Share of {word} trials along the session, {int(blocks['n_trials'].sum())} trials",
    )
    panel.set_ylim(0, 1.02)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1])
    few_ticks(panel, x=8, y=None)
    return panel


def _points(ax: Axes, x: Any, table: pd.DataFrame, column: str, style: dict[str, Any]) -> None:
    y = table[column].to_numpy(dtype=np.float64)
    low = table["lower"].to_numpy(dtype=np.float64)
    high = table["upper"].to_numpy(dtype=np.float64)
    line = {
        "color": OKABE_ITO["blue"],
        "marker": "o",
        "markersize": 4,
        "linewidth": 1.0,
        "elinewidth": 1.2,
        **style,
    }
    ax.errorbar(x, y, yerr=np.vstack([np.maximum(y - low, 0), np.maximum(high - y, 0)]), **line)
