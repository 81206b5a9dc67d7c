"""Units, their spike trains and their areas."""

from __future__ import annotations

import h5py
import numpy as np
import nwb_files
import nwb_pieces
import pytest

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats.nwb import (
    CorruptFileError,
    MissingTableError,
    NB26NWBError,
)
from nb26stats.nwb._units import read_spikes, span_problem

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
    with nwb_pieces.reading(datasets.path(name)) as io:
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


def test_observed_intervals_without_an_index_are_one_per_unit():
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table(
        [[0.1], [0.3]], {"obs_intervals": np.array([[0.0, 1.0], [2.0, 3.0]])}
    )
    flat, index = _spikes(nwb).obs_intervals
    assert flat.tolist() == [[0, 1], [2, 3]]
    assert index.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "words"),
    [(np.arange(2.0), "pairs"), (np.zeros((2, 3)), "pairs"), (np.zeros((3, 2)), "3 rows for 2")],
)
def test_observed_intervals_that_are_none(values, words):
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table([[0.1], [0.3]], {"obs_intervals": np.zeros((2, 2))})
    _swap(nwb.units["obs_intervals"], values)
    with pytest.raises(CorruptFileError, match=words):
        _spikes(nwb)


def test_one_spike_per_unit_needs_no_index():
    nwb = nwb_files.make()
    nwb.units = nwb_files.units_table(None, {"spike_times": np.array([0.3, 0.1])})
    trains = _spikes(nwb)
    assert trains.index.tolist() == [0, 1, 2]
    assert trains.times.tolist() == [0.3, 0.1]
    _swap(nwb.units["spike_times"], np.zeros((2, 4)))
    with pytest.raises(CorruptFileError, match=r"shape \(2, 4\)"):
        _spikes(nwb)


def _swap(column, values):
    """Damage a column in memory: hdmf checks lengths only when a table is made."""
    column._Data__data = values


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
