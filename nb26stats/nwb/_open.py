"""From a path to a pynwb object: signature, version, and errors that say what is in the file."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

from nb26stats._check import as_choice

from .errors import (
    CorruptFileError,
    NotAnNWBFileError,
    NWBReadError,
    UnsupportedNWBVersionError,
)

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ZARR_MARKS = (".zgroup", "zarr.json", ".zmetadata")
_BUSY = (errno.EAGAIN, errno.EWOULDBLOCK)
_REMOTE = re.compile(r"^(https?|s3|gs|gcs|ftp|sftp|dandi)://", re.IGNORECASE)


def open_file(path: Any, backend: str) -> dict[str, Any]:
    """Return the arguments of ``Session`` for the file at ``path``."""
    as_choice(backend, "backend", ("auto", "hdf5", "zarr"))
    target = local_path(path)
    kind = storage_of(target)
    if backend not in ("auto", kind):
        raise NotAnNWBFileError(f"{target} is stored as {kind}, not as backend={backend!r}")
    return _open_zarr(target) if kind == "zarr" else _open_hdf5(target)


def local_path(path: Any) -> Path:
    """Return the absolute path of an existing file or folder."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise TypeError(
            "path must be text or a pathlib.Path (functions also take a Session or a "
            f"pynwb.NWBFile), got {type(path).__name__}"
        )
    text = os.fspath(path)
    if not text.strip() or "\0" in text:
        raise ValueError(f"path must name a file, got {text!r}")
    if _REMOTE.match(text) or text.endswith((".lindi.json", ".lindi.tar")):
        raise ValueError(
            f"{text} is remote or a lindi file, which is not read here; download the NWB file "
            "itself first (`dandi download URL`, or the download button of the archive) and give "
            "the path of that copy"
        )
    target = with_home(text)
    try:
        target = target.absolute()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"No file at {text[:200]}: the current folder does not exist any more"
        ) from None
    try:
        found = target.exists()
    except OSError as err:
        if isinstance(err, PermissionError):
            raise
        raise FileNotFoundError(f"No file at {text[:200]}: {err.strerror}") from None
    if not found:
        hint = ""
        if target.is_symlink():
            hint = (
                f"; it is a link to {os.readlink(target)}, which is missing "
                "(in a DataLad folder: `datalad get`) or leads back to itself"
            )
        raise FileNotFoundError(f"No file at {target}{hint}")
    return target


def with_home(path: str | os.PathLike[str]) -> Path:
    """Return the path with a leading ``~`` or ``~user`` put in full, where there is that user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        # a file may be called '~notes.nwb'
        return Path(path)


def storage_of(path: Path) -> str:
    """Return ``'hdf5'`` or ``'zarr'``, or raise NotAnNWBFileError."""
    if path.is_dir():
        if any((path / mark).exists() for mark in _ZARR_MARKS):
            return "zarr"
        raise NotAnNWBFileError(
            f"{path} is a folder without Zarr metadata; give the path of one NWB file"
        )
    if not path.is_file():
        raise NotAnNWBFileError(f"{path} is neither a file nor a folder; give an NWB file")
    with path.open("rb") as stream:
        head = stream.read(64)
    if head.startswith(_SIGNATURE):
        return "hdf5"
    if not head:
        found = "it is empty (0 bytes)"
    elif head.startswith(b"version https://git-lfs"):
        found = "it is a Git LFS pointer; run `git lfs pull` to get the data"
    else:
        found = f"it starts with {head[:16]!r}"
    raise NotAnNWBFileError(f"{path} is not an NWB file: it is not HDF5, {found}")


def _open_hdf5(path: Path) -> dict[str, Any]:
    with _h5_file(path) as file:
        try:
            version = _version(file)
            groups = ", ".join(file.keys()) or "nothing"
            namespaces = _cached_namespaces(file)
        except (OSError, RuntimeError, KeyError) as err:
            raise _damaged(path, err) from err
        if version is None:
            raise NotAnNWBFileError(
                f"{path.name} is HDF5 but not NWB: it has no 'nwb_version'. "
                f"Its root holds: {groups}"
            )
        if re.match(r"(NWB-)?[01]\.", version):
            raise UnsupportedNWBVersionError(
                f"{path.name} is {version if version.startswith('NWB') else 'NWB ' + version}, "
                "which is not read here; convert to NWB 2 first (an MIES, AIBS or lab converter, "
                f"or a newer copy from the archive). Its root holds: {groups}"
            )
    _import_pynwb()
    from pynwb import NWBHDF5IO

    return _read(NWBHDF5IO, path, version, namespaces, groups)


def _import_pynwb() -> None:
    """Import pynwb, which raises where the user's cache folder cannot be made."""
    try:
        import pynwb
    except OSError:
        before = os.environ.get("XDG_CACHE_HOME")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            try:
                import pynwb  # noqa: F401
            finally:
                if before is None:
                    del os.environ["XDG_CACHE_HOME"]
                else:
                    os.environ["XDG_CACHE_HOME"] = before


