"""Rows of an NWB time series, read a slab at a time in the series' unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import unmasked


def is_series(x: object) -> bool:
    """Whether ``x`` is an NWB TimeSeries, also of an extension; nothing is imported to find out."""
    return all(hasattr(x, name) for name in ("conversion", "timestamps", "rate", "data"))


def check_open(x: Any) -> None:
    """Refuse an HDF5 object of a closed file: it is false, and its other attributes raise."""
    if type(x).__module__.split(".")[0] == "h5py" and not x:
        raise ValueError("X belongs to an HDF5 file that is closed; open the file again")


class SeriesRows:
    """A TimeSeries as rows: time points by channels.

    Parameters
    ----------
    series : pynwb.TimeSeries
        With data of one or two dimensions.
    """

    def __init__(self, series: Any) -> None:
        data = series.data
        check_open(data)
        # a wrapper that sets storage options holds the data one level down
        while not hasattr(data, "shape") and hasattr(data, "data"):
            data = data.data
        self.data = data if hasattr(data, "shape") else np.asarray(data)
        name = getattr(series, "name", "series")
        if len(self.data.shape) not in (1, 2):
            raise ValueError(
                f"TimeSeries {name!r} has data of {len(self.data.shape)} dimensions; rows need "
                "time, or time by channels"
            )
        kind = np.dtype(self.data.dtype)
        if kind.kind not in "biuf":
            raise TypeError(f"TimeSeries {name!r} must hold real numbers, got {kind.name}")
        n = int(self.data.shape[0])
        self.shape = (n, 1) if len(self.data.shape) == 1 else (n, int(self.data.shape[1]))
        self.dtype = np.dtype(np.float32 if kind == np.float32 else np.float64)
        channel = getattr(series, "channel_conversion", None)
        self.scale = np.asarray(1.0 if channel is None else channel[:], np.float64)
        self.scale = self.scale * float(series.conversion)
        self.offset = float(getattr(series, "offset", 0.0) or 0.0)
        if self.scale.ndim and self.scale.shape != (self.shape[1],):
            raise ValueError(
                f"TimeSeries {name!r} has {len(self.scale)} channel conversions for "
                f"{self.shape[1]} channels"
            )

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return rows in the series' unit."""
        part = np.asarray(unmasked(self.data[rows]), np.float64).reshape(-1, self.shape[1])
        return (part * self.scale + self.offset).astype(self.dtype, copy=False)
