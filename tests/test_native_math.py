"""Own transcendentals of the native core against the C library, and their edge values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nb26stats._dispatch import core

N = 1_000_000
INF = np.inf
NAMES = ["math_exp", "math_log", "math_log1p", "math_sigmoid", "math_cos"]


def ulps(got: NDArray[Any], exact: NDArray[Any]) -> float:
    spacing = np.spacing(np.abs(exact.astype(got.dtype)))
    return float(np.max(np.abs(got - exact) / spacing))


def points(kind: str, dtype: type) -> NDArray[Any]:
    """A million arguments for each use, over the whole range and where the functions bend."""
    rng = np.random.default_rng(0)
    top = np.log10(np.finfo(dtype).max)
    signs = rng.choice([-1.0, 1.0], size=N)
    with np.errstate(under="ignore"):
        return {
            "exp": rng.uniform(*((-708, 709) if dtype is np.float64 else (-87, 88)), size=N),
            "small": signs * 10 ** rng.uniform(-20, 0.3, size=N),
            "positive": 10 ** rng.uniform(-top, top, size=N),
            "near one": 1 + signs * 10 ** rng.uniform(-16, -0.01, size=N),
            "turns": rng.uniform(0, 2 * np.pi, size=N),
            "near zeros": np.pi * (rng.integers(-300, 300, N) + 0.5)
            + signs * 10 ** rng.uniform(-18, 0, N),
            "above -1": -1 + 10 ** rng.uniform(-16 if dtype is np.float64 else -7, 3, size=N),
        }[kind].astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("name", "peer", "kind", "limit"),
    [
        ("math_exp", np.exp, "exp", 2.0),
        ("math_exp", np.exp, "small", 2.0),
        ("math_log", np.log, "positive", 2.0),
        ("math_log", np.log, "near one", 2.0),
        ("math_log1p", np.log1p, "positive", 2.0),
        ("math_log1p", np.log1p, "above -1", 2.0),
        ("math_sigmoid", lambda x: 1 / (1 + np.exp(-x)), "small", 2.5),
        ("math_sigmoid", lambda x: 1 / (1 + np.exp(-x)), "exp", 2.5),
        ("math_cos", np.cos, "turns", 2.0),
        ("math_cos", np.cos, "near zeros", 2.0),
        ("math_cos", np.cos, "small", 2.0),
    ],
)
def test_a_million_points(
    name: str, peer: Callable[[Any], NDArray[Any]], kind: str, limit: float, dtype: type
) -> None:
    x = points(kind, dtype)
    if name == "math_log1p":
        x = x[x > -1]
    if name == "math_sigmoid":
        x = x[np.abs(x) <= (708 if dtype is np.float64 else 87)]
    assert x.size > 0.9 * N
    # the C library in a wider type is the judge; NumPy's float64 functions are a second one (its
    # float32 functions are themselves up to 4 ulp off)
    wide = np.longdouble if dtype is np.float64 else np.float64
    got = getattr(core(), name)(x)
    assert got.dtype == dtype
    assert ulps(got, peer(x.astype(wide))) < limit
    if name != "math_sigmoid" and dtype is np.float64:
        assert ulps(got, peer(x)) <= 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_edge_values(dtype: type) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    low, high = (-708, 709) if dtype is np.float64 else (-87, 88)
    x = np.array([0, -0.0, tiny, -tiny, INF, -INF, np.nan, -1, 1, low, high], dtype=dtype)
    e = np.exp(np.array([low, high], dtype=np.longdouble)).astype(dtype)

    exp = core().math_exp(x)
    np.testing.assert_array_equal(exp[:4], 1)
    np.testing.assert_allclose(exp[[4, 5]], e[::-1], rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(exp[[4, 5]], exp[[10, 9]])
    assert np.isnan(exp[6])

    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.log(x.astype(np.longdouble)).astype(dtype)
    log = core().math_log(x)
    np.testing.assert_array_equal(np.isnan(log), [0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    np.testing.assert_array_equal(log[[0, 1, 4]], [-INF, -INF, INF])
    np.testing.assert_allclose(log[[2, 8, 10]], wide[[2, 8, 10]], rtol=4 * np.finfo(dtype).eps)

    log1p = core().math_log1p(x)
    np.testing.assert_array_equal(np.isnan(log1p), [0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(log1p[[0, 1, 2, 3, 4, 7]], [0, -0.0, tiny, -tiny, INF, -INF])
    assert np.signbit(log1p[1])
    assert not np.signbit(log1p[0])

    sigmoid = core().math_sigmoid(x)
    np.testing.assert_array_equal(sigmoid[:5], [0.5, 0.5, 0.5, 0.5, 1])
    np.testing.assert_allclose(sigmoid[5], e[0], rtol=4 * np.finfo(dtype).eps)
    assert np.isnan(sigmoid[6])

    cos = core().math_cos(x[[0, 1, 2, 3, 4, 5, 6]])
    np.testing.assert_array_equal(cos, [1, 1, 1, 1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_levels_give_the_same_bits(name: str, dtype: type, isa: int) -> None:
    specials = [0, -0.0, INF, -INF, np.nan, 5e-324, 1e-310, -1, 1e300]
    with np.errstate(over="ignore", under="ignore"):
        x = np.concatenate([points("small", dtype)[:10_001], np.array(specials, dtype=dtype)])
    results = []
    for level in range(isa + 1):
        core().set_isa(level)
        results.append(getattr(core(), name)(x))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_length_takes_the_same_path(name: str) -> None:
    x = np.linspace(0.1, 3, 50)
    whole = getattr(core(), name)(x)
    for n in range(50):
        np.testing.assert_array_equal(getattr(core(), name)(x[:n]), whole[:n])


@pytest.mark.parametrize("name", NAMES)
def test_other_arrays_are_refused(name: str) -> None:
    function = getattr(core(), name)
    with pytest.raises(TypeError, match="x must have dtype float64, got int64"):
        function(np.arange(3))
    with pytest.raises(ValueError, match=r"x must have shape \(any,\), got \(2, 2\)"):
        function(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="x must be C-contiguous"):
        function(np.zeros(6)[::2])
