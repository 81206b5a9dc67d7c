"""spike_counts on the shipped files and on small ones: numbers, shapes, types, warnings."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pynwb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nwb_files import (
    float32_spikes,
    integer_spikes,
    make,
    nonfinite_spikes,
    simple,
    steinmetz_like,
    trial_table,
    uint8_index,
    units_table,
    unsorted_spikes,
)
from reference.spikes import count_rule

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats._numba.spikes import count_spikes

THALAMUS = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ALM = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"


def quiet(source, **options):
    """Counts, and the package's warnings as a list of texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NB26StatsWarning)
        got = nbn.spike_counts(source, **options)
    return got, [str(w.message) for w in caught if issubclass(w.category, NB26StatsWarning)]


def memory(spikes, columns=None, trials=None, **options):
    nwb = make()
    columns = {"location": ["A"] * len(spikes)} if columns is None else columns
    nwb.units = units_table(spikes, columns, **options)
    if trials is not None:
        nwb.trials = trial_table(trials)
    return nwb


# ---- the shipped files -------------------------------------------------------------------------
def test_v7_thalamus_around_the_cue():
    got, said = quiet(
        datasets.path(THALAMUS), align_to="cue_start_time", window=(-1.0, 2.0), bin_size=0.1
    )
    counts = got.counts["Thalamus"]
    assert got.areas == ["Thalamus"]
    assert counts.shape == (342, 30, 4)
    assert counts.dtype == np.int32
    assert counts.flags.c_contiguous
    assert counts.sum() == 10670
    assert counts.sum(axis=(0, 1)).tolist() == [3061, 1616, 883, 5110]
    assert counts.max() == 10
    assert len(said) == 1
    assert "70 of 412" in said[0]
    assert got.info["n_dropped_nan"] == 70


def test_v8_thalamus_in_fine_bins():
    got, _ = quiet(
        datasets.path(THALAMUS), align_to="cue_start_time", window=(-0.5, 1.0), bin_size=0.01
    )
    assert got.to_array().sum(axis=(0, 1)).tolist() == [1615, 1154, 492, 1800]


def test_v9_alm_around_a_relative_cue():
    options = {"align_to": "cue_start_time", "window": (-1, 2), "bin_size": 0.1}
    got, said = quiet(datasets.path(ALM), **options)
    counts = got.to_array()
    assert counts.shape == (178, 30, 1)
    assert counts.sum() == 560
    assert (counts.sum(axis=(1, 2)) > 0).sum() == 82
    assert len(got.info["outside_spikes"]) == 9
    assert [
        sum(word in text for text in said) for word in ("relative", "ascending", "9 of 178")
    ] == [
        1,
        1,
        1,
    ]
    dropped, _ = quiet(datasets.path(ALM), **options, on_outside="drop")
    assert dropped.to_array().shape == (169, 30, 1)
    assert dropped.to_array().sum() == 559
    assert not set(dropped.trial_index.tolist()) & set(got.info["outside_spikes"])
    plain, said = quiet(datasets.path(ALM), **options, relative_to="session")
    assert plain.to_array().sum() == 0
    assert any("relative_to='start_time'" in text for text in said)


def test_v9_without_sorting_spikes_would_be_lost():
    # the kernel on the stored order: the reason why our copy is sorted
    with pynwb.NWBHDF5IO(str(datasets.path(ALM)), "r", load_namespaces=True) as io:
        nwb = io.read()
        stored = nwb.units["spike_times"].target.data[:]
        events = nwb.trials["start_time"].data[:] + nwb.trials["cue_start_time"].data[:]
    assert (np.diff(stored) < 0).sum() == 21

    def total(spikes):
        arrays, _ = count_spikes(
            spikes,
            np.array([0, spikes.size]),
            [np.array([0])],
            events,
            w0=-1.0,
            bin_size=0.1,
            n_bins=30,
            tol=1e-9,
        )
        return int(arrays[0].sum())

    assert total(stored) == 555
    assert total(np.sort(stored)) == 560


