"""The mean of the controls against explicit refits: kernels, random features, cross-fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import c2g_additive as slow
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from nb26stats.causal import _random_features
from nb26stats.causal._gcv import choose_penalty, loo_residuals
from nb26stats.causal._krr import fit_kernel_ridge
from nb26stats.causal._null_regression import fit_null
from nb26stats.causal._random_features import draw_features, fit_feature_ridge

N = 60


def rows(n: int = N, p: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, p))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, -1] ** 2 + 0.3 * r.normal(size=n) + 2, r


def test_left_out_rows_are_predicted_as_by_refits() -> None:
    x, y, _ = rows()
    fit = fit_kernel_ridge(x, y)
    expected = slow.leave_one_out(x, y, fit.bandwidth, fit.penalty)
    np.testing.assert_allclose(fit.loo, expected, rtol=1e-9)


def test_settings_have_the_least_score() -> None:
    x, y, _ = rows()
    fit = fit_kernel_ridge(x, y)
    scores = {
        (b, penalty): slow.gcv(x, y, b, penalty)
        for b in slow.median_distance(x) * slow.WIDTHS
        for penalty in slow.PENALTIES
    }
    best = min(scores, key=lambda setting: scores[setting])
    assert (fit.bandwidth, fit.penalty) == pytest.approx(best)
    assert fit.score == pytest.approx(scores[best], rel=1e-8)


def test_new_rows_are_predicted_by_the_linear_system() -> None:
    x, y, r = rows()
    new = r.normal(size=(7, 3))
    fit = fit_kernel_ridge(x, y)
    expected = y.mean() + slow.kernel_ridge(x, y - y.mean(), new, fit.bandwidth, fit.penalty)
    np.testing.assert_allclose(fit.predict(new), expected, rtol=1e-9)
    assert fit.predict(new[:0]).shape == (0,)


def test_many_rows_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, r = rows()
    new = r.normal(size=(50, 3))
    fit = fit_kernel_ridge(x, y)
    whole = fit.predict(new)
    monkeypatch.setattr("nb26stats.causal._krr.BLOCK", 7)
    np.testing.assert_allclose(fit.predict(new), whole, rtol=1e-12)


def test_a_count_is_so_many_copies_that_are_left_out_together() -> None:
    x, y, r = rows(40)
    counts = r.integers(1, 4, size=40).astype(float)
    fit = fit_kernel_ridge(x, y, counts)
    assert fit.centre == pytest.approx(np.average(y, weights=counts))
    copies = np.repeat(np.arange(40), counts.astype(int))
    new = r.normal(size=(5, 3))

    def predicted(train: Any, at: Any) -> Any:
        centred = y[train] - fit.centre
        return fit.centre + slow.kernel_ridge(x[train], centred, at, fit.bandwidth, fit.penalty)

    np.testing.assert_allclose(fit.predict(new), predicted(copies, new), rtol=1e-8)
    for i in range(40):
        expected = predicted(copies[copies != i], x[i : i + 1])
        assert fit.loo[i] == pytest.approx(expected[0], rel=1e-8)


def test_rows_that_coincide() -> None:
    # more than half of the distances are zero
    x = np.repeat([[0.0], [1.0]], [50, 5], axis=0)
    y = np.r_[np.zeros(50), np.ones(5)] + 0.01 * np.arange(55)
    fit = fit_kernel_ridge(x, y)
    expected = slow.leave_one_out(x, y, fit.bandwidth, fit.penalty)
    np.testing.assert_allclose(fit.loo, expected, rtol=1e-8)
    same = fit_kernel_ridge(np.zeros((30, 1)), y[:30])
    np.testing.assert_allclose(same.predict(np.zeros((2, 1))), y[:30].mean(), rtol=1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 25), st.floats(-4, 4), st.floats(-3, 3))
def test_leave_one_out_of_any_smoother(seed: int, n: int, log_penalty: float, width: float) -> None:
    x, y, _ = rows(n, 2, seed)
    penalty, bandwidth = 10.0**log_penalty, 10.0**width
    k = slow.kernel(x, x, bandwidth)
    values, q = np.linalg.eigh(k)
    centred = y - y.mean()
    found = loo_residuals(q, np.maximum(values, 0), centred, penalty)
    hat = k @ np.linalg.inv(k + penalty * np.eye(n))
    expected = (centred - hat @ centred) / (1 - np.diag(hat))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_a_narrow_kernel_loses_no_digits() -> None:
    """Rows without neighbours fit themselves, and what is left over is one part in 100,000."""
    y = np.array([1.0, -2.0, 3.0])
    found = loo_residuals(np.eye(3), np.ones(3), y, 1e-12)
    np.testing.assert_allclose(found, y, rtol=1e-12)


def test_a_penalty_is_chosen_with_what_no_feature_explains() -> None:
    values, along = np.array([4.0, 1.0]), np.array([2.0, -1.0])
    penalty, score = choose_penalty(values, along, 10, 3.0)
    expected = [
        10 * (((c / (values + c)) * along) ** 2).sum() + 30.0 for c in slow.PENALTIES
    ] / np.array([(10 - (values / (values + c)).sum()) ** 2 for c in slow.PENALTIES])
    assert penalty == pytest.approx(slow.PENALTIES[expected.argmin()])
    assert score == pytest.approx(expected.min())


@pytest.mark.parametrize(("n", "m"), [(80, 15), (30, 60)])
def test_feature_ridge_is_the_ridge_of_its_features(
    n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, r = rows(n)
    monkeypatch.setattr(_random_features, "N_FEATURES", m)
    counts = r.integers(1, 3, size=n).astype(float)
    fit = fit_feature_ridge(x, y, counts, rng=np.random.default_rng(1))
    phi = fit.features(x)[:, 1:]
    copies = np.repeat(np.arange(n), counts.astype(int))

    def coef(train: Any) -> Any:
        a = phi[train].T @ phi[train] + fit.penalty * np.eye(phi.shape[1])
        return np.linalg.solve(a, phi[train].T @ (y[train] - fit.centre))

    new = r.normal(size=(4, 3))
    expected = fit.centre + fit.features(new)[:, 1:] @ coef(copies)
    np.testing.assert_allclose(fit.predict(new), expected, rtol=1e-6)
    for i in range(0, n, 7):
        left_out = fit.centre + phi[i] @ coef(copies[copies != i])
        assert fit.loo[i] == pytest.approx(left_out, rel=1e-5)


def test_features_stand_for_their_kernel() -> None:
    x = np.random.default_rng(0).normal(size=(20, 4))
    found = draw_features(4, 20_000, 3.0, np.random.default_rng(1))
    waves = found(x)[:, 5:]
    # cosines with random phases have the kernel as mean product; 1 / sqrt(20,000) is .007
    np.testing.assert_allclose(waves @ waves.T, slow.kernel(x, x, 3.0), atol=0.04)
    np.testing.assert_array_equal(found(x)[:, :5], np.column_stack([np.ones(20), x]))
    assert draw_features(0, 10, 1.0, np.random.default_rng(1))(np.zeros((3, 0))).shape == (3, 1)


def test_many_features_come_near_the_kernel() -> None:
    x, y, r = rows(400, 2)
    new = r.normal(size=(100, 2))
    kernel = fit_kernel_ridge(x, y).predict(new)
    features = fit_feature_ridge(x, y, rng=np.random.default_rng(1)).predict(new)
    truth = np.sin(new[:, 0]) + 0.5 * new[:, 1] ** 2 + 2
    spread = np.sqrt(np.mean((kernel - truth) ** 2))
    assert np.sqrt(np.mean((features - truth) ** 2)) < 1.5 * spread


NULL = {"max_kernel_n": 100, "n_folds": 5, "seed": 3, "n_jobs": None}


def test_which_regression_takes_over_when() -> None:
    x, y, _ = rows(100)
    ones = np.ones(101)
    assert "Kernel" in type(fit_null(x, y, ones[:100], model="krr", **NULL)).__name__
    x, y, _ = rows(101)
    assert "Feature" in type(fit_null(x, y, ones, model="krr", **NULL)).__name__


def test_without_covariates_the_others_have_a_mean() -> None:
    y = np.array([1.0, 2.0, 6.0])
    fit = fit_null(np.zeros((3, 0)), y, np.array([1.0, 1.0, 2.0]), model="krr", **NULL)
    np.testing.assert_allclose(fit.loo, [14 / 3, 13 / 3, 3 / 2])
    np.testing.assert_allclose(fit.predict(np.zeros((2, 0))), 15 / 4)


def test_a_model_of_the_users_is_cross_fitted() -> None:
    x, y, _ = rows()
    fit = fit_null(x, y, np.ones(N), model=LinearRegression(), **NULL)
    assert len(fit.models) == 5
    by_fold = np.array([m.predict(x) for m in fit.models])
    np.testing.assert_allclose(fit.predict(x), by_fold.mean(axis=0))
    # every fold's copy has seen four fifths, and each row is told by one that has not seen it
    told = [np.flatnonzero(np.isclose(by_fold[:, i], fit.loo[i], rtol=1e-12)) for i in range(N)]
    assert all(len(k) == 1 for k in told)
    fold = np.array([k[0] for k in told])
    assert np.bincount(fold).tolist() == [12] * 5
    for k in range(5):
        alone = LinearRegression().fit(x[fold != k], y[fold != k])
        np.testing.assert_allclose(alone.predict(x[fold == k]), fit.loo[fold == k])
    assert fit.predict(x[:0]).shape == (0,)


def test_copies_of_a_row_are_in_one_fold() -> None:
    """A tree repeats what it has seen, so that a copy in the other folds would show."""
    x, y, _ = rows()
    counts = np.where(np.arange(N) % 2, 3.0, 1.0)
    fit = fit_null(x, y, counts, model=DecisionTreeRegressor(random_state=0), **NULL)
    assert not np.isclose(fit.loo, y).any()


def test_models_get_random_states_of_their_own() -> None:
    x, y, _ = rows()
    model = DecisionTreeRegressor(max_features=1, splitter="random")
    a, b = (fit_null(x, y, np.ones(N), model=model, **NULL) for _ in range(2))
    np.testing.assert_array_equal(a.loo, b.loo)
    other = fit_null(x, y, np.ones(N), model=model, **{**NULL, "seed": 4})
    assert (a.loo != other.loo).any()


class Nothing(Ridge):
    """A regressor whose predictions are no numbers."""

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


def test_predictions_that_are_no_numbers() -> None:
    x, y, _ = rows()
    with pytest.raises(ValueError, match="outcome_model predicted values that are not finite"):
        fit_null(x, y, np.ones(N), model=Nothing(), **NULL)


@pytest.mark.parametrize("limit", [1000, 10])
def test_jobs_give_the_same_bits(limit: int) -> None:
    x, y, _ = rows(150)
    one, two = (
        fit_null(
            x, y, np.ones(150), model="krr", **{**NULL, "max_kernel_n": limit, "n_jobs": n_jobs}
        )
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.loo, two.loo)
    np.testing.assert_array_equal(one.predict(x[:9]), two.predict(x[:9]))
