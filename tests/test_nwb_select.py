"""Which rows and units a user means; query strings that can only compare, never execute."""

from __future__ import annotations

import builtins
import contextlib
import os
import subprocess
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nb26stats import datasets
from nb26stats.nwb import MissingColumnError, spike_counts
from nb26stats.nwb._select import safe_query, select_rows

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ECONOMO = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "a": [1, 2, 3, 4],
            "b": [1.0, np.nan, 3.0, 4.0],
            "s": ["x", "yes", "no", None],
            "f": [True, False, True, False],
            "my col": [1, 2, 3, 4],
            "c": pd.Categorical(["u", "v", "u", "v"]),
            "nb": pd.array([True, None, False, True], dtype="boolean"),
            "ni": pd.array([1, None, 3, 4], dtype="Int64"),
            "Größe": [1, 1, 2, 2],
        },
        index=pd.Index([5, 6, 7, 8], name="id"),
    )


# ---- what a query can say ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a > 1", [1, 2, 3]),
        ("2 < a", [2, 3]),
        ("1 < a <= 3", [1, 2]),
        ("a>1 & b<4", [2]),
        ("(a > 1) & (b < 4)", [2]),
        ("a > 1 and b < 4", [2]),
        ("a > 1 and\n  b < 4", [2]),
        ("f | a==2", [0, 1, 2]),
        ("~f", [1, 3]),
        ("not f", [1, 3]),
        ("~f & a > 2", [3]),
        ("f == True", [0, 2]),
        ("nb", [0, 3]),
        ("ni > 1", [2, 3]),
        ("s == 'x'", [0]),
        ('"x" == s', [0]),
        ("s != 'x'", [1, 2, 3]),
        ("s in ['x', 'no']", [0, 2]),
        ("s not in ['x']", [1, 2, 3]),
        ("s == ['x', 'yes']", [0, 1]),
        ("a in (1, -2, 4)", [0, 3]),
        ("a == ()", []),
        ("s == 'a & b'", []),
        ("s == 'it is `no` name'", []),
        ("c == 'u'", [0, 2]),
        ("`my col` >= 3", [2, 3]),
        ("`my col` >= 3 and `a` < 4", [2]),
        ("Größe == 2", [2, 3]),
        ("id == 6", [1]),
        ("index > 6", [2, 3]),
        ("b.isna()", [1]),
        ("b.notna() and a < 4", [0, 2]),
        ("~b.isna()", [0, 2, 3]),
        ("s.isna()", [3]),
        ("b != b", [1]),
        ("b > 0 or b <= 0", [0, 2, 3]),
        ("s.isin(['x'])", [0]),
        ("a.between(2, 3)", [1, 2]),
        ("a.between(-1, 3, inclusive='neither')", [0, 1]),
        ("s.str.contains('e')", [1]),
        ("s.str.contains('.')", []),
        ("s.str.contains('no', regex=False)", [2]),
        ("s.str.startswith(('x', 'n'))", [0, 2]),
        ("s.str.endswith(['s', 'o'])", [1, 2]),
        ("s.str.startswith('y') or a == 1", [0, 1]),
        ("`s`.str.endswith('o')", [2]),
        ("a % 2 == 0", [1, 3]),
        ("a ** 2 > 8", [2, 3]),
        ("-a < -2", [2, 3]),
        ("+a > 3", [3]),
        ("a + b * 2 - 1 >= 8", [2, 3]),
        ("a / 2 == 1.5", [2]),
        ("a // 2 == 1", [1, 2]),
        ("a < b", []),
        ("a == 1e0", [0]),
        ("a < 1e400", [0, 1, 2, 3]),
    ],
)
def test_queries(frame, text, rows):
    mask = safe_query(frame, text, "trials")
    assert mask.dtype == bool
    assert np.flatnonzero(mask).tolist() == rows
    assert select_rows(frame, text, name="trials", n_rows=4).tolist() == rows