def test_v10_alm_around_the_start():
    got, _ = quiet(datasets.path(ALM), window=(0, 5), bin_size=0.05)
    assert got.to_array().sum() == 1368


def test_v11_overlapping_ripples():
    got = nbn.spike_counts(
        datasets.path(RIPPLES), table="sleep_ripples", window=(-0.1, 0.2), bin_size=0.01
    )
    assert got.to_array().shape == (594, 30, 15)
    assert got.to_array().sum() == 20274
    assert {a: int(c.sum()) for a, c in got.counts.items()} == {"adn": 13979, "ca1": 6295}
    per_bin = got.counts["ca1"].sum(axis=(0, 2))
    assert per_bin.argmax() == 12
    assert per_bin[10:15].tolist() == [447, 496, 591, 540, 388]


def test_v19_files_of_the_user_stay_open():
    options = {"table": "sleep_ripples", "window": (0, 0.1), "bin_size": 0.05}
    with pynwb.NWBHDF5IO(str(datasets.path(THALAMUS)), "r", load_namespaces=True) as io:
        nwb = io.read()
        quiet(nwb, window=(0, 1), bin_size=0.5)
        assert nwb.trials["start_time"].data[0] > 0
    with nbn.open(datasets.path(RIPPLES)) as session:
        method = session.spike_counts(**options)
        function = nbn.spike_counts(session, **options)
        assert not session.closed
    path = nbn.spike_counts(str(datasets.path(RIPPLES)), **options)
    for other in (function, path):
        np.testing.assert_array_equal(method.to_array(), other.to_array())
    with pytest.raises(nbn.ClosedSessionError):
        nbn.spike_counts(session)


# ---- what comes back ---------------------------------------------------------------------------
def test_fields_of_the_result(tmp_path):
    path = simple(
        tmp_path / "a.nwb",
        spikes=[[0.5, 2.6], [0.55, 2.5, 4.6], []],
        unit_columns={"location": ["B", "A", "B"]},
        unit_ids=[11, 12, 13],
        trial_ids=[7, 8, 9],
    )
    got, _ = quiet(path, align_to="cue_time", window=(-0.2, 0.3), bin_size=0.1, trials=[2, 0])
    assert got.areas == ["B", "A"]
    np.testing.assert_array_equal(got.time, -0.2 + np.arange(5) * 0.1)
    np.testing.assert_array_equal(got.bin_centers, -0.2 + (np.arange(5) + 0.5) * 0.1)
    assert got.trial_index.tolist() == [2, 0]
    assert got.trial_index.dtype == np.int64
    assert got.trial_id.tolist() == [9, 7]
    assert got.event_times.tolist() == [4.5, 0.5]
    assert {a: u.tolist() for a, u in got.unit_ids.items()} == {"B": [11, 13], "A": [12]}
    assert {a: u.tolist() for a, u in got.unit_index.items()} == {"B": [0, 2], "A": [1]}
    assert got.counts["B"].shape == (2, 5, 2)
    assert got.counts["B"][:, :, 1].sum() == 0  # a unit without spikes stays
    assert got.counts["A"][0, 3, 0] == 1
    assert got.trials["cue_time"].tolist() == [4.5, 0.5]
    assert got.info["file"] == str(path)
    assert got.info["identifier"] == "sim-001"
    assert (got.info["align_to"], got.info["verdict"]) == ("cue_time", "absolute")
    assert got.info["window"] == pytest.approx([-0.2, 0.3])
    assert (got.info["bin_size"], got.info["tol"], got.info["dtype"]) == (0.1, 1e-9, "int32")
    assert (got.info["n_events"], got.info["n_selected"]) == (3, 2)
    assert json.loads(json.dumps(got.info))["n_units_in_file"] == 3


