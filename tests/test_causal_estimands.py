"""Averages over treated rows: bounds where only a bound of the prior is known, points elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nb26stats.causal._estimands import bounds, effect_bounds, points

NAMES = ("erpf", "care", "responder_effect", "att")
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
    assert bounds("att", PRIOR, DIFFERENCE) == (pytest.approx(0.6), pytest.approx(0.6))
    # row by row: 0.4 to 2, -2 to -1, 2.4 to 3
    assert bounds("care", PRIOR, DIFFERENCE) == (pytest.approx(0.8 / 3), pytest.approx(4 / 3))
    # 0.6 when all respond, 0.6 / 0.5 when half do
    assert bounds("responder_effect", PRIOR, DIFFERENCE) == (
        pytest.approx(0.6),
        pytest.approx(1.2),
    )


def test_negative_effects_mirror_positive_ones() -> None:
    for name in ("care", "responder_effect", "att"):
        lower, upper = bounds(name, PRIOR, DIFFERENCE)
        assert bounds(name, PRIOR, -DIFFERENCE) == (pytest.approx(-upper), pytest.approx(-lower))


def test_the_prior_is_kept_from_the_ends_where_it_divides() -> None:
    lower, upper = effect_bounds([0.0, 1.0], [0.5, 0.5])
    np.testing.assert_allclose(lower, [0.5, 0.5])
    np.testing.assert_allclose(upper, [50.0, 0.5 / 0.99])
    assert bounds("responder_effect", [0.0, 0.0], [1.0, 1.0]) == (1.0, pytest.approx(100.0))


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
    lower, upper = bounds(name, p, c)
    for b in range(7):
        assert (lower[b], upper[b]) == bounds(name, p[b], c[b])
        assert points(name, p, c)[b] == points(name, p[b], c[b])


@pytest.mark.parametrize("function", [bounds, points])
def test_what_cannot_be_averaged(function: Any) -> None:
    with pytest.raises(ValueError, match="an estimand averages over treated rows, and none was"):
        function("att", [], [])
    with pytest.raises(ValueError, match="an estimand averages over treated rows, and none was"):
        function("att", 0.5, 1.0)
    with pytest.raises(ValueError, match=r"must have one shape, got \(1,\) and \(2,\)"):
        function("att", [0.5], [1.0, 2.0])
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
    for name in ("erpf", "att", "care"):
        lower, upper = bounds(name, prior, difference)
        found = points(name, truth, effect)
        assert lower - slack <= found <= upper + slack
    lower, upper = bounds("responder_effect", prior, difference)
    if prior.mean() >= 0.01:
        mean = difference.mean() / truth.mean()
        assert lower - slack <= mean <= upper + slack


@given(pairs())
def test_lower_ends_are_below_upper_ones(pair: Any) -> None:
    for name in NAMES:
        lower, upper = bounds(name, *pair)
        assert lower <= upper
    low, high = effect_bounds(*pair)
    assert (low <= high).all()
    assert ((low == pair[1]) | (high == pair[1])).all()
