"""EM for effect and prior, and its learners, against plain linear algebra and other optimisers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import c2g_additive as slow
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from nb26stats.causal._em import evidence, first_weights, run_em
from nb26stats.causal._learners import ChosenLearners
from nb26stats.causal._moments import excess_z
from nb26stats.causal._noise import fit_noise
from nb26stats.causal._random_features import draw_features
from nb26stats.causal._ridge_learners import RidgeEffect, RidgePrior
from nb26stats.causal._sklearn_learners import ModelEffect, ModelPrior

N, P, M, K = 120, 2, 10, 4
RIDGES = (1.0, 10.0, 100.0)


def noise_of(sd: float = 1.0) -> Any:
    """Normal noise whose standard deviation is exact."""
    return fit_noise(sd * np.tile([-1.0, 1.0], 50), kind="gaussian", seed=0)


def rows(seed: int = 0, n: int = N) -> tuple[Any, ...]:
    """Covariates, residuals, weights, counts, folds and features of treated rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, P))
    responder = rng.random(n) < expit(x[:, 0])
    r = rng.normal(size=n) + responder * (3 + x[:, 1])
    counts = rng.integers(1, 4, size=n).astype(float)
    return x, r, rng.random(n), counts, np.arange(n) % K, draw_features(P, M, 4.0, rng)


def mixed_noise() -> Any:
    """A density with two humps, so that its logarithm is not concave."""
    rng = np.random.default_rng(1)
    sample = np.r_[rng.normal(-1, 0.4, 200), rng.normal(1.2, 0.3, 150)]
    return fit_noise(sample - sample.mean(), kind="npmle", seed=0)


@pytest.mark.parametrize("sd", [0.8, 2.0])
def test_effect_under_normal_noise_is_a_linear_system(sd: float) -> None:
    x, r, omega, counts, fold, features = rows()
    phi = slow.features(x, features.frequency, features.phase)
    learner = RidgeEffect(features, [7.0], x, fold, counts)
    d = learner.cross_fit(r, omega, noise_of(sd), 0)
    for k in range(K):
        a, b = fold != k, fold == k
        coef = slow.fit_effect(phi[a], r[a], (omega * counts)[a], sd**2, 7.0)
        np.testing.assert_allclose(d[b], phi[b] @ coef, rtol=1e-5, atol=1e-5)
    coef = slow.fit_effect(phi, r, omega * counts, sd**2, 7.0)
    predictor = learner.refit(r, omega, noise_of(sd))
    np.testing.assert_allclose(predictor(x), phi @ coef, rtol=1e-5, atol=1e-5)


def test_effect_under_other_noise_is_stationary() -> None:
    x, r, omega, counts, fold, features = rows()
    noise, phi = mixed_noise(), features(x)
    coef = RidgeEffect(features, [3.0], x, fold, counts).refit(r, omega, noise).coef
    left = r - phi @ coef
    slope = phi.T @ (omega * counts * noise.score(left)) + np.r_[0.0, np.full(P + M, 3.0)] * coef
    assert np.abs(slope).max() < 2e-3 * counts.sum()

    def loss(c: Any) -> float:
        fitted = counts * omega @ noise.log_density(r - phi @ c)
        return 1.5 * float((c[1:] ** 2).sum()) - float(fitted)

    rng = np.random.default_rng(0)
    for _ in range(50):
        assert loss(coef + 0.01 * rng.normal(size=len(coef))) > loss(coef)


def test_prior_is_the_logistic_regression_of_another_optimiser() -> None:
    x, _, omega, counts, fold, features = rows()
    phi = features(x)
    learner = RidgePrior(features, [2.0], x, fold, counts)
    eta = learner.cross_fit(omega, 0)

    def best(train: Any) -> Any:
        def loss(c: Any) -> tuple[float, Any]:
            e = phi[train] @ c
            value = counts[train] @ (np.logaddexp(0, e) - omega[train] * e)
            slope = phi[train].T @ (counts[train] * (expit(e) - omega[train]))
            penalty = np.r_[0.0, np.full(P + M, 2.0)]
            return value + 0.5 * penalty @ c**2, slope + penalty * c

        start = np.zeros(phi.shape[1])
        return minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x

    for k in range(K):
        np.testing.assert_allclose(eta[fold == k], phi[fold == k] @ best(fold != k), atol=1e-5)
    everyone = np.ones(N, bool)
    np.testing.assert_allclose(learner.refit(omega)(x), phi @ best(everyone), atol=1e-5)


