"""Seeded generators, folds and copies of scikit-learn models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS, FEATURES, ORDER, FOLDS, REFIT = range(5)
"""What random numbers are for; the first key of their generators."""


def generator(seed: int, purpose: int, i: int = 0) -> np.random.Generator:
    """Return the generator number ``i`` of a purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, i)))


def stratified_folds(
    arm: NDArray[np.bool_], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the fold of every row; both arms are spread evenly over the folds."""
    fold = np.empty(len(arm), np.int64)
    start = 0
    for members in (np.flatnonzero(~arm), np.flatnonzero(arm)):
        fold[rng.permutation(members)] = (start + np.arange(len(members))) % n_folds
        start += len(members)
    return fold


def ranked_folds(key: NDArray[Any], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of every row; neighbours in rank are in different folds.

    Every fold then holds large and small keys alike, and the order of rows does not matter.
    """
    n_blocks = -(-len(key) // n_folds)
    drawn = rng.permuted(np.tile(np.arange(n_folds), (n_blocks, 1)), axis=1).reshape(-1)
    fold = np.empty(len(key), np.int64)
    fold[np.argsort(key, kind="stable")] = drawn[: len(key)]
    return fold


def seeded_clone(model: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy in which every unset ``random_state`` is set."""
    from sklearn.base import clone

    copy = clone(model)
    unset = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if name.rsplit("__", 1)[-1] == "random_state" and value is None
    )
    return copy.set_params(**{name: int(rng.integers(2**31)) for name in unset})
