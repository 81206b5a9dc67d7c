"""What event columns count from: the session clock, the trial start, or nothing usable."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from nwb_files import make, trial_table, units_table

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats.nwb._align import column_verdict, event_times
from nb26stats.nwb._session import as_session
from nb26stats.nwb._tables import find_table

RELATIVE = "sub-anm369963_ses-20170228.nwb"
ABSOLUTE = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"


def file_with(columns, ids=None):
    """A file in memory: trials of 5 s every 10 s from 100 s on, and these columns."""
    n = len(next(iter(columns.values())))
    start = 100.0 + 10.0 * np.arange(n)
    nwb = make()
    nwb.trials = trial_table({"start_time": start, "stop_time": start + 5, **columns}, ids=ids)
    nwb.units = units_table([np.arange(0, 400, 0.5)], {"location": ["A"]})
    return nwb


def verdict(source, column, table="trials"):
    with as_session(source) as session:
        return column_verdict(session, find_table(session, table), column)


def times(source, **options):
    with as_session(source) as session:
        return event_times(session, **options)


@pytest.mark.parametrize(
    ("name", "column", "expected", "fa", "fr"),
    [
        (RELATIVE, "cue_start_time", "relative", 0.0, 0.927),
        (RELATIVE, "pole_in_time", "relative", 0.0, 0.989),
        (RELATIVE, "pole_out_time", "relative", 0.0, 0.983),
        (ABSOLUTE, "cue_start_time", "absolute", 1.0, 0.0),
        (ABSOLUTE, "pole_in_time", "absolute", 1.0, 0.0),
        (ABSOLUTE, "pole_out_time", "absolute", 1.0, 0.0),
    ],
)
def test_shares_of_the_shipped_files(name, column, expected, fa, fr):
    found = verdict(datasets.path(name), column)
    assert found.verdict == expected
    assert found.fa == pytest.approx(fa, abs=5e-4)
    assert found.fr == pytest.approx(fr, abs=5e-4)
    assert found.reference == ("start_time" if expected == "relative" else None)


@pytest.mark.parametrize("name", [RELATIVE, ABSOLUTE])
@pytest.mark.parametrize("column", ["stim_present", "is_good", "photo_stim_power"])
def test_v22_flags_and_powers_are_no_times(name, column):
    path = datasets.path(name)
    if name == RELATIVE and column == "photo_stim_power":
        with pytest.raises(nbn.MissingColumnError, match="photo_stim_power"):
            nbn.spike_counts(path, align_to=column)
        return
    with pytest.raises(ValueError, match=f"'{column}'.*relative_to='start_time'"):
        nbn.spike_counts(path, align_to=column)


def test_v22_the_verdict_is_that_of_the_whole_table():
    for name, expected in ((RELATIVE, "relative"), (ABSOLUTE, "absolute")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NB26StatsWarning)
            one = nbn.spike_counts(
                datasets.path(name), align_to="cue_start_time", trials=[5], on_nan="keep"
            )
        assert one.info["verdict"] == expected
        assert one.trial_index.tolist() == [5]


def test_relative_times_warn_with_their_share_and_say_how_to_stop_it():
    nwb = file_with({"cue_time": np.full(8, 2.0)})
    with pytest.warns(NB26StatsWarning, match=r"100\.0%.*relative_to='start_time'") as caught:
        got, _, found = times(nwb, align_to="cue_time", relative_to="auto")
    assert len(caught) == 1
    np.testing.assert_array_equal(got, 102.0 + 10 * np.arange(8))
    assert (found.verdict, found.reference) == ("relative", "start_time")
    # no warning once it is said
    said, _, found = times(nwb, align_to="cue_time", relative_to="start_time")
    np.testing.assert_array_equal(said, got)
    assert (found.verdict, found.reference) == ("relative", "start_time")


def test_explicit_references():
    cue = 100.0 + 10.0 * np.arange(6) + 1
    nwb = file_with({"cue_time": cue, "delay": np.full(6, 0.25), "lick": np.arange(6)})
    session, _, found = times(nwb, align_to="delay", relative_to="session")
    np.testing.assert_array_equal(session, np.full(6, 0.25))
    assert found.verdict == "absolute"
    other, _, found = times(nwb, align_to="delay", relative_to="cue_time")
    np.testing.assert_array_equal(other, cue + 0.25)
    assert (found.verdict, found.reference) == ("relative", "cue_time")
    # whole numbers are times once the caller says so
    whole, _, _ = times(nwb, align_to="lick", relative_to="start_time")
    np.testing.assert_array_equal(whole, 100.0 + 11 * np.arange(6))


def test_start_and_stop_are_absolute_whatever_their_values():
    nwb = make()
    nwb.trials = trial_table({"start_time": [5.0, 3.0], "stop_time": [np.nan, 4.0]})
    assert verdict(nwb, "start_time").verdict == "absolute"
    assert verdict(nwb, "stop_time").verdict == "absolute"
    got, ids, _ = times(nwb, align_to="stop_time")
    np.testing.assert_array_equal(got, [np.nan, 4.0])
    assert ids.tolist() == [0, 1]


def test_next_start_follows_time_and_not_row_order():
    # without stop times, an event 8 s into a trial is inside it only if the next start is 10 s on
    start = 100.0 + 10.0 * np.arange(20)
    order = np.random.default_rng(0).permutation(20)
    nwb = make()
    nwb.trials = trial_table(
        {
            "start_time": start[order],
            "stop_time": np.full(20, np.nan),
            "cue_time": start[order] + 8.0,
            "late_time": start[order] + 12.0,
        }
    )
    assert verdict(nwb, "cue_time").fa == 1.0
    late = verdict(nwb, "late_time")
    # only the trial that starts last has no end
    assert late.fa == pytest.approx(1 / 20)
    assert late.verdict == "undecided"


def test_missing_stop_times_drop_no_trial():
    nwb = make()
    nwb.trials = trial_table({"start_time": np.arange(6) * 10.0, "stop_time": np.full(6, np.nan)})
    nwb.units = units_table([np.arange(-5, 70, 0.5)], {"location": ["A"]})
    got = nbn.spike_counts(nwb, window=(0, 1), bin_size=0.5)
    assert got.counts["A"].shape == (6, 2, 1)
    np.testing.assert_array_equal(got.counts["A"], 1)


def test_mixed_times_are_refused_with_both_ranges():
    start = 100.0 + 10.0 * np.arange(10)
    nwb = file_with({"cue_time": np.where(np.arange(10) < 5, start + 1, 1.0)})
    with pytest.raises(ValueError, match=r"1 to 141 s and start_time from 100 to 190 s"):
        times(nwb, align_to="cue_time")


def test_few_rows_decide_only_when_all_are_absolute():
    start = 100.0 + 10.0 * np.arange(4)
    assert verdict(file_with({"cue_time": start + 1}), "cue_time").verdict == "absolute"
    few = verdict(file_with({"cue_time": np.full(4, 1.0)}), "cue_time")
    assert few.verdict == "undecided"
    assert "too few" in few.note
    many = np.full(20, np.nan)
    many[:4] = 1.0
    assert verdict(file_with({"cue_time": many}), "cue_time").verdict == "undecided"
    many[:5] = 1.0
    assert verdict(file_with({"cue_time": many}), "cue_time").verdict == "relative"


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, "relative"), (0.8, "relative"), (0.75, "undecided")]
)
def test_four_fifths_of_relative_times_are_enough(share, expected):
    values = np.where(np.arange(40) < 40 * share, 2.0, 300.0)
    found = verdict(file_with({"cue_time": values}), "cue_time")
    assert found.fr == pytest.approx(share)
    assert found.verdict == expected


@pytest.mark.parametrize(
    ("name", "accepted"),
    [("x_onset", True), ("OFFSET", True), ("startle", True), ("power", False), ("position", False)],
)
def test_relative_needs_a_name_that_speaks_of_time(name, accepted):
    found = verdict(file_with({name: np.full(8, 2.0)}), name)
    assert found.verdict == ("relative" if accepted else "undecided")
    assert accepted or "relative_to='start_time'" in found.note


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (["a"] * 6, "holds text"),
        (np.arange(6), "whole numbers"),
        (np.array([True, False] * 3), "true/false"),
        (np.full(6, np.nan), "no finite time"),
        ([[1.0, 2.0]] * 6, "several values"),
    ],
    ids=["text", "integers", "booleans", "nan", "ragged"],
)
def test_columns_that_cannot_be_times(values, match):
    nwb = file_with({"cue_time": values})
    found = verdict(nwb, "cue_time")
    assert found.verdict == "undecided"
    with pytest.raises(ValueError, match=match):
        times(nwb, align_to="cue_time")


def test_a_reference_column_must_hold_times():
    nwb = file_with({"cue_time": np.full(6, 1.0), "kind": ["a"] * 6, "flag": [True] * 6})
    for column in ("kind", "flag"):
        with pytest.raises(ValueError, match=f"relative_to='{column}'"):
            times(nwb, align_to="cue_time", relative_to=column)
    with pytest.raises(nbn.MissingColumnError, match="elsewhere"):
        times(nwb, align_to="cue_time", relative_to="elsewhere")
    with pytest.raises(ValueError, match="is the align_to column itself"):
        times(nwb, align_to="cue_time", relative_to="cue_time")


def test_arrays_of_times_need_no_table():
    nwb = make()
    nwb.units = units_table([np.arange(0, 10, 0.25)], {"location": ["A"]})
    got = nbn.spike_counts(nwb, align_to=[2.0, 5.0, 1.0], window=(0, 1), bin_size=0.5)
    np.testing.assert_array_equal(got.counts["A"], np.full((3, 2, 1), 2))
    assert got.trial_id.tolist() == [0, 1, 2]
    assert got.trials is None
    assert (got.info["verdict"], got.info["table"]) == ("array", None)
    some = nbn.spike_counts(
        nwb, align_to=[2.0, 5.0, 1.0], window=(0, 1), bin_size=0.5, trials=[False, True, True]
    )
    assert some.trial_index.tolist() == [1, 2]
    assert some.event_times.tolist() == [5.0, 1.0]
    with pytest.raises(ValueError, match="needs a column"):
        times(nwb, align_to=[1.0], relative_to="start_time")
    with pytest.raises(ValueError, match="no table to ask"):
        nbn.spike_counts(nwb, align_to=[2.0, 5.0], window=(0, 1), trials="x > 1")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (2, [2.0]),
        ((1, 2.5), [1.0, 2.5]),
        (np.array([1, 2], np.int64), [1.0, 2.0]),
        ([1.0, None, 2.0], [1.0, np.nan, 2.0]),
        ([pd.NA, 4], [np.nan, 4.0]),
        (np.ma.array([1, 2], mask=[False, True]), [1.0, np.nan]),
        (pd.Series([3.0, 1.0], index=[7, 8]), [3.0, 1.0]),
        (np.array([1500, "NaT"], "timedelta64[ms]"), [1.5, np.nan]),
        (pd.to_timedelta([1, None], unit="s"), [1.0, np.nan]),
    ],
    ids=["scalar", "tuple", "integers", "none", "na", "masked", "series", "timedelta", "pandas"],
)
def test_times_come_in_many_forms(values, expected):
    got, ids, _ = times(make(), align_to=values)
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == np.float64
    assert ids.tolist() == list(range(len(expected)))


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (None, TypeError),
        ([True, False], TypeError),
        (["1.0"], TypeError),
        ({"a": 1}, TypeError),
        (np.array(["2020-01-01"], "datetime64[s]"), TypeError),
        ([1j], TypeError),
        ([[1.0, 2.0]], ValueError),
        ([[1.0], [2.0, 3.0]], ValueError),
        ([np.nan, np.inf], ValueError),
        (np.array([-2147483648, 3], np.int32), ValueError),
        ("", ValueError),
    ],
    ids=str,
)
def test_arrays_that_are_no_times(values, error):
    with pytest.raises(error, match="align_to"):
        times(make(), align_to=values)


def test_coarse_event_times_warn_once():
    start = (100.0 + 10.0 * np.arange(8)).astype(np.float32)
    nwb = make()
    nwb.trials = trial_table(
        {"start_time": start, "stop_time": start + 5, "cue_time": start + np.float32(0.1)}
    )
    with pytest.warns(NB26StatsWarning, match=r"event times .* apart") as caught:
        got, _, _ = times(nwb, align_to="cue_time")
    assert len(caught) == 1
    assert got.dtype == np.float64


def test_a_table_without_rows_is_legal():
    nwb = make()
    nwb.trials = trial_table({"start_time": np.empty(0), "cue_time": np.empty(0)})
    nwb.units = units_table([[1.0]], {"location": ["A"]})
    for column in ("start_time", "cue_time"):
        got = nbn.spike_counts(nwb, align_to=column, window=(0, 1), bin_size=0.5)
        assert got.counts["A"].shape == (0, 2, 1)
