"""The additive model on scaled data: null regression, noise, and EM for effect and prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ._em import Learners, Mixture, evidence, run_em
from ._folds import FOLDS, WEIGHTS, generator, ranked_folds
from ._noise import Noise, fit_noise
from ._null_regression import NullRegression, fit_null
from ._scaling import spread

F64 = NDArray[np.float64]

EM_FOLDS = 10
"""Generator of the folds of the treated rows."""
ROUNDING = 1e-10
"""Spread of residuals, as a share of the outcome's, that is no more than rounding."""


class Settings(NamedTuple):
    """How the model is fitted.

    Attributes
    ----------
    outcome_model : "krr" or scikit-learn regressor
        Model of the mean without response.
    noise : str
        Kind of noise density.
    learners : callable
        Makes the learners of effect and prior.
    n_folds : int
        Folds of all cross-fitting.
    max_iter : int
        Iterations of EM.
    tol : float
        Mean change of a weight at which EM stops.
    max_kernel_n : int
        Controls beyond which random features take the place of kernels.
    seed : int
        Seed of the random numbers.
    """

    outcome_model: Any
    noise: str
    learners: Learners
    n_folds: int
    max_iter: int
    tol: float
    max_kernel_n: int
    seed: int


class Arm(NamedTuple):
    """Rows of one arm: scaled covariates and outcomes, and how often each row counts."""

    x: F64
    y: F64
    counts: F64


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A fitted model; outcomes and effects are scaled.

    Attributes
    ----------
    null : NullRegression
        Mean without response.
    noise : Noise
        Density of what the mean leaves over.
    mixture : Mixture
        Effect and prior, at the treated rows and as functions.
    null_treated : ndarray of shape (n1,)
        Mean without response at the treated rows.
    residuals : ndarray of shape (n0,)
        Controls less their predictions from the other controls.
    treated_residuals : ndarray of shape (n1,)
        Treated rows less their mean without response.
    """

    null: NullRegression
    noise: Noise
    mixture: Mixture
    null_treated: F64
    residuals: F64
    treated_residuals: F64

    def prior(self, x: F64) -> F64:
        """Return the prior of response at covariates."""
        return np.asarray(expit(self.mixture.prior_model(x)))

    def effect(self, x: F64) -> F64:
        """Return the effect of response at covariates."""
        return self.mixture.effect_model(x)

    def lfdr(self, x: F64, r: F64) -> F64:
        """Return the probability that a treated row with residual ``r`` did not respond."""
        m = self.mixture
        # not one minus a probability, which has lost its digits near 0
        return np.asarray(expit(-evidence(m.prior_model(x), r, m.effect_model(x), self.noise)))


def fit_additive(
    control: Arm,
    treated: Arm,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    on_done: Callable[[int], Any] | None = None,
) -> AdditiveModel:
    """Fit the model; ``on_done`` is called with 1 after every iteration of EM."""
    s = settings
    null = fit_null(
        *control,
        model=s.outcome_model,
        max_kernel_n=s.max_kernel_n,
        n_folds=s.n_folds,
        seed=s.seed,
        n_jobs=n_jobs,
    )
    residuals = control.y - null.loo
    if spread(residuals) <= ROUNDING * spread(control.y):
        raise ValueError(
            "the outcomes of the controls are predicted exactly: without noise there is nothing to "
            "tell a response from; is y computed from columns of X?"
        )
    repeats = control.counts.astype(np.int64)
    # sorted, so that its random orders do not go by the place of a row
    noise = fit_noise(np.sort(np.repeat(residuals, repeats)), kind=s.noise, seed=s.seed)
    null_treated = null.predict(treated.x)
    r = treated.y - null_treated
    # by how likely a row is without response, which the folds should hold alike
    fold = ranked_folds(noise.log_density(r), s.n_folds, generator(s.seed, FOLDS, EM_FOLDS))
    effect, prior = s.learners(treated.x, fold, treated.counts)
    mixture = run_em(
        r,
        noise,
        effect,
        prior,
        treated.counts,
        rng=generator(s.seed, WEIGHTS),
        max_iter=s.max_iter,
        tol=s.tol,
        on_done=on_done,
    )
    return AdditiveModel(null, noise, mixture, null_treated, residuals, r)
