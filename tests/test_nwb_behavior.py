"""The canonical behaviour table: conventions, the side check, mappings, clocks and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pynwb
import pytest
from behavior_files import (
    aibs_columns,
    alm_columns,
    ibl_columns,
    legacy_columns,
    starts,
    steinmetz_columns,
    trial_file,
)
from hypothesis import given
from hypothesis import strategies as st

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats._results import to_r
from nb26stats.nwb._behavior import COLUMNS
from nb26stats.nwb._behavior_columns import as_flags, as_key, as_numbers
from nb26stats.nwb._sides import check_sides, swap

GUO = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ECONOMO = "sub-anm369963_ses-20170228.nwb"


def economo() -> pd.DataFrame:
    with pytest.warns(NB26StatsWarning, match="relative to start_time"):
        return nbn.behavior(datasets.path(ECONOMO))


# real files


def test_v12_alm_file_with_photostimulation() -> None:
    bh = nbn.behavior(datasets.path(GUO))
    assert bh.attrs["convention"] == "alm"
    assert bh["choice"].value_counts().to_dict() == {"left": 157, "right": 98, "none": 157}
    assert bh["reward"].sum() == 175
    assert bh["include"].sum() == 342
    assert bh["photostim"].sum() == 67
    judged = bh[bh["correct"].notna()]
    assert len(judged) == 255
    assert judged["correct"].sum() == 175
    assert judged["correct"].mean() == pytest.approx(0.686275, abs=5e-7)
    dark, lit = judged[~judged["photostim"]], judged[judged["photostim"]]
    assert (len(dark), len(lit)) == (202, 53)
    assert dark["correct"].mean() == pytest.approx(0.712871, abs=5e-7)
    assert lit["correct"].mean() == pytest.approx(0.584906, abs=5e-7)
    learning = nbn.to_learning(bh)
    assert learning["choice"].size == 255
    assert learning["likelihood_mask"].sum() == 202


def test_v13_alm_file_with_relative_times() -> None:
    bh = economo()
    assert bh["choice"].value_counts().to_dict() == {"left": 72, "right": 73, "none": 33}
    assert bh["reward"].sum() == 132
    assert (bh["correct"].sum(), bh["correct"].notna().sum()) == (132, 145)
    tr = nbn.trials(datasets.path(ECONOMO))
    np.testing.assert_array_equal(bh["t_go"], tr["start_time"] + tr["cue_start_time"])


def test_v20_first_lick_after_the_cue_is_on_the_chosen_side() -> None:
    bh = economo()
    with datasets.load_nwb(ECONOMO) as session:
        series = session.nwbfile.acquisition["lick_times"].time_series
        licks = {
            side: np.sort(series[f"lick_{side}_times"].timestamps[:]) for side in ("left", "right")
        }
    agree, latencies = 0, []
    for _, trial in bh[bh["correct"].fillna(False)].iterrows():
        first = {
            side: times[np.searchsorted(times, trial["t_go"])]
            for side, times in licks.items()
            if np.searchsorted(times, trial["t_go"]) < times.size
        }
        side = min(first, key=first.__getitem__)
        latencies.append(first[side] - trial["t_go"])
        agree += side == trial["choice"]
    assert (agree, len(latencies)) == (131, 132)
    assert max(latencies) < 1.5
    assert np.median(latencies) == pytest.approx(0.093, abs=0.001)


def test_the_table_has_its_columns_types_and_provenance() -> None:
    bh = nbn.behavior(datasets.path(GUO))
    assert tuple(bh.columns) == COLUMNS
    assert bh.index.name == "id"
    assert bh.index[0] == 1
    assert bh["trial"].tolist() == list(range(412))
    floats = ["stim_left", "signed_contrast", "reward", "t_stim", "t_go", "probability_left"]
    assert {str(bh[c].dtype) for c in floats} == {"float64"}
    assert str(bh["correct"].dtype) == "boolean"
    assert {str(bh[c].dtype) for c in ("include", "photostim")} == {"bool"}
    assert str(bh["trial"].dtype) == "int64"
    assert set(bh["reward"].unique()) == {0.0, 1.0}
    for column in ("stim_left", "stim_right", "signed_contrast", "t_stim", "probability_left"):
        assert bh[column].isna().all()
    attrs = bh.attrs
    assert attrs["sources"]["t_go"] == "cue_start_time"
    assert attrs["sources"]["photostim"] == "stim_present"
    assert np.isnan(attrs["agreement"])
    assert "could not fail" in attrs["agreement_note"]
    assert attrs["flipped"] is False
    assert attrs["subject"] == "anm00239123"
    assert attrs["session_start_time"] == "2017-06-27T09:35:49-05:00"
    assert attrs["table"] == "trials"
    assert Path(attrs["file"]).name == GUO


def test_every_way_of_giving_the_file_reads_the_same_table(tmp_path: Path) -> None:
    by_path = nbn.behavior(str(datasets.path(GUO)))
    with nbn.open(datasets.path(GUO)) as session:
        pd.testing.assert_frame_equal(session.behavior(), by_path)
        pd.testing.assert_frame_equal(nbn.behavior(session), by_path)
        assert not session.closed
    io = pynwb.NWBHDF5IO(datasets.path(GUO), "r", load_namespaces=True)
    pd.testing.assert_frame_equal(nbn.behavior(io.read()), by_path)
    assert io._file
    io.close()
    nwb = trial_file(ibl_columns())
    path = tmp_path / "written é.nwb"
    with pynwb.NWBHDF5IO(path, "w") as out:
        out.write(nwb)
    pd.testing.assert_frame_equal(nbn.behavior(path), nbn.behavior(nwb), check_dtype=False)


def test_the_table_has_a_plain_form_for_r() -> None:
    plain = to_r(nbn.behavior(datasets.path(GUO)))
    assert sum(plain["reward"]) == 175
    assert plain["correct"].count(None) == 157
    assert plain["choice"][:3] == ["none", "none", "none"]
    assert {type(v) for v in plain["include"]} == {bool}


# conventions


def test_ibl_contrasts_are_percent_and_the_wheel_names_the_other_side() -> None:
    columns = ibl_columns()
    bh = nbn.behavior(trial_file(columns))
    assert bh.attrs["convention"] == "ibl"
    assert bh.attrs["agreement"] == 1.0
    assert bh.attrs["agreement_trials"] == 56
    contrast = np.array(columns["gabor_stimulus_contrast"]) / 100
    right = np.array(columns["gabor_stimulus_side"]) == "right"
    np.testing.assert_array_equal(bh["stim_right"], np.where(right, contrast, 0.0))
    np.testing.assert_array_equal(bh["stim_left"], np.where(right, 0.0, contrast))
    np.testing.assert_array_equal(bh["signed_contrast"], np.where(right, contrast, -contrast))
    # a contrast of zero keeps its side
    assert set(bh.loc[bh["signed_contrast"] == 0, "stim_side"]) == {"left", "right"}
    words = {"clockwise": "left", "counter_clockwise": "right", "none": "none"}
    assert bh["choice"].tolist() == [words[w] for w in columns["mouse_wheel_choice"]]
    assert bh["choice_raw"].tolist() == columns["mouse_wheel_choice"]
    assert bh["correct"].isna().sum() == 4
    np.testing.assert_array_equal(bh["t_stim"], starts(60) + 0.5)
    np.testing.assert_array_equal(bh["t_go"], starts(60) + 0.6)
    np.testing.assert_array_equal(bh["t_response"], starts(60) + 1.0)
    np.testing.assert_array_equal(bh["t_feedback"], starts(60) + 1.1)
    assert bh["probability_left"].eq(0.5).all()
    assert bh["include"].all()
    assert not bh["photostim"].any()


def test_zero_contrast_trials_with_a_side_take_part_in_the_check() -> None:
    columns = ibl_columns(gabor_stimulus_contrast=[0.0] * 60)
    assert nbn.behavior(trial_file(columns)).attrs["agreement_trials"] == 56


@pytest.mark.parametrize("alf", [False, True], ids=["snake case", "ALF names"])
def test_ibl_legacy_signs(alf: bool) -> None:
    bh = nbn.behavior(trial_file(legacy_columns(alf)))
    assert bh.attrs["convention"] == "ibl_legacy"
    assert bh["choice"].tolist()[:6] == ["none", "right", "right", "left", "left", "right"]
    assert bh["stim_side"].tolist()[:6] == ["left", "left", "right", "right", "left", "right"]
    assert bh["stim_left"].tolist()[:6] == [0.25, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert bh["stim_right"].tolist()[:6] == [0.0, 0.0, 0.5, 1.0, 0.0, 0.0]
    assert bh["reward"].tolist()[:6] == [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    assert bh["correct"].tolist()[1:6] == [False, True, False, True, True]
    assert bh["correct"].isna().tolist()[0]
    np.testing.assert_array_equal(bh["t_go"], starts(24) + 0.5)
    assert bh.attrs["agreement_trials"] == 23


def test_ibl_legacy_with_both_contrasts_or_neither() -> None:
    columns = legacy_columns()
    columns["contrast_left"][1:3] = [0.0, float("nan")]
    columns["contrast_right"][1:3] = [0.0, float("nan")]
    bh = nbn.behavior(trial_file(columns))
    assert bh["stim_side"].tolist()[1:3] == ["none", "none"]
    assert bh["signed_contrast"].tolist()[1] == 0.0
    assert np.isnan(bh["signed_contrast"].tolist()[2])
    assert bh["correct"].isna().tolist()[1:3] == [True, True]


def test_steinmetz_staying_still_is_an_answer() -> None:
    bh = nbn.behavior(trial_file(steinmetz_columns()))
    assert bh.attrs["convention"] == "steinmetz"
    sides = ["left", "left", "right", "right", "right"] + ["none"] * 3 + ["left", "right"]
    assert bh["stim_side"].tolist()[:12] == [*sides, "none", "none"]
    choices = ["left", "left", "right", "right", "right", "left", "right", "none", "none"]
    assert bh["choice"].tolist()[:12] == [*choices, "left", "left", "none"]
    correct = bh["correct"].tolist()[:12]
    assert correct[:5] == [True] * 5
    assert bh["correct"].isna().tolist()[:12] == [False] * 5 + [True] * 2 + [False] * 5
    assert correct[7:] == [True, False, False, False, False]
    assert bh["include"].sum() == 44
    np.testing.assert_array_equal(bh["t_go"], starts(48) + 1.0)
    assert bh["reward"].sum() == 28


def test_steinmetz_equal_contrasts_do_not_enter_the_check() -> None:
    columns = {name: values[:24] for name, values in steinmetz_columns().items()}
    # 12 usable trials; the 4 turns at equal contrasts are rewarded at random
    columns["feedback_type"][5] = -1.0
    with pytest.warns(NB26StatsWarning, match="12 usable trials") as caught:
        bh = nbn.behavior(trial_file(columns))
    assert len(caught) == 1
    assert bh.attrs["agreement"] == 1.0


def test_alm_choice_follows_from_side_and_outcome() -> None:
    bh = nbn.behavior(trial_file(alm_columns(), first_id=7))
    assert bh.attrs["convention"] == "alm"
    assert bh["stim_side"].tolist() == ["left", "right", "left", "right", "left", "none"]
    assert bh["choice"].tolist() == ["left", "left", "right", "none", "none", "none"]
    assert bh["reward"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert bh["correct"].tolist()[:3] == [True, False, False]
    assert bh["correct"].isna().tolist()[3:] == [True] * 3
    assert bh["include"].tolist() == [True, True, True, False, True, True]
    assert bh["photostim"].tolist() == [False, True, False, False, False, False]
    assert bh["t_go"].tolist() == [11.0, 16.0, 21.0, 26.0, 31.0, 36.0]
    assert bh.index.tolist() == [7, 8, 9, 10, 11, 12]
    assert bh["trial"].tolist() == [0, 1, 2, 3, 4, 5]


def test_alm_without_its_optional_columns() -> None:
    columns = {name: alm_columns()[name] for name in ("type", "response")}
    bh = nbn.behavior(trial_file(columns))
    assert bh["include"].all()
    assert not bh["photostim"].any()
    assert bh["t_go"].isna().all()


def test_aibs_has_licks_and_no_sides() -> None:
    bh = nbn.behavior(trial_file(aibs_columns()))
    assert bh.attrs["convention"] == "aibs_change"
    assert bh["choice"].tolist() == ["lick", "none", "lick", "none", "none", "none"]
    assert bh["choice_raw"].tolist() == [
        "hit",
        "miss",
        "false_alarm",
        "correct_reject",
        "aborted",
        "auto_rewarded",
    ]
    assert bh["reward"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert bh["correct"].tolist()[:4] == [True, False, False, True]
    assert bh["correct"].isna().tolist()[4:] == [True, True]
    assert bh["include"].tolist() == [True, True, True, True, False, True]
    assert bh["stim_side"].eq("none").all()
    assert bh["t_stim"].tolist()[:4] == [11.0, 16.0, 21.0, 26.0]
    assert np.isnan(bh.attrs["agreement"])
    assert "no sides" in bh.attrs["agreement_note"]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("ibl", ibl_columns()),
        ("ibl_legacy", legacy_columns()),
        ("alm", alm_columns()),
        ("aibs_change", aibs_columns()),
    ],
)
def test_naming_the_convention_reads_what_detection_reads(name: str, columns: dict) -> None:
    nwb = trial_file(columns)
    pd.testing.assert_frame_equal(nbn.behavior(nwb, name), nbn.behavior(nwb))


def test_an_empty_table_has_all_columns() -> None:
    nwb = trial_file({name: [] for name in ibl_columns()}, n=0)
    with pytest.warns(NB26StatsWarning, match="could not be checked"):
        bh = nbn.behavior(nwb)
    assert bh.shape == (0, len(COLUMNS))
    assert str(bh["choice"].dtype) == str(economo()["choice"].dtype)


def test_another_table_than_trials() -> None:
    nwb = trial_file({"note": ["a"]})
    table = pynwb.epoch.TimeIntervals(name="blocks", description="trials under another name")
    for name in alm_columns():
        table.add_column(name, name)
    for k in range(6):
        row = {name: values[k] for name, values in alm_columns().items()}
        table.add_interval(start_time=10.0 + 5.0 * k, stop_time=14.0 + 5.0 * k, **row)
    nwb.add_time_intervals(table)
    assert nbn.behavior(nwb, table="blocks").attrs["table"] == "blocks"


# no convention fits


def test_the_error_lists_what_each_convention_lacks_and_all_columns() -> None:
    with pytest.raises(nbn.ConventionError) as caught:
        nbn.behavior(trial_file({"choice": [1.0], "speed": [2.0]}))
    text = str(caught.value)
    assert "ibl: lacks gabor_stimulus_contrast, gabor_stimulus_side, mouse_wheel_choice" in text
    assert "ibl_legacy: lacks contrast_left or contrastLeft, contrast_right" in text
    assert "steinmetz: lacks visual_stimulus_left_contrast" in text
    assert "alm: lacks type, response" in text
    assert "aibs_change: lacks go, catch, hit" in text
    assert "columns of the table: start_time, stop_time, choice, speed" in text
    assert "mapping=dict(" in text


def test_alm_needs_its_words_not_only_its_columns() -> None:
    columns = {"type": ["a", "b"], "response": ["correct", "incorrect"]}
    with pytest.raises(nbn.ConventionError, match="alm: lacks any of 'lick left', 'lick right'"):
        nbn.behavior(trial_file(columns))


def test_alm_is_not_found_in_a_column_of_lists() -> None:
    columns = {"type": [[1.0, 2.0]] * 2, "response": ["correct", "incorrect"]}
    with pytest.raises(nbn.ConventionError, match="alm: lacks any of 'lick left'"):
        nbn.behavior(trial_file(columns))


def test_a_named_convention_that_does_not_fit() -> None:
    with pytest.raises(nbn.ConventionError, match="does not fit the convention 'steinmetz'"):
        nbn.behavior(trial_file(ibl_columns()), "steinmetz")


def test_a_table_that_fits_two_conventions_asks_which() -> None:
    columns = {**alm_columns(), **aibs_columns()}
    with pytest.raises(nbn.ConventionError, match=r"more than one convention \(alm, aibs_change\)"):
        nbn.behavior(trial_file(columns))
    assert nbn.behavior(trial_file(columns), "alm").attrs["convention"] == "alm"


# the side check


def interim(n: int = 387) -> dict[str, Any]:
    """Return a table whose words left/right are the IBL signs -1/+1 of the wheel."""
    columns = ibl_columns(n, seed=3)
    words = {"counter_clockwise": "left", "clockwise": "right", "none": "no_go"}
    columns["mouse_wheel_choice"] = [words[w] for w in columns["mouse_wheel_choice"]]
    return columns


def test_v14_interim_words_are_swapped() -> None:
    nwb = trial_file(interim())
    with pytest.warns(NB26StatsWarning, match="left and right were swapped") as caught:
        bh = nbn.behavior(nwb)
    assert len(caught) == 1
    assert bh.attrs["flipped"] is True
    assert bh.attrs["agreement_before"] == 0.0
    assert bh.attrs["agreement"] == 1.0
    words = {"left": "right", "right": "left", "no_go": "none"}
    assert bh["choice"].tolist() == [words[w] for w in bh["choice_raw"]]
    judged = bh[bh["correct"].notna()]
    assert (judged["correct"] == (judged["reward"] == 1)).all()


def test_without_the_check_the_words_stay() -> None:
    bh = nbn.behavior(trial_file(interim()), check=False)
    assert bh.attrs["flipped"] is False
    assert bh.attrs["agreement"] == 0.0
    assert "check=False" in bh.attrs["agreement_note"]
    assert [w for w in bh["choice"] if w != "none"] == [w for w in bh["choice_raw"] if w != "no_go"]


def usable(n: int, wrong: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n trials with choice, side and reward, of which `wrong` contradict each other."""
    side = np.array(["left", "right"] * n, dtype=object)[:n]
    reward = np.ones(n)
    reward[:wrong] = 0.0
    return side.copy(), side, reward


