"""Curvature of the objective and the standard errors that follow from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learning_tools import fixed_trials, problem
from numpy.testing import assert_allclose

from nb26stats.learning._box import box
from nb26stats.learning._gauge import flat_directions, inside
from nb26stats.learning._model import F64, Model
from nb26stats.learning._optimize import Prior, evaluate
from nb26stats.learning._uncertainty import hessian, named_errors, standard_errors


def drawn(m: Model, seed: int = 0) -> F64:
    weights = 0.5 * np.random.default_rng(seed).standard_normal(m.n_weights)
    return m.to_coordinates(np.r_[weights, 0.03, 2.0, [0.1] * m.lapse])


def curvature(m: Model, n: int, seed: int = 0) -> F64:
    """A positive definite matrix that knows nothing of the model."""
    a = np.random.default_rng(seed).standard_normal((n, 2 * n))
    return a @ a.T


@pytest.mark.parametrize(
    "m",
    [
        Model("1L", "rpe", 2, 0, 3),
        Model("2L", "squared", 1, 2, 3, lapse=True),
        Model("2NL", "reinforce", 1, 2, 3, output_bias=True),
    ],
    ids=lambda m: f"{m.architecture}-{m.rule}",
)
@pytest.mark.parametrize("penalised", [False, True])
def test_hessian_is_that_of_the_objective(m: Model, penalised: bool) -> None:
    trials, u, n = fixed_trials(200), drawn(m), m.n_theta
    prior = Prior(np.full(n, 0.3), np.linspace(0.5, 2.0, n)) if penalised else None
    found = hessian(m, problem(m, trials, u), u, prior)
    # second differences of the objective itself, of fourth order
    h, steps = 2e-3, np.array([-2, -1, 1, 2])
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
    rows, terms = [], []
    for i in range(n):
        for j in range(n):
            for a, wa in zip(steps, weights, strict=True):
                for b, wb in zip(steps, weights, strict=True):
                    point = u.copy()
                    point[i] += h * a
                    point[j] += h * b
                    rows.append(point)
                    terms.append(wa * wb)
    wide = replace(box(m), lower=np.full(n, -np.inf), upper=np.full(n, np.inf))
    values = evaluate(m, problem(m, trials, np.array(rows), wide), prior=prior).objective
    second = (values * terms).reshape(n, n, 16).sum(axis=2) / h**2
    assert_allclose(found, -second, rtol=1e-5, atol=1e-5 * np.abs(second).max())
    assert_allclose(found, found.T, rtol=0)


def test_fixed_parameters_are_left_out_and_bounds_are_crossed() -> None:
    m = Model("1L", "reinforce", 1, 0, 3)
    region = box(m)
    u = region.clip(np.array([0.4, -0.3, 250.0, -3.0, 0.0]))
    u[2] = region.upper[2] = 0.2
    found = hessian(m, problem(m, fixed_trials(200), u, region), u)
    assert found.shape == (4, 4)
    wide = replace(region, upper=np.full(5, 9.0))
    assert_allclose(hessian(m, problem(m, fixed_trials(200), u, wide), u), found, rtol=1e-12)


def test_without_learning_errors_are_those_of_logistic_regression() -> None:
    m = Model("1L", "reinforce", 1, 0, 3)
    trials = fixed_trials(500)
    u = np.r_[0.3, -0.4, 0.1, np.log(1e-12), 0.0]
    region = replace(box(m), free=np.array([True, True, True, False, False]))
    found = hessian(m, problem(m, trials, u, region), u)
    p = 1.0 / (1.0 + np.exp(-trials.x @ u[:3]))
    fisher = trials.x.T @ (trials.x * (p * (1.0 - p))[:, None])
    assert_allclose(found, fisher, rtol=1e-6, atol=1e-6)
    errors = standard_errors(m, u, found, region.free, np.zeros(5, dtype=bool))
    assert_allclose(errors.standard_errors[:3], np.sqrt(np.diag(np.linalg.inv(fisher))), rtol=1e-6)
    assert np.isnan(errors.standard_errors[3:]).all()


def test_a_diverged_neighbour_costs_the_error_of_its_parameter_only() -> None:
    m = Model("1L", "rpe", 2, 0, 3)
    u = drawn(m)
    # a weight that passes the limit when it is moved up
    m = replace(m, weight_limit=3.0 + 1e-4)
    u[2] = 3.0
    found = hessian(m, problem(m, fixed_trials(1), u), u)
    lost = np.isnan(np.diag(found))
    assert list(np.flatnonzero(lost)) == [2]
    assert np.isnan(found[2]).all()
    assert np.isfinite(found[np.ix_(~lost, ~lost)]).all()
    free, none = np.ones(8, dtype=bool), np.zeros(8, dtype=bool)
    information = curvature(m, 8)
    information[2] = information[:, 2] = np.nan
    errors = standard_errors(m, u, information, free, none)
    assert list(np.flatnonzero(np.isnan(errors.standard_errors))) == [2]
    held = np.linalg.inv(np.delete(np.delete(information, 2, 0), 2, 1))
    assert_allclose(np.delete(errors.standard_errors, 2), np.sqrt(np.diag(held)))


def test_errors_are_the_inverse_and_bounds_are_held() -> None:
    m = Model("2NL", "rpe", 1, 2, 3)
    u, n = drawn(m), m.n_theta
    information, free = curvature(m, n), np.ones(n, dtype=bool)
    touched = np.zeros(n, dtype=bool)
    errors = standard_errors(m, u, information, free, touched)
    assert_allclose(errors.covariance, np.linalg.inv(information), rtol=1e-9)
    assert_allclose(errors.standard_errors**2, np.diag(errors.covariance))
    assert errors.n_dropped == 0
    assert not errors.indefinite
    touched[[1, 8]] = True
    held = standard_errors(m, u, information, free, touched)
    rest = np.flatnonzero(~touched)
    assert_allclose(
        held.covariance[np.ix_(rest, rest)],
        np.linalg.inv(information[np.ix_(rest, rest)]),
        rtol=1e-9,
    )
    assert np.isnan(held.standard_errors[touched]).all()
    assert np.all(held.standard_errors[rest] <= errors.standard_errors[rest])


def test_two_linear_layers_have_errors_of_alpha_and_beta_only() -> None:
    m = Model("2L", "rpe", 2, 3, 3, output_bias=True)
    u, n = drawn(m), m.n_theta
    flat = flat_directions(m, u)
    assert flat.shape == (n, 3)
    off = np.eye(n) - flat @ flat.T
    information = off @ curvature(m, n) @ off
    free, none = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    errors = standard_errors(m, u, information, free, none)
    assert errors.n_dropped == 3
    known = [
        i for i, name in enumerate(m.names()) if name in ("W2[0,3]", "W2[1,3]", "alpha", "beta")
    ]
    assert list(np.flatnonzero(np.isfinite(errors.standard_errors))) == known
    # whatever is held to stop the rotation, these errors are the same
    anchor = np.random.default_rng(4).standard_normal((n, 3))
    anchored = np.linalg.inv(information + 1e3 * anchor @ anchor.T)
    assert_allclose(errors.standard_errors[known], np.sqrt(np.diag(anchored)[known]), rtol=1e-8)
    # a weight on a bound stops a turn and frees no single weight
    touched = none.copy()
    touched[0] = True
    held = standard_errors(m, u, information, free, touched)
    assert list(np.flatnonzero(np.isfinite(held.standard_errors))) == known
    assert held.n_dropped < 3


def test_the_rest_of_the_gauge_beside_a_bound() -> None:
    m = Model("2L", "rpe", 2, 3, 3)
    flat = flat_directions(m, drawn(m))
    kept = np.arange(m.n_theta) != 0
    rest = inside(flat, kept)
    assert rest.shape == (m.n_theta - 1, 2)
    whole = np.insert(rest, 0, 0.0, axis=0)
    assert_allclose(flat @ (flat.T @ whole), whole, atol=1e-12)


def test_a_direction_without_curvature_is_dropped_with_what_loads_on_it() -> None:
    m = Model("1L", "rpe", 2, 0, 3)
    u, n = drawn(m), 8
    values = np.linspace(1.0, 5.0, n)
    values[0] = 4e-6
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((n, n)))[0]
    # the flat direction: parameters 0 and 1, a little of 2 and less of 3
    lean = np.zeros(n)
    lean[:4] = [0.8, 0.6, np.sqrt(1.2e-3), np.sqrt(0.8e-3)]
    basis = np.linalg.qr(np.c_[lean, basis])[0][:, :n]
    information = (basis * values) @ basis.T
    free, none = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    errors = standard_errors(m, u, information, free, none)
    assert errors.n_dropped == 1
    assert list(np.flatnonzero(np.isnan(errors.standard_errors))) == [0, 1, 2]
    inverse = (basis[:, 1:] / values[1:]) @ basis[:, 1:].T
    assert_allclose(errors.standard_errors[3:], np.sqrt(np.diag(inverse)[3:]))
    # a little more curvature, and the direction counts
    values[0] = 6e-6
    curved = standard_errors(m, u, (basis * values) @ basis.T, free, none)
    assert curved.n_dropped == 0
    assert np.isfinite(curved.standard_errors).all()


def test_a_saddle_has_no_errors() -> None:
    m = Model("1L", "rpe", 1, 0, 3)
    values = np.array([-0.1, 1.0, 2.0, 3.0, 4.0])
    free, none = np.ones(5, dtype=bool), np.zeros(5, dtype=bool)
    errors = standard_errors(m, drawn(m), np.diag(values), free, none)
    assert errors.indefinite
    assert np.isnan(errors.standard_errors).all()
    # a fall that rounding may explain is no fall
    values[0] = -1e-7
    level = standard_errors(m, drawn(m), np.diag(values), free, none)
    assert not level.indefinite
    assert list(np.isnan(level.standard_errors)) == [True] + [False] * 4


def test_nothing_free_and_nothing_curved() -> None:
    m = Model("1L", "rpe", 1, 0, 3)
    none = np.zeros(5, dtype=bool)
    for free, information in ((none, np.zeros((0, 0))), (~none, np.zeros((5, 5)))):
        errors = standard_errors(m, drawn(m), information, free, none)
        assert np.isnan(errors.standard_errors).all()
        assert not errors.indefinite


@pytest.mark.parametrize("rule", ["reinforce", "squared"])
def test_redundant_outputs_leave_the_weights_without_errors(rule: str) -> None:
    m = Model("1L", rule, 2, 0, 3)
    u = drawn(m)
    flat = flat_directions(m, u)
    assert flat.shape[1] == 3
    off = np.eye(8) - flat @ flat.T
    free, none = np.ones(8, dtype=bool), np.zeros(8, dtype=bool)
    errors = standard_errors(m, u, off @ curvature(m, 8) @ off, free, none)
    assert list(np.isnan(errors.standard_errors)) == [True] * 6 + [False] * 2
    # a prior on the weights curves them
    assert flat_directions(m, u, penalised=True).shape[1] == 0
    errors = standard_errors(m, u, curvature(m, 8), free, none, penalised=True)
    assert np.isfinite(errors.standard_errors).all()


def test_names_and_the_delta_method() -> None:
    m = Model("2NL", "rpe", 1, 2, 3, lapse=True)
    u = drawn(m)
    errors = np.linspace(0.1, 1.1, m.n_theta)
    named = named_errors(m, m.to_natural(u), errors)
    assert list(named) == [
        "W1", "W2", "alpha", "log_alpha", "beta", "log_beta", "lapse", "logit_lapse",
    ]  # fmt: skip
    assert_allclose(named["W1"], errors[:6].reshape(2, 3))
    assert_allclose(named["W2"], errors[6:8].reshape(1, 2))
    h = 1e-6
    for i, name in ((8, "alpha"), (9, "beta"), (10, "lapse")):
        up, down = u.copy(), u.copy()
        up[i] += h
        down[i] -= h
        slope = (m.to_natural(up)[i] - m.to_natural(down)[i]) / (2 * h)
        assert named[name] == pytest.approx(slope * errors[i], rel=1e-8)
    assert named["log_beta"] == errors[9]
    assert "W2" not in named_errors(Model("1L", "rpe", 1, 0, 3), np.ones(5), np.ones(5))
