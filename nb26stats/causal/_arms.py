"""Treatment as two arms: True and False, 1 and 0, or two words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import refuse_r_na, unmasked
from nb26stats._warnings import warn

ADVICE = "treatment must be True and False, 1 and 0, or two words of which the second is treated"

CONTROLS = frozenset(
    ("baseline", "control", "no", "none", "off", "placebo", "sham", "untreated", "vehicle")
)
"""Words that can only mean the control, wherever they stand in the alphabet."""


@dataclass(frozen=True, eq=False)
class Arms:
    """Codes of the arms: 0 and 1, NaN where missing; ``words`` where the user wrote words."""

    values: NDArray[np.float64]
    words: tuple[str, ...] | None = None

    def treated(self, kept: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the arm of the kept rows, both of which must occur.

        Raises
        ------
        ValueError
            Not exactly two values are left; the message lists them.
        """
        left = self.values[kept]
        found = np.unique(left)
        if self.words is None:
            if found.tolist() != [0.0, 1.0]:
                raise ValueError(f"{ADVICE}; found {_list(found.tolist())}")
            return np.asarray(left == 1.0)
        if len(found) != 2:
            raise ValueError(f"{ADVICE}; found {_list([self.words[int(i)] for i in found])}")
        control, treated = (self.words[int(i)] for i in found)
        warn(f"treatment: {treated!r} is taken as treated and {control!r} as control")
        return np.asarray(left == found[1])


def read_treatment(treatment: Any) -> Arms:
    """Return the codes of the arms, whatever the user wrote them as."""
    if treatment is None:
        raise TypeError("treatment must tell the arm of every row, got None")
    values = unmasked(treatment)
    if hasattr(getattr(values, "dtype", None), "categories"):
        return _of_categories(values)
    if hasattr(values, "to_numpy"):
        values = values.to_numpy(dtype=object) if hasattr(values, "dtype") else values.to_numpy()
    array = np.asarray(values if not isinstance(values, (str, bytes)) else [values])
    if array.ndim != 1:
        raise ValueError(f"treatment must be one-dimensional, got shape {array.shape}")
    if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
        # NumPy would write the numbers among words as words
        array = np.array(values, dtype=object)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    refuse_r_na(array, "treatment", "leave out such rows")
    if array.dtype.kind in "biuf":
        return Arms(array.astype(np.float64))
    if array.dtype.kind not in "OU":
        raise TypeError(f"{ADVICE}; got {array.dtype.name} values")
    return _of_objects(array.astype(object))


def _of_categories(values: Any) -> Arms:
    """Return codes in the order of the levels, the first of which is the control, as in R."""
    import pandas as pd

    column = pd.Series(values).reset_index(drop=True)
    levels = [_text(level) for level in column.cat.categories]
    if not all(isinstance(level, str) for level in levels):
        return read_treatment(column.to_numpy(dtype=object))
    _refuse_na_text(np.asarray(column.astype(object), dtype=object))
    codes = column.cat.codes.to_numpy(dtype=np.float64)
    return Arms(np.where(codes < 0, np.nan, codes), tuple(levels))


def _refuse_na_text(array: NDArray[Any]) -> None:
    if (gone := array == "NA").any():
        raise ValueError(
            f"treatment holds 'NA' at {int(gone.argmax())} (counted from 0), as R's "
            "NA_character_ arrives; leave out such rows, or rename the arm"
        )


def _of_objects(array: NDArray[Any]) -> Arms:
    missing = np.array([_is_missing(v) for v in array], bool)
    present = np.array([_text(v) for v in array[~missing]], object)
    codes = np.full(len(array), np.nan)
    if all(isinstance(v, str) for v in present):
        _refuse_na_text(array)
        words, code = np.unique(present.astype(str), return_inverse=True)
        if len(words) == 2 and words[1].casefold() in CONTROLS - {words[0].casefold()}:
            words, code = words[::-1], 1 - code
        codes[~missing] = code.reshape(-1)
        return Arms(codes, tuple(words.tolist()))
    try:
        codes[~missing] = [float(v) for v in present]
    except (TypeError, ValueError):
        kinds = sorted({type(v).__name__ for v in present})
        raise TypeError(f"{ADVICE}; got values of kind {', '.join(kinds)}") from None
    return Arms(codes)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _is_missing(value: Any) -> bool:
    # pandas' NA is neither equal nor unequal to itself
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
    )


def _list(values: list[Any]) -> str:
    shown = ", ".join(repr(v) if isinstance(v, str) else f"{v:g}" for v in values[:10])
    return (shown or "no value") + (f", … ({len(values)} values)" if len(values) > 10 else "")
