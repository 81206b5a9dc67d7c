"""Loadings of principal components on features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_choice, as_int, as_list, as_prob

from ._axes import PALE, SMALL, dress, few_ticks, line_style, many_axes, need, number, plain
from ._colors import OKABE_ITO, colors_in_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_NAMED = 40
"""Up to so many features each has its name on the axis."""
MAX_BARS = 400
"""Beyond so many features the bars would run together; a line and a band take their place."""
N_LARGEST = 5


def plot_components(
    result: Any,
    ax: Axes | Sequence[Axes] | None = None,
    *,
    level: float = 0.95,
    align: str = "sign",
    method: str = "normal",
    components: Sequence[int] | int | None = None,
    names: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    file_areas: Sequence[str] = (),
    feature: str = "feature",
    **style: Any,
) -> Axes | NDArray[np.object_]:
    """Draw the loadings of fitted components with bootstrap intervals, a panel per component.

    Up to 40 features are named on the axis. Of more, loadings whose interval holds 0 are pale and
    the largest five are named beside their points; more than 400 become a line with a band.

    Parameters
    ----------
    result : OjaPCA
        A fitted estimator. With ``n_bootstrap=0`` there are no intervals, and the title says so.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw, one axes per component. A new figure by default.
    level : float, default=0.95
        Level of the intervals.
    align : str, default="sign"
        How replicates are aligned, as in :meth:`nb26stats.OjaPCA.component_intervals`.
    method : str, default="normal"
        How the intervals are computed, as in :meth:`nb26stats.OjaPCA.component_intervals`.
    components : int or sequence of int, optional
        Which components, counted from 0; all by default. The panel of component 0 is titled
        "Component 1".
    names : sequence, optional
        Names of the features (unit ids). By default those that the rows had, else numbers from 0.
    groups : sequence of str, optional
        Group of each feature (brain area): sets colour and order.
    file_areas : sequence of str, default=()
        All areas of the file (``counts.info["file_areas"]``), so that an area keeps the colour it
        has in other figures of the file.
    feature : str, default="feature"
        What a feature is, for the label of the axis: ``"unit"``, ``"channel"``, ``"pixel"``.
    **style
        Properties of the points and bars (``marker``, ``markersize``, ...).

    Returns
    -------
    Axes or ndarray of Axes
        One axes for one component, else one per component. The loadings share an axis that is
        symmetric around 0.

    Raises
    ------
    ValueError
        If ``names`` or ``groups`` has the wrong length, a component does not exist, or ``level``
        is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import OjaPCA, plotting
    >>> rows = np.random.default_rng(0).normal(size=(400, 5)) * [3, 1, 1, 1, 1]
    >>> pca = OjaPCA(n_components=1, n_bootstrap=99, random_state=0).fit(rows)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_components(pca)
    >>> low, high = ax.get_ylim()
    >>> bool(low == -high)
    True
    """
    level = as_prob(level, "level")
    align = as_choice(align, "align", ("sign", "procrustes"))
    method = as_choice(method, "method", ("normal", "percentile"))
    need(result, "result", "a fitted OjaPCA", "components_", "explained_variance_ratio_")
    loadings = np.asarray(result.components_, dtype=np.float64)
    chosen = _chosen(components, len(loadings))
    table = _features(result, loadings.shape[1], names, groups, file_areas)
    style = line_style(style)
    lower = upper = None
    if result.n_bootstrap:
        bounds = result.component_intervals(level=level, align=align, method=method)
        lower, upper = (np.asarray(b, dtype=np.float64)[chosen] for b in bounds)
    loadings = loadings[chosen]
    panels = many_axes(ax, len(chosen), columns=1, height=_height(len(chosen), table))
    share = np.asarray(result.explained_variance_ratio_, dtype=np.float64)
    what = "no intervals (n_bootstrap=0)"
    if lower is not None:
        kind = "pointwise band" if table.size > MAX_BARS else "intervals"
        what = f"{100 * level:g} % {kind}"
        if MAX_NAMED < table.size <= MAX_BARS:
            what += " (pale where they hold 0)"
    reach = max(float(np.abs(b).max()) for b in (loadings, lower, upper) if b is not None)
    # room above the bars for the names of the groups
    top = (1.25 if groups is not None else 1.08) * (reach or 1.0)
    for row, (c, panel) in enumerate(zip(chosen, panels, strict=True)):
        panel.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
        bars = None
        if lower is not None and upper is not None:
            bars = np.vstack([lower[row], upper[row]])
        _draw(panel, loadings[row], bars, table, style)
        dress(panel, y="loading", x=plain(feature) if row == len(chosen) - 1 else "")
        panel.set_title(
            f"Component {c + 1}: {number(100 * share[c], 2)} % of the variance, {what}",
            loc="left",
            fontsize=SMALL + 1,
        )
        panel.set_ylim(-top, top)
        panel.set_xlim(-0.6, table.size - 0.4)
        few_ticks(panel, x=None, y=4)
        _ticks(panel, table)
    if groups is not None:
        _group_marks(panels[0], [table.areas[j] for j in table.order], table.colors)
    return panels if len(chosen) > 1 else panels[0]


@dataclass(frozen=True)
class Features:
    """What is known of the columns, and the order in which they are drawn."""

    names: list[str]
    named: bool
    areas: list[str]
    grouped: bool
    colors: dict[str, str]
    order: list[int]

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def ticks(self) -> list[str]:
        """Names below the axis, in the order drawn; none for many features."""
        if self.size > MAX_NAMED:
            return []
        return [plain(self.names[j], 12) for j in self.order]

    @property
    def upright(self) -> bool:
        """Whether the names must stand upright: the axis has room for about 70 letters."""
        longest = max(map(len, self.ticks), default=0)
        return longest > 2 and longest * self.size > 70


def _height(n: int, table: Features) -> float:
    """Return inches per panel; upright names take theirs from the figure, not the panels."""
    panel = 1.8 if n == 1 else 1.35 if n <= 3 else 1.15
    names = 0.08 * max(map(len, table.ticks)) if table.upright else 0.0
    return panel + names / n


def _chosen(components: Sequence[int] | int | None, k: int) -> list[int]:
    if components is None:
        return list(range(k))
    # a scalar is a sequence of one, as R sends it
    given = [components] if np.ndim(components) == 0 else list(as_list(components, "components"))
    chosen = [as_int(c, "components") for c in given]
    if not chosen:
        raise ValueError("components must name at least one component")
    for c in chosen:
        if not 0 <= c < k:
            raise ValueError(f"components={c} must lie in [0, {k - 1}]")
    return chosen


def _features(
    result: Any,
    d: int,
    names: Sequence[Any] | None,
    groups: Sequence[str] | None,
    file_areas: Sequence[str],
) -> Features:
    if names is None:
        names = getattr(result, "feature_names_in_", None)
    labels = [str(n) for n in (range(d) if names is None else as_list(names, "names"))]
    areas = [""] * d if groups is None else [str(g) for g in as_list(groups, "groups")]
    for what, given in (("names", labels), ("groups", areas)):
        if len(given) != d:
            raise ValueError(f"{what} has {len(given)} entries but there are {d} features")
    colors = {"": OKABE_ITO["blue"]} if groups is None else colors_in_file(areas, file_areas)
    place = {area: k for k, area in enumerate(dict.fromkeys(areas))}
    order = sorted(range(d), key=lambda j: place[areas[j]])
    return Features(labels, names is not None, areas, groups is not None, colors, order)


def _draw(
    ax: Axes,
    loadings: NDArray[np.float64],
    bars: NDArray[np.float64] | None,
    table: Features,
    style: dict[str, Any],
) -> None:
    """Draw one component, group by group."""
    few = table.size <= MAX_NAMED
    for area in dict.fromkeys(table.areas):
        at = np.array([p for p, j in enumerate(table.order) if table.areas[j] == area])
        unit = np.array([table.order[p] for p in at])
        y = loadings[unit]
        ends = None if bars is None else bars[:, unit]
        if table.size > MAX_BARS:
            line = {"color": table.colors[area], "linewidth": 0.8, **style}
            ax.plot(at, y, **line)
            if ends is not None:
                ax.fill_between(at, *ends, color=line["color"], alpha=0.25, linewidth=0)
            continue
        look = {
            "color": table.colors[area],
            "marker": "o",
            "markersize": 3.5 if few else 2,
            "linestyle": "none",
            "elinewidth": 1.4 if few else 0.8,
            **style,
        }
        if ends is None:
            ax.errorbar(at, y, **look)
            continue
        half = np.vstack([np.maximum(y - ends[0], 0), np.maximum(ends[1] - y, 0)])
        clear = np.ones(len(at), bool) if few else (ends[0] > 0) | (ends[1] < 0)
        for part, alpha in ((~clear, 0.3), (clear, 1.0)):
            if part.any():
                ax.errorbar(at[part], y[part], yerr=half[:, part], **{"alpha": alpha, **look})
    if table.named and not few:
        _name_largest(ax, loadings, table)


def _name_largest(ax: Axes, loadings: NDArray[np.float64], table: Features) -> None:
    """Name the features of largest loading, unless a name would cover another."""
    place = np.empty(table.size)
    place[table.order] = np.arange(table.size)
    # a name in shares of the axes: 0.011 of the width per letter, 0.13 of the height
    reach = float(np.abs(loadings).max()) or 1.0
    taken: list[tuple[float, float, float]] = []
    for j in np.argsort(-np.abs(loadings), kind="stable")[:N_LARGEST]:
        name = plain(table.names[j], 12)
        width = 0.012 * len(name) + 0.01
        left, height = place[j] / table.size, float(loadings[j]) / (2 * reach)
        before = left + width > 1.0
        if before:
            left -= width
        if any(left < b and a < left + width and abs(height - h) < 0.13 for a, b, h in taken):
            continue
        taken.append((left, left + width, height))
        ax.annotate(
            name,
            (place[j], loadings[j]),
            xytext=(-3 if before else 3, 0),
            textcoords="offset points",
            va="center",
            ha="right" if before else "left",
            fontsize=SMALL - 0.5,
            color=table.colors[table.areas[j]],
        )


def _ticks(ax: Axes, table: Features) -> None:
    """Name few features; number many of them where they stand in their own order."""
    if table.size <= MAX_NAMED:
        ax.set_xticks(range(table.size), table.ticks, rotation=90 if table.upright else 0)
    elif table.grouped:
        ax.set_xticks([])
    else:
        few_ticks(ax, x=8, y=None)


def _group_marks(ax: Axes, areas: list[str], colors: dict[str, str]) -> None:
    """Name the areas once, inside the first panel above their units, where there is room."""
    starts = [k for k in range(len(areas)) if k == 0 or areas[k] != areas[k - 1]]
    ends = [*starts[1:], len(areas)]
    free = 0.0
    for a, _b in zip(starts, ends, strict=True):
        name = plain(areas[a], 16)
        # about 0.011 of the width of a wide figure per character
        left, width = a / len(areas), 0.011 * len(name)
        if left < free or left + width > 1.02:
            continue
        free = left + width + 0.01
        ax.annotate(
            name,
            (a - 0.4, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -1),
            textcoords="offset points",
            va="top",
            ha="left",
            fontsize=SMALL,
            color=colors[areas[a]],
        )
