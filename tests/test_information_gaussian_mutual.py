"""Mutual information of Gaussian columns and of a Gaussian copula."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.gaussian_pid import lattice_covariance
from scipy.stats import kstest

from nb26stats import NB26StatsWarning, mutual_information
from nb26stats.information._gaussian_mutual import gaussian_mutual_information

F64 = NDArray[np.float64]


def _e8() -> tuple[F64, F64]:
    i = np.arange(200)
    x = np.sin(1.3 * i) + 0.5 * np.cos(0.7 * i + 0.3)
    return x, x**3 + np.cos(3 * i)


def test_e8_copula() -> None:
    x, y = _e8()
    plain = mutual_information(x, y, method="copula")
    corrected = mutual_information(x, y, method="copula", bias="analytic")
    assert plain == pytest.approx(0.6308515195, abs=1e-9)
    assert corrected == pytest.approx(0.6271991504, abs=1e-9)
    nats = mutual_information(x, y, method="copula", base=np.e)
    assert nats == pytest.approx(0.6308515195 * np.log(2), abs=1e-9)


def test_one_pair_is_the_formula_of_the_correlation() -> None:
    x, y = _e8()
    rho = np.corrcoef(x, y)[0, 1]
    assert mutual_information(x, y) == pytest.approx(-0.5 * np.log2(1 - rho**2), abs=1e-12)


def test_is_symmetric_and_invariant() -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((100, 7)) @ np.linalg.cholesky(lattice_covariance(2, 3, 2, 4)).T
    x, y = z[:, :4], z[:, 4:]
    want = gaussian_mutual_information(x, y, copula=False, bias=None)
    assert want > 0.1
    assert gaussian_mutual_information(y, x, copula=False, bias=None) == pytest.approx(want)
    mixed = x @ rng.standard_normal((4, 4)) * 1e6 + 3
    assert gaussian_mutual_information(mixed, y, copula=False, bias=None) == pytest.approx(want)


def test_analytic_correction_is_unbiased() -> None:
    rng = np.random.default_rng(1)
    cov = lattice_covariance(2, 3, 2, 4)
    low = np.linalg.cholesky(cov)
    signs = [np.linalg.slogdet(cov[a:b, a:b])[1] for a, b in ((0, 4), (4, 7), (0, 7))]
    truth = 0.5 * (signs[0] + signs[1] - signs[2])
    got = []
    for _ in range(400):
        z = rng.standard_normal((30, 7)) @ low.T
        got.append(gaussian_mutual_information(z[:, :4], z[:, 4:], copula=False, bias="analytic"))
    error = np.std(got) / np.sqrt(len(got))
    assert abs(np.mean(got) - truth) < 3.5 * error


def test_null_follows_bartletts_chi_square() -> None:
    rng = np.random.default_rng(2)
    n, dx, dm = 300, 6, 4
    statistic = [
        2
        * (n - 1 - (dm + dx + 1) / 2)
        * gaussian_mutual_information(
            rng.standard_normal((n, dx)), rng.standard_normal((n, dm)), copula=False, bias=None
        )
        for _ in range(500)
    ]
    assert kstest(statistic, "chi2", args=(dx * dm,)).pvalue > 0.01


def test_copula_ignores_monotone_maps() -> None:
    x, y = _e8()
    want = gaussian_mutual_information(x, y, copula=True, bias=None)
    assert gaussian_mutual_information(np.exp(x), y**3, copula=True, bias=None) == want


def test_ties_are_told() -> None:
    rng = np.random.default_rng(3)
    counts, y = rng.poisson(0.2, (200, 3)), rng.standard_normal(200)
    with pytest.warns(NB26StatsWarning, match=r"x: 3 of 3 columns have more than 5% tied values"):
        gaussian_mutual_information(counts, y, copula=True, bias=None)


def test_bad_input() -> None:
    x, y = _e8()
    with pytest.raises(ValueError, match="x has 200 trials and y has 199"):
        gaussian_mutual_information(x, y[1:], copula=False, bias=None)
    with pytest.raises(ValueError, match="y holds NaN at trial 7, column 0"):
        gaussian_mutual_information(
            x, np.where(np.arange(200) == 7, np.nan, y), copula=True, bias=None
        )
    with pytest.raises(ValueError, match="infinite information"):
        gaussian_mutual_information(x, 2 * x + 1, copula=False, bias=None)
    with pytest.raises(ValueError, match="a column of y is a linear function of its others"):
        gaussian_mutual_information(x, np.column_stack([y, 3 * y]), copula=False, bias=None)
    with pytest.raises(ValueError, match="x: no column varies"):
        gaussian_mutual_information(np.ones(200), y, copula=False, bias=None)
    with pytest.raises(ValueError, match="2 trials are too few for 2 columns"):
        gaussian_mutual_information(x[:2], y[:2], copula=False, bias=None)
    for method in ("gaussian", "copula"):
        for bias in ("qe", "shuffle", "miller-madow", "bootstrap"):
            with pytest.raises(ValueError, match=f"bias='{bias}' must be one of 'analytic'"):
                mutual_information(x, y, method=method, bias=bias)
    with pytest.raises(TypeError, match="x must hold real numbers"):
        gaussian_mutual_information(x > 0, y, copula=False, bias=None)
