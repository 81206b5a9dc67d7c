"""What ``fit`` of the responder models makes of every kind of input, message by message."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causal_fake import KnownC2G, known_data
from scipy import sparse

from nb26stats import NB26StatsWarning
from nb26stats.causal import OverlapWarning, SmallSampleWarning

X, Y, T, _ = known_data()
N = len(Y)


def fit(x: Any = X, y: Any = Y, treatment: Any = T, event: Any = None, **kw: Any) -> KnownC2G:
    kw.setdefault("random_state", 0)
    return KnownC2G(**kw).fit(x, y, treatment=treatment, event=event)


def refused(error: type[Exception], message: str, *args: Any, **kw: Any) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        fit(*args, **kw)
    assert type(caught.value) is error


def messages(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in caught]


# lengths and shapes


def test_lengths_that_differ_are_named() -> None:
    for x, y, t in ((X[:-1], Y, T), (X, Y[:-1], T), (X, Y, T[:-1])):
        refused(
            ValueError,
            "X, y and treatment must have one row per sample, got shapes "
            f"{x.shape}, {y.shape} and {t.shape}",
            x,
            y,
            t,
        )


@pytest.mark.parametrize("x", [X[:, 0], X[:, 0].tolist(), pd.Series(X[:, 0])])
def test_one_dimensional_covariates_are_told_how_to_become_a_column(x: Any) -> None:
    advice = "X.to_frame()" if isinstance(x, pd.Series) else "X.reshape(-1, 1)"
    refused(ValueError, f"X must be two-dimensional, got shape ({N},); use {advice}", x)


def test_three_dimensional_covariates_and_scalars() -> None:
    refused(ValueError, "X must be two-dimensional, got shape (2, 2, 2)", np.zeros((2, 2, 2)))
    refused(ValueError, "X must be two-dimensional, got a float", 3.0)
    refused(ValueError, "X must be two-dimensional, got a NoneType", None)
    refused(ValueError, "X must have rows of one length, got ragged ones", [[1.0, 2.0], [3.0]])
    advice = "X has no column; where there are no covariates give one constant column"
    refused(ValueError, advice, np.zeros((N, 0)))
    refused(ValueError, advice, pd.DataFrame(index=range(N)))


def test_treatment_in_columns() -> None:
    refused(
        ValueError, f"treatment must be one-dimensional, got shape ({N}, 1)", treatment=T[:, None]
    )


# missing values


def with_gaps() -> tuple[Any, Any, Any]:
    x, y, t = X.copy(), Y.copy(), T.astype(float)
    x[[3, 5], 1] = np.nan
    x[7, 0] = np.inf
    y[[5, 9]] = np.nan
    t[11] = np.nan
    return x, y, t


def test_missing_values_are_counted_by_array() -> None:
    refused(
        ValueError,
        "missing or infinite values, rows counted: X in 3, y in 2, treatment in 1; missing='drop' "
        "leaves such rows out, missing='impute' fills X",
        *with_gaps(),
    )
    refused(ValueError, "rows counted: X in 3; missing=", with_gaps()[0])


def test_dropped_rows_are_counted_once_and_are_nan_in_every_output() -> None:
    gone = [3, 5, 7, 9, 11]
    with pytest.warns(NB26StatsWarning) as caught:
        model = fit(*with_gaps(), missing="drop")
    assert messages(list(caught)) == [
        f"dropped 5 of {N} rows with missing or infinite values: X in 3, y in 2, treatment in 1"
    ]
    whole = ["responder_proba_", "prior_", "null_mean_", "effect_", "propensity_"]
    for name in [*whole, "lfdr_", "q_values_", "control_score_", "ess_"]:
        values = getattr(model, name)
        assert values.shape == (N,)
        assert np.isnan(values[gone]).all()
    for name in whole:
        assert np.isfinite(np.delete(getattr(model, name), gone)).all()
    for name in ("selected_", "trimmed_"):
        assert getattr(model, name).dtype == bool
        assert not getattr(model, name)[gone].any()
    kept = np.delete(np.arange(N), gone)
    np.testing.assert_array_equal(
        model.select(), kept[fit(X[kept], Y[kept], T[kept], random_state=0).select()]
    )


def test_imputed_covariates_get_the_median_and_an_indicator() -> None:
    x = with_gaps()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(x, missing="impute")
    rows = model._rows
    assert rows.columns.names == ("0", "1", "2", "0 missing", "1 missing")
    assert rows.X.shape == (N, 5)
    assert rows.X[3, 1] == np.median(np.delete(x[:, 1], [3, 5]))
    assert rows.X[7, 0] == np.median(np.delete(x[:, 0], 7))
    np.testing.assert_array_equal(np.flatnonzero(rows.X[:, 4]), [3, 5])
    # further rows are filled alike, and a gap where there was none gets the median only
    new = rows.columns.apply(np.array([[np.nan, 0.0, np.nan]]))
    assert new.tolist() == [
        [rows.X[7, 0], 0.0, np.median(x[:, 2]), 1.0, 0.0],
    ]
    assert np.isfinite(model.predict_prior(np.full((2, 3), np.nan))).all()


def test_no_complete_row() -> None:
    x = np.where(np.arange(3) == 1, np.nan, X)
    message = "none of 400 rows is complete; values are missing: X in 400"
    refused(ValueError, message, x, missing="drop")
    # filled by a constant, such a column says nothing
    with pytest.warns(NB26StatsWarning, match="dropped 2 of 4 columns of X that never vary: 1, 1"):
        assert fit(x, missing="impute")._rows.X.shape == (N, 2)


def test_imputation_is_for_covariates_only() -> None:
    x, y, t = with_gaps()
    hint = "missing='impute' fills X only; missing='drop' leaves such rows out"
    refused(ValueError, f"rows counted: X in 3, y in 2; {hint}", x, y, missing="impute")
    refused(ValueError, f"rows counted: treatment in 1; {hint}", X, Y, t, missing="impute")


def test_masked_arrays_and_missing_values_of_pandas_count_as_missing() -> None:
    y = np.ma.masked_array(Y, mask=np.arange(N) == 4)
    x = np.ma.masked_array(X, mask=X > 2.5)
    refused(ValueError, f"rows counted: X in {int((X > 2.5).any(axis=1).sum())};", x)
    frame = pd.DataFrame(X).convert_dtypes()
    frame.iloc[[1, 2], 0] = pd.NA
    arm = pd.Series(T).astype("boolean")
    arm[8] = pd.NA
    refused(ValueError, "rows counted: X in 2, y in 1, treatment in 1;", frame, y, arm)
    refused(ValueError, "rows counted: y in 1;", X, [None, *Y[1:].tolist()])
    refused(ValueError, "rows counted: y in 1;", X, pd.Series(Y, dtype="Float64").mask(Y[3] == Y))
    words = np.where(T, "b", "a").astype(object)
    words[2] = None
    refused(ValueError, "rows counted: treatment in 1;", treatment=words)


# arms


@pytest.mark.parametrize(
    "treatment",
    [
        T,
        T.astype(int),
        T.astype(float),
        T.astype(np.uint8),
        T.tolist(),
        T.astype(float).tolist(),
        pd.Series(T),
        pd.Series(T).astype("boolean"),
        pd.Series(T.astype(int)).astype("Int64"),
        pd.Series(T.astype(int)).astype("category"),
        T.astype(object),
    ],
    ids=lambda t: f"{type(t).__name__}-{getattr(t, 'dtype', type(t[0]).__name__)}",
)
def test_truth_values_and_zero_one_are_arms(treatment: Any) -> None:
    np.testing.assert_array_equal(fit(treatment=treatment).select(), fit().select())


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        list,
        pd.Series,
        lambda w: pd.Series(w).astype("category"),
        lambda w: pd.Series(w).astype("string"),
        lambda w: np.asarray(w).astype("S"),
        lambda w: pd.Categorical(w, categories=["iron", "zinc", "A"]),
    ],
)
def test_of_two_words_the_second_is_treated(make: Any) -> None:
    words = make(np.where(T, "zinc", "iron").tolist())
    with pytest.warns(NB26StatsWarning) as caught:
        model = fit(treatment=words)
    assert messages(list(caught)) == ["treatment: 'zinc' is taken as treated and 'iron' as control"]
    np.testing.assert_array_equal(model.select(), fit().select())


@pytest.mark.parametrize(
    ("treatment", "found"),
    [
        (T * 2, "0, 2"),
        (T + 1, "1, 2"),
        (np.arange(N) % 3, "0, 1, 2"),
        (np.zeros(N), "0"),
        (np.ones(N, bool), "1"),
        (["a"] * N, "'a'"),
        (np.array(["a", "b", "c", "d"] * (N // 4)), "'a', 'b', 'c', 'd'"),
        (np.arange(N), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (400 values)"),
        (T - 0.5, "-0.5, 0.5"),
    ],
)
def test_other_values_are_listed(treatment: Any, found: str) -> None:
    refused(
        ValueError,
        "treatment must be True and False, 1 and 0, or two words of which the second is treated; "
        f"found {found}",
        treatment=treatment,
    )


def test_treatment_of_another_kind() -> None:
    refused(TypeError, "treatment must tell the arm of every row, got None", treatment=None)
    refused(TypeError, "got complex128 values", treatment=T * 1j)
    refused(TypeError, "got values of kind bool, str", treatment=["a", True] * (N // 2))
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'treatment'"):
        KnownC2G().fit(X, Y)  # type: ignore[call-arg]


def test_tiny_arms_are_refused_and_small_ones_named() -> None:
    few = np.arange(N) < 29
    message = "tiny arm: 29 {} rows, and fewer than 30 cannot show a distribution"
    refused(ValueError, message.format("treated"), treatment=few)
    refused(ValueError, message.format("control"), treatment=~few)
    with pytest.warns(SmallSampleWarning) as caught:
        fit(treatment=np.arange(N) < 30)
    advice = ": below 100 rows in an arm its density is rough and error rates are not well held"
    assert messages(list(caught)) == ["30 treated rows" + advice]
    with pytest.warns(SmallSampleWarning) as caught:
        fit(X[:150], Y[:150], np.arange(150) < 99)
    assert messages(list(caught)) == ["51 control rows and 99 treated rows" + advice]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X[:200], Y[:200], np.arange(200) < 100)


def test_arms_are_counted_after_rows_are_dropped() -> None:
    y = Y.copy()
    y[np.flatnonzero(T)[29:]] = np.nan
    with pytest.warns(NB26StatsWarning, match="dropped 171"):
        refused(ValueError, "tiny arm: 29 treated rows", y=y, missing="drop")
    y[T] = np.nan
    with pytest.warns(NB26StatsWarning, match="dropped 200"):
        refused(
            ValueError, "two words of which the second is treated; found 0", y=y, missing="drop"
        )


# outcomes


ALTERNATIVES = "the model needs a continuous outcome; for a binary, ordinal or count outcome take"


@pytest.mark.parametrize(
    ("y", "start"),
    [
        (T.astype(float), "y holds 2 distinct values: "),
        (T, "y holds 2 distinct values: "),
        (np.zeros(N), "y holds 1 distinct values: "),
        (np.arange(N) % 9 / 7, "y holds only 9 distinct values: "),
        (np.random.default_rng(0).poisson(20, N), "y holds whole numbers, and 9"),
        (np.arange(N) % 199, "y holds whole numbers, and 50 % of the rows repeat a value: "),
        (np.where(np.arange(N) % 5 < 3, 0.25, Y), "y is 0.25 in 240 of 400 rows: "),
    ],
)
def test_outcomes_that_are_no_continuous_quantity(y: Any, start: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(start)}") as caught:
        fit(y=y)
    assert ALTERNATIVES in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [np.arange(N) % 200, np.arange(N) // 2, np.round(Y, 1), np.arange(N) % 10 / 7],
    ids=["half repeat", "pairs", "rounded", "ten values"],
)
def test_moderate_ties_are_taken(y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if len(np.unique(y)) == 10:  # each value holds a tenth of the rows
            warnings.filterwarnings("ignore", "y is .* densities smear out")
        assert fit(y=y).lfdr_.shape == (N,)


def test_a_point_mass_is_named() -> None:
    with pytest.warns(NB26StatsWarning) as caught:
        fit(y=np.where(np.arange(N) % 5 == 0, 0.0, Y))
    assert messages(list(caught)) == [
        "y is 0 in 80 of 400 rows: densities smear out such a point mass, and rows there are not "
        "told apart"
    ]


CONVERT = (
    "times to an event are censored; convert them to z-scores with "
    "nb26stats.survival_residual_z(time, event, X, treatment=treatment) and pass those as y"
)


def test_survival_times_are_sent_to_z_scores() -> None:
    refused(TypeError, f"event= is not taken here: {CONVERT}", event=T)
    record = np.zeros(N, [("event", bool), ("time", float)])
    refused(TypeError, f"y has the fields event, time: {CONVERT}", y=record)
    pair = np.column_stack([Y, T])
    shape = f"y must be one-dimensional, got shape ({N}, 2): {CONVERT}"
    for y in (pair, pd.DataFrame(pair), pair.tolist()):
        refused(TypeError, shape, y=y)
    refused(TypeError, f"got shape ({N}, 1): flatten a column with ravel(); if", y=Y[:, None])


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (None, "y must hold the outcome of every row, got None"),
        (["a"] * N, "y must hold real numbers, got text"),
        (Y * 1j, "y must hold real numbers, got complex128 values"),
        (pd.Series(["a"] * N), "y must hold real numbers, got "),
        (pd.Series(pd.date_range("2000", periods=N)), "y must hold real numbers, got "),
    ],
)
def test_outcomes_that_are_no_numbers(y: Any, kind: str) -> None:
    refused(TypeError, kind, y=y)


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_numbers_whose_squares_overflow_are_refused(scale: float) -> None:
    advice = (
        "numbers above 1e+150, or within 1e-150 of each other, have squares that float64 cannot "
        "hold; give them in other units"
    )
    refused(ValueError, f"y: {advice}", y=Y * scale)
    refused(ValueError, f"column 1 of X: {advice}", X * [1, scale, 1])


# covariates


def test_constant_columns_are_dropped_by_name() -> None:
    x = np.column_stack([X, np.ones(N), np.full(N, 0.1) * 3])
    with pytest.warns(NB26StatsWarning) as caught:
        model = fit(x)
    assert messages(list(caught)) == ["dropped 2 of 5 columns of X that never vary: 3, 4"]
    assert model._rows.X.shape == (N, 3)
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.propensity_, fit().propensity_)
    np.testing.assert_array_equal(model.predict_prior(x), fit().predict_prior(X))


def test_without_any_varying_column_there_are_no_covariates() -> None:
    frame = pd.DataFrame({"age": np.ones(N), "site": np.zeros(N)})
    with pytest.warns(NB26StatsWarning) as caught:
        model = fit(frame)
    assert messages(list(caught)) == [
        "dropped 2 of 2 columns of X that never vary: age, site; no covariate is left, so all "
        "rows share one prior"
    ]
    assert model._rows.X.shape == (N, 0)
    np.testing.assert_array_equal(model.propensity_, T.mean())
    assert len(model.select())


def test_many_columns_are_too_many_for_neighbours() -> None:
    x = np.random.default_rng(0).normal(size=(N, 51))
    with pytest.warns(NB26StatsWarning) as caught:
        fit(x)
    assert messages(list(caught)) == [
        "X has 51 columns, and nearest neighbours tell little in more than 50; reduce the "
        "dimension first, for example by principal components"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(x[:, :50])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_covariates(kind: Any) -> None:
    refused(TypeError, "X must be dense, got a sparse matrix; use X.toarray()", kind(X))
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X))
    refused(TypeError, "X must be dense, got sparse columns; use X.sparse.to_dense()", frame)


def test_columns_that_hold_no_numbers_are_named() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["sex"] = np.where(T, "f", "m")
    frame["site"] = pd.Categorical(np.where(T, "x", "y"))
    frame["visit"] = pd.date_range("2000", periods=N)
    frame["both"] = [1, "a"] * (N // 2)
    with pytest.raises(ValueError, match="X has 4 columns that hold no numbers: sex ") as caught:
        fit(frame)
    text = str(caught.value)
    assert all(name in text for name in ("site (category)", "visit (datetime64", "both (object)"))
    assert text.endswith("; encode them first, for example as 0 and 1 per category")
    mixed = np.column_stack([X[:, 0], np.where(T, "f", "m")]).astype(object)
    mixed[:, 0] = X[:, 0]
    refused(ValueError, "X must hold real numbers, got object values in columns 1", mixed)
    refused(ValueError, "got object values in columns 0, 1, 2; encode", X.astype(object))
    refused(ValueError, "X must hold real numbers, got <U1 values in columns 0", [["a"], ["b"]])
    refused(ValueError, "got complex128 values in columns 0, 1, 2", X * 1j)


def test_truth_values_and_nullable_columns_are_numbers() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["flag"] = np.arange(N) % 3 == 0
    frame["count"] = pd.array(np.arange(N) % 7, dtype="Int64")
    model = fit(frame)
    assert model._rows.X.dtype == np.float64
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "flag", "count"]


def test_the_integer_that_r_calls_missing() -> None:
    refused(ValueError, "X holds -2147483648, R's NA_integer_", np.full((N, 1), -2147483648))
    refused(ValueError, "y holds -2147483648, R's NA_integer_", y=np.full(N, -2147483648))


# parameters


@pytest.mark.parametrize(
    ("kw", "error", "message"),
    [
        ({"q": 0}, ValueError, "q=0 must lie strictly between 0 and 1"),
        ({"q": 1.0}, ValueError, "q=1 must lie strictly between 0 and 1"),
        ({"q": -0.1}, ValueError, "q=-0.1 must lie strictly between 0 and 1"),
        ({"q": np.nan}, ValueError, "q=nan must be finite"),
        ({"q": "0.1"}, TypeError, "q must be a number, got '0.1' (str)"),
        ({"q": True}, TypeError, "q must be a number, got True (bool)"),
        (
            {"pi0": 0.0},
            ValueError,
            "pi0=0 must lie in (0, 1], or be one of 'conservative', 'plugin', 'auto'",
        ),
        ({"pi0": 1.01}, ValueError, "pi0=1.01 must lie in (0, 1], or be one of"),
        ({"pi0": "none"}, ValueError, "pi0='none' must be one of 'conservative', 'plugin'"),
        ({"pi0": None}, TypeError, "pi0 must be a number, got None"),
        (
            {"control": "bayes"},
            ValueError,
            "control='bayes' must be one of 'auto', 'model', 'calibrated', 'published'",
        ),
        (
            {"overlap_action": "drop"},
            ValueError,
            "overlap_action='drop' must be one of 'warn', 'trim', 'raise'",
        ),
        (
            {"missing": "mean"},
            ValueError,
            "missing='mean' must be one of 'raise', 'drop', 'impute'",
        ),
        ({"overlap": 0.5}, ValueError, "overlap=0.5 must lie in [0, 0.5)"),
        ({"overlap": -0.1}, ValueError, "overlap=-0.1 must lie in [0, 0.5)"),
        ({"randomized": 1}, TypeError, "randomized must be True or False, got 1 (int)"),
        ({"verbose": None}, TypeError, "verbose must be True or False, got None"),
        ({"standardize": "yes"}, TypeError, "standardize must be True or False, got 'yes'"),
        ({"n_bootstrap": -1}, ValueError, "n_bootstrap=-1 must be at least 0"),
        ({"n_bootstrap": 1.5}, TypeError, "n_bootstrap must be a whole number, got 1.5"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0 must be at least 1, or negative to count"),
        ({"n_jobs": "2"}, TypeError, "n_jobs must be a whole number, got '2'"),
        ({"random_state": "a"}, TypeError, "random_state must be a whole number"),
        ({"propensity_model": object}, TypeError, "propensity_model must be a scikit-learn class"),
        ({"propensity_model": 3}, TypeError, "propensity_model must be a scikit-learn class"),
    ],
)
def test_parameters_out_of_range(kw: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(error, message, **kw)


def test_propensity_models_without_probabilities() -> None:
    from sklearn.svm import LinearSVC

    refused(
        TypeError,
        "propensity_model=LinearSVC() has no predict_proba",
        propensity_model=LinearSVC(),
    )


@pytest.mark.parametrize("q", [0, 1, 1.5, np.nan])
def test_select_refuses_rates_outside_the_unit_interval(q: float) -> None:
    with pytest.raises(ValueError, match="q="):
        fit().select(q)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_levels_outside_the_unit_interval(level: float) -> None:
    with pytest.raises(ValueError, match=f"level={level} must lie strictly between 0 and 1"):
        fit().estimand_interval(level=level)


def test_nothing_to_select_is_an_empty_array_without_a_word() -> None:
    r = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(y=r.normal(size=N) * 0.1)
        for control in ("auto", "model", "calibrated", "published"):
            chosen = model.select(0.01, control)
            assert chosen.shape == (0,)
            assert chosen.dtype == np.int64
        assert model.estimated_fdr_ == 0.0


# what R sends


def test_numbers_as_r_sends_them() -> None:
    model = fit(
        np.asfortranarray(X),
        Y.tolist(),
        T.astype(float).tolist(),
        random_state=0.0,
        n_bootstrap=3.0,
        n_jobs=1.0,
    )
    assert model.seed_ == 0
    np.testing.assert_array_equal(model.select(), fit().select())
    assert model.estimand_interval(subset=[1.0, 3.0]).n == 2
    assert model.estimand_interval(subset=1.0).n == 1


# new rows


def test_new_rows_are_checked_like_the_old() -> None:
    model = fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    frame = pd.DataFrame(X[:5], columns=["a", "b", "c"])
    assert model.lfdr(frame, Y[:5]).shape == (5,)
    assert model.predict_effect(frame).shape == (5, 2)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_prior(frame[["c", "b", "a"]])
    plain = fit()
    for call, error, message in (
        (lambda: plain.predict_prior(X[:, :2]), ValueError, "has 2 features, but"),
        (lambda: plain.predict_prior(X[0]), ValueError, "X.reshape(1, -1) for one row"),
        (lambda: plain.predict_effect(sparse.csr_array(X)), TypeError, "X must be dense"),
        (
            lambda: plain.lfdr(X[:4], Y[:3]),
            ValueError,
            "X and y must have one row per sample, got shapes (4, 3) and (3,)",
        ),
        (lambda: plain.lfdr(X[:4], np.zeros((4, 2))), TypeError, "times to an event"),
        (
            lambda: plain.predict_prior(np.where(np.arange(3) == 1, np.nan, X[:4])),
            ValueError,
            "X has missing or infinite values in 4 rows, the first is row 0, counted from 0",
        ),
        (
            lambda: plain.lfdr(X[:2], [np.nan, 0.0]),
            ValueError,
            "y has missing or infinite values in 1 rows, the first is row 0, counted from 0",
        ),
    ):
        with pytest.raises(error, match=re.escape(message)):
            call()


def test_new_rows_with_gaps_stay_nan_where_gaps_are_dropped() -> None:
    model = fit(missing="drop")
    x = X[:4].copy()
    x[1, 2] = np.nan
    assert np.isnan(model.predict_prior(x)).tolist() == [False, True, False, False]
    assert np.isnan(model.predict_effect(x)).tolist() == [
        [False] * 2,
        [True] * 2,
        *[[False] * 2] * 2,
    ]
    out = model.lfdr(x, [0.0, 0.0, np.nan, 3.0])
    assert np.isnan(out).tolist() == [False, True, True, False]
    np.testing.assert_array_equal(out[[0, 3]], fit().lfdr(X[[0, 3]], [0.0, 3.0]))


def test_overlap_warning_is_of_the_package() -> None:
    for category in (OverlapWarning, SmallSampleWarning):
        assert issubclass(category, NB26StatsWarning)
