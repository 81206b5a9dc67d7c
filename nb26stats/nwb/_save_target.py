"""Where results go: paths, links and permissions, all settled before anything is written."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._open import local_path, storage_of, with_home
from ._save_disk import free_bytes, full_error
from ._session import Session, _is_nwbfile

_MARGIN = 1_000_000
"""Bytes kept free beside source and results: schema, attributes, file structure."""


@dataclass(frozen=True)
class Target:
    """What is read and what is written.

    Attributes
    ----------
    source, out : Path
        Absolute paths as the user knows them (links not resolved).
    real_source, real : Path
        The files behind them; ``real`` is the one that is written.
    mode : str
        ``"copy"`` or ``"sidecar"``.
    in_place, overwrite : bool
        As given by the user.
    """

    source: Path
    out: Path
    real_source: Path
    real: Path
    mode: str
    in_place: bool
    overwrite: bool

    @property
    def replace(self) -> bool:
        """Whether an existing file at the target is replaced."""
        return self.in_place or self.overwrite

    @property
    def same_folder(self) -> bool:
        """Whether relative links of the source still lead to the same place from the target."""
        folders = (self.real_source.parent, self.source.parent)
        return any(os.path.samefile(self.real.parent, folder) for folder in folders)

    def final_mode(self) -> int:
        """Return the permission bits of the finished file."""
        model = self.real if self.real.exists() else self.real_source
        mode = stat.S_IMODE(model.stat().st_mode)
        if model.is_dir():
            mode &= 0o666
        return mode | stat.S_IWUSR


def resolve_target(src: Any, out: Any, *, mode: str, in_place: bool, overwrite: bool) -> Target:
    """Find source and target, and refuse combinations that contradict each other."""
    source = _source_path(src)
    real_source = Path(os.path.realpath(source))
    if mode == "sidecar" and in_place:
        raise ValueError("mode='sidecar' writes a new file, so it cannot go with in_place=True")
    if mode == "copy" and storage_of(source) == "zarr":
        raise ValueError(
            f"{source.name} is a Zarr folder, which is not copied; use mode='sidecar' to save the "
            "results in a small file of their own"
        )
    if out is None:
        shown = source if in_place else source.with_name(f"{_stem(source)}_nb26stats.nwb")
    else:
        shown = _out_path(out)
    real = Path(os.path.realpath(shown))
    _check_place(shown, real)
    same = real.exists() and os.path.samefile(real, real_source)
    if same and not in_place:
        raise ValueError(
            f"out is the source {source} itself: pass in_place=True to add the results to it, or "
            "give another out"
        )
    if in_place and not same:
        raise ValueError(
            f"in_place=True writes to the source {source.name}, but out={str(out)!r} is another "
            "file; leave out away"
        )
    return Target(source, shown, real_source, real, mode, in_place, overwrite)


def check_target(target: Target, results_bytes: int) -> int:
    """Refuse a target that cannot or should not be written; return the bytes needed there."""
    real = target.real
    if real.exists() and not target.replace:
        raise ValueError(
            f"{real} exists: pass overwrite=True to make it anew from the source (results saved "
            "in it are then lost), or give another out"
        )
    folder = real.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"cannot write in the folder {folder}: no permission; give out= in a folder of your own"
        )
    if target.in_place:
        _check_in_place(real)
    needed = int(1.2 * results_bytes) + _MARGIN
    hint = ""
    if target.mode == "copy":
        needed += target.real_source.stat().st_size
        hint = "; mode='sidecar' saves the results without a copy of the source"
    if free_bytes(folder) < needed:
        raise full_error(real, needed, hint=hint)
    return needed


def _check_in_place(real: Path) -> None:
    status = real.stat()
    if not status.st_mode & 0o222 or not os.access(real, os.W_OK):
        raise PermissionError(
            f"{real} is read-only (annexed data, perhaps), so in_place=True is refused; leave it "
            "away to save to a new file"
        )
    if status.st_nlink > 1:
        raise ValueError(
            f"{real} has {status.st_nlink} names (hard links) and the others would keep the old "
            "content, so in_place=True is refused; leave it away to save to a new file"
        )


def _check_place(shown: Path, real: Path) -> None:
    try:
        kind = stat.S_IFMT(os.lstat(real).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        if not real.parent.is_dir():
            raise FileNotFoundError(f"the folder of out does not exist: {real.parent}") from None
        return
    except PermissionError:
        raise PermissionError(f"cannot look into the folder {real.parent}: no permission") from None
    except OSError as err:
        raise ValueError(f"out={str(shown)[:200]!r} cannot be used: {err.strerror}") from err
    if kind == stat.S_IFDIR:
        raise ValueError(f"out={str(shown)!r} is a folder; give the name of a file in it")
    if kind != stat.S_IFREG:
        raise ValueError(f"out={str(shown)!r} is not an ordinary file")


def _source_path(src: Any) -> Path:
    if isinstance(src, Session):
        if src.path is None:
            raise ValueError(
                "this NWBFile is only in memory: write the file first, then save results to it"
            )
        return local_path(src.path)
    if _is_nwbfile(src):
        if not src.container_source:
            raise ValueError(
                "this NWBFile is only in memory: write the file first, then save results to it"
            )
        return local_path(src.container_source)
    return local_path(src)


def _out_path(out: Any) -> Path:
    if not isinstance(out, (str, os.PathLike)) or isinstance(os.fspath(out), bytes):
        raise TypeError(f"out must be text or a pathlib.Path, got {type(out).__name__}")
    text = os.fspath(out)
    if not text.strip() or "\0" in text:
        raise ValueError(f"out must name a file, got {text!r}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"out={text!r} cannot be used: not a name this system can hold") from None
    if text.endswith(("/", os.sep)):
        raise ValueError(f"out={text!r} is a folder; give the name of a file in it")
    return Path(os.path.abspath(with_home(text)))


def _stem(source: Path) -> str:
    stem = source.stem
    return stem[:-4] if source.suffix == ".zarr" and stem.endswith(".nwb") else stem
