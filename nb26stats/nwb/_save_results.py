"""The ``results`` argument of ``save_results`` to tables and time series."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import R_NA_INTEGER, as_float, as_list, as_text, as_vector
from nb26stats._results import Result

from ._counts_result import SpikeCounts
from ._save_frames import frame_columns
from ._save_items import Item, Series, Table, check_name, encodable

_MOST_DIMENSIONS = 32  # of HDF5
_SERIES_KEYS = ("data", "rate", "timestamps", "starting_time", "unit")


def convert_results(results: Any, *, store_counts: bool) -> list[Item]:
    """Return what is to be stored, every value checked and converted.

    Raises
    ------
    TypeError
        If ``results`` is no dict, or one of its values is of no kind that can be stored.
    ValueError
        If there are none, or one of them cannot be stored; the message names it.
    """
    if not isinstance(results, Mapping) or isinstance(results, Result):
        raise TypeError(
            "results must be a dict of names to DataFrames, results or time series, got "
            f"{type(results).__name__}; for one table write {{'name': table}}"
        )
    if not results:
        raise ValueError("results is empty: there is nothing to save")
    items: list[Item] = []
    for name, value in results.items():
        items += _convert(check_name(name, "results: an entry"), value, store_counts)
    taken: dict[str, str] = {}
    for item in items:
        if item.name in taken:
            raise ValueError(
                f"results {taken[item.name]!r} and {item.result!r} would both be stored as "
                f"{item.name!r}; rename one of them"
            )
        taken[item.name] = item.result
    return items


def _convert(name: str, value: Any, store_counts: bool) -> list[Item]:
    import pandas as pd

    where = f"results[{name!r}]"
    if isinstance(value, SpikeCounts):
        if not store_counts:
            raise ValueError(
                f"{where} is a SpikeCounts, whose arrays are large: pass store_counts=True to "
                "store them all, or save a summary such as counts.psth(area)"
            )
        return _counts_series(name, value, where)
    if isinstance(value, pd.DataFrame):
        return [Table(name, name, frame_columns(value, where), _origin(value, value))]
    if isinstance(value, Mapping) and not isinstance(value, Result):
        return [_mapping(name, value, where)]
    if isinstance(value, type) or not callable(getattr(value, "to_frame", None)):
        raise TypeError(
            f"{where} is a {type(value).__name__}; give a DataFrame, a result with to_frame(), a "
            "SpikeCounts, or dict(data=array, rate= or timestamps=, unit=)"
        )
    frame = value.to_frame()
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{where}.to_frame() gave a {type(frame).__name__}, not a DataFrame")
    return [Table(name, name, frame_columns(frame, where), _origin(value, frame))]


def _mapping(name: str, value: Mapping[Any, Any], where: str) -> Item:
    import pandas as pd

    if "data" in value:
        return _series(name, value, where)
    if not value or set(value) & set(_SERIES_KEYS):
        raise ValueError(
            f"{where} is a dict without 'data'; a time series is dict(data=array, rate= or "
            "timestamps=, unit=)"
        )
    columns = {key: as_list(column, f"{where}[{key!r}]") for key, column in value.items()}
    lengths = {str(key): len(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{where} has columns of different lengths: {lengths}")
    frame = pd.DataFrame(columns)
    return Table(name, name, frame_columns(frame, where), {})


def _series(name: str, value: Mapping[Any, Any], where: str) -> Series:
    unknown = [str(k) for k in value if k not in _SERIES_KEYS]
    if unknown:
        raise ValueError(f"{where} has unknown keys {unknown}; a time series has {_SERIES_KEYS}")
    data = _data(value["data"], f"{where}['data']")
    unit = as_text(value.get("unit"), f"{where}['unit']")
    if "\0" in unit or not encodable(unit):
        raise ValueError(f"{where}['unit'] has characters that NWB text cannot hold")
    rate, times = value.get("rate"), value.get("timestamps")
    if (rate is None) == (times is None):
        raise ValueError(f"{where} needs either rate (Hz) or timestamps (s), and not both")
    if times is None:
        start = value.get("starting_time")
        return Series(
            name,
            name,
            data,
            unit,
            rate=as_float(rate, f"{where}['rate']", above=0.0),
            starting_time=0.0 if start is None else as_float(start, f"{where}['starting_time']"),
        )
    if value.get("starting_time") is not None:
        raise ValueError(f"{where} has timestamps, so starting_time must be left out")
    stamps = as_vector(times, f"{where}['timestamps']")
    if len(stamps) != len(data):
        raise ValueError(
            f"{where} has {len(stamps)} timestamps for {len(data)} samples (time is the first axis)"
        )
    if not np.isfinite(stamps).all() or (np.diff(stamps) < 0).any():
        raise ValueError(f"{where}['timestamps'] must be finite and ascending")
    return Series(name, name, data, unit, timestamps=stamps)


def _data(value: Any, where: str) -> NDArray[Any]:
    try:
        data = np.atleast_1d(np.asarray(value))
    except ValueError as err:
        raise ValueError(
            f"{where} is ragged; give an array with time along its first axis"
        ) from err
    if np.ma.is_masked(value) and data.dtype.kind in "biuf":
        data = np.ma.filled(np.ma.asarray(value).astype(np.float64), np.nan)
    if data.ndim > _MOST_DIMENSIONS:
        raise ValueError(f"{where} has {data.ndim} dimensions and HDF5 holds {_MOST_DIMENSIONS}")
    if data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
        raise ValueError(f"{where} must hold real numbers or bool, got {data.dtype} values")
    if not data.size:
        raise ValueError(f"{where} is empty (shape {data.shape})")
    if data.dtype.kind == "i" and data.dtype.itemsize >= 4 and (data == R_NA_INTEGER).any():
        raise ValueError(f"{where} holds {R_NA_INTEGER}, R's NA_integer_; use NA_real_ instead")
    return np.ascontiguousarray(data, dtype=data.dtype.newbyteorder("="))


def _counts_series(name: str, value: SpikeCounts, where: str) -> list[Item]:
    out: list[Item] = []
    origin = _origin(value, None) | {
        "time_zero": "the event",
        "columns": "column = trial * n_units + unit",
        "trial_index": value.trial_index,
        "trial_id": value.trial_id,
        "event_times": value.event_times,
    }
    for area in value.areas:
        counts = value.counts[area]
        n_trials, n_bins, n_units = counts.shape
        if not counts.size:
            raise ValueError(f"{where} has no counts in area {area!r} (shape {counts.shape})")
        stored = check_name(f"{name}_{_plain_name(area)}", f"{where}: area {area!r}")
        provenance = origin | {
            "area": area,
            "n_trials": n_trials,
            "n_units": n_units,
            "unit_ids": value.unit_ids[area],
            "n_not_observed": int((~value.valid[area]).sum()),
        }
        out.append(
            Series(
                stored,
                name,
                np.ascontiguousarray(counts.transpose(1, 0, 2).reshape(n_bins, n_trials * n_units)),
                "spikes/s" if value.rate else "spikes",
                rate=1.0 / value.bin_size,
                starting_time=float(value.time[0]),
                provenance=provenance,
            )
        )
    return out


def _plain_name(area: str) -> str:
    """Return an area's name without the characters that NWB names cannot hold."""
    return "".join("_" if c in "/:\0" or c.isspace() else c for c in area)


def _origin(value: Any, frame: Any) -> dict[str, Any]:
    """Return function, parameters and seed as far as the result knows them."""
    known: dict[str, Any] = {}
    attrs = dict(getattr(frame, "attrs", {}) or {})
    own = attrs.pop("nb26stats", None)
    info = getattr(value, "info", None)
    for part in (attrs, own, info):
        if isinstance(part, Mapping):
            known.update(part)
    known.pop("descriptions", None)
    if not known and value is not frame and dataclasses.is_dataclass(value):
        known = {
            f.name: getattr(value, f.name)
            for f in dataclasses.fields(value)
            if isinstance(getattr(value, f.name), (str, int, float, bool))
        }
    seed = known.pop("seed", None)
    for name in ("seed_", "seed"):
        seed = getattr(value, name, None) if seed is None and value is not frame else seed
    function = known.pop("function", None) or type(value).__name__
    parameters = known.pop("parameters", None)
    rest = {k: v for k, v in known.items() if v is not None}
    out: dict[str, Any] = {"function": function, "seed": seed}
    out["parameters"] = parameters if parameters is not None else rest
    if parameters is not None and rest:
        out["info"] = rest
    return out
