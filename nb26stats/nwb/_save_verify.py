"""The new tables of a written file against what was sent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._save_items import MODULE, DiffersError, Item, Series, Table

_BLOCK = 16 << 20


def check_items(part: Path, items: Sequence[Item], texts: Mapping[str, str]) -> None:
    """Open the file with pynwb and compare every new table and series with what was sent.

    Raises
    ------
    DiffersError
        Something differs; names the table and the column.
    """
    from pynwb import NWBHDF5IO

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with NWBHDF5IO(str(part), "r", load_namespaces=True) as io:
            module = io.read().processing[MODULE]
            for item in items:
                stored = module[item.name]
                _same(stored.description, texts[item.name], item.name, "description")
                if isinstance(item, Table):
                    _check_table(stored, item)
                else:
                    _check_series(stored, item)


def _check_table(stored: Any, item: Table) -> None:
    names = [c.name for c in item.columns]
    _same(list(stored.colnames), names, item.name, "column names")
    n_rows = len(item.columns[0].values)
    _same([int(i) for i in stored.id[:]], list(range(n_rows)), item.name, "row ids")
    for column in item.columns:
        found = stored[column.name]
        _same(found.description, column.description, item.name, f"description of {column.name!r}")
        if isinstance(column.values, list):
            texts = [v.decode() if isinstance(v, bytes) else v for v in found.data[:]]
            _same(texts, column.values, item.name, f"column {column.name!r}")
        else:
            _same_array(found.data, column.values, item.name, f"column {column.name!r}")


def _check_series(stored: Any, item: Series) -> None:
    _same(stored.unit, item.unit, item.name, "unit")
    _same_array(stored.data, item.data, item.name, "data")
    if item.timestamps is not None:
        _same_array(stored.timestamps, item.timestamps, item.name, "timestamps")
    else:
        _same(stored.rate, item.rate, item.name, "rate")
        _same(stored.starting_time, item.starting_time, item.name, "starting time")


def _same_array(stored: Any, sent: np.ndarray[Any, Any], name: str, what: str) -> None:
    _same(tuple(stored.shape), sent.shape, name, f"shape of {what}")
    _same(np.dtype(stored.dtype), sent.dtype, name, f"type of {what}")
    rows = max(1, _BLOCK // max(1, sent[:1].nbytes))
    for start in range(0, len(sent), rows):
        block = np.ascontiguousarray(stored[start : start + rows])
        # bytes, so that NaN equals NaN and -0.0 differs from 0.0
        if block.tobytes() != sent[start : start + rows].tobytes():
            raise _differs(name, what)


def _same(stored: Any, sent: Any, name: str, what: str) -> None:
    if stored != sent:
        raise _differs(name, what)


def _differs(name: str, what: str) -> DiffersError:
    return DiffersError(
        f"read back from the new file, {what} of {name!r} differs from what was sent"
    )
