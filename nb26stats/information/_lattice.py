"""The lattice of redundancy: antichains of sets of sources, and the atoms of its nodes."""

from __future__ import annotations

import functools
from itertools import combinations

import numpy as np

from ._measures import F64, redundancy, subsets
from ._result import Node


def below(u: Node, v: Node) -> bool:
    """Return whether every set of ``v`` contains a set of ``u``."""
    return all(any(set(a) <= set(b) for a in u) for b in v)


@functools.cache
def nodes(n_sources: int) -> tuple[Node, ...]:
    """Return the antichains of non-empty sets of sources, every node after those below it."""
    parts = subsets(n_sources)
    found = [
        chain
        for size in range(1, len(parts) + 1)
        for chain in combinations(parts, size)
        if not any(set(a) < set(b) for a in chain for b in chain)
    ]
    return tuple(sorted(found, key=lambda v: (sum(below(u, v) for u in found), v)))


def lattice_atoms(measure: str, by_symbol: F64, n_sources: int) -> F64:
    """Return the atoms of all nodes by Möbius inversion (Williams & Beer 2010).

    Parameters
    ----------
    measure : {"imin", "mmi"}
        Measure of redundancy.
    by_symbol : ndarray of shape (m, 2**k - 1, nS)
        Weighted specific information of every set of sources.
    n_sources : int
        Number k of sources.

    Returns
    -------
    ndarray of shape (m, n_nodes)
        In the order of :func:`nodes`.
    """
    order, every = subsets(n_sources), nodes(n_sources)
    out = np.empty((len(by_symbol), len(every)))
    for j, v in enumerate(every):
        inside = [i for i in range(j) if below(every[i], v)]
        out[:, j] = redundancy(measure, by_symbol, v, order) - out[:, inside].sum(axis=1)
    return out
