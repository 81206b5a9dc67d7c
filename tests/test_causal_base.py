"""What the responder models share: overlap, trimming, calibration, estimands, tables, results."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causal_fake import SHIFT, KnownC2G, known_data
from scipy.integrate import trapezoid
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from nb26stats import plotting
from nb26stats.causal import C2GResult, EstimandInterval, OverlapWarning
from nb26stats.causal._overlap import MIN_ESS, odds
from nb26stats.causal._rows import Rows
from nb26stats.causal._scores import Scores
from nb26stats.causal._selection import Calibration, q_values

X, Y, T, RESPONDER = known_data()
N = len(Y)


def fit(x: Any = X, y: Any = Y, treatment: Any = T, **kw: Any) -> KnownC2G:
    kw.setdefault("random_state", 0)
    return KnownC2G(**kw).fit(x, y, treatment=treatment)


class GivenPropensity(ClassifierMixin, BaseEstimator):
    """Reads the probability of treatment from a column of X."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Any, y: Any) -> GivenPropensity:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        e = X[:, self.column]
        return np.column_stack([1 - e, e])


def given(e: Any, **kw: Any) -> KnownC2G:
    """Fit with these probabilities of treatment."""
    x = np.column_stack([e, X[:, 1]])
    return fit(x, propensity_model=GivenPropensity(), **kw)


def ordinary(n: int = N) -> Any:
    return 0.2 + 0.6 * np.random.default_rng(3).random(n)


# propensities


def test_propensities_are_out_of_sample_and_near_the_truth() -> None:
    r = np.random.default_rng(0)
    x = r.normal(size=(4000, 3))
    e = expit(0.5 + 0.7 * x[:, 0])
    t = r.random(4000) < e
    model = fit(x, r.normal(size=4000), t)
    assert np.abs(model.propensity_ - e).mean() < 0.02
    # where nothing tells the arms apart, no row's own arm shows in its propensity
    t = r.random(4000) < 0.5
    model = fit(r.normal(size=(4000, 20)), r.normal(size=4000), t)
    assert model.propensity_[t].mean() <= model.propensity_[~t].mean() + 0.005


def test_unequal_arms_do_not_collapse_the_propensity() -> None:
    r = np.random.default_rng(1)
    x = r.normal(size=(2000, 2))
    e = expit(-3 + 1.5 * x[:, 0])
    t = r.random(2000) < e
    model = fit(x, r.normal(size=2000), t)
    assert np.corrcoef(model.propensity_, e)[0, 1] > 0.95
    assert model.propensity_.mean() == pytest.approx(t.mean(), abs=0.01)


def test_randomised_trials_have_one_propensity_and_equal_weights() -> None:
    model = fit(randomized=True)
    np.testing.assert_array_equal(model.propensity_, T.mean())
    controls = Calibration(
        model.control_score_[~T], np.ones(int((~T).sum())), np.full(int((~T).sum()), 0.4)
    )
    np.testing.assert_array_equal(
        model.q_values_[T], q_values(model.lfdr_[T], "calibrated", controls)
    )


