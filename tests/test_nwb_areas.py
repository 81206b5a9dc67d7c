"""The area of a unit: every rule in its order, and which units ``areas=`` means."""

from __future__ import annotations

import h5py
import numpy as np
import nwb_files
import pytest
from hdmf.common import DynamicTable

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import MissingColumnError, NB26NWBError
from nb26stats.nwb._areas import clean_area, group_units, unit_areas
from nb26stats.nwb._units import find_units

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ECONOMO = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"
PHY = "A8604-211122_phy.nwb"


# ---- areas: where they come from -----------------------------------------------------------------
def _areas(path, areas_from=None):
    with nbn.open(path) as s:
        return unit_areas(s, find_units(s), areas_from)


def test_areas_of_the_shipped_files():
    for name, areas, source in (
        (ALM, {"Thalamus": 4}, {"electrodes": 4}),
        (ECONOMO, {"ALM": 1}, {"electrodes": 1}),
        (RIPPLES, {"adn": 7, "ca1": 8}, {"location": 15}),
        (PHY, {"unknown": 3}, {"unknown": 3}),
    ):
        found = _areas(datasets.path(name))
        assert dict(zip(*np.unique(found.area.tolist(), return_counts=True), strict=True)) == areas
        assert found.source == source
    assert _areas(datasets.path(ECONOMO)).hemisphere.tolist() == ["left"]
    assert _areas(datasets.path(RIPPLES)).hemisphere is None


@pytest.mark.parametrize(
    "column", ["location", "brain_area", "brain_region", "area", "structure_acronym"]
)
def test_text_columns_of_the_units(tmp_path, column):
    path = nwb_files.simple(tmp_path / "x.nwb", unit_columns={column: [" V1 ", "CA1"]})
    found = _areas(path)
    assert found.area.tolist() == ["V1", "CA1"]
    assert found.location_raw.tolist() == [" V1 ", "CA1"]
    assert found.source == {column: 2}


def test_the_first_text_column_that_knows_the_unit_wins(tmp_path):
    path = nwb_files.simple(
        tmp_path / "x.nwb",
        spikes=[[0.1]] * 4,
        unit_columns={
            "structure_acronym": ["s0", "s1", "s2", "unknown"],
            "brain_area": ["b0", "", "None", " "],
            "location": ["l0", "nan", "l2", "unknown"],
        },
    )
    found = _areas(path)
    assert found.area.tolist() == ["l0", "s1", "l2", "unknown"]
    assert found.source == {"location": 2, "structure_acronym": 1, "unknown": 1}


def test_a_column_of_numbers_is_no_area_unless_asked_for(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb", unit_columns={"area": [1, 2]})
    assert _areas(path).area.tolist() == ["unknown", "unknown"]
    assert _areas(path, "area").area.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("VISp", "VISp"),
        ("  VISp2/3\n", "VISp2/3"),
        ("", "unknown"),
        ("  ", "unknown"),
        ("unknown", "unknown"),
        ("None", "unknown"),
        ("nan", "unknown"),
        (None, "unknown"),
        (float("nan"), "unknown"),
        ("brain_region: ALM; brain_subregion: N/A; hemisphere: left", "ALM"),
        ("hemisphere: left; brain_region: M2", "M2"),
        ("Brain Region: S1", "S1"),
        ("brain_region: ; hemisphere: left", "unknown"),
        ("brain_region: N/A; hemisphere: left", "unknown"),
        ("VISp: layer 5", "VISp: layer 5"),
        ("a; b", "a; b"),
        ("depth 5:30", "depth 5:30"),
        ("N/A", "N/A"),
    ],
)
def test_how_location_texts_are_read(text, area):
    assert clean_area(text) == area


def test_peak_channel_id_is_an_id_not_a_position(tmp_path):
    found = _areas(nwb_files.aibs_change(tmp_path / "x.nwb"))
    assert found.area.tolist() == ["APN", "VISp", "VISl", "VISp"]
    assert found.source == {"peak_channel_id": 4}