@pytest.mark.parametrize(("n", "wrong"), [(20, 0), (20, 1), (100, 5)])
def test_at_least_95_percent_keeps(n: int, wrong: int) -> None:
    choice, side, reward = usable(n, wrong)
    kept, outcome = check_sides(choice, side, reward, column="c", values="v")
    assert kept is choice
    assert (outcome.agreement, outcome.flipped) == (1 - wrong / n, False)


@pytest.mark.parametrize(("n", "wrong"), [(20, 20), (20, 19), (100, 95)])
def test_at_most_5_percent_swaps(n: int, wrong: int) -> None:
    choice, side, reward = usable(n, wrong)
    with pytest.warns(NB26StatsWarning, match="swapped"):
        swapped, outcome = check_sides(choice, side, reward, column="c", values="v")
    np.testing.assert_array_equal(swapped, swap(choice))
    assert outcome.flipped
    assert outcome.before == pytest.approx(1 - wrong / n)
    assert outcome.agreement == pytest.approx(wrong / n)


@pytest.mark.parametrize(("n", "wrong"), [(20, 2), (100, 6), (100, 94), (19, 1), (19, 19), (1, 1)])
def test_anything_else_asks_for_a_mapping(n: int, wrong: int) -> None:
    with pytest.raises(ValueError, match=rf"of {n} trials.*mapping=dict"):
        check_sides(*usable(n, wrong), column="c", values="v")


