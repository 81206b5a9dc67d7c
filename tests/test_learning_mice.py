"""Real mice that learn a visual task from nothing, against figures of other programs.

The trials may not be shipped: the tests run where the file is.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from learning_tools import mice, needs_mice
from reference.learning import encode
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import DNNLearningRule
from nb26stats.learning._embedding import embed
from nb26stats.learning._model import Model

pytestmark = [pytest.mark.slow, needs_mice]


@pytest.fixture(scope="module")
def data() -> dict[str, object]:
    table = mice()
    table = table[table["animal"] == "DAP009"]
    assert len(table) == 5289
    assert table["session"].nunique() == 26
    return {
        "X": encode(table["contrast"].to_numpy(float)),
        "y": table["choice"].to_numpy(float),
        "rewards": table["reward"].to_numpy(float),
        "sessions": table["session"].to_numpy(),
    }


def fit(data: dict[str, object], architecture: str, **options: object) -> DNNLearningRule:
    options = {"missing_reward": "skip", "random_state": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DNNLearningRule(architecture, **options).fit(**data)


def test_without_learning_it_is_logistic_regression(data) -> None:
    found = fit(data, "1L", rule="cross_entropy", alpha_bounds=(1e-12, 1e-12), beta_bounds=(1, 1))
    assert found.loglik_ == pytest.approx(-3096.79, abs=0.005)
    x, y, w = data["X"], data["y"], np.zeros(3)
    for _ in range(20):
        p = 1.0 / (1.0 + np.exp(-x @ w))
        w = w + np.linalg.solve(x.T @ (x * (p * (1.0 - p))[:, None]), x.T @ (y - p))
    np.testing.assert_allclose(found.params_["W1"][0], w, atol=1e-5)
    np.testing.assert_allclose(w, [-1.172, 1.030, 0.204], atol=1e-3)
    assert found.n_params_ == 3


@pytest.mark.parametrize("weight_bound", [5.0, 20.0])
def test_one_layer_has_one_optimum(data, weight_bound: float) -> None:
    found = fit(data, "1L", rule="rpe", weight_bound=weight_bound)
    print(f"1L, |W| <= {weight_bound}: {found.loglik_:.4f}, {found.n_hit_} starts")
    assert found.loglik_ == pytest.approx(-2863.72, abs=0.05)
    assert found.aic_ == pytest.approx(5743.44, abs=0.1)
    assert found.params_["alpha"] == pytest.approx(0.00159, abs=1e-5)
    assert found.params_["beta"] == pytest.approx(2.838, abs=2e-3)
    assert found.n_hit_ == len(found.restart_logliks_)
    assert found.converged_
    assert found.at_bounds_ == []


def test_two_linear_layers(data) -> None:
    found = fit(data, "2L", rule="rpe")
    print(f"2L: {found.loglik_:.2f}, AIC {found.aic_:.1f}, {found.n_hit_} starts")
    assert found.loglik_ >= -2825.0
    assert found.n_params_ == 11


def test_two_layers_with_a_nonlinearity(data) -> None:
    found = fit(data, "2NL", rule="rpe", weight_bound=10.0, n_restarts=40, n_pool=400)
    print(f"2NL, |W| <= 10: {found.loglik_:.2f}, AIC {found.aic_:.1f}, {found.n_hit_} starts")
    assert found.loglik_ >= -2818.0
    assert found.n_params_ == 12


# rule, outputs, missing rewards, log-likelihoods of 1L, 2L and 2NL from eight starts
OTHERS = [
    ("reinforce", 1, "skip", (-2890.8, -2811.6, -2808.9)),
    ("expected_reward", 1, "skip", (-2910.2, -2853.5, -2845.4)),
    ("cross_entropy", 1, "skip", (-2903.7, -2857.0, -2839.3)),
    ("squared", 2, "skip", (-2904.92, -2848.0, -2839.2)),
    ("rpe", 1, "skip", (-2904.92, -2853.9, -2851.7)),
    ("reinforce", 1, "expected", (-2888.9, -2797.5, -2797.1)),
]


@pytest.mark.parametrize(("rule", "outputs", "missing", "known"), OTHERS)
def test_other_rules(data, rule, outputs, missing, known) -> None:
    options = {"rule": rule, "n_outputs": outputs, "missing_reward": missing}
    found = {a: fit(data, a, **options).loglik_ for a in ("1L", "2L", "2NL")}
    print(rule, outputs, missing, {a: round(v, 2) for a, v in found.items()}, "known", known)
    # one layer has one optimum in this box whatever the rule
    assert found["1L"] == pytest.approx(known[0], abs=0.06)
    # the figures come from other boxes and other starts, and deep beats shallow by far more
    assert found["2L"] >= known[1] - 2.0
    assert found["2L"] - found["1L"] > 20.0
    assert found["2NL"] - found["1L"] > 20.0


def test_embeddings_of_the_fitted_layer(data) -> None:
    small = fit(data, "1L", rule="rpe")
    arguments = (data["X"], data["y"], data["rewards"])
    for architecture, hidden, known in (
        ("2L", 2, {3.0: -0.0352, 10.0: 7.6e-5, 30.0: 9.8e-7, 100.0: 7.9e-9}),
        ("2NL", 4, {0.1: 0.0853, 1 / 30: 0.0106, 0.01: 0.00097}),
    ):
        deep = Model(architecture, "rpe", 2, hidden, 3, missing_reward="skip")
        estimator = DNNLearningRule(architecture, rule="rpe", hidden=hidden, missing_reward="skip")
        for scale, difference in known.items():
            theta = embed(deep, small.theta_, scale)
            assert theta is not None
            found = estimator.log_likelihood(theta, *arguments) - small.loglik_
            assert found == pytest.approx(difference, rel=0.02)


def test_sessions_to_come(data) -> None:
    counted = np.asarray(data["sessions"]) <= np.unique(data["sessions"])[17]
    assert counted.sum() == 3589
    static = {"alpha_bounds": (1e-12, 1e-12), "beta_bounds": (1, 1), "rule": "cross_entropy"}
    found = {}
    for name, architecture, options in (
        ("static", "1L", static),
        ("1L", "1L", {"rule": "rpe", "weight_bound": 10.0}),
        ("2L", "2L", {"rule": "rpe", "weight_bound": 10.0}),
        ("2NL", "2NL", {"rule": "rpe", "weight_bound": 10.0}),
    ):
        estimator = fit({**data, "likelihood_mask": counted}, architecture, **options)
        found[name] = estimator.log_likelihood(
            estimator.theta_, data["X"], data["y"], data["rewards"], likelihood_mask=~counted
        )
    print("log-likelihood of the last 1700 trials:", {k: round(v, 1) for k, v in found.items()})
    assert found["static"] == pytest.approx(-868.7, abs=0.1)
    assert found["1L"] == pytest.approx(-733.3, abs=0.1)
    assert found["2L"] > found["static"] + 50.0
    assert found["2NL"] > found["static"] + 50.0