@given(
    spikes=st.lists(
        st.lists(st.integers(0, 5000).map(lambda k: k / 1000), max_size=15), min_size=1, max_size=4
    ),
    events=st.lists(st.integers(0, 5000).map(lambda k: k / 1000), max_size=6),
    data=st.data(),
)
@settings(max_examples=25)
def test_v18_units_and_events_in_any_order(spikes, events, data):
    spikes = [sorted(s) for s in spikes]
    options = {"window": (-0.3, 0.7), "bin_size": 0.05}
    whole = quiet(memory(spikes), align_to=np.array(events), **options)[0].to_array()
    for u, train in enumerate(spikes):
        np.testing.assert_array_equal(
            whole[:, :, u], count_rule(train, events, -0.3, 0.05, 20, 1e-9)
        )
    rows = data.draw(st.permutations(range(len(events))))
    order = data.draw(st.permutations(range(len(spikes))))
    nwb = memory([spikes[u] for u in order])
    mixed = quiet(nwb, align_to=np.array(events), trials=rows, **options)[0].to_array()
    np.testing.assert_array_equal(mixed, whole[np.array(rows, int)][:, :, order])


def test_a_subset_has_the_bins_of_the_whole_file():
    # the tolerance comes from the largest time of the file, not of the selection
    big = 1.6e9
    nwb = memory([[10.0 - 3e-7, big]], trials={"start_time": np.array([9.0, big - 5])})
    options = {"window": (0, 2), "bin_size": 1.0}
    whole, _ = quiet(nwb, **options)
    part, _ = quiet(nwb, trials=[0], **options)
    assert whole.info["tol"] == part.info["tol"] == pytest.approx(9.5e-7, rel=0.01)
    assert whole.counts["A"][0, :, 0].tolist() == [0, 1]
    np.testing.assert_array_equal(part.counts["A"][0], whole.counts["A"][0])
    plain, _ = quiet(nwb, **options, tol=0)
    assert plain.counts["A"][0, :, 0].tolist() == [1, 0]


def test_tolerance_of_ordinary_and_unix_times():
    for top, tol in ((5000.0, 1e-9), (1.6e9, 9.5e-7)):
        nwb = memory([[top - 1, top]])
        got, _ = quiet(nwb, align_to=[top - 1, top], window=(-1, 1), bin_size=0.5)
        assert got.info["tol"] == pytest.approx(tol, rel=0.01)
    with pytest.raises(ValueError, match="subtract an offset"):
        nbn.spike_counts(nwb, align_to=[1.6e9], window=(0, 1e-4), bin_size=1e-5)


@pytest.mark.parametrize("name", ["int32", "uint16", "uint8", "float32", "float64"])
def test_types_of_counts(name):
    nwb = memory([[0.1, 0.2, 1.3], [0.5]])
    options = {"align_to": [0.0, 1.0], "window": (0, 1), "bin_size": 0.5}
    got, _ = quiet(nwb, **options, dtype=name)
    assert got.counts["A"].dtype == np.dtype(name)
    assert got.counts["A"].tolist() == [[[2, 0], [0, 1]], [[1, 0], [0, 0]]]
    same, _ = quiet(nwb, **options, dtype=np.dtype(name))
    np.testing.assert_array_equal(same.counts["A"], got.counts["A"])


def test_counts_that_do_not_fit_are_an_error():
    nwb = memory([np.full(256, 0.5), [0.5]])
    options = {"align_to": [0.0], "window": (0, 1), "bin_size": 1.0}
    with pytest.raises(OverflowError, match="1 spikes did not fit: uint8 holds at most 255"):
        quiet(nwb, **options, dtype="uint8")
    assert quiet(nwb, **options, dtype="uint16")[0].counts["A"].tolist() == [[[256, 1]]]


def test_rates():
    nwb = memory([[0.1, 0.2, 1.3]])
    got, _ = quiet(nwb, align_to=[0.0, 1.0], window=(0, 1), bin_size=0.5, rate=True, dtype="uint8")
    assert got.counts["A"].dtype == np.float64
    assert got.rate is True
    assert got.counts["A"][:, :, 0].tolist() == [[4.0, 0.0], [2.0, 0.0]]
    many = memory([np.full(300, 0.5)])
    one, _ = quiet(many, align_to=[0.0], window=(0, 1), bin_size=1.0, rate=True, dtype="uint8")
    assert one.to_array().item() == 300.0


