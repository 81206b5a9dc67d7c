"""Correction over bins and latencies, on courses made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nb26stats.information._correction import (
    correct,
    fewest_permutations,
    null_moments,
    order_number,
)
from nb26stats.information._latency import Rule, interval, latencies, onset_offset, runs


def settings(**kw: object) -> dict[str, object]:
    return {"alpha": 0.05, "correction": "max", "scope": "separate", **kw}


def by_hand(values: np.ndarray, null: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z and p_max of one row, as the definition reads."""
    mean, sd = null.mean(), null.std()
    z = (values - mean) / sd
    maxima = ((null - mean) / sd).max(axis=1)
    return z, np.array([(1 + (maxima >= v).sum()) / (len(null) + 1) for v in z])


@given(st.integers(0, 2**32), st.integers(19, 60))
def test_p_is_the_share_of_larger_maxima_and_agrees_with_the_threshold(
    seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    null = rng.gamma(2.0, size=(count, 3, 5))
    values = rng.gamma(2.0, size=(3, 5)) * 2
    found = correct(values, null, np.ones(3, bool), **settings())
    for i in range(3):
        z, p = by_hand(values[i], null[:, i])
        np.testing.assert_allclose(found.z[i], z, atol=1e-9)
        np.testing.assert_allclose(found.p[i], p, atol=1e-12)
    np.testing.assert_array_equal(found.significant, found.p <= 0.05)
    np.testing.assert_array_equal(found.significant, found.z > found.threshold[:, None])
    np.testing.assert_array_equal(found.significant, found.by_maximum)


def test_scope_all_takes_the_maximum_over_the_tested_rows() -> None:
    rng = np.random.default_rng(0)
    null, values = rng.normal(size=(199, 4, 6)), rng.normal(size=(4, 6)) + 2
    tested = np.array([True, False, True, True])
    one = correct(values, null, tested, **settings())
    all_ = correct(values, null, tested, **settings(scope="all"))
    assert (all_.p[tested] >= one.p[tested]).all()
    assert (all_.threshold[tested] > one.threshold[tested]).all()
    assert np.unique(all_.threshold[tested]).size == 1
    for out in (one, all_):
        assert np.isnan(out.p[1]).all()
        assert np.isnan(out.threshold[1])
        assert not out.significant[1].any()
    # the row without a test takes no part in the maximum
    null[:, 1] *= 100
    again = correct(values, null, tested, **settings(scope="all"))
    np.testing.assert_array_equal(again.p, all_.p)


def test_a_null_that_never_varies_ties_with_itself() -> None:
    null = np.zeros((99, 1, 4))
    values = np.array([[0.0, 1e-14, 0.3, -0.2]])
    found = correct(values, null, np.ones(1, bool), **settings())
    np.testing.assert_array_equal(found.p, [[1.0, 1.0, 0.01, 1.0]])
    np.testing.assert_array_equal(found.z, [[0.0, 0.0, np.inf, -np.inf]])


def test_clusters_by_their_mass() -> None:
    null = np.zeros((99, 1, 8))
    null[:, 0, ::2] = 1.0  # mean .5, sd .5, z is -1 or 1: no cluster in the null
    null[0, 0] = [0.5, 0.5, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5]
    mean, sd = (float(v[0]) for v in null_moments(null))
    values = np.array([[0.5, 2.5, 2.5, 2.5, 0.5, 1.8, 0.5, 0.5]])
    found = correct(values, null, np.ones(1, bool), **settings(correction="cluster"))
    mass = 2 * (2.0 - mean) / sd
    assert (1.8 - mean) / sd < mass < 3 * (2.5 - mean) / sd
    np.testing.assert_array_equal(found.p, [[1.0, 0.01, 0.01, 0.01, 1.0, 0.02, 1.0, 1.0]])
    # latencies go by the maximum, by which the last cluster is below the largest permutation
    np.testing.assert_array_equal(found.by_maximum, found.z > found.threshold[:, None])


def test_smallest_number_of_permutations() -> None:
    assert fewest_permutations(0.01) == 99
    assert fewest_permutations(0.05) == 19
    assert fewest_permutations(0.3) == 3
    assert order_number(0.01, 100) == 100
    assert order_number(0.01, 99) == 99
    assert order_number(0.05, 99) == 95


def rule(n: int, **kw: object) -> Rule:
    times = 5.0 * np.arange(n) - 10.0
    return Rule(**{"times": times, "min_run": 3, "method": "run", "fraction": 0.25, **kw})


def test_onset_of_the_first_run_and_offset_after_the_last() -> None:
    flags = np.array([0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1], dtype=bool)
    assert runs(flags, 3) == [(4, 7), (9, 13)]
    assert runs(flags, 2) == [(1, 3), (4, 7), (9, 13), (14, 16)]
    values = np.zeros(16)
    assert onset_offset(values, flags, rule(16)) == (10.0, 55.0)
    assert np.isnan(onset_offset(values, flags, rule(16, min_run=5))).all()
    onset, offset = onset_offset(values, flags, rule(16, min_run=2))
    assert onset == -5.0
    assert np.isnan(offset)  # the last run goes on to the end


def test_onset_at_a_fraction_of_the_peak() -> None:
    values = np.array([1.0, 1.2, 1.3, 2.5, 5.1, 3.0, 2.2, 1.5])
    flags = np.array([0, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    # baseline 1.1, peak 4 above it: half is reached in the bin of the peak only
    by_half = rule(8, method="fraction", fraction=0.5)
    assert onset_offset(values, flags, by_half) == (10.0, 15.0)
    assert onset_offset(values, flags, rule(8, method="fraction")) == (5.0, 25.0)
    none = np.zeros(8, dtype=bool)
    assert np.isnan(onset_offset(values, none, by_half)).all()
    assert np.isnan(onset_offset(np.ones(8), flags, by_half)).all()


def test_rows_of_latencies_and_their_intervals() -> None:
    flags = np.zeros((2, 6), dtype=bool)
    flags[1, 2:5] = True
    onsets, offsets = latencies(np.zeros((2, 6)), flags, rule(6))
    np.testing.assert_array_equal(onsets, [np.nan, 0.0])
    np.testing.assert_array_equal(offsets, [np.nan, 15.0])
    draws = np.array([np.nan, *np.arange(101.0)])
    assert interval(draws, 0.9) == pytest.approx((5.0, 95.0))
    assert np.isnan(interval(np.full(3, np.nan), 0.9)).all()