@pytest.mark.parametrize("n", [1, 19])
def test_few_trials_pass_only_when_all_agree(n: int) -> None:
    with pytest.warns(NB26StatsWarning, match=f"only {n} usable trials"):
        _, outcome = check_sides(*usable(n, 0), column="c", values="v")
    assert (outcome.agreement, outcome.n_trials) == (1.0, n)


def test_no_usable_trial_gives_nan_and_a_warning() -> None:
    choice, side, reward = usable(30, 0)
    for args in (
        (np.full(30, "none", dtype=object), side, reward),
        (choice, np.full(30, "none", dtype=object), reward),
        (choice, side, np.full(30, np.nan)),
    ):
        with pytest.warns(NB26StatsWarning, match="could not be checked"):
            kept, outcome = check_sides(*args, column="c", values="v")
        assert kept is args[0]
        assert np.isnan(outcome.agreement)


def test_an_undecided_file_says_which_words_it_holds() -> None:
    columns = ibl_columns()
    columns["is_mouse_rewarded"] = ([True, False] * 30)[:60]
    with pytest.raises(ValueError, match=r"'mouse_wheel_choice' \(values: clockwise, count"):
        nbn.behavior(trial_file(columns))


# mapping


def simple(n: int = 24) -> dict[str, Any]:
    left = [k % 2 == 0 for k in range(n)]
    return {
        "side": ["L" if x else "R" for x in left],
        "key": [1 if x else 2 for x in left],
        "win": [1] * n,
        "level": [0.5] * n,
        "cl": [0.5 if x else 0.0 for x in left],
        "cr": [0.0 if x else 0.5 for x in left],
        "signed": [-0.5 if x else 0.5 for x in left],
        "cue_time": (starts(n) + 1.0).tolist(),
        "wait": [0.25] * n,
        "ok": [True] * n,
    }