def test_events_without_a_time():
    nwb = memory([[0.5, 2.5]], trials={"start_time": [0.0, 2.0, 4.0], "cue_time": [0.4, np.nan, 4]})
    options = {"align_to": "cue_time", "relative_to": "session", "window": (0, 1), "bin_size": 0.5}
    drop, said = quiet(nwb, **options)
    assert drop.trial_index.tolist() == [0, 2]
    assert [t for t in said if "1 of 3 events have no time in 'cue_time'" in t]
    with pytest.raises(ValueError, match="1 of 3 events have no time"):
        nbn.spike_counts(nwb, **options, on_nan="raise")
    keep, said = quiet(nwb, **options, on_nan="keep", dtype="uint8")
    assert not [t for t in said if "no time" in t]
    assert keep.counts["A"].dtype == np.float64
    assert keep.counts["A"].shape == (3, 2, 1)
    assert np.isnan(keep.counts["A"][1]).all()
    np.testing.assert_array_equal(keep.counts["A"][[0, 2]], drop.counts["A"])
    assert keep.valid["A"][:, 0].tolist() == [True, False, True]
    rates, _ = quiet(nwb, **options, on_nan="keep", rate=True)
    np.testing.assert_array_equal(rates.counts["A"], keep.counts["A"] / 0.5)
    # no missing time among the selected: nothing to raise
    fine, _ = quiet(nwb, **options, on_nan="raise", trials=[0, 2])
    assert fine.n_trials == 2


def test_keep_is_float_even_without_missing_times():
    nwb = memory([[0.5]])
    got, _ = quiet(nwb, align_to=[0.0], window=(0, 1), bin_size=1.0, on_nan="keep")
    assert got.counts["A"].dtype == np.float64


# ---- which trials, units, areas ----------------------------------------------------------------
def test_trials_by_mask_positions_and_query():
    path = datasets.path(THALAMUS)
    options = {"window": (0, 1), "bin_size": 0.5}
    frame = nbn.trials(path)
    mask = (frame["response"] == "correct").to_numpy()
    by_mask, _ = quiet(path, **options, trials=mask)
    by_rows, _ = quiet(path, **options, trials=np.flatnonzero(mask).astype(float))
    by_text, _ = quiet(path, **options, trials="response == 'correct'")
    assert by_mask.n_trials == 175
    for other in (by_rows, by_text):
        np.testing.assert_array_equal(other.to_array(), by_mask.to_array())
        np.testing.assert_array_equal(other.trial_index, np.flatnonzero(mask))
    assert set(by_text.trials["response"]) == {"correct"}


def test_selections_that_leave_nothing_are_empty_results():
    nwb = memory(
        [[0.5], [0.6]], {"location": ["A", "B"], "snr": [1.0, 2.0]}, {"start_time": [0, 1.0]}
    )
    options = {"window": (0, 1), "bin_size": 0.5}
    got, said = quiet(nwb, **options, trials=[])
    assert got.counts["A"].shape == (0, 2, 1)
    assert any("selects none of the 2 events" in t for t in said)
    got, said = quiet(nwb, **options, quality="snr > 5")
    assert got.areas == []
    assert got.to_array().shape == (2, 2, 0)
    assert any("leaves none of the 2 units" in t for t in said)
    got, said = quiet(nwb, **options, quality="snr > 1.5", areas=["A", "B"])
    assert {a: c.shape for a, c in got.counts.items()} == {"A": (2, 2, 0), "B": (2, 2, 1)}
    assert any("leaves no unit in A" in t for t in said)
    assert got.info["n_excluded"] == 1


