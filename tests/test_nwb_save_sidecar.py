"""Results in a small file of their own: clock, subject, provenance."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import types
import warnings
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import nwb_files
import pynwb
import pytest
from pynwb import NWBHDF5IO
from pynwb.file import Subject
from save_tools import (
    ODD,
    READABLE,
    SMALL,
    copied,
    description,
    names_in,
    original,
    parts,
    read_table,
    sha,
    table,
)

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning
from nb26stats.nwb import _save_sidecar, _save_source, save_results

START = datetime(2024, 3, 1, 12, 0, 0, 250000, tzinfo=timezone(timedelta(hours=-5)))


CORE = ["age", "description", "genotype", "sex", "species", "subject_id", "weight", "strain"]


def header(path: Path) -> dict[str, Any]:
    with nbn.open(path) as session:
        nwbfile = session.nwbfile
        subject = nwbfile.subject
        return {
            "start": nwbfile.session_start_time,
            "zero": nwbfile.timestamps_reference_time,
            "description": nwbfile.session_description,
            "identifier": nwbfile.identifier,
            "subject": subject and {key: getattr(subject, key) for key in CORE},
            "born": subject and subject.date_of_birth,
        }


def test_v26_sidecar_has_both_clocks(tmp_path: Path) -> None:
    zero = START + timedelta(hours=1)
    source = nwb_files.write(
        nwb_files.make(session_start_time=START, timestamps_reference_time=zero),
        tmp_path / "session.nwb",
    )
    before = sha(source)
    out = save_results(source, {"psth": table()}, mode="sidecar")
    assert out == tmp_path / "session_nb26stats.nwb"
    held = header(out)
    assert held["start"] == START
    assert held["zero"] == zero
    assert held["zero"] - held["start"] == timedelta(hours=1)
    assert held["start"].utcoffset() == timedelta(hours=-5)
    assert held["identifier"] == "sim-001_nb26stats"
    assert sha(source) == before
    assert parts(tmp_path) == []


@pytest.mark.parametrize("name", READABLE)
def test_v15_sidecar_of_every_file(name: str, tmp_path: Path) -> None:
    source = copied(name, tmp_path)
    out = save_results(source, {"psth": table()}, mode="sidecar")
    assert sha(source) == sha(original(name))
    expected, held = header(source), header(out)
    expected["identifier"] += "_nb26stats"
    assert held == expected
    assert len(read_table(out, "psth")) == 6
    with nbn.open(out) as session:
        assert session.nwbfile.trials is None
        assert session.nwbfile.units is None
        assert set(session.nwbfile.processing) == {"nb26stats"}
    told = json.loads(description(out, "psth"))
    assert told["source_sha256"] == sha(source)
    assert told["source"] == name


def test_subject_in_full(tmp_path: Path) -> None:
    full = Subject(
        subject_id="m7",
        age="P90D/P100D",
        age__reference="gestational",
        description="a mouse",
        genotype="wt",
        sex="F",
        species="Mus musculus",
        weight="0.02 kg",
        date_of_birth=START - timedelta(days=90),
        strain="C57",
    )
    source = nwb_files.write(nwb_files.make(subject=full), tmp_path / "s.nwb")
    out = save_results(source, {"a": table()}, mode="sidecar")
    with nbn.open(out) as session:
        held = session.nwbfile.subject
        for name in _save_sidecar._SUBJECT:
            assert getattr(held, name) == getattr(full, name), name


def test_subject_of_an_extension_type_is_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CageMouse(Subject):
        cage = "B12"

    source = nwb_files.write(nwb_files.make(), tmp_path / "s.nwb")
    read = _save_sidecar.open_session

    def extended(path: Path) -> Any:
        session = read(path)
        session.nwbfile.subject.__class__ = CageMouse
        return session

    monkeypatch.setattr(_save_sidecar, "open_session", extended)
    out = save_results(source, {"a": table()}, mode="sidecar")
    monkeypatch.undo()
    with nbn.open(out) as session:
        assert type(session.nwbfile.subject) is Subject
        assert session.nwbfile.subject.subject_id == "m1"


def test_no_subject(tmp_path: Path) -> None:
    source = nwb_files.write(nwb_files.make(subject=None), tmp_path / "s.nwb")
    out = save_results(source, {"a": table()}, mode="sidecar")
    assert header(out)["subject"] is None


def test_sidecar_does_not_break_links_or_need_room_for_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copied("A2929-200711_neurosuite.nwb", tmp_path)
    # room for the results, not for a copy of 7 MB
    monkeypatch.setattr("nb26stats.nwb._save_target.free_bytes", lambda _: 3_000_000)
    with pytest.raises(OSError, match="mode='sidecar'"):
        save_results(source, {"a": table()})
    out = save_results(source, {"a": table()}, mode="sidecar")
    assert out.stat().st_size < 300_000


def test_sidecar_refusals(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    with pytest.raises(ValueError, match="cannot go with in_place=True"):
        save_results(source, {"a": table()}, mode="sidecar", in_place=True)
    with pytest.raises(ValueError, match="out is the source"):
        save_results(source, {"a": table()}, out=source, mode="sidecar", overwrite=True)
    out = save_results(source, {"a": table()}, mode="sidecar")
    before = sha(out)
    with pytest.raises(ValueError, match="exists"):
        save_results(source, {"b": table()}, mode="sidecar")
    assert sha(out) == before
    with pytest.warns(NB26StatsWarning, match=r"are lost \(a\)"):
        save_results(source, {"b": table()}, mode="sidecar", overwrite=True)
    assert names_in(out) == {"b"}


def test_results_can_be_added_to_a_sidecar(tmp_path: Path) -> None:
    out = save_results(copied(SMALL, tmp_path), {"a": table()}, mode="sidecar")
    save_results(out, {"b": table()}, in_place=True)
    assert names_in(out) == {"a", "b"}


def test_header_that_is_not_read_back_stops_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copied(SMALL, tmp_path)
    build = _save_sidecar._nwbfile

    def late(fields: dict[str, Any]) -> Any:
        return build({**fields, "timestamps_reference_time": START})

    monkeypatch.setattr(_save_sidecar, "_nwbfile", late)
    with pytest.raises(RuntimeError, match="timestamps_reference_time differs"):
        save_results(source, {"a": table()}, mode="sidecar")
    assert os.listdir(tmp_path) == [SMALL]


# ---- Zarr --------------------------------------------------------------------------------------
@pytest.fixture
def zarr_folder(tmp_path: Path) -> Path:
    target = tmp_path / "session.nwb.zarr"
    shutil.copytree(ODD / "zarr_tutorial.nwb.zarr", target)
    return target


@pytest.fixture
def fake_hdmf_zarr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reader for Zarr folders where hdmf-zarr is not installed: gives an equal HDF5 file."""
    twin = nwb_files.write(nwb_files.make(identifier="zarr one"), tmp_path / "twin.h5")

    class NWBZarrIO:
        def __init__(self, path: str, mode: str, **_: Any) -> None:
            assert (Path(path).is_dir(), mode) == (True, "r")
            self.io = NWBHDF5IO(str(twin), "r")

        def read(self) -> pynwb.NWBFile:
            return self.io.read()

        def close(self) -> None:
            self.io.close()

    module = types.ModuleType("hdmf_zarr")
    module.NWBZarrIO = NWBZarrIO
    monkeypatch.setitem(sys.modules, "hdmf_zarr", module)


