"""Samples of sources and target: real columns, checked, with the names that messages use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_numbers, as_table, refuse_r_na
from nb26stats._warnings import warn

F64 = NDArray[np.float64]

LARGEST, SMALLEST = 1e150, 1e-150
UNITS = (
    f"numbers above {LARGEST:g}, or within {SMALLEST:g} of each other, have variances that float64 "
    "cannot hold; give them in other units"
)


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of one source or of the target.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        Finite numbers.
    name : str
        What to call them.
    columns : list of str or None
        Names of the columns, if they came with any.
    """

    values: F64
    name: str
    columns: list[str] | None = None

    def column(self, j: int) -> str:
        """Return how to speak of column ``j``."""
        return f"{j}" if self.columns is None else f"{j} ({self.columns[j]!r})"


def read_samples(value: object, name: str) -> Samples:
    """Return an array of shape (n, d) or (n,), or a DataFrame, as float64 columns.

    Raises
    ------
    TypeError
        The entries are not real numbers.
    ValueError
        There are no rows or columns, more than two dimensions, or an entry that is not finite,
        which is named.
    """
    columns = None
    value = as_table(value, name)
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        columns = [str(c) for c in value.columns]
        value = _frame_values(value, name)
    values = as_numbers(value, name)
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(
            f"{name} must have shape (trials,) or (trials, columns) and hold something, "
            f"got shape {values.shape}"
        )
    if values.ndim == 1:
        values = values[:, None]
    if values.dtype.kind == "i":
        refuse_r_na(values, name)
    out = Samples(np.ascontiguousarray(values, dtype=np.float64), name, columns)
    _refuse(np.isnan(out.values), "NaN", out)
    _refuse(np.isinf(out.values), "an infinite value", out)
    return out


def read_pair(sources: object, target: object) -> tuple[Samples, Samples, Samples]:
    """Return two sources and the target, of equal numbers of rows."""
    named = name_sources(sources)
    if len(named) != 2:
        raise ValueError(
            f"sources must hold two arrays, got {len(named)}; for more sources see "
            "union_information, or join some of them to one array"
        )
    x, y = (read_samples(value, name) for name, value in named)
    m = read_samples(target, "target")
    same_trials(x, y, m)
    return x, y, m


def name_sources(sources: object) -> list[tuple[str, Any]]:
    """Return sources with what to call them; a dict, as R's named lists arrive, has names."""
    if isinstance(sources, Mapping):
        return [(f"source {key!r}", value) for key, value in sources.items()]
    if isinstance(sources, (str, bytes)) or not isinstance(sources, Sequence):
        raise TypeError(
            f"sources must be a list of two arrays [X1, X2], got {type(sources).__name__}"
        )
    return [(f"source {i + 1}", value) for i, value in enumerate(sources)]


def same_trials(*parts: Samples) -> tuple[Samples, ...]:
    """Return the parts; ValueError with both numbers of rows where two differ."""
    first = parts[0]
    for other in parts[1:]:
        if len(other.values) != len(first.values):
            raise ValueError(
                f"{first.name} has {len(first.values)} trials and {other.name} has "
                f"{len(other.values)}; rows must be the same trials"
            )
    return parts


def varying(samples: Samples) -> Samples:
    """Return the columns that vary; say which were dropped.

    Raises
    ------
    ValueError
        No column varies, or numbers are too large or too close together to be squared.
    """
    x = samples.values
    low, high = x.min(axis=0), x.max(axis=0)
    constant = never_varies(low, high, np.float64)
    if constant.all():
        raise ValueError(f"{samples.name}: no column varies, so it can give no information")
    extreme = beyond_squares(low, high) & ~constant
    if extreme.any():
        raise ValueError(f"{samples.name}, column {samples.column(int(extreme.argmax()))}: {UNITS}")
    if not constant.any():
        return samples
    gone = np.flatnonzero(constant)
    shown = ", ".join(samples.column(int(j)) for j in gone[:5]) + (", …" if len(gone) > 5 else "")
    warn(f"{samples.name}: dropped {len(gone)} of {x.shape[1]} columns that never vary: {shown}")
    kept = np.flatnonzero(~constant)
    columns = samples.columns
    names = None if columns is None else [columns[int(j)] for j in kept]
    return Samples(np.ascontiguousarray(x[:, kept]), samples.name, names)


def never_varies(low: F64, high: F64, dtype: Any) -> NDArray[np.bool_]:
    """Return where numbers from ``low`` to ``high``, of this kind, are equal but for rounding."""
    eps = float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0
    # halves, because the difference of two large numbers may overflow; and the mean of equal
    # numbers need not equal them, so the bound is a few roundings wide
    return high / 2 - low / 2 <= 2 * eps * np.maximum(np.abs(low), np.abs(high))


def beyond_squares(low: F64, high: F64) -> NDArray[np.bool_]:
    """Return where numbers from ``low`` to ``high`` have squares that float64 cannot hold."""
    size = np.maximum(np.abs(low), np.abs(high))
    return (size > LARGEST) | (high / 2 - low / 2 < SMALLEST / 2)


def _frame_values(frame: Any, name: str) -> NDArray[Any]:
    import pandas as pd

    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            raise TypeError(f"{name}: column {column!r} must hold real numbers, got {dtype}")
        if pd.api.types.is_complex_dtype(dtype):
            raise TypeError(f"{name}: column {column!r} must hold real numbers, got {dtype}")
    values: NDArray[Any] = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _refuse(bad: NDArray[np.bool_], what: str, samples: Samples) -> None:
    if bad.any():
        i, j = (int(v) for v in np.argwhere(bad)[0])
        raise ValueError(
            f"{samples.name} holds {what} at trial {i}, column {samples.column(j)}, counted from 0"
        )
