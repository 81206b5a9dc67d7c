"""One door to stored values: HDF5 and Zarr datasets, lists, arrays and wrapped data alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ClosedSessionError, CorruptFileError, NB26NWBError, NWBReadError


def as_array(data: Any, what: str) -> NDArray[Any]:
    """Return ``data`` as an array in memory; text is ``str`` in an object array.

    Parameters
    ----------
    data : h5py or Zarr dataset, hdmf dataset, DataIO, array, list or tuple
        What a column of a table holds, read from a file or not written yet.
    what : str
        Name of the data for error messages.

    Returns
    -------
    ndarray
        A copy for file data; arrays in memory come back as they are.
    """
    return _plain(load(data, what))


def load(data: Any, what: str) -> Any:
    """Return the stored values as hdmf gives them: an array, or a list of objects referred to."""
    import h5py
    from hdmf.data_utils import AbstractDataChunkIterator, DataIO
    from hdmf.query import HDMFDataset

    while isinstance(data, DataIO):
        data = data.data
    if data is None:
        return np.empty(0)
    if isinstance(data, (np.ndarray, list, tuple)):
        return data
    if isinstance(data, AbstractDataChunkIterator):
        raise NB26NWBError(f"{what} is still to be produced by an iterator; write the file first")
    stored = data.dataset if isinstance(data, HDMFDataset) else data
    if isinstance(stored, h5py.Dataset) and not stored:
        raise ClosedSessionError(f"{what} cannot be read any more: open the file again")
    if getattr(stored, "shape", ()) is None:
        return np.empty(0)
    try:
        return data[:]
    except Exception as err:
        raise _read_error(err, what) from err


def _plain(data: Any) -> NDArray[Any]:
    if isinstance(data, np.ndarray) and data.dtype.kind not in "SUO":
        return data
    if not isinstance(data, np.ndarray):
        first = data[0] if len(data) else 0.0
        if not isinstance(first, (str, bytes)) and np.isscalar(first):
            numbers: NDArray[Any] = np.asarray(data)
            if numbers.dtype.kind not in "SUO":
                return numbers
            data = numbers
        elif isinstance(first, (list, tuple, np.ndarray)):
            try:
                return _plain(np.asarray(data))
            except ValueError:
                return objects(list(data))
    if isinstance(data, np.ndarray) and data.dtype.kind in "SUO" and data.ndim != 1:
        flat = _plain(data.ravel())
        return flat.reshape(data.shape)
    return objects([v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in data])


def objects(values: list[Any]) -> NDArray[Any]:
    """Return a 1-D object array whose elements are exactly ``values``."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = str(value) if isinstance(value, np.str_) else value
    return out


def _read_error(err: Exception, what: str) -> NB26NWBError:
    text = " ".join(str(err).split()) or type(err).__name__
    if "not registered" in text or "plugin" in text or "open directory" in text:
        return NWBReadError(
            f"{what} is stored with a compression this HDF5 library lacks ({text}); "
            "`pip install hdf5plugin` and import it before opening the file"
        )
    if (
        isinstance(err, (OSError, RuntimeError, KeyError))
        and "numcodecs" not in type(err).__module__
    ):
        return CorruptFileError(f"{what} cannot be read ({text}); copy or download the file again")
    return NWBReadError(f"{what} cannot be read: {text}")
