"""What choices can and cannot tell apart: exact symmetries, counts, and shallow in deep networks.

Numbers in the names of tests follow the list in the documentation of identifiability:
1 the temperature as a scale, 2 redundant outputs, 3 rotations, 4 permutations, 5 embeddings.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learning_tools import fixed_trials
from numpy.testing import assert_allclose
from reference.learning import walk

from nb26stats.learning import _native as native
from nb26stats.learning._box import box, free_beta
from nb26stats.learning._canonical import canonical
from nb26stats.learning._counting import n_identifiable
from nb26stats.learning._embedding import embed, embeddings, shallow
from nb26stats.learning._gauge import flat_directions
from nb26stats.learning._model import F64, POLICY_RULES, RULES, Model
from nb26stats.learning._rescale import at_beta, beta_is_scale
from nb26stats.learning._trials import Trials

EXACT = 1e-10

W1 = np.array([[0.4, -0.3, 0.1], [-0.2, 0.5, 0.05]])
W2 = np.array([[0.6, -0.4], [-0.5, 0.7]])
ACTIVATIONS = ("sigmoid", "tanh", "relu")


TRIALS = fixed_trials(200)


def loglik(m: Model, theta: F64, trials: Trials = TRIALS) -> float:
    return float(native.loglik(m, trials, theta[None])[0][0])


def jacobian(m: Model, theta: F64) -> F64:
    """Derivatives of the logit of every choice: the gradient with one trial counted, over a - p.

    With a lapse, those of its log-probability over 1 - p: what is known of the lapse is in them.
    """
    n = len(TRIALS)
    _, slopes, diverged = native.gradient(
        m, TRIALS, np.tile(theta, (n, 1)), masks=np.eye(n, dtype=bool), which_mask=np.arange(n)
    )
    assert np.all(diverged == -1)
    _, left, right, _ = native.trajectory(m, TRIALS, theta)
    chosen = np.where(TRIALS.choice == 1, right, left)
    return slopes / ((2 * TRIALS.choice - 1) * -np.expm1(chosen))[:, None]


def test_the_derivatives_are_those_of_the_logits() -> None:
    m = model("2NL", "reinforce", 1, output_bias=True)
    theta = drawn(m)
    for i, column in enumerate(jacobian(m, theta).T):
        moved = theta.astype(np.complex128)
        moved[i] += 1e-30j
        done = walk(m, TRIALS.x, TRIALS.choice, TRIALS.drive(m), None, moved)
        assert_allclose(column, (done.log_right - done.log_left).imag / 1e-30, atol=1e-10)


def model(architecture: str, rule: str = "rpe", outputs: int = 1, hidden: int = 2, **kw) -> Model:
    return Model(architecture, rule, outputs, hidden if architecture != "1L" else 0, 3, **kw)


def drawn(m: Model, seed: int = 0, beta: float = 2.0) -> F64:
    weights = 0.6 * np.random.default_rng(seed).standard_normal(m.n_weights)
    return np.r_[weights, 0.05, beta, [0.1] * m.lapse]


def with_weights(m: Model, theta: F64, first: F64, second: F64 | None = None) -> F64:
    rest = theta[-2 - m.lapse :]
    return np.concatenate([first.ravel(), () if second is None else second.ravel(), rest])


# 1: for policy rules beta is a scale of the weights and the learning rate


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("rule", POLICY_RULES)
@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_1_beta_is_a_scale(architecture: str, rule: str, outputs: int) -> None:
    options = {"activation": "relu"} if architecture == "2NL" else {}
    m = model(architecture, rule, outputs, lapse=True, weight_decay=0.01, **options)
    assert beta_is_scale(m)
    theta = drawn(m, beta=3.7)
    for beta in (1.0, 0.2, 11.0):
        moved = at_beta(m, theta, beta)
        assert moved[m.alpha_at + 1] == beta
        assert abs(loglik(m, moved) - loglik(m, theta)) < EXACT
    c = 3.7
    first, second = m.weights(theta)
    if architecture == "1L":
        by_hand = np.r_[(c * first).ravel(), 0.05 * c * c, 1.0, 0.1]
    else:
        by_hand = np.r_[(c**0.5 * first).ravel(), (c**0.5 * second).ravel(), 0.05 * c, 1.0, 0.1]
    assert_allclose(at_beta(m, theta, 1.0), by_hand, rtol=1e-14)


@pytest.mark.parametrize("rule", RULES)
def test_1_beta_is_no_scale_elsewhere(rule: str) -> None:
    others = [model("2NL", rule, activation=a, output_bias=a == "relu") for a in ACTIVATIONS]
    others.append(model("2L", rule, output_bias=True))
    if rule not in POLICY_RULES:
        others += [model("1L", rule), model("2L", rule)]
    for m in others:
        assert not beta_is_scale(m)
        assert free_beta(m)
        theta = drawn(m)
        deep = [at_beta(m, theta, 1.0)]
        if m.output_bias:
            # the bias of the last layer may be scaled like an output instead of like a weight
            other = deep[0].copy()
            other[m.n_weights - 1] *= 2.0**0.5
            deep.append(other)
        assert all(abs(loglik(m, d) - loglik(m, theta)) > 1e-3 for d in deep)


def test_1_a_prior_tells_scales_apart() -> None:
    for architecture in ("1L", "2L", "2NL"):
        m = model(architecture, "reinforce")
        assert free_beta(m) is (architecture == "2NL")
        assert free_beta(m, penalty="gaussian")
        assert box(m, penalty="gaussian").free.all()


# 2: with policy rules and two outputs, only their difference counts


@pytest.mark.parametrize("rule", [*POLICY_RULES, "squared"])
def test_2_two_outputs_of_one_layer_are_one(rule: str) -> None:
    two, one = model("1L", rule, 2), model("1L", rule, 1)
    theta = drawn(two)
    rows = two.weights(theta)[0]
    # every output of a squared loss has a target of its own, and moves as fast as the difference
    alpha = 0.05 if rule == "squared" else 0.10
    single = np.r_[rows[1] - rows[0], alpha, 2.0]
    assert abs(loglik(two, theta) - loglik(one, single)) < EXACT
    wrong = np.r_[rows[1] - rows[0], 0.15 - alpha, 2.0]
    assert abs(loglik(two, theta) - loglik(one, wrong)) > 1e-3


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rule", POLICY_RULES)
@pytest.mark.parametrize("architecture", ["2L", "2NL"])
def test_2_two_outputs_of_two_layers_are_one_with_twice_the_ratio(architecture, rule, bias) -> None:
    two = model(architecture, rule, 2, output_bias=bias, alpha_layer2_ratio=1.7)
    one = replace(two, n_outputs=1, alpha_layer2_ratio=3.4)
    theta = drawn(two)
    first, second = two.weights(theta)
    single = with_weights(one, theta, first, second[1] - second[0])
    assert abs(loglik(two, theta) - loglik(one, single)) < EXACT
    assert abs(loglik(two, theta) - loglik(replace(one, alpha_layer2_ratio=1.7), single)) > 1e-3


@pytest.mark.parametrize("rule", POLICY_RULES)
def test_2_linear_layers_hide_the_ratio_too_and_nonlinear_ones_do_not(rule: str) -> None:
    for architecture, same in (("2L", True), ("2NL", False)):
        two, one = model(architecture, rule, 2), model(architecture, rule, 1)
        theta = drawn(two)
        first, second = two.weights(theta)
        row = second[1] - second[0]
        single = np.r_[(2**0.25 * first).ravel(), 2**-0.25 * row, 2**0.5 * 0.05, 2.0]
        difference = abs(loglik(two, theta) - loglik(one, single))
        assert bool(difference < EXACT) is same
        assert same or difference > 1e-3


@pytest.mark.parametrize("rule", ["rpe", "squared"])
def test_2_rpe_and_deep_squared_see_both_outputs(rule: str) -> None:
    for architecture in ("1L", "2L", "2NL"):
        m = model(architecture, rule, 2)
        theta = drawn(m)
        moved = theta.copy()
        last = (
            slice(0, m.n_weights) if architecture == "1L" else slice(m.n_weights - 4, m.n_weights)
        )
        moved[last] += np.tile(
            [0.3, -0.2, 0.1][: m.weights(theta)[architecture != "1L"].shape[1]], 2
        )
        difference = abs(loglik(m, moved) - loglik(m, theta))
        if rule == "squared" and architecture == "1L":
            assert difference < EXACT
        else:
            assert difference > 1e-3


# 3: hidden units of two linear layers rotate


def rotated(m: Model, theta: F64, turn: F64) -> F64:
    first, second = m.weights(theta)
    hidden = m.hidden
    return with_weights(
        m, theta, turn @ first, np.hstack([second[:, :hidden] @ turn.T, second[:, hidden:]])
    )


@pytest.mark.parametrize("hidden", [2, 3, 6])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_3_rotations(rule: str, bias: bool, hidden: int) -> None:
    m = model("2L", rule, 2, hidden, output_bias=bias, alpha_layer2_ratio=1.7, weight_decay=0.01)
    theta = drawn(m)
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    assert abs(loglik(m, rotated(m, theta, turn)) - loglik(m, theta)) < EXACT
    stretched = rotated(m, theta, turn @ np.diag(np.linspace(1.0, 1.5, hidden)))
    assert abs(loglik(m, stretched) - loglik(m, theta)) > 1e-3


def test_3_and_4_rotation_is_a_symmetry_of_linear_units_only() -> None:
    c, s = np.cos(0.73), np.sin(0.73)
    turn = np.array([[c, -s], [s, c]])
    theta = np.r_[W1.ravel(), W2.ravel(), 0.05, 2.0]
    linear, nonlinear = model("2L", "rpe", 2), model("2NL", "rpe", 2)
    assert abs(loglik(linear, rotated(linear, theta, turn)) - loglik(linear, theta)) < EXACT
    before = loglik(nonlinear, theta)
    assert loglik(nonlinear, rotated(nonlinear, theta, turn)) - before == pytest.approx(
        1.086118, abs=1e-5
    )
    assert loglik(nonlinear, rotated(nonlinear, theta, turn.T)) - before == pytest.approx(
        -28.911237, abs=1e-5
    )


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_3_and_4_the_canonical_form_is_the_same_model(architecture: str) -> None:
    for activation in ACTIVATIONS if architecture == "2NL" else ("sigmoid",):
        for hidden in (1, 2, 3, 7):
            for bias in (False, True):
                m = (
                    model(architecture, "rpe", 2, hidden, activation=activation, output_bias=bias)
                    if architecture != "1L"
                    else model("1L", "rpe", 2)
                )
                theta = drawn(m, hidden)
                assert abs(loglik(m, canonical(m, theta)) - loglik(m, theta)) < EXACT


# 4: units with a nonlinearity can only be exchanged


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_4_permutations(rule: str, activation: str) -> None:
    m = model("2NL", rule, 1, 3, activation=activation, output_bias=True)
    theta = drawn(m)
    order = np.eye(3)[[2, 0, 1]]
    assert abs(loglik(m, rotated(m, theta, order)) - loglik(m, theta)) < EXACT
    flipped = abs(loglik(m, rotated(m, theta, np.diag([1.0, -1.0, 1.0]))) - loglik(m, theta))
    assert flipped < EXACT if activation == "tanh" else flipped > 1e-3


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_left_and_right_mirror(architecture: str) -> None:
    m = model(architecture, "rpe", 2)
    theta = np.r_[W1.ravel(), (W2.ravel() if m.deep else ()), 0.05, 2.0]
    first, second = m.weights(theta)
    swap = [1, 0, 2]
    if m.deep:
        mirrored = with_weights(m, theta, first[:, swap], second[::-1])
    else:
        mirrored = with_weights(m, theta, first[::-1][:, swap])
    d = TRIALS
    other = replace(
        d,
        x=np.ascontiguousarray(d.x[:, swap]),
        choice=(1 - d.choice).astype(np.int8),
        correct_side=1.0 - d.correct_side,
    )
    assert abs(loglik(m, mirrored, other) - loglik(m, theta)) < EXACT


# the count is the rank of what choices see


RANK_CASES = [
    *[(rule, k, 2, {}) for rule in ("rpe", "squared") for k in (1, 2)],
    *[(rule, 1, 2, {"output_bias": b}) for rule in POLICY_RULES for b in (False, True)],
    *[(rule, 2, 2, {"output_bias": b}) for rule in POLICY_RULES for b in (False, True)],
    *[("reinforce", 1, h, {}) for h in (1, 3, 4, 5, 6)],
    *[("reinforce", 1, 2, {"activation": a}) for a in ("tanh", "relu")],
    *[("rpe", 2, h, {}) for h in (1, 3, 5, 6)],
    ("rpe", 2, 6, {"output_bias": True}),
    ("rpe", 2, 2, {"lapse": True}),
    ("reinforce", 1, 2, {"lapse": True, "alpha_layer2_ratio": 1.7, "weight_decay": 0.01}),
]


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
@pytest.mark.parametrize(("rule", "outputs", "hidden", "options"), RANK_CASES)
def test_counts_are_ranks(architecture, rule, outputs, hidden, options) -> None:
    m = model(architecture, rule, outputs, hidden, **options)
    if architecture != "2NL":
        m = replace(m, activation="sigmoid")
    if architecture == "1L":
        m = replace(m, output_bias=False)
    theta = drawn(m, 1)
    if m.activation == "relu":
        # units that are on for some inputs and off for others
        theta[: 3 * hidden] = np.tile([0.5, -0.65, 0.6, -0.6, 0.5, 0.55], hidden)[: 3 * hidden]
    slopes = jacobian(m, theta)
    kept = np.arange(m.n_theta) != m.alpha_at + 1
    slopes = slopes if free_beta(m) else slopes[:, kept]
    size = np.linalg.svd(slopes / np.linalg.norm(slopes, axis=0), compute_uv=False)
    rank = int((size > 1e-10 * size[0]).sum())
    assert rank == n_identifiable(m, free_beta(m)), size
    # nothing lies near the threshold
    assert size[rank - 1] > 1e-7 * size[0]
    assert rank == size.size or size[rank] < 1e-13 * size[0]


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
@pytest.mark.parametrize(("rule", "outputs", "hidden", "options"), RANK_CASES)
def test_flat_directions_are_what_the_count_leaves_out(
    architecture, rule, outputs, hidden, options
) -> None:
    m = model(architecture, rule, outputs, hidden, **options)
    if architecture == "1L":
        m = replace(m, output_bias=False)
    theta = drawn(m, 1)
    flat = flat_directions(m, theta)
    slopes = jacobian(m, theta)
    assert_allclose(flat.T @ flat, np.eye(flat.shape[1]), atol=1e-12)
    assert_allclose(slopes @ flat, 0.0, atol=1e-11 * np.abs(slopes).max())
    # idle units (more than inputs plus outputs) are flat by curvature, not at first order alone
    left_out = m.n_weights - (n_identifiable(m, True) - 2 - m.lapse)
    if hidden <= 3 + outputs:
        assert flat.shape[1] == left_out


# 5: deep networks come as near to a shallow one as one likes


THETA_1L = np.r_[W1.ravel(), 0.05, 2.0]


def embedding_errors(m: Model, scales: tuple[float, ...]) -> F64:
    small = loglik(shallow(m), THETA_1L)
    found = []
    for scale in scales:
        theta = embed(m, THETA_1L, scale)
        assert theta is not None
        found.append(loglik(m, theta) - small)
    return np.array(found)


def test_5_shallow_in_two_linear_layers() -> None:
    zetas = (1, 2, 3, 5, 10, 30, 100)
    errors = embedding_errors(model("2L", "rpe", 2), zetas)
    known = [-2.13, -0.120, -0.0233, -0.00300, -1.88e-4, -2.32e-6, -1.88e-8]
    assert_allclose(errors, known, rtol=4e-3)
    slope = np.log(errors[4] / errors[5]) / np.log(zetas[5] / zetas[4])
    assert slope == pytest.approx(4.0, abs=0.01)
    # spare hidden units change nothing
    assert_allclose(embedding_errors(model("2L", "rpe", 2, 5), zetas), errors, atol=1e-11)


def test_5_shallow_in_two_layers_with_a_nonlinearity() -> None:
    steps = (0.1, 1 / 30, 0.01, 1 / 300)
    errors = embedding_errors(model("2NL", "rpe", 2, 4), steps)
    assert_allclose(errors, [-0.0191, -0.00212, -1.90e-4, -2.12e-5], rtol=4e-3)
    slope = np.log(errors[1] / errors[3]) / np.log(steps[1] / steps[3])
    assert slope == pytest.approx(2.0, abs=0.01)
    tanh = np.abs(embedding_errors(model("2NL", "rpe", 2, 2, activation="tanh"), steps))
    assert np.log(tanh[1] / tanh[3]) / np.log(steps[1] / steps[3]) == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("outputs", [1, 2])
def test_5_embeddings_close_in_for_every_rule(rule: str, outputs: int) -> None:
    small = model("1L", rule, outputs)
    theta = np.r_[W1[:outputs].ravel(), 0.05, 2.0]
    for m, scales, order in (
        (model("2L", rule, outputs, outputs), (10.0, 30.0), -4),
        (model("2NL", rule, outputs, 2 * outputs), (0.03, 0.01), 2),
        (model("2NL", rule, outputs, outputs, activation="tanh"), (0.03, 0.01), 2),
    ):
        errors = []
        for scale in scales:
            deep = embed(m, theta, scale)
            assert deep is not None
            errors.append(abs(loglik(m, deep) - loglik(small, theta)))
        assert errors[1] < 0.01
        got = np.log(errors[1] / errors[0]) / np.log(scales[1] / scales[0])
        assert got == pytest.approx(order, abs=0.25)


def test_5_a_wrong_learning_rate_is_no_embedding() -> None:
    m = model("2L", "rpe", 2)
    theta = embed(m, THETA_1L, 30.0)
    assert theta is not None
    theta[m.alpha_at] *= 30.0
    assert abs(loglik(m, theta) - loglik(shallow(m), THETA_1L)) > 1.0


def test_5_two_nonlinear_units_hold_no_two_outputs() -> None:
    assert embed(model("2NL", "rpe", 2, 2), THETA_1L, 0.1) is None
    assert embed(model("2NL", "rpe", 2, 4, activation="relu"), THETA_1L, 0.1) is None
    assert embed(model("2L", "rpe", 2, 1), THETA_1L, 10.0) is None


@pytest.mark.parametrize("rule", POLICY_RULES)
def test_5_starts_at_another_beta_repeat_the_same_shallow_model(rule: str) -> None:
    m = model("2NL", rule, 1, 2)
    theta = np.r_[20.0, -15.0, 3.0, 30.0, 1.0]
    start = embeddings(m, theta, box(m), 0)[-2]
    natural = m.to_natural(start.u)
    beta = natural[-1]
    assert beta > 1.0
    again = embed(m, at_beta(shallow(m), theta, beta), 0.5)
    assert again is not None
    assert_allclose(natural, again, rtol=1e-12)
