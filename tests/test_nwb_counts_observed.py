"""Windows the recording does not cover: observation intervals, invalid times, first, last spike."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from nwb_files import make, units_table

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning
from nb26stats.nwb._observed import merge_intervals, overlaps


def file_with(obs_intervals=None, invalid=(), spikes=None):
    nwb = make()
    n = 2 if obs_intervals is None else len(obs_intervals)
    spikes = [np.arange(0.0, 10.0, 0.1)] * n if spikes is None else spikes
    nwb.units = units_table(spikes, {"location": ["A"] * n}, obs_intervals=obs_intervals)
    for start, stop in invalid:
        nwb.add_invalid_time_interval(start_time=start, stop_time=stop)
    return nwb


def valid(nwb, events, window, width=0.1, **options):
    got = nbn.spike_counts(nwb, align_to=events, window=window, bin_size=width, **options)
    return got.valid["A"]


def test_v23_intervals_have_slack_at_both_ends():
    nwb = file_with([[(0.2, 0.5)], [], [(0.2, 0.499999)]])
    assert 0.3 - 0.1 < 0.2
    np.testing.assert_array_equal(valid(nwb, [0.3], (-0.1, 0.2)), [[True, True, False]])


def test_a_window_must_lie_in_one_interval():
    nwb = file_with([[(0, 2), (3, 5)], [(3, 5), (0, 2)], [(0, 2), (1, 5)], [(0, 1), (1, 5)]])
    got = valid(nwb, [1.0, 1.8, 2.5, 3.5, 4.5], (-0.5, 0.5))
    np.testing.assert_array_equal(got[:, 0], [True, False, False, True, True])
    np.testing.assert_array_equal(got[:, 1], got[:, 0])  # order of rows does not matter
    np.testing.assert_array_equal(got[:, 2], True)  # overlapping rows are one interval
    np.testing.assert_array_equal(got[:, 3], True)  # so are touching ones


def test_intervals_join_across_gaps_up_to_the_tolerance():
    rows = np.array([[1.0, 2.0], [0.0, 0.9999], [2.0, 3.0], [5.0, 4.0], [np.nan, 9.0]])
    starts, stops = merge_intervals(rows, 1e-9)
    np.testing.assert_array_equal(starts, [0.0, 1.0])
    np.testing.assert_array_equal(stops, [0.9999, 3.0])
    starts, stops = merge_intervals(rows, 2e-4)
    np.testing.assert_array_equal((starts[0], stops[0]), (0.0, 3.0))
    nested, ends = merge_intervals(np.array([[0.0, 10.0], [1.0, 2.0], [3.0, 4.0]]), 1e-9)
    np.testing.assert_array_equal((nested[0], ends[0]), (0.0, 10.0))
    assert merge_intervals(np.array([[2.0, 1.0]]), 1e-9)[0].size == 0


def test_a_unit_whose_only_rows_are_unusable_is_not_valid():
    nwb = file_with([[(3.0, 2.0)], [(0, 10)]])
    np.testing.assert_array_equal(valid(nwb, [5.0], (-1, 1)), [[False, True]])


def test_counts_are_never_masked():
    nwb = file_with([[(0, 1)], [(0, 10)]])
    got = nbn.spike_counts(nwb, align_to=[5.0], window=(0, 1), bin_size=0.5)
    np.testing.assert_array_equal(got.counts["A"][0], [[5, 5], [5, 5]])
    np.testing.assert_array_equal(got.valid["A"], [[False, True]])
    assert got.info["n_not_valid"] == 1
    assert got.info["n_units_with_obs_intervals"] == 2


def test_invalid_times_mask_every_unit():
    nwb = file_with([[(0, 10)], []], invalid=[(4.0, 4.5), (1.0, 1.0), (8.0, 9.0), (8.5, 20.0)])
    events = [1.0, 3.0, 4.0, 5.0, 7.0]
    got = nbn.spike_counts(nwb, align_to=events, window=(-0.5, 1), bin_size=0.5)
    # a window may touch an invalid time, and an invalid time without length hides nothing
    expected = [True, True, False, True, True]
    np.testing.assert_array_equal(got.valid["A"], np.column_stack([expected, expected]))
    assert got.info["n_invalid_times"] == 4
    assert got.info["n_windows_in_invalid_times"] == 1
    np.testing.assert_array_equal(
        overlaps(np.array([[8.0, 9.0], [8.5, 20.0]]), np.array([7.5, 15]), np.array([8, 16]), 1e-9),
        [False, True],
    )


def test_overlaps_of_at_most_the_tolerance_do_not_count():
    intervals = np.array([[1.0, 2.0], [-np.inf, 0.0], [5.0, np.inf]])
    begin = np.array([0.0, 2.0 - 1e-10, 2.0 - 1e-6, -9.0, 4.0, 4.5])
    end = np.array([1.0 + 1e-10, 3.0, 3.0, -8.0, 5.0, 6.0])
    expected = [False, False, True, True, False, True]
    np.testing.assert_array_equal(overlaps(intervals, begin, end, 1e-9), expected)


def test_open_invalid_times_reach_to_the_end():
    nwb = file_with(invalid=[(4.0, np.nan)])
    np.testing.assert_array_equal(valid(nwb, [2.0, 6.0], (-1, 1)), [[True, True], [False, False]])


def test_outside_spikes_are_listed_and_warned_about_once():
    nwb = file_with()  # spikes from 0 to 9.9 s
    with pytest.warns(NB26StatsWarning, match="2 of 4 windows") as caught:
        got = nbn.spike_counts(nwb, align_to=[9.5, 5.0, 0.2, 3.0], window=(-0.5, 0.5))
    assert len(caught) == 1
    assert got.info["outside_spikes"] == [0, 2]
    np.testing.assert_array_equal(got.valid["A"], True)
    assert got.n_trials == 4
    # with intervals in the file the spikes say nothing about the recording
    other = file_with([[(0, 20)], []])
    got = nbn.spike_counts(other, align_to=[9.5, 5.0], window=(-0.5, 0.5))
    assert got.info["outside_spikes"] == []


def test_windows_that_end_on_the_first_and_last_spike_are_inside():
    nwb = file_with(spikes=[[1.0, 2.0], [1.5]])
    got = nbn.spike_counts(nwb, align_to=[1.5], window=(-0.5, 0.5))
    assert got.info["outside_spikes"] == []


def test_events_on_another_clock_get_a_warning_of_their_own():
    nwb = file_with(spikes=[[100.0, 150.0], [120.0]])
    with pytest.warns(
        NB26StatsWarning, match="no spike can fall in any of the 3 windows"
    ) as caught:
        got = nbn.spike_counts(nwb, align_to=[1.0, 21.0, 41.0], window=(-0.5, 0.5))
    assert len(caught) == 1
    assert got.to_array().sum() == 0
    assert got.info["outside_spikes"] == [0, 1, 2]


def test_on_outside_drop_and_raise():
    nwb = file_with([[(0, 4)], [(3, 9)]])
    events = [1.0, 3.5, 20.0, 8.0]
    got = nbn.spike_counts(
        nwb, align_to=events, window=(-0.5, 0.5), bin_size=0.5, on_outside="drop"
    )
    assert got.trial_index.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(got.valid["A"], [[True, False], [True, True], [False, True]])
    assert got.info["n_dropped_outside"] == 1
    assert "outside the recording" in got.summary()
    with pytest.raises(ValueError, match=r"1 windows lie where no selected unit.*0 start before"):
        nbn.spike_counts(nwb, align_to=events, window=(-0.5, 0.5), bin_size=0.5, on_outside="raise")
    plain = file_with()
    with (
        pytest.warns(NB26StatsWarning, match="2 of 3 windows"),
        pytest.raises(ValueError, match=r"0 windows lie where no selected unit.*2 start before"),
    ):
        nbn.spike_counts(plain, align_to=[0.1, 5.0, 9.9], window=(-1, 1), on_outside="raise")
    inside = nbn.spike_counts(plain, align_to=[5.0], window=(-1, 1), on_outside="raise")
    assert inside.n_trials == 1


def test_drop_looks_at_the_selected_units_only():
    nwb = make()
    nwb.units = units_table(
        [[1.0], [1.0]], {"location": ["A", "B"]}, obs_intervals=[[(0, 2)], [(4, 6)]]
    )
    options = {"align_to": [1.0, 5.0], "window": (-0.5, 0.5), "bin_size": 0.5}
    both = nbn.spike_counts(nwb, **options, on_outside="drop")
    assert both.trial_index.tolist() == [0, 1]
    first = nbn.spike_counts(nwb, **options, on_outside="drop", areas="A")
    assert first.trial_index.tolist() == [0]


def test_events_without_a_time_are_kept_but_not_valid():
    nwb = file_with([[(0, 10)], []])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = nbn.spike_counts(
            nwb, align_to=[np.nan, 5.0], window=(0, 1), bin_size=0.5, on_nan="keep",
            on_outside="drop",
        )  # fmt: skip
    np.testing.assert_array_equal(got.valid["A"], [[False, False], [True, True]])
    assert np.isnan(got.counts["A"][0]).all()
    assert got.info["n_dropped_outside"] == 0


def test_nothing_left_is_an_empty_result_with_a_warning():
    nwb = file_with([[(0, 1)], [(0, 1)]])
    with pytest.warns(NB26StatsWarning, match="none of the 2 events is left"):
        got = nbn.spike_counts(
            nwb, align_to=[5.0, 7.0], window=(0, 1), bin_size=0.5, on_outside="drop"
        )
    assert got.counts["A"].shape == (0, 2, 2)
