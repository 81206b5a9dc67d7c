"""Selection by local false discovery rates: worked numbers, ties, and what must hold for any."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nb26stats.causal._selection import (
    Calibration,
    calibrated_fdr,
    q_values,
    rank,
    running_mean,
    select,
)

LFDR = np.array([0.02, 0.5, 0.05, 0.3, 0.01, 0.2, 0.9])
TREATED = np.array([0.01, 0.05, 0.2, 0.6])
SCORES = np.array([0.3, 0.04, 0.8])
WEIGHTS = np.array([1.0, 2.0, 1.0])
RULES = ["model", "calibrated", "published"]

# few distinct numbers make ties
unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.5, 1.0]))


@st.composite
def trials(draw: Any) -> tuple[Any, Calibration]:
    n1, n0 = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    return draw(arrays(float, n1, elements=unit)), Calibration(
        draw(arrays(float, n0, elements=unit)),
        draw(arrays(float, n0, elements=st.floats(1e-3, 100))),
        draw(arrays(float, n0, elements=st.floats(0, 0.999))),
    )


ROOM = 1 + 1e-12


def mean_below(scores: Any, t: float) -> float:
    below = sorted(s for s in scores if s <= t)
    return float(np.cumsum(below)[-1] / len(below))


def count(scores: Any, level: float) -> int:
    """Scores whose running mean, at the end of their tied block, is within the level."""
    return sum(mean_below(scores, s) <= level * ROOM for s in scores)


def published_by_hand(lfdr: Any, q: float, score: Any) -> list[int]:
    for level in np.linspace(0, 1, 1000)[::-1]:
        n1 = count(lfdr, level)
        if level <= q * ROOM and count(score, level) / max(1, n1) <= q * ROOM:
            return sorted(np.argsort(lfdr, kind="stable")[:n1].tolist())
    return []


def by_hand(lfdr: Any, q: float, control: str, controls: Calibration) -> list[int]:
    """Apply the rules literally: thresholds from the largest down, counts by loops."""
    n1 = len(lfdr)
    if control == "published":
        return published_by_hand(lfdr, q, controls.score)
    v = controls.weight * (1 - controls.prior)
    total = controls.weight.sum() + controls.weight.mean()
    for t in sorted(set(lfdr), reverse=True):
        k = int((lfdr <= t).sum())
        rate = (v.mean() + v[controls.score <= t].sum()) * n1 / total / k
        if mean_below(lfdr, t) <= q * ROOM and (control == "model" or rate <= q * ROOM):
            return np.flatnonzero(lfdr <= t).tolist()
    return []


def test_worked_example_of_the_running_mean() -> None:
    assert select(LFDR, 0.1, "model").tolist() == [0, 2, 4, 5]
    expected = [0.01, 0.015, 0.08 / 3, 0.07, 0.116]
    np.testing.assert_allclose(running_mean(LFDR)[:5], expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [([0.5, 0.25, 0.0], [0.75, 0.9375, 0.625, 0.5625]), ([0.0] * 3, [1, 1.25, 5 / 6, 0.8125])],
)
def test_worked_example_of_the_calibration(prior: list[float], expected: list[float]) -> None:
    controls = Calibration(SCORES, WEIGHTS, np.array(prior))
    np.testing.assert_allclose(calibrated_fdr(rank(TREATED), controls), expected, rtol=1e-14)
    # from the end, the smallest so far of the larger of both rates
    q = q_values(TREATED, "calibrated", controls)
    np.testing.assert_allclose(q, min(expected), rtol=1e-11)


def test_worked_example_of_the_published_rule() -> None:
    lfdr, score = np.array([0.01, 0.03, 0.05, 0.9]), np.array([0.2, 0.4, 0.9])
    # running means .01 .02 .03 .2475 against .2 .3 .5: no control up to level .2
    controls = Calibration(score, np.ones(3), np.zeros(3))
    assert select(lfdr, 0.05, "published", controls).tolist() == [0, 1, 2]
    # with one control at .005 every count is one third at least
    controls = Calibration(np.array([0.005, 0.4, 0.9]), np.ones(3), np.zeros(3))
    assert select(lfdr, 0.05, "published", controls).tolist() == []
    assert select(lfdr, 0.34, "published", controls).tolist() == [0, 1, 2]


def test_a_tied_block_is_taken_whole_or_not_at_all() -> None:
    lfdr = np.array([0.05, 0.2, 0.2, 0.2, 0.9])
    # two of the three at .2 would fit into .15
    assert running_mean(lfdr)[2] <= 0.15 < running_mean(lfdr)[3]
    assert select(lfdr, 0.15, "model").tolist() == [0]
    assert select(lfdr, 0.17, "model").tolist() == [0, 1, 2, 3]


def test_rounding_does_not_lose_a_block_at_the_limit() -> None:
    lfdr = np.full(7, 0.1)
    assert len(select(lfdr, 0.1, "model")) == 7
    assert len(select(lfdr, 0.0999999, "model")) == 0


def test_one_extra_control_of_mean_weight_keeps_small_arms_honest() -> None:
    controls = Calibration(np.ones(30), np.full(30, 4.0), np.zeros(30))
    lfdr = np.full(30, 1e-6)
    # no control scores as low, and the estimate is still 1 in 31
    np.testing.assert_allclose(calibrated_fdr(rank(lfdr), controls), 1 / 31)


def test_no_treated_row_gives_no_q_value() -> None:
    for control in RULES:
        controls = Calibration(SCORES, WEIGHTS, np.zeros(3))
        assert q_values(np.empty(0), control, controls).shape == (0,)
        assert select(np.empty(0), 0.1, control, controls).shape == (0,)


@pytest.mark.parametrize("control", ["model", "calibrated"])
@given(trials(), st.floats(0.001, 0.999))
def test_selection_follows_the_rule_by_hand(control: str, data: Any, q: float) -> None:
    lfdr, controls = data
    assert select(lfdr, q, control, controls).tolist() == by_hand(lfdr, q, control, controls)


@settings(max_examples=30)
@given(trials(), st.floats(0.001, 0.999))
def test_the_published_rule_follows_its_levels_by_hand(data: Any, q: float) -> None:
    lfdr, controls = data
    lfdr, score = lfdr[:8], controls.score[:8]
    short = Calibration(score, controls.weight[:8], controls.prior[:8])
    assert select(lfdr, q, "published", short).tolist() == published_by_hand(lfdr, q, score)


@pytest.mark.parametrize("control", RULES)
@given(trials(), st.floats(0.001, 0.999), st.integers(0, 29))
def test_q_values_are_where_a_row_enters(control: str, data: Any, q: float, i: int) -> None:
    lfdr, controls = data
    values = q_values(lfdr, control, controls)
    assert np.array_equal(select(lfdr, q, control, controls), np.flatnonzero(values <= q))
    at = float(values[i % len(lfdr)])
    if 0 < at <= 1:
        assert i % len(lfdr) in select(lfdr, at, control, controls)
        below = float(np.nextafter(at, 0))
        assert i % len(lfdr) not in select(lfdr, below, control, controls)


@pytest.mark.parametrize("control", RULES)
@given(trials(), st.randoms())
def test_order_does_not_matter_and_ties_share_their_value(
    control: str, data: Any, random: Any
) -> None:
    lfdr, controls = data
    values = q_values(lfdr, control, controls)
    assert np.all((values >= 0) & (values <= 1 + 1e-12))
    order = list(range(len(lfdr)))
    random.shuffle(order)
    np.testing.assert_array_equal(q_values(lfdr[order], control, controls), values[order])
    ascending = np.argsort(lfdr, kind="stable")
    assert np.all(np.diff(values[ascending]) >= 0)
    for v in set(lfdr):
        assert len(set(values[lfdr == v])) == 1


@given(trials(), st.floats(0.001, 0.999))
def test_larger_q_never_loses_rows_and_calibration_never_adds_any(data: Any, q: float) -> None:
    lfdr, controls = data
    model = set(select(lfdr, q, "model").tolist())
    assert model <= set(select(lfdr, min(1.0, 1.5 * q), "model").tolist())
    assert set(select(lfdr, q, "calibrated", controls).tolist()) <= model
    full = Calibration(controls.score, controls.weight, np.zeros_like(controls.prior))
    assert np.all(
        q_values(lfdr, "calibrated", full) >= q_values(lfdr, "calibrated", controls) - 1e-12
    )


@given(trials(), st.floats(1e-3, 1e3))
def test_only_ratios_of_weights_matter(data: Any, factor: float) -> None:
    lfdr, controls = data
    other = Calibration(controls.score, controls.weight * factor, controls.prior)
    np.testing.assert_allclose(
        q_values(lfdr, "calibrated", other), q_values(lfdr, "calibrated", controls), rtol=1e-9
    )


def test_a_missing_control_counts_as_the_rows_it_would_stand_for() -> None:
    """Where treatment is likely, no control in the tail is no evidence."""
    lfdr = np.concatenate([np.full(10, 0.01), np.full(90, 0.9)])
    score, weight, none = np.full(100, 0.5), np.ones(100), np.zeros(100)
    plain = q_values(lfdr, "calibrated", Calibration(score, weight, none))
    for own, factor in ((0.2, 1.0), (1.0, 1.0), (5.0, 1.0)):
        # a weight beyond that of every control counts as the largest
        heavy = Calibration(score, weight, none, np.full(100, own))
        np.testing.assert_allclose(
            q_values(lfdr, "calibrated", heavy)[:10], factor * plain[:10], rtol=1e-12
        )
    uneven = np.where(np.arange(100) < 5, 8.0, 0.6)
    base = Calibration(score, uneven, none)
    likely = Calibration(score, uneven, none, np.full(100, 4.0))
    before, after = (q_values(lfdr, "calibrated", c)[:10] for c in (base, likely))
    expected = before * 4.0 / uneven.mean()
    np.testing.assert_allclose(after, expected, rtol=1e-12)


@given(trials(), st.integers(0, 2**32 - 1))
def test_heavier_treated_rows_never_select_more(problem: tuple, seed: int) -> None:
    lfdr, controls = problem
    own = np.random.default_rng(seed).exponential(1.0, len(lfdr))
    heavy = dataclasses.replace(controls, treated_weight=own)
    assert (
        q_values(lfdr, "calibrated", heavy) >= q_values(lfdr, "calibrated", controls) - 1e-12
    ).all()
    order = np.random.default_rng(seed).permutation(len(lfdr))
    again = dataclasses.replace(controls, treated_weight=own[order])
    np.testing.assert_array_equal(
        q_values(lfdr[order], "calibrated", again), q_values(lfdr, "calibrated", heavy)[order]
    )
