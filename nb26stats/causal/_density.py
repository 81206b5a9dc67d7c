"""Conditional densities of both arms: settings by leave-one-out likelihood, bootstrap bounds.

The density at x is a mean over the k rows nearest to x, weighted by a Gaussian of their distance
with width hx, of Gaussians around their outcomes with width hy. Covariates come standardised and
outcomes scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import choose_device

from . import _native
from ._native import F64, I64, NativeArm, Progress


@dataclass(frozen=True)
class Arm:
    """One arm's density: its rows and the setting that was chosen for them."""

    x: F64  # (n, p)
    y: F64  # (n,)
    n_neighbors: int
    hx: float
    hy: float


@dataclass(frozen=True)
class Bounds:
    """What the bootstrap says at m queries."""

    prior: F64  # (m,) lower bound of the response probability
    lfdr: F64  # (m,) upper bound at the query's outcome, NaN without outcomes
    control_mean: F64  # (m,) neighbour means
    treated_mean: F64
    control_ess: F64  # (m,) effective numbers of neighbours
    treated_ess: F64
    prior_b: F64 | None  # (m, B) the same in every resample
    control_mean_b: F64 | None
    treated_mean_b: F64 | None


@dataclass(frozen=True)
class Curves:
    """Densities at m queries on the grid, with bounds: each (m, G)."""

    control: F64
    treated: F64
    control_lower: F64
    control_upper: F64
    treated_lower: F64
    treated_upper: F64


