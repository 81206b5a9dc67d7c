"""The covariance of Oja's error by the linear theory, against its recursion and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nb26stats
from nb26stats import oja_asymptotic_covariance
from nb26stats.r import to_r

VALUES = np.array([4.0, 2.0, 1.0, 0.5])
TURN = np.linalg.qr(np.random.default_rng(7).normal(size=(4, 4)))[0]


def recursion(values: np.ndarray, k: int, steps: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The whole covariance of the vectorised error, one row after the other.

    ``m`` holds E[z_i z_i' s_j s_j'] at [i, j, i', j'].
    """
    out = np.zeros_like(m)
    for eta in steps:
        rho = (1 + eta * values[k:, None]) / (1 + eta * values[:k])
        lead = np.broadcast_to(1 + eta * values[:k], rho.shape)
        pair = np.einsum("ij,kl->ijkl", lead, lead)
        out = np.einsum("ij,kl->ijkl", rho, rho) * out + eta**2 * m / pair
    return out


def gaussian_moments(values: np.ndarray, k: int) -> np.ndarray:
    """Fourth moments of independent Gaussian scores, by Isserlis' theorem."""
    tail, lead = np.diag(values[k:]), np.diag(values[:k])
    return np.einsum("ac,bd->abcd", tail, lead)


SCHEDULES: list[Any] = [
    np.full(700, 0.01),
    1.5 / (100 + np.arange(1, 700)),
    0.3 * np.random.default_rng(0).uniform(0.001, 1, size=300),
]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("steps", SCHEDULES, ids=["constant", "decay", "any"])
def test_it_is_the_recursion(k: int, steps: np.ndarray) -> None:
    whole = recursion(VALUES, k, steps, gaussian_moments(VALUES, k))
    size = (4 - k) * k
    flat = whole.reshape(size, size)
    # the entries stay uncorrelated, so that their variances say everything
    np.testing.assert_array_equal(flat, np.diag(np.diag(flat)))
    found = oja_asymptotic_covariance(TURN @ np.diag(VALUES) @ TURN.T, k, steps)
    np.testing.assert_allclose(found.entry_variance.ravel(), np.diag(flat), rtol=1e-10)
    assert found.expected_error == pytest.approx(float(np.trace(flat)), rel=1e-10)
    np.testing.assert_allclose(found.eigenvalues, VALUES, rtol=1e-12)
    rows = np.einsum("ri,ijkl,rk->rjl", TURN[:, k:], whole, TURN[:, k:])
    np.testing.assert_allclose(found.row_covariance, rows, rtol=1e-9, atol=1e-18)
    assert found.n == len(steps)


def test_one_step_is_an_array_of_equal_steps() -> None:
    one = oja_asymptotic_covariance(np.diag(VALUES), 2.0, 0.01, n=1500.0, kurtosis=2)  # type: ignore[arg-type]
    many = oja_asymptotic_covariance(np.diag(VALUES), 2, [0.01] * 1500)
    np.testing.assert_allclose(one.entry_variance, 2 * many.entry_variance, rtol=1e-12)
    np.testing.assert_allclose(one.row_covariance, 2 * many.row_covariance, rtol=1e-12)
    given_n = oja_asymptotic_covariance(pd.DataFrame(np.diag(VALUES)), 2, [0.01] * 1500, n=1500)
    np.testing.assert_array_equal(given_n.entry_variance, many.entry_variance)


def test_pieces_of_a_long_schedule_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 2.0 / (5 + np.arange(1, 4001))
    whole = oja_asymptotic_covariance(np.diag(VALUES), 2, steps)
    monkeypatch.setattr("nb26stats.streaming._asymptotic.PIECE", 28)
    np.testing.assert_allclose(
        oja_asymptotic_covariance(np.diag(VALUES), 2, steps).entry_variance,
        whole.entry_variance,
        rtol=1e-12,
    )


