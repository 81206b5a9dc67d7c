"""Adding tables and time series to an NWB file that nobody else has open."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._save_disk import guarded_hdf5
from ._save_items import MODULE, Item, Table
from ._save_source import points_elsewhere

if TYPE_CHECKING:
    import pynwb


def add_to_copy(
    part: Path, items: Sequence[Item], texts: Mapping[str, str], replaced: Sequence[str]
) -> None:
    """Add ``items`` to the copy of an NWB file.

    Parameters
    ----------
    part : Path
        The copy, writable.
    items : sequence of Table or pandas.Series
        What to add to the processing module.
    texts : mapping of str to str
        Name of each item to its description.
    replaced : sequence of str
        Names to delete from the processing module first.
    """
    from pynwb import NWBHDF5IO

    plain = points_elsewhere(part)
    with guarded_hdf5(part, "r+", plain=plain) as file, warnings.catch_warnings():
        # what pynwb says about the source has been kept when it was opened for reading
        warnings.simplefilter("ignore")
        for name in replaced:
            # pynwb can neither remove nor replace what a file holds
            del file[f"processing/{MODULE}/{name}"]
        with NWBHDF5IO(file.filename, file=file, mode="r+", load_namespaces=True) as io:
            nwbfile = io.read()
            _add(nwbfile, items, texts)
            io.write(nwbfile)


def write_new(
    part: Path, nwbfile: pynwb.NWBFile, items: Sequence[Item], texts: Mapping[str, str]
) -> None:
    """Write ``nwbfile`` with ``items`` added into the empty file ``part``."""
    from pynwb import NWBHDF5IO

    with guarded_hdf5(part, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with NWBHDF5IO(file.filename, file=file, mode="w") as io:
            _add(nwbfile, items, texts)
            io.write(nwbfile)


def _add(nwbfile: Any, items: Sequence[Item], texts: Mapping[str, str]) -> None:
    if MODULE in nwbfile.processing:
        module = nwbfile.processing[MODULE]
    else:
        module = nwbfile.create_processing_module(
            MODULE, "Results saved by nb26stats; each description is JSON that tells their origin"
        )
    for item in items:
        module.add(_container(item, texts[item.name]))


def _container(item: Item, text: str) -> Any:
    import numpy as np
    from hdmf.common import DynamicTable, ElementIdentifiers, VectorData
    from pynwb import TimeSeries

    if isinstance(item, Table):
        columns = [
            VectorData(name=c.name, description=c.description, data=c.values) for c in item.columns
        ]
        # hdmf goes through the list it would make itself one element at a time
        ids = ElementIdentifiers(name="id", data=np.arange(len(item.columns[0].values)))
        return DynamicTable(name=item.name, description=text, columns=columns, id=ids)
    clock: dict[str, Any] = (
        {"rate": item.rate, "starting_time": item.starting_time}
        if item.timestamps is None
        else {"timestamps": item.timestamps}
    )
    return TimeSeries(name=item.name, data=item.data, unit=item.unit, description=text, **clock)
