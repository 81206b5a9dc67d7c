"""Rows of a sparse matrix as three plain arrays, from whatever SciPy holds them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nb26stats._check import refuse_r_na

# stored values, and rows, that are checked or converted at a time
PART_VALUES = 2**19
PART_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class CsrRows:
    """Row i holds ``values`` at ``columns``, ascending, from ``starts[i]`` to ``starts[i + 1]``."""

    values: NDArray[Any]
    columns: NDArray[Any]
    starts: NDArray[Any]
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """What native code takes, in its order."""
        return self.values, self.columns, self.starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> CsrRows:
        """Return a run of rows; the arrays are views of these."""
        first, end, _ = rows.indices(len(self))
        a, b = int(self.starts[first]), int(self.starts[max(first, end)])
        starts = self.starts[first : max(first, end) + 1] - a
        return CsrRows(self.values[a:b], self.columns[a:b], starts, self.n_features)

    def keep(self, mask: NDArray[np.bool_]) -> CsrRows:
        """Return the rows where ``mask`` (n,) is true."""
        lengths = np.diff(self.starts)
        stay = np.repeat(mask, lengths)
        starts = np.r_[0, np.cumsum(lengths[mask])]
        return CsrRows(self.values[stay], self.columns[stay], starts, self.n_features)

    def row_numbers(self) -> NDArray[np.int64]:
        """Return the row of every stored value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def native(self, dtype: Any) -> CsrRows:
        """Return a copy that no one else holds, in the types that native code takes."""
        return CsrRows(
            np.array(self.values, dtype),
            np.array(self.columns, np.int32),
            np.array(self.starts, np.int64),
            self.n_features,
        )

    def dense(self) -> NDArray[Any]:
        """Return the rows as an array."""
        out = np.zeros(self.shape, self.dtype)
        out[self.row_numbers(), self.columns] = self.values
        return out

    def matrix(self) -> sparse.csr_array:
        """Return the rows as SciPy's matrix; it shares the memory."""
        return sparse.csr_array((self.values, self.columns, self.starts), shape=self.shape)


def is_sparse(x: object) -> bool:
    """Whether ``x`` is one of SciPy's sparse matrices or arrays."""
    return bool(sparse.issparse(x))


def no_rows(n_features: int, dtype: Any) -> CsrRows:
    """Return a matrix without rows."""
    return zero_rows(0, n_features, dtype)


def zero_rows(n: int, n_features: int, dtype: Any) -> CsrRows:
    """Return ``n`` rows of zeros."""
    starts = np.zeros(n + 1, np.int64)
    return CsrRows(np.empty(0, dtype), np.empty(0, np.int32), starts, n_features)


def joined(a: CsrRows, b: CsrRows) -> CsrRows:
    """Return the rows of ``a``, then those of ``b``, as a native copy of the dtype of ``a``."""
    return CsrRows(
        np.concatenate([a.values, b.values], dtype=a.dtype),
        np.concatenate([a.columns, b.columns], dtype=np.int32, casting="unsafe"),
        np.concatenate([a.starts, a.starts[-1] + b.starts[1:]], dtype=np.int64),
        a.n_features,
    )


def from_dense(x: NDArray[Any]) -> CsrRows:
    """Return the nonzero elements of an array, NaN among them."""
    mask = x != 0
    starts = np.r_[0, np.cumsum(mask.sum(axis=1))]
    return CsrRows(x[mask], np.nonzero(mask)[1].astype(np.int32), starts, x.shape[1])


def runs(x: CsrRows, start: int = 0) -> Iterator[tuple[int, CsrRows]]:
    """Yield (index of the first row, rows) with a bounded number of stored values, or one row."""
    a = start
    while a < len(x):
        b = int(np.searchsorted(x.starts, int(x.starts[a]) + PART_VALUES, side="right")) - 1
        b = min(max(b, a + 1), a + PART_ROWS, len(x))
        yield a, x[a:b]
        a = b


def _unsound(x: Any, what: str) -> ValueError:
    name = "rows" if isinstance(x, CsrRows) else x.format.upper()
    return ValueError(f"X is not a sound sparse matrix ({name}): {what}; build it anew")


