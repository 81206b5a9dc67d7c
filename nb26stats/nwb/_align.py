"""Event times on the session clock: which clock a column of a trial table is on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats import _check
from nb26stats._warnings import warn

from ._tables import column_names, find_table, is_ragged, read_column, row_ids
from .errors import NB26NWBError

if TYPE_CHECKING:
    from ._session import Session

TIME_WORDS = ("time", "onset", "offset", "start", "stop", "cue")
"""A column whose name holds none of these is never taken as relative to the trial start."""

_SLACK = 1.0  # seconds around a trial in which its events may lie
_MIN_ROWS = 5  # fewer rows than this decide nothing, unless all are absolute


@dataclass(frozen=True)
class Alignment:
    """What the times of a column count from.

    Attributes
    ----------
    column : str
        Name of the column; ``"event"`` for an array of times.
    verdict : str
        ``"absolute"`` (session clock), ``"relative"`` (to ``reference``), ``"array"``, or
        ``"undecided"`` when ``note`` says why the column cannot be used without being told.
    reference : str or None
        The column that was added.
    fa, fr : float
        Share of rows that fit the trial when read as absolute, and as relative to its start;
        NaN where the rule was not needed.
    note : str
        The reason, as a sentence.
    """

    column: str
    verdict: str
    reference: str | None = None
    fa: float = math.nan
    fr: float = math.nan
    note: str = ""


def column_verdict(session: Session, table_obj: Any, column: str) -> Alignment:
    """Decide from the whole table whether ``column`` is absolute or relative to ``start_time``.

    Parameters
    ----------
    session : Session
        Open session (not changed).
    table_obj : TimeIntervals
        The table.
    column : str
        One of its columns.

    Returns
    -------
    Alignment
        Never raises for a column that exists: what cannot be used is ``"undecided"``.
    """
    where = f"{column!r} of {table_obj.name!r}"
    if column in column_names(table_obj) and is_ragged(table_obj, column):
        return _undecided(column, f"{where} holds several values or references per row, not times")
    stored = read_column(table_obj, column)
    values = _as_float(stored)
    if values is None:
        return _undecided(column, f"{where} holds {_kind(stored)}, not times in seconds")
    if stored.size and not np.isfinite(values).any():
        return _undecided(column, f"{where} holds no finite time")
    if column in ("start_time", "stop_time"):
        return Alignment(column, "absolute", note=f"{column} is on the session clock by definition")
    if stored.dtype.kind in "biu":
        return _undecided(
            column,
            f"{where} holds {_kind(stored)}, which need not be times; if they are seconds, say "
            "what they count from: relative_to='session' or relative_to='start_time'",
        )
    if stored.size == 0:
        return Alignment(column, "absolute", note="the table has no rows")
    start = _reference(table_obj, "start_time", "relative_to")
    names = column_names(table_obj)
    stop = _as_float(read_column(table_obj, "stop_time")) if "stop_time" in names else None
    fa, fr, n = _shares(values, start, np.full(start.shape, np.nan) if stop is None else stop)
    ranges = f"{column} runs from {_range(values)} s and start_time from {_range(start)} s"
    if n < _MIN_ROWS and fa != 1.0:
        return _undecided(
            column,
            f"{where} has {n} usable rows, too few to tell absolute from relative times "
            f"({ranges}); say relative_to='session' or relative_to='start_time'",
            fa,
            fr,
        )
    if fa >= 0.95:
        return Alignment(column, "absolute", None, fa, fr, f"{fa:.1%} of rows lie in their trial")
    if fa <= 0.05 and fr >= 0.8:
        if any(word in column.lower() for word in TIME_WORDS):
            note = f"read as seconds after start_time, {fr:.1%} of rows lie in their trial"
            return Alignment(column, "relative", "start_time", fa, fr, note)
        return _undecided(
            column,
            f"{where} would only fit as times relative to start_time ({fr:.1%} of rows), but its "
            "name does not speak of a time; if it is one, say relative_to='start_time'",
            fa,
            fr,
        )
    return _undecided(
        column,
        f"{where} fits neither the session clock ({fa:.1%} of rows lie in their trial) nor times "
        f"relative to start_time ({fr:.1%}): {ranges}; say relative_to='session', 'start_time' or "
        "another column",
        fa,
        fr,
    )


def event_times(
    session: Session, *, align_to: Any, table: str = "trials", relative_to: str = "auto"
) -> tuple[NDArray[np.float64], NDArray[Any], Alignment]:
    """Return event times in seconds on the session clock, for all rows.

    Parameters
    ----------
    session : Session
        Open session.
    align_to : str or array-like
        A column of the table, or the times themselves (no table is then needed).
    table : str
        Name of the table.
    relative_to : str
        ``"auto"``, ``"session"`` or the column to add.

    Returns
    -------
    times : ndarray of float64, shape (n_rows,)
        NaN where the row has no such event.
    ids : ndarray, shape (n_rows,)
        Ids of the rows.
    alignment : Alignment
        How the times were read; a warning tells when that is relative.

    Raises
    ------
    NB26NWBError
        If the column holds no times, or it is not clear what they count from.
    """
    _check.as_text(relative_to, "relative_to")
    if not isinstance(align_to, str):
        if relative_to not in ("auto", "session"):
            raise ValueError(
                f"relative_to={relative_to!r} needs a column as align_to; an array holds seconds "
                "on the session clock"
            )
        times = as_times(align_to)
        _warn_coarse([np.asarray(align_to)])
        note = "times given by the caller, on the session clock"
        return times, np.arange(times.size), Alignment("event", "array", note=note)
    _check.as_text(align_to, "align_to")
    source = find_table(session, table)
    if relative_to == "auto":
        found = column_verdict(session, source, align_to)
        if found.verdict == "undecided":
            raise NB26NWBError(found.note)
        if found.verdict == "relative":
            warn(
                f"{align_to!r} was read as relative to start_time: {found.fr:.1%} of rows then lie "
                f"in their trial, {found.fa:.1%} as they stand; relative_to='start_time' says so "
                "without this warning, relative_to='session' takes them as they stand"
            )
    elif relative_to == "session":
        found = Alignment(align_to, "absolute", note="said by the caller")
    elif relative_to == align_to:
        raise ValueError(f"relative_to={relative_to!r} is the align_to column itself")
    else:
        found = Alignment(align_to, "relative", relative_to, note="said by the caller")
    times = _reference(source, align_to, "align_to")
    if found.reference is not None:
        times = times + _reference(source, found.reference, "relative_to")
    used = [align_to] if found.reference is None else [align_to, found.reference]
    _warn_coarse([read_column(source, name) for name in used])
    if times.size and not np.isfinite(times).any():
        raise NB26NWBError(
            f"{align_to!r} of {source.name!r} holds no finite time"
            + (f" after adding {found.reference!r}" if found.reference else "")
        )
    return times, row_ids(source), found


def as_times(values: Any) -> NDArray[np.float64]:
    """Return an array of times in seconds as float64; missing entries become NaN.

    Parameters
    ----------
    values : array-like
        Numbers (seconds) or timedelta64 values, one-dimensional; a scalar counts as one time.
    """
    if values is None:
        raise TypeError("align_to must be the name of a column or hold times in seconds, got None")
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError as err:
        raise ValueError("align_to must be a flat sequence of times, got a ragged one") from err
    if array.ndim != 1:
        raise ValueError(f"align_to must be one-dimensional, got shape {array.shape}")
    if np.ma.is_masked(values) and array.dtype.kind in "iuf":
        array = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    if array.dtype.kind == "m":
        out = array.astype("timedelta64[ns]").astype(np.float64) / 1e9
        out[np.isnat(array)] = np.nan
        return np.asarray(out, dtype=np.float64)
    if array.dtype.kind == "M":
        raise TypeError(
            "align_to holds dates; give seconds from the session's reference time, for example "
            "(dates - start).total_seconds()"
        )
    out_or_none = None if array.dtype.kind == "b" else _as_float(array)
    if out_or_none is None:
        raise TypeError(
            f"align_to must be the name of a column or hold times in seconds, got {_kind(array)}"
        )
    if array.dtype.kind in "iu" and bool(np.any(out_or_none == _check.R_NA_INTEGER)):
        raise ValueError(
            f"align_to holds {_check.R_NA_INTEGER}, R's NA_integer_; use NA_real_ or drop it"
        )
    if array.size and not np.isfinite(out_or_none).any():
        raise ValueError("align_to holds no finite time")
    return out_or_none


def _shares(
    values: NDArray[np.float64], start: NDArray[np.float64], stop: NDArray[np.float64]
) -> tuple[float, float, int]:
    """Shares of rows that fit as absolute and as relative times, and how many rows were judged."""
    ordered = np.sort(start[np.isfinite(start)])
    place = np.searchsorted(ordered, start, side="right")
    following = np.append(ordered, np.inf)[np.minimum(place, ordered.size)]
    end = np.where(np.isfinite(stop), stop, following)
    use = np.isfinite(values) & np.isfinite(start)
    a, s, e = values[use], start[use], end[use]
    if a.size == 0:
        return 0.0, 0.0, 0
    absolute = (s - _SLACK <= a) & (a <= e + _SLACK)
    relative = (a >= 0) & (s - _SLACK <= s + a) & (s + a <= e + _SLACK)
    return float(absolute.mean()), float(relative.mean()), int(a.size)


def _warn_coarse(stored: list[NDArray[Any]]) -> None:
    """Warn when times are stored in a float type too coarse for exact bin edges."""
    spacing = 0.0
    for values in stored:
        if values.dtype.kind == "f" and values.dtype.itemsize < 8:
            finite = values[np.isfinite(values)]
            if finite.size:
                spacing = max(spacing, float(np.spacing(np.abs(finite).max())))
    if spacing > 1e-6:
        warn(
            f"event times are stored in a type whose values lie {spacing:.2g} s apart at the "
            "largest time: bin edges cannot be exact"
        )


def _reference(table: Any, column: str, name: str) -> NDArray[np.float64]:
    stored = read_column(table, column)
    values = None if stored.dtype.kind == "b" else _as_float(stored)
    if values is None:
        raise NB26NWBError(
            f"{name}={column!r} of {table.name!r} holds {_kind(stored)}, not times in seconds"
        )
    return values


def _as_float(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return float64 values with NaN for missing ones, or None where they are not real numbers."""
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64)
    if values.dtype.kind != "O":
        return None
    import pandas as pd

    out = np.full(values.shape, np.nan)
    for i, value in enumerate(values):
        if value is None or value is pd.NA or value is pd.NaT:
            continue
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, np.integer, np.floating)
        ):
            return None
        try:
            out[i] = float(value)
        except OverflowError:
            return None
    return out


def _undecided(column: str, note: str, fa: float = math.nan, fr: float = math.nan) -> Alignment:
    return Alignment(column, "undecided", None, fa, fr, note)


def _kind(values: NDArray[Any]) -> str:
    names = {"b": "true/false values", "i": "whole numbers", "u": "whole numbers", "O": "text"}
    names |= {"U": "text", "S": "text", "c": "complex numbers", "f": "numbers", "M": "dates"}
    if values.dtype.kind == "O" and not all(isinstance(v, str) for v in values.ravel()):
        return "values that are not numbers"
    return names.get(values.dtype.kind, f"{values.dtype} values")


def _range(values: NDArray[np.float64]) -> str:
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return "nothing finite"
    return f"{finite.min():.6g} to {finite.max():.6g}"
