"""Units, their spike trains and their areas."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import nwb_files
import pytest
from pynwb import NWBHDF5IO

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats.nwb import (
    CorruptFileError,
    MissingColumnError,
    MissingTableError,
    NB26NWBError,
)
from nb26stats.nwb._areas import clean_area, group_units, unit_areas
from nb26stats.nwb._units import find_units, read_spikes, span_problem

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ECONOMO = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"
PHY = "A8604-211122_phy.nwb"


def _spikes(source, units="units"):
    with nbn.open(source) as s:
        return read_spikes(s, units)


def _index_dtype(path, dtype):
    with h5py.File(path) as file:
        ends = file["units/spike_times_index"][:]
    nwb_files.replace_dataset(path, "units/spike_times_index", ends.astype(dtype))
    with h5py.File(path, "r+") as file:
        file["units/spike_times_index"].attrs["target"] = file["units/spike_times"].ref


# ---- the table -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [ALM, ECONOMO, RIPPLES, PHY])
def test_values_equal_what_pynwb_holds(name):
    frame = nbn.units(datasets.path(name))
    trains = _spikes(datasets.path(name))
    with warnings.catch_warnings(), NWBHDF5IO(str(datasets.path(name)), "r") as io:
        warnings.simplefilter("ignore")
        table = io.read().units
        assert frame.index.tolist() == table.id.data[:].tolist() == trains.unit_ids.tolist()
        for u in range(len(table)):
            theirs = table.get_unit_spike_times(u)
            ours = trains.times[trains.index[u] : trains.index[u + 1]]
            np.testing.assert_array_equal(ours, np.sort(theirs))
            row = frame.iloc[u]
            assert row["n_spikes"] == len(theirs)
            assert (row["t_first"], row["t_last"]) == (theirs.min(), theirs.max())
            assert row["unsorted"] == bool((np.diff(theirs) < 0).any())
        plain = [
            c.name
            for c in table.columns
            if c.name in table.colnames and getattr(c.data, "ndim", 0) == 1 and c.name not in
            ("spike_times", "electrodes", "electrode_group")
        ]  # fmt: skip
        for column in plain:
            assert frame[column].tolist() == list(table[column].data[:])


def test_columns_of_the_table():
    frame = nbn.units(datasets.path(ALM))
    assert frame.index.name == "id"
    assert list(frame.columns) == [
        "sampling_rate", "unit_x", "unit_y", "unit_z", "cell_type", "n_spikes", "t_first",
        "t_last", "area", "location_raw", "unsorted", "has_obs_intervals", "hemisphere",
    ]  # fmt: skip
    assert frame["n_spikes"].sum() == 34_057
    assert frame["hemisphere"].unique().tolist() == ["left"]
    assert frame["location_raw"].str.startswith("brain_region: Thalamus;").all()
    told = frame.attrs["nb26stats"]
    assert told["table"] == "units"
    assert told["area_source"] == {"electrodes": 4}
    assert told["descriptions"]["cell_type"]


def test_columns_of_shape_n_1_are_flat_and_waveforms_left_out(tmp_path):
    frame = nbn.units(nwb_files.steinmetz_like(tmp_path / "x.nwb"))
    assert frame["peak_channel"].ndim == 1
    assert frame["phy_annotations"].isin([1.0, 2.0, 3.0]).all()
    assert "waveform_mean" not in frame
    assert "electrodes" not in frame
    assert frame["electrode_group"].tolist() == ["p0", "p1"] * 3


def test_columns_of_the_file_are_not_lost_to_ours(tmp_path):
    columns = {"n_spikes": [7, 8], "area": ["V1", "V2"], "hemisphere": ["l", "r"]}
    frame = nbn.units(nwb_files.simple(tmp_path / "x.nwb", unit_columns=columns))
    assert frame["file_n_spikes"].tolist() == [7, 8]
    assert frame["n_spikes"].tolist() == [4, 3]
    assert frame["area"].tolist() == frame["file_area"].tolist() == ["V1", "V2"]
    assert frame["hemisphere"].tolist() == ["l", "r"]


def test_empty_units_and_no_units_at_all(tmp_path):
    frame = nbn.units(nwb_files.unsorted_spikes(tmp_path / "x.nwb"))
    assert frame["n_spikes"].tolist() == [3, 2, 0, 3]
    assert np.isnan(frame["t_first"].iloc[2])
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table([], {})
    frame = nbn.units(nwb)
    assert frame.shape == (0, 7)
    with nbn.open(nwb) as s:
        trains = read_spikes(s)
    assert trains.index.tolist() == [0]
    assert len(trains.times) == 0


def test_spike_times_are_read_once_in_one_piece(monkeypatch):
    read = []
    original = h5py.Dataset.__getitem__

    def spy(self, key, **kwargs):
        read.append((self.name, key))
        return original(self, key, **kwargs)

    with nbn.open(datasets.path(RIPPLES)) as s:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", spy)
        s.units()
    assert read.count(("/units/spike_times", slice(None))) == 1
    assert sum(name == "/units/spike_times" for name, _ in read) == 1
    assert not any("waveform" in name for name, _ in read)


# ---- the index -----------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i4", "i8", ">u2", ">i4"])
def test_index_of_any_integer_type(tmp_path, dtype):
    path = nwb_files.uint8_index(tmp_path / "x.nwb")
    _index_dtype(path, dtype)
    trains = _spikes(path)
    assert trains.index.dtype == np.int64
    assert trains.index.tolist() == [0, 150, 150, 200]
    assert nbn.units(path)["n_spikes"].tolist() == [150, 0, 50]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((3, 2), r"decreases at row 1 \(id 12\)"),
        ((2, 2), r"ends at 2 but there are 3 values .*id 12"),
        ((2, 200), r"ends at 200 but there are 3 values .*id 12"),
    ],
)
def test_a_bad_index_names_the_unit(tmp_path, ends, words):
    path = nwb_files.simple(tmp_path / "x.nwb", spikes=[[0.5, 1.0], [1.5]], unit_ids=[11, 12])
    nwb_files.replace_dataset(path, "units/spike_times_index", np.array(ends, np.uint8))
    with h5py.File(path, "r+") as file:
        file["units/spike_times_index"].attrs["target"] = file["units/spike_times"].ref
    for call in (nbn.units, nbn.spike_counts):
        with pytest.raises(CorruptFileError, match=words):
            call(path)


# ---- what the times are --------------------------------------------------------------------------
def test_unsorted_units_are_sorted_each_in_its_place(tmp_path):
    trains = _spikes(nwb_files.unsorted_spikes(tmp_path / "x.nwb"))
    assert trains.times.tolist() == [1.0, 2.0, 3.0, 0.5, 0.6, 1.0, 2.0, 4.0]
    assert trains.unsorted.tolist() == [True, False, False, True]
    assert trains.n_unsorted == 2


def test_a_descent_between_units_is_no_disorder():
    rng = np.random.default_rng(3)
    spikes = [np.sort(rng.uniform(0, 5, n)) for n in rng.integers(0, 4, 500)]
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table(spikes)
    trains = _spikes(nwb)
    assert trains.n_unsorted == 0
    np.testing.assert_array_equal(trains.times, np.concatenate(spikes))


def test_long_trains_are_checked_across_pieces():
    times = np.arange((1 << 20) + 10, dtype=float)
    times[1 << 20], times[(1 << 20) - 1] = times[(1 << 20) - 1], times[1 << 20]
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table([times])
    trains = _spikes(nwb)
    assert trains.n_unsorted == 1
    np.testing.assert_array_equal(trains.times, np.arange(len(times)))


def test_arrays_of_the_user_are_never_sorted():
    mine = np.array([3.0, 1.0, 2.0])
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table([mine])
    stored = nwb.units["spike_times"].target.data
    for _ in range(2):
        assert _spikes(nwb).times.tolist() == [1.0, 2.0, 3.0]
        assert nbn.units(nwb)["unsorted"].tolist() == [True]
    assert stored.tolist() == [3.0, 1.0, 2.0]
    assert mine.tolist() == [3.0, 1.0, 2.0]


def test_non_finite_times_are_removed_with_one_warning(tmp_path):
    path = nwb_files.nonfinite_spikes(tmp_path / "x.nwb")
    with pytest.warns(NB26StatsWarning, match="5 spike times are NaN or infinite") as caught:
        frame = nbn.units(path)
    assert len(caught) == 1
    assert frame["n_spikes"].tolist() == [2, 0, 2]
    with pytest.warns(NB26StatsWarning, match="5 spike times"):
        trains = _spikes(path)
    assert trains.times.tolist() == [0.5, 1.5, 2.0, 3.0]
    assert trains.index.tolist() == [0, 2, 2, 4]
    assert trains.n_nonfinite == 5
    with pytest.warns(NB26StatsWarning, match="5 spike times"):
        nbn.spike_counts(path, align_to=[2.0], window=(-1, 1), bin_size=1.0)


def test_float32_times_warn_with_their_spacing(tmp_path):
    path = nwb_files.float32_spikes(tmp_path / "x.nwb")
    with pytest.warns(NB26StatsWarning, match=r"float32.* 0\.00012 s apart") as caught:
        frame = nbn.units(path)
    assert len(caught) == 1
    assert frame["t_first"].tolist() == [2000.0, 2000.5]
    near = nwb_files.float32_spikes(tmp_path / "y.nwb", offset=1.0)
    assert nbn.units(near)["t_first"].tolist() == [1.0, 1.5]  # spacing 1.2e-7 s: no warning
    with pytest.warns(NB26StatsWarning, match="float32"):
        assert _spikes(path).times.dtype == np.float64


def test_whole_numbers_warn_of_samples(tmp_path):
    path = nwb_files.integer_spikes(tmp_path / "x.nwb")
    with pytest.warns(NB26StatsWarning) as caught:
        frame = nbn.units(path)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert "stored as int64, whose values lie 1 s apart" in texts[0]
    assert "the spikes span 149900 s but the events 4 s" in texts[1]
    assert frame["t_first"].tolist() == [100.0, 140_000.0]


def test_big_endian_times_are_exact(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb", spikes=[[0.1, 0.7], [0.3]])
    nwb_files.replace_dataset(path, "units/spike_times", np.array([0.1, 0.7, 0.3], ">f8"))
    trains = _spikes(path)
    assert trains.times.dtype == np.dtype(float)
    assert trains.times.dtype.isnative
    assert trains.times.tolist() == [0.1, 0.7, 0.3]


@pytest.mark.parametrize(
    ("spikes", "events", "warns"),
    [
        ([0, 3000], [0, 100.0], False),
        ([0, 10_001], [0, 100.0], True),
        ([0, 9_999], [0, 100.0], False),
        ([0, 0.99], [0, 100.0], True),
        ([0, 1.01], [0, 100.0], False),
        ([5, 5], [0, 100.0], False),
        ([0, 3000], [5.0, 5.0], False),
        ([0, 3000], [5.0], False),
        ([0, 3000], [5.0, np.nan], False),
        ([3], [0, 100.0], False),
        ([], [], False),
    ],
)
def test_spans_that_differ_a_hundredfold(spikes, events, warns):
    told = span_problem(np.array(spikes, float), np.array(events, float))
    assert (told is not None) == warns
    assert not warns or "seconds" in told


def test_times_that_are_no_numbers(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb", spikes=[[0.1], [0.3]])
    nwb_files.replace_dataset(path, "units/spike_times", np.array([b"a", b"b"]))
    with pytest.raises(NB26NWBError):
        nbn.units(path)


def test_observed_intervals(tmp_path):
    path = nwb_files.with_obs_intervals(tmp_path / "x.nwb")
    flat, index = _spikes(path).obs_intervals
    assert flat.tolist() == [[0, 3], [3, 10], [2, 4]]
    assert index.tolist() == [0, 2, 3, 3]
    assert index.dtype == np.int64
    assert nbn.units(path)["has_obs_intervals"].tolist() == [True, True, False]
    assert _spikes(datasets.path(ALM)).obs_intervals is None
    none = nwb_files.simple(tmp_path / "y.nwb", obs_intervals=[[], []])
    flat, index = _spikes(none).obs_intervals
    assert flat.shape == (0, 2)
    assert index.tolist() == [0, 0, 0]


# ---- which table ---------------------------------------------------------------------------------
def test_without_units_the_content_is_listed(tmp_path):
    path = nwb_files.without_units(tmp_path / "x.nwb")
    with pytest.raises(MissingTableError) as caught:
        nbn.units(path)
    assert str(caught.value) == (
        "this file (x.nwb (NWB 2.11.0)) has no units table. It has: intervals: trials (3 rows)"
    ).replace("2.11.0", _version(path))


def _version(path):
    with h5py.File(path) as file:
        return str(file.attrs["nwb_version"])


def test_units_in_other_places(tmp_path):
    nwb = nwb_files.make()
    module = nwb.create_processing_module(name="ecephys", description="d")
    module.add(nwb_files.units_table([[0.1, 0.2]], name="sorted"))
    path = nwb_files.write(nwb, tmp_path / "x.nwb")
    with pytest.raises(MissingTableError, match=r"ecephys/sorted \(1 units\), pass units='ecephys"):
        nbn.units(path)
    for name in ("ecephys/sorted", "processing/ecephys/sorted"):
        assert nbn.units(path, name)["n_spikes"].tolist() == [2]


@pytest.mark.parametrize(
    ("units", "error"),
    [
        (None, TypeError),
        (1, TypeError),
        (["units"], TypeError),
        (b"units", TypeError),
        ("", ValueError),
        ("nope", MissingTableError),
        ("trials", MissingTableError),
        ("__class__", MissingTableError),
    ],
)
def test_hostile_names_of_units_tables(units, error):
    for call in (nbn.units, nbn.spike_counts):
        with pytest.raises(error, match="units"):
            call(datasets.path(ALM), units=units)


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
