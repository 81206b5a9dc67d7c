"""Survival times as z-scores: against a direct computation, in units, on known hazards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm

from nb26stats import NonparametricC2G, survival_residual_z
from nb26stats._warnings import NB26StatsWarning


def study(n: int = 400, seed: int = 0, censored: bool = True) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    life = rng.exponential(np.exp(0.8 * X[:, 0])) * 10
    limit = rng.exponential(40, n) if censored else np.full(n, np.inf)
    return {
        "time": np.minimum(life, limit),
        "event": (life <= limit).astype(int),
        "X": X,
        "treatment": np.arange(n) % 2,
    }


def score(given: dict[str, Any], **how: Any) -> np.ndarray:
    return survival_residual_z(**{**given, **how})


def by_hand(given: dict[str, Any], penalizer: float) -> np.ndarray:
    """Newton's method on Breslow's likelihood, then sums over event times, all in loops."""
    t, d, own = given["time"], given["event"] == 1, given["treatment"] == 0
    x = (given["X"] - given["X"][own].mean(axis=0)) / given["X"][own].std(axis=0)
    n, p = own.sum(), x.shape[1]
    at_risk = [own & (t >= s) for s in t]
    beta = np.zeros(p)
    for _ in range(50):
        gradient, hessian = -n * penalizer * beta, -n * penalizer * np.eye(p)
        for i in np.flatnonzero(own & d):
            w = np.exp(x[at_risk[i]] @ beta)
            mean = w @ x[at_risk[i]] / w.sum()
            spread = (x[at_risk[i]] * w[:, None]).T @ x[at_risk[i]] / w.sum()
            gradient = gradient + x[i] - mean
            hessian = hessian - (spread - np.outer(mean, mean))
        beta = beta - np.linalg.solve(hessian, gradient)
    steps = np.unique(t[own & d])
    hazard = np.cumsum(
        [(own & d & (t == s)).sum() / np.exp(x[own & (t >= s)] @ beta).sum() for s in steps]
    )
    out = []
    for i in range(len(t)):
        alive = np.exp(-np.exp(x[i] @ beta) * hazard)
        mass = -np.diff(np.concatenate([[1.0], alive]))
        when = t[i]
        if not d[i] and (steps > when).any():
            later = np.append(mass[steps > when], alive[-1])
            when = later @ np.append(steps[steps > when], steps[-1]) / later.sum()
        k = (steps <= when).sum()
        out.append(norm.ppf(np.clip(1 - (alive[k - 1] if k else 1.0), 1e-10, 1 - 1e-10)))
    return np.array(out)


@pytest.mark.parametrize("penalizer", [0.0, 0.05, 3.0])
def test_is_the_direct_computation(penalizer: float) -> None:
    given = study(120)
    # events at one time, and a censored time at an event
    given["time"][[2, 4, 7]] = given["time"][2]
    np.testing.assert_allclose(
        score(given, penalizer=penalizer), by_hand(given, penalizer), rtol=0, atol=1e-5
    )


def test_units_and_order_do_not_matter() -> None:
    given = study()
    plain = score(given)
    months = score(given, time=given["time"] * 64, X=given["X"] * [7, -0.01] + 3)
    np.testing.assert_allclose(months, plain, atol=1e-6)
    turn = np.random.default_rng(1).permutation(400)
    turned = score({name: np.asarray(v)[turn] for name, v in given.items()})
    np.testing.assert_allclose(turned, plain[turn], atol=1e-6)
    frame = score(given, X=pd.DataFrame(given["X"]), event=given["event"] == 1)
    np.testing.assert_array_equal(frame, plain)


def test_scores_of_those_who_live_as_controls_do_are_normal() -> None:
    worst = 0.0
    for seed in range(5):
        given = study(1000, seed, censored=False)
        z = score(given)[given["treatment"] == 1]
        worst = max(worst, abs(np.corrcoef(z, given["X"][given["treatment"] == 1, 0])[0, 1]))
        assert kstest(z, "norm").pvalue > 1e-4
    # the standard error of a correlation of 500 pairs
    assert worst < 4 / np.sqrt(500)


def test_longer_lives_have_higher_scores_and_the_model_takes_them() -> None:
    given = study(600, 3)
    longer = np.where((given["treatment"] == 1) & (np.arange(600) % 4 == 1), 20.0, 1.0)
    z = score(given, time=given["time"] * longer)
    assert z[longer > 1].mean() > z[longer == 1].mean() + 1
    assert np.abs(z).max() <= 6.4
    fit = NonparametricC2G(random_state=0, n_bootstrap=20).fit(
        given["X"], z, treatment=given["treatment"]
    )
    assert np.isfinite(fit.lfdr_[given["treatment"] == 1]).all()


def test_without_a_covariate_that_varies() -> None:
    given = study(100, censored=False)
    z = score(given, X=np.ones((100, 1)))
    own = given["treatment"] == 0
    order = np.argsort(given["time"][own])
    assert (np.diff(z[own][order]) > 0).all()


WRONG = [
    ({"time": np.ones(3)}, ValueError, "must have one length, got time 3, event 400"),
    ({"time": np.zeros(400)}, ValueError, "time must be positive, got 0 in row 0"),
    ({"time": np.full(400, np.nan)}, ValueError, "time is missing or infinite in 400 rows"),
    ({"event": np.full(400, 2)}, ValueError, "event must be 1 (seen) or 0 (censored), got 2"),
    ({"event": np.zeros(400)}, ValueError, "the controls have 0 events, at least 10"),
    ({"X": np.ones(400)}, ValueError, "X must be two-dimensional"),
    ({"treatment": np.ones(400)}, ValueError, "treatment must be True and False"),
    ({"penalizer": -1}, ValueError, "penalizer=-1 must be at least 0"),
    ({"penalizer": "much"}, TypeError, "penalizer must be a number"),
    ({"event": ["yes"] * 400}, TypeError, "event must hold real numbers"),
]


@pytest.mark.parametrize(("change", "error", "words"), WRONG)
def test_wrong_input(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        score(study(), **change)
    assert words in str(caught.value)


def test_separated_controls_without_a_penalty() -> None:
    given = study(60, censored=False)
    given["X"] = -np.argsort(np.argsort(given["time"]))[:, None].astype(float)
    with pytest.raises(ValueError, match="a larger penalizer gives it one"):
        score(given, penalizer=0)
    assert np.isfinite(score(given)).all()


def test_much_censoring_is_said() -> None:
    given = study()
    event = given["event"] * (np.arange(400) % 5 == 0)
    with pytest.warns(NB26StatsWarning, match=r"% of the times are censored"):
        score(given, event=event)
