"""Random starts of a fit: a pool of draws, of which the likeliest are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ._box import Box
from ._model import F64, Model
from ._optimize import Task, evaluate
from ._options import Options
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


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of one key, each made once however many animals and masks start from it."""

    model: Model
    box: Box
    seed: int
    made: dict[int, F64] = field(default_factory=dict)

    def __getitem__(self, index: int) -> F64:
        if index not in self.made:
            self.made[index] = draw(self.model, self.box, self.seed, index)
        return self.made[index]


@dataclass(frozen=True, eq=False)
class Pool:
    """Kept starts of shape (n, P) in optimiser coordinates, likeliest first, and what was lost."""

    starts: F64
    logliks: F64
    n_diverged: int


@dataclass(eq=False)
class _Filling:
    """The pool of one mask while it is filled."""

    n_pool: int
    n_keep: int
    logliks: dict[int, float] = field(default_factory=dict)
    sound: set[int] = field(default_factory=set)
    drawn: int = 0
    n_diverged: int = 0

    @property
    def missing(self) -> int:
        return self.n_pool - len(self.logliks)

    def kept(self) -> list[int]:
        return sorted(self.logliks, key=lambda i: (-self.logliks[i], i))[: self.n_keep]

    def unsure(self) -> list[int]:
        """Return draws to be kept whose gradient is not known to be finite."""
        return [] if self.missing else [i for i in self.kept() if i not in self.sound]

    def fresh(self) -> list[int]:
        """Return the next draws."""
        most = DRAWS_PER_PLACE * self.n_pool
        out = range(self.drawn, min(self.drawn + self.missing, most))
        if self.missing and not out:
            raise ValueError(
                f"{self.n_diverged} of {self.drawn} random starts diverge, more than "
                f"n_pool={self.n_pool} can replace: check the scale of X, or lower alpha_bounds"
            )
        self.drawn = out.stop
        return list(out)


def likeliest_starts(
    options: Options, draws: Draws, trials: Trials, masks: NDArray[np.bool_]
) -> list[Pool]:
    """Return for each mask the ``n_restarts`` likeliest of ``n_pool`` draws that do not diverge.

    A draw that diverges, in its likelihood or (where it would be kept) its gradient, is replaced by
    the next one.
    """
    pools = [_Filling(options.n_pool, options.n_restarts) for _ in masks]

    def evaluated(
        indices: list[list[int]], gradient: bool | str
    ) -> Iterator[tuple[_Filling, int, float, bool]]:
        owner = [b for b, mine in enumerate(indices) for _ in mine]
        drawn = [i for mine in indices for i in mine]
        if not drawn:
            return
        rows = np.array([draws[i] for i in drawn])
        task = start_task(trials, rows, draws.box, masks, np.array(owner, dtype=np.int64))
        found = evaluate(draws.model, task, gradient=gradient, n_threads=options.n_threads)
        for b, i, loglik, at in zip(owner, drawn, found.loglik, found.diverged, strict=True):
            yield pools[b], i, float(loglik), bool(at >= 0)

    while True:
        for pool, i, loglik, diverged in evaluated([pool.fresh() for pool in pools], False):
            if diverged:
                pool.n_diverged += 1
            else:
                pool.logliks[i] = loglik
        unsure = [pool.unsure() for pool in pools]
        for pool, i, _, diverged in evaluated(unsure, options.gradient):
            if diverged:
                del pool.logliks[i]
                pool.n_diverged += 1
            else:
                pool.sound.add(i)
        if not any(pool.missing for pool in pools):
            break
    return [
        Pool(
            np.array([draws[i] for i in pool.kept()]),
            np.array([pool.logliks[i] for i in pool.kept()]),
            pool.n_diverged,
        )
        for pool in pools
    ]


def start_task(
    trials: Trials,
    starts: F64,
    box: Box,
    masks: NDArray[np.bool_] | None = None,
    which_mask: NDArray[np.int64] | None = None,
) -> Task:
    """Return the problem of maximising the likelihood from each start.

    All counted trials make it up, or those of the mask that belongs to the start.
    """
    n = len(starts)
    return Task(
        trials=trials,
        masks=trials.mask[None] if masks is None else masks,
        which_mask=np.zeros(n, dtype=np.int64) if which_mask is None else which_mask,
        starts=np.ascontiguousarray(starts),
        free=np.tile(box.free, (n, 1)),
        lower=box.lower,
        upper=box.upper,
    )
