"""EM for who responds and by how much, with learners that can be exchanged.

Treated residuals r are a mixture: noise with density g, or the same noise shifted by the effect of
response d(x); the share of the latter is the prior, of which learners fit the log odds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ._noise import Noise

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

SURE, UNSURE = 0.9, (0.3, 0.7)
"""First weights of rows that look like responders, and range of those that could be either."""


class Predictor(Protocol):
    """A fitted function of the scaled covariates; it must pickle."""

    def __call__(self, x: F64) -> F64:
        """Return the value at each row of ``x`` (m, p)."""
        ...


class EffectLearner(Protocol):
    """Learns the effect of response at the treated rows, again in every iteration.

    A learner is made for the rows of one run and holds what does not change over iterations: their
    scaled covariates ``x`` (n, p), the fold of every row, and how often each row counts. It may
    keep its last fit as a start for the next, and choose settings of its own from the rows that a
    fold leaves out.
    """

    def cross_fit(self, r: F64, omega: F64, noise: Noise, step: int) -> F64:
        """Return the effect (n,) at every row, by a fit that has not seen the row's fold.

        Parameters
        ----------
        r : ndarray of shape (n,)
            Outcome less its mean without response, in standard deviations of the controls.
        omega : ndarray of shape (n,)
            Probability that a row responded; minimise the sum of -omega log g(r - d) times counts.
        noise : Noise
            Log density g of the noise, and its derivative ("score").
        step : int
            Number of the iteration, from 0.
        """
        ...

    def refit(self, r: F64, omega: F64, noise: Noise) -> Predictor:
        """Return the effect as a function of covariates, learnt from all rows."""
        ...


class PriorLearner(Protocol):
    """Learns the log odds of response at the treated rows; otherwise like an effect's learner."""

    def cross_fit(self, omega: F64, step: int) -> F64:
        """Return the log odds (n,) at every row, by a fit that has not seen the row's fold.

        Minimise the sum of log(1 + exp(eta)) - omega eta times counts.
        """
        ...

    def refit(self, omega: F64) -> Predictor:
        """Return the log odds as a function of covariates, learnt from all rows."""
        ...


Learners = Callable[[F64, I64, F64], tuple[EffectLearner, PriorLearner]]
"""Makes the two learners of a run from covariates, folds and counts of the treated rows."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """What EM found.

    Attributes
    ----------
    omega : ndarray of shape (n,)
        Probability that a treated row responded.
    evidence : ndarray of shape (n,)
        Its log odds.
    effect, log_odds : ndarray of shape (n,)
        Effect of response and log odds of the prior at the row, by fits without its fold.
    effect_model, prior_model : Predictor
        The same at any covariates, learnt from all rows.
    n_iter : int
        Iterations.
    converged : bool
        Whether the last iteration changed little.
    """

    omega: F64
    evidence: F64
    effect: F64
    log_odds: F64
    effect_model: Predictor
    prior_model: Predictor
    n_iter: int
    converged: bool


def first_weights(null: F64, rng: np.random.Generator) -> F64:
    """Return weights to start from: high where the noise makes a row unlikely, low where likely.

    Random numbers go by the rank of a row, so that the order of rows does not matter.
    """
    low, high = np.quantile(null, [0.25, 0.75])
    omega = np.empty(len(null))
    omega[np.argsort(null, kind="stable")] = rng.uniform(*UNSURE, len(null))
    omega[null < low] = SURE
    omega[null > high] = 1.0 - SURE
    return np.asarray(omega)


def evidence(log_odds: F64, r: F64, effect: F64, noise: Noise) -> F64:
    """Return the log odds of response given outcome and covariates."""
    return np.asarray(log_odds + noise.log_density(r - effect) - noise.log_density(r))


def run_em(
    r: F64,
    noise: Noise,
    effect: EffectLearner,
    prior: PriorLearner,
    counts: F64,
    *,
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    on_done: Callable[[int], Any] | None = None,
) -> Mixture:
    """Alternate between weights of rows and the functions learnt under these weights.

    Stops when the mean change of a weight is below ``tol``. The weights come from fits that have
    not seen the row, so that no row votes for its own response.
    """
    omega = first_weights(noise.log_density(r), rng)
    change, step = np.inf, 0
    d = eta = found = np.zeros(len(r))
    while change >= tol and step < max_iter:
        d = effect.cross_fit(r, omega, noise, step)
        eta = prior.cross_fit(omega, step)
        found = evidence(eta, r, d, noise)
        update = expit(found)
        change = float(np.average(np.abs(update - omega), weights=counts))
        omega, step = update, step + 1
        if on_done is not None:
            on_done(1)
    return Mixture(
        omega=omega,
        evidence=found,
        effect=d,
        log_odds=eta,
        effect_model=effect.refit(r, omega, noise),
        prior_model=prior.refit(omega),
        n_iter=step,
        converged=change < tol,
    )
