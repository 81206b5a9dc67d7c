"""Directions in which the parameters move and no likelihood changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._counting import sees_difference
from ._model import F64, Model

RANK = 1e-10
"""Singular values below this share of the largest are zero."""


def rotates(model: Model) -> bool:
    """Return whether hidden units can be rotated into one another."""
    return model.architecture == "2L" and model.hidden > 1


def turned(model: Model) -> NDArray[np.bool_]:
    """Return which parameters such rotations move: no single one of them is identified."""
    out = np.zeros(model.n_theta, dtype=bool)
    if rotates(model):
        first, second = model.weights(out)
        first[:], second[:, : model.hidden] = True, True
    return out


def flat_directions(model: Model, theta: F64, *, penalised: bool = False) -> F64:
    """Return an orthonormal basis of the flat directions at ``theta``.

    Parameters
    ----------
    model : Model
        The model.
    theta : ndarray of shape (P,)
        Parameters, natural or optimiser coordinates (weights are the same in both).
    penalised : bool
        Whether a Gaussian prior counts: it is round, so rotations of the hidden units stay flat,
        but what only the difference of two outputs leaves open does not.

    Returns
    -------
    ndarray of shape (P, n)
        Rotations of the hidden units of two linear layers, and the sum of two outputs where only
        their difference matters.
    """
    first, second = model.weights(theta)
    rows = []
    if rotates(model):
        for i in range(model.hidden):
            for j in range(i):
                # W1 -> O W1, W2 -> W2 O' with O a small turn in the plane of units i and j
                move_1, move_2 = np.zeros_like(first), np.zeros_like(second)
                move_1[i], move_1[j] = first[j], -first[i]
                move_2[:, i], move_2[:, j] = second[:, j], -second[:, i]
                rows.append(_direction(model, move_1, move_2))
    if sees_difference(model) and not penalised:
        last = second if model.deep else first
        for k in range(last.shape[1]):
            both = np.zeros_like(last)
            both[:, k] = 1.0
            still = np.zeros_like(first if model.deep else second)
            rows.append(_direction(model, *((still, both) if model.deep else (both, still))))
    return _basis(np.array(rows).T if rows else np.zeros((model.n_theta, 0)))


def inside(directions: F64, kept: NDArray[np.bool_]) -> F64:
    """Return a basis, over the kept parameters, of the directions that move no other."""
    if directions.shape[1] == 0 or kept.all():
        return directions[kept]
    _, size, right = np.linalg.svd(directions[~kept])
    rank = int((size > RANK).sum())
    return _basis(directions[kept] @ right[rank:].T)


def _direction(model: Model, first: F64, second: F64) -> F64:
    rest = np.zeros(model.n_theta - model.n_weights)
    return np.concatenate([first.ravel(), second.ravel(), rest])


def _basis(columns: F64) -> F64:
    if columns.size == 0:
        return columns
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, size > RANK * max(size[0], np.finfo(float).tiny)])
