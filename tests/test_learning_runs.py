"""Free runs of the learning kernel: random numbers, the oracle, independence of the grouping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learning_cases import every_network, label, random_theta, random_trials
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from reference import learning as slow

from nb26stats._dispatch import core
from nb26stats.learning import _native as native
from nb26stats.learning._model import F64, Model
from nb26stats.learning._trials import Trials

SALT = 0x6C726E00


def uniforms(seed: int, run: int, n: int) -> F64:
    """Return what decides the choices of one run."""
    index = np.arange(n, dtype=np.uint64)
    words = core().philox_words(seed, SALT, index, np.full(n, run, np.uint64)).astype(np.uint64)
    high, low = words[:, 0] >> np.uint64(5), words[:, 1] >> np.uint64(6)
    return (high * 2.0**26 + low + 0.5) * 2.0**-53


def test_known_random_numbers() -> None:
    words = core().philox_words(0, SALT, np.zeros(1, np.uint64), np.zeros(1, np.uint64))[0]
    assert [f"{int(w):08x}" for w in words] == ["439b2641", "8f75f9e3", "b2f6601f", "3767fdd7"]
    known = {
        (0, 0, 0): 0.26408614635761024,
        (0, 0, 1): 0.5198627964264124,
        (0, 1, 0): 0.8222863517022609,
        (42, 3, 1000): 0.346539161891203,
    }
    for (seed, run, t), u in known.items():
        assert uniforms(seed, run, t + 1)[t] == u


@pytest.mark.parametrize(("seed", "run", "t"), [(0, 0, 0), (0, 0, 1), (0, 1, 0), (42, 3, 1000)])
def test_the_kernel_draws_them(seed: int, run: int, t: int) -> None:
    """A static network chooses right exactly where its probability exceeds the number."""
    model = Model("1L", "squared", 1, 0, 1)
    u = uniforms(seed, run, t + 1)[t]
    for p, wanted in ((u * (1 - 1e-9), 0), (u * (1 + 1e-9), 1)):
        theta = np.array([np.log(p / (1 - p)), 0.0, 1.0])
        choice, _, _, _ = native.simulate(
            model, np.ones((t + 1, 1)), np.ones(t + 1), theta, n_runs=1, first_run=run, seed=seed
        )
        assert choice[0, t] == wanted


@pytest.mark.parametrize("missing", ["expected", "skip"])
@pytest.mark.parametrize("model", every_network(), ids=label)
def test_the_oracle(model: Model, missing: str) -> None:
    rng = np.random.default_rng(1)
    for options in ({}, {"lapse": True, "output_bias": True, "weight_decay": 0.01}):
        case = replace(model, missing_reward=missing, **options)
        trials = random_trials(150, rng, missing=0.2)
        theta = random_theta(case, rng)
        got = native.simulate(case, trials.x, trials.correct_side, theta, n_runs=2, seed=7)
        for run in range(2):
            wanted = slow.simulate(
                case, trials.x, trials.correct_side, theta, uniforms(7, run, 150)
            )
            assert np.array_equal(got[0][run], wanted[0])
            assert_allclose(got[1][run], wanted[1], equal_nan=True)
            assert_allclose(got[2][run], wanted[2], rtol=1e-11)
            assert_allclose(got[3][run], wanted[3], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_a_run_is_its_own_trajectory(model: Model) -> None:
    rng = np.random.default_rng(2)
    trials = random_trials(400, rng)
    theta = random_theta(model, rng)
    choice, reward, p_right, last = native.simulate(
        model, trials.x, trials.correct_side, theta, n_runs=3, seed=11
    )
    assert np.array_equal(reward, choice == trials.correct_side)
    for run in range(3):
        played = Trials(trials.x, choice[run], reward[run], trials.correct_side, None, trials.mask)
        weights, _, right, _ = native.trajectory(model, played, theta)
        assert np.array_equal(weights[-1], last[run])
        assert_allclose(np.exp(right), p_right[run], rtol=1e-13)


def test_runs_depend_on_their_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    trials = random_trials(200, rng)
    model = Model("2NL", "reinforce", 1, 2, 3)
    theta = random_theta(model, rng)

    def runs(n: int, first: int = 0, n_threads: int = 0) -> tuple[NDArray[np.int8], F64, F64, F64]:
        return native.simulate(
            model,
            trials.x,
            trials.correct_side,
            theta,
            n_runs=n,
            first_run=first,
            seed=5,
            n_threads=n_threads,
        )

    whole = runs(9)
    for got in (runs(9, n_threads=1), runs(9, n_threads=3)):
        for one, other in zip(whole, got, strict=True):
            assert np.array_equal(one, other)
    for one, other in zip(whole, runs(4, first=5), strict=True):
        assert np.array_equal(one[5:], other)
    monkeypatch.setitem(native.CALL_TRIALS, "cpu", 500.0)
    for one, other in zip(whole, runs(9), strict=True):
        assert np.array_equal(one, other)


def test_choices_follow_their_probability() -> None:
    """Sums of 20 000 independent choices: within four standard errors."""
    rng = np.random.default_rng(4)
    trials = random_trials(20, rng)
    model = Model("2NL", "reinforce", 1, 2, 3)
    theta = random_theta(model, rng)
    choice, _, p_right, _ = native.simulate(
        model, trials.x, trials.correct_side, theta, n_runs=20_000, seed=6
    )
    spread = np.sqrt((p_right * (1 - p_right)).sum(0))
    assert np.all(np.abs((choice - p_right).sum(0)) < 4 * spread)
