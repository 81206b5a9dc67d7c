"""The semiparametric estimator on small data, against the formulas and with hostile input."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from reference import c2g_additive as slow
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from nb26stats import SemiparametricC2G, datasets
from nb26stats._blas import one_blas_thread
from nb26stats.causal import WeakIdentificationWarning
from nb26stats.causal._em import first_weights
from nb26stats.causal._folds import generator, ranked_folds

N, SEED = 260, 3
QUIET = pytest.mark.filterwarnings(
    "ignore:zM2=", "ignore:overlap. ", "ignore:.* rows. below 100 rows in an arm"
)


def small() -> Any:
    """A confounded trial in units of its own."""
    data = datasets.simulate_confounded(N, 4, 0.2, random_state=2)
    return dataclasses.replace(data, X=data.X[:, :3] * [1, 20, 0.1] + [0, 5, -1], y=7 * data.y + 40)


def fitted(data: Any, **settings: Any) -> SemiparametricC2G:
    model = SemiparametricC2G(**({"random_state": SEED, "n_features": 12} | settings))
    return model.fit(data.X, data.y, treatment=data.treatment)


@pytest.fixture(scope="module")
def data() -> Any:
    return small()


@pytest.fixture(scope="module")
def model(data: Any) -> SemiparametricC2G:
    return fitted(data, noise="gaussian")


@pytest.fixture(autouse=True)
def converging() -> Iterator[None]:
    """Whether EM settles on these few rows is not the subject, but where it is said."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@dataclasses.dataclass
class Expected:
    """The whole model by the formulas, in units of the controls' spread."""

    unit: float
    centre: float
    scaled: Any
    null: Any
    residuals: Any
    sd: float
    em: slow.Fit
    phi: Any

    def new(self, x: Any) -> tuple[Any, Any]:
        """Return effect and log odds at scaled covariates."""
        phi = self.phi(x)
        return phi @ self.em.effect_coef, phi @ self.em.prior_coef


@pytest.fixture(scope="module")
def expected(data: Any) -> Expected:
    # many small systems: threads would only wait for one another
    with one_blas_thread():
        return by_the_formulas(data)


def by_the_formulas(data: Any) -> Expected:
    t = data.treatment
    x = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    centre, unit = data.y[~t].mean(), data.y[~t].std()
    y = (data.y - centre) / unit
    table = {
        (b, c): slow.gcv(x[~t], y[~t], b, c)
        for b in slow.median_distance(x[~t]) * slow.WIDTHS
        for c in slow.PENALTIES
    }
    setting = min(table, key=lambda s: table[s])
    null = np.empty(N)
    null[~t] = slow.leave_one_out(x[~t], y[~t], *setting)
    null[t] = slow.kernel_ridge(x[~t], y[~t], x[t], *setting)
    residuals = y - null
    # normal noise has mean zero
    sd = float(np.sqrt(np.mean(residuals[~t] ** 2)))
    rng = generator(SEED, 1)
    frequency = rng.normal(size=(3, 12)) / np.sqrt(slow.median_distance(x[t]))
    phase = rng.uniform(0, 2 * np.pi, 12)
    likely = norm.logpdf(residuals[t], scale=sd)
    fold = ranked_folds(likely, 5, generator(SEED, 3, 10))
    start = first_weights(likely, generator(SEED, 0))

    def phi(z: Any) -> Any:
        return slow.features(z, frequency, phase)

    ridges = (1, 10, 100, 1000)
    em = slow.em(phi(x[t]), residuals[t], sd**2, fold, start, ridges, 50, 1e-3)
    return Expected(unit, centre, x, null, residuals, sd, em, phi)


def lfdr_of(log_odds: Any, r: Any, effect: Any, sd: float) -> Any:
    p = slow.sigmoid(log_odds)
    f0, f1 = norm.pdf(r, 0, sd), norm.pdf(r, effect, sd)
    return (1 - p) * f0 / ((1 - p) * f0 + p * f1)


