"""Typed calls of the native learning kernels, in parts that Ctrl-C need not wait for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core, cuda

from ._model import F64, Model
from ._trials import Trials

I64 = NDArray[np.int64]
Masks = NDArray[np.bool_]

CALL_TRIALS = {"cpu": 2e7, "cuda": 2e9}
"""Trials times problems of one native call, in a network of one or two weights: below a second."""


def loglik(
    model: Model,
    trials: Trials,
    thetas: F64,
    *,
    masks: Masks | None = None,
    which_mask: I64 | None = None,
    device: str = "cpu",
    n_threads: int = 0,
) -> tuple[F64, I64]:
    """Return the log-likelihood of each row of theta, and where it diverged.

    Parameters
    ----------
    model : Model
        The network.
    trials : Trials
        One animal.
    thetas : ndarray of shape (n, P)
        Parameters in natural coordinates.
    masks : ndarray of shape (m, T), optional
        Trials that count; those of ``trials`` by default.
    which_mask : ndarray of shape (n,), optional
        Row of ``masks`` for each problem; the first by default.
    device : {"cpu", "cuda"}
        Where to compute.
    n_threads : int
        Threads; 0 takes what OpenMP offers.

    Returns
    -------
    loglik : ndarray of shape (n,)
        Nats. Where a problem diverged: far below every other value.
    diverged : ndarray of shape (n,)
        The trial at which it did, or -1.
    """
    call = _caller("learning_loglik", device, n_threads)
    out: tuple[F64, I64] = _in_parts(call, (), model, trials, thetas, masks, which_mask, device)
    return out


def gradient(
    model: Model,
    trials: Trials,
    thetas: F64,
    *,
    masks: Masks | None = None,
    which_mask: I64 | None = None,
    mode: str = "reverse",
    device: str = "cpu",
    n_threads: int = 0,
) -> tuple[F64, F64, I64]:
    """Return log-likelihoods, gradients in natural coordinates (n, P), and where each diverged.

    Parameters
    ----------
    model, trials, thetas, masks, which_mask, device, n_threads
        As for ``loglik``.
    mode : {"reverse", "forward"}
        One pass forward and one back, or passes forward only.

    Returns
    -------
    loglik : ndarray of shape (n,)
        Nats.
    gradient : ndarray of shape (n, P)
        Zero where a problem diverged.
    diverged : ndarray of shape (n,)
        The trial at which it did, or -1.
    """
    call = _caller("learning_gradient", device, n_threads)
    forward = (mode == "forward",)
    out: tuple[F64, F64, I64] = _in_parts(
        call, forward, model, trials, thetas, masks, which_mask, device
    )
    return out


def trajectory(model: Model, trials: Trials, theta: F64) -> tuple[F64, F64, F64, int]:
    """Return what happens along the choices that were made.

    Returns
    -------
    weights : ndarray of shape (T + 1, q)
        Before each trial, and at the end.
    log_left, log_right : ndarray of shape (T,)
        Logarithms of P(left) and P(right).
    diverged : int
        The trial at which the weights diverged, or -1.
    """
    out: tuple[F64, F64, F64, int] = core().learning_trajectory(
        trials.x,
        trials.choice,
        trials.drive(model),
        np.ascontiguousarray(theta, dtype=np.float64),
        model.native(),
    )
    return out


def simulate(
    model: Model,
    x: F64,
    side: F64,
    theta: F64,
    *,
    n_runs: int,
    seed: int,
    first_run: int = 0,
    n_threads: int = 0,
) -> tuple[NDArray[np.int8], F64, F64, F64]:
    """Return runs that choose for themselves.

    Parameters
    ----------
    model : Model
        The network.
    x : ndarray of shape (T, D)
        Inputs.
    side : ndarray of shape (T,)
        Side of the correct choice, NaN where there is none.
    theta : ndarray of shape (P,)
        Parameters in natural coordinates.
    n_runs, first_run : int
        How many runs, and the number of the first: a run depends on its number alone.
    seed : int
        64-bit key.
    n_threads : int
        Threads; 0 takes what OpenMP offers.

    Returns
    -------
    choice, reward, p_right : ndarray of shape (n_runs, T)
        NaN for the reward where the side is NaN.
    weights : ndarray of shape (n_runs, q)
        At the end.
    """
    x, side, theta = (np.ascontiguousarray(a, dtype=np.float64) for a in (x, side, theta))
    step = per_call(model, len(x), lanes=1)
    # room for all of it is asked for before the work
    choice = np.empty((n_runs, len(x)), np.int8)
    reward, p_right = (np.empty((n_runs, len(x))) for _ in range(2))
    weights = np.empty((n_runs, model.n_weights))
    for start in range(0, n_runs, step):
        rows = slice(start, min(start + step, n_runs))
        choice[rows], reward[rows], p_right[rows], weights[rows] = core().learning_simulate(
            x,
            side,
            theta,
            model.native(),
            first_run + start,
            rows.stop - start,
            seed,
            n_threads,
        )
    return choice, reward, p_right, weights


def per_call(
    model: Model, n_trials: int, device: str = "cpu", *, n_passes: int = 1, lanes: int = 16
) -> int:
    """Return how many problems one native call may have, in whole groups of lanes."""
    # the time of a trial grows with the network
    cost = n_passes * max(1, n_trials) * (1 + model.n_theta // 3)
    return lanes * max(1, int(CALL_TRIALS[device] / cost / lanes))


def _caller(name: str, device: str, n_threads: int) -> Any:
    kernel = getattr(cuda() if device == "cuda" else core(), name)
    return kernel if device == "cuda" else lambda *a: kernel(*a, n_threads)


def _in_parts(
    call: Any,
    extra: tuple[bool, ...],
    model: Model,
    trials: Trials,
    thetas: F64,
    masks: Masks | None,
    which_mask: I64 | None,
    device: str,
) -> tuple[Any, ...]:
    thetas = np.ascontiguousarray(thetas, dtype=np.float64)
    rows = np.atleast_2d(trials.mask if masks is None else masks)
    rows = np.ascontiguousarray(rows, dtype=np.uint8)
    which = np.zeros(len(thetas), np.int64) if which_mask is None else which_mask
    which = np.ascontiguousarray(which, dtype=np.int64)
    arrays = (trials.x, trials.choice, trials.drive(model), rows)
    step = per_call(model, len(trials), device)
    parts: list[tuple[Any, ...]] = [
        call(*arrays, which[i : i + step], thetas[i : i + step], model.native(), *extra)
        for i in range(0, max(len(thetas), 1), step)
    ]
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(c) for c in zip(*parts, strict=True))
