"""The life of a part file: made, filled, moved to its name in one step, or removed.

A part file is called ``.<name of the target>.<host>.<process id>.<random>.part`` and lies beside
its target, so that moving it there is one atomic step of the file system.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

LOCK_WAIT_S = 60.0
"""Seconds that an in-place call waits for another one to finish."""

_POLL_S = 0.05
_NAME_MAX = 255
_HERE: set[str] = set()
"""Part files that a call in this process is working on."""


@contextlib.contextmanager
def part_file(target: Path) -> Iterator[Path]:
    """Make a new part file for ``target``; whatever happens, it is gone at the end.

    Parameters
    ----------
    target : Path
        Resolved path of the file that the part file will become.

    Yields
    ------
    Path
        An empty file, readable and writable for this user alone.
    """
    path = target.parent / f"{_prefix(target)}{os.getpid()}.{secrets.token_hex(8)}.part"
    _HERE.add(str(path))
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        _HERE.discard(str(path))


def remove_dead_parts(target: Path) -> None:
    """Remove the part files of ``target`` that killed processes of this host have left."""
    pattern = re.compile(re.escape(_prefix(target)) + r"(\d+)\.[0-9a-f]+\.part")
    try:
        names = os.listdir(target.parent)
    except PermissionError:
        # a folder may allow new files and still hide its listing
        return
    for name in names:
        found = pattern.fullmatch(name)
        path = target.parent / name
        if found and str(path) not in _HERE and not _lives(int(found[1])):
            with contextlib.suppress(OSError):
                os.unlink(path)


def publish(part: Path, target: Path, *, replace: bool) -> None:
    """Give ``part`` the name ``target`` in one step.

    Parameters
    ----------
    part, target : Path
        Files in one folder.
    replace : bool
        Whether a file at ``target`` is replaced; otherwise one that has appeared is kept.

    Raises
    ------
    ValueError
        There is a file at ``target`` and ``replace`` is False.
    """
    if replace:
        _replace(part, target)
        return
    appeared = ValueError(
        f"{target} appeared while the results were being written and was left as it is; give "
        "another out, or overwrite=True"
    )
    try:
        os.link(part, target)
    except FileExistsError:
        raise appeared from None
    except OSError:
        # no hard links on this file system: look again, then rename
        if os.path.lexists(target):
            raise appeared from None
        _replace(part, target)
    else:
        os.unlink(part)


def set_mode(path: Path, mode: int) -> None:
    """Set the permission bits; file systems that have none are left alone."""
    with contextlib.suppress(OSError, NotImplementedError):
        os.chmod(path, stat.S_IMODE(mode))


def sync(path: Path) -> None:
    """Have the system write the file to the disk."""
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """Have the system write the folder to the disk, where it can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def folder_lock(target: Path) -> Iterator[None]:
    """Keep other in-place calls on files of this folder out; wait for them up to LOCK_WAIT_S.

    Where the system or the disk has no such locks, nothing is locked.

    Raises
    ------
    RuntimeError
        Another process kept the lock for the whole time.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        fd = os.open(target.parent, os.O_RDONLY)
    except PermissionError:
        yield
        return
    try:
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise RuntimeError(
                        f"{target} is being written by another process (or another file in its "
                        f"folder is), waited {LOCK_WAIT_S:g} s; run again when it has finished"
                    ) from None
                time.sleep(_POLL_S)
            except OSError:
                break
        yield
    finally:
        # closing the folder gives the lock back
        os.close(fd)


def _prefix(target: Path) -> str:
    host = re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname()) or "host"
    name = target.name
    # process id, random part and suffix take at most 40 bytes
    if len(os.fsencode(name)) + len(host) + 43 > _NAME_MAX:
        host = host[:64]
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.{host}."


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        # an earlier process had the number that is ours now: our own parts are in _HERE
        return False
    if os.name == "nt":
        # signal 0 would be sent for real there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _replace(part: Path, target: Path) -> None:
    try:
        os.replace(part, target)
    except PermissionError as err:
        if os.name == "nt":
            raise PermissionError(
                err.errno,
                "the file is open in another program; close the file in other programs and run "
                "again (everything was left as it was)",
                str(target),
            ) from err
        raise
