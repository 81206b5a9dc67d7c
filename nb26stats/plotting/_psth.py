"""Firing rate around an event."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import need, plain
from ._colors import OKABE_ITO, colors_in_file
from ._traces import Trace, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_FIELDS = ("area", "mean", "sem", "bin_centers", "n_units", "align_to")


def plot_psth(
    result: Any, ax: Axes | Sequence[Axes] | None = None, *, event: str = "", **style: Any
) -> Axes | NDArray[np.object_]:
    """Draw the mean firing rate of one or more areas around an event, with its SEM.

    Parameters
    ----------
    result : PSTH, PSTHGroups, mapping or sequence of PSTH
        What :meth:`nb26stats.nwb.SpikeCounts.psth` returns, for one area or several. Groups of
        trials of one area become a line each, named by their label.
    ax : matplotlib axes or sequence of axes, optional
        Where to draw; one axes for up to four areas, or one per area. A new figure by default.
    event : str, default=""
        Name of time zero; by default the column that the windows were aligned to.
    **style
        Line properties of matplotlib (``color``, ``linewidth``, ...), used for every line.

    Returns
    -------
    Axes or ndarray of Axes
        One axes for up to four areas, else one panel per area with shared axes.

    Raises
    ------
    ValueError
        If there is no area, or ``ax`` holds the wrong number of axes.
    TypeError
        If ``result`` or ``ax`` is of the wrong kind.

    Examples
    --------
    >>> from nb26stats import datasets, nwb, plotting
    >>> path = datasets.path("A2929-200711_neurosuite.nwb")
    >>> counts = nwb.spike_counts(path, align_to="start_time", table="sleep_ripples",
    ...                           window=(-0.1, 0.2), bin_size=0.01)
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_psth([counts.psth(area) for area in counts.areas])
    >>> ax.get_ylabel()
    'firing rate (spikes/s)'
    """
    grouped = hasattr(result, "by")
    if isinstance(result, Mapping):
        parts = list(result.values())
    elif isinstance(result, Sequence) and not isinstance(result, str):
        parts = list(result)
    else:
        parts = [result]
    for part in parts:
        need(part, "result", "what SpikeCounts.psth returns, or several of these", *_FIELDS)
    if not parts:
        raise ValueError("there is nothing to draw: the result holds no area")
    name = event or event_name(parts[0])
    if grouped:
        names = [str(label) for label in result]
        colors = dict(zip(names, itertools.cycle(OKABE_ITO.values()), strict=False))
        notes = [f"{part.n_trials} trials" for part in parts]
    else:
        names = [part.area for part in parts]
        colors = colors_in_file(names, [a for p in parts for a in getattr(p, "file_areas", ())])
        notes = [_units(part.n_units) for part in parts]
    traces = [
        Trace(
            label,
            note,
            np.asarray(part.bin_centers, dtype=np.float64),
            np.asarray(part.mean, dtype=np.float64),
            np.asarray(part.sem, dtype=np.float64),
            colors[label],
        )
        for label, note, part in zip(names, notes, parts, strict=True)
    ]
    if grouped or len(parts) == 1:
        title = f"{plain(parts[0].area)} ({_units(parts[0].n_units)}) around {plain(name)}"
        if grouped:
            title += f", by {plain(spell(result.by))}"
    else:
        title = f"Firing around {plain(name)}"
    return draw(
        traces,
        ax,
        x=f"time from {plain(name)} (s)",
        y="firing rate (spikes/s)",
        title=title,
        zero=name,
        **style,
    )


def event_name(result: Any) -> str:
    """Return what the windows were aligned to, in words: ``cue_start_time`` is "cue start"."""
    column = getattr(result, "align_to", None) or result.info.get("align_to", "event")
    return spell(str(column))


def spell(column: str) -> str:
    """Turn a column name into words."""
    words = column.replace("_", " ").strip()
    for ending in (" time", " times"):
        words = words.removesuffix(ending)
    return words or column


def _units(n: int) -> str:
    return f"{n} unit" if n == 1 else f"{n} units"
