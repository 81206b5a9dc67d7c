"""The binning kernel against slow references: whole ticks, exact fractions, the rule itself."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.spikes import count_exact, count_rule, count_ticks

from nb26stats._numba.spikes import LIMITS, count_spikes


def count(trains, events, w0, width, n_bins, tol=1e-9, groups=None, **options):
    """Counts (n_events, n_bins, n_units) of a list of spike trains."""
    trains = [np.sort(np.asarray(t, np.float64)) for t in trains]
    index = np.concatenate([[0], np.cumsum([t.size for t in trains])]).astype(np.int64)
    spikes = np.concatenate([*trains, np.empty(0)])
    groups = [np.arange(len(trains))] if groups is None else groups
    arrays, lost = count_spikes(
        spikes,
        index,
        [np.asarray(g, np.int64) for g in groups],
        np.asarray(events, np.float64),
        w0=w0,
        bin_size=width,
        n_bins=n_bins,
        tol=tol,
        **options,
    )
    assert lost == 0
    return arrays[0] if len(arrays) == 1 else arrays


@pytest.mark.parametrize(
    ("spikes", "events", "w0", "n_bins", "expected"),
    [
        ([0.3], [0.0], 0.0, 5, [[0, 0, 0, 1, 0]]),
        ([k / 10 for k in range(10)], [0.0], 0.0, 10, [[1] * 10]),
        ([1.0], [0.0], 0.0, 10, [[0] * 10]),
        ([0.05, 0.15, 0.25], [0.0, 0.1], 0.0, 3, [[1, 1, 1], [1, 1, 0]]),
        ([0.25, 0.25, 0.26], [0.0], 0.2, 1, [[3]]),
        ([-5.05, -4.95], [-5.0], -0.1, 2, [[1, 1]]),
        ([3.05], [0.0], 3.0, 2, [[1, 0]]),
        ([0.05], [0.0, 0.0, 0.0], 0.0, 1, [[1], [1], [1]]),
        ([], [0.0, 1.0], 0.0, 2, [[0, 0], [0, 0]]),
    ],
    ids=["V1", "V2", "V3", "V4", "two-in-a-bin", "negative", "without-zero", "equal", "empty-unit"],
)
def test_known_small_cases(spikes, events, w0, n_bins, expected):
    got = count([spikes], events, w0, 0.1, n_bins)
    np.testing.assert_array_equal(got[:, :, 0], expected)
    np.testing.assert_array_equal(count_rule(spikes, events, w0, 0.1, n_bins, 1e-9), expected)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1.6e9], ids=["V5", "V6-1e6", "V6-unix"])
def test_millisecond_grid_is_exact(offset):
    rng = np.random.default_rng(0)
    ms = np.sort(rng.integers(0, 1_000_000, 20000))
    events = np.arange(1000, 990000, 2500)
    tol = max(1e-9, 4 * float(np.spacing(offset + 1000)))
    got = count([ms / 1000 + offset], events / 1000 + offset, -0.2, 0.01, 50, tol)[:, :, 0]
    bins = (ms[None, :] - events[:, None] + 200) // 10
    truth = np.array([np.bincount(b[(b >= 0) & (b < 50)], minlength=50) for b in bins])
    assert got.sum() == 4001
    np.testing.assert_array_equal(got, truth)


def test_without_tolerance_bins_are_plainly_half_open():
    # 0.3 / 0.1 is just below 3 in binary
    np.testing.assert_array_equal(count([[0.3]], [0.0], 0.0, 0.1, 5, 0.0)[0, :, 0], [0, 0, 1, 0, 0])


def test_one_thirty_thousandth_bins_keep_neighbouring_samples_apart():
    got = count([[61528 / 30000, 61529 / 30000]], [61528 / 30000], 0.0, 1 / 30000, 4)
    np.testing.assert_array_equal(got[0, :, 0], [1, 1, 0, 0])


RATES = [
    Fraction(n) for n in (1000, 1250, 2000, 10000, 20000, 25000, 30000, 32000, 32552, 40000)
] + [Fraction(390625, 16)]
WIDTHS = [Fraction(1, n) for n in (20, 50, 100, 200, 500, 1000, 2000, 10000, 30000)]
OFFSETS = [0, 17, 5000, 10**6, 16 * 10**8]


def _grids(n):
    """Random (rate, bin, offset, tolerance) whose common grid is wider than the tolerance."""
    rng = np.random.default_rng(27)
    found = []
    while len(found) < n:
        rate, width = RATES[rng.integers(len(RATES))], WIDTHS[rng.integers(len(WIDTHS))]
        offset = OFFSETS[rng.integers(len(OFFSETS))]
        tol = max(1e-9, 4 * float(np.spacing(float(offset + 20))))
        # the greatest common divisor of 1/rate and the bin: what all differences are multiples of
        scale = math.lcm(rate.numerator, width.denominator)
        step = Fraction(math.gcd(int(scale / rate), int(scale * width)), scale)
        if tol < float(width) / 100 and float(step) > 2 * tol:
            found.append((rate, width, offset, tol, int(rng.integers(2**31))))
    return found


@pytest.mark.parametrize(
    ("rate", "width", "offset", "tol", "seed"),
    _grids(40),
    ids=lambda v: str(v) if not isinstance(v, float) else f"{v:.1g}",
)
def test_v27_commensurate_grids_agree_with_fractions(rate, width, offset, tol, seed):
    rng = np.random.default_rng(seed)
    top = int(20 * rate)
    n_bins = 20
    start = -int(rng.integers(0, n_bins)) * width
    events = [offset + Fraction(int(k)) / rate for k in rng.integers(top // 4, top // 2, 8)]
    # near the events, and many of them exactly on a bin edge as far as the sampling allows
    near = [
        events[rng.integers(8)] + Fraction(round((start + int(k) * width) * rate)) / rate
        for k in rng.integers(0, n_bins + 1, 150)
    ]
    spikes = near + [offset + Fraction(int(k)) / rate for k in rng.integers(0, top, 150)]
    got = count(
        [[float(s) for s in spikes]],
        [float(e) for e in events],
        float(start),
        float(width),
        n_bins,
        tol,
    )
    truth = count_exact(spikes, events, start, width, n_bins)
    assert truth.sum() > 0
    np.testing.assert_array_equal(got[:, :, 0], truth)


def test_incommensurate_rate_moves_only_spikes_within_the_tolerance():
    rate, width = Fraction(3000009, 100), Fraction(1, 30000)
    spikes = [Fraction(k) / rate for k in range(0, 400000, 7)]
    tol = 1e-9
    got = count([[float(s) for s in spikes]], [0.0], 0.0, float(width), 100000, tol)[0, :, 0]
    truth = count_exact(spikes, [Fraction(0)], Fraction(0), width, 100000)[0]
    moved = [s for s in spikes if 0 < math.ceil(s / width) * width - s <= Fraction(tol)]
    shifted = truth.copy()
    for s in moved:
        k = math.floor(s / width)
        if k < 100000:
            shifted[k] -= 1
        if k + 1 < 100000:
            shifted[k + 1] += 1
    assert moved
    np.testing.assert_array_equal(got, shifted)


times = st.floats(-3, 3, allow_nan=False).map(lambda v: round(v, 3))
train = st.lists(times, max_size=30)
trains = st.lists(train, min_size=1, max_size=4)
events = st.lists(times, max_size=8)


@given(
    trains=trains,
    events=events,
    w0=st.sampled_from([-1.0, -0.25, 0.0, 0.1, 2.0]),
    width=st.sampled_from([0.001, 0.01, 0.1, 1 / 3, 1.0]),
    n_bins=st.integers(1, 40),
    tol=st.sampled_from([0.0, 1e-9, 1e-6]),
)
def test_kernel_equals_the_rule_spelled_out(trains, events, w0, width, n_bins, tol):
    got = count(trains, events, w0, width, n_bins, tol)
    for u, spikes in enumerate(trains):
        np.testing.assert_array_equal(
            got[:, :, u], count_rule(spikes, events, w0, width, n_bins, tol)
        )


@given(trains=trains, events=events, data=st.data())
def test_v18_permutations_and_subsets(trains, events, data):
    whole = count(trains, events, -0.5, 0.05, 30)
    order = data.draw(st.permutations(range(len(events))))
    few = order[: data.draw(st.integers(0, len(order)))]
    got = count(trains, [events[i] for i in few], -0.5, 0.05, 30)
    np.testing.assert_array_equal(got, whole[few])
    units = data.draw(st.permutations(range(len(trains))))
    np.testing.assert_array_equal(
        count(trains, events, -0.5, 0.05, 30, groups=[units]), whole[:, :, units]
    )
    half = len(units) // 2
    first, second = count(trains, events, -0.5, 0.05, 30, groups=[units[:half], units[half:]])
    np.testing.assert_array_equal(np.concatenate([first, second], axis=2), whole[:, :, units])


@given(a=train, b=train, events=events)
def test_counts_of_two_trains_add_up(a, b, events):
    both = count([a + b], events, -0.5, 0.1, 12)
    parts = count([a, b], events, -0.5, 0.1, 12)
    np.testing.assert_array_equal(both[:, :, 0], parts.sum(axis=2))


ticks = st.lists(st.integers(0, 4000), max_size=40)


@given(
    spikes=ticks, events=ticks, start=st.integers(-300, 300), n=st.integers(2, 30), cut=st.data()
)
def test_a_window_is_the_sum_of_its_parts(spikes, events, start, n, cut):
    k = cut.draw(st.integers(1, n - 1))
    s, e = np.array(sorted(spikes)) / 1000, np.array(events) / 1000
    whole = count([s], e, start / 1000, 0.01, n)
    left = count([s], e, start / 1000, 0.01, k)
    right = count([s], e, (start + 10 * k) / 1000, 0.01, n - k)
    np.testing.assert_array_equal(np.concatenate([left, right], axis=1), whole)
    np.testing.assert_array_equal(whole[:, :, 0], count_ticks(sorted(spikes), events, start, 10, n))


@given(spikes=ticks, events=ticks, shift=st.sampled_from([1000, 86_400_000, 10**9]))
def test_counts_do_not_depend_on_the_zero_of_the_clock(spikes, events, shift):
    tol = max(1e-9, 4 * float(np.spacing(shift / 1000 + 4)))
    s, e = np.array(sorted(spikes), np.int64), np.array(events, np.int64)
    here = count([s / 1000], e / 1000, -0.1, 0.02, 15)
    there = count([(s + shift) / 1000], (e + shift) / 1000, -0.1, 0.02, 15, tol)
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("n_threads", [2, 3, 16])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_v18_threads_give_the_same_bits(n_threads, dtype):
    rng = np.random.default_rng(3)
    trains = [rng.uniform(0, 100, rng.integers(0, 900)) for _ in range(150)]
    events = rng.uniform(0, 100, 60)
    groups = [np.arange(0, 100), np.arange(100, 103), np.arange(103, 150)]
    one = count(trains, events, -1.0, 0.1, 20, groups=groups, dtype=dtype)
    many = count(trains, events, -1.0, 0.1, 20, groups=groups, dtype=dtype, n_threads=n_threads)
    for a, b in itertools.zip_longest(one, many):
        assert a.dtype == np.dtype(dtype)
        assert a.flags.c_contiguous
        np.testing.assert_array_equal(a, b)
    assert sum(int(a.sum()) for a in one) > 0


@pytest.mark.parametrize(("dtype", "n"), [("uint8", 255), ("uint16", 65535)])
def test_small_types_hold_their_largest_count_and_report_more(dtype, n):
    spikes, index, unit = np.full(n, 0.5), np.array([0, n]), [np.array([0])]
    options = {"w0": 0.0, "bin_size": 1.0, "n_bins": 1, "tol": 1e-9, "dtype": dtype}
    (array,), lost = count_spikes(spikes, index, unit, np.zeros(1), **options)
    assert (array.item(), lost) == (n, 0)
    spikes, index = np.full(n + 3, 0.5), np.array([0, n + 3])
    (array,), lost = count_spikes(spikes, index, unit, np.zeros(2), **options)
    np.testing.assert_array_equal(array.ravel(), [n, n])
    assert lost == 6


def test_float32_stops_at_its_last_exact_count():
    n = 2**24 + 1
    (array,), lost = count_spikes(
        np.full(n, 0.5),
        np.array([0, n]),
        [np.array([0])],
        np.zeros(1),
        w0=0.0,
        bin_size=1.0,
        n_bins=1,
        tol=1e-9,
        dtype="float32",
    )
    assert array.item() == LIMITS["float32"] == 2**24
    assert lost == 1


def test_work_is_cut_into_short_calls_without_changing_the_result(monkeypatch):
    rng = np.random.default_rng(5)
    trains = [rng.uniform(0, 50, 300) for _ in range(70)]
    events = rng.uniform(0, 50, 40)
    whole = count(trains, events, -0.5, 0.1, 10)
    monkeypatch.setattr("nb26stats._numba.spikes._VISITS", 2000)
    monkeypatch.setattr("nb26stats._numba.spikes._TILE_BYTES", 400)
    np.testing.assert_array_equal(count(trains, events, -0.5, 0.1, 10), whole)
    np.testing.assert_array_equal(count(trains, events, -0.5, 0.1, 10, n_threads=2), whole)


def test_events_that_are_not_finite_count_nothing():
    got = count([[0.5, 1.5]], [np.nan, 0.0, np.inf, 1.0], 0.0, 1.0, 1)
    np.testing.assert_array_equal(got[:, 0, 0], [0, 1, 0, 1])


def test_an_error_or_ctrl_c_in_a_thread_stops_the_work(monkeypatch):
    calls = []

    def stop(*args):
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        time.sleep(0.005)
        return 0

    monkeypatch.setattr("nb26stats._numba.spikes._count_block", stop)
    monkeypatch.setattr("nb26stats._numba.spikes._VISITS", 10)
    trains, events = [[0.5]] * 64, np.linspace(0, 1, 200)
    for n_threads in (1, 2):
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            count(trains, events, 0.0, 0.1, 5, n_threads=n_threads)
        # the other thread may have started a few of the hundreds of pieces
        assert 1 <= len(calls) < 400
