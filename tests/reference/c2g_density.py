"""Slow oracle of the conditional densities: each resample of an arm is fitted anew, plain NumPy.

`refit_with_tree` is the same refit for all queries at once by a tree, as one would write it.

An arm is the rows of one treatment group: covariates x (n, p) and outcomes y (n,), with k
neighbours and the bandwidths hx of the covariates and hy of the outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Setting = tuple[int, float, float]

LOW, HIGH = 1e-100, 1e100
SALT = 0x63326700
MASK = 0xFFFFFFFF


def words(index: I64, stream: int, seed: int) -> tuple[I64, I64]:
    """Return the first two words of Philox4x32-10 for each index of a stream."""
    c0, c1 = (np.asarray(index, np.uint64) >> np.uint64(s) & np.uint64(MASK) for s in (0, 32))
    c2, c3 = (np.full(c0.shape, stream >> s & MASK, np.uint64) for s in (0, 32))
    lo, hi = seed & MASK, (seed >> 32) ^ SALT
    half, low = np.uint64(32), np.uint64(MASK)
    for turn in range(10):
        if turn:
            lo, hi = (lo + 0x9E3779B9) & MASK, (hi + 0xBB67AE85) & MASK
        m0, m1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = m1 >> half ^ c1 ^ np.uint64(lo), m1 & low
        c2, c3 = m0 >> half ^ c3 ^ np.uint64(hi), m0 & low
    return c0.astype(np.int64), c1.astype(np.int64)


def draws(n: int, b: int, arm: int, seed: int, n_draws: int | None = None) -> I64:
    """Return the rows that resample b of an arm (0 control, 1 treated) counts, draw by draw."""
    r0, r1 = words(np.arange(n if n_draws is None else n_draws), 2 * b + arm, seed)
    return np.array(
        [n * (int(v) + (int(w) << 32)) >> 64 for v, w in zip(r0, r1, strict=True)], dtype=np.int64
    )


def resample_counts(n: int, n_bootstrap: int, arm: int, seed: int) -> I64:
    """Return how often each resample counts each row (B, n)."""
    rows = [np.bincount(draws(n, b, arm, seed), minlength=n) for b in range(n_bootstrap)]
    return np.array(rows, dtype=np.int64).reshape(n_bootstrap, n)


@dataclass(frozen=True)
class Local:
    """What one fit says at one point."""

    density: F64
    mean: float
    ess: float


def fit_at(
    x: F64, y: F64, counts: I64, setting: Setting, query: F64, own: int, points: F64
) -> Local:
    """Fit to the counted rows but the query's own; density at points (g,), mean, sample size."""
    k, hx, hy = setting
    rows = np.repeat(np.arange(len(y)), counts)
    rows = rows[rows != own]
    if len(rows) == 0:
        # nothing but copies of the query: its nearest row, as in the fit without resampling
        rows = np.setdiff1d(np.arange(len(y)), [own])
        k = 1
    square = ((x[rows] - query) ** 2).sum(axis=1)
    near = np.lexsort((rows, square))[:k]
    kernel = np.exp(-(square[near] - square[near[0]]) / (2 * hx**2))
    z = (points[:, None] - y[rows[near]]) / hy
    normal = np.exp(-0.5 * z**2) / (hy * np.sqrt(2 * np.pi))
    total = kernel.sum()
    return Local(
        density=normal @ kernel / total,
        mean=float(kernel @ y[rows[near]] / total),
        ess=float(total**2 / (kernel**2).sum()),
    )


def refit_with_tree(
    x: F64, y: F64, counts: I64, setting: Setting, queries: F64, own: I64, points: F64
) -> tuple[F64, F64]:
    """Fit to the counted rows; densities (m, g) and means (m,) at queries without own rows (m,)."""
    k, hx, hy = setting
    rows = np.repeat(np.arange(len(y)), counts)
    extra = int(counts[own[own >= 0]].max(initial=0))
    distance, found = cKDTree(x[rows]).query(queries, k + extra)
    found = rows[found]
    distance[found == own[:, None]] = np.inf
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    square = np.take_along_axis(distance, order, axis=1) ** 2
    outcome = y[np.take_along_axis(found, order, axis=1)]
    kernel = np.exp(-(square - square[:, :1]) / (2 * hx**2))
    kernel /= kernel.sum(axis=1, keepdims=True)
    density = np.empty((len(queries), len(points)))
    for i in range(0, len(queries), 64):
        z = (points - outcome[i : i + 64, :, None]) / hy
        normal = np.exp(-0.5 * z**2)
        density[i : i + 64] = (kernel[i : i + 64, None] @ normal)[:, 0]
    return density / (hy * np.sqrt(2 * np.pi)), (kernel * outcome).sum(axis=1)


