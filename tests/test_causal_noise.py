"""Density of the noise: recursion and mixtures against loops, shape, scale, recovery."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import c2g_noise
from scipy import stats
from scipy.integrate import trapezoid

from nb26stats._numba.piecewise import evaluate_cubic
from nb26stats._numba.recursion import mixture_em, normal_table, predictive_recursion
from nb26stats.causal import _noise
from nb26stats.causal._noise import fit_noise

F64 = NDArray[np.float64]
KINDS = ("predictive_recursion", "npmle", "gaussian")


def table_of(y: F64, grid: F64, scale: float) -> F64:
    out = np.empty((len(y), len(grid)))
    normal_table(y, grid[0], grid[1] - grid[0], scale, out)
    return out


def ours(y: F64, grid: F64, scale: float, orders: NDArray[np.int64]) -> tuple[float, F64]:
    total = np.zeros(len(grid))
    found = predictive_recursion(table_of(y, grid, scale), orders, grid[1] - grid[0], 1e-10, total)
    return found / len(orders), total / len(orders)


# ---- kernels -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("scale", "evidence", "mode", "height"),
    [(0.5, -11.69585467, 0.2, 0.43913886), (1.0, -10.88093707, 0.0, 0.44376659)],
)
def test_anchor_of_one_sweep(scale: float, evidence: float, mode: float, height: float) -> None:
    y = np.array([-1.2, -0.4, 0.1, 0.3, 0.9, 1.5])
    grid = np.linspace(-4, 4, 81)
    found, u = ours(y, grid, scale, np.arange(6)[None])
    assert found == pytest.approx(evidence, abs=5e-9)
    assert grid[u.argmax()] == pytest.approx(mode, abs=1e-12)
    assert u.max() == pytest.approx(height, abs=5e-9)
    assert trapezoid(u, grid) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("points", [81, 200, 7])
def test_recursion_is_the_loop(points: int) -> None:
    rng = np.random.default_rng(points)
    y = rng.standard_t(4, 60)
    grid = np.linspace(y.min() - 1, y.max() + 1, points)
    orders = np.array([rng.permutation(60) for _ in range(3)])
    for scale in (0.1, 0.7, 3.0):
        evidence, u = c2g_noise.recursion(y, grid, scale, orders)
        found, mixing = ours(y, grid, scale, orders)
        assert found == pytest.approx(evidence, rel=1e-11)
        np.testing.assert_allclose(mixing, u, rtol=1e-9, atol=1e-12)


def test_table_of_normals() -> None:
    grid = np.linspace(-5, 5, 200)
    y = np.array([-5.0, -1.234, 0.0, 4.999, 5.0, 7.0])
    for scale in (0.04, 0.5, 40.0):
        expected = stats.norm.pdf(y[:, None], grid, scale)
        # 199 products, each with the roundings of those before: 199^2 / 2 of them
        np.testing.assert_allclose(
            table_of(y, grid, scale), expected, rtol=199**2 * 2.3e-16, atol=1e-280
        )


def test_em_climbs_and_is_the_loop() -> None:
    y = np.random.default_rng(0).standard_normal(50)
    grid = np.linspace(-4, 4, 30)
    table = table_of(y, grid, 0.4)
    use = np.arange(50) % 3 > 0
    weights, path = np.full(30, 1 / 30), np.empty(2000)
    n_iter = mixture_em(table, use, weights, 1e-7, 2000, path)
    expected = np.full(30, 1 / 30)
    for k in range(n_iter):
        stepped, loglik = c2g_noise.em_step(expected, table[use])
        assert path[k] == pytest.approx(loglik, rel=1e-12)
        if k < n_iter - 1:
            expected = stepped
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    gains = np.diff(path[:n_iter])
    assert (gains > -1e-12 * abs(path[0])).all()
    assert n_iter < 2000
    assert gains[-1] <= 1e-7 * abs(path[n_iter - 1]) < gains[-2]
    assert weights.sum() == pytest.approx(1, abs=1e-12)


def test_cubics_and_lines() -> None:
    coefficients = np.array([[1.0, -2.0, 3.0, 4.0], [0.5, 0.0, -1.0, 2.0]])
    x = np.array([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, np.nan])
    value, slope = np.empty(8), np.empty(8)
    evaluate_cubic(x, 0.0, 0.5, coefficients, np.array([4.0, 7.0, 9.0, -3.0]), value, slope)
    inside = [np.polyval(coefficients[0], 0.25), np.polyval(coefficients[1], 0.25)]
    np.testing.assert_allclose(value[[0, 1, 2, 4, 6]], [-3, 4, *inside, 6])
    np.testing.assert_allclose(slope[[0, 1, 6]], [7, 3, -3])
    assert np.isnan([value[7], slope[7]]).all()


# ---- densities ---------------------------------------------------------------------------------
def test_default_density_is_the_loop() -> None:
    y = np.random.default_rng(1).standard_normal(40)
    grid = _noise.grid_of(y)
    expected = c2g_noise.averaged(
        y, grid, y.std() * np.geomspace(0.05, 1.5, 30), _noise.orders(40, 5)
    )
    found = fit_noise(y, kind="predictive_recursion", seed=5)
    top = np.log(np.maximum(expected, 1e-8 * expected.max()))
    np.testing.assert_allclose(found.log_density(grid), top, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31), n=st.integers(30, 120), tail=st.sampled_from([1.2, 3.0, 50.0]))
def test_densities_are_smooth_normalised_and_fall_outward(
    kind: str, seed: int, n: int, tail: float
) -> None:
    y = np.random.default_rng(seed).standard_t(tail, n)
    noise = fit_noise(y, kind=kind, seed=seed)
    grid = _noise.grid_of(y)
    x = np.linspace(grid[0], grid[-1], 20_001)
    value, slope = noise.log_density_and_score(x)
    assert np.isfinite(value).all()
    if kind == "gaussian":
        grid = 12 * np.sqrt((y**2).mean()) * np.linspace(-1, 1, 400)
    # what lies below the floor of the logarithm adds up to 1e-8 of the maximum times the width
    added = 1e-8 * np.exp(value.max()) * (grid[-1] - grid[0])
    assert trapezoid(np.exp(noise.log_density(grid)), grid) == pytest.approx(1, abs=1e-9 + added)
    step = x[1] - x[0]
    middle = slope[1:-1]
    numeric = (value[2:] - value[:-2]) / (2 * step)
    assert np.abs(numeric - middle).max() <= 1e-3 * (1 + np.abs(middle).max())
    width = grid[-1] - grid[0]
    far = np.array([-9.0, -5.0, -2.0]) * width
    assert (np.diff(noise.log_density(grid[0] + far)) > 0).all()
    assert (np.diff(noise.log_density(grid[-1] - far[::-1])) < 0).all()


@pytest.mark.parametrize("unit", [1024.0, 1000.0, -1000.0, 1e9])
@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(kind: str, unit: float) -> None:
    # spread by more than 1, with an outlier that meets the least predictive density
    y = np.append(np.random.default_rng(3).standard_t(5, 80), 30.0)
    plain, scaled = (fit_noise(v, kind=kind, seed=1) for v in (y, unit * y))
    x = np.linspace(-6, 6, 101)
    np.testing.assert_allclose(
        scaled.log_density(unit * x) + np.log(abs(unit)),
        plain.log_density(x),
        rtol=1e-9,
        atol=1e-9,
    )
    np.testing.assert_allclose(unit * scaled.score(unit * x), plain.score(x), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", ["predictive_recursion", "npmle"])
def test_where_zero_lies_does_not_matter(kind: str) -> None:
    y = np.random.default_rng(6).standard_t(5, 80)
    x = np.linspace(-6, 6, 101)
    plain, moved = (fit_noise(y + shift, kind=kind, seed=1) for shift in (0.0, 5.0))
    np.testing.assert_allclose(moved.log_density(x + 5), plain.log_density(x), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_alone_and_among_threads_and_after_a_pickle(kind: str) -> None:
    y = np.random.default_rng(4).standard_normal(60)
    x = np.linspace(-5, 5, 33)
    expected = fit_noise(y, kind=kind, seed=9)
    found: list[F64] = []

    def work() -> None:
        found.append(fit_noise(y, kind=kind, seed=9).log_density(x))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values in [*found, pickle.loads(pickle.dumps(expected)).log_density(x)]:
        np.testing.assert_array_equal(values, expected.log_density(x))


def test_progress_counts_the_widths() -> None:
    seen: list[int] = []
    fit_noise(np.arange(40.0), kind="predictive_recursion", seed=0, on_done=seen.append)
    assert sum(seen) == 30


def test_gaussian_is_the_normal_density() -> None:
    y = np.random.default_rng(5).normal(0.3, 2, 50)
    noise = fit_noise(y, kind="gaussian", seed=0)
    sd = np.sqrt((y**2).mean())
    x = np.linspace(-11 * sd, 11 * sd, 201)
    np.testing.assert_allclose(noise.log_density(x), stats.norm.logpdf(x, 0, sd), atol=1e-12)
    np.testing.assert_allclose(noise.score(x), -x / sd**2, atol=1e-12)


@pytest.mark.parametrize("y", [np.zeros(40), np.full(40, 1e9), np.full(40, 3.0) + 1e-14])
@pytest.mark.parametrize("kind", KINDS)
def test_no_noise_is_an_error(kind: str, y: F64) -> None:
    with pytest.raises(ValueError, match="residuals of the controls do not vary"):
        fit_noise(y, kind=kind, seed=0)


TRUTHS = {
    "normal": stats.norm(),
    "heavy": stats.t(3, scale=np.sqrt(1 / 3)),
    "skew": stats.gamma(3, loc=-3 / np.sqrt(3), scale=1 / np.sqrt(3)),
}


class TwoHumps:
    """Normals of standard deviation .5 around -1 and 1."""

    def rvs(self, n: int, random_state: np.random.Generator) -> F64:
        return random_state.choice([-1.0, 1.0], n) + 0.5 * random_state.standard_normal(n)

    def pdf(self, x: F64) -> F64:
        return np.asarray((stats.norm.pdf(x, -1, 0.5) + stats.norm.pdf(x, 1, 0.5)) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("predictive_recursion", "normal"),
        ("predictive_recursion", "heavy"),
        ("predictive_recursion", "skew"),
        ("predictive_recursion", "bimodal"),
        ("npmle", "heavy"),
        ("npmle", "bimodal"),
    ],
)
def test_error_falls_with_more_residuals(kind: str, name: str) -> None:
    truth = TRUTHS.get(name, TwoHumps())
    x = np.linspace(-8, 8, 4001)
    errors = []
    large, n_seeds = (1600, 12) if kind == "predictive_recursion" else (800, 4)
    for n in (100, large):
        own = []
        for seed in range(n_seeds):
            y = truth.rvs(n, random_state=np.random.default_rng(seed))
            noise = fit_noise(y, kind=kind, seed=seed)
            own.append(trapezoid(np.abs(np.exp(noise.log_density(x)) - truth.pdf(x)), x))
        errors.append((np.mean(own), np.std(own, ddof=1) / np.sqrt(len(own))))
    (few, few_error), (many, many_error) = errors
    print(f"{kind}, {name}: {few:.3f}±{few_error:.3f}, then {many:.3f}±{many_error:.3f}")
    # the rate n^(-1/4) at least, a half for sixteen times the residuals
    rate = (large / 100) ** -0.25
    assert many < rate * few + 3 * np.hypot(many_error, rate * few_error)
