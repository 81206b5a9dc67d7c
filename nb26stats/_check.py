"""Argument checks: each returns the clean value or raises one sentence that says what is right.

Whole numbers may arrive as doubles (R writes ``2`` for two), so ``2.0`` counts as 2; booleans do
not count as numbers.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R_NA_INTEGER = -2147483648


def _kind(value: object) -> str:
    return f"{value!r} ({type(value).__name__})" if len(repr(value)) < 80 else type(value).__name__


def as_int(
    value: object, name: str, *, minimum: int | None = None, maximum: int | None = None
) -> int:
    """Return ``value`` as an int; floats must be integral, booleans are refused."""
    out: int | None = None
    if not _is_bool(value) and not _is_span(value):
        if isinstance(value, numbers.Integral):
            out = int(value)
        elif isinstance(value, numbers.Real) and float(value).is_integer():
            out = int(float(value))
    if out is None:
        raise TypeError(f"{name} must be a whole number, got {_kind(value)}")
    if out == R_NA_INTEGER:
        raise ValueError(
            f"{name}={out} looks like R's NA_integer_; give a value or leave the argument out"
        )
    if (minimum is not None and out < minimum) or (maximum is not None and out > maximum):
        # R's numbers may be whole and of 300 digits
        shown = (
            str(out)
            if abs(out) < 2**64
            else f"{'-' if out < 0 else ''}1e{math.log10(abs(out)):.0f}"
        )
        raise ValueError(f"{name}={shown} must {_range(minimum, maximum)}")
    return out


def as_jobs(value: object) -> int | None:
    """Return ``n_jobs`` as joblib takes it: None, or a whole number other than 0."""
    most = 2**15  # joblib starts a process for each
    jobs = None if value is None else as_int(value, "n_jobs", minimum=-most, maximum=most)
    if jobs == 0:
        raise ValueError("n_jobs=0 must be at least 1, or negative to count from all cores")
    return jobs


def as_float(
    value: object,
    name: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
) -> float:
    """Return ``value`` as a finite float inside ``[minimum, maximum]`` (and ``> above``)."""
    if _is_bool(value) or _is_span(value) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {_kind(value)}")
    try:
        out = float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large: float64 ends near 1.8e308") from None
    if not math.isfinite(out):
        raise ValueError(f"{name}={out} must be finite")
    if above is not None and not out > above:
        raise ValueError(f"{name}={out:g} must be greater than {above:g}")
    if (minimum is not None and out < minimum) or (maximum is not None and out > maximum):
        raise ValueError(f"{name}={out:g} must {_range(minimum, maximum)}")
    return out


def as_prob(value: object, name: str) -> float:
    """Return a float strictly between 0 and 1."""
    out = as_float(value, name)
    if not 0.0 < out < 1.0:
        raise ValueError(f"{name}={out:g} must lie strictly between 0 and 1")
    return out


def as_bool(value: object, name: str) -> bool:
    """Return a bool; only True/False (Python or NumPy) are accepted."""
    if not _is_bool(value):
        raise TypeError(f"{name} must be True or False, got {_kind(value)}")
    return bool(value)


def as_choice(value: object, name: str, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of the strings ``choices``."""
    allowed = list(choices)
    if isinstance(value, str) and value in allowed:
        return value
    listed = ", ".join(repr(c) for c in allowed)
    error = ValueError if isinstance(value, str) else TypeError
    raise error(
        f"{name}={_kind(value) if error is TypeError else repr(value)} must be one of {listed}"
    )