def prior_of(lower_control: F64, upper_treated: F64, threshold: float, q: float) -> float:
    """Return pi* from bounds of both densities on the grid."""
    use = qualified(upper_treated, threshold)
    return prior_on(use, lower_control, upper_treated, q)


def qualified(upper_treated: F64, threshold: float) -> NDArray[np.bool_]:
    """Return where the treated density is above the threshold, lowered until a point is."""
    while not np.any(upper_treated > threshold):
        threshold *= 0.9
    return upper_treated > threshold


def prior_on(use: NDArray[np.bool_], control: F64, treated: F64, q: float) -> float:
    """Return pi* from the qualified grid points."""
    ratio = treated[use] / control[use]
    return float(np.clip(1 - np.quantile(ratio, q), 0, 1))


@dataclass(frozen=True)
class Oracle:
    """Everything that the kernel answers."""

    prior: F64
    lfdr: F64
    mean: F64  # (2, m): control, treated
    ess: F64
    prior_b: F64  # (m, B)
    mean_b: F64  # (2, m, B)
    point: F64  # (2, m, G)
    lower: F64
    upper: F64


def bootstrap(
    arms: list[tuple[F64, F64, Setting]],
    queries: F64,
    outcomes: F64,
    own: I64,
    grid: F64,
    *,
    n_bootstrap: int,
    quantile: float = 0.2,
    threshold: float = 0.05,
    ratio_quantile: float = 0.01,
    seed: int = 0,
) -> Oracle:
    """Return the bounds at queries (m, p) with outcomes (m,) and own rows (2, m), -1 for none."""
    m, g = len(queries), len(grid)
    fits = np.empty((2, n_bootstrap, m, g + 1))
    mean_b, mean, ess = np.empty((2, m, n_bootstrap)), np.empty((2, m)), np.empty((2, m))
    point = np.empty((2, m, g))
    for a, (x, y, setting) in enumerate(arms):
        counts = resample_counts(len(y), n_bootstrap, a, seed)
        once = np.ones(len(y), dtype=np.int64)
        for i in range(m):
            at = np.append(grid, outcomes[i])
            whole = fit_at(x, y, once, setting, queries[i], own[a, i], at)
            point[a, i], mean[a, i], ess[a, i] = whole.density[:-1], whole.mean, whole.ess
            for b in range(n_bootstrap):
                one = fit_at(x, y, counts[b], setting, queries[i], own[a, i], at)
                fits[a, b, i], mean_b[a, i, b] = one.density, one.mean
    lower = np.clip(np.quantile(fits, quantile, axis=1), LOW, HIGH)
    upper = np.clip(np.quantile(fits, 1 - quantile, axis=1), LOW, HIGH)
    prior, prior_b = np.empty(m), np.empty((m, n_bootstrap))
    fits = np.clip(fits, LOW, HIGH)
    for i in range(m):
        use = qualified(upper[1, i, :g], threshold)
        prior[i] = prior_on(use, lower[0, i, :g], upper[1, i, :g], ratio_quantile)
        for b in range(n_bootstrap):
            prior_b[i, b] = prior_on(use, fits[0, b, i, :g], fits[1, b, i, :g], ratio_quantile)
    lfdr = np.clip((1 - prior) * upper[0, :, g] / lower[1, :, g], 0, 1)
    return Oracle(prior, lfdr, mean, ess, prior_b, mean_b, point, lower[..., :g], upper[..., :g])


def spread(values: F64, fractions: F64) -> F64:
    """Return the median over rows of the distance to the m-th other row, m by the fractions."""
    n = len(values)
    ranks = np.unique(np.clip((n * fractions).astype(np.int64), 2, n - 1))
    square = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, -1.0)
    ordered = np.sqrt(np.sort(square, axis=1)[:, 1:])
    return np.median(ordered[:, ranks - 1], axis=0)


def leave_one_out(x: F64, y: F64, setting: Setting) -> float:
    """Return the sum over rows of the log density given the others, each at least log 1e-100."""
    once = np.ones(len(y), dtype=np.int64)
    at = [fit_at(x, y, once, setting, x[i], i, y[i : i + 1]).density[0] for i in range(len(y))]
    return float(np.log(np.clip(at, LOW, HIGH)).sum())
