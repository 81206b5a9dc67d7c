"""Runs of a network that makes its own choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_int
from nb26stats._results import Result
from nb26stats._warnings import warn

from . import _native
from ._model import F64, Model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(Result):
    """Choices of a learning rule that learns from its own choices.

    Attributes
    ----------
    choice : ndarray of shape (n_runs, T), int8
        1 right, 0 left.
    reward : ndarray of shape (n_runs, T)
        Outcome of the choice; NaN where the correct side is NaN.
    p_right : ndarray of shape (n_runs, T)
        Probability of a right choice.
    weights : ndarray of shape (n_runs, q)
        Weights after the last trial, in the order of ``theta_``.
    seed : int
        Seed of the random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import SimulationResult
    >>> run = SimulationResult(np.array([[0, 1]], dtype=np.int8), np.array([[1.0, 0.0]]),
    ...     np.array([[0.4, 0.5]]), np.zeros((1, 3)), 0)
    >>> run.to_frame()["choice"].tolist()
    [0, 1]
    """

    choice: NDArray[np.int8]
    reward: F64
    p_right: F64
    weights: F64
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run and trial: run, trial, choice, reward, p_right.

        Returns
        -------
        pandas.DataFrame
            Runs one below the other.
        """
        import pandas as pd

        n_runs, n_trials = self.choice.shape
        return pd.DataFrame(
            {
                "run": np.repeat(np.arange(n_runs), n_trials),
                "trial": np.tile(np.arange(n_trials), n_runs),
                "choice": self.choice.ravel(),
                "reward": self.reward.ravel(),
                "p_right": self.p_right.ravel(),
            }
        )

    def summary(self) -> str:
        """Return the shares of right and rewarded choices over fifths of the trials.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        n_runs, n_trials = self.choice.shape
        lines = [
            f"{n_runs} simulated run{'s' * (n_runs != 1)} of {n_trials} trials",
            f"{'trials':<20}{'right':>12}{'rewarded':>12}",
        ]
        for part in np.array_split(np.arange(n_trials), min(5, n_trials)):
            reward = self.reward[:, part]
            known = np.isfinite(reward)
            rewarded = f"{reward[known].mean():.3f}" if known.any() else "not known"
            right = f"{self.choice[:, part].mean():.3f}"
            lines.append(f"{f'{part[0]} to {part[-1]}':<20}{right:>12}{rewarded:>12}")
        return "\n".join(lines)


def check_runs(n_runs: object, n_trials: int) -> int:
    """Return the number of runs; NumPy has no arrays for more than there are numbers."""
    runs, most = as_int(n_runs, "n_runs", minimum=1), 2**55 // n_trials
    return as_int(runs, "n_runs", maximum=most)


def simulate(
    model: Model, x: F64, side: F64, theta: F64, *, n_runs: int, seed: int, n_threads: int
) -> SimulationResult:
    """Return runs that start from the initial weights of ``theta``."""
    choice, reward, p_right, weights = _native.simulate(
        model, x, side, theta, n_runs=n_runs, seed=seed, n_threads=n_threads
    )
    lost = ~np.isfinite(weights).all(axis=1)
    if lost.any():
        run = int(np.argmax(lost))
        gone = np.isnan(p_right[run])
        since = f" at trial {int(np.argmax(gone))}" if gone.any() else " at the end"
        warn(
            f"the weights of {int(lost.sum())} of {n_runs} runs explode, those of run {run}{since}:"
            " choices without a probability (p_right is NaN) mean nothing; lower alpha"
        )
    return SimulationResult(choice, reward, p_right, weights, seed)
