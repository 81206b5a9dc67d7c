"""What happens to a problem whose weights, likelihood or gradient leave the numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learning_cases import every_network, label, random_theta, random_trials, slow_arguments
from learning_tools import fixed_trials
from reference import learning as slow

from nb26stats.learning import _native as native
from nb26stats.learning._model import Model

TRIALS = fixed_trials(40)
NAN = np.nan


def penalty(n: int, t: int) -> float:
    return -1e6 * n - 1e3 * (n - t)


@pytest.mark.parametrize("lapse", [False, True], ids=["sized", "any"])
@pytest.mark.parametrize(
    ("weight", "caught"),
    [
        (NAN, True),
        (np.copysign(NAN, -1), True),
        (np.inf, True),
        (-np.inf, True),
        (100.0, True),
        (-100.0, True),
        (99.99, False),
        (-99.99, False),
    ],
)
@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_each_weight_is_watched(
    architecture: str, weight: float, caught: bool, lapse: bool
) -> None:
    model = Model(architecture, "squared", 2, 2, 3, weight_limit=100.0, lapse=lapse)
    theta = np.append(slow.det_theta(model), [0.1] * lapse)
    theta[model.alpha_at] = 0.0  # weights stay as they are
    thetas = np.tile(theta, (model.n_weights, 1))
    np.fill_diagonal(thetas, weight)
    for got in (
        native.loglik(model, TRIALS, thetas),
        native.gradient(model, TRIALS, thetas)[::2],
        native.gradient(model, TRIALS, thetas, mode="forward")[::2],
    ):
        logliks, diverged = got
        assert np.all(diverged == (0 if caught else -1))
        assert np.all((logliks == penalty(40, 0)) == caught)


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_the_trial_and_the_value(model: Model) -> None:
    rng = np.random.default_rng(1)
    trials = random_trials(150, rng)
    seen = set()
    for alpha in (0.02, 0.3, 1.0, 2.0, 4.0, 8.0, 30.0):
        for limit in (3.0, 1e4):
            case = replace(model, weight_limit=limit)
            theta = random_theta(case, rng)
            theta[case.alpha_at] = alpha
            wanted = slow.walk(*slow_arguments(case, trials), trials.mask, theta)
            logliks, diverged = native.loglik(case, trials, theta[None])
            assert diverged[0] == wanted.diverged
            assert native.trajectory(case, trials, theta)[3] == wanted.diverged
            both = native.gradient(case, trials, theta[None])
            if wanted.diverged >= 0:
                assert logliks[0] == penalty(150, wanted.diverged)
                assert both[0][0] == logliks[0]
                assert both[2][0] == diverged[0]
                assert np.all(both[1] == 0)
            seen.add(wanted.diverged >= 0)
    assert seen == {True, False}


@pytest.mark.parametrize("model", every_network(), ids=label)
def test_neighbours_do_not_notice(model: Model) -> None:
    rng = np.random.default_rng(2)
    trials = random_trials(300, rng)
    thetas = np.array([random_theta(model, rng, 0.01) for _ in range(32)])
    before = native.gradient(model, trials, thetas)
    assert np.all(before[2] == -1)
    broken = thetas.copy()
    broken[3, 0], broken[8, -1], broken[17, -2], broken[20, 1] = NAN, np.inf, NAN, -np.inf
    after = native.gradient(model, trials, broken)
    bad = np.isin(np.arange(32), [3, 8, 17, 20])
    assert np.all(after[2][bad] >= 0)
    assert np.all(after[1][bad] == 0)
    assert np.all(after[0][bad] <= -1e6 * 300)
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one[~bad], other[~bad])


def test_a_gradient_that_explodes_has_diverged() -> None:
    rng = np.random.default_rng(3)
    trials = random_trials(2000, rng)
    # bounded hidden units keep the weights in bounds, but not the sensitivity to where they began
    model = Model("2NL", "rpe", 2, 2, 3)
    n = 200
    thetas = np.array([random_theta(model, rng) for _ in range(n)])
    thetas[:, : model.n_weights] = rng.uniform(-5, 5, (n, model.n_weights))
    thetas[:, model.alpha_at] = rng.uniform(1.0, 3.0, n)
    assert np.all(native.loglik(model, trials, thetas)[1] == -1)
    logliks, slopes, diverged = native.gradient(model, trials, thetas)
    bad = diverged >= 0
    assert 0.02 < bad.mean() < 0.5
    assert np.all(logliks[bad] < -1e6 * 2000)
    assert np.all(logliks[~bad] > -1e6)
    assert np.all(slopes[bad] == 0)
    assert np.all(np.linalg.norm(slopes[~bad], axis=1) <= 1e12)
    thetas[:, model.alpha_at] = rng.uniform(1e-4, 0.01, n)
    assert np.all(native.gradient(model, trials, thetas)[2] == -1)


@pytest.mark.parametrize("bad", [NAN, np.inf])
def test_a_temperature_that_is_no_number(bad: float) -> None:
    for model in every_network():
        theta = slow.det_theta(model)
        theta[-1] = bad
        logliks, slopes, diverged = native.gradient(model, TRIALS, theta[None])
        if diverged[0] == -1:  # an infinite one is a sure choice where no sum is zero
            assert bad == np.inf
            continue
        assert logliks[0] <= -1e6 * 40
        assert np.all(slopes == 0)


def test_ordinary_values_below_a_million_are_not_divergence() -> None:
    trials = fixed_trials(5000)
    model = Model("1L", "reinforce", 1, 0, 3, weight_limit=5e5)
    corner = np.array([250.0, -250.0, 250.0, 1e-6, 1.0])
    logliks, diverged = native.loglik(model, trials, corner[None])
    assert diverged[0] == -1
    assert abs(logliks[0] + 1_131_666) < 1
    assert logliks[0] > penalty(5000, 5000)
