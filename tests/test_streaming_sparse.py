"""Sparse rows: the same estimate as dense rows, and the same bits however they come."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.oja import Reference, multiplier, paired_update, positive_qr
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nb26stats._dispatch import core
from nb26stats.streaming import OjaPCA, _sparse_pilot

FIELDS = (
    "components_",
    "bootstrap_components_",
    "explained_variance_",
    "noise_variance_",
    "mean_",
    "eigengap_",
    "init_weight_",
    "learning_rate_",
    "autocorrelation_",
    "n_samples_seen_",
)
NEAR = 1e-8


def data(n: int = 400, d: int = 23, *, share: float = 0.25, seed: int = 5) -> np.ndarray:
    """Rows of which ``share`` is not zero, with a mean and two leading directions."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.r_[5, 4, np.ones(d - 2)] + rng.normal(size=d)
    return np.where(rng.random((n, d)) < share, x, 0.0)


def estimator(**kw: Any) -> OjaPCA:
    return OjaPCA(**{"n_components": 2, "n_bootstrap": 19, "random_state": 3, **kw})


def assert_same(a: OjaPCA, b: OjaPCA) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_near(a: OjaPCA, b: OjaPCA, near: float = NEAR) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=near, atol=near, err_msg=name
        )


def chunked(est: OjaPCA, x: Any, size: int) -> OjaPCA:
    for a in range(0, x.shape[0], size):
        est.partial_fit(x[a : a + size])
    return est


