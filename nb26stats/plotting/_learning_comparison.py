"""Which network describes which animal best, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_choice

from ._axes import (
    GREY,
    PALE,
    SMALL,
    WIDE,
    dress,
    few_ticks,
    line_style,
    many_axes,
    need,
    new_figure,
    panel_grid,
    plain,
)
from ._colors import ARCHITECTURE_COLORS, OKABE_ITO

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

TIE = 4.0
"""Differences of AIC below this are ties."""
LINEAR = 10.0
"""Larger differences are drawn on a logarithmic scale."""


@dataclass(frozen=True)
class Criterion:
    """A column, its name, the sign that makes small values good, and its unit."""

    columns: tuple[str, ...]
    name: str
    sign: float
    unit: str


CRITERIA = {
    "aic": Criterion(("aic",), "AIC", 1.0, "AIC above the best"),
    "bic": Criterion(("bic",), "BIC", 1.0, "BIC above the best"),
    "heldout": Criterion(
        ("heldout", "held_out", "cv_mean", "heldout_mean"),
        "Held-out blocks",
        -1000.0,
        "nats lost per 1,000 trials",
    ),
}
MARKERS = {"1L": "s", "2L": "D", "2NL": "o"}
BOUND: dict[str, Any] = {
    **{"marker": "x", "color": "#1a1a1a", "markersize": 6.5, "markeredgewidth": 1.0},
    "zorder": 4,
}
"""A cross over fits with parameters on a bound."""


def plot_comparison(
    result: pd.DataFrame,
    ax: Axes | Sequence[Axes] | None = None,
    *,
    criterion: str | Sequence[str] | None = None,
    **style: Any,
) -> NDArray[np.object_]:
    """Draw how far each network is from the best of its animal.

    A row per animal, a point per network, at the difference from the best. The grey band holds ties
    (less than 4 AIC units). An open point is a fit that only one start reached, a crossed
    point has parameters on a bound: both may be better than they look. Held-out differences carry
    their standard error over blocks where the table has it (``dheldout_se``).

    Parameters
    ----------
    result : pandas.DataFrame
        What :func:`nb26stats.learning.compare_architectures` returns: animal and architecture in
        the index or in columns of these names, and ``aic``, ``bic`` or the held-out log-likelihood
        per trial (``heldout``); ``n_hit`` and ``at_bounds`` where there are any.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw, one axes per criterion. A new figure by default.
    criterion : str or sequence of str, optional
        Which of "aic", "bic" and "heldout" to draw; by default all that the table has.
    **style
        Properties of the points (``markersize``, ...).

    Returns
    -------
    ndarray of Axes
        One panel per criterion.

    Raises
    ------
    ValueError
        If the table has no row or lacks what the figure needs.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats import plotting
    >>> table = pd.DataFrame({"animal": ["m1", "m1"], "architecture": ["1L", "2NL"],
    ...     "aic": [120.0, 100.0], "bic": [130.0, 125.0]})
    >>> with plotting.style(offscreen=True):
    ...     panels = plotting.plot_comparison(table)
    >>> [panel.get_title(loc="left") for panel in panels]
    ['AIC', 'BIC']
    """
    need(result, "result", "a table from compare_architectures", "columns", "reset_index")
    table = _flat(result)
    chosen = _chosen(table, criterion)
    animals = list(dict.fromkeys(table["animal"].tolist()))
    networks = [n for n in ARCHITECTURE_COLORS if (table["architecture"] == n).any()]
    panels = _axes(ax, len(chosen), len(animals))
    for k, (panel, key) in enumerate(zip(panels, chosen, strict=True)):
        _draw(panel, table, key, animals, networks, style)
        _rows(panel, animals, names=k == 0)
    _key(panels[-1], networks, table, tie="aic" in chosen, unfair=_unfair(result))
    return panels


def _unfair(result: pd.DataFrame) -> bool:
    fair = result.attrs.get("fair")
    return fair is not None and not fair


def _flat(result: pd.DataFrame) -> pd.DataFrame:
    """Return the table with animal and architecture as columns."""
    held = [n for n in result.index.names if n is not None and n not in result.columns]
    table = result.reset_index(level=held) if held else result
    if "architecture" not in table.columns:
        raise ValueError("result lacks 'architecture'; give what compare_architectures returns")
    table = table.reset_index(drop=True)
    if "animal" not in table.columns:
        table = table.assign(animal="animal")
    if "rule" in table.columns and table["rule"].nunique() > 1:
        # networks of several rules are compared within an animal and a rule
        table = table.assign(animal=table["animal"].astype(str) + ", " + table["rule"].astype(str))
    table = table[table["architecture"].isin(list(ARCHITECTURE_COLORS))]
    if not len(table):
        raise ValueError("there is nothing to draw: the table holds no network")
    return table


def _column(table: pd.DataFrame, key: str) -> str:
    return next((c for c in CRITERIA[key].columns if c in table.columns), "")


def _chosen(table: pd.DataFrame, criterion: Any) -> list[str]:
    known = tuple(CRITERIA)
    if criterion is None:
        found = [k for k in known if _column(table, k) and table[_column(table, k)].notna().any()]
        if not found:
            raise ValueError("the table has none of aic, bic and heldout")
        return found
    given = [criterion] if isinstance(criterion, str) else list(criterion)
    chosen = [as_choice(key, "criterion", known) for key in given]
    missing = [key for key in chosen if not _column(table, key)]
    if missing or not chosen:
        raise ValueError(f"criterion: the table has no column {', '.join(missing) or 'at all'}")
    return chosen


def _axes(ax: Any, n: int, n_animals: int) -> NDArray[np.object_]:
    if ax is not None:
        return many_axes(ax, n, columns=n, height=1.0)
    height = 1.15 + max(0.45, 0.17 * n_animals)
    figure = new_figure((WIDE if n > 1 else 4.6, height))
    return panel_grid(figure, n, columns=n, sharex=False, sharey=True)


def _draw(
    ax: Axes,
    table: pd.DataFrame,
    key: str,
    animals: list[Any],
    networks: list[str],
    style: dict[str, Any],
) -> None:
    """Draw the points of one criterion."""
    what = CRITERIA[key]
    cost = what.sign * table[_column(table, key)].to_numpy(dtype=np.float64)
    owner = table["animal"].map({animal: row for row, animal in enumerate(animals)}).to_numpy()
    best = np.array([np.nanmin(cost[owner == row], initial=np.inf) for row in range(len(animals))])
    delta = cost - best[owner]
    error = np.zeros(len(table))
    if key == "heldout" and "dheldout_se" in table.columns:
        error = np.nan_to_num(abs(what.sign) * table["dheldout_se"].to_numpy(dtype=np.float64))
    lonely, bound = _once(table), _bounded(table)
    if key == "aic":
        ax.axvspan(0, TIE, color=GREY, alpha=0.15, linewidth=0, zorder=0)
    for row in range(len(animals)):
        ax.axhline(row, color="#eeeeee", linewidth=0.8, zorder=0)
    size = {"markersize": 5.5, "markeredgewidth": 1.2, "zorder": 3, **line_style(style)}
    # the points of one row part a little, so that ties can be seen
    lift = dict(zip(networks, np.linspace(-0.2, 0.2, len(networks)), strict=True))
    for name in networks:
        color = ARCHITECTURE_COLORS[name]
        mine = (table["architecture"] == name).to_numpy()
        y = owner + (lift[name] if len(networks) > 1 else 0.0)
        if error[mine].any():
            spans = np.vstack([delta - error, delta + error])
            ax.plot(spans[:, mine], np.vstack([y, y])[:, mine], color=color, linewidth=1.0)
        looks: list[tuple[NDArray[np.bool_], dict[str, Any]]] = [
            (mine & ~lonely, {"marker": MARKERS[name], "color": color, **size}),
            (
                mine & lonely,
                {"marker": MARKERS[name], "color": color, **size, "markerfacecolor": "white"},
            ),
            (mine & bound, BOUND),
        ]
        for part, look in looks:
            # an empty line that is not clipped would claim room at the corner of the figure
            if part.any():
                ax.plot(delta[part], y[part], linestyle="none", clip_on=False, **look)
    dress(ax, x=what.unit + (" (± SE)" if error.any() else ""), title=what.name)
    _scale(ax, delta + error, float(np.nanmin(delta - error, initial=0.0)), key)
    ax.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)
    ax.spines["left"].set_visible(False)


def _scale(ax: Axes, delta: NDArray[np.float64], low: float, key: str) -> None:
    """Differences from 0, or the end of an error bar below it; logarithmic where they are large."""
    finite = delta[np.isfinite(delta)]
    high = max(float(finite.max()) if finite.size else 0.0, 2 * TIE if key != "heldout" else 1.0)
    if high > 10 * LINEAR:
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        ax.set_xscale("symlog", linthresh=LINEAR, linscale=1.0)
        decades = [10.0**k for k in range(1, int(np.ceil(np.log10(1.6 * high))) + 1)]
        ax.xaxis.set_major_locator(FixedLocator([0.0, *(d for d in decades if d <= 1.6 * high)]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.set_xlim(-1.5, 1.6 * high)
        ax.set_xlabel(f"{ax.get_xlabel()}, log above {LINEAR:g}")
    else:
        ax.set_xlim(min(-0.05 * high, 1.08 * low), 1.08 * high)
        few_ticks(ax, x=5, y=None)


def _once(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether a fit was reached by one start only."""
    if "n_hit" not in table.columns:
        return np.zeros(len(table), dtype=bool)
    return np.asarray(table["n_hit"].to_numpy(dtype=np.float64) <= 1)