def tune(
    x: F64,
    y: F64,
    *,
    n_neighbors: Sequence[int],
    fractions: F64,
    n_threads: int = 0,
    on_done: Progress | None = None,
) -> Arm:
    """Return the arm with the setting of the highest leave-one-out log-likelihood.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Standardised covariates of the arm; p may be 0, and all other rows are then neighbours.
    y : ndarray of shape (n,)
        Scaled outcomes.
    n_neighbors : sequence of int
        Candidates of k, cut to n - 1.
    fractions : ndarray
        A candidate of either width is the median distance to the m-th nearest other row, m being
        such a fraction of n.
    n_threads : int
        Threads; 0 takes what OpenMP offers.
    on_done : callable, optional
        Called with the number of rows that are finished.

    Raises
    ------
    ValueError
        All outcomes are equal.
    """
    n, p = x.shape
    ranks = np.unique(np.clip((n * fractions).astype(np.int64), 2, n - 1))
    columns = np.ascontiguousarray(x.T, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    k = np.unique(np.clip(np.asarray(n_neighbors, dtype=np.int64), 1, n - 1))
    hx = _widths(columns, ranks, n_threads)
    if p == 0:
        # all rows are equally near
        k = np.array([n - 1], dtype=np.int64)
    if hx.size == 0:
        hx = np.ones(1)
    hy = _widths(y[None], ranks, n_threads)
    if hy.size == 0:
        gaps = np.diff(np.unique(y))
        if gaps.size == 0:
            raise ValueError(f"all {n} outcomes of an arm are equal: they have no density")
        hy = gaps.min(keepdims=True)
    score = _native.leave_one_out(columns, y, k, hx, hy, n_threads=n_threads, on_done=on_done)
    a, b, c = np.unravel_index(int(np.argmax(score)), score.shape)
    return Arm(x, y, int(k[a]), float(hx[b]), float(hy[c]))


def bootstrap(
    control: Arm,
    treated: Arm,
    x: F64,
    y: F64 | None,
    own_control: I64,
    own_treated: I64,
    grid: F64,
    *,
    n_bootstrap: int,
    quantile: float,
    threshold: float,
    ratio_quantile: float,
    seed: int,
    device: str = "auto",
    n_threads: int = 0,
    on_done: Progress | None = None,
    keep_resamples: bool = True,
) -> Bounds:
    """Return bounds from resamples of both arms.

    Parameters
    ----------
    control, treated : Arm
        The arms.
    x : ndarray of shape (m, p)
        Queries, in the arms' units.
    y : ndarray of shape (m,), or None
        Their outcomes.
    own_control, own_treated : ndarray of shape (m,)
        The query's row in the arm, which is left out there; -1 where it is none of its rows.
    grid : ndarray of shape (G,)
        Outcomes at which the arms are compared.
    n_bootstrap : int
        Resamples of each arm.
    quantile : float
        Of the densities over the resamples: the lower bound; the upper is 1 - ``quantile``.
    threshold : float
        Grid points count where the treated density's upper bound is above it.
    ratio_quantile : float
        Of the ratios of treated and control density over these points.
    seed : int
        64-bit key of the resamples.
    device : {"auto", "cpu", "cuda"}
        Where to compute.
    n_threads : int
        Threads on the CPU; 0 takes what OpenMP offers.
    on_done : callable, optional
        Called with the number of queries that are finished.
    keep_resamples : bool
        Whether to return the values of every resample.
    """
    prior, lfdr, mean, ess, prior_b, mean_b, _, _ = _run(
        (control, treated),
        x,
        y,
        (own_control, own_treated),
        grid,
        (quantile, threshold, ratio_quantile),
        n_bootstrap=n_bootstrap,
        seed=seed,
        keep_resamples=keep_resamples,
        curves=False,
        device=device,
        n_threads=n_threads,
        on_done=on_done,
    )
    kept = (None, None) if mean_b is None else (mean_b[0], mean_b[1])
    return Bounds(prior, lfdr, mean[0], mean[1], ess[0], ess[1], prior_b, *kept)


def densities(
    control: Arm,
    treated: Arm,
    x: F64,
    own_control: I64,
    own_treated: I64,
    grid: F64,
    *,
    n_bootstrap: int,
    quantile: float,
    seed: int,
    n_threads: int = 0,
) -> Curves:
    """Return both densities at a few queries, with bounds from the resamples.

    Parameters
    ----------
    control, treated, x, own_control, own_treated, grid, n_bootstrap, quantile, seed, n_threads
        As for ``bootstrap``.
    """
    *_, point, bounds = _run(
        (control, treated),
        x,
        None,
        (own_control, own_treated),
        grid,
        (quantile, 0.0, 0.0),
        n_bootstrap=n_bootstrap,
        seed=seed,
        keep_resamples=False,
        curves=True,
        device="cpu",
        n_threads=n_threads,
        on_done=None,
    )
    (lower_0, lower_1), (upper_0, upper_1) = bounds
    return Curves(point[0], point[1], lower_0, upper_0, lower_1, upper_1)


def _widths(columns: F64, ranks: I64, n_threads: int) -> F64:
    """Return the positive candidates, without repeats."""
    found = np.unique(_native.spread(columns, ranks, n_threads=n_threads))
    positive: F64 = found[found > 0]
    return positive


def _run(
    arms: tuple[Arm, Arm],
    x: F64,
    y: F64 | None,
    own: tuple[I64, I64],
    grid: F64,
    rule: tuple[float, float, float],
    *,
    n_bootstrap: int,
    seed: int,
    keep_resamples: bool,
    curves: bool,
    device: str,
    n_threads: int,
    on_done: Progress | None,
) -> tuple[NDArray[np.float64], ...]:
    native = tuple(_native_arm(arm, a, n_bootstrap, seed, n_threads) for a, arm in enumerate(arms))
    return _native.bounds(
        (native[0], native[1]),
        np.ascontiguousarray(x, dtype=np.float64),
        None if y is None else np.ascontiguousarray(y, dtype=np.float64),
        (
            np.ascontiguousarray(own[0], dtype=np.int64),
            np.ascontiguousarray(own[1], dtype=np.int64),
        ),
        np.ascontiguousarray(grid, dtype=np.float64),
        rule,
        keep_resamples=keep_resamples,
        curves=curves,
        device=choose_device(device),
        n_threads=n_threads,
        on_done=on_done,
    )


def _native_arm(arm: Arm, which: int, n_bootstrap: int, seed: int, n_threads: int) -> NativeArm:
    return (
        np.ascontiguousarray(arm.x.T, dtype=np.float64),
        np.ascontiguousarray(arm.y, dtype=np.float64),
        arm.n_neighbors,
        arm.hx,
        arm.hy,
        _native.resamples(len(arm.y), n_bootstrap, which, seed, n_threads),
    )
