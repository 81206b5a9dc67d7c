"""Tables with start and stop times: finding them, reading their columns, ``trials``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_bool, as_list, as_text

from ._data import as_array, load, objects
from ._session import as_session
from .errors import (
    CorruptFileError,
    MissingColumnError,
    MissingTableError,
    NB26NWBError,
)

if TYPE_CHECKING:
    import pandas as pd

    from ._session import Session


def trials(
    s: Any,
    table: str = "trials",
    columns: Sequence[str] | None = None,
    exclude_ragged: bool = True,
) -> pd.DataFrame:
    """Return a table of intervals, by default the trials, as a DataFrame.

    Parameters
    ----------
    s : str, path-like, Session or pynwb.NWBFile
        The file.
    table : str, default="trials"
        Name of a table in the file's intervals, or ``"module/name"`` for one in a processing
        module.
    columns : sequence of str, optional
        Columns to read, in this order; columns with several values per row or with references
        are read when they are named here. By default all columns with one value per row.
    exclude_ragged : bool, default=True
        ``False`` reads the columns with several values per row and the references too (slow in
        files that link every trial to time series).

    Returns
    -------
    pandas.DataFrame
        Rows in file order, index ``id`` as in the file. ``attrs["nb26stats"]`` holds the file,
        its identifier, the table's name and the description of each column.

    Raises
    ------
    MissingTableError
        No table of that name; the message lists those that exist.
    MissingColumnError
        A column that does not exist; the message lists all columns.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> tr = nbn.trials(datasets.path("sub-anm369963_ses-20170228.nwb"))
    >>> tr.shape, tr.index.name
    ((178, 9), 'id')
    >>> tr["response"].value_counts()["correct"].item()
    132
    """
    as_bool(exclude_ragged, "exclude_ragged")
    with as_session(s) as session:
        source = find_table(session, table)
        if columns is not None:
            names = [as_text(c, "columns") for c in as_list(columns, "columns")]
            names = list(dict.fromkeys(names))
            for name in names:
                require_column(source, name)
        else:
            names = column_names(source)
            if exclude_ragged:
                names = [n for n in names if not is_ragged(source, n)]
        frame = read_frame(source, names)
        frame.attrs["nb26stats"] = provenance(session, source, table, names)
        return frame


def interval_tables(session: Session) -> dict[str, Any]:
    """Return every table of intervals by the name that ``table=`` takes."""
    from pynwb.epoch import TimeIntervals

    nwb = session.nwbfile
    found: dict[str, Any] = {}
    for name in ("trials", "epochs", "invalid_times"):
        if getattr(nwb, name, None) is not None:
            found[name] = getattr(nwb, name)
    for name, table in (nwb.intervals or {}).items():
        found.setdefault(str(name), table)
    for module_name, module in nwb.processing.items():
        for name, table in module.data_interfaces.items():
            if isinstance(table, TimeIntervals):
                found[f"{module_name}/{name}"] = table
    return found


def find_table(session: Session, table: str = "trials") -> Any:
    """Return the interval table called ``table`` or raise MissingTableError with those there are.

    Parameters
    ----------
    session : Session
        Open session.
    table : str
        A key of :func:`interval_tables`; ``"processing/module/name"`` is understood too.
    """
    as_text(table, "table")
    tables = interval_tables(session)
    for key in (table, table.removeprefix("processing/"), table.removeprefix("intervals/")):
        if key in tables:
            return tables[key]
    if not tables:
        from ._describe import contents

        raise MissingTableError(
            f"no {table!r} in {session.label}: it has no table with start and stop times at all. "
            f"It has: {contents(session)}"
        )
    listed = ", ".join(f"{name} ({len(t)} rows)" for name, t in tables.items())
    raise MissingTableError(
        f"no {table!r} in {session.label}; tables with start/stop times in this file: {listed}; "
        f"pass table={next(iter(tables))!r}"
    )


def column_names(table: Any) -> list[str]:
    """Return the names of all columns but ``id``, in file order."""
    # a damaged table may list a column that it does not hold
    return [str(name) for name in table.colnames if name in table]


def is_ragged(table: Any, name: str) -> bool:
    """Return whether the column holds anything else than one plain value per row.

    True for columns with an index (lists of any length), with several values per row (waveforms)
    and with references (time series, rows of other tables, electrode groups).
    """
    column = table[name]
    if not hasattr(column, "data") or _is_index(column) or _is_reference(column):
        return True
    shape = _shape(column.data)
    return any(n != 1 for n in shape[1:])


def require_column(table: Any, name: str) -> Any:
    """Return the column object or raise MissingColumnError that lists all columns."""
    if name not in column_names(table):
        listed = "\n".join(
            f"  {c['name']} ({c['dtype']}): {c['description']}" for c in describe_columns(table)
        )
        raise MissingColumnError(
            f"the table {table.name!r} has no column {name!r}. Its columns are:\n"
            + (listed or "  none")
        )
    return table[name]


def read_column(table: Any, name: str) -> NDArray[Any]:
    """Return one value per row: numbers in their stored type, text as ``str`` objects.

    Parameters
    ----------
    table : DynamicTable
        Any table of the file.
    name : str
        A column with one plain value per row; shape (n, 1) is flattened.
    """
    column = require_column(table, name)
    if is_ragged(table, name):
        raise NB26NWBError(
            f"column {name!r} of {table.name!r} holds several values or references per row, "
            "not one plain value"
        )
    values = as_array(column.data, f"column {name!r} of {table.name!r}")
    if values.ndim > 1:
        values = values.reshape(values.shape[0])
    if hasattr(column, "elements"):
        words = as_array(column.elements.data, f"the words of column {name!r}")
        values = words[values.astype(np.int64)]
    n = len(table.id)
    if len(values) != n:
        raise CorruptFileError(
            f"column {name!r} of {table.name!r} has {len(values)} values for {n} rows; "
            "copy or download the file again"
        )
    return values


def row_ids(table: Any) -> NDArray[Any]:
    """Return the ids of the rows, as the file numbers (or names) them."""
    ids = as_array(table.id.data, f"the ids of {table.name!r}")
    return ids.astype(np.int64) if ids.dtype.kind in "iu" or not len(ids) else ids


def read_ragged(table: Any, name: str) -> NDArray[Any]:
    """Return an object array with, per row, a list of plain values or names of what is linked."""
    column = require_column(table, name)
    n = len(table.id)
    if not _is_index(column):
        if _is_reference(column):
            return objects(_unlinked(column))
        values = as_array(column.data, f"column {name!r} of {table.name!r}")
        return objects([values[i] for i in range(n)])
    inner = column.target
    ends = index_offsets(column, f"{name!r} of {table.name!r}", _length(inner))
    if _is_index(inner):
        flat = _nested(inner, name)
    elif _is_reference(inner):
        flat = _unlinked(inner)
    else:
        flat = list(as_array(inner.data, f"column {name!r} of {table.name!r}"))
    return objects([flat[ends[i] : ends[i + 1]] for i in range(n)])


def index_offsets(index: Any, what: str, total: int) -> NDArray[np.int64]:
    """Return (n_rows + 1,) offsets from a cumulative index column, checked against ``total``."""
    # small unsigned types would wrap in subtractions
    ends = as_array(index.data, f"the index of {what}").astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    bad = np.flatnonzero(np.diff(offsets) < 0)
    if bad.size:
        raise CorruptFileError(
            f"the index of {what} decreases at row {bad[0]} (id {_id_of(index, bad[0])}); "
            "copy or download the file again"
        )
    if offsets[-1] != total:
        last = len(ends) - 1
        raise CorruptFileError(
            f"the index of {what} ends at {offsets[-1]} but there are {total} values "
            f"(last row {last}, id {_id_of(index, last)}); copy or download the file again"
        )
    return offsets


def read_frame(table: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return the named columns as a DataFrame with the ids as index."""
    import pandas as pd

    data = {
        name: read_ragged(table, name) if is_ragged(table, name) else read_column(table, name)
        for name in names
    }
    return pd.DataFrame(data, index=pd.Index(row_ids(table), name="id"), columns=list(names))


