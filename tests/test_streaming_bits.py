"""The same bits however the rows are cut, and wherever the replicates are computed."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import distributed
import h5py
import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nb26stats._dispatch import core
from nb26stats.streaming import OjaPCA, _advance

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


def data(n: int = 400, d: int = 13, dtype: Any = np.float64) -> np.ndarray:
    rng = np.random.default_rng(11)
    return (rng.normal(size=(n, d)) * np.r_[3, 2, np.ones(d - 2)] + 2).astype(dtype)


PLAIN_NUMBERS = ("state_constant_step", "state_n_skipped", "setting_seed")


def estimator(**kw: Any) -> OjaPCA:
    return OjaPCA(**{"n_components": 2, "n_bootstrap": 19, "random_state": 3, **kw})


def assert_same(a: OjaPCA, b: OjaPCA) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def chunked(est: OjaPCA, x: np.ndarray, size: int) -> OjaPCA:
    for a in range(0, len(x), size):
        est.partial_fit(x[a : a + size])
    return est


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kw",
    [{}, {"center": False}, {"multiplier": "paired"}, {"multiplier": "paired", "block_size": 7}],
)
def test_chunks(dtype: Any, kw: dict[str, Any]) -> None:
    x = data(dtype=dtype)
    whole = estimator(**kw).fit(x)
    for size in (1, 2, 7, 13, 50, 51, 64, 90):
        assert_same(chunked(estimator(**kw), x, size), whole)


def test_chunks_and_pickles_where_blocks_close_at_once() -> None:
    x = data()
    for limit in (1e-9, 0.2):
        kw = {"multiplier": "paired", "growth_limit": limit}
        whole = estimator(**kw).fit(x)
        est = estimator(**kw)
        for size in (17, 34, 2, 90, 1, 1, 255):
            est = pickle.loads(pickle.dumps(est)).partial_fit(x[:size])
            x = x[size:]
        assert_same(est, whole)
        x = data()


def test_paired_weights_leave_the_estimate_alone() -> None:
    x = data()
    a, b = estimator().fit(x), estimator(multiplier="paired").fit(x)
    for name in set(FIELDS) - {"bootstrap_components_"}:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert np.abs(a.bootstrap_components_ - b.bootstrap_components_).max() > 1e-3


@given(cuts=st.lists(st.integers(1, 299), max_size=8), blocks=st.integers(1, 70))
def test_any_cut(cuts: list[int], blocks: int) -> None:
    x = data(300, 5)
    whole = estimator(block_size=blocks, multiplier_block=3, pilot_size=40).fit(x)
    cut = estimator(block_size=blocks, multiplier_block=3, pilot_size=40)
    for part in np.split(x, sorted(set(cuts))):
        cut.partial_fit(part)
    assert_same(cut, whole)


def test_reading_changes_nothing() -> None:
    x = data()
    est = estimator()
    for a in range(0, 400, 37):
        est.partial_fit(x[a : a + 37])
        if est.n_samples_seen_ > 50:
            est.components_, est.bootstrap_components_, est.transform(x[:3])
    assert_same(est, estimator().fit(x))


@pytest.mark.parametrize("at", [20, 50, 75, 190])
@pytest.mark.parametrize("multiplier", ["double", "paired"])
def test_pickle_in_the_middle(at: int, multiplier: str) -> None:
    x = data()
    est = estimator(multiplier=multiplier).partial_fit(x[:at])
    again = pickle.loads(pickle.dumps(est)).partial_fit(x[at:])
    assert_same(again, estimator(multiplier=multiplier).fit(x))
    again = OjaPCA.from_state(est.get_state()).partial_fit(x[at:])
    assert_same(again, estimator(multiplier=multiplier).fit(x))


def _through_npz(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def _through_hdf5(state: dict[str, Any], path: Path) -> dict[str, Any]:
    with h5py.File(path, "w") as file:
        for name, value in state.items():
            file[name] = value
    with h5py.File(path, "r") as file:
        return {name: file[name][()] for name in file}


@pytest.mark.parametrize("way", ["dict", "npz", "hdf5"])
@pytest.mark.parametrize("at", [20, 75, 190])
def test_plain_state(way: str, at: int, tmp_path: Path) -> None:
    x = data()
    state = estimator(init="pilot", gap=2.0).partial_fit(x[:at]).get_state()
    if way == "npz":
        state = _through_npz(state)
    if way == "hdf5":
        state = _through_hdf5(state, tmp_path / "state.h5")
    again = OjaPCA.from_state(state).partial_fit(x[at:])
    assert_same(again, estimator(gap=2.0).fit(x))
    assert again.get_params()["gap"] == 2.0
    assert again.seed_ == 3


def test_plain_state_keeps_names_and_arrays() -> None:
    x = pd.DataFrame(data(), columns=[f"unit µ{i}" for i in range(13)])
    est = estimator(init=np.eye(13)[:3], gap=1.0, n_jobs=None).partial_fit(x[:100])
    again = OjaPCA.from_state(_through_npz(est.get_state()))
    assert again.feature_names_in_.tolist() == list(x.columns)
    np.testing.assert_array_equal(again.init, np.eye(13)[:3])
    assert_same(again.partial_fit(x[100:]), est.partial_fit(x[100:]))


def _through_r(state: dict[str, Any]) -> dict[str, Any]:
    """What R gives back: numbers beyond its integers and all arrays are doubles, text is text."""
    out: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "S":
            value = np.array([text.decode() for text in value.tolist()], dtype=object)
        elif isinstance(value, np.ndarray):
            value = value.astype(np.float64)
        elif not isinstance(value, (str, bool)):
            value = float(value)
        out[name] = value
    return out


@pytest.mark.parametrize("at", [20, 190])
def test_plain_state_through_r(at: int) -> None:
    x = pd.DataFrame(data(), columns=[f"unit µ{i}" for i in range(13)])
    state = _through_r(estimator().partial_fit(x[:at]).get_state())
    again = OjaPCA.from_state(state).partial_fit(x[at:])
    assert_same(again, estimator().fit(x))
    assert again.feature_names_in_.tolist() == list(x.columns)
    state = _through_r(estimator(random_state=2**53 - 1).fit(x).get_state())
    assert OjaPCA.from_state(state).seed_ == 2**53 - 1
    state = _through_r(estimator(random_state=2**53 + 1).fit(x).get_state())
    with pytest.raises(ValueError, match=r"setting_seed came back as .* lost digits"):
        OjaPCA.from_state(state)
    state = estimator().fit(x).get_state()
    with pytest.raises(ValueError, match=r"setting_block_size must be a whole number, got 2\.5"):
        OjaPCA.from_state({**state, "setting_block_size": 2.5})


def test_state_refusals() -> None:
    x = data()
    with pytest.raises(TypeError, match="learning_rate is a function"):
        estimator(learning_rate=lambda t: 0.1 / t).fit(x).get_state()
    state = estimator().fit(x).get_state()
    with pytest.raises(ValueError, match="version 99"):
        OjaPCA.from_state({**state, "version": 99})
    with pytest.raises(ValueError, match="version None"):
        OjaPCA.from_state({})
    with pytest.raises(Exception, match="not fitted"):
        estimator().get_state()
    with pytest.raises(TypeError, match="state must be what get_state returned, got list"):
        OjaPCA.from_state([state])  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [20, 190])
def test_damaged_states(at: int) -> None:
    state = estimator().partial_fit(data()[:at]).get_state()
    wrong = [None, "x", -1, 2**62, np.zeros(0), np.zeros((3, 3, 3)), [1, 2], {}]
    needed = [k for k in state if k.startswith("state_") and k != "state_told_few"]
    needed += [
        f"setting_{n}"
        for n in ("n_features", "n_bootstrap", "dtype", "seed", "block_size", "schedule")
    ]
    for name in sorted(set(needed) & set(state)):
        for value in wrong:
            if isinstance(value, int) and name in PLAIN_NUMBERS:
                continue
            if np.array_equal(value, state[name]):  # no history yet
                continue
            with pytest.raises(ValueError, match="state is incomplete or damaged"):
                OjaPCA.from_state({**state, name: value})
        if name != "state_pilot":  # without one it is a state after its pilot
            with pytest.raises(ValueError, match="state is incomplete or damaged"):
                OjaPCA.from_state({k: v for k, v in state.items() if k != name})
    counts = state["state_counts"].copy()
    counts[1] = 64
    with pytest.raises(ValueError, match="open rows must be fewer than block"):
        OjaPCA.from_state({**state, "state_counts": counts})
    for name, value, text in (
        ("state_directions", np.nan, "state_directions must hold finite numbers only"),
        ("param_device", 3, "param_device=3"),
        ("param_missing", "skip", "param_missing='skip'"),
    ):
        value = np.full_like(state[name], value) if name.startswith("state_") else value
        with pytest.raises(ValueError, match="incomplete or damaged: " + text):
            OjaPCA.from_state({**state, name: value})


@pytest.mark.parametrize("multiplier", ["double", "paired"])
def test_threads(multiplier: str) -> None:
    x = data(600, 40)
    kw = {"n_bootstrap": 60, "multiplier": multiplier}
    one = estimator(n_threads=1, **kw).fit(x)
    for threads in (0, 2, 3):
        assert_same(estimator(n_threads=threads, **kw).fit(x), one)
    with joblib.parallel_config(backend="threading"):
        assert_same(estimator(n_jobs=2, **kw).fit(x), one)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_groups_of_replicates(dtype: Any) -> None:
    x = data(dtype=dtype)
    many = estimator(n_bootstrap=37).fit(x)
    for b in (1, 8, 9, 36):
        fewer = estimator(n_bootstrap=b).fit(x)
        np.testing.assert_array_equal(fewer.bootstrap_components_, many.bootstrap_components_[:b])


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend: str) -> None:
    x = data(500)
    one = estimator(n_bootstrap=40).fit(x)
    with joblib.parallel_config(backend=backend):
        assert_same(estimator(n_bootstrap=40, n_jobs=2).fit(x), one)
        assert_same(estimator(n_bootstrap=40, n_jobs=3, n_threads=1).fit(x), one)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same(estimator(n_bootstrap=40).fit(x), one)


def test_no_more_workers_than_groups_of_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Counted(joblib.Parallel):  # type: ignore[misc]
        def __init__(self, n_jobs: int) -> None:
            asked.append(n_jobs)
            super().__init__(n_jobs=n_jobs)

    monkeypatch.setattr(joblib, "Parallel", Counted)
    x = data(300)
    with joblib.parallel_config(backend="threading"):
        many = estimator(n_bootstrap=17, n_jobs=1000).fit(x)
    # eight replicates side by side
    assert asked == [3]
    assert_same(many, estimator(n_bootstrap=17).fit(x))


def test_joblib_with_rows_to_drop() -> None:
    x = data(500)
    x[[0, 17, 49, 50, 51, 300], [0, 1, 2, 3, 4, 5]] = np.nan
    one = estimator(missing="drop").fit(x)
    two = estimator(missing="drop", n_jobs=2).fit(x)
    assert_same(one, two)
    assert one.n_rows_skipped_ == two.n_rows_skipped_ == 6
    clean = x[~np.isnan(x).any(axis=1)]
    assert_same(estimator().fit(clean), one)


def test_dask_workers() -> None:
    x = data(500)
    one = estimator(n_bootstrap=40).fit(x)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert_same(estimator(n_bootstrap=40, n_jobs=2).fit(x), one)


@pytest.mark.parametrize("multiplier", ["double", "paired"])
def test_instruction_sets(isa: int, multiplier: str) -> None:
    x = data(700, 30)
    made = {}
    for level in range(isa + 1):
        core().set_isa(level)
        made[level] = estimator(multiplier=multiplier).fit(x)
    for level in range(isa):
        for name in FIELDS:
            np.testing.assert_allclose(
                getattr(made[level], name), getattr(made[isa], name), rtol=1e-12, atol=1e-12
            )
    if isa == 2:
        assert_same(made[1], made[2])


def test_jobs_with_arrays_that_joblib_maps() -> None:
    # a block of open rows is above the megabyte from which joblib hands out read-only maps
    x = data(300, 2200)
    one = estimator(n_bootstrap=9).fit(x)
    assert one._state.open_rows.nbytes > 2**20
    assert_same(estimator(n_bootstrap=9, n_jobs=2).fit(x), one)


def test_an_estimator_that_joblib_maps_goes_on(tmp_path: Path) -> None:
    x = data()
    joblib.dump(estimator().partial_fit(x[:100]), tmp_path / "est")
    mapped = joblib.load(tmp_path / "est", mmap_mode="r")
    assert not mapped._state.directions.flags.writeable
    assert mapped.bootstrap_components_.shape == (19, 2, 13)
    assert_same(mapped.partial_fit(x[100:]), estimator().fit(x))


def test_block_size_only_moves_rounding() -> None:
    x = data(700, 10)
    made = [
        estimator(block_size=m, learning_rate="decay", eta0=0.5, beta=20).fit(x)
        for m in (1, 7, 64, 100)
    ]
    for est in made:
        np.testing.assert_allclose(est.components_, made[0].components_, atol=1e-13)
        np.testing.assert_allclose(
            est.bootstrap_components_, made[0].bootstrap_components_, atol=1e-13
        )


class FakeDevice:
    """Stands for the CUDA extension: the same calls, answered by the CPU."""

    def __init__(self) -> None:
        self.calls = 0

    def oja_replicates(self, *args: Any) -> None:
        self.calls += 1
        core().oja_replicates(*args, 1)

    @staticmethod
    def oja_fits(sizes: tuple[int, ...]) -> bool:
        columns, components, _, _, itemsize, _ = sizes
        return columns * components * itemsize < 1000


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    fake = FakeDevice()
    monkeypatch.setattr(_advance, "cuda", lambda: fake)
    monkeypatch.setattr("nb26stats.streaming._oja.cuda", lambda: fake)
    monkeypatch.setattr("nb26stats.streaming._oja.choose_device", lambda device: "cuda")
    return fake


@pytest.mark.parametrize("multiplier", ["double", "paired"])
def test_device_path(device: FakeDevice, multiplier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()
    there = chunked(estimator(device="cuda", multiplier=multiplier), x, 33)
    replicates = there.bootstrap_components_
    assert there.device_ == "cuda"
    assert device.calls > 5
    monkeypatch.setattr("nb26stats.streaming._oja.choose_device", lambda device: "cpu")
    here = estimator(multiplier=multiplier).fit(x)
    np.testing.assert_array_equal(here.bootstrap_components_, replicates)
    np.testing.assert_array_equal(here.components_, there.components_)


def test_auto_keeps_large_replicates_on_the_cpu(device: FakeDevice) -> None:
    assert estimator().fit(data()).device_ == "cuda"
    assert estimator().fit(data(100, 80)).device_ == "cpu"
    assert estimator(device="cuda").fit(data(100, 80)).device_ == "cuda"


def test_interrupt_between_estimate_and_replicates(device: FakeDevice) -> None:
    x = data()
    est = estimator(device="cuda").partial_fit(x[:100])

    def stop(*args: Any) -> None:
        raise KeyboardInterrupt

    device.oja_replicates = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        est.partial_fit(x[100:])
    with pytest.raises(RuntimeError, match="call fit again"):
        est.partial_fit(x[100:])
    with pytest.raises(RuntimeError, match="call fit again"):
        est.bootstrap_errors()
