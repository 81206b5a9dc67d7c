"""The gradient of the learning kernel: known numbers, complex steps, differences, both modes."""

from __future__ import annotations

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

# by alpha, beta and W1[0, 0]
KNOWN = {
    ("1L", "rpe", 2): (-89.54367594, -9.99424520, -11.15670853),
    ("2L", "rpe", 2): (-215.80378285, -13.23639421, -16.69963199),
    ("2NL", "rpe", 2): (102.67582682, 7.13156027, 6.43841716),
    ("2NL", "reinforce", 1): (98.15994300, 1.26940991, 0.56463613),
    ("2L", "cross_entropy", 1): (598.64204004, 16.14517840, -29.94031316),
}

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
        "alpha_layer2_ratio": 1.7,
        "weight_decay": 0.01,
        "missing_reward": "skip",
    },
}


def slopes(model: Model, trials: Trials, theta: F64, mode: str = "reverse") -> F64:
    return native.gradient(model, trials, theta[None], mode=mode)[1][0]


def slow_slopes(model: Model, trials: Trials, theta: F64) -> F64:
    return slow.gradient(*slow_arguments(model, trials), theta, trials.mask)


def assert_close(got: F64, wanted: F64, tolerance: float) -> None:
    """Compare relative to the longest entry: small ones are sums that cancel."""
    assert np.max(np.abs(got - wanted)) <= tolerance * np.max(np.abs(wanted))


@pytest.mark.parametrize("case", KNOWN, ids=lambda c: "-".join(map(str, c)))
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_known_gradients(case: tuple[str, str, int], mode: str) -> None:
    model = Model(*case, 2, 3, baseline=0.25 if case[1] == "reinforce" else 0.0)
    got = slopes(model, TRIALS, slow.det_theta(model), mode)
    assert_allclose(got[[-2, -1, 0]], KNOWN[case], rtol=1e-7)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("model", every_network(), ids=label)
def test_complex_steps(model: Model, options: str) -> None:
    rng = np.random.default_rng(1)
    model = replace(model, **OPTIONS[options])
    trials = random_trials(120, rng, missing=0.2, counted=0.7)
    theta = random_theta(model, rng, 0.03)
    wanted = slow_slopes(model, trials, theta)
    assert_close(slopes(model, trials, theta), wanted, 1e-11)
    assert_close(slopes(model, trials, theta, "forward"), wanted, 1e-11)


@pytest.mark.parametrize("size", [(1, 3), (3, 3), (4, 3), (2, 2), (2, 4), (5, 7), (3, 1)], ids=str)
def test_complex_steps_at_other_sizes(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    for i, model in enumerate(every_network(*size)):
        trials = random_trials(50, rng, n_inputs=size[1], missing=0.2, counted=0.7)
        chosen = replace(model, **list(OPTIONS.values())[i % len(OPTIONS)])
        for case in (model, chosen):
            theta = random_theta(case, rng, 0.03)
            assert_close(slopes(case, trials, theta), slow_slopes(case, trials, theta), 1e-11)


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_central_differences(model: Model) -> None:
    rng = np.random.default_rng(3)
    # the kinks of relu: over few trials no step crosses one
    n = 100 if model.activation == "relu" else 3000
    trials = random_trials(n, rng, counted=0.8)
    theta = random_theta(model, rng, 0.003)
    steps = 1e-5 * np.maximum(0.1, np.abs(theta))
    moves = np.concatenate([np.diag(steps), -np.diag(steps)])
    logliks, diverged = native.loglik(model, trials, theta + moves)
    assert np.all(diverged == -1)
    n = len(theta)
    differences = (logliks[:n] - logliks[n:]) / (2 * steps)
    assert_close(differences, slopes(model, trials, theta), 3e-6)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("model", every_network(), ids=label)
def test_both_modes_agree(model: Model, options: str) -> None:
    rng = np.random.default_rng(4)
    model = replace(model, **OPTIONS[options])
    trials = random_trials(1000, rng, missing=0.1, counted=0.9)
    thetas = np.array([random_theta(model, rng, 0.01) for _ in range(3)])
    back, by_back, _ = native.gradient(model, trials, thetas)
    ahead, by_ahead, _ = native.gradient(model, trials, thetas, mode="forward")
    assert_allclose(ahead, back, rtol=1e-12)
    for one, other in zip(by_back, by_ahead, strict=True):
        assert_close(other, one, 1e-10)


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_the_log_likelihood_is_that_of_the_call_without_a_gradient(model: Model) -> None:
    rng = np.random.default_rng(5)
    trials = random_trials(1500, rng)
    thetas = np.array([random_theta(model, rng, 0.01) for _ in range(5)])
    assert np.array_equal(
        native.gradient(model, trials, thetas)[0], native.loglik(model, trials, thetas)[0]
    )


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
@pytest.mark.parametrize("options", ["plain", "all"])
def test_more_trials_than_a_trace_is_kept_for(architecture: str, options: str) -> None:
    rng = np.random.default_rng(6)
    model = Model(architecture, "reinforce", 1, 2, 3, **OPTIONS[options])
    trials = random_trials(60_000, rng, missing=0.05, counted=0.9)
    theta = random_theta(model, rng, 0.001)
    assert_close(slopes(model, trials, theta), slopes(model, trials, theta, mode="forward"), 1e-10)


def test_no_gradient_flows_through_choices_that_are_not_counted_or_learnt_from() -> None:
    rng = np.random.default_rng(7)
    trials = random_trials(100, rng)
    last = np.arange(100) >= 60
    trials = replace(trials, mask=~last, rewards=np.where(last, np.nan, trials.rewards))
    cut = Trials(
        *(a[~last] for a in (trials.x, trials.choice, trials.rewards, trials.correct_side)),
        None,
        trials.mask[~last],
    )
    for model in every_network(missing_reward="skip"):
        if model.rule not in ("rpe", "reinforce"):
            continue
        theta = random_theta(model, rng)
        assert_allclose(slopes(model, trials, theta), slopes(model, cut, theta), rtol=1e-13)


@pytest.mark.parametrize("lapse", [0.0, 1e-12, 0.5])
def test_lapse_at_its_ends(lapse: float) -> None:
    rng = np.random.default_rng(8)
    trials = random_trials(100, rng)
    for model in every_network(lapse=True):
        theta = random_theta(model, rng, 0.02)
        theta[-1] = lapse
        wanted = slow_slopes(model, trials, theta)
        assert_close(slopes(model, trials, theta), wanted, 1e-10)
        assert_close(slopes(model, trials, theta, "forward"), wanted, 1e-10)


def test_relu_with_dead_units() -> None:
    rng = np.random.default_rng(9)
    trials = random_trials(200, rng)
    model = Model("2NL", "rpe", 2, 4, 3, activation="relu")
    theta = random_theta(model, rng)
    w1, _ = model.weights(theta)
    w1[1] = -np.abs(w1[1])  # never on, and never moved
    got = slopes(model, trials, theta)
    assert_close(got, slow_slopes(model, trials, theta), 1e-12)
    assert np.all(got[3:6] == 0)


def test_hidden_units_that_saturate() -> None:
    rng = np.random.default_rng(10)
    trials = random_trials(200, rng)
    for curve in ("sigmoid", "tanh"):
        model = Model("2NL", "reinforce", 1, 2, 3, activation=curve)
        theta = random_theta(model, rng)
        theta[:3] = 40.0
        theta[3:6] = -800.0
        assert_close(slopes(model, trials, theta), slow_slopes(model, trials, theta), 1e-10)
