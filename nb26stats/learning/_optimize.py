"""Maxima of the log-likelihood or log-posterior of learning networks in a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core

from ._model import F64, Model
from ._native import gradient as native_gradient
from ._native import per_call
from ._trials import Trials

I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

CONVERGED, MAX_ITER, ABNORMAL, START_DIVERGED = range(4)
"""How a problem can end."""
SLICE = 0.2
"""Seconds of one native call."""


@dataclass(frozen=True, eq=False)
class Task:
    """Problems on the trials of one animal.

    Parameters
    ----------
    trials : Trials
        The animal.
    masks : ndarray of shape (m, T), bool
        Trials that count in the likelihood.
    which_mask : ndarray of shape (n,), int64
        Row of ``masks`` for each problem.
    starts : ndarray of shape (n, P)
        Where each sets out, in optimiser coordinates; moved into the box.
    free : ndarray of shape (n, P), bool
        Coordinates that vary; the others stay.
    lower, upper : ndarray of shape (P,)
        The box.
    """

    trials: Trials
    masks: Bools
    which_mask: I64
    starts: F64
    free: Bools
    lower: F64
    upper: F64

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent normal distributions of optimiser coordinates.

    Parameters
    ----------
    mean, sd : ndarray of shape (P,)
        An infinite ``sd`` is a flat distribution.
    """

    mean: F64
    sd: F64

    def native(self) -> tuple[F64, F64]:
        """Return mean and standard deviation as the native kernels take them."""
        return _floats(self.mean), _floats(self.sd)