@pytest.mark.parametrize("weight", [1e-300, 1 - 1e-16])
def test_nobody_or_everybody_responds(weight: float) -> None:
    x, r, _, counts, fold, features = rows()
    omega = np.full(N, weight)
    eta = RidgePrior(features, RIDGES, x, fold, counts).cross_fit(omega, 0)
    assert np.isfinite(eta).all()
    assert (eta < -10).all() if weight < 0.5 else (eta > 10).all()
    d = RidgeEffect(features, RIDGES, x, fold, counts).cross_fit(r, omega, noise_of(), 0)
    assert np.isfinite(d).all()


@pytest.mark.parametrize("which", ["effect", "prior"])
def test_a_row_is_told_by_fits_that_have_not_seen_it(which: str) -> None:
    x, r, omega, counts, fold, features = rows()

    def told(r: Any, omega: Any) -> Any:
        if which == "effect":
            learner = RidgeEffect(features, [5.0], x, fold, counts)
            return learner.cross_fit(r, omega, noise_of(), 0)
        return RidgePrior(features, [5.0], x, fold, counts).cross_fit(omega, 0)

    changed = fold == 1
    before = told(r, omega)
    after = told(np.where(changed, r + 5, r), np.where(changed, 1 - omega, omega))
    np.testing.assert_array_equal(before[changed], after[changed])
    assert (before[~changed] != after[~changed]).all()


@pytest.mark.parametrize("which", ["effect", "prior"])
def test_penalties_are_chosen_by_rows_left_out_and_then_kept(which: str) -> None:
    x, r, omega, counts, fold, features = rows()
    noise = noise_of()

    def learner(ridges: Any) -> Any:
        kind: Any = RidgeEffect if which == "effect" else RidgePrior
        return kind(features, ridges, x, fold, counts)

    def told(learner: Any, r: Any, omega: Any, step: int) -> Any:
        if which == "effect":
            return learner.cross_fit(r, omega, noise, step)
        return learner.cross_fit(omega, step)

    def loss(values: Any, r: Any, omega: Any) -> float:
        if which == "effect":
            return -float(omega * counts @ norm.logpdf(r - values))
        return float(counts @ (np.logaddexp(0, values) - omega * values))

    def best(r: Any, omega: Any) -> Any:
        alone = [told(learner([v]), r, omega, 0) for v in RIDGES]
        return alone[int(np.argmin([loss(v, r, omega) for v in alone]))]

    # weights of which one set is noise and the other a function of covariates
    clear = (2 * x[:, 0] + 0 * r, expit(4 * x[:, 0]))
    many = learner(RIDGES)
    for step in range(5):
        for data in ((r, omega), clear):
            np.testing.assert_allclose(told(many, *data, step), best(*data), atol=1e-4)
    told(many, r, omega, 4)
    for step in (5, 8, 10, 18):
        kept = told(many, *clear, step)
        assert np.abs(kept - best(*clear)).max() > 1e-3
    for step in (9, 19):
        np.testing.assert_allclose(told(many, *clear, step), best(*clear), atol=1e-4)
        told(many, r, omega, step)


def test_counts_are_copies() -> None:
    x, r, omega, counts, fold, features = rows()
    at = np.repeat(np.arange(N), counts.astype(int))
    ones, noise = np.ones(len(at)), noise_of()
    for a, b in (
        (
            RidgeEffect(features, RIDGES, x, fold, counts).cross_fit(r, omega, noise, 0),
            RidgeEffect(features, RIDGES, x[at], fold[at], ones).cross_fit(
                r[at], omega[at], noise, 0
            ),
        ),
        (
            RidgePrior(features, RIDGES, x, fold, counts).cross_fit(omega, 0),
            RidgePrior(features, RIDGES, x[at], fold[at], ones).cross_fit(omega[at], 0),
        ),
    ):
        np.testing.assert_allclose(a[at], b, atol=1e-4)