CHOICE = ("key", {1: "left", 2: "right"})


def test_mapping_overrides_everything() -> None:
    nwb = trial_file({**ibl_columns(24), **simple()})
    bh = nbn.behavior(
        nwb,
        mapping={"choice": CHOICE, "reward": "win", "stim_left": "cl", "stim_right": "cr"},
    )
    assert bh.attrs["convention"] == "mapping"
    assert bh.attrs["agreement"] == 1.0
    assert bh["choice"].tolist()[:2] == ["left", "right"]
    assert bh["stim_side"].tolist()[:2] == ["left", "right"]
    assert bh["t_stim"].isna().all()
    assert bh.attrs["sources"] == {
        "choice": "key",
        "choice_raw": "key",
        "reward": "win",
        "stim_left": "cl",
        "stim_right": "cr",
        "stim_side": "cl, cr",
    }


@pytest.mark.parametrize(
    "contrasts",
    [
        {"stim_left": "cl", "stim_right": "cr"},
        {"signed_contrast": "signed"},
        {"contrast": "level", "stim_side": ("side", {"L": "left", "R": "right"})},
        {"contrast": ("level", 1), "stim_side": ["side", {"L": "left", "R": "right"}]},
        {"contrast": ("level", {0.5: 0.5}), "stim_side": ("side", {"L": "left", "R": "right"})},
    ],
)
def test_contrasts_can_be_mapped_in_any_form(contrasts: dict[str, Any]) -> None:
    bh = nbn.behavior(
        trial_file(simple()), mapping={"choice": CHOICE, "reward": "win", **contrasts}
    )
    np.testing.assert_array_equal(bh["signed_contrast"], simple()["signed"])
    np.testing.assert_array_equal(bh["stim_left"], simple()["cl"])
    assert bh["stim_side"].tolist()[:2] == ["left", "right"]
    assert {"stim_left", "stim_right", "stim_side"} <= set(bh.attrs["sources"])