def test_a_units_table_without_rows_is_legal():
    nwb = memory([], {"location": np.empty(0)})
    got = nbn.spike_counts(nwb, align_to=[1.0, 2.0], window=(0, 1), bin_size=0.5)
    assert got.areas == []
    assert got.to_array().shape == (2, 2, 0)
    assert got.summary().endswith("no units")


def test_quality_is_applied_and_counted():
    columns = {"location": ["A"] * 3, "quality": ["good", "mua", "Good"], "snr": [1.0, 3.0, 2.0]}
    nwb = memory([[0.5], [0.6], [0.7]], columns)
    options = {"align_to": [0.0], "window": (0, 1), "bin_size": 0.5}
    for quality, ids in (
        ("good", [0, 2]),
        ("snr > 1.5", [1, 2]),
        (lambda frame: frame["n_spikes"] == 1, [0, 1, 2]),
        (lambda frame: frame["snr"] < 2.5, [0, 2]),
    ):
        got, _ = quiet(nwb, **options, quality=quality)
        assert got.unit_ids["A"].tolist() == ids
        assert got.info["n_excluded"] == 3 - len(ids)
    with pytest.raises(ValueError, match="mua"):
        quiet(nwb, **options, quality="excellent")


def test_v24_quality_of_the_shipped_files():
    for name, table, values in ((RIPPLES, "sleep_ripples", "group"), (ALM, "trials", "Excellent")):
        with pytest.raises(ValueError, match=values):
            quiet(datasets.path(name), table=table, quality="good")
    got, _ = quiet(datasets.path(ALM), quality="excellent", window=(0, 1))
    assert got.n_units == 1
    assert got.info["quality_column"] == "quality"


def test_areas_come_from_the_peak_channel(tmp_path):
    got, _ = quiet(steinmetz_like(tmp_path / "s.nwb"), align_to="go_cue", window=(0, 1))
    assert {a: u.tolist() for a, u in got.unit_index.items()} == {
        "VISp": [0, 2, 4],
        "MOs": [1, 3, 5],
    }
    assert got.info["verdict"] == "absolute"


def test_all_cores_give_the_same():
    path = datasets.path(RIPPLES)
    options = {"table": "sleep_ripples", "window": (-0.1, 0.2)}
    one = nbn.spike_counts(path, **options)
    every = nbn.spike_counts(path, **options, n_threads=0)
    np.testing.assert_array_equal(every.to_array(), one.to_array())


def test_areas():
    nwb = memory([[0.1]] * 5, {"location": ["VISp1", "CA1", "VISp2/3", "ca1", "TH"]})
    options = {"align_to": [0.0], "window": (0, 1), "bin_size": 0.5}

    def groups(areas):
        got, _ = quiet(nwb, **options, areas=areas)
        assert got.areas == list(got.counts)
        return {a: u.tolist() for a, u in got.unit_index.items()}

    assert groups(None) == {"VISp1": [0], "CA1": [1], "VISp2/3": [2], "ca1": [3], "TH": [4]}
    assert groups("Ca1") == {"CA1": [1], "ca1": [3]}
    assert groups(("th", "visp1")) == {"TH": [4], "VISp1": [0]}
    joined = {"V1": ["VISp2/3", "VISp1"], "rest": "th"}
    assert groups(joined) == {"V1": [0, 2], "rest": [4]}
    got, _ = quiet(nwb, **options, areas=joined)
    assert got.unit_area["V1"].tolist() == ["VISp1", "VISp2/3"]
    with pytest.raises(ValueError, match=r"'DG'.*TH"):
        groups(["DG"])
    with pytest.raises(ValueError, match="VISp1"):
        groups({"a": ["VISp1"], "b": ["visp1"]})


