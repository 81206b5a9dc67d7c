"""Input at the edge of what numbers and arrays can be, for everything in the information room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from nb26stats.information import (
    DiscretePID,
    GaussianPID,
    TimeResolvedPID,
    discretize,
    mutual_information,
    union_information,
)

F64 = NDArray[np.float64]
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((200, 3)), RNG.standard_normal((200, 2))
M = X[:, :2] + RNG.standard_normal((200, 2))
CODES = np.arange(400) % 2, np.arange(400) // 2 % 3, np.arange(400) // 7 % 3


def _gaussian(x: F64, m: F64 = M, **settings: Any) -> float:
    return float(GaussianPID(bias=None, **settings).fit([x, Y], m).union_)


@pytest.mark.parametrize("scale", [1e300, 4e307, 1e160, 1e-160, 1e-300, 5e-321])
@pytest.mark.parametrize(
    "settings", [{}, {"pca": 2}, {"regularization": "oas"}, {"copula": True}], ids=str
)
def test_numbers_whose_squares_leave_float64_are_refused(
    scale: float, settings: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"source 1, column \d: numbers above 1e\+150"):
        _gaussian(X * scale, **settings)
    with pytest.raises(ValueError, match=r"target, column \d: .* give them in other units"):
        _gaussian(X, M * scale, **settings)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_other_functions_refuse_such_numbers_too(scale: float) -> None:
    with pytest.raises(ValueError, match=r"x, column \d: numbers above"):
        mutual_information(X * scale, M)
    with pytest.raises(ValueError, match=r"source 1, column \d: numbers above"):
        union_information(sources=[X * scale, Y], target=M)


@pytest.mark.parametrize("scale", [1e149, 1e-140])
def test_scales_next_to_the_limit_change_nothing(scale: float) -> None:
    assert _gaussian(X * scale) == pytest.approx(_gaussian(X), abs=1e-12)
    assert _gaussian(X, M * scale) == pytest.approx(_gaussian(X), abs=1e-12)
    cov = np.cov(np.hstack([X, Y, M]).T)
    pid = GaussianPID(bias=None)
    plain = pid.fit_covariance(cov, (3, 2, 2)).union_
    assert pid.fit_covariance(cov * scale, (3, 2, 2)).union_ == pytest.approx(plain, abs=1e-12)


def test_a_variance_without_digits_is_refused() -> None:
    cov = np.cov(np.hstack([X, Y, M]).T)
    with pytest.raises(ValueError, match=r"cov holds the variance .*e-3\d\d at row 0: numbers"):
        GaussianPID(bias=None).fit_covariance(cov * 5e-321, (3, 2, 2))
    with pytest.raises(ValueError, match=r"covs\[1\] holds the variance .*e\+30\d at row"):
        GaussianPID(bias=None).fit_many(np.array([cov, cov * 1e305]), (3, 2, 2))


def test_constant_columns_stay_constant_whatever_their_size() -> None:
    wide = np.column_stack([X, np.full(200, 1e300)])
    with pytest.warns(UserWarning, match="dropped 1 of 4 columns that never vary: 3"):
        assert _gaussian(wide) == _gaussian(X)


def _over_time(a: Any, m: Any, **settings: Any) -> TimeResolvedPID:
    kw = {"n_permutations": 19, "alpha": 0.05, "min_run": 1, "random_state": 0, **settings}
    b = np.random.default_rng(1).standard_normal((200, 3, 2))
    estimator = kw.pop("estimator", GaussianPID(bias=None))
    return TimeResolvedPID(estimator, **kw).fit({"A": a, "B": b}, m, [0, 1, 2])


AREA = np.random.default_rng(2).standard_normal((200, 3, 3))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_over_time_such_numbers_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"area 'A', unit 2: numbers above 1e\+150"):
        _over_time(AREA * [1, 1, scale], M)
    with pytest.raises(ValueError, match=r"target 'target', feature 0: numbers above 1e\+150"):
        _over_time(AREA, M * [scale, 1])


def test_over_time_the_layout_of_arrays_does_not_change_a_bit() -> None:
    for settings in ({}, {"area_pca": 2}, {"area_pca": None, "target_pca": None}):
        plain = _over_time(AREA, M, **settings)
        other = _over_time(np.asfortranarray(AREA), np.asfortranarray(M), **settings)
        np.testing.assert_array_equal(other.values_, plain.values_)
        np.testing.assert_array_equal(other.null_mean_, plain.null_mean_)


def test_over_time_a_refused_fit_says_where() -> None:
    silent = AREA.copy()
    silent[:, 1] = 0.0
    estimator = GaussianPID(bias=None, regularization=0.1)
    with pytest.raises(ValueError, match="pair A-B with target 'target' in bin 1: source 1: no"):
        _over_time(silent, M, estimator=estimator, area_pca=None)


def test_over_time_no_jobs() -> None:
    with pytest.raises(ValueError, match="n_jobs=0 must be at least 1"):
        _over_time(AREA, M, n_jobs=0)


@pytest.mark.parametrize("kind", ["U4", "S4", object, bool, "i4", "f8"])
def test_what_a_mask_hides_is_missing_in_any_kind_of_array(kind: Any) -> None:
    x, y, s = CODES
    hidden = np.ma.masked_array(x.astype(kind), mask=np.arange(len(x)) == 9)
    with pytest.raises(ValueError, match=r"source 1 holds a missing value \(NaN\) at trial 9"):
        DiscretePID().fit([hidden, y], s)


def test_over_time_what_a_mask_hides_is_missing() -> None:
    m = np.ma.masked_array(M > 0, mask=np.zeros(M.shape, dtype=bool))
    _over_time(AREA, m)
    m[4, 1] = np.ma.masked
    with pytest.raises(ValueError, match="target holds nan at trial 4, feature 1"):
        _over_time(AREA, m)
    with pytest.raises(ValueError, match="target must have rows of one length"):
        _over_time(AREA, [[1.0], [2.0, 3.0]])


def test_codes_in_half_precision() -> None:
    x, y, s = CODES
    half = DiscretePID().fit([x.astype(np.float16), y], s)
    assert half.union_ == DiscretePID().fit([x, y], s).union_


def test_ragged_distributions_are_told_in_words() -> None:
    with pytest.raises(ValueError, match="pmf must have rows of one length, got ragged ones"):
        DiscretePID().fit_pmf([[[0.5, 0.2], [0.3]]])


def test_more_bins_than_memory() -> None:
    with pytest.raises(ValueError, match="n_bins=2147483647 must lie in"):
        discretize([1.0, 2.0], 2**31 - 1)


def test_union_of_two_sharp_posteriors_keeps_its_digits() -> None:
    sharp = 5e-12 * np.eye(2)
    union = union_information([sharp, 0.3 * np.eye(2)])
    assert union.value == pytest.approx(-np.log2(5e-12), abs=1e-9)


def test_a_batch_or_a_failed_fit_is_no_fit() -> None:
    gaussian = GaussianPID(bias=None, random_state=3)
    gaussian.fit_many(np.cov(np.hstack([X, Y, M]).T)[None], (3, 2, 2))
    discrete = DiscretePID(bias="qe")
    with (
        pytest.warns(UserWarning, match="too few samples"),
        pytest.raises(ValueError, match="needs at least 4 samples"),
    ):
        discrete.fit([[0, 1, 1], [1, 0, 1]], [1, 1, 0])
    assert not hasattr(discrete, "seed_")
    for pid in (gaussian, discrete):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            pid.result()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_over_time_a_unit_that_varies_by_rounding_alone_is_constant(dtype: Any) -> None:
    level = dtype(0.1)
    jitter = np.where(RNG.random((200, 3, 1)) < 0.5, level, np.nextafter(level, dtype(1)))
    wide = np.concatenate([AREA.astype(dtype), jitter.astype(dtype)], axis=2)
    with pytest.warns(UserWarning, match="1 of 4 units are constant and left out"):
        noisy = _over_time(wide, M, area_pca=None)
    plain = _over_time(AREA.astype(dtype), M, area_pca=None)
    np.testing.assert_array_equal(noisy.values_, plain.values_)
    # counts that differ by one are no rounding, however large
    counts = np.concatenate([wide[:, :, :3], np.round(10 * AREA[:, :, :1]) + 2**20], axis=2)
    _over_time(counts.astype(np.int64), M, area_pca=None)