def test_meanings_of_yes_no_columns_are_found_whatever_their_case() -> None:
    columns = simple()
    columns["turned"] = [k % 2 == 0 for k in range(24)]
    for keys in ((True, False), ("TRUE", "FALSE"), ("true", "false")):
        bh = nbn.behavior(
            trial_file(columns),
            mapping={
                "choice": ("turned", dict(zip(keys, ("left", "right"), strict=True))),
                "reward": "win",
                "signed_contrast": "signed",
            },
        )
        assert bh["choice"].tolist()[:2] == ["left", "right"]


def test_percent_becomes_a_fraction_by_a_factor() -> None:
    columns = simple()
    columns["level"] = [50.0] * 24
    bh = nbn.behavior(
        trial_file(columns),
        mapping={
            "choice": CHOICE,
            "reward": "win",
            "contrast": ("level", 0.01),
            "stim_side": ("side", {"L": "left", "R": "right"}),
        },
    )
    np.testing.assert_array_equal(bh["stim_left"], simple()["cl"])


def test_the_check_applies_to_a_mapping_too() -> None:
    wrong = {
        "choice": ("key", {1: "right", 2: "left"}),
        "reward": "win",
        "signed_contrast": "signed",
    }
    with pytest.warns(NB26StatsWarning, match="swapped"):
        bh = nbn.behavior(trial_file(simple()), mapping=wrong)
    assert bh["choice"].tolist()[:2] == ["left", "right"]
    kept = nbn.behavior(trial_file(simple()), mapping=wrong, check=False)
    assert kept["choice"].tolist()[:2] == ["right", "left"]


