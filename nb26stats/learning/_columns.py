"""One value per trial, from lists, arrays, pandas or R, and labels of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import R_NA_INTEGER, as_list, as_vector, refuse_r_na, unmasked


def as_column(value: object, name: str, n: int | None, of: str = "X") -> NDArray[np.float64]:
    """Return n numbers; True is 1, and what is missing is NaN.

    Parameters
    ----------
    value : array-like of shape (n,)
        Numbers or booleans; None, NaN, pandas' NA and masked entries are missing.
    name : str
        What a message calls it.
    n : int or None
        Number of trials; None for as many as there are.
    of : str
        What has n trials, for the message.
    """
    if isinstance(value, (Mapping, Set)):
        raise TypeError(f"{name} must be a sequence with a value per trial, got {_kind(value)}")
    refuse_r_na(value, name)
    # one trial comes from R as a scalar, and what can be read only once is read here
    plain = value if getattr(value, "ndim", 0) else as_list(value, name)
    out = as_vector(_plain(plain), name)
    if n is not None and len(out) != n:
        raise ValueError(f"{name} has {len(out)} values, but {of} has {n} trials")
    return out


def shown(value: float) -> str:
    """Return a number for a message, with the digits that tell it from its neighbours."""
    return repr(float(value)).removesuffix(".0")


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def _plain(value: Any) -> Any:
    """Return booleans and missing values as floats, anything else as it is."""
    if getattr(getattr(value, "dtype", None), "na_value", None) is not None:
        # columns of pandas with a missing value of their own
        kind = value.dtype.kind
        return value.to_numpy(dtype=float, na_value=np.nan) if kind in "biuf" else value
    try:
        array = np.asarray(unmasked(value))
    except ValueError:
        return value
    if array.dtype.kind == "b":
        return array.astype(np.float64)
    if array.dtype.kind == "O" and array.ndim == 1:
        gone = np.array([_is_missing(v) for v in array], dtype=bool)
        numbers = [isinstance(v, (bool, int, float, np.bool_, np.number)) for v in array[~gone]]
        if all(numbers):
            out = np.full(array.shape, np.nan)
            out[~gone] = array[~gone].astype(np.float64)
            return out
    return value


def _is_missing(value: object) -> bool:
    return value is None or type(value).__name__ == "NAType"


def as_labels(value: object, n: int, of: str = "X") -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Return codes 0, 1, .. in order of appearance, and the label of each.

    Parameters
    ----------
    value : array-like of shape (n,)
        Labels of sessions; each session is one block of trials.
    n : int
        Number of trials.
    of : str
        What has n trials, for the message.
    """
    if isinstance(value, (Mapping, Set)):
        raise TypeError(f"sessions must be a sequence with a label per trial, got {_kind(value)}")
    labels = _label_list(value)
    if len(labels) != n:
        raise ValueError(f"sessions has {len(labels)} values, but {of} has {n} trials")
    codes = np.empty(n, dtype=np.int64)
    seen: dict[Any, int] = {}
    last: Any = None
    for i, label in enumerate(labels):
        if _is_missing(label) or label != label:
            raise ValueError(f"sessions must label every trial, got a missing label at trial {i}")
        if isinstance(label, (int, np.integer)) and label == R_NA_INTEGER:
            raise ValueError(f"sessions must label every trial, got R's NA_integer_ at trial {i}")
        try:
            known = label in seen
        except TypeError:
            raise TypeError(
                f"sessions must hold numbers or text, got {type(label).__name__} at trial {i}"
            ) from None
        if not known:
            seen[label] = len(seen)
        elif label != last:
            raise ValueError(
                f"sessions must be blocks of trials, but label {label!r} returns at trial {i}: "
                "put the trials in order of time"
            )
        codes[i], last = seen[label], label
    return codes, tuple(seen)


def as_array(labels: tuple[Any, ...]) -> NDArray[Any]:
    """Return labels as an array of one axis, of objects where NumPy would change them."""
    try:
        out = np.asarray(labels)
    except ValueError:
        out = np.empty(0)
    same = out.ndim == 1 and out.tolist() == list(labels)
    return out if same else np.fromiter(labels, dtype=object, count=len(labels))


def _label_list(value: Any) -> list[Any]:
    """Return the labels as hashable objects."""
    if isinstance(value, np.ma.MaskedArray):
        value = unmasked(value)
    if hasattr(value, "ndim") and value.ndim > 1:
        raise ValueError(f"sessions must be one-dimensional, got shape {value.shape}")
    # lists of NumPy's finest times hold counts of nanoseconds
    whole = hasattr(value, "tolist") and np.ndim(value) and value.dtype.kind not in "mM"
    return list(value.tolist()) if whole else as_list(value, "sessions")
