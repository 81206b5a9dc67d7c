"""Random starts of a fit: a pool of draws, of which the likeliest are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._box import Box
from ._model import F64, Model
from ._optimize import Task, evaluate
from ._rescale import at_beta, beta_is_scale
from ._trials import Trials

LOG_SCALE = (np.log(0.1), np.log(2.0))
LOG_ALPHA = (np.log(1e-4), np.log(0.1))
LOG_BETA = (0.0, np.log(10.0))
LOGIT_LAPSE = (-4.0, -1.0)
DRAWS_PER_PLACE = 10
"""Draws after which a fit gives up, over the size of the pool."""


def draw(model: Model, box: Box, seed: int, index: int) -> F64:
    """Return start ``index`` in optimiser coordinates; it depends on nothing else.

    Weights are normal with a scale that is itself drawn. Where beta is fixed, it is drawn all the
    same and handed to weights and learning rate, so that architectures start alike.
    """
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(index,)))
    at = model.alpha_at
    u = np.empty(model.n_theta)
    scale = np.exp(rng.uniform(*LOG_SCALE))
    u[:at] = scale * rng.standard_normal(at)
    u[at] = rng.uniform(*LOG_ALPHA)
    u[at + 1] = rng.uniform(*LOG_BETA)
    if model.lapse:
        u[at + 2] = rng.uniform(*LOGIT_LAPSE)
    if not box.free[at + 1] and beta_is_scale(model):
        u = model.to_coordinates(
            at_beta(model, model.to_natural(u), float(np.exp(box.lower[at + 1])))
        )
    return box.clip(u)


@dataclass(frozen=True)
class Pool:
    """Kept starts of shape (n, P) in optimiser coordinates, likeliest first, and what was lost."""

    starts: F64
    logliks: F64
    n_diverged: int


def likeliest_starts(
    model: Model,
    trials: Trials,
    box: Box,
    seed: int,
    *,
    n_pool: int,
    n_keep: int,
    gradient: str,
    n_threads: int,
) -> Pool:
    """Return the ``n_keep`` likeliest of ``n_pool`` draws that do not diverge.

    A draw that diverges, in its likelihood or (where it would be kept) its gradient, is replaced by
    the next one.
    """
    starts: dict[int, F64] = {}
    logliks: dict[int, float] = {}
    sound: set[int] = set()
    drawn = n_diverged = 0
    while True:
        missing = n_pool - len(starts)
        if missing:
            fresh = range(drawn, min(drawn + missing, DRAWS_PER_PLACE * n_pool))
            if not fresh:
                raise ValueError(
                    f"{n_diverged} of {drawn} random starts diverge, more than n_pool={n_pool} can "
                    "replace: check the scale of X, or lower alpha_bounds"
                )
            drawn = fresh.stop
            rows = np.array([draw(model, box, seed, i) for i in fresh])
            found = evaluate(
                model, start_task(trials, rows, box), gradient=False, n_threads=n_threads
            )
            for i, u, loglik, diverged in zip(
                fresh, rows, found.loglik, found.diverged, strict=True
            ):
                if diverged >= 0:
                    n_diverged += 1
                else:
                    starts[i], logliks[i] = u, float(loglik)
            continue
        kept = sorted(starts, key=lambda i: (-logliks[i], i))[:n_keep]
        unsure = [i for i in kept if i not in sound]
        if not unsure:
            break
        found = evaluate(
            model,
            start_task(trials, np.array([starts[i] for i in unsure]), box),
            gradient=gradient,
            n_threads=n_threads,
        )
        for i, diverged in zip(unsure, found.diverged, strict=True):
            if diverged >= 0:
                del starts[i], logliks[i]
                n_diverged += 1
            else:
                sound.add(i)
    return Pool(
        np.array([starts[i] for i in kept]), np.array([logliks[i] for i in kept]), n_diverged
    )


def start_task(trials: Trials, starts: F64, box: Box) -> Task:
    """Return the problem of maximising the likelihood of all counted trials from each start."""
    n = len(starts)
    return Task(
        trials=trials,
        masks=trials.mask[None],
        which_mask=np.zeros(n, dtype=np.int64),
        starts=np.ascontiguousarray(starts),
        free=np.tile(box.free, (n, 1)),
        lower=box.lower,
        upper=box.upper,
    )
