"""Rows from arrays and from sources that are read a slab at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_table, unmasked

from ._csr import CsrRows, from_dense, runs
from ._kinds import NotRealError, as_floats, check_kind
from ._series import SeriesRows, check_open, is_series
from ._settings import Settings

SLAB_ROWS = 4096
SLAB_ELEMENTS = 2**22
# elements of an array in memory that are checked or converted at a time
PART_ELEMENTS = 2**19


Rows = NDArray[Any] | CsrRows


def as_source(x: Any) -> Any:
    """Return what rows are read from: of an NWB time series its data, masked values as NaN."""
    check_open(x)
    if isinstance(x, dict):
        x = as_table(x, "X")
    return SeriesRows(x) if is_series(x) else unmasked(x)


def is_slab_source(x: object) -> bool:
    """Whether ``x`` is read by slabs: a memory map, an HDF5 or zarr dataset, a dask array."""
    if isinstance(x, SeriesRows):
        return True
    library = type(x).__module__.split(".")[0]
    if library == "dask":
        return hasattr(x, "chunks")  # a dask DataFrame has none, and is read whole
    return isinstance(x, np.memmap) or library in ("h5py", "zarr")


def stays_here(x: Any) -> bool:
    """Whether ``x`` cannot be sent to another process: an open HDF5 dataset."""
    held = x.data if isinstance(x, SeriesRows) else x
    return type(held).__module__.split(".")[0] == "h5py"


def slab_source_kind(x: Any) -> tuple[int, np.dtype[Any]]:
    """Return rows and dtype of a slab source."""
    shape = getattr(x, "shape", None)
    if shape is None:
        raise NotRealError(f"X must be a dataset with rows and columns, got {type(x).__name__}")
    if len(shape) != 2:
        raise ValueError(f"X must have rows and columns, got {len(shape)} dimensions")
    if x.shape[0] != x.shape[0]:
        raise ValueError("X has chunks of unknown size; call X.compute_chunk_sizes() first")
    return int(x.shape[0]), np.dtype(x.dtype)


def read(x: Any, a: int, b: int) -> Rows:
    """Return rows a..b-1 of rows in memory or of a slab source as rows in memory."""
    part: Any = x[a:b]
    if not is_slab_source(x):
        rows: Rows = part
        return rows
    part = unmasked(part.compute() if hasattr(part, "compute") else part)
    # a source may break the promise that its shape and dtype make
    n, d = min(b, int(x.shape[0])) - a, x.shape[1]
    if np.shape(part) not in ((n, d), (n, *np.shape(part)[1:2]) if d != d else ()):
        raise ValueError(
            f"X promised rows {a} to {a + n - 1} in shape {(n, d)} and gave shape {np.shape(part)}"
        )
    check_kind(part)
    return np.asarray(part) if part.dtype.kind in "biuf" else as_floats(part)


def _slab_rows(x: Any) -> int:
    """Return rows to read at a time: whole chunks of the file, unless those are huge."""
    rows = max(1, min(SLAB_ROWS, SLAB_ELEMENTS // max(1, int(x.shape[1]))))
    chunks = getattr(x.data if isinstance(x, SeriesRows) else x, "chunks", None)
    chunk = int(chunks[0]) if chunks else 1
    return max(chunk, rows // chunk * chunk) if chunk <= SLAB_ROWS else rows


def slabs(x: Any, start: int) -> Iterator[tuple[int, Rows]]:
    """Yield (index of the first row, rows) of a slab source from row ``start`` on."""
    if type(x).__module__.split(".")[0] == "dask":
        edges = np.cumsum([0, *x.chunks[0]]).tolist()
    else:
        edges = [*range(0, x.shape[0], _slab_rows(x)), x.shape[0]]
    for a, b in itertools.pairwise(edges):
        if max(a, start) < b:
            yield max(a, start), read(x, max(a, start), b)


def parts(x: Rows, start: int = 0) -> Iterator[tuple[int, Rows]]:
    """Yield (index of the first row, rows) of rows in memory."""
    if isinstance(x, CsrRows):
        yield from runs(x, start)
        return
    step = max(1, PART_ELEMENTS // x.shape[1])
    for a in range(start, len(x), step):
        yield a, x[a : a + step]


def check_rows(
    x: Rows, missing: str, names: NDArray[Any] | None = None, first_row: int = 0
) -> None:
    """Raise ValueError naming the first infinity, or the first NaN unless those are dropped."""
    if x.dtype.kind != "f":
        return
    for a, part in parts(x):
        values = part.values if isinstance(part, CsrRows) else part
        good = np.isfinite(values)
        if missing == "drop":
            good |= np.isnan(values)
        if not good.all():
            at = tuple(np.argwhere(~good)[0])
            value = values[at]
            if isinstance(part, CsrRows):
                at = (part.row_numbers()[at], part.columns[at])
            row, column = (int(i) for i in at)
            label = f"column {column}" if names is None else f"column {column} ({names[column]!r})"
            what = "NaN" if np.isnan(value) else "inf"
            hint = "; missing='drop' leaves such rows out" if what == "NaN" else ""
            raise ValueError(
                f"X contains {what} at row {first_row + a + row}, {label} (counted from 0){hint}"
            )


def _complete(x: Rows) -> NDArray[np.bool_]:
    """Return for every row whether it has no NaN."""
    if not isinstance(x, CsrRows):
        return np.asarray(~np.isnan(x).any(axis=1))
    out = np.ones(len(x), bool)
    out[x.row_numbers()[np.isnan(x.values)]] = False
    return out


def _select(x: Rows, keep: NDArray[np.bool_]) -> Rows:
    return x.keep(keep) if isinstance(x, CsrRows) else x[keep]


def working(x: Rows, settings: Settings) -> tuple[Rows, int]:
    """Return rows of the stream's kind and dtype, and how many rows with NaN were left out."""
    n = len(x)
    if settings.missing == "drop" and x.dtype.kind == "f":
        keep = _complete(x)
        if not keep.all():
            x = _select(x, keep)
    skipped = n - len(x)
    if settings.sparse:
        return (x if isinstance(x, CsrRows) else from_dense(x)), skipped
    x = x.dense() if isinstance(x, CsrRows) else x
    return np.require(x, settings.dtype, ["C_CONTIGUOUS", "ALIGNED"]), skipped


def count_complete(x: Rows, missing: str) -> int:
    """Return the number of rows that ``working`` keeps."""
    if missing != "drop" or x.dtype.kind != "f":
        return len(x)
    return sum(int(_complete(part).sum()) for _, part in parts(x))
