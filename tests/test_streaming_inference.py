"""Row regions of the loadings and the test of a subspace."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nb26stats.r import to_r
from nb26stats.streaming import OjaPCA
from nb26stats.streaming._inference import basis_rows, rotated, row_covariances
from nb26stats.streaming._regions import make_regions
from nb26stats.streaming._subspace_test import make_test

METRICS = ("sin2_fro", "sin2_op", "sin_op", "projection_fro")


def data(n: int = 800, d: int = 6, seed: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.r_[4, 2.5, np.ones(d - 2)] + 1


X = data()
NAMED = pd.DataFrame(X, columns=list("abcdef"))


def fitted(k: int = 2, rows: Any = X, **kw: Any) -> OjaPCA:
    return OjaPCA(k, **{"n_bootstrap": 99, "random_state": 0, **kw}).fit(rows)


def orthonormal(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    return np.ascontiguousarray(np.linalg.qr(rng.normal(size=(d, k)))[0].T)


# row regions


def test_row_regions_by_hand() -> None:
    est = fitted()
    centre, cov, radius2 = est.row_regions(0.9)
    w, boot = est._replicates()
    by_hand = np.zeros((6, 2, 2))
    for rows in boot:
        # columns: the orthogonal polar factor of W_b' W turns W_b towards W
        u, _, vt = np.linalg.svd(rows @ w.T)
        difference = rows.T @ (u @ vt) - w.T
        by_hand += difference[:, :, None] * difference[:, None, :] / len(boot)
    np.testing.assert_allclose(cov, by_hand, atol=1e-15)
    np.testing.assert_array_equal(cov, cov.transpose(0, 2, 1))
    np.testing.assert_array_equal(centre, est.components_.T)
    assert radius2 == pytest.approx(chi2.ppf(0.9, 2), rel=1e-12)
    regions = est.row_regions(0.9)
    assert regions.rank.tolist() == [2] * 6
    assert regions.row_radius2.tolist() == [radius2] * 6
    assert regions.level == 0.9
    # the diagonal is the variance behind the intervals of the same alignment
    lower, upper = est.component_intervals(0.6827, align="procrustes")
    spread = np.sqrt(np.diagonal(cov, axis1=1, axis2=2)).T
    np.testing.assert_allclose((upper - lower) / 2, spread, rtol=1e-4)


def test_one_component_gives_the_normal_interval() -> None:
    est = fitted(1)
    for level in (0.5, 0.95):
        centre, cov, radius2 = est.row_regions(level)
        half = np.sqrt(radius2 * cov[:, 0, 0])
        lower, upper = est.component_intervals(level, align="procrustes")
        np.testing.assert_allclose(centre[:, 0] - half, lower[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(centre[:, 0] + half, upper[0], rtol=0, atol=1e-12)


def test_regions_contain_what_they_should() -> None:
    est = fitted()
    regions = est.row_regions()
    own = est.components_.T
    assert regions.contains(own).all()
    # any basis of the same subspace, of any length, in any order
    assert regions.contains(own[:, ::-1] @ np.array([[3.0, 1.0], [0.0, -2.0]])).all()
    truth = np.eye(6)[:, :2]
    w = rotated(est.components_, truth.T[None])[0].T
    by_hand = [
        (c - v) @ np.linalg.inv(s) @ (c - v) <= regions.radius2
        for c, s, v in zip(regions.centre, regions.cov, w, strict=True)
    ]
    assert regions.contains(truth).tolist() == by_hand
    assert not regions.contains(np.eye(6)[:, 2:4])[:4].any()
    zero = [
        c @ np.linalg.inv(s) @ c > regions.radius2
        for c, s in zip(regions.centre, regions.cov, strict=True)
    ]
    assert regions.nonzero.tolist() == zero
    assert regions.nonzero[:2].all()


def test_singular_regions_use_the_rank() -> None:
    constant = X.copy()
    constant[:, 3] = 7.0
    regions = fitted(rows=constant).row_regions(0.9)
    assert regions.rank.tolist() == [2, 2, 2, 0, 2, 2]
    assert np.isfinite(regions._distance2(np.zeros((6, 2)))).all()
    assert regions.row_radius2[3] == 0.0
    assert not regions.nonzero[3]
    # fewer replicates than components
    rng = np.random.default_rng(0)
    w = orthonormal(rng, 3, 8)
    boot = np.array([orthonormal(rng, 3, 8) for _ in range(2)])
    few = make_regions(w, boot, 0.9, "float64", np.arange(8))
    assert few.rank.tolist() == [2] * 8
    np.testing.assert_allclose(few.row_radius2, chi2.ppf(0.9, 2), rtol=1e-12)
    assert few.radius2 == pytest.approx(chi2.ppf(0.9, 3), rel=1e-12)
    inverse = np.linalg.pinv(few.cov, rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(
        few._distance2(np.zeros((8, 3))),
        np.einsum("ij,ijk,ik->i", few.centre, inverse, few.centre),
        rtol=1e-6,
    )
    # all directions kept: replicates differ by a turn only, so nothing is uncertain
    whole = fitted(6).row_regions()
    assert whole.rank.tolist() == [0] * 6


def test_forms_of_row_regions() -> None:
    regions = fitted(rows=NAMED).row_regions()
    frame = regions.to_frame()
    assert frame.columns.tolist() == ["feature", "component", "loading", "standard_error"]
    assert frame["feature"].tolist() == [c for c in "abcdef" for _ in range(2)]
    assert frame["component"].tolist() == [0, 1] * 6
    np.testing.assert_array_equal(frame["loading"].to_numpy().reshape(6, 2), regions.centre)
    np.testing.assert_allclose(
        frame["standard_error"].to_numpy().reshape(6, 2) ** 2,
        np.diagonal(regions.cov, axis1=1, axis2=2),
    )
    text = regions.summary()
    assert "level 0.95" in text
    assert "\na " in text
    assert repr(regions) == text
    plain = to_r(regions)
    assert plain["cov"]["dim"] == [6, 2, 2]
    assert plain["radius2"] == pytest.approx(5.991465)
    assert plain["features"]["data"] == list("abcdef")
    many = fitted(rows=data(d=12)).row_regions()
    assert "… 4 more features" in many.summary()
    assert many.features.tolist() == list(range(12))
    swapped = pd.DataFrame(np.eye(6)[:, :2], index=list("bacdef"))
    with pytest.raises(ValueError, match="the row labels of V differ"):
        regions.contains(swapped)
    with pytest.raises(ValueError, match=r"V has shape \(5, 2\) but must have shape \(6, 2\)"):
        regions.contains(np.eye(5)[:, :2])


@pytest.mark.slow
@pytest.mark.parametrize("top", [(10,), (10, 6), (10, 8, 6)], ids=["k=1", "k=2", "k=3"])
def test_coverage_of_row_regions(top: tuple[float, ...]) -> None:
    k, runs = len(top), 60
    scale = np.sqrt(np.r_[top, np.ones(50 - k)])
    inside = []
    for run in range(runs):
        x = np.random.default_rng(run).normal(size=(2000, 50)) * scale
        regions = fitted(k, x, n_bootstrap=199, random_state=run).row_regions()
        inside.append(np.mean(regions.contains(np.eye(50)[:, :k])))
    error = np.std(inside) / math.sqrt(runs)
    print(f"row regions, k={k}: coverage {np.mean(inside):.3f} ± {error:.3f}")
    assert np.mean(inside) == pytest.approx(0.95, abs=0.012 + 2 * error)


# the subspace test


@pytest.mark.parametrize("metric", METRICS)
def test_subspace_test_by_hand(metric: str) -> None:
    est = fitted()
    rng = np.random.default_rng(1)
    target = np.eye(6)[:, :2] + 0.05 * rng.normal(size=(6, 2))
    found = est.subspace_test(target, metric)
    basis = np.linalg.qr(target)[0]
    sines = np.linalg.svd(est.components_.T - basis @ (basis.T @ est.components_.T))[1]
    by_hand = {
        "sin2_fro": np.sum(sines**2),
        "sin2_op": sines[0] ** 2,
        "sin_op": sines[0],
        "projection_fro": np.linalg.norm(
            basis @ basis.T - est.components_.T @ est.components_, "fro"
        ),
    }[metric]
    assert found.statistic == pytest.approx(by_hand, rel=1e-10)
    count = np.sum(est.bootstrap_errors(metric) >= found.statistic)
    assert found.pvalue == (1 + count) / 100
    assert found.metric == metric
    assert found.n_bootstrap == 99
    # the span alone counts
    other = est.subspace_test(target @ np.array([[2.0, 1e3], [-1.0, 5.0]]), metric)
    assert other.statistic == pytest.approx(found.statistic, rel=1e-8)


def test_subspace_test_takes_lists_tables_and_vectors() -> None:
    est = fitted(rows=NAMED)
    target = np.eye(6)[:, :2]
    found = est.subspace_test(target)
    assert found.pvalue > 0.02
    table = pd.DataFrame(target, index=list("abcdef"), columns=["one", "two"])
    for same in (
        target.tolist(),
        np.asfortranarray(target),
        target.astype(int),
        target * 1e300,
        target * [1e-200, 1e200],
        pd.DataFrame(target),
        table,
    ):
        assert est.subspace_test(same) == found
    one = fitted(1)
    axis = np.eye(6)[0]
    assert one.subspace_test(axis) == one.subspace_test(axis[:, None])
    assert fitted(1, X[:, :1]).subspace_test([[2.0]]).pvalue == 1.0
    assert fitted(6).subspace_test(np.eye(6)).pvalue == 1.0


def test_a_distance_within_rounding_is_no_evidence() -> None:
    rng = np.random.default_rng(4)
    basis = np.linalg.qr(rng.normal(size=(30, 2)))[0]
    x = rng.normal(size=(500, 2)) @ basis.T
    for dtype in (np.float64, np.float32):
        est = fitted(2, x.astype(dtype))
        assert est.subspace_test(basis).pvalue == 1.0
    w, boot = fitted()._replicates()
    assert make_test(w.T, "sin_op", w, boot, "float64", None).pvalue == 1.0


BAD: list[tuple[Any, type[Exception], str]] = [
    (np.eye(6)[:2], ValueError, "pass V with one column per direction (components_.T)"),
    (np.eye(6)[:, :3], ValueError, "V has shape (6, 3) but must have shape (6, 2)"),
    (np.eye(5)[:, :2], ValueError, "V has shape (5, 2) but must have shape (6, 2)"),
    (np.ones(6), ValueError, "V has shape (6,) but must have shape (6, 2)"),
    (3.0, ValueError, "V has shape () but must have shape (6, 2)"),
    (np.ones((6, 2)), ValueError, "V must have 2 linearly independent columns, its rank is 1"),
    (np.zeros((6, 2)), ValueError, "V must have 2 linearly independent columns, its rank is 0"),
    (np.full((6, 2), np.nan), ValueError, "V must hold finite numbers only"),
    (np.eye(6)[:, :2] * 1j, TypeError, "V must hold real numbers, got complex128"),
    ([["a", "b"]] * 6, TypeError, "V must hold real numbers"),
    (None, TypeError, "V must hold real numbers"),
    ([[1, 2], [3]], ValueError, "V must have rows of one length"),
    (
        np.ma.masked_array(np.eye(6)[:, :2], mask=np.eye(6)[:, :2] > 0),
        ValueError,
        "V must hold finite numbers only",
    ),
    (
        pd.DataFrame(np.eye(6)[:, :2], index=list("bacdef")),
        ValueError,
        "the row labels of V differ from feature_names_in_",
    ),
]


@pytest.mark.parametrize(("target", "kind", "text"), BAD, ids=[b[2][:40] for b in BAD])
def test_bad_subspaces(target: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        fitted(rows=NAMED).subspace_test(target)
    assert text in str(caught.value)


ASK: dict[str, Callable[[OjaPCA], Any]] = {
    "bootstrap_errors": lambda est: est.bootstrap_errors(),
    "error_quantile": lambda est: est.error_quantile(0.5),
    "component_intervals": lambda est: est.component_intervals(0.5),
    "row_regions": lambda est: est.row_regions(0.5),
    "subspace_test": lambda est: est.subspace_test(np.eye(6)[:, :2]),
}


@pytest.mark.parametrize("name", ASK)
def test_inference_that_cannot_be_had(name: str) -> None:
    ask = ASK[name]
    with pytest.raises(ValueError, match="set n_bootstrap"):
        ask(OjaPCA(2, random_state=0).fit(X))
    with (
        pytest.warns(UserWarning, match="do not go beyond"),
        pytest.raises(NotFittedError, match="need more than pilot_size_=50 rows, got 40"),
    ):
        ask(fitted(rows=X[:40]))
    with pytest.raises(NotFittedError):
        ask(OjaPCA(2, n_bootstrap=99))
    # every question comes with the cautions
    with pytest.warns(ConvergenceWarning, match="few replicates: n_bootstrap=50 is below 99"):
        ask(fitted(n_bootstrap=50))


def test_levels_next_to_one_are_finite() -> None:
    est = fitted()
    widths = []
    for level in (0.95, 1 - 1e-9, 1 - 2**-53):
        lower, upper = est.component_intervals(level)
        widths.append(upper - lower)
    deviations = np.array(widths) / widths[0] * 1.959964
    np.testing.assert_allclose(deviations[1], 6.109410, rtol=1e-6)
    np.testing.assert_allclose(deviations[2], 8.292361, rtol=1e-6)


def test_bad_levels_and_metrics() -> None:
    est = fitted()
    for level in (0, 1, -0.5, 2, np.nan):
        with pytest.raises(ValueError, match="level="):
            est.row_regions(level)
    with pytest.raises(TypeError, match="level must be a number"):
        est.row_regions("high")
    with pytest.raises(ValueError, match="metric='angle' must be one of 'sin2_fro'"):
        est.subspace_test(np.eye(6)[:, :2], "angle")


def test_forms_of_the_test() -> None:
    est = fitted()
    found = est.subspace_test(np.eye(6)[:, [0, 3]], "sin_op")
    assert found.pvalue == 0.01
    text = found.summary()
    assert "largest sine" in text
    assert "smallest that 99 replicates allow" in text
    assert "smallest" not in est.subspace_test(np.eye(6)[:, :2]).summary()
    frame = found.to_frame()
    assert frame.to_dict("records") == [
        {"statistic": found.statistic, "pvalue": 0.01, "metric": "sin_op", "n_bootstrap": 99}
    ]
    assert to_r(found) == frame.to_dict("records")[0]
    with pytest.raises(AttributeError):
        found.pvalue = 1.0  # type: ignore[misc]


def test_regions_and_test_of_a_stream_in_an_open_block() -> None:
    whole = fitted()
    stream = OjaPCA(2, n_bootstrap=99, random_state=0)
    for rows in np.array_split(X, 13):
        stream.partial_fit(rows)
    np.testing.assert_array_equal(stream.row_regions().cov, whole.row_regions().cov)
    target = np.eye(6)[:, :2]
    assert stream.subspace_test(target) == whole.subspace_test(target)


@pytest.mark.slow
def test_pvalues_of_a_true_and_of_a_turned_subspace() -> None:
    d, runs = 20, 200
    scale = np.sqrt(np.r_[10, 6, np.ones(d - 2)])
    truth = np.eye(d)[:, :2]
    turned = truth.copy()
    turned[1:3, 1] = np.cos(0.15), np.sin(0.15)
    true, power = [], []
    for run in range(runs):
        x = np.random.default_rng(run).normal(size=(1000, d)) * scale
        est = fitted(2, x, n_bootstrap=199, random_state=run)
        true.append([est.subspace_test(truth, metric).pvalue for metric in METRICS])
        power.append(est.subspace_test(turned, "sin2_op").pvalue)
    p = np.array(true)
    # metrics that are one function of another order the replicates alike
    np.testing.assert_array_equal(p[:, 0], p[:, 3])
    np.testing.assert_array_equal(p[:, 1], p[:, 2])
    for column in (0, 1):
        share = [np.mean(p[:, column] <= level) for level in (0.05, 0.1, 0.5)]
        print(f"{METRICS[column]}: share of p <= .05, .1, .5 under H0: {np.round(share, 3)}")
        # 200 runs: standard errors .015, .021, .035
        assert share[0] <= 0.05 + 3 * 0.015
        assert 0.02 <= share[1] <= 0.1 + 3 * 0.021
        assert 0.3 <= share[2] <= 0.5 + 3 * 0.035
        assert kstest(p[:, column], "uniform").statistic < 0.2
    print(f"power at a turn by 0.15: {np.mean(np.array(power) <= 0.05):.2f}")
    assert np.mean(np.array(power) <= 0.05) > 0.8


# pieces


def test_row_covariances_are_of_turned_replicates() -> None:
    rng = np.random.default_rng(3)
    w = orthonormal(rng, 3, 7)
    turns = np.array([orthonormal(rng, 3, 3) for _ in range(5)])
    np.testing.assert_allclose(row_covariances(w, turns @ w), 0, atol=1e-28)


def test_basis_rows_span_the_columns() -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(9, 3)) * [1e-8, 1, 1e8]
    basis = basis_rows(columns, 3, 9)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    unit = columns / np.linalg.norm(columns, axis=0)
    np.testing.assert_allclose(basis.T @ (basis @ unit), unit, atol=1e-13)
