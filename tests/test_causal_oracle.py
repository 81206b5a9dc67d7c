"""What is best possible on the simulated trials: oracles that know the truth, twenty seeds each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import c2g_oracle as oracle
from scipy.stats import norm

from nb26stats import datasets

SEEDS = range(100, 120)
OF = {"add": oracle.additive, "non": oracle.nonadditive}
# simulator, tau -> share of false selections and power at q = 0.1, 1000 rows
EXACT = {
    ("add", 1): (0.066, 0.034),
    ("add", 3): (0.104, 0.637),
    ("add", 5): (0.098, 0.915),
    ("non", 1): (0.093, 0.575),
    ("non", 5): (0.097, 0.773),
}
# the same with the least prior that densities allow on the outcomes' range and 3 beyond its ends
BOUND = {
    ("add", 1): (0.065, 0.034),
    ("add", 3): (0.104, 0.637),
    ("add", 5): (0.098, 0.915),
    ("non", 1): (0.084, 0.562),
    ("non", 5): (0.090, 0.768),
}


@pytest.mark.parametrize(("design", "tau"), EXACT)
def test_exact_oracle_has_the_published_rates(design: str, tau: int) -> None:
    found = np.mean([oracle.oracle(OF[design](1000, tau, s)) for s in SEEDS], axis=0)
    assert found == pytest.approx(EXACT[design, tau], abs=6e-4)


@pytest.mark.parametrize(("design", "tau"), BOUND)
def test_bound_oracle_has_the_published_rates(design: str, tau: int) -> None:
    found = []
    for seed in SEEDS:
        truth = OF[design](1000, tau, seed)
        grid = np.linspace(truth.y.min() - 3, truth.y.max() + 3, 100)
        found.append(oracle.oracle(truth, prior=oracle.least_prior(truth, grid)))
    assert np.mean(found, axis=0) == pytest.approx(BOUND[design, tau], abs=6e-4)


def test_first_twelve_and_ten_seeds_have_the_published_rates() -> None:
    for design, tau, n, expected in (
        ("add", 3, 12, (0.103, 0.673)),
        ("add", 3, 10, (0.097, 0.704)),
        ("add", 5, 12, (0.099, 0.922)),
        ("non", 1, 10, (0.085, 0.594)),
        ("non", 3, 12, (0.097, 0.704)),
        ("non", 5, 10, (0.094, 0.785)),
    ):
        found = [oracle.oracle(OF[design](1000, tau, s)) for s in SEEDS[:n]]
        assert np.mean(found, axis=0) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(
    ("a", "seeds", "expected"),
    [
        (-1.5, range(4), (0.097, 0.931)),
        (-1.5, range(10, 15), (0.089, 0.931)),
        (1.0, range(10, 15), (0.100, 0.940)),
        (1.5, range(4), (0.103, 0.945)),
    ],
)
def test_confounded_oracle_has_the_published_rates(a: float, seeds: Any, expected: Any) -> None:
    found = np.mean([oracle.oracle(oracle.confounded(1500, 3, s, a)) for s in seeds], axis=0)
    assert found == pytest.approx(expected, abs=6e-4)


def test_quadrature_over_the_dose_is_the_mean_over_doses() -> None:
    dose = (np.arange(200_000) + 0.5) / 100_000
    for a, b in ((0.0, 0.7), (0.6, 1.2), (2.0, 0.3), (1.5, 8.0)):
        for y in (-4.0, 0.2, 3.0, 40.0):
            expected = norm.pdf(y, (a + b * dose) ** 2).mean()
            found = oracle.square_density(np.array(y), np.array(a), np.array(b))
            assert float(found) == pytest.approx(expected, rel=2e-6)


def test_densities_integrate_to_one() -> None:
    for truth in (
        oracle.additive(3, 3, 0),
        oracle.nonadditive(3, 3, 0),
        oracle.confounded(3, 3, 0, 1.0),
    ):
        grid = np.tile(np.linspace(-150, 400, 55_001), (3, 1))
        for density in (truth.f0(grid), truth.f1(grid)):
            np.testing.assert_allclose(density.sum(axis=1) * 0.01, 1, atol=1e-5)


@pytest.mark.parametrize(
    ("mine", "theirs", "more"),
    [
        (oracle.additive, datasets.simulate_additive, ()),
        (oracle.nonadditive, datasets.simulate_nonadditive, ()),
        (oracle.confounded, datasets.simulate_confounded, (-1.5,)),
    ],
)
def test_the_package_draws_the_same_trials(mine: Any, theirs: Any, more: Any) -> None:
    truth, data = mine(400, 2, 5, *more), theirs(400, 2, *more, random_state=5)
    for name in ("X", "treatment", "responder"):
        np.testing.assert_array_equal(getattr(truth, name), getattr(data, name))
    for name in ("y", "prior", "effect", "null_mean", "propensity"):
        np.testing.assert_allclose(getattr(truth, name), getattr(data, name), rtol=1e-12)
