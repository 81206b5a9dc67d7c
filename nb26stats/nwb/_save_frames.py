"""DataFrames to the columns of a stored table, or a ``ValueError`` that names the column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import R_NA_INTEGER

from ._save_items import Column, check_name, encodable

if TYPE_CHECKING:
    import pandas as pd


_MOST_COLUMNS = 4000
"""The names of a table's columns are one HDF5 attribute, which holds 64 kB."""


def frame_columns(frame: pd.DataFrame, where: str) -> tuple[Column, ...]:
    """Return the columns to store for a frame; a named index comes first.

    Parameters
    ----------
    frame : pandas.DataFrame
        Bool, whole-number, float, text, categorical or datetime columns.
    where : str
        What to call the frame in messages.

    Returns
    -------
    tuple of Column
        Values as they will be read back: numbers in their own type, everything else as text.

    Raises
    ------
    ValueError
        If there are no rows, no columns or too many, or a column cannot be stored; names the
        column.
    """
    if not len(frame):
        raise ValueError(f"{where} has no rows; NWB tables need at least one")
    parts = [*_index_levels(frame), *((c, frame.iloc[:, i]) for i, c in enumerate(frame.columns))]
    if not parts:
        raise ValueError(f"{where} has no columns and no named index, so there is nothing to store")
    if len(parts) > _MOST_COLUMNS:
        raise ValueError(
            f"{where} has {len(parts)} columns and NWB tables hold {_MOST_COLUMNS}; give one row "
            "per value (DataFrame.melt), or a time series dict(data=array, ...)"
        )
    described = _descriptions(frame)
    columns: list[Column] = []
    seen: set[str] = set()
    for name, series in parts:
        here = check_name(name, f"{where}: a column")
        if here in seen:
            raise ValueError(f"{where} has two columns named {here!r}; names must differ")
        seen.add(here)
        values, note = _values(series, f"{where}: column {here!r}")
        text = described.get(here) or f"column {here} of a result"
        columns.append(Column(here, values, f"{text}{note}"))
    return tuple(columns)


def _index_levels(frame: pd.DataFrame) -> list[tuple[Any, pd.Series[Any]]]:
    import pandas as pd

    levels = []
    for i, name in enumerate(frame.index.names):
        if name is not None:
            values = pd.Series(frame.index.get_level_values(i)).reset_index(drop=True)
            # every stored table has row ids of its own under the name id
            levels.append(("row_id" if name == "id" else name, values))
    return levels


def _descriptions(frame: pd.DataFrame) -> dict[str, str]:
    own = frame.attrs.get("nb26stats")
    found = own.get("descriptions") if isinstance(own, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str) and v and _storable(v)}


def _values(series: pd.Series[Any], where: str) -> tuple[NDArray[Any] | list[str], str]:
    """Return the stored values and a note on what the conversion did."""
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        series = pd.Series(np.asarray(series))
        dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = [str(c) for c in dtype.categories]
        codes = series.cat.codes.to_numpy()
        return _text([labels[k] if k >= 0 else None for k in codes], where, "category labels")
    if types.is_bool_dtype(dtype) or types.is_integer_dtype(dtype):
        return _whole(series, where)
    if types.is_complex_dtype(dtype):
        raise ValueError(f"{where} holds complex numbers; store real and imaginary parts apart")
    if types.is_float_dtype(dtype):
        return _floats(series, where), ""
    if types.is_datetime64_any_dtype(dtype):
        missing = series.isna().tolist()
        texts = [None if m else t.isoformat() for t, m in zip(series, missing, strict=True)]
        return _text(texts, where, "ISO 8601 times")
    if types.is_string_dtype(dtype) and not types.is_object_dtype(dtype):
        missing = series.isna().tolist()
        return _text([None if m else v for v, m in zip(series, missing, strict=True)], where)
    if types.is_object_dtype(dtype):
        return _objects(series, where)
    if types.is_timedelta64_dtype(dtype):
        raise ValueError(f"{where} holds time differences; store them as seconds")
    raise ValueError(f"{where} has type {dtype}; convert it to numbers, bool or text")


def _whole(series: pd.Series[Any], where: str) -> tuple[NDArray[Any], str]:
    missing = series.isna().to_numpy()
    kind = _numpy_type(series)
    if not missing.any():
        values = _native(series.to_numpy(dtype=kind))
        _refuse_r_na(values, where)
        return values, ""
    present = series[~missing].to_numpy(dtype=kind)
    _refuse_r_na(present, where)
    values = np.full(len(series), np.nan)
    values[~missing] = present
    if kind.kind in "iu" and not np.array_equal(values[~missing].astype(kind), present):
        raise ValueError(
            f"{where} has missing values and whole numbers beyond 2**53, which floats with NaN "
            "cannot hold; drop or fill the missing values"
        )
    return values, f" ({int(missing.sum())} missing values stored as NaN)"


def _floats(series: pd.Series[Any], where: str) -> NDArray[Any]:
    kind = _numpy_type(series)
    if kind.itemsize > 8:
        raise ValueError(f"{where} has type {kind}, which differs by machine; use float64")
    return _native(series.to_numpy(dtype=kind, na_value=np.nan))


def _objects(series: pd.Series[Any], where: str) -> tuple[list[str], str]:
    import pandas as pd

    out: list[str | None] = []
    for value in series:
        if isinstance(value, str):
            out.append(value)
        elif value is None or value is pd.NA or value is pd.NaT or _is_nan(value):
            out.append(None)
        elif isinstance(value, (list, tuple, set, dict, np.ndarray, pd.Series)):
            raise ValueError(
                f"{where} is ragged: it holds a {type(value).__name__} per row; give one number "
                "or text per row, or store each element in a row of its own"
            )
        else:
            raise ValueError(
                f"{where} is an object column that holds {type(value).__name__} values; convert "
                "it to numbers, bool or text"
            )
    if all(v is None for v in out):
        raise ValueError(
            f"{where} is an object column with missing values only; give it a type, for example "
            "with astype(float)"
        )
    return _text(out, where)


def _text(values: list[str | None], where: str, what: str = "") -> tuple[list[str], str]:
    out = [str(v) if v is not None else "" for v in values]
    for text in out:
        if not _storable(text):
            raise ValueError(
                f"{where} holds {text[:60]!r}, and NWB text cannot hold the character NUL or lone "
                "surrogates"
            )
    n_missing = sum(v is None for v in values)
    notes = [what] if what else []
    if n_missing:
        notes.append(f"{n_missing} missing values stored as empty text")
    return out, f" ({'; '.join(notes)})" if notes else ""


def _numpy_type(series: pd.Series[Any]) -> np.dtype[Any]:
    # nullable and Arrow types know the plain type of their values
    dtype: Any = series.dtype
    plain: np.dtype[Any] = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    return plain


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _storable(text: str) -> bool:
    return "\0" not in text and encodable(text)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _refuse_r_na(values: NDArray[Any], where: str) -> None:
    if values.dtype.kind == "i" and values.dtype.itemsize >= 4 and (values == R_NA_INTEGER).any():
        raise ValueError(
            f"{where} holds {R_NA_INTEGER}, R's NA_integer_; use NA_real_ or drop these rows"
        )
