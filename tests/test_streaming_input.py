"""What OjaPCA accepts, and the one clear sentence for everything else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask.array
import h5py
import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nb26stats import datasets, nwb
from nb26stats.streaming import OjaPCA


def data(n: int = 300, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(8)
    return rng.normal(size=(n, d)) * np.r_[3, 2, np.ones(d - 2)] + 1


X = data()

BAD_PARAMETERS = [
    ({"n_components": 0}, ValueError, "n_components=0 must lie in [1, n_features=6]"),
    ({"n_components": 7}, ValueError, "n_components=7 must lie in [1, n_features=6]"),
    ({"n_components": 2.5}, TypeError, "n_components must be a whole number, got 2.5"),
    ({"n_components": True}, TypeError, "n_components must be a whole number, got True"),
    ({"n_components": None}, TypeError, "n_components must be a whole number"),
    ({"n_bootstrap": -1}, ValueError, "n_bootstrap=-1 must lie in [0,"),
    ({"block_size": 0}, ValueError, "block_size=0 must lie in [1, 4096]"),
    ({"multiplier_block": 0}, ValueError, "multiplier_block=0 must lie in [1,"),
    ({"pilot_size": 7}, ValueError, "pilot_size=7 must lie in [8,"),
    ({"pilot_size": 2**70}, ValueError, "must lie in [8, 2.14748e+09]"),
    ({"multiplier_block": 2**60}, ValueError, "multiplier_block=1152921504606846976 asks for a pi"),
    ({"n_threads": -1}, ValueError, "n_threads=-1 must lie in [0, 65536]"),
    ({"n_jobs": 0}, ValueError, "n_jobs=0"),
    ({"n_jobs": "all"}, TypeError, "n_jobs must be a whole number"),
    ({"n_total": 1}, ValueError, "n_total=1 must lie in [2,"),
    ({"c": 0}, ValueError, "c=0 must be greater than 0"),
    ({"kappa": -1.0}, ValueError, "kappa=-1 must be greater than 0"),
    ({"kappa": None}, TypeError, "kappa must be a number"),
    ({"eta0": np.inf}, ValueError, "eta0=inf must be finite"),
    ({"gap": 0.0}, ValueError, "gap=0 must be greater than 0"),
    (
        {"multiplier": "paired", "multiplier_block": 2},
        ValueError,
        "multiplier_block=2 must be 1 with multiplier='paired'",
    ),
    ({"growth_limit": np.nan}, ValueError, "growth_limit=nan must be finite"),
    ({"beta": -1}, ValueError, "beta=-1 must be at least 0"),
    ({"center": 1}, TypeError, "center must be True or False"),
    ({"learning_rate": "fast"}, ValueError, "learning_rate='fast' must be one of 'auto'"),
    ({"learning_rate": 0.1}, TypeError, "learning_rate='constant', eta0=0.1"),
    ({"learning_rate": True}, TypeError, "learning_rate=True (bool) must be one of 'auto'"),
    ({"learning_rate": "decay"}, ValueError, "learning_rate='decay' needs eta0"),
    ({"learning_rate": "constant"}, ValueError, "learning_rate='constant' needs eta0"),
    ({"init": "zeros"}, ValueError, "init='zeros' must be one of 'pilot', 'random'"),
    ({"init": None}, TypeError, "init must be 'pilot', 'random' or an array"),
    ({"init": "random"}, ValueError, "learning_rate='auto' needs gap unless init='pilot'"),
    ({"init": np.eye(6)}, ValueError, "init has shape (6, 6) but must have shape (1, 6) or (2, 6)"),
    ({"init": np.zeros((1, 6)), "gap": 1}, ValueError, "linearly independent"),
    ({"init": np.full((1, 6), np.nan), "gap": 1}, ValueError, "init must hold finite numbers"),
    ({"init": [["a"] * 6]}, TypeError, "init must be 'pilot', 'random' or an array"),
    ({"multiplier": "poisson"}, ValueError, "multiplier='poisson' must be one of 'double'"),
    ({"missing": "fill"}, ValueError, "missing='fill' must be one of 'raise', 'drop'"),
    ({"device": "gpu"}, ValueError, "device='gpu' must be one of 'auto', 'cpu', 'cuda'"),
    ({"random_state": "now"}, TypeError, "random_state must be a whole number"),
    ({"random_state": 1.5}, TypeError, "random_state must be a whole number"),
    ({"learning_rate": lambda t: -t}, ValueError, "learning_rate returned -51 for row 51"),
    (
        {"learning_rate": lambda t: 1e308 + t},
        ValueError,
        "row 50 (counted from 0) is too large for",
    ),
    ({"learning_rate": lambda t: t[:3]}, ValueError, "learning_rate returned shape (3,)"),
    ({"learning_rate": lambda t: "x"}, TypeError, "learning_rate must return real numbers"),
]


@pytest.mark.parametrize(("kw", "error", "text"), BAD_PARAMETERS, ids=lambda v: str(v)[:40])
def test_bad_parameters(kw: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        OjaPCA(**kw).fit(X)
    if kw != {"n_jobs": 0} and "n_jobs" not in kw:
        with pytest.raises(error, match=re.escape(text)):
            OjaPCA(**kw).partial_fit(X)


def _with(value: Any, at: tuple[int, int] = (7, 3)) -> np.ndarray:
    x = X.copy()
    x[at] = value
    return x


BAD_DATA = [
    (_with(np.nan), ValueError, "X contains NaN at row 7, column 3 (counted from 0)"),
    (_with(np.inf), ValueError, "X contains inf at row 7, column 3 (counted from 0)"),
    (X.astype(complex), TypeError, "X must hold real numbers, got complex128"),
    (X.astype(str), TypeError, "X must hold real numbers"),
    (X.astype("m8[s]"), TypeError, "X must hold real numbers"),
    (np.array([["a", {}]], dtype=object), (TypeError, ValueError), "a"),
    (X[0], ValueError, "Reshape your data"),
    (X[None], ValueError, "dim"),
    (X[:0], ValueError, "0 sample(s)"),
    (X[:, :0], ValueError, "0 feature(s)"),
    (np.ones((80, 3)), ValueError, "X has zero variance"),
    (np.full((20, 3), -2147483648, np.int32), ValueError, "R's NA_integer_"),
    (np.full((20, 3), -2147483648, np.int64), ValueError, "R's NA_integer_"),
    (pd.DataFrame({"a": [1, -2147483648, 3], "b": [1, 2, 4]}), ValueError, "R's NA_integer_"),
    (_with(1e150, (200, 1)), ValueError, "row 200 (counted from 0) is too large for its step"),
    (_with(1.7e19, (200, 1)).astype(np.float32), ValueError, "pass float64 data"),
    (X * 1e-200, ValueError, "differ so little that their squares vanish in float64"),
    (X * 1e200, ValueError, "X is too large at row 1 (counted from 0)"),
    ((X * 1e25).astype(np.float32), ValueError, "X is too large at row 1"),
    ((X * 1e-25).astype(np.float32), ValueError, "the step of row 50 (counted from 0)"),
    ((X * 1e-25).astype(np.float32), ValueError, "pass float64 data"),
    ("rows", TypeError, "X must be a two-dimensional array of rows, got str"),
    (None, TypeError, "X must be a two-dimensional array of rows, got NoneType"),
    (3, TypeError, "X must be a two-dimensional array of rows, got int"),
    ([[1, 2], [3]], ValueError, "X must hold rows of one length"),
    ([[1, 2], [10**400, 3]], ValueError, "X must hold real numbers: int too large"),
    ([["1", "2"]], TypeError, "X must hold real numbers, got str"),
    ({1, 2}, TypeError, "X must be a two-dimensional array of rows, got set"),
    ((row for row in X), TypeError, "X must be a two-dimensional array of rows, got generator"),
    ([[object()]], TypeError, "X must hold real numbers: float() argument must be"),
    (np.ma.masked_less(X, X[7, 3] + 1e-9), ValueError, "X contains NaN at row"),
    (pd.DataFrame(X).assign(g="1"), TypeError, "X must hold real numbers in column 6 ('g'), got"),
    (
        pd.DataFrame({"t": pd.date_range("2020", periods=9)}),
        TypeError,
        "X must hold real numbers in column 0 ('t'), got datetime64",
    ),
    (pd.DataFrame(index=range(9)), ValueError, "X has no columns"),
    (pd.DataFrame({"a": [1j] * 9}), TypeError, "column 0 ('a'), got complex128"),
    (pd.DataFrame({"a": [1, "x"]}), TypeError, "X must hold real numbers in column 0 ('a'): could"),
    (
        pd.DataFrame({"a": [1.0, 2], "b": np.array([1, -2147483648], np.int32)}),
        ValueError,
        "R's NA_integer_",
    ),
]


@pytest.mark.parametrize(("x", "error", "text"), BAD_DATA, ids=range(len(BAD_DATA)))
def test_bad_data(x: Any, error: Any, text: str) -> None:
    for name in ("fit", "partial_fit"):
        with pytest.raises(error, match=re.escape(text)):
            getattr(OjaPCA(), name)(x)


def test_names_in_the_message() -> None:
    frame = pd.DataFrame(_with(np.nan), columns=list("uvwxyz"))
    with pytest.raises(ValueError, match=re.escape("row 7, column 3 ('x')")):
        OjaPCA().fit(frame)


def test_what_holds_rows_is_told_from_rows() -> None:
    path = datasets.path("A2929-200711_neurosuite.nwb")
    with nwb.open(path) as session:
        counts = session.spike_counts(align_to=[10.0, 900.0], window=(0.0, 1.0), bin_size=0.1)
        holder = session.nwbfile.acquisition["CompassDirection"]
        for x, text in (
            (counts, "got SpikeCounts; give counts[area].reshape(-1, n_units) of it"),
            (session, "got Session; give one of the time series it holds"),
            (holder, "got CompassDirection; give one of the time series it holds"),
        ):
            for take in (OjaPCA().fit, OjaPCA().fit(X).transform):
                with pytest.raises(TypeError, match=re.escape(text)):
                    take(x)


def test_refused_rows_leave_the_stream_alone() -> None:
    est = OjaPCA(2, n_bootstrap=5, random_state=0).partial_fit(X[:100])
    for bad in (_with(np.nan), X[:, :4], X[0]):
        with pytest.raises(ValueError, match=r"NaN|features|Reshape"):
            est.partial_fit(bad)
    est.partial_fit(X[100:])
    whole = OjaPCA(2, n_bootstrap=5, random_state=0).fit(X)
    np.testing.assert_array_equal(est.bootstrap_components_, whole.bootstrap_components_)


def test_what_a_masked_array_hides_is_missing() -> None:
    x = np.ma.masked_greater(X, 4.0)
    assert np.ma.count_masked(x) > 0
    plain = x.filled(np.nan)
    est = OjaPCA(2, n_bootstrap=5, missing="drop", random_state=0)
    whole = clone(est).fit(plain)
    for masked in (x, x[::-1][::-1]):
        for name in ("fit", "partial_fit"):
            made = getattr(clone(est), name)(masked)
            assert made.n_rows_skipped_ == whole.n_rows_skipped_ > 0
            np.testing.assert_array_equal(made.components_, whole.components_)
    assert np.isnan(whole.transform(x)).any(axis=1).sum() == whole.n_rows_skipped_
    narrow = clone(est).fit(x.astype(np.float32))
    assert narrow.components_.dtype == np.float32
    nothing = clone(est).fit(np.ma.masked_array(X))
    np.testing.assert_array_equal(nothing.components_, clone(est).fit(X).components_)
    with pytest.raises(ValueError, match="NaN"):
        whole.inverse_transform(np.ma.masked_less(np.ones((3, 2)), 2.0))
    with pytest.raises(ValueError, match="init must hold finite numbers only"):
        OjaPCA(2, init=np.ma.masked_less(np.eye(6)[:2], 0.5), gap=1.0).fit(X)


def test_a_table_of_objects_is_read_as_numbers() -> None:
    whole = OjaPCA(2, random_state=0).fit(X)
    for x in (X.astype(object), pd.DataFrame(X, dtype=object), X.tolist()):
        made = OjaPCA(2, random_state=0).fit(x)
        np.testing.assert_array_equal(made.components_, whole.components_)


def test_a_stream_that_took_nothing_has_not_begun() -> None:
    est = OjaPCA(2, n_bootstrap=5, center=False, random_state=0)
    for rows in (X * 1e200, scipy.sparse.csr_array(X * 1e200)):
        with pytest.raises(ValueError, match="too large at row 0 "):
            est.partial_fit(rows)
    for name in ("transform", "get_state"):
        with pytest.raises(NotFittedError):
            getattr(est, name)(*([X] if name == "transform" else []))
    est.set_params(n_components=1).partial_fit(X[:, :4])
    assert est.components_.shape == (1, 4)
    # rows left out count
    est = OjaPCA(2, missing="drop").partial_fit(np.full((3, 4), np.nan))
    with pytest.raises(ValueError, match="expecting 4 features"):
        est.partial_fit(X)


def test_unchecked_rows_are_arrays() -> None:
    est = OjaPCA(2)
    for x in (X.tolist(), X[0], X[None], pd.DataFrame(X), None):
        with pytest.raises(TypeError, match="check_input=False takes two-dimensional NumPy arrays"):
            est.partial_fit(x, check_input=False)


def test_rows_of_the_pilot_without_variance() -> None:
    late = np.vstack([np.zeros((60, 6)), X])
    text = re.escape("X has zero variance in its first 50 rows")
    for name in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=text + ".*larger pilot_size"):
            getattr(OjaPCA(2), name)(late)
    assert OjaPCA(2, pilot_size=100).fit(late).n_samples_seen_ == len(late)


def test_a_finite_outlier_leaves_the_directions_finite() -> None:
    for big, dtype in ((1e70, np.float64), (1e15, np.float32)):
        est = OjaPCA(2, n_bootstrap=9, multiplier="exponential", random_state=0)
        est.fit(_with(big, (200, 1)).astype(dtype))
        assert np.isfinite(est.bootstrap_components_).all()
        np.testing.assert_allclose(abs(est.components_[0, 1]), 1.0, atol=1e-5)


def test_directions_lost_within_a_block_are_not_reported() -> None:
    rows = (np.random.default_rng(1).normal(size=(120, 17)) * np.linspace(3, 1, 17)).astype("f4")
    est = OjaPCA(6, n_bootstrap=9, init="random", gap=1.0, random_state=0, growth_limit=100.0)
    est.partial_fit(rows)
    text = "growth_limit=100 is too large for float32"
    for read in (est.summary, est.bootstrap_errors, lambda: est.bootstrap_components_):
        with pytest.raises(ValueError, match=text):
            read()
    est.set_params(growth_limit=None).fit(rows)
    assert np.isfinite(est.bootstrap_components_).all()


def test_a_failed_fit_leaves_nothing_half_done() -> None:
    est = OjaPCA(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        est.fit(np.full((9, 4), np.nan))
    for read in (lambda: est.transform(X), lambda: est.components_):
        with pytest.raises(NotFittedError):
            read()
    other = _with(1e200, (250, 0))
    with pytest.raises(ValueError, match="too large at row 250"):
        est.fit(other)
    with pytest.raises(NotFittedError):
        _ = est.components_


def test_missing_is_fixed_by_the_first_rows() -> None:
    est = OjaPCA(2, random_state=0).partial_fit(X).set_params(missing="drop")
    with pytest.raises(ValueError, match="NaN at row 7, column 3"):
        est.partial_fit(_with(np.nan))


def test_threads_may_fit_the_same_estimator() -> None:
    x = data(4000)
    est = OjaPCA(2, n_bootstrap=9, random_state=0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: est.fit(x), range(8)))
    whole = OjaPCA(2, n_bootstrap=9, random_state=0).fit(x)
    np.testing.assert_array_equal(est.bootstrap_components_, whole.bootstrap_components_)


def test_too_few_rows() -> None:
    with pytest.raises(ValueError, match=r"n_samples=2 must be at least n_components \+ 1 = 3"):
        OjaPCA(2).fit(X[:2])
    est = OjaPCA(2).partial_fit(X[:1]).partial_fit(X[1:2])
    for read in (lambda: est.components_, lambda: est.transform(X), lambda: est.summary()):
        with pytest.raises(NotFittedError):
            read()
    est.partial_fit(X[2:3])
    with pytest.warns(UserWarning, match="3 rows do not go beyond pilot_size=50") as caught:
        first = est.components_
    assert len(caught) == 1
    np.testing.assert_array_equal(est.components_, first)
    with pytest.warns(UserWarning, match="50 rows do not go beyond"):
        est = OjaPCA(2, n_bootstrap=9).fit(X[:50])
    with pytest.raises(ValueError, match="more than pilot_size_=50 rows, got 50"):
        est.error_quantile(0.5)
    assert np.isnan(OjaPCA(2).partial_fit(X[:10]).learning_rate_)


def test_constant_rows_show_when_something_is_read() -> None:
    est = OjaPCA(1).partial_fit(np.ones((5, 3)))
    with pytest.raises(ValueError, match="zero variance"):
        _ = est.components_
    with pytest.raises(ValueError, match="zero variance"):
        OjaPCA(1, init="random", gap=1.0).fit(np.ones((5, 3)))


def test_inference_refusals() -> None:
    est = OjaPCA(2, random_state=0).fit(X)
    assert est.bootstrap_components_.shape == (0, 2, 6)
    with pytest.raises(ValueError, match="set n_bootstrap"):
        est.component_intervals()
    est = OjaPCA(2, n_bootstrap=9, random_state=0).fit(X)
    with pytest.raises(ValueError, match="needs n_bootstrap of at least 19, got n_bootstrap=9"):
        est.error_quantile(0.95)
    with pytest.warns(ConvergenceWarning, match="few replicates"):
        assert est.error_quantile(0.9) == max(est.bootstrap_errors())
    for level in (0, 1, -0.5, 2, np.nan):
        with pytest.raises(ValueError, match="level"):
            est.component_intervals(level)
    with pytest.raises(TypeError, match="level"):
        est.component_intervals("high")
    for kw in ({"align": "none"}, {"method": "exact"}):
        with pytest.raises(ValueError, match="must be one of"):
            est.component_intervals(**kw)
    with pytest.raises(ValueError, match="metric='angle' must be one of"):
        est.bootstrap_errors("angle")


def test_theory_needs_to_know_the_number_of_rows() -> None:
    with pytest.raises(ValueError, match="needs n_total in partial_fit"):
        OjaPCA(2, learning_rate="theory").partial_fit(X)
    planned = OjaPCA(2, learning_rate="theory", n_total=300, random_state=0).partial_fit(X)
    known = OjaPCA(2, learning_rate="theory", random_state=0).fit(X)
    np.testing.assert_array_equal(planned.components_, known.components_)
    given = OjaPCA(2, learning_rate="theory", gap=3, c=2, random_state=0).fit(X)
    assert given.learning_rate_ == pytest.approx(2 * np.log(300) / (300 * 3))


def test_callable_steps() -> None:
    called = OjaPCA(2, learning_rate=lambda t: 0.5 / (10 + t), random_state=0).fit(X)
    named = OjaPCA(2, learning_rate="decay", eta0=0.5, beta=10, random_state=0).fit(X)
    np.testing.assert_array_equal(called.components_, named.components_)
    assert called.learning_rate_ == 0.5 / 311
    level = OjaPCA(2, learning_rate=lambda t: 0.01, random_state=0).fit(X)
    same = OjaPCA(2, learning_rate="constant", eta0=0.01, random_state=0).fit(X)
    np.testing.assert_array_equal(level.components_, same.components_)


@pytest.mark.parametrize("init", ["random", np.eye(6)[:3], np.eye(6)[:2]])
def test_starts_without_a_pilot(init: Any) -> None:
    est = OjaPCA(2, init=init, gap=2.0, n_bootstrap=99, random_state=0).fit(data(3000))
    truth = np.eye(6)[:2]
    residual = est.components_ - (est.components_ @ truth.T) @ truth
    assert np.sum(residual**2) < 0.05
    assert est.pilot_size_ == 0
    assert est.eigengap_ == 2.0
    assert est.error_quantile(0.95) < 0.1


def test_gap_of_a_given_start() -> None:
    kw = {"learning_rate": "decay", "eta0": 0.5, "beta": 20, "random_state": 0}
    tracked = OjaPCA(2, init=np.eye(6)[:3], **kw).fit(data(3000))
    values = tracked._eigenvalues()
    assert tracked.eigengap_ == values[1] - values[2]
    untracked = OjaPCA(2, init=np.eye(6)[:2], **kw).fit(data(3000))
    assert np.isnan(untracked.eigengap_)
    assert np.isnan(untracked.init_weight_)
    np.testing.assert_allclose(untracked.components_, tracked.components_, atol=1e-12)


def test_missing_rows_are_dropped() -> None:
    x = data()
    x[[3, 60, 61], [0, 1, 2]] = np.nan
    est = OjaPCA(2, missing="drop", random_state=0, n_bootstrap=5).fit(x)
    clean = x[~np.isnan(x).any(axis=1)]
    other = OjaPCA(2, random_state=0, n_bootstrap=5).fit(clean)
    np.testing.assert_array_equal(est.bootstrap_components_, other.bootstrap_components_)
    assert est.n_rows_skipped_ == 3
    assert est.n_samples_seen_ == 297
    assert np.isnan(est.transform(x)[3]).all()
    assert np.isfinite(est.transform(x)[4]).all()
    est.partial_fit(x[3:4])
    assert est.n_rows_skipped_ == 4
    with pytest.raises(ValueError, match="inf"):
        OjaPCA(missing="drop").fit(_with(np.inf))
    with pytest.raises(ValueError, match="n_samples=1 must be"):
        OjaPCA(missing="drop").fit(np.r_[X[:1], np.full((9, 6), np.nan)])


@pytest.mark.parametrize("k", [1, 6])
def test_as_many_components_as_features(k: int) -> None:
    x = data()[:, :k]
    est = OjaPCA(k, n_bootstrap=99, random_state=0).fit(x)
    assert est.error_quantile(0.95) == 0.0
    assert est.noise_variance_ == 0.0
    assert est.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.isnan(est.autocorrelation_).all()
    np.testing.assert_allclose(est.components_ @ est.components_.T, np.eye(k), atol=1e-14)
    if k == 1:
        assert est.components_.tolist() == [[1.0]]
    assert est.transform(x).shape == (300, k)
    np.testing.assert_allclose(est.inverse_transform(est.transform(x)), x, atol=1e-12)


def test_constant_column() -> None:
    x = data(2000)
    x[:, 4] = 5.0
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(x)
    np.testing.assert_allclose(est.components_[:, 4], 0, atol=1e-14)
    lower, upper = est.component_intervals(align="procrustes")
    assert (upper[:, 4] - lower[:, 4] < 1e-12).all()


def test_r_style_arguments() -> None:
    kw = {"n_bootstrap": 99.0, "pilot_size": 60.0, "block_size": 32.0, "n_jobs": 1.0}
    kw |= {"multiplier_block": 1.0, "n_threads": 1.0, "random_state": 4.0, "gap": None}
    given = OjaPCA(2.0, **kw).fit(np.asfortranarray(X))
    whole = {n: int(v) if isinstance(v, float) else v for n, v in kw.items()}
    np.testing.assert_array_equal(
        given.bootstrap_components_, OjaPCA(2, **whole).fit(X).bootstrap_components_
    )
    assert given.seed_ == 4
    listed = OjaPCA(2, init=X[:3].tolist(), gap=2).fit(X.tolist())
    assert listed.components_.shape == (2, 6)


def test_random_state() -> None:
    assert OjaPCA(random_state=-1).fit(X).seed_ == 2**64 - 1
    a, b = (OjaPCA(random_state=np.random.default_rng(3)).fit(X).seed_ for _ in range(2))
    assert a == b
    assert OjaPCA(random_state=np.random.RandomState(3)).fit(X).seed_ < 2**64
    assert OjaPCA().fit(X).seed_ != OjaPCA().fit(X).seed_


def _at_an_odd_address(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def _sources(folder: Path, x: np.ndarray) -> dict[str, Any]:
    np.save(folder / "rows.npy", x)
    file = h5py.File(folder / "rows.h5", "w")
    file["x"] = x
    return {
        "memory map": np.load(folder / "rows.npy", mmap_mode="r"),
        "HDF5": file["x"],
        "dask": dask.array.from_array(x, chunks=(700, 4)),
        "Fortran": np.asfortranarray(x),
        "odd address": _at_an_odd_address(x),
        "every other row": np.repeat(x, 2, axis=0)[::2],
        "frame": pd.DataFrame(x),
        "list": x.tolist(),
    }


def test_sources(tmp_path: Path) -> None:
    x = data(5000)
    x[4500, 2] = np.nan
    whole = OjaPCA(2, n_bootstrap=9, missing="drop", random_state=0).fit(x)
    for name, source in _sources(tmp_path, x).items():
        est = OjaPCA(2, n_bootstrap=9, missing="drop", random_state=0).fit(source)
        np.testing.assert_array_equal(
            est.bootstrap_components_, whole.bootstrap_components_, err_msg=name
        )
        with pytest.raises(ValueError, match="NaN at row 4500, column 2"):
            OjaPCA(2).fit(source)


def test_sources_and_jobs(tmp_path: Path) -> None:
    x = data(5000)
    whole = OjaPCA(2, n_bootstrap=19, random_state=0).fit(x)
    sources = _sources(tmp_path, x)
    with pytest.raises(ValueError, match=r"n_jobs=2 needs data that can be sent"):
        OjaPCA(2, n_bootstrap=19, n_jobs=2).fit(sources["HDF5"])
    with joblib.parallel_config(backend="threading"):
        for name in ("memory map", "dask"):
            est = OjaPCA(2, n_bootstrap=19, n_jobs=2, random_state=0).fit(sources[name])
            np.testing.assert_array_equal(
                est.bootstrap_components_, whole.bootstrap_components_, err_msg=name
            )


def test_slab_source_refusals(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file["flat"] = np.ones(5)
        file["none"] = np.ones((0, 3))
        file["complex"] = np.ones((9, 3), complex)
        with pytest.raises(ValueError, match="got 1 dimensions"):
            OjaPCA().fit(file["flat"])
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            OjaPCA().fit(file["none"])
        with pytest.raises(TypeError, match="real numbers"):
            OjaPCA().fit(file["complex"])
        file["rows"] = X
        with pytest.raises(ValueError, match="needs n_total"):
            OjaPCA(learning_rate="theory", missing="drop").fit(file["rows"])


def test_dask_with_unknown_chunks() -> None:
    x = dask.array.from_array(data(), chunks=(100, 6))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        OjaPCA().fit(x[x[:, 0] > 0])


def test_check_input_can_be_left_out() -> None:
    checked, quick = (OjaPCA(2, n_bootstrap=5, random_state=0) for _ in range(2))
    for a in range(0, 300, 50):
        checked.partial_fit(X[a : a + 50])
        quick.partial_fit(X[a : a + 50], check_input=False)
    np.testing.assert_array_equal(checked.bootstrap_components_, quick.bootstrap_components_)
    with pytest.raises(TypeError, match="check_input must be True or False"):
        quick.partial_fit(X, check_input="no")


def test_transform_and_back() -> None:
    est = OjaPCA(2, random_state=0).fit(X)
    scores = est.transform(X)
    np.testing.assert_allclose(scores, (X - X.mean(axis=0)) @ est.components_.T, atol=1e-12)
    back = est.inverse_transform(scores)
    np.testing.assert_allclose(est.transform(back), scores, atol=1e-12)
    assert est.transform(X.astype(np.float32)).dtype == np.float32
    assert est.inverse_transform(scores.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="X has 3 columns but n_components=2"):
        est.inverse_transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN at row 7, column 3"):
        est.transform(_with(np.nan))


def test_scikit_learn_tools() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pipe = make_pipeline(StandardScaler(), OjaPCA(2, random_state=0)).set_output(transform="pandas")
    assert list(pipe.fit_transform(frame).columns) == ["ojapca0", "ojapca1"]
    est = clone(pipe[-1])
    assert est.get_params()["n_components"] == 2
    assert est.fit(frame).feature_names_in_.tolist() == list("abcdef")
    assert "check_input" in str(OjaPCA.set_partial_fit_request.__doc__)


def test_summary() -> None:
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = est.summary()
    assert re.search(r"rows used +300\b", text)
    assert re.search(r"replicates +99\b", text)
    for value in est.explained_variance_:
        assert f"{value:.5g}" in text
    assert re.search(r"squared error of the subspace +median +0\.95 quantile\n", text)
    assert re.search(rf" {est.error_quantile():.3g}\n", text)
    assert "n_bootstrap=0" in OjaPCA(2).fit(X).summary()
    assert "needs n_bootstrap of at least 19" in OjaPCA(2, n_bootstrap=9).fit(X).summary()
    with pytest.warns(UserWarning, match="do not go beyond"):
        assert "replicates start after" in OjaPCA(2, n_bootstrap=9).fit(X[:40]).summary()


def test_cuda_without_a_device_says_why() -> None:
    from nb26stats._dispatch import choose_device

    if choose_device("auto") == "cuda":
        assert OjaPCA(device="cuda").fit(X).device_ == "cuda"
        return
    with pytest.raises(RuntimeError, match=r"device='cuda' cannot be had: .+"):
        OjaPCA(device="cuda").fit(X)
    assert OjaPCA(device="auto").fit(X).device_ == "cpu"


def test_weak_gap_is_flagged() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 30))
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(x)
    with pytest.warns(ConvergenceWarning) as caught:
        est.error_quantile()
    text = " | ".join(str(c.message) for c in caught)
    assert "start not forgotten" in text
    assert "error too large for the linear theory" in text


def test_child_of_a_fork_can_fit(tmp_path: Path) -> None:
    code = """
import os, numpy as np
from nb26stats import OjaPCA
x = np.random.default_rng(0).normal(size=(500, 40)) * np.r_[4, 3, np.ones(38)]
def run(): return OjaPCA(2, n_bootstrap=40, n_threads=2, random_state=0).fit(x)
before = run().bootstrap_components_
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(run().bootstrap_components_, before) else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "0", done.stderr
