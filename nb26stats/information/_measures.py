"""Information of discrete tables, and redundancy that has a closed form: I_min and the minimum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ._result import Node

F64 = NDArray[np.float64]


def information_by_symbol(table: F64) -> F64:
    """Return ``p(s) I(s; A)`` in nats for tables ``p(a, s)``.

    ``I(s; A)`` is the specific information of Williams and Beer (2010); its sum over the symbols s,
    weighted by their probability, is the mutual information.

    Parameters
    ----------
    table : ndarray of shape (..., nA, nS)
        Joint distributions.

    Returns
    -------
    ndarray of shape (..., nS)
        Weighted specific information.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(table)
        log -= np.log(table.sum(axis=-1, keepdims=True))
        log -= np.log(table.sum(axis=-2, keepdims=True))
        terms = table * log
    out: F64 = np.where(table > 0, terms, 0.0).sum(axis=-2)
    return out


def table_information(table: F64) -> F64:
    """Return the mutual information (nats) of tables of shape (..., nA, nS)."""
    # what is below zero is rounding
    out: F64 = np.maximum(information_by_symbol(table).sum(axis=-1), 0.0)
    return out


def subsets(n_sources: int) -> list[tuple[int, ...]]:
    """Return the non-empty sets of sources, small ones first."""
    every = range(1, n_sources + 1)
    return [part for size in every for part in combinations(range(n_sources), size)]


def information_of_subsets(pmfs: F64) -> F64:
    """Return ``p(s) I(s; A)`` for every set A of sources.

    Parameters
    ----------
    pmfs : ndarray of shape (m, n1, ..., nk, nS)
        Distributions of k sources and the target.

    Returns
    -------
    ndarray of shape (m, 2**k - 1, nS)
        In the order of :func:`subsets`.
    """
    m, *shape, n_target = pmfs.shape
    parts = []
    for part in subsets(len(shape)):
        others = tuple(1 + i for i in range(len(shape)) if i not in part)
        table = pmfs.sum(axis=others).reshape(m, -1, n_target)
        parts.append(information_by_symbol(table))
    return np.stack(parts, axis=1)


def redundancy(measure: str, by_symbol: F64, node: Node, order: Sequence[tuple[int, ...]]) -> F64:
    """Return the redundancy (m,) in nats that the sets of sources in ``node`` share.

    ``"imin"`` takes the smallest specific information of each target symbol (Williams & Beer 2010),
    ``"mmi"`` the smallest mutual information (Barrett 2015).
    """
    rows = by_symbol[:, [order.index(part) for part in node]]
    out: F64 = rows.min(axis=1).sum(axis=-1) if measure == "imin" else rows.sum(axis=-1).min(axis=1)
    return out