@given(
    values=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=6, unique=True),
    k=st.integers(1, 5),
    scale=st.floats(1e-4, 10.0),
    n=st.integers(1, 60),
)
def test_any_spectrum(values: list[float], k: int, scale: float, n: int) -> None:
    spectrum = np.sort(values)[::-1]
    k = min(k, len(values) - 1)
    assume(spectrum[k - 1] - spectrum[k] > 1e-6 * spectrum[0])
    steps = scale / spectrum[0] * np.linspace(1, 0.2, n)
    whole = recursion(spectrum, k, steps, gaussian_moments(spectrum, k))
    found = oja_asymptotic_covariance(np.diag(spectrum), k, steps)
    size = found.entry_variance.size
    np.testing.assert_allclose(
        found.entry_variance.ravel(), np.diag(whole.reshape(size, size)), rtol=1e-8
    )


def test_the_inverse_gap_over_t_reaches_batch_pca() -> None:
    n = 200_000
    values = np.array([4.0, 2.0, 2.0])
    found = oja_asymptotic_covariance(np.diag(values), 1, 0.5 / np.arange(1, n + 1))
    batch = values[1:] * values[0] / (n * (values[0] - values[1:]) ** 2)
    np.testing.assert_allclose(found.entry_variance[:, 0], batch, rtol=1e-3)
    # a step constant a costs a^2 / (2 a gap - 1) of the variance at its best
    other = oja_asymptotic_covariance(np.diag(values), 1, 1.0 / np.arange(1, n + 1))
    np.testing.assert_allclose(other.entry_variance[:, 0], batch * 4 / 3, rtol=1e-3)


def test_the_constant_step_settles() -> None:
    found = oja_asymptotic_covariance(np.diag(VALUES), 2, 1e-4, n=10**12)
    gap = VALUES[:2] - VALUES[2:, None]
    settled = 1e-4 * VALUES[2:, None] * VALUES[:2] / (2 * gap)
    np.testing.assert_allclose(found.entry_variance, settled, rtol=1e-3)
    # a step too small to move the last digit still adds up
    tiny = oja_asymptotic_covariance(np.diag(VALUES), 2, 1e-250, n=10)
    assert np.isfinite(tiny.entry_variance).all()
    small = oja_asymptotic_covariance(np.diag(VALUES), 2, 1e-30, n=10)
    np.testing.assert_allclose(
        small.entry_variance, 1e-59 * VALUES[2:, None] * VALUES[:2], rtol=1e-12
    )


def simulate(
    k: int, steps: np.ndarray, runs: int, seed: int, elliptical: float | None = None
) -> np.ndarray:
    """Errors U_tail' W (U_lead' W)^-1 of many runs side by side, (runs, d - k, k)."""
    rng = np.random.default_rng(seed)
    d = len(VALUES)
    w = np.broadcast_to(np.eye(d)[:, :k], (runs, d, k)).copy()
    for eta in steps:
        y = rng.normal(size=(runs, d)) * np.sqrt(VALUES)
        if elliptical is not None:
            # multivariate t with the same covariance
            y *= np.sqrt((elliptical - 2) / rng.chisquare(elliptical, size=(runs, 1)))
        w += eta * y[:, :, None] * (y[:, None, :] @ w)
        if k > 1:
            w = np.linalg.qr(w)[0]
        else:
            w /= np.linalg.norm(w, axis=1, keepdims=True)
    return np.asarray(w[:, k:] @ np.linalg.inv(w[:, :k]))


def test_v14_constant_step() -> None:
    runs, steps = 4000, np.full(1500, 0.01)
    errors = simulate(1, steps, runs, seed=0)
    found = oja_asymptotic_covariance(np.diag(VALUES), 1, 0.01, n=1500)
    ratio = np.mean(errors**2, axis=0) / found.entry_variance
    print("V14 entry variances, simulated / theory:", ratio.ravel().round(3))
    # a ratio of 4000 runs has a standard error of sqrt(2 / 4000) = 0.022
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)
    assert found.expected_error == pytest.approx(found.entry_variance.sum(), rel=1e-12)
    sines = np.sum(errors**2, axis=(1, 2))
    sines = sines / (1 + sines)
    # the squared sine is below the squared tangent of the linear theory by its own order
    assert np.mean(sines) == pytest.approx(found.expected_error, rel=0.05 + found.expected_error)


