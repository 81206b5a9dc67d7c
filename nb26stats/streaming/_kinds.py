"""What rows may be made of: numbers, in arrays, tables or lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import refuse_r_na

# what arrays, tables and sparse matrices of any library have one of
ARRAY_LIKE = ("shape", "__array__", "__array_interface__", "__dataframe__")


class NotRealError(TypeError, ValueError):
    """Data of the wrong kind; scikit-learn's own checks look for a ValueError here."""


def check_kind(x: Any) -> None:
    """Refuse complex numbers, text and other things that are not numbers, and R's integer NA."""
    dtype = getattr(x, "dtype", None)
    text = isinstance(x, (str, bytes))
    if text or not (isinstance(x, Sequence) or any(hasattr(x, name) for name in ARRAY_LIKE)):
        raise NotRealError(
            f"X must be a two-dimensional array of rows, got {type(x).__name__}{_where_rows_are(x)}"
        )
    if isinstance(dtype, np.dtype) and dtype.kind in "cSUVmM":
        what = "Complex data not supported: " if dtype.kind == "c" else ""
        raise NotRealError(f"{what}X must hold real numbers, got {dtype.name}")
    if isinstance(x, np.ndarray):
        refuse_r_na(x, "X", "drop those rows")


def _where_rows_are(x: Any) -> str:
    if hasattr(x, "counts") and hasattr(x, "unit_ids"):
        return "; give counts[area].reshape(-1, n_units) of it, a row per bin"
    if hasattr(x, "nwbfile") or type(x).__module__.split(".")[0] in ("pynwb", "hdmf"):
        return "; give one of the time series it holds"
    if type(x).__module__.split(".")[0] in ("h5py", "zarr"):
        return "; give one of the datasets it holds"
    return ""


def numeric(x: Any) -> Any:
    """Return rows in memory as an array of numbers; tables stay tables, for their names."""
    if type(x).__module__.split(".")[0] == "pandas" and hasattr(x, "columns"):
        _check_table(x)
        return x
    if not hasattr(x, "__array__"):
        try:
            x = np.asarray(x)
        except ValueError as err:
            raise NotRealError(f"X must hold rows of one length: {err}") from err
        check_kind(x)
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biuf":
        return as_floats(x)
    return x


def as_floats(x: Any, where: str = "") -> NDArray[np.float64]:
    """Return Python objects as float64, None as NaN."""
    try:
        return np.asarray(x, np.float64)
    except (TypeError, ValueError, OverflowError) as err:
        raise NotRealError(f"X must hold real numbers{where}: {err}") from err


def _check_table(x: Any) -> None:
    """Refuse a data frame with a column that does not hold numbers, by the column's name."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype, is_object_dtype

    kinds = list(x.dtypes)
    if not kinds:
        raise ValueError("X has no columns")
    seen = set(kinds)
    wrong = {
        kind
        for kind in seen
        if is_complex_dtype(kind) or not (is_numeric_dtype(kind) or is_object_dtype(kind))
    }
    for i, kind in enumerate(kinds if len(wrong) or np.dtype(object) in seen else []):
        where = f" in column {i} ({x.columns[i]!r})"
        if kind in wrong:
            what = "Complex data not supported: " if is_complex_dtype(kind) else ""
            raise NotRealError(f"{what}X must hold real numbers{where}, got {kind}")
        if is_object_dtype(kind):
            as_floats(x.iloc[:, i], where)
    refuse_r_na(x, "X", "drop those rows")
