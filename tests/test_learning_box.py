"""The region a fit searches, the count of its parameters, and the form they are reported in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nb26stats.learning._box import box, free_beta
from nb26stats.learning._canonical import canonical, canonical_map
from nb26stats.learning._counting import n_identifiable, n_raw
from nb26stats.learning._embedding import embeddings, shallow
from nb26stats.learning._model import POLICY_RULES, RULES, Model
from nb26stats.learning._rescale import at_beta


def model(architecture: str, rule: str = "rpe", outputs: int = 1, hidden: int = 2, **kw) -> Model:
    return Model(architecture, rule, outputs, hidden, 3, **kw)


@pytest.mark.parametrize(
    ("architecture", "rule", "options", "weight", "alpha", "limit"),
    [
        ("1L", "rpe", {}, 5.0, (1e-6, 1.0), 1e4),
        ("2L", "squared", {}, 5.0, (1e-6, 1.0), 1e4),
        ("2NL", "rpe", {}, 5.0, (1e-6, 1.0), 1e4),
        ("1L", "reinforce", {}, 250.0, (1e-8, 2500.0), 5e5),
        ("2L", "cross_entropy", {}, 5 * 50**0.5, (1e-7, 50.0), 1e4 * 50**0.5),
        ("2L", "reinforce", {"output_bias": True}, 5 * 50**0.5, (1e-6, 1.0), 1e4 * 50**0.5),
        ("2NL", "expected_reward", {}, 5 * 50**0.5, (1e-6, 1.0), 1e4 * 50**0.5),
        ("2NL", "reinforce", {"activation": "relu"}, 5 * 50**0.5, (1e-7, 50.0), 1e4 * 50**0.5),
    ],
)
def test_bounds_carry_the_scale_of_beta(architecture, rule, options, weight, alpha, limit) -> None:
    m = model(architecture, rule, **options)
    found = box(m)
    q = m.n_weights
    assert_allclose(found.upper[:q], weight, rtol=1e-14)
    assert_allclose(found.lower[:q], -weight, rtol=1e-14)
    assert_allclose(np.exp([found.lower[q], found.upper[q]]), alpha, rtol=1e-12)
    assert found.weight_limit == pytest.approx(limit, rel=1e-14)
    if free_beta(m):
        assert_allclose(np.exp([found.lower[q + 1], found.upper[q + 1]]), (0.1, 50.0), rtol=1e-14)
    else:
        assert found.lower[q + 1] == found.upper[q + 1] == 0.0
    assert list(found.free) == [True] * (q + 1) + [free_beta(m)]


def test_a_penalty_frees_beta_and_keeps_the_shallow_box() -> None:
    m = model("1L", "reinforce")
    found = box(m, penalty="gaussian", weight_bound=3.0, beta_bounds=(0.5, 20.0))
    assert found.free.all()
    assert_allclose(found.upper, [3, 3, 3, 0, np.log(20.0)])
    deep = box(model("2L", "reinforce"), penalty="gaussian")
    assert deep.free.all()
    assert_allclose(np.exp(deep.upper[-2:]), (1.0, 50.0))


def test_the_lapse_has_bounds_and_a_range_of_one_value_fixes_a_parameter() -> None:
    m = model("1L", "rpe", lapse=True)
    found = box(m, beta_bounds=(3.0, 3.0))
    assert list(found.free) == [True] * 4 + [False, True]
    assert found.lower[-1] == -9.2
    assert found.upper[-1] == 9.2
    assert m.to_natural(found.upper)[-1] == pytest.approx(0.49995, abs=1e-6)


def test_what_a_large_beta_reaches_lies_in_every_box() -> None:
    for architecture in ("1L", "2L"):
        m = model(architecture, "reinforce")
        theta = np.r_[np.ones(m.n_weights), 0.05, 20.0]
        assert box(m).holds(m.to_coordinates(at_beta(m, theta, 1.0)))
        # the corner of the region with beta is the corner of the one without
        corner = np.r_[np.full(m.n_weights, 5.0), 1.0, 50.0]
        u = m.to_coordinates(at_beta(m, corner, 1.0))
        assert_allclose(u, box(m).upper, atol=1e-12)


def test_touching_a_bound_is_seen_for_free_parameters_only() -> None:
    m = model("1L", "reinforce")
    found = box(m)
    u = found.clip(np.array([1e9, 0.0, -1e9, -1e9, 7.0]))
    assert list(found.touched(u)) == [True, False, True, True, False]
    assert found.holds(u)
    assert not found.holds(u + np.eye(5)[0])


# weights + alpha + beta that choices identify, for three inputs
COUNTS = [
    ("rpe", 2, 2, {}, (8, 11, 12)),
    ("rpe", 1, 2, {}, (5, 9, 10)),
    ("squared", 1, 2, {}, (5, 9, 10)),
    ("squared", 2, 2, {}, (5, 11, 12)),
    *[(rule, 1, 2, {}, (4, 8, 10)) for rule in POLICY_RULES],
    *[(rule, 1, 2, {"output_bias": True}, (4, 10, 11)) for rule in POLICY_RULES],
    *[("reinforce", 1, hidden, {}, (4, 11, None)) for hidden in (4, 5, 6)],
    ("rpe", 2, 6, {}, (8, 17, None)),
]


@pytest.mark.parametrize(("rule", "outputs", "hidden", "options", "counts"), COUNTS)
def test_counts(rule, outputs, hidden, options, counts) -> None:
    for architecture, wanted in zip(("1L", "2L", "2NL"), counts, strict=True):
        m = model(architecture, rule, outputs, hidden, **options)
        if wanted is not None:
            assert n_identifiable(m, free_beta(m)) == wanted
            assert n_identifiable(replace(m, lapse=True), free_beta(m)) == wanted + 1
        assert n_raw(m) == m.n_weights + 2
        assert n_raw(replace(m, lapse=True)) == m.n_weights + 3


@pytest.mark.parametrize("options", [{}, {"output_bias": True}, {"lapse": True}])
@pytest.mark.parametrize("hidden", [1, 2, 3, 7])
def test_canonical_form_of_two_linear_layers(hidden: int, options: dict) -> None:
    m = model("2L", "rpe", 2, hidden, **options)
    rng = np.random.default_rng(3)
    theta = np.r_[rng.normal(size=m.n_weights), 0.05, 2.0, [0.1] * m.lapse]
    out = canonical(m, theta)
    first, second = m.weights(out)
    own = second[:, :hidden]
    scatter = first @ first.T - own.T @ own
    assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-12)
    assert np.all(np.diff(np.diag(scatter)) <= 1e-12)
    held = np.linalg.norm(first, axis=1) > 1e-9
    assert held.sum() == min(hidden, 5)
    rows = np.arange(hidden)
    assert np.all(first[rows, np.abs(first).argmax(axis=1)][held] > 0)
    assert_allclose(second[:, hidden:], m.weights(theta)[1][:, hidden:])
    w1, w2 = m.weights(theta)
    assert_allclose(own @ first, w2[:, :hidden] @ w1, atol=1e-12)
    assert_allclose(out[m.n_weights :], theta[m.n_weights :])
    # one form for the whole orbit
    turn = np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    other = theta.copy()
    other[: w1.size] = (turn @ w1).ravel()
    other[w1.size : m.n_weights] = np.c_[w2[:, :hidden] @ turn.T, w2[:, hidden:]].ravel()
    if hidden <= 5:
        assert_allclose(canonical(m, other), out, atol=1e-10)
    step = canonical_map(m, theta)
    assert_allclose(step @ step.T, np.eye(m.n_theta), atol=1e-12)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("bias", [False, True])
def test_canonical_order_of_nonlinear_units(activation: str, bias: bool) -> None:
    m = model("2NL", "rpe", 2, 4, activation=activation, output_bias=bias)
    rng = np.random.default_rng(5)
    theta = np.r_[rng.normal(size=m.n_weights), 0.05, 2.0]
    w1, w2 = m.weights(theta)
    out = canonical(m, theta)
    first, second = m.weights(out)
    key = first[:, 1] - first[:, 0]
    assert np.all(np.diff(key) <= 0)
    order = rng.permutation(4)
    signs = rng.choice([-1.0, 1.0], 4) if activation == "tanh" else np.ones(4)
    other = theta.copy()
    other[: w1.size] = (signs[:, None] * w1)[order].ravel()
    other[w1.size : m.n_weights] = np.c_[(w2[:, :4] * signs)[:, order], w2[:, 4:]].ravel()
    assert_allclose(canonical(m, other), out)
    assert_allclose(np.sort(np.abs(first).ravel()), np.sort(np.abs(w1).ravel()))
    assert_allclose(second[:, 4:], w2[:, 4:])


def test_units_that_agree_in_the_first_key_are_told_apart() -> None:
    m = model("2NL", "rpe", 1, 2)
    theta = np.array([0.1, 0.2, 0.7, 0.4, 0.5, -0.3, 1.0, 2.0, 0.05, 2.0])
    theta[:6] = np.round(theta[:6] * 8) / 8
    theta[[0, 1, 3, 4]] = [0.25, 0.5, 0.5, 0.75]
    swapped = theta[[3, 4, 5, 0, 1, 2, 7, 6, 8, 9]]
    assert_allclose(canonical(m, swapped), canonical(m, theta))


def test_one_layer_has_one_form() -> None:
    m = model("1L", "rpe", 2)
    theta = np.arange(8.0) + 1
    assert_allclose(canonical(m, theta), theta)


def test_nested_starts_of_two_linear_layers() -> None:
    m = model("2L", "rpe", 2, 3)
    theta = np.r_[0.4, -0.3, 0.1, -0.2, 0.5, 0.05, 0.05, 2.0]
    starts = embeddings(m, theta, box(m), 7)
    assert [s.jittered for s in starts] == [True] * 3 + [False] * 4
    plain = [m.to_natural(s.u) for s in starts if not s.jittered]
    for zeta, found in zip((1, 2, 4, 5), plain, strict=True):
        w1, w2 = m.weights(found)
        assert_allclose(w1[:2], theta[:6].reshape(2, 3) / zeta)
        assert_allclose(w2[:, :2], zeta * np.eye(2))
        assert not w1[2].any()
        assert not w2[:, 2].any()
        assert_allclose(found[-2:], [0.05 / zeta**2, 2.0])
    for j, (noisy, exact) in enumerate(zip(starts, starts[3:6], strict=False)):
        key = np.random.SeedSequence(entropy=7, spawn_key=(1000 + j,))
        noise = 0.01 * np.random.default_rng(key).standard_normal(m.n_weights)
        assert_allclose(noisy.u[:-2], exact.u[:-2] + noise, atol=1e-15)
        assert_allclose(noisy.u[-2:], exact.u[-2:])
    other = embeddings(m, theta, box(m), 8)
    assert not np.array_equal(other[0].u, starts[0].u)
    assert_allclose(other[3].u, starts[3].u)


def test_nested_starts_stay_inside_the_box() -> None:
    m = model("2L", "rpe", 2, 2)
    theta = np.r_[np.full(6, 4.999), 0.9, 2.0]
    found = box(m, alpha_bounds=(0.1, 1.0))
    starts = embeddings(m, theta, found, 1)
    # alpha falls with zeta squared: .9, .225, and then below the bound
    assert [s.jittered for s in starts] == [True, True, False, False]
    assert all(found.holds(s.u) for s in starts)
    assert embeddings(m, np.r_[theta[:6], 1e-6, 2.0], found, 1) == []
    assert embeddings(model("2L", "rpe", 2, 1), theta, found, 1) == []


@pytest.mark.parametrize(
    ("activation", "hidden", "wanted"),
    [("sigmoid", 4, 4), ("sigmoid", 3, 0), ("tanh", 2, 4), ("tanh", 1, 0), ("relu", 6, 0)],
)
def test_nested_starts_need_enough_nonlinear_units(activation, hidden, wanted) -> None:
    m = model("2NL", "rpe", 2, hidden, activation=activation)
    theta = np.r_[0.4, -0.3, 0.1, -0.2, 0.5, 0.05, 0.05, 2.0]
    assert len(embeddings(m, theta, box(m), 7)) == wanted


def test_a_shallow_policy_fit_moves_to_a_beta_that_fits_the_deep_box() -> None:
    m = model("2NL", "reinforce", 1, 2)
    small = shallow(m)
    theta = np.r_[120.0, -80.0, 30.0, 400.0, 1.0]
    assert box(small).holds(small.to_coordinates(theta))
    starts = embeddings(m, theta, box(m), 7)
    assert len(starts) == 4
    natural = m.to_natural(starts[2].u)
    # beta doubles until alpha 2 eps^2 400 / beta^2 is at most 1
    assert natural[-1] == pytest.approx(16.0)
    assert natural[-2] == pytest.approx(2 * 0.25 * 400 / 16**2)
    assert_allclose(m.weights(natural)[0][0], 0.5 * theta[:3] / 16)


@pytest.mark.parametrize("rule", RULES)
def test_the_shallow_model_keeps_rule_and_options(rule: str) -> None:
    m = model("2NL", rule, 1, 4, output_bias=True, lapse=True, activation="tanh", weight_decay=0.1)
    small = shallow(m)
    kept = (small.architecture, small.rule, small.lapse, small.weight_decay)
    assert kept == ("1L", rule, True, 0.1)
    assert small.n_theta == 6