def test_units_elsewhere_and_areas_from_another_column(tmp_path):
    path = simple(
        tmp_path / "a.nwb",
        unit_columns={"location": ["A", "A"], "layer": ["L2", "L5"]},
    )
    got, _ = quiet(path, window=(0, 1), areas_from="layer")
    assert got.areas == ["L2", "L5"]
    assert got.info["areas_from"] == "layer"
    nwb = make()
    nwb.trials = trial_table({"start_time": [0.0, 2.0]})
    nwb.add_acquisition(units_table([[0.5, 2.6]], {"location": ["B"]}, name="Sorted"))
    with pytest.raises(nbn.MissingTableError, match="acquisition/Sorted"):
        nbn.spike_counts(nwb)
    got, _ = quiet(nwb, units="acquisition/Sorted", window=(0, 1), bin_size=1.0)
    assert got.counts["B"].ravel().tolist() == [1, 1]
    assert got.info["units"] == "acquisition/Sorted"


# ---- reading traps -----------------------------------------------------------------------------
def test_small_index_types_do_not_wrap(tmp_path):
    got, _ = quiet(uint8_index(tmp_path / "a.nwb"), align_to=[0.0], window=(-1, 5), bin_size=6.0)
    assert got.to_array().ravel().tolist() == [150, 0, 50]


def test_unsorted_units_are_sorted_with_one_warning(tmp_path):
    path = unsorted_spikes(tmp_path / "a.nwb")
    got, said = quiet(path, align_to=[0.0], window=(0, 5), bin_size=0.5)
    assert got.info["n_unsorted"] == 2
    assert [t for t in said if "2 of 4 units were not ascending" in t]
    assert got.to_array().sum() == 8
    assert got.to_array()[0, :, 0].nonzero()[0].tolist() == [2, 4, 6]


def test_non_finite_spikes_are_left_out(tmp_path):
    got, said = quiet(nonfinite_spikes(tmp_path / "a.nwb"), align_to=[0.0], window=(0, 5))
    assert got.to_array().sum() == 4
    assert got.info["n_nonfinite"] == 5
    assert len([t for t in said if "NaN or infinite" in t]) == 1


def test_coarse_spike_times_warn(tmp_path):
    _, said = quiet(float32_spikes(tmp_path / "a.nwb"), window=(0, 0.1))
    assert len([t for t in said if "float32" in t]) == 1


def test_spikes_in_samples_are_noticed(tmp_path):
    _, said = quiet(integer_spikes(tmp_path / "a.nwb"), window=(0, 1))
    assert len([t for t in said if "samples or milliseconds" in t]) == 1


def test_unit_ids_may_be_text():
    nwb = memory([[0.5], [0.6]])
    nwb.units.id.data[:] = ["x1", "x2"]
    got, _ = quiet(nwb, align_to=[0.0], window=(0, 1), bin_size=1.0)
    assert got.unit_ids["A"].tolist() == ["x1", "x2"]
    assert got.to_frame()["unit_id"].tolist() == ["x1", "x2"]


def test_each_cause_warns_once():
    nwb = memory(
        [[2.0, 1.0], [4.0, 3.0]],
        trials={"start_time": np.arange(6.0), "cue_time": [0.5, np.nan, np.nan, 3.5, 4.5, 5.5]},
    )
    _, said = quiet(nwb, align_to="cue_time", relative_to="session", window=(-1, 1))
    assert len(said) == 3
    assert len(set(said)) == 3


def test_nothing_is_written_and_no_handle_is_left(tmp_path):
    path = simple(tmp_path / "a.nwb")
    before = path.read_bytes()
    got, _ = quiet(path, window=(0, 1))
    assert path.read_bytes() == before
    path.unlink()
    assert got.to_array().shape == (3, 100, 2)
    assert got.trials is not None


def test_the_areas_of_the_whole_file_are_kept_for_figures() -> None:
    path = datasets.path(RIPPLES)
    counts = nbn.spike_counts(path, align_to=[10.0], window=(0, 1), bin_size=0.5, areas="ca1")
    assert counts.areas == ["ca1"]
    assert counts.info["file_areas"] == ["adn", "ca1"]
    assert counts.psth("ca1").file_areas == ("adn", "ca1")
