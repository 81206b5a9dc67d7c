"""The best that is found for a mouse: by a default fit, and by many restarts of scipy."""

from __future__ import annotations

import pandas as pd
from learning_peer import climb
from learning_tools import problem

from nb26stats.learning import DNNLearningRule, encode_contrast
from nb26stats.learning._model import F64
from nb26stats.learning._options import read_options
from nb26stats.learning._start_draws import likeliest_starts
from nb26stats.learning._trials import check_trials

POOL_PER_RUN = 10


def rule(architecture: str, seed: int) -> DNNLearningRule:
    """The defaults, but for what costs time and does not move the optimum."""
    return DNNLearningRule(
        architecture, standard_errors=False, verbose=False, n_threads=1, random_state=seed
    )


def fitted(table: pd.DataFrame, architecture: str, seed: int) -> DNNLearningRule:
    """Return the default fit of one mouse."""
    return rule(architecture, seed).fit(
        encode_contrast(table["contrast"]), table["choice"], rewards=table["reward"]
    )


def searched(table: pd.DataFrame, architecture: str, n_runs: int, seed: int) -> F64:
    """Return what scipy reaches in the same box, from the likeliest of many random starts."""
    options = read_options(rule(architecture, seed))
    trials = check_trials(
        encode_contrast(table["contrast"]), table["choice"], rewards=table["reward"]
    )
    model = options.model(trials.x.shape[1])
    region = options.box(model)
    pool = likeliest_starts(
        model,
        trials,
        region,
        seed,
        n_pool=POOL_PER_RUN * n_runs,
        n_keep=n_runs,
        gradient="reverse",
        n_threads=1,
    )
    return climb(model, problem(model, trials, pool.starts, region))
