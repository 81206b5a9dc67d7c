"""The learning kernel: exact numbers, the oracle, limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from learning_cases import every_network, label, random_theta, random_trials, slow_arguments
from learning_tools import fixed_trials
from numpy.testing import assert_allclose
from reference import learning as slow

from nb26stats.learning import _native as native
from nb26stats.learning._model import F64, Model
from nb26stats.learning._trials import Trials

TRIALS = fixed_trials(200)

LOGLIKS = {
    ("1L", "rpe", 1): -110.6368171494,
    ("1L", "rpe", 2): -119.6262459962,
    ("1L", "squared", 2): -124.7849131864,
    ("1L", "reinforce", 1): -101.4200920445,
    ("1L", "expected_reward", 1): -117.0422523895,
    ("1L", "cross_entropy", 1): -108.4067602389,
    ("2L", "rpe", 1): -102.7845176612,
    ("2L", "rpe", 2): -118.3429760032,
    ("2L", "squared", 2): -130.4925771067,
    ("2L", "reinforce", 1): -127.8408204036,
    ("2L", "expected_reward", 1): -131.0391452968,
    ("2L", "cross_entropy", 1): -99.6790697291,
    ("2NL", "rpe", 1): -143.1814532302,
    ("2NL", "rpe", 2): -118.9771531289,
    ("2NL", "squared", 2): -116.1368723573,
    ("2NL", "reinforce", 1): -140.0779492389,
    ("2NL", "expected_reward", 1): -151.5545941179,
    ("2NL", "cross_entropy", 1): -143.2009153212,
}


def network(architecture: str, rule: str, k: int, **options: object) -> Model:
    baseline = 0.25 if rule == "reinforce" else 0.0
    return Model(architecture, rule, k, 2, 3, baseline=baseline, **options)


def value(model: Model, theta: F64, trials: Trials = TRIALS) -> float:
    return float(native.loglik(model, trials, theta[None])[0][0])


def slow_value(model: Model, theta: F64, trials: Trials) -> float:
    return slow.loglik(*slow_arguments(model, trials), theta, trials.mask)


def test_the_fixed_trials_are_the_known_ones() -> None:
    assert TRIALS.choice.sum() == 74
    assert TRIALS.rewards.sum() == 136


@pytest.mark.parametrize("case", LOGLIKS, ids=lambda c: "-".join(map(str, c)))
def test_log_likelihood(case: tuple[str, str, int]) -> None:
    model = network(*case)
    theta = slow.det_theta(model)
    assert abs(value(model, theta) - LOGLIKS[case]) < 1e-8
    assert abs(slow_value(model, theta, TRIALS) - LOGLIKS[case]) < 1e-8


@pytest.mark.parametrize(
    ("architecture", "last"),
    [("1L", 0.6195005361), ("2L", 0.6084729589), ("2NL", 0.6540979940)],
)
def test_first_weight_after_all_updates(architecture: str, last: float) -> None:
    model = network(architecture, "rpe", 2)
    weights, _, _, diverged = native.trajectory(model, TRIALS, slow.det_theta(model))
    assert diverged == -1
    assert abs(weights[-1, 0] - last) < 1e-8


def test_rotation_of_two_linear_layers_and_not_of_a_nonlinear_one() -> None:
    turn = 0.73
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])

    def moved(model: Model, by: F64) -> float:
        theta = slow.det_theta(model)
        w1, w2 = model.weights(theta)
        new = np.concatenate([(by @ w1).ravel(), (w2 @ by.T).ravel(), theta[-2:]])
        return value(model, new) - value(model, theta)

    assert abs(moved(network("2L", "rpe", 2), rotation)) < 1e-10
    curved = network("2NL", "rpe", 2)
    assert abs(moved(curved, rotation) - 1.086118) < 1e-5
    assert abs(moved(curved, rotation.T) + 28.911237) < 1e-5
    assert abs(moved(curved, np.array([[0.0, 1.0], [1.0, 0.0]]))) < 1e-10


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
@pytest.mark.parametrize("rule", ["rpe", "squared"])
def test_left_and_right_mirrored(architecture: str, rule: str) -> None:
    model = network(architecture, rule, 2)
    theta = slow.det_theta(model)
    w1, w2 = model.weights(theta)
    swapped = w1[:, [1, 0, 2]]
    layers = [swapped, w2[::-1]] if model.deep else [swapped[::-1]]
    mirrored = np.concatenate([*(w.ravel() for w in layers), theta[-2:]])
    x = np.ascontiguousarray(TRIALS.x[:, [1, 0, 2]])
    other = Trials(
        x,
        (1 - TRIALS.choice).astype(np.int8),
        TRIALS.rewards,
        1 - TRIALS.correct_side,
        None,
        TRIALS.mask,
    )
    assert abs(value(model, mirrored, other) - value(model, theta)) < 1e-10


def test_without_learning_the_network_is_static() -> None:
    model = network("2NL", "rpe", 2)
    theta = slow.det_theta(model)
    theta[-2] = 0.0
    assert abs(value(model, theta) + 128.3474091846) < 1e-8
    weights, _, _, _ = native.trajectory(model, TRIALS, theta)
    assert np.all(weights == theta[:-2])


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_without_a_temperature_choices_are_coins(model: Model) -> None:
    theta = slow.det_theta(replace(model, n_outputs=model.n_outputs))
    theta[-1] = 0.0
    assert abs(value(model, theta) + 200 * math.log(2)) < 1e-8


@pytest.mark.parametrize(
    ("architecture", "loglik"), [("2L", -116.6989527951), ("2NL", -118.6545195152)]
)
def test_trials_without_a_reward_skipped(architecture: str, loglik: float) -> None:
    blank = TRIALS.x[:, :2].sum(1) == 0
    rewards = np.where(blank, np.nan, TRIALS.rewards)
    trials = replace(TRIALS, rewards=rewards)
    model = network(architecture, "rpe", 2, missing_reward="skip")
    assert abs(value(model, slow.det_theta(model), trials) - loglik) < 1e-8


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_a_steep_readout_stays_finite(model: Model) -> None:
    theta = slow.det_theta(model)
    theta[-1] = 1e4
    # a policy rule multiplies its step by beta: without learning it is the readout alone
    theta[-2] = 0.0 if model.policy else theta[-2]
    logliks, diverged = native.loglik(model, TRIALS, theta[None])
    assert diverged[0] == -1
    assert np.isfinite(logliks[0])
    assert_allclose(logliks[0], slow_value(model, theta, TRIALS), rtol=1e-9)


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_one_trial_is_the_first_choice(model: Model) -> None:
    theta = slow.det_theta(model)
    trials = fixed_trials(1)
    _, left, right, _ = native.trajectory(model, trials, theta)
    assert_allclose(np.exp(left) + np.exp(right), 1, rtol=1e-14)
    assert_allclose(
        value(model, theta, trials), (right if trials.choice[0] else left)[0], atol=1e-15
    )


OPTIONS = {
    "plain": {},
    "skip": {"missing_reward": "skip"},
    "bias": {"output_bias": True},
    "lapse": {"lapse": True},
    "ratio": {"alpha_layer2_ratio": 1.7},
    "decay": {"weight_decay": 0.01},
    "all": {
        "output_bias": True,
        "lapse": True,
        "alpha_layer2_ratio": 0.6,
        "weight_decay": 0.003,
        "missing_reward": "skip",
    },
}
SIZES = ((1, 3), (2, 3), (2, 2), (3, 3), (4, 3), (2, 4), (5, 7), (3, 1), (64, 2))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_oracle(options: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(size[0] * 10 + size[1])
    for model in every_network(*size, **OPTIONS[options]):
        trials = random_trials(60, rng, n_inputs=size[1], missing=0.2, counted=0.8)
        theta = random_theta(model, rng, 0.02)
        arguments = slow_arguments(model, trials)
        done = slow.walk(*arguments, trials.mask, theta)
        assert done.diverged == -1
        assert_allclose(value(model, theta, trials), done.loglik, rtol=1e-12, atol=1e-12)
        weights, left, right, diverged = native.trajectory(model, trials, theta)
        assert diverged == -1
        assert_allclose(weights, done.weights, rtol=1e-11, atol=1e-13)
        assert_allclose(left, done.log_left, rtol=1e-11, atol=1e-14)
        assert_allclose(right, done.log_right, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("lapse", [0.0, 0.2, 0.5])
def test_lapse_mixes_with_a_coin(lapse: float) -> None:
    model = network("2NL", "rpe", 2, lapse=True)
    theta = np.append(slow.det_theta(model), lapse)
    plain = network("2NL", "rpe", 2)
    _, left, right, _ = native.trajectory(plain, TRIALS, theta[:-1])
    _, with_left, with_right, _ = native.trajectory(model, TRIALS, theta)
    assert_allclose(np.exp(with_left), (1 - lapse) * np.exp(left) + lapse / 2, rtol=1e-13)
    assert_allclose(np.exp(with_right), (1 - lapse) * np.exp(right) + lapse / 2, rtol=1e-13)
    seen = np.where(TRIALS.choice == 1, with_right, with_left)
    assert_allclose(value(model, theta), seen.sum(), rtol=1e-13)


def test_log_probabilities_far_out_keep_their_digits() -> None:
    model = network("1L", "rpe", 1)
    theta = np.array([0.0, 0.0, 50.0, 0.0, 10.0])
    trials = fixed_trials(1)
    _, left, right, _ = native.trajectory(model, trials, theta)
    assert_allclose(left[0], -500.0, rtol=1e-15)
    assert_allclose(right[0], -math.exp(-500.0), rtol=1e-13)


def test_the_mask_of_a_problem_is_its_own() -> None:
    rng = np.random.default_rng(5)
    trials = random_trials(300, rng)
    masks = rng.random((4, 300)) < 0.5
    which = rng.integers(0, 4, 37)
    for model in (network("2NL", "reinforce", 1), network("2NL", "rpe", 2, lapse=True)):
        thetas = np.array([random_theta(model, rng) for _ in range(37)])
        got, slopes, _ = native.gradient(model, trials, thetas, masks=masks, which_mask=which)
        for i in range(37):
            alone = replace(trials, mask=masks[which[i]])
            one, slope, _ = native.gradient(model, alone, thetas[i : i + 1])
            assert got[i] == one[0]
            assert np.array_equal(slopes[i], slope[0])


def test_parts_of_the_likelihood_add_up() -> None:
    rng = np.random.default_rng(6)
    trials = random_trials(500, rng)
    model = network("2NL", "reinforce", 1)
    theta = random_theta(model, rng)
    first = np.arange(500) < 200
    masks = np.stack([first, ~first, np.ones(500, dtype=bool)])
    parts, slopes, _ = native.gradient(
        model, trials, np.tile(theta, (3, 1)), masks=masks, which_mask=np.arange(3)
    )
    assert_allclose(parts[0] + parts[1], parts[2], rtol=1e-13)
    assert_allclose(slopes[0] + slopes[1], slopes[2], rtol=1e-10, atol=1e-10)


def test_nothing_counted_is_zero() -> None:
    trials = replace(TRIALS, mask=np.zeros(200, dtype=bool))
    for model in (network("2NL", "reinforce", 1), network("2NL", "rpe", 2, lapse=True)):
        theta = np.append(slow.det_theta(model), [0.1] * model.lapse)
        got, slope, diverged = native.gradient(model, trials, theta[None])
        assert got[0] == 0
        assert diverged[0] == -1
        assert np.all(slope == 0)


def test_importing_and_running_leaves_subnormal_numbers_alone() -> None:
    model = network("2NL", "rpe", 2)
    native.gradient(model, TRIALS, slow.det_theta(model)[None])
    assert np.float64(5e-324) * 1 != 0
