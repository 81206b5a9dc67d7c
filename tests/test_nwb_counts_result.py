"""What SpikeCounts and its mean rates offer: selections, frames, text, figures, plain lists."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from nwb_files import make, trial_table, units_table

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats._results import to_r
from nb26stats.nwb import SpikeCounts
from nb26stats.nwb._psth import PSTH, PSTHGroups

SPIKES = [[0.1, 0.6, 1.1, 4.2], [0.2, 1.6, 4.7], [1.2, 1.3, 5.9], []]


@pytest.fixture
def nwb():
    """Four units in areas B, A, B, C; four trials of 1 s at 0, 1, 4 and 5 s."""
    file = make()
    file.trials = trial_table(
        {
            "start_time": [0.0, 1.0, 4.0, 5.0],
            "kind": ["x", "y", "x", "y"],
            "level": [1.0, np.nan, 2.0, 1.0],
        },
        ids=[5, 6, 7, 8],
    )
    file.units = units_table(
        SPIKES, {"location": ["B", "A", "B", "C"]}, ids=[21, 22, 23, 24], obs_intervals=[[]] * 4
    )
    return file


def make_counts(nwb, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NB26StatsWarning)
        return nbn.spike_counts(nwb, **{"window": (0, 1), "bin_size": 0.5, **options})


@pytest.fixture
def counts(nwb):
    return make_counts(nwb)


TRUTH = np.array(
    [
        [[1, 1, 0, 0], [1, 0, 0, 0]],
        [[1, 0, 2, 0], [0, 1, 0, 0]],
        [[1, 0, 0, 0], [0, 1, 0, 0]],
        [[0, 0, 0, 0], [0, 0, 1, 0]],
    ]
)


def test_arrays_per_area_and_in_file_order(counts):
    assert counts.areas == ["B", "A", "C"]
    np.testing.assert_array_equal(counts.to_array(), TRUTH)
    np.testing.assert_array_equal(counts.to_array("B"), TRUTH[:, :, [0, 2]])
    np.testing.assert_array_equal(counts.to_array("b"), counts.counts["B"])
    assert counts.to_array().flags.c_contiguous
    assert (counts.n_trials, counts.n_bins, counts.n_units) == (4, 2, 4)
    with pytest.raises(ValueError, match="'B', 'A', 'C'"):
        counts.to_array("D")
    with pytest.raises(TypeError, match="area must be text"):
        counts.to_array(1)


def test_concat_is_one_area_in_file_order(counts):
    whole = counts.concat()
    assert whole.areas == ["all"]
    np.testing.assert_array_equal(whole.counts["all"], TRUTH)
    assert whole.unit_ids["all"].tolist() == [21, 22, 23, 24]
    assert whole.unit_area["all"].tolist() == ["B", "A", "B", "C"]
    assert whole.unit_index["all"].tolist() == [0, 1, 2, 3]
    assert whole.valid["all"].shape == (4, 4)
    assert counts.areas == ["B", "A", "C"]  # the original is as it was
    assert counts.concat("every").areas == ["every"]


def test_it_is_frozen_and_pickles(counts):
    with pytest.raises(AttributeError):
        counts.areas = []
    again = pickle.loads(pickle.dumps(counts))
    assert isinstance(again, SpikeCounts)
    np.testing.assert_array_equal(again.to_array(), TRUTH)
    assert again.info == counts.info


# ---- selections --------------------------------------------------------------------------------
def test_sel_of_trials_and_times(counts):
    some = counts.sel(trials=[3, 0])
    np.testing.assert_array_equal(some.to_array(), TRUTH[[3, 0]])
    assert some.trial_id.tolist() == [8, 5]
    assert some.trial_index.tolist() == [3, 0]
    assert some.event_times.tolist() == [5.0, 0.0]
    assert some.trials["kind"].tolist() == ["y", "x"]
    assert some.counts["B"].flags.c_contiguous
    late = counts.sel(time=(0.5, 1.0))
    np.testing.assert_array_equal(late.to_array(), TRUTH[:, 1:])
    assert late.time.tolist() == [0.5]
    assert late.bin_centers.tolist() == [0.75]
    assert late.info["window"] == [0.5, 1.0]
    assert counts.info["window"] == [0.0, 1.0]
    both = counts.sel(trials="kind == 'y'", time=(-3, 0.7))
    np.testing.assert_array_equal(both.to_array(), TRUTH[[1, 3], :1])
    mask = counts.sel(trials=[True, False, False, True])
    assert mask.trial_id.tolist() == [5, 8]
    np.testing.assert_array_equal(counts.sel().to_array(), TRUTH)


def test_sel_of_a_selection_keeps_row_positions(nwb):
    counts = make_counts(nwb, trials=[1, 2, 3]).sel(trials=[2, 1])
    assert counts.trial_index.tolist() == [3, 2]
    assert counts.sel(trials=[0]).trial_id.tolist() == [8]


def test_sel_is_a_copy(counts):
    part = counts.sel()
    part.counts["B"][:] = 9
    np.testing.assert_array_equal(counts.to_array(), TRUTH)


def test_edges_of_sel_do_not_lose_bins_to_rounding(nwb):
    counts = make_counts(nwb, window=(-0.3, 0.7), bin_size=0.1)
    part = counts.sel(time=(0.1, 0.4))
    assert part.n_bins == 3
    np.testing.assert_allclose(part.time, [0.1, 0.2, 0.3])
    assert counts.sel(time=(0.15, 0.4)).n_bins == 2


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"trials": [4]}, ValueError, "row position 4 does not exist"),
        ({"trials": [-1]}, ValueError, "negative"),
        ({"trials": [0, 0]}, ValueError, "more than once"),
        ({"trials": [True]}, ValueError, "mask has 1 values for 4 rows"),
        ({"trials": "nothing > 1"}, ValueError, "no column 'nothing'"),
        ({"trials": "@x"}, ValueError, "'@'"),
        ({"time": (0.1, 0.3)}, ValueError, "no whole bin"),
        ({"time": (1, 0)}, ValueError, "a < b"),
        ({"time": (0, np.nan)}, ValueError, "a < b"),
        ({"time": 1.0}, ValueError, "pair"),
        ({"time": "now"}, TypeError, "time must hold real numbers"),
    ],
)
def test_sel_refuses(counts, options, error, match):
    with pytest.raises(error, match=match):
        counts.sel(**options)


# ---- mean rates --------------------------------------------------------------------------------
def test_psth_over_units(counts):
    psth = counts.psth("B")
    assert isinstance(psth, PSTH)
    rate = TRUTH[:, :, [0, 2]].mean(axis=0) / 0.5
    np.testing.assert_allclose(psth.rate, rate)
    np.testing.assert_allclose(psth.mean, rate.mean(axis=1))
    np.testing.assert_allclose(psth.sem, rate.std(axis=1, ddof=1) / np.sqrt(2))
    assert (psth.n_units, psth.n_trials, psth.sem_over) == (2, 4, "units")
    assert psth.unit_ids.tolist() == [21, 23]
    assert psth.time.tolist() == [0.0, 0.5]
    assert psth.bin_centers.tolist() == [0.25, 0.75]
    assert psth.align_to == "start_time"
    assert "2 units" not in psth.summary()
    assert "units 2, trials 4, standard error over units" in psth.summary()
    assert repr(psth) == psth.summary()


def test_psth_of_one_unit_has_its_error_over_trials(counts):
    psth = counts.psth("A")
    data = TRUTH[:, :, 1] / 0.5
    np.testing.assert_allclose(psth.mean, data.mean(axis=0))
    np.testing.assert_allclose(psth.sem, data.std(axis=0, ddof=1) / 2)
    assert (psth.n_units, psth.n_trials, psth.sem_over) == (1, 4, "trials")


def test_psth_of_one_unit_and_one_trial_has_no_error(counts):
    psth = counts.sel(trials=[0]).psth("A")
    np.testing.assert_allclose(psth.mean, [2.0, 0.0])
    assert np.isnan(psth.sem).all()
    assert (psth.n_units, psth.n_trials) == (1, 1)


def test_psth_uses_valid_trials_only():
    file = make()
    file.units = units_table(
        [[0.1, 1.1, 2.1], [1.2, 1.6, 2.2], [0.3]],
        {"location": ["A"] * 3},
        obs_intervals=[[(0, 2)], [(1, 9)], [(50, 60)]],
        ids=[1, 2, 3],
    )
    counts = make_counts(file, align_to=[0.0, 1.0, 2.0])
    psth = counts.psth("A")
    assert psth.unit_ids.tolist() == [1, 2]
    assert psth.n_trials_unit.tolist() == [2, 2]
    assert (psth.n_units, psth.n_trials, psth.n_units_left_out) == (2, 3, 1)
    np.testing.assert_allclose(psth.rate, [[2.0, 2.0], [0.0, 1.0]])
    assert "left out: 1" in psth.summary()
    # the counts of trials that are not valid are there, but do not enter
    assert counts.counts["A"][2, 0, 0] == 1


def test_psth_ignores_events_without_a_time(nwb):
    times = [0.0, np.nan, 4.0, np.nan]
    kept = make_counts(nwb, align_to=times, on_nan="keep")
    dropped = make_counts(nwb, align_to=times)
    for area in ("A", "B"):
        a, b = kept.psth(area), dropped.psth(area)
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.sem, b.sem)
        assert (a.n_trials, a.n_units) == (b.n_trials, b.n_units) == (2, b.n_units)


def test_psth_of_rates_is_the_same(nwb, counts):
    rates = make_counts(nwb, rate=True)
    np.testing.assert_allclose(rates.psth("B").mean, counts.psth("B").mean)
    np.testing.assert_allclose(rates.psth("B").sem, counts.psth("B").sem)


def test_psth_without_trials_or_units(nwb):
    none = make_counts(nwb, trials=[]).psth("B")
    assert (none.n_units, none.n_trials, none.sem_over) == (0, 0, "none")
    assert np.isnan(none.mean).all()
    assert none.rate.shape == (2, 0)
    assert none.n_units_left_out == 2
    empty = make_counts(nwb, quality="n_spikes == 3", areas=["B", "C"]).psth("C")
    assert (empty.n_units, empty.sem_over, empty.n_units_left_out) == (0, "none", 0)
    assert "units 0" in empty.summary()


def test_psth_by_column_and_by_labels(counts):
    groups = counts.psth("B", by="kind")
    assert isinstance(groups, PSTHGroups)
    assert list(groups) == ["x", "y"]
    assert len(groups) == 2
    for label, rows in (("x", [0, 2]), ("y", [1, 3])):
        alone = counts.sel(trials=rows).psth("B")
        np.testing.assert_allclose(groups[label].mean, alone.mean)
        np.testing.assert_allclose(groups[label].sem, alone.sem)
        assert groups[label].n_trials == 2
    levels = counts.psth("B", by="level")
    assert list(levels) == [1.0, 2.0]
    assert levels.n_unlabelled == 1
    assert "1 trials without a label" in levels.summary()
    given = counts.psth("B", by=pd.Series([True, True, False, True], name="early"))
    assert list(given) == [False, True]
    assert given.by == "early"
    assert counts.psth("B", by=["b", "a", "b", "a"]).by == "group"
    with pytest.raises(ValueError, match="'side' must be one of the columns"):
        counts.psth("B", by="side")
    with pytest.raises(ValueError, match="3 labels for 4 trials"):
        counts.psth("B", by=[1, 2, 3])


def test_psth_by_a_column_needs_a_table(nwb):
    counts = make_counts(nwb, align_to=[0.0, 1.0])
    with pytest.raises(ValueError, match="one label per trial"):
        counts.psth("B", by="kind")
    assert set(counts.psth("B", by=["u", "v"])) == {"u", "v"}
    with pytest.raises(TypeError, match="one plain label per trial"):
        counts.psth("B", by=[["u"], ["v"]])


def test_psth_frames(counts):
    frame = counts.psth("B").to_frame()
    assert frame.columns.tolist() == ["time", "mean", "sem"]
    np.testing.assert_array_equal(frame["mean"], counts.psth("B").mean)
    assert frame.attrs["nb26stats"]["n_units"] == 2
    both = counts.psth("B", by="kind").to_frame()
    assert both.columns.tolist() == ["kind", "time", "mean", "sem"]
    assert both["kind"].tolist() == ["x", "x", "y", "y"]
    nothing = counts.psth("B", by=[None] * 4)
    assert len(nothing) == 0
    assert nothing.to_frame().columns.tolist() == ["group", "time", "mean", "sem"]


# ---- frames, text, lists -----------------------------------------------------------------------
def test_long_frame(nwb, counts):
    frame = counts.to_frame()
    assert len(frame) == 4 * 2 * 4
    columns = ["trial", "trial_id", "time", "area", "unit_id", "count", "valid"]
    assert frame.columns.tolist() == columns
    wide = frame.pivot_table(
        index=["trial", "time"], columns="unit_id", values="count", sort=False, aggfunc="sum"
    )
    np.testing.assert_array_equal(wide.to_numpy().reshape(TRUTH.shape), TRUTH)
    assert frame.groupby("unit_id")["area"].first().tolist() == ["B", "A", "B", "C"]
    assert frame["trial_id"].unique().tolist() == [5, 6, 7, 8]
    assert frame["valid"].all()
    assert make_counts(nwb, rate=True).to_frame()["rate"].sum() == 2 * TRUTH.sum()


def test_large_results_are_refused_with_advice():
    file = make()
    file.units = units_table([[0.5]], {"location": ["A"]})
    counts = make_counts(file, align_to=np.zeros(6), window=(0, 1), bin_size=1e-6)
    for method in (counts.to_frame, counts.to_r):
        with pytest.raises(ValueError, match=r"6000000 counts.*psth\(\).*sel\(\)"):
            method()
    assert counts.sel(time=(0, 0.1)).to_r()["counts"]["A"]["dim"] == [6, 100000, 1]


def test_plain_form(counts):
    plain = counts.to_r()
    b = plain["counts"]["B"]
    assert b["dim"] == [4, 2, 2]
    np.testing.assert_array_equal(np.reshape(b["data"], b["dim"], order="F"), counts.counts["B"])
    assert plain["areas"] == ["B", "A", "C"]
    assert plain["time"] == {"data": [0.0, 0.5], "dim": [2]}
    assert plain["trial_index"]["data"] == [0, 1, 2, 3]
    assert plain["trial1"]["data"] == [1, 2, 3, 4]
    assert plain["unit1"]["B"]["data"] == [1, 3]
    assert plain["unit_ids"]["A"]["data"] == [22]
    assert plain["trials"]["kind"] == ["x", "y", "x", "y"]
    assert plain["info"]["window"] == [0.0, 1.0]
    _only_plain(plain)
    _only_plain(to_r(counts.psth("B")))
    groups = to_r(counts.psth("B", by="kind"))
    assert set(groups["groups"]) == {"x", "y"}
    _only_plain(groups)
    array = make_counts(make_units_only(), align_to=[0.0, 1.0]).to_r()
    assert array["trials"] is None


def test_plain_form_of_the_thalamus_file():
    path = datasets.path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb")
    counts = make_counts(path, align_to="cue_start_time", window=[-1, 2], bin_size=0.1)
    plain = counts.to_r()["counts"]["Thalamus"]
    assert plain["dim"] == [342, 30, 4]
    assert sum(plain["data"]) == 10670
    assert set(plain) == {"data", "dim"}


def make_units_only():
    file = make()
    file.units = units_table([[0.5]], {"location": ["A"]})
    return file


def _only_plain(x):
    if isinstance(x, dict):
        assert all(type(k) is str for k in x)
        for value in x.values():
            _only_plain(value)
    elif isinstance(x, list):
        for value in x:
            _only_plain(value)
    else:
        assert x is None or type(x) in (str, bool, int, float), type(x)


def test_text_and_html(nwb, counts):
    text = counts.summary()
    assert repr(counts) == text
    assert "4 trials, 2 bins of 0.5 s from 0 to 1 s, 4 units" in text
    line = next(t for t in text.splitlines() if t.startswith("B "))
    assert line.split() == ["B", "2", "7", "0.875", "100", "%"]
    rates = make_counts(nwb, rate=True).summary()
    assert next(t for t in rates.splitlines() if t.startswith("B ")) == line
    assert counts._repr_html_().startswith("<pre>")


def test_html_is_escaped_and_short():
    file = make()
    names = [f"<b>area {i:02d}" for i in range(50)]
    file.units = units_table([[0.5]] * 50, {"location": names})
    html = make_counts(file, align_to=[0.0])._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;area 00" in html
    assert len(html.splitlines()) <= 30


def test_text_of_results_with_missing_parts(nwb):
    kept = make_counts(nwb, align_to=[0.0, np.nan], on_nan="keep")
    assert " 2 " in kept.summary()
    dropped = make_counts(nwb, align_to=[0.0, np.nan])
    assert "events without a time, left out: 1" in dropped.summary()
    nothing = make_counts(nwb, trials=[])
    assert "0 trials" in nothing.summary()
    relative = make_counts(nwb, align_to="level", relative_to="start_time")
    assert "relative to start_time" in relative.summary()


# ---- figures -----------------------------------------------------------------------------------
def test_figures(counts):
    import matplotlib.pyplot as plt

    ax = counts.plot()
    assert ax.get_ylabel() == "firing rate (spikes/s)"
    assert ax.get_xlabel() == "time from start (s)"
    assert counts.plot(areas="b").get_title("left").startswith("B (2 units)")
    _, own = plt.subplots()
    assert counts.psth("B").plot(ax=own) is own
    assert "by kind" in counts.psth("B", by="kind").plot().get_title("left")
    with pytest.raises(ValueError, match="area"):
        counts.plot(areas=["D"])
    plt.close("all")