def test_queries_agree_with_pandas(frame):
    plain = frame[["a", "b", "s", "f", "my col"]]
    for text in (
        "a > 1 & b < 4",
        "s == 'x' or `my col` > 3",
        "a in [1, 3] and not f",
        "a + b > 4",
        "s == ['x', 'no']",
        "1 < a < 4",
        "b != b",
        "~f",
    ):
        ours = plain[safe_query(plain, text, "trials")]
        pd.testing.assert_frame_equal(ours, plain.query(text, engine="python"))


# ---- what it cannot say --------------------------------------------------------------------------
HOSTILE = [
    "@x",
    "a > @x",
    "s == 'a@b'",
    "@open('pwned', 'w')",
    "__import__('os')",
    "__import__('os').system('touch pwned')",
    "a.__class__",
    "a.__class__.__mro__[-1].__subclasses__()",
    "`__class__` > 1",
    "a.to_csv('pwned')",
    "a.to_csv('pwned') > 1",
    "s.to_pickle('pwned')",
    "a.map(print)",
    "a.apply(exit)",
    "a.pipe(print)",
    "a.eval('1')",
    "a.values.tofile('pwned')",
    "a.values",
    "a.array",
    "open('pwned', 'w')",
    "open('pwned', 'w').write('x')",
    "exec('import os')",
    "eval('1')",
    "print(1)",
    "exit()",
    "globals()",
    "lambda: 1",
    "(lambda: 1)()",
    "[x for x in a]",
    "{x for x in a}",
    "{x: x for x in a}",
    "(x for x in a)",
    "any(x for x in a)",
    "f'{a}' == s",
    "f'{open(1)}'",
    "(a := 3) > 1",
    "a if f else b",
    "{**a}",
    "{'a': 1}",
    "*a",
    "a[0]",
    "a[0] > 1",
    "a[:2]",
    "a.str",
    "s.str",
    "a is None",
    "a is not b",
    "a == None",
    "a > ...",
    "a > 1j",
    "a > b'x'",
    "a << 2 > 1",
    "a @ b > 1",
    "a > 'x'",
    "s > 1",
    "s + 'x' == 'xx'",
    "s * 1000000000 == 'x'",
    "'x' * 1000000000 == s",
    "[1] * 1000000000 == a",
    "b.isna(1)",
    "a.isna().isna()",
    "(a > 1).isna()",
    "s.str.contains(a)",
    "s.str.contains('(', regex=True)",
    "s.str.contains('(a+)+$', regex=True)",
    "s.str.contains('a', regex=1)",
    "s == '\ud800'",
    "s.str.contains('x', flags=1)",
    "s.str.replace('x', 'y') == 'y'",
    "s.str.str.contains('x')",
    "s.str.contains",
    "a.str.contains('x')",
    "a.isin(**{'values': [1]})",
    "a.isin(*[1])",
    "a.isin('abc')",
    "a.isin([b])",
    "a.between('x', 'y')",
    "a.between(1)",
    "a in b",
    "a in 3",
    "1 in [1]",
    "[1] == [2]",
    "a == [b]",
    "() > a",
    "a",
    "s",
    "b and f",
    "not a",
    "-f",
    "True",
    "None",
    "1",
    "'x'",
    "1 == 1",
    "a + 1",
    "'a' > s > 1",
    "a = 1",
    "a == 1; b == 2",
    "import os",
    "del a",
    "a > ",
    "a >> ",
    "> 1",
    "a > 1)",
    "(a > 1",
    "`a > 1",
    "a && b",
    "a || b",
    "a ! b",
    "a ? b : c",
    "$",
    "# comment",
    "a > 1 # comment",
    "await a",
    "yield a",
    "a > 1\0",
    "\0",
    "",
    "   ",
    "\n",
    "a" * 10_001,
    "(" * 4000 + "a > 1" + ")" * 4000,
    "-" * 9000 + "a > 1",
    "not " * 2400 + "f",
    "~" * 9000 + "f",
    "a > " + "9" * 5000,
    "zzz > 1",
    "`no such` > 1",
    "exec",
    "é > 1",
    "1_000 > zz",
]


