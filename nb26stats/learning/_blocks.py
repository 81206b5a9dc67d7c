"""Hold-out by blocks: contiguous runs of trials that count in no refit but still teach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nb26stats._warnings import warn

from ._fit import CONVERGED, Optimum, Problem, search, sound
from ._model import Model
from ._optimize import evaluate
from ._options import Options
from ._start_draws import start_task
from ._trials import Trials


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
        Seed of the starts.
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
    problem = Problem(trials, without_blocks(trials, blocks), seed)
    (found,) = search(options, model, [problem], on_done=on_done)
    refits = sound(found)
    out = held_out(options, model, trials, blocks, refits)
    _warn_unsure(refits)
    return out


def without_blocks(trials: Trials, blocks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the masks of the refits, of shape (n_blocks, T)."""
    out: NDArray[np.bool_] = trials.mask & (blocks != np.arange(blocks[-1] + 1)[:, None])
    return out


def held_out(
    options: Options,
    model: Model,
    trials: Trials,
    blocks: NDArray[np.int64],
    refits: Sequence[Optimum],
) -> dict[str, Any]:
    """Return what ``cross_validate`` does, of refits that are there."""
    n = len(refits)
    held = trials.mask & (blocks == np.arange(n)[:, None])
    u = np.array([refit.u for refit in refits])
    test = start_task(trials, u, options.box(model), held, np.arange(n))
    loglik = evaluate(model, test, n_threads=options.n_threads).loglik
    counts = held.sum(axis=1)
    return {
        "block_loglik": loglik,
        "block_n": counts,
        "mean": float(loglik.sum() / counts.sum()),
        "blocks": blocks,
        "block_theta": model.to_natural(u),
        "block_n_hit": np.array([refit.n_hit for refit in refits], dtype=np.int64),
    }


def _warn_unsure(refits: Sequence[Optimum]) -> None:
    n = len(refits)
    once = sum(refit.n_hit == 1 for refit in refits)
    if once:
        warn(
            f"the optimum of {once} of {n} refits was found by one start only, so that a better "
            "one may exist: raise n_restarts",
            ConvergenceWarning,
        )
    lost = sum(refit.end != CONVERGED for refit in refits)
    if lost:
        warn(f"{lost} of {n} refits did not converge: raise max_iter", ConvergenceWarning)