def test_a_mapping_as_r_sends_it() -> None:
    # R names are text and its lists stand for tuples; NULL is None
    bh = nbn.behavior(
        trial_file(simple()),
        mapping={
            "choice": ["key", {"1": "left", "2": "right"}],
            "reward": ["win", {"1": 1.0}],
            "signed_contrast": "signed",
            "include": "ok",
            "t_go": None,
        },
    )
    assert bh["choice"].tolist()[:2] == ["left", "right"]
    assert bh["reward"].sum() == 24


def test_mapped_flags_words_and_times() -> None:
    columns = simple()
    columns["word"] = ["Left", "RIGHT"] * 11 + ["none", ""]
    bh = nbn.behavior(
        trial_file(columns),
        mapping={
            "choice": "word",
            "reward": "win",
            "stim_side": ("side", {"L": "left", "R": "right"}),
            "correct": "ok",
            "include": ("key", {1: 1, 2: 0}),
            "photostim": ("side", {"L": False, "R": True}),
            "probability_left": ("level", 1.0),
            "t_go": "cue_time",
            "t_feedback": ("wait", "cue_time"),
            "t_response": ("wait", "session"),
        },
    )
    assert bh["choice"].tolist()[-4:] == ["left", "right", "none", "none"]
    assert bh["correct"].all()
    assert bh["include"].tolist()[:2] == [True, False]
    assert bh["photostim"].tolist()[:2] == [False, True]
    assert bh["probability_left"].eq(0.5).all()
    np.testing.assert_array_equal(bh["t_go"], starts(24) + 1.0)
    np.testing.assert_array_equal(bh["t_feedback"], starts(24) + 1.25)
    assert bh["t_response"].eq(0.25).all()
    assert bh["stim_left"].isna().all()


def test_a_mapping_without_reward_cannot_be_checked() -> None:
    with pytest.warns(NB26StatsWarning, match="could not be checked"):
        bh = nbn.behavior(
            trial_file(simple()), mapping={"choice": CHOICE, "signed_contrast": "signed"}
        )
    assert bh["reward"].isna().all()


# clocks


def test_relative_times_are_put_on_the_session_clock_with_one_warning() -> None:
    columns = ibl_columns(gabor_stimulus_onset_time=[0.5] * 60, auditory_cue_time=[0.625] * 60)
    with pytest.warns(NB26StatsWarning, match="relative to start_time") as caught:
        bh = nbn.behavior(trial_file(columns))
    assert len(caught) == 1
    assert "gabor_stimulus_onset_time" in str(caught[0].message)
    assert "auditory_cue_time" in str(caught[0].message)
    np.testing.assert_array_equal(bh["t_stim"], starts(60) + 0.5)
    np.testing.assert_array_equal(bh["t_go"], starts(60) + 0.625)
    np.testing.assert_array_equal(bh["t_response"], starts(60) + 1.0)


@pytest.mark.parametrize(
    "times", [[1e6] * 60, list(range(60)), ["soon"] * 60], ids=["far away", "integers", "text"]
)
def test_an_undecided_clock_gives_nan_with_one_warning(times: list[Any]) -> None:
    columns = ibl_columns(feedback_time=times)
    with pytest.warns(NB26StatsWarning, match="what they count from is unclear") as caught:
        bh = nbn.behavior(trial_file(columns))
    assert len(caught) == 1
    assert "feedback_time" in str(caught[0].message)
    assert bh["t_feedback"].isna().all()
    assert bh["t_stim"].notna().all()