@dataclass(frozen=True, eq=False)
class Optima:
    """Where the problems of one task ended.

    Parameters
    ----------
    u : ndarray of shape (n, P)
        Optimiser coordinates of the best point.
    objective, loglik : ndarray of shape (n,)
        The objective there (without the constant of the prior), and the log-likelihood.
    n_iter, n_evaluations : ndarray of shape (n,)
        Iterations and evaluations.
    end : ndarray of shape (n,), int8
        0 converged, 1 out of iterations, 2 no way up although the gradient promises one, twice,
        3 the start diverged.
    gradient : ndarray of shape (n, P)
        Of the objective in optimiser coordinates; zero for those that were fixed.
    """

    u: F64
    objective: F64
    loglik: F64
    n_iter: I64
    n_evaluations: I64
    end: NDArray[np.int8]
    gradient: F64

    def __len__(self) -> int:
        return len(self.u)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The objective at n points.

    Parameters
    ----------
    objective, loglik : ndarray of shape (n,)
        The objective (without the constant of the prior), and the log-likelihood.
    gradient : ndarray of shape (n, P)
        Of the objective in optimiser coordinates; shape (0, P) if it was not asked for.
    diverged : ndarray of shape (n,), int64
        The trial at which a point diverged, or -1.
    """

    objective: F64
    loglik: F64
    gradient: F64
    diverged: I64


def maximize(
    model: Model,
    tasks: Sequence[Task],
    *,
    prior: Prior | None = None,
    max_iter: int = 300,
    memory: int = 20,
    ftol: float = 1e-10,
    gtol: float = 1e-4,
    gradient: str = "reverse",
    device: str = "cpu",
    n_threads: int = 0,
    on_done: Callable[[int], object] | None = None,
    on_task: Callable[[int], object] | None = None,
) -> list[Optima]:
    """Return the local maximum that each problem climbs to.

    Quasi-Newton steps in a box with exact gradients. All problems of all tasks advance together,
    those of a task in groups that share its trials. On the CPU the numbers of a problem depend
    neither on the others nor on the number of threads.

    Parameters
    ----------
    model : Model
        The network.
    tasks : sequence of Task
        One or more for each animal.
    prior : Prior, optional
        Makes the objective a log-posterior.
    max_iter : int
        Iterations of one problem.
    memory : int
        Iterations whose curvature is remembered.
    ftol : float
        Ends when an iteration gains less than this share of the objective.
    gtol : float
        Ends when the largest entry of the projected gradient is below it.
    gradient : {"reverse", "forward"}
        How gradients are taken.
    device : {"cpu", "cuda"}
        Where they are.
    n_threads : int
        Threads; 0 takes what OpenMP offers.
    on_done : callable, optional
        Called several times a second with the number of problems that finished since.
    on_task : callable, optional
        The same with the number of tasks of which no problem is left.

    Returns
    -------
    list of Optima
        One for each task.
    """
    fit = core().learning_fit(
        model.native(), None if prior is None else prior.native(), max_iter, memory, ftol, gtol
    )
    for task in tasks:
        core().learning_fit_add(fit, *_arrays(model, task), _floats(task.starts), *_box(task))
    ends = np.cumsum([len(task) for task in tasks])
    left, going = core().learning_fit_unfinished(fit), len(tasks)
    while left:
        if device == "cpu":
            core().learning_fit_advance(fit, SLICE, gradient == "forward", n_threads)
        else:
            _sweep(fit, model, tasks, gradient, device)
        before, left = left, core().learning_fit_unfinished(fit)
        if on_done is not None:
            on_done(before - left)
        if on_task is not None:
            index, _ = core().learning_fit_ask(fit)
            still = np.unique(np.searchsorted(ends, index, side="right")).size
            on_task(going - still)
            going = still
    found = core().learning_fit_optima(fit)
    parts = zip(*(np.split(a, ends[:-1]) for a in found), strict=True)
    return [Optima(*part) for part in parts][: len(tasks)]


def evaluate(
    model: Model,
    task: Task,
    *,
    prior: Prior | None = None,
    gradient: bool | str = False,
    n_threads: int = 0,
) -> Evaluation:
    """Return the objective at the starts of a task, moved into its box.

    Parameters
    ----------
    model : Model
        The network.
    task : Task
        Its ``starts`` are the points.
    prior : Prior, optional
        Makes the objective a log-posterior.
    gradient : bool, "reverse" or "forward"
        Whether gradients are wanted, and how they are taken; True is "reverse".
    n_threads : int
        Threads; 0 takes what OpenMP offers.

    Returns
    -------
    Evaluation
        Of each point.
    """
    *trials, which = _arrays(model, task)
    u = _floats(np.clip(task.starts, task.lower, task.upper))
    options = (
        model.native(),
        None if prior is None else prior.native(),
        gradient is not False,
        gradient == "forward",
        n_threads,
    )
    # passes of the forward mode take eight parameters each
    n_passes = 1 + model.n_theta // 8 if gradient == "forward" else 1
    step = per_call(model, len(task.trials), n_passes=n_passes)
    parts = [
        core().learning_objective(*trials, which[i : i + step], u[i : i + step], *options)
        for i in range(0, max(len(u), 1), step)
    ]
    return Evaluation(*(np.concatenate(c) for c in zip(*parts, strict=True)))


def _sweep(fit: Any, model: Model, tasks: Sequence[Task], gradient: str, device: str) -> None:
    """Evaluate every running problem once on another device."""
    index, theta = core().learning_fit_ask(fit)
    ends = np.cumsum([len(task) for task in tasks])
    for task, first, end in zip(tasks, ends - [len(task) for task in tasks], ends, strict=True):
        mine = slice(*np.searchsorted(index, [first, end]))
        if mine.start < mine.stop:
            answers = native_gradient(
                model,
                task.trials,
                theta[mine],
                masks=task.masks,
                which_mask=task.which_mask[index[mine] - first],
                mode=gradient,
                device=device,
            )
            core().learning_fit_tell(fit, np.ascontiguousarray(index[mine]), *answers)


def _arrays(model: Model, task: Task) -> tuple[NDArray[Any], ...]:
    trials = task.trials
    masks = np.ascontiguousarray(task.masks, dtype=np.uint8)
    which = np.ascontiguousarray(task.which_mask, dtype=np.int64)
    return trials.x, trials.choice, trials.drive(model), masks, which


def _box(task: Task) -> tuple[NDArray[np.uint8], F64, F64]:
    free = np.ascontiguousarray(task.free, dtype=np.uint8)
    return free, _floats(task.lower), _floats(task.upper)


def _floats(values: F64) -> F64:
    return np.ascontiguousarray(values, dtype=np.float64)
