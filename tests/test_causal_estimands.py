"""Averages over treated rows: bounds where only a bound of the prior is known, points elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nb26stats.causal._estimands import (
    Att,
    around,
    att_limits,
    bounds,
    doubly_robust_att,
    effect_bounds,
    points,
    responder_bounds,
    responder_limits,
)

NAMES = ("erpf", "care", "responder_effect", "att")
BOUNDED = ("erpf", "care")
PRIOR = np.array([0.2, 0.5, 0.8])
DIFFERENCE = np.array([0.4, -1.0, 2.4])


@st.composite
def pairs(draw: Any) -> tuple[Any, Any]:
    n = draw(st.integers(1, 20))
    return (
        draw(arrays(float, n, elements=st.floats(0, 1))),
        draw(arrays(float, n, elements=st.floats(-1e6, 1e6))),
    )


def test_bounds_by_hand() -> None:
    assert bounds("erpf", PRIOR, DIFFERENCE) == (pytest.approx(0.5), 1.0)
    # row by row: 0.4 to 2, -2 to -1, 2.4 to 3
    assert bounds("care", PRIOR, DIFFERENCE) == (pytest.approx(0.8 / 3), pytest.approx(4 / 3))
    # 0.6 when all respond, 0.6 / 0.5 when half do
    assert responder_bounds(0.6, 0.5) == (pytest.approx(0.6), pytest.approx(1.2))


def test_negative_effects_mirror_positive_ones() -> None:
    lower, upper = bounds("care", PRIOR, DIFFERENCE)
    assert bounds("care", PRIOR, -DIFFERENCE) == (pytest.approx(-upper), pytest.approx(-lower))
    assert responder_bounds(-0.6, 0.5) == (pytest.approx(-1.2), pytest.approx(-0.6))
    low, high = responder_limits(Att(0.6, 0.2), [0.4, 0.5, 0.6], 0.9)
    assert responder_limits(Att(-0.6, 0.2), [0.4, 0.5, 0.6], 0.9) == (
        pytest.approx(-high),
        pytest.approx(-low),
    )


def test_the_prior_is_kept_from_the_ends_where_it_divides() -> None:
    lower, upper = effect_bounds([0.0, 1.0], [0.5, 0.5])
    np.testing.assert_allclose(lower, [0.5, 0.5])
    np.testing.assert_allclose(upper, [50.0, 0.5 / 0.99])
    assert responder_bounds(1.0, 0.0) == (1.0, pytest.approx(100.0))


def test_points_by_hand() -> None:
    effect = np.array([1.0, 2.0, 3.0])
    assert points("erpf", PRIOR, effect) == pytest.approx(0.5)
    assert points("care", PRIOR, effect) == pytest.approx(2.0)
    assert points("att", PRIOR, effect) == pytest.approx(3.6 / 3)
    assert points("responder_effect", PRIOR, effect) == pytest.approx(2.4)


@pytest.mark.parametrize("name", NAMES)
def test_axes_before_the_rows_are_resamples(name: str) -> None:
    r = np.random.default_rng(0)
    p, c = r.random((7, 5)), r.normal(size=(7, 5))
    for b in range(7):
        assert points(name, p, c)[b] == points(name, p[b], c[b])
        if name in BOUNDED:
            lower, upper = bounds(name, p, c)
            assert (lower[b], upper[b]) == bounds(name, p[b], c[b])


@pytest.mark.parametrize("function", [bounds, points])
def test_what_cannot_be_averaged(function: Any) -> None:
    with pytest.raises(ValueError, match="an estimand averages over treated rows, and none was"):
        function("care", [], [])
    with pytest.raises(ValueError, match="an estimand averages over treated rows, and none was"):
        function("care", 0.5, 1.0)
    with pytest.raises(ValueError, match=r"must have one shape, got \(1,\) and \(2,\)"):
        function("care", [0.5], [1.0, 2.0])
    with pytest.raises(ValueError, match="estimand='ate' must be one of 'erpf', 'care'"):
        function("ate", [0.5], [1.0])


@given(pairs(), st.floats(0, 1))
def test_every_prior_between_the_bound_and_one_is_inside(pair: Any, share: float) -> None:
    prior, difference = pair
    # the same step towards 1 in all rows is one of the priors that the bound allows
    truth = prior + share * (1 - prior)
    if truth.min() < 0.01:
        return
    effect = difference / truth
    slack = 1e-9 * (1 + np.abs(effect).max())
    for name in BOUNDED:
        lower, upper = bounds(name, prior, difference)
        found = points(name, truth, effect)
        assert lower - slack <= found <= upper + slack
    lower, upper = responder_bounds(difference.mean(), prior.mean())
    if prior.mean() >= 0.01:
        mean = difference.mean() / truth.mean()
        assert lower - slack <= mean <= upper + slack


@given(pairs())
def test_lower_ends_are_below_upper_ones(pair: Any) -> None:
    for name in BOUNDED:
        lower, upper = bounds(name, *pair)
        assert lower <= upper
    lower, upper = responder_bounds(pair[1].mean(), pair[0].mean())
    assert lower <= upper
    low, high = effect_bounds(*pair)
    assert (low <= high).all()
    assert ((low == pair[1]) | (high == pair[1])).all()


def test_effect_on_the_treated_by_hand() -> None:
    # means 2 and (1 * 0 + 3 * 1) / 4; leaving a row out changes them by 1, and 1/4 and 3/4
    found = doubly_robust_att([1.0, 3.0], [0.0, 1.0], [1.0, 3.0])
    assert found.value == pytest.approx(2 - 0.75)
    assert found.error == pytest.approx(np.sqrt(1 + 1 + 0.25**2 + 0.75**2))
    low, high = att_limits(found, 0.9)
    assert (low + high) / 2 == pytest.approx(found.value)
    assert (high - low) / 2 == pytest.approx(1.6448536 * found.error)
    equal = doubly_robust_att([1.0, 3.0], [0.0, 1.0])
    assert equal == doubly_robust_att([1.0, 3.0], [0.0, 1.0], [5.0, 5.0])


def test_influences_are_changes_without_a_row() -> None:
    r = np.random.default_rng(1)
    r1, r0, w = r.normal(size=20), r.normal(size=15), r.exponential(size=15)
    found = doubly_robust_att(r1, r0, w)
    changes = [doubly_robust_att(np.delete(r1, i), r0, w).value - found.value for i in range(20)]
    changes += [
        doubly_robust_att(r1, np.delete(r0, j), np.delete(w, j)).value - found.value
        for j in range(15)
    ]
    # what a row adds is its share of the change that leaving it out makes
    assert found.error == pytest.approx(np.linalg.norm(changes))


def test_one_row_with_all_the_weight_has_no_error_to_tell() -> None:
    for residual, weight in (([1.0], [1.0, 1.0]), ([1.0, 3.0], [1e12, 1.0])):
        found = doubly_robust_att(residual, [0.0, 0.5], weight)
        assert np.isfinite(found.value)
        assert np.isnan(found.error)
        assert np.isnan(att_limits(found, 0.9)).all()
        assert np.isnan(responder_limits(found, [0.5], 0.9)).all()
    for residual, controls in (([], [1.0]), ([1.0], [])):
        with pytest.raises(ValueError, match="needs rows in both arms, got"):
            doubly_robust_att(residual, controls)


def test_limits_in_responders_hold_both_errors() -> None:
    att = Att(1.0, 0.1)
    # a share that is known: the limits of the average, and the same over the share
    low, high = responder_limits(att, [0.5], 0.9)
    ends = att_limits(att, 0.9)
    assert (low, high) == (pytest.approx(ends[0], rel=1e-3), pytest.approx(2 * ends[1], rel=1e-3))
    # an average that is known: the extremes of the share
    shares = np.linspace(0.4, 0.6, 101)
    assert responder_limits(Att(1.0, 0.0), shares, 0.9)[1] == pytest.approx(1 / 0.41, rel=1e-2)
    assert responder_limits(att, shares, 0.9)[1] > max(high, 1 / 0.41)
    assert responder_limits(att, shares, 0.9)[0] == pytest.approx(low, rel=2e-3)


def test_resampled_shares_spread_about_the_estimate() -> None:
    np.testing.assert_allclose(around(0.4, [0.5, 0.6, 0.7]), [0.3, 0.4, 0.5])
    np.testing.assert_allclose(around(0.05, [0.5, 0.9]), [0.0, 0.25])
