"""Properties that hold for every stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nb26stats.streaming import OjaPCA
from nb26stats.streaming._inference import order_number

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* rows do not go beyond pilot_size"),
]


@st.composite
def streams(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, Any]]:
    d = draw(st.integers(1, 20))
    k = draw(st.integers(1, d))
    n = draw(st.integers(k + 1, 250))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = draw(st.floats(0, 3))
    x = rng.standard_t(5, size=(n, d)) * np.exp(-spread * np.arange(d) / d)
    kw: dict[str, Any] = {
        "n_components": k,
        "n_bootstrap": draw(st.integers(1, 12)),
        "block_size": draw(st.integers(1, 80)),
        "multiplier": (how := draw(st.sampled_from(["double", "exponential", "paired"]))),
        "multiplier_block": 1 if how == "paired" else draw(st.integers(1, 5)),
        "growth_limit": draw(st.sampled_from([None, 0.1, 1.0, 50.0])),
        "center": draw(st.booleans()),
        "random_state": draw(st.integers(0, 2**64 - 1)),
    }
    start = draw(st.sampled_from(["pilot", "random", "array"]))
    if start == "pilot":
        kw["pilot_size"] = 4 * (k + 1)
    else:
        kw |= {"init": np.eye(d)[:k] if start == "array" else "random"}
        rate = draw(st.sampled_from(["decay", "constant"]))
        kw |= {"learning_rate": rate, "eta0": draw(st.floats(1e-4, 2.0))}
    return x, kw


def grams(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("...kd,...ld->...kl", rows, rows), dtype=np.float64)


@settings(max_examples=60)
@given(stream=streams())
def test_iterates_are_orthonormal(stream: tuple[np.ndarray, dict[str, Any]]) -> None:
    x, kw = stream
    est = OjaPCA(**kw).fit(x)
    identity = np.eye(kw["n_components"])
    np.testing.assert_allclose(grams(est.components_), identity, atol=1e-12)
    if est.n_samples_seen_ > est.pilot_size_:
        boot = est.bootstrap_components_
        np.testing.assert_allclose(
            grams(boot), np.broadcast_to(identity, (len(boot), *identity.shape)), atol=1e-12
        )
        assert (np.einsum("bkd,kd->bk", boot, est.components_) >= 0).all()
    largest = np.abs(est.components_).argmax(axis=1)
    assert (est.components_[np.arange(len(largest)), largest] > 0).all()
    assert (est.explained_variance_ >= 0).all()
    assert est.noise_variance_ >= 0


@settings(max_examples=40)
@given(stream=streams(), power=st.integers(-20, 20))
def test_units_do_not_matter(stream: tuple[np.ndarray, dict[str, Any]], power: int) -> None:
    x, kw = stream
    scale = 2.0**power
    scaled_kw = {**kw, "eta0": kw["eta0"] / scale**2} if "eta0" in kw else kw
    est, scaled = OjaPCA(**kw).fit(x), OjaPCA(**scaled_kw).fit(x * scale)
    # powers of two scale every product exactly; only the pilot's LAPACK calls may round differently
    near = 0.0 if "init" in kw else 1e-8
    np.testing.assert_allclose(scaled.components_, est.components_, rtol=0, atol=near)
    values = scaled.explained_variance_ / scale**2
    np.testing.assert_allclose(values, est.explained_variance_, rtol=near)
    if est.n_samples_seen_ > est.pilot_size_:
        boot = scaled.bootstrap_components_
        np.testing.assert_allclose(boot, est.bootstrap_components_, rtol=0, atol=near)


@settings(max_examples=25)
@given(stream=streams(), data=st.data())
def test_any_cut_of_any_stream(
    stream: tuple[np.ndarray, dict[str, Any]], data: st.DataObject
) -> None:
    x, kw = stream
    cuts = data.draw(st.lists(st.integers(1, len(x) - 1), max_size=5, unique=True))
    whole, cut = OjaPCA(**kw).fit(x), OjaPCA(**kw)
    for part in np.split(x, sorted(cuts)):
        cut.partial_fit(part)
    np.testing.assert_array_equal(cut.components_, whole.components_)
    np.testing.assert_array_equal(cut.explained_variance_, whole.explained_variance_)
    if whole.n_samples_seen_ > whole.pilot_size_:
        np.testing.assert_array_equal(cut.bootstrap_components_, whole.bootstrap_components_)


@given(b=st.integers(1, 2000), percent=st.integers(1, 99))
def test_order_statistics_by_whole_numbers(b: int, percent: int) -> None:
    number = -(-(b + 1) * percent // 100)
    if number <= b:
        assert order_number(percent / 100, b) == number
    else:
        need = -(-percent // (100 - percent))
        with pytest.raises(ValueError, match=rf"at least {need}, got n_bootstrap={b}$"):
            order_number(percent / 100, b)
        assert order_number(percent / 100, need) == math.ceil((need + 1) * percent / 100 - 1e-9)
