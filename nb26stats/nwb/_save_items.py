"""What is stored: tables and time series, converted and checked before any file is touched."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODULE = "nb26stats"
"""Name of the processing module that holds saved results."""

_RESERVED = frozenset(
    {
        # names that DynamicTable or the NWB format use for themselves
        "id",
        "name",
        "description",
        "colnames",
        "object_id",
        "namespace",
        "neurodata_type",
        "meanings_tables",
    }
)


class DiffersError(RuntimeError):
    """The written file does not hold what it should."""


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or a list of str."""

    name: str
    values: NDArray[Any] | list[str]
    description: str

    @property
    def nbytes(self) -> int:
        """Bytes that the column takes in a file, roughly."""
        if isinstance(self.values, np.ndarray):
            return int(self.values.nbytes)
        # HDF5 keeps a reference and a heap entry beside each text
        return sum(48 + len(text.encode()) for text in self.values)


@dataclass(frozen=True)
class Table:
    """A DynamicTable to be."""

    name: str
    result: str
    columns: tuple[Column, ...]
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes that the table takes in a file, roughly."""
        rows = len(self.columns[0].values)
        return 8 * rows + sum(c.nbytes + 2048 for c in self.columns)


@dataclass(frozen=True)
class Series:
    """A TimeSeries to be: time along the first axis of ``data``."""

    name: str
    result: str
    data: NDArray[Any]
    unit: str
    rate: float | None = None
    starting_time: float | None = None
    timestamps: NDArray[np.float64] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes that the series takes in a file, roughly."""
        times = 0 if self.timestamps is None else self.timestamps.nbytes
        return int(self.data.nbytes + times + 4096)


Item = Table | Series


def check_name(name: Any, what: str) -> str:
    """Return the name of a column or result if an NWB file can hold it."""
    if not isinstance(name, str):
        raise ValueError(f"{what} must be named by text, got {name!r} ({type(name).__name__})")
    if not name.strip() or name == ".":
        raise ValueError(f"{what} needs a name, got {name!r}")
    if bad := re.search(r"[/:\0]", name):
        raise ValueError(f"{what} {name!r} has {bad[0]!r} in its name, which NWB does not allow")
    if name in _RESERVED:
        raise ValueError(f"{what} is called {name!r}, a name that NWB tables use themselves")
    if not encodable(name):
        raise ValueError(f"{what} {name!r} has characters that cannot be stored as UTF-8")
    return str(name)


def encodable(text: str) -> bool:
    """Return whether ``text`` can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
