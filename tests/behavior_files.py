"""Small trial tables in each published convention, made in memory."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pynwb

START = datetime.datetime(2024, 5, 17, 9, 30, tzinfo=datetime.UTC)


def trial_file(
    columns: Mapping[str, Sequence[Any]],
    *,
    n: int | None = None,
    start: datetime.datetime = START,
    subject: str | None = "mouse 1",
    session_id: str | None = "day 1",
    first_id: int = 0,
    duration: float = 4.0,
) -> pynwb.NWBFile:
    """Return an NWBFile whose trials have these columns; trial k starts at 10 + 5 k seconds."""
    nwb = pynwb.NWBFile(
        session_description="made for a test",
        identifier=f"{subject} {session_id} {start.isoformat()}",
        session_start_time=start,
        session_id=session_id,
    )
    if subject is not None:
        nwb.subject = pynwb.file.Subject(subject_id=subject, species="Mus musculus", age="P90D")
    for name in columns:
        nwb.add_trial_column(name, f"about {name}")
    rows = len(next(iter(columns.values()))) if n is None else n
    for k in range(rows):
        begin = 10.0 + 5.0 * k
        row = {name: values[k] for name, values in columns.items()}
        nwb.add_trial(start_time=begin, stop_time=begin + duration, id=first_id + k, **row)
    return nwb


def starts(n: int) -> np.ndarray:
    return 10.0 + 5.0 * np.arange(n)


def ibl_columns(n: int = 60, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a current-style IBL table: percent contrasts, words for the turn of the wheel."""
    rng = np.random.default_rng(seed)
    contrast = rng.choice([0.0, 6.25, 12.5, 25.0, 100.0], n)
    right = rng.random(n) < 0.5
    correct = rng.random(n) < 0.8
    none = np.arange(n) % 15 == 14
    report_right = right == correct
    words = np.where(none, "none", np.where(report_right, "counter_clockwise", "clockwise"))
    begin = starts(n)
    return {
        "gabor_stimulus_contrast": contrast.tolist(),
        "gabor_stimulus_side": np.where(right, "right", "left").tolist(),
        "mouse_wheel_choice": words.tolist(),
        "is_mouse_rewarded": (correct & ~none).tolist(),
        "gabor_stimulus_onset_time": (begin + 0.5).tolist(),
        "auditory_cue_time": (begin + 0.6).tolist(),
        "choice_registration_time": (begin + 1.0).tolist(),
        "feedback_time": (begin + 1.1).tolist(),
        "probability_left": [0.5] * n,
        **changes,
    }


def legacy_columns(alf: bool = False) -> dict[str, Any]:
    """Return 24 trials with contrasts in two columns, one of them NaN, and signed choices."""
    nan = float("nan")
    left = [0.25, 1.0, nan, nan, 0.0, nan] * 4
    right = [nan, nan, 0.5, 1.0, nan, 0.0] * 4
    # +1 turns clockwise, which is right for a stimulus on the left
    choice = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0] * 4
    feedback = [1.0, -1.0, 1.0, -1.0, 1.0, 1.0] * 4
    choice[0], feedback[0] = 0.0, -1.0
    names = (
        ("contrastLeft", "contrastRight", "choice", "feedbackType", "goCue_times")
        if alf
        else ("contrast_left", "contrast_right", "choice", "feedback_type", "go_cue_time")
    )
    return dict(
        zip(names, (left, right, choice, feedback, (starts(24) + 0.5).tolist()), strict=True)
    )


def steinmetz_columns() -> dict[str, Any]:
    """Return 48 trials with two contrasts and three answers, four trials each of 12 kinds."""
    left = [1.0, 0.5, 0.0, 0.0, 0.25, 0.5, 0.5, 0.0, 1.0, 0.25, 0.0, 1.0] * 4
    right = [0.0, 0.25, 0.5, 1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 1.0] * 4
    choice = [1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 0.0] * 4
    feedback = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0] * 4
    begin = starts(48)
    return {
        "visual_stimulus_left_contrast": left,
        "visual_stimulus_right_contrast": right,
        "response_choice": choice,
        "feedback_type": feedback,
        "included": [True] * 44 + [False] * 4,
        "visual_stimulus_time": (begin + 0.5).tolist(),
        "go_cue": (begin + 1.0).tolist(),
        "response_time": (begin + 1.5).tolist(),
        "feedback_time": (begin + 1.6).tolist(),
    }


def alm_columns() -> dict[str, Any]:
    return {
        "type": ["lick left", "lick right", "lick left", "lick right", "lick left", "other"],
        "response": ["correct", "incorrect", "incorrect", "no response", "early lick", "correct"],
        "is_good": [1, 1, 1, 0, 1, 1],
        "stim_present": [0, 1, 0, 0, 0, 0],
        "cue_start_time": [11.0, 16.0, 21.0, 26.0, 31.0, 36.0],
    }


def aibs_columns() -> dict[str, Any]:
    outcomes = ["hit", "miss", "false_alarm", "correct_reject", "aborted", "auto_rewarded"]
    flags = {name: [name == o for o in outcomes] for name in outcomes}
    return {
        "go": [True, True, False, False, False, True],
        "catch": [False, False, True, True, False, False],
        **flags,
        "change_time": [11.0, 16.0, 21.0, 26.0, float("nan"), 36.0],
        "response_time": [11.4, float("nan"), 21.4, float("nan"), 31.0, 36.4],
    }