def test_fitted_rows_are_those_of_the_formulas(data: Any, model: Any, expected: Any) -> None:
    t, e = data.treatment, expected
    assert (model.n_iter_, model.converged_) == (e.em.n_iter, True)
    effect, log_odds = e.new(e.scaled[~t])
    np.testing.assert_allclose(model.null_mean_, e.unit * e.null + e.centre, rtol=1e-6)
    np.testing.assert_allclose(model.effect_[t], e.unit * e.em.effect, atol=1e-3)
    np.testing.assert_allclose(model.effect_[~t], e.unit * effect, atol=1e-3)
    np.testing.assert_allclose(model.prior_[t], slow.sigmoid(e.em.log_odds), atol=1e-4)
    np.testing.assert_allclose(model.prior_[~t], slow.sigmoid(log_odds), atol=1e-4)
    told = lfdr_of(e.em.log_odds, e.residuals[t], e.em.effect, e.sd)
    np.testing.assert_allclose(model.lfdr_[t], told, atol=1e-4)
    np.testing.assert_allclose(model.lfdr_[t], 1 - e.em.omega, atol=1e-4)
    told = lfdr_of(log_odds, e.residuals[~t], effect, e.sd)
    np.testing.assert_allclose(model.control_score_[~t], told, atol=1e-4)
    assert np.isnan(model.lfdr_[~t]).all()
    assert np.isnan(model.control_score_[t]).all()
    assert np.isnan(model.ess_).all()
    np.testing.assert_array_equal(model.responder_proba_[~t], 0)


def test_new_rows_are_answered_by_what_all_rows_taught(data: Any, expected: Any) -> None:
    model, e, t = fitted(data, noise="gaussian"), expected, data.treatment
    r = np.random.default_rng(0)
    x = data.X[:9] + 0.1 * data.X.std(axis=0) * r.normal(size=(9, 3))
    y = data.y[:9] + 7 * r.normal(size=9)
    z = (x - data.X.mean(axis=0)) / data.X.std(axis=0)
    effect, log_odds = e.new(z)
    np.testing.assert_allclose(model.predict_effect(x), e.unit * effect, atol=1e-3)
    np.testing.assert_allclose(model.predict_prior(x), slow.sigmoid(log_odds), atol=1e-4)
    scaled = (data.y[~t] - e.centre) / e.unit
    bandwidth, penalty = model._model.null.bandwidth, model._model.null.penalty  # type: ignore[attr-defined]
    null = slow.kernel_ridge(e.scaled[~t], scaled, z, bandwidth, penalty)
    told = lfdr_of(log_odds, (y - e.centre) / e.unit - null, effect, e.sd)
    np.testing.assert_allclose(model.lfdr(x, y), told, atol=1e-4)


def test_excess_of_the_treated_residuals(data: Any, model: Any, expected: Any) -> None:
    t, r = data.treatment, expected.residuals
    e = model.propensity_[~t]
    w = e / (1 - e)
    for power, found in ((1, model.zM1_), (2, model.zM2_)):
        r1, r0 = r[t] ** power, r[~t] ** power
        mean = (w * r0).sum() / w.sum()
        variance = (w**2 * (r0 - mean) ** 2).sum() / w.sum() ** 2
        assert found == pytest.approx(
            (r1.mean() - mean) / np.sqrt(r1.var() / t.sum() + variance), rel=1e-6
        )
    at_random = fitted(data, noise="gaussian", randomized=True)
    r1, r0 = r[t] ** 2, r[~t] ** 2
    plain = (r1.mean() - r0.mean()) / np.sqrt(r1.var() / t.sum() + r0.var() / (~t).sum())
    assert at_random.zM2_ == pytest.approx(plain, rel=1e-6)


