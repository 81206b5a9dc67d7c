"""Mean rate of each area over one long window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import need
from ._colors import colors_in_file
from ._traces import Trace, draw

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def mean_rates(counts: Any) -> pd.DataFrame:
    """Mean firing rate of each area in every bin of one long window.

    Parameters
    ----------
    counts : SpikeCounts
        Counts of one window: ``spike_counts(path, align_to=[start], window=(0, length),
        bin_size=...)``.

    Returns
    -------
    pandas.DataFrame
        Index ``time``, middle of the bin on the session clock in seconds; columns (area,
        ``"rate"``) and (area, ``"sem"``) in spikes/s: mean over the units of the area and its
        standard error (NaN with one unit).

    Raises
    ------
    ValueError
        If the counts hold more than one window.

    Examples
    --------
    >>> from nb26stats import datasets, nwb, plotting
    >>> path = datasets.path("A8604-211122_phy.nwb")
    >>> counts = nwb.spike_counts(path, align_to=[10.0], window=(0.0, 60.0), bin_size=1.0)
    >>> plotting.mean_rates(counts).shape
    (60, 2)
    """
    import pandas as pd

    need(counts, "counts", "what spike_counts returns", "counts", "areas", "event_times")
    if len(counts.event_times) != 1:
        raise ValueError(
            f"the counts hold {len(counts.event_times)} windows; rates over a session need one"
        )
    columns = {}
    for area in counts.areas:
        rate = np.asarray(counts.counts[area][0], dtype=np.float64) / float(counts.bin_size)
        n = rate.shape[1]
        columns[area, "rate"] = rate.mean(axis=1) if n else np.full(rate.shape[0], np.nan)
        columns[area, "sem"] = (
            rate.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(rate.shape[0], np.nan)
        )
    index = pd.Index(np.asarray(counts.event_times)[0] + counts.bin_centers, name="time")
    return pd.DataFrame(columns, index=index)


def plot_rates(
    counts: Any, ax: Axes | Sequence[Axes] | None = None, **style: Any
) -> Axes | NDArray[np.object_]:
    """Draw the mean firing rate of each area over a session, with its SEM over units.

    Parameters
    ----------
    counts : SpikeCounts
        Counts of one long window: ``spike_counts(path, align_to=[start], window=(0, length),
        bin_size=...)``.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw; one axes for up to four areas, or one per area. A new figure by default.
    **style
        Line properties of matplotlib, used for every line.

    Returns
    -------
    Axes or ndarray of Axes
        One axes for up to four areas, else one panel per area with shared axes. Time is session
        time in seconds, or in minutes when the window is longer than 20 minutes; times too large
        to read (a Unix clock) count from the start of the window.

    Raises
    ------
    ValueError
        If the counts hold more than one window, or no area.

    Examples
    --------
    >>> from nb26stats import datasets, nwb, plotting
    >>> path = datasets.path("A8604-211122_phy.nwb")
    >>> counts = nwb.spike_counts(path, align_to=[10.0], window=(0.0, 60.0), bin_size=1.0)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_rates(counts)
    >>> ax.get_xlabel()
    'session time (s)'
    """
    frame = mean_rates(counts)
    time = frame.index.to_numpy(dtype=np.float64)
    unit, scale = ("min", 60.0) if np.ptp(time) > 1200 else ("s", 1.0)
    origin = float(np.asarray(counts.event_times)[0]) if np.abs(time).max() > 1e6 else 0.0
    colors = colors_in_file(counts.areas, counts.info.get("file_areas", ()))
    traces = [
        Trace(
            area,
            _units(counts.counts[area].shape[2]),
            (time - origin) / scale,
            frame[area, "rate"].to_numpy(),
            frame[area, "sem"].to_numpy(),
            colors[area],
        )
        for area in counts.areas
    ]
    label = f"time from the first bin ({unit})" if origin else f"session time ({unit})"
    return draw(
        traces,
        ax,
        x=label,
        y="firing rate (spikes/s)",
        title="Firing over the session",
        **style,
    )


def _units(n: int) -> str:
    return f"{n} unit" if n == 1 else f"{n} units"
