"""Hold-out by blocks: contiguous runs of trials that count in no refit but still teach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nb26stats._warnings import warn

from ._embedding import embeddings
from ._model import F64, Model
from ._optimize import CONVERGED, START_DIVERGED, Task, evaluate, maximize
from ._options import Options
from ._prior import gaussian_prior
from ._start_draws import likeliest_starts
from ._trials import Trials

HIT = 0.5
"""Starts that end so near the best, in log units, found the same optimum."""


@dataclass(frozen=True, eq=False)
class Refits:
    """The best fit under each mask: coordinates (m, P), starts that found it, whether it ended."""

    u: F64
    n_hit: NDArray[np.int64]
    converged: NDArray[np.bool_]


def cut_blocks(trials: Trials, n_blocks: int) -> NDArray[np.int64]:
    """Return the block of every trial: contiguous, whole sessions, alike in counted trials.

    Parameters
    ----------
    trials : Trials
        The trials of one animal. Without sessions, blocks may begin at any counted trial.
    n_blocks : int
        Number of blocks.

    Returns
    -------
    ndarray of shape (T,)
        0 to ``n_blocks - 1``, non-decreasing.

    Raises
    ------
    ValueError
        There are fewer sessions with counted trials than blocks.
    """
    pieces = np.arange(len(trials)) if trials.sessions is None else trials.sessions
    counted = np.bincount(pieces, weights=trials.mask).astype(np.int64)
    whole = np.flatnonzero(counted)
    if whole.size < n_blocks:
        what, advice = (
            ("counted trials", "")
            if trials.sessions is None
            else ("sessions with counted trials", "; sessions=None cuts between trials")
        )
        raise ValueError(
            f"n_blocks={n_blocks} must be at most the number of {what}, {whole.size}{advice}"
        )
    # block b begins at the piece nearest to its share, and leaves a piece for each of the others
    before = np.concatenate([[0], np.cumsum(counted[whole])])
    begins = [0]
    for b in range(1, n_blocks):
        nearest = int(np.abs(before[:-1] - before[-1] * b / n_blocks).argmin())
        begins.append(min(max(nearest, begins[-1] + 1), whole.size - n_blocks + b))
    first = whole[begins]
    first[0] = 0
    out: NDArray[np.int64] = np.searchsorted(first, pieces, side="right") - 1
    return out


def cross_validate(
    options: Options,
    model: Model,
    trials: Trials,
    seed: int,
    n_blocks: int,
    *,
    on_done: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """Return how well fits without a block predict the choices in it, block by block.

    The trials of a block teach the network, in the refit and in the prediction, but count only in
    the prediction. A refit searches as the fit does: its random starts are chosen without the
    block, and none comes from a fit that saw it.

    Parameters
    ----------
    options : Options
        Checked parameters of the estimator.
    model : Model
        The model.
    trials : Trials
        The trials of one animal.
    seed : int
        Key of the starts.
    n_blocks : int
        Number of blocks.
    on_done : callable, optional
        Called with the number of refits done since its last call.

    Returns
    -------
    dict
        ``block_loglik`` and ``block_n``, arrays of shape (n_blocks,): the log-likelihood and the
        number of counted trials of each block; ``mean``, the log-likelihood per counted trial;
        ``blocks`` of shape (T,), the block of each trial; ``block_theta`` of shape (n_blocks, P)
        and ``block_n_hit``, the parameters of the refits and how many starts found each.
    """
    blocks = cut_blocks(trials, n_blocks)
    held = trials.mask & (blocks == np.arange(n_blocks)[:, None])
    refits = _refit_in_jobs(options, model, trials, trials.mask & ~held, seed, on_done)
    rows = np.arange(n_blocks)
    region = options.box(model)
    test = Task(
        trials, held, rows, refits.u, _rows(region.free, n_blocks), region.lower, region.upper
    )
    loglik = evaluate(model, test, n_threads=options.n_threads).loglik
    counts = held.sum(axis=1)
    _warn_unsure(refits)
    return {
        "block_loglik": loglik,
        "block_n": counts,
        "mean": float(loglik.sum() / counts.sum()),
        "blocks": blocks,
        "block_theta": model.to_natural(refits.u),
        "block_n_hit": refits.n_hit,
    }


def _refit_in_jobs(
    options: Options,
    model: Model,
    trials: Trials,
    masks: NDArray[np.bool_],
    seed: int,
    on_done: Callable[[int], object] | None,
) -> Refits:
    jobs = min(effective_n_jobs(options.n_jobs), len(masks))
    if jobs == 1:
        return refit(options, model, trials, masks, seed, on_done=on_done)
    parts: list[Refits] = Parallel(n_jobs=options.n_jobs)(
        delayed(refit)(options, model, trials, group, seed) for group in np.array_split(masks, jobs)
    )
    return Refits(*(np.concatenate(f) for f in zip(*map(astuple, parts), strict=True)))


def refit(
    options: Options,
    model: Model,
    trials: Trials,
    masks: NDArray[np.bool_],
    seed: int,
    *,
    on_done: Callable[[int], object] | None = None,
) -> Refits:
    """Return the best fit under each mask; all starts of all masks advance together."""
    region, n = options.box(model), len(masks)
    nested: list[list[F64]] = [[] for _ in range(n)]
    if model.deep and options.nested_start:
        less, small = options.shallow(model)
        shallow = small.to_natural(refit(less, small, trials, masks, seed, on_done=on_done).u)
        for own, theta in zip(nested, shallow, strict=True):
            own += [s.u for s in embeddings(model, theta, region, seed, n_pool=options.n_pool)]
    starts, which = [], []
    for b, mask in enumerate(masks):
        pool = likeliest_starts(
            model,
            trials.masked(mask),
            region,
            seed,
            n_pool=options.n_pool,
            n_keep=options.n_restarts,
            gradient=options.gradient,
            n_threads=options.n_threads,
        )
        own = [*pool.starts, *nested[b]]
        starts += own
        which += [b] * len(own)
    in_mask = np.array(which, dtype=np.int64)
    free = _rows(region.free, in_mask.size)
    task = Task(trials, masks, in_mask, np.array(starts), free, region.lower, region.upper)
    (found,) = maximize(
        model,
        [task],
        prior=gaussian_prior(model, weight_sd=options.weight_sd)
        if options.penalty == "gaussian"
        else None,
        max_iter=options.max_iter,
        gradient=options.gradient,
        n_threads=options.n_threads,
        on_done=on_done,
    )
    objective = np.where(found.end == START_DIVERGED, -np.inf, found.objective)
    at = np.array([int(np.where(in_mask == b, objective, -np.inf).argmax()) for b in range(n)])
    near = objective >= objective[at][in_mask] - HIT
    return Refits(
        found.u[at],
        np.bincount(in_mask[near], minlength=n).astype(np.int64),
        found.end[at] == CONVERGED,
    )


def _rows(free: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    return np.tile(free, (n, 1))


def _warn_unsure(refits: Refits) -> None:
    n = len(refits.u)
    once = int((refits.n_hit == 1).sum())
    if once:
        warn(
            f"the optimum of {once} of {n} refits was found by one start only, so that a better "
            "one may exist: raise n_restarts",
            ConvergenceWarning,
        )
    if not refits.converged.all():
        warn(
            f"{int((~refits.converged).sum())} of {n} refits did not converge: raise max_iter",
            ConvergenceWarning,
        )