def test_trimmed_rows_do_not_count_in_the_excess(data: Any, model: Any) -> None:
    limit = float(np.quantile(model.propensity_, 0.9))
    trimmed = fitted(data, noise="gaussian", overlap=1 - limit, overlap_action="trim")
    assert trimmed.trimmed_.sum() > 10
    assert trimmed.zM2_ != model.zM2_
    t = data.treatment
    kept = model.propensity_ <= limit
    r = (data.y - model.null_mean_) ** 2
    w = (model.propensity_ / (1 - model.propensity_))[~t & kept]
    r1, r0 = r[t & kept], r[~t & kept]
    mean = (w * r0).sum() / w.sum()
    variance = (w**2 * (r0 - mean) ** 2).sum() / w.sum() ** 2
    assert trimmed.zM2_ == pytest.approx(
        (r1.mean() - mean) / np.sqrt(r1.var() / len(r1) + variance), rel=1e-6
    )


def test_auto_control_goes_by_the_excess(data: Any, model: Any) -> None:
    assert model.zM2_ >= 3
    assert model.control_used_ == "model"
    np.testing.assert_array_equal(model.select(), model.select(control="model"))
    weak = dataclasses.replace(data, y=np.random.default_rng(0).normal(size=N))
    with pytest.warns(WeakIdentificationWarning, match=r"zM2=-?\d\.\d\d is below 3: the treated"):
        nothing = fitted(weak)
    assert nothing.zM2_ < 3
    assert nothing.control_used_ == "calibrated"
    assert not nothing.selected_.any()
    # the rule is chosen already: nothing is said again
    nothing.select(q=0.2)
    named = fitted(weak, control="model")
    assert named.control_used_ == "model"
    with pytest.warns(WeakIdentificationWarning, match="priors, effects and estimands"):
        named.select(control="auto")


def test_negative_effects_are_found_as_well() -> None:
    data = datasets.simulate_confounded(900, 3, 0.0, random_state=1)
    # responders lose what they would have gained
    down = dataclasses.replace(data, y=data.y - 2 * data.effect * data.responder)
    for trial, sign in ((data, 1), (down, -1)):
        model = fitted(trial)
        hits = trial.responder[model.select()]
        assert len(hits) > 100
        assert hits.mean() > 0.8
        assert sign * model.estimand_interval("responder_effect").lower > 2


@QUIET
def test_prior_and_effect_come_near_the_truth() -> None:
    data = datasets.simulate_confounded(3000, 3, 0.0, random_state=1)
    model = fitted(data, n_features=100, max_kernel_n=1000)
    t = data.treatment
    assert np.corrcoef(model.prior_[t], data.prior[t])[0, 1] > 0.8
    assert np.corrcoef(model.effect_[t], data.effect[t])[0, 1] > 0.5
    assert np.corrcoef(model.predict_prior(data.X[~t]), data.prior[~t])[0, 1] > 0.8
    assert model.estimand_interval("erpf").lower == pytest.approx(data.prior[t].mean(), abs=0.04)
    weighted = (data.prior * data.effect)[t].mean()
    assert model.estimand_interval("att").lower == pytest.approx(weighted, abs=0.15)


def test_estimands_are_points(data: Any, model: Any) -> None:
    t = data.treatment
    prior, effect = model.prior_[t], model.effect_[t]
    att = (prior * effect).mean()
    for name, value in (
        ("erpf", prior.mean()),
        ("care", effect.mean()),
        ("att", att),
        ("responder_effect", att / prior.mean()),
    ):
        found = model.estimand_interval(name)
        assert (found.lower, found.upper) == (pytest.approx(value), pytest.approx(value))
        assert np.isnan(found.ci_low)
        assert np.isnan(found.ci_high)
        assert found.n == t.sum()
    some = np.flatnonzero(t)[:10]
    assert model.estimand_interval("erpf", subset=some).lower == pytest.approx(prior[:10].mean())


