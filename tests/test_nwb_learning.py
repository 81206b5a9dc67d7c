"""Behaviour tables as input of a model of learning, and the sessions of one animal in order."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from behavior_files import (
    START,
    aibs_columns,
    alm_columns,
    ibl_columns,
    legacy_columns,
    trial_file,
)
from hypothesis import given
from hypothesis import strategies as st

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats._results import to_r

GUO = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
FIELDS = {
    "stimulus": np.float64,
    "contrast": np.float64,
    "choice": np.int8,
    "reward": np.int8,
    "likelihood_mask": np.bool_,
    "trial": np.int64,
    "session": np.int64,
}


def ibl_table(**kwargs: Any) -> pd.DataFrame:
    return nbn.behavior(trial_file(ibl_columns(), **kwargs))


def day(k: int, **kwargs: Any) -> pd.DataFrame:
    start = START + datetime.timedelta(days=k)
    return ibl_table(start=start, session_id=f"day {k}", **kwargs)


def plain_table(n: int = 4) -> dict[str, Any]:
    return {
        "trial": list(range(n)),
        "stim_left": [0.5, 0.0, 0.25, 0.25][:n],
        "stim_right": [0.0, 1.0, 0.25, 0.0][:n],
        "stim_side": ["left", "right", "none", "left"][:n],
        "choice": ["left", "left", "right", "none"][:n],
        "reward": [1.0, 0.0, 1.0, 0.0][:n],
        "include": [True, True, False, True][:n],
        "photostim": [False, True, False, False][:n],
    }


# to_learning


def test_fields_types_and_values() -> None:
    bh = ibl_table()
    d = nbn.to_learning(bh)
    assert list(d) == [*FIELDS, "session_names", "info"]
    chosen = bh[bh["choice"] != "none"]
    for name, dtype in FIELDS.items():
        assert d[name].dtype == dtype, name
        assert d[name].shape == ((56, 2) if name == "stimulus" else (56,)), name
        assert d[name].flags.c_contiguous
    np.testing.assert_array_equal(d["stimulus"], chosen[["stim_left", "stim_right"]])
    np.testing.assert_array_equal(d["contrast"], chosen["signed_contrast"])
    np.testing.assert_array_equal(d["choice"], chosen["choice"] == "right")
    np.testing.assert_array_equal(d["reward"], chosen["reward"])
    np.testing.assert_array_equal(d["trial"], chosen["trial"])
    assert d["likelihood_mask"].all()
    assert not d["session"].any()
    assert d["session_names"] == ["day 1"]
    info = d["info"]
    assert (info["n_rows"], info["n_trials"], info["n_no_choice"]) == (60, 56, 4)
    assert info["convention"] == "ibl"
    assert info["subject"] == "mouse 1"
    assert info["session_start_time"] == START.isoformat()
    json.dumps({k: v for k, v in info.items() if k != "agreement"})


def test_alm_has_full_contrast_on_the_cued_side() -> None:
    bh = nbn.behavior(datasets.path(GUO))
    d = nbn.to_learning(bh)
    chosen = bh[bh["choice"] != "none"]
    left = (chosen["stim_side"] == "left").to_numpy()
    np.testing.assert_array_equal(d["stimulus"][:, 0], left)
    np.testing.assert_array_equal(d["stimulus"][:, 1], ~left)
    np.testing.assert_array_equal(d["contrast"], np.where(left, -1.0, 1.0))
    np.testing.assert_array_equal(d["likelihood_mask"], ~chosen["photostim"])
    assert d["info"]["n_masked"] == 53


def test_excluded_and_photostimulated_trials_stay_with_mask_false() -> None:
    d = nbn.to_learning(plain_table())
    assert d["trial"].tolist() == [0, 1, 2]
    assert d["likelihood_mask"].tolist() == [True, False, False]
    assert d["choice"].tolist() == [0, 0, 1]
    assert d["contrast"].tolist() == [-0.5, 1.0, 0.0]
    assert d["info"]["n_no_choice"] == 1
    assert d["info"]["n_masked"] == 2
    assert d["session_names"] == ["session"]


def test_zero_drop_leaves_out_equal_contrasts() -> None:
    d = nbn.to_learning(plain_table(), zero="drop")
    assert d["trial"].tolist() == [0, 1]
    assert d["info"]["n_equal_dropped"] == 1
    bh = ibl_table()
    n_zero = int(((bh["signed_contrast"] == 0) & (bh["choice"] != "none")).sum())
    assert n_zero > 0
    assert nbn.to_learning(bh, zero="drop")["choice"].size == 56 - n_zero


def test_what_r_sends_is_the_same_table() -> None:
    bh = ibl_table()
    direct, back = nbn.to_learning(bh), nbn.to_learning(to_r(bh))
    for name in FIELDS:
        np.testing.assert_array_equal(back[name], direct[name])
    one_row = {name: values[0] for name, values in plain_table(1).items()}
    assert nbn.to_learning(one_row)["contrast"].tolist() == [-0.5]
    factors = pd.DataFrame(plain_table()).astype({"choice": "category", "stim_side": "category"})
    assert nbn.to_learning(factors)["choice"].tolist() == [0, 0, 1]


def test_the_plain_form_of_the_arrays_goes_to_r() -> None:
    plain = to_r(nbn.to_learning(ibl_table()))
    assert plain["stimulus"]["dim"] == [56, 2]
    assert len(plain["choice"]["data"]) == 56


def test_missing_rewards_count_only_where_there_is_a_choice() -> None:
    table = plain_table()
    table["reward"] = [1.0, 0.0, 1.0, float("nan")]
    assert nbn.to_learning(table)["reward"].tolist() == [1, 0, 1]
    table["reward"] = [1.0, float("nan"), float("nan"), float("nan")]
    with pytest.raises(ValueError, match="NaN on 2 of 3 trials with a choice"):
        nbn.to_learning(table)
    # the equal contrasts are dropped, and with them one of the two
    with pytest.raises(ValueError, match="NaN on 1 of 2 trials with a choice"):
        nbn.to_learning(table, zero="drop")


def test_a_task_without_sides_is_refused() -> None:
    bh = nbn.behavior(trial_file(aibs_columns()))
    with pytest.raises(nbn.ConventionError, match="no left and right choices"):
        nbn.to_learning(bh)
    with pytest.raises(nbn.ConventionError, match="no left and right choices"):
        nbn.to_learning(to_r(bh))


def test_no_choice_at_all_gives_empty_arrays() -> None:
    d = nbn.to_learning({**plain_table(), "choice": ["none"] * 4})
    assert d["stimulus"].shape == (0, 2)
    assert d["info"]["n_no_choice"] == 4


def _with(**changes: Any) -> dict[str, Any]:
    return {**plain_table(), **changes}


@pytest.mark.parametrize(
    ("table", "kwargs", "error", "match"),
    [
        ("session.nwb", {}, TypeError, "bh must be a table"),
        (None, {}, TypeError, "bh must be a table"),
        ([1, 2], {}, TypeError, "bh must be a table"),
        (np.zeros((3, 2)), {}, TypeError, "bh must be a table"),
        ({}, {}, nbn.MissingColumnError, "lacks trial, stim_left.*it has no columns"),
        (pd.DataFrame({"choice": []}), {}, nbn.MissingColumnError, "it has choice"),
        (_with(), {"zero": "remove"}, ValueError, "zero='remove' must be one of 'keep', 'drop'"),
        (_with(), {"zero": True}, TypeError, "zero"),
        (_with(choice=["left", "left"]), {}, ValueError, "differ in length: .*choice 2"),
        (
            _with(choice=["left", "up", "down", "none"]),
            {},
            nbn.ConventionError,
            "got 'down', 'up'",
        ),
        (_with(choice=["left", None, "right", "none"]), {}, nbn.ConventionError, "'missing'"),
        (_with(choice=["left", "NA", "right", "none"]), {}, nbn.ConventionError, "'NA'"),
        (_with(choice=[0, 1, 1, 0]), {}, nbn.ConventionError, "got '0', '1'"),
        (_with(stim_side=["l", "r", "l", "r"]), {}, nbn.ConventionError, "stim_side must be"),
        (_with(reward=[1, 0, 2, 0]), {}, ValueError, "column 'reward' must hold true/false or 1/0"),
        (_with(reward=["a", "b", "c", "d"]), {}, ValueError, "column 'reward'"),
        (_with(reward=[[1], [0], [1], [0]]), {}, ValueError, "one value a trial; row 0"),
        (_with(stim_left=["a", 0, 0, 0]), {}, ValueError, "column 'stim_left' must hold numbers"),
        (_with(stim_right=[50.0, 0, 0, 0]), {}, ValueError, "from 0 to 1, largest is 50"),
        (_with(stim_left=[-0.5, 0, 0, 0]), {}, ValueError, "'stim_left' must hold contrasts"),
        (_with(stim_left=[np.inf, 0, 0, 0]), {}, ValueError, "finite numbers"),
        (_with(stim_left=[np.nan, 0, 0, 0]), {}, ValueError, "1 trials with a choice have no kno"),
        (_with(trial=[0, 1, -2147483648, 3]), {}, ValueError, "NA_integer_"),
        (_with(trial=[0, 1, 2.5, 3]), {}, ValueError, "column 'trial' must hold whole numbers"),
        (_with(trial=[0, 1, np.nan, 3]), {}, ValueError, "column 'trial' must hold whole numbers"),
        (_with(include=["perhaps"] * 4), {}, ValueError, "column 'include'"),
    ],
)
def test_bad_tables(table: Any, kwargs: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        nbn.to_learning(table, **kwargs)


# concat_sessions


def test_sessions_are_ordered_by_their_start() -> None:
    parts = [nbn.to_learning(day(k)) for k in (2, 0, 1)]
    parts[1] = {**parts[1], "reward": 1 - parts[1]["reward"]}
    d = nbn.concat_sessions(parts)
    assert list(d) == [*FIELDS, "session_names", "info"]
    assert d["session_names"] == ["day 0", "day 1", "day 2"]
    np.testing.assert_array_equal(d["session"], np.repeat([0, 1, 2], 56))
    np.testing.assert_array_equal(d["reward"][:56], parts[1]["reward"])
    np.testing.assert_array_equal(d["reward"][56:112], parts[2]["reward"])
    np.testing.assert_array_equal(d["trial"], np.tile(parts[0]["trial"], 3))
    for name, dtype in FIELDS.items():
        assert d[name].dtype == dtype
    assert d["stimulus"].shape == (168, 2)
    assert d["info"]["subject"] == "mouse 1"
    assert d["info"]["n_trials"] == 168
    assert [i["session_start_time"] for i in d["info"]["sessions"]] == sorted(
        p["info"]["session_start_time"] for p in parts
    )


def test_behaviour_tables_may_be_joined_directly() -> None:
    tables = [day(1), day(0)]
    joined = nbn.concat_sessions(tables)
    expected = nbn.concat_sessions([nbn.to_learning(t) for t in tables])
    for name in FIELDS:
        np.testing.assert_array_equal(joined[name], expected[name])
    assert joined["session_names"] == ["day 0", "day 1"]


def test_the_order_follows_the_instant_not_the_text() -> None:
    east = datetime.timezone(datetime.timedelta(hours=9))
    early = day(0, subject="mouse 1")
    late = day(0, subject="mouse 1")
    # 18:00 in the east is before 09:30 UTC
    early.attrs.update(
        session_start_time=datetime.datetime(2024, 5, 17, 18, 0, tzinfo=east).isoformat(),
        session="early",
    )
    assert nbn.concat_sessions([late, early])["session_names"] == ["early", "day 0"]
    early.attrs["session_start_time"] = datetime.datetime(2024, 5, 17, 18, 0, tzinfo=east)
    assert nbn.concat_sessions([late, early])["session_names"] == ["early", "day 0"]


def test_one_session_alone_is_fine() -> None:
    d = nbn.to_learning(day(0))
    for parts in ([d], (d,), d, day(0), {"only": d}):
        assert nbn.concat_sessions(parts)["choice"].size == 56


def _through_r(d: dict[str, Any]) -> dict[str, Any]:
    """Return a part as R gives it back: lists, scalars for vectors of length one, text names."""
    out = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in copy.deepcopy(d).items()
    }
    out["session_names"] = out["session_names"][0]
    out["choice"] = [float(v) for v in out["choice"]]
    return out


@pytest.mark.parametrize("form", [_through_r, to_r])
def test_parts_that_went_through_r(form: Callable[[Any], dict[str, Any]]) -> None:
    parts = [nbn.to_learning(day(k)) for k in (1, 0)]
    joined = nbn.concat_sessions({"b": form(parts[0]), "a": form(parts[1])})
    expected = nbn.concat_sessions(parts)
    for name in FIELDS:
        np.testing.assert_array_equal(joined[name], expected[name])
        assert joined[name].dtype == expected[name].dtype


def _part(k: int = 0, drop: str = "", **changes: Any) -> dict[str, Any]:
    d = nbn.to_learning(day(k))
    d.update(changes)
    d.pop(drop, None)
    return d


def _info(k: int = 0, **changes: Any) -> dict[str, Any]:
    d = _part(k)
    d["info"].update(changes)
    return d


@pytest.mark.parametrize(
    ("parts", "error", "match"),
    [
        (lambda: [], ValueError, "parts is empty"),
        (lambda: {}, ValueError, "parts is empty"),
        (lambda: None, TypeError, "parts must be a list"),
        (lambda: "a.nwb", TypeError, "parts must be a list"),
        (lambda: 3, TypeError, "parts must be a list"),
        (lambda: ["a.nwb"], TypeError, "part 0 must be an output of to_learning"),
        (lambda: [_part(), 3], TypeError, "part 1 must be an output of to_learning"),
        (lambda: [_part(), _part()], ValueError, "parts 0 and 1 both start at 2024-05-17T09:30"),
        (lambda: [_info(session_start_time=None)], ValueError, "has no session_start_time"),
        (lambda: [to_r(day(0))], ValueError, "has no session_start_time"),
        (lambda: [_info(session_start_time="May")], ValueError, "no date and time: 'May'"),
        (lambda: [_info(session_start_time=7)], TypeError, "must be text or a datetime"),
        (
            lambda: [_part(0), _info(1, session_start_time="2024-05-18T09:30:00")],
            ValueError,
            "some have none",
        ),
        (
            lambda: [_part(0), _info(1, subject="mouse 2")],
            ValueError,
            "different subjects: mouse",
        ),
        (lambda: [_part(0), _info(1, subject=None)], ValueError, "different subjects"),
        (lambda: [_part(0), _info(1, convention="alm")], ValueError, "different conventions: alm"),
        (
            lambda: [_part(drop="info")],
            ValueError,
            "is no output of to_learning.*lacks info",
        ),
        (lambda: [_part(info="x")], TypeError, "info of part 0 must be a dict"),
        (lambda: [_part(choice=[0, 1])], ValueError, "do not fit together"),
        (lambda: [_part(stimulus=np.zeros((56, 3)))], ValueError, "do not fit together"),
        (lambda: [_part(choice=["left"] * 56)], ValueError, "choice of part 0 must hold numbers"),
        (lambda: [_part(reward=[float("nan")] * 56)], ValueError, "holds missing values"),
        (lambda: [_part(reward=[-2147483648] * 56)], ValueError, "holds missing values"),
        (lambda: [_part(stimulus={"a": 1})], ValueError, "stimulus of part 0 must be an array"),
        (
            lambda: [nbn.concat_sessions([_part(0), _part(1)])],
            ValueError,
            "part 0 holds 2 sessions",
        ),
    ],
)
def test_bad_parts(parts: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        nbn.concat_sessions(parts())


def test_conventions_that_differ_are_not_mixed() -> None:
    alm = nbn.behavior(trial_file(alm_columns(), start=START + datetime.timedelta(days=1)))
    with pytest.raises(ValueError, match="different conventions: alm, ibl"):
        nbn.concat_sessions([ibl_table(), alm])
    legacy = nbn.behavior(trial_file(legacy_columns(), start=START + datetime.timedelta(days=1)))
    with pytest.raises(ValueError, match="different conventions: ibl, ibl_legacy"):
        nbn.concat_sessions([ibl_table(), legacy])


# properties

SIDE = st.sampled_from(["left", "right", "none"])
ROW = st.tuples(SIDE, SIDE, st.sampled_from([0.0, 0.25, 1.0]), st.booleans(), st.booleans())


@given(st.lists(ROW, max_size=30), st.sampled_from(["keep", "drop"]))
def test_length_and_order_are_those_of_the_choices(rows: list[Any], zero: str) -> None:
    table = {
        "trial": list(range(len(rows))),
        "stim_left": [c if side == "left" else 0.0 for side, _, c, _, _ in rows],
        "stim_right": [c if side == "right" else 0.0 for side, _, c, _, _ in rows],
        "stim_side": [side for side, *_ in rows],
        "choice": [choice for _, choice, *_ in rows],
        "reward": [float(side == choice) for side, choice, *_ in rows],
        "include": [a for *_, a, _ in rows],
        "photostim": [b for *_, b in rows],
    }
    d = nbn.to_learning(table, zero=zero)
    kept = [
        i
        for i, (side, choice, c, _, _) in enumerate(rows)
        if choice != "none" and (zero == "keep" or (side != "none" and c > 0))
    ]
    assert d["trial"].tolist() == kept
    assert [d[name].shape[0] for name in FIELDS] == [len(kept)] * len(FIELDS)
    assert d["likelihood_mask"].tolist() == [rows[i][3] and not rows[i][4] for i in kept]
    np.testing.assert_array_equal(d["stimulus"][:, 1] - d["stimulus"][:, 0], d["contrast"])
    info = d["info"]
    assert info["n_trials"] + info["n_no_choice"] + info["n_equal_dropped"] == len(rows)


@given(st.permutations(range(4)))
def test_the_order_of_the_parts_does_not_matter(order: list[int]) -> None:
    parts = []
    for k in range(4):
        d = nbn.to_learning({**plain_table(), "trial": [10 * k + j for j in range(4)]})
        d["info"]["session_start_time"] = f"2024-05-{10 + k}T09:30:00"
        parts.append(d)
    joined = nbn.concat_sessions([parts[k] for k in order])
    assert joined["trial"].tolist() == [10 * k + j for k in range(4) for j in range(3)]
    assert joined["session"].tolist() == [k for k in range(4) for _ in range(3)]
