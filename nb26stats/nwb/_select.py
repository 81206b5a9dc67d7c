"""Which rows a user means: masks, positions, query strings, callables; which units are good."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import R_NA_INTEGER

from ._query import safe_query
from .errors import MissingColumnError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["safe_query", "select_quality", "select_rows"]

_QUALITY = ("quality", "KSLabel", "ks_label", "group", "label")
_OPERATORS = ("<", ">", "=", "!", "&", "|", "~", "(", " ")


def select_rows(
    frame: pd.DataFrame | Callable[[], pd.DataFrame] | None,
    query: Any,
    *,
    name: str,
    n_rows: int,
) -> NDArray[np.int64]:
    """Return the positions of the rows that ``query`` asks for.

    Parameters
    ----------
    frame : pandas.DataFrame, callable returning one, or None
        The table; a callable is only asked when the query needs it.
    query : mask, positions, str, callable or None
        None: all rows. Boolean mask of length ``n_rows``; 0-based positions, unique, returned in
        the order given; a query such as ``"response == 'correct'"``; a function of the frame
        that returns a mask or positions.
    name : str
        The parameter's name for messages.
    n_rows : int
        Number of rows of the table.
    """
    if query is None:
        return np.arange(n_rows, dtype=np.int64)
    if isinstance(query, str):
        if frame is None:
            raise ValueError(
                f"{name}={query!r}: there is no table to ask; give a mask or row positions"
            )
        table = frame() if callable(frame) else frame
        return np.flatnonzero(safe_query(table, query, name)).astype(np.int64)
    if callable(query):
        if frame is None:
            raise ValueError(f"{name}: there is no table to call the function with")
        answer = query(frame() if callable(frame) else frame)
        if answer is None or isinstance(answer, str) or callable(answer):
            raise TypeError(
                f"{name}: the function must return a boolean mask or row positions, got "
                f"{type(answer).__name__}"
            )
        return select_rows(None, answer, name=name, n_rows=n_rows)
    return _from_values(query, name, n_rows)


def _from_values(query: Any, name: str, n_rows: int) -> NDArray[np.int64]:
    kind = (
        f"{name} must be a boolean mask of length {n_rows}, a list of row positions or a query "
        "string"
    )
    if isinstance(query, (bytes, dict, set, frozenset)):
        raise TypeError(f"{kind}, got {type(query).__name__}")
    if np.ma.is_masked(query):
        raise TypeError(f"{kind}, got missing values")
    if hasattr(query, "to_numpy") and getattr(query, "ndim", 1) == 1:
        query = query.to_numpy()
    if not isinstance(query, np.ndarray):
        try:
            query = np.asarray(list(query) if isinstance(query, Iterable) else [query])
        except (ValueError, TypeError) as err:
            raise TypeError(f"{kind}, got {type(query).__name__}") from err
    values = np.atleast_1d(query)
    if values.ndim > 1:
        values = values.reshape(-1) if max(values.shape) == values.size else values
        if values.ndim > 1:
            raise ValueError(f"{kind}, got shape {values.shape}")
    if values.dtype == object and values.size:
        values = _typed(values, kind)
    if values.dtype == bool:
        if len(values) != n_rows:
            raise ValueError(f"{name}: the mask has {len(values)} values for {n_rows} rows")
        return np.flatnonzero(values).astype(np.int64)
    if not values.size:
        return np.empty(0, np.int64)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{kind}, got {values.dtype} values")
    return _positions(values, name, n_rows)


def _typed(values: NDArray[Any], kind: str) -> NDArray[Any]:
    if all(isinstance(v, (bool, np.bool_)) for v in values):
        return values.astype(bool)
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values):
        return values.astype(np.float64)
    raise TypeError(f"{kind}, got a mixture or missing values")


def _positions(values: NDArray[Any], name: str, n_rows: int) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.rint(values))
        if not whole.all():
            raise ValueError(
                f"{name}: row positions must be whole numbers, got {values[~whole][0]}"
            )
    if np.any(values == R_NA_INTEGER):
        raise ValueError(f"{name} holds {R_NA_INTEGER}, R's NA_integer_; drop it")
    if np.any(values < 0):
        raise ValueError(
            f"{name}: row positions count from 0 and must not be negative, got {values.min():g}"
        )
    if np.any(values >= n_rows):
        raise ValueError(
            f"{name}: row position {values.max():g} does not exist, there are {n_rows} rows, "
            "counted from 0"
        )
    out = values.astype(np.int64)
    seen, counts = np.unique(out, return_counts=True)
    if np.any(counts > 1):
        raise ValueError(
            f"{name}: row position {seen[counts > 1][0]} is given more than once (a mask must "
            "hold True and False, not 1 and 0)"
        )
    return out


def select_quality(frame: pd.DataFrame, quality: Any) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which units pass ``quality`` and how it was read.

    Parameters
    ----------
    frame : pandas.DataFrame
        What ``units()`` returns.
    quality : None, str, callable, mask or positions
        None: all units. A word such as ``"good"``: units whose quality column (``quality``,
        ``KSLabel``, ``ks_label``, ``group`` or ``label``; the first text column that has it)
        equals it, in any case. Text with an operator or a space is a query on the frame. A
        function of the frame returns a mask.
    """
    n = len(frame)
    info: dict[str, Any] = {"quality": None, "column": None, "n_kept": n, "n_excluded": 0}
    if quality is None:
        return np.ones(n, dtype=bool), info
    if isinstance(quality, str):
        mask, column = _quality_text(frame, quality)
        info.update(quality=quality, column=column)
    else:
        mask = np.zeros(n, dtype=bool)
        mask[select_rows(frame, quality, name="quality", n_rows=n)] = True
        info["quality"] = (
            getattr(quality, "__name__", type(quality).__name__) if callable(quality) else "rows"
        )
    info.update(n_kept=int(mask.sum()), n_excluded=int(n - mask.sum()))
    return mask, info


def _quality_text(frame: pd.DataFrame, quality: str) -> tuple[NDArray[np.bool_], str | None]:
    word = quality.strip()
    if not word:
        raise ValueError("quality must not be empty")
    columns = [str(c) for wanted in _QUALITY for c in frame.columns if str(c) == wanted]
    columns += [
        str(c)
        for wanted in _QUALITY
        for c in frame.columns
        if str(c).casefold() == wanted.casefold() and str(c) not in columns
    ]
    texts = [c for c in columns if _is_text(frame[c])]
    for column in texts:
        mask = np.array(
            [isinstance(v, str) and v.strip().casefold() == word.casefold() for v in frame[column]],
            dtype=bool,
        )
        if mask.any():
            return mask, column
    if any(mark in word for mark in _OPERATORS):
        return safe_query(frame, quality, "quality"), None
    if not columns:
        listed = ", ".join(map(str, frame.columns))
        raise MissingColumnError(
            f"quality={quality!r}: the units have no quality column ({', '.join(_QUALITY)}); "
            f'their columns are: {listed}; write a query such as "n_spikes > 100"'
        )
    found = "; ".join(f"{c}: {_distinct(frame[c])}" for c in columns)
    raise ValueError(f"quality={quality!r} is in no quality column. They hold: {found}")


def _is_text(column: pd.Series[Any]) -> bool:
    return any(isinstance(v, str) for v in column)


def _distinct(column: pd.Series[Any]) -> str:
    values = list(dict.fromkeys(column.tolist()))
    shown = ", ".join(repr(v) for v in values[:10])
    return shown + (f", … ({len(values)} values)" if len(values) > 10 else "") if shown else "none"
