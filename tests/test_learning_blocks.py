"""Hold-out by blocks: where blocks begin, and what held-out trials may and may not do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_tools import fixed_trials
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import DNNLearningRule
from nb26stats.learning._blocks import cut_blocks


def in_sessions(lengths: list[int], counted: float = 1.0, seed: int = 0):
    codes = np.repeat(np.arange(len(lengths)), lengths)
    rng = np.random.default_rng(seed)
    trials = fixed_trials(codes.size)
    return replace(trials, sessions=codes, mask=rng.random(codes.size) < counted)


def test_without_sessions_blocks_are_alike_in_counted_trials() -> None:
    trials = fixed_trials(103)
    codes = cut_blocks(trials, 10)
    assert set(np.bincount(codes)) == {10, 11}
    mask = np.arange(103) >= 43
    codes = cut_blocks(replace(trials, mask=mask), 6)
    assert list(np.bincount(codes, weights=mask)) == [10] * 6
    assert not codes[:43].any()


def test_sessions_stay_whole() -> None:
    codes = cut_blocks(in_sessions([30, 10, 10, 10, 50, 10, 40, 40]), 4)
    assert list(np.bincount(codes)) == [50, 60, 50, 40]


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=30),
    st.floats(0.05, 1.0),
    st.integers(2, 12),
    st.integers(0, 5),
)
def test_blocks_are_contiguous_whole_and_counted(lengths, share, n_blocks, seed) -> None:
    trials = in_sessions(lengths, share, seed)
    whole = np.unique(trials.sessions[trials.mask]).size
    if whole < n_blocks:
        with pytest.raises(ValueError, match=f"n_blocks={n_blocks} must be at most .* {whole}"):
            cut_blocks(trials, n_blocks)
        return
    codes = cut_blocks(trials, n_blocks)
    assert np.all(np.diff(codes) >= 0)
    assert np.all(np.bincount(codes, weights=trials.mask, minlength=n_blocks) > 0)
    assert codes.max() == n_blocks - 1
    for session in range(len(lengths)):
        assert np.unique(codes[trials.sessions == session]).size == 1


RNG = np.random.default_rng(8)
DATA = {
    "X": fixed_trials(400).x,
    "y": RNG.integers(0, 2, 400),
    "rewards": RNG.integers(0, 2, 400),
    "sessions": np.arange(400) // 45,
}


def rule(architecture: str = "1L", **options) -> DNNLearningRule:
    options = {
        "n_restarts": 3,
        "n_pool": 12,
        "random_state": 5,
        "standard_errors": False,
        **options,
    }
    return DNNLearningRule(architecture, **options)


def quietly(call: Callable[..., Any], *args: object, **kw: object) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*args, **kw)


@pytest.mark.parametrize("penalty", ["none", "gaussian"])
@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_a_refit_is_the_fit_with_the_block_masked(architecture: str, penalty: str) -> None:
    counted = RNG.random(400) < 0.8
    estimator = rule(architecture, penalty=penalty, lapse=penalty == "none")
    found = quietly(estimator.cross_val_blocks, **DATA, likelihood_mask=counted, n_blocks=3)
    blocks = found["blocks"]
    for b in range(3):
        kept = counted & (blocks != b)
        alone = quietly(clone(estimator).fit, **DATA, likelihood_mask=kept)
        held = alone.log_likelihood(
            alone.theta_, DATA["X"], DATA["y"], DATA["rewards"],
            likelihood_mask=counted & (blocks == b),
        )  # fmt: skip
        assert found["block_loglik"][b] == pytest.approx(held, abs=1e-8)
        assert found["block_n"][b] == (counted & (blocks == b)).sum()
        assert found["block_n_hit"][b] == alone.n_hit_
    assert found["mean"] == pytest.approx(found["block_loglik"].sum() / counted.sum())
    assert found["block_n"].sum() == counted.sum()


def test_held_out_trials_teach_and_do_not_count() -> None:
    found = quietly(rule().cross_val_blocks, **DATA, n_blocks=4)
    outside = dict(DATA)
    # other choices in the last block change no refit but that of the others
    outside["y"] = np.where(found["blocks"] == 3, 1 - DATA["y"], DATA["y"])
    other = quietly(rule().cross_val_blocks, **outside, n_blocks=4)
    assert np.array_equal(found["block_theta"][3], other["block_theta"][3])
    assert not np.array_equal(found["block_theta"][0], other["block_theta"][0])
    # the first block teaches what comes after it: its refit changes with its rewards
    outside = dict(DATA)
    outside["rewards"] = np.where(found["blocks"] == 0, 1 - DATA["rewards"], DATA["rewards"])
    other = quietly(rule().cross_val_blocks, **outside, n_blocks=4)
    assert not np.array_equal(found["block_theta"][0], other["block_theta"][0])


def test_the_same_bits_for_any_split_of_the_work() -> None:
    whole = quietly(rule("2NL").cross_val_blocks, **DATA, n_blocks=5)
    for options in ({"n_jobs": 2}, {"n_threads": 1}, {"n_threads": 3}):
        part = quietly(rule("2NL", **options).cross_val_blocks, **DATA, n_blocks=5)
        for key in ("block_loglik", "block_n", "blocks", "block_theta", "block_n_hit"):
            assert whole[key].tobytes() == part[key].tobytes(), (options, key)


def test_r_counts_blocks_in_doubles_and_wrong_numbers_are_refused() -> None:
    found = quietly(rule().cross_val_blocks, **DATA, n_blocks=2.0)
    assert found["block_loglik"].shape == (2,)
    for wrong, error in ((1, ValueError), (True, TypeError), (2.5, TypeError), (10, ValueError)):
        with pytest.raises(error, match="n_blocks"):
            rule().cross_val_blocks(**DATA, n_blocks=wrong)


def test_an_optimum_found_once_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="of 2 refits was found by one start only"):
        rule("2NL", n_restarts=1, nested_start=False).cross_val_blocks(**DATA, n_blocks=2)
