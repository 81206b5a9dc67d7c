"""Columns of a behaviour table, read as words, numbers or yes/no, with a note of what was used."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._tables import column_names, read_column

Words = NDArray[np.object_]
Floats = NDArray[np.float64]

_YES = {"true", "yes", "1"}
_NO = {"false", "no", "0"}
# how a missing entry looks once it has become text
_MISSING = {"", "nan", "none", "<na>", "nat"}


@dataclass
class Draft:
    """Canonical columns while they are filled: words as objects, the rest float64 (NaN missing)."""

    stim_left: Floats
    stim_right: Floats
    stim_side: Words
    choice: Words
    choice_raw: NDArray[Any]
    reward: Floats
    probability_left: Floats
    include: Floats
    photostim: Floats
    correct: Floats | None = None
    """Given by the convention, or (None) derived from choice and side after the side check."""

    @classmethod
    def empty(cls, n: int) -> Draft:
        """Return a draft of ``n`` trials about which nothing is known; all are included."""
        unknown = np.full(n, np.nan)
        return cls(
            stim_left=unknown.copy(),
            stim_right=unknown.copy(),
            stim_side=np.full(n, "none", dtype=object),
            choice=np.full(n, "none", dtype=object),
            choice_raw=np.full(n, None, dtype=object),
            reward=unknown.copy(),
            probability_left=unknown.copy(),
            include=np.ones(n),
            photostim=np.zeros(n),
        )


class Columns:
    """The columns of one table; ``sources`` collects where each canonical column came from."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.names: list[str] = column_names(table)
        self.n_rows = len(table.id)
        self.sources: dict[str, str] = {}

    def find(self, spellings: tuple[str, ...]) -> str | None:
        """Return the first of the spellings that is a column of the table."""
        return next((name for name in spellings if name in self.names), None)

    def note(self, target: str, *columns: str) -> None:
        """Remember that the canonical column ``target`` was filled from these file columns."""
        self.sources[target] = ", ".join(columns)

    def raw(self, column: str) -> NDArray[Any]:
        """Return the column as stored, one value per row."""
        return read_column(self.table, column)

    def words(self, column: str) -> Words:
        """Return the column as lower-case words; missing entries are empty."""
        out = np.empty(self.n_rows, dtype=object)
        out[:] = [as_key(value).lower() for value in self.raw(column)]
        return out

    def numbers(self, column: str) -> Floats:
        """Return the column as float64; missing entries are NaN."""
        return as_numbers(self.raw(column), column)

    def flags(self, column: str) -> Floats:
        """Return a yes/no column as 1.0, 0.0 and NaN (missing)."""
        return as_flags(self.raw(column), column)


def as_key(value: object) -> str:
    """Return one entry as text, so that 1, 1.0 and (from R) "1" are the same; missing is ""."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        text = value.strip()
        return "" if text.lower() in {"", "nan"} else text
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Real):
        if isinstance(value, numbers.Integral):
            return str(int(value))
        number = float(value)
        if math.isnan(number):
            return ""
        if number.is_integer():
            return str(int(number))
        # seven digits: the precision of the 32-bit floats many files store
        return f"{number:.7g}"
    text = str(value)
    return "" if text.lower() in _MISSING else text


def as_numbers(values: NDArray[Any], column: str) -> Floats:
    """Return ``values`` as float64, or say which entry of the column is no number."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        text = as_key(value)
        if text.lower() in _MISSING:
            continue
        try:
            out[i] = float(text)
        except ValueError as err:
            raise ValueError(
                f"column {column!r} must hold numbers; row {i} holds {text!r}"
            ) from err
    return out


def as_flags(values: NDArray[Any], column: str) -> Floats:
    """Return yes/no entries as 1.0, 0.0 and NaN, or say which entry is neither."""
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        text = as_key(value).lower()
        if text in _YES:
            out[i] = 1.0
        elif text in _NO:
            out[i] = 0.0
        elif text not in _MISSING:
            raise ValueError(
                f"column {column!r} must hold true/false or 1/0; row {i} holds {as_key(value)!r}"
            )
    return out