@pytest.mark.slow
def test_decaying_step_with_two_components() -> None:
    steps = 1.5 / (100 + np.arange(1, 4001))
    errors = simulate(2, steps, 3000, seed=1)
    found = oja_asymptotic_covariance(np.diag(VALUES), 2, steps)
    ratio = np.mean(errors**2, axis=0) / found.entry_variance
    print("decay, simulated / theory:", ratio.ravel().round(3))
    # standard error sqrt(2 / 3000) = 0.026, four ratios
    np.testing.assert_allclose(ratio, 1.0, atol=3 * 0.026)
    flat = errors.reshape(len(errors), -1)
    off = np.corrcoef(flat.T) - np.eye(4)
    assert np.abs(off).max() < 4 / np.sqrt(3000)


@pytest.mark.slow
def test_kurtosis_of_elliptical_rows() -> None:
    nu, runs = 12.0, 6000
    steps = np.full(800, 0.004)
    errors = simulate(1, steps, runs, seed=2, elliptical=nu)
    found = oja_asymptotic_covariance(
        np.diag(VALUES), 1, 0.004, n=800, kurtosis=(nu - 2) / (nu - 4)
    )
    ratio = np.mean(errors**2, axis=0) / found.entry_variance
    print("elliptical, simulated / theory:", ratio.ravel().round(3))
    np.testing.assert_allclose(ratio, 1.0, atol=4 * np.sqrt(2 / runs))


def test_all_directions_kept() -> None:
    found = oja_asymptotic_covariance([[2.0]], 1, 0.1, n=5)
    assert found.entry_variance.shape == (0, 1)
    assert found.expected_error == 0
    np.testing.assert_array_equal(found.row_covariance, np.zeros((1, 1, 1)))
    assert oja_asymptotic_covariance(np.eye(3), 3, [0.1, 0.2]).expected_error == 0
    # what a matrix of one number becomes on its way from R
    assert oja_asymptotic_covariance(2.0, 1, 0.1, n=5).eigenvalues.tolist() == [2.0]


EYE = np.eye(3)
GOOD = np.diag([3.0, 2.0, 1.0])
BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (np.ones((2, 3)), {}, ValueError, "cov must be a square matrix, got shape (2, 3)"),
    (np.ones(3), {}, ValueError, "cov must be a square matrix, got shape (3,)"),
    (np.empty((0, 0)), {}, ValueError, "cov must be a square matrix, got shape (0, 0)"),
    ([["a"]], {}, TypeError, "cov must hold real numbers"),
    ([[1, 2], [3]], {}, ValueError, "cov must have rows of one length"),
    (np.ma.masked_equal(GOOD, GOOD[0, 0]), {}, ValueError, "cov must hold finite numbers only"),
    (GOOD * 1j, {}, TypeError, "cov must hold real numbers, got complex128"),
    (GOOD * np.nan, {}, ValueError, "cov must hold finite numbers"),
    (GOOD + np.triu(EYE + 1e-3), {}, ValueError, "cov must be symmetric, got 0.001 at (0, 1) and"),
    (np.diag([3.0, 2.0, -1.0]), {}, ValueError, "negative eigenvalues, its smallest is -1"),
    (np.zeros((3, 3)), {"n_components": 3}, ValueError, "cov must have a positive eigenvalue"),
    (np.diag([3.0, 2.0, 2.0]), {"n_components": 2}, ValueError, "eigenvalues 2 and 3 of cov are"),
    (GOOD, {"n_components": 0}, ValueError, "n_components=0 must lie in [1, n_features=3]"),
    (GOOD, {"n_components": 4}, ValueError, "n_components=4 must lie in [1, n_features=3]"),
    (GOOD, {"n_components": True}, TypeError, "n_components must be a whole number"),
    (GOOD, {"eta": 0.0}, ValueError, "eta=0 must be positive and finite"),
    (GOOD, {"eta": np.inf}, ValueError, "eta=inf must be positive and finite"),
    (GOOD, {"eta": [0.1, -0.1], "n": None}, ValueError, "eta=-0.1 at row 2 must be positive"),
    (GOOD, {"eta": [], "n": None}, ValueError, "eta must hold at least one step"),
    (GOOD, {"eta": "fast"}, TypeError, "eta must hold real numbers"),
    (GOOD, {"eta": 1e308}, ValueError, "overflows"),
    (GOOD, {"n": None}, ValueError, "one step eta needs n"),
    (GOOD, {"n": 0}, ValueError, "n=0 must lie in [1,"),
    (GOOD, {"n": 2.5}, TypeError, "n must be a whole number, got 2.5"),
    (GOOD, {"eta": [0.1, 0.1], "n": 3}, ValueError, "eta has 2 steps but n=3"),
    (GOOD, {"kurtosis": 0.5}, ValueError, "kurtosis=0.5 must be at least"),
    (GOOD, {"kurtosis": -1}, ValueError, "kurtosis=-1 must be greater than 0"),
    (GOOD, {"kurtosis": "high"}, TypeError, "kurtosis must be a number"),
]