def test_refits_give_limits(data: Any) -> None:
    model = fitted(data, n_bootstrap=12)
    plain = fitted(data)
    np.testing.assert_array_equal(model.lfdr_, plain.lfdr_)
    t = data.treatment
    for name in ("erpf", "care", "att", "responder_effect"):
        found, wide = (model.estimand_interval(name, level=level) for level in (0.5, 0.9))
        assert wide.ci_low < found.ci_low < found.ci_high < wide.ci_high
        assert found.lower == plain.estimand_interval(name).lower
        assert wide.ci_low - 0.1 * abs(wide.ci_low) < found.lower < 1.1 * wide.ci_high
        part = model.estimand_interval(name, subset=np.flatnonzero(t)[:3])
        assert part.ci_low < part.ci_high
    assert "In brackets: percentiles over resamples" in model.summary()
    # the first refits do not depend on how many there are
    fewer = fitted(data, n_bootstrap=5)
    for a, b in zip(fewer._resamples, model._resamples, strict=True):  # type: ignore[arg-type]
        np.testing.assert_array_equal(a, b[:5])


def test_a_refit_is_a_fit_to_the_resample(data: Any) -> None:
    """Rows in and out of the resample, by a fit of the model's pieces with counts."""
    from nb26stats.causal._additive import Arm, Settings, fit_additive
    from nb26stats.causal._refits import refits

    model = fitted(data)
    t = data.treatment
    x = model._scaling.x(data.X)
    y = model._scaling.y(data.y)
    s = Settings("krr", "gaussian", model._learners(SEED), 5, 50, 1e-3, 3000, SEED)
    arms = [Arm(x[a], y[a], np.ones(int(a.sum()))) for a in (~t, t)]
    prior, effect = refits(*arms, s, 2, n_jobs=None, on_done=lambda _: None)
    for b in range(2):
        rng = generator(SEED, 4, b)
        bags = []
        for arm in arms:
            counts = np.bincount(rng.integers(len(arm.y), size=len(arm.y)), minlength=len(arm.y))
            rows = np.flatnonzero(counts)
            bags.append((rows, Arm(arm.x[rows], arm.y[rows], counts[rows].astype(float))))
        again = fit_additive(bags[0][1], bags[1][1], s)
        rows = bags[1][0]
        np.testing.assert_array_equal(effect[b, rows], again.mixture.effect)
        np.testing.assert_allclose(prior[b, rows], slow.sigmoid(again.mixture.log_odds))
        rest = np.setdiff1d(np.arange(len(arms[1].y)), rows)
        assert len(rest) > 10
        np.testing.assert_allclose(effect[b, rest], again.effect(arms[1].x[rest]), rtol=1e-9)
        np.testing.assert_allclose(prior[b, rest], again.prior(arms[1].x[rest]), rtol=1e-9)


def test_copies_in_a_resample_do_not_shrink_the_noise(data: Any) -> None:
    """Leaving out a row leaves out its copies, or resampled controls would fit themselves."""
    from nb26stats.causal._null_regression import fit_null

    t = data.treatment
    model = fitted(data)
    x, y = model._scaling.x(data.X[~t]), model._scaling.y(data.y[~t])
    own = float(model._model.residuals.std())
    spreads = []
    for b in range(20):
        counts = np.bincount(generator(0, 4, b).integers(len(y), size=len(y)), minlength=len(y))
        rows = np.flatnonzero(counts)
        null = fit_null(
            x[rows],
            y[rows],
            counts[rows].astype(float),
            model="krr",
            max_kernel_n=3000,
            n_folds=5,
            seed=0,
            n_jobs=None,
        )
        spreads.append(float(np.repeat(y[rows] - null.loo, counts[rows]).std()))
    # fewer distinct rows make predictions a little worse
    assert 0.95 * own < np.mean(spreads) < 1.4 * own