def provenance(session: Session, table: Any, name: str, columns: Sequence[str]) -> dict[str, Any]:
    """Return what ``attrs["nb26stats"]`` says about a table."""
    return {
        "file": str(session.path) if session.path is not None else None,
        "identifier": str(session.nwbfile.identifier),
        "table": name,
        "descriptions": {c: str(table[c].description or "") for c in columns},
    }


def describe_columns(table: Any) -> list[dict[str, str]]:
    """Return name, kind of values and description of each column, without reading the data."""
    out = []
    for name in column_names(table):
        column = table[name]
        text = " ".join(str(getattr(column, "description", "") or "").split())
        out.append(
            {
                "name": name,
                "dtype": _kind(column),
                "description": text if len(text) <= 200 else text[:199] + "…",
            }
        )
    return out


def stored_data(column: Any) -> Any:
    """Return what holds the values of a column, out of any wrapper for writing."""
    return _unwrapped(column.data)


def _kind(column: Any) -> str:
    if _is_index(column):
        return f"list of {_kind(column.target)}"
    if _is_reference(column):
        return "reference"
    if hasattr(column, "elements"):
        return "text"
    data = _unwrapped(column.data)
    shape = _shape(data)
    tail = "" if all(n == 1 for n in shape[1:]) else f" ({' x '.join(map(str, shape[1:]))} per row)"
    dtype = getattr(data, "dtype", None)
    if dtype is None:
        dtype = as_array(data, column.name).dtype if isinstance(data, (list, tuple)) else "unknown"
    kind = getattr(dtype, "kind", "")
    return ("text" if kind in "OSU" and kind else str(dtype)) + tail


