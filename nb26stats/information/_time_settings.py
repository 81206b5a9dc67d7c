"""Settings of a time-resolved decomposition, checked together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_bool, as_choice, as_float, as_int, as_jobs, as_prob
from nb26stats._warnings import warn

from ._correction import fewest_permutations
from ._latency import Rule
from ._nulls import NULLS


@dataclass(frozen=True)
class TimeSettings:
    """Clean parameters."""

    target_pca: int | None
    area_pca: int | None
    n_permutations: int
    null: str
    correction: str
    scope: str
    alpha: float
    rule: Rule
    bootstrap: str
    n_bootstrap: int
    level: float
    verbose: bool
    n_jobs: int | None


def read_settings(est: Any, times: NDArray[np.float64]) -> TimeSettings:
    """Return the parameters of ``est``; the first one that is wrong raises."""
    as_choice(est.missing, "missing", ("raise",))
    n_bins = len(times)
    method = as_choice(est.onset_method, "onset_method", ("run", "fraction"))
    if method == "fraction" and not (times < 0).any():
        raise ValueError(
            "onset_method='fraction' needs bins with times < 0 as a baseline, but times starts at "
            f"{times[0]:g}"
        )
    fraction = as_float(est.onset_fraction, "onset_fraction", above=0.0, maximum=1.0)
    rule = Rule(times, as_int(est.min_run, "min_run", minimum=1, maximum=n_bins), method, fraction)
    alpha = as_prob(est.alpha, "alpha")
    n_permutations = as_int(est.n_permutations, "n_permutations", minimum=1)
    fewest = fewest_permutations(alpha)
    if n_permutations < fewest:
        raise ValueError(
            f"n_permutations={n_permutations} cannot reach alpha={alpha:g}: "
            f"give n_permutations of at least {fewest}"
        )
    return TimeSettings(
        target_pca=_axes(est.target_pca, "target_pca"),
        area_pca=_axes(est.area_pca, "area_pca"),
        n_permutations=n_permutations,
        null=as_choice(est.null, "null", NULLS),
        correction=as_choice(est.correction, "correction", ("max", "cluster")),
        scope=as_choice(est.correction_scope, "correction_scope", ("separate", "all")),
        alpha=alpha,
        rule=rule,
        bootstrap=as_choice(est.bootstrap, "bootstrap", ("half", "full")),
        n_bootstrap=as_int(est.n_bootstrap, "n_bootstrap", minimum=0),
        level=as_prob(est.level, "level"),
        verbose=as_bool(est.verbose, "verbose"),
        n_jobs=as_jobs(est.n_jobs),
    )


def _axes(value: object, name: str) -> int | None:
    return None if value is None else as_int(value, name, minimum=1)


def warn_of_settings(measure: str | None, bias: str | None, n_bootstrap: int) -> None:
    """Warn of settings that answer another question than the one usually asked."""
    if measure == "mmi":
        warn(
            "measure='mmi' sets the smaller unique information to 0 in every bin: the weaker area "
            "can never have any, and what only it carries appears as redundancy and synergy; "
            "use measure='broja' to compare areas"
        )
    if bias is None and n_bootstrap > 0:
        warn(
            "resamples inflate information that is not corrected for its bias, and so advance "
            "onsets; set bias='bootstrap' in the estimator for latency intervals"
        )