def _with_electrodes(path, locations, unit_columns=None, electrodes=None, **more):
    columns = {k: more.pop(k) for k in ("site_id", "local_index", "beryl") if k in more}
    groups = more.pop("groups", None)
    unit_group = more.pop("unit_group", None)
    nwb = nwb_files.make()
    table = nwb_files.add_electrodes(
        nwb, locations, groups=groups, group_locations=more.pop("group_locations", None), **columns
    )
    told = dict(unit_columns or {})
    if unit_group is not None:
        told["electrode_group"] = [nwb.electrode_groups[g] for g in unit_group]
    n = len(next(iter(told.values()))) if told else len(electrodes)
    nwb.units = nwb_files.units_table(
        [[0.1, 0.5]] * n, told, electrodes=electrodes, electrode_table=table, **more
    )
    return nwb_files.write(nwb, path)


def test_peak_channel_counts_within_its_probe(tmp_path):
    path = _with_electrodes(
        tmp_path / "x.nwb",
        ["A", "B", "C", "D"],
        {"peak_channel": np.array([[0.0], [1.0], [1.0], [np.nan]])},
        groups=["p", "p", "q", "q"],
        unit_group=["q", "p", "q", "q"],
        site_id=[0, 1, 0, 1],
    )
    found = _areas(path)
    assert found.area.tolist() == ["C", "B", "D", "unknown"]
    assert found.source == {"peak_channel": 3, "unknown": 1}
    assert found.notes == []


def test_site_numbers_must_match_but_a_local_index_may_count_from_the_other_end(tmp_path):
    peaks = {"peak_channel": np.array([1, 2])}
    common = {"groups": ["p", "p"], "unit_group": ["p", "p"]}
    strict = _with_electrodes(tmp_path / "x.nwb", ["A", "B"], peaks, site_id=[0, 1], **common)
    assert _areas(strict).area.tolist() == ["B", "unknown"]
    loose = _with_electrodes(tmp_path / "y.nwb", ["A", "B"], peaks, local_index=[0, 1], **common)
    found = _areas(loose)
    assert found.area.tolist() == ["A", "B"]
    assert "peak_channel counts from 1 and local_index from 0" in found.notes[0]
    assert found.notes == nbn.units(loose).attrs["nb26stats"]["notes"]
    up = {"peak_channel": np.array([0, 1])}
    found = _areas(
        _with_electrodes(tmp_path / "z.nwb", ["A", "B"], up, local_index=[1, 2], **common)
    )
    assert found.area.tolist() == ["A", "B"]
    assert "peak_channel counts from 0" in found.notes[0]


def test_electrode_regions_one_many_majority_tie_and_unknown(tmp_path):
    path = _with_electrodes(
        tmp_path / "x.nwb",
        ["A", "B", "unknown", "B", " ", "C"],
        electrodes=[[0], [0, 1, 3], [0, 1], [2, 4], [2, 4, 5], []],
    )
    found = _areas(path)
    assert found.area.tolist() == ["A", "B", "mixed", "unknown", "C", "unknown"]
    assert found.location_raw.tolist()[2] == "A | B"
    assert found.source == {"electrodes": 4, "unknown": 2}


def test_first_electrode_is_not_taken_for_the_unit(tmp_path):
    frame = nbn.units(nwb_files.steinmetz_like(tmp_path / "x.nwb"))
    assert frame["area"].tolist() == ["VISp", "MOs"] * 3
    path = _with_electrodes(
        tmp_path / "y.nwb", ["A"] + ["B"] * 49, electrodes=[list(range(50)), [0]]
    )
    assert _areas(path).area.tolist() == ["B", "A"]


def test_regions_hold_positions_and_may_be_plain(tmp_path):
    nwb = nwb_files.make()
    table = nwb_files.add_electrodes(nwb, ["A", "B", "C"])
    nwb.units = nwb_files.units_table(
        [[0.1]] * 3, electrodes=[2, 0, 1], electrode_table=table, plain_electrodes=True
    )
    assert _areas(nwb).area.tolist() == ["C", "A", "B"]
    path = _with_electrodes(tmp_path / "x.nwb", ["A", "B", "C"], electrodes=[[2], [0], [1]])
    with h5py.File(path, "r+") as file:
        del file["units/electrodes_index"]
    assert _areas(path).area.tolist() == ["C", "A", "B"]


