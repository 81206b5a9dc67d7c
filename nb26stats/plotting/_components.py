"""Loadings of principal components on units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_prob

from ._axes import PALE, SMALL, dress, few_ticks, many_axes, need, plain
from ._colors import OKABE_ITO, colors_in_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MAX_NAMED = 40


def plot_components(
    result: Any,
    ax: Axes | Sequence[Axes] | None = None,
    *,
    names: Sequence[Any] | None = None,
    groups: Sequence[str] | None = None,
    file_areas: Sequence[str] = (),
    level: float = 0.95,
    **style: Any,
) -> Axes | NDArray[np.object_]:
    """Draw the loadings of fitted components with bootstrap intervals, a panel per component.

    Parameters
    ----------
    result : OjaPCA
        A fitted estimator. With ``n_bootstrap=0`` there are no intervals, and the title says so.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw, one axes per component. A new figure by default.
    names : sequence, optional
        Names of the features (unit ids); shown up to 40 features.
    groups : sequence of str, optional
        Group of each feature (brain area): sets colour and order.
    file_areas : sequence of str, optional
        All areas of the file (``counts.info["file_areas"]``), so that an area keeps the colour it
        has in other figures of the file.
    level : float
        Level of the intervals.
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
        If ``names`` or ``groups`` has the wrong length, or ``level`` is not between 0 and 1.

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
    need(result, "result", "a fitted OjaPCA", "components_", "explained_variance_ratio_")
    loadings = np.asarray(result.components_, dtype=np.float64)
    k, d = loadings.shape
    labels = [str(j) for j in range(d)] if names is None else [str(n) for n in names]
    areas = [""] * d if groups is None else [str(g) for g in groups]
    for what, given in (("names", labels), ("groups", areas)):
        if len(given) != d:
            raise ValueError(f"{what} has {len(given)} entries but there are {d} features")
    colors = colors_in_file(areas, file_areas) if groups is not None else {"": OKABE_ITO["blue"]}
    order = sorted(range(d), key=lambda j: areas.index(areas[j]))
    lower = upper = None
    if result.n_bootstrap:
        lower, upper = (np.asarray(b) for b in result.component_intervals(level=level))
    panels = many_axes(ax, k, columns=1, height=1.35)
    named = d <= MAX_NAMED
    reach = float(max(np.abs(b).max() for b in (loadings, lower, upper) if b is not None))
    share = np.asarray(result.explained_variance_ratio_, dtype=np.float64)
    what = f"{100 * level:g} % intervals" if lower is not None else "no intervals (n_bootstrap=0)"
    for c, panel in enumerate(panels):
        panel.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
        for area in dict.fromkeys(areas):
            at = np.array([p for p, j in enumerate(order) if areas[j] == area])
            unit = np.array([order[p] for p in at])
            y = loadings[c, unit]
            line = {
                "color": colors[area],
                "marker": "o",
                "markersize": 4 if named else 2,
                "linestyle": "none",
                "elinewidth": 1.4 if named else 0.6,
                **style,
            }
            bars = None
            if lower is not None and upper is not None:
                bars = np.vstack(
                    [np.maximum(y - lower[c, unit], 0), np.maximum(upper[c, unit] - y, 0)]
                )
            panel.errorbar(at, y, yerr=bars, **line)
        dress(panel, y="loading", x="unit" if c == k - 1 else "")
        panel.set_title(
            f"Component {c + 1}: {100 * share[c]:.2g} % of the variance, {what}",
            loc="left",
            fontsize=SMALL + 1,
        )
        # room above the bars for the names of the groups
        top = (1.25 if groups is not None else 1.08) * reach
        panel.set_ylim(-top, top)
        panel.set_xlim(-0.6, d - 0.4)
        few_ticks(panel, x=None, y=4)
        if named:
            shown = [plain(labels[j], 10) for j in order]
            panel.set_xticks(range(d), shown, rotation=90 if max(map(len, shown)) > 3 else 0)
        else:
            panel.set_xticks([])
    if groups is not None:
        _group_marks(panels[0], [areas[j] for j in order], colors)
    return panels if k > 1 else panels[0]


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
