"""What every result object can do, and the plain form that R reads."""

from __future__ import annotations

import dataclasses
import datetime
import html
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MAX_PLAIN = 5_000_000
"""Largest number of elements handed to R as plain lists."""
MAX_FLOAT = int(sys.float_info.max)


class Result:
    """Base of result objects: text and HTML from ``summary``, plain lists from the fields."""

    def summary(self) -> str:
        """Return a short text table of the result."""
        raise TypeError(f"{type(self).__name__} has no summary")

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a tidy DataFrame.

        Returns
        -------
        pandas.DataFrame
            As the class describes it.
        """
        raise TypeError(f"{type(self).__name__} has no tabular form")

    def to_r(self) -> dict[str, Any]:
        """Return plain dicts, lists and scalars (arrays as ``{"data", "dim"}``, Fortran order).

        Returns
        -------
        dict
            Only dicts, lists, text, numbers and None; R reads it with ``nb_result()``.
        """
        return {
            f.name: to_r(getattr(self, f.name), f.name)
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
        }

    def plot(self) -> Any:
        """Draw the result.

        Returns
        -------
        Axes or ndarray of Axes
            What was drawn on.
        """
        raise TypeError(f"{type(self).__name__} has no figure")

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return as_html(self.summary())


def as_html(text: str, max_lines: int = 30) -> str:
    """Return ``text`` as an escaped ``<pre>`` block of at most ``max_lines`` lines."""
    lines = text.splitlines()
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], f"… {len(lines) - max_lines + 1} more lines"]
    return "<pre>" + html.escape("\n".join(lines)) + "</pre>"


def to_r(x: Any, name: str = "object", advice: str = "") -> Any:
    """Return ``x`` built only from dict, list, str, bool, int, float and None.

    Parameters
    ----------
    x : object
        A result of this package, a DataFrame, Series, array, mapping, sequence or scalar.
    name : str, default="object"
        What to call ``x`` in an error message.
    advice : str, default=""
        What to use instead when ``x`` is too large.

    Returns
    -------
    object
        DataFrames become ``{column: list}``; arrays ``{"data": flat list in Fortran order,
        "dim": shape}``; whole numbers beyond 32 bits become floats.

    Raises
    ------
    ValueError
        If there are more than 5 million elements, two entries of one name, or no end to ``x``.
    TypeError
        If ``x`` has no plain form.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.r import to_r
    >>> to_r({"counts": np.array([[1, 2], [3, 4]]), "area": "ca1"})
    {'counts': {'data': [1, 3, 2, 4], 'dim': [2, 2]}, 'area': 'ca1'}
    """
    try:
        return _to_r(x, name, advice)
    except RecursionError:
        raise ValueError(f"{name} contains itself, or is nested too deeply") from None


def _to_r(x: Any, name: str, advice: str) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(x, Result):
        return x.to_r()
    if x is None or x is pd.NA or x is pd.NaT:
        return None
    if isinstance(x, pd.DataFrame):
        _size(x.size, name, advice)
        return _named(((c, _column(x.iloc[:, i])) for i, c in enumerate(x.columns)), name)
    if isinstance(x, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        _size(x.size, name, advice)
        return _column(pd.Series(x.tolist() if isinstance(x, pd.MultiIndex) else x))
    if isinstance(x, np.ndarray):
        _size(x.size, name, advice)
        if x.ndim == 0:
            return _scalar(x.item(), name)
        flat = [_scalar(v, name) for v in x.ravel(order="F").tolist()]
        return {"data": flat, "dim": [int(n) for n in x.shape]}
    if isinstance(x, Mapping):
        return _named(((k, _to_r(v, str(k), advice)) for k, v in x.items()), name)
    if isinstance(x, (list, tuple, set, frozenset, range)):
        _size(len(x), name, advice)
        return [_to_r(v, name, advice) for v in x]
    return _scalar(x, name)


def _named(items: Iterable[tuple[Any, Any]], name: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in items:
        if str(key) in out:
            raise ValueError(f"{name} has two entries named {str(key)!r}, and R could read one")
        out[str(key)] = value
    return out


def _size(n: int, name: str, advice: str) -> None:
    if n > MAX_PLAIN:
        raise ValueError(
            f"{name} has {n} elements, more than the {MAX_PLAIN} that plain lists are made for"
            + (f"; {advice}" if advice else "")
        )


def _column(s: pd.Series[Any]) -> list[Any]:
    import pandas as pd

    missing = s.isna().tolist()
    if isinstance(s.dtype, pd.CategoricalDtype):
        s = s.astype(str)
    is_float = pd.api.types.is_float_dtype(s.dtype)
    return [
        (float("nan") if is_float else None) if gone else _scalar(v, str(s.name))
        for v, gone in zip(s.tolist(), missing, strict=True)
    ]


def _scalar(v: Any, name: str) -> Any:
    import numpy as np

    if isinstance(v, np.generic):
        v = v.item()
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        # R integers have 32 bits; its doubles are exact below 2**53
        if abs(v) > MAX_FLOAT:
            raise ValueError(f"{name} holds a whole number too large for R")
        return v if -(2**31) < v < 2**31 else float(v)
    if isinstance(v, float):
        return v
    if isinstance(v, (datetime.datetime, datetime.date, datetime.time)):
        return v.isoformat()
    if isinstance(v, datetime.timedelta):
        return v.total_seconds()
    if isinstance(v, bytes):
        return v.decode("utf-8", "replace")
    if isinstance(v, Path):
        return str(v)
    if isinstance(v, (list, tuple)):
        return [_scalar(w, name) for w in v]
    raise TypeError(f"{name} holds a {type(v).__name__}, which has no plain form for R")
