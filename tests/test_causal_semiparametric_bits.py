"""What must not change a semiparametric selection: units, jobs, kinds of input, order of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from nb26stats import SemiparametricC2G, datasets

DATA = datasets.simulate_additive(1000, 3, random_state=100)
ARRAYS = (
    "lfdr_",
    "q_values_",
    "prior_",
    "null_mean_",
    "effect_",
    "control_score_",
    "propensity_",
    "selected_",
)


def fit(X: Any = None, y: Any = None, **settings: Any) -> SemiparametricC2G:
    model = SemiparametricC2G(**({"random_state": 0} | settings))
    X = DATA.X if X is None else X
    return model.fit(X, DATA.y if y is None else y, treatment=DATA.treatment)


@pytest.fixture(scope="module")
def plain() -> SemiparametricC2G:
    return fit()


def same(a: SemiparametricC2G, b: SemiparametricC2G) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("zM1_", "zM2_", "n_iter_", "estimated_fdr_", "seed_"):
        assert getattr(a, name) == getattr(b, name), name


def differing(a: SemiparametricC2G, b: SemiparametricC2G, q: float) -> int:
    return len(np.setxor1d(a.select(q), b.select(q)))


@pytest.mark.parametrize("kernels", [True, False])
def test_units_hardly_matter(kernels: bool, plain: SemiparametricC2G) -> None:
    limit = {"max_kernel_n": 3000 if kernels else 100}
    a = plain if kernels else fit(**limit)
    b = fit(7 * DATA.X + 3, 1000 * DATA.y + 5, **limit)
    assert len(a.select()) > 100
    for q in (0.05, 0.1, 0.2):
        # what rounding does to the searches for effects
        assert differing(a, b, q) <= 0.01 * DATA.treatment.sum()
    np.testing.assert_allclose(b.null_mean_, 1000 * a.null_mean_ + 5, rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(b.effect_, 1000 * a.effect_, rtol=0.01, atol=1)
    np.testing.assert_allclose(b.lfdr_, a.lfdr_, atol=0.002)
    assert b.zM2_ == pytest.approx(a.zM2_, rel=1e-6)
    for estimand, unit in (("erpf", 1), ("att", 1000), ("responder_effect", 1000), ("care", 1000)):
        one, other = (m.estimand_interval(estimand).lower for m in (a, b))
        assert other == pytest.approx(unit * one, rel=1e-3)


def test_the_sign_of_the_outcome_hardly_matters(plain: SemiparametricC2G) -> None:
    other = fit(y=-DATA.y, noise="gaussian")
    symmetric = fit(noise="gaussian")
    for q in (0.05, 0.1, 0.2):
        assert differing(symmetric, other, q) <= 0.01 * DATA.treatment.sum()
    np.testing.assert_allclose(other.effect_, -symmetric.effect_, atol=0.01)
    assert other.zM1_ == pytest.approx(-plain.zM1_)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_extreme_units(scale: float, plain: SemiparametricC2G) -> None:
    other = fit(scale * DATA.X, scale * DATA.y)
    assert differing(plain, other, 0.1) <= 0.01 * DATA.treatment.sum()
    np.testing.assert_allclose(other.effect_ / scale, plain.effect_, rtol=0.01, atol=1e-3)


def test_jobs_and_frames_give_the_same_bits(plain: SemiparametricC2G) -> None:
    import pandas as pd

    same(fit(n_jobs=2), plain)
    frame = pd.DataFrame(DATA.X, index=[f"row {i}" for i in range(1000)]).add_prefix("x")
    framed = fit(frame, pd.Series(DATA.y, index=frame.index))
    same(framed, plain)
    assert framed.to_frame().index.equals(frame.index)
    same(fit(np.asfortranarray(DATA.X), DATA.y.tolist()), plain)


def test_threads_of_blas_give_the_same_bits(plain: SemiparametricC2G) -> None:
    from threadpoolctl import threadpool_limits

    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            same(fit(), plain)
            features = fit(max_kernel_n=100)
        np.testing.assert_array_equal(features.lfdr_, fit(max_kernel_n=100).lfdr_)


def test_refits_give_the_same_bits_for_any_jobs() -> None:
    small = datasets.simulate_additive(300, 5, random_state=1)
    one, two = (
        SemiparametricC2G(n_bootstrap=4, n_jobs=n_jobs, random_state=5).fit(
            small.X, small.y, treatment=small.treatment
        )
        for n_jobs in (1, 2)
    )
    same(one, two)
    for name in ("erpf", "care", "att", "responder_effect"):
        a, b = one.estimand_interval(name), two.estimand_interval(name)
        assert (a.ci_low, a.ci_high) == (b.ci_low, b.ci_high)
        assert a.ci_low < a.ci_high


def test_order_of_rows_does_not_matter(plain: SemiparametricC2G) -> None:
    order = np.random.default_rng(0).permutation(1000)
    other = SemiparametricC2G(random_state=0).fit(
        DATA.X[order], DATA.y[order], treatment=DATA.treatment[order]
    )
    selected = np.zeros(1000, bool)
    selected[order] = other.selected_
    # folds, first weights and orders go by ranks; what is left is rounding
    assert (selected != plain.selected_).sum() <= 0.01 * DATA.treatment.sum()
    np.testing.assert_allclose(other.lfdr_, plain.lfdr_[order], atol=0.002)


def test_order_of_many_rows_matters_little() -> None:
    """Of more than 500 treated rows the scale of the features comes from a sample."""
    many = datasets.simulate_confounded(1500, 3, 1.0, random_state=10)
    order = np.random.default_rng(0).permutation(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = (
            SemiparametricC2G(random_state=0, max_kernel_n=100).fit(
                many.X[at], many.y[at], treatment=many.treatment[at]
            )
            for at in (np.arange(1500), order)
        )
    selected = np.zeros(1500, bool)
    selected[order] = b.selected_
    assert (selected != a.selected_).sum() <= 0.08 * a.selected_.sum()


def test_the_seed_decides_and_is_kept(plain: SemiparametricC2G) -> None:
    assert plain.seed_ == 0
    other = fit(random_state=1)
    assert (other.q_values_ != plain.q_values_)[DATA.treatment].any()
    from_system = fit(random_state=None)
    same(fit(random_state=from_system.seed_), from_system)
