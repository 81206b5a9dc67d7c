"""Permutations of trials, and the covariances that each kind of null has under them.

The information values of a null depend on the data only through small matrices: gains of the
white target on the white sources (``"target"``), or covariances in which the residuals of one
source were permuted (the other kinds). Here those matrices are made, for many permutations in one
matrix product each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._areas import Pair
from ._atoms import ATOMS, INFORMATION
from ._series import PairMap, Series

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

PERMUTATIONS, RESAMPLES = 0, 2
NULLS = ("target", "conditional-x", "conditional-y", "noise-shuffle")
TERMS = (*INFORMATION, *ATOMS)
TESTS = {
    "target": TERMS,
    "conditional-x": ("unique_1",),
    "conditional-y": ("unique_2",),
    "noise-shuffle": ("synergy",),
}
"""Atoms that a null says something about."""

# multiply-adds of one matrix product, so that an interrupt is answered within a fraction of a
# second; and permutations of one block, which are one joblib task
PRODUCT = 4e9
FEWEST, MOST = 16, 64


def block_length(series: Series, dm: int) -> int:
    """Return the number of permutations of one block; it depends on the shapes only."""
    width = sum(data.shape[1] for data in series.areas.values())
    n_bins = len(next(iter(series.areas.values())))
    return int(np.clip(PRODUCT / ((series.nu + 1) * dm * width * n_bins), FEWEST, MOST))


def generator(seed: int, purpose: int, i: int) -> np.random.Generator:
    """Return the generator of one permutation or resample."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, i)))


def permutation(seed: int, p: int, n: int, classes: I64 | None = None) -> I64:
    """Return permutation ``p`` of ``n`` trials, the same for all bins, pairs and targets.

    With ``classes`` trials stay within their class, in the order the permutation gives them.
    """
    order: I64 = generator(seed, PERMUTATIONS, p).permutation(n)
    if classes is None:
        return order
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    out = np.empty(n, dtype=np.int64)
    out[np.argsort(classes, kind="stable")] = np.lexsort((rank, classes))
    return out


def resample(seed: int, i: int, n: int, bootstrap: str) -> I64:
    """Return the trials of resample ``i``: half of them, or as many with replacement."""
    rng = generator(seed, RESAMPLES, i)
    if bootstrap == "half":
        return np.sort(rng.permutation(n)[: n // 2])
    return np.sort(rng.integers(0, n, n))


def gains(series: Series, target: str, orders: list[I64]) -> dict[str, F64]:
    """Return the gains (bins, permutations, dm, d) of the permuted target on every area."""
    white = series.targets[target]
    dm, n = white.shape
    rows = np.empty((len(orders), dm, n))
    for i, order in enumerate(orders):
        np.take(white, order, axis=1, out=rows[i])
    flat = rows.reshape(-1, n)
    out = {}
    for name, data in series.areas.items():
        n_bins, d, _ = data.shape
        product = np.empty((n_bins, len(flat), d))
        step = max(1, int(PRODUCT / (flat.size * d)))
        for a in range(0, n_bins, step):
            some = data[a : a + step]
            part = flat @ some.reshape(-1, n).T / series.nu
            product[a : a + step] = part.reshape(len(flat), len(some), d).transpose(1, 0, 2)
        out[name] = product.reshape(n_bins, len(orders), dm, d)
    return out


def channels(pair_map: PairMap, by_area: dict[str, F64]) -> tuple[F64, F64]:
    """Return r (bins, dy, d) and k (bins, permutations, dm, d) of the native kernel."""
    joined = np.concatenate([by_area[name] for name in pair_map.pair.areas], axis=3)
    n_bins, count, dm, d = joined.shape
    # z = inverse w, so its gains are those of w times the transposed inverse
    k = joined.reshape(n_bins, count * dm, d) @ pair_map.inverse.transpose(0, 2, 1)
    r = np.ascontiguousarray(pair_map.lower[:, pair_map.dims[0] :])
    return r, k.reshape(n_bins, count, dm, d)


def residual_covariances(
    series: Series, pair_map: PairMap, target: str, orders: list[I64], null: str, *, discrete: bool
) -> Iterator[tuple[int, F64]]:
    """Yield for each bin the covariances (permutations, d, d), order X, Y, M, of the null.

    One source Y becomes ``F u + e``, where u are the other source and the target, F u is what
    stays in place, and e are the rows that are permuted:

    - ``"conditional-y"`` keeps the regression of Y on X; ``"conditional-x"`` has the roles swapped;
    - ``"noise-shuffle"`` keeps the regression of Y on the target or, for a discrete target, keeps
      nothing, since trials then move within their class only.
    """
    dx, dy = pair_map.dims
    swap = null == "conditional-x"
    moved = slice(0, dx) if swap else slice(dx, dx + dy)
    fixed = slice(dx, dx + dy) if swap else slice(0, dx)
    white = series.targets[target]
    dm = len(white)
    place = _places(pair_map.pair, dx, dy, dm, swap)
    for b in range(len(pair_map.scatter)):
        w = np.concatenate([series.areas[name][b] for name in pair_map.pair.areas])
        u = np.concatenate([w[fixed], white])
        d_fixed = len(u) - dm
        scatter = np.eye(len(u))
        scatter[:d_fixed, :d_fixed] = pair_map.scatter[b][fixed, fixed]
        cross = white @ w[fixed].T / series.nu
        scatter[d_fixed:, :d_fixed], scatter[:d_fixed, d_fixed:] = cross, cross.T
        kept = np.zeros((len(w) - d_fixed, len(u)))
        own = pair_map.scatter[b][moved, moved]
        if null != "noise-shuffle":
            between = pair_map.scatter[b][moved, fixed]
            kept[:, :d_fixed] = np.linalg.solve(scatter[:d_fixed, :d_fixed], between.T).T
            rest = own - kept[:, :d_fixed] @ between.T
        elif discrete:
            rest = own
        else:
            between = w[moved] @ white.T / series.nu
            kept[:, d_fixed:] = between
            rest = own - between @ between.T
        e = w[moved] - kept @ u
        covs = _joint(u, e, kept, scatter, rest, orders, series.nu)
        yield b, np.ascontiguousarray(covs[:, place[:, None], place])


def _places(pair: Pair, dx: int, dy: int, dm: int, swap: bool) -> I64:
    """Return where X, Y and M are in the order fixed source, target, moved source."""
    first = dy if swap else dx
    fixed, target, moved = np.split(np.arange(dx + dy + dm), [first, first + dm])
    return np.concatenate([moved, fixed, target] if swap else [fixed, moved, target])


def _joint(u: F64, e: F64, kept: F64, scatter: F64, rest: F64, orders: list[I64], nu: int) -> F64:
    """Return covariances (permutations, d, d) of (u, kept u + permuted e)."""
    n = e.shape[1]
    d, dy, count = len(u), len(e), len(orders)
    rows = np.empty((count, dy, n))
    for i, order in enumerate(orders):
        np.take(e, order, axis=1, out=rows[i])
    moved = (rows.reshape(-1, n) @ u.T / nu).reshape(count, dy, d)
    out = np.empty((count, d + dy, d + dy))
    out[:, :d, :d] = scatter
    out[:, d:, :d] = kept @ scatter + moved
    out[:, :d, d:] = out[:, d:, :d].transpose(0, 2, 1)
    both = moved @ kept.T
    out[:, d:, d:] = kept @ scatter @ kept.T + both + both.transpose(0, 2, 1) + rest
    return out