def _is_index(column: Any) -> bool:
    return hasattr(column, "target")


def _is_reference(column: Any) -> bool:
    from hdmf.common import DynamicTableRegion
    from hdmf.query import HDMFDataset
    from pynwb.base import TimeSeriesReferenceVectorData

    if isinstance(column, (DynamicTableRegion, TimeSeriesReferenceVectorData)):
        return True
    data = _unwrapped(column.data)
    if isinstance(data, HDMFDataset):
        return True
    return isinstance(data, (list, tuple)) and bool(len(data)) and hasattr(data[0], "object_id")


def _unlinked(column: Any) -> list[Any]:
    """Return plain stand-ins of references: row positions, names, or (start, count, name)."""
    from hdmf.common import DynamicTableRegion
    from pynwb.base import TimeSeriesReferenceVectorData

    if isinstance(column, DynamicTableRegion):
        return [int(v) for v in as_array(column.data, f"column {column.name!r}")]
    if isinstance(column, TimeSeriesReferenceVectorData):
        rows = [column[i] for i in range(len(column.data))]
        return [(int(r.idx_start), int(r.count), str(r.timeseries.name)) for r in rows]
    linked = load(column.data, f"column {column.name!r}")
    return [str(getattr(v, "name", v)) for v in linked]


def _nested(index: Any, name: str) -> list[Any]:
    inner = index.target
    if _is_index(inner):
        flat = _nested(inner, name)
    elif _is_reference(inner):
        flat = _unlinked(inner)
    else:
        flat = list(as_array(inner.data, f"column {name!r}"))
    ends = index_offsets(index, f"{name!r}", _length(inner))
    return [flat[a:b] for a, b in itertools.pairwise(ends.tolist())]


def _unwrapped(data: Any) -> Any:
    from hdmf.data_utils import DataIO

    while isinstance(data, DataIO):
        data = data.data
    return data


def _shape(data: Any) -> tuple[int, ...]:
    data = _unwrapped(data)
    shape = getattr(data, "shape", None)
    if shape is not None:
        return tuple(shape)
    if isinstance(data, (list, tuple)):
        first = data[0] if len(data) else 0.0
        if isinstance(first, (list, tuple, np.ndarray)):
            return (len(data), *_shape(first))
        return (len(data),)
    return (0,)


def _length(column: Any) -> int:
    shape = _shape(column.data)
    return shape[0] if shape else 0


def _id_of(index: Any, row: int) -> Any:
    table: Any = getattr(index, "parent", None)
    try:
        return as_array(table.id.data, "ids")[row]
    except (AttributeError, IndexError, NB26NWBError):
        return "unknown"
