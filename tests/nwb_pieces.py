"""Pieces of NWB files for the tests: tables of any shape from arrays, electrodes, damage."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hdmf.common import DynamicTableRegion, VectorData, VectorIndex
from pynwb import NWBHDF5IO, NWBFile
from pynwb.epoch import TimeIntervals
from pynwb.file import Subject
from pynwb.misc import Units

START = datetime(2024, 3, 1, 12, 0, 0, tzinfo=UTC)


# ---- pieces ------------------------------------------------------------------------------------
def make(**header: Any) -> NWBFile:
    """An empty file in memory; ``header`` overrides any argument of ``NWBFile``."""
    fields: dict[str, Any] = {
        "session_description": "simulated session",
        "identifier": "sim-001",
        "session_start_time": START,
        "subject": Subject(subject_id="m1", species="Mus musculus", sex="F", age="P90D"),
    }
    fields.update(header)
    return NWBFile(**fields)


def write(nwbfile: NWBFile, path: Path | str) -> Path:
    """Write ``nwbfile`` to ``path`` and return the path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with NWBHDF5IO(str(path), "w") as io:
            io.write(nwbfile)
    return Path(path)


@contextlib.contextmanager
def reading(path: Any) -> Iterator[Any]:
    """The ``NWBHDF5IO`` of a file, without the remarks of pynwb on its schema version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with NWBHDF5IO(str(path), "r", load_namespaces=True) as io:
            yield io


def column(name: str, data: Any, description: str = "") -> VectorData:
    return VectorData(name=name, description=description or f"column {name}", data=data)


def ragged(name: str, rows: Sequence[Any], description: str = "") -> list[Any]:
    """A column with any number of values per row: the data and its index."""
    parts = [np.asarray(r) for r in rows]
    flat = np.concatenate(parts) if parts else np.empty(0)
    values = column(name, flat, description)
    return [values, VectorIndex(name=f"{name}_index", data=ends_of(rows), target=values)]


def ends_of(rows: Sequence[Any]) -> np.ndarray:
    return np.cumsum([len(r) for r in rows], dtype=np.uint64)


def trial_table(
    columns: Mapping[str, Any], *, name: str = "trials", ids: Any = None, **texts: str
) -> TimeIntervals:
    """A table of intervals; ``columns`` must hold start_time and stop_time, or gets them.

    Values that are lists of lists become a ragged column. ``texts`` are column descriptions.
    """
    data = dict(columns)
    n = len(next(iter(data.values())))
    data.setdefault("start_time", np.arange(n, dtype=float) * 2)
    data.setdefault("stop_time", np.asarray(data["start_time"], float) + 1.5)
    made: list[Any] = []
    order = ["start_time", "stop_time"]
    order += [k for k in data if k not in order]
    for key in order:
        value = data[key]
        if isinstance(value, list) and value and isinstance(value[0], list):
            made += ragged(key, value, texts.get(key, ""))
        else:
            made.append(column(key, np.asarray(value) if not _texts(value) else list(value)))
            if key in texts:
                made[-1] = column(key, made[-1].data, texts[key])
    row_ids = list(range(n)) if ids is None else list(ids)
    return TimeIntervals(
        name=name, description="simulated trials", columns=made, colnames=order, id=row_ids
    )


def units_table(
    spikes: Sequence[Any] | None,
    columns: Mapping[str, Any] | None = None,
    *,
    name: str = "units",
    ids: Any = None,
    obs_intervals: Sequence[Any] | None = None,
    electrodes: Sequence[Any] | None = None,
    electrode_table: Any = None,
    plain_electrodes: bool = False,
    waveform_mean: Any = None,
) -> Units:
    """A units table from one array of spike times per unit (None: no spike_times column)."""
    columns = dict(columns or {})
    n = len(spikes) if spikes is not None else len(next(iter(columns.values())))
    made: list[Any] = []
    order: list[str] = []
    for key, value in columns.items():
        made.append(column(key, list(value) if _texts(value) else np.asarray(value)))
        order.append(key)
    if spikes is not None:
        made += ragged("spike_times", [np.asarray(s, float) for s in spikes])
        order.append("spike_times")
    if obs_intervals is not None:
        rows = [np.asarray(o, float).reshape(-1, 2) for o in obs_intervals]
        values = column("obs_intervals", np.concatenate(rows))
        made += [values, VectorIndex(name="obs_intervals_index", data=ends_of(rows), target=values)]
        order.append("obs_intervals")
    if electrodes is not None:
        flat = (
            np.asarray(electrodes) if plain_electrodes else np.concatenate([*map(list, electrodes)])
        )
        region = DynamicTableRegion(
            name="electrodes",
            description="electrodes of the unit",
            data=flat.astype(int),
            table=electrode_table,
        )
        made.append(region)
        if not plain_electrodes:
            made.append(
                VectorIndex(name="electrodes_index", data=ends_of(electrodes), target=region)
            )
        order.append("electrodes")
    if waveform_mean is not None:
        made.append(column("waveform_mean", np.asarray(waveform_mean, np.float32)))
        order.append("waveform_mean")
    row_ids = list(range(n)) if ids is None else list(ids)
    return Units(name=name, description="simulated units", columns=made, colnames=order, id=row_ids)


def add_electrodes(
    nwbfile: NWBFile,
    locations: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    group_locations: Mapping[str, str] | None = None,
    **columns: Sequence[Any],
) -> Any:
    """Add one electrode per location; ``groups`` names the group of each; more ``columns``."""
    names = list(groups) if groups is not None else ["probe0"] * len(locations)
    where = dict(group_locations or {})
    device = nwbfile.create_device(name="probe", description="simulated probe")
    made = {
        g: nwbfile.create_electrode_group(
            name=g, description="shank", location=where.get(g, "unknown"), device=device
        )
        for g in dict.fromkeys(names)
    }
    for key in columns:
        nwbfile.add_electrode_column(name=key, description=f"column {key}")
    for i, (location, group) in enumerate(zip(locations, names, strict=True)):
        nwbfile.add_electrode(
            location=location, group=made[group], **{k: v[i] for k, v in columns.items()}
        )
    return nwbfile.electrodes


def poisson_trains(
    n_units: int, duration: float, rate: float = 5.0, seed: int = 0
) -> list[np.ndarray]:
    """Sorted spike times of independent units."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate * duration, n_units)
    return [np.sort(rng.uniform(0, duration, n)) for n in counts]


def replace_dataset(path: Path, name: str, data: Any) -> None:
    """Put ``data`` in place of a dataset, keeping its attributes and its index pointing at it."""
    with h5py.File(path, "r+") as file:
        old = file[name]
        attributes = dict(old.attrs)
        del file[name]
        new = file.create_dataset(name, data=data)
        for key, value in attributes.items():
            new.attrs[key] = value
        if f"{name}_index" in file:
            file[f"{name}_index"].attrs["target"] = new.ref


def _texts(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return len(value) > 0 and not isinstance(value[0], (bool, int, float, np.number, np.bool_))
