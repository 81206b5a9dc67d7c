"""Order of the TVSD's electrodes: from the rows of the recording system to the arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_CHANNELS = 1024
ORDER_FILE = "1024chns_mapping_20220105.mat"
ORDER_KEY = "mapping"


def find_order(path: Path) -> NDArray[np.int64]:
    """Return the order that lies beside the file: in its folder or in ``_logs``."""
    for folder in (path.parent / "_logs", path.parent):
        found = sorted(folder.glob(f"*{ORDER_FILE}"))
        if len(found) == 1:
            return read_order(found[0])
    raise FileNotFoundError(
        f"{path.name} keeps its electrodes in the order of the recording system, and the file that "
        f"puts them in the order of the areas, _logs/{ORDER_FILE} of the data set, is not beside "
        "it; download it or give channel_order="
    )


def read_order(order: Any) -> NDArray[np.int64]:
    """Return for each place in the arrays the row of the file, counted from 0."""
    if isinstance(order, (str, os.PathLike)):
        order = _read_file(Path(order))
    values = np.asarray(as_numbers(order, "channel_order"), dtype=np.float64).ravel()
    if values.size == N_CHANNELS and np.isfinite(values).all():
        for first in (1, 0):
            if np.array_equal(np.sort(values), np.arange(first, N_CHANNELS + first)):
                return values.astype(np.int64) - first
    raise ValueError(
        f"channel_order must hold each whole number from 1 to {N_CHANNELS} (or from 0) once, got "
        f"{values.size} numbers, {np.unique(values).size} of them different"
    )


def _read_file(path: Path) -> Any:
    import h5py
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not path.is_file():
        raise FileNotFoundError(f"No file at {path}")
    if h5py.is_hdf5(path):
        with h5py.File(path, "r") as file:
            if ORDER_KEY in file:
                return np.asarray(file[ORDER_KEY])
            held = sorted(file)
    else:
        try:
            variables = loadmat(str(path))
        except (MatReadError, ValueError, TypeError, OSError) as err:
            raise ValueError(f"{path.name} is not a MATLAB file: {err}") from None
        if ORDER_KEY in variables:
            return variables[ORDER_KEY]
        held = sorted(key for key in variables if not key.startswith("__"))
    raise ValueError(f"{path.name} lacks {ORDER_KEY}; it holds {', '.join(held) or 'nothing'}")
