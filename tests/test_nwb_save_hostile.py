"""Arguments that make no sense: one clear error each, and no trace on the disk."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from save_tools import ODD, SMALL, copied, sha, table

import nb26stats.nwb as nbn
from nb26stats.nwb import save_results


class Odd:
    """Some object."""


# ---- src ---------------------------------------------------------------------------------------
BAD_SOURCES: dict[str, tuple[Any, type[Exception], str]] = {
    "None": (None, TypeError, "path must be text"),
    "number": (3, TypeError, "path must be text"),
    "NaN": (float("nan"), TypeError, "path must be text"),
    "bytes": (b"file.nwb", TypeError, "path must be text"),
    "list": (["file.nwb"], TypeError, "path must be text"),
    "array": (np.arange(3), TypeError, "path must be text"),
    "object": (Odd(), TypeError, "path must be text"),
    "results first": ({"a": 1}, TypeError, "path must be text"),
    "empty": ("", ValueError, "path must name a file"),
    "spaces": ("   ", ValueError, "path must name a file"),
    "NUL": ("a\0b", ValueError, "path must name a file"),
    "missing": ("nowhere.nwb", FileNotFoundError, "No file at"),
    "too long": ("x" * 5000, FileNotFoundError, "No file at"),
    "missing folder": ("no/where.nwb", FileNotFoundError, "No file at"),
    "file as folder": ("text.nwb/x.nwb", FileNotFoundError, "No file at"),
    "url": ("https://example.org/x.nwb", ValueError, "remote"),
    "s3": ("s3://bucket/x.nwb", ValueError, "remote"),
    "pipe": ("pipe", nbn.NotAnNWBFileError, "neither a file nor a folder"),
    "folder": (".", nbn.NotAnNWBFileError, "folder"),
    "text file": ("text.nwb", nbn.NotAnNWBFileError, "not an NWB file"),
    "empty file": ("empty.nwb", nbn.NotAnNWBFileError, "is empty"),
    "plain HDF5": ("plain.h5", nbn.NotAnNWBFileError, "not NWB"),
    "broken link": ("broken.nwb", FileNotFoundError, "which is missing"),
    "loop": ("loop.nwb", FileNotFoundError, "No file at"),
    "truncated": (ODD / "truncated.nwb", nbn.CorruptFileError, "copy or download"),
    "version 1": (ODD / "nwb1.0.5_AIBS_496908818s.nwb", nbn.UnsupportedNWBVersionError, "NWB 2"),
    "unreadable": (ODD / "matnwb_2.0b_incomplete_timeseries.nwb", nbn.NWBReadError, "2.0b"),
    "extension": (ODD / "ndx_events_construct_error.nwb", nbn.NWBReadError, "ndx-events"),
    "empty HDF5": (ODD / "hdf5_empty.nwb", nbn.NotAnNWBFileError, "nwb_version"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.nwb").write_text("hello")
    (tmp_path / "empty.nwb").write_text("")
    (tmp_path / "broken.nwb").symlink_to(tmp_path / "gone.nwb")
    (tmp_path / "loop.nwb").symlink_to(tmp_path / "loop.nwb")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = 1
    copied(SMALL, tmp_path)
    return tmp_path


def one_sentence(err: BaseException) -> None:
    assert str(err)
    assert "\n" not in str(err)
    assert "Traceback" not in str(err)
    step = err.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    assert step is not None
    # the last frame is ours, not one of pynwb, hdmf or h5py
    assert re.search(r"nb26stats", step.tb_frame.f_code.co_filename)


@pytest.mark.parametrize("mode", ["copy", "sidecar"])
@pytest.mark.parametrize("case", BAD_SOURCES)
def test_sources(case: str, mode: str, here: Path) -> None:
    src, kind, message = BAD_SOURCES[case]
    before = sorted(os.listdir(here))
    with pytest.raises(kind, match=re.escape(message)) as caught:
        save_results(src, {"a": table()}, out=here / "new.nwb", mode=mode)
    one_sentence(caught.value)
    assert sorted(os.listdir(here)) == before


# ---- out ---------------------------------------------------------------------------------------
BAD_TARGETS: dict[str, tuple[Any, type[Exception], str]] = {
    "number": (3, TypeError, "out must be text"),
    "bool": (False, TypeError, "out must be text"),
    "bytes": (b"x.nwb", TypeError, "out must be text"),
    "list": (["x.nwb"], TypeError, "out must be text"),
    "object": (Odd(), TypeError, "out must be text"),
    "empty": ("", ValueError, "out must name a file"),
    "spaces": (" ", ValueError, "out must name a file"),
    "NUL": ("a\0.nwb", ValueError, "out must name a file"),
    "folder": ("folder", ValueError, "is a folder"),
    "this folder": (".", ValueError, "is a folder"),
    "with slash": ("new.nwb/", ValueError, "is a folder"),
    "no such folder": ("nowhere/x.nwb", FileNotFoundError, "the folder of out does not exist"),
    "file as folder": ("text.nwb/x.nwb", FileNotFoundError, "the folder of out does not exist"),
    "loop": ("loop.nwb", ValueError, "not an ordinary file"),
    "socket": ("socket", ValueError, "not an ordinary file"),
    "pipe": ("pipe", ValueError, "not an ordinary file"),
    "too long": ("x" * 300 + ".nwb", ValueError, "File name too long"),
    "surrogate": ("\ud800.nwb", ValueError, "cannot be used"),
    "source": (SMALL, ValueError, "pass in_place=True"),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("case", BAD_TARGETS)
def test_targets(case: str, overwrite: bool, here: Path) -> None:
    out, kind, message = BAD_TARGETS[case]
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
    before, content = sorted(os.listdir(here)), sha(here / SMALL)
    with pytest.raises(kind, match=re.escape(message)) as caught:
        save_results(SMALL, {"a": table()}, out=out, overwrite=overwrite)
    one_sentence(caught.value)
    assert sorted(os.listdir(here)) == before
    assert sha(here / SMALL) == content


# ---- flags -------------------------------------------------------------------------------------
BAD_OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "mode": ({"mode": "append"}, ValueError, "mode='append' must be one of 'copy', 'sidecar'"),
    "mode None": ({"mode": None}, TypeError, "mode="),
    "mode list": ({"mode": ["copy"]}, TypeError, "mode="),
    "in_place": ({"in_place": 1}, TypeError, "in_place must be True or False"),
    "in_place text": ({"in_place": "yes"}, TypeError, "in_place must be True or False"),
    "overwrite": ({"overwrite": None}, TypeError, "overwrite must be True or False"),
    "store_counts": ({"store_counts": "no"}, TypeError, "store_counts must be True or False"),
    "description": ({"description": 3}, TypeError, "description must be text"),
    "description None": ({"description": None}, TypeError, "description must be text"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_options(case: str, here: Path) -> None:
    options, kind, message = BAD_OPTIONS[case]
    before = sorted(os.listdir(here))
    with pytest.raises(kind, match=re.escape(message)) as caught:
        save_results(SMALL, {"a": table()}, **options)
    one_sentence(caught.value)
    assert sorted(os.listdir(here)) == before


def test_options_are_keywords_only(here: Path) -> None:
    with pytest.raises(TypeError, match="positional"):
        save_results(SMALL, {"a": table()}, "new.nwb", "copy")
    assert not (here / "new.nwb").exists()


def test_text_of_any_kind_is_data_and_nothing_else(here: Path) -> None:
    nasty = "<script>alert(1)</script> {0} %s $x$ \\n \"'` ; rm -rf é 数"
    frame = table().rename(columns={"rate": nasty.replace("/", "|")})
    frame["area"] = nasty
    frame.attrs["nb26stats"] = {"function": nasty, "path": Path("/secret/place/x.nwb")}
    name = nasty.replace("/", "|")
    out = save_results(SMALL, {name: frame}, description=nasty * 1000)
    with nbn.open(out) as session:
        stored = session.nwbfile.processing["nb26stats"][name]
        assert list(stored["area"].data[:]) == [nasty] * 6
        assert "secret" not in stored.description
        assert len(stored.description) > 50_000