@pytest.fixture
def nothing_happens(tmp_path, monkeypatch):
    """Any call of these means that a query executed something."""
    monkeypatch.chdir(tmp_path)
    called = []

    def forbid(owner, name):
        real = getattr(owner, name)

        def spy(*args, **kwargs):
            if not isinstance(args[0], types.CodeType):  # that is how modules are imported
                called.append((name, args))
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, spy)

    for owner, name in (
        (builtins, "exec"),
        (builtins, "eval"),
        (builtins, "print"),
        (os, "system"),
        (subprocess, "Popen"),
        (pd.Series, "map"),
        (pd.Series, "apply"),
        (pd.Series, "pipe"),
        (pd.Series, "to_csv"),
        (pd.DataFrame, "query"),
        (pd.DataFrame, "eval"),
        (pd, "eval"),
    ):
        forbid(owner, name)
    yield
    assert called == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", HOSTILE, ids=[f"{i}" for i in range(len(HOSTILE))])
def test_v25_queries_that_are_refused(frame, text, nothing_happens):
    for call in (
        lambda: safe_query(frame, text, "trials"),
        lambda: select_rows(frame, text, name="trials", n_rows=4),
    ):
        with pytest.raises(ValueError, match="trials") as caught:
            call()
        message = str(caught.value)
        assert len(message) < 1200
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "text", ["@x", "a.__class__", "start_time.to_csv('pwned')", "__import__('os').system('true')"]
)
def test_v25_through_spike_counts(text, nothing_happens):
    path = datasets.path(ALM)
    for key in ("trials", "quality"):
        with pytest.raises(ValueError, match=key):
            spike_counts(path, **{key: text})


def test_a_refusal_says_what_is_allowed(frame):
    with pytest.raises(ValueError, match=r"to_csv.*not allowed.*comparisons.*backticks.*isna"):
        safe_query(frame, "a.to_csv('x')", "trials")
    with pytest.raises(ValueError, match="write == to compare"):
        safe_query(frame, "a = 1", "trials")
    with pytest.raises(MissingColumnError, match="did you mean 'response'"):
        safe_query(pd.DataFrame({"response": ["x"]}), "respons == 'x'", "trials")


def test_backticks_never_meet_a_column_of_their_stand_in():
    table = pd.DataFrame({"quoted_column_0_": [1, 2], "my col": [2, 1]})
    assert safe_query(table, "`my col` == 1", "trials").tolist() == [False, True]
    both = "`my col` == 1 or quoted_column_0_ == 1"
    assert safe_query(table, both, "trials").tolist() == [True, True]


def test_huge_numbers_are_just_numbers(frame):
    for text, rows in (
        ("9**9**9**9 > a", [0, 1, 2, 3]),
        ("a > 0x" + "f" * 3000, []),
        ("a == 0x" + "f" * 3000, []),
        ("a in [0x" + "f" * 3000 + "]", []),
        ("a // 0 > 1", [0, 1, 2, 3]),
    ):
        assert np.flatnonzero(safe_query(frame, text, "trials")).tolist() == rows
    with pytest.raises(ValueError, match="too large"):
        safe_query(frame, "a + 0x" + "f" * 3000 + " > 1", "trials")


@given(st.text(alphabet="abfs()[]{}.,'\"`~&|<>=!+-*/%@_ 019:;\\\n\t#$é", max_size=40))
def test_any_text_gives_a_mask_or_one_error(text):
    table = pd.DataFrame({"a": [1, 2], "b": [1.0, np.nan], "f": [True, False], "s": ["a", "b"]})
    mask = np.zeros(2, bool)
    with contextlib.suppress(ValueError):  # anything else would fail the test
        mask = safe_query(table, text, "trials")
    assert mask.dtype == bool
    assert mask.shape == (2,)


