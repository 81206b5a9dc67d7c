"""Sessions: who closes what, what a closed one says, what an open one shows."""

from __future__ import annotations

import copy
import html
import pickle
from pathlib import Path

import h5py
import nwb_files
import nwb_pieces
import pytest

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import ClosedSessionError, MissingTableError
from nb26stats.nwb._session import as_session

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"


# ---- sessions ------------------------------------------------------------------------------------
def test_a_closed_session_says_so():
    with nbn.open(datasets.path(ALM)) as s:
        assert not s.closed
        kept = s.nwbfile
    assert s.closed
    s.close()
    assert repr(s).endswith("(closed)")
    assert "closed" in s._repr_html_()
    calls = [
        s.trials,
        s.units,
        s.spike_counts,
        s.behavior,
        s.summary,
        lambda: s.nwbfile,
        lambda: nbn.trials(s),
        lambda: nbn.open(s),
        s.__enter__,
        lambda: nbn.trials(kept),
        lambda: nbn.units(kept),
    ]
    for call in calls:
        with pytest.raises(ClosedSessionError, match="open the file again"):
            call()


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_cannot_be_copied(copied):
    with (
        nbn.open(datasets.path(ALM)) as s,
        pytest.raises(TypeError, match="give the path and open it there"),
    ):
        copied(s)


def test_a_path_is_opened_and_closed_inside_a_call(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb")
    assert len(nbn.trials(str(path))) == 3
    assert len(nbn.units(path)) == 2
    with pytest.raises(MissingTableError):
        nbn.trials(path, "nope")
    with h5py.File(path, "r+") as file:  # would fail while a handle is open for reading
        assert "units" in file


def test_v19_a_file_the_user_opened_stays_open():
    with nwb_pieces.reading(datasets.path(ALM)) as io:
        nwb = io.read()
        assert len(nbn.trials(nwb)) == 412
        assert len(nbn.units(nwb)) == 4
        with nbn.open(nwb) as s:
            assert s.nwbfile is nwb
            assert s.nwb_version == "2.1.0"
            assert s.path == Path(str(datasets.path(ALM)))
        assert s.closed
        with as_session(nwb) as again:
            assert len(again.units()) == 4
        assert nwb.trials["start_time"].data[:].shape == (412,)


def test_a_session_passed_on_stays_open():
    with nbn.open(datasets.path(ALM)) as s:
        assert nbn.open(s) is s
        assert len(nbn.trials(s)) == len(s.trials()) == 412
        with as_session(s) as again:
            assert again is s
        assert not s.closed


def test_namespaces_are_known():
    with nbn.open(datasets.path(ALM)) as s:
        assert s.namespaces == {"core": "2.1.0", "hdmf-common": "1.0.0"}


def test_a_file_in_memory():
    nwb = nwb_files.make(identifier="not written")
    nwb.add_trial(start_time=0.0, stop_time=1.0)
    nwb.add_unit(spike_times=[0.1, 0.2])
    with nbn.open(nwb) as s:
        assert s.path is None
        assert "not written" in s.summary()
        assert len(s.trials()) == len(s.units()) == 1
        with pytest.raises(MissingTableError, match="NWBFile 'not written'"):
            s.trials("nope")


# ---- what a session shows ------------------------------------------------------------------------
def test_summary_and_html_say_what_is_in_the_file():
    with nbn.open(datasets.path(ALM)) as s:
        text = s.summary()
        assert repr(s) == text
        assert s._repr_html_() == f"<pre>{html.escape(text)}</pre>"
    assert "trials (412 rows)" in text
    assert "units        4" in text
    assert "Thalamus  4" in text


def test_html_in_a_file_is_escaped(tmp_path):
    with nbn.open(nwb_files.html_everywhere(tmp_path / "x.nwb")) as s:
        shown = s._repr_html_()
    body = shown.removeprefix("<pre>").removesuffix("</pre>")
    assert "&lt;script&gt;" in body
    assert "<" not in body
    assert ">" not in body


def test_a_file_of_few_words(tmp_path):
    nwb = nwb_files.make(subject=None)
    nwb.add_acquisition(nwb_files.units_table([[0.1]], name="other"))
    with nbn.open(nwb_files.write(nwb, tmp_path / "x.nwb")) as s:
        text = s.summary()
    assert "subject" not in text
    assert "units        none; units tables elsewhere: acquisition/other" in text
    assert "intervals    none" in text


def test_a_crowded_file_is_shown_in_thirty_lines(tmp_path):
    nwb = nwb_files.make(session_description="word " * 2000, identifier="i" * 5000)
    for i in range(40):
        nwb.create_processing_module(name=f"module{i}", description="many")
    nwb.units = nwb_files.units_table(
        [[0.1]] * 60, {"location": [f"area {i}" + "x" * 300 for i in range(60)]}
    )
    with nbn.open(nwb_files.write(nwb, tmp_path / "x.nwb")) as s:
        lines = s.summary().splitlines()
        assert len(s._repr_html_().splitlines()) <= 30
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 330
