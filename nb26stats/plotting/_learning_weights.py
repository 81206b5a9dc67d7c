"""How the weights of a fitted network move along the trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_list

from ._axes import PALE, SMALL, dress, end_labels, few_ticks, line_style, many_axes, need, plain
from ._colors import OKABE_ITO
from ._learning_curve import boundaries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    F64 = NDArray[np.float64]

MAX_POINTS = 4000
"""More points than this cannot be told apart across a figure."""
MAX_LABELLED = 6
OUTPUTS = {1: ("right against left",), 2: ("left", "right")}


def plot_learning_weights(
    result: Any,
    ax: Sequence[Axes] | None = None,
    *,
    inputs: Sequence[str] | None = None,
    sessions: ArrayLike | None = None,
    **style: Any,
) -> NDArray[np.object_]:
    """Draw the weights of a fitted learning rule before each trial.

    A network of one layer has a panel per output with a line per input. One of two layers has a
    panel per input and one per output; the lines in them are its hidden units, each with one colour
    in all panels.

    Parameters
    ----------
    result : DNNLearningRule
        A fitted learning rule: anything with ``weights_`` of shape (T+1, q) and ``params_`` with
        ``W1`` and, for two layers, ``W2``.
    ax : sequence of matplotlib axes, optional
        Where to draw, one axes per panel. A new figure by default.
    inputs : sequence of str, optional
        Names of the inputs.
    sessions : array-like of shape (T,), optional
        Session of each trial; light lines mark where one ends.
    **style
        Properties of the lines (``linewidth``, ``alpha``, ...).

    Returns
    -------
    ndarray of Axes
        The panels. They carry no bands: the weights follow from the fit and the trials, and how
        well the choices determine the fit is what a profile shows.

    Raises
    ------
    ValueError
        If ``inputs`` or ``sessions`` has the wrong length.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from nb26stats import plotting
    >>> rule = SimpleNamespace(weights_=np.zeros((5, 3)), params_={"W1": np.zeros((1, 3))})
    >>> with plotting.style(offscreen=True):
    ...     panels = plotting.plot_learning_weights(rule, inputs=["left", "right", "1"])
    >>> panels[0].get_ylabel()
    'weight'
    """
    need(result, "result", "a fitted DNNLearningRule", "weights_", "params_")
    walk = np.asarray(result.weights_, dtype=np.float64)
    layers = _layers(walk, result.params_)
    n_inputs = layers[0].shape[2]
    if inputs is None:
        inputs = getattr(result, "feature_names_in_", None)
    given = [f"input {j}" for j in range(n_inputs)] if inputs is None else as_list(inputs, "inputs")
    if len(given) != n_inputs:
        raise ValueError(f"inputs has {len(given)} names but the network has {n_inputs} inputs")
    names = [plain(name, 24) for name in given]
    shown = _panels(layers, names)
    columns = 1 if len(shown) == 1 else 2 if len(shown) <= 4 else 3
    panels = many_axes(ax, len(shown), columns=columns, height=1.75, sharey=False)
    step = max(1, -(-len(walk) // MAX_POINTS))
    trial = np.append(np.arange(0, len(walk) - 1, step), len(walk) - 1)
    n = len(walk) - 1
    given_n = n if sessions is None else len(as_list(sessions, "sessions"))
    if given_n != n:
        raise ValueError(f"sessions has {given_n} values, but there are {n} trials")
    edges = boundaries(sessions)
    for panel, (title, lines, line_names) in zip(panels, shown, strict=True):
        for edge in edges:
            panel.axvline(edge, color="#e4e4e4", linewidth=0.6, zorder=-1)
        panel.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
        for k in range(lines.shape[1]):
            line = {"color": _color(k), "linewidth": 1.4, "linestyle": _dash(k)}
            panel.plot(
                trial, lines[trial, k], **{**line, "label": line_names[k], **line_style(style)}
            )
        dress(panel, title=title)
    _finish(panels, shown, layers, columns, int(trial[-1]))
    return panels


Shown = tuple[str, "F64", list[str]]


def _layers(walk: F64, params: Any) -> list[F64]:
    """Return each layer's weights, (T+1, rows, columns)."""
    shapes = [np.atleast_2d(np.asarray(params[k])).shape for k in ("W1", "W2") if k in params]
    sizes = [rows * columns for rows, columns in shapes]
    if walk.ndim != 2 or walk.shape[1] != sum(sizes):
        raise ValueError(
            f"weights_ has shape {walk.shape}, but the layers of params_ hold {sum(sizes)} weights"
        )
    parts = np.split(walk, np.cumsum(sizes)[:-1], axis=1)
    return [p.reshape(len(walk), *s) for p, s in zip(parts, shapes, strict=True) if p.size]


def _panels(layers: list[F64], names: list[str]) -> list[Shown]:
    """Return title, lines and names of the lines of every panel."""
    first = layers[0]
    if len(layers) == 1:
        outputs = OUTPUTS.get(first.shape[1], ())
        return [
            (f"Weights of the inputs, {side}", first[:, k, :], names)
            for k, side in enumerate(outputs)
        ]
    second = layers[1]
    n_hidden = first.shape[1]
    units = [f"unit {h + 1}" for h in range(n_hidden)]
    out: list[Shown] = [
        (f"Layer 1, from {name}", first[:, :, j], units) for j, name in enumerate(names)
    ]
    # a column beyond the hidden units is the bias of the output
    into = [*units, "bias"][: second.shape[2]]
    out += [
        (f"Layer 2, {side}", second[:, k, :], into)
        for k, side in enumerate(OUTPUTS.get(second.shape[1], ()))
    ]
    return out


def _color(k: int) -> str:
    wheel = [c for name, c in OKABE_ITO.items() if name != "grey"]
    return wheel[k % len(wheel)]


def _dash(k: int) -> str:
    return ("-", "--", ":", "-.")[(k // 6) % 4]


def _finish(
    panels: NDArray[np.object_], shown: list[Shown], layers: list[F64], columns: int, last: int
) -> None:
    """Give the panels of a layer one scale, and name the lines."""
    n_first = len(shown) - (layers[1].shape[1] if len(layers) > 1 else 0)
    for group in (slice(0, n_first), slice(n_first, None)):
        values = [lines for _, lines, _ in shown[group]]
        if not values:
            continue
        low = min(0.0, *(float(np.nanmin(v)) for v in values))
        high = max(0.0, *(float(np.nanmax(v)) for v in values))
        room = 0.06 * (high - low or 1.0)
        for panel in panels[group]:
            panel.set_ylim(low - room, high + room)
    for k, (panel, (_, lines, names)) in enumerate(zip(panels, shown, strict=True)):
        panel.set_xlim(0, last)
        few_ticks(panel, x=5, y=4)
        if k % columns == 0:
            panel.set_ylabel("weight", fontsize=SMALL + 1)
        if k >= len(shown) - columns:
            panel.set_xlabel("trial, from 0", fontsize=SMALL + 1)
            panel.tick_params(labelbottom=True)
        if len(names) <= MAX_LABELLED:
            labels = [(name, float(lines[-1, j]), _color(j)) for j, name in enumerate(names)]
            end_labels(panel, labels)
        elif k == columns - 1 or k == len(shown) - 1 < columns:
            panel.legend(frameon=False, fontsize=SMALL, loc="upper left", bbox_to_anchor=(1, 1))
