"""Psychometric curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learning_tools import mouse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import _psychometric, fit_psychometric

F64 = Any
LEVELS = np.array([-1.0, -0.5, -0.25, -0.12, 0.0, 0.12, 0.25, 0.5, 1.0])


def _choices(theta: tuple[float, float, float, float], n: int, seed: int = 0) -> tuple[F64, F64]:
    threshold, slope, low, high = theta
    c = np.repeat(LEVELS, n)
    p = low + (1 - low - high) * expit(slope * (c - threshold))
    return c, (np.random.default_rng(seed).random(c.size) < p).astype(int)


def _loglik(c: F64, a: F64, theta: Any) -> float:
    threshold, slope, low, high = theta
    p = low + (1 - low - high) * expit(slope * (c - threshold))
    return float(np.log(np.where(a == 1, p, 1 - p)).sum())


@pytest.mark.parametrize(
    "theta", [(0.05, 8.0, 0.1, 0.05), (-0.2, 4.0, 0.0, 0.2), (0.1, -6.0, 0.1, 0.1)]
)
def test_known_curves_come_back(theta: tuple[float, float, float, float]) -> None:
    c, a = _choices(theta, 4000)
    fit = fit_psychometric(c, a)
    got = (fit.threshold, fit.slope, fit.lapse_low, fit.lapse_high)
    # about four standard errors at 4000 trials per contrast
    np.testing.assert_allclose(got, theta, atol=0.06, rtol=0.12)
    assert fit.converged
    assert fit.undetermined == ()
    np.testing.assert_allclose(fit.loglik, _loglik(c, a, got), rtol=1e-12)
    assert fit.loglik >= _loglik(c, a, theta)


def test_gradient() -> None:
    c, a = _choices((0.05, 8.0, 0.1, 0.05), 20)
    n = np.full(LEVELS.size, 20.0)
    k = a.reshape(LEVELS.size, 20).sum(axis=1).astype(float)
    for theta in ([0.1, 5.0, 0.05, 0.2], [-0.3, -9.0, 0.3, 0.01], [0.2, 2.0, 0.1, 0.1]):
        at = np.array(theta)
        loss, gradient = _psychometric._loss(at, LEVELS, n, k)
        np.testing.assert_allclose(loss, -_loglik(c, a, theta), rtol=1e-12)
        for i in range(4):
            d = np.zeros(4)
            d[i] = 1e-6
            numeric = (
                _psychometric._loss(at + d, LEVELS, n, k)[0]
                - _psychometric._loss(at - d, LEVELS, n, k)[0]
            ) / 2e-6
            np.testing.assert_allclose(gradient[i], numeric, rtol=1e-5, atol=1e-5)


def test_real_mouse_is_no_worse_than_a_global_search() -> None:
    from scipy.optimize import differential_evolution

    trials = mouse("DAP009").tail(1000)
    c, a = trials["signed_contrast"].to_numpy(), trials["choice_right"].to_numpy()
    fit = fit_psychometric(c, a)
    search = differential_evolution(
        lambda t: -_loglik(c, a, t),
        [(-1, 1), (-50, 50), (1e-9, 0.4), (1e-9, 0.4)],
        rng=0,
        maxiter=60,
    )
    assert fit.converged
    assert fit.loglik >= -search.fun - 1e-4


def test_without_lapses_it_is_a_logistic_regression() -> None:
    from scipy.optimize import minimize

    c, a = _choices((0.1, 5.0, 0.0, 0.0), 100)
    fit = fit_psychometric(c, a, lapses=False)
    best = minimize(
        lambda w: float(np.logaddexp(0, w[0] + w[1] * c).sum() - a @ (w[0] + w[1] * c)), [0.0, 0.0]
    )
    np.testing.assert_allclose((-fit.slope * fit.threshold, fit.slope), best.x, rtol=1e-4)
    assert (fit.lapse_low, fit.lapse_high) == (0.0, 0.0)
    assert fit.loglik <= fit_psychometric(c, a).loglik + 1e-9


@pytest.mark.parametrize("lapses", [True, False])
@pytest.mark.parametrize(
    ("a", "name"),
    [
        (lambda c: c > 0, "slope"),
        (lambda c: c < 0, "slope"),
        (lambda c: np.ones_like(c), "threshold"),
        (lambda c: np.arange(c.size) // 4 % 2, "threshold"),
    ],
    ids=["perfect", "reversed", "one side", "chance"],
)
def test_choices_that_do_not_determine_a_curve(a: Any, name: str, lapses: bool) -> None:
    c = np.tile([-0.5, -0.25, 0.25, 0.5], 50)
    with pytest.warns(ConvergenceWarning, match="do not determine the"):
        fit = fit_psychometric(c, a(c), lapses=lapses)
    assert name in fit.undetermined
    assert np.isfinite(fit.loglik)


def test_result() -> None:
    c, a = _choices((0.05, 8.0, 0.1, 0.05), 200)
    fit = fit_psychometric(c, a)
    table = fit.to_frame()
    assert table["n_trials"].tolist() == [200] * LEVELS.size
    assert table["n_right"].sum() == a.sum()
    assert abs(table["fitted"] - table["observed"]).max() < 0.1
    assert "threshold" in fit.summary()
    assert fit.to_r()["slope"] == fit.slope
    np.testing.assert_array_equal(fit.p_right(LEVELS), table["fitted"])
    order = np.random.default_rng(0).permutation(c.size)
    assert fit_psychometric(c[order], a[order]).to_r() == fit.to_r()


def test_mirror() -> None:
    c, a = _choices((0.05, 8.0, 0.1, 0.05), 200)
    fit, mirrored = fit_psychometric(c, a), fit_psychometric(-c, 1 - a)
    np.testing.assert_allclose(
        (mirrored.threshold, mirrored.slope, mirrored.lapse_low, mirrored.lapse_high),
        (-fit.threshold, fit.slope, fit.lapse_high, fit.lapse_low),
        atol=1e-3,
    )
    np.testing.assert_allclose(mirrored.loglik, fit.loglik, atol=1e-6)


@pytest.mark.parametrize(
    ("args", "kw", "error", "match"),
    [
        (([-0.5, 50.0], [1, 1]), {}, ValueError, "percent"),
        (([-0.5, 0.5], [1]), {}, ValueError, "choice has 1 values, but contrast has 2"),
        (([-0.5, 0.5], [1, 3]), {}, ValueError, "got 3 at trial 1"),
        (([0.5, 0.5], [1, 0]), {}, ValueError, "at least two values, it holds only 0.5"),
        (([], []), {}, ValueError, "it holds no trials"),
        (([-0.5, 0.5], [1, 0]), {"lapses": "yes"}, TypeError, "lapses must be True or False"),
    ],
)
def test_bad_input(args: Any, kw: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        fit_psychometric(*args, **kw)
