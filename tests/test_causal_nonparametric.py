"""The nonparametric estimator on small data, against refits of every resample by the formulas."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from reference import c2g_density as oracle
from sklearn.base import clone

from nb26stats import NonparametricC2G, datasets
from nb26stats.causal import EstimandInterval

N, B, SEED = 150, 8, 3
SMALL = pytest.mark.filterwarnings(
    "ignore:.* rows. below 100 rows in an arm", "ignore:overlap. .* fewer than 5 effective"
)


def small() -> Any:
    data = datasets.simulate_confounded(N, 3, 0.2, random_state=2)
    return dataclasses.replace(data, X=data.X[:, :3] * [1, 20, 0.1] + [0, 5, -1], y=7 * data.y + 40)


def fitted(data: Any, **settings: Any) -> NonparametricC2G:
    with_defaults = {"n_bootstrap": B, "n_neighbors": (20, 30), "random_state": SEED} | settings
    model = NonparametricC2G(**with_defaults)
    return model.fit(data.X, data.y, treatment=data.treatment)


@pytest.fixture(scope="module")
def data() -> Any:
    return small()


@pytest.fixture(scope="module")
def model(data: Any) -> NonparametricC2G:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(data)


def by_the_formulas(
    data: Any, model: NonparametricC2G, queries: Any, outcomes: Any, own: Any
) -> Any:
    """Return bounds of the slow reference, and the scaled data it went by."""
    t = data.treatment
    x = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    unit = data.y[~t].std()
    y = data.y / unit
    arms = [
        (x[rows], y[rows], (b["n_neighbors"], b["hx"], b["hy"]))
        for rows, b in ((~t, model.bandwidths_["control"]), (t, model.bandwidths_["treated"]))
    ]
    n_grid = len(model.grid_)
    return (
        oracle.bootstrap(
            arms,
            (queries - data.X.mean(axis=0)) / data.X.std(axis=0),
            outcomes / unit,
            own,
            np.linspace(y.min(), y.max(), n_grid),
            n_bootstrap=B,
            seed=SEED,
        ),
        arms,
        unit,
    )


@pytest.fixture(scope="module")
def slow(data: Any, model: NonparametricC2G) -> Any:
    t = data.treatment
    own = np.array([np.where(~t, np.cumsum(~t) - 1, -1), np.where(t, np.cumsum(t) - 1, -1)])
    return by_the_formulas(data, model, data.X, data.y, own)


def test_fitted_rows_are_those_of_the_formulas(data: Any, model: Any, slow: Any) -> None:
    expected, _, unit = slow
    t = data.treatment
    np.testing.assert_allclose(model.prior_, expected.prior, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.lfdr_[t], expected.lfdr[t], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.control_score_[~t], expected.lfdr[~t], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.null_mean_, unit * expected.mean[0], rtol=1e-9)
    np.testing.assert_allclose(model.ess_, expected.ess[0], rtol=1e-9)
    assert np.isnan(model.lfdr_[~t]).all()
    assert np.isnan(model.control_score_[t]).all()
    np.testing.assert_array_equal(model.responder_proba_[~t], 0)
    np.testing.assert_allclose(model.responder_proba_[t], 1 - model.lfdr_[t])


def test_settings_have_the_highest_leave_one_out_likelihood(
    data: Any, model: Any, slow: Any
) -> None:
    fractions = np.logspace(-3, 0, 10)
    for (x, y, chosen), name in zip(slow[1], ("control", "treated"), strict=True):
        best = oracle.leave_one_out(x, y, chosen)
        widths = oracle.spread(x, fractions), oracle.spread(y[:, None], fractions)
        assert np.abs(widths[0] / chosen[1] - 1).min() < 1e-9
        assert np.abs(widths[1] / chosen[2] - 1).min() < 1e-9
        for k in (20, 30):
            for hx in widths[0][::3]:
                for hy in widths[1][::3]:
                    assert oracle.leave_one_out(x, y, (k, hx, hy)) <= best + 1e-9, name


def test_grid_has_points_for_the_narrower_density(data: Any, model: Any) -> None:
    unit = data.y[~data.treatment].std()
    narrow = min(b["hy"] for b in model.bandwidths_.values())
    wanted = np.ceil(1.5 * np.ptp(data.y) / unit / narrow)
    assert len(model.grid_) == np.clip(wanted, 75, 400)
    assert (model.grid_[0], model.grid_[-1]) == pytest.approx((data.y.min(), data.y.max()))


@SMALL
def test_grid_is_dense_for_narrow_densities_up_to_a_limit(data: Any) -> None:
    # a bandwidth of the second neighbour is far below the range
    model = fitted(data, bandwidth_fracs=[0.001], n_bootstrap=2)
    unit = data.y[~data.treatment].std()
    narrow = min(b["hy"] for b in model.bandwidths_.values())
    assert 1.5 * np.ptp(data.y) / unit / narrow > 75
    assert len(model.grid_) == min(400, np.ceil(1.5 * np.ptp(data.y) / unit / narrow))
    assert len(fitted(data, n_grid=31.0, n_bootstrap=2).grid_) == 31


@SMALL
def test_new_rows_are_answered_by_the_same_resamples(data: Any, model: Any) -> None:
    r = np.random.default_rng(0)
    new = data.X[:12] + 0.1 * data.X.std(axis=0) * r.normal(size=(12, 3))
    outcomes = data.y[:12] + r.normal(size=12)
    expected, _, unit = by_the_formulas(data, model, new, outcomes, np.full((2, 12), -1))
    np.testing.assert_allclose(model.predict_prior(new), expected.prior, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.lfdr(new, outcomes), expected.lfdr, rtol=1e-9, atol=1e-9)
    c = unit * (expected.mean[1] - expected.mean[0])
    at_bound = c / np.clip(expected.prior, 0.01, 0.99)
    limits = np.column_stack([np.minimum(c, at_bound), np.maximum(c, at_bound)])
    np.testing.assert_allclose(model.predict_effect(new), limits, rtol=1e-8, atol=1e-8)


def test_estimands_are_averages_over_the_treated(data: Any, model: Any, slow: Any) -> None:
    expected, _, unit = slow
    t = data.treatment
    prior = expected.prior[t]
    prior_b = expected.prior_b[t]

    erpf = model.estimand_interval("erpf")
    assert (erpf.lower, erpf.upper) == (pytest.approx(prior.mean()), 1.0)
    # resamples tell the spread about the estimate
    shares = np.clip(prior.mean() + prior_b.mean(axis=0) - prior_b.mean(), 0, 1)
    assert erpf.ci_low == pytest.approx(min(prior.mean(), np.quantile(shares, 0.05)))
    assert (erpf.ci_high, erpf.n, erpf.level) == (1.0, int(t.sum()), 0.9)

    r = data.y - unit * expected.mean[0]
    odds = model.propensity_[~t] / (1 - model.propensity_[~t])
    value = r[t].mean() - np.average(r[~t], weights=odds)
    att = model.estimand_interval("att", level=0.8)
    assert (att.lower, att.upper) == (pytest.approx(value), pytest.approx(value))
    shares = odds / odds.sum()
    influence = shares * (r[~t] - np.average(r[~t], weights=odds)) / (1 - shares)
    error = np.sqrt((influence**2).sum() + r[t].var(ddof=1) / (t.sum() - 1))
    assert (att.ci_low, att.ci_high) == (
        pytest.approx(value - 1.2815516 * error),
        pytest.approx(value + 1.2815516 * error),
    )

    effect = model.estimand_interval("responder_effect")
    assert (effect.lower, effect.upper) == (
        pytest.approx(value),
        pytest.approx(value / prior.mean()),
    )
    limit = value - 1.6448536 * error
    assert effect.ci_low == pytest.approx(limit, abs=0.01 * error)
    assert effect.ci_high > (value + 1.6448536 * error) / prior.mean()

    care = model.estimand_interval("care")
    limits = model.effect_bounds_[t].mean(axis=0)
    assert (care.lower, care.upper) == (pytest.approx(limits[0]), pytest.approx(limits[1]))


def test_estimands_of_a_subset(data: Any, model: Any) -> None:
    half = data.X[:, 0] > np.median(data.X[:, 0])
    found = model.estimand_interval("erpf", subset=half)
    rows = half & data.treatment
    assert isinstance(found, EstimandInterval)
    assert found.n == rows.sum()
    assert found.lower == pytest.approx(model.prior_[rows].mean())
    by_position = model.estimand_interval("erpf", subset=np.flatnonzero(rows))
    assert dataclasses.astuple(by_position) == dataclasses.astuple(found)
    for none in (~data.treatment, np.zeros(N, bool), []):
        with pytest.raises(ValueError, match=r"subset holds none of the \d+ treated rows"):
            model.estimand_interval("att", subset=none)


def test_controls_of_the_subset_correct_its_effect(data: Any, model: Any) -> None:
    t, r = data.treatment, data.y - model.null_mean_
    odds = model.propensity_ / (1 - model.propensity_)
    most = data.X[:, 0] > np.quantile(data.X[:, 0], 0.2)
    assert (most & ~t).sum() >= 30
    few = most & (t | (np.cumsum(most & ~t) <= 29))
    selected = most & t
    for subset, controls in ((most, most & ~t), (few, ~t), (selected, ~t), (None, ~t)):
        rows = t if subset is None else subset & t
        value = r[rows].mean() - np.average(r[controls], weights=odds[controls])
        found = model.estimand_interval("att", subset=subset)
        assert (found.lower, found.n) == (pytest.approx(value), rows.sum())
        assert found.ci_low < value < found.ci_high
    one = model.estimand_interval("att", subset=[int(np.flatnonzero(t)[0])])
    assert np.isnan(one.ci_low)
    assert np.isnan(one.ci_high)
    assert "post-selection" in model.summary()


@SMALL
def test_a_randomised_trial_weighs_its_controls_alike(data: Any) -> None:
    model = fitted(data, randomized=True)
    t, r = data.treatment, data.y - model.null_mean_
    assert model.estimand_interval("att").lower == pytest.approx(r[t].mean() - r[~t].mean())


@SMALL
def test_calibration_counts_would_be_responders_unless_controls_are_thin() -> None:
    thin, many = (datasets.simulate_additive(n, 4, random_state=1) for n in (500, 900))
    assert (~many.treatment).sum() >= 400 > (~thin.treatment).sum()
    for trial, expected in ((thin, "conservative"), (many, "plugin")):
        auto = fitted(trial)
        assert (auto.pi0_used_, auto.control_used_) == (expected, "calibrated")
        named = fitted(trial, pi0=expected, control="calibrated")
        np.testing.assert_array_equal(auto.q_values_, named.q_values_)
        other = fitted(trial, pi0="plugin" if expected == "conservative" else "conservative")
        assert (auto.q_values_ != other.q_values_)[trial.treatment].any()


@SMALL
def test_without_standardisation_the_units_are_those_of_the_data(data: Any) -> None:
    t = data.treatment
    x = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    unit = data.y[~t].std()
    scaled = dataclasses.replace(data, X=x, y=(data.y - data.y[~t].mean()) / unit)
    by_hand, by_itself = fitted(scaled, standardize=False), fitted(data)
    np.testing.assert_allclose(by_hand.prior_, by_itself.prior_, atol=1e-9)
    np.testing.assert_array_equal(by_hand.selected_, by_itself.selected_)
    # the threshold is in units of the spread, also of data that nobody scaled
    raw = fitted(dataclasses.replace(scaled, y=1000 * scaled.y), standardize=False)
    np.testing.assert_allclose(raw.prior_, by_itself.prior_, atol=1e-9)
    assert fitted(data, standardize=False).bandwidths_ != by_itself.bandwidths_


def test_densities_of_a_row_are_per_unit_of_the_outcome(data: Any, model: Any) -> None:
    grid = np.linspace(data.y.min() - 60, data.y.max() + 60, 4001)
    for density in model._density_at(5, grid):
        assert density.shape == grid.shape
        assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-3)


def test_a_row_does_not_stand_among_its_own_neighbours_in_the_figure(data: Any, model: Any) -> None:
    t = data.treatment
    at = int(np.flatnonzero(t)[0])
    _, treated = model._density_at(at, model.grid_)
    own = np.array([[-1], [int(np.cumsum(t)[at] - 1)]])
    expected, _, unit = by_the_formulas(data, model, data.X[at : at + 1], data.y[at : at + 1], own)
    np.testing.assert_allclose(treated, expected.point[1, 0] / unit, rtol=1e-9, atol=1e-12)


@SMALL
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_neighbors": ()}, ValueError, "n_neighbors is empty"),
        ({"n_neighbors": (0,)}, ValueError, "n_neighbors=0 must be at least 1"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be a whole number"),
        ({"bandwidth_fracs": "scott"}, ValueError, "bandwidth_fracs='scott' must be one of 'auto'"),
        ({"bandwidth_fracs": []}, ValueError, "bandwidth_fracs is empty"),
        ({"bandwidth_fracs": [0.1, 0]}, ValueError, "bandwidth_fracs=0 must be greater than 0"),
        ({"bandwidth_fracs": [2]}, ValueError, "bandwidth_fracs=2 must be at most 1"),
        ({"n_bootstrap": 0}, ValueError, "n_bootstrap=0 must be at least 1"),
        ({"bootstrap_quantile": 0.6}, ValueError, r"bootstrap_quantile=0.6 must lie in \(0, 0.5\]"),
        ({"bootstrap_quantile": 0}, ValueError, r"bootstrap_quantile=0 must lie in \(0, 0.5\]"),
        ({"density_threshold": 0}, ValueError, "density_threshold=0 must be greater than 0"),
        ({"ratio_quantile": 1}, ValueError, r"ratio_quantile=1 must lie in \[0, 1\)"),
        ({"ratio_quantile": "min"}, TypeError, "ratio_quantile must be a number"),
        ({"n_grid": "all"}, ValueError, "n_grid='all' must be one of 'auto'"),
        ({"n_grid": 1}, ValueError, "n_grid=1 must lie in"),
        ({"n_threads": -1}, ValueError, "n_threads=-1 must be at least 0"),
        ({"device": "tpu"}, ValueError, "device='tpu' must be one of 'auto', 'cpu', 'cuda'"),
        ({"pi0": "smoother"}, ValueError, "pi0='smoother' must be one of"),
        ({"pi0": 0}, ValueError, "pi0=0 must lie in"),
    ],
)
def test_parameters_out_of_range(data: Any, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fitted(data, **settings)


@SMALL
@pytest.mark.filterwarnings("ignore:y is 3 in 70 of 150 rows")
def test_controls_that_all_have_one_outcome(data: Any) -> None:
    # fewer than half of the rows, which the rule for ties lets pass
    treatment = data.treatment | (np.arange(N) < 20)
    y = np.where(treatment, data.y, 3.0)
    with pytest.raises(ValueError, match=r"y is 3 in all \d+ control rows"):
        NonparametricC2G().fit(data.X, y, treatment=treatment)


@SMALL
def test_numbers_may_come_from_r(data: Any) -> None:
    plain = fitted(data)
    from_r = fitted(
        dataclasses.replace(
            data, X=np.asfortranarray(data.X), treatment=data.treatment.astype(float)
        ),
        n_bootstrap=float(B),
        n_neighbors=[20.0, 30.0],
        random_state=float(SEED),
        n_threads=1.0,
        bandwidth_fracs=np.logspace(-3, 0, 10),
    )
    np.testing.assert_array_equal(plain.q_values_, from_r.q_values_)
    assert fitted(data, n_neighbors=20).bandwidths_ == fitted(data, n_neighbors=[20]).bandwidths_


@SMALL
def test_pickles_clones_and_refits(data: Any, model: Any) -> None:
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.select(q=0.3), model.select(q=0.3))
    np.testing.assert_array_equal(again.predict_prior(data.X[:4]), model.predict_prior(data.X[:4]))
    assert again.summary() == model.summary()
    fresh = clone(model)
    assert not hasattr(fresh, "selected_")
    fresh.fit(data.X, data.y, treatment=data.treatment)
    np.testing.assert_array_equal(fresh.q_values_, model.q_values_)
    # later settings do not change what a fit says
    fresh.set_params(n_bootstrap=1, ratio_quantile=0.5)
    np.testing.assert_array_equal(fresh.predict_prior(data.X[:4]), model.predict_prior(data.X[:4]))


@SMALL
def test_rows_with_missing_values_are_left_out_or_filled(data: Any) -> None:
    X, y = data.X.copy(), data.y.copy()
    X[3, 1] = y[10] = np.nan
    kept = np.setdiff1d(np.arange(N), [3, 10])
    with pytest.warns(UserWarning, match="dropped 2 of 150 rows"):
        part = fitted(dataclasses.replace(data, X=X, y=y), missing="drop")
    whole = fitted(dataclasses.replace(data, X=X[kept], y=y[kept], treatment=data.treatment[kept]))
    np.testing.assert_array_equal(part.prior_[kept], whole.prior_)
    np.testing.assert_array_equal(part.effect_bounds_[kept], whole.effect_bounds_)
    assert np.isnan(part.effect_bounds_[[3, 10]]).all()
    assert np.isnan(part.predict_effect(X[:5])[3]).all()
    filled = fitted(dataclasses.replace(data, X=X), missing="impute")
    assert np.isfinite(filled.predict_prior(X)).all()


@SMALL
@pytest.mark.filterwarnings("ignore:.*constant|.*no covariate")
def test_without_a_covariate_all_rows_share_one_prior(data: Any) -> None:
    constant = dataclasses.replace(data, X=np.ones((N, 2)))
    model = fitted(constant)
    t = data.treatment
    assert model.bandwidths_["treated"]["n_neighbors"] == t.sum() - 1
    # leaving out the row itself is all that differs between rows
    assert np.ptp(model.prior_) < 0.2
    assert np.ptp(model.predict_prior(np.ones((4, 2)))) == 0


@SMALL
def test_duplicated_rows_are_neighbours_of_each_other(data: Any) -> None:
    twice = dataclasses.replace(
        data,
        X=np.repeat(data.X, 2, axis=0),
        y=np.repeat(data.y, 2),
        treatment=np.repeat(data.treatment, 2),
    )
    model = fitted(twice, n_neighbors=(1,))
    # the nearest other row is the copy, with the same outcome
    np.testing.assert_allclose(model.null_mean_[~twice.treatment], twice.y[~twice.treatment])


@SMALL
def test_progress_is_shown_on_request(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nb26stats.causal import _nonparametric

    shown: list[Any] = []

    class Bar:
        def __init__(self, total: int, **settings: Any) -> None:
            shown.append([total, settings["quiet"], 0])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            shown[-1].append("closed")

        def update(self, n: int) -> None:
            shown[-1][2] += n

    monkeypatch.setattr(_nonparametric, "bar", Bar)
    for verbose in (True, False):
        fitted(data, verbose=verbose)
    assert shown == [[2 * N, False, 2 * N, "closed"], [2 * N, True, 2 * N, "closed"]]


@SMALL
@pytest.mark.filterwarnings("ignore:overlap. ")
def test_many_covariates_are_warned_of(data: Any) -> None:
    wide = dataclasses.replace(data, X=np.random.default_rng(0).normal(size=(N, 51)))
    with pytest.warns(UserWarning, match="X has 51 columns, and nearest neighbours tell little"):
        fitted(wide)


@SMALL
def test_rows_without_comparable_controls_can_be_left_out(data: Any, model: Any) -> None:
    thin = data.treatment & (model.ess_ < 5)
    assert thin.any()
    with pytest.warns(UserWarning, match=f"{thin.sum()} with fewer than 5 effective controls"):
        kept = fitted(data)
    trimmed = fitted(data, overlap_action="trim")
    np.testing.assert_array_equal(trimmed.trimmed_, thin)
    assert (trimmed.lfdr_[thin] == 1).all()
    assert not trimmed.selected_[thin].any()
    assert trimmed.estimand_interval("att").n == (data.treatment & ~thin).sum()
    assert kept.estimand_interval("att").n == data.treatment.sum()
    with pytest.raises(ValueError, match="fewer than 5 effective controls"):
        fitted(data, overlap_action="raise")