def _bounded(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether parameters ended on a bound; the column holds names, a count or yes and no."""
    if "at_bounds" not in table.columns:
        return np.zeros(len(table), dtype=bool)
    return np.array([_any(value) for value in table["at_bounds"]], dtype=bool)


def _any(value: Any) -> bool:
    if isinstance(value, float) and np.isnan(value):
        return False
    return bool(len(value)) if hasattr(value, "__len__") else bool(value)


def _rows(ax: Axes, animals: list[Any], *, names: bool) -> None:
    ax.set_ylim(len(animals) - 0.4, -0.6)
    ax.set_yticks(range(len(animals)), [plain(a, 22) for a in animals])
    size = SMALL if len(animals) <= 30 else 7.0
    ax.tick_params(axis="y", length=0, labelleft=names, labelsize=size)


def _key(ax: Axes, networks: list[str], table: pd.DataFrame, *, tie: bool, unfair: bool) -> None:
    """Name the symbols to the right of the last panel."""
    from matplotlib.lines import Line2D

    def symbol(label: str, **look: Any) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **{"markersize": 5.5, **look})

    entries = [
        symbol(n, marker=MARKERS[n], color=ARCHITECTURE_COLORS[n], markeredgewidth=1.2)
        for n in networks
    ]
    if _once(table).any():
        entries.append(
            symbol("one start only", marker="o", markerfacecolor="white", markeredgecolor=GREY)
        )
    if _bounded(table).any():
        entries.append(symbol("on a bound", **BOUND))
    if tie:
        entries.append(
            symbol(f"tie (< {TIE:g})", marker="s", color=GREY, alpha=0.2, markersize=9.0)
        )
    title = "not a fair comparison" if unfair else None
    legend = ax.legend(
        handles=entries,
        title=title,
        frameon=False,
        fontsize=SMALL,
        title_fontsize=SMALL,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        handletextpad=0.4,
    )
    legend.get_title().set_color(OKABE_ITO["vermillion"])
