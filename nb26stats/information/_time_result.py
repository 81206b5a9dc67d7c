"""TimeResolvedPIDResult: informations of pairs of areas over time, with nulls and latencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._results import Result

from ._result import unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH = 78


@dataclass(frozen=True, eq=False, repr=False)
class TimeResolvedPIDResult(Result):
    """What pairs of areas tell about targets in every bin, against permutations.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per pair, target, atom and bin: columns ``pair``, ``target``, ``atom``, ``time``
        (start of the bin), ``value``, ``null_mean``, ``null_sd``, ``z``, ``p_max``,
        ``significant``. Terms that the null does not test have NaN from ``null_mean`` to ``p_max``.
    latencies : pandas.DataFrame
        One row per pair, target and atom: ``onset``, ``offset``, ``ci_low`` and ``ci_high`` (of the
        onset), ``peak``, ``peak_time``, ``no_onset_fraction`` (of the resamples).
    thresholds : pandas.DataFrame
        One row per pair, target and atom: ``threshold``, the z above which a bin passes the maximum
        over bins, and ``value``, the information it stands for.
    base : float
        Base of the logarithm: 2 for bits.
    seed : int
        Key of the permutations and resamples.
    measure, null, correction : str
        How information was divided, permuted and compared; ``measure`` is part of every onset.
    alpha : float
        Level of ``significant`` and of the thresholds.
    n_samples, n_permutations : int
        Trials and permutations.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats.information import TimeResolvedPIDResult
    >>> head = {"pair": ["V1-IT"], "target": ["image"], "atom": ["synergy"]}
    >>> latencies = pd.DataFrame({**head, "onset": [45.0], "offset": [120.0], "ci_low": [40.0],
    ...     "ci_high": [50.0], "peak": [0.3], "peak_time": [80.0], "no_onset_fraction": [0.0]})
    >>> result = TimeResolvedPIDResult(pd.DataFrame(head), latencies, pd.DataFrame(head), 2.0, 0)
    >>> "45 [40, 50]" in result.summary()
    True
    """

    table: pd.DataFrame
    latencies: pd.DataFrame
    thresholds: pd.DataFrame
    base: float
    seed: int
    measure: str = "broja"
    null: str = "target"
    correction: str = "max"
    alpha: float = 0.01
    n_samples: int | None = None
    n_permutations: int | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table of all bins.

        Returns
        -------
        pandas.DataFrame
            Columns ``pair``, ``target``, ``atom``, ``time``, ``value``, ``null_mean``, ``null_sd``,
            ``z``, ``p_max`` and ``significant``.
        """
        return self.table.copy()

    def summary(self) -> str:
        """Return onsets, offsets and peaks as a text table, with the measure they depend on.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        name = unit(self.base)
        facts = {
            "measure": self.measure,
            "null": self.null,
            "correction over bins": self.correction,
            "level": f"{self.alpha:g}",
            "trials": self.n_samples,
            "permutations": self.n_permutations,
            "unit": name,
            "seed": self.seed,
        }
        lines = ["Information over time".center(WIDTH).rstrip(), "=" * WIDTH]
        lines += [f"{k:<30}{v!s:>48}" for k, v in facts.items() if v is not None]
        seldom: list[str] = []
        for (pair, target), rows in self.latencies.groupby(["pair", "target"], sort=False):
            lines += [
                "-" * WIDTH,
                f"{pair} about {target}",
                f"{'':<14}{'onset':>26}{'offset':>12}{'peak':>12}{'at':>12}",
            ]
            records = rows.to_dict("records")
            lines += [_line(row) for row in records]
            seldom += [_seldom(row) for row in records if _without(row)]
        lines.append("=" * WIDTH)
        if seldom:
            lines.append("* intervals are those of the resamples that have an onset; without one:")
            lines += [f"  {text}" for text in seldom]
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, **style: Any) -> Any:
        """Draw the atoms over time with their null, significant bins and onsets.

        Parameters
        ----------
        ax : matplotlib axes or sequence of axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_atoms``, such as ``pair`` and ``target``.

        Returns
        -------
        Axes or ndarray of Axes
            What was drawn on.
        """
        from nb26stats import plotting

        draw: Any = plotting.plot_atoms
        return draw(self, ax, **style)


def _line(row: dict[Any, Any]) -> str:
    onset = _number(row["onset"])
    if np.isfinite(row["ci_low"]):
        onset += f" [{row['ci_low']:g}, {row['ci_high']:g}]"
    return (
        f"{row['atom']:<14}{onset:>26}{_number(row['offset']):>12}{row['peak']:>12.4f}"
        f"{_number(row['peak_time']):>12}"
    )


def _without(row: dict[Any, Any]) -> bool:
    """Whether resamples without an onset are left out of an interval that is shown."""
    return bool(np.isfinite(row["ci_low"]) and row["no_onset_fraction"] > 0)


def _seldom(row: dict[Any, Any]) -> str:
    name = f"{row['pair']} about {row['target']}, {row['atom']}"
    return f"{name}: {100 * row['no_onset_fraction']:.3g} %"


def _number(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "none"
