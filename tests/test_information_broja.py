"""The native BROJA solver: known tables, bounds of a reference, certificates, invariances, bits."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference.broja import ATOMS, TABLES, informations, union_bounds
from sklearn.exceptions import ConvergenceWarning

from nb26stats._dispatch import core
from nb26stats.information._atoms import atoms
from nb26stats.information._broja import Broja, _batch, _warn, bound, broja

F64 = NDArray[np.float64]
GAP = 2e-8


def solve(pmfs: F64, **options: Any) -> Broja:
    return broja(pmfs, **{"tol": 1e-9, "max_iter": 100, "n_threads": 1, **options})


def union(pmf: F64) -> float:
    return float(solve(pmf[None]).information[0, 3])


def tables(seed: int, shape: tuple[int, ...], concentration: float, m: int = 1) -> F64:
    size = int(np.prod(shape))
    draws = np.random.default_rng(seed).dirichlet(np.full(size, concentration), size=m)
    return draws.reshape(m, *shape)


shapes = st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(2, 5))
random_table = st.builds(
    lambda seed, shape, c: tables(seed, shape, c)[0],
    st.integers(0, 2**32 - 1),
    shapes,
    st.sampled_from([1.0, 0.3, 0.1]),
)


@pytest.mark.parametrize("name", TABLES)
def test_e1_known_tables(name: str) -> None:
    out = solve(TABLES[name][None])
    got = np.array(atoms(out.information[0] / np.log(2)))
    assert np.abs(got - ATOMS[name]).max() < 1e-7
    assert out.converged[0]
    assert out.gap[0] < GAP


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 2), (3, 2, 4), (3, 3, 3)])
def test_bounds_of_the_barrier_hold_the_union_information(shape: tuple[int, ...]) -> None:
    for pmf in tables(1, shape, 2.0, 3):
        low, high = union_bounds(pmf)
        out = solve(pmf[None])
        assert high - low < 1e-7
        assert out.information[0, 3] >= low - 1e-12
        assert out.information[0, 3] - out.gap[0] <= high + 1e-12
        assert np.abs(out.information[0, :3] - informations(pmf)).max() < 1e-14


@settings(max_examples=60, deadline=None)
@given(random_table, st.integers(0, 2**32 - 1))
def test_certificate_holds_against_other_tables(pmf: F64, seed: int) -> None:
    out = solve(pmf[None])
    q, least = out.q[0], out.information[0, 3] - out.gap[0]
    assert (q >= 0).all()
    assert np.abs(q.sum(1) - pmf.sum(1)).max() < 1e-11
    assert np.abs(q.sum(0) - pmf.sum(0)).max() < 1e-11
    assert informations(q)[2] == pytest.approx(out.information[0, 3], abs=out.gap[0] + 1e-9)
    rng = np.random.default_rng(seed)
    independent = pmf.sum(1)[:, None] * pmf.sum(0)[None] / pmf.sum((0, 1))
    for start in (pmf, independent):
        # a shift with empty marginals, as long as the table stays positive
        shift = rng.standard_normal(pmf.shape)
        shift -= shift.mean(0, keepdims=True)
        shift -= shift.mean(1, keepdims=True)
        down = shift < 0
        step = rng.uniform() * float((start[down] / -shift[down]).min())
        other = np.maximum(start + step * shift, 0)
        for weight in (0.0, 0.5, 0.99, 1 - 1e-4):
            assert informations(weight * q + (1 - weight) * other)[2] >= least - 1e-9


@settings(max_examples=60, deadline=None)
@given(random_table)
def test_invariants_of_the_atoms(pmf: F64) -> None:
    out = solve(pmf[None])
    one, two, both, together = out.information[0]
    gap = out.gap[0] + 1e-12
    parts = atoms(out.information[0])
    redundancy = float(parts.redundancy)
    assert min(float(part) for part in parts) >= -gap
    assert redundancy <= min(one, two) + gap
    assert max(one, two) <= together <= min(one + two, both) + 1e-12
    # swapped sources and other names of the symbols
    swapped = solve(pmf.transpose(1, 0, 2)[None])
    assert np.abs(swapped.information[0] - out.information[0, [1, 0, 2, 3]]).max() < GAP
    assert union(pmf[::-1, :, ::-1]) == pytest.approx(together, abs=GAP)
    # a symbol of one source split in two that say the same
    split = np.concatenate([pmf[:1] * 0.3, pmf[1:], pmf[:1] * 0.7])
    assert union(split) == pytest.approx(together, abs=GAP)
    # symbols that never occur
    padded = np.zeros([n + 1 for n in pmf.shape])
    padded[1:, :-1, 1:] = pmf
    assert union(padded) == pytest.approx(together, abs=1e-15)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), shapes)
def test_a_noisy_copy_of_a_source_adds_nothing(seed: int, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(seed)
    of_x = rng.dirichlet(np.ones(shape[0] * shape[2])).reshape(shape[0], shape[2])
    copy = rng.dirichlet(np.ones(shape[1]), size=shape[0])
    out = solve((of_x[:, None] * copy[:, :, None])[None])
    parts = atoms(out.information[0])
    assert abs(float(parts.unique_2)) <= out.gap[0] + 1e-12
    assert abs(float(parts.synergy)) <= out.gap[0] + 1e-12


def test_bits_depend_neither_on_threads_nor_on_neighbours_nor_on_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pmfs = tables(5, (4, 3, 4), 0.3, 40)
    whole = solve(pmfs)
    for n_threads in (0, 2, 3):
        for a, b in zip(whole, solve(pmfs, n_threads=n_threads), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(solve(pmfs[7:9]).information, whole.information[7:9])
    monkeypatch.setattr("nb26stats.information._broja._batch", lambda *shape: 7)
    for a, b in zip(whole, solve(pmfs), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 3, 4), (3, 9, 8), (3, 3, 9)])
def test_instruction_sets_agree(shape: tuple[int, ...]) -> None:
    pmfs = tables(6, shape, 0.3, 5)
    usual = core().get_isa()
    try:
        found = []
        for level in range(core().isa_supported() + 1):
            core().set_isa(level)
            found.append(solve(pmfs).information)
    finally:
        core().set_isa(usual)
    for other in found[1:]:
        assert np.abs(other - found[0]).max() < 1e-10


def test_one_symbol_per_axis() -> None:
    for shape in ((1, 3, 2), (3, 1, 2), (3, 2, 1), (1, 1, 1)):
        out = solve(tables(7, shape, 1.0))
        assert out.converged[0]
        assert out.gap[0] == 0
        assert out.n_iter[0] == 0
        assert out.information[0, 3] == out.information[0, :2].max()


def test_masses_of_any_size_are_closed() -> None:
    rng = np.random.default_rng(8)
    for n in (2, 3):
        masses = rng.dirichlet(np.full(n**3, 0.03), 100) + 10 ** rng.uniform(-13, -6, (100, n**3))
        out = solve((masses / masses.sum(1, keepdims=True)).reshape(100, n, n, n))
        assert out.converged.all()
        assert out.gap.max() < GAP


def test_an_open_table_warns_and_keeps_an_honest_gap() -> None:
    pmfs = tables(9, (4, 4, 4), 0.1, 6)
    good = solve(pmfs)
    with pytest.warns(ConvergenceWarning, match=r"solver of 6 of 6 tables stopped before.*table "):
        out = solve(pmfs, tol=1e-17)
    assert not out.converged.any()
    assert (out.gap > 0).all()
    # both are upper bounds of the optimum, and less their gaps lower ones
    assert (out.information[:, 3] - out.gap <= good.information[:, 3] + 1e-12).all()
    assert (good.information[:, 3] - good.gap <= out.information[:, 3] + 1e-12).all()
    with pytest.warns(ConvergenceWarning, match=r"^the solver stopped before the tolerance"):
        solve(pmfs[:1], tol=1e-17)
    assert not solve(pmfs[:1], tol=1e-17, warn=False).converged[0]


def test_few_iterations_still_bound_the_optimum() -> None:
    pmfs = tables(10, (3, 3, 3), 0.1, 20)
    good = solve(pmfs)
    out = solve(pmfs, max_iter=1, warn=False)
    assert (out.information[:, 3] - out.gap <= good.information[:, 3] + 1e-12).all()
    assert (out.information[:, 3] >= good.information[:, 3] - good.gap - 1e-12).all()
    assert (out.converged == (out.gap < GAP)).all()
    assert not out.converged.all()


def test_bounds_of_the_union_move_it_by_ten_gaps_at_most() -> None:
    rows = np.array([[0.3, 0.2, 0.6, u] for u in (0.4, 0.3 - 1e-8, 0.3 - 1e-6, 0.5 + 1e-8, 0.7)])
    rows = np.concatenate([rows, [[0.3, 0.2, 0.45, 0.45 + 1e-8]]])
    beyond = bound(rows, np.full(6, 2e-9))
    assert beyond.tolist() == [False, False, True, False, True, False]
    assert rows[:, 3].tolist() == [0.4, 0.3, 0.3 - 1e-6, 0.5, 0.7, 0.45]
    gaps, done = np.zeros(6), np.ones(6, dtype=bool)
    with pytest.warns(ConvergenceWarning, match=r"of 2 of 6 tables leaves its bounds.*at table 2"):
        _warn(Broja(rows, gaps, done, np.ones(6, dtype=np.int64), rows), beyond)


def test_a_batch_is_short_enough_to_be_interrupted() -> None:
    assert _batch(2, 2, 2) > 1000
    assert _batch(8, 8, 8) > 5
    assert _batch(40, 40, 40) == 1


def test_a_large_table_hears_an_interrupt() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    table = np.random.default_rng(0).dirichlet(np.ones(20 * 20 * 40)).reshape(1, 20, 20, 40)
    before = signal.signal(signal.SIGPROF, stop)
    try:
        # of CPU time, a fraction of what the table takes
        signal.setitimer(signal.ITIMER_PROF, 0.02)
        with pytest.raises(KeyboardInterrupt):
            broja(table, tol=1e-9, max_iter=100, n_threads=2)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"pmfs": np.ones((2, 2, 2))}, ValueError, "shape"),
        ({"pmfs": np.ones((1, 2, 2, 2), np.float32)}, TypeError, "dtype"),
        ({"pmfs": -np.ones((1, 2, 2, 2))}, ValueError, "negative"),
        ({"pmfs": np.full((1, 2, 2, 2), np.nan)}, ValueError, "negative"),
        ({"pmfs": np.zeros((1, 2, 2, 2))}, ValueError, "positive sum"),
        ({"pmfs": np.full((1, 2, 2, 2), np.inf)}, ValueError, "positive sum"),
        ({"pmfs": np.ones((1, 2, 0, 2))}, ValueError, "at least one symbol"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"n_threads": -1}, ValueError, "n_threads"),
    ],
)
def test_the_binding_refuses(change: dict[str, Any], error: type[Exception], message: str) -> None:
    good = {"pmfs": np.full((1, 2, 2, 2), 0.125), "tol": 1e-9, "max_iter": 9, "n_threads": 1}
    with pytest.raises(error, match=message):
        core().broja(**{**good, **change})


def test_no_tables() -> None:
    out = solve(np.zeros((0, 2, 3, 4)))
    assert out.information.shape == (0, 4)
    assert out.q.shape == (0, 2, 3, 4)


def test_3600_random_tables_and_1000_histograms_are_closed() -> None:
    rng = np.random.default_rng(2026)
    found = []
    for n in (2, 3, 4, 5, 6):
        for concentration in (1.0, 0.3, 0.1):
            draws = rng.dirichlet(np.full(n**3, concentration), size=240)
            found.append(solve(draws.reshape(240, n, n, n), n_threads=0, warn=False))
    random = Broja(*(np.concatenate([f[i] for f in found]) for i in range(4)), np.empty(0))
    assert random.gap.size == 3600
    closed = []
    for n in (2, 3, 4, 6, 8):
        for samples in (50, 200, 1000, 25000):
            truth = [rng.dirichlet(np.full(n**3, rng.choice([1, 0.3, 0.1]))) for _ in range(50)]
            counts = np.array([rng.multinomial(samples, p) for p in truth])
            pmfs = (counts / samples).reshape(50, n, n, n)
            closed.append(solve(pmfs, n_threads=0, warn=False))
    empirical = Broja(*(np.concatenate([f[i] for f in closed]) for i in range(4)), np.empty(0))
    assert empirical.gap.size == 1000
    for name, out in (("random", random), ("empirical", empirical)):
        print(
            f"{name}: open {np.sum(~out.converged)}, largest gap {out.gap.max():.1e} nats, "
            f"iterations median {np.median(out.n_iter):.0f}, most {out.n_iter.max()}"
        )
        assert out.converged.all()
        assert out.gap.max() < GAP
        assert np.median(out.n_iter) <= 9
