"""The best that is found for a mouse: by a default fit, and by many restarts of scipy."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
from learning_peer import climb
from learning_tools import problem
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import DNNLearningRule, encode_contrast
from nb26stats.learning._model import F64
from nb26stats.learning._options import read_options
from nb26stats.learning._start_draws import Draws, likeliest_starts
from nb26stats.learning._trials import check_trials

POOL_PER_RUN = 10
ENOUGH = 0.5
"""Log units within which two maxima count as one."""
SEED = 0


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
    options = replace(
        read_options(rule(architecture, seed)), n_pool=POOL_PER_RUN * n_runs, n_restarts=n_runs
    )
    trials = check_trials(
        encode_contrast(table["contrast"]), table["choice"], rewards=table["reward"]
    )
    model = options.model(trials.x.shape[1])
    region = options.box(model)
    draws = Draws(model, region, seed)
    (pool,) = likeliest_starts(options, draws, trials, trials.mask[None])
    return climb(model, problem(model, trials, pool.starts, region))


def one(name: str, table: pd.DataFrame, architecture: str, n_runs: int) -> dict[str, object]:
    """Both searches for one mouse and architecture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.process_time()
        ours = fitted(table, architecture, SEED)
        ours_seconds = time.process_time() - began
        began = time.process_time()
        theirs = searched(table, architecture, n_runs, seed=SEED + 1)
    best = float(theirs.max())
    return {
        "animal": name,
        "architecture": architecture,
        "default fit": ours.loglik_,
        "scipy": best,
        "gain": ours.loglik_ - best,
        "n_hit": ours.n_hit_,
        "scipy n_hit": int(np.sum(theirs >= best - ENOUGH)),
        "at_bounds": len(ours.at_bounds_),
        "CPU s": ours_seconds,
        "scipy CPU s": time.process_time() - began,
    }


def both(table: pd.DataFrame, architectures: list[str], n_runs: int, n_jobs: int) -> pd.DataFrame:
    """Both searches for every animal of a table and every architecture."""
    rows = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(one)(name, own, architecture, n_runs)
        for name, own in table.groupby("animal", sort=False)
        for architecture in architectures
    )
    return pd.DataFrame(rows)
