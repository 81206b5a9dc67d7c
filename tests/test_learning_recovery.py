"""Simulated animals: what fits recover, which architecture wins, and how wide intervals are.

Bounds are figures measured once on other draws, with three standard errors of both samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from reference.learning import encode
from sklearn.exceptions import ConvergenceWarning

from nb26stats._warnings import NB26StatsWarning
from nb26stats.learning import DNNLearningRule
from nb26stats.learning._box import box
from nb26stats.learning._canonical import canonical
from nb26stats.learning._embedding import embeddings
from nb26stats.learning._model import F64, Model
from nb26stats.learning._native import simulate

pytestmark = pytest.mark.slow

LEVELS = np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
MODELS = {a: Model(a, "rpe", 2, 2 if a != "1L" else 0, 3) for a in ("1L", "2L", "2NL")}


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def animal(m: Model, theta: F64, n: int, seed: int) -> tuple[F64, F64, F64]:
    """Inputs, choices, rewards of one simulated animal; without a stimulus the side is random."""
    rng = np.random.default_rng((seed, 1))
    contrast = rng.choice(LEVELS, n)
    side = np.where(contrast == 0.0, rng.integers(0, 2, n), contrast > 0).astype(np.float64)
    x = encode(contrast)
    choice, reward = simulate(m, x, side, theta, n_runs=1, seed=seed, n_threads=1)[:2]
    return x, choice[0], reward[0]


def fit(architecture: str, data: tuple[F64, F64, F64], **options) -> DNNLearningRule:
    init = options.pop("init", None)
    estimator = DNNLearningRule(architecture, rule="rpe", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # some animals choose one side from first to last
        warnings.simplefilter("ignore", NB26StatsWarning)
        return estimator.fit(data[0], data[1], rewards=data[2], init=init)


def truth(architecture: str, seed: int) -> F64:
    """Parameters of one simulated animal of a study of model selection."""
    rng = np.random.default_rng((seed, 0))
    if architecture == "2NL":
        weights = np.r_[2.0 * rng.standard_normal(6), 0.7 * rng.standard_normal(4)]
        return np.r_[weights, log_uniform(rng, 5e-3, 5e-2), rng.uniform(4, 8)]
    weights = 0.3 * rng.standard_normal(MODELS[architecture].n_weights)
    alpha = (1e-3, 1e-2) if architecture == "1L" else (3e-3, 2e-2)
    return np.r_[weights, log_uniform(rng, *alpha), rng.uniform(3, 6)]


STUDY = {"weight_bound": 20.0, "n_pool": 60, "standard_errors": False}


def test_nonlinear_animals_reject_one_layer() -> None:
    gains = []
    for seed in range(12):
        theta = truth("2NL", seed)
        data = animal(MODELS["2NL"], theta, 6000, seed)
        deep = fit("2NL", data, init=theta, **STUDY)
        assert deep.loglik_ >= deep.log_likelihood(theta, *data) - 0.5
        gains.append(fit("1L", data, **STUDY).aic_ - deep.aic_)
    print("2NL animals: AIC(1L) - AIC(2NL) =", np.round(gains, 1))
    # single animals may say nothing: some choose one side from first to last
    assert np.median(gains) > 30.0
    assert np.mean(gains) > 30.0
    assert min(gains) > -2.0 * (12 - 8) - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_bic_keeps_one_layer_for_animals_of_one_layer(seed: int) -> None:
    theta = truth("1L", seed)
    data = animal(MODELS["1L"], theta, 6000, seed)
    fits = {a: fit(a, data, init=theta if a == "1L" else None, **STUDY) for a in MODELS}
    bic = {a: f.bic_ for a, f in fits.items()}
    aic = {a: round(f.aic_ - fits["1L"].aic_, 1) for a, f in fits.items()}
    print(f"1L animal {seed}: AIC over that of 1L {aic}")
    assert min(bic, key=bic.__getitem__) == "1L"
    assert fits["1L"].loglik_ >= fits["1L"].log_likelihood(theta, *data) - 0.5


@pytest.mark.parametrize("seed", range(5))
def test_linear_animals_are_fitted_at_least_as_well_as_by_the_truth(seed: int) -> None:
    theta = truth("2L", seed)
    data = animal(MODELS["2L"], theta, 6000, seed)
    deep = fit("2L", data, init=theta, **STUDY)
    assert deep.loglik_ >= deep.log_likelihood(theta, *data) - 0.5
    # the deep fit holds every copy of the shallow one that lies in its box
    small = fit("1L", data, **STUDY)
    starts = embeddings(
        MODELS["2L"], small.theta_, box(MODELS["2L"], weight_bound=20.0), deep.seed_, n_pool=60
    )
    copies = [MODELS["2L"].to_natural(s.u) for s in starts if not s.jittered]
    assert len(copies) == 4
    best = max(deep.log_likelihood(c, *data) for c in copies)
    print(f"2L animal {seed}: LL(2L) - LL(embedded 1L) = {deep.loglik_ - best:.3f}")
    assert deep.loglik_ >= best - 1e-6


def study(
    architecture: str, n_animals: int, n_trials: int, draw: Callable[[np.random.Generator], F64]
) -> tuple[F64, F64, F64, F64]:
    """Truths, estimates and standard errors in coordinates, and the smallest curvatures."""
    m = MODELS[architecture]
    true, found, errors, least = [], [], [], []
    for i in range(n_animals):
        theta = canonical(m, draw(np.random.default_rng((i, 2))))
        data = animal(m, theta, n_trials, 1000 + i)
        estimator = fit(architecture, data, penalty="gaussian", n_restarts=4 * (1 + m.deep))
        true.append(m.to_coordinates(theta))
        found.append(m.to_coordinates(estimator.theta_))
        se = estimator.std_errors_
        weights = [np.ravel(se[k]) for k in ("W1", "W2") if k in se]
        errors.append(np.concatenate([*weights, [se["log_alpha"], se["log_beta"]]]))
        least.append(estimator.hessian_eigenvalues_.min())
    return np.array(true), np.array(found), np.array(errors), np.array(least)


def figures(true: F64, found: F64, errors: F64) -> tuple[F64, F64, float, F64]:
    """Correlations (as arctanh) and root mean squares of errors by parameter, and coverage."""
    miss = found - true
    r = [np.corrcoef(t, f)[0, 1] for t, f in zip(true.T, found.T, strict=True)]
    inside = np.where(np.isnan(errors), np.nan, np.abs(miss) <= 1.959964 * errors)
    by_parameter = np.nanmean(inside, axis=0)
    return np.arctanh(r), np.sqrt((miss**2).mean(axis=0)), float(np.nanmean(inside)), by_parameter


def check(
    name: str, true: F64, found: F64, errors: F64, known: dict[str, float], n_known: int
) -> None:
    """Compare with figures from ``n_known`` other animals, up to three standard errors of both.

    Some animals tell little of alpha, so errors have long tails: standard errors are those of
    resampled animals.
    """
    n, q = len(true), true.shape[1] - 2
    z, rmse, coverage, each = figures(true, found, errors)
    r = np.tanh(z)
    print(
        f"{name}: r of weights {r[:q].min():.2f} to {r[:q].max():.2f}, of log alpha {r[q]:.3f}, "
        f"log beta {r[q + 1]:.3f}; RMSE {rmse[q]:.3f}, {rmse[q + 1]:.3f}; coverage "
        f"{coverage:.3f} ({each.min():.2f} to {each.max():.2f})"
    )
    rng = np.random.default_rng(0)
    draws = []
    for rows in rng.integers(0, n, (400, n)):
        z_draw, rmse_draw, coverage_draw, _ = figures(true[rows], found[rows], errors[rows])
        draws.append(np.r_[z_draw[:q].min(), z_draw[q:], np.log(rmse_draw[q:]), coverage_draw])
    slack = 3.0 * np.std(draws, axis=0, ddof=1) * np.sqrt(1.0 + n / n_known)
    print(f"  three standard errors: {np.round(slack, 3)}")
    for got, wanted, room in zip(
        [z[:q].min(), z[q], z[q + 1]],
        np.arctanh([known["weights"], known["r_alpha"], known["r_beta"]]),
        slack[:3],
        strict=True,
    ):
        assert got > wanted - room
    assert rmse[q] < known["rmse_alpha"] * np.exp(slack[3])
    assert rmse[q + 1] < known["rmse_beta"] * np.exp(slack[4])
    assert abs(coverage - known["coverage"]) < slack[5]
    # half of all errors lie where half of normal ones with the known root mean square would
    middle = np.median(np.abs(found - true)[:, q:], axis=0)
    wide = 0.6745 * (1.0 + 3.0 * 1.17 * np.sqrt(1.0 / n + 1.0 / n_known))
    assert middle[0] < known["rmse_alpha"] * wide
    assert middle[1] < known["rmse_beta"] * wide


def test_penalised_fits_recover_one_layer() -> None:
    def draw(rng: np.random.Generator) -> F64:
        weights = 0.5 * rng.standard_normal(6)
        return np.r_[weights, log_uniform(rng, 0.002, 0.02), log_uniform(rng, 2, 6)]

    true, found, errors, least = study("1L", 120, 5000, draw)
    known = {"weights": 0.85, "r_alpha": 0.93, "r_beta": 0.93,
             "rmse_alpha": 0.29, "rmse_beta": 0.16, "coverage": 0.98}  # fmt: skip
    check("1L", true, found, errors, known, 40)
    assert least.min() > 0.0
    assert np.isfinite(errors).all()


def test_penalised_fits_recover_rates_of_nonlinear_animals_and_weights_less_well() -> None:
    def draw(rng: np.random.Generator) -> F64:
        weights = rng.standard_normal(10)
        return np.r_[weights, log_uniform(rng, 0.01, 0.1), log_uniform(rng, 2, 6)]

    true, found, errors, _ = study("2NL", 32, 6000, draw)
    known = {"weights": 0.52, "r_alpha": 0.91, "r_beta": 0.88,
             "rmse_alpha": 0.33, "rmse_beta": 0.22, "coverage": 0.79}  # fmt: skip
    check("2NL", true, found, errors, known, 16)