def as_text(value: object, name: str) -> str:
    """Return ``value`` if it is a non-empty string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {_kind(value)}")
    if not value:
        raise ValueError(f"{name} must not be empty")
    return value


def unmasked(value: Any) -> Any:
    """Return a masked array as a plain one: NaN for what it hides, None among text and objects.

    Anything else stays as it is.
    """
    import numpy as np

    if not isinstance(value, np.ma.MaskedArray):
        return value
    if not np.ma.is_masked(value):
        return value.data
    if value.dtype.kind not in "biufOSU":
        return value.data
    if value.dtype.kind in "OSU":
        plain = value.data.astype(object)
        plain[np.ma.getmaskarray(value)] = None
        return plain
    wide = np.float32 if value.dtype == np.float32 else np.float64
    return np.ma.filled(value.astype(wide), np.nan)


def as_numbers(value: object, name: str) -> NDArray[Any]:
    """Return an array of real numbers of any shape, NaN for what a masked array hides."""
    import numpy as np

    try:
        out = np.asarray(unmasked(value))
    except ValueError as err:
        raise ValueError(f"{name} must have rows of one length, got ragged ones") from err
    if out.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {_contents(value, out)}")
    return out


def as_vector(value: object, name: str) -> NDArray[np.float64]:
    """Return a 1-D C-contiguous float64 copy or view; a scalar becomes a length-1 vector."""
    import numpy as np

    try:
        out = np.asarray(unmasked(value))
    except ValueError as err:
        raise ValueError(f"{name} must be a flat sequence of numbers, got a ragged one") from err
    if out.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {_contents(value, out)}")
    refuse_r_na(value if hasattr(value, "dtype") else out, name)
    if out.ndim > 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {out.shape}")
    return np.ascontiguousarray(np.atleast_1d(out), dtype=np.float64)


def refuse_r_na(values: Any, name: str, advice: str = "use NA_real_ or drop it") -> None:
    """Raise ValueError where whole numbers hold R's integer NA: a number for everybody but R.

    ``values`` is an array of NumPy, or a Series or DataFrame of pandas; others are left alone.
    """
    import numpy as np

    if type(values).__module__.split(".")[0] not in ("numpy", "pandas"):
        return
    if hasattr(values, "columns"):
        parts = [
            (values.iloc[:, i], f", column {column!r}") for i, column in enumerate(values.columns)
        ]
    else:
        parts = [(values, "")]
    for part, of in parts:
        # a kind is NumPy's or pandas' own, and both tell
        if getattr(part.dtype, "kind", "") != "i" or part.dtype.itemsize < 4:
            continue
        gone = part == R_NA_INTEGER
        gone = np.asarray(gone.fillna(False) if hasattr(gone, "fillna") else gone, dtype=bool)
        if gone.any():
            at = [int(i) for i in np.argwhere(gone)[0]]
            if of or len(at) == 2:
                where = f"row {at[0]}{of or f', column {at[1]}'}"
            else:
                where = ", ".join(str(i) for i in at) or "its only place"
            raise ValueError(
                f"{name} holds {R_NA_INTEGER}, R's NA_integer_, at {where} (counted from 0); "
                f"{advice}"
            )


def as_table(value: Any, name: str) -> Any:
    """Return a dict of columns of one length, as R's named lists arrive, as a DataFrame.

    Anything else stays as it is. R's integer NA is refused wherever it can be seen.
    """
    # a sparse matrix of SciPy may be a dict of its entries
    if isinstance(value, dict) and not hasattr(value, "shape"):
        import pandas as pd

        columns = {
            as_text(key, f"the name of a column of {name}"): _column(of, f"{name}[{key!r}]")
            for key, of in value.items()
        }
        lengths = {key: len(of) for key, of in columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key!r} {n}" for key, n in lengths.items())
            raise ValueError(f"{name} must have columns of one length, got {told}")
        value = pd.DataFrame(columns)
    refuse_r_na(value, name)
    return value


def _column(value: Any, name: str) -> Any:
    import numpy as np

    if hasattr(value, "dtype") and getattr(value, "ndim", 0) == 1:
        return unmasked(value)
    entries = as_list(value, name)
    if any(np.ndim(entry) for entry in entries if not isinstance(entry, (str, bytes))):
        raise ValueError(f"{name} must be one column of numbers, got a nested list")
    return np.asarray(entries) if entries else np.empty(0)


def as_list(value: object, name: str) -> list[Any]:
    """Return a list; text and scalars become a one-element list (R drops length-1 vectors)."""
    if value is None:
        raise TypeError(f"{name} must not be None")
    if getattr(value, "ndim", 1) == 0:
        # an array without axes has an iterator that only raises
        return [value[()]]  # type: ignore[index]
    if isinstance(value, (str, bytes, numbers.Number)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_span(value: object) -> bool:
    # NumPy registers its time spans as whole numbers
    return type(value).__name__ == "timedelta64"


def _range(minimum: float | None, maximum: float | None) -> str:
    if minimum is None:
        return f"be at most {maximum:g}"
    if maximum is None:
        return f"be at least {minimum:g}"
    return f"lie in [{minimum:g}, {maximum:g}]"


def _contents(value: object, array: NDArray[Any]) -> str:
    # NumPy's name of text, such as str160, tells its bits
    if array.dtype.kind in "US" or (array.size and all(isinstance(v, str) for v in array.flat)):
        return "text"
    if array.dtype.kind == "O":
        return f"a {type(value).__name__} of mixed or missing values"
    return f"{array.dtype.name} values"
