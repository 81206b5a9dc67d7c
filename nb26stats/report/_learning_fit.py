"""Learning within a session: which trials, which fits, and what so many trials can show."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._context import MissingPartError
from ._parts import plural

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nb26stats.learning import DNNLearningRule, LearningCurve

MIN_TRIALS = 200
MIN_EACH = 10
MAX_TRIALS = 10_000
"""A longer table is cut here, so that the fits take seconds."""
N_BLOCKS = 5
N_RUNS = 200
N_POWER = 20
MAX_POWER_TRIALS = 2_000
"""Beyond so many trials the simulated sessions would take minutes."""
TIE = 4.0
FIXED: dict[str, Any] = {"alpha_bounds": (1e-12, 1e-12), "beta_bounds": (1.0, 1.0)}
"""What makes of "1L" a network that does not learn; its weights may be as large as otherwise."""
FIXED_WEIGHTS = 250.0
ARCHITECTURES = ("1L", "2L", "2NL")


@dataclass(frozen=True)
class LearningFit:
    """The fits of one session."""

    table: pd.DataFrame
    """Fits of the networks that learn, as ``compare_architectures`` returns them."""
    fixed: DNNLearningRule
    """The network that does not learn."""
    best: DNNLearningRule
    """The network of lowest AIC."""
    curve: LearningCurve
    n_trials: int
    n_counted: int
    constant: bool
    """Whether a constant is among the inputs."""
    power: tuple[int, int]
    """Of how many sessions simulated from 2NL, 1L was behind by more than a tie in how many."""

    @property
    def gain(self) -> float:
        """How much lower the best AIC is than that of the network that does not learn."""
        return float(self.fixed.aic_ - self.table["aic"].min())

    @property
    def learns(self) -> bool:
        """Whether the choices show that the animal changed."""
        return self.gain >= TIE


def animal_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trials of a session as a learning rule takes them, or raise why there are few."""
    from nb26stats.learning import encode_contrast

    kept = slice(0, MAX_TRIALS)
    choice, mask = data["choice"][kept], data["likelihood_mask"][kept]
    reward = data["reward"][kept].astype(float)
    left, right = data["stimulus"][kept].T
    x = np.column_stack([encode_contrast(-left)[:, 0], encode_contrast(right)[:, 1:]])
    # where one side is cued in each trial, the two cues add up to the constant
    if np.linalg.matrix_rank(x) < x.shape[1]:
        x = x[:, :2]
    _enough(choice[mask], reward[mask])
    return {"X": x, "y": choice, "rewards": reward, "likelihood_mask": mask}


def _enough(choice: NDArray[Any], reward: NDArray[Any]) -> None:
    n = int(choice.size)
    if n < MIN_TRIALS:
        raise MissingPartError(
            f"How the animal learns needs {MIN_TRIALS} trials or more with a choice of a side, "
            f"without light and not excluded; here are {n}. A network that learns has 4 to 10 "
            "parameters, and so few choices cannot tell one from another."
        )
    fewest = min(int((choice == side).sum()) for side in (0, 1))
    errors = int((reward == 0.0).sum())
    for count, what in ((fewest, "choices of each side"), (errors, "trials without a reward")):
        if count < MIN_EACH:
            raise MissingPartError(
                f"How the animal learns needs {MIN_EACH} {what} or more; here are {count}. Choices "
                "that never vary leave nothing to learn from."
            )


def fit_learning(data: Mapping[str, Any]) -> LearningFit:
    """Fit the three networks, and one that does not learn, to the trials of a session."""
    from sklearn.exceptions import ConvergenceWarning

    from nb26stats.learning import DNNLearningRule, compare_architectures

    animal = animal_of(data)
    with warnings.catch_warnings():
        # bounds and starts are columns of the table, and the section speaks of them
        warnings.simplefilter("ignore", ConvergenceWarning)
        table = compare_architectures({"session": animal}, n_blocks=N_BLOCKS, random_state=0)
        fixed = DNNLearningRule(
            "1L", weight_bound=FIXED_WEIGHTS, **FIXED, standard_errors=False, random_state=0
        ).fit(**animal)
        name = str(table["aic"].droplevel(0).idxmin())
        best = DNNLearningRule(name, random_state=0).fit(**animal)
        curve = best.learning_curve(
            animal["X"],
            animal["y"],
            rewards=animal["rewards"],
            window=window_of(len(animal["y"])),
            n_runs=N_RUNS,
            random_state=0,
        )
        power = _power(animal)
    return LearningFit(
        table=table,
        fixed=fixed,
        best=best,
        curve=curve,
        n_trials=len(animal["y"]),
        n_counted=int(animal["likelihood_mask"].sum()),
        constant=animal["X"].shape[1] == 3,
        power=power,
    )


def window_of(n_trials: int) -> int:
    """Return the trials of a window of the learning curve."""
    return max(20, n_trials // 8)


def _power(animal: Mapping[str, Any]) -> tuple[int, int]:
    """Simulate sessions like this one from 2NL, and count those that decide against 1L."""
    from nb26stats.learning import DNNLearningRule

    y, reward = np.asarray(animal["y"], dtype=float), animal["rewards"]
    if len(y) > MAX_POWER_TRIALS:
        return 0, 0
    side = y * reward + (1 - y) * (1 - reward)
    deep = DNNLearningRule("2NL", standard_errors=False, random_state=0).fit(**animal)
    runs = deep.simulate(animal["X"], side, n_runs=N_POWER, random_state=0)
    decided = 0
    for choice, outcome in zip(runs.choice, runs.reward, strict=True):
        trials = {**animal, "y": choice, "rewards": outcome}
        aic = [
            DNNLearningRule(name, standard_errors=False, random_state=0, n_restarts=8)
            .fit(**trials)
            .aic_
            for name in ("1L", "2NL")
        ]
        decided += bool(aic[0] - aic[1] >= TIE)
    return N_POWER, decided


def power_sentence(fit: LearningFit) -> str:
    """Say what a session of this length could show."""
    n, decided = fit.power
    if not n:
        return ""
    often = (
        "a session of this length would seldom show two layers even where there are two"
        if decided < 0.5 * n
        else "a session of this length often shows two layers where there are two"
        if decided < 0.9 * n
        else "a session of this length shows two layers where there are two as here"
    )
    return (
        f"Of {plural(n, 'session')} simulated from the fitted 2NL on these trials, AIC decided "
        f"against one layer in {decided}: {often}."
    )
