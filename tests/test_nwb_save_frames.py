"""What DataFrames and other results become, and which are refused before any file is touched."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from save_tools import SMALL, copied, read_table, sha, table

import nb26stats.nwb as nbn
from nb26stats._results import Result
from nb26stats.nwb import save_results
from nb26stats.nwb._save_frames import frame_columns
from nb26stats.nwb._save_items import Series, Table
from nb26stats.nwb._save_results import convert_results


def converted(values: Any, name: str = "c") -> tuple[Any, str]:
    """The stored values and the note on a single column."""
    (column,) = frame_columns(pd.DataFrame({name: values}), "frame")
    return column.values, column.description


# ---- column types ------------------------------------------------------------------------------
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = ["bool", *INTEGERS, "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_keep_type_and_value(dtype: str, tmp_path: Path) -> None:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = np.array([np.nan, -0.0, np.inf, 1.5, np.finfo(kind).tiny], kind)
    elif kind.kind == "b":
        values = np.array([True, False, True, True, False])
    else:
        lowest = np.iinfo(kind).min + (kind == np.int32)
        values = np.array([lowest, np.iinfo(kind).max, 0, 1, 2], kind)
    stored, note = converted(values)
    assert stored.dtype == kind
    assert stored.tobytes() == values.tobytes()
    assert note == "column c of a result"
    out = save_results(copied(SMALL, tmp_path), {"r": pd.DataFrame({"c": values})})
    with h5py.File(out, "r") as file:
        on_disk = file["processing/nb26stats/r/c"]
        assert on_disk.dtype == kind
        assert on_disk[:].tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("values", "expected", "kind", "note"),
    [
        (pd.array([1, 2], dtype="Int64"), [1, 2], "int64", ""),
        (pd.array([1, None], dtype="Int64"), [1.0, np.nan], "float64", "1 missing"),
        (pd.array([1, None, None], dtype="UInt8"), [1.0, np.nan, np.nan], "float64", "2 missing"),
        (pd.array([2**53, None], dtype="Int64"), [2.0**53, np.nan], "float64", "1 missing"),
        (pd.array([True, False], dtype="boolean"), [True, False], "bool", ""),
        (pd.array([True, None], dtype="boolean"), [1.0, np.nan], "float64", "1 missing"),
        (pd.array([1.5, None], dtype="Float64"), [1.5, np.nan], "float64", ""),
        (pd.array([1.5, None], dtype="Float32"), [1.5, np.nan], "float32", ""),
        (pd.arrays.SparseArray([0.0, 2.0, np.nan]), [0.0, 2.0, np.nan], "float64", ""),
        (pd.arrays.SparseArray([0, 2, 0]), [0, 2, 0], "int64", ""),
        (np.array([1, 2], ">i4"), [1, 2], "int32", ""),
        (np.array([1.0, 2.0], ">f8"), [1.0, 2.0], "float64", ""),
    ],
)
def test_nullable_sparse_and_foreign_numbers(
    values: Any, expected: list[Any], kind: str, note: str
) -> None:
    stored, text = converted(values)
    assert stored.dtype == np.dtype(kind)
    np.testing.assert_array_equal(stored, expected)
    assert note in text
    assert ("missing" in text) == bool(note)


@pytest.mark.parametrize(
    ("values", "expected", "note"),
    [
        (["a", "é数"], ["a", "é数"], None),
        (["a", None, np.nan], ["a", "", ""], "2 missing values stored as empty text"),
        (pd.array(["a", pd.NA], dtype="string"), ["a", ""], "1 missing"),
        (pd.Series(["a", None], dtype=object), ["a", ""], "1 missing"),
        (pd.Series(["a", pd.NaT], dtype=object), ["a", ""], "1 missing"),
        (pd.Series([np.str_("a"), "b"], dtype=object), ["a", "b"], None),
        (["", " "], ["", " "], None),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"], "category labels"),
        (pd.Categorical(["b", None]), ["b", ""], "1 missing"),
        (pd.Categorical([2, 1, 2]), ["2", "1", "2"], "category labels"),
        (pd.cut([0.5, 1.5], [0, 1, 2]), ["(0, 1]", "(1, 2]"], "category labels"),
        (
            pd.to_datetime(["2024-03-01T12:00:00.25", None]),
            ["2024-03-01T12:00:00.250000", ""],
            "ISO 8601",
        ),
        (
            pd.to_datetime(["2024-03-01T12:00:00"]).tz_localize("Europe/Berlin"),
            ["2024-03-01T12:00:00+01:00"],
            "ISO 8601",
        ),
        (np.array(["2024-03-01"], "datetime64[s]"), ["2024-03-01T00:00:00"], "ISO 8601"),
    ],
)
def test_text_categories_and_times(values: Any, expected: list[str], note: str | None) -> None:
    stored, text = converted(values)
    assert stored == expected
    assert all(type(v) is str for v in stored)
    assert text == "column c of a result" if note is None else note in text


def test_missing_text_is_noted_in_the_file(tmp_path: Path) -> None:
    out = save_results(copied(SMALL, tmp_path), {"r": pd.DataFrame({"c": ["a", None]})})
    with h5py.File(out, "r") as file:
        column = file["processing/nb26stats/r/c"]
        assert "1 missing values stored as empty text" in column.attrs["description"]
        assert [v.decode() for v in column[:]] == ["a", ""]


def test_index_becomes_a_column_when_it_has_a_name() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=[7, 9])
    assert [c.name for c in frame_columns(frame, "f")] == ["x"]
    named = frame_columns(frame.rename_axis("unit"), "f")
    assert [c.name for c in named] == ["unit", "x"]
    assert named[0].values.tolist() == [7, 9]
    assert frame_columns(frame.rename_axis("id"), "f")[0].name == "row_id"
    levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["area", None])
    some = frame_columns(frame.set_axis(levels), "f")
    assert [c.name for c in some] == ["area", "x"]
    assert some[0].values == ["a", "b"]
    only = frame_columns(pd.DataFrame(index=pd.Index([1.5], name="t")), "f")
    assert [c.name for c in only] == ["t"]
    with pytest.raises(ValueError, match="two columns named 'row_id'"):
        frame_columns(pd.DataFrame({"row_id": [1]}).rename_axis("id"), "f")


class Odd:
    """Some object."""


REFUSED = {
    "complex": (np.array([1j]), "complex numbers"),
    "lists": ([[1, 2]], "is ragged: it holds a list"),
    "arrays": (pd.Series([np.arange(2)]), "is ragged: it holds a ndarray"),
    "tuples": (pd.Series([(1, 2)]), "is ragged"),
    "dicts": ([{"a": 1}], "is ragged"),
    "objects": ([Odd()], "object column that holds Odd"),
    "mixed": (pd.Series(["a", 1]), "object column that holds int"),
    "bytes": ([b"a"], "object column that holds bytes"),
    "objects of bool": (pd.Series([True, None], dtype=object), "holds bool values"),
    "dates": ([date(2024, 1, 1)], "object column that holds date"),
    "nothing": (pd.Series([None, None], dtype=object), "missing values only"),
    "differences": ([timedelta(seconds=1)], "store them as seconds"),
    "periods": (pd.period_range("2024", periods=1, freq="D"), "period"),
    "intervals": (pd.arrays.IntervalArray.from_tuples([(0, 1)]), "interval"),
    "long double": (np.array([1.0], np.longdouble), "differs by machine"),
    "NUL": (["a\0b"], "character NUL"),
    "surrogate": (["\ud800"], "lone surrogates"),
    "category with NUL": (pd.Categorical(["a\0"]), "character NUL"),
    "R's NA": (np.array([1, -2147483648], np.int32), "R's NA_integer_"),
    "R's NA as Int64": (pd.array([-2147483648, None], dtype="Int64"), "R's NA_integer_"),
    "too large with missing": (pd.array([2**53 + 1, None], dtype="Int64"), r"beyond 2\*\*53"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_columns_are_named(case: str, tmp_path: Path) -> None:
    if case == "long double" and np.dtype(np.longdouble).itemsize == 8:
        # there it is float64 under another name
        assert converted(np.array([1.0], np.longdouble))[0].tolist() == [1.0]
        return
    values, message = REFUSED[case]
    source = copied(SMALL, tmp_path)
    before = sha(source)
    frame = pd.DataFrame({"fine": np.zeros(len(values)), "bad one": values})
    with pytest.raises(ValueError, match=message) as caught:
        save_results(source, {"res": frame})
    assert "column 'bad one'" in str(caught.value)
    assert "results['res']" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == [source.name]
    assert sha(source) == before


RESERVED = ["id", "name", "description", "colnames"]
# further names that hdmf fails on
RESERVED += ["object_id", "namespace", "neurodata_type", "meanings_tables"]
BAD_NAMES = ["a/b", "/", "a:b", "", "  ", ".", "a\0b", "\ud800", *RESERVED]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_refused_names_of_columns_and_results(name: str, tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    with pytest.raises(ValueError, match="column") as caught:
        save_results(source, {"res": pd.DataFrame({"x": [1.0], name: [1.0]})})
    assert repr(name) in str(caught.value)
    with pytest.raises(ValueError, match="entry") as caught:
        save_results(source, {name: table()})
    assert repr(name) in str(caught.value)
    assert os.listdir(tmp_path) == [source.name]


@pytest.mark.parametrize("name", [0, 1.5, None, ("a", "b"), b"x", True])
def test_names_must_be_text(name: Any) -> None:
    frame = pd.DataFrame([[1.0]])
    frame.columns = pd.Index([name], dtype=object, tupleize_cols=False)
    with pytest.raises(ValueError, match="must be named by text"):
        frame_columns(frame, "f")
    with pytest.raises(ValueError, match="must be named by text"):
        convert_results({name: table()}, store_counts=False)


def test_other_frames_that_are_refused() -> None:
    with pytest.raises(ValueError, match="has no rows"):
        frame_columns(pd.DataFrame({"x": []}), "f")
    with pytest.raises(ValueError, match="no columns and no named index"):
        frame_columns(pd.DataFrame(index=[0, 1]), "f")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        frame_columns(twice, "f")
    with pytest.raises(ValueError, match="two columns named 'a'"):
        frame_columns(pd.DataFrame({"a": [1]}).rename_axis("a"), "f")
    with pytest.raises(ValueError, match="must be named by text"):
        frame_columns(pd.DataFrame({"a": [1]}).rename_axis(3), "f")
    many = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(ValueError, match="must be named by text"):
        frame_columns(many, "f")


# names that hdmf uses as attributes of a table, which must work as columns all the same
TRICKY = ["columns", "x_index", "index", "parent", "to_dataframe", "a b", "é", "0", "..", "lambda"]


def test_unusual_names_work(tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [float(i)] for i, name in enumerate(TRICKY)})
    results = {name: frame for name in TRICKY if name != "columns"}
    out = save_results(copied(SMALL, tmp_path), results)
    with nbn.open(out) as session:
        for name in results:
            stored = session.nwbfile.processing["nb26stats"][name]
            assert {k: stored[k].data[0] for k in TRICKY} == {
                k: float(i) for i, k in enumerate(TRICKY)
            }


# ---- results argument --------------------------------------------------------------------------
@pytest.mark.parametrize("results", [None, table(), [table()], "psth", 3, {"a": table()}.items()])
def test_results_must_be_a_dict(results: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="results must be a dict"):
        save_results(copied(SMALL, tmp_path), results)


def test_results_must_not_be_empty(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to save"):
        save_results(copied(SMALL, tmp_path), {})


@pytest.mark.parametrize("value", [None, 3, "text", np.arange(3), [1, 2], Odd(), pd.DataFrame])
def test_values_of_no_known_kind(value: Any) -> None:
    with pytest.raises(TypeError, match=r"results\['r'\] is a"):
        convert_results({"r": value}, store_counts=False)


def series(**change: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"data": [1.0, 2.0], "rate": 2.0, "unit": "V"}
    base.update(change)
    return {k: v for k, v in base.items() if v is not ...}


BAD_SERIES = {
    "no data": (series(data=...), "dict without 'data'"),
    "empty dict": ({}, "dict without 'data'"),
    "no unit": (series(unit=...), "must be text"),
    "empty unit": (series(unit=""), "must not be empty"),
    "NUL in unit": (series(unit="a\0"), "characters that NWB text cannot hold"),
    "neither clock": (series(rate=...), "either rate"),
    "both clocks": (series(timestamps=[0, 1]), "either rate"),
    "zero rate": (series(rate=0), "greater than 0"),
    "NaN rate": (series(rate=np.nan), "must be finite"),
    "text rate": (series(rate="2"), "must be a number"),
    "bool rate": (series(rate=True), "must be a number"),
    "infinite start": (series(starting_time=np.inf), "must be finite"),
    "start and timestamps": (
        series(rate=..., timestamps=[0, 1], starting_time=1.0),
        "starting_time must be left out",
    ),
    "too few timestamps": (series(rate=..., timestamps=[0.0]), "1 timestamps for 2 samples"),
    "NaN timestamps": (series(rate=..., timestamps=[0, np.nan]), "finite and ascending"),
    "descending timestamps": (series(rate=..., timestamps=[1, 0]), "finite and ascending"),
    "2-D timestamps": (series(rate=..., timestamps=[[0, 1]]), "one-dimensional"),
    "unknown key": (series(Rate=3), "unknown keys"),
    "complex": (series(data=[1j, 2]), "real numbers"),
    "text data": (series(data=["a", "b"]), "real numbers"),
    "objects": (series(data=[None, 1]), "real numbers"),
    "ragged": (series(data=[[1], [1, 2]]), "ragged"),
    "empty": (series(data=[]), "is empty"),
    "no channels": (series(data=np.empty((3, 0))), "is empty"),
    "too many dimensions": (series(data=np.zeros((1,) * 33)), "33 dimensions"),
    "R's NA": (series(data=np.array([-2147483648, 1])), "NA_integer_"),
    "unequal lists": ({"a": [1, 2], "b": [1]}, "different lengths"),
    "None column": ({"a": None}, "must not be None"),
}


@pytest.mark.parametrize("case", BAD_SERIES)
def test_refused_series(case: str) -> None:
    value, message = BAD_SERIES[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        convert_results({"trace": value}, store_counts=False)
    assert "results['trace']" in str(caught.value)


def test_result_objects_go_through_to_frame() -> None:
    @dataclass(frozen=True)
    class Fit(Result):
        slope: float
        seed_: int

        def to_frame(self) -> pd.DataFrame:
            return pd.DataFrame({"slope": [self.slope]})

    @dataclass(frozen=True)
    class Bare(Result):
        slope: float

    class Wrong:
        def to_frame(self) -> list[int]:
            return [1]

    (item,) = convert_results({"fit": Fit(2.0, 17)}, store_counts=False)
    assert isinstance(item, Table)
    assert item.columns[0].values.tolist() == [2.0]
    assert item.provenance["function"] == "Fit"
    assert item.provenance["seed"] == 17
    assert item.provenance["parameters"]["slope"] == 2.0
    with pytest.raises(TypeError, match="has no tabular form"):
        convert_results({"fit": Bare(1.0)}, store_counts=False)
    with pytest.raises(TypeError, match="gave a list"):
        convert_results({"fit": Wrong()}, store_counts=False)


def test_a_table_of_as_many_columns_as_hdf5_holds(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.zeros((1, 4001)), columns=[f"c{i}" for i in range(4001)])
    with pytest.raises(ValueError, match="has 4001 columns and NWB tables hold 4000"):
        convert_results({"wide": wide}, store_counts=False)
    (item,) = convert_results({"wide": wide.iloc[:, 1:]}, store_counts=False)
    names = [c.name for c in item.columns]  # type: ignore[union-attr]
    with h5py.File(tmp_path / "names.h5", "w") as file:
        file.attrs["colnames"] = names
        assert file.attrs["colnames"].tolist() == names


def test_masked_samples_are_stored_as_nan() -> None:
    data = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    (item,) = convert_results({"trace": series(data=data)}, store_counts=False)
    np.testing.assert_array_equal(item.data, [1.0, np.nan, 3.0])  # type: ignore[union-attr]


def test_sizes_are_close_to_what_is_written(tmp_path: Path) -> None:
    big = pd.DataFrame({"x": np.arange(20000.0), "s": ["some text"] * 20000})
    trace = {"data": np.zeros((20000, 3)), "timestamps": np.arange(20000.0), "unit": "V"}
    items = convert_results({"t": big, "s": trace}, store_counts=False)
    assert isinstance(items[1], Series)
    source = copied(SMALL, tmp_path)
    small = save_results(source, {"t": table(1)}, out=tmp_path / "small.nwb")
    out = save_results(source, {"t": big, "s": trace}, out=tmp_path / "big.nwb")
    grown = out.stat().st_size - small.stat().st_size
    assert grown < 1.2 * sum(i.nbytes for i in items) < 3 * grown


# ---- round trip --------------------------------------------------------------------------------
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
names = text.filter(
    lambda n: n.strip() and n != "." and not set(n) & set("/:") and n not in RESERVED
)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(1, 5))
    columns: dict[str, Any] = {}
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        kind = draw(st.sampled_from([*NUMBERS, "text", "category", "Int64"]))
        if kind == "text":
            values: Any = draw(st.lists(text, min_size=rows, max_size=rows))
        elif kind == "category":
            values = pd.Categorical(draw(st.lists(text, min_size=rows, max_size=rows)))
        elif kind == "Int64":
            some = st.none() | st.integers(-(2**31) + 1, 2**53)
            values = pd.array(draw(st.lists(some, min_size=rows, max_size=rows)), dtype="Int64")
        else:
            size = np.dtype(kind).itemsize * rows
            raw = draw(st.binary(min_size=size, max_size=size))
            values = np.frombuffer(raw, "u1" if kind == "bool" else kind)
            values = values % 2 == 0 if kind == "bool" else values
            if np.dtype(kind).kind == "i":
                values = np.where(values == -2147483648, 0, values).astype(kind)
        columns[name] = values
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def one_source() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield copied("schema2.0b_no_cached_specs.nwb", Path(folder))


@settings(max_examples=25)
@given(frame=frames())
def test_random_frames_come_back(frame: pd.DataFrame, one_source: Path) -> None:
    out = save_results(one_source, {"r": frame}, mode="sidecar")
    try:
        stored = read_table(out, "r")
    finally:
        out.unlink()
    assert stored.columns.tolist() == frame.columns.tolist()
    for name in frame.columns:
        sent = frame[name]
        if isinstance(sent.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(sent):
            assert stored[name].tolist() == sent.astype(str).tolist()
        elif sent.dtype == "Int64" and sent.isna().any():
            np.testing.assert_array_equal(stored[name], sent.to_numpy(float, na_value=np.nan))
        elif sent.dtype == "Int64":
            assert stored[name].tolist() == sent.tolist()
        else:
            assert stored[name].dtype == sent.dtype
            assert stored[name].to_numpy().tobytes() == sent.to_numpy().tobytes()
