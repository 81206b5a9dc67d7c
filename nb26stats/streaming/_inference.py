"""Errors and intervals from replicates; everything in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_choice, as_numbers, as_prob

METRICS = ("sin2_fro", "sin2_op", "sin_op", "projection_fro")
DEPENDENT = 1e-10
# elements of one piece of the replicates
PIECE = 2**16

F64 = NDArray[np.float64]


def subspace_errors(directions: F64, replicates: F64, metric: str) -> F64:
    """Return the distance of each replicate's span from the span of ``directions``.

    Parameters
    ----------
    directions : ndarray (k, d)
        Orthonormal rows W.
    replicates : ndarray (B, k, d)
        Orthonormal rows W_b.
    metric : str
        ``"sin2_fro"`` is the sum of squared sines of the principal angles, ``"sin2_op"`` the
        largest of them, ``"sin_op"`` its root, ``"projection_fro"`` the Frobenius distance of the
        two projections, sqrt(2 sin2_fro).

    Returns
    -------
    ndarray (B,)
    """
    as_choice(metric, "metric", METRICS)
    k, d = directions.shape
    if k == d:
        return np.zeros(len(replicates))
    out = np.empty(len(replicates))
    step = max(1, PIECE // (k * d))
    for a in range(0, len(out), step):
        rows = replicates[a : a + step]
        # the residual itself: one minus the overlap would cancel when the spans are close
        residual = rows - (rows @ directions.T) @ directions
        if metric in ("sin2_fro", "projection_fro"):
            out[a : a + step] = np.sum(residual * residual, axis=(1, 2))
        else:
            out[a : a + step] = np.linalg.norm(residual, 2, axis=(1, 2)) ** 2
    if metric == "projection_fro":
        return np.sqrt(2.0 * out)
    return np.sqrt(out) if metric == "sin_op" else out


def order_number(level: float, n_bootstrap: int) -> int:
    """Return the number, from 1, of the order statistic that stands for the quantile ``level``."""
    level = as_prob(level, "level")
    number = math.ceil((n_bootstrap + 1) * level - 1e-9)
    if number > n_bootstrap:
        need = math.ceil(level / (1.0 - level) - 1e-9)
        raise ValueError(
            f"level={level:g} needs n_bootstrap of at least {need}, got n_bootstrap={n_bootstrap}"
        )
    return max(number, 1)


def order_statistic(values: F64, level: float) -> F64:
    """Return the order statistic of ``values`` over the first axis."""
    number = order_number(level, len(values))
    return np.asarray(np.partition(values, number - 1, axis=0)[number - 1])


def same_signs(directions: F64, replicates: F64) -> F64:
    """Return replicates with every row on the side of the direction it stands for."""
    overlap = np.einsum("bkd,kd->bk", replicates, directions)
    return np.where(overlap < 0, -1.0, 1.0)[:, :, None] * replicates


def rotated(directions: F64, replicates: F64) -> F64:
    """Return replicates turned within their span as close to ``directions`` as they get."""
    # for rows W_b and W the orthogonal polar factor of W W_b' is the turn from the left
    u, _, vt = np.linalg.svd(directions @ replicates.transpose(0, 2, 1))
    return np.asarray((u @ vt) @ replicates)


def row_covariances(directions: F64, replicates: F64) -> F64:
    """Return the mean square deviation (d, k, k) of every feature's row of loadings."""
    # about zero as in ``intervals``, and after the best turn within the span
    moved = np.ascontiguousarray((rotated(directions, replicates) - directions).transpose(2, 1, 0))
    out = moved @ moved.transpose(0, 2, 1) / len(replicates)
    return np.asarray((out + out.transpose(0, 2, 1)) / 2.0)


def basis_rows(
    V: object, n_components: int, n_features: int, names: NDArray[Any] | None = None
) -> F64:
    """Return an orthonormal basis, as rows (k, d), of the span of the columns of ``V``.

    A vector is one column; ``names`` are the features that the labels of a table must repeat.
    """
    k, d = n_components, n_features
    labels = getattr(V, "index", None)
    matrix = as_numbers(V, "V")
    if matrix.ndim == 1 and k == 1:
        matrix = matrix[:, None]
    if matrix.shape == (k, d) and k != d:
        raise ValueError(
            f"V has shape {matrix.shape}: pass V with one column per direction (components_.T)"
        )
    if matrix.shape != (d, k):
        raise ValueError(f"V has shape {matrix.shape} but must have shape ({d}, {k})")
    if names is not None and labels is not None and not callable(labels):
        given = list(labels)
        if all(isinstance(label, str) for label in given) and given != list(names):
            raise ValueError(
                "the row labels of V differ from feature_names_in_; bring its rows into that order"
            )
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("V must hold finite numbers only")
    # columns of length one, so that their scales do not count as rank
    largest = np.abs(matrix).max(axis=0)
    matrix = matrix / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(matrix, axis=0)
    left, sizes, _ = np.linalg.svd(matrix / np.where(length > 0, length, 1.0), full_matrices=False)
    rank = int(np.sum(sizes > DEPENDENT))
    if rank != k:
        raise ValueError(f"V must have {k} linearly independent columns, its rank is {rank}")
    return np.ascontiguousarray(left.T)


def intervals(
    directions: F64, replicates: F64, level: float, align: str, method: str
) -> tuple[F64, F64]:
    """Return lower and upper bounds (k, d) for every loading."""
    level = as_prob(level, "level")
    as_choice(align, "align", ("sign", "procrustes"))
    as_choice(method, "method", ("normal", "percentile"))
    moved = (same_signs if align == "sign" else rotated)(directions, replicates)
    difference = moved - directions
    if method == "normal":
        from scipy.special import ndtri

        # about zero, not about the mean: the replicates' bias belongs to the error
        # by the lower tail, where levels next to 1 keep their digits
        half = -ndtri((1.0 - level) / 2.0) * np.sqrt(np.mean(difference**2, axis=0))
    else:
        half = order_statistic(np.abs(difference), level)
    return directions - half, directions + half