@pytest.mark.parametrize(("cov", "change", "kind", "text"), BAD, ids=[b[3][:40] for b in BAD])
def test_bad_input(cov: Any, change: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        oja_asymptotic_covariance(cov, **{"n_components": 1, "eta": 0.1, "n": 10, **change})
    assert text in str(caught.value)


def test_rounding_of_a_sample_covariance_is_no_error() -> None:
    x = np.random.default_rng(0).normal(size=(5, 8))
    found = oja_asymptotic_covariance(np.cov(x.T), 2, 0.01, n=100)
    assert found.eigenvalues.min() >= 0
    # below d / (d + 2) no law can be; at it lies the uniform law on a sphere
    assert oja_asymptotic_covariance(GOOD, 1, 0.1, n=5, kurtosis=3 / 5).expected_error > 0


def test_huge_steps_lead_to_the_last_row() -> None:
    values = np.array([4.0, 2.0, 1.0, 0.0])
    # one row of a huge step leaves noise of variance a / b and of the start nothing of direction 4
    for step in (1e17, 1e300):
        one = oja_asymptotic_covariance(np.diag(values), 1, step, n=50)
        many = oja_asymptotic_covariance(np.diag(values), 1, np.full(50, step))
        np.testing.assert_allclose(one.entry_variance, many.entry_variance, rtol=1e-12)
        ratio = (values[1:3] / values[0]) ** 2
        expected = values[1:3] / values[0] / (1 - ratio)
        np.testing.assert_allclose(one.entry_variance[:2, 0], expected, rtol=1e-12)
        assert one.entry_variance[2, 0] == 0


def test_forms_of_the_result() -> None:
    found = oja_asymptotic_covariance(np.diag(VALUES), 2, 0.01, n=1500)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["component", "tail", "variance", "standard_error"]
    assert frame["component"].tolist() == [0, 0, 1, 1]
    assert frame["tail"].tolist() == [2, 3, 2, 3]
    np.testing.assert_array_equal(frame["variance"], found.entry_variance.T.ravel())
    np.testing.assert_allclose(frame["standard_error"] ** 2, frame["variance"])
    text = found.summary()
    assert f"{found.expected_error:.4g}" in text
    assert "1500" in text
    assert "too large" not in text
    assert repr(found) == text
    assert "<pre>" in found._repr_html_()
    plain = to_r(found)
    assert plain["row_covariance"]["dim"] == [4, 2, 2]
    assert plain["n"] == 1500
    assert "too large" in oja_asymptotic_covariance(np.diag(VALUES), 2, 0.5, n=100).summary()
    with pytest.raises(AttributeError):
        found.n = 3  # type: ignore[misc]
    assert "oja_asymptotic_covariance" in nb26stats.streaming.__all__
