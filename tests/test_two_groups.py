"""Classical two-groups tools: R's numbers, known nulls, invariances, odd input."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import false_discovery_control, norm

from nb26stats import grenander_lfdr, local_fdr, plotting, q_values, two_groups
from nb26stats._warnings import NB26StatsWarning
from nb26stats.causal import SmallSampleWarning
from nb26stats.causal._empirical_null import truncated_normal
from nb26stats.causal._poisson_spline import poisson_fit, spline_basis

FEW_P = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251]
FEW_P += [0.269, 0.275, 0.34, 0.341, 0.384, 0.569, 0.594, 0.696, 0.762, 0.94, 0.942, 0.975, 0.986]


def set_a() -> np.ndarray:
    rng = np.random.default_rng(2026)
    responds = rng.random(5000) < 0.1
    shifted, null = rng.normal(2.5, 1, 5000), rng.normal(0, 1, 5000)
    return np.where(responds, shifted, null)


A = set_a()


# ---- R's numbers -------------------------------------------------------------------------------
def test_set_a_is_the_one_r_saw() -> None:
    assert A.sum() == pytest.approx(1177.01601044, abs=1e-8)


def test_estimates_of_the_null_are_those_of_r() -> None:
    estimates = two_groups(A).estimates
    r = {
        "mle": (0.04491445887, 1.0513561996, 0.94933412720),
        "central": (0.00195361334, 1.0929258152, 0.97806826001),
        "theoretical": (0.0, 1.0, 0.91053868424),
    }
    for name, values in r.items():
        np.testing.assert_allclose(estimates.loc[name], values, atol=1e-5)


@pytest.mark.parametrize(
    ("null", "total", "called"), [("mle", 4700.83946, 166), ("theoretical", 4540.14017, 202)]
)
def test_rates_are_those_of_r(null: str, total: float, called: int) -> None:
    lfdr = local_fdr(A, null=null)
    assert lfdr.sum() == pytest.approx(total, rel=1e-5)
    assert (lfdr <= 0.2).sum() == called


def test_q_values_are_those_of_r() -> None:
    p = 2 * norm.sf(np.abs(A))
    smooth = q_values(p)
    assert smooth.pi0 == pytest.approx(0.9009411196, abs=1e-4)
    assert [(smooth.q <= level).sum() for level in (0.05, 0.1)] == [132, 200]
    assert q_values(p, pi0="bootstrap").pi0 == pytest.approx(0.8981818182, abs=1e-9)


def test_few_p_values() -> None:
    expected = [0.025, 0.1, 0.21, 0.21, 0.21, 0.25]
    np.testing.assert_allclose(q_values(FEW_P, pi0=1.0).q[:6], expected, rtol=1e-12)
    expected = [0.025, 0.175, 0.85 / 3, 0.85 / 3, 0.85 / 3, 0.4]
    np.testing.assert_allclose(grenander_lfdr(FEW_P)[:6], expected, rtol=1e-9)


def test_closer_to_r_than_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "bench"))
    bench = importlib.import_module("bench_two_groups")
    (null, rates), ours = bench.by_statsmodels(A), two_groups(A)
    r = np.array(bench.R_NULL)
    np.testing.assert_array_equal(bench.scores(), A)
    mine = np.abs(np.array([ours.delta, ours.sigma, ours.p0]) - r)
    assert (mine < np.abs(np.array(null) - r) / 100).all()
    assert abs((rates <= 0.2).sum() - bench.R_CALLED) > 20


# ---- pieces against other ways of computing them -------------------------------------------------
def test_poisson_fit_is_the_optimum() -> None:
    counts = np.histogram(A, 119)[0].astype(float)
    basis = spline_basis(119, 7)
    eta = poisson_fit(counts, basis)
    # the likelihood's slope vanishes in every direction of the spline
    assert np.abs(basis.T @ (np.exp(eta) - counts)).max() < 1e-7 * counts.sum()
    # natural: the second difference is zero at the ends, up to the step's third power
    assert abs(np.diff(eta, 2)[0]) < 0.2 * np.abs(np.diff(eta, 2)).max()


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.4, 0.8), (-0.7, 1.5)])
def test_truncated_normal_is_the_optimum(mean: float, sd: float) -> None:
    half = 1.3
    rng = np.random.default_rng(0)
    x = rng.normal(mean, sd, 20_000)
    x = x[np.abs(x) <= half]
    m1, m2 = x.mean(), (x * x).mean()
    found = truncated_normal(m1, m2, half)
    assert found is not None

    def loss(theta: np.ndarray) -> float:
        delta, sigma = theta[0], np.exp(theta[1])
        mass = norm.cdf((half - delta) / sigma) - norm.cdf((-half - delta) / sigma)
        return float((m2 - 2 * delta * m1 + delta**2) / (2 * sigma**2) + np.log(sigma * mass))

    other = minimize(
        loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    assert loss(np.array([found[0], np.log(found[1])])) <= other.fun + 1e-12
    np.testing.assert_allclose(found, [other.x[0], np.exp(other.x[1])], atol=1e-4)


def test_no_peak_no_normal() -> None:
    assert truncated_normal(0.0, 0.5, 1.0) is None  # more at the ends than a uniform has
    u = np.random.default_rng(1).uniform(-1, 1, 400_000)  # many, so that the window is narrow
    with pytest.raises(ValueError, match='null="mle" needs z with one peak'):
        two_groups(np.sign(u) * np.abs(u) ** 0.5)


def test_grenander_is_the_least_concave_majorant() -> None:
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.random(60) ** 3, [0.25, 0.25, 1.0]])
    value = np.unique(p)
    x = np.concatenate([[0], value])
    y = np.concatenate([[0], [(p <= v).mean() for v in value]])
    lfdr = grenander_lfdr(p, pi0=0.8)
    for i, v in enumerate(p):
        k = int(np.searchsorted(value, v))
        # the majorant's slope left of a point: the least over left ends of the steepest chord
        slope = min(
            max((y[b] - y[a]) / (x[b] - x[a]) for b in range(k + 1, len(x))) for a in range(k + 1)
        )
        assert lfdr[i] == pytest.approx(min(1, 0.8 / slope), rel=1e-10)


# ---- what must not matter, and what must hold ----------------------------------------------------
@settings(deadline=None, max_examples=40)
@given(
    p=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    pi0=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 99),
)
def test_q_values_of_any_p(p: list[float], pi0: float, seed: int) -> None:
    values = np.array(p)
    q = q_values(values, pi0=pi0).q
    assert ((q >= 0) & (q <= 1)).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(q[order]) >= 0).all()
    assert len(np.unique(q[values == values[0]])) == 1
    adjusted = false_discovery_control(values, method="bh")
    np.testing.assert_allclose(q, np.minimum(1, pi0 * adjusted) if pi0 == 1 else q, rtol=1e-12)
    assert (q <= adjusted * (1 + 1e-12)).all()
    turn = np.random.default_rng(seed).permutation(len(p))
    np.testing.assert_array_equal(q_values(values[turn], pi0=pi0).q, q[turn])
    rates = grenander_lfdr(values, pi0=pi0)
    assert ((rates >= 0) & (rates <= 1)).all()
    assert (np.diff(rates[order]) >= -1e-12).all()
    np.testing.assert_array_equal(grenander_lfdr(values[turn], pi0=pi0), rates[turn])


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**31), shift=st.floats(-50, 50), scale=st.sampled_from([0.01, 3.0, 1e6])
)
def test_rates_move_with_z(seed: int, shift: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=1200)
    z[:80] += 3.5
    plain = two_groups(z)
    moved = two_groups(scale * z + shift)
    np.testing.assert_allclose(moved.lfdr, plain.lfdr, atol=1e-6)
    assert moved.delta == pytest.approx(scale * plain.delta + shift, abs=1e-6 * scale)
    assert moved.sigma == pytest.approx(scale * plain.sigma, rel=1e-6)
    turn = rng.permutation(len(z))
    np.testing.assert_allclose(two_groups(z[turn]).lfdr, plain.lfdr[turn], atol=1e-10)
    assert ((plain.lfdr >= 0) & (plain.lfdr <= 1)).all()


def test_null_in_every_form() -> None:
    pair = two_groups(A, null=(0.0, 1.0))
    theoretical = two_groups(A, null="theoretical")
    called = two_groups(A, null=lambda x: 7 * norm.pdf(x))
    assert pair.p0 == pytest.approx(theoretical.p0, rel=1e-12)
    assert called.p0 == pytest.approx(theoretical.p0, rel=1e-12)
    np.testing.assert_allclose(called.f0, theoretical.f0, rtol=1e-12)
    # right of both centres the forms agree; between them lies what is set to one
    far = A > 1
    np.testing.assert_allclose(pair.lfdr[far], theoretical.lfdr[far], rtol=1e-12)
    assert np.isnan(called.delta)


def test_select_is_the_mean_of_the_smallest() -> None:
    result = two_groups(A)
    chosen = result.select(0.1)
    ordered = np.sort(result.lfdr)
    running = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    assert len(chosen) == (running <= 0.1 * (1 + 1e-12)).sum()
    assert (np.diff(chosen) > 0).all()
    assert result.lfdr[chosen].mean() <= 0.1
    assert len(result.select(1e-9)) == 0


def test_false_discoveries_are_held() -> None:
    rates = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = rng.normal(0, 1, 4000)
        z[:400] += 3
        chosen = two_groups(z).select(0.1)
        rates.append((chosen >= 400).mean())
    mean, error = np.mean(rates), np.std(rates, ddof=1) / np.sqrt(20)
    print(f"false among the selected {mean:.3f}±{error:.3f}")
    assert mean < 0.1 + 3 * error


def test_frames_and_labels() -> None:
    z = pd.Series(A[:1000], index=[f"g{i}" for i in range(1000)], name="z")
    result = two_groups(z)
    frame = result.to_frame()
    assert list(frame.index[:2]) == ["g0", "g1"]
    np.testing.assert_array_equal(frame["lfdr"], result.lfdr)
    assert "misfit" in result.summary()
    assert result.to_r()["p0"] == result.p0
    p = q_values(pd.Series([0.01, 0.2], index=["a", "b"]), pi0=1.0)
    assert list(p.to_frame().index) == ["a", "b"]
    assert "pi0 = 1" in p.summary()


# ---- odd and wrong input -------------------------------------------------------------------------
def test_hardly_any_large_p() -> None:
    rng = np.random.default_rng(0)
    p = 0.04 * rng.random(500)
    with pytest.warns(NB26StatsWarning, match="pi0 = 1 is used"):
        assert q_values(p).pi0 == 1.0
    with pytest.warns(NB26StatsWarning, match='pi0="bootstrap" gives 0'):
        assert q_values(p, pi0="bootstrap").pi0 == 1.0
    # an empty last bin alone is no reason to stop
    p = rng.random(2000) * 0.94
    assert 0 < q_values(p).pi0 <= 1


def test_tail_of_the_curve_below_zero() -> None:
    p = np.concatenate([np.linspace(0, 0.5, 900), np.linspace(0.5, 0.6, 30)])
    with pytest.warns(NB26StatsWarning, match='pi0="smoother" gives'):
        share = q_values(p).pi0
    assert 0 < share <= 1


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (A[:150], {}, ValueError, "z has 150 values, and a density needs at least 200"),
    (np.append(A, np.nan), {}, ValueError, "z has 1 missing or infinite values, the first at posi"),
    (np.append(A, np.inf), {}, ValueError, "missing or infinite"),
    (np.ones(300), {}, ValueError, "all 300 z are 1"),
    (np.r_[np.zeros(300), 1:50], {}, ValueError, "interquartile range 0"),
    (["a"] * 300, {}, TypeError, "z must hold real numbers"),
    (A[None], {}, ValueError, "z must be one-dimensional"),
    (A, {"null": "normal"}, ValueError, "null='normal' must be"),
    (A, {"null": 3}, TypeError, "null must be"),
    (A, {"null": (0.0, 0.0)}, ValueError, "sigma of null=0 must be greater than 0"),
    (A, {"null": (0.0, 1.0, 2.0)}, ValueError, "got 3 values"),
    (A, {"null": lambda x: -x}, ValueError, "finite and not negative, got"),
    (A, {"null": lambda x: np.full_like(x, np.nan)}, ValueError, "finite and not negative"),
    (A, {"null": lambda x: 1.0}, ValueError, "must return a density for each of 119 points"),
    (A, {"null": lambda x: 0 * x}, ValueError, "null returns zero at every z"),
    (A, {"df": 1}, ValueError, "df=1 must lie in [2, 1000]"),
    (A, {"n_breaks": 5}, ValueError, "n_breaks=5 must lie in [11, 100000]"),
    (A, {"pct0": 0.5}, ValueError, "pct0=0.5 must be less than 0.5"),
    (A, {"n_breaks": True}, TypeError, "n_breaks must be a whole number"),
]


@pytest.mark.parametrize(("z", "how", "error", "words"), WRONG)
def test_wrong_z(z: Any, how: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        two_groups(z, **how)
    assert words in str(caught.value)


@pytest.mark.parametrize("function", [q_values, grenander_lfdr])
@pytest.mark.parametrize(
    ("p", "words"),
    [
        ([], "p holds no p-value"),
        ([0.5, 1.5], "p must lie in [0, 1], got 1.5 at position 1"),
        ([0.5, np.nan], "p must lie in [0, 1], got nan at position 1"),
        ([-0.1], "got -0.1 at position 0"),
    ],
)
def test_wrong_p(function: Any, p: list[float], words: str) -> None:
    with pytest.raises(ValueError, match="p ") as caught:
        function(p)
    assert words in str(caught.value)


@pytest.mark.parametrize("pi0", [0.0, 1.5, -1.0, np.nan])
def test_wrong_share(pi0: float) -> None:
    for function in (q_values, grenander_lfdr):
        with pytest.raises(ValueError, match="pi0"):
            function([0.5], pi0=pi0)
    with pytest.raises(ValueError, match="pi0='storey' must be"):
        q_values([0.5], pi0="storey")


def test_few_z_and_outliers_are_said() -> None:
    with pytest.warns(SmallSampleWarning, match="z has 300 values"):
        two_groups(A[:300])
    with pytest.warns(NB26StatsWarning, match="stretch the bins"):
        two_groups(np.append(A, 500.0))


def test_a_spline_that_does_not_fit_is_said() -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(k, 0.05, 900) for k in np.linspace(-3, 3, 9)])
    with pytest.warns(NB26StatsWarning, match=r"misfit .* try df larger than 7"):
        two_groups(z, null=(0.0, 1.0))


def test_memory_layouts_and_kinds() -> None:
    expected = local_fdr(A)
    for z in (np.repeat(A, 2)[::2], list(A), np.ma.masked_array(A)):
        np.testing.assert_array_equal(local_fdr(z), expected)
    with pytest.raises(TypeError, match="real numbers"):
        local_fdr(A.astype(object))
    np.testing.assert_allclose(local_fdr(A.astype(np.float32)), expected, atol=1e-3)


# ---- figures -------------------------------------------------------------------------------------
def test_figures_show_what_was_found() -> None:
    result = two_groups(A)
    with plotting.style(offscreen=True):
        top, low = result.plot()
        left, right = q_values(2 * norm.sf(np.abs(A))).plot()
    assert sum(bar.get_height() for bar in top.patches) == pytest.approx(5000)
    assert "166 z-scores" in low.get_title(loc="left")
    assert "132 of 5,000" in right.get_title(loc="left")
    assert left.get_ylabel() == "share of true nulls"
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    assert result.plot(ax=axes)[0] is axes[0]
    with pytest.raises(TypeError, match="what two_groups returns"):
        plotting.plot_two_groups(A)


def test_figure_of_a_callable_and_of_few() -> None:
    with plotting.style(offscreen=True):
        assert len(two_groups(A, null=lambda x: norm.pdf(x)).plot()) == 2
        assert len(q_values([0.5], pi0=1.0).plot()) == 2
