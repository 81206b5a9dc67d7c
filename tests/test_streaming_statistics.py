"""Accuracy and coverage of OjaPCA in simulations with known answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning

from nb26stats.streaming import OjaPCA
from nb26stats.streaming._inference import intervals, order_statistic, subspace_errors

SPARSE_TAIL = [3.0, 2.5, 2.0, 0.5] + [1e-3] * 46


def gaussian(rng: np.random.Generator, n: int, d: int, top: Sequence[float]) -> np.ndarray:
    """Rows with covariance diag(top, 1, 1, ...) about a random mean."""
    scale = np.sqrt(np.r_[top, np.ones(d - len(top))])
    return rng.normal(size=(n, d)) * scale + 3 * rng.normal(size=d)


def error(components: np.ndarray) -> float:
    """Squared sine error against the first unit vectors."""
    return float(np.sum(components[:, len(components) :] ** 2))


def mean_error(n: int, top: Sequence[float], k: int, runs: int = 40, **kw: Any) -> float:
    made = []
    for run in range(runs):
        x = gaussian(np.random.default_rng(run), n, 50, top)
        made.append(error(OjaPCA(k, random_state=run, **kw).fit(x).components_))
    return float(np.mean(made))


def slope(errors: Sequence[float], n: Sequence[int]) -> float:
    return float(np.polyfit(np.log(n), np.log(errors), 1)[0])


def test_error_of_a_spike_falls_as_one_over_n() -> None:
    n = (1000, 4000, 16000)
    found = [mean_error(m, (10, 6), 2) for m in n]
    np.testing.assert_allclose(found, [2.42e-2, 5.91e-3, 1.43e-3], rtol=0.08)
    assert slope(found, n) == pytest.approx(-1.02, abs=0.06)


def test_error_with_a_sparse_tail() -> None:
    n = (1000, 4000, 16000)
    found = [mean_error(m, SPARSE_TAIL, 3) for m in n]
    np.testing.assert_allclose(found, [1.4e-3, 3.5e-4, 7.0e-5], rtol=0.35)
    assert slope(found, n) == pytest.approx(-1.07, abs=0.15)


def test_error_of_the_theory_step() -> None:
    found = mean_error(5000, (10, 6), 2, learning_rate="theory", gap=5)
    assert found == pytest.approx(1.85e-2, rel=0.06)


def test_error_of_a_constant_step() -> None:
    found = mean_error(5000, (10, 6), 2, learning_rate="constant", eta0=0.002)
    assert found == pytest.approx(0.102, rel=0.06)


def test_explained_variances() -> None:
    values = []
    for run in range(40):
        x = gaussian(np.random.default_rng(run), 2000, 50, (10, 8, 6))
        values.append(OjaPCA(3, random_state=run).fit(x)._eigenvalues())
    mean = np.mean(values, axis=0)
    np.testing.assert_allclose(mean[:3], [9.75, 7.96, 6.10], atol=0.25)
    assert mean[3] == pytest.approx(1.00, abs=0.03)


def test_rank_two_data() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 30)) + rng.normal(size=30)
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(x)
    basis = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:2]
    residual = est.components_ - (est.components_ @ basis.T) @ basis
    assert np.sum(residual**2) < 1e-25
    assert est.bootstrap_errors().max() < 1e-25
    assert est._eigenvalues()[2] < 1e-25
    assert est.noise_variance_ >= 0
    assert est.explained_variance_ratio_.sum() <= 1 + 1e-12
    assert np.isnan(est.autocorrelation_).all()


def test_one_active_column() -> None:
    x = np.zeros((500, 6))
    x[:, 2] = np.random.default_rng(0).normal(size=500)
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(x)
    assert np.isfinite(est.components_).all()
    assert np.isfinite(est.bootstrap_components_).all()
    np.testing.assert_allclose(np.abs(est.components_[0]), np.eye(6)[2], atol=1e-12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert est.error_quantile(0.9) >= 0
    assert any("rank of the data is below n_components=2" in str(c.message) for c in caught)
    assert all(c.category is ConvergenceWarning for c in caught)


@pytest.mark.parametrize("learning_rate", ["auto", "decay"])
def test_float32_follows_float64(learning_rate: str) -> None:
    kw: dict[str, Any] = {"learning_rate": learning_rate, "eta0": 0.4, "beta": 100.0}
    kw["n_bootstrap"] = 9
    x = gaussian(np.random.default_rng(0), 50_000, 40, (10, 6)).astype(np.float32)
    narrow = OjaPCA(2, random_state=0, **kw).fit(x)
    wide = OjaPCA(2, random_state=0, **kw).fit(x.astype(np.float64))
    assert narrow.components_.dtype == np.float32
    for a, b in (
        (narrow.components_, wide.components_),
        (narrow.bootstrap_components_, wide.bootstrap_components_),
    ):
        assert np.abs(a - b).max() < 1e-5
        gram = np.einsum("...kd,...ld->...kl", a.astype(np.float64), a.astype(np.float64))
        assert np.abs(gram - np.eye(2)).max() < 1e-6


@pytest.mark.parametrize("multiplier", ["double", "exponential"])
@pytest.mark.parametrize("top", [(1e3, 10, 5), (1e4, 10, 5), (1e4, 100, 5)])
@pytest.mark.parametrize("d", [6, 50])
def test_float32_keeps_its_digits_beside_a_dominant_direction(
    d: int, top: tuple[float, ...], multiplier: str
) -> None:
    x = gaussian(np.random.default_rng(0), 3000, d, top).astype(np.float32)
    for kw in ({}, {"learning_rate": "constant", "eta0": 1 / top[0]}, {"kappa": 2.0}):
        made = [
            OjaPCA(3, n_bootstrap=20, multiplier=multiplier, random_state=0, **kw).fit(rows)
            for rows in (x, x.astype(np.float64))
        ]
        assert len({est._state.counts[1] for est in made}) == 1
        for name in ("components_", "bootstrap_components_"):
            narrow, wide = (getattr(est, name) for est in made)
            assert np.abs(narrow - wide).max() < 1e-5
            gram = np.einsum("...kd,...ld->...kl", *[narrow.astype(np.float64)] * 2)
            assert np.abs(gram - np.eye(3)).max() < 1e-6


Make = Callable[[np.random.Generator], np.ndarray]


def rotated(n: int, d: int, top: Sequence[float], turn: np.ndarray) -> Make:
    return lambda rng: gaussian(rng, n, d, top) @ turn.T


def autoregressive(n: int, rho: Sequence[float]) -> Make:
    """Spike rows (10, 6, 1, ...) whose columns are AR(1) with coefficients rho."""
    scale = np.sqrt(np.r_[10, 6, np.ones(len(rho) - 2)])

    def make(rng: np.random.Generator) -> np.ndarray:
        white = rng.normal(size=(n + 200, len(rho)))
        columns = [lfilter([np.sqrt(1 - r * r)], [1, -r], white[:, j]) for j, r in enumerate(rho)]
        return np.column_stack(columns)[200:] * scale

    return make


class Coverage:
    """Shares of runs, or of loadings, in which the truth lies inside."""

    def __init__(self, make: Make, truth: np.ndarray, runs: int, **kw: Any) -> None:
        k = len(truth)
        subspace, spectral, procrustes, sign, ratio = [], [], [], [], []
        self.sentences: list[str] = []
        for run in range(runs):
            x = make(np.random.default_rng(run))
            est = OjaPCA(k, random_state=run, n_threads=1, **kw).fit(x)
            w, boot = est._replicates()
            for metric, held in (("sin2_fro", subspace), ("sin2_op", spectral)):
                own = subspace_errors(truth, w[None], metric)[0]
                errors = subspace_errors(w, boot, metric)
                held.append([own <= order_statistic(errors, level) for level in (0.9, 0.95)])
                if metric == "sin2_fro":
                    ratio.append((errors.mean(), own))
            u, _, vt = np.linalg.svd(w @ truth.T)
            nearest = (u @ vt) @ truth
            signed = np.where(np.sum(w * truth, axis=1) < 0, -1.0, 1.0)[:, None] * truth
            for align, target, held in (
                ("procrustes", nearest, procrustes),
                ("sign", signed, sign),
            ):
                bounds = [intervals(w, boot, level, align, "normal") for level in (0.9, 0.95)]
                held.append([np.mean((lo <= target) & (target <= hi)) for lo, hi in bounds])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                est.component_intervals(align="sign")
            self.sentences.append(" | ".join(str(c.message) for c in caught))
        self.subspace, self.spectral = np.mean(subspace, axis=0), np.mean(spectral, axis=0)
        self.procrustes, self.sign = np.mean(procrustes, axis=0), np.mean(sign, axis=0)
        mean = np.mean(ratio, axis=0)
        self.ratio = mean[0] / mean[1]

    def warned(self, text: str) -> float:
        return float(np.mean([text in s for s in self.sentences]))


def assert_calibrated(found: Coverage) -> None:
    assert 0.85 <= found.subspace[0] <= 0.97
    assert 0.92 <= found.subspace[1] <= 1.0
    assert 0.88 <= found.procrustes[0] <= 0.92
    assert 0.935 <= found.procrustes[1] <= 0.965


@pytest.mark.slow
@pytest.mark.parametrize("top", [(10,), (10, 6), (10, 8, 6)], ids=["k=1", "k=2", "k=3"])
def test_coverage(top: tuple[float, ...]) -> None:
    k = len(top)
    found = Coverage(
        lambda rng: gaussian(rng, 2000, 50, top), np.eye(50)[:k], runs=200, n_bootstrap=199
    )
    assert_calibrated(found)
    assert found.ratio == pytest.approx(1.02, abs=0.08)
    assert found.warned("autocorrelated") <= 0.05
    assert found.warned("few replicates") == 0


@pytest.mark.slow
def test_ties_need_procrustes() -> None:
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(50, 50)))[0]
    found = Coverage(rotated(5000, 50, (8, 8), turn), turn[:, :2].T, runs=200, n_bootstrap=199)
    assert_calibrated(found)
    assert found.sign[1] < 0.85
    assert found.warned("not separated; use align='procrustes'") > 0.5


HALF, BACK = [0.5] * 50, [-0.5] * 50
CASES = {
    "rho=.5": (HALF, 1, 0.60, 0.08, True),
    "rho=-.5": (BACK, 1, 0.60, 0.08, True),
    "score only": ([0.8] + [0.0] * 49, 1, 1.0, 0.15, False),
    "all but one": ([0.0] + [0.8] * 49, 1, 0.36, 0.12, True),
    "rho=.5 in blocks": (HALF, 10, 0.95, 0.12, False),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_autocorrelated_rows(case: str) -> None:
    rho, block, ratio, near, warns = CASES[case]
    found = Coverage(
        autoregressive(6000, rho),
        np.eye(50)[:2],
        runs=20,
        n_bootstrap=99,
        pilot_size=200,
        multiplier_block=block,
    )
    assert found.ratio == pytest.approx(ratio, abs=near)
    assert found.warned("rows look autocorrelated") == (1.0 if warns else 0.0)
    if block > 1:
        assert found.subspace[1] >= 0.75
    elif warns:
        assert found.subspace[1] <= 0.5


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_the_warning_names_a_block_that_works(rho: float) -> None:
    x = autoregressive(8000, [rho] * 20)(np.random.default_rng(3))
    est = OjaPCA(2, n_bootstrap=99, pilot_size=200, random_state=0).fit(x)
    with pytest.warns(ConvergenceWarning, match="rows look autocorrelated") as caught:
        narrow = est.error_quantile()
    np.testing.assert_allclose(est.autocorrelation_, rho**2, atol=0.06)
    block = int(str(caught[0].message).split("about ")[1].split()[0])
    assert 0.9 * 5 / (1 - rho) <= block <= 8000 / 200
    wide = OjaPCA(2, n_bootstrap=99, multiplier_block=block, random_state=0).fit(x)
    assert wide.error_quantile() > 1.3 * narrow


@pytest.mark.slow
def test_paired_weights_are_conservative() -> None:
    """One constant step and a random start: errors of the replicates come out a sixth too large."""
    own, boot, covered = [], [], 0
    for run in range(100):
        x = gaussian(np.random.default_rng(run), 2000, 50, (10, 6))
        est = OjaPCA(
            2,
            n_bootstrap=99,
            learning_rate="theory",
            gap=5,
            init="random",
            multiplier="paired",
            random_state=run,
        ).fit(x)
        own.append(error(est.components_))
        boot.append(est.bootstrap_errors().mean())
        covered += own[-1] <= est.error_quantile(0.9)
    assert np.mean(boot) / np.mean(own) == pytest.approx(1.17, abs=0.12)
    assert covered >= 96
