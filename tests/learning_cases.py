"""Networks and random trials for tests of the learning kernels."""

from __future__ import annotations

import itertools

import numpy as np
from reference import learning as slow

from nb26stats.learning._model import F64, REWARD_RULES, RULES, Model
from nb26stats.learning._trials import Trials

KINDS = (
    ("1L", "sigmoid"),
    ("2L", "sigmoid"),
    ("2NL", "sigmoid"),
    ("2NL", "tanh"),
    ("2NL", "relu"),
)


def every_network(hidden: int = 2, n_inputs: int = 3, **options: object) -> list[Model]:
    """Return each architecture with each rule and number of outputs."""
    return [
        Model(
            architecture,
            rule,
            k,
            hidden,
            n_inputs,
            activation=curve,
            baseline=0.25 if rule == "reinforce" else 0.0,
            **options,
        )
        for (architecture, curve), rule, k in itertools.product(KINDS, RULES, (1, 2))
    ]


def label(model: Model) -> str:
    """Name a network in the list of tests."""
    curve = "" if model.activation == "sigmoid" else f"-{model.activation}"
    return f"{model.architecture}{curve}-{model.rule}-K{model.n_outputs}"


def random_theta(model: Model, rng: np.random.Generator, alpha: float = 0.05) -> F64:
    """Draw parameters of ordinary size."""
    scale = [alpha, 2.0] + [0.1] * model.lapse
    return np.concatenate(
        [rng.normal(0, 0.6, model.n_weights), np.array(scale) * rng.uniform(0.7, 1.3, len(scale))]
    )


def random_trials(
    n: int,
    rng: np.random.Generator,
    *,
    n_inputs: int = 3,
    missing: float = 0.0,
    counted: float = 1.0,
) -> Trials:
    """Draw trials; outcomes are missing and trials counted with the probabilities given."""
    if n_inputs == 3:
        contrast = rng.choice(slow.CONTRASTS, n)
        x = slow.encode(contrast)
    else:
        x = rng.normal(0, 0.7, (n, n_inputs))
        contrast = x[:, 0]
    side = np.where(contrast != 0, contrast > 0, rng.random(n) < 0.5).astype(float)
    choice = (rng.random(n) < 0.25 + 0.5 * side).astype(np.int8)
    reward = (choice == side).astype(float)
    gone = rng.random(n) < missing
    reward[gone], side[gone] = np.nan, np.nan
    return Trials(x, choice, reward, side, None, rng.random(n) < counted)


def slow_arguments(model: Model, trials: Trials) -> tuple[Model, F64, np.ndarray, F64]:
    """Return what the oracle takes before theta."""
    drive = trials.rewards if model.rule in REWARD_RULES else trials.correct_side
    return model, trials.x, trials.choice, drive