def _check_places(x: Any, places: Any, limit: int, what: str) -> None:
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise _unsound(x, f"{what} must be whole numbers in one dimension")
    if len(places) and not (places.min() >= 0 and places.max() < limit):
        raise _unsound(x, f"{what} must lie in [0, {limit - 1}]")


def _check_compressed(x: Any, n_major: int, n_minor: int) -> None:
    starts, places = np.asarray(x.indptr), np.asarray(x.indices)
    n = min(len(places), len(x.data))
    if starts.shape != (n_major + 1,) or starts.dtype.kind not in "iu":
        raise _unsound(x, f"indptr must hold {n_major + 1} whole numbers")
    if starts[0] != 0 or starts[-1] > n or np.any(starts[1:] < starts[:-1]):
        raise _unsound(x, f"indptr must ascend from 0 to at most {n}, the number of stored values")
    _check_places(x, places[: int(starts[-1])], n_minor, "indices")


def check_sound(x: Any) -> None:
    """Raise ValueError where SciPy's compiled code would read or write outside its arrays."""
    if len(x.shape) != 2:
        raise ValueError(
            f"X must have rows and columns, got {len(x.shape)} dimensions. Reshape your data"
        )
    n, d = x.shape
    if x.format in ("csr", "csc"):
        if np.ndim(x.data) != 1:
            raise _unsound(x, "data must have one dimension")
        _check_compressed(x, *((n, d) if x.format == "csr" else (d, n)))
    elif x.format == "bsr":
        if np.ndim(x.data) != 3 or min(x.data.shape[1:]) < 1:
            raise _unsound(x, "data must hold blocks")
        _, r, c = x.data.shape
        if n % r or d % c:
            raise _unsound(x, "blocks must fit the shape")
        _check_compressed(x, n // r, d // c)
    elif x.format == "coo":
        for places, limit, what in ((x.row, n, "row"), (x.col, d, "col")):
            if np.shape(places) != np.shape(x.data):
                raise _unsound(x, f"{what} must be as long as data")
            _check_places(x, np.asarray(places), limit, what)
    elif x.format == "lil":
        pairs = zip(x.rows, x.data, strict=False)
        if np.shape(x.rows) != (n,) or np.shape(x.data) != (n,):
            raise _unsound(x, "rows and data must have one list for each row")
        if any(len(a) != len(b) for a, b in pairs):
            raise _unsound(x, "lists of rows and data must have the same lengths")
    elif x.format == "dia" and (np.ndim(x.data) != 2 or np.shape(x.offsets) != (len(x.data),)):
        raise _unsound(x, "data must have one line for each offset")


def as_rows(x: Any) -> CsrRows:
    """Return a sparse matrix of any format with its columns ascending, duplicates summed.

    ``x`` itself stays as it is; the result may share its memory.
    """
    check_sound(x)
    if x.dtype.kind == "i":
        refuse_r_na(x.tocoo().data, "the list of what X stores", "drop those rows")
    # before duplicates are summed, which small integers would not hold
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    x = x.astype(dtype, copy=False).tocsr()
    check_sound(x)
    end = int(x.indptr[-1])
    rows = CsrRows(x.data[:end], x.indices[:end], x.indptr.astype(np.int64), x.shape[1])
    ascending = np.diff(rows.columns) > 0
    first = rows.starts[1:-1]
    ascending[first[(first > 0) & (first < end)] - 1] = True
    if ascending.all():
        return rows
    own = rows.matrix().copy()
    own.sum_duplicates()
    return CsrRows(own.data, own.indices, own.indptr.astype(np.int64), x.shape[1])


def scores_of(rows: CsrRows, components: NDArray[Any], mean: NDArray[np.float64]) -> NDArray[Any]:
    """Return ``(rows - mean) @ components.T`` (n, k) in float64."""
    wide = np.ascontiguousarray(components.T, np.float64)
    return np.asarray(rows.matrix().astype(np.float64, copy=False) @ wide - mean @ wide)
