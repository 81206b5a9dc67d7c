"""A file for HDF5 to write to that never fails inside HDF5, and the error for a full disk.

When the disk fills up while HDF5 writes, HDF5 can no longer close its file: the error is a
``RuntimeError`` about reference counts, and the process may crash when it exits. Here HDF5 writes
through a Python object: the first error is kept, later writes go to memory, HDF5 closes in peace,
and the kept error is raised afterwards. An interrupt that arrives in a write is kept the same way.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

_PAGE = 4096
_open_raw = io.FileIO
FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
"""Error numbers of a full disk, a file that may not grow, and a quota."""

_FULL_TEXT = (
    "can't decrement id ref count",
    "no space left",
    "file too large",
    "disk quota exceeded",
    "file write failed",
    "unable to extend file",
)
_NO_ROOM = 65536
"""A disk with fewer free bytes than this counts as full when an unclear error comes from it."""


class GuardedFile(io.RawIOBase):
    """An existing file opened for reading and writing; ``failure`` is the first error of a write.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._raw = _open_raw(path, "r+")
        self._end = os.fstat(self._raw.fileno()).st_size
        self._at = 0
        self._pages: dict[int, bytearray] = {}
        self.failure: BaseException | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` from the position; bytes past the end of the file read as zero."""
        view = memoryview(buffer).cast("B")
        view[:] = bytes(len(view))
        self._raw.seek(self._at)
        got = 0
        while got < len(view):
            n = self._raw.readinto(view[got:])
            if not n:
                break
            got += n
        for page, first, last in self._spans(len(view)):
            if page in self._pages:
                start = page * _PAGE
                view[first - self._at : last - self._at] = self._pages[page][
                    first - start : last - start
                ]
        self._at += len(view)
        return len(view)

    def write(self, buffer: Any) -> int:
        """Write ``buffer`` at the position: to the disk until it fails once, then to memory."""
        view = memoryview(buffer).cast("B")
        if self.failure is None:
            try:
                self._raw.seek(self._at)
                done = 0
                while done < len(view):
                    done += self._raw.write(view[done:]) or 0
            except BaseException as err:
                self.failure = err
        if self.failure is not None:
            for page, first, last in self._spans(len(view)):
                start = page * _PAGE
                self._page(page)[first - start : last - start] = view[
                    first - self._at : last - self._at
                ]
        self._at += len(view)
        self._end = max(self._end, self._at)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the length of the file."""
        size = self._at if size is None else size
        if self.failure is None:
            try:
                self._raw.truncate(size)
            except BaseException as err:
                self.failure = err
        self._end = size
        return size

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._raw.close()
        super().close()

    def _spans(self, size: int) -> list[tuple[int, int, int]]:
        """Return (page, first byte, byte after the last) for the bytes at the position."""
        if not size or self.failure is None:
            return []
        end = self._at + size
        pages = range(self._at // _PAGE, (end - 1) // _PAGE + 1)
        return [(p, max(self._at, p * _PAGE), min(end, (p + 1) * _PAGE)) for p in pages]

    def _page(self, page: int) -> bytearray:
        if page not in self._pages:
            new = bytearray(_PAGE)
            self._raw.seek(page * _PAGE)
            stored = self._raw.read(_PAGE)
            new[: len(stored)] = stored
            self._pages[page] = new
        return self._pages[page]


@contextlib.contextmanager
def guarded_hdf5(path: Path, mode: str, *, plain: bool = False) -> Iterator[Any]:
    """Open an existing file with h5py; the first error of a write is raised once it is closed.

    Parameters
    ----------
    path : Path
        The file.
    mode : {"r+", "w"}
        ``'w'`` starts from an empty file.
    plain : bool
        Let HDF5 write by itself. Needed for a file that links to others: HDF5 would look for
        their content in this very file.

    Yields
    ------
    h5py.File
    """
    import h5py

    if plain:
        with h5py.File(path, mode) as file:
            yield file
        return
    with GuardedFile(path) as disk:
        try:
            with h5py.File(str(path), mode, driver="fileobj", fileobj=disk) as file:
                yield file
        except Exception as err:
            if disk.failure is not None:
                raise disk.failure from err
            raise
        if disk.failure is not None:
            raise disk.failure


def free_bytes(folder: Path) -> int:
    """Return the bytes this user may still write in ``folder``."""
    return shutil.disk_usage(folder).free


def is_full(err: BaseException, folder: Path) -> bool:
    """Return whether ``err`` means that the disk of ``folder`` is full.

    HDF5 also reports a full disk as a ``RuntimeError`` without an error number, so the text of
    the error and the free space count too.
    """
    if isinstance(err, OSError) and err.errno in FULL:
        return True
    if isinstance(err, (OSError, RuntimeError)):
        text = str(err).lower()
        if any(part in text for part in _FULL_TEXT):
            return True
        return free_bytes(folder) < _NO_ROOM
    return False


def full_error(target: Path, needed: int, *, hint: str = "") -> OSError:
    """Return the error for a disk without room for ``needed`` bytes at ``target``."""
    return OSError(
        errno.ENOSPC,
        f"not enough room to write {target.name}: about {needed} bytes are needed, "
        f"{free_bytes(target.parent)} are free on this disk (a quota or a limit on the size of "
        f"files may allow less){hint}; nothing was saved",
        str(target),
    )
