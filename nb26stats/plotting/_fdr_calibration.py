"""Are promised error rates kept? Realised false discoveries over the rates that were promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_float

from ._axes import PALE, SMALL, dress, few_ticks, line_style, one_axes, plain
from ._colors import OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    F64 = NDArray[np.float64]

COLORS = tuple(
    OKABE_ITO[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky")
)
MARKERS = ("o", "s", "^", "D", "v", "P")


def plot_fdr_calibration(
    q: Any, fdp: Any, ax: Axes | None = None, *, n_se: float = 2.0, **style: Any
) -> Axes:
    """Draw realised over promised false discovery rates, of runs in which the truth is known.

    Parameters
    ----------
    q : array-like of shape (Q,) or (R, Q), or dict of such
        Promised rates: targets, equal in all runs, or rates that each run estimated of its own
        selections (``estimated_fdr_``), of which the mean is drawn. With a dict in ``fdp`` either
        one array for all or a dict with the same keys.
    fdp : array-like of shape (R, Q), or dict of such
        Share of false discoveries among the selected rows of each of R runs at each rate, 0 where
        nothing is selected; a dict draws a line per label. Runs with NaN do not count.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    n_se : float, default=2
        Half-length of the error bars in standard errors of the mean over runs.
    **style
        Properties of the lines and their error bars.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If shapes do not match, a value is outside [0, 1], or there are more than six lines.

    Notes
    -----
    A point above the diagonal by more than its bar is a promise broken on that design. The rate is
    one of means over runs; single runs scatter about it more widely than the bars tell.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import NonparametricC2G, datasets, plotting
    >>> q, fdp = [0.1, 0.2], []
    >>> for seed in range(3):
    ...     data = datasets.simulate_additive(300, tau=5, random_state=seed)
    ...     model = NonparametricC2G(n_bootstrap=20, device="cpu", random_state=0)
    ...     model = model.fit(data.X, data.y, treatment=data.treatment)
    ...     fdp.append([data.false_discovery_proportion(model.select(level)) for level in q])
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_fdr_calibration(q, fdp)
    >>> ax.get_xlabel()
    'promised false discovery rate'
    """
    half = as_float(n_se, "n_se", minimum=0.0)
    lines = _lines(q, fdp)
    panel = one_axes(ax, (5.6, 3.4))
    look = {"markersize": 4, "linewidth": 1.3, "elinewidth": 1.0, "capsize": 2}
    top = 0.0
    for k, (label, (promised, values)) in enumerate(lines.items()):
        n = np.isfinite(values).sum(axis=0)
        mean = np.nanmean(values, axis=0)
        spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / np.maximum(n - 1, 1) / n)
        # one run tells no error
        bar = np.where(n > 1, half * spread, 0.0)
        panel.errorbar(
            promised,
            mean,
            # a rate is not below 0
            np.stack([np.minimum(bar, mean), np.minimum(bar, 1.0 - mean)]),
            **{**look, "color": COLORS[k], "marker": MARKERS[k], **line_style(style)},
            label=plain(label) if label else "realised",
        )
        top = max(top, float(promised.max()), float((mean + bar).max()))
    top = min(1.05 * top, 1.0) if top else 1.0
    panel.plot(
        [0, top], [0, top], color=PALE, linewidth=1.0, zorder=0, label="promise kept exactly"
    )
    panel.set_xlim(0, top)
    panel.set_ylim(0, top)
    panel.set_aspect("equal")
    runs = sorted({len(values) for _, values in lines.values()})
    dress(
        panel,
        x="promised false discovery rate",
        y="realised false discovery rate",
        title="Are promised error rates kept?",
    )
    few_ticks(panel, x=5, y=5)
    many = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    bars = f"mean of {many} runs" if runs[-1] > 1 else "one run"
    if half and runs[-1] > 1:
        bars += f" ± {half:g} s.e."
    # beside the axes: points may lie anywhere in them
    panel.legend(
        frameon=False,
        fontsize=SMALL,
        title=bars,
        title_fontsize=SMALL,
        alignment="left",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )
    return panel


def _lines(q: Any, fdp: Any) -> dict[str, tuple[F64, F64]]:
    """Return per label the promised rates (Q,), in order, and realised shares (R, Q)."""
    several = fdp if isinstance(fdp, Mapping) else {"": fdp}
    if not several:
        raise ValueError("fdp is an empty dict; give at least one array of shape (runs, rates)")
    if len(several) > len(COLORS):
        raise ValueError(f"fdp has {len(several)} lines; a figure tells {len(COLORS)} apart")
    if isinstance(q, Mapping) and set(q) != set(several):
        raise ValueError(
            f"q and fdp must have the same labels, got {sorted(map(str, q))} and "
            f"{sorted(map(str, several))}"
        )
    out = {}
    for label, given in several.items():
        named = f"fdp[{label!r}]" if label else "fdp"
        values = _shares(given, named)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"{named} must have the shape (runs, rates), got {values.shape}")
        promised = _shares(q[label] if isinstance(q, Mapping) else q, "q")
        if promised.shape not in (values.shape[1:], values.shape):
            raise ValueError(
                f"q has shape {promised.shape} and {named} has {values.shape}: q must hold a rate "
                "per column, or one per run and column"
            )
        used = np.isfinite(values).any(axis=0)
        if not used.any():
            raise ValueError(f"{named} holds NaN alone")
        at = promised if promised.ndim == 1 else promised.mean(axis=0)
        if not np.isfinite(at).all():
            raise ValueError("q holds NaN; give a promised rate for every column")
        order = np.argsort(at[used], kind="stable")
        out[str(label)] = (at[used][order], values[:, used][:, order])
    return out


def _shares(values: Any, name: str) -> F64:
    array = np.asarray(values, dtype=float)
    bad = ~np.isnan(array) & ~((array >= 0) & (array <= 1))
    if bad.any():
        raise ValueError(f"{name} has {array[bad].ravel()[0]:g}; rates lie between 0 and 1")
    return array
