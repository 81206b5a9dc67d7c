"""DNNLearningRule: anchors, starts, nesting, criteria, what a fit leaves behind, simulation."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.learning import det, det_theta
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from nb26stats import NB26StatsWarning
from nb26stats.learning import DNNLearningRule, behavior_metrics, encode_contrast
from nb26stats.learning import _fit as fit_module
from nb26stats.learning._fit import Problem, all_starts, find_optimum, sound
from nb26stats.learning._options import read_options
from nb26stats.learning._start_draws import Draws, draw, likeliest_starts
from nb26stats.learning._trials import check_trials

X, Y, R, SIDE, CONTRAST = det(200)
ARCHITECTURES = ("1L", "2L", "2NL")
QUICK = {"n_pool": 20, "n_restarts": 3, "random_state": 0}


def _fit(architecture: str = "2NL", n: int = 200, **kw: Any) -> DNNLearningRule:
    """A fit whose warnings are not the subject."""
    x, y, r, *_ = det(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DNNLearningRule(architecture, **{**QUICK, **kw}).fit(x, y, rewards=r)


ANCHORS = [
    ("rpe", 1, (-110.6368171494, -102.7845176612, -143.1814532302)),
    ("rpe", 2, (-119.6262459962, -118.3429760032, -118.9771531289)),
    ("squared", 2, (-124.7849131864, -130.4925771067, -116.1368723573)),
    ("reinforce", 1, (-101.4200920445, -127.8408204036, -140.0779492389)),
    ("expected_reward", 1, (-117.0422523895, -131.0391452968, -151.5545941179)),
    ("cross_entropy", 1, (-108.4067602389, -99.6790697291, -143.2009153212)),
]


@pytest.mark.parametrize(("rule", "n_outputs", "want"), ANCHORS)
def test_log_likelihood_needs_no_fit(rule: str, n_outputs: int, want: tuple[float, ...]) -> None:
    baseline = 0.25 if rule == "reinforce" else 0.0
    for architecture, value in zip(ARCHITECTURES, want, strict=True):
        est = DNNLearningRule(architecture, rule=rule, n_outputs=n_outputs, baseline=baseline)
        theta = det_theta(est._options().model(3))
        got = est.log_likelihood(theta, X, Y, R)
        assert got == pytest.approx(value, abs=1e-8)
        assert est.log_likelihood(theta, X, Y, correct_side=SIDE) == pytest.approx(value, abs=1e-8)


def test_gradient_is_in_natural_coordinates_and_flat_order() -> None:
    est = DNNLearningRule("2NL", rule="rpe")
    theta = det_theta(est._options().model(3))
    value, slopes = est.log_likelihood(theta, X, Y, R, return_grad=True)  # type: ignore[misc]
    assert value == est.log_likelihood(theta, X, Y, R)
    got = [slopes[-2], slopes[-1], slopes[0]]
    np.testing.assert_allclose(got, [102.67582682, 7.13156027, 6.43841716], rtol=1e-7)
    forward = est.set_params(gradient="forward").log_likelihood(theta, X, Y, R, return_grad=True)
    np.testing.assert_allclose(forward[1], slopes, rtol=1e-10)  # type: ignore[index]


def test_missing_rewards_and_extreme_temperature() -> None:
    r = np.where(CONTRAST == 0, np.nan, R)
    for architecture, want in (("2L", -116.6989527951), ("2NL", -118.6545195152)):
        est = DNNLearningRule(architecture, rule="rpe", missing_reward="skip")
        theta = det_theta(est._options().model(3))
        assert est.log_likelihood(theta, X, Y, r) == pytest.approx(want, abs=1e-8)
        theta[-1] = 1e4
        assert np.isfinite(est.log_likelihood(theta, X, Y, r))


def test_a_problem_that_explodes_lies_far_below_all_others() -> None:
    est = DNNLearningRule("2L", rule="rpe")
    theta = np.array([3.0] * 10 + [1.0, 2.0])
    value, slopes = est.log_likelihood(theta, X, Y, R, return_grad=True)  # type: ignore[misc]
    assert value < -1e6 * len(X)
    assert not slopes.any()


@pytest.mark.parametrize(
    ("rule", "architecture", "n_outputs"),
    [
        ("rpe", "1L", 2),
        ("rpe", "2NL", 2),
        ("squared", "1L", 1),
        ("squared", "2L", 2),
        ("squared", "2NL", 2),
        ("reinforce", "2NL", 1),
        ("expected_reward", "1L", 1),
        ("cross_entropy", "2L", 1),
    ],
)
def test_default_outputs(rule: str, architecture: str, n_outputs: int) -> None:
    options = read_options(DNNLearningRule(architecture, rule=rule))
    assert options.n_outputs == n_outputs
    assert options.n_restarts == {"1L": 4, "2L": 8, "2NL": 24}[architecture]


def _by_hand(seed: int, index: int, q: int, *, lapse: bool) -> NDArray[np.float64]:
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(index,)))
    scale = np.exp(rng.uniform(np.log(0.1), np.log(2)))
    weights = scale * rng.standard_normal(q)
    rest = [rng.uniform(np.log(1e-4), np.log(0.1)), rng.uniform(0.0, np.log(10.0))]
    return np.array([*weights, *rest, *([rng.uniform(-4, -1)] if lapse else [])])


@pytest.mark.parametrize("lapse", [False, True])
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_starts_come_from_seed_and_index_alone(seed: int, lapse: bool) -> None:
    options = read_options(DNNLearningRule("2NL", rule="rpe", lapse=lapse))
    model = options.model(3)
    for index in (0, 1, 99, 1234):
        want = options.box(model).clip(_by_hand(seed, index, model.n_weights, lapse=lapse))
        np.testing.assert_array_equal(draw(model, options.box(model), seed, index), want)


@pytest.mark.parametrize("architecture", ["1L", "2L"])
def test_where_beta_is_fixed_its_draw_goes_into_the_weights(architecture: str) -> None:
    est = DNNLearningRule(architecture, rule="cross_entropy")
    options = read_options(est)
    model = options.model(3)
    for index in range(5):
        free = _by_hand(3, index, model.n_weights, lapse=False)
        got = draw(model, options.box(model), 3, index)
        assert got[-1] == 0.0
        a = est.log_likelihood(model.to_natural(free), X, Y, R)
        b = est.log_likelihood(model.to_natural(got), X, Y, R)
        assert a == pytest.approx(b, abs=1e-9)


def _pool(**kw: Any) -> Any:
    est = DNNLearningRule("2L", rule="rpe", **kw)
    options = read_options(est)
    model = options.model(3)
    trials = check_trials(X, Y, rewards=R)
    return (
        est,
        model,
        options.box(model),
        lambda seed, n, keep: likeliest_starts(
            replace(options, n_pool=n, n_restarts=keep),
            Draws(model, options.box(model), seed),
            trials,
            trials.mask[None],
        )[0],
    )


def test_the_pool_keeps_the_likeliest() -> None:
    est, model, box, pool = _pool()
    found = pool(5, 30, 4)
    rows = np.array([draw(model, box, 5, i) for i in range(30)])
    values = np.array([est.log_likelihood(model.to_natural(u), X, Y, R) for u in rows])
    order = np.argsort(-values)[:4]
    np.testing.assert_array_equal(found.starts, rows[order])
    np.testing.assert_allclose(found.logliks, values[order], rtol=1e-12)
    assert found.n_diverged == 0


def test_a_draw_that_explodes_is_replaced_by_the_next() -> None:
    # learning rates near 1, and weights that must stay below their limit
    est, model, box, pool = _pool(alpha_bounds=(0.6, 1.0), weight_bound=3.0)
    found = pool(1, 12, 12)
    assert found.n_diverged > 0
    assert len(found.starts) == 12
    drawn = np.array([draw(model, box, 1, i) for i in range(12 + found.n_diverged)])
    sound = []
    for u in drawn:
        value = est.log_likelihood(model.to_natural(u), X, Y, R)
        if value > -1e6 * len(X):
            sound.append(u)
    np.testing.assert_array_equal(
        np.array(sorted(found.starts.tolist())), np.array(sorted(np.array(sound).tolist()))
    )


def test_a_pool_that_always_explodes_gives_up() -> None:
    x = 1e3 * X
    with pytest.raises(ValueError, match="random starts diverge, more than n_pool=3 can replace"):
        DNNLearningRule("2L", rule="rpe", n_pool=3, n_restarts=1, nested_start=False).fit(
            x, Y, rewards=R
        )


@pytest.mark.parametrize("rule", ["rpe", "reinforce"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_a_fit_leaves_behind(architecture: str, rule: str) -> None:
    est = _fit(architecture, rule=rule)
    model = est._options().model(3)
    assert est.theta_.shape == (model.n_theta,)
    first, second = model.weights(est.theta_)
    np.testing.assert_array_equal(est.params_["W1"], first)
    assert ("W2" in est.params_) == model.deep
    if model.deep:
        np.testing.assert_array_equal(est.params_["W2"], second)
    assert list(est.params_)[-2:] == ["alpha", "beta"]
    assert est.loglik_ == est.logpost_ == est.log_likelihood(est.theta_, X, Y, R)
    assert est.score(X, Y, rewards=R) * 200 == pytest.approx(est.loglik_, rel=1e-14)
    assert est.aic_ == 2 * est.n_params_ - 2 * est.loglik_
    assert est.bic_ == pytest.approx(est.n_params_ * np.log(200) - 2 * est.loglik_)
    assert est.aic_is_penalised_ is False
    counts = {"rpe": (8, 11, 12), "reinforce": (4, 8, 10)}[rule]
    assert est.n_params_ == counts[ARCHITECTURES.index(architecture)]
    assert est.n_params_raw_ == model.n_theta
    assert est.fixed_ == ({"beta": 1.0} if rule == "reinforce" and architecture != "2NL" else {})
    assert est.n_outputs_ == model.n_outputs
    assert est.weights_.shape == (201, model.n_weights)
    np.testing.assert_array_equal(est.weights_[0], est.theta_[: model.n_weights])
    log_p = est.one_step_log_proba(X, Y, rewards=R)
    np.testing.assert_allclose(log_p[np.arange(200), Y].sum(), est.loglik_, rtol=1e-12)
    p = est.one_step_proba(X, Y, rewards=R)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(p[:, 1], est.p_right_)
    assert np.all(np.diff(est.restart_logliks_) <= 0)
    assert est.restart_logliks_[0] == pytest.approx(est.loglik_, abs=1e-9)
    assert est.n_hit_ == (est.restart_logliks_ >= est.restart_logliks_[0] - 0.5).sum()
    assert (est.seed_, est.device_, est.n_features_in_) == (0, "cpu", 3)
    free = model.n_theta - len(est.fixed_)
    assert est.hessian_.shape == (free, free)
    np.testing.assert_allclose(np.linalg.eigvalsh(est.hessian_), est.hessian_eigenvalues_)
    assert np.all(np.diff(est.hessian_eigenvalues_) >= 0)
    assert set(est.std_errors_) == {*est.params_, "log_alpha", "log_beta"}
    text = est.summary()
    assert f"{est.loglik_:.3f}" in text
    assert len(text.splitlines()) > 15


def test_hessian_is_that_of_the_reported_parameters() -> None:
    # in 2L the reported weights are rotated
    est = _fit("2L", rule="rpe", penalty="gaussian")
    model = est._options().model(3)
    u = model.to_coordinates(est.theta_)
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(model.n_theta)

    def objective(t: float) -> float:
        v = u + t * direction
        sd = np.array([1.0] * 10 + [2.0, 1.0])
        mean = np.array([0.0] * 10 + [np.log(0.01), np.log(3.0)])
        value = est.log_likelihood(model.to_natural(v), X, Y, R)
        return float(value - 0.5 * (((v - mean) / sd) ** 2).sum())  # type: ignore[operator]

    h = 1e-4
    curvature = -(objective(h) - 2 * objective(0.0) + objective(-h)) / h**2
    assert direction @ est.hessian_ @ direction == pytest.approx(curvature, rel=1e-4)
    slope = (objective(h) - objective(-h)) / (2 * h)
    assert abs(slope) < 1e-2


def test_log_posterior_of_a_penalised_fit() -> None:
    est = _fit("1L", rule="rpe", penalty="gaussian", weight_sd=0.7)
    assert est.aic_is_penalised_ is True
    w, (alpha, beta) = est.theta_[:6], est.theta_[6:]

    def log_normal(x: Any, mean: float, sd: float) -> float:
        z = (np.asarray(x) - mean) / sd
        return float((-0.5 * z * z - np.log(sd) - 0.5 * np.log(2 * np.pi)).sum())

    prior = log_normal(w, 0, 0.7) + log_normal(np.log(alpha), np.log(0.01), 2.0)
    prior += log_normal(np.log(beta), np.log(3.0), 1.0)
    assert est.logpost_ == pytest.approx(est.loglik_ + prior, abs=1e-9)
    assert est.aic_ == 2 * est.n_params_ - 2 * est.loglik_
    # the prior tells scales apart, so that beta is free under a policy rule
    policy = _fit("1L", penalty="gaussian")
    assert policy.fixed_ == {}
    assert policy.n_params_ == 5


def test_raw_count() -> None:
    raw = _fit("2L", count="raw")
    assert raw.n_params_ == raw.n_params_raw_ == 10
    assert raw.aic_ - _fit("2L").aic_ == pytest.approx(4.0)


def test_a_deep_fit_is_no_worse_than_the_shallow_ones_inside_it() -> None:
    for rule in ("rpe", "reinforce", "squared"):
        est = DNNLearningRule("2L", rule=rule, **QUICK)
        options = read_options(est)
        model = options.model(3)
        trials = check_trials(X, Y, rewards=R)
        (plan,) = all_starts(options, model, [Problem(trials, trials.mask[None], 0)])
        (starts,) = sound(plan)
        assert len(starts.u) > options.n_restarts
        assert np.isfinite(starts.nested_loglik)
        fit = _fit("2L", rule=rule)
        assert fit.loglik_ >= starts.nested_loglik - 1e-6
        assert len(fit.restart_logliks_) == len(starts.u)


def test_nested_starts_can_be_left_out() -> None:
    assert len(_fit("2L", nested_start=False).restart_logliks_) == 3
    # four hidden units hold one layer with one output
    assert len(_fit("2NL").restart_logliks_) > 3
    # two sigmoid units do not hold one layer with two outputs
    assert len(_fit("2NL", rule="rpe").restart_logliks_) == 3


def test_own_starts() -> None:
    best = _fit("1L", rule="rpe", n_restarts=1, n_pool=1)
    x, y, r, *_ = det(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = DNNLearningRule("1L", rule="rpe", n_restarts=1, n_pool=1, random_state=0)
        again = est.fit(x, y, rewards=r, init=best.theta_)
        assert len(again.restart_logliks_) == 2
        assert again.loglik_ >= best.loglik_ - 1e-9
        both = est.fit(x, y, rewards=r, init=[best.theta_, best.theta_])
        assert len(both.restart_logliks_) == 3
        # a start with another beta is the same start, where beta is fixed
        policy = DNNLearningRule("1L", n_restarts=1, n_pool=1, max_iter=1, random_state=0)
        a = policy.fit(x, y, rewards=r, init=[0.4, -0.3, 0.1, 0.08, 1.0]).restart_logliks_
        b = policy.fit(x, y, rewards=r, init=[0.2, -0.15, 0.05, 0.02, 2.0]).restart_logliks_
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_diverging_start_of_the_caller_is_dropped() -> None:
    est = DNNLearningRule("2L", rule="rpe", n_restarts=1, n_pool=1, random_state=0)
    bad = np.array([5.0] * 10 + [1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = est.fit(X, Y, rewards=R)
        n, n_diverged, best = len(plain.restart_logliks_), plain.n_diverged_, plain.loglik_
        est.fit(X, Y, rewards=R, init=bad)
    assert est.n_diverged_ == n_diverged + 1
    assert len(est.restart_logliks_) == n
    assert est.loglik_ == best


def test_left_out_trials_keep_their_place() -> None:
    y = Y.astype(float)
    gone = np.array([0, 17, 18, 199])
    y[gone] = np.nan
    kept = np.setdiff1d(np.arange(200), gone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = DNNLearningRule("1L", rule="rpe", drop_no_response=True, **QUICK)
        est.fit(X, y, rewards=R)
        short = DNNLearningRule("1L", rule="rpe", **QUICK).fit(X[kept], Y[kept], rewards=R[kept])
    assert est.loglik_ == short.loglik_
    assert (est.n_trials_, est.n_counted_) == (196, 196)
    assert np.isnan(est.p_right_[gone]).all()
    np.testing.assert_array_equal(est.p_right_[kept], short.p_right_)
    assert est.weights_.shape == (201, 6)
    np.testing.assert_array_equal(est.weights_[kept], short.weights_[:-1])
    # nothing is learned where nothing was chosen
    np.testing.assert_array_equal(est.weights_[17], est.weights_[19])
    np.testing.assert_array_equal(est.weights_[-1], short.weights_[-1])
    p = est.one_step_proba(X, y, rewards=R)
    np.testing.assert_array_equal(p[:, 1], est.p_right_)


def test_masked_trials_teach_and_do_not_count() -> None:
    mask = np.arange(200) < 150
    est = _fit("1L", rule="rpe")
    whole = est.one_step_log_proba(X, Y, rewards=R)[np.arange(200), Y]
    score = est.score(X, Y, rewards=R, likelihood_mask=mask)
    assert score == pytest.approx(whole[:150].mean(), rel=1e-12)
    value = est.log_likelihood(est.theta_, X, Y, R, likelihood_mask=~mask)
    assert value == pytest.approx(whole[150:].sum(), rel=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        masked = DNNLearningRule("1L", rule="rpe", **QUICK).fit(
            X, Y, rewards=R, likelihood_mask=mask
        )
    assert (masked.n_trials_, masked.n_counted_) == (200, 150)
    assert masked.bic_ == pytest.approx(8 * np.log(150) - 2 * masked.loglik_)
    assert masked.loglik_ >= whole[:150].sum() - 1e-6


def test_one_trial() -> None:
    est = DNNLearningRule("2NL", rule="rpe")
    theta = det_theta(est._options().model(3))
    value = est.log_likelihood(theta, X[:1], Y[:1], R[:1])
    run = est.simulate(X[:1], SIDE[:1], theta=theta)
    p = run.p_right[0, 0]
    assert value == pytest.approx(np.log(p if Y[0] else 1 - p), abs=1e-14)


def test_simulation_numbers_come_from_seed_run_and_trial() -> None:
    # without inputs every choice is a coin: right where the number is below one half
    est = DNNLearningRule("1L")
    x, side = np.zeros((1001, 1)), np.ones(1001)
    run = est.simulate(x, side, n_runs=4, theta=[0.0, 0.1, 1.0], random_state=0)
    assert (run.p_right == 0.5).all()
    numbers = {(0, 0): 0.26408614635761024, (0, 1): 0.5198627964264124, (1, 0): 0.8222863517022609}
    for (r, t), u in numbers.items():
        assert run.choice[r, t] == (u < 0.5)
    other = est.simulate(x, side, n_runs=4, theta=[0.0, 0.1, 1.0], random_state=42.0)
    assert other.choice[3, 1000] == (0.346539161891203 < 0.5)
    assert (other.seed, run.seed) == (42, 0)


def test_simulation_learns_from_its_own_choices() -> None:
    est = _fit("2NL", rule="rpe", penalty="gaussian")
    a = est.simulate(X, SIDE, n_runs=6, random_state=3)
    b = est.simulate(X, SIDE, n_runs=2, random_state=3)
    np.testing.assert_array_equal(a.choice[:2], b.choice)
    np.testing.assert_array_equal(a.weights[:2], b.weights)
    np.testing.assert_array_equal(a.reward, (a.choice == SIDE).astype(float))
    # the teacher-forced path along simulated choices is the simulation
    p = est.one_step_proba(X, a.choice[4], rewards=a.reward[4])
    np.testing.assert_allclose(p[:, 1], a.p_right[4], rtol=1e-12)
    unknown = est.simulate(X, np.where(CONTRAST == 0, np.nan, SIDE), random_state=3)
    np.testing.assert_array_equal(np.isnan(unknown.reward[0]), CONTRAST == 0)
    frame = a.to_frame()
    assert list(frame.columns) == ["run", "trial", "choice", "reward", "p_right"]
    assert len(frame) == 1200
    assert "6 simulated runs of 200 trials" in a.summary()


def test_profile_and_blocks_are_reached_from_the_estimator() -> None:
    est = _fit("1L", rule="rpe", penalty="gaussian")
    beta = est.params_["beta"]
    grid = beta * np.array([0.3, 0.6, 1, 1.6, 3])
    result = est.profile_likelihood("beta", grid, X, Y, rewards=R, level=0.8)
    assert result.interval[0] < beta < result.interval[1]
    held = est.cross_val_blocks(X, Y, rewards=R, n_blocks=4)
    assert held["block_n"].sum() == 200
    assert held["mean"] == pytest.approx(held["block_loglik"].sum() / 200)
    assert held["mean"] < est.loglik_ / 200


def _caught(**kw: Any) -> str:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        DNNLearningRule(**kw).fit(X, Y, rewards=R)
    assert all(issubclass(w.category, ConvergenceWarning) for w in seen)
    # the user's line is where they point
    assert all(w.filename == __file__ for w in seen)
    return " | ".join(str(w.message) for w in seen)


def test_warnings_of_fits_that_should_not_be_trusted() -> None:
    once = _caught(architecture="1L", rule="rpe", n_restarts=1, n_pool=1, random_state=0)
    assert "global optimum not confirmed" in once
    short = _caught(architecture="1L", rule="rpe", max_iter=2, n_pool=4, random_state=0)
    assert "max_iter=2 iterations were not enough" in short
    bound = _caught(architecture="1L", rule="rpe", beta_bounds=(0.1, 0.2), random_state=0)
    assert "on a bound of the search (at_bounds_): " in bound
    assert re.search(r"\bbeta\b", bound)


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = DNNLearningRule("1L", rule="rpe", penalty="gaussian", random_state=0)
        est.fit(X, Y, rewards=R)
    assert est.converged_ is True
    assert est.at_bounds_ == []
    assert np.isfinite(est.std_errors_["W1"]).all()


def test_2nl_units_are_in_canonical_order() -> None:
    est = _fit("2NL")
    w = est.params_["W1"]
    assert (np.diff(w[:, 1] - w[:, 0]) <= 0).all()


def test_no_standard_errors_on_request() -> None:
    est = _fit("1L", standard_errors=False)
    assert est.std_errors_ is est.hessian_ is est.hessian_eigenvalues_ is None
    assert "standard_errors=False" in est.summary()


def test_the_summary_marks_a_rate_that_the_choices_leave_open() -> None:
    for n, is_open in ((200, True), (2000, False)):
        est = _fit("1L", n, rule="rpe", penalty="gaussian")
        assert est.std_errors_ is not None
        assert bool(est.std_errors_["log_alpha"] > 0.5) is is_open
        assert ("alpha can be wrong by a factor of ten" in est.summary()) is is_open
        assert all(len(line) <= 80 for line in est.summary().splitlines())


def test_a_lapse_is_estimated() -> None:
    est = _fit("1L", rule="rpe", lapse=True)
    assert 0.0 < est.params_["lapse"] < 0.5
    assert est.theta_[-1] == est.params_["lapse"]
    assert est.n_params_ == 9
    assert {"lapse", "logit_lapse"} <= set(est.std_errors_)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_other_nonlinearities(activation: str) -> None:
    est = _fit("2NL", activation=activation)
    assert est.loglik_ > -200 * np.log(2)
    # one layer has none
    assert _fit("1L", activation=activation).loglik_ == _fit("1L").loglik_


@pytest.mark.parametrize("grouping", [{"n_threads": 1}, {"n_threads": 3}, {"n_jobs": 2}])
def test_bits_do_not_depend_on_threads_or_jobs(grouping: dict[str, int]) -> None:
    base, other = _fit("2NL", n_restarts=7), _fit("2NL", n_restarts=7, **grouping)
    for name in ("theta_", "loglik_", "restart_logliks_", "hessian_", "weights_", "n_hit_"):
        np.testing.assert_array_equal(getattr(base, name), getattr(other, name))


def test_bits_do_not_depend_on_the_backend() -> None:
    joblib = pytest.importorskip("joblib")
    base = _fit("2NL")
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            other = _fit("2NL")
        np.testing.assert_array_equal(base.theta_, other.theta_)
        np.testing.assert_array_equal(base.restart_logliks_, other.restart_logliks_)


def test_bits_do_not_depend_on_threads_of_blas() -> None:
    kw = {"rule": "rpe", "hidden": 12, "n_restarts": 1, "max_iter": 5}
    base = _fit("2L", **kw)
    with threadpool_limits(limits=1):
        other = _fit("2L", **kw)
    for name in ("theta_", "hessian_", "hessian_eigenvalues_"):
        np.testing.assert_array_equal(getattr(base, name), getattr(other, name))
    assert str(base.std_errors_) == str(other.std_errors_)


def test_seeds() -> None:
    a, b = _fit("1L", random_state=5), _fit("1L", random_state=5.0)
    np.testing.assert_array_equal(a.theta_, b.theta_)
    assert a.seed_ == b.seed_ == 5
    c = _fit("1L", random_state=np.random.default_rng(1))
    d = _fit("1L", random_state=c.seed_)
    np.testing.assert_array_equal(c.restart_logliks_, d.restart_logliks_)
    assert 0 <= _fit("1L", random_state=None).seed_ < 2**64


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(device: str) -> str:
        raise RuntimeError("device='cuda' cannot be had: no")

    monkeypatch.setattr(fit_module, "choose_device", none)
    with pytest.raises(RuntimeError, match="device='cuda' cannot be had"):
        _fit("1L", device="cuda")
    # few starts are not worth asking
    assert _fit("1L", device="auto").device_ == "cpu"


def test_every_start_diverging_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = fit_module.maximize

    def diverged(*args: Any, **kw: Any) -> Any:
        return [replace(o, end=np.full_like(o.end, 3)) for o in real(*args, **kw)]

    monkeypatch.setattr(fit_module, "maximize", diverged)
    with pytest.raises(ValueError, match="every start diverges"):
        _fit("1L")


def test_a_run_without_a_way_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = fit_module.maximize

    def abnormal(*args: Any, **kw: Any) -> Any:
        return [replace(o, end=np.full_like(o.end, 2)) for o in real(*args, **kw)]

    monkeypatch.setattr(fit_module, "maximize", abnormal)
    assert "the line search failed twice" in _caught(architecture="1L", **QUICK)


def test_the_best_is_the_best_of_all_starts() -> None:
    est = DNNLearningRule("2NL", rule="rpe", **QUICK)
    options = read_options(est)
    model = options.model(3)
    optimum = find_optimum(options, model, check_trials(X, Y, rewards=R), 0)
    assert optimum.loglik == optimum.logliks[0]
    assert options.box(model).holds(optimum.u)


def test_a_fixed_learning_rate() -> None:
    est = _fit("1L", rule="rpe", alpha_bounds=(0.01, 0.01))
    assert est.fixed_ == {"alpha": pytest.approx(0.01)}
    assert (est.n_params_, est.hessian_.shape) == (7, (7, 7))
    assert np.isnan(est.std_errors_["log_alpha"])
    assert re.search(r"alpha +0\.01 +- +fixed", est.summary())
    # no shallow network with this learning rate lies in the deep box
    assert len(_fit("2L", rule="rpe", alpha_bounds=(0.01, 0.01)).restart_logliks_) >= 3


def test_blocks_of_a_fit_use_its_key() -> None:
    est = _fit("1L", rule="rpe", random_state=None, penalty="gaussian")
    a = est.cross_val_blocks(X, Y, rewards=R, n_blocks=3)
    b = est.cross_val_blocks(X, Y, rewards=R, n_blocks=3)
    np.testing.assert_array_equal(a["block_theta"], b["block_theta"])
    assert est._seed() == est.seed_
    assert est.set_params(random_state=4)._seed() == 4


def test_a_profile_starts_from_a_fit_on_the_bounds() -> None:
    est = _fit("2L", rule="rpe", weight_bound=0.3)
    assert any(name.startswith("W") for name in est.at_bounds_)
    alpha = est.params_["alpha"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = est.profile_likelihood("alpha", [alpha], X, Y, rewards=R)
    assert result.loglik[0] == pytest.approx(est.loglik_, abs=1e-3)


class _Bar:
    """A bar that remembers."""

    made: ClassVar[list[_Bar]] = []

    def __init__(self, total: int | None = None, **kw: Any) -> None:
        self.total, self.kw, self.done = total, kw, 0
        _Bar.made.append(self)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: int) -> None:
        self.done += n


def test_a_bar_counts_the_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_module, "bar", _Bar)
    _Bar.made.clear()
    est = _fit("2L", verbose=True)
    (own,) = [b for b in _Bar.made if not b.kw["quiet"]]
    assert own.total == own.done == len(est.restart_logliks_)
    assert own.kw["delay"] == 2.0
    _Bar.made.clear()
    _fit("2L")
    assert all(b.kw["quiet"] for b in _Bar.made)


def test_pictures_of_a_fit() -> None:
    from nb26stats import plotting

    est = _fit("2NL", rule="rpe", penalty="gaussian")
    sessions = np.repeat(["a", "b"], 100)
    with plotting.style(offscreen=True):
        weights = est.plot(sessions=sessions)
        panels = est.plot("course", X=X, y=Y, contrast=CONTRAST, window=50, n_runs=3)
        by_session = est.plot("course", X=X, y=Y, contrast=CONTRAST, sessions=sessions, n_runs=3)
    # an input or an output each
    assert len(weights) == 5
    titles = ["Accuracy", "Bias", "Sensitivity"]
    assert [p.get_title(loc="left") for p in panels] == titles
    assert [p.get_title(loc="left") for p in by_session] == titles
    # the line of the animal is there, and it is the animal's
    (line,) = [drawn for drawn in panels[0].lines if drawn.get_label() == "animal"]
    correct = ((CONTRAST > 0) == Y)[:50][CONTRAST[:50] != 0]
    assert line.get_ydata()[0] == pytest.approx(correct.mean())


def test_a_course_is_that_of_the_fitted_network() -> None:
    est = _fit("1L", rule="rpe", penalty="gaussian")
    found = est.learning_curve(X, Y, contrast=CONTRAST, window=40, n_runs=2, random_state=5)
    side = np.where(CONTRAST == 0, np.nan, (CONTRAST > 0).astype(float))
    run = est.simulate(X, side, n_runs=2, random_state=5)
    for got, choice in zip([found.animal, *found.simulated], [Y, *run.choice], strict=True):
        assert got.equals(behavior_metrics(CONTRAST, choice, window=40))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_fit_of_one_trial(architecture: str) -> None:
    est = DNNLearningRule(architecture, **QUICK)
    with pytest.warns(NB26StatsWarning, match="no interior maximum"):
        est.fit(X[:1], Y[:1], correct_side=Y[:1])
    # the search ends where the slope, some times P(error), is below 1e-4
    assert -1e-3 < est.loglik_ <= 0.0
    assert est.p_right_.shape == (1,)
    assert est.weights_.shape[0] == 2


def test_a_fit_recovers_learning_rate_and_temperature() -> None:
    rng = np.random.default_rng(4)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 4000)
    x, side = encode_contrast(contrast), (contrast > 0).astype(float)
    truth = np.array([0.2, 0.1, 0.3, 0.1, 0.4, 0.2, 0.01, 4.0])
    est = DNNLearningRule("1L", rule="rpe", penalty="gaussian", random_state=0)
    run = est.simulate(x, side, theta=truth, random_state=1)
    est.fit(x, run.choice[0], rewards=run.reward[0])
    for name, value in (("alpha", 0.01), ("beta", 4.0)):
        z = (np.log(est.params_[name]) - np.log(value)) / est.std_errors_[f"log_{name}"]
        assert abs(z) < 3.5
    assert est.loglik_ > est.log_likelihood(truth, x, run.choice[0], run.reward[0]) - 5
