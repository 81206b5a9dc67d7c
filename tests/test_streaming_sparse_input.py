"""Which sparse rows OjaPCA accepts, and what it says of the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from nb26stats._dispatch import core
from nb26stats.streaming import OjaPCA, _csr


def data(n: int = 200, d: int = 12, seed: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.r_[4, 3, np.ones(d - 2)] + 0.5
    return np.where(rng.random((n, d)) < 0.3, x, 0.0)


X = data()


def fitted(x: Any, **kw: Any) -> OjaPCA:
    return OjaPCA(2, random_state=0, n_bootstrap=5, **kw).fit(x)


def assert_same(a: OjaPCA, b: OjaPCA) -> None:
    for name in ("components_", "bootstrap_components_", "explained_variance_", "mean_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


WHOLE = fitted(sparse.csr_array(X))
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


MANY_DIAGONALS = pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")


@MANY_DIAGONALS
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str, kind: str) -> None:
    x = getattr(sparse, f"{name}_{kind}")(X)
    est = fitted(x)
    assert_same(est, WHOLE)
    np.testing.assert_array_equal(est.transform(x), WHOLE.transform(sparse.csr_array(X)))


def _wide(x: np.ndarray) -> sparse.csr_array:
    out = sparse.csr_array(x)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def _unsorted(x: np.ndarray) -> sparse.csr_array:
    out = sparse.csr_array(x)
    for a, b in zip(out.indptr[:-1], out.indptr[1:], strict=True):
        for part in (out.indices, out.data):
            part[a:b] = part[a:b][::-1].copy()
    return out


def _doubled(x: np.ndarray) -> sparse.csr_array:
    out = sparse.csr_array(x)
    return sparse.csr_array(
        (np.repeat(out.data / 2, 2), np.repeat(out.indices, 2), 2 * out.indptr), shape=x.shape
    )


def _zeros_stored(x: np.ndarray) -> sparse.csr_array:
    out = sparse.csr_array(np.ones_like(x))
    out.data[:] = x.ravel()
    return out


def _longer_than_used(x: np.ndarray) -> sparse.csr_array:
    out = sparse.csr_array(x)
    out.data, out.indices = np.r_[out.data, np.nan], np.r_[out.indices, 99].astype(np.int32)
    return out


def _read_only(x: np.ndarray) -> sparse.csr_array:
    out = _unsorted(x)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "64-bit places": _wide,
    "columns out of order": _unsorted,
    "values in two parts": _doubled,
    "zeros that are stored": _zeros_stored,
    "arrays longer than used": _longer_than_used,
    "read-only": _read_only,
    "frame": lambda x: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(x)),
}


@pytest.mark.parametrize("how", FORMS)
def test_forms(how: str) -> None:
    x = FORMS[how](X)
    before = [a.copy() for a in (x.data, x.indices, x.indptr)] if how != "frame" else []
    assert_same(fitted(x), WHOLE)
    after = [x.data, x.indices, x.indptr] if how != "frame" else []
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_number_types() -> None:
    whole = np.round(X)
    for dtype in (np.int8, np.int64, np.uint16, np.longdouble):
        given = abs(whole) if dtype == np.uint16 else whole
        wanted = fitted(sparse.csr_array(given))
        assert_same(fitted(sparse.csr_array(given.astype(dtype))), wanted)
    flags = sparse.csr_array(X > 0)
    assert_same(fitted(flags), fitted(sparse.csr_array((X > 0).astype(float))))
    # the sum of what is stored twice does not fit the type
    twice = sparse.csr_array(
        (np.full(400, 100, np.int8), np.tile([1, 1], 200), np.arange(0, 401, 2)), shape=X.shape
    )
    dense = np.zeros(X.shape)
    dense[:, 1] = 200
    np.testing.assert_array_equal(_csr.as_rows(twice).dense(), dense)


def test_rows_without_values() -> None:
    x = X.copy()
    x[[0, 1, 60, 61, 62, 199]] = 0
    assert_near = np.testing.assert_allclose
    thin, dense = fitted(sparse.csr_array(x)), fitted(x)
    assert_near(thin.bootstrap_components_, dense.bootstrap_components_, atol=1e-12)
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(sparse.csr_array((3, 12)))
    est.partial_fit(sparse.csr_array(x))
    again = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(np.vstack([np.zeros((3, 12)), x]))
    assert_near(est.components_, again.components_, atol=1e-12)


@pytest.mark.parametrize("first", [20, 50, 77])
def test_kinds_may_change_after_the_first_rows(first: int) -> None:
    a, b = sparse.csr_array(X), X
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(a[:first]).partial_fit(b[first:])
    assert_same(est, WHOLE)
    assert est._state.sparse is not None
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(b[:first]).partial_fit(a[first:])
    assert_same(est, fitted(X))
    assert est._state.sparse is None
    np.testing.assert_allclose(est.transform(a), est.transform(b), atol=1e-12)
    np.testing.assert_allclose(WHOLE.transform(b), WHOLE.transform(a), atol=1e-12)


@pytest.mark.parametrize("sparse_first", [True, False])
def test_check_input_can_be_left_out(sparse_first: bool) -> None:
    rows = [sparse.csr_array(X[:100]), X[100:150], _unsorted(X[150:])]
    if not sparse_first:
        rows[0] = X[:100]
    est, quick = (OjaPCA(2, random_state=0, n_bootstrap=5) for _ in range(2))
    for part in rows:
        est.partial_fit(part)
        quick.partial_fit(part, check_input=False)
    assert_same(est, quick)


def _broken(**kw: Any) -> sparse.csr_array:
    out = sparse.csr_array(X)
    for name, value in kw.items():
        setattr(out, name, value(getattr(out, name).copy()))
    return out


def _at(i: int, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(a: np.ndarray) -> np.ndarray:
        a[i] = value
        return a

    return change


def _coo(**kw: Any) -> sparse.coo_array:
    out = sparse.coo_array(X)
    row, col = (out.coords[i].copy() for i in (0, 1))
    row[3], col[3] = kw.get("row", row[3]), kw.get("col", col[3])
    out.coords = (row, col)
    return out


def _bsr() -> sparse.bsr_array:
    out = sparse.bsr_array(X, blocksize=(4, 3))
    out.indices[2] = 99
    return out


def _csc() -> sparse.csc_array:
    out = sparse.csc_array(X)
    out.indices[5] = -3
    return out


def _lil() -> sparse.lil_array:
    out = sparse.lil_array(X)
    out.data[4] = [*out.data[4], 1.0, 2.0]
    return out


def _lil_column() -> sparse.lil_array:
    out = sparse.lil_array(X)
    out.rows[4], out.data[4] = [2, 999], [1.0, 2.0]
    return out


def _dia() -> sparse.dia_array:
    out = sparse.dia_array(X)
    out.offsets = out.offsets[:-1]
    return out


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "column too large": (lambda: _broken(indices=_at(3, 12)), "indices must lie in [0, 11]"),
    "column negative": (lambda: _broken(indices=_at(3, -1)), "indices must lie in [0, 11]"),
    "column huge": (lambda: _broken(indices=_at(3, 2**30)), "indices must lie in [0, 11]"),
    "columns of floats": (
        lambda: _broken(indices=lambda a: a.astype(float)),
        "indices must be whole numbers",
    ),
    "starts descend": (lambda: _broken(indptr=_at(3, 10**6)), "indptr must ascend from 0"),
    "starts not at 0": (lambda: _broken(indptr=_at(0, 1)), "indptr must ascend from 0"),
    "starts negative": (lambda: _broken(indptr=_at(1, -5)), "indptr must ascend from 0"),
    "starts beyond": (lambda: _broken(indptr=_at(-1, 10**6)), "indptr must ascend from 0"),
    "starts too short": (lambda: _broken(indptr=lambda a: a[:-1]), "indptr must hold 201 whole"),
    "starts of floats": (lambda: _broken(indptr=lambda a: a.astype(float)), "indptr must hold 201"),
    "values too short": (lambda: _broken(data=lambda a: a[:-1]), "indptr must ascend from 0"),
    "columns too short": (lambda: _broken(indices=lambda a: a[:9]), "indptr must ascend from 0"),
    "values in two dimensions": (lambda: _broken(data=lambda a: a[:, None]), "data must have one"),
    "csc": (_csc, "(CSC): indices must lie in [0, 199]"),
    "bsr": (_bsr, "(BSR): indices must lie in [0, 3]"),
    "coo row": (lambda: _coo(row=200), "(COO): row must lie in [0, 199]"),
    "coo column": (lambda: _coo(col=-1), "(COO): col must lie in [0, 11]"),
    "lil": (_lil, "(LIL): lists of rows and data must have the same lengths"),
    "lil column": (_lil_column, "indices must lie in [0, 11]"),
    "dia": (_dia, "(DIA): data must have one line for each offset"),
}


@MANY_DIAGONALS
@pytest.mark.parametrize("how", BROKEN)
def test_unsound_matrices(how: str) -> None:
    make, text = BROKEN[how]
    for call in (OjaPCA().fit, OjaPCA().partial_fit, WHOLE.transform):
        with pytest.raises(ValueError, match=r"X is not a sound sparse matrix") as caught:
            call(make())
        assert text in str(caught.value)
    with pytest.raises(ValueError, match=r"X is not a sound sparse matrix"):
        OjaPCA().partial_fit(make(), check_input=False)


def _with(value: float, at: tuple[int, int] = (7, 3)) -> sparse.csr_array:
    x = X.copy()
    x[at] = value
    return sparse.csr_array(x)


BAD = [
    (_with(np.nan), ValueError, "X contains NaN at row 7, column 3 (counted from 0)"),
    (_with(np.inf, (180, 11)), ValueError, "X contains inf at row 180, column 11"),
    (sparse.csr_array(X.astype(complex)), TypeError, "X must hold real numbers, got complex128"),
    (sparse.csr_array(np.full((60, 3), -2147483648, np.int32)), ValueError, "R's NA_integer_"),
    (sparse.coo_array(X[0]), ValueError, "Reshape your data"),
    (sparse.csr_array((0, 4)), ValueError, "0 sample(s)"),
    (sparse.csr_array((9, 0)), ValueError, "0 feature(s)"),
    (sparse.csr_array((80, 3)), ValueError, "X has zero variance"),
    (sparse.csr_array(np.full((80, 3), 0.1)), ValueError, "X has zero variance"),
    (sparse.csr_array(np.full((80, 3), 0.1, np.float32)), ValueError, "X has zero variance"),
    (_with(1e200, (150, 1)), ValueError, "X is too large at row 150 (counted from 0)"),
    (_with(1e150, (150, 1)), ValueError, "row 150 (counted from 0) is too large for its step"),
    (_with(1e200, (5, 1)), ValueError, "X is too large at row 5"),
    (_with(1e25, (150, 1)).astype(np.float32), ValueError, "pass float64 data"),
]


@pytest.mark.parametrize(("x", "error", "text"), BAD, ids=range(len(BAD)))
def test_bad_data(x: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        OjaPCA().fit(x)


def test_names_in_the_message() -> None:
    frame = pd.DataFrame.sparse.from_spmatrix(_with(np.nan), columns=list("abcdefghijkl"))
    with pytest.raises(ValueError, match=re.escape("row 7, column 3 ('d')")):
        OjaPCA().fit(frame)


def test_refused_rows_leave_the_stream_alone() -> None:
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(sparse.csr_array(X[:90]))
    for bad in (_with(np.nan), sparse.csr_array(X[:, :4]), BROKEN["column too large"][0]()):
        with pytest.raises(ValueError, match=r"NaN|features|sound"):
            est.partial_fit(bad)
    assert_same(est.partial_fit(sparse.csr_array(X[90:])), WHOLE)


def test_rows_after_a_refused_one_can_follow() -> None:
    for at, big in ((20, 1e200), (120, 1e200), (120, 1e150)):
        est = OjaPCA(2, random_state=0, n_bootstrap=5)
        with pytest.raises(ValueError, match="too large"):
            est.partial_fit(_with(big, (at, 1)))
        assert est._state.n_seen == at
        rest = sparse.csr_array(np.vstack([X[at : at + 1], X[at + 1 :]]))
        clean = OjaPCA(2, random_state=0, n_bootstrap=5)
        clean.partial_fit(sparse.csr_array(X))
        assert_same(est.partial_fit(rest), clean)


def test_missing_rows_are_dropped() -> None:
    x = X.copy()
    x[[3, 60, 61], [0, 1, 2]] = np.nan
    thin = sparse.csr_array(x)
    est = OjaPCA(2, random_state=0, n_bootstrap=5, missing="drop").fit(thin)
    clean = fitted(sparse.csr_array(x[~np.isnan(x).any(axis=1)]))
    assert_same(est, clean)
    assert_same(OjaPCA(2, random_state=0, n_bootstrap=5, missing="drop", n_jobs=2).fit(thin), clean)
    assert est.n_rows_skipped_ == 3
    assert est.n_samples_seen_ == 197
    scores = est.transform(thin)
    assert np.isnan(scores[3]).all()
    assert np.isfinite(scores[4]).all()
    est.partial_fit(x[60:61]).partial_fit(thin[60:62])
    assert est.n_rows_skipped_ == 6
    with pytest.raises(ValueError, match="inf"):
        OjaPCA(missing="drop").fit(_with(np.inf))


def test_device() -> None:
    with pytest.raises(ValueError, match="device='cuda' takes no sparse rows; use 'auto' or 'cpu'"):
        OjaPCA(device="cuda").fit(sparse.csr_array(X))
    est = OjaPCA(device="cuda")
    with pytest.raises(ValueError, match="takes no sparse rows"):
        est.partial_fit(sparse.csr_array(X))
    est.set_params(device="auto").partial_fit(X)
    assert est._state.sparse is None
    assert OjaPCA(device="auto").fit(sparse.csr_array(X)).device_ == "cpu"
    with pytest.raises(ValueError, match="device='gpu' must be one of"):
        OjaPCA(device="gpu").fit(sparse.csr_array(X))


def test_few_rows() -> None:
    x = sparse.csr_array(X)
    with pytest.raises(ValueError, match="n_samples=2 must be at least"):
        OjaPCA(2).fit(x[:2])
    est = OjaPCA(2).partial_fit(x[:2])
    with pytest.raises(NotFittedError):
        est.transform(x)
    est.partial_fit(x[2:30])
    dense = OjaPCA(2).partial_fit(X[:30])
    with pytest.warns(UserWarning, match="do not go beyond"):
        ours, theirs = est.components_, dense.components_
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(est.explained_variance_, dense.explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("name", "at"), [("oja_sparse_pilot", 0), ("oja_sparse_rows", 90)])
def test_an_interrupted_stream_goes_on(
    monkeypatch: pytest.MonkeyPatch, name: str, at: int, before: bool
) -> None:
    x = sparse.csr_array(X)
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(x[: at or 20])

    def interrupted(*args: Any) -> None:
        if not before:
            # Python answers the signal when the native call is over
            getattr(core(), name)(*args)
        raise KeyboardInterrupt

    class Stopped:
        def __getattr__(self, called: str) -> Any:
            return interrupted if called == name else getattr(core(), called)

    with monkeypatch.context() as patch:
        patch.setattr("nb26stats.streaming._sparse.core", Stopped)
        with pytest.raises(KeyboardInterrupt):
            est.partial_fit(x[at or 20 :])
    taken = est._state.n_seen
    assert (taken > (at or 20)) is not before
    assert_same(est.partial_fit(x[taken:]), WHOLE)


def test_rows_that_do_not_belong_to_the_counts_are_not_gone_on_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    est = OjaPCA(2, random_state=0, n_bootstrap=5).partial_fit(sparse.csr_array(X[:90]))

    def interrupted(state: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nb26stats.streaming._sparse.held", interrupted)
        with pytest.raises(KeyboardInterrupt):
            est.partial_fit(sparse.csr_array(X[90:]))
    with pytest.raises(RuntimeError, match="call fit again"):
        est.partial_fit(sparse.csr_array(X[90:]))
    assert_same(est.fit(sparse.csr_array(X)), WHOLE)


@settings(max_examples=60)
@given(
    n=st.integers(1, 8),
    d=st.integers(1, 6),
    entries=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 5), st.floats(-5, 5, width=16)), max_size=30
    ),
    name=st.sampled_from(FORMATS),
)
def test_any_entries_in_any_format(
    n: int, d: int, entries: list[tuple[int, int, float]], name: str
) -> None:
    inside = [(i, j, v) for i, j, v in entries if i < n and j < d]
    row, column, value = (np.array([e[i] for e in inside]) for i in range(3))
    x = sparse.coo_array((value.astype(float), (row.astype(int), column.astype(int))), shape=(n, d))
    rows = _csr.as_rows(x.asformat(name))
    np.testing.assert_array_equal(rows.dense(), x.toarray())
    again = _csr.from_dense(x.toarray())
    np.testing.assert_array_equal(again.dense(), x.toarray())
    for a, part in _csr.runs(rows):
        np.testing.assert_array_equal(part.dense(), x.toarray()[a : a + len(part)])
    assert (np.diff(rows.starts) >= 0).all()


def test_runs_hold_a_bounded_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_csr, "PART_VALUES", 10)
    monkeypatch.setattr(_csr, "PART_ROWS", 4)
    rows = _csr.as_rows(sparse.csr_array(X))
    made = list(_csr.runs(rows))
    assert all(len(part.values) <= 10 or len(part) == 1 for _, part in made)
    assert all(1 <= len(part) <= 4 for _, part in made)
    assert sum(len(part) for _, part in made) == 200
    assert_same(fitted(sparse.csr_array(X)), WHOLE)
