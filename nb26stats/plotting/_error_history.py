"""Error of a subspace against the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_prob

from ._axes import GREY, PALE, SMALL, dress, line_style, log_ticks, need, one_axes
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def plot_error_history(
    result: Any, ax: Axes | None = None, *, level: float = 0.95, **style: Any
) -> Axes:
    """Draw how the error of the components' subspace shrank as rows came in.

    Points are quantiles, over the replicates, of the sum of squared sines between their subspace
    and the estimate's, at every doubling of the rows and now. The grey guide falls as one over the
    number of rows, the rate for rows of one distribution; a slower fall speaks of drift.

    Parameters
    ----------
    result : OjaPCA
        A fitted estimator with replicates.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    level : float, default=0.95
        Level of the quantile.
    **style
        Properties of the line and its points (``color``, ``marker``, ...).

    Returns
    -------
    Axes
        The axes drawn on; both are logarithmic.

    Raises
    ------
    ValueError
        Without replicates, or if every error is 0, as with as many components as features.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import OjaPCA, plotting
    >>> rows = np.random.default_rng(0).normal(size=(800, 5)) * [3, 1, 1, 1, 1]
    >>> pca = OjaPCA(n_components=1, n_bootstrap=99, random_state=0).fit(rows)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_error_history(pca)
    >>> ax.get_xlabel()
    'rows used'
    """
    level = as_prob(level, "level")
    need(result, "result", "a fitted OjaPCA", "components_", "error_history", "n_bootstrap")
    if not result.n_bootstrap:
        raise ValueError("there are no errors to draw: set n_bootstrap (99 or more) and fit again")
    history = result.error_history(level)
    n = history["n_samples"].to_numpy(dtype=np.float64)
    error = history["error_quantile"].to_numpy(dtype=np.float64)
    shown = np.isfinite(error) & (error > 0)
    if not shown.any():
        raise ValueError("there is nothing to draw: the error of the subspace is 0")
    n, error = n[shown], error[shown]
    panel = one_axes(ax, (4.4, 3.0))
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(n[0] / 1.3, n[-1] * 1.3)
    _guide(panel, n, error)
    line = {
        "color": OKABE_ITO["blue"],
        "marker": "o",
        "markersize": 4,
        "linewidth": 1.4,
        **line_style(style),
    }
    panel.plot(n, error, **line)
    k = len(result.components_)
    first = "the first component" if k == 1 else f"the first {k} components"
    dress(
        panel,
        x="rows used",
        y=f"{100 * level:g} % quantile of the squared sine error",
        title=f"Error of {first}, {int(result.n_bootstrap)} replicates",
    )
    log_ticks(panel)
    return panel


def _guide(ax: Axes, n: NDArray[np.float64], error: NDArray[np.float64]) -> None:
    """Draw the line of slope -1 through the last point and name it right of the axes."""
    x = np.array(ax.get_xlim())
    y = error[-1] * n[-1] / x
    ax.plot(x, y, color=PALE, linewidth=0.8, zorder=0)
    low, high = min(error.min(), y.min()), max(error.max(), error[-1] * n[-1] / n[0])
    # an axis of less than a factor of 10 would exaggerate what it shows
    spare = max(1.3, np.sqrt(10.0 / (high / low)))
    ax.set_ylim(low / spare, high * spare)
    ax.annotate(
        "1/n",
        (x[1], y[1]),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SMALL,
        color=GREY,
        annotation_clip=False,
    )
