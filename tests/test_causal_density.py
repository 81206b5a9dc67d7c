"""The density kernel of the causal two-groups model: equal to refits, and to itself everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import c2g_density as oracle

from nb26stats._dispatch import choose_device, core, cuda
from nb26stats.causal import _native
from nb26stats.causal._density import Arm, Bounds, Curves, bootstrap, densities, tune

F64 = NDArray[np.float64]
FRACTIONS = np.logspace(-3, 0, 10)
GRID = np.linspace(-3.5, 3.5, 21)


@pytest.fixture(params=[0, 1, 2])
def isa(request: pytest.FixtureRequest) -> Iterator[int]:
    level: int = request.param
    if level > core().isa_supported():
        pytest.skip("this machine has no such instructions")
    before = core().get_isa()
    core().set_isa(level)
    yield level
    core().set_isa(before)


class Problem:
    """Two arms; the queries are rows of the first, rows of the second, and rows of neither."""

    def __init__(self, n: tuple[int, int], p: int, k: int, hx: float = 0.7, hy: float = 0.3):
        rng = np.random.default_rng(sum(n) + p + k)
        self.x = [rng.normal(size=(m, p)) for m in n]
        self.y = [rng.normal(size=m) for m in n]
        self.x[0][5], self.y[0][5] = self.x[0][6], self.y[0][6]  # a duplicate counts as a row
        self.setting = (k, hx, hy)
        self.query = np.vstack([self.x[0][:8], self.x[1][:8], rng.normal(size=(4, p))])
        self.outcome = np.concatenate([self.y[0][:8], self.y[1][:8], 2 * rng.normal(size=4)])
        self.own = np.full((2, 20), -1)
        self.own[0, :8] = self.own[1, 8:16] = np.arange(8)

    def arms(self) -> tuple[Arm, Arm]:
        control, treated = (Arm(self.x[a], self.y[a], *self.setting) for a in range(2))
        return control, treated

    def bounds(self, n_bootstrap: int, **options: Any) -> Bounds:
        settings = {"quantile": 0.2, "threshold": 0.05, "ratio_quantile": 0.01, "seed": 3}
        settings |= {"device": "cpu", "n_threads": 1} | options
        arms = self.arms()
        return bootstrap(
            *arms,
            self.query,
            self.outcome,
            *self.own,
            GRID,
            n_bootstrap=n_bootstrap,
            **settings,
        )

    def curves(self, n_bootstrap: int) -> Curves:
        return densities(
            *self.arms(), self.query, *self.own, GRID, n_bootstrap=n_bootstrap, quantile=0.2, seed=3
        )

    def refit(self, n_bootstrap: int, **options: Any) -> oracle.Oracle:
        settings = {"quantile": 0.2, "threshold": 0.05, "ratio_quantile": 0.01, "seed": 3}
        return oracle.bootstrap(
            [(self.x[a], self.y[a], self.setting) for a in range(2)],
            self.query,
            self.outcome,
            self.own,
            GRID,
            n_bootstrap=n_bootstrap,
            **(settings | options),
        )


def agree(ours: Bounds, theirs: oracle.Oracle) -> None:
    pairs = [
        (ours.prior, theirs.prior),
        (ours.lfdr, theirs.lfdr),
        (ours.control_mean, theirs.mean[0]),
        (ours.treated_mean, theirs.mean[1]),
        (ours.control_ess, theirs.ess[0]),
        (ours.treated_ess, theirs.ess[1]),
        (ours.prior_b, theirs.prior_b),
        (ours.control_mean_b, theirs.mean_b[0]),
        (ours.treated_mean_b, theirs.mean_b[1]),
    ]
    for mine, other in pairs:
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-10)


def same_bits(one: Bounds, other: Bounds) -> None:
    for name in Bounds.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None and b is None) or np.array_equal(a, b), name


def test_draws_are_the_published_ones() -> None:
    anchors = {
        (0, 0): [7, 5, 4, 7, 1, 5, 1, 5, 5, 1, 2, 3],
        (0, 1): [4, 5, 6, 0, 1, 5, 9, 2, 0, 9, 3, 5],
        (1, 0): [2, 9, 1, 6, 9, 5, 8, 0, 1, 1, 5, 0],
    }
    for (b, arm), rows in anchors.items():
        assert oracle.draws(10, b, arm, 0, 12).tolist() == rows
        assert (
            core().density_resamples(10, 2, arm, 0)[b].tolist()
            == np.bincount(rows[:10], minlength=10).tolist()
        )


@pytest.mark.parametrize("seed", [0, 12345, 2**64 - 1])
@pytest.mark.parametrize("arm", [0, 1])
def test_draws_do_not_depend_on_how_many_there_are(seed: int, arm: int) -> None:
    counts = _native.resamples(137, 9, arm, seed)
    assert np.array_equal(counts, oracle.resample_counts(137, 9, arm, seed))
    assert np.array_equal(counts[:4], _native.resamples(137, 4, arm, seed, n_threads=2))


@pytest.mark.parametrize(
    ("n", "p", "k", "hx"),
    [
        ((60, 45), 3, 10, 0.7),
        ((30, 80), 1, 29, 0.7),
        ((40, 40), 0, 39, 1.0),
        ((70, 50), 2, 20, 1e-3),  # most kernels are 0, also that of the nearest counted row
        ((35, 33), 12, 1, 0.7),
    ],
)
def test_bounds_equal_refits(isa: int, n: tuple[int, int], p: int, k: int, hx: float) -> None:
    problem = Problem(n, p, k, hx)
    agree(problem.bounds(25), problem.refit(25))


@pytest.mark.parametrize(
    "options",
    [
        {"quantile": 0.05, "ratio_quantile": 0.3},
        {"quantile": 0.5, "ratio_quantile": 0.0},
        {"threshold": 50.0},  # no point reaches it, so it is lowered
        {"threshold": 1e-90, "ratio_quantile": 0.99},
        {"seed": 2**63 + 5},
    ],
)
def test_rules_are_those_of_the_refits(options: dict[str, Any]) -> None:
    problem = Problem((50, 40), 2, 12)
    agree(problem.bounds(11, **options), problem.refit(11, **options))


@pytest.mark.parametrize("n_bootstrap", [1, 2, 3, 8, 9])
def test_any_number_of_resamples(n_bootstrap: int) -> None:
    problem = Problem((40, 35), 2, 8)
    agree(problem.bounds(n_bootstrap), problem.refit(n_bootstrap))


def test_curves_equal_refits(isa: int) -> None:
    problem = Problem((60, 45), 3, 10, hy=0.05)
    ours, theirs = problem.curves(30), problem.refit(30)
    for a, arm in enumerate(("control", "treated")):
        np.testing.assert_allclose(getattr(ours, arm), theirs.point[a], rtol=1e-10, atol=1e-140)
        for bound in ("lower", "upper"):
            mine = getattr(ours, f"{arm}_{bound}")
            np.testing.assert_allclose(mine, getattr(theirs, bound)[a], rtol=1e-10)
    assert ours.control_lower.min() == 1e-100


def test_the_row_itself_is_left_out_and_its_duplicate_is_not() -> None:
    x = np.array([[0.0], [0.0], [1.0], [2.0]])
    y = np.array([0.0, 4.0, 1.0, 2.0])
    arm = Arm(x, y, 1, 1.0, 0.5)
    found = bootstrap(
        arm,
        arm,
        x[[0, 1, 0]],
        y[[0, 1, 0]],
        np.array([0, 1, -1]),
        np.array([-1, -1, -1]),
        GRID,
        n_bootstrap=3,
        quantile=0.2,
        threshold=0.05,
        ratio_quantile=0.01,
        seed=0,
        device="cpu",
    )
    assert found.control_mean.tolist() == [4.0, 0.0, 0.0]
    assert found.treated_mean.tolist() == [0.0, 0.0, 0.0]
    assert found.control_ess.tolist() == [1.0, 1.0, 1.0]


def test_tied_distances_go_by_row() -> None:
    problem = Problem((60, 60), 1, 7)
    for a in range(2):
        problem.x[a] = np.round(problem.x[a])
    problem.query = np.round(problem.query)
    agree(problem.bounds(9), problem.refit(9))


@pytest.mark.parametrize("work", [1.0, 1e5])
def test_threads_and_parts_do_not_change_a_bit(work: float, monkeypatch: Any) -> None:
    problem = Problem((60, 45), 3, 10)
    whole = problem.bounds(20)
    done: list[int] = []
    monkeypatch.setitem(_native.CALL_WORK, "cpu", work)
    same_bits(whole, problem.bounds(20, n_threads=2, on_done=done.append))
    assert sum(done) == 20
    assert len(done) > 1


def test_without_outcomes_and_without_resamples() -> None:
    problem = Problem((60, 45), 3, 10)
    with_all, without = problem.bounds(20), problem.bounds(20, keep_resamples=False)
    assert without.prior_b is None
    assert without.control_mean_b is None
    assert without.treated_mean_b is None
    assert np.array_equal(with_all.prior, without.prior)
    problem.outcome = None  # type: ignore[assignment]
    bare = problem.bounds(20)
    assert np.isnan(bare.lfdr).all()
    assert np.array_equal(with_all.prior, bare.prior)
    assert np.array_equal(with_all.prior_b, bare.prior_b)  # type: ignore[arg-type]


def test_no_queries() -> None:
    problem = Problem((60, 45), 3, 10)
    problem.query, problem.outcome, problem.own = np.empty((0, 3)), np.empty(0), np.empty((2, 0))
    found = problem.bounds(5)
    assert found.prior.shape == (0,)
    assert found.prior_b is not None
    assert found.prior_b.shape == (0, 5)


@given(
    n=st.integers(30, 60),
    p=st.integers(0, 4),
    share=st.floats(0.0, 1.0),
    spread=st.floats(-6.0, 3.0),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_arm_equals_its_refits(n: int, p: int, share: float, spread: float, seed: int) -> None:
    k = max(1, int(share * (n - 1)))
    problem = Problem((n, n + 7), p, k, hx=10.0**spread)
    agree(problem.bounds(4, seed=seed), problem.refit(4, seed=seed))


@pytest.mark.parametrize("p", [0, 1, 4])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_candidate_widths(isa: int, p: int, digits: int) -> None:
    x = np.random.default_rng(p).normal(size=(83, p)).round(digits)
    ranks = np.unique(np.clip((83 * FRACTIONS).astype(np.int64), 2, 82))
    ours = _native.spread(np.ascontiguousarray(x.T), ranks, n_threads=2)
    np.testing.assert_allclose(ours, oracle.spread(x, FRACTIONS), rtol=1e-14)


@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=40),
    st.data(),
)
def test_ordered_numbers_find_their_neighbours(values: list[int], data: st.DataObject) -> None:
    x = np.array(values, dtype=np.float64)
    rank = data.draw(st.integers(1, len(values) - 1))
    ours = core().density_spread(x[None], np.array([rank]), 0, len(x), 1)[:, 0]
    theirs = [np.sort(np.abs(np.delete(x, i) - x[i]))[rank - 1] for i in range(len(x))]
    assert ours.tolist() == theirs


def test_leave_one_out_likelihood(isa: int) -> None:
    problem = Problem((70, 30), 3, 10)
    x, y = problem.x[0], problem.y[0]
    k, hx, hy = np.array([5, 20]), np.array([1e-3, 0.3, 2.0]), np.array([0.02, 0.2, 0.9])
    ours = _native.leave_one_out(np.ascontiguousarray(x.T), y, k, hx, hy, n_threads=1)
    for at in np.ndindex(ours.shape):
        setting = (int(k[at[0]]), float(hx[at[1]]), float(hy[at[2]]))
        theirs = oracle.leave_one_out(x, y, setting)
        np.testing.assert_allclose(ours[at], theirs, rtol=1e-12, err_msg=str(setting))


def test_the_setting_of_highest_likelihood_is_taken() -> None:
    problem = Problem((70, 30), 2, 10)
    x, y = problem.x[0], problem.y[0]
    arm = tune(x, y, n_neighbors=(50, 10, 200), fractions=FRACTIONS)
    widths = oracle.spread(x, FRACTIONS), oracle.spread(y[:, None], FRACTIONS)
    scores = {
        (k, hx, hy): oracle.leave_one_out(x, y, (k, hx, hy))
        for k in (10, 50, 69)
        for hx in widths[0]
        for hy in widths[1]
    }
    best = max(scores, key=lambda setting: scores[setting])
    assert (arm.n_neighbors, arm.hx, arm.hy) == pytest.approx(best, rel=1e-14)


def test_tuning_does_not_depend_on_threads_or_parts(monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    options = {"n_neighbors": (50, 100), "fractions": FRACTIONS}
    one, two = (tune(x, y, n_threads=n, **options) for n in (1, 2))
    assert (one.n_neighbors, one.hx, one.hy) == (two.n_neighbors, two.hx, two.hy)
    done: list[int] = []
    monkeypatch.setitem(_native.CALL_WORK, "cpu", 1e6)
    parts = tune(x, y, n_threads=2, on_done=done.append, **options)
    assert (one.n_neighbors, one.hx, one.hy) == (parts.n_neighbors, parts.hx, parts.hy)
    assert sum(done) == 300
    assert len(done) > 1


def test_odd_arms_are_tuned() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    bare = tune(np.empty((60, 0)), y, n_neighbors=(5, 10), fractions=FRACTIONS)
    assert (bare.n_neighbors, bare.hx) == (59, 1.0)
    # half of the outcomes are tied: no candidate of width 0
    tied = tune(rng.normal(size=(60, 2)), np.round(y), n_neighbors=(10,), fractions=FRACTIONS)
    assert tied.hy > 0
    most = tune(
        rng.normal(size=(60, 2)),
        np.where(np.arange(60) < 59, 1.0, 3.5),
        n_neighbors=(10,),
        fractions=FRACTIONS,
    )
    assert most.hy == 2.5
    with pytest.raises(ValueError, match="all 60 outcomes of an arm are equal"):
        tune(rng.normal(size=(60, 2)), np.full(60, 2.0), n_neighbors=(10,), fractions=FRACTIONS)


@pytest.mark.gpu
def test_the_device_agrees() -> None:
    problem = Problem((70, 50), 3, 20)
    if choose_device("auto") != "cuda":
        with pytest.raises(RuntimeError, match="device='cuda' cannot be had"):
            problem.bounds(20, device="cuda")
        return
    here, there = problem.bounds(20), problem.bounds(20, device="cuda")
    for name in Bounds.__dataclass_fields__:
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=0, atol=1e-10)
    assert cuda().device_count() > 0


def _arm(**changes: Any) -> tuple[Any, ...]:
    parts = {
        "x": np.zeros((2, 9)),
        "y": np.arange(9.0),
        "k": 3,
        "hx": 1.0,
        "hy": 1.0,
        "counts": np.ones((4, 9), np.uint16),
    }
    return tuple((parts | changes).values())


def _call(**changes: Any) -> Any:
    parts = {
        "control": _arm(),
        "treated": _arm(),
        "x": np.zeros((5, 2)),
        "y": np.zeros(5),
        "own": (np.full(5, -1), np.full(5, -1)),
        "grid": np.zeros(3),
        "rule": (0.2, 0.05, 0.01),
        "resamples": True,
        "curves": False,
        "n_threads": 1,
    }
    return core().density_bootstrap(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"control": _arm(k=0)}, ValueError, "control: k must lie in"),
        ({"control": _arm(k=9)}, ValueError, "control: k must lie in"),
        ({"treated": _arm(hx=0.0)}, ValueError, "treated: widths must be positive"),
        ({"treated": _arm(hy=np.nan)}, ValueError, "treated: widths must be positive"),
        ({"treated": _arm(y=np.zeros(8))}, ValueError, "treated y must have shape"),
        ({"treated": _arm(y=np.zeros(9, int))}, TypeError, "treated y must have dtype float64"),
        ({"treated": _arm(y=[0.0])}, TypeError, "treated must be a numpy array"),
        ({"treated": _arm(counts=np.ones((3, 9), np.uint16))}, ValueError, "same columns and"),
        ({"treated": _arm(x=np.zeros((3, 9)))}, ValueError, "same columns and resamples"),
        ({"treated": _arm()[:5]}, ValueError, "must be .x, y, k, hx, hy, counts"),
        ({"x": np.zeros((5, 3))}, ValueError, "x must have shape"),
        ({"x": np.zeros((2, 5)).T}, ValueError, "x must be C-contiguous"),
        ({"y": np.zeros(4)}, ValueError, "y must have shape"),
        ({"own": (np.full(5, -1), np.full(5, 9))}, ValueError, r"own\[0\] is no row of its arm"),
        ({"own": (np.full(5, -1),)}, ValueError, "own must be a pair"),
        ({"grid": np.zeros(0)}, ValueError, "a point and a resample at least"),
        ({"rule": (0.2, 0.05)}, ValueError, "rule must be"),
        ({"rule": (1.2, 0.05, 0.01)}, ValueError, "a quantile must lie in"),
    ],
)
def test_the_binding_refuses(changes: dict[str, Any], error: type, message: str) -> None:
    assert _call()[0].shape == (5,)
    with pytest.raises(error, match=message):
        _call(**changes)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("density_resamples", (0, 3, 0, 1)),
        ("density_resamples", (5, 3, 2, 1)),
        ("density_spread", (np.zeros((1, 9)), np.array([9]), 0, 9, 1)),
        ("density_spread", (np.zeros((1, 9)), np.array([2, 2]), 0, 9, 1)),
        ("density_spread", (np.zeros((1, 9)), np.array([2]), 0, 10, 1)),
    ],
)
def test_the_other_bindings_refuse(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="must"):
        getattr(core(), name)(*arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_what_is_no_number_does_no_harm(isa: int, bad: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 700)), rng.normal(size=700)
    x[:, ::3] = y[5] = bad
    arm = (x, y, 50, 1.0, 1.0, core().density_resamples(700, 5, 0, 1))
    own = (np.arange(40), np.full(40, -1))
    query, some = np.ascontiguousarray(x.T[:40]), y[:40].copy()
    found = core().density_bootstrap(
        arm, arm, query, some, own, np.linspace(-1, 1, 9), (0.2, 0.05, 0.01), True, True, 1
    )
    assert found[0].shape == (40,)
    spread = core().density_spread(x, np.array([1, 5, 699]), 0, 700, 1)
    assert np.isfinite(spread[1, :2]).all()  # as near as before
    loo = core().density_loo(x, y, np.array([3, 60]), np.ones(1), np.ones(2), 0, 700, 1)
    assert np.isfinite(loo[1]).all()


def test_leave_one_out_refuses_settings_in_disorder() -> None:
    x, y, ones = np.zeros((1, 9)), np.arange(9.0), np.ones(1)
    for k, hx, hy, message in (
        (np.array([3, 2]), ones, ones, "k must be positive and ascend"),
        (np.array([2]), 0 * ones, ones, "hx must be positive"),
        (np.array([2]), ones, 0 * ones, "hy must be positive"),
        (np.empty(0, np.int64), ones, ones, "must not be empty"),
    ):
        with pytest.raises(ValueError, match=message):
            core().density_loo(x, y, k, hx, hy, 0, 9, 1)