def _h5_file(path: Path) -> Any:
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError as err:
        if err.errno is not None:
            # h5py keeps errno for what the system refused: permission, locks, disk
            busy = "; another program has it open for writing" if err.errno in _BUSY else ""
            raise type(err)(
                err.errno, f"cannot open {path}: {os.strerror(err.errno)}{busy}"
            ) from None
        raise _damaged(path, err) from err


def _damaged(path: Path, err: Exception) -> CorruptFileError:
    reason = re.search(r"\((.*)\)", str(err))
    return CorruptFileError(
        f"{path.name} ({path.stat().st_size} bytes on disk) cannot be opened as HDF5: "
        f"{reason.group(1) if reason else err}; copy or download the file again"
    )


def _version(file: Any) -> str | None:
    import h5py
    import numpy as np

    value = file.attrs.get("nwb_version")
    if value is None:
        stored = file.get("nwb_version")
        value = stored[()] if isinstance(stored, h5py.Dataset) else None
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return str(value)[:100] if isinstance(value, str) and value else None


def _cached_namespaces(file: Any) -> dict[str, str]:
    import h5py

    cached = file.get("specifications")
    if not isinstance(cached, h5py.Group):
        return {}
    out = {}
    for name, group in cached.items():
        if isinstance(group, h5py.Group) and len(group):
            out[name] = max(group.keys(), key=_numbers)
    return out


def _open_zarr(path: Path) -> dict[str, Any]:
    try:
        from hdmf_zarr import NWBZarrIO
    except ImportError as err:
        raise ImportError(
            f"{path.name} is a Zarr folder; reading it needs hdmf-zarr: `pip install hdmf-zarr`"
        ) from err
    version, groups = _zarr_root(path)
    if version is None:
        raise NotAnNWBFileError(
            f"{path.name} is Zarr but not NWB: it has no 'nwb_version'. Its root holds: {groups}"
        )
    return _read(NWBZarrIO, path, version, {}, groups)


def _zarr_root(path: Path) -> tuple[str | None, str]:
    attributes: dict[str, Any] = {}
    for name in (".zattrs", "zarr.json"):
        file = path / name
        if file.exists():
            try:
                content = json.loads(file.read_text("utf-8"))
            except (ValueError, OSError):
                continue
            attributes.update(content.get("attributes", content))
    version = attributes.get("nwb_version")
    groups = sorted(p.name for p in path.iterdir() if p.is_dir())
    return (version if isinstance(version, str) else None), ", ".join(groups) or "nothing"


def _read(
    reader: Any, path: Path, version: str, namespaces: dict[str, str], groups: str
) -> dict[str, Any]:
    # made in two steps so that the file can be closed when the constructor itself fails
    io = reader.__new__(reader)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            io.__init__(str(path), "r", load_namespaces=True)
            nwbfile = io.read()
        except Exception as err:
            io.close()
            raise _reader_failed(err, path, version, namespaces, groups) from err
        except BaseException:
            io.close()
            raise
    messages = dict.fromkeys(str(w.message) for w in caught if w.category is not ResourceWarning)
    return {
        "nwbfile": nwbfile,
        "path": path,
        "nwb_version": version,
        "namespaces": namespaces,
        "read_warnings": list(messages),
        "io": io,
    }


def _reader_failed(
    err: Exception, path: Path, version: str, namespaces: dict[str, str], groups: str
) -> NWBReadError:
    builder = _failing_builder(err)
    cached = ", ".join(f"{k} {v}" for k, v in namespaces.items()) or "none"
    text = [f"pynwb cannot read {path.name} (NWB {version}, cached schemas: {cached})"]
    if builder is not None:
        text.append(f"failing object: {builder.path}")
        kind = builder.attributes.get("neurodata_type")
        space = builder.attributes.get("namespace")
        if space not in (None, "core", "hdmf-common", "hdmf-experimental"):
            text.append(
                f"its type {kind} belongs to the extension {space}; another version of "
                f"{space} may read it"
            )
    text.append(f"cause: {_first_sentence(err)}")
    known = _schema_of_pynwb()
    if _numbers(version) > _numbers(known):
        text.append(f"the file is newer than the schema {known} of this pynwb; update pynwb")
    text.append(f"the root holds: {groups}")
    return NWBReadError("; ".join(text))


def _schema_of_pynwb() -> str:
    from pynwb import get_type_map

    return str(get_type_map().namespace_catalog.get_namespace("core")["version"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d{1,9}", version)[:3])


def _failing_builder(err: BaseException) -> Any:
    from hdmf.build import Builder

    if err.args and isinstance(err.args[0], Builder):
        return err.args[0]
    found, step = None, err.__traceback__
    while step is not None:
        local = step.tb_frame.f_locals.get("builder")
        if isinstance(local, Builder):
            found = local
        step = step.tb_next
    return found


def _first_sentence(err: Exception) -> str:
    message = str(err.args[-1]) if err.args else ""
    message = " ".join(message.split()) or type(err).__name__
    return re.split(r"(?<=[.!?]) ", message)[0][:300]
