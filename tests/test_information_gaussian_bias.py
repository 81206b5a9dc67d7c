"""Sampling bias of Gaussian informations: formulas, and what each correction leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.gaussian_pid import channel_covariance, information
from scipy.special import digamma

from nb26stats.information import GaussianPID
from nb26stats.information._gaussian_bias import (
    bartlett_factors,
    corrected,
    package_bias,
    plug_in_bias,
)

F64 = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore:400 trials are few for 50 variables")

DIMS, N, DRAWS = (20, 20, 10), 400, 60
TRUTH = {"generic": (13.75609, 2.10229), "redundant": (10.36073, 3.89313)}


def _channel(kind: str) -> F64:
    r = np.random.default_rng(42)
    h_x, h_y = (0.5 * r.standard_normal((20, 10)) for _ in range(2))
    return channel_covariance(h_x, h_y if kind == "generic" else h_x)


def _sample_covariances(cov: F64, count: int, seed: int) -> F64:
    rng, low = np.random.default_rng(seed), np.linalg.cholesky(cov)
    rows = rng.standard_normal((count, N, len(cov))) @ low.T
    rows -= rows.mean(axis=1, keepdims=True)
    covs: F64 = rows.transpose(0, 2, 1) @ rows / (N - 1)
    return covs


def _errors(kind: str, count: int = DRAWS, seed: int = 0, **kw: Any) -> dict[str, F64]:
    """Return estimates less the truth for every draw."""
    cov = _channel(kind)
    truth = GaussianPID(bias=None).fit_covariance(cov, DIMS)
    pid = GaussianPID(**{"random_state": seed, **kw})
    table = pid.fit_many(_sample_covariances(cov, count, seed), DIMS, n_samples=N)
    true = {"union": truth.union_, "synergy": truth.synergy_, "mi_12": truth.mi_[2]}
    true |= {"redundancy": truth.redundancy_}
    true |= {f"unique_{i + 1}": u for i, u in enumerate(truth.unique_)}
    true |= {f"mi_{i + 1}": v for i, v in enumerate(truth.mi_[:2])}
    return {k: table[k].to_numpy() - v for k, v in true.items()}


def _check(values: F64, expected: float, error: float) -> None:
    # error: that of the expected figure, where it is itself a mean over as many draws
    tolerance = 3 * math.hypot(values.std(ddof=1) / math.sqrt(len(values)), error)
    print(f"{values.mean():+.3f} expected {expected:+.3f} +- {tolerance:.3f}")
    assert abs(values.mean() - expected) < tolerance


@pytest.mark.parametrize("kind", ["generic", "redundant"])
def test_e6_truth(kind: str) -> None:
    pid = GaussianPID(bias=None).fit_covariance(_channel(kind), DIMS)
    np.testing.assert_allclose((pid.union_, pid.synergy_), TRUTH[kind], atol=6e-6)
    if kind == "redundant":
        np.testing.assert_allclose(pid.unique_, 0, atol=1e-12)


# kind, settings, expected bias of the union and of synergy
E6 = [
    ("generic", {"bias": None}, 0.44, 0.32),
    ("generic", {"bias": "gpid"}, -0.22, 0.21),
    ("redundant", {"bias": None}, 1.08, -0.31),
    ("redundant", {"bias": "gpid"}, 0.50, -0.49),
]
E6_DRAWN = [
    ("generic", {"bias": "bootstrap", "n_bootstrap": 12}, -0.02, 0.02),
    ("generic", {"bias": "bootstrap", "n_bootstrap": 50}, -0.03, 0.02),
    ("redundant", {"bias": "bootstrap", "n_bootstrap": 50}, 0.41, -0.40),
]
ERRORS = {"generic": (0.027, 0.018), "redundant": (0.024, 0.015)}


@pytest.mark.parametrize(("kind", "kw", "union", "synergy"), E6)
def test_e6_bias(kind: str, kw: dict[str, Any], union: float, synergy: float) -> None:
    errors = _errors(kind, **kw)
    _check(errors["union"], union, ERRORS[kind][0])
    _check(errors["synergy"], synergy, ERRORS[kind][1])


def test_e6_redundant_sources_look_unique() -> None:
    errors = _errors("redundant", bias=None)
    _check(errors["unique_1"], 0.71, 0.02)
    _check(errors["unique_2"], 0.72, 0.02)
    _check(errors["redundancy"], -0.33, 0.03)
    errors = _errors("redundant", bias="gpid")
    _check(errors["unique_1"], 0.50, 0.02)


@pytest.mark.parametrize(("kind", "kw", "union", "synergy"), E6_DRAWN)
def test_e6_bootstrap(kind: str, kw: dict[str, Any], union: float, synergy: float) -> None:
    # a random_state for each data set: draws that all fits share would be one common offset
    cov = _channel(kind)
    truth = information(cov, DIMS) / math.log(2)
    found = []
    for seed, one in enumerate(_sample_covariances(cov, DRAWS, 0)):
        pid = GaussianPID(random_state=seed, **kw).fit_covariance(one, DIMS, n_samples=N)
        found.append([pid.union_ - truth[3], pid.synergy_ - (truth[2] - truth[3])])
    errors = np.array(found)
    _check(errors[:, 0], union, 0.0)
    _check(errors[:, 1], synergy, 0.0)
    plug_in = _errors(kind, bias=None)
    assert abs(errors[:, 0].mean()) < 0.5 * abs(plug_in["union"].mean())


@pytest.mark.slow
def test_e6_many_draws() -> None:
    # 400 samples, and bootstraps of their own for each, so nothing is shared
    cov = _channel("generic")
    truth = information(cov, DIMS) / math.log(2)
    covs = _sample_covariances(cov, 400, 7)
    found = []
    for seed, one in enumerate(covs):
        pid = GaussianPID(n_bootstrap=12, random_state=seed)
        pid.fit_covariance(one, DIMS, n_samples=N)
        found.append([pid.union_ - truth[3], pid.synergy_ - (truth[2] - truth[3])])
    bias = np.array(found)
    # what is left is a tenth of the plug-in's bias
    assert abs(bias[:, 0].mean()) < 0.045
    assert abs(bias[:, 1].mean()) < 0.03
    for kind, union, synergy in (("generic", -0.208, 0.202), ("redundant", 0.500, -0.495)):
        errors = _errors(kind, count=400, seed=8, bias="analytic")
        _check(errors["union"], union, 0.012)
        _check(errors["synergy"], synergy, 0.012)


@pytest.mark.parametrize("kind", ["generic", "redundant"])
def test_e6_analytic_is_unbiased_for_mutual_information(kind: str) -> None:
    errors = _errors(kind, bias="analytic")
    for name in ("mi_1", "mi_2", "mi_12"):
        _check(errors[name], 0.0, 0.0)
    plug_in = _errors(kind, bias=None)
    np.testing.assert_allclose(
        plug_in["mi_12"] - errors["mi_12"], plug_in_bias(10, 40, N - 1) / math.log(2), atol=1e-10
    )


def test_plug_in_bias_formula() -> None:
    nu, d1, d2 = 57, 3, 8

    def b(d: int) -> float:
        return sum(float(digamma((nu - i + 1) / 2)) - math.log(nu / 2) for i in range(1, d + 1))

    assert plug_in_bias(d1, d2, nu) == pytest.approx(0.5 * (b(d1) + b(d2) - b(d1 + d2)), rel=1e-12)
    # the first term of its expansion
    assert plug_in_bias(d1, d2, 10**6) == pytest.approx(d1 * d2 / 2e6, rel=1e-4)


def test_package_bias_formula() -> None:
    def c(d: int) -> float:
        return 0.5 * sum(math.log(1 - k / 60) for k in range(1, d + 1))

    assert package_bias(3, 8, 60) == pytest.approx(c(3) + c(8) - c(11), rel=1e-12)
    assert package_bias(3, 8, 60) > 0


def test_bartlett_factors_make_wishart_draws() -> None:
    d, nu, count = 5, 20, 4000
    factors = bartlett_factors(3, count, d, nu)
    assert not np.triu(factors, 1).any()
    draws = factors @ factors.transpose(0, 2, 1)
    mean = draws.mean(axis=0)
    # entries have variance (1 + [i = j]) / nu
    error = np.sqrt((1 + np.eye(d)) / nu / count)
    assert (np.abs(mean - np.eye(d)) < 4.5 * error).all()
    np.testing.assert_allclose(draws.var(axis=0), (1 + np.eye(d)) / nu, rtol=0.15)
    log_det = np.linalg.slogdet(draws)[1]
    expected = sum(float(digamma((nu - i) / 2)) for i in range(d)) - d * math.log(nu / 2)
    assert abs(log_det.mean() - expected) < 4 * log_det.std() / math.sqrt(count)


def test_a_bartlett_factor_depends_on_its_number_only() -> None:
    many, few = bartlett_factors(9, 6, 4, 30), bartlett_factors(9, 2, 4, 30)
    np.testing.assert_array_equal(many[:2], few)
    assert not np.array_equal(many[0], many[1])
    assert not np.array_equal(bartlett_factors(10, 1, 4, 30)[0], many[0])


def _correct(values: list[float], **kw: Any) -> list[float]:
    settings: dict[str, Any] = {"bias": None, "measure": "broja", "dims": (2, 3, 2)}
    settings |= {"n_samples": 40, "clip": False, "means": None}
    out: list[float] = corrected(np.array(values), **{**settings, **kw}).tolist()
    return out


def test_corrections_of_the_four_values() -> None:
    raw = [0.5, 0.6, 1.2, 0.9]
    assert _correct(raw) == raw
    assert _correct(raw, measure="mmi") == [0.5, 0.6, 1.2, 0.6]
    means = np.array([0.6, 0.8, 1.5, 1.0])
    np.testing.assert_allclose(
        _correct(raw, bias="bootstrap", means=means), [0.4, 0.4, 0.9, 0.8], atol=1e-15
    )
    got = _correct(raw, bias="analytic")
    want = [raw[i] - plug_in_bias(2, d, 39) for i, d in enumerate((2, 3, 5))]
    np.testing.assert_allclose(got, [*want, 0.9 * want[2] / 1.2], rtol=1e-13)
    # without information there is no share of it
    assert _correct([0.0, 0.0, 0.0, 0.0], bias="analytic")[3] == 0


def test_gpid_correction_keeps_bounds() -> None:
    got = _correct([0.001, 0.6, 1.2, 0.9], bias="gpid")
    i_y, i_xy = (v - package_bias(2, d, 40) for v, d in ((0.6, 3), (1.2, 5)))
    np.testing.assert_allclose(got, [0, i_y, i_xy, i_y], rtol=1e-13)
    got = _correct([0.5, 0.6, 0.61, 0.605], bias="gpid")
    assert got[2] == max(got[:2])
    assert got[3] == got[2]
    assert _correct([0.0, 0.0, 0.0, 0.0], bias="gpid") == [0, 0, 0, 0]


def test_batches_are_corrected_alike() -> None:
    rng = np.random.default_rng(0)
    raw, means = rng.random((3, 4, 4)), rng.random((3, 4, 4))
    for bias in (None, "analytic", "gpid", "bootstrap"):
        kw: dict[str, Any] = {"bias": bias, "clip": True}
        every = corrected(raw, means, measure="broja", dims=(2, 3, 2), n_samples=40, **kw)
        for i in np.ndindex(3, 4):
            assert every[i].tolist() == _correct(raw[i].tolist(), means=means[i], **kw)