@QUIET
def test_models_of_the_users(data: Any) -> None:
    model = fitted(
        data,
        outcome_model=KNeighborsRegressor(15),
        effect_model=LinearRegression(),
        prior_model=LogisticRegression(),
        n_bootstrap=3,
    )
    t = data.treatment
    for values in (model.lfdr_[t], model.prior_, model.effect_, model.null_mean_):
        assert np.isfinite(values).all()
    assert np.isfinite(model.lfdr(data.X[:5], data.y[:5])).all()
    assert np.isfinite(model.estimand_interval("att").ci_low)
    step = np.array([1.0, 0.0, 0.0])
    slopes = model.predict_effect(data.X[:4] + step) - model.predict_effect(data.X[:4])
    np.testing.assert_allclose(slopes, slopes[0])


def test_densities_of_a_row(data: Any, model: Any) -> None:
    grid = np.linspace(-300, 400, 8001)
    step = grid[1] - grid[0]
    row = int(np.flatnonzero(data.treatment)[3])
    f0, ft = model._density_at(row, grid)
    assert f0.sum() * step == pytest.approx(1, abs=1e-3)
    assert ft.sum() * step == pytest.approx(1, abs=1e-3)
    assert (grid * f0).sum() * step == pytest.approx(model.null_mean_[row], abs=0.05)
    shifted = model.null_mean_[row] + model.prior_[row] * model.effect_[row]
    assert (grid * ft).sum() * step == pytest.approx(shifted, abs=0.05)
    # the ratio of both at the row's outcome is its local false discovery rate
    at = model._density_at(row, data.y[row : row + 1])
    lfdr = (1 - model.prior_[row]) * at[0][0] / at[1][0]
    assert lfdr == pytest.approx(model.lfdr_[row], rel=1e-9)
    new0, new1 = model._density_new(data.X[:2], data.y[:5])
    assert new0.shape == new1.shape == (2, 5)


def test_summary_tells_the_excess(data: Any, model: Any) -> None:
    text = model.summary()
    assert f"zM1:{model.zM1_:>35.3f}"[-8:] in text
    assert f"{model.zM2_:.3f}" in text
    assert "SemiparametricC2G results" in text
    assert "No confidence limits" in text
    assert "From 3 on, as here" in text
    frame = model.to_frame()
    np.testing.assert_array_equal(frame["effect"], model.effect_)


def test_without_standardisation_the_units_are_those_of_the_data(data: Any) -> None:
    t = data.treatment
    x = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    y = (data.y - data.y[~t].mean()) / data.y[~t].std()
    scaled = dataclasses.replace(data, X=x, y=y)
    by_hand, by_itself = fitted(scaled, standardize=False), fitted(data)
    np.testing.assert_allclose(by_hand.lfdr_, by_itself.lfdr_, atol=1e-4)
    assert (fitted(data, standardize=False).lfdr_ != by_itself.lfdr_)[t].any()


def test_unsettled_iterations_are_warned_of(data: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="by 0.0001 or more after max_iter=2 iterations"):
        model = fitted(data, max_iter=2, tol=1e-4)
    assert (model.n_iter_, model.converged_) == (2, False)


@QUIET
@pytest.mark.filterwarnings("ignore:dropped 2 of 2 columns")
def test_without_a_covariate_all_rows_share_prior_and_effect(data: Any) -> None:
    rng = np.random.default_rng(0)
    responder = data.treatment & (rng.random(N) < 0.5)
    trial = dataclasses.replace(data, X=np.ones((N, 2)), y=rng.normal(size=N) + 4 * responder)
    model = fitted(trial, n_bootstrap=3)
    # folds differ a little
    assert np.ptp(model.prior_) < 0.1
    assert np.ptp(model.effect_) < 0.5
    assert model.predict_effect(np.ones((2, 2))) == pytest.approx([4, 4], abs=0.5)
    assert responder[model.select()].mean() > 0.8


