"""Which treated rows are selected: the running mean of lfdr, and its calibration by controls.

Every rule is given as q-values, and ``select(q)`` is the rows whose q-value is at most q, so that
the two cannot disagree. Tied rows are selected together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

ROUNDING = 1.0 + 1e-12
"""Relative room for rounding when an estimated rate is compared with q."""
LEVELS = np.linspace(0.0, 1.0, 1000)
"""Levels of the published control."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Controls that stand in for the false selections.

    Parameters
    ----------
    score : ndarray of shape (n0,)
        Out-of-sample scores.
    weight : ndarray of shape (n0,)
        Odds of treatment, or 1 in a randomised experiment.
    prior : ndarray of shape (n0,)
        Share of would-be responders at each control that is not counted against the selection.
    treated_weight : ndarray of shape (n1,), optional
        Weights that the treated rows would have as controls.
    """

    score: F64
    weight: F64
    prior: F64
    treated_weight: F64 | None = None


@dataclass(frozen=True, eq=False)
class Ranking:
    """Treated rows from the smallest lfdr up, in blocks of equal lfdr.

    Attributes
    ----------
    block : ndarray of shape (n1,)
        Number of the block of every row, in the order of the rows.
    value : ndarray of shape (b,)
        Lfdr of each block.
    last : ndarray of shape (b,)
        Rank of the last row of each block, counted from 1.
    mean : ndarray of shape (b,)
        Mean lfdr of all rows up to the end of each block.
    """

    block: I64
    value: F64
    last: I64
    mean: F64


def running_mean(values: F64) -> F64:
    """Return the mean of the k smallest values for every k, as a sequence that never falls."""
    mean = np.cumsum(np.sort(values)) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum.accumulate(mean))


def rank(lfdr: F64) -> Ranking:
    """Return the blocks of equal lfdr in ascending order."""
    value, block, count = np.unique(lfdr, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return Ranking(block.reshape(-1), value, last, running_mean(lfdr)[last - 1])


def calibrated_fdr(ranking: Ranking, controls: Calibration) -> F64:
    """Return the weighted share of controls that score as low as each block, as an estimated FDR.

    One more control is counted, so that an empty tail does not read as no error. Its weight is the
    mean of all controls, and more where the rows up to the block would weigh more as controls:
    where treatment is likely few controls stand for many treated rows, and their absence says
    little.
    """
    n0, n1 = len(controls.score), len(ranking.block)
    discounted = controls.weight * (1.0 - controls.prior)
    order = np.argsort(controls.score, kind="stable")
    passed = np.concatenate([[0.0], np.cumsum(discounted[order])])
    below = np.searchsorted(controls.score[order], ranking.value, side="right")
    total = controls.weight.sum() * (1.0 + 1.0 / n0)
    offset = np.full(len(ranking.last), discounted.sum() / n0)
    if controls.treated_weight is not None:
        # rows that no control resembles are told of elsewhere, and must not silence the others
        own = np.minimum(controls.treated_weight, controls.weight.max())
        summed = np.cumsum(own[np.lexsort((own, ranking.block))])
        heavier = summed[ranking.last - 1] / ranking.last / controls.weight.mean()
        offset *= np.maximum(1.0, heavier)
    return np.asarray((offset + passed[below]) * n1 / total / ranking.last)


def q_values(lfdr: F64, control: str, controls: Calibration | None = None) -> F64:
    """Return the smallest q at which each treated row is selected.

    Parameters
    ----------
    lfdr : ndarray of shape (n1,)
        Local false discovery rates of the treated rows.
    control : {"model", "calibrated", "published"}
        The rule.
    controls : Calibration, optional
        Needed by all rules but "model".

    Returns
    -------
    ndarray of shape (n1,)
    """
    if not len(lfdr):
        return np.empty(0)
    ranking = rank(lfdr)
    if control == "model":
        by_block = ranking.mean
    else:
        assert controls is not None
        if control == "calibrated":
            by_block = np.maximum(ranking.mean, calibrated_fdr(ranking, controls))
            by_block = np.minimum(np.minimum.accumulate(by_block[::-1])[::-1], 1.0)
        else:
            by_block = _published(ranking, controls.score)
    return np.asarray((by_block / ROUNDING)[ranking.block])


def select(lfdr: F64, q: float, control: str, controls: Calibration | None = None) -> I64:
    """Return the positions of the selected rows, in ascending order."""
    return np.flatnonzero(q_values(lfdr, control, controls) <= q)


def _published(ranking: Ranking, control_score: F64) -> F64:
    """Return q-values of the rule that compares counts of both arms at fixed levels."""
    level = LEVELS * ROUNDING
    blocks = np.searchsorted(ranking.mean, level, side="right")
    n_treated = np.concatenate([[0], ranking.last])[blocks]
    other = rank(control_score)
    n_control = np.concatenate([[0], other.last])[np.searchsorted(other.mean, level, side="right")]
    needed = np.minimum(np.maximum(LEVELS, n_control / np.maximum(1, n_treated)), 1.0)
    # a row is in whatever level selects its block, which are all levels from its first on
    best = np.append(np.minimum.accumulate(needed[::-1])[::-1], 1.0)
    return best[np.searchsorted(level, ranking.mean, side="left")]
