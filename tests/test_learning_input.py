"""Bad trials: every refusal names the argument and the first bad trial, every form is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from nb26stats.learning._trials import Trials, check_trials

X = np.column_stack([np.linspace(0, 1, 6), np.linspace(1, 0, 6), np.ones(6)])
Y = np.array([0, 1, 1, 0, 1, 0])
R = np.array([1.0, 0.0, np.nan, 1.0, 0.5, 0.0])


def _same(a: Trials, b: Trials) -> None:
    for name in ("x", "choice", "rewards", "correct_side", "sessions", "mask", "position"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.session_labels == b.session_labels


def test_the_side_follows_from_the_reward_and_the_reward_from_the_side() -> None:
    trials = check_trials(X, Y, rewards=R)
    np.testing.assert_array_equal(trials.correct_side, [0, 0, np.nan, 0, 0.5, 1])
    back = check_trials(X, Y, correct_side=trials.correct_side)
    np.testing.assert_array_equal(back.rewards, R)
    both = check_trials(X, Y, rewards=R, correct_side=[1, np.nan, 1, 0, 0, 0])
    np.testing.assert_array_equal(both.rewards, R)
    np.testing.assert_array_equal(both.correct_side, [1, np.nan, 1, 0, 0, 0])


@pytest.mark.parametrize(
    "form",
    [
        lambda a: a.tolist(),
        np.asfortranarray,
        lambda a: a.astype(np.float64),
        lambda a: a[::1].copy()[:],
        lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a, index=range(9, 15)),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.ma.masked_invalid(a) if a.dtype.kind == "f" else a,
    ],
)
def test_forms_of_the_same_trials(form: Any) -> None:
    sessions, mask = np.array([3, 3, 3, 1, 1, 1]), np.array([1, 1, 0, 1, 1, 0], dtype=bool)
    want = check_trials(X, Y, rewards=R, sessions=sessions, likelihood_mask=mask)
    got = check_trials(
        form(X), form(Y), rewards=form(R), sessions=form(sessions), likelihood_mask=form(mask)
    )
    _same(got, want)
    for name in ("x", "choice", "rewards", "correct_side", "mask", "sessions"):
        assert getattr(got, name).flags.c_contiguous
