"""The additive model refitted to resamples of both arms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit

from nb26stats._workers import on_arrival

from ._additive import Arm, Settings, fit_additive
from ._folds import REFIT, generator

F64 = NDArray[np.float64]


def refits(
    control: Arm,
    treated: Arm,
    settings: Settings,
    n_bootstrap: int,
    *,
    n_jobs: int | None,
    on_done: Callable[[int], Any],
) -> tuple[F64, F64]:
    """Return prior and effect (B, n1) at the treated rows, in resamples stratified by arm.

    A row that a resample holds several times counts several times; it is one row where rows are
    left out, or copies of it would tell what is left out.
    """
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(on_arrival(_refit))(control, treated, settings, b) for b in range(n_bootstrap)
    )
    prior, effect = (np.empty((n_bootstrap, len(treated.y))) for _ in range(2))
    for b, (p, d) in enumerate(found):
        prior[b], effect[b] = p, d
        on_done(1)
    return prior, effect


def _refit(control: Arm, treated: Arm, settings: Settings, b: int) -> tuple[F64, F64]:
    rng = generator(settings.seed, REFIT, b)
    (control, _), (some, rows) = _resample(control, rng), _resample(treated, rng)
    model = fit_additive(control, some, settings)
    prior, effect = model.prior(treated.x), np.array(model.effect(treated.x))
    # as in the fit itself, a row that was learnt from is told by the folds without it
    prior[rows], effect[rows] = expit(model.mixture.log_odds), model.mixture.effect
    return prior, effect


def _resample(arm: Arm, rng: np.random.Generator) -> tuple[Arm, NDArray[np.int64]]:
    n = len(arm.y)
    counts = np.bincount(rng.integers(n, size=n), minlength=n)
    rows = np.flatnonzero(counts)
    return Arm(arm.x[rows], arm.y[rows], counts[rows].astype(np.float64)), rows
