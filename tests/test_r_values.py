"""What R's values become: on every public call that takes data."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from r_cases import CASES, COLUMNS, Case, N

import nb26stats
from nb26stats import information, learning

NA = -2147483648
ROOMS = ("causal", "information", "learning", "streaming")
# the deep estimator shares all its checks with the other additive model, and needs torch
CALLS = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # few rows: that is warned about, and not what is asked here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _public() -> dict[str, Any]:
    found = {}
    for room in ROOMS:
        module = getattr(nb26stats, room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or hasattr(value, "fit"):
                found[name] = value
    return found


def _whole_parameters(value: Any) -> set[str]:
    """Return the parameters that are annotated as whole numbers."""
    kinds = {p.name: str(p.annotation) for p in inspect.signature(value).parameters.values()}
    return {name for name, kind in kinds.items() if kind.split(" | ")[0] == "int"}


def _ask(case: Case, changed: dict[str, Any], **whole: Any) -> Any:
    return case.call(**copy.deepcopy(case.data) | changed, **whole)


def test_no_public_call_is_left_out() -> None:
    assert set(_public()) == set(CASES)


@CALLS
def test_no_whole_number_is_left_out(name: str) -> None:
    assert _whole_parameters(_public()[name]) <= set(CASES[name].whole) | {"hidden"}


@CALLS
def test_whole_numbers_may_be_doubles(name: str) -> None:
    case = CASES[name]
    expected = _ask(case, {}, **case.whole)
    found = _ask(case, {}, **{key: float(value) for key, value in case.whole.items()})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, key) for name, case in CASES.items() for key in case.whole]
)
@pytest.mark.parametrize("value", [2.5, NA, True], ids=["half", "NA", "TRUE"])
def test_other_numbers_are_refused(name: str, parameter: str, value: Any) -> None:
    case = CASES[name]
    with pytest.raises((TypeError, ValueError), match=parameter) as caught:
        _ask(case, {}, **case.whole | {parameter: value})
    said = str(caught.value)
    assert "NA_integer_" in said if value == NA else "whole number" in said


@pytest.mark.parametrize(
    ("name", "column"), [(name, key) for name, case in CASES.items() for key in case.flat]
)
def test_integer_na_in_a_column(name: str, column: str) -> None:
    values = [round(v) for v in CASES[name].data[column]]
    values[min(7, len(values) - 1)] = NA
    with pytest.raises(ValueError, match="NA_integer_") as caught:
        _ask(CASES[name], {column: values})
    assert column in str(caught.value)
    assert str(min(7, len(values) - 1)) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "column"), [(name, key) for name, case in CASES.items() for key in case.flat]
)
def test_real_na_in_a_column(name: str, column: str) -> None:
    """NA_real_ is NaN: the method's own answer to missing values, which is never a silent one."""
    values = [float(v) for v in CASES[name].data[column]]
    values[min(7, len(values) - 1)] = np.nan
    if (name, column) == ("DNNLearningRule", "rewards"):
        _ask(CASES[name], {column: values})  # an outcome that is not known
        return
    with pytest.raises(ValueError, match=r"(?i)nan|finite|missing|no response|label|integer"):
        _ask(CASES[name], {column: values})


TABLES = [(name, key) for name, case in CASES.items() for key in case.tables if key != "data"]


def _table_of(name: str, key: str) -> dict[str, list[int]]:
    rows = CASES[name].data[key]
    return {f"c{j}": [row[j] for row in rows] for j in range(len(rows[0]))}


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_named_lists_are_tables(name: str, key: str) -> None:
    columns = _table_of(name, key)
    case = CASES[name]
    found = _ask(case, {key: columns})
    np.testing.assert_array_equal(found, _ask(case, {key: pd.DataFrame(columns)}))
    np.testing.assert_array_equal(found, _ask(case, {}))


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_columns_of_two_lengths(name: str, key: str) -> None:
    columns = _table_of(name, key)
    columns["c1"].pop()
    with pytest.raises(ValueError, match=f"{key} must have columns of one length") as caught:
        _ask(CASES[name], {key: columns})
    assert f"'c0' {N}, 'c1' {N - 1}" in str(caught.value)


@pytest.mark.parametrize("form", ["named list", "data frame", "rows"])
@pytest.mark.parametrize(("name", "key"), TABLES)
def test_integer_na_in_a_table(name: str, key: str, form: str) -> None:
    columns = _table_of(name, key)
    columns["c1"][7] = NA
    table: Any = columns
    where = "column 'c1'"
    if form == "data frame":
        table = pd.DataFrame(columns)
    elif form == "rows":
        table, where = [list(row) for row in zip(*columns.values(), strict=True)], "column 1"
    with pytest.raises(ValueError, match="NA_integer_") as caught:
        _ask(CASES[name], {key: table})
    assert where in str(caught.value)
    assert " 7" in str(caught.value)


# networks and hazards of numbers of that size mean nothing, whoever sends them
SCALED = [
    (name, key) for name, key in TABLES if name not in ("survival_residual_z", "DNNLearningRule")
]


