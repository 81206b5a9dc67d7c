"""Published conventions for choice, stimulus and reward columns, and how each is read.

Column names and codes come from the published files and converters: IBL brain-wide map (DANDI
000409, IBL-to-nwb), Steinmetz et al. 2019 (DANDI 000017), the Svoboda lab's ALM files, and the
Allen Institute's change-detection task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ._behavior_columns import Columns, Draft, Floats, Words, as_key
from ._sides import correct_choices, is_side, larger_side, swap
from .errors import ConventionError, NB26NWBError


@dataclass(frozen=True)
class Convention:
    """One convention: the columns that identify it, its optional columns, and its reader."""

    name: str
    needs: tuple[tuple[str, ...], ...]
    """Columns that must all be there; each entry holds the spellings of one column."""
    read: Callable[[Columns, Convention], Draft]
    times: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    """Stored choice, as lower-case text -> reported side."""
    correct: Callable[[Draft], Floats] | None = None
    """How ``correct`` follows from the rest, where it is not simply choice == stim_side."""
    unchecked: str = ""
    """Why the side check cannot apply (empty: it does)."""
    hallmarks: tuple[tuple[str, frozenset[str]], ...] = ()
    """(column, words): the column must hold one of the words in some row."""


def _read_ibl(columns: Columns, me: Convention) -> Draft:
    draft = Draft.empty(columns.n_rows)
    contrast = columns.numbers("gabor_stimulus_contrast")
    largest = check_contrast(contrast, "gabor_stimulus_contrast", 100.0)
    if 0.0 < largest <= 1.0:
        raise ValueError(
            "column 'gabor_stimulus_contrast' must be in percent (0 to 100) but does not exceed "
            f"{largest:g}; name the columns yourself with mapping=dict(contrast=…, stim_side=…, …)"
        )
    draft.stim_side = translate(
        columns.words("gabor_stimulus_side"), SIDES, "gabor_stimulus_side", "stim_side"
    )
    draft.stim_left, draft.stim_right = contrast_on_side(contrast / 100.0, draft.stim_side)
    columns.note("stim_side", "gabor_stimulus_side")
    for target in ("stim_left", "stim_right"):
        columns.note(target, "gabor_stimulus_contrast", "gabor_stimulus_side")
    _read_choice(columns, me, draft, "mouse_wheel_choice")
    draft.reward = columns.flags("is_mouse_rewarded")
    columns.note("reward", "is_mouse_rewarded")
    _read_probability(columns, draft)
    return draft


def _read_ibl_legacy(columns: Columns, me: Convention) -> Draft:
    draft = Draft.empty(columns.n_rows)
    names = [columns.find(spellings) or spellings[0] for spellings in me.needs]
    left, right, choice, feedback = names
    for target, column in (("stim_left", left), ("stim_right", right)):
        check_contrast(columns.numbers(column), column, 1.0)
        columns.note(target, column)
    draft.stim_left, draft.stim_right, draft.stim_side = one_sided(
        columns.numbers(left), columns.numbers(right)
    )
    columns.note("stim_side", left, right)
    _read_choice(columns, me, draft, choice)
    _read_feedback(columns, draft, feedback)
    _read_probability(columns, draft)
    return draft


def _read_steinmetz(columns: Columns, me: Convention) -> Draft:
    draft = Draft.empty(columns.n_rows)
    left, right = "visual_stimulus_left_contrast", "visual_stimulus_right_contrast"
    draft.stim_left, draft.stim_right = columns.numbers(left), columns.numbers(right)
    check_contrast(draft.stim_left, left, 1.0)
    check_contrast(draft.stim_right, right, 1.0)
    draft.stim_side = larger_side(draft.stim_left, draft.stim_right)
    columns.note("stim_left", left)
    columns.note("stim_right", right)
    columns.note("stim_side", left, right)
    _read_choice(columns, me, draft, "response_choice")
    _read_feedback(columns, draft, "feedback_type")
    if "included" in columns.names:
        draft.include = columns.flags("included")
        columns.note("include", "included")
    return draft


def _steinmetz_correct(draft: Draft) -> Floats:
    """Return which responses were right where staying still is one of the answers.

    A turn is right towards the higher contrast, staying still where there was no stimulus; turns at
    equal contrasts above zero are rewarded at random and stay undefined.
    """
    known = np.isfinite(draft.stim_left) & np.isfinite(draft.stim_right)
    blank = (draft.stim_left == 0.0) & (draft.stim_right == 0.0)
    # a missing choice is not a decision to stay still
    still = np.array([as_key(value) == "0" for value in draft.choice_raw], dtype=bool)
    out = correct_choices(draft.choice, draft.stim_side)
    out[is_side(draft.choice) & blank] = 0.0
    out[still & known] = blank[still & known]
    return out


def _read_alm(columns: Columns, me: Convention) -> Draft:
    draft = Draft.empty(columns.n_rows)
    cued, response = columns.words("type"), columns.words("response")
    draft.stim_side[cued == "lick left"] = "left"
    draft.stim_side[cued == "lick right"] = "right"
    hit, error = response == "correct", response == "incorrect"
    draft.choice[hit] = draft.stim_side[hit]
    draft.choice[error] = swap(draft.stim_side[error])
    draft.choice_raw = columns.raw("response")
    draft.reward = hit.astype(np.float64)
    columns.note("stim_side", "type")
    columns.note("choice", "type", "response")
    columns.note("choice_raw", "response")
    columns.note("reward", "response")
    if "is_good" in columns.names:
        draft.include = (columns.numbers("is_good") == 1.0).astype(np.float64)
        columns.note("include", "is_good")
    if "stim_present" in columns.names:
        draft.photostim = (columns.numbers("stim_present") == 1.0).astype(np.float64)
        columns.note("photostim", "stim_present")
    return draft


_OUTCOMES = ("hit", "miss", "false_alarm", "correct_reject", "aborted", "auto_rewarded")


def _read_aibs(columns: Columns, me: Convention) -> Draft:
    draft = Draft.empty(columns.n_rows)
    flags = {name: columns.flags(name) == 1.0 for name in _OUTCOMES}
    for name in reversed(_OUTCOMES):
        draft.choice_raw[flags[name]] = name
    draft.choice[flags["hit"] | flags["false_alarm"]] = "lick"
    draft.correct = np.full(columns.n_rows, np.nan)
    draft.correct[flags["hit"] | flags["correct_reject"]] = 1.0
    draft.correct[flags["miss"] | flags["false_alarm"]] = 0.0
    draft.reward = (flags["hit"] | flags["auto_rewarded"]).astype(np.float64)
    draft.include = (~flags["aborted"]).astype(np.float64)
    columns.note("choice", "hit", "false_alarm")
    columns.note("choice_raw", *_OUTCOMES)
    columns.note("correct", "hit", "correct_reject", "miss", "false_alarm")
    columns.note("reward", "hit", "auto_rewarded")
    columns.note("include", "aborted")
    return draft


SIDES = {"left": "left", "right": "right", "none": "none", "": "none"}

CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "ibl",
        needs=(
            ("gabor_stimulus_contrast",),
            ("gabor_stimulus_side",),
            ("mouse_wheel_choice",),
            ("is_mouse_rewarded",),
        ),
        read=_read_ibl,
        times={
            "t_stim": ("gabor_stimulus_onset_time",),
            "t_go": ("auditory_cue_time",),
            "t_response": ("choice_registration_time",),
            "t_feedback": ("feedback_time",),
        },
        words={
            "clockwise": "left",
            "counter_clockwise": "right",
            # interim files; the side check finds out what the words mean there
            "left": "left",
            "right": "right",
            "none": "none",
            "no_go": "none",
            "": "none",
        },
    ),
    Convention(
        "ibl_legacy",
        needs=(
            ("contrast_left", "contrastLeft"),
            ("contrast_right", "contrastRight"),
            ("choice",),
            ("feedback_type", "feedbackType"),
        ),
        read=_read_ibl_legacy,
        times={
            "t_stim": ("stim_on_time", "stimOn_times"),
            "t_go": ("go_cue_time", "goCue_times"),
            "t_response": ("response_time", "response_times"),
            "t_feedback": ("feedback_time", "feedback_times"),
        },
        words={"1": "left", "-1": "right", "0": "none", "": "none"},
    ),
    Convention(
        "steinmetz",
        needs=(
            ("visual_stimulus_left_contrast",),
            ("visual_stimulus_right_contrast",),
            ("response_choice",),
            ("feedback_type",),
        ),
        read=_read_steinmetz,
        correct=_steinmetz_correct,
        times={
            "t_stim": ("visual_stimulus_time",),
            "t_go": ("go_cue",),
            "t_response": ("response_time",),
            "t_feedback": ("feedback_time",),
        },
        words={"1": "left", "-1": "right", "0": "none", "": "none"},
    ),
    Convention(
        "alm",
        needs=(("type",), ("response",)),
        read=_read_alm,
        times={"t_go": ("cue_start_time",)},
        unchecked="choice is derived from cued side and outcome, so the check could not fail",
        hallmarks=(
            ("type", frozenset({"lick left", "lick right"})),
            (
                "response",
                frozenset({"correct", "incorrect", "early lick", "no response", "n/a"}),
            ),
        ),
    ),
    Convention(
        "aibs_change",
        needs=tuple((name,) for name in ("go", "catch", *_OUTCOMES, "change_time")),
        read=_read_aibs,
        times={
            "t_stim": ("change_time",),
            "t_response": ("response_time",),
            "t_feedback": ("reward_time",),
        },
        unchecked="the task has no sides",
    ),
)
NAMES = tuple(convention.name for convention in CONVENTIONS)


def missing_columns(convention: Convention, columns: Columns) -> list[str]:
    """Return what the table lacks of a convention, in words; empty where it fits."""
    lacks = [
        " or ".join(spellings) for spellings in convention.needs if columns.find(spellings) is None
    ]
    if lacks or columns.n_rows == 0:
        return lacks
    for column, words in convention.hallmarks:
        try:
            held = columns.words(column)
        except NB26NWBError:
            held = np.empty(0, dtype=object)
        if not words.intersection(held):
            lacks.append(f"any of {', '.join(map(repr, sorted(words)))} in column {column!r}")
    return lacks


def detect(columns: Columns, table_name: str, convention: str = "auto") -> Convention:
    """Return the convention that the table fits, or the named one if it fits.

    Raises
    ------
    ConventionError
        If none fits, more than one does, or the named one does not.
    """
    lacking = {c.name: missing_columns(c, columns) for c in CONVENTIONS}
    by_name = {c.name: c for c in CONVENTIONS}
    if convention != "auto":
        if not lacking[convention]:
            return by_name[convention]
        headline = f"table {table_name!r} does not fit the convention {convention!r}"
    else:
        fitting = [name for name, lacks in lacking.items() if not lacks]
        if len(fitting) == 1:
            return by_name[fitting[0]]
        if fitting:
            raise ConventionError(
                f"table {table_name!r} fits more than one convention ({', '.join(fitting)}); "
                f"name the right one with convention={fitting[0]!r}"
            )
        headline = f"table {table_name!r} fits no known behaviour convention"
    lines = [
        f"  {name}: {'fits' if not lacks else 'lacks ' + ', '.join(lacks)}"
        for name, lacks in lacking.items()
    ]
    raise ConventionError(
        "\n".join(
            [
                f"{headline}; what each convention lacks:",
                *lines,
                f"columns of the table: {', '.join(columns.names) or 'none'}",
                "name the columns yourself with mapping=dict(choice=('column', {value: 'left', "
                "…}), reward='column', …)",
            ]
        )
    )


def one_sided(left: Floats, right: Floats) -> tuple[Floats, Floats, Words]:
    """Return contrasts and side where a missing contrast means that the other side was used.

    A zero contrast whose partner is missing keeps its side.
    """
    side = larger_side(left, right)
    only_left, only_right = np.isfinite(left) & np.isnan(right), np.isfinite(right) & np.isnan(left)
    side[only_left], side[only_right] = "left", "right"
    return np.where(only_right, 0.0, left), np.where(only_left, 0.0, right), side


def contrast_on_side(contrast: Floats, side: Words) -> tuple[Floats, Floats]:
    """Return left and right contrast of a stimulus shown on one side; 0 on the other.

    Without a side only a zero contrast can be placed; others are NaN.
    """
    placed = is_side(side) | (contrast == 0.0)
    known = np.where(placed, contrast, np.nan)
    left = np.where(side == "right", known * 0.0, known)
    right = np.where(side == "left", known * 0.0, known)
    return left, right


def check_contrast(values: Floats, column: str, limit: float) -> float:
    """Return the largest contrast (0 if none is known) after a check of the range."""
    known = values[~np.isnan(values)]
    outside = int(np.sum((known < 0.0) | (known > limit)))
    if outside:
        hint = "; they look like percent" if limit == 1.0 and known.max() > 1.0 else ""
        raise ValueError(
            f"column {column!r} must hold contrasts from 0 to {limit:g}, but {outside} values lie "
            f"outside (smallest {known.min():g}, largest {known.max():g}){hint}"
        )
    return float(known.max()) if known.size else 0.0


def translate(stored: Words, words: Mapping[str, str], column: str, target: str) -> Words:
    """Return the stored values looked up in ``words``; unknown ones are an error with counts."""
    unknown: dict[str, int] = {}
    out = np.full(len(stored), "none", dtype=object)
    for i, value in enumerate(stored):
        if value in words:
            out[i] = words[value]
        else:
            unknown[value] = unknown.get(value, 0) + 1
    if unknown:
        listed = ", ".join(f"{v!r} ({n} rows)" for v, n in sorted(unknown.items())[:10])
        raise ConventionError(
            f"column {column!r} holds {listed}; known are "
            f"{', '.join(repr(w) for w in words if w)}. Say what each value means with "
            f"mapping=dict({target}=({column!r}, {{value: 'left', …}}), …)"
        )
    return out


def _read_choice(columns: Columns, me: Convention, draft: Draft, column: str) -> None:
    draft.choice_raw = columns.raw(column)
    draft.choice = translate(columns.words(column), me.words, column, "choice")
    columns.note("choice", column)
    columns.note("choice_raw", column)


def _read_feedback(columns: Columns, draft: Draft, column: str) -> None:
    feedback = columns.numbers(column)
    draft.reward = np.where(np.isnan(feedback), np.nan, (feedback == 1.0).astype(np.float64))
    columns.note("reward", column)


def _read_probability(columns: Columns, draft: Draft) -> None:
    column = columns.find(("probability_left", "probabilityLeft"))
    if column is not None:
        draft.probability_left = columns.numbers(column)
        columns.note("probability_left", column)
