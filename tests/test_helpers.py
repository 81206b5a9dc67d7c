"""Argument checks, seeds, plain forms."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nb26stats import _check as c
from nb26stats._results import MAX_PLAIN, Result, as_html, to_r
from nb26stats._seed import as_seed


@given(st.integers(-(2**31) + 1, 2**53))
def test_whole_numbers_of_any_kind_are_ints(n: int) -> None:
    assert c.as_int(n, "n") == n
    assert c.as_int(float(n), "n") == n
    assert c.as_int(np.int64(n), "n") == n
    assert type(c.as_int(np.float64(n), "n")) is int


@pytest.mark.parametrize(
    "bad", [2.5, "2", None, True, np.True_, [2], math.nan, math.inf, 1j, np.timedelta64(2, "s")]
)
def test_other_things_are_not_whole_numbers(bad: object) -> None:
    with pytest.raises(TypeError, match="n_bins must be a whole number"):
        c.as_int(bad, "n_bins")


def test_int_messages_name_value_and_range() -> None:
    with pytest.raises(ValueError, match=r"k=5 must lie in \[1, 3\]"):
        c.as_int(5, "k", minimum=1, maximum=3)
    with pytest.raises(ValueError, match="k=0 must be at least 1"):
        c.as_int(0, "k", minimum=1)
    with pytest.raises(ValueError, match="k=9 must be at most 3"):
        c.as_int(9, "k", maximum=3)
    for big, text in ((1e308, "1e308"), (-(10**5000), "-1e5000"), (2**63, "9223372036854775808")):
        with pytest.raises(ValueError, match=f"^k={text} must lie in"):
            c.as_int(big, "k", minimum=1, maximum=3)
    with pytest.raises(TypeError, match=r"k must be a whole number, got 2\.5 \(float\)$"):
        c.as_int(2.5, "k")
    with pytest.raises(ValueError, match="NA_integer_"):
        c.as_int(-2147483648, "k")


def test_floats() -> None:
    assert c.as_float(np.float32(0.5), "b", above=0) == 0.5
    for bad in (math.nan, -math.inf, 0.0, 2.0):
        with pytest.raises(ValueError, match="b="):
            c.as_float(bad, "b", above=0, maximum=1)
    for wrong in (True, "1", None, [1.0], np.timedelta64(1, "s")):
        with pytest.raises(TypeError, match="b must be a number"):
            c.as_float(wrong, "b")
    with pytest.raises(ValueError, match="b is too large"):
        c.as_float(10**400, "b")
    assert c.as_prob(0.95, "level") == 0.95
    for bad in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="level"):
            c.as_prob(bad, "level")


def test_choices_text_bools_lists() -> None:
    assert c.as_choice("a", "x", ["a", "b"]) == "a"
    with pytest.raises(ValueError, match="x='c' must be one of 'a', 'b'"):
        c.as_choice("c", "x", ["a", "b"])
    with pytest.raises(TypeError, match="must be one of"):
        c.as_choice(3, "x", ["a", "b"])
    assert c.as_text("t", "x") == "t"
    with pytest.raises(ValueError, match="empty"):
        c.as_text("", "x")
    with pytest.raises(TypeError, match="must be text"):
        c.as_text(3, "x")
    assert c.as_bool(np.bool_(True), "x") is True
    with pytest.raises(TypeError, match="True or False"):
        c.as_bool(1, "x")
    assert c.as_list("ab", "x") == ["ab"]
    assert c.as_list(3.0, "x") == [3.0]
    assert c.as_list((1, 2), "x") == [1, 2]
    assert c.as_list(np.array(3.0), "x") == [3.0]
    with pytest.raises(TypeError, match="None"):
        c.as_list(None, "x")


def test_numbers_of_any_shape() -> None:
    for value in (3, [1.0, 2], np.eye(2, dtype=np.float32), np.zeros((2, 0, 3), np.uint8)):
        made = c.as_numbers(value, "m")
        assert made.dtype == np.asarray(value).dtype
        np.testing.assert_array_equal(made, value)
    with pytest.raises(ValueError, match="m must have rows of one length"):
        c.as_numbers([[1, 2], [3]], "m")
    for bad in ("a", None, [True], 1j, [[1, None]], np.array(["2020"], "M8[D]"), {"a": 1}):
        with pytest.raises(TypeError, match="m must hold real numbers"):
            c.as_numbers(bad, "m")


def test_what_is_masked_becomes_nan() -> None:
    for dtype, wide in (("i4", "f8"), ("f4", "f4"), (">f4", "f8"), ("f8", "f8"), ("?", "f8")):
        masked = np.ma.array([[0, 1]], mask=[[False, True]], dtype=dtype)
        made = c.unmasked(masked)
        assert made.dtype == wide
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, [[0.0, np.nan]])
        assert c.unmasked(masked[:, :1]).dtype == dtype
    for other in (None, [1], np.ones(2)):
        assert c.unmasked(other) is other
    assert c.unmasked(np.ma.array([1j], mask=[True])).dtype == np.complex128
    for kind in ("U3", "S3", object):
        hidden = np.ma.array(["a", "b"], mask=[False, True], dtype=kind)
        assert c.unmasked(hidden).tolist() == [hidden.data.tolist()[0], None]
        assert c.unmasked(hidden[:1]).tolist() == hidden.data.tolist()[:1]


def test_vectors() -> None:
    assert c.as_vector(3, "t").tolist() == [3.0]
    assert c.as_vector([1, 2], "t").dtype == np.float64
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, 1]
    assert c.as_vector(fortran, "t").flags.c_contiguous
    masked = np.ma.array([1, 2], mask=[False, True])
    np.testing.assert_array_equal(c.as_vector(masked, "t"), [1.0, np.nan])
    with pytest.raises(ValueError, match="ragged"):
        c.as_vector([1, [2, 3]], "t")
    with pytest.raises(ValueError, match="one-dimensional"):
        c.as_vector([[1.0]], "t")
    with pytest.raises(ValueError, match="NA_real_"):
        c.as_vector(np.array([1, -2147483648]), "t")
    for bad in (["a"], [None, 1], [True], [1j], {"a": 1}):
        with pytest.raises(TypeError, match="t must hold real numbers"):
            c.as_vector(bad, "t")


@given(st.integers(0, 2**64 - 1))
def test_a_whole_number_is_the_key(s: int) -> None:
    assert as_seed(s) == s
    if s != 2**64 - 2**31:  # R's missing integer, refused by name
        assert as_seed(s - 2**64) == s


def test_generators_give_one_draw() -> None:
    assert as_seed(np.random.default_rng(3)) == as_seed(np.random.default_rng(3))
    assert as_seed(np.random.RandomState(3)) == as_seed(np.random.RandomState(3))
    assert as_seed(7.0) == 7
    assert as_seed(None) != as_seed(None)
    for bad in ("7", 7.5, True, [7]):
        with pytest.raises(TypeError, match="random_state"):
            as_seed(bad)


def test_frames_become_plain_columns() -> None:
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "f": [1.5, np.nan],
            "s": pd.array(["a", None], dtype="string"),
            "c": pd.Categorical(["u", "v"]),
            "t": pd.to_datetime(["2020-01-02", None]),
            "b": [True, False],
        }
    )
    out = to_r(frame)
    assert out["i"] == [1, None]
    assert out["f"][0] == 1.5
    assert math.isnan(out["f"][1])
    assert out["s"] == ["a", None]
    assert out["c"] == ["u", "v"]
    assert out["t"] == ["2020-01-02T00:00:00", None]
    assert out["b"] == [True, False]
    _assert_plain(out)


def test_arrays_are_flat_in_fortran_order() -> None:
    out = to_r(np.arange(6).reshape(2, 3))
    assert out == {"data": [0, 3, 1, 4, 2, 5], "dim": [2, 3]}
    assert to_r(np.float64(1.5)) == 1.5
    assert to_r(np.array(2)) == 2


def test_big_integers_become_floats() -> None:
    assert to_r([2**31 - 1, 2**31, -(2**31)]) == [2**31 - 1, float(2**31), -float(2**31)]
    assert type(to_r(2**31)) is float


def test_other_plain_forms() -> None:
    when = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    assert to_r(when) == when.isoformat()
    assert to_r(datetime.timedelta(seconds=2)) == 2.0
    assert to_r({"a": (1, None, b"x")}) == {"a": [1, None, "x"]}
    assert to_r(pd.Series([1, 2])) == [1, 2]
    with pytest.raises(TypeError, match="no plain form"):
        to_r(object())
    with pytest.raises(ValueError, match="more than"):
        to_r(np.zeros(MAX_PLAIN + 1, dtype=bool), advice="use psth")


def test_plain_forms_of_pandas_arrays() -> None:
    assert to_r(pd.Categorical(["a", None])) == ["a", None]
    assert to_r(pd.array([1, None], dtype="Int64")) == [1, None]
    assert to_r(pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])) == [[1, "a"], [2, "b"]]
    assert to_r(range(3)) == [0, 1, 2]


def test_what_r_could_not_read_is_refused() -> None:
    with pytest.raises(ValueError, match="two entries named 'a'"):
        to_r(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="two entries named '1'"):
        to_r({1: 2, "1": 3})
    endless: list[object] = []
    endless.append(endless)
    for circle in (endless, {"again": endless}):
        with pytest.raises(ValueError, match="contains itself"):
            to_r(circle, "circle")
    with pytest.raises(ValueError, match="n holds a whole number too large"):
        to_r(10**400, "n")
    with pytest.raises(ValueError, match="6000000 elements"):
        to_r(range(6_000_000))


def test_result_base() -> None:
    @dataclasses.dataclass(frozen=True)
    class Small(Result):
        x: np.ndarray[Any, Any]

        def summary(self) -> str:
            return "<b>" + "\n" * 50

    small = Small(np.ones(2))
    assert small.to_r() == {"x": {"data": [1.0, 1.0], "dim": [2]}}
    assert "&lt;b&gt;" in small._repr_html_()
    assert len(as_html("a\n" * 100).splitlines()) == 30
    with pytest.raises(TypeError, match="no tabular form"):
        small.to_frame()


def _assert_plain(x: Any) -> None:
    if isinstance(x, dict):
        for k, v in x.items():
            assert type(k) is str
            _assert_plain(v)
    elif isinstance(x, list):
        for v in x:
            _assert_plain(v)
    else:
        assert x is None or type(x) in (bool, int, float, str)