@pytest.mark.parametrize(("name", "key"), SCALED)
def test_the_same_number_among_doubles_is_data(name: str, key: str) -> None:
    rows = [[float(v) for v in row] for row in CASES[name].data[key]]
    rows[7][1] = float(NA)
    _ask(CASES[name], {key: rows})


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_ragged_lists_are_refused(name: str, key: str) -> None:
    rows = copy.deepcopy(CASES[name].data[key])
    rows[7] = rows[7][0]  # R sends a vector of one number as the number
    with pytest.raises((TypeError, ValueError), match=r"length|two-dimensional"):
        _ask(CASES[name], {key: rows})


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if "data" in c.tables])
def test_tables_of_animals(name: str) -> None:
    case = CASES[name]
    found = _ask(case, {})
    np.testing.assert_array_equal(found, _ask(case, {"data": pd.DataFrame(case.data["data"])}))
    for column in ("choice", "reward", "session"):
        broken = copy.deepcopy(case.data["data"])
        broken[column][7] = NA
        with pytest.raises(ValueError, match="NA_integer_"):
            _ask(case, {"data": pd.DataFrame(broken)})


WORDS = {
    "NonparametricC2G": {"treatment": {0: "control", 1: "drug"}},
    "SemiparametricC2G": {"treatment": {0: "control", 1: "drug"}},
    "survival_residual_z": {"treatment": {0: "control", 1: "drug"}},
    "DiscretePID": {"target": {0: "no", 1: "yes"}},
    "mutual_information": {"y": {0: "no", 1: "yes"}},
}


@pytest.mark.parametrize("name", WORDS)
def test_factors(name: str) -> None:
    """Levels arrive as text, or in a data frame as categories."""
    for column, words in WORDS[name].items():
        levels = [words[v] for v in CASES[name].data[column]]
        expected = _ask(CASES[name], {})
        for values in (levels, pd.Series(levels, dtype="category")):
            np.testing.assert_array_equal(_ask(CASES[name], {column: values}), expected)


@pytest.mark.parametrize(
    ("name", "column"),
    [(name, key) for name, case in CASES.items() for key in case.flat if key != "sessions"],
)
def test_factors_where_numbers_are_due(name: str, column: str) -> None:
    if column in WORDS.get(name, {}) or (name, column) == ("TimeResolvedPID", "target"):
        return  # asked above; words are classes there
    words = ["u" if v > 0 else "v" for v in CASES[name].data[column]]
    with pytest.raises((TypeError, ValueError), match=rf"{column}.*(text|numbers)"):
        _ask(CASES[name], {column: words})


def test_text_na_is_no_arm() -> None:
    arms = ["NA" if v else "drug" for v in CASES["NonparametricC2G"].data["treatment"]]
    for name in ("NonparametricC2G", "SemiparametricC2G", "survival_residual_z"):
        with pytest.raises(ValueError, match="NA_character_"):
            _ask(CASES[name], {"treatment": arms})


def test_one_number_is_a_vector_of_one() -> None:
    assert learning.encode_contrast(0.5).shape == (1, 3)
    assert information.discretize([[0.5], [1.5]], 2).tolist() == [[0], [1]]
    with pytest.raises(ValueError, match="at least 200"):
        nb26stats.two_groups(0.5)


def test_columns_of_a_named_list_name_the_features() -> None:
    pca = nb26stats.OjaPCA(1, random_state=0).fit(COLUMNS)
    assert list(pca.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        pca.transform({"a": COLUMNS["a"], "c": COLUMNS["c"], "b": COLUMNS["b"]})
    nested = {"a": [[1.0], [2.0]], "b": [1.0, 2.0]}
    with pytest.raises(ValueError, match=r"X\['a'\] must be one column"):
        nb26stats.OjaPCA(1).fit(nested)


@pytest.mark.parametrize("words", [("placebo", "drug"), ("Untreated", "treated"), ("a", "b")])
def test_a_control_is_a_control_wherever_the_alphabet_puts_it(words: tuple[str, str]) -> None:
    case = CASES["NonparametricC2G"]
    arms = [words[v] for v in case.data["treatment"]]
    np.testing.assert_array_equal(_ask(case, {"treatment": arms}), _ask(case, {}))


def test_levels_of_a_factor_keep_their_order() -> None:
    """The first level is the control, as R has it; text alone has no order but the alphabet's."""
    case = CASES["NonparametricC2G"]
    arm = case.data["treatment"]
    words = pd.Series(["verum" if v else "placebo" for v in arm])
    reverse = pd.Series(["drug" if v else "placebo" for v in arm])
    expected = _ask(case, {})
    for values, levels in ((words, ["placebo", "verum"]), (reverse, ["placebo", "drug"])):
        for ordered in (False, True):
            factor = pd.Categorical(values, categories=levels, ordered=ordered)
            np.testing.assert_array_equal(_ask(case, {"treatment": factor}), expected)
    factor = pd.Categorical(words, categories=["placebo", "other", "verum"])
    np.testing.assert_array_equal(_ask(case, {"treatment": pd.Series(factor)}), expected)
