"""One measure over a batch of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._broja import broja
from ._iccs import common_change
from ._lattice import lattice_atoms
from ._measures import F64, information_of_subsets, redundancy, subsets

MEASURES = ("broja", "imin", "mmi", "iccs")
OF_LATTICE = ("imin", "mmi")
NODE = ((0,), (1,))


class Solver(NamedTuple):
    """Settings of the BROJA solver."""

    tol: float
    max_iter: int
    n_threads: int


class Evaluated(NamedTuple):
    """Values of m distributions in nats.

    ``values`` has columns ``I_X, I_Y, I_XY, I_U``; for three sources the informations of the seven
    sets of sources and the eighteen atoms.
    """

    values: F64
    gap: F64
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.int64]


def _closed(values: F64) -> Evaluated:
    m = len(values)
    return Evaluated(values, np.zeros(m), np.ones(m, dtype=bool), np.zeros(m, dtype=np.int64))


def evaluate(measure: str, pmfs: F64, solver: Solver) -> Evaluated:
    """Return informations and union, or lattice, of distributions of shape (m, n1, ..., nS)."""
    n_sources = pmfs.ndim - 2
    if measure == "broja":
        found = broja(pmfs, **solver._asdict())
        return Evaluated(found.information, found.gap, found.converged, found.n_iter)
    by_symbol = information_of_subsets(pmfs)
    information = np.maximum(by_symbol.sum(axis=-1), 0.0)
    if n_sources == 3:
        return _closed(np.hstack([information, lattice_atoms(measure, by_symbol, n_sources)]))
    if measure == "iccs":
        shared = np.array([common_change(pmf) for pmf in pmfs])
    else:
        shared = redundancy(measure, by_symbol, NODE, subsets(2))
    union = information[:, 0] + information[:, 1] - shared
    return _closed(np.column_stack([information, union]))


def values_of(measure: str, shape: tuple[int, ...], solver: Solver) -> Callable[[F64], F64]:
    """Return a function from flat tables (m, cells of the sources, nS) to their values."""

    def call(tables: F64) -> F64:
        return evaluate(measure, tables.reshape(len(tables), *shape), solver).values

    return call
