"""The plain facts about a file that the summary, the command line and the report share."""

from __future__ import annotations

import json

import h5py
import numpy as np
import nwb_files
import pytest

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import Session
from nb26stats.nwb._describe import contents, describe

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
BUILDERS = (
    nwb_files.steinmetz_like,
    nwb_files.ibl_current,
    nwb_files.ibl_legacy,
    nwb_files.aibs_change,
    nwb_files.alm_like,
    nwb_files.one_unit,
    nwb_files.without_units,
    nwb_files.without_trials,
    nwb_files.empty_file,
    nwb_files.html_everywhere,
    nwb_files.with_obs_intervals,
)


def _facts(source, table="trials"):
    with nbn.open(source) as s:
        return describe(s, table)


@pytest.mark.parametrize("build", BUILDERS, ids=lambda b: b.__name__)
def test_facts_are_plain_and_complete(tmp_path, build):
    facts = _facts(build(tmp_path / "x.nwb"))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["file"] == "x.nwb"
    assert facts["size_bytes"] == (tmp_path / "x.nwb").stat().st_size
    assert facts["nwb_version"].startswith("2.")
    assert "core" in facts["namespaces"]


def test_facts_of_a_real_file():
    facts = _facts(datasets.path(ALM))
    assert facts["identifier"] == "anm00239123_2017-06-27_09-35-49"
    assert facts["session_start_time"] == "2017-06-27T09:35:49-05:00"
    assert facts["timestamps_reference_time"] == "2017-06-27T09:35:49-05:00"
    assert facts["subject"]["species"] == "Mus musculus"
    assert facts["intervals"] == {"trials": 412}
    assert facts["n_trials"] == 412
    assert facts["n_electrodes"] == 32
    assert len(facts["columns"]) == 16
    assert {c["name"]: c["dtype"] for c in facts["columns"]}["stim_present"] == "int32"
    units = facts["units"]
    assert units["n_units"] == 4
    assert units["areas"] == {"Thalamus": 4}
    assert units["hemispheres"] == {"left": 4}
    assert units["has_spike_times"]
    assert not units["has_obs_intervals"]
    kinds = {c["name"]: c["dtype"] for c in units["columns"]}
    assert kinds["spike_times"] == "list of float64"
    assert kinds["electrodes"] == "list of reference"
    assert kinds["waveform_mean"] == "float32 (29 per row)"


def test_facts_about_another_table_and_no_table():
    path = datasets.path("A2929-200711_neurosuite.nwb")
    facts = _facts(path, "sleep_ripples")
    assert facts["table"] == "sleep_ripples"
    assert [c["name"] for c in facts["columns"]] == ["start_time", "stop_time", "tags"]
    assert facts["n_trials"] is None
    assert _facts(path)["columns"] == []
    assert _facts(path)["table"] is None
    assert len(facts["read_warnings"]) == 1


def test_header_and_reference_time(tmp_path):
    facts = _facts(nwb_files.with_reference_time(tmp_path / "x.nwb"))
    assert facts["session_start_time"] == "2024-03-01T12:00:00+00:00"
    assert facts["timestamps_reference_time"] == "2024-03-01T13:00:00+00:00"
    marked = _facts(nwb_files.html_everywhere(tmp_path / "y.nwb"))
    assert set(marked["header"]) == {
        "experimenter", "lab", "institution", "experiment_description", "session_id",
        "related_publications", "keywords", "notes",
    }  # fmt: skip
    assert all(nwb_files.HTML in text for text in marked["header"].values())
    assert nwb_files.HTML in marked["subject"]["genotype"]


def test_facts_of_a_file_with_damaged_units_say_so(tmp_path):
    path = nwb_files.steinmetz_like(tmp_path / "x.nwb")
    with h5py.File(path, "r+") as file:
        ends = file["units/electrodes_index"][:]
        ends[1] = 0
        file["units/electrodes_index"][...] = ends
        del file["general/extracellular_ephys/electrodes/site_id"]
        names = [n for n in file["general/extracellular_ephys/electrodes"].attrs["colnames"]]
        names.remove("site_id")
        file["general/extracellular_ephys/electrodes"].attrs["colnames"] = np.array(
            names, dtype=h5py.string_dtype()
        )
    facts = _facts(path)
    assert facts["units"]["n_units"] == 6
    assert facts["units"]["areas"] == {}
    assert "decreases at row 1" in facts["units"]["area_notes"][0]


def test_size_of_a_folder_and_of_nothing(tmp_path):
    nwb = nwb_files.make()
    nwb.subject.date_of_birth = nwb_files.START
    assert describe(Session(nwb, path=None))["size_bytes"] is None
    assert describe(Session(nwb, path=tmp_path / "gone"))["size_bytes"] is None
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_bytes(bytes(30))
    (tmp_path / "b").write_bytes(bytes(12))
    facts = describe(Session(nwb, path=tmp_path))
    assert facts["size_bytes"] == 42
    assert facts["subject"]["date_of_birth"] == "2024-03-01T12:00:00+00:00"


def test_contents_in_one_line(tmp_path):
    with nbn.open(nwb_files.html_everywhere(tmp_path / "x.nwb")) as s:
        line = contents(s)
    assert "\n" not in line
    assert "intervals: trials (30 rows)" in line
    assert "units (4 units)" in line
    nwb = nwb_files.make()
    for i in range(20):
        nwb.create_time_intervals(name=f"table{i:02d}", description="d")
    with nbn.open(nwb) as s:
        assert "… (20 in all)" in contents(s)
