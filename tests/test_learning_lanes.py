"""The same bits in every lane, grouping and thread count; the same numbers on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from learning_cases import every_network, label, random_theta, random_trials
from numpy.testing import assert_allclose

from nb26stats._dispatch import core
from nb26stats.learning import _native as native
from nb26stats.learning._model import Model

MORE = [
    *every_network(),
    *every_network(hidden=4)[10:30],
    *every_network(lapse=True)[::4],
    *every_network(output_bias=True, weight_decay=0.01)[1::4],
    *every_network(n_inputs=2)[10:30],
    *every_network(n_inputs=4)[10:30],
    *every_network(hidden=5, n_inputs=6)[2::4],
]


@pytest.mark.parametrize("model", MORE, ids=lambda m: f"{label(m)}-{m.hidden}-{m.n_inputs}")
def test_a_problem_alone_in_every_lane_and_group(model: Model) -> None:
    rng = np.random.default_rng(1)
    trials = random_trials(700, rng, n_inputs=model.n_inputs, missing=0.1, counted=0.9)
    thetas = np.array([random_theta(model, rng, 0.01) for _ in range(37)])
    whole = native.gradient(model, trials, thetas)
    for shift in (1, 7, 16):
        turned = native.gradient(model, trials, np.roll(thetas, shift, axis=0))
        for one, other in zip(whole, turned, strict=True):
            assert np.array_equal(np.roll(one, shift, axis=0), other)
    for first, last in ((0, 1), (3, 5), (5, 13), (13, 29), (29, 37)):
        part = native.gradient(model, trials, thetas[first:last])
        for one, other in zip(whole, part, strict=True):
            assert np.array_equal(one[first:last], other)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_change_nothing(n_threads: int) -> None:
    rng = np.random.default_rng(2)
    trials = random_trials(500, rng)
    for model in (Model("2NL", "reinforce", 1, 2, 3), Model("2NL", "rpe", 2, 2, 3, lapse=True)):
        thetas = np.array([random_theta(model, rng, 0.01) for _ in range(70)])
        for mode in ("reverse", "forward"):
            one = native.gradient(model, trials, thetas, mode=mode, n_threads=1)
            many = native.gradient(model, trials, thetas, mode=mode, n_threads=n_threads)
            for a, b in zip(one, many, strict=True):
                assert np.array_equal(a, b)


def test_instruction_sets_agree() -> None:
    rng = np.random.default_rng(3)
    trials = random_trials(2000, rng)
    native_core = core()
    top = native_core.get_isa()
    try:
        for model in MORE[:30]:
            trials = random_trials(2000, rng, n_inputs=model.n_inputs)
            thetas = np.array([random_theta(model, rng, 0.003) for _ in range(20)])
            found = []
            for level in range(top + 1):
                native_core.set_isa(level)
                found.append(native.gradient(model, trials, thetas))
            for level in range(1, top + 1):
                assert_allclose(found[level][0], found[0][0], rtol=1e-11)
                longest = np.abs(found[0][1]).max(axis=1, keepdims=True)
                assert_allclose(found[level][1] / longest, found[0][1] / longest, atol=1e-10)
    finally:
        native_core.set_isa(top)


def test_parts_of_a_long_call_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    trials = random_trials(100, rng)
    model = Model("2NL", "reinforce", 1, 2, 3)
    thetas = np.array([random_theta(model, rng) for _ in range(75)])
    whole = native.gradient(model, trials, thetas)
    monkeypatch.setitem(native.CALL_TRIALS, "cpu", 1700.0)
    for one, other in zip(whole, native.gradient(model, trials, thetas), strict=True):
        assert np.array_equal(one, other)


def test_no_problems_are_no_numbers() -> None:
    trials = random_trials(10, np.random.default_rng(5))
    model = Model("2NL", "reinforce", 1, 2, 3)
    logliks, slopes, diverged = native.gradient(model, trials, np.zeros((0, model.n_theta)))
    assert logliks.shape == diverged.shape == (0,)
    assert slopes.shape == (0, model.n_theta)