def test_zarr_source_needs_a_sidecar(zarr_folder: Path) -> None:
    for how in ({}, {"in_place": True}, {"out": zarr_folder.parent / "x.nwb"}):
        with pytest.raises(ValueError, match="use mode='sidecar'"):
            save_results(zarr_folder, {"a": table()}, **how)
    assert os.listdir(zarr_folder.parent) == [zarr_folder.name]


def test_zarr_without_its_reader(zarr_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdmf_zarr", None)
    with pytest.raises(ImportError, match="hdmf-zarr"):
        save_results(zarr_folder, {"a": table()}, mode="sidecar")
    assert os.listdir(zarr_folder.parent) == [zarr_folder.name]


def tree_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.mark.usefixtures("fake_hdmf_zarr")
def test_sidecar_of_a_zarr_folder(zarr_folder: Path) -> None:
    before = tree_hash(zarr_folder)
    out = save_results(zarr_folder, {"a": table()}, mode="sidecar")
    assert out == zarr_folder.parent / "session_nb26stats.nwb"
    assert out.stat().st_mode & 0o111 == 0
    assert header(out)["identifier"] == "zarr one_nb26stats"
    assert json.loads(description(out, "a"))["source_sha256"] == before == tree_hash(zarr_folder)
    assert parts(zarr_folder.parent) == []


@pytest.mark.usefixtures("fake_hdmf_zarr")
def test_zarr_folder_that_changes_meanwhile(
    zarr_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = _save_source.hash_source

    def late(source: Path) -> str:
        digest = hashed(source)
        (source / "acquisition" / ".zattrs").write_text("{}")
        return digest

    monkeypatch.setattr("nb26stats.nwb._save.hash_source", late)
    with pytest.raises(RuntimeError, match="another program wrote"):
        save_results(zarr_folder, {"a": table()}, mode="sidecar")
    assert not (zarr_folder.parent / "session_nb26stats.nwb").exists()
    assert parts(zarr_folder.parent) == []


def test_time_of_a_file_without_time_zone(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nwbfile = nwb_files.make(session_start_time=datetime(2020, 5, 1, 8, 0, 0))
        source = nwb_files.write(nwbfile, tmp_path / "s.nwb")
    out = save_results(source, {"a": table()}, mode="sidecar")
    first, second = header(source), header(out)
    assert first["start"] == second["start"]
    assert first["zero"] == second["zero"]
    assert first["start"].replace(tzinfo=UTC) == datetime(2020, 5, 1, 8, 0, 0, tzinfo=UTC)
