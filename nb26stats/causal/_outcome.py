"""The outcome: numbers of a continuous quantity, and nothing that only looks like one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_vector, refuse_r_na
from nb26stats._warnings import warn

F64 = NDArray[np.float64]

MIN_VALUES = 10
MASS = 0.1
"""Share of rows at one value from which a warning names it."""
ALTERNATIVES = (
    "the model needs a continuous outcome; for a binary, ordinal or count outcome take a risk "
    "difference or a regression of that family, or two_groups on z-scores per sample"
)
TO_Z = (
    "times to an event are censored; convert them to z-scores with "
    "nb26stats.survival_residual_z(time, event, X, treatment=treatment) and pass those as y"
)


def refuse_survival(y: Any, event: Any) -> None:
    """Raise TypeError where the outcome is a time to an event."""
    if event is not None:
        raise TypeError(f"event= is not taken here: {TO_Z}")
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "names", None):
        raise TypeError(f"y has the fields {', '.join(dtype.names)}: {TO_Z}")  # type: ignore[union-attr]
    shape = tuple(getattr(y, "shape", ()))
    if isinstance(y, (list, tuple)) and len(y) and np.ndim(y[0]):
        shape = (len(y), len(y[0]))
    if len(shape) == 2 and shape[-1] == 1:
        raise TypeError(
            f"y must be one-dimensional, got shape {shape}: flatten a column with ravel(); "
            f"if these are times, {TO_Z}"
        )
    if len(shape) >= 2:
        raise TypeError(f"y must be one-dimensional, got shape {shape}: {TO_Z}")


def read_outcome(y: Any, name: str = "y") -> F64:
    """Return numbers, with NaN for what is missing."""
    if y is None:
        raise TypeError(f"{name} must hold the outcome of every row, got None")
    if hasattr(y, "to_numpy"):
        refuse_r_na(y, name)
        y = _of_series(y, name)
    elif isinstance(y, (list, tuple)) or getattr(getattr(y, "dtype", None), "kind", "") == "O":
        y = [np.nan if value is None else value for value in y]
    array = np.asarray(y) if not isinstance(y, np.ma.MaskedArray) else y
    if array.dtype.kind == "b":
        array = array.astype(np.float64)
    return as_vector(array, name)


def _of_series(y: Any, name: str) -> Any:
    try:
        if getattr(y.dtype, "kind", "O") in "mM":
            raise TypeError
        return y.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold real numbers, got {y.dtype} values") from None


def check_continuous(y: F64) -> None:
    """Raise ValueError where values repeat as those of a count or a class do."""
    value, count = np.unique(y, return_counts=True)
    n, k = len(y), len(value)
    ties = 1.0 - k / n
    if k <= 2:
        raise ValueError(f"y holds {k} distinct values: {ALTERNATIVES}")
    if k < MIN_VALUES:
        raise ValueError(f"y holds only {k} distinct values: {ALTERNATIVES}")
    if ties > 0.5 and bool(np.all(value == np.rint(value))):
        raise ValueError(
            f"y holds whole numbers, and {100 * ties:.0f} % of the rows repeat a value: "
            f"{ALTERNATIVES}"
        )
    top = int(count.argmax())
    share = count[top] / n
    if share > 0.5:
        raise ValueError(f"y is {value[top]:g} in {count[top]} of {n} rows: {ALTERNATIVES}")
    if share >= MASS:
        warn(
            f"y is {value[top]:g} in {count[top]} of {n} rows: densities smear out such a point "
            "mass, and rows there are not told apart"
        )
