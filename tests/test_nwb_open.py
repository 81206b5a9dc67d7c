"""Opening files: every odd file and hostile path gives one clear error; sessions close."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import nwb_files
import pytest
from pynwb import NWBHDF5IO

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import (
    CorruptFileError,
    MissingColumnError,
    MissingTableError,
    NB26NWBError,
    NotAnNWBFileError,
    NWBReadError,
    UnsupportedNWBVersionError,
)

ODD = Path(__file__).parent / "data" / "odd"
ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
SHIPPED = (
    ALM,
    "sub-anm369963_ses-20170228.nwb",
    "A2929-200711_neurosuite.nwb",
    "A8604-211122_phy.nwb",
)
NO_TABLES = (
    ("1.5.1_timeseries_no_data.nwb", "2.3.0", "test_timeseries"),
    ("2.1.0_nwbfile_with_extension.nwb", "2.5.0", "test_ts"),
    ("2.2.0_subject_no_age_reference.nwb", "2.5.0", "nothing but its header"),
    ("schema2.0b_no_cached_specs.nwb", "2.0b", "nothing but its header"),
    ("no_units_no_trials_lfp_only.nwb", "2.9.0", "ExampleElectricalSeries"),
)
READERS = {
    "trials": nbn.trials,
    "units": nbn.units,
    "spike_counts": nbn.spike_counts,
}


# ---- odd files (V16) -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("hdf5_empty.nwb", NotAnNWBFileError, ["hdf5_empty.nwb", "nwb_version", "nothing"]),
        (
            "nwb1.0.5_AIBS_496908818s.nwb",
            UnsupportedNWBVersionError,
            ["nwb1.0.5_AIBS_496908818s.nwb", "NWB-1.0.5", "convert to NWB 2", "epochs"],
        ),
        (
            "matnwb_2.0b_version_array_unreadable.nwb",
            NWBReadError,
            ["matnwb_2.0b_version_array_unreadable.nwb", "NWB 2.0b", "decode", "acquisition"],
        ),
        (
            "matnwb_2.0b_incomplete_timeseries.nwb",
            NWBReadError,
            ["matnwb_2.0b_incomplete_timeseries.nwb", "NWB 2.0b", "'data'", "epochs"],
        ),
        (
            "ndx_events_construct_error.nwb",
            NWBReadError,
            [
                "ndx_events_construct_error.nwb",
                "NWB 2.7.0",
                "extension ndx-events",
                "ndx-events 0.4.0",
                "root/events/stimulus_presentations/stimulus_category_meanings",
                "missing argument 'target'",
            ],
        ),
        ("truncated.nwb", CorruptFileError, ["truncated.nwb", "200000 bytes", "download"]),
    ],
)
def test_v16_files_that_cannot_be_opened(name, error, words):
    for call in (nbn.open, nbn.trials, nbn.units, nbn.spike_counts):
        with pytest.raises(error) as caught:
            call(ODD / name)
        assert type(caught.value) is error
        message = str(caught.value)
        for word in words:
            assert word in message
        assert "\n" not in message


@pytest.mark.parametrize(("name", "version", "content"), NO_TABLES)
@pytest.mark.parametrize("reader", READERS)
def test_v16_files_without_tables_open_and_say_what_they_hold(name, version, content, reader):
    with nbn.open(ODD / name) as s:
        assert s.nwb_version == version
        with pytest.raises(MissingTableError) as caught:
            READERS[reader](s)
    message = str(caught.value)
    assert name in message
    assert f"NWB {version}" in message
    assert content in message


def test_v16_units_elsewhere_are_offered_by_name():
    path = ODD / "units_in_acquisition_2.0b.nwb"
    for call in (nbn.units, nbn.spike_counts):
        with pytest.raises(MissingTableError, match="units='acquisition/UnitsTest'") as caught:
            call(path, **({"align_to": [0.5]} if call is nbn.spike_counts else {}))
        assert "acquisition: UnitsTest" in str(caught.value)
    frame = nbn.units(path, units="acquisition/UnitsTest")
    assert frame["n_spikes"].tolist() == [3, 3]
    assert frame["has_obs_intervals"].tolist() == [True, True]


def test_v16_units_without_spike_times_open_and_list_their_columns():
    path = ODD / "units_without_spike_times_2.0b.nwb"
    with nbn.open(path) as s:
        assert "no spike times" in s.summary()
    for call in (nbn.units, nbn.spike_counts):
        with pytest.raises(MissingColumnError) as caught:
            call(path, **({"align_to": [0.5]} if call is nbn.spike_counts else {}))
        message = str(caught.value)
        assert "units_without_spike_times_2.0b.nwb (NWB 2.0b)" in message
        assert "  foo (int64): an int column" in message.splitlines()
        assert "  my_bool (bool): a bool column" in message.splitlines()


def test_v16_electrodes_as_plain_table():
    path = ODD / "3.0.0_electrodes_dynamic_table.nwb"
    with nbn.open(path) as s:
        assert s.units()["area"].tolist() == ["brain area"]
        assert s.units()["n_spikes"].tolist() == [3]
        with pytest.raises(MissingTableError, match="no table with start and stop times"):
            s.trials()


def test_v16_zarr_needs_hdmf_zarr(monkeypatch):
    monkeypatch.setitem(sys.modules, "hdmf_zarr", None)
    with pytest.raises(ImportError, match="pip install hdmf-zarr"):
        nbn.open(ODD / "zarr_tutorial.nwb.zarr")


# ---- errors keep their cause, leave nothing open, print nothing ----------------------------------
def test_the_cause_of_a_read_error_is_kept_and_the_file_closed(tmp_path):
    path = tmp_path / "bad.nwb"
    shutil.copy(ODD / "ndx_events_construct_error.nwb", path)
    with pytest.raises(NWBReadError) as caught:
        nbn.open(path)
    assert type(caught.value.__cause__).__name__ == "ConstructError"
    with h5py.File(path, "r+") as file:  # would fail while the reader still holds the file
        assert "events" in file


def test_warnings_of_the_reader_are_kept_not_shown(capsys, recwarn):
    with nbn.open(datasets.path("A2929-200711_neurosuite.nwb")) as s:
        assert len(s.read_warnings) == 1
        assert " ".join(s.read_warnings[0].split())[:60] in s.summary()
        s.units()
    assert len(recwarn) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_reading_never_changes_the_file(tmp_path, name):
    path = tmp_path / name
    shutil.copy(datasets.path(name), path)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with nbn.open(path) as s:
        s.summary()
        s.units()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert path.stat().st_mtime == 1_000_000_000
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_missing_column_error_keeps_its_lines():
    error = MissingColumnError("first\nsecond")
    assert str(error) == "first\nsecond"
    assert isinstance(error, KeyError)
    assert isinstance(error, ValueError)


def test_an_interrupt_while_reading_closes_the_file(tmp_path, monkeypatch):
    path = nwb_files.simple(tmp_path / "x.nwb")

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(NWBHDF5IO, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        nbn.open(path)
    with h5py.File(path, "r+") as file:
        assert "units" in file


def test_of_several_cached_schemas_the_newest_is_named(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb")
    with h5py.File(path, "r+") as file:
        core = file["specifications/core"]
        newest = next(iter(core))
        core.copy(newest, "2.9.0")
    with nbn.open(path) as s:
        assert s.namespaces["core"] == newest
        assert len(s.trials()) == 3


# ---- hostile paths -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        (None, TypeError, "path must be text"),
        (3, TypeError, "path must be text"),
        (3.5, TypeError, "path must be text"),
        (True, TypeError, "path must be text"),
        (b"file.nwb", TypeError, "path must be text"),
        (["file.nwb"], TypeError, "path must be text"),
        ({"path": "file.nwb"}, TypeError, "path must be text"),
        (np.arange(3), TypeError, "path must be text"),
        (object(), TypeError, "path must be text"),
        ("", ValueError, "must name a file"),
        ("   ", ValueError, "must name a file"),
        ("a\0b.nwb", ValueError, "must name a file"),
        ("nowhere.nwb", FileNotFoundError, "No file at .*nowhere.nwb"),
        ("no/such/folder/x.nwb", FileNotFoundError, "No file at"),
        ("x" * 5000 + ".nwb", FileNotFoundError, "No file at x"),
        ("http://example.org/x.nwb", ValueError, "download"),
        ("https://api.dandiarchive.org/api/assets/1/download/", ValueError, "download"),
        ("s3://bucket/x.nwb", ValueError, "download"),
        ("x.nwb.lindi.json", ValueError, "lindi"),
        ("x.lindi.tar", ValueError, "lindi"),
    ],
)
def test_hostile_paths(path, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (nbn.open, nbn.trials, nbn.units):
        with pytest.raises(error, match=words) as caught:
            call(path)
        assert len(str(caught.value)) < 800


def _mat(path: Path) -> None:
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["some_data"] = np.arange(5)


def _version_is_a_number(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = 2.0


def _old(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "1.0.6"


def _hollow(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.5.0"


def _from_the_future(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.99.0"


def _endless_version(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2" * 60000


def _bit_rot(path: Path) -> None:
    shutil.copy(datasets.path(ALM), path)
    data = bytearray(path.read_bytes())
    data[100:9000] = bytes(8900)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("write", "error", "words"),
    [
        (lambda p: p.write_bytes(b""), NotAnNWBFileError, "0 bytes"),
        (lambda p: p.write_text("trial,choice\n1,left\n"), NotAnNWBFileError, "starts with"),
        (lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99)), NotAnNWBFileError, "PNG"),
        (
            lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1"),
            NotAnNWBFileError,
            "git lfs pull",
        ),
        (_mat, NotAnNWBFileError, "MATLAB"),
        (_hdf5, NotAnNWBFileError, "some_data"),
        (_version_is_a_number, NotAnNWBFileError, "nwb_version"),
        (_old, UnsupportedNWBVersionError, "NWB 1.0.6"),
        (_hollow, NWBReadError, "NWB 2.5.0"),
        (_from_the_future, NWBReadError, "newer than the schema .*update pynwb"),
        (_endless_version, NWBReadError, "NWB 2{100},"),
        (_bit_rot, NB26NWBError, "x.nwb"),
        (lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n"), CorruptFileError, "8 bytes"),
        (
            lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 40),
            CorruptFileError,
            "download",
        ),
        (lambda p: p.mkdir(), NotAnNWBFileError, "folder"),
        (lambda p: os.mkfifo(p), NotAnNWBFileError, "neither a file nor a folder"),
        (lambda p: p.symlink_to(p.parent / "gone.nwb"), FileNotFoundError, "datalad get"),
        (lambda p: p.symlink_to(p), (FileNotFoundError, OSError), "leads back to itself"),
    ],
)
def test_files_that_are_no_nwb_file(tmp_path, write, error, words):
    path = tmp_path / "x.nwb"
    write(path)
    with pytest.raises(error, match=words) as caught:
        nbn.open(path)
    assert type(caught.value).__module__ in ("nb26stats.nwb.errors", "builtins")


def test_zarr_folder_that_is_no_nwb_file(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "hdmf_zarr", _FakeZarr)
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / "stuff").mkdir()
    with pytest.raises(NotAnNWBFileError, match=r"Zarr but not NWB.*stuff"):
        nbn.open(folder)
    (folder / "zarr.json").write_text("{ broken")
    with pytest.raises(NotAnNWBFileError, match=r"Zarr but not NWB.*stuff"):
        nbn.open(folder)


class _FakeZarr:
    """Stands in for the module hdmf_zarr: reads a file written beside the folder."""

    class NWBZarrIO:
        def __init__(self, path: str, mode: str, load_namespaces: bool) -> None:
            assert (mode, load_namespaces) == ("r", True)
            self.inner = NWBHDF5IO(str(Path(path).with_suffix(".nwb")), "r")

        def read(self):
            return self.inner.read()

        def close(self):
            self.inner.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".zattrs", '{"nwb_version": "2.6.0"}'),
        ("zarr.json", '{"attributes": {"nwb_version": "2.6.0"}}'),
    ],
)
def test_zarr_folder_is_read_through_hdmf_zarr(tmp_path, monkeypatch, name, text):
    monkeypatch.setitem(sys.modules, "hdmf_zarr", _FakeZarr)
    nwb_files.simple(tmp_path / "x.nwb")
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    (folder / ".zgroup").write_text("{}")
    (folder / name).write_text(text)
    with nbn.open(folder) as s:
        assert s.nwb_version == "2.6.0"
        assert len(s.trials()) == 3
    with pytest.raises(NotAnNWBFileError, match="stored as zarr"):
        nbn.open(folder, backend="hdf5")


@pytest.mark.parametrize(
    ("backend", "error"), [("hdf", ValueError), (None, TypeError), (1, TypeError)]
)
def test_backend_is_checked(backend, error):
    with pytest.raises(error, match="backend"):
        nbn.open(datasets.path(ALM), backend=backend)


def test_backend_by_name():
    with nbn.open(datasets.path(ALM), backend="hdf5") as s:
        assert s.nwb_version == "2.1.0"
    with pytest.raises(NotAnNWBFileError, match="stored as hdf5"):
        nbn.open(datasets.path(ALM), backend="zarr")


def test_permission_errors_stay_what_they_are(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb")
    path.chmod(0)
    root = os.geteuid() == 0
    try:
        for folder in [tmp_path, *tmp_path.parents]:
            if root and folder != Path("/") and folder.stat().st_mode & 0o777 == 0o700:
                folder.chmod(0o711)
        if root:
            os.seteuid(65534)  # root ignores modes
        with pytest.raises(PermissionError, match=r"x\.nwb"):
            nbn.open(path)
    finally:
        if root:
            os.seteuid(0)
        path.chmod(0o600)


def test_file_that_another_process_writes(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb")
    code = f"import h5py, sys; f = h5py.File({str(path)!r}, 'r+'); print('up'); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout.readline() == "up\n"
        with pytest.raises(OSError, match="another program has it open for writing") as caught:
            nbn.open(path)
        writer.communicate("")
    assert caught.value.errno in (errno.EAGAIN, errno.EWOULDBLOCK)
    assert nbn.trials(path).shape == (3, 3)


# ---- paths that must work ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["two words.nwb", "Ünïcödé – 日本 🧠.nwb", "100% [x] #1 'q'.nwb", "no_ending", "x.h5"]
)
def test_unusual_names(tmp_path, name):
    folder = tmp_path / name.replace(".", " folder ")
    folder.mkdir()
    path = nwb_files.simple(tmp_path / "x.nwb").rename(folder / name)
    for given in (path, str(path)):
        with nbn.open(given) as s:
            assert s.path == path
            assert len(s.trials()) == 3
            assert name in s.summary()


def test_links_and_relative_paths(tmp_path, monkeypatch):
    path = nwb_files.simple(tmp_path / "x.nwb")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.nwb").symlink_to(path)
    (tmp_path / "hard.nwb").hardlink_to(path)
    monkeypatch.chdir(inside)
    for given in ("link.nwb", "../x.nwb", Path("../hard.nwb"), "./../inside/link.nwb"):
        with nbn.open(given) as s:
            assert s.path.is_absolute()
            monkeypatch.chdir(tmp_path)  # an open session does not depend on the folder
            assert len(s.trials()) == 3
            monkeypatch.chdir(inside)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(nbn.trials("~/x.nwb")) == 3
    path.rename(inside / "~x.nwb")
    monkeypatch.chdir(inside)
    assert len(nbn.trials("~x.nwb")) == 3


def test_a_folder_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError, match="current folder does not exist any more"):
        nbn.open("x.nwb")
    assert len(nbn.trials(datasets.path(ALM))) > 0
