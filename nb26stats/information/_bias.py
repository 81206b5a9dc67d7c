"""Sampling bias of discrete information: formulas, extrapolation and shuffling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nb26stats._numba.counting import count_pairs, count_permuted, effective_bins

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

PERMUTATION, PARTITION = 0, 3
"""First words of the spawn keys."""
CELLS_AT_ONCE = 2**21


def generator(seed: int, purpose: int, i: int = 0) -> np.random.Generator:
    """Return generator ``i`` of one purpose, which does not depend on the others."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, i)))


def miller_madow(counts: I64) -> float:
    """Return the bias (nats) by the numbers of occupied cells (Miller 1955)."""
    occupied = np.count_nonzero(counts)
    rows = np.count_nonzero(counts.sum(axis=1))
    columns = np.count_nonzero(counts.sum(axis=0))
    return float(occupied - rows - columns + 1) / (2.0 * int(counts.sum()))


def panzeri_treves(counts: I64) -> float:
    """Return the bias (nats) by Bayesian counts of the symbols that can occur.

    Parameters
    ----------
    counts : ndarray of shape (nX, nS)
        Contingency table; responses are the rows, and the second variable is what they depend on.
    """
    n_bins = len(counts)
    given = np.ascontiguousarray(counts.T)
    each = sum(effective_bins(row, n_bins) - 1 for row in given if row.any())
    every = effective_bins(counts.sum(axis=1), n_bins) - 1
    return float(each - every) / (2.0 * int(counts.sum()))


def extrapolate(values: F64, sizes: Sequence[int]) -> F64:
    """Return the value at infinite size of ``I + a / N + b / N**2`` (Strong et al. 1998).

    Parameters
    ----------
    values : ndarray of shape (7, k)
        Of all samples, two halves and four quarters.
    sizes : sequence of int
        Their numbers of samples.
    """
    inverse = 1.0 / np.asarray(sizes, dtype=np.float64)
    groups = (slice(0, 1), slice(1, 3), slice(3, 7))
    system = [[1.0, inverse[g].mean(), (inverse[g] ** 2).mean()] for g in groups]
    means = np.stack([values[g].mean(axis=0) for g in groups])
    at_infinity: F64 = np.linalg.solve(np.array(system), means)[0]
    return at_infinity


def _parts(rows: I64, columns: I64, shape: tuple[int, int], seed: int) -> tuple[I64, list[int]]:
    """Return tables of two halves and four quarters of one random partition, and their sizes."""
    n = len(rows)
    if n < 4:
        raise ValueError(f"bias='qe' needs at least 4 samples to make quarters of, got {n}")
    quarters = np.zeros((4, *shape), dtype=np.int64)
    pieces = np.array_split(generator(seed, PARTITION).permutation(n), 4)
    for piece, out in zip(pieces, quarters, strict=True):
        count_pairs(rows[piece], columns[piece], out)
    tables = np.concatenate([quarters[0::2] + quarters[1::2], quarters])
    return tables, [int(table.sum()) for table in tables]


def _shuffled(
    rows: I64, columns: I64, shape: tuple[int, int], n_permutations: int, seed: int
) -> Iterator[I64]:
    """Yield blocks of tables with the second variable permuted."""
    at_once = max(1, CELLS_AT_ONCE // max(len(rows), shape[0] * shape[1]))
    for start in range(0, n_permutations, at_once):
        numbers = range(start, min(start + at_once, n_permutations))
        order = np.stack([generator(seed, PERMUTATION, p).permutation(len(rows)) for p in numbers])
        out = np.zeros((len(numbers), *shape), dtype=np.int64)
        count_permuted(rows, columns, order, out)
        yield out


def resampled(
    value: F64,
    evaluate: Callable[[F64], F64],
    rows: I64,
    columns: I64,
    shape: tuple[int, int],
    *,
    bias: str,
    n_permutations: int,
    seed: int,
) -> F64:
    """Return ``value`` corrected by evaluating tables of parts or permutations of the samples.

    Parameters
    ----------
    value : ndarray of shape (k,)
        Plug-in values of all samples.
    evaluate : callable
        From distributions of shape (m, n_rows, n_columns) to values of shape (m, k).
    rows, columns : ndarray of shape (n,)
        Codes of the samples: joint code of the sources, and target.
    shape : (int, int)
        Numbers of codes.
    bias : {"qe", "shuffle"}
        Extrapolation to infinite size from halves and quarters, or the mean over permutations of
        the target taken off.
    n_permutations, seed : int
        Number of permutations, and the key of the partition and permutations.
    """
    if bias == "qe":
        tables, sizes = _parts(rows, columns, shape, seed)
        values = evaluate(tables / np.array(sizes, dtype=np.float64)[:, None, None])
        return extrapolate(np.vstack([value[None], values]), [len(rows), *sizes])
    total = np.zeros_like(value)
    for block in _shuffled(rows, columns, shape, n_permutations, seed):
        for one in evaluate(block / len(rows)):
            total += one
    return value - total / n_permutations
