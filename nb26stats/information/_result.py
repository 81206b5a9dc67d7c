"""PIDResult: the information of the sources and its atoms."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._results import Result, to_r

from ._atoms import ATOMS, INFORMATION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Node = tuple[tuple[int, ...], ...]
"""A node of the lattice: sets of sources, each by its positions from 0."""

SUBSETS = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
"""Sets of three sources in the order of ``mi``."""
WIDTH = 54
ROUNDING = 1e-9
"""Atoms less far below zero than this are zero but for rounding."""


def node_label(node: Node) -> str:
    """Return ``{0}{12}`` for ``((0,), (1, 2))``."""
    return "".join("{" + "".join(map(str, part)) + "}" for part in node)


def _line(name: str, value: float) -> str:
    # adding 0 turns a rounded -0 into 0
    return f"{name:<34}{round(value, 6) + 0.0:>20.6f}"


def unit(base: float) -> str:
    """Return the name of the unit of information."""
    if base == 2:
        return "bits"
    return "nats" if math.isclose(base, math.e, rel_tol=1e-12) else f"base {base:g}"


@dataclass(frozen=True, eq=False, repr=False)
class PIDResult(Result):
    """What sources tell about a target, split into atoms.

    Attributes
    ----------
    measure : str
        Measure of unique information or redundancy, such as ``"broja"``.
    base : float
        Base of the logarithm: 2 for bits.
    redundancy : float or None
        Information that either source gives. This and the next three are None for three sources,
        whose atoms are in ``lattice``.
    unique : ndarray of shape (2,) or None
        Information that only source 1 gives, and only source 2.
    synergy : float or None
        Information that only both together give.
    union : float or None
        Redundancy plus both unique informations.
    mi : ndarray of shape (3,) or (7,)
        Information about the target of source 1, source 2 and both; for three sources of the sets
        1, 2, 3, 12, 13, 23, 123.
    gap : float
        Certified distance of ``union`` from the optimum, in the unit of ``base``; 0 for closed
        forms.
    converged : bool
        Whether the distance passed the tolerance.
    n_iter : int
        Iterations of the solver; 0 for closed forms.
    n_samples : int or None
        Number of samples; None where a distribution was given.
    lattice : dict or None
        Three sources: node to its atom, a node being a tuple of tuples of source positions from 0,
        such as ``((0,), (1, 2))``.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.information import PIDResult
    >>> xor = PIDResult("broja", 2.0, 0.0, np.zeros(2), 1.0, 0.0, np.array([0.0, 0.0, 1.0]))
    >>> float(xor.to_frame().set_index("atom").loc["synergy", "value"])
    1.0
    """

    measure: str
    base: float
    redundancy: float | None
    unique: NDArray[np.float64] | None
    synergy: float | None
    union: float | None
    mi: NDArray[np.float64]
    gap: float = 0.0
    converged: bool = True
    n_iter: int = 0
    n_samples: int | None = None
    lattice: dict[Node, float] | None = None

    def _values(self) -> dict[str, float]:
        if self.lattice is not None:
            names = ["mi_" + "".join(str(i + 1) for i in part) for part in SUBSETS]
            atoms = {node_label(node): value for node, value in self.lattice.items()}
        else:
            names = list(INFORMATION)
            values: list[Any] = [self.redundancy, *np.asarray(self.unique).tolist(), self.synergy]
            atoms = dict(zip(ATOMS, values, strict=True))
        return {**dict(zip(names, self.mi.tolist(), strict=True)), **atoms}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per information and atom.

        Returns
        -------
        pandas.DataFrame
            Columns ``atom`` (``mi_1``, ``mi_2``, ``mi_12``, ``redundancy``, ``unique_1``,
            ``unique_2``, ``synergy``; for three sources ``mi_1`` to ``mi_123`` and nodes such as
            ``{0}{12}``, whose sets count the sources from 0) and ``value``.
        """
        import pandas as pd

        values = self._values()
        return pd.DataFrame({"atom": list(values), "value": list(values.values())})

    def summary(self) -> str:
        """Return the informations and atoms as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        name = unit(self.base)
        samples = "a distribution" if self.n_samples is None else f"{self.n_samples} samples"
        lines = [
            "Partial information decomposition".center(WIDTH).rstrip(),
            "=" * WIDTH,
            f"{'measure':<20}{self.measure:>34}",
            f"{'estimated from':<20}{samples:>34}",
            f"{'unit':<20}{name:>34}",
            "-" * WIDTH,
        ]
        values = self._values()
        lines += [_line(atom, value) for atom, value in values.items()]
        if self.union is not None:
            lines += ["-" * WIDTH, _line("union", self.union)]
        lines.append("=" * WIDTH)
        below = [a for a, v in values.items() if v < -max(10 * self.gap, ROUNDING)]
        if below:
            lines.append(f"* below zero (nothing is clipped): {', '.join(below)}")
        if self.lattice is not None:
            lines.append("* {0}{12}: what source 1 shares with the pair of 2 and 3 (sets from 0)")
        if not self.converged:
            lines.append(f"* not converged: the union may be {self.gap:.3g} {name} too large")
        return "\n".join(lines)

    def to_r(self) -> dict[str, Any]:
        """Return plain lists and scalars; nodes of the lattice by labels such as ``{0}{12}``.

        Returns
        -------
        dict
            Only dicts, lists, text, numbers and None; R reads it with ``nb_result()``.
        """
        if self.lattice is None:
            return super().to_r()
        labelled = {node_label(node): value for node, value in self.lattice.items()}
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        out: dict[str, Any] = to_r({**plain, "lattice": labelled})
        return out

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the atoms as bars.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_pid``.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_pid(self, ax=ax, **style)
