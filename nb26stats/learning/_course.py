"""Behaviour along learning: of an animal, and of runs of the network fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._contrast import check_contrast
from ._metrics import behavior_metrics

if TYPE_CHECKING:
    import pandas as pd

    from ._evaluation import LearningMethods


@dataclass(frozen=True, eq=False)
class Course:
    """Measures of behaviour by window: of the animal, and of every simulated run."""

    animal: pd.DataFrame
    runs: list[pd.DataFrame]


def course(
    est: LearningMethods,
    X: Any,
    y: Any,
    contrast: Any,
    *,
    correct_side: Any = None,
    sessions: Any = None,
    window: Any = None,
    step: Any = None,
    n_runs: int = 20,
    random_state: Any = None,
) -> Course:
    """Return the course of the animal and of free runs on the same trials.

    Parameters
    ----------
    est : DNNLearningRule
        A fitted learning rule.
    X, y : array-like
        Inputs and choices.
    contrast : array-like of shape (T,)
        Signed contrasts; they tell the correct side where it is not given, but at 0.
    correct_side, sessions : array-like of shape (T,), optional
        As for the fit.
    window, step : int, optional
        Windows of `behavior_metrics`.
    n_runs : int
        Simulated runs.
    random_state : object
        Key of their choices.
    """
    how = {"sessions": sessions if window is None else None, "window": window, "step": step}
    c = check_contrast(contrast, "contrast")
    animal = behavior_metrics(c, y, **how)
    side = correct_side
    if side is None:
        side = np.where(c == 0.0, np.nan, (c > 0.0).astype(np.float64))
    run = est.simulate(X, side, n_runs=n_runs, random_state=random_state)
    return Course(animal, [behavior_metrics(c, choice, **how) for choice in run.choice])
