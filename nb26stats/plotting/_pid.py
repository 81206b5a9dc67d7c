"""The atoms of one information decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import GREY, PALE, SMALL, dress, few_ticks, need, number, one_axes
from ._colors import ATOM_COLORS, OKABE_ITO
from ._terms import ATOMS, called, two_names, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTHING = 1e-9
"""Atoms of a lattice below this are left out of the figure."""


def plot_pid(
    result: Any, ax: Axes | None = None, *, names: Sequence[str] | None = None, **style: Any
) -> Axes:
    """Draw the parts into which the information of several sources about a target falls.

    One bar per atom, with its value beside it: what both sources tell, what only one of them tells,
    and what only the two together tell. The bars of two sources add up to the information of both,
    which the title states. For three sources the bars are the nodes of the lattice that are not 0;
    ``{0}{12}`` is what the first source shares with the pair of the others (counted from 0).

    Parameters
    ----------
    result : DiscretePID, GaussianPID or PIDResult
        A fitted estimator or its ``result()``.
    ax : matplotlib axes, optional
        Where to draw. A new figure by default.
    names : sequence of two str, optional
        What the two sources are called.
    **style
        Properties of the bars (``color``, ``height``, ...).

    Returns
    -------
    Axes
        The axes drawn on. There are no error bars: one decomposition carries no interval.

    Raises
    ------
    ValueError
        If ``names`` does not hold two names.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from nb26stats import plotting
    >>> pid = SimpleNamespace(
    ...     redundancy=0.1, unique=[0.4, 0.0], synergy=0.2, mi=[0.5, 0.1, 0.7], base=2,
    ...     lattice=None,
    ... )
    >>> with plotting.style(offscreen=True):
    ...     ax = plotting.plot_pid(pid, names=["V1", "IT"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['redundancy', 'unique to V1', 'unique to IT', 'synergy']
    """
    if callable(getattr(result, "result", None)):
        result = result.result()
    kind = "a fitted decomposition or its result()"
    need(result, "result", kind, "redundancy", "unique", "synergy", "mi", "base")
    unit = unit_of(float(result.base))
    lattice = getattr(result, "lattice", None)
    if lattice is not None:
        labels, values, colors = _nodes(lattice)
        title = f"Three sources about the target: {_text(sum(values))} {unit}"
    else:
        called_by = two_names(names)
        both = float(np.asarray(result.mi, dtype=np.float64)[2])
        labels = [called(atom, called_by) for atom in ATOMS]
        first, second = np.asarray(result.unique, dtype=np.float64)
        values = [float(result.redundancy), float(first), float(second), float(result.synergy)]
        colors = [ATOM_COLORS[atom] for atom in ATOMS]
        who = "Two sources" if names is None else called("mi_12", called_by)
        title = f"{who} about the target: {_text(both)} {unit}"
    panel = one_axes(ax, (4.6, 0.62 + 0.34 * max(4, len(labels))))
    draw_bars(panel, labels, values, {"color": colors, "height": 0.62, **style})
    dress(panel, x=f"information ({unit})", title=title)
    few_ticks(panel, x=5, y=None)
    panel.tick_params(axis="y", length=0)
    if lattice is not None:
        panel.set_ylabel("sets of sources, from 0", fontsize=SMALL)
    return panel


def draw_bars(
    panel: Axes, labels: Sequence[str], values: Sequence[float], style: Mapping[str, Any]
) -> None:
    """Draw one bar per label, from above, with its value beside it."""
    places = np.arange(len(labels))
    panel.barh(places, values, **style)
    _values(panel, values)
    panel.set_yticks(places, labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    low, high = min(0.0, *values), max(0.0, *values)
    span = high - low or 1.0
    panel.set_xlim(low - (0.04 * span if low < 0 else 0.0), high + 0.2 * span)
    panel.axvline(0.0, color=PALE, linewidth=0.8, zorder=0)


def _values(ax: Axes, values: Sequence[float]) -> None:
    """Write each value to the right of its bar."""
    for place, value in enumerate(values):
        ax.annotate(
            _text(value),
            # to the left of a small negative bar stands the name of the atom
            (max(value, 0.0), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=SMALL,
            color=GREY,
        )


def _text(value: float) -> str:
    # what is rounding would only read as a finding
    return "0" if abs(value) < NOTHING else number(value).replace("-", "\N{MINUS SIGN}")


def _nodes(lattice: Any) -> tuple[list[str], list[float], list[str]]:
    """Return names, values and colours of the nodes that hold information, largest first."""
    pairs = (
        lattice.items()
        if isinstance(lattice, Mapping)
        else zip(lattice.index, lattice.to_numpy(), strict=True)
    )
    held = sorted(
        ((node, float(value)) for node, value in pairs if abs(value) >= NOTHING),
        key=lambda pair: -pair[1],
    )
    if not held:
        return ["all 18 nodes"], [0.0], [OKABE_ITO["grey"]]
    labels = [
        "".join("{" + "".join(str(s) for s in part) + "}" for part in node) for node, _ in held
    ]
    return labels, [value for _, value in held], [OKABE_ITO["blue"]] * len(held)
