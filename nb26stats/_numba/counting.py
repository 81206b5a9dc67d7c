"""Contingency tables, tables of permuted labels, and how many symbols a sample stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel


@kernel
def count_pairs(rows: NDArray[np.int64], columns: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Add to ``out[row, column]`` one for each pair of codes."""
    for i in range(rows.size):
        out[rows[i], columns[i]] += 1


@kernel
def count_permuted(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    order: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Add the pairs of ``rows`` and ``columns[order[p]]`` to table p of ``out``."""
    for p in range(order.shape[0]):
        for i in range(rows.size):
            out[p, rows[i], columns[order[p, i]]] += 1


@kernel
def presence(codes: NDArray[np.int64], low: int, out: NDArray[np.int64]) -> int:
    """Write the rank of each code that occurs to ``out[code - low]``; return how many occur."""
    for i in range(codes.size):
        out[codes[i] - low] = 1
    n = 0
    for j in range(out.size):
        if out[j]:
            out[j] = n
            n += 1
    return n


@kernel
def effective_bins(counts: NDArray[np.int64], n_bins: int) -> int:
    """Return the Bayesian number of symbols that can occur (Panzeri & Treves 1996).

    The number of symbols is raised until the number expected to be seen in a sample of this size,
    with one pseudo-count for each of them, matches the number that was seen.
    """
    nu = 0
    seen = 0
    for i in range(counts.size):
        nu += counts[i]
        if counts[i] > 0:
            seen += 1
    if seen == n_bins:
        return n_bins
    off = 0.0
    for i in range(counts.size):
        if counts[i] > 0:
            off += (1.0 - counts[i] / nu) ** nu
    extra = 0
    before = float(seen)
    unseen = 1.0 - (nu / (nu + seen)) ** (1.0 / nu)
    while off < before and seen + extra < n_bins:
        extra += 1
        gamma = extra * unseen
        expected = extra * (1.0 - (1.0 - unseen) ** nu)
        for i in range(counts.size):
            if counts[i] > 0:
                q = (1.0 - gamma) * (counts[i] + 1.0) / (nu + seen)
                expected += 1.0 - (1.0 - q) ** nu
        before = off
        off = abs(seen - expected)
    return seen + extra - 1 + (1 if off < before else 0)
