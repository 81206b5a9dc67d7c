"""Principal axes of a target and of the units of an area, fitted once over all bins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._reduce import principal_axes

F64 = NDArray[np.float64]
# elements of one slab of a wide area in float64
SLAB = 2**24


def target_scores(data: F64, n_axes: int | None) -> F64:
    """Return the centred target, or its first principal components, with trials last (k, n)."""
    rows = data - data.mean(axis=0)
    if n_axes is None:
        return np.ascontiguousarray(rows.T)
    n, d = rows.shape
    if d <= n:
        axes = principal_axes(rows.T @ rows / n, n_axes)
        return np.ascontiguousarray(axes.T @ rows.T)
    # with more features than trials the small side is decomposed instead
    left = principal_axes(rows @ rows.T / n, n_axes)
    axes = rows.T @ left
    axes /= np.linalg.norm(axes, axis=0)
    return np.ascontiguousarray(axes.T @ rows.T)


def area_scores(data: NDArray[Any], n_axes: int | None) -> F64:
    """Return an area's units, or their first principal components, as (bins, k, trials).

    The axes come from the covariance over trials and bins together, so they are the same in
    every bin; every bin is centred on its own mean afterwards.
    """
    n, n_bins, d = data.shape
    axes = None if n_axes is None else _pooled_axes(data, n_axes)
    out = np.empty((n_bins, d if axes is None else axes.shape[1], n))
    for b in range(n_bins):
        rows = data[:, b].astype(np.float64, order="C")  # sums in one order for any layout
        rows -= rows.mean(axis=0)
        out[b] = rows.T if axes is None else axes.T @ rows.T
    return out


def _pooled_axes(data: NDArray[Any], n_axes: int) -> F64:
    n, n_bins, d = data.shape
    bins = (np.ascontiguousarray(data[:, b]) for b in range(n_bins))
    mean = np.mean([rows.mean(axis=0, dtype=np.float64) for rows in bins], axis=0)
    scatter = np.zeros((d, d))
    step = max(1, SLAB // d)
    for b in range(n_bins):
        for a in range(0, n, step):
            rows = np.ascontiguousarray(data[a : a + step, b]) - mean
            scatter += rows.T @ rows
    return principal_axes(scatter / (n * n_bins), n_axes)
