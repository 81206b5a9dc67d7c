"""The source file: its bytes and hash, whether it changed meanwhile, what it links to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

from nb26stats import _progress

from ._save_items import MODULE
from ._save_provenance import result_of

_CHUNK = 4 << 20
_BAR_FROM = 64 << 20
"""Files of fewer bytes are copied and hashed without a progress bar."""

Stamp = tuple[Any, ...]


def stamp(source: Path) -> Stamp:
    """Return what changes when a file is written to or replaced (of every file in a folder)."""
    if not source.is_dir():
        return _one_stamp(source)
    return tuple((str(p), *_one_stamp(p)) for p in _files(source))


def copy_and_hash(source: Path, part: Path) -> str:
    """Copy the bytes of ``source`` into the existing file ``part``; return their sha256."""
    digest = hashlib.sha256()
    size = source.stat().st_size
    with (
        open(source, "rb") as reader,
        open(part, "r+b", buffering=0) as writer,
        _bar(size, f"copying {source.name}") as shown,
    ):
        while block := reader.read(_CHUNK):
            digest.update(block)
            view = memoryview(block)
            while view:
                view = view[writer.write(view) :]
            shown.update(len(block))
    return digest.hexdigest()


def hash_source(source: Path) -> str:
    """Return the sha256 of a file; of a folder, that of the names and bytes of all its files."""
    digest = hashlib.sha256()
    files = _files(source) if source.is_dir() else [source]
    size = sum(p.stat().st_size for p in files)
    with _bar(size, f"hashing {source.name}") as shown:
        for path in files:
            if path != source:
                name = path.relative_to(source).as_posix()
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            with open(path, "rb") as reader:
                while block := reader.read(_CHUNK):
                    digest.update(block)
                    shown.update(len(block))
    return digest.hexdigest()


def saved_names(path: Path) -> dict[str, str | None]:
    """Return the names in the processing module of a file, each with the result it belongs to.

    A file that cannot be read as HDF5 has none.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            group = file.get(f"processing/{MODULE}")
            if not isinstance(group, h5py.Group):
                return {}
            return {
                name: result_of(child.attrs.get("description")) if child is not None else None
                for name, child in ((name, group.get(name)) for name in group)
            }
    except OSError:
        return {}


def relative_links(path: Path) -> list[str]:
    """Return what in the file points to other files by a path relative to its folder.

    External links, ``external_file`` lists of image series, external storage and virtual data sets.
    """
    import h5py

    found: list[str] = []
    with h5py.File(path, "r") as file:
        for where, link, target in _links(file, h5py):
            if link is not None:
                found += _relative(where, [link])
            else:
                found += _relative(where, _outside(target, where, h5py))
    return found


def points_elsewhere(path: Path) -> bool:
    """Return whether reading the file with HDF5 opens other HDF5 files."""
    import h5py

    with h5py.File(path, "r") as file:
        return any(link is not None or target.is_virtual for _, link, target in _links(file, h5py))


def _links(file: Any, h5py: Any) -> Iterator[tuple[str, str | None, Any]]:
    """Yield (path, file name of an external link, None) and (path, None, data set)."""
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", file)]
    while todo:
        where, group = todo.pop()
        for name in group:
            link = group.get(name, getlink=True)
            here = f"{where}/{name}"
            if isinstance(link, h5py.ExternalLink):
                yield here, link.filename, None
            elif isinstance(link, h5py.HardLink):
                child = group[name]
                address = h5py.h5o.get_info(child.id).addr
                if address in seen:
                    continue
                seen.add(address)
                if isinstance(child, h5py.Group):
                    todo.append((here, child))
                elif isinstance(child, h5py.Dataset):
                    yield here, None, child


def _outside(dataset: Any, where: str, h5py: Any) -> list[str]:
    """Return the names of other files that a data set needs."""
    out = [name for name, *_ in (dataset.external or [])]
    if dataset.is_virtual:
        out += [s.file_name for s in dataset.virtual_sources() if s.file_name != "."]
    if where.rsplit("/", 1)[-1] == "external_file" and h5py.check_string_dtype(dataset.dtype):
        values = dataset.asstr()[()] if dataset.shape is not None else []
        out += [values] if isinstance(values, str) else [str(v) for v in values]
    return out


def _relative(where: str, names: list[str]) -> list[str]:
    return [
        f"{where} -> {name}"
        for name in dict.fromkeys(names)
        if name
        and "://" not in name
        and not os.path.isabs(name)
        and not PureWindowsPath(name).is_absolute()
    ]


def _one_stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def _bar(size: int, text: str) -> Any:
    return _progress.bar(size, desc=text, unit="B", quiet=size < _BAR_FROM)
