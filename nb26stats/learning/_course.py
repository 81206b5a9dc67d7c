"""The learning curve of an animal beside those of networks that make their own choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_prob
from nb26stats._results import Result

from ._metrics import behavior_metrics

if TYPE_CHECKING:
    import pandas as pd

F64 = NDArray[np.float64]
MEASURES = ("accuracy", "bias", "sensitivity")


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Behaviour along learning, of the animal and of simulated runs of a fitted network.

    Attributes
    ----------
    animal : pandas.DataFrame
        What :func:`behavior_metrics` gives of the animal's choices.
    simulated : list of pandas.DataFrame
        The same of each simulated run.
    sessions : ndarray of shape (T,) or None
        Session of each trial.
    architecture : str
        Network that was simulated.
    seed : int
        Seed of the simulated choices.

    Examples
    --------
    >>> from nb26stats.learning import LearningCurve, behavior_metrics
    >>> animal = behavior_metrics([-0.5, 0.5, -0.5, 0.5], [0, 0, 0, 1], window=2)
    >>> curve = LearningCurve(animal, [animal], None, "1L", 0)
    >>> curve.to_frame()["accuracy_median"].tolist()
    [0.5, 1.0]
    >>> curve.inside()["accuracy"]
    1.0
    """

    animal: pd.DataFrame
    simulated: list[pd.DataFrame]
    sessions: NDArray[Any] | None
    architecture: str
    seed: int

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row per window: the animal, and median and band of the runs.

        Parameters
        ----------
        level : float, default=0.95
            Share of the runs inside the band.

        Returns
        -------
        pandas.DataFrame
            The columns of ``animal``, and for each measure ``*_median``, ``*_low`` and ``*_high``.
        """
        level = as_prob(level, "level")
        out = self.animal.copy()
        tails = {"low": (1 - level) / 2, "median": 0.5, "high": (1 + level) / 2}
        for name in MEASURES:
            runs = np.array([run[name].to_numpy(dtype=np.float64) for run in self.simulated])
            known = np.isfinite(runs).any(axis=0)
            for word, q in tails.items():
                edge = np.full(len(out), np.nan)
                edge[known] = np.nanquantile(runs[:, known], q, axis=0)
                out[f"{name}_{word}"] = edge
        return out

    def inside(self, level: float = 0.95) -> dict[str, float]:
        """Return the share of windows in which the animal lies inside the band of the runs.

        Parameters
        ----------
        level : float, default=0.95
            Share of the runs inside the band.

        Returns
        -------
        dict of str to float
            By measure. The windows of one animal depend on each other, so this describes, and is no
            test.
        """
        table = self.to_frame(level)
        out = {}
        for name in MEASURES:
            value, low, high = (
                table[c].to_numpy(dtype=np.float64) for c in (name, f"{name}_low", f"{name}_high")
            )
            known = np.isfinite(value) & np.isfinite(low)
            within = (low <= value) & (value <= high)
            out[name] = float(within[known].mean()) if known.any() else float("nan")
        return out

    def summary(self) -> str:
        """Return first and last window as text, and how often the animal lies in the band.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        table, within = self.to_frame(), self.inside()
        lines = [
            f"Learning curve of {len(table)} windows, {len(self.simulated)} runs of "
            f"{self.architecture}",
            f"{'':<13}{'first':>8}{'last':>8}{'runs, last':>26}{'inside 95 %':>14}",
        ]
        last = table.iloc[-1]
        for name in MEASURES:
            low, mid, high = (float(last[f"{name}_{w}"]) for w in ("low", "median", "high"))
            band = f"{mid:.3f} ({low:.3f}, {high:.3f})"
            lines.append(
                f"{name:<13}{float(table[name].iloc[0]):>8.3f}{float(last[name]):>8.3f}"
                f"{band:>26}{100 * within[name]:>12.0f} %"
            )
        return "\n".join(lines)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw accuracy, bias and sensitivity, a panel each.

        Parameters
        ----------
        ax : sequence of three matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_learning_curve`.

        Returns
        -------
        ndarray of Axes
            The panels.
        """
        from nb26stats import plotting

        return plotting.plot_learning_curve(
            self.animal,
            ax,
            simulated=self.simulated,
            sessions=self.sessions,
            architecture=self.architecture,
            **style,
        )


def curve_of(
    contrast: F64,
    choice: NDArray[np.int8],
    runs: NDArray[np.int8],
    *,
    sessions: NDArray[Any] | None,
    window: int | None,
    step: int | None,
    architecture: str,
    seed: int,
) -> LearningCurve:
    """Return the learning curve of choices (T,) and of simulated ones (n_runs, T)."""
    how: dict[str, Any] = {"window": window, "step": step}
    if window is None:
        how["sessions"] = sessions
    return LearningCurve(
        behavior_metrics(contrast, choice, **how),
        [behavior_metrics(contrast, run, **how) for run in runs],
        sessions,
        architecture,
        seed,
    )


def sided(side: F64) -> F64:
    """Return contrasts that stand for correct sides: 0 where neither is, or it is not known."""
    return np.where(np.isfinite(side), 2.0 * side - 1.0, 0.0)
