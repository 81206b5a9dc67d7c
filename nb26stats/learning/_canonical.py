"""One representative of all parameters that give the same likelihoods."""

from __future__ import annotations

import numpy as np

from ._model import F64, Model


def canonical(model: Model, theta: F64) -> F64:
    """Return the representative to report.

    Parameters
    ----------
    model : Model
        The model.
    theta : ndarray of shape (P,)
        Parameters, natural or optimiser coordinates (weights are the same in both).

    Returns
    -------
    ndarray of shape (P,)
        Two linear layers: rotated so that ``W1 W1' - W2' W2`` (a bias column left out) is diagonal
        with falling entries, and the largest entry of every row of W1 is positive. With a
        nonlinearity: hidden units ordered by their weight on the second input minus that on the
        first (right minus left), falling; tanh units, which may change sign, as linear ones do.
        One layer: as it is.
    """
    return np.asarray(canonical_map(model, theta) @ theta)


def canonical_map(model: Model, theta: F64) -> F64:
    """Return the orthogonal (P, P) matrix that takes ``theta`` to its representative.

    It also takes a covariance or Hessian there.
    """
    out = np.eye(model.n_theta)
    if not model.deep:
        return out
    first, second = model.weights(theta)
    mix = _rotation(first, second) if model.architecture == "2L" else _order(model, first, second)
    n_first, q, hidden = first.size, model.n_weights, model.hidden
    width = np.eye(second.shape[1])
    width[:hidden, :hidden] = mix
    out[:n_first, :n_first] = np.kron(mix, np.eye(model.n_inputs))
    out[n_first:q, n_first:q] = np.kron(np.eye(model.n_outputs), width)
    return out


def _rotation(first: F64, second: F64) -> F64:
    own = second[:, : first.shape[0]]
    _, vectors = np.linalg.eigh(first @ first.T - own.T @ own)
    mix = vectors.T[::-1]
    return np.asarray(_signs(mix @ first, own @ mix.T)[:, None] * mix)


def _order(model: Model, first: F64, second: F64) -> F64:
    signs = np.ones(model.hidden)
    if model.activation == "tanh":
        signs = _signs(first, second[:, : model.hidden])
    rows = signs[:, None] * first
    key = rows[:, 1] - rows[:, 0] if model.n_inputs > 1 else rows[:, 0]
    # equal units are told apart by the rest of their weights, so that no order of input matters
    order = np.lexsort((*(-(signs * second[:, : model.hidden])), *(-rows.T), -key))
    return np.diag(signs)[order]


def _signs(first: F64, second: F64) -> F64:
    """Return the sign of the largest entry of every unit: of W1, or of W2 where W1 is zero."""
    rows = np.where(first.any(axis=1, keepdims=True), first, 0.0)
    pick = np.abs(rows).argmax(axis=1)
    largest = rows[np.arange(len(rows)), pick]
    other = second[np.abs(second).argmax(axis=0), np.arange(second.shape[1])]
    return np.where(np.where(largest != 0.0, largest, other) < 0.0, -1.0, 1.0)
