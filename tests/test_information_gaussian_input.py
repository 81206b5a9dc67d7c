"""GaussianPID: what it refuses and what it warns of, and in which words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from reference.gaussian_pid import lattice_covariance

from nb26stats import NB26StatsWarning, _dispatch
from nb26stats.information import GaussianPID
from nb26stats.information._gaussian_bias import plug_in_bias

F64 = NDArray[np.float64]
COV, DIMS = lattice_covariance(2, 3, 2, 4), (3, 2, 2)


def _rows(n: int = 200) -> tuple[F64, F64, F64]:
    z = np.random.default_rng(0).standard_normal((n, 7)) @ np.linalg.cholesky(COV).T
    return z[:, :3], z[:, 3:5], z[:, 5:]


def _pid(**kw: Any) -> GaussianPID:
    return GaussianPID(**{"bias": None, **kw})


@pytest.mark.parametrize(
    ("kw", "error", "message"),
    [
        ({"measure": "imin"}, ValueError, "measure='imin' must be one of 'broja', 'mmi', 'delta'"),
        ({"measure": None}, TypeError, "measure"),
        ({"pca": 0}, ValueError, "pca=0 must be at least 1"),
        ({"pca": 1.5}, TypeError, "pca must be a whole number"),
        ({"pca": True}, TypeError, "pca must be a whole number"),
        ({"copula": 1}, TypeError, "copula must be True or False"),
        ({"regularization": "lw"}, ValueError, "must be one of 'ledoit-wolf', 'oas'"),
        ({"regularization": 1.5}, ValueError, r"regularization=1.5 must lie in \[0, 1\]"),
        ({"regularization": -0.1}, ValueError, r"regularization=-0.1 must lie in \[0, 1\]"),
        ({"regularization": True}, TypeError, "regularization must be a number"),
        ({"bias": "qe"}, ValueError, "bias='qe' must be one of 'analytic', 'gpid', 'bootstrap'"),
        ({"bias": False}, TypeError, "bias"),
        ({"n_bootstrap": 0}, ValueError, "n_bootstrap=0 must lie in"),
        ({"clip": "yes"}, TypeError, "clip must be True or False"),
        ({"base": 1}, ValueError, "base=1 must be greater than 1"),
        ({"base": "2"}, TypeError, "base must be a number"),
        ({"missing": "drop"}, ValueError, "missing='drop' must be one of 'raise'"),
        ({"device": "tpu"}, ValueError, "device='tpu' must be one of 'auto', 'cpu', 'cuda'"),
        ({"n_threads": -1}, ValueError, "n_threads=-1 must lie in"),
        ({"random_state": "a"}, TypeError, "random_state must be a whole number"),
        ({"measure": "delta", "bias": "gpid"}, ValueError, "not defined for measure='delta'"),
        ({"measure": "delta", "bias": "analytic"}, ValueError, "not defined for measure='delta'"),
    ],
)
def test_parameters(kw: dict[str, Any], error: type[Exception], message: str) -> None:
    pid = _pid(**kw)
    x, y, m = _rows()
    with pytest.raises(error, match=message):
        pid.fit([x, y], m)
    with pytest.raises(error, match=message):
        pid.fit_covariance(COV, DIMS)
    with pytest.raises(error, match=message):
        pid.fit_many(COV[None], DIMS)


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "an infinite value")])
def test_not_finite(value: float, what: str) -> None:
    x, y, m = _rows()
    for i, name in enumerate(["source 1", "source 2", "target"]):
        parts = [x.copy(), y.copy(), m.copy()]
        parts[i][17, 1] = parts[i][30, 0] = value
        with pytest.raises(ValueError, match=f"{name} holds {what} at trial 17, column 1, counted"):
            _pid().fit(parts[:2], parts[2])
    frame = pd.DataFrame(x, columns=["u1", "u2", "u3"])
    frame.loc[4, "u3"] = value
    with pytest.raises(
        ValueError, match=rf"source 'V4' holds {what} at trial 4, column 2 \('u3'\)"
    ):
        _pid().fit({"V1": y, "V4": frame}, m)


def test_masked_and_missing_values() -> None:
    x, y, m = _rows()
    hidden = np.ma.masked_array(x, mask=np.zeros_like(x, dtype=bool))
    hidden[3, 2] = np.ma.masked
    with pytest.raises(ValueError, match="source 1 holds NaN at trial 3, column 2"):
        _pid().fit([hidden, y], m)
    whole = pd.DataFrame({"n": pd.array([1, None] * 100, dtype="Int64")})
    with pytest.raises(ValueError, match=r"source 1 holds NaN at trial 1, column 0 \('n'\)"):
        _pid().fit([whole, y], m)
    counts = np.random.default_rng(0).poisson(5, 200)
    counts[9] = -2147483648
    with pytest.raises(ValueError, match="source 1 holds -2147483648, R's NA_integer_, at 9 "):
        _pid().fit([counts, y], m)


def test_numbers_of_trials() -> None:
    x, y, m = _rows()
    with pytest.raises(ValueError, match="source 1 has 200 trials and source 2 has 199"):
        _pid().fit([x, y[1:]], m)
    with pytest.raises(ValueError, match="source 1 has 200 trials and target has 198"):
        _pid().fit([x, y], m[2:])


def test_kinds_of_sources() -> None:
    x, y, m = _rows()
    sources: Any
    for sources in (x, "xy", 3, None):
        with pytest.raises(TypeError, match=r"sources must be a list of two arrays"):
            _pid().fit(sources, m)
    with pytest.raises(ValueError, match="two arrays, got 3; for more sources see union_inform"):
        _pid().fit([x, y, x], m)
    with pytest.raises(ValueError, match="two arrays, got 1"):
        _pid().fit([x], m)
    with pytest.raises(ValueError, match=r"shape \(trials,\) or .* got shape \(200, 3, 1\)"):
        _pid().fit([x[:, :, None], y], m)
    with pytest.raises(ValueError, match=r"hold something, got shape \(200, 0\)"):
        _pid().fit([x, y[:, :0]], m)
    for wrong in (x > 0, x.astype(str), x + 1j, x.astype(object)):
        with pytest.raises(TypeError, match="source 2 must hold real numbers"):
            _pid().fit([x, wrong], m)
    frame = pd.DataFrame({"a": ["u", "v"] * 100})
    with pytest.raises(TypeError, match="source 1: column 'a' must hold real numbers, got"):
        _pid().fit([frame, y], m)


@pytest.mark.parametrize("kw", [{}, {"bias": "bootstrap"}, {"regularization": 0.0}])
def test_too_few_trials(kw: dict[str, Any]) -> None:
    x, y, m = _rows(7)
    with pytest.raises(ValueError, match=r"7 trials are too few for 7 variables .* pca= or regul"):
        _pid(**kw).fit([x, y], m)


@pytest.mark.parametrize("bias", ["analytic", "gpid", "bootstrap"])
def test_too_few_trials_for_a_correction(bias: str) -> None:
    x, y, m = _rows(7)
    pid = _pid(bias=bias, regularization=0.3)
    with pytest.raises(ValueError, match=f"bias='{bias}' needs more trials than the 7 variables"):
        pid.fit([x, y], m)
    with pytest.raises(ValueError, match=f"bias='{bias}' needs more trials than the 7 variables"):
        pid.fit_covariance(COV, DIMS, n_samples=7)


def test_one_more_trial_than_variables_is_enough() -> None:
    x, y, m = _rows(8)
    for bias in (None, "analytic", "gpid", "bootstrap"):
        with pytest.warns(NB26StatsWarning, match="8 trials are few for 7 variables"):
            pid = _pid(bias=bias, n_bootstrap=2).fit([x, y], m)
        assert np.isfinite([*pid.mi_, pid.union_]).all()


def test_few_trials_warn_with_the_bias() -> None:
    x, y, m = _rows(69)
    size = f"{plug_in_bias(2, 5, 68) / np.log(2):.3g}"
    match = f"69 trials are few for 7 variables .* too large by about {re.escape(size)} bits"
    with pytest.warns(NB26StatsWarning, match=match):
        _pid().fit([x, y], m)
    x, y, m = _rows(70)
    _pid().fit([x, y], m)


def test_constant_columns() -> None:
    x, y, m = _rows()
    wide = np.column_stack([np.full(200, 0.1), x, np.zeros(200)])
    match = "source 1: dropped 2 of 5 columns that never vary: 0, 4"
    with pytest.warns(NB26StatsWarning, match=match):
        got = _pid().fit([wide, y], m)
    np.testing.assert_array_equal(got.mi_, _pid().fit([x, y], m).mi_)
    frame = pd.DataFrame(np.column_stack([m, np.ones(200)]), columns=["a", "b", "c"])
    with pytest.warns(NB26StatsWarning, match=r"target: dropped 1 of 3 columns .* 2 \('c'\)"):
        _pid().fit([x, y], frame)
    with pytest.raises(ValueError, match="source 2: no column varies"):
        _pid().fit([x, np.full((200, 3), 0.1)], m)
    with pytest.raises(ValueError, match="target: no column varies"):
        _pid().fit([x, y], np.zeros(200))


def test_ties_under_the_copula() -> None:
    x, y, m = _rows()
    counts = np.random.default_rng(1).poisson(0.3, (200, 2))
    with pytest.warns(NB26StatsWarning, match=r"source 2: 2 of 2 columns .* tied .* DiscretePID"):
        _pid(copula=True).fit([x, counts], m)
    few = y.copy()
    few[:8, 0] = few[0, 0]
    _pid(copula=True).fit([x, few], m)


def test_infinite_information() -> None:
    x, y, m = _rows()
    with pytest.raises(ValueError, match="infinite information in the data"):
        _pid().fit([x, y], x[:, :1] + 2 * y[:, 1:])
    with pytest.raises(ValueError, match="infinite information in the data"):
        _pid().fit([x, y], np.column_stack([m, x[:, 0]]))
    cov = np.array([[1, 0.2, 1], [0.2, 1, 0.2], [1, 0.2, 1]])
    with pytest.raises(ValueError, match="infinite information in cov"):
        _pid().fit_covariance(cov, (1, 1, 1))
    with pytest.raises(ValueError, match=r"infinite information in covs\[1\]"):
        _pid().fit_many(np.stack([np.eye(3), cov]), (1, 1, 1))


def test_dependent_columns() -> None:
    x, y, m = _rows()
    match = "not positive definite: smallest eigenvalue .*in {} a column is a linear .* pca="
    for part, sources, target in [
        ("source 1", [np.column_stack([x, x @ [1, 1, 1]]), y], m),
        ("source 2", [x, np.column_stack([y, y[:, 0]])], m),
        ("the two sources together", [x, np.column_stack([y, x[:, 1]])], m),
        ("the target", [x, y], np.column_stack([m, m.sum(axis=1)])),
    ]:
        with pytest.raises(ValueError, match=match.format(part)):
            _pid().fit(sources, target)


def test_covariances() -> None:
    skew = COV.copy()
    skew[1, 4] += 1e-6
    with pytest.raises(ValueError, match=r"cov is not symmetric: .* at row 1, column 4 and"):
        _pid().fit_covariance(skew, DIMS)
    skew = COV.copy()
    skew[1, 4] += 1e-10
    _pid().fit_covariance(skew, DIMS)
    indefinite = COV - 1.2 * np.linalg.eigvalsh(COV)[0] * np.eye(7)
    smallest = np.linalg.eigvalsh(indefinite)[0]
    match = re.escape(f"covs[1] is not positive definite: smallest eigenvalue {smallest:.6g}")
    with pytest.raises(ValueError, match=match):
        _pid().fit_many(np.stack([COV, indefinite]), DIMS)
    with pytest.raises(ValueError, match="cov is not positive definite: smallest eigenvalue -1"):
        _pid().fit_covariance(-np.eye(3), (1, 1, 1))
    with pytest.raises(ValueError, match="cov is not positive definite: smallest eigenvalue -1"):
        _pid(regularization=0.5).fit_covariance(-np.eye(3), (1, 1, 1))
    for value in (np.nan, np.inf):
        broken = COV.copy()
        broken[2, 3] = value
        with pytest.raises(ValueError, match=f"cov holds {value} at row 2, column 3"):
            _pid().fit_covariance(broken, DIMS)
    with pytest.raises(ValueError, match=r"cov must have shape \(6, 6\) for dims=\(2, 2, 2\), got"):
        _pid().fit_covariance(COV, (2, 2, 2))
    with pytest.raises(ValueError, match=r"covs must have shape \(m, 7, 7\) .* got \(7, 7\)"):
        _pid().fit_many(COV, DIMS)
    with pytest.raises(TypeError, match="cov must hold real numbers"):
        _pid().fit_covariance(COV > 0, DIMS)
    dims: Any
    for dims, error in [((3, 4), ValueError), ((0, 5, 2), ValueError), ((3, 2.5, 2), TypeError)]:
        with pytest.raises(error, match="dims"):
            _pid().fit_covariance(COV, dims)
    with pytest.raises(ValueError, match="n_samples=1 must lie in"):
        _pid().fit_covariance(COV, DIMS, n_samples=1)


def test_units_may_differ_by_orders_of_magnitude() -> None:
    scale = 10.0 ** np.array([-9, 6, 0, 4, -3, 8, -7])
    want = _pid().fit_covariance(COV, DIMS)
    got = _pid().fit_covariance(COV * np.outer(scale, scale), DIMS)
    np.testing.assert_allclose([*got.mi_, got.union_], [*want.mi_, want.union_], atol=1e-10)


def test_settings_that_need_trials() -> None:
    for kw in ({"copula": True}, {"regularization": "oas"}, {"regularization": "ledoit-wolf"}):
        with pytest.raises(ValueError, match="needs the trials themselves: call fit"):
            _pid(**kw).fit_covariance(COV, DIMS, n_samples=100)


@pytest.mark.parametrize("bias", ["analytic", "gpid", "bootstrap"])
def test_bias_without_a_number_of_trials_is_skipped_aloud(bias: str) -> None:
    with pytest.warns(NB26StatsWarning, match=f"without n_samples .* bias='{bias}' is skipped"):
        pid = GaussianPID(bias=bias).fit_covariance(COV, DIMS)
    assert pid.n_samples_ is None
    np.testing.assert_array_equal(pid.mi_, _pid().fit_covariance(COV, DIMS).mi_)


def test_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dispatch, "_find_cuda", lambda: (None, "no device in the machine"))
    with pytest.raises(RuntimeError, match="device='cuda' cannot be had: no device in the machine"):
        _pid(device="cuda").fit_covariance(COV, DIMS)
    assert _pid(device="auto").fit_covariance(COV, DIMS).mi_[2] > 0


def test_a_failed_fit_leaves_the_estimator_as_it_was() -> None:
    x, y, m = _rows()
    pid = _pid(random_state=1).fit([x, y], m)
    before = pid.mi_.copy(), pid.seed_
    with pytest.raises(ValueError, match="infinite information"):
        pid.set_params(random_state=2).fit([x, y], x)
    np.testing.assert_array_equal(pid.mi_, before[0])
    assert pid.seed_ == before[1]