@QUIET
@pytest.mark.filterwarnings("ignore:y is 1 in 125 of 260 rows")
def test_failed_fits_leave_the_earlier_one(data: Any) -> None:
    model = fitted(data, missing="drop")
    before = {k: v for k, v in vars(model).items() if k not in model.get_params()}
    said = model.summary(), model.lfdr(data.X[:4], data.y[:4])
    wider = np.column_stack([data.X, data.X])
    model.set_params(overlap=0.49, overlap_action="raise")
    for x, y, t in (
        (wider, data.y, data.treatment),
        (wider, np.where(data.treatment, data.y, 1.0), data.treatment),
        (wider[:50], data.y, data.treatment),
    ):
        with pytest.raises(ValueError, match=r"overlap: |y is 1 in |one row per sample"):
            model.fit(x, y, treatment=t)
        after = {k: v for k, v in vars(model).items() if k not in model.get_params()}
        assert after.keys() == before.keys()
        assert all(after[k] is before[k] for k in before)
    assert model.summary() == said[0]
    np.testing.assert_array_equal(model.lfdr(data.X[:4], data.y[:4]), said[1])


@QUIET
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"outcome_model": "ols"}, ValueError, "outcome_model='ols' must be 'krr' or a scikit"),
        ({"outcome_model": LinearRegression}, TypeError, "outcome_model must be 'krr' or a"),
        ({"outcome_model": None}, TypeError, "outcome_model must be 'krr' or a scikit-learn"),
        ({"effect_model": "krr"}, ValueError, "effect_model='krr' must be 'rff' or a scikit"),
        ({"effect_model": KNeighborsRegressor()}, TypeError, "fit must have sample_weight"),
        ({"prior_model": LinearRegression()}, TypeError, r"LinearRegression\(\) has no predict_p"),
        ({"prior_model": KNeighborsClassifier()}, TypeError, "does not take weights of rows"),
        ({"noise": "student"}, ValueError, "noise='student' must be one of 'predictive_rec"),
        ({"noise": None}, TypeError, "noise=None"),
        ({"n_features": 0}, ValueError, "n_features=0 must lie in"),
        ({"n_features": 2.5}, TypeError, "n_features must be a whole number"),
        ({"ridges": ()}, ValueError, "ridges is empty"),
        ({"ridges": (1, 0)}, ValueError, "ridges=0 must be greater than 0"),
        ({"ridges": "auto"}, TypeError, "ridges"),
        ({"cv": 1}, ValueError, "cv=1 must be at least 2"),
        ({"cv": 4000}, ValueError, r"cv=4000 must .*\d"),
        ({"max_iter": 0}, ValueError, "max_iter=0 must be at least 1"),
        ({"tol": 0}, ValueError, "tol=0 must be greater than 0"),
        ({"max_kernel_n": 0}, ValueError, "max_kernel_n=0 must be at least 1"),
        ({"pi0": "auto"}, ValueError, "pi0='auto' must be one of 'conservative', 'plugin'"),
        ({"n_bootstrap": -1}, ValueError, "n_bootstrap=-1 must be at least 0"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0 must be"),
        ({"standardize": 1}, TypeError, "standardize must be True or False"),
    ],
)
def test_parameters_out_of_range(data: Any, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fitted(data, **settings)


@QUIET
def test_numbers_may_come_from_r(data: Any) -> None:
    plain = fitted(data, n_bootstrap=2)
    from_r = fitted(
        dataclasses.replace(
            data, X=np.asfortranarray(data.X), treatment=data.treatment.astype(float)
        ),
        n_features=12.0,
        ridges=np.array([1.0, 10.0, 100.0, 1000.0]),
        cv=5.0,
        max_iter=50.0,
        max_kernel_n=3000.0,
        n_bootstrap=2.0,
        random_state=float(SEED),
    )
    np.testing.assert_array_equal(plain.q_values_, from_r.q_values_)
    one = fitted(data, ridges=10), fitted(data, ridges=[10.0])
    np.testing.assert_array_equal(one[0].lfdr_, one[1].lfdr_)


@QUIET
def test_missing_values_are_left_out_or_filled(data: Any) -> None:
    X, y = data.X.copy(), data.y.copy()
    X[3, 1] = y[10] = np.nan
    kept = np.setdiff1d(np.arange(N), [3, 10])
    with pytest.warns(UserWarning, match="dropped 2 of 260 rows"):
        part = fitted(dataclasses.replace(data, X=X, y=y), missing="drop", n_bootstrap=2)
    whole = fitted(
        dataclasses.replace(data, X=X[kept], y=y[kept], treatment=data.treatment[kept]),
        n_bootstrap=2,
    )
    for name in ("prior_", "effect_", "null_mean_", "lfdr_"):
        np.testing.assert_array_equal(getattr(part, name)[kept], getattr(whole, name))
        assert np.isnan(getattr(part, name)[[3, 10]]).all()
    assert dataclasses.astuple(part.estimand_interval("att")) == dataclasses.astuple(
        whole.estimand_interval("att")
    )
    assert np.isnan(part.lfdr(X[3:4], y[3:4])).all()
    filled = fitted(dataclasses.replace(data, X=X), missing="impute")
    assert np.isfinite(filled.predict_effect(X)).all()


@QUIET
def test_outcomes_that_are_computed_from_covariates(data: Any) -> None:
    exact = dataclasses.replace(data, y=data.X @ [1.0, 2.0, 3.0] + 5 * data.responder)
    with pytest.raises(ValueError, match="predicted exactly: without noise there is nothing"):
        fitted(exact, outcome_model=LinearRegression())


@QUIET
@pytest.mark.parametrize("unit", [1e-140, 1e100])
def test_units_that_densities_cannot_have(data: Any, unit: float) -> None:
    far = dataclasses.replace(data, y=unit * data.y)
    with pytest.raises(ValueError, match=r"too far from 1 .* use standardize=True"):
        fitted(far, standardize=False)
    assert fitted(far).selected_.any()


@QUIET
@pytest.mark.parametrize("size", [1e3, 1e8, 1e140])
def test_single_outcomes_far_out(data: Any, size: float) -> None:
    y = data.y.copy()
    at = np.flatnonzero(data.treatment)[:2]
    y[at] = [size, -size]
    model = fitted(dataclasses.replace(data, y=y))
    assert np.isfinite(model.lfdr_[data.treatment]).all()
    assert np.isfinite(model.prior_).all()
    assert np.isfinite(model.effect_).all()


@QUIET
def test_progress_is_shown_on_request(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nb26stats.causal import _additive_estimator

    shown: list[Any] = []

    class Bar:
        def __init__(self, total: int, **settings: Any) -> None:
            shown.append([settings["desc"], total, settings["quiet"], 0])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            shown[-1].append("closed")

        def update(self, n: int) -> None:
            shown[-1][3] += n

    monkeypatch.setattr(_additive_estimator, "bar", Bar)
    for verbose in (True, False):
        model = fitted(data, verbose=verbose, n_bootstrap=3)
    steps = model.n_iter_
    assert shown == [
        ["responders", 50, False, steps, "closed"],
        ["refits", 3, False, 3, "closed"],
        ["responders", 50, True, steps, "closed"],
        ["refits", 3, True, 3, "closed"],
    ]


def test_summary_says_what_the_cautious_rule_would_select() -> None:
    study = datasets.simulate_additive(400, 5, random_state=1)
    fit = SemiparametricC2G(random_state=0).fit(study.X, study.y, treatment=study.treatment)
    assert fit.control_used_ == "model"
    n, other = len(fit.select()), len(fit.select(control="calibrated"))
    text = " ".join(fit.summary().split())
    said = f"Calibrated by the controls, the rule would select {other} rows, not {n}."
    assert said in text
    assert ("call for care" in text) == (other < n / 2)
    cautious = SemiparametricC2G(control="calibrated", random_state=0)
    cautious.fit(study.X, study.y, treatment=study.treatment)
    assert "Calibrated by" not in cautious.summary()
    few = fit.result()
    few = dataclasses.replace(few, details={**few.details, "n_calibrated": 0})
    assert "call for care" in " ".join(few.summary().split())
