"""What a fit leaves behind: estimates, criteria, errors, the path along the trials, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nb26stats._warnings import warn

from . import _native
from ._box import Box
from ._canonical import canonical, canonical_map
from ._counting import n_identifiable, n_raw
from ._fit import ABNORMAL, CONVERGED, Optimum, prior_of
from ._model import F64, Model
from ._options import Options
from ._prior import log_constant
from ._start_draws import start_task
from ._trials import Trials
from ._uncertainty import hessian, named_errors, standard_errors


@dataclass(frozen=True, eq=False)
class Path:
    """What the fitted network does along the trials of the caller, left-out ones included.

    Parameters
    ----------
    weights : ndarray of shape (T + 1, q)
        Before each trial and at the end.
    log_left, log_right : ndarray of shape (T,)
        Log-probabilities; NaN on trials that were left out.
    """

    weights: F64
    log_left: F64
    log_right: F64


def path(model: Model, trials: Trials, theta: F64) -> Path:
    """Return the path along the choices that were made."""
    weights, log_left, log_right, _ = _native.trajectory(model, trials, theta)
    if trials.n_given in (0, len(trials)):
        return Path(weights, log_left, log_right)
    # a trial that was left out stands before the next one that was not
    before = np.searchsorted(trials.position, np.arange(trials.n_given + 1))
    logs = np.full((2, trials.n_given), np.nan)
    logs[:, trials.position] = log_left, log_right
    return Path(weights[before], logs[0], logs[1])


@dataclass(frozen=True, eq=False)
class Criteria:
    """What a table of fits holds of one fit.

    Parameters
    ----------
    theta : ndarray of shape (P,)
        Natural parameters in canonical form.
    loglik, aic, bic : float
        Log-likelihood and criteria.
    n_params : int
        Parameters that count.
    touched : ndarray of shape (P,), bool
        Parameters on a bound of the search.
    held : ndarray of int64
        Parameters that a bound fixes.
    """

    theta: F64
    loglik: float
    aic: float
    bic: float
    n_params: int
    touched: NDArray[np.bool_]
    held: NDArray[np.int64]

    def at_bounds(self, model: Model) -> list[str]:
        """Return the names of parameters on a bound."""
        return [name for name, on in zip(model.names(), self.touched, strict=True) if on]


def count_params(options: Options, model: Model) -> int:
    """Return how many parameters AIC and BIC count."""
    if options.count == "raw":
        return n_raw(model)
    region = options.box(model)
    free_alpha, free_beta = (bool(region.free[model.alpha_at + k]) for k in range(2))
    return n_identifiable(model, free_beta, free_alpha)


def criteria(options: Options, model: Model, trials: Trials, optimum: Optimum) -> Criteria:
    """Return parameters, likelihood and criteria of an optimum."""
    region, u = options.box(model), optimum.u
    theta = model.to_natural(canonical(model, u))
    held = np.flatnonzero(region.lower == region.upper)
    # exact where a bound pins a parameter, as beta at 1
    theta[held] = model.to_natural(region.lower)[held]
    loglik = float(_native.loglik(model, trials, theta[None], n_threads=options.n_threads)[0][0])
    n_params = count_params(options, model)
    return Criteria(
        theta=theta,
        loglik=loglik,
        aic=2.0 * n_params - 2.0 * loglik,
        bic=n_params * float(np.log(trials.n_counted)) - 2.0 * loglik,
        n_params=n_params,
        touched=region.touched(u),
        held=held,
    )


def fitted_fields(
    options: Options, model: Model, trials: Trials, optimum: Optimum
) -> dict[str, Any]:
    """Return every fitted attribute by name."""
    found = criteria(options, model, trials, optimum)
    theta, region = found.theta, options.box(model)
    prior = prior_of(options, model)
    logpost = found.loglik
    if prior is not None:
        logpost = optimum.objective + log_constant(prior)
    names = model.names()
    walk = path(model, trials, theta)
    return {
        "loglik_": found.loglik,
        "logpost_": logpost,
        "aic_": found.aic,
        "bic_": found.bic,
        "aic_is_penalised_": options.penalty != "none",
        "n_params_": found.n_params,
        "n_params_raw_": n_raw(model),
        "n_outputs_": model.n_outputs,
        "params_": named_params(model, theta),
        "theta_": theta,
        "fixed_": {names[i]: float(theta[i]) for i in found.held},
        **_errors(options, model, trials, region, optimum.u, theta, found.touched),
        "at_bounds_": found.at_bounds(model),
        "restart_logliks_": optimum.logliks,
        "n_hit_": optimum.n_hit,
        "n_diverged_": optimum.n_diverged,
        "converged_": optimum.end == CONVERGED,
        "weights_": walk.weights,
        "p_right_": np.exp(walk.log_right),
        "device_": optimum.device,
        "n_trials_": len(trials),
        "n_counted_": trials.n_counted,
    }


def named_params(model: Model, theta: F64) -> dict[str, Any]:
    """Return natural parameters by name: W1, W2 (two layers), alpha, beta, lapse (if used)."""
    first, second = model.weights(theta)
    out: dict[str, Any] = {"W1": first.copy()}
    if model.deep:
        out["W2"] = second.copy()
    at = model.alpha_at
    out["alpha"], out["beta"] = float(theta[at]), float(theta[at + 1])
    if model.lapse:
        out["lapse"] = float(theta[at + 2])
    return out


def _errors(
    options: Options,
    model: Model,
    trials: Trials,
    region: Box,
    u: F64,
    theta: F64,
    touched: NDArray[np.bool_],
) -> dict[str, Any]:
    if not options.standard_errors:
        return {"std_errors_": None, "hessian_": None, "hessian_eigenvalues_": None}
    information = hessian(
        model,
        start_task(trials, u[None], region),
        u,
        prior_of(options, model),
        gradient=options.gradient,
        n_threads=options.n_threads,
    )
    errors = standard_errors(
        model, u, information, region.free, touched, penalised=options.penalty != "none"
    )
    # the errors that exist belong to parameters that the canonical form leaves alone
    turn = canonical_map(model, u)[np.ix_(region.free, region.free)]
    information = turn @ information @ turn.T
    whole = bool(np.isfinite(information).all())
    return {
        "std_errors_": named_errors(model, theta, errors.standard_errors),
        "hessian_": information,
        "hessian_eigenvalues_": np.linalg.eigvalsh(information)
        if whole
        else np.full(len(information), np.nan),
    }


def warn_unsure(options: Options, optimum: Optimum, at_bounds: list[str]) -> None:
    """Warn of what makes a fit untrustworthy."""
    if optimum.n_hit == 1:
        warn(
            "global optimum not confirmed: one start only reached the best value (n_hit_ is 1); "
            "raise n_restarts",
            ConvergenceWarning,
        )
    if optimum.end != CONVERGED:
        what = (
            "the line search failed twice"
            if optimum.end == ABNORMAL
            else f"max_iter={options.max_iter} iterations were not enough"
        )
        warn(f"the best run did not converge: {what} (converged_ is False)", ConvergenceWarning)
    if at_bounds:
        warn(
            f"parameters on a bound of the search (at_bounds_): {', '.join(at_bounds)}; a larger "
            "likelihood may lie outside",
            ConvergenceWarning,
        )


def warn_of_data(trials: Trials) -> None:
    """Warn of trials from which little can be learned."""
    counted = trials.choice[trials.mask]
    if (counted == counted[0]).all():
        side = "right" if counted[0] else "left"
        warn(
            f"all {counted.size} counted choices are {side}: the likelihood has no interior maximum"
        )
    if np.isnan(trials.rewards).all():
        warn("no reward is known: nothing tells the model what the animal could learn")
    elif not (trials.rewards > 0.0).any():
        warn("no trial is rewarded: check the coding of rewards")
