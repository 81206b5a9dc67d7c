"""Properties of the learning kernel for any network and trials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import every_network, random_theta, random_trials
from numpy.testing import assert_allclose

from nb26stats.learning import _native as native
from nb26stats.learning._model import POLICY_RULES, Model

NETWORKS = [
    *every_network(),
    *every_network(hidden=3, lapse=True),
    *every_network(hidden=4, output_bias=True, weight_decay=0.002, alpha_layer2_ratio=1.5),
]
networks = st.sampled_from(NETWORKS)
seeds = st.integers(0, 2**32 - 1)
SETTINGS = settings(max_examples=80, deadline=None)


@SETTINGS
@given(networks, seeds, st.integers(1, 60))
def test_the_likelihood_is_the_sum_along_the_trajectory(model: Model, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    trials = random_trials(n, rng, missing=0.2, counted=0.7)
    theta = random_theta(model, rng, 0.02)
    (loglik,), (diverged,) = native.loglik(model, trials, theta[None])
    _, left, right, at = native.trajectory(model, trials, theta)
    assert diverged == at == -1
    assert loglik <= 0
    chosen = np.where(trials.choice == 1, right, left)
    assert_allclose(loglik, chosen[trials.mask].sum(), rtol=1e-12, atol=1e-12)
    assert_allclose(np.exp(left) + np.exp(right), 1, rtol=1e-12)


@SETTINGS
@given(networks, seeds)
def test_hidden_units_in_any_order(model: Model, seed: int) -> None:
    if not model.deep:
        return
    rng = np.random.default_rng(seed)
    trials = random_trials(80, rng)
    theta = random_theta(model, rng, 0.02)
    order = rng.permutation(model.hidden)
    w1, w2 = model.weights(theta)
    columns = np.append(order, model.hidden) if model.output_bias else order
    moved = np.concatenate([w1[order].ravel(), w2[:, columns].ravel(), theta[model.alpha_at :]])
    one, other = native.loglik(model, trials, np.stack([theta, moved]))[0]
    assert abs(one - other) < 1e-10 * max(1, abs(one))


@SETTINGS
@given(networks, seeds, st.integers(1, 59))
def test_the_past_does_not_know_the_future(model: Model, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    trials = random_trials(60, rng)
    theta = random_theta(model, rng, 0.02)
    start = replace(
        trials,
        x=trials.x[:n].copy(),
        choice=trials.choice[:n].copy(),
        rewards=trials.rewards[:n].copy(),
        correct_side=trials.correct_side[:n].copy(),
        mask=trials.mask[:n].copy(),
    )
    short = native.trajectory(model, start, theta)
    long = native.trajectory(model, trials, theta)
    assert np.array_equal(short[0], long[0][: n + 1])
    assert np.array_equal(short[1], long[1][:n])
    counted = replace(trials, mask=np.arange(60) < n)
    one = native.gradient(model, start, theta[None])
    other = native.gradient(model, counted, theta[None])
    assert_allclose(one[0], other[0], rtol=1e-13)
    assert_allclose(one[1], other[1], rtol=1e-10, atol=1e-10)


@SETTINGS
@given(st.sampled_from([m for m in NETWORKS if not m.output_bias]), seeds)
def test_policy_rules_know_only_the_difference_of_two_outputs(model: Model, seed: int) -> None:
    if model.rule not in POLICY_RULES or model.n_outputs == 1:
        return
    rng = np.random.default_rng(seed)
    trials = random_trials(80, rng)
    theta = random_theta(model, rng, 0.02)
    shift = np.zeros(model.n_weights)
    _, last = model.weights(shift) if model.deep else (None, model.weights(shift)[0])
    last += rng.normal(size=last.shape[1])
    moved = theta.copy()
    moved[: model.n_weights] += shift
    one, other = native.loglik(model, trials, np.stack([theta, moved]))[0]
    assert abs(one - other) < 1e-10 * max(1, abs(one))
