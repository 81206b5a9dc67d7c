"""One fit of one animal: starts, restarts, the best of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import choose_device
from nb26stats._progress import bar

from ._box import Box
from ._canonical import canonical
from ._embedding import embeddings
from ._model import F64, Model
from ._optimize import Optima, Prior, Task, evaluate, maximize
from ._options import Options
from ._prior import gaussian_prior
from ._rescale import at_beta, beta_is_scale
from ._start_draws import likeliest_starts, start_task
from ._trials import Trials

HIT = 0.5
"""Starts that end within so many log units of the best confirm it."""
NEST = 1e-6
"""Slack of the promise that a deep fit is no worse than the shallow one inside it."""
WORTH_CUDA = 1000
"""Problems at which a device pays: its time hardly depends on their number."""
BAR_DELAY = 2.0
CONVERGED, MAX_ITER, ABNORMAL, DIVERGED = range(4)
"""How a run ends."""


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts of one fit.

    Parameters
    ----------
    u : ndarray of shape (n, P)
        Optimiser coordinates: the kept draws, nested ones, those of the caller.
    n_diverged : int
        Draws that were replaced because they diverge.
    nested_loglik : float
        The largest log-likelihood of a shallow network inside the deep one; -inf without any.
    """

    u: F64
    n_diverged: int
    nested_loglik: float


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best of all restarts.

    Parameters
    ----------
    u : ndarray of shape (P,)
        Optimiser coordinates, in the box; hidden units of 2NL in canonical order.
    objective, loglik : float
        What was maximised (without the constant of a prior), and the log-likelihood.
    end : int
        `CONVERGED`, `MAX_ITER` or `ABNORMAL`.
    logliks : ndarray of shape (n,)
        Log-likelihoods of all restarts, best first.
    n_hit : int
        Restarts within `HIT` of the best.
    n_diverged : int
        Starts that were dropped or replaced because they diverge.
    device : {"cpu", "cuda"}
        Where it was computed.
    """

    u: F64
    objective: float
    loglik: float
    end: int
    logliks: F64
    n_hit: int
    n_diverged: int
    device: str


def find_optimum(
    options: Options,
    model: Model,
    trials: Trials,
    seed: int,
    *,
    init: F64 | None = None,
) -> Optimum:
    """Return the maximum of the likelihood, or of the posterior, over all starts.

    Parameters
    ----------
    options : Options
        Clean parameters.
    model : Model
        What `options.model` gives for these trials.
    trials : Trials
        One animal.
    seed : int
        64-bit key.
    init : ndarray of shape (n, P), optional
        More starts, in natural coordinates.
    """
    region = options.box(model)
    starts = all_starts(options, model, trials, region, seed, init=init)
    device = device_for(options.device, len(starts.u))
    task = start_task(trials, starts.u, region)
    with bar(
        len(starts.u),
        desc="DNNLearningRule",
        unit="start",
        quiet=not options.verbose,
        delay=BAR_DELAY,
    ) as shown:
        found = _maximize(options, model, task, device, shown.update)
    sound = found.end != DIVERGED
    if not sound.any():
        raise ValueError(
            "every start diverges: the likelihood is not finite for any of them; check the scale "
            "of X, or lower alpha_bounds"
        )
    objective = np.where(sound, found.objective, -np.inf)
    best = int(np.argmax(objective))
    if options.penalty == "none":
        assert objective[best] >= starts.nested_loglik - NEST
    u = found.u[best]
    return Optimum(
        u=canonical(model, u) if model.architecture == "2NL" else u,
        objective=float(objective[best]),
        loglik=float(found.loglik[best]),
        end=int(found.end[best]),
        logliks=np.sort(found.loglik[sound])[::-1],
        n_hit=int((objective >= objective[best] - HIT).sum()),
        n_diverged=starts.n_diverged + int((~sound).sum()),
        device=device,
    )


def all_starts(
    options: Options,
    model: Model,
    trials: Trials,
    region: Box,
    seed: int,
    *,
    init: F64 | None = None,
) -> Starts:
    """Return the starts of a fit; a deep one also starts from the shallow fit inside it."""
    pool = likeliest_starts(
        model,
        trials,
        region,
        seed,
        n_pool=options.n_pool,
        n_keep=options.n_restarts,
        gradient=options.gradient,
        n_threads=options.n_threads,
    )
    rows, nested_loglik = [pool.starts], -np.inf
    if model.deep and options.nested_start:
        small_options, small = options.shallow(model)
        shallow_fit = find_optimum(small_options, small, trials, seed)
        nested = embeddings(
            model, small.to_natural(shallow_fit.u), region, seed, n_pool=options.n_pool
        )
        rows += [start.u[None] for start in nested]
        plain = [start.u for start in nested if not start.jittered]
        if plain:
            found = evaluate(
                model,
                start_task(trials, np.array(plain), region),
                gradient=False,
                n_threads=options.n_threads,
            )
            nested_loglik = float(found.loglik.max())
    if init is not None:
        rows.append(_own_starts(model, region, init))
    return Starts(np.concatenate(rows), pool.n_diverged, nested_loglik)


def prior_of(options: Options, model: Model) -> Prior | None:
    """Return the prior of a penalised fit."""
    if options.penalty == "none":
        return None
    return gaussian_prior(model, weight_sd=options.weight_sd)


def device_for(device: str, n_problems: int) -> str:
    """Return where to compute: a device only on request, or where the batch is worth it."""
    if device == "auto" and n_problems < WORTH_CUDA:
        return "cpu"
    return choose_device(device)


def _own_starts(model: Model, region: Box, init: F64) -> F64:
    theta = init
    at = model.alpha_at + 1
    if not region.free[at] and beta_is_scale(model):
        theta = at_beta(model, init, float(np.exp(region.lower[at])))
    return region.clip(model.to_coordinates(theta))


def _maximize(
    options: Options, model: Model, task: Task, device: str, on_done: Callable[[int], object]
) -> Optima:
    import joblib

    n = len(task.starts)
    n_groups = min(joblib.effective_n_jobs(options.n_jobs), n)
    if n_groups <= 1 or device == "cuda":
        return _run(options, model, task, device, on_done)
    groups = [part for part in np.array_split(np.arange(n), n_groups) if len(part)]
    found = joblib.Parallel(n_jobs=options.n_jobs)(
        joblib.delayed(_run)(options, model, _part(task, rows), device) for rows in groups
    )
    return Optima(
        **{f.name: np.concatenate([getattr(o, f.name) for o in found]) for f in fields(Optima)}
    )


def _part(task: Task, rows: NDArray[np.int64]) -> Task:
    return Task(
        trials=task.trials,
        masks=task.masks,
        which_mask=task.which_mask[rows],
        starts=task.starts[rows],
        free=task.free[rows],
        lower=task.lower,
        upper=task.upper,
    )


def _run(
    options: Options,
    model: Model,
    task: Task,
    device: str,
    on_done: Callable[[int], object] | None = None,
) -> Optima:
    return maximize(
        model,
        [task],
        prior=prior_of(options, model),
        max_iter=options.max_iter,
        gradient=options.gradient,
        device=device,
        n_threads=options.n_threads,
        on_done=on_done,
    )[0]
