"""Saving when things go wrong: the source and an older file must come out untouched."""

from __future__ import annotations

import errno
import io
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pynwb
import pytest
from save_tools import (
    SMALL,
    Child,
    copied,
    in_child,
    names_in,
    parts,
    read_table,
    sha,
    table,
)

import nb26stats.nwb as nbn
from nb26stats.nwb import _save, _save_disk, _save_part, save_results

NOBODY = 65534
BIG = pd.DataFrame({"x": np.arange(100_000.0)})


class Files:
    """A source, an older output, and the check that neither has changed."""

    def __init__(self, folder: Path, older: Path) -> None:
        self.folder = folder
        self.source = copied(SMALL, folder)
        self.out = folder / "out.nwb"
        shutil.copyfile(older, self.out)
        self.before = (sha(self.source), sha(self.out))
        self.names = set(os.listdir(folder))

    def untouched(self, *, left: int = 0) -> None:
        assert (sha(self.source), sha(self.out)) == self.before
        assert len(parts(self.folder)) == left
        assert set(os.listdir(self.folder)) == self.names | set(parts(self.folder))
        assert set(read_table(self.out, "old").columns) == set(table().columns)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("older")
    return save_results(copied(SMALL, folder), {"old": table()})


@pytest.fixture
def files(tmp_path: Path, older: Path) -> Files:
    return Files(tmp_path, older)