# ---- masks and positions -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (None, [0, 1, 2, 3]),
        ([True, False, True, False], [0, 2]),
        ((True, False, True, False), [0, 2]),
        (np.array([False] * 4), []),
        (np.array([[True], [False], [True], [True]]), [0, 2, 3]),
        (pd.Series([True, False, False, True], index=[9, 8, 7, 6]), [0, 3]),
        (pd.Series([True, False, False, True], dtype="boolean"), [0, 3]),
        (np.array([True, False, True, False], dtype=object), [0, 2]),
        ([3, 0], [3, 0]),
        ([3.0, 0.0], [3, 0]),
        (2, [2]),
        (2.0, [2]),
        (np.int8(1), [1]),
        (range(1, 3), [1, 2]),
        (np.array([1, 3], np.uint8), [1, 3]),
        (pd.Index([1, 2]), [1, 2]),
        ([], []),
        (np.array([]), []),
        (lambda f: f["a"] > 2, [2, 3]),
        (lambda f: [1], [1]),
    ],
)
def test_masks_and_positions(frame, query, rows):
    got = select_rows(frame, query, name="trials", n_rows=4)
    assert got.dtype == np.int64
    assert got.tolist() == rows


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        ([True, False], ValueError, "2 values for 4 rows"),
        ([True] * 5, ValueError, "5 values for 4 rows"),
        (True, ValueError, "1 values for 4 rows"),
        ([4], ValueError, "does not exist, there are 4 rows"),
        ([10**12], ValueError, "does not exist"),
        ([1e300], ValueError, "does not exist"),
        ([-1], ValueError, "must not be negative"),
        ([0, 0], ValueError, "more than once"),
        ([0, 1, 1, 0], ValueError, "a mask must hold True and False"),
        ([0.5], ValueError, "whole numbers"),
        ([np.nan], ValueError, "whole numbers"),
        ([np.inf], ValueError, "whole numbers"),
        ([-2147483648], ValueError, "NA_integer_"),
        ([True, None, True, True], TypeError, "missing"),
        ([1, None], TypeError, "missing"),
        ([1, True], ValueError, "more than once"),
        (["x", "y"], TypeError, "trials"),
        ([b"x"], TypeError, "trials"),
        (b"x", TypeError, "bytes"),
        ({"a": 1}, TypeError, "dict"),
        ({1, 2}, TypeError, "set"),
        ([[0], [1, 2]], TypeError, "trials"),
        (np.zeros((2, 2), bool), ValueError, r"shape \(2, 2\)"),
        (np.zeros((2, 2), int), ValueError, r"shape \(2, 2\)"),
        ([1j], TypeError, "trials"),
        (np.array(["2020-01-01"], "datetime64[D]"), TypeError, "trials"),
        (pd.Series([True, None, False, True], dtype="boolean"), TypeError, "missing"),
        (object(), TypeError, "trials"),
        (lambda f: "a > 1", TypeError, "function must return"),
        (lambda f: None, TypeError, "function must return"),
        (lambda f: [9], ValueError, "does not exist"),
    ],
)
def test_hostile_masks_and_positions(frame, query, error, words):
    with pytest.raises(error, match=words):
        select_rows(frame, query, name="trials", n_rows=4)


def test_a_query_needs_a_table_and_builds_it_only_when_needed(frame):
    with pytest.raises(ValueError, match="no table to ask"):
        select_rows(None, "a > 1", name="trials", n_rows=4)
    with pytest.raises(ValueError, match="no table"):
        select_rows(None, lambda f: [0], name="trials", n_rows=4)
    built = []

    def build():
        built.append(1)
        return frame

    assert select_rows(build, [1], name="trials", n_rows=4).tolist() == [1]
    assert built == []
    assert select_rows(build, "a == 2", name="trials", n_rows=4).tolist() == [1]
    assert select_rows(build, lambda f: f["a"] == 3, name="trials", n_rows=4).tolist() == [2]
    assert built == [1, 1]
