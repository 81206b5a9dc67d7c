"""The side of a stimulus, and whether the sides of the choices agree with the rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nb26stats._warnings import warn

from ._behavior_columns import Floats, Words

MIN_TRIALS = 20
"""Below this many usable trials only a perfect agreement counts."""
KEEP, SWAP = 0.95, 0.05
_OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class SideCheck:
    """Outcome of the side check: share of agreeing trials after any swap, and what was done."""

    agreement: float
    n_trials: int
    flipped: bool
    before: float
    note: str


def is_side(words: Words) -> NDArray[np.bool_]:
    """Return where a word is 'left' or 'right'."""
    return np.asarray((words == "left") | (words == "right"), dtype=bool)


def swap(words: Words) -> Words:
    """Return the words with 'left' and 'right' exchanged; every other word stays."""
    return np.array([_OTHER.get(word, word) for word in words], dtype=object)


def larger_side(left: Floats, right: Floats) -> Words:
    """Return the side with the higher contrast, 'none' where they are equal or unknown."""
    out = np.full(len(left), "none", dtype=object)
    out[left > right] = "left"
    out[right > left] = "right"
    return out


def correct_choices(choice: Words, side: Words) -> Floats:
    """Return 1.0 where the reported side is the stimulus side, 0.0 where not, NaN if undefined."""
    usable = is_side(choice) & is_side(side)
    return np.where(usable, (choice == side).astype(np.float64), np.nan)


def measure_agreement(choice: Words, side: Words, reward: Floats) -> tuple[float, int]:
    """Return the share of usable trials whose reward fits choice and side, and their number."""
    usable = is_side(choice) & is_side(side) & np.isfinite(reward)
    n = int(usable.sum())
    if n == 0:
        return float("nan"), 0
    same = (choice[usable] == side[usable]) == (reward[usable] == 1.0)
    return float(np.mean(same)), n


def check_sides(
    choice: Words, side: Words, reward: Floats, *, column: str, values: str
) -> tuple[Words, SideCheck]:
    """Return the choices, swapped where their words name the wheel's direction, and the outcome.

    Interim files of one large consortium wrote the direction of the wheel as 'left'/'right': the
    opposite of the side the animal reports. Rewards tell the two readings apart.
    """
    agreement, n = measure_agreement(choice, side, reward)
    if n == 0:
        note = "no trial with a choice, a stimulus side and a known reward"
        warn(f"the sides of the choices could not be checked: {note}")
        return choice, SideCheck(agreement, n, False, agreement, note)
    if n < MIN_TRIALS:
        if agreement == 1.0:
            note = f"only {n} usable trials"
            warn(f"the sides of the choices agree with the rewards, but on {note}")
            return choice, SideCheck(agreement, n, False, agreement, note)
        raise ValueError(_unclear(agreement, n, column, values))
    if agreement >= KEEP:
        return choice, SideCheck(agreement, n, False, agreement, "sides kept")
    if agreement <= SWAP:
        warn(
            f"left and right were swapped in the choices of column {column!r}: as written they "
            f"contradict the reward on {100 * (1 - agreement):.1f} % of {n} trials, so the words "
            "name the direction of the wheel, not the reported side"
        )
        swapped = swap(choice)
        after, _ = measure_agreement(swapped, side, reward)
        return swapped, SideCheck(after, n, True, agreement, "sides swapped")
    raise ValueError(_unclear(agreement, n, column, values))


def _unclear(agreement: float, n: int, column: str, values: str) -> str:
    bar = (
        f"with fewer than {MIN_TRIALS} trials all must agree"
        if n < MIN_TRIALS
        else f"at least {100 * KEEP:.0f} % keep the sides, at most {100 * SWAP:.0f} % swap them"
    )
    return (
        f"the sides in column {column!r} (values: {values}) agree with the rewards on "
        f"{100 * agreement:.1f} % of {n} trials; {bar}. Say which value means which side with "
        f"mapping=dict(choice=({column!r}, {{value: 'left', …}}), reward='…', …), or give "
        "check=False if the rewards do not follow the sides in this task"
    )