WAYS: dict[str, Callable[[Files], Any]] = {
    "new": lambda f: save_results(f.source, {"r": BIG}, out=f.folder / "new.nwb"),
    "overwrite": lambda f: save_results(f.source, {"r": BIG}, out=f.out, overwrite=True),
    "in place": lambda f: save_results(f.source, {"r": BIG}, in_place=True),
    "sidecar": lambda f: save_results(
        f.source, {"r": BIG}, out=f.folder / "new.nwb", mode="sidecar"
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:.* is made anew")


def raiser(error: BaseException, after: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if after is not None:
            after(*args, **kwargs)
        raise error

    return run


# ---- V15: exceptions and interrupts ------------------------------------------------------------
STAGES = ["copy_and_hash", "add_to_copy", "check_items", "check_source_kept", "set_mode", "sync"]
INTERRUPT, BOOM = KeyboardInterrupt(), ValueError("boom")


@pytest.mark.parametrize(
    ("way", "stage", "error"),
    [
        *(("new", stage, INTERRUPT) for stage in STAGES),
        *((way, stage, INTERRUPT) for way in ("overwrite", "in place") for stage in STAGES[1::4]),
        *(("new", stage, MemoryError()) for stage in STAGES[:2]),
        *(("in place", stage, OSError(errno.EIO, "dead")) for stage in (STAGES[0], STAGES[5])),
    ],
)
def test_v15_errors_at_every_stage(
    way: str, stage: str, error: BaseException, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_save, stage, raiser(error, after=getattr(_save, stage)))
        with pytest.raises(type(error)) as caught:
            WAYS[way](files)
    assert caught.value is error
    files.untouched()


@pytest.mark.parametrize(
    ("way", "error", "late"),
    [
        *((way, INTERRUPT, True) for way in WAYS),
        ("new", INTERRUPT, False),
        ("new", BOOM, False),
        ("sidecar", BOOM, True),
        ("new", SystemExit(3), True),
    ],
)
def test_v15_errors_inside_pynwb(
    way: str,
    error: BaseException,
    late: bool,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = pynwb.NWBHDF5IO.write
    monkeypatch.setattr(pynwb.NWBHDF5IO, "write", raiser(error, after=write if late else None))
    expected = RuntimeError if isinstance(error, ValueError) else type(error)
    with pytest.raises(expected) as caught:
        WAYS[way](files)
    if expected is RuntimeError:
        assert "boom" in str(caught.value)
        assert f"{SMALL} is unchanged" in str(caught.value)
        assert caught.value.__cause__ is error
    files.untouched()
    # nothing is in the way of the next call
    monkeypatch.undo()
    WAYS[way](files)
    assert parts(files.folder) == []


def test_interrupt_that_h5py_wraps(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(pynwb.NWBHDF5IO, "write", raiser(wrapped))
    with pytest.raises(KeyboardInterrupt):
        WAYS["new"](files)
    files.untouched()


@pytest.mark.parametrize(
    ("way", "share"), [("new", 0.0), ("new", 0.1), ("new", 0.5), ("new", 1.0), ("sidecar", 0.5)]
)
@pytest.mark.parametrize("error", [INTERRUPT, OSError(errno.ENOSPC, "full")])
def test_v15_errors_inside_a_write_of_hdf5(
    way: str, share: float, error: BaseException, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, stop = 0, 0

    class Flaky(io.FileIO):
        def write(self, data: Any) -> int:
            nonlocal count
            count += 1
            # a full disk stays full, an interrupt comes once
            if count == stop or (stop and count > stop and isinstance(error, OSError)):
                raise error
            return super().write(data)

    monkeypatch.setattr(_save_disk, "_open_raw", Flaky)
    WAYS[way](files).unlink()
    assert count > 50
    stop, count = max(1, round(share * count)), 0
    with pytest.raises(type(error)) as caught:
        WAYS[way](files)
    assert count >= stop
    if isinstance(caught.value, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert "bytes are needed" in str(caught.value)
    files.untouched()


def test_interrupts_at_random_moments(files: Files) -> None:
    new = files.folder / "new.nwb"

    def work() -> int:
        armed = False

        def interrupt(*_: Any) -> None:
            if armed:
                raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        draw = random.Random(5)
        stopped = 0
        for _ in range(12):
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.001, 0.6))
                WAYS["new"](files)
                armed = False
            except KeyboardInterrupt:
                armed = False
                stopped += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            if new.exists():
                assert len(read_table(new, "r")) == len(BIG)
                new.unlink()
        return stopped

    outcome = in_child(work)
    assert outcome.error is None, outcome.error
    assert outcome.value > 0
    files.untouched()


# ---- V15: SIGKILL ------------------------------------------------------------------------------
def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("way", "stage"), [*((way, "write") for way in WAYS), ("new", "sync"), ("in place", "publish")]
)
def test_v15_sigkill_leaves_one_part_file_that_the_next_call_removes(
    way: str, stage: str, files: Files
) -> None:
    def work() -> None:
        if stage == "write":
            pynwb.NWBHDF5IO.write = raiser(SystemExit(), after=lambda *_, **__: kill())
        else:
            setattr(_save, stage, lambda *_, **__: kill())
        WAYS[way](files)

    outcome = in_child(work)
    assert outcome.signal == signal.SIGKILL
    files.untouched(left=1)
    # a part file for another target is not ours to remove
    save_results(files.source, {"r": table()}, out=files.folder / "other.nwb")
    assert len(parts(files.folder)) == 1
    WAYS[way](files)
    assert parts(files.folder) == []


def test_sigkill_in_the_middle_of_the_copy(files: Files) -> None:
    def work() -> None:
        class Dies:
            def update(self, _: Any) -> None:
                kill()

        _save.copy_and_hash.__globals__["hashlib"].sha256 = Dies
        WAYS["overwrite"](files)

    assert in_child(work).signal == signal.SIGKILL
    files.untouched(left=1)
    WAYS["overwrite"](files)
    assert parts(files.folder) == []
    assert names_in(files.out) == {"r"}


def test_sigkill_between_link_and_unlink(files: Files) -> None:
    new = files.folder / "new.nwb"

    def work() -> None:
        os.unlink = lambda *_, **__: kill()
        WAYS["new"](files)

    assert in_child(work).signal == signal.SIGKILL
    assert len(read_table(new, "r")) == len(BIG)
    assert len(parts(files.folder)) == 1
    save_results(files.source, {"again": table()}, out=new, mode="sidecar", overwrite=True)
    assert parts(files.folder) == []
    assert names_in(new) == {"again"}


def test_part_files_of_the_living_and_of_other_hosts_stay(files: Files) -> None:
    prefix = _save_part._prefix(files.out)
    dead = Child(lambda: None)
    dead.join()
    keep = [
        f"{prefix}{os.getppid()}.aaaa.part",
        f".out.nwb.another-host.{dead.pid}.aaaa.part",
        f".other.nwb.{prefix.split('.nwb.')[1]}{dead.pid}.aaaa.part",
        f"{prefix}{dead.pid}.xyz.part",
        f"{prefix}{dead.pid}.aaaa.part.bak",
        f"{prefix}notanumber.aaaa.part",
    ]
    gone = [
        f"{prefix}{dead.pid}.abcd.part",
        # a number that is ours now belonged to a process that died
        f"{prefix}{os.getpid()}.abcd.part",
        f"{prefix}{10**30}.abcd.part",
    ]
    for name in keep + gone:
        (files.folder / name).write_text("x")
    WAYS["overwrite"](files)
    left = set(os.listdir(files.folder))
    assert set(keep) <= left
    assert not set(gone) & left


def test_part_file_of_a_call_in_another_thread_stays(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go = threading.Event(), threading.Event()
    copy = _save.copy_and_hash

    def slow(*args: Any) -> str:
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            assert go.wait(30)
        return copy(*args)

    monkeypatch.setattr(_save, "copy_and_hash", slow)
    worker = threading.Thread(
        target=lambda: save_results(files.source, {"a": table()}, out=files.folder / "n.nwb")
    )
    worker.start()
    assert inside.wait(30)
    (part,) = parts(files.folder)
    assert f".{os.getpid()}." in part
    assert stat.S_IMODE((files.folder / part).stat().st_mode) == 0o600
    save_results(files.source, {"b": table()}, out=files.folder / "n.nwb", mode="sidecar")
    assert parts(files.folder) == [part]
    go.set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda *_: None)
        worker.join()
    # the slower one found the name taken and left it
    assert names_in(files.folder / "n.nwb") == {"b"}
    assert parts(files.folder) == []


# ---- V15: a full disk --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("way", "share"),
    [
        *(("new", share) for share in (0.3, 0.97, 1.05, 1.6, 2.5)),
        *((way, 1.6) for way in ("overwrite", "in place")),
        *(("sidecar", share) for share in (0.3, 2.5)),
    ],
)
def test_v15_file_size_limit(way: str, share: float, files: Files) -> None:
    limit = int(files.source.stat().st_size * share)

    def work() -> None:
        # without this the kernel kills the process
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        WAYS[way](files)

    outcome = in_child(work)
    assert outcome.error is not None
    name, message, number = outcome.error
    assert (name, number) == ("OSError", errno.ENOSPC)
    assert "bytes are needed" in message
    assert "nothing was saved" in message
    files.untouched()


def test_full_disk_does_not_crash_the_interpreter(files: Files) -> None:
    limit = files.source.stat().st_size + 100_000
    code = f"""
        import resource, signal
        import pandas as pd
        import nb26stats.nwb as nbn
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        frame = pd.DataFrame({{"x": [0.5] * 100_000}})
        try:
            nbn.save_results({str(files.source)!r}, {{"r": frame}})
        except OSError as err:
            print("errno", err.errno)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"errno {errno.ENOSPC}\n", "")
    files.untouched()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip(f"mounting a tmpfs is refused here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_v15_small_disk_is_refused_before_anything_is_written(small_disk: Path) -> None:
    source = copied(SMALL, small_disk)
    before = sha(source)
    with pytest.raises(OSError, match="mode='sidecar'") as caught:
        save_results(source, {"r": BIG})
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(small_disk / f"{source.stem}_nb26stats.nwb")
    assert os.listdir(small_disk) == [SMALL]
    assert sha(source) == before


@pytest.mark.parametrize("mode", ["copy", "sidecar"])
def test_v15_disk_that_fills_up_on_the_way(
    mode: str, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copied(SMALL, small_disk)
    before, free = sha(source), _save_disk.free_bytes(small_disk)
    with monkeypatch.context() as patch:
        patch.setattr("nb26stats.nwb._save_target.free_bytes", lambda _: 10**12)
        with pytest.raises(OSError, match="bytes are needed") as caught:
            save_results(source, {"r": BIG}, mode=mode)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(small_disk) == [SMALL]
    assert sha(source) == before
    # no handle keeps the removed part file alive
    assert _save_disk.free_bytes(small_disk) == free


def test_errors_that_hide_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = _save_disk.is_full
    assert full(RuntimeError("Can't decrement id ref count (file write failed)"), tmp_path)
    assert full(OSError("Unable to extend file properly"), tmp_path)
    assert full(OSError(errno.EFBIG, "x"), tmp_path)
    assert full(OSError(errno.EDQUOT, "x"), tmp_path)
    assert not full(RuntimeError("something else"), tmp_path)
    assert not full(ValueError("no space left"), tmp_path)
    monkeypatch.setattr(_save_disk, "free_bytes", lambda _: 10)
    assert full(RuntimeError("something else"), tmp_path)


def test_hdf5_that_fails_on_close(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = RuntimeError("Can't decrement id ref count")
    monkeypatch.setattr(pynwb.NWBHDF5IO, "write", raiser(failed))
    with pytest.raises(OSError, match="bytes are needed") as caught:
        WAYS["new"](files)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.__cause__ is failed
    files.untouched()


# ---- V15: permissions --------------------------------------------------------------------------
def is_root() -> bool:
    return os.geteuid() == 0


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that any user can reach; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def as_other_user(work: Callable[[], Any]) -> Any:
    """Run ``work`` in a child without root's powers."""
    return in_child(work, user=NOBODY if is_root() else None)


def test_v15_read_only_folder(public_folder: Path) -> None:
    folder = public_folder / "data"
    folder.mkdir()
    source = copied(SMALL, folder)
    before = sha(source)
    folder.chmod(0o555)
    try:
        for work in (
            lambda: save_results(source, {"r": table()}),
            lambda: save_results(source, {"r": table()}, mode="sidecar"),
            lambda: save_results(source, {"r": table()}, in_place=True),
        ):
            outcome = as_other_user(work)
            assert outcome.error is not None
            assert outcome.error[0] == "PermissionError"
            assert "cannot write in the folder" in outcome.error[1]
            assert os.listdir(folder) == [SMALL]
        outcome = as_other_user(
            lambda: save_results(source, {"r": table()}, out=public_folder / "mine.nwb")
        )
        assert outcome.error is None, outcome.error
        assert names_in(public_folder / "mine.nwb") == {"r"}
    finally:
        folder.chmod(0o755)
    assert sha(source) == before


def test_v15_read_only_source(public_folder: Path) -> None:
    source = copied(SMALL, public_folder)
    before = sha(source)
    source.chmod(0o444)
    outcome = as_other_user(lambda: save_results(source, {"r": table()}, in_place=True))
    assert outcome.error is not None
    assert outcome.error[0] == "PermissionError"
    assert "read-only" in outcome.error[1]
    outcome = as_other_user(lambda: save_results(source, {"r": table()}))
    assert outcome.error is None, outcome.error
    assert stat.S_IMODE(outcome.value.stat().st_mode) == 0o644
    assert outcome.value.stat().st_uid == (NOBODY if is_root() else os.getuid())
    assert names_in(outcome.value) == {"r"}
    assert sha(source) == before
    assert parts(public_folder) == []


def test_v15_unreadable_source_and_hidden_folder(public_folder: Path) -> None:
    source = copied(SMALL, public_folder)
    source.chmod(0o000)
    outcome = as_other_user(lambda: save_results(source, {"r": table()}))
    assert outcome.error is not None
    assert outcome.error[0] == "PermissionError"
    source.chmod(0o644)
    hidden = public_folder / "hidden"
    hidden.mkdir(0o700)
    if is_root():
        outcome = as_other_user(lambda: save_results(source, {"r": table()}, out=hidden / "x.nwb"))
        assert outcome.error is not None
        assert outcome.error[0] == "PermissionError"
        assert str(hidden) in outcome.error[1]
    assert sorted(os.listdir(public_folder)) == sorted([SMALL, "hidden"])


def test_folder_whose_listing_is_hidden_still_takes_files(public_folder: Path) -> None:
    source = copied(SMALL, public_folder)
    dropbox = public_folder / "dropbox"
    dropbox.mkdir()
    dropbox.chmod(0o333)
    outcome = as_other_user(lambda: save_results(source, {"r": table()}, out=dropbox / "x.nwb"))
    dropbox.chmod(0o755)
    assert outcome.error is None, outcome.error
    assert names_in(dropbox / "x.nwb") == {"r"}
    assert os.listdir(dropbox) == ["x.nwb"]


def test_file_of_somebody_else_is_not_replaced_in_place(public_folder: Path) -> None:
    source = copied(SMALL, public_folder)
    if not is_root():
        # without root there is nobody else: a file without the write bit stands in
        source.chmod(0o444)
    outcome = as_other_user(lambda: save_results(source, {"r": table()}, in_place=True))
    assert outcome.error is not None
    assert outcome.error[0] == "PermissionError"
    assert names_in(source) == set()


# ---- V15: other programs -----------------------------------------------------------------------
class Reader:
    """Another process that has the file open until ``finish``, then reads all of it."""

    def __init__(self, path: Path, *, mode: str = "r") -> None:
        ready, self._go = os.pipe(), os.pipe()

        def work() -> Any:
            with h5py.File(path, mode) as file:
                os.write(ready[1], b"x")
                os.read(self._go[0], 1)
                spikes = file["units/spike_times"][:]
                return len(spikes), sorted(file), "nb26stats" in file["processing"]

        self._child = Child(work)
        assert os.read(ready[0], 1) == b"x"

    def finish(self) -> Any:
        os.write(self._go[1], b"x")
        outcome = self._child.join()
        assert outcome.error is None, outcome.error
        return outcome.value


@pytest.mark.parametrize("way", WAYS)
def test_v15_source_open_for_reading_elsewhere(way: str, files: Files) -> None:
    with h5py.File(files.source, "r") as file:
        expected = len(file["units/spike_times"]), sorted(file), False
    reader = Reader(files.source)
    WAYS[way](files)
    # the other process keeps the content it had opened
    assert reader.finish() == expected


def test_source_open_for_writing_elsewhere(files: Files) -> None:
    writer = Reader(files.source, mode="r+")
    try:
        for way in WAYS:
            with pytest.raises(RuntimeError, match="is open for writing in another program"):
                WAYS[way](files)
    finally:
        writer.finish()
    assert names_in(files.out) == {"old"}
    assert parts(files.folder) == []


def test_pynwb_reader_in_this_process_keeps_old_content(files: Files) -> None:
    with nbn.open(files.out) as session:
        WAYS["overwrite"](files)
        held = session.nwbfile.processing["nb26stats"]
        assert list(held.data_interfaces) == ["old"]
        assert len(held["old"]["rate"].data[:]) == 6
        assert len(session.trials()) == 178
    assert names_in(files.out) == {"r"}


@pytest.mark.parametrize("links", [True, False])
def test_v15_out_that_appears_meanwhile_is_kept(
    links: bool, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = files.folder / "new.nwb"
    check = _save.check_items

    def late(*args: Any) -> None:
        check(*args)
        new.write_text("somebody else's")

    monkeypatch.setattr(_save, "check_items", late)
    if not links:
        monkeypatch.setattr(os, "link", raiser(OSError(errno.EPERM, "no links here")))
    with pytest.raises(ValueError, match=r"new\.nwb appeared while"):
        WAYS["new"](files)
    assert new.read_text() == "somebody else's"
    new.unlink()
    files.untouched()


def test_disk_without_hard_links(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", raiser(OSError(errno.EPERM, "no links here")))
    new = WAYS["new"](files)
    assert names_in(new) == {"r"}
    assert parts(files.folder) == []


@pytest.mark.parametrize(
    ("way", "change"),
    [
        *(("new", change) for change in ("bytes", "time", "replaced", "removed")),
        *((way, "bytes") for way in ("overwrite", "in place", "sidecar")),
    ],
)
def test_source_that_changes_meanwhile(
    way: str, change: str, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = files.source.read_bytes()
    sync = _save.sync

    def late(part: Path) -> None:
        sync(part)
        if change == "bytes":
            with open(files.source, "ab") as file:
                file.write(b"more")
        elif change == "time":
            os.utime(files.source, ns=(1, 1))
        elif change == "replaced":
            status = files.source.stat()
            other = files.folder / "other"
            other.write_bytes(content)
            os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.replace(other, files.source)
        else:
            files.source.unlink()

    monkeypatch.setattr(_save, "sync", late)
    with pytest.raises(RuntimeError, match=r"another program wrote to the file .* run again"):
        WAYS[way](files)
    files.source.write_bytes(content)
    files.untouched()


def test_source_that_changes_while_it_is_copied(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = files.source.read_bytes()
    copy = _save.copy_and_hash

    def torn(source: Path, part: Path) -> str:
        digest = copy(source, part)
        source.write_bytes(content + b"more")
        return digest

    monkeypatch.setattr(_save, "copy_and_hash", torn)
    monkeypatch.setattr(_save, "add_to_copy", raiser(AssertionError("must not get this far")))
    with pytest.raises(RuntimeError, match="another program wrote"):
        WAYS["new"](files)
    files.source.write_bytes(content)
    files.untouched()


# ---- V15: two writers in place -----------------------------------------------------------------
def test_v15_two_writers_in_place_both_get_in(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    start = os.pipe()

    def writer(name: str) -> Callable[[], Any]:
        def work() -> Any:
            os.read(start[0], 1)
            return save_results(source, {name: table()}, in_place=True)

        return work

    children = [Child(writer(name)) for name in ("a", "b", "c")]
    os.write(start[1], b"xxx")
    for child in children:
        outcome = child.join()
        assert outcome.error is None, outcome.error
    assert names_in(source) == {"a", "b", "c"}
    for name in ("a", "b", "c"):
        assert len(read_table(source, name)) == 6
    assert parts(tmp_path) == []


def test_two_writers_of_one_name(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    start = os.pipe()

    def work() -> Any:
        os.read(start[0], 1)
        return save_results(source, {"same": table()}, in_place=True)

    children = [Child(work) for _ in range(2)]
    os.write(start[1], b"xx")
    errors = [child.join().error for child in children]
    refused = [e for e in errors if e is not None]
    assert len(refused) == 1
    assert refused[0][0] == "ValueError"
    assert "already holds results named same" in refused[0][1]
    assert names_in(source) == {"same"}


def test_two_writers_of_one_new_file(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    start = os.pipe()

    def work(name: str) -> Callable[[], Any]:
        def run() -> Any:
            os.read(start[0], 1)
            return save_results(source, {name: table()})

        return run

    children = [Child(work(name)) for name in ("a", "b")]
    os.write(start[1], b"xx")
    errors = [child.join().error for child in children]
    assert sorted(e is None for e in errors) == [False, True]
    winner = "a" if errors[0] is None else "b"
    assert names_in(tmp_path / f"{source.stem}_nb26stats.nwb") == {winner}
    assert parts(tmp_path) == []


def test_lock_that_is_never_given_back(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    assert _save_part.LOCK_WAIT_S == 60.0
    monkeypatch.setattr(_save_part, "LOCK_WAIT_S", 0.3)
    fd = os.open(files.folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        started = time.monotonic()
        with pytest.raises(RuntimeError, match="is being written by another process"):
            WAYS["in place"](files)
        assert time.monotonic() - started >= 0.3
        files.untouched()
        # a new file needs no lock
        WAYS["new"](files)
    finally:
        os.close(fd)
    WAYS["in place"](files)
    assert names_in(files.source) == {"r"}


def test_disks_without_locks(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(fcntl, "flock", raiser(OSError(errno.ENOLCK, "no locks here")))
    WAYS["in place"](files)
    assert names_in(files.source) == {"r"}
    monkeypatch.setitem(sys.modules, "fcntl", None)
    save_results(files.source, {"s": table()}, in_place=True)
    assert names_in(files.source) == {"r", "s"}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_no_descriptor_is_left_open(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for way in WAYS:
        done = WAYS[way](files)
        assert len(os.listdir("/proc/self/fd")) == before
        if way == "new":
            done.unlink()
    monkeypatch.setattr(pynwb.NWBHDF5IO, "write", raiser(BOOM))
    with pytest.raises(RuntimeError, match="boom"):
        save_results(files.source, {"s": table()}, out=files.folder / "s.nwb")
    assert len(os.listdir("/proc/self/fd")) == before
