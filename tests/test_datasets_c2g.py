"""Simulators of responders: the published draws to the digit, and what they say of themselves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from nb26stats import datasets


def test_additive_design_has_the_published_sums() -> None:
    data = datasets.simulate_additive(1000, 3, random_state=100)
    assert data.X.sum() == pytest.approx(64.0847558225, abs=1e-9)
    assert data.y.sum() == pytest.approx(559.7022062842, abs=1e-9)
    assert data.prior.sum() == pytest.approx(496.5812167453, abs=1e-9)
    assert (data.treatment.sum(), data.responder.sum()) == (467, 240)


def test_nonadditive_design_has_the_published_sums() -> None:
    data = datasets.simulate_nonadditive(1000, 3, random_state=100)
    assert data.X.sum() == pytest.approx(78.0098565190, abs=1e-9)
    assert data.y.sum() == pytest.approx(596.1645130082, abs=1e-9)
    assert (data.treatment.sum(), data.responder.sum()) == (514, 253)


def test_confounded_design_draw_by_draw() -> None:
    r = np.random.default_rng(7)
    x = r.normal(size=(300, 5))
    e = expit(-1.5 + x[:, 0])
    t = r.random(300) < e
    pi = expit(-0.5 + x[:, 1])
    h = t & (r.random(300) < pi)
    d = 2 * (1 + 0.3 * x[:, 2])
    noise = r.standard_t(5, 300) * np.sqrt(3 / 5)
    data = datasets.simulate_confounded(300, 2, -1.5, random_state=7)
    np.testing.assert_array_equal(data.treatment, t)
    np.testing.assert_array_equal(data.responder, h)
    np.testing.assert_array_equal(data.prior, pi)
    np.testing.assert_array_equal(data.propensity, e)
    np.testing.assert_allclose(data.y, x[:, 0] + x[:, 1] ** 2 / 2 + d * h + noise, atol=1e-14)
    np.testing.assert_allclose(data.effect, d)


@pytest.mark.parametrize(
    "simulate",
    [datasets.simulate_additive, datasets.simulate_nonadditive, datasets.simulate_confounded],
)
def test_effect_prior_and_null_mean_are_those_of_the_rows(simulate: object) -> None:
    data = simulate(100_000, 3, random_state=1)  # type: ignore[operator]
    assert not (data.responder & ~data.treatment).any()
    others = ~data.responder
    for rows, expected in (
        (others, data.null_mean),
        (data.responder, data.null_mean + data.effect),
    ):
        gap = (data.y - expected)[rows]
        # nonadditive: mean of a square has the variance of the noise on top
        assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(rows.sum())
    share = data.responder[data.treatment] - data.prior[data.treatment]
    assert abs(share.mean()) < 5 * 0.5 / np.sqrt(len(share))
    assert abs((data.treatment - data.propensity).mean()) < 5 * 0.5 / np.sqrt(100_000)


def test_no_effect_is_no_effect() -> None:
    data = datasets.simulate_additive(500, 0, random_state=3)
    np.testing.assert_array_equal(data.effect, 0.0)
    assert data.responder.any()


def test_tables_and_plain_forms() -> None:
    data = datasets.simulate_confounded(60, random_state=2.0)
    frame = data.to_frame()
    assert list(frame.columns[:6]) == ["x0", "x1", "x2", "x3", "x4", "y"]
    np.testing.assert_array_equal(frame["responder"], data.responder)
    assert data.to_r()["X"]["dim"] == [60, 5]
    again = datasets.simulate_confounded(60, random_state=np.random.default_rng(5))
    assert again.X.shape == (60, 5)
    assert not np.array_equal(again.y, data.y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.simulate_additive(0), "n_samples=0 must be at least 1"),
        (lambda: datasets.simulate_nonadditive(10, -2), "tau=-2 must be at least -1"),
        (lambda: datasets.simulate_confounded(10, a=np.inf), "a=inf must be finite"),
    ],
)
def test_numbers_out_of_range_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_shares_of_false_and_found_rows() -> None:
    data = datasets.simulate_additive(200, 3, random_state=0)
    hit, miss = np.flatnonzero(data.responder), np.flatnonzero(~data.responder)
    chosen = np.concatenate([hit[:3], miss[:1]])
    mask = np.isin(np.arange(200), chosen)
    for given in (chosen, mask, chosen.tolist(), chosen.astype(float)):
        assert data.false_discovery_proportion(given) == 0.25
        assert data.power(given) == pytest.approx(3 / len(hit))
    assert data.false_discovery_proportion([]) == 0
    assert data.power([]) == 0
    none = datasets.simulate_additive(20, 3, random_state=0)
    nobody = dataclasses.replace(none, responder=np.zeros(20, bool))
    assert np.isnan(nobody.power([1]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([200], r"selected=200 must lie in \[0, 199\]"),
        ([True], r"selected has shape \(1,\); a mask must have the 200 rows"),
    ],
)
def test_rows_that_are_not_there_are_named(given: object, message: str) -> None:
    data = datasets.simulate_additive(200)
    for method in (data.power, data.false_discovery_proportion):
        with pytest.raises(ValueError, match=message):
            method(given)
