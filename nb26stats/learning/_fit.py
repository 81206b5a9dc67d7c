"""Fits: starts, restarts, the best of them; those of many animals and masks advance together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import choose_device
from nb26stats._progress import bar
from nb26stats._workers import on_arrival

from ._box import Box
from ._canonical import canonical
from ._embedding import embeddings
from ._model import F64, Model
from ._optimize import Optima, Prior, Task, evaluate, maximize
from ._options import Options
from ._prior import gaussian_prior
from ._rescale import at_beta, beta_is_scale
from ._start_draws import Draws, likeliest_starts, start_task
from ._trials import Trials

HIT = 0.5
"""Starts that end within so many log units of the best confirm it."""
NEST = 1e-6
"""Slack of the promise that a deep fit is no worse than the shallow one inside it."""
WORTH_CUDA = 1000
"""Starts of a fit at which a device pays: its time hardly depends on their number."""
BAR_DELAY = 2.0
T = TypeVar("T")
CONVERGED, MAX_ITER, ABNORMAL, DIVERGED = range(4)
"""How a run ends."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One animal, and the masks under each of which its best fit is wanted.

    Parameters
    ----------
    trials : Trials
        The animal.
    masks : ndarray of shape (m, T), bool
        Trials that count.
    seed : int
        64-bit key of the starts.
    init : ndarray of shape (n, P), optional
        More starts, in natural coordinates.
    """

    trials: Trials
    masks: NDArray[np.bool_]
    seed: int
    init: F64 | None = None


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts under one mask.

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
        ``CONVERGED``, ``MAX_ITER`` or ``ABNORMAL``.
    logliks : ndarray of shape (n,)
        Log-likelihoods of all restarts, best first.
    n_hit : int
        Restarts within ``HIT`` of the best.
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
    options: Options, model: Model, trials: Trials, seed: int, *, init: F64 | None = None
) -> Optimum:
    """Return the maximum of the likelihood, or of the posterior, over all starts of one animal.

    Parameters
    ----------
    options : Options
        Clean parameters.
    model : Model
        What ``options.model`` gives for these trials.
    trials : Trials
        One animal.
    seed : int
        64-bit key.
    init : ndarray of shape (n, P), optional
        More starts, in natural coordinates.
    """
    problems = [Problem(trials, trials.mask[None], seed, init)]
    plans = [sound(plan) for plan in all_starts(options, model, problems)]
    with bar(
        sum(len(starts.u) for plan in plans for starts in plan),
        desc="DNNLearningRule",
        unit="start",
        quiet=not options.verbose,
        delay=BAR_DELAY,
    ) as shown:
        (found,) = climb(options, model, problems, plans, on_done=shown.update)
    return sound(found)[0]


def search(
    options: Options,
    model: Model,
    problems: Sequence[Problem],
    *,
    on_done: Callable[[int], object] | None = None,
    on_problem: Callable[[int], object] | None = None,
) -> list[list[Optimum] | ValueError]:
    """Return the best fit of each problem under each of its masks.

    All starts of all problems advance together, and each ends where it would have ended alone.

    Parameters
    ----------
    options : Options
        Clean parameters.
    model : Model
        What ``options.model`` gives for the trials of all problems.
    problems : sequence of Problem
        The animals.
    on_done : callable, optional
        Called with the number of starts that ended since its last call.
    on_problem : callable, optional
        Called with the number of problems of which all starts ended since its last call.

    Returns
    -------
    list of list of Optimum, or ValueError
        For each problem one optimum per mask, or why there is none.
    """
    plans = all_starts(options, model, problems)
    return climb(options, model, problems, plans, on_done=on_done, on_problem=on_problem)


def sound(found: T | ValueError) -> T:
    """Return what was found, or raise why nothing was."""
    if isinstance(found, ValueError):
        raise found
    return found


def all_starts(
    options: Options, model: Model, problems: Sequence[Problem]
) -> list[list[Starts] | ValueError]:
    """Return the starts under each mask; a deep fit also starts from the shallow one inside it."""
    shallow: list[list[F64] | ValueError] = [[] for _ in problems]
    if model.deep and options.nested_start:
        less, small = options.shallow(model)
        plain = [replace(problem, init=None) for problem in problems]
        shallow = [
            fits if isinstance(fits, ValueError) else [small.to_natural(fit.u) for fit in fits]
            for fits in search(less, small, plain)
        ]
    region = options.box(model)
    draws: dict[int, Draws] = {}
    out: list[list[Starts] | ValueError] = []
    for problem, thetas in zip(problems, shallow, strict=True):
        own = draws.setdefault(problem.seed, Draws(model, region, problem.seed))
        try:
            out.append(_starts(options, own, problem, sound(thetas)))
        except ValueError as err:
            out.append(err)
    return out


def climb(
    options: Options,
    model: Model,
    problems: Sequence[Problem],
    plans: Sequence[list[Starts] | ValueError],
    *,
    on_done: Callable[[int], object] | None = None,
    on_problem: Callable[[int], object] | None = None,
) -> list[list[Optimum] | ValueError]:
    """Return the best that is reached from the starts of each problem, as ``search`` does."""
    region = options.box(model)
    out: list[list[Optimum] | ValueError] = []
    tasks, places = [], []
    for place, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
        out.append(plan if isinstance(plan, ValueError) else [])
        if isinstance(plan, ValueError):
            continue
        which = np.repeat(np.arange(len(plan)), [len(starts.u) for starts in plan])
        rows = np.concatenate([starts.u for starts in plan])
        tasks.append(start_task(problem.trials, rows, region, problem.masks, which))
        places.append(place)
    if on_problem is not None and len(places) < len(problems):
        on_problem(len(problems) - len(places))
    given = max((len(p.init) for p in problems if p.init is not None), default=0)
    device = device_for(options.device, options.n_restarts + given)
    ended = _maximize(options, model, tasks, device, on_done, on_problem)
    for place, task, found in zip(places, tasks, ended, strict=True):
        plan = sound(plans[place])
        try:
            out[place] = [
                _best(options, model, starts, _rows_of(found, task.which_mask == b), device)
                for b, starts in enumerate(plan)
            ]
        except ValueError as err:
            out[place] = err
    return out


def prior_of(options: Options, model: Model) -> Prior | None:
    """Return the prior of a penalised fit."""
    if options.penalty == "none":
        return None
    return gaussian_prior(model, weight_sd=options.weight_sd)


def device_for(device: str, n_starts: int) -> str:
    """Return where to compute: a device only on request, or where the starts are worth it."""
    if device == "auto" and n_starts < WORTH_CUDA:
        return "cpu"
    return choose_device(device)


def _starts(
    options: Options, draws: Draws, problem: Problem, shallow: Sequence[F64]
) -> list[Starts]:
    model, region, n = draws.model, draws.box, len(problem.masks)
    pools = likeliest_starts(options, draws, problem.trials, problem.masks)
    nested = [
        embeddings(model, theta, region, problem.seed, n_pool=options.n_pool) for theta in shallow
    ] or [[]] * n
    plain = [[start.u for start in starts if not start.jittered] for starts in nested]
    floor = np.full(n, -np.inf)
    if any(plain):
        which = np.repeat(np.arange(n), [len(rows) for rows in plain])
        rows = np.array([u for rows in plain for u in rows])
        task = start_task(problem.trials, rows, region, problem.masks, which)
        found = evaluate(model, task, gradient=False, n_threads=options.n_threads)
        np.maximum.at(floor, which, found.loglik)
    last = [] if problem.init is None else [_own_starts(model, region, problem.init)]
    return [
        Starts(
            np.concatenate([pool.starts, *(start.u[None] for start in starts), *last]),
            pool.n_diverged,
            float(lowest),
        )
        for pool, starts, lowest in zip(pools, nested, floor, strict=True)
    ]


def _best(options: Options, model: Model, starts: Starts, found: Optima, device: str) -> Optimum:
    ended = found.end != DIVERGED
    if not ended.any():
        raise ValueError(
            "every start diverges: the likelihood is not finite for any of them; check the scale "
            "of X, or lower alpha_bounds"
        )
    objective = np.where(ended, found.objective, -np.inf)
    best = int(np.argmax(objective))
    if options.penalty == "none":
        assert objective[best] >= starts.nested_loglik - NEST
    u = found.u[best]
    return Optimum(
        u=canonical(model, u) if model.architecture == "2NL" else u,
        objective=float(objective[best]),
        loglik=float(found.loglik[best]),
        end=int(found.end[best]),
        logliks=np.sort(found.loglik[ended])[::-1],
        n_hit=int((objective >= objective[best] - HIT).sum()),
        n_diverged=starts.n_diverged + int((~ended).sum()),
        device=device,
    )


def _own_starts(model: Model, region: Box, init: F64) -> F64:
    theta = init
    at = model.alpha_at + 1
    if not region.free[at] and beta_is_scale(model):
        theta = at_beta(model, init, float(np.exp(region.lower[at])))
    return region.clip(model.to_coordinates(theta))


def _rows_of(found: Optima, rows: NDArray[np.bool_]) -> Optima:
    return Optima(**{f.name: getattr(found, f.name)[rows] for f in fields(Optima)})


def _maximize(
    options: Options,
    model: Model,
    tasks: Sequence[Task],
    device: str,
    on_done: Callable[[int], object] | None,
    on_task: Callable[[int], object] | None,
) -> list[Optima]:
    import joblib

    n_groups = min(joblib.effective_n_jobs(options.n_jobs), sum(map(len, tasks)))
    if n_groups <= 1 or device == "cuda":
        return _run(options, model, tasks, device, on_done, on_task)
    parts = [
        [_part(task, rows) for rows in np.array_split(np.arange(len(task)), n_groups)]
        for task in tasks
    ]
    groups = joblib.Parallel(n_jobs=options.n_jobs)(
        joblib.delayed(on_arrival(_run))(options, model, list(group), device)
        for group in zip(*parts, strict=True)
    )
    return [
        Optima(
            **{f.name: np.concatenate([getattr(o, f.name) for o in own]) for f in fields(Optima)}
        )
        for own in zip(*groups, strict=True)
    ]


def _part(task: Task, rows: NDArray[np.int64]) -> Task:
    return replace(
        task,
        which_mask=task.which_mask[rows],
        starts=task.starts[rows],
        free=task.free[rows],
    )


def _run(
    options: Options,
    model: Model,
    tasks: Sequence[Task],
    device: str,
    on_done: Callable[[int], object] | None = None,
    on_task: Callable[[int], object] | None = None,
) -> list[Optima]:
    return maximize(
        model,
        tasks,
        prior=prior_of(options, model),
        max_iter=options.max_iter,
        gradient=options.gradient,
        device=device,
        n_threads=options.n_threads,
        on_done=on_done,
        on_task=on_task,
    )