def test_models_of_the_users_see_weights_and_rows_in_both_classes() -> None:
    x, r, omega, counts, fold, _ = rows()
    where = {"seed": 1, "first": 1000}
    effect = ModelEffect(LinearRegression(), x, fold, counts, **where)
    prior = ModelPrior(LogisticRegression(C=np.inf), x, fold, counts, **where)
    d, eta = effect.cross_fit(r, omega, noise_of(), 0), prior.cross_fit(omega, 0)
    design = np.column_stack([np.ones(N), x])
    for k in range(K):
        a, b = fold != k, fold == k
        left = (design[a].T * (omega * counts)[a]) @ design[a]
        coef = np.linalg.solve(left, design[a].T @ (omega * counts * r)[a])
        np.testing.assert_allclose(d[b], design[b] @ coef)
        coef = slow.fit_prior(design[a], omega[a], counts[a], 0.0)
        np.testing.assert_allclose(eta[b], design[b] @ coef, atol=5e-3)
    for predictor in (effect.refit(r, omega, noise_of()), prior.refit(omega)):
        assert np.isfinite(predictor(x)).all()
        assert predictor(x[:0]).shape == (0,)


def test_a_classifier_that_is_sure_gives_finite_log_odds() -> None:
    x, _, _, counts, fold, _ = rows()
    model = DecisionTreeClassifier(random_state=0)
    sure = ModelPrior(model, x, fold, counts, seed=0, first=2000).cross_fit(np.ones(N), 0)
    np.testing.assert_allclose(sure, logit(1 - 1e-6))


def test_copies_of_a_model_keep_their_random_states() -> None:
    x, r, omega, counts, fold, _ = rows()
    model = DecisionTreeRegressor(splitter="random", max_depth=3)

    def told(seed: int, step: int) -> Any:
        learner = ModelEffect(model, x, fold, counts, seed=seed, first=1000)
        return learner.cross_fit(r, omega, noise_of(), step)

    np.testing.assert_array_equal(told(0, 0), told(0, 7))
    assert (told(0, 0) != told(1, 0)).any()


def test_first_weights() -> None:
    null = np.arange(8.0)
    omega = first_weights(null, np.random.default_rng(0))
    np.testing.assert_allclose(omega[:2], 0.9)
    np.testing.assert_allclose(omega[-2:], 0.1)
    assert ((omega[2:6] > 0.3) & (omega[2:6] < 0.7)).all()
    assert len(set(omega[2:6])) == 4


def test_evidence_by_hand() -> None:
    r, d, eta = np.array([0.0, 1.0, 4.0]), np.array([2.0, 2.0, -1.0]), np.array([0.0, 1.0, -3.0])
    found = evidence(eta, r, d, noise_of(2.0))
    expected = eta + norm.logpdf(r, d, 2) - norm.logpdf(r, 0, 2)
    np.testing.assert_allclose(found, expected)


def test_the_whole_iteration_is_that_of_the_formulas() -> None:
    x, r, _, _, fold, features = rows(3, 200)
    ones, noise = np.ones(200), noise_of(1.1)
    found = run_em(
        r,
        noise,
        RidgeEffect(features, RIDGES, x, fold, ones),
        RidgePrior(features, RIDGES, x, fold, ones),
        ones,
        rng=np.random.default_rng(7),
        max_iter=60,
        tol=1e-3,
    )
    start = first_weights(norm.logpdf(r), np.random.default_rng(7))
    phi = slow.features(x, features.frequency, features.phase)
    expected = slow.em(phi, r, 1.1**2, fold, start, RIDGES, 60, 1e-3)
    assert found.converged
    assert found.n_iter == expected.n_iter
    for name in ("omega", "effect", "log_odds"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-4)
    np.testing.assert_allclose(found.evidence, logit(found.omega), atol=1e-6)
    np.testing.assert_allclose(found.effect_model(x), phi @ expected.effect_coef, atol=1e-4)
    np.testing.assert_allclose(found.prior_model(x), phi @ expected.prior_coef, atol=1e-4)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.effect_model(x), found.effect_model(x))


