"""Centred pilot rows of a sparse stream, without an array of all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._csr import CsrRows

F64 = NDArray[np.float64]
# elements up to which the centred rows are simply made
SMALL = 4_000_000


class CentredRows:
    """Rows ``weights @ rows``, of which only products are formed.

    With rows x_1, x_2, ... of the data, centred row t is a combination of x_1, ..., x_t.

    Parameters
    ----------
    weights : ndarray (m, n)
        Combinations.
    rows : CsrRows
        Rows of the data, n of them.
    """

    # numpy leaves products from the left to __rmatmul__
    __array_ufunc__ = None

    def __init__(self, weights: F64, rows: CsrRows) -> None:
        self.weights = weights
        self.rows = rows
        self.shape = (len(weights), rows.n_features)

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: NDArray[np.intp]) -> CentredRows:
        return CentredRows(self.weights[rows], self.rows)

    def __rmatmul__(self, left: F64) -> F64:
        matrix = self.rows.matrix().astype(np.float64, copy=False)
        return np.asarray((left @ self.weights) @ matrix)

    def gram(self) -> F64:
        """Return the products of all pairs of rows (m, m)."""
        matrix = self.rows.matrix().astype(np.float64, copy=False)
        products = (matrix @ matrix.T).toarray()
        return np.asarray(self.weights @ products @ self.weights.T)


def centring(n: int) -> F64:
    """Return the combinations (n, n) that make centred rows of rows."""
    t = np.arange(2, n + 1)
    alpha = np.sqrt((t - 1) / t)
    out = np.zeros((n, n))
    out[1:] = np.tril(np.broadcast_to((-alpha / (t - 1))[:, None], (n - 1, n)), 0)
    out[np.arange(1, n), np.arange(1, n)] = alpha
    return out


def centred_rows(rows: CsrRows, *, center: bool) -> F64 | CentredRows:
    """Return the centred rows of a pilot, as an array where that is no larger than its Gram matrix.

    Parameters
    ----------
    rows : CsrRows
        First rows of the stream, n of them.
    center : bool
        Whether the running mean is subtracted.
    """
    n, d = rows.shape
    if n * d > max(SMALL, n * n):
        return CentredRows(centring(n) if center else np.eye(n), rows)
    x = rows.dense().astype(np.float64, copy=False)
    if not center:
        return x
    t = np.arange(1, n + 1, dtype=np.float64)[:, None]
    sums = np.cumsum(x, axis=0)
    y = np.zeros_like(x)
    y[1:] = np.sqrt((t[1:] - 1) / t[1:]) * (x[1:] - sums[:-1] / t[:-1])
    return y


def leading_directions(rows: CentredRows, n: int) -> tuple[F64, F64]:
    """Return the leading right singular vectors (n, d) of the rows and their squared lengths (n,).

    Directions beyond the rank of the rows are whatever is orthogonal to the others.
    """
    from scipy.linalg import eigh

    m = len(rows)
    values, vectors = eigh(rows.gram(), subset_by_index=[m - n, m - 1])
    made = vectors[:, ::-1].T @ rows
    lengths = np.linalg.norm(made, axis=1)
    q, r = np.linalg.qr((made / np.where(lengths > 0, lengths, 1.0)[:, None]).T)
    directions = (q * np.where(np.diagonal(r) < 0, -1.0, 1.0)).T
    return np.ascontiguousarray(directions), np.maximum(values[::-1], 0.0)