SCHEDULES: dict[str, dict[str, Any]] = {
    "auto": {},
    "theory": {"learning_rate": "theory"},
    "decay": {"learning_rate": "decay", "eta0": 0.3, "beta": 20},
    "constant": {"learning_rate": "constant", "eta0": 0.004},
    "callable": {"learning_rate": lambda t: 0.3 / (20 + t)},
    "random start": {"init": "random", "gap": 4.0},
    "given start": {"init": np.eye(23)[:3], "gap": 4.0},
    "start without a spare row": {"init": np.eye(23)[:2], "gap": 4.0},
    "shared weights": {"multiplier_block": 5},
    "exponential weights": {"multiplier": "exponential", "block_size": 7},
    "paired weights": {"multiplier": "paired"},
    "paired weights, small blocks": {"multiplier": "paired", "block_size": 3},
    "paired weights, blocks of one row": {"multiplier": "paired", "block_size": 1},
    "paired weights, random start": {"multiplier": "paired", "init": "random", "gap": 4.0},
    "paired weights, blocks that close early": {"multiplier": "paired", "growth_limit": 0.05},
    "blocks that close early": {"growth_limit": 0.05},
    "blocks of one row": {"block_size": 1},
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("how", SCHEDULES)
def test_v19_as_dense_rows(how: str, center: bool) -> None:
    x = data()
    kw = {**SCHEDULES[how], "center": center}
    dense, thin = estimator(**kw).fit(x), estimator(**kw).fit(sparse.csr_array(x))
    assert_near(thin, dense)
    np.testing.assert_allclose(
        thin.transform(sparse.csr_array(x)), dense.transform(x), atol=NEAR, rtol=NEAR
    )


@pytest.mark.parametrize("multiplier", ["double", "paired"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("center", [True, False])
def test_v2_chunks(center: bool, dtype: Any, multiplier: str) -> None:
    x = sparse.csr_array(data().astype(dtype))
    kw = {"center": center, "multiplier": multiplier, "block_size": 16}
    whole = estimator(**kw).fit(x)
    for size in (1, 7, 30, 90):
        assert_same(chunked(estimator(**kw), x, size), whole)


def reference(x: np.ndarray, **kw: Any) -> Reference:
    est = estimator()
    k, b = est.n_components, est.n_bootstrap
    return Reference(k, x.shape[1], n_bootstrap=b, seed=3, **{"pilot_size": 50, **kw}).rows(x)


@pytest.mark.parametrize(
    ("kw", "same"),
    [
        ({}, {}),
        ({"center": False}, {"center": False}),
        ({"multiplier_block": 4, "pilot_size": 80}, {"multiplier_block": 4, "pilot_size": 80}),
        ({"multiplier": "exponential"}, {"kind": "exponential"}),
        ({"multiplier": "paired"}, {"kind": "paired"}),
        (
            {"learning_rate": "decay", "eta0": 0.3, "beta": 20},
            {"schedule": "decay", "eta0": 0.3, "beta": 20},
        ),
        (
            {"init": np.eye(23)[:3], "learning_rate": "constant", "eta0": 0.004},
            {"start": np.eye(23)[:3], "schedule": "constant", "eta0": 0.004},
        ),
    ],
)
def test_as_the_row_loop(kw: dict[str, Any], same: dict[str, Any]) -> None:
    x = data()
    est, slow = estimator(**kw).fit(sparse.csr_array(x)), reference(x, **same)
    np.testing.assert_allclose(est.components_, slow.components, atol=1e-9)
    np.testing.assert_allclose(est.bootstrap_components_, slow.boot, atol=1e-9)
    np.testing.assert_allclose(est._eigenvalues(), slow.values, rtol=1e-9)
    np.testing.assert_allclose(est.autocorrelation_, slow.num / slow.den, atol=1e-9)
    np.testing.assert_allclose(est.mean_, slow.mean, atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_a_pilot_by_its_products(center: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = data(300, 90)
    dense = estimator(center=center).fit(x)
    few = [estimator(center=center).partial_fit(x[:40]) for _ in range(2)]
    monkeypatch.setattr(_sparse_pilot, "SMALL", 0)
    thin = estimator(center=center).fit(sparse.csr_array(x))
    assert_near(thin, dense)
    few[1] = estimator(center=center).partial_fit(sparse.csr_array(x[:40]))
    with pytest.warns(UserWarning, match="do not go beyond"):
        np.testing.assert_allclose(few[1].components_, few[0].components_, atol=1e-10)
    np.testing.assert_allclose(few[1].explained_variance_, few[0].explained_variance_, rtol=1e-10)


def test_a_pilot_of_low_rank_by_its_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sparse_pilot, "SMALL", 0)
    x = np.zeros((120, 90))
    x[:, 4] = np.random.default_rng(0).normal(size=120)
    est = estimator(n_bootstrap=5).fit(sparse.csr_array(x))
    np.testing.assert_allclose(np.abs(est.components_[0, 4]), 1.0, atol=1e-14)
    np.testing.assert_allclose(est.components_ @ est.components_.T, np.eye(2), atol=1e-13)
    assert est.explained_variance_[1] < 1e-20


def test_weights_reach_sparse_pilots() -> None:
    x = data(60)
    est = estimator(init="pilot", pilot_size=59, learning_rate="constant", eta0=1e-12)
    boot = est.fit(sparse.csr_array(x)).bootstrap_components_
    omega = np.array([multiplier("double", 3, 7, row) for row in range(1, 60)])
    t = np.arange(1, 60)[:, None]
    y = np.sqrt((t - 1) / t) * (x[:59] - np.r_[[x[0]], np.cumsum(x, 0)[:58] / t[:58]])
    vt = np.linalg.svd(np.sqrt(omega)[:, None] * y, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(boot[7]), np.abs(vt), atol=1e-8)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(4, 160),
    d=st.integers(1, 30),
    share=st.floats(0, 1),
    blocks=st.integers(1, 40),
    center=st.booleans(),
    cuts=st.lists(st.integers(1, 159), max_size=4, unique=True),
)
def test_any_pattern_and_any_cut(
    seed: int, n: int, d: int, share: float, blocks: int, center: bool, cuts: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, d)) < share, rng.standard_t(4, (n, d)), 0.0)
    x[:, rng.random(d) < 0.3] = 0
    k = int(rng.integers(1, d + 1))
    kw: dict[str, Any] = {
        "n_components": k,
        "n_bootstrap": 9,
        "block_size": blocks,
        "center": center,
        "random_state": 1,
        "init": np.eye(d)[:k],
        "learning_rate": "decay",
        "eta0": 0.2,
        "beta": 3,
    }
    if not np.ptp(x, axis=0).any() or (n <= k):
        return
    dense, thin, cut = OjaPCA(**kw).fit(x), OjaPCA(**kw).fit(sparse.csr_array(x)), OjaPCA(**kw)
    for part in np.split(np.arange(n), [c for c in sorted(cuts) if c < n]):
        cut.partial_fit(sparse.csr_array(x[part]))
    for name in ("components_", "bootstrap_components_", "explained_variance_", "mean_"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(thin, name))
        np.testing.assert_allclose(getattr(thin, name), getattr(dense, name), atol=NEAR)


def test_threads() -> None:
    x = sparse.csr_array(data(600, 60))
    one = estimator(n_bootstrap=60, n_threads=1).fit(x)
    for threads in (0, 2, 3):
        assert_same(estimator(n_bootstrap=60, n_threads=threads).fit(x), one)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend: str) -> None:
    x = sparse.csr_array(data(500))
    one = estimator(n_bootstrap=40).fit(x)
    with joblib.parallel_config(backend=backend):
        assert_same(estimator(n_bootstrap=40, n_jobs=2).fit(x), one)


