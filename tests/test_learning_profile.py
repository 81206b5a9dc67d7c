"""Profile likelihood: curves against direct refits, intervals, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from learning_tools import fixed_trials, problem
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning._box import box
from nb26stats.learning._model import F64, Model
from nb26stats.learning._optimize import Prior, Task, evaluate, maximize
from nb26stats.learning._profile import crossings, profile
from nb26stats.learning._profile_result import ProfileResult
from nb26stats.r import to_r

SHALLOW = Model("1L", "reinforce", 1, 0, 3)


def fitted(m: Model, n: int = 400, **bounds) -> tuple[Task, F64]:
    """The problem and the best of a few fits."""
    region = box(m, **bounds)
    rng = np.random.default_rng(1)
    starts = [
        region.clip(m.to_coordinates(np.r_[0.4 * rng.normal(size=m.n_weights), 0.05, 1.0]))
        for _ in range(6)
    ]
    task = problem(m, fixed_trials(n), np.array(starts), region)
    (found,) = maximize(m, [task])
    return task, found.u[int(np.argmax(found.objective))]


@pytest.fixture(scope="module")
def shallow() -> tuple[Task, F64]:
    return fitted(SHALLOW)


def test_the_curve_is_the_best_refit_at_every_value(shallow) -> None:
    task, u = shallow
    alpha = float(np.exp(u[3]))
    grid = alpha * np.exp(np.linspace(-0.8, 0.8, 7))
    result = profile(SHALLOW, task, u, "alpha", grid)
    for i, value in enumerate(grid):

        def cost(w: F64, at: float = float(np.log(value))) -> tuple[float, F64]:
            point = np.r_[w, at, 0.0]
            found = evaluate(SHALLOW, problem(SHALLOW, task.trials, point), gradient=True)
            return -float(found.objective[0]), -found.gradient[0, :3]

        peer = min(
            minimize(cost, s, jac=True, method="BFGS", options={"gtol": 1e-6}).fun
            for s in (u[:3], np.zeros(3))
        )
        assert result.objective[i] == pytest.approx(-peer, abs=1e-5)
        assert result.theta[i, 3] == value
    assert_allclose(result.loglik, result.objective)
    assert result.converged.all()
    assert result.estimate == pytest.approx(alpha)
    assert result.maximum == pytest.approx(result.objective[3], abs=1e-7)
    points = problem(SHALLOW, task.trials, SHALLOW.to_coordinates(result.theta))
    assert_allclose(evaluate(SHALLOW, points).loglik, result.loglik, rtol=1e-12)


def test_the_interval_is_where_refits_fall_by_half_the_quantile(shallow) -> None:
    task, u = shallow
    grid = np.exp(u[3] + np.linspace(-1.2, 1.2, 9))
    for level in (0.5, 0.95):
        result = profile(SHALLOW, task, u, "alpha", grid, level=level)
        low, high = result.interval
        assert low < result.estimate < high
        ends = profile(SHALLOW, task, u, "alpha", [low, high], level=0.001)
        drop = result.maximum - ends.objective
        # the root of the drop is interpolated, so that nine values give the ends to a few per cent
        assert_allclose(np.sqrt(drop / (0.5 * chi2.ppf(level, 1))), 1.0, atol=0.01)
    wide = np.diff(np.log(result.interval))
    assert wide > np.diff(np.log(profile(SHALLOW, task, u, "alpha", grid, level=0.5).interval))


def test_without_learning_the_profile_is_that_of_logistic_regression() -> None:
    trials = fixed_trials(600)
    m = Model("1L", "cross_entropy", 1, 0, 3)
    u = np.r_[0.0, 0.0, 0.0, np.log(1e-12), 0.0]
    region = replace(box(m), free=np.array([True, True, True, False, False]))
    region = replace(region, lower=np.minimum(region.lower, u))
    task = problem(m, trials, u, region)
    (found,) = maximize(m, [task])
    grid = found.u[0, 0] + np.linspace(-1.5, 1.5, 13)
    result = profile(m, task, found.u[0], "W1[0,0]", grid)

    def logistic(value: float) -> float:
        def cost(w: F64) -> float:
            logit = trials.x @ np.r_[value, w]
            return float(np.logaddexp(0.0, -(2.0 * trials.choice - 1.0) * logit).sum())

        return -float(minimize(cost, found.u[0, 1:3], method="BFGS", options={"gtol": 1e-7}).fun)

    assert_allclose(result.objective, [logistic(v) for v in grid], atol=1e-5)
    floor = result.maximum - 0.5 * chi2.ppf(0.95, 1)
    assert_allclose([logistic(v) for v in result.interval], floor, atol=0.01)


def test_a_ridge_is_followed_beyond_what_starts_from_the_fit_reach() -> None:
    m = Model("2NL", "rpe", 2, 2, 3)
    task, u = fitted(m, 300)
    grid = np.exp(u[m.alpha_at] + np.linspace(-2.0, 0.5, 11))
    grid = grid[(grid > 1.1e-6) & (grid < 0.99)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = profile(m, task, u, "alpha", grid)
        again = profile(m, task, u, "alpha", grid, n_threads=2)
    starts = np.tile(u, (grid.size, 1))
    starts[:, m.alpha_at] = np.log(grid)
    free = np.tile(task.free[0], (grid.size, 1))
    free[:, m.alpha_at] = False
    which = np.zeros(grid.size, dtype=np.int64)
    (plain,) = maximize(m, [replace(task, starts=starts, free=free, which_mask=which)])
    assert np.all(result.objective >= plain.objective - 1e-9)
    assert result.objective.tobytes() == again.objective.tobytes()
    assert result.theta.tobytes() == again.theta.tobytes()


def test_a_penalty_is_part_of_what_is_profiled() -> None:
    m = Model("1L", "rpe", 1, 0, 3)
    prior = Prior(np.r_[0.0, 0.0, 0.0, np.log(0.01), np.log(3.0)], np.r_[1.0, 1.0, 1.0, 2.0, 1.0])
    task, u = fitted(m)
    (found,) = maximize(m, [problem(m, task.trials, u)], prior=prior)
    u = found.u[0]
    grid = np.exp(u[4]) * np.array([0.5, 0.8, 1.0, 1.3, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = profile(m, task, u, "beta", grid, prior=prior)
    penalty = 0.5 * (((m.to_coordinates(result.theta) - prior.mean) / prior.sd) ** 2).sum(axis=1)
    assert_allclose(result.objective, result.loglik - penalty, atol=1e-9)
    assert result.maximum == pytest.approx(found.objective[0], abs=1e-6)


@pytest.mark.parametrize(
    ("at", "curve", "ends"),
    [
        # parabolas are met exactly, on the grid or between
        ([-3.0, -1.0, 0.0, 1.0, 3.0], lambda x: -0.5 * x * x, (-1.5, 1.5)),
        ([-3.0, 0.0, 1.5, 3.0], lambda x: -0.5 * x * x, (-1.5, 1.5)),
        ([3.0, -1.0, 0.0, -3.0, 1.0], lambda x: -0.5 * x * x, (-1.5, 1.5)),
        ([0.0, 3.0], lambda x: -0.5 * x * x, (np.nan, 1.5)),
        ([-1.0, 0.0, 1.0], lambda x: -0.5 * x * x, (np.nan, np.nan)),
        ([0.0], lambda x: 0.0 * x, (np.nan, np.nan)),
    ],
)
def test_crossings(at, curve, ends) -> None:
    at = np.array(at)
    low, high = crossings(at, curve(at), -0.5 * 1.5**2)
    assert_allclose([low, high], ends, atol=1e-12)


def test_the_interval_spans_a_second_peak() -> None:
    low, high = crossings(np.arange(-2.0, 7.0, 2.0), -0.5 * np.array([4.0, 0, 4, 0, 4]), -1.125)
    assert low == pytest.approx(-1.5)
    assert 4.0 < high < 6.0


def test_crossings_beside_a_value_that_no_refit_reaches() -> None:
    low, high = crossings(np.arange(3.0), np.array([-np.inf, 0.0, -8.0]), -2.0)
    assert low == 1.0
    assert high == pytest.approx(1.5)


def test_an_open_interval_is_said_to_be_open(shallow) -> None:
    task, u = shallow
    alpha = float(np.exp(u[3]))
    with pytest.warns(ConvergenceWarning, match="open below: at .* widen grid"):
        result = profile(SHALLOW, task, u, "alpha", alpha * np.array([0.9, 1.0, 3.0, 9.0]))
    assert np.isnan(result.interval[0])
    assert np.isfinite(result.interval[1])
    assert "[open, " in result.summary()
    assert result.to_r()["interval"][0] != result.to_r()["interval"][0]


def test_a_fit_that_was_no_maximum_is_told(shallow) -> None:
    task, u = shallow
    poor = u.copy()
    poor[3] -= 1.0
    grid = np.exp(u[3]) * np.array([0.2, 0.5, 1.0, 2.0, 5.0])
    with pytest.warns(ConvergenceWarning, match="above the fit, which was no maximum"):
        result = profile(SHALLOW, task, poor, "alpha", grid)
    assert result.estimate == pytest.approx(np.exp(u[3]))
    assert result.maximum == result.objective.max()


def test_refits_that_run_out_of_iterations_are_told(shallow) -> None:
    task, u = shallow
    grid = np.exp(u[3]) * np.array([0.2, 1.0, 5.0])
    with pytest.warns(ConvergenceWarning, match="of 3 refits of alpha did not converge"):
        result = profile(SHALLOW, task, u, "alpha", grid, max_iter=1)
    assert not result.converged.all()


def test_grids_come_in_any_order_and_kind(shallow) -> None:
    task, u = shallow
    alpha = float(np.exp(u[3]))
    values = alpha * np.array([3.0, 0.3, 1.0, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = profile(SHALLOW, task, u, "alpha", list(values))
        single = profile(SHALLOW, task, u, "alpha", alpha)
    assert_allclose(result.grid, np.sort(values)[1:])
    assert single.grid.shape == (1,)


@pytest.mark.parametrize(
    ("name", "grid", "level", "error", "words"),
    [
        ("gamma", [1.0], 0.95, ValueError, "name='gamma' must be one of W1"),
        (3, [1.0], 0.95, TypeError, "name must be text"),
        ("beta", [1.0], 0.95, ValueError, "'beta' is fixed in this model"),
        ("alpha", [], 0.95, ValueError, "grid must hold at least one value"),
        ("alpha", [0.1, np.nan], 0.95, ValueError, "grid must be finite"),
        ("alpha", [0.1, 3000.0], 0.95, ValueError, "grid must lie in .* got 3000"),
        ("alpha", [-0.1], 0.95, ValueError, "grid must lie in .* got -0.1"),
        ("alpha", ["a"], 0.95, TypeError, "grid must hold real numbers"),
        ("alpha", [0.1], 1.0, ValueError, "level=1 must lie strictly between"),
        ("W1[0,0]", [251.0], 0.95, ValueError, "the bounds of W1"),
    ],
)
def test_wrong_calls(shallow, name, grid, level, error, words) -> None:
    task, u = shallow
    with pytest.raises(error, match=words):
        profile(SHALLOW, task, u, name, grid, level=level)


def test_rotating_weights_have_no_profile() -> None:
    m = Model("2L", "rpe", 2, 2, 3, output_bias=True)
    u = m.to_coordinates(np.r_[np.full(m.n_weights, 0.1), 0.05, 2.0])
    with pytest.raises(ValueError, match=r"W2\[1,1\]' is not identified: .* rotated"):
        profile(m, problem(m, fixed_trials(50), u), u, "W2[1,1]", [0.1])


def test_result_has_every_form() -> None:
    grid = np.array([1.0, 2.0, 3.0])
    curve = -2.0 * (grid - 2.1) ** 2
    result = ProfileResult(
        "beta", grid, curve - 5, curve, np.ones((3, 5)), np.array([True, True, False]),
        2.1, 0.0, (1.1, 3.1), 0.9,
    )  # fmt: skip
    frame = result.to_frame()
    assert_allclose(frame["drop"], -curve)
    text = result.summary()
    assert "90 % interval" in text
    assert "1 of 3" in text
    assert all(len(line) <= 60 for line in text.splitlines())
    plain = to_r(result)
    assert plain["grid"] == {"data": [1.0, 2.0, 3.0], "dim": [3]}
    assert "<pre>" in result._repr_html_()
