"""What must not change a nonparametric selection: units, signs, threads, jobs, kinds of input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nb26stats import NonparametricC2G, datasets

DESIGNS = {
    "additive": datasets.simulate_additive(1000, 3, random_state=100),
    "nonadditive": datasets.simulate_nonadditive(600, 3, random_state=104),
}
ARRAYS = (
    "lfdr_",
    "q_values_",
    "prior_",
    "null_mean_",
    "effect_bounds_",
    "control_score_",
    "propensity_",
    "ess_",
    "selected_",
)


def fit(data: Any, X: Any = None, y: Any = None, **settings: Any) -> NonparametricC2G:
    model = NonparametricC2G(**({"random_state": 0, "n_threads": 1} | settings))
    return model.fit(
        data.X if X is None else X, data.y if y is None else y, treatment=data.treatment
    )


@pytest.fixture(scope="module")
def fits() -> dict[str, NonparametricC2G]:
    return {name: fit(data) for name, data in DESIGNS.items()}


def same(a: NonparametricC2G, b: NonparametricC2G) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("name", DESIGNS)
def test_units_do_not_matter(name: str, fits: Any) -> None:
    data, plain = DESIGNS[name], fits[name]
    other = fit(data, 7 * data.X + 3, 1000 * data.y + 5)
    assert plain.selected_.sum() > 50
    for q in (0.05, 0.1, 0.2):
        np.testing.assert_array_equal(other.select(q), plain.select(q))
    np.testing.assert_allclose(other.lfdr_, plain.lfdr_, atol=1e-8)
    np.testing.assert_allclose(other.null_mean_, 1000 * plain.null_mean_ + 5, rtol=1e-8)
    np.testing.assert_allclose(other.effect_bounds_, 1000 * plain.effect_bounds_, rtol=1e-7)
    for estimand, unit in (("erpf", 1), ("att", 1000), ("responder_effect", 1000), ("care", 1000)):
        a, b = (m.estimand_interval(estimand) for m in (plain, other))
        assert (b.lower, b.upper, b.ci_low) == pytest.approx(
            (unit * a.lower if estimand != "erpf" else a.lower, unit * a.upper, unit * a.ci_low),
            rel=1e-7,
        )


@pytest.mark.parametrize("name", DESIGNS)
def test_the_sign_of_the_outcome_does_not_matter(name: str, fits: Any) -> None:
    data, plain = DESIGNS[name], fits[name]
    other = fit(data, y=-data.y)
    for q in (0.05, 0.1, 0.2):
        np.testing.assert_array_equal(other.select(q), plain.select(q))
    np.testing.assert_allclose(other.effect_bounds_, -plain.effect_bounds_[:, ::-1], atol=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_signs_of_covariates_do_not_matter(name: str, fits: Any) -> None:
    data, plain = DESIGNS[name], fits[name]
    signs = np.where(np.arange(data.X.shape[1]) % 2, -1.0, 1.0)
    other = fit(data, X=signs * data.X)
    for q in (0.05, 0.1, 0.2):
        np.testing.assert_array_equal(other.select(q), plain.select(q))


def test_threads_jobs_and_frames_give_the_same_bits(fits: Any) -> None:
    import pandas as pd

    data, plain = DESIGNS["nonadditive"], fits["nonadditive"]
    same(fit(data, n_threads=2), plain)
    same(fit(data, n_jobs=2), plain)
    frame = pd.DataFrame(data.X, index=[f"row {i}" for i in range(600)]).add_prefix("x")
    framed = fit(data, X=frame, y=pd.Series(data.y, index=frame.index))
    same(framed, plain)
    assert framed.to_frame().index.equals(frame.index)
    same(fit(data, X=np.asfortranarray(data.X), y=data.y.tolist()), plain)


def test_order_of_rows_changes_little(fits: Any) -> None:
    data, plain = DESIGNS["additive"], fits["additive"]
    order = np.random.default_rng(0).permutation(1000)
    other = NonparametricC2G(random_state=0).fit(
        data.X[order], data.y[order], treatment=data.treatment[order]
    )
    selected = np.zeros(1000, bool)
    selected[order] = other.selected_
    # resamples and folds go by the place of a row
    assert (selected != plain.selected_).sum() <= 0.08 * plain.selected_.sum()


def test_the_seed_decides_and_is_kept(fits: Any) -> None:
    data, plain = DESIGNS["nonadditive"], fits["nonadditive"]
    assert plain.seed_ == 0
    other = fit(data, random_state=1)
    assert (other.q_values_ != plain.q_values_)[data.treatment].any()
    from_system = fit(data, random_state=None)
    same(fit(data, random_state=from_system.seed_), from_system)


@pytest.mark.parametrize("scale", [1e-150, 1e100])
def test_extreme_units(scale: float, fits: Any) -> None:
    data, plain = DESIGNS["nonadditive"], fits["nonadditive"]
    other = fit(data, X=scale * data.X, y=scale * data.y)
    np.testing.assert_array_equal(other.select(0.1), plain.select(0.1))
    np.testing.assert_allclose(other.lfdr_, plain.lfdr_, atol=1e-8)
