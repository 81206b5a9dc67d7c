"""Contrasts as inputs of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nb26stats.learning import encode_contrast


def test_columns_are_left_right_and_one() -> None:
    got = encode_contrast([-0.5, 0.25, 0.0, 1.0])
    t = np.tanh([2.5, 1.25, 5.0]) / np.tanh(5.0)
    want = [[t[0], 0, 1], [0, t[1], 1], [0, 0, 1], [0, 1, 1]]
    np.testing.assert_allclose(got, want, rtol=1e-15)
    np.testing.assert_array_equal(encode_contrast([0.5], bias=False), got[:1, [1, 0]])
    np.testing.assert_array_equal(encode_contrast([-0.5, 1.0], p=None), [[0.5, 0, 1], [0, 1, 1]])


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=20),
    st.one_of(st.none(), st.floats(1e-300, 1e300)),
)
def test_mirror_range_and_order(c: list[float], p: float | None) -> None:
    x = encode_contrast(c, p=p)
    assert x.shape == (len(c), 3)
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    np.testing.assert_array_equal(encode_contrast([-v for v in c], p=p), x[:, [1, 0, 2]])
    order = np.argsort(c)
    assert (np.diff((x[:, 1] - x[:, 0])[order]) >= -1e-15).all()


def test_no_compression_is_the_limit_of_a_small_steepness() -> None:
    c = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(encode_contrast(c, p=1e-6), encode_contrast(c, p=None), atol=1e-11)
    np.testing.assert_array_equal(encode_contrast(c, p=1e-200), encode_contrast(c, p=None))


@pytest.mark.parametrize(
    "c", [0.5, [0.5], (0.5,), np.float32(0.5), pd.Series([0.5]), pd.array([0.5], dtype="Float64")]
)
def test_forms_of_one_trial(c: Any) -> None:
    np.testing.assert_array_equal(encode_contrast(c), encode_contrast(np.array([0.5])))


@pytest.mark.parametrize(
    ("c", "kw", "error", "match"),
    [
        ([0.0, -50.0, 100.0], {}, ValueError, "got -50 at trial 1.*percent must be divided by 100"),
        ([0.0, np.nan], {}, ValueError, "got NaN at trial 1"),
        ([0.0, None], {}, ValueError, "got NaN at trial 1"),
        ([np.inf], {}, ValueError, "got inf at trial 0"),
        ([[0.1, 0.2]], {}, ValueError, "one-dimensional"),
        (["left"], {}, TypeError, "c must hold real numbers, got text"),
        ([0.5], {"p": 0.0}, ValueError, "p=0"),
        ([0.5], {"p": "5"}, TypeError, "p must be a number"),
        ([0.5], {"bias": 1}, TypeError, "bias must be True or False"),
    ],
)
def test_bad_input(c: Any, kw: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        encode_contrast(c, **kw)