def test_references_beyond_the_electrodes_are_noted(tmp_path):
    path = _with_electrodes(tmp_path / "x.nwb", ["A", "B"], electrodes=[[0, 1, 1], [1]])
    nwb_files.replace_dataset(path, "units/electrodes", np.array([0, 7, 1, 9]))
    with h5py.File(path, "r+") as file:
        file["units/electrodes"].attrs["table"] = file["general/extracellular_ephys/electrodes"].ref
    found = _areas(path)
    assert found.area.tolist() == ["mixed", "unknown"]
    assert "2 references" in found.notes[0]


def test_a_region_into_another_table_is_followed():
    def file_with_sites(electrodes):
        nwb = nwb_files.make()
        if electrodes:
            nwb_files.add_electrodes(nwb, ["X", "X"])
        places = nwb_files.column("location", ["P", "Q"])
        sites = DynamicTable(name="sites", description="d", columns=[places], id=[0, 1])
        nwb.add_acquisition(sites)
        nwb.units = nwb_files.units_table([[0.1]] * 2, electrodes=[[1], [0]], electrode_table=sites)
        return nwb

    for electrodes in (True, False):
        nwb = file_with_sites(electrodes)
        assert _areas(nwb).area.tolist() == ["Q", "P"]
        with pytest.raises(MissingColumnError, match="layer"):
            _areas(nwb, "electrodes/layer")


def test_peak_channels_that_cannot_be_looked_up_leave_the_unit_to_the_next_rule():
    def places(columns, **electrodes):
        nwb = nwb_files.make()
        table = nwb_files.add_electrodes(
            nwb, ["A", "B"], group_locations={"probe0": "G"}, **electrodes
        )
        columns = dict(columns, electrode_group=[nwb.electrode_groups["probe0"]] * 2)
        nwb.units = nwb_files.units_table([[0.1]] * 2, columns)
        assert len(table) == 2
        return _areas(nwb).area.tolist()

    many = np.arange(4).reshape(2, 2)
    assert places({"peak_channel_id": many}) == ["G", "G"]
    assert places({"peak_channel": many}, site_id=[0, 1]) == ["G", "G"]
    assert places({"peak_channel": np.array([0, 1])}) == ["G", "G"]  # nothing to match with
    assert places({"peak_channel": np.array([0, 1])}, site_id=[1, 5]) == ["G", "A"]
    assert places({"peak_channel_id": np.array([0.0, np.nan])}) == ["A", "G"]
    assert places({"peak_channel": ["s1", "s0"]}, site_id=["s0", "s1"]) == ["B", "A"]


def test_location_of_the_group_comes_last(tmp_path):
    path = _with_electrodes(
        tmp_path / "x.nwb",
        ["unknown", "D"],
        electrodes=[[0], [1]],
        groups=["p", "q"],
        group_locations={"p": "brain_region: PPC; hemisphere: right", "q": "Q"},
        unit_group=["p", "q"],
    )
    found = _areas(path)
    assert found.area.tolist() == ["PPC", "D"]
    assert found.source == {"electrode_group": 1, "electrodes": 1}
    assert found.hemisphere.tolist() == ["right", "unknown"]


def test_areas_from_a_column_the_user_names(tmp_path):
    path = _with_electrodes(
        tmp_path / "x.nwb",
        ["VISp5", "CA1", "VISp2/3"],
        {"location": ["", "kept"], "probe": ["left probe", ""]},
        electrodes=[[0, 2], [1]],
        beryl=["VISp", "CA", "VISp"],
    )
    assert _areas(path).area.tolist() == ["mixed", "kept"]
    assert _areas(path, "probe").area.tolist() == ["left probe", "unknown"]
    assert _areas(path, "electrodes/beryl").area.tolist() == ["VISp", "CA"]
    assert nbn.units(path, areas_from="electrodes/beryl")["area"].tolist() == ["VISp", "CA"]
    grouped = _with_electrodes(
        tmp_path / "y.nwb", ["A"], electrodes=[[0]], groups=["p"], unit_group=["p"]
    )
    assert _areas(grouped, "electrode_group").area.tolist() == ["p"]


