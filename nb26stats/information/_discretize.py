"""Numbers to bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_choice, as_int, as_numbers, as_table, refuse_r_na

MOST_BINS = 10**6
"""Quantiles of one column at a time fit in memory."""


def discretize(x: ArrayLike, n_bins: int, method: str = "quantile") -> NDArray[np.int64]:
    """Return the bin of every value, column by column.

    Parameters
    ----------
    x : array-like of shape (n,) or (n, d)
        Real numbers.
    n_bins : int
        Number of bins of each column, at least 2.
    method : {"quantile", "uniform"}, default="quantile"
        ``"quantile"``: the bin is how many of the inner quantiles ``j / n_bins`` (linearly
        interpolated) lie strictly below the value, so bins hold about as many values each; equal
        values share a bin, and with many of them some bins stay empty. ``"uniform"``: equal widths
        between the smallest and the largest value of the column; the last bin is closed.

    Returns
    -------
    ndarray of int64, shape of ``x``
        Bins from 0 to ``n_bins - 1``.

    Raises
    ------
    ValueError
        For values that are not finite, no rows, fewer than two bins or more than a million.
    TypeError
        For anything but real numbers.

    Examples
    --------
    >>> from nb26stats.information import discretize
    >>> discretize([0.1, 2.5, 0.4, 9.0], 2).tolist()
    [0, 1, 0, 1]
    >>> discretize([0.1, 2.5, 0.4, 9.0], 2, method="uniform").tolist()
    [0, 0, 0, 1]
    """
    bins = as_int(n_bins, "n_bins", minimum=2, maximum=MOST_BINS)
    how = as_choice(method, "method", ("quantile", "uniform"))
    numbers = as_numbers(as_table(x, "x"), "x")
    refuse_r_na(numbers, "x")
    values = numbers.astype(np.float64)
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"x must have shape (n,) or (n, d) and hold values, got {values.shape}")
    bad = ~np.isfinite(values)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"x holds a value that is not finite at {at if len(at) > 1 else at[0]}")
    columns = values.reshape(len(values), -1)
    out = np.empty(columns.shape, dtype=np.int64)
    for j, column in enumerate(columns.T):
        out[:, j] = _quantile_bins(column, bins) if how == "quantile" else _widths(column, bins)
    return out.reshape(values.shape)


def _quantile_bins(column: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    inner = np.quantile(column, np.arange(1, n_bins) / n_bins)
    out: NDArray[np.int64] = np.searchsorted(inner, column, side="left").astype(np.int64)
    return out


def _widths(column: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    low = column.min()
    # halves, because the difference of two large numbers may overflow
    half = column.max() / 2 - low / 2
    if half == 0:
        return np.zeros(len(column), dtype=np.int64)
    place = (column / 2 - low / 2) / half * n_bins
    out: NDArray[np.int64] = np.minimum(place.astype(np.int64), n_bins - 1)
    return out