def test_joblib_with_arrays_that_it_maps() -> None:
    x = sparse.csr_array(data(900, 2000, share=0.1))
    one = estimator(n_bootstrap=9).fit(x)
    assert x.data.nbytes > 2**20
    assert_same(estimator(n_bootstrap=9, n_jobs=2).fit(x), one)


@pytest.mark.parametrize("multiplier", ["double", "paired"])
@pytest.mark.parametrize("at", [1, 20, 50, 51, 75, 114, 190])
def test_v2_pickle_in_the_middle(at: int, multiplier: str) -> None:
    x = sparse.csr_array(data())
    est = estimator(multiplier=multiplier).partial_fit(x[:at])
    again = pickle.loads(pickle.dumps(est)).partial_fit(x[at:])
    assert_same(again, estimator(multiplier=multiplier).fit(x))


@pytest.mark.parametrize(
    "kw",
    [
        {},
        {"missing": "drop", "n_bootstrap": 0},
        {"init": "random", "gap": 4.0, "multiplier": "paired"},
    ],
)
@pytest.mark.parametrize("at", [1, 20, 50, 51, 75, 114, 190])
def test_v2_plain_state(at: int, kw: dict[str, Any]) -> None:
    x = sparse.csr_array(data())
    file = io.BytesIO()
    np.savez(file, **estimator(**kw).partial_fit(x[:at]).get_state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as held:
        again = OjaPCA.from_state({name: held[name] for name in held.files})
    assert_same(again.partial_fit(x[at:]), estimator(**kw).fit(x))


@pytest.mark.parametrize("at", [20, 190])
def test_plain_state_holds_no_array_of_all_features_by_rows(at: int) -> None:
    est = estimator(n_bootstrap=0).partial_fit(sparse.csr_array(data(200, 3000, share=0.01))[:at])
    assert max(np.size(v) for v in est.get_state().values()) == 3 * 3000


@pytest.mark.parametrize("at", [20, 190])
def test_damaged_states(at: int) -> None:
    state = estimator().partial_fit(sparse.csr_array(data())[:at]).get_state()
    wrong = [None, "x", -1, 2**62, np.zeros(0), np.zeros((3, 3, 3)), [1, 2], {}]
    for name in [k for k in state if k.startswith("state_sparse_") and "started" not in k]:
        for value in wrong:
            with pytest.raises(ValueError, match="state is incomplete or damaged"):
                OjaPCA.from_state({**state, name: value})
        with pytest.raises(ValueError, match="state is incomplete or damaged"):
            OjaPCA.from_state({k: v for k, v in state.items() if k != name})
    columns, starts = state["state_sparse_columns"].copy(), state["state_sparse_starts"].copy()
    columns[3] = 23
    starts[2] = 2**40
    for name, value in (("columns", columns), ("starts", starts)):
        with pytest.raises(ValueError, match="must ascend"):
            OjaPCA.from_state({**state, f"state_sparse_{name}": value})
    short = {"state_sparse_starts": state["state_sparse_starts"][:-1]}
    with pytest.raises(ValueError, match="state must hold"):
        OjaPCA.from_state({**state, **short})


def test_an_estimator_that_joblib_maps_goes_on(tmp_path: Path) -> None:
    x = sparse.csr_array(data())
    joblib.dump(estimator().partial_fit(x[:100]), tmp_path / "est")
    mapped = joblib.load(tmp_path / "est", mmap_mode="r")
    assert not mapped._state.sparse.total.flags.writeable
    assert_same(mapped.partial_fit(x[100:]), estimator().fit(x))


def test_instruction_sets(isa: int) -> None:
    x = sparse.csr_array(data(500, 40))
    made = {}
    for level in range(isa + 1):
        core().set_isa(level)
        made[level] = estimator(n_components=5).fit(x)
    for level in range(isa):
        assert_near(made[level], made[isa], 1e-11)
    if isa == 2:
        assert_same(made[1], made[2])


def test_groups_of_replicates() -> None:
    x = sparse.csr_array(data())
    many = estimator(n_bootstrap=37).fit(x)
    for b in (1, 8, 9):
        fewer = estimator(n_bootstrap=b).fit(x)
        np.testing.assert_array_equal(fewer.bootstrap_components_, many.bootstrap_components_[:b])


def test_reading_changes_nothing() -> None:
    x = sparse.csr_array(data())
    est = estimator()
    for a in range(0, 400, 37):
        est.partial_fit(x[a : a + 37])
        if est.n_samples_seen_ > 50:
            est.components_, est.bootstrap_components_, est.transform(x[:3])
    assert_same(est, estimator().fit(x))


def test_the_error_history() -> None:
    x = data()
    with pytest.warns(ConvergenceWarning):
        dense = estimator().fit(x).error_history(0.9)
    with pytest.warns(ConvergenceWarning):
        thin = estimator().fit(sparse.csr_array(x)).error_history(0.9)
    np.testing.assert_array_equal(thin["n_samples"], dense["n_samples"])
    np.testing.assert_allclose(thin["error_quantile"], dense["error_quantile"], rtol=NEAR)


def test_single_precision() -> None:
    x = data(2000)
    wide = estimator().fit(sparse.csr_array(x))
    x32 = sparse.csr_array(x.astype(np.float32))
    est = estimator().fit(x32)
    assert est.components_.dtype == est.transform(x32).dtype == np.float32
    assert est.fit_transform(x32).shape == (2000, 2)
    np.testing.assert_allclose(est.components_, wide.components_, atol=1e-5)
    np.testing.assert_allclose(est.bootstrap_components_, wide.bootstrap_components_, atol=1e-5)
    np.testing.assert_allclose(est.explained_variance_, wide.explained_variance_, rtol=1e-5)


def test_low_rank() -> None:
    rng = np.random.default_rng(0)
    basis = np.where(rng.random((2, 30)) < 0.3, rng.normal(size=(2, 30)), 0)
    x = rng.normal(size=(500, 2)) @ basis
    est = estimator().fit(sparse.csr_array(x))
    q = np.linalg.qr(basis.T)[0].T
    residual = est.components_ - (est.components_ @ q.T) @ q
    assert np.sum(residual**2) < 1e-25
    assert est._eigenvalues()[2] < 1e-25
    assert est.noise_variance_ >= 0
    assert est.explained_variance_ratio_.sum() <= 1 + 1e-12


@pytest.mark.parametrize("k", [1, 6])
def test_as_many_components_as_features(k: int) -> None:
    x = sparse.csr_array(data(300, 6)[:, :k])
    est = OjaPCA(k, n_bootstrap=9, random_state=0).fit(x)
    assert est.noise_variance_ == 0.0
    assert np.isnan(est.autocorrelation_).all()
    np.testing.assert_allclose(est.inverse_transform(est.transform(x)), x.toarray(), atol=1e-12)


def test_a_million_features_in_memory_for_a_few_directions(tmp_path: Path) -> None:
    code = """
import resource
import numpy as np
from scipy import sparse
from nb26stats import OjaPCA
d, n = 1_000_000, 300
rng = np.random.default_rng(0)
first = sparse.csr_array(rng.normal(size=(n, 1)) * 30)
x = sparse.hstack([first, sparse.random_array((n, d - 1), density=2e-4, rng=rng)], format="csr")
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
OjaPCA(1).fit(x[:, :500])
before = peak()
est = OjaPCA(3, random_state=0).fit(x)
for a in range(0, 100, 25):
    est.partial_fit(x[a : a + 25])
est.partial_fit(x[[7]].toarray())
assert est.transform(x).shape == (n, 3)
assert np.argmax(np.abs(est.components_[0])) == 0
print((peak() - before) / (8 * (3 + 1 + 2) * d))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    # the iterates and two sums of all rows are kept; the open rows are applied to a copy
    print("peak over what is kept:", done.stdout)
    assert float(done.stdout) < 5


def test_paired_weights_after_a_merge() -> None:
    x = data(900)
    thin = sparse.csr_array(x)
    kw = {"n_components": 2, "n_bootstrap": 9, "multiplier": "paired"}
    kw |= {"learning_rate": "constant", "eta0": 0.004}
    parts = [OjaPCA(random_state=i, **kw).fit(thin[300 * i :][:300]) for i in range(2)]
    made = OjaPCA.merge(parts)
    state, w, mean = made.get_state(), made.bootstrap_components_[7].T, made.mean_
    made.partial_fit(thin[600:])
    for size in (1, 7, 100):
        cut = OjaPCA.from_state(state)
        for a in range(600, 900, size):
            cut.partial_fit(thin[a : a + size])
            if a == 607:
                cut = OjaPCA.from_state(cut.get_state())
        assert_same(cut, made)
    # the first row after the merge has none before it; all later ones have
    before = None
    for t in range(601, 901):
        y = np.sqrt((t - 1) / t) * (x[t - 1] - mean)
        mean = mean + (x[t - 1] - mean) / t
        w = paired_update(w, y, before, 0.004, multiplier("paired", 0, 7, t) - 1)
        before = y
    ends = positive_qr(w).T
    np.testing.assert_allclose(np.abs(made.bootstrap_components_[7]), np.abs(ends), atol=1e-9)
