"""White coordinates of every area and bin, from which each pair's and each null's follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._areas import Pair

F64 = NDArray[np.float64]
# added to a covariance that is singular in one bin, relative to the variance over all bins
RIDGE = 1e-10
# squared pivot, relative to the variance it started from, below which a covariance is singular
SINGULAR = 1e-12


def aligned(value: Any) -> Any:
    """Return arrays, also those in a dict, where the machine likes its numbers.

    A scheduler may unpickle arrays into the middle of a message. NumPy multiplies such arrays by
    copies of another layout, and the product has other bits.
    """
    if isinstance(value, dict):
        return {name: aligned(entry) for name, entry in value.items()}
    return np.require(value, requirements=["A"]) if isinstance(value, np.ndarray) else value


class Travels:
    """A dataclass whose arrays are aligned again after a journey."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: aligned(value) for name, value in state.items()})


@dataclass(frozen=True, eq=False)
class PairMap(Travels):
    """How one pair reads the white coordinates of its areas.

    Attributes
    ----------
    pair : Pair
        Names of the areas.
    dims : tuple of int
        Dimensions of the first and of the second source.
    scatter, lower, inverse : ndarray (bins, d, d)
        Covariance of the areas' coordinates, its lower Cholesky factor, and the factor's inverse,
        which makes the coordinates z_x and z_y|x: white, and uncorrelated with each other.
    """

    pair: Pair
    dims: tuple[int, int]
    scatter: F64
    lower: F64
    inverse: F64


@dataclass(frozen=True, eq=False)
class Series(Travels):
    """Everything the permutations and resamples of one fit read.

    Attributes
    ----------
    areas : dict of ndarray (bins, d, trials)
        White in every bin.
    targets : dict of ndarray (dm, trials)
        White.
    maps : tuple of PairMap
        One per pair.
    nu : int
        Trials minus one.
    ridged : tuple of (str, int)
        Area and bin where a ridge was needed.
    """

    areas: dict[str, F64]
    targets: dict[str, F64]
    maps: tuple[PairMap, ...]
    nu: int
    ridged: tuple[tuple[str, int], ...]

    def __sizeof__(self) -> int:
        # a scheduler goes by this to send the series once instead of with every task
        return sum(a.nbytes for a in (*self.areas.values(), *self.targets.values()))

    def part(self, rows: NDArray[np.int64]) -> Series:
        """Return the series of some of the trials, made white anew."""
        return make_series(
            {name: data[:, :, rows] for name, data in self.areas.items()},
            {name: data[:, rows] for name, data in self.targets.items()},
            [m.pair for m in self.maps],
        )


def make_series(
    areas: Mapping[str, F64], targets: Mapping[str, F64], pairs: Sequence[Pair]
) -> Series:
    """Return the series of scores (bins, d, trials) and targets (dm, trials).

    The scores are overwritten.

    Raises
    ------
    ValueError
        If the units of an area, the two sources of a pair or the features of a target are
        linearly dependent.
    """
    ridged: list[tuple[str, int]] = []
    for name, data in areas.items():
        ridged += [(name, b) for b in _whiten(data, name)]
    white = {name: _whiten_target(data, name) for name, data in targets.items()}
    nu = next(iter(white.values())).shape[1] - 1
    maps = tuple(_pair_map(areas, pair, nu) for pair in pairs)
    return Series(dict(areas), white, maps, nu, tuple(ridged))


def _singular(lower: F64, variances: F64) -> bool:
    # not above: a variance of zero is singular too
    return not bool(np.all(np.diagonal(lower) ** 2 > SINGULAR * variances))


def factor(scatter: F64, variances: F64) -> F64 | None:
    """Return the lower Cholesky factor, or None where the covariance is singular."""
    try:
        lower = np.asarray(np.linalg.cholesky(scatter), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return None if _singular(lower, variances) else lower


def add_ridge(covariance: F64, place: NDArray[np.int64]) -> None:
    """Add a ridge in place where the block of one area, in white coordinates, is singular."""
    block = covariance[np.ix_(place, place)]
    if factor(block, np.diagonal(block)) is None:
        covariance[place, place] += RIDGE


def _whiten(data: F64, name: str) -> list[int]:
    """Make each bin of ``data`` white in place; return the bins that needed a ridge."""
    nu = data.shape[2] - 1
    data -= data.mean(axis=2, keepdims=True)
    scatter = np.stack([rows @ rows.T for rows in data]) / nu
    pooled = scatter.mean(axis=0)
    variances = np.diagonal(pooled)
    if factor(pooled, variances) is None:
        raise ValueError(
            f"the units of area {name!r} are linearly dependent over all bins (smallest eigenvalue "
            f"{np.linalg.eigvalsh(pooled)[0]:.3g}); give area_pca or leave units out"
        )
    ridged = []
    for b, rows in enumerate(data):
        lower = factor(scatter[b], np.diagonal(scatter[b]))
        if lower is None:
            ridged.append(b)
            lower = np.linalg.cholesky(scatter[b] + np.diag(RIDGE * variances))
        data[b] = np.linalg.inv(lower) @ rows
    return ridged


def _whiten_target(data: F64, name: str) -> F64:
    rows = data - data.mean(axis=1, keepdims=True)
    scatter = rows @ rows.T / (rows.shape[1] - 1)
    lower = factor(scatter, np.diagonal(scatter))
    if lower is None:
        raise ValueError(
            f"the features of target {name!r} are linearly dependent (smallest eigenvalue "
            f"{np.linalg.eigvalsh(scatter)[0]:.3g}); give target_pca or leave features out"
        )
    return np.asarray(np.linalg.inv(lower) @ rows)


def _pair_map(areas: Mapping[str, F64], pair: Pair, nu: int) -> PairMap:
    parts = [areas[name] for name in pair.areas]
    edges = np.cumsum([0, *(p.shape[1] for p in parts)])
    d = int(edges[-1])
    n_bins = len(parts[0])
    # a ridge has made its bin's coordinates shorter than one; the blocks count as white there too
    scatter = np.tile(np.eye(d), (n_bins, 1, 1))
    for i, one in enumerate(parts):
        for j in range(i):
            for b in range(n_bins):
                block = one[b] @ parts[j][b].T / nu
                scatter[b, edges[i] : edges[i + 1], edges[j] : edges[j + 1]] = block
                scatter[b, edges[j] : edges[j + 1], edges[i] : edges[i + 1]] = block.T
    lower = np.empty_like(scatter)
    for b in range(n_bins):
        one_bin = factor(scatter[b], np.ones(d))
        if one_bin is None:
            raise ValueError(
                f"the sources of pair {pair.label} are linearly dependent in bin {b} (smallest "
                f"eigenvalue {np.linalg.eigvalsh(scatter[b])[0]:.3g}); a unit may be in both"
            )
        lower[b] = one_bin
    first = sum(areas[name].shape[1] for name in pair.first)
    inverse = np.asarray(np.linalg.inv(lower), dtype=np.float64)
    return PairMap(pair, (first, d - first), scatter, lower, inverse)