@pytest.mark.parametrize(
    ("areas_from", "error", "words"),
    [
        ("nope", MissingColumnError, "sampling_rate.*electrodes/location"),
        ("electrodes/nope", MissingColumnError, "location"),
        ("electrodes/", MissingColumnError, "location"),
        ("", ValueError, "areas_from"),
        (3, TypeError, "areas_from"),
        (["cell_type"], TypeError, "areas_from"),
        ("waveform_mean", NB26NWBError, "waveform_mean"),
        ("__class__", MissingColumnError, "__class__"),
    ],
)
def test_hostile_areas_from(areas_from, error, words):
    with pytest.raises(error, match=f"(?s){words}"):
        nbn.units(datasets.path(ALM), areas_from=areas_from)


def test_areas_from_electrodes_of_a_file_without_them(tmp_path):
    with pytest.raises(MissingColumnError, match="no table of electrodes"):
        nbn.units(nwb_files.one_unit(tmp_path / "x.nwb"), areas_from="electrodes/location")


def test_hemispheres_are_a_column_and_both_in_one_area_are_noted(tmp_path):
    path = nwb_files.alm_like(tmp_path / "x.nwb", two_sides=True)
    frame = nbn.units(path)
    assert frame["area"].tolist() == ["ALM"] * 3
    assert frame["hemisphere"].tolist() == ["left", "right", "right"]
    notes = frame.attrs["nb26stats"]["notes"]
    assert notes == ["area ALM holds units of several hemispheres (left, right)"]
    with nbn.open(path) as s:
        assert notes[0] in s.summary()


# ---- areas: which units are meant ----------------------------------------------------------------
AREAS = ["VISp", "CA1", "visp", "VISp2/3", "CA1", "unknown"]


def _groups(areas=None):
    return {k: v.tolist() for k, v in group_units(AREAS, areas).items()}


def test_areas_default_to_all_in_order_of_appearance():
    assert _groups() == {"VISp": [0], "CA1": [1, 4], "visp": [2], "VISp2/3": [3], "unknown": [5]}
    assert list(_groups()) == ["VISp", "CA1", "visp", "VISp2/3", "unknown"]
    assert group_units([]) == {}


def test_names_match_in_any_case_and_stay_apart():
    assert _groups("ca1") == {"CA1": [1, 4]}
    assert _groups(["VISP", "CA1"]) == {"VISp": [0], "visp": [2], "CA1": [1, 4]}
    assert _groups(("visp2/3",)) == {"VISp2/3": [3]}


def test_a_mapping_makes_groups():
    assert _groups({"V1": ["VISp", "VISp2/3"], "hipp": "CA1"}) == {"V1": [0, 2, 3], "hipp": [1, 4]}
    with pytest.raises(ValueError, match="'a' and 'b' share units"):
        _groups({"a": ["CA1"], "b": ["ca1"]})


@pytest.mark.parametrize(
    ("areas", "error", "words"),
    [
        ("VIS", ValueError, r"VISp \(1 units\), CA1 \(2 units\)"),
        (["CA1", "CA3"], ValueError, "no area 'CA3'"),
        ([], ValueError, "at least one area"),
        ({}, ValueError, "at least one area"),
        ([3], TypeError, "areas"),
        (3.5, TypeError, "areas"),
        ({"x": [3]}, TypeError, "areas"),
        ({3: ["CA1"]}, TypeError, "areas"),
        ({"x": None}, TypeError, "areas"),
        ("", ValueError, "areas"),
        (["CA1", None], TypeError, "areas"),
    ],
)
def test_hostile_areas(areas, error, words):
    with pytest.raises(error, match=words):
        _groups(areas)
