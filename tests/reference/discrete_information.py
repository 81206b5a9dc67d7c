"""Slow references for discrete information: sums over dictionaries, straight from definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Node = tuple[tuple[int, ...], ...]


def information(pairs: Iterable[tuple[Hashable, Hashable]]) -> float:
    """Return the plug-in mutual information in bits of pairs of symbols."""
    joint = Counter(pairs)
    n = sum(joint.values())
    left: Counter[Hashable] = Counter()
    right: Counter[Hashable] = Counter()
    for (a, b), count in joint.items():
        left[a] += count
        right[b] += count
    return sum(
        count / n * log2(Fraction(count * n, left[a] * right[b])) for (a, b), count in joint.items()
    )


def effective_bins(counts: Sequence[int], n_bins: int) -> int:
    """Return the Bayesian number of symbols by trying numbers of unseen ones in turn."""
    seen = [c for c in counts if c]
    nu, g = sum(seen), len(seen)
    if g == n_bins:
        return n_bins
    # sequence of misfits: before any unseen symbol, then with 1, 2, ... of them
    misfits = [float(g), sum((1 - c / nu) ** nu for c in seen)]
    while misfits[-1] < misfits[-2] and g + len(misfits) - 2 < n_bins:
        k = len(misfits) - 1
        gamma = k * (1 - (nu / (nu + g)) ** (1 / nu))
        expected = sum(1 - (1 - (1 - gamma) * (c + 1) / (nu + g)) ** nu for c in seen)
        expected += k * (1 - (1 - gamma / k) ** nu)
        misfits.append(abs(g - expected))
    k = len(misfits) - 2
    return g + k - 1 + int(misfits[-1] < misfits[-2])


def three_sources(rule: Any) -> F64:
    """Return the table (a, b, c, s) of a target that is a function of three fair bits."""
    values = {bits: rule(*bits) for bits in product((0, 1), repeat=3)}
    labels = sorted(set(values.values()))
    out = np.zeros((2, 2, 2, len(labels)))
    for bits, value in values.items():
        out[(*bits, labels.index(value))] = 1 / 8
    return out


def shared(measure: str, p: F64, node: Node) -> float:
    """Return the redundancy in bits of sets of sources, summed state by state."""
    target = p.sum(axis=tuple(range(p.ndim - 1)))
    by_set = []
    for part in node:
        others = tuple(i for i in range(p.ndim - 1) if i not in part)
        table = p.sum(axis=others).reshape(-1, p.shape[-1])
        row = np.zeros(len(target))
        for a, s in product(range(len(table)), range(len(target))):
            if table[a, s] > 0:
                row[s] += table[a, s] * log2(table[a, s] / (table[a].sum() * target[s]))
        by_set.append(row)
    if measure == "imin":
        return float(np.min(by_set, axis=0).sum())
    return min(float(row.sum()) for row in by_set)


def lattice(measure: str, p: F64) -> dict[Node, float]:
    """Return the atoms of every antichain by recursion over the nodes below."""
    k = p.ndim - 1
    parts = [c for size in range(1, k + 1) for c in combinations(range(k), size)]
    chains = [
        tuple(chain)
        for size in range(1, len(parts) + 1)
        for chain in combinations(parts, size)
        if all(not set(a) <= set(b) for a in chain for b in chain if a != b)
    ]

    def under(u: Node, v: Node) -> bool:
        return u != v and all(any(set(a) <= set(b) for a in u) for b in v)

    out: dict[Node, float] = {}

    def atom(v: Node) -> float:
        if v not in out:
            out[v] = shared(measure, p, v) - sum(atom(u) for u in chains if under(u, v))
        return out[v]

    for chain in chains:
        atom(chain)
    return out
