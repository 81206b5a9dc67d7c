"""Equality of HDF5 types and values in two files; references count by what they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def same_type(old: Any, new: Any) -> bool:
    """Return whether two low-level HDF5 types mean the same.

    HDF5's own test calls variable-length types of two files different, so NumPy types are compared.
    """
    if old.get_class() != new.get_class():
        return False
    try:
        return _same_dtype(old.dtype, new.dtype)
    except TypeError:
        # bit fields, times and other types NumPy lacks
        return bool(old.encode() == new.encode())


class Compare:
    """Compares attributes and data sets of two files.

    Parameters
    ----------
    old, new : h5py.File
        The files.
    old_paths : mapping of int to str
        Path of the object at each address of the old file.
    new_addresses : mapping of str to int
        Address of the object at each of these paths in the new file.
    """

    def __init__(
        self, old: Any, new: Any, old_paths: Mapping[int, str], new_addresses: Mapping[str, int]
    ) -> None:
        self.old, self.new = old, new
        self.old_paths, self.new_addresses = old_paths, new_addresses

    def attributes(self, old: Any, new: Any, name: str) -> bool:
        """Return whether attribute ``name`` of two objects has the same shape, type and value."""
        before, after = old.attrs.get_id(name), new.attrs.get_id(name)
        if before.shape != after.shape or not same_type(before.get_type(), after.get_type()):
            return False
        try:
            kind = before.dtype
        except TypeError:
            return bool(before.get_storage_size() == after.get_storage_size())
        return self._same(old.attrs[name], new.attrs[name], kind, before.shape)

    def values(self, old: Any, new: Any) -> bool:
        """Return whether two data sets of one shape and type hold the same values."""
        if old.shape is None:
            return True
        if old.external is not None or old.is_virtual:
            # the values are in other files
            return bool(_elsewhere(old) == _elsewhere(new))
        try:
            kind = old.dtype
        except TypeError:
            return bool(old.id.get_storage_size() == new.id.get_storage_size())
        try:
            before, after = old[()], new[()]
        except OSError:
            if old.chunks is None:
                raise
            # a compression filter that is not installed: the packed bytes will do
            return _same_chunks(old, new)
        return self._same(before, after, kind, old.shape)

    def _same(self, old: Any, new: Any, kind: np.dtype[Any], shape: Any) -> bool:
        import h5py

        if isinstance(old, h5py.Empty) or isinstance(new, h5py.Empty):
            return isinstance(old, h5py.Empty) and isinstance(new, h5py.Empty)
        if kind.names is not None:
            return all(
                self._same(old[name], new[name], *_inner(kind[name], shape)) for name in kind.names
            )
        if kind.kind != "O":
            return np.asarray(old).tobytes() == np.asarray(new).tobytes()
        before, after = _elements(old, shape), _elements(new, shape)
        if len(before) != len(after):
            return False
        pairs = zip(before, after, strict=True)
        if h5py.check_ref_dtype(kind) is not None:
            return all(self._same_reference(a, b) for a, b in pairs)
        base = h5py.check_vlen_dtype(kind)
        if not isinstance(base, np.dtype):
            return all(a == b for a, b in pairs)
        return all(
            np.shape(a) == np.shape(b) and self._same(a, b, base, np.shape(a)) for a, b in pairs
        )

    def _same_reference(self, old: Any, new: Any) -> bool:
        before, after = self._end(old, self.old), self._end(new, self.new)
        if before is None or after is None:
            return before is after
        path = self.old_paths.get(before[0])
        # an object without a path of its own in this file, perhaps one that was deleted
        known = path is not None and path in self.new_addresses
        place = self.new_addresses[path] if known and path is not None else before[0]
        return place == after[0] and before[1] == after[1]

    def _end(self, ref: Any, file: Any) -> tuple[int, Any] | None:
        """Return the address a reference leads to and its region; None when it leads nowhere."""
        import h5py

        if not ref:
            return None
        try:
            target = h5py.h5r.dereference(ref, file.id)
            address = int(h5py.h5o.get_info(target).addr)
        except (ValueError, KeyError, OSError, RuntimeError):
            return None
        region = None
        if isinstance(ref, h5py.RegionReference):
            region = _region(h5py.h5r.get_region(ref, file.id))
        return address, region


def _same_dtype(old: np.dtype[Any], new: np.dtype[Any]) -> bool:
    import h5py

    if old.names is not None or new.names is not None:
        if old.names != new.names or old.itemsize != new.itemsize or old.names is None:
            return False
        return all(_same_dtype(old[name], new[name]) for name in old.names)
    if old.subdtype is not None or new.subdtype is not None:
        if old.subdtype is None or new.subdtype is None or old.shape != new.shape:
            return False
        return _same_dtype(old.base, new.base)
    base, other = h5py.check_vlen_dtype(old), h5py.check_vlen_dtype(new)
    if isinstance(base, np.dtype) and isinstance(other, np.dtype):
        return _same_dtype(base, other)
    marks = (h5py.check_string_dtype, h5py.check_ref_dtype, h5py.check_enum_dtype)
    return old == new and base == other and all(mark(old) == mark(new) for mark in marks)


def _inner(kind: np.dtype[Any], shape: Any) -> tuple[np.dtype[Any], Any]:
    """Return element type and shape of a field that may be an array itself."""
    if kind.subdtype is None:
        return kind, shape
    return kind.base, (*shape, *kind.shape)


def _elements(value: Any, shape: Any) -> list[Any]:
    if shape == ():
        return [value]
    return list(np.asarray(value, dtype=object).ravel())


def _region(space: Any) -> Any:
    import h5py

    kind = space.get_select_type()
    if kind == h5py.h5s.SEL_HYPERSLABS:
        return space.shape, space.get_select_hyper_blocklist().tolist()
    if kind == h5py.h5s.SEL_POINTS:
        return space.shape, space.get_select_elem_pointlist().tolist()
    return space.shape, kind


def _elsewhere(dataset: Any) -> Any:
    """Return which parts of which other files a data set is made of."""
    if not dataset.is_virtual:
        return dataset.external
    return [
        (s.file_name, s.dset_name, _region(s.vspace), _region(s.src_space))
        for s in dataset.virtual_sources()
    ]


def _same_chunks(old: Any, new: Any) -> bool:
    count = old.id.get_num_chunks()
    if count != new.id.get_num_chunks():
        return False
    for i in range(count):
        place = old.id.get_chunk_info(i).chunk_offset
        try:
            if old.id.read_direct_chunk(place) != new.id.read_direct_chunk(place):
                return False
        except OSError:
            # the new file has no such chunk
            return False
    return True