def test_a_model_without_a_seed_gets_one_and_gives_the_same_twice() -> None:
    forest = RandomForestClassifier(n_estimators=5, max_depth=3)
    a, b = (fit(propensity_model=forest, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(a.propensity_, b.propensity_)
    c = fit(propensity_model=forest, random_state=4, n_jobs=2)
    np.testing.assert_array_equal(a.propensity_, c.propensity_)
    assert not np.array_equal(
        fit(propensity_model=forest, random_state=5).propensity_, b.propensity_
    )
    assert forest.random_state is None
    assert not hasattr(forest, "classes_")


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_impossible_propensities_are_refused(bad: float) -> None:
    class Broken(GivenPropensity):
        def predict_proba(self, X: Any) -> Any:
            return np.full((len(X), 2), bad)

    with pytest.raises(ValueError, match="probabilities outside"):
        fit(propensity_model=Broken())


def test_number_of_jobs_and_frames_change_no_bit() -> None:
    a, b = fit(n_jobs=1), fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(Y), n_jobs=2)
    for name in ("propensity_", "q_values_", "selected_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# calibration


@pytest.mark.parametrize(
    ("pi0", "used", "prior"),
    [
        ("conservative", "conservative", 0.0),
        ("plugin", "plugin", 0.4),
        (0.7, 0.7, 0.3),
        (1, 1.0, 0.0),
    ],
)
def test_priors_of_the_controls(pi0: Any, used: Any, prior: float) -> None:
    e = ordinary()
    model = given(e, pi0=pi0)
    assert model.pi0_used_ == used
    assert model.control_used_ == "calibrated"
    odds = e / (1 - e)
    none = np.full(int((~T).sum()), prior)
    controls = Calibration(model.control_score_[~T], odds[~T], none, odds[T])
    expected = q_values(model.lfdr_[T], "calibrated", controls)
    np.testing.assert_allclose(model.q_values_[T], expected, rtol=1e-12)
    assert np.isnan(model.q_values_[~T]).all()


def test_select_needs_no_refit_and_agrees_with_the_q_values() -> None:
    for control in ("model", "calibrated", "published"):
        model = fit(control=control)
        assert model.control_used_ == control
        chosen = model.select()
        np.testing.assert_array_equal(np.flatnonzero(model.selected_), chosen)
        assert model.estimated_fdr_ == model.q_values_[chosen].max()
        assert model.estimated_fdr_ <= 0.1
        for q in (0.01, 0.2, float(model.q_values_[chosen[0]])):
            with np.errstate(invalid="ignore"):
                expected = np.flatnonzero(model.q_values_ <= q)
            np.testing.assert_array_equal(model.select(q), expected)
            np.testing.assert_array_equal(fit(control=control, q=q).select(), expected)
        np.testing.assert_array_equal(fit().select(0.2, control), model.select(0.2))
    np.testing.assert_array_equal(fit(control="model").select(control="auto"), fit().select())


def test_known_model_holds_the_rate_and_finds_most() -> None:
    """Average of false selections over repetitions, within its standard error of q."""
    found = []
    for seed in range(30):
        x, y, t, responder = known_data(600, seed=seed)
        for control in ("model", "calibrated"):
            chosen = KnownC2G(control=control, random_state=0).fit(x, y, treatment=t).select()
            wrong = 1 - responder[chosen].mean() if len(chosen) else 0.0
            found.append((control, wrong, responder[chosen].sum() / responder.sum()))
    table = pd.DataFrame(found, columns=["control", "fdr", "power"]).groupby("control")
    mean, error = table.mean(), table["fdr"].sem()
    assert (mean["fdr"] <= 0.1 + 2 * error).all()
    assert (mean["power"] > 0.8).all()


def test_fitted_arrays_and_scalars() -> None:
    model = fit()
    assert model.lfdr_ is model.local_fdr_
    for name in ("lfdr_", "q_values_", "responder_proba_", "prior_", "null_mean_", "effect_"):
        assert getattr(model, name).shape == (N,)
    np.testing.assert_array_equal(np.isnan(model.lfdr_), ~T)
    np.testing.assert_array_equal(np.isnan(model.control_score_), T)
    np.testing.assert_array_equal(model.responder_proba_[~T], 0.0)
    np.testing.assert_array_equal(model.responder_proba_[T], 1 - model.lfdr_[T])
    assert model.selected_.dtype == model.trimmed_.dtype == bool
    assert model.n_features_in_ == 3
    assert model.seed_ == 0
    assert fit(random_state=np.random.default_rng(0)).seed_ > 2**32


# overlap


def far(e: Any, treated: Any = (1, 3, 5), controls: Any = ()) -> Any:
    e[list(treated)] = 0.99
    e[list(controls)] = 0.995
    return e


def test_lack_of_overlap_is_told_once_with_counts_and_rows() -> None:
    with pytest.warns(OverlapWarning) as caught:
        model = given(far(ordinary(), controls=(0, 2)))
    assert len(caught) == 1
    assert "overlap: 3 of 200 treated rows have no comparable controls (3 with a propensity" in (
        text := str(caught[0].message)
    )
    assert "above 0.98), rows 1, 3, 5 counted from 0" in text
    assert "2 of 200 controls have a propensity above 0.98; the largest weight is 199 and" in text
    assert "overlap_action='trim'" in text
    assert caught[0].filename == __file__
    assert not model.trimmed_.any()
    weight = odds(model.propensity_[~T])
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert f"effective number of controls {effective:.3g}," in text
    assert model._overlap.n_heavy == 2


def test_rows_are_numbered_as_the_user_gave_them() -> None:
    e, y = far(ordinary(), treated=(301, 303)), Y.copy()
    y[:50] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given(e, y=y, missing="drop")
    assert "rows 301, 303 counted from 0" in str(caught[-1].message)
    many = np.flatnonzero(T)[:12]
    with pytest.warns(OverlapWarning, match=r"rows 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, … counted"):
        given(far(ordinary(), treated=many))


def test_controls_that_are_rarely_treated_are_only_counted() -> None:
    e = ordinary()
    e[[0, 2, 4]] = 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = given(e)
    assert model._overlap.n_rare == 3
    assert "3 near certain not to be" in " ".join(model.summary().split())


def test_raise_names_the_rows() -> None:
    message = "overlap: 3 of 200 treated rows have no comparable controls"
    with pytest.raises(ValueError, match=message):
        given(far(ordinary()), overlap_action="raise")
    # controls alone are no reason to stop
    given(far(ordinary(), treated=(), controls=(0, 2)), overlap_action="raise")
    given(far(ordinary()), overlap_action="raise", overlap=0.005)


def test_trimmed_rows_are_never_selected_nor_counted() -> None:
    e = far(ordinary(), treated=np.flatnonzero(RESPONDER)[:5], controls=(0, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = given(e, overlap_action="trim", pi0="conservative")
    gone = np.flatnonzero(RESPONDER)[:5]
    np.testing.assert_array_equal(np.flatnonzero(model.trimmed_), gone)
    np.testing.assert_array_equal(model.lfdr_[gone], 1.0)
    np.testing.assert_array_equal(model.responder_proba_[gone], 0.0)
    np.testing.assert_array_equal(model.q_values_[gone], 1.0)
    assert not set(gone) & set(model.select(0.9, "model"))
    # the calibration sees neither these rows nor the two controls
    controls = ~T
    controls[[0, 2]] = False
    treated = T & ~model.trimmed_
    odds = e / (1 - e)
    score, none = model.control_score_[controls], np.zeros(int(controls.sum()))
    expected = q_values(
        model.lfdr_[treated],
        "calibrated",
        Calibration(score, odds[controls], none, odds[treated]),
    )
    np.testing.assert_allclose(model.q_values_[treated], expected, rtol=1e-12)
    result = model.result()
    assert (result.n1, result.n0) == (195, 198)
    interval = model.estimand_interval()
    assert interval.n == 195
    assert interval.lower == pytest.approx(Y[treated].mean())
    assert "5 of 200 treated rows lack comparable controls and are left out" in " ".join(
        model.summary().split()
    )


def test_trimming_everything_is_an_error() -> None:
    e = ordinary()
    e[T] = 0.99
    with pytest.raises(ValueError, match="leaves no treated row: every one has a propensity"):
        given(e, overlap_action="trim")
    e = ordinary()
    e[~T] = 0.99
    with pytest.raises(ValueError, match="leaves no control: every one has a propensity"):
        given(e, overlap_action="trim")


def test_propensity_of_one_gives_a_finite_weight() -> None:
    with pytest.warns(OverlapWarning):
        model = given(np.where(np.arange(N) < 4, 1.0, 0.5))
    assert np.isfinite(model.q_values_[T]).all()


def test_few_effective_controls_are_flagged_too() -> None:
    class Sparse(KnownC2G):
        def _fit_model(self, rows: Rows, propensity: Any, seed: int) -> Scores:
            ess = np.full(len(rows.y), 40.0)
            ess[[0, 1, 7]] = MIN_ESS - 0.1
            return dataclasses.replace(super()._fit_model(rows, propensity, seed), ess=ess)

    with pytest.warns(OverlapWarning, match="2 of 200 .*2 with fewer than 5 effective controls"):
        Sparse(random_state=0).fit(X, Y, treatment=T)
    model = Sparse(random_state=0, overlap_action="trim").fit(X, Y, treatment=T)
    assert np.flatnonzero(model.trimmed_).tolist() == [1, 7]
    assert model.ess_[1] == MIN_ESS - 0.1


# estimands


def test_subsets_by_mask_and_by_position() -> None:
    model = fit()
    mask = np.arange(N) < 100
    whole = model.estimand_interval(subset=mask)
    assert whole.n == 50
    assert whole.lower == pytest.approx(Y[mask & T].mean())
    for subset in (
        mask.tolist(),
        pd.Series(mask),
        range(100),
        np.arange(100.0),
        np.arange(100)[::-1],
        [*range(100), 1, 1],
    ):
        assert dataclasses.astuple(model.estimand_interval(subset=subset)) == pytest.approx(
            dataclasses.astuple(whole), nan_ok=True
        )
    for subset, error, message in (
        (mask[:-1], ValueError, "subset has shape (399,); a mask must have the 400 rows of X"),
        ([400], ValueError, "subset=400 must lie in [0, 399]"),
        ([-1], ValueError, "subset=-1 must lie in [0, 399]"),
        ([0.5], TypeError, "subset must be a whole number"),
        ("all", TypeError, "subset must be a whole number"),
        ([0, 2], ValueError, "subset holds none of the 200 treated rows in use"),
        ([], ValueError, "subset holds none of the 200 treated rows in use"),
        (np.zeros(N, bool), ValueError, "subset holds none of the 200 treated rows in use"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            model.estimand_interval(subset=subset)


def test_a_mask_counts_the_rows_given_not_those_kept() -> None:
    y = Y.copy()
    y[:10] = np.nan
    with pytest.warns(UserWarning, match="dropped 10"):
        model = fit(y=y, missing="drop")
    mask = np.arange(N) < 20
    assert model.estimand_interval(subset=mask).n == 5
    assert model.estimand_interval(subset=mask).lower == pytest.approx(Y[11:20:2].mean())


def test_confidence_limits_are_percentiles_of_the_ends() -> None:
    assert np.isnan(fit().estimand_interval().ci_low)
    model = fit(n_bootstrap=101)
    i = model.estimand_interval("att", level=0.9)
    assert (i.ci_low, i.ci_high) == pytest.approx((5.0, 105.0))
    assert (i.estimand, i.level) == ("att", 0.9)
    i = model.estimand_interval("care", level=0.5)
    assert (i.ci_low, i.ci_high) == pytest.approx((25.0, 85.0))

    class Widened(KnownC2G):
        _ci_holds_bounds = True

    i = Widened(n_bootstrap=3, random_state=0).fit(X, Y + 50, treatment=T).estimand_interval()
    assert i.ci_high == i.upper > 50
    with pytest.raises(ValueError, match="estimand='ate' must be one of 'erpf', 'care'"):
        model.estimand_interval("ate")


# tables and results


def test_the_table_has_the_users_rows_and_index() -> None:
    y = Y.copy()
    y[3] = np.nan
    labels = [f"p{i}" for i in range(N)]
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=labels)
    with pytest.warns(UserWarning, match="dropped 1"):
        model = fit(frame, y, missing="drop")
    table = model.to_frame()
    assert table.index.tolist() == labels
    assert table.columns.tolist() == [
        "treated",
        "y",
        "selected",
        "lfdr",
        "q_value",
        "responder_proba",
        "prior",
        "null_mean",
        "effect",
        "control_score",
        "control_weight",
        "propensity",
        "ess",
        "trimmed",
    ]
    assert table["treated"].isna().tolist() == [i == 3 for i in range(N)]
    assert table["treated"].drop("p3").astype(bool).tolist() == np.delete(T, 3).tolist()
    np.testing.assert_array_equal(table["lfdr"], model.lfdr_)
    assert table.index[table["selected"]].tolist() == [labels[i] for i in model.select()]
    # labels of the outcome serve where covariates have none
    named = fit(X, pd.Series(Y, index=labels)).to_frame()
    assert named.index.tolist() == labels
    assert fit().to_frame().index.tolist() == list(range(N))


def test_result_is_frozen_and_has_a_plain_form() -> None:
    model = fit(n_bootstrap=11, control="published")
    result = model.result()
    assert isinstance(result, C2GResult)
    assert [f.name for f in dataclasses.fields(result)][:8] == [
        "table",
        "estimands",
        "q",
        "control_used",
        "estimated_fdr",
        "n1",
        "n0",
        "seed",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.q = 0.2  # type: ignore[misc]
    assert (result.q, result.control_used, result.n1, result.n0) == (0.1, "published", 200, 200)
    assert result.estimands.index.tolist() == ["erpf", "care", "responder_effect", "att"]
    pd.testing.assert_frame_equal(result.to_frame(), model.to_frame())
    assert result.summary() == model.summary()
    assert result._repr_html_().startswith("<pre>")
    plain = result.to_r()
    json.dumps(plain)
    assert plain["table"]["selected"] == model.selected_.tolist()
    assert plain["seed"] == 0
    assert plain["details"]["pi0_used"] == "plugin"
    interval = model.estimand_interval()
    assert interval.to_r()["n"] == 200
    assert interval.to_frame().index.tolist() == ["erpf"]
    assert EstimandInterval(0.5, 0.5, np.nan, np.nan, 9, "att", 0.9).summary() == (
        "att 0.5 (9 treated rows)"
    )


def test_summary_tells_data_selection_estimands_and_overlap() -> None:
    lines = fit(n_bootstrap=11).summary().splitlines()
    assert lines[0].strip() == "KnownC2G results"
    assert lines[1] == "=" * 80
    assert max(map(len, lines)) <= 80
    head = " ".join(" ".join(lines[2:6]).split())
    assert head.startswith("Rows in use: 400 Target FDR q: 0.1 Treated: 200 Control: calibrated")
    assert "Controls: 200 pi0: plugin Selected:" in head
    assert "Estimated FDR: 0.0" in head
    table = [line.split() for line in lines[7:12]]
    assert table[0] == ["lower", "upper", "[0.05", "0.95]"]
    mean = f"{Y[T].mean():.4g}"
    assert table[4] == ["ATT", mean, f"{Y[T].mean() + 1:.4g}", "0.5", "19.5"]
    notes = " ".join(" ".join(lines[13:]).split())
    assert "[1] Overlap: 0 of 200 treated rows lack comparable controls" in notes
    assert "No confidence limits" not in notes
    assert "In brackets: percentiles over resamples" in notes
    assert "No confidence limits: they need resamples" in " ".join(fit().summary().split())
    assert "zM2" not in notes


@pytest.mark.parametrize(
    ("mean", "z", "text"),
    [
        (2.5, 4.2, "can be told apart"),
        (-2.5, 4.2, "can be told apart"),
        (1.5, 4.2, "may be that of a poor prediction"),
        (1.5, 0.3, "do not read priors, ERPF or effects"),
    ],
)
def test_summary_says_what_the_spread_of_residuals_means(mean: float, z: float, text: str) -> None:
    model = fit()
    model.zM1_, model.zM2_ = mean, z
    words = " ".join(model.summary().split())
    assert f"zM1: {mean:.3f} zM2: {z:.3f}" in words
    assert text in words


def test_new_rows_get_the_same_formula() -> None:
    model = fit()
    np.testing.assert_array_equal(model.lfdr(X[T], Y[T]), model.lfdr_[T])
    np.testing.assert_array_equal(model.predict_prior(X), 0.4)
    np.testing.assert_array_equal(model.predict_effect(X[:2]), [[SHIFT, SHIFT + 1]] * 2)


# later calls and figures


def test_later_calls_go_by_the_setting_of_the_fit() -> None:
    model = fit(control="model")
    before = model.select(), model.select(0.2), model.summary()
    model.set_params(q=0.3, control="published", randomized=True)
    np.testing.assert_array_equal(model.select(), before[0])
    np.testing.assert_array_equal(model.select(0.2), before[1])
    assert model.summary() == before[2]


def test_a_fit_that_fails_is_no_fit() -> None:
    model = KnownC2G()
    with pytest.raises(ValueError, match="tiny arm"):
        model.fit(X, Y, treatment=np.arange(N) < 5)
    with pytest.raises(NotFittedError):
        model.predict_prior(X)


def test_figures_of_the_fit_and_of_its_result() -> None:
    model = fit()
    n = len(model.select())
    with plotting.style(offscreen=True):
        for drawn in (model.plot(), model.result().plot()):
            assert drawn.get_title(loc="left") == f"{n} of 200 treated rows selected at q = 0.1"
            heights = [p.get_height() for c in drawn.containers[:2] for p in c]
            assert sum(heights) == 200
        drawn = model.plot("residuals")
        assert len(drawn.get_legend().get_texts()) == 2
        own = drawn.figure.add_subplot()
        assert model.result().plot("residuals", ax=own) is own
        drawn = model.plot("density", row=3.0)
        f0, ft = (line.get_ydata() for line in drawn.lines[:2])
        grid = drawn.lines[0].get_xdata()
        for f in (f0, ft):
            assert 0.9 < trapezoid(f, grid) < 1.01
        assert drawn.lines[3].get_xdata()[0] == Y[3]
        best = int(np.nanargmin(model.lfdr_))
        assert model.plot("density").get_title(loc="left").startswith(f"Row {best}, lfdr ")
        assert model.plot("density", row=0).get_title(loc="left") == "Row 0, a control"


def test_figures_that_cannot_be_drawn() -> None:
    y = Y.copy()
    y[4] = np.nan
    with pytest.warns(UserWarning, match="dropped 1"):
        model = fit(y=y, missing="drop")
    for call, error, message in (
        (lambda: model.plot("roc"), ValueError, "kind='roc' must be one of 'lfdr', 'density'"),
        (lambda: model.plot("density", row=400), ValueError, r"row=400 must lie in [0, 399]"),
        (lambda: model.plot("density", row=4), ValueError, "row=4 was left out of the fit"),
        (lambda: model.result().plot("density"), TypeError, "its result() has no densities"),
        (lambda: plotting.plot_responders(3), TypeError, "result must be a fitted causal"),
        (lambda: KnownC2G().plot(), NotFittedError, "not fitted"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            call()