def test_a_time_column_without_any_time_stays_nan_quietly() -> None:
    columns = ibl_columns(feedback_time=[float("nan")] * 60)
    assert nbn.behavior(trial_file(columns))["t_feedback"].isna().all()


# bad input


@pytest.mark.parametrize(
    ("kwargs", "error", "match"),
    [
        (
            {"convention": "svoboda"},
            ValueError,
            "convention='svoboda' must be one of 'auto'",
        ),
        ({"convention": None}, TypeError, "convention"),
        ({"convention": 1}, TypeError, "convention"),
        ({"table": "epochs"}, nbn.MissingTableError, "no 'epochs'"),
        ({"table": 3}, TypeError, "table must be text"),
        ({"table": ""}, ValueError, "table must not be empty"),
        ({"check": 1}, TypeError, "check must be True or False"),
        ({"check": "yes"}, TypeError, "check must be True or False"),
        ({"mapping": "choice"}, TypeError, "mapping must be a dict"),
        ({"mapping": [("choice", "key")]}, TypeError, "mapping must be a dict"),
        ({"mapping": {}}, ValueError, "must name the column of the choice"),
        ({"mapping": {"reward": "win"}}, ValueError, "must name the column of the choice"),
        ({"mapping": {"choices": "key"}}, ValueError, "no entry 'choices'"),
        ({"mapping": {"trial": "key", "choice": CHOICE}}, ValueError, "no entry 'trial'"),
        ({"mapping": {1: "key"}}, ValueError, "no entry 1"),
        ({"mapping": {"choice": 1}}, TypeError, "mapping.'choice'. must be 'column'"),
        ({"mapping": {"choice": ("key",)}}, TypeError, "mapping.'choice'. must be 'column'"),
        ({"mapping": {"choice": ("key", {})}}, TypeError, "mapping.'choice'. must be"),
        ({"mapping": {"choice": ("key", 2)}}, TypeError, "mapping.'choice'. must be"),
        ({"mapping": {"choice": (1, {1: "left"})}}, TypeError, "mapping.'choice'. must be"),
        ({"mapping": {"choice": "nowhere"}}, nbn.MissingColumnError, "no column 'nowhere'"),
        ({"mapping": {"choice": "key"}}, ValueError, "does not say what '1', '2'"),
        ({"mapping": {"choice": ("key", {1: "left"})}}, ValueError, "what '2' in column 'key'"),
        ({"mapping": {"choice": ("key", {1: "up", 2: "left"})}}, ValueError, "got 'up'"),
        ({"mapping": {"choice": ("key", {1: 0, 2: "left"})}}, ValueError, "got 0"),
        ({"mapping": {"choice": CHOICE, "reward": "key"}}, ValueError, "true/false or 1/0; row 1"),
        (
            {"mapping": {"choice": CHOICE, "reward": ("key", {1: 1})}},
            ValueError,
            "mapping.'reward'. does not say what '2'",
        ),
        ({"mapping": {"choice": CHOICE, "reward": ("win", 2.0)}}, TypeError, "mapping.'reward'"),
        (
            {"mapping": {"choice": CHOICE, "stim_left": "cl"}},
            ValueError,
            "as stim_left and stim",
        ),
        ({"mapping": {"choice": CHOICE, "contrast": "level"}}, ValueError, "needs stim_side"),
        (
            {"mapping": {"choice": CHOICE, "contrast": "level", "signed_contrast": "signed"}},
            ValueError,
            "got contrast, signed_contrast",
        ),
        (
            {"mapping": {"choice": CHOICE, "stim_left": "key", "stim_right": "cr"}},
            ValueError,
            "contrasts from 0 to 1.*percent",
        ),
        (
            {"mapping": {"choice": CHOICE, "stim_left": "signed", "stim_right": "cr"}},
            ValueError,
            "contrasts from 0 to 1",
        ),
        (
            {"mapping": {"choice": CHOICE, "stim_left": "side", "stim_right": "cr"}},
            ValueError,
            "must hold numbers; row 0 holds 'L'",
        ),
        (
            {"mapping": {"choice": CHOICE, "signed_contrast": ("signed", True)}},
            TypeError,
            "factor",
        ),
        ({"mapping": {"choice": CHOICE, "t_go": ("cue_time", 1)}}, TypeError, "mapping.'t_go'"),
        (
            {"mapping": {"choice": CHOICE, "t_go": ("cue_time", "nowhere")}},
            nbn.MissingColumnError,
            "no column 'nowhere'",
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_bad_arguments(kwargs: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        nbn.behavior(trial_file(simple()), **kwargs)


@pytest.mark.parametrize(
    ("columns", "error", "match"),
    [
        (
            ibl_columns(mouse_wheel_choice=["up"] * 60),
            nbn.ConventionError,
            "'mouse_wheel_choice' holds 'up' .60 rows.; known are 'clockwise'",
        ),
        (
            ibl_columns(gabor_stimulus_side=["top"] * 60),
            nbn.ConventionError,
            "'gabor_stimulus_side' holds 'top'",
        ),
        (ibl_columns(gabor_stimulus_contrast=[0.5] * 60), ValueError, "must be in percent"),
        (ibl_columns(gabor_stimulus_contrast=[-5.0] * 60), ValueError, "from 0 to 100"),
        (ibl_columns(gabor_stimulus_contrast=[np.inf] * 60), ValueError, "60 values lie outside"),
        (ibl_columns(gabor_stimulus_contrast=["x"] * 60), ValueError, "must hold numbers"),
        (ibl_columns(is_mouse_rewarded=[2] * 60), ValueError, "must hold true/false"),
        ({**legacy_columns(), "choice": [3.0] * 24}, nbn.ConventionError, "holds '3'"),
        ({**legacy_columns(), "contrast_left": [25.0] * 24}, ValueError, "look like percent"),
        ({**legacy_columns(), "contrast_right": [-0.5] * 24}, ValueError, "from 0 to 1"),
        (
            {**steinmetz_columns(), "visual_stimulus_left_contrast": [50.0] * 48},
            ValueError,
            "look like percent",
        ),
        ({**aibs_columns(), "hit": ["maybe"] * 6}, ValueError, "column 'hit' must hold true/fal"),
    ],
)
def test_bad_columns(columns: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        nbn.behavior(trial_file(columns))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nbn.behavior(tmp_path / "absent.nwb")
    with pytest.raises(nbn.MissingTableError, match="sleep_ripples"):
        nbn.behavior(datasets.path("A2929-200711_neurosuite"))
    with nbn.open(datasets.path(GUO)) as session:
        pass
    with pytest.raises(nbn.ClosedSessionError):
        session.behavior()


def test_a_column_with_several_values_per_row_is_refused() -> None:
    columns = ibl_columns(6, mouse_wheel_choice=[[1.0, 2.0]] * 6)
    with pytest.raises(nbn.NB26NWBError, match="mouse_wheel_choice"):
        nbn.behavior(trial_file(columns))
    assert issubclass(nbn.ConventionError, ValueError)


# entries of a column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (np.float32(0.1), "0.1"),
        (0.0625, "0.0625"),
        (np.int8(-1), "-1"),
        (True, "true"),
        (np.bool_(False), "false"),
        (b" left ", "left"),
        ("Left", "Left"),
        (float("nan"), ""),
        (None, ""),
        (pd.NA, ""),
        ("nan", ""),
        ("none", "none"),
    ],
)
def test_entries_as_text(value: object, text: str) -> None:
    assert as_key(value) == text


def test_entries_as_numbers_and_flags() -> None:
    mixed = np.array(["1.5", None, 2, float("nan"), b"3"], dtype=object)
    np.testing.assert_array_equal(as_numbers(mixed, "c"), [1.5, np.nan, 2.0, np.nan, 3.0])
    flags = np.array([True, "no", 0, "", 1.0, "TRUE"], dtype=object)
    np.testing.assert_array_equal(as_flags(flags, "c"), [1.0, 0.0, 0.0, np.nan, 1.0, 1.0])


# properties

WORDS = st.lists(st.sampled_from(["left", "right", "none", "lick"]), max_size=40)


@given(WORDS)
def test_swapping_twice_changes_nothing(words: list[str]) -> None:
    array = np.array(words, dtype=object)
    np.testing.assert_array_equal(swap(swap(array)), array)
    assert [w for w in swap(array) if w not in ("left", "right")] == [
        w for w in words if w not in ("left", "right")
    ]


@given(st.integers(20, 60), st.integers(0, 2**32 - 1))
def test_swapped_words_come_back_to_the_same_table(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.5
    correct = rng.random(n) < 0.7
    choice = np.where(right == correct, 2, 1)
    columns = {
        "key": choice.tolist(),
        "win": correct.tolist(),
        "signed": np.where(right, 0.5, -0.5).tolist(),
    }
    nwb = trial_file(columns)
    mapping: dict[str, Any] = {"choice": CHOICE, "reward": "win", "signed_contrast": "signed"}
    truth = nbn.behavior(nwb, mapping=mapping)
    mapping["choice"] = ("key", {1: "right", 2: "left"})
    with pytest.warns(NB26StatsWarning, match="swapped"):
        swapped = nbn.behavior(nwb, mapping=mapping)
    assert swapped.attrs["agreement"] == truth.attrs["agreement"] == 1.0
    pd.testing.assert_frame_equal(swapped, truth)
    d = nbn.to_learning(truth)
    np.testing.assert_array_equal(d["choice"], choice - 1)
    np.testing.assert_array_equal(d["reward"], correct)