def test_two_moments_tell_prior_and_effect() -> None:
    """A third of rows shifted by 2: mean .6, mean square in excess of the noise 1.2."""
    prior, effect, n = 0.3, 2.0, 20_000
    assert (prior * effect, prior * effect**2) == pytest.approx((0.6, 1.2))
    rng = np.random.default_rng(0)
    r = rng.normal(size=n) + effect * (rng.random(n) < prior)
    m1, m2 = r.mean(), (r**2).mean() - 1
    # standard errors of the ratios are .02 and .009
    assert m2 / m1 == pytest.approx(effect, abs=0.08)
    assert m1**2 / m2 == pytest.approx(prior, abs=0.03)
    x, fold, ones = np.zeros((n, 0)), np.arange(n) % K, np.ones(n)
    learners = ChosenLearners("rff", "rff", 5, RIDGES, 0)(x, fold, ones)
    found = run_em(r, noise_of(), *learners, ones, rng=rng, max_iter=500, tol=1e-6)
    assert found.converged
    assert found.effect_model(x[:1])[0] == pytest.approx(effect, abs=0.08)
    assert expit(found.prior_model(x[:1])[0]) == pytest.approx(prior, abs=0.03)
    # what a maximum of the likelihood has: weighted residuals of mean zero, prior the mean weight
    assert found.omega @ (r - found.effect_model(x)) / n == pytest.approx(0, abs=1e-5)
    assert expit(found.prior_model(x[:1])[0]) == pytest.approx(found.omega.mean(), abs=1e-6)


class Constant:
    """A learner of anybody's making: one number for all rows."""

    def __init__(self, value: float) -> None:
        self.value, self.steps = value, list[int]()

    def cross_fit(self, *args: Any) -> Any:
        self.steps.append(args[-1])
        return np.full(len(args[0]), self.value)

    def refit(self, *args: Any) -> Any:
        return lambda x: np.full(len(x), self.value)


def test_other_learners_take_part() -> None:
    r = np.random.default_rng(0).normal(size=50)
    effect, prior = Constant(2.0), Constant(-1.0)
    found = run_em(
        r,
        noise_of(),
        effect,
        prior,
        np.ones(50),
        rng=np.random.default_rng(0),
        max_iter=9,
        tol=1e-9,
    )
    # what never changes has settled at the second look
    assert effect.steps == prior.steps == [0, 1]
    assert found.converged
    np.testing.assert_allclose(found.omega, expit(-1 + norm.logpdf(r - 2) - norm.logpdf(r)))


def test_iterations_that_do_not_settle_are_told() -> None:
    x, r, _, counts, fold, features = rows()
    done: list[int] = []
    found = run_em(
        r,
        noise_of(),
        RidgeEffect(features, RIDGES, x, fold, counts),
        RidgePrior(features, RIDGES, x, fold, counts),
        counts,
        rng=np.random.default_rng(0),
        max_iter=3,
        tol=1e-12,
        on_done=done.append,
    )
    assert (found.converged, found.n_iter, done) == (False, 3, [1, 1, 1])


@settings(max_examples=40, deadline=None)
@given(
    arrays(float, 24, elements=st.floats(-50, 50)),
    arrays(float, (24, 2), elements=st.floats(-5, 5)),
    st.integers(0, 2**32),
)
def test_any_residuals_give_probabilities(r: Any, x: Any, seed: int) -> None:
    learners = ChosenLearners("rff", "rff", 4, (1.0, 100.0), seed)(
        x, np.arange(24) % 3, np.ones(24)
    )
    found = run_em(
        r,
        noise_of(),
        *learners,
        np.ones(24),
        rng=np.random.default_rng(seed),
        max_iter=8,
        tol=1e-3,
    )
    for values in (found.evidence, found.effect, found.log_odds):
        assert np.isfinite(values).all()
    assert ((found.omega >= 0) & (found.omega <= 1)).all()
    assert np.isfinite(found.effect_model(x)).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.1, 100))
def test_excess_in_standard_errors(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    r1, r0, w = rng.normal(size=40) + 1, rng.normal(size=60), rng.exponential(size=60)
    plain = (r1.mean() - r0.mean()) / np.sqrt(r1.var() / 40 + r0.var() / 60)
    assert excess_z(r1, r0) == pytest.approx(plain)
    assert excess_z(r1, r0, np.full(60, unit)) == pytest.approx(plain)
    rbar = (w * r0).sum() / w.sum()
    variance = (w**2 * (r0 - rbar) ** 2).sum() / w.sum() ** 2
    weighted = (r1.mean() - rbar) / np.sqrt(r1.var() / 40 + variance)
    assert excess_z(r1, r0, unit * w) == pytest.approx(weighted)
    assert excess_z(unit * r1, unit * r0, w) == pytest.approx(weighted)
