"""Data of many animals: forms that mean the same, and refusals that name animal and trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_tools import mice, needs_mice

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets
from nb26stats.learning import encode_contrast
from nb26stats.learning._table_input import read_animals
from nb26stats.learning._trials import Trials

N = 30


def _table() -> pd.DataFrame:
    """Two animals of 30 trials in 3 sessions, one animal after the other."""
    rng = np.random.default_rng(3)
    contrast = rng.choice([-0.5, 0.0, 0.25], 2 * N)
    choice = rng.integers(0, 2, 2 * N)
    reward = np.where(contrast == 0, np.nan, choice == (contrast > 0))
    return pd.DataFrame(
        {
            "animal": np.repeat(["b", "a"], N),
            "session": np.tile(np.repeat([1, 2, 5], N // 3), 2),
            "trial": np.tile(np.arange(N // 3), 6),
            "contrast": contrast,
            "choice": choice,
            "reward": reward,
            "rt": rng.random(2 * N),
        }
    )


def _arrays(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "X": encode_contrast(part["contrast"]),
            "y": part["choice"].to_numpy(),
            "rewards": part["reward"].to_numpy(),
            "sessions": part["session"].to_numpy(),
        }
        for name, part in table.groupby("animal", sort=False)
    }


def _read(data: Any, **options: Any) -> dict[Any, Trials]:
    return {animal.name: animal.trials for animal in read_animals(data, **options)}


def _same(a: dict[Any, Trials], b: dict[Any, Trials]) -> None:
    assert list(a) == list(b)
    for one, other in zip(a.values(), b.values(), strict=True):
        for name in ("x", "choice", "rewards", "correct_side", "sessions", "mask"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.session_labels == other.session_labels


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: table[name].tolist() for name in table}


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "arrays": _arrays,
    "columns as lists": _columns,
    "a table for each": lambda t: {
        name: part.drop(columns="animal") for name, part in t.groupby("animal", sort=False)
    },
    "columns of each": lambda t: {
        name: _columns(part) for name, part in t.groupby("animal", sort=False)
    },
    "another index": lambda t: t.set_index(t.index[::-1] * 7),
    "category": lambda t: t.astype({"animal": "category"}),
    "pandas with its own missing": lambda t: t.convert_dtypes(),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_data(form: str) -> None:
    want = _read(_table())
    assert list(want) == ["b", "a"]
    assert want["b"].session_labels == (1, 2, 5)
    _same(_read(FORMS[form](_table())), want)


def test_rows_of_animals_may_alternate() -> None:
    table = _table()
    order = np.arange(2 * N).reshape(2, N).T.ravel()
    _same(_read(table.iloc[order]), _read(table))


def test_the_side_may_stand_in_for_the_reward() -> None:
    table = _table()
    side = np.where(table["contrast"] == 0, np.nan, table["contrast"] > 0)
    want = _read(table)
    _same(_read(table.drop(columns="reward").assign(correct_side=side)), want)


def test_a_mask_in_the_table_counts() -> None:
    table = _table().assign(likelihood_mask=lambda t: t["trial"] > 2)
    got = _read(table)
    np.testing.assert_array_equal(got["a"].mask, np.tile(np.arange(10) > 2, 3))


def test_names_of_animals_may_be_numbers() -> None:
    table = _table()
    table["animal"] = np.where(table["animal"] == "a", 7, 3)
    assert list(_read(table)) == [3, 7]


def test_trials_as_arguments_are_the_same_trials() -> None:
    want = _read(_table())
    _same(
        _read({a.name: a.data for a in read_animals(_table())}),
        {name: replace(t, session_labels=(0, 1, 2)) for name, t in want.items()},
    )


def test_an_animal_called_animal() -> None:
    entries = _arrays(_table())
    assert list(_read({"animal": entries["a"]})) == ["animal"]


def test_sessions_of_an_nwb_file() -> None:
    bh = nbn.behavior(datasets.path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen"))
    part = nbn.to_learning(bh)
    (trials,) = _read({"anm00239123": part}).values()
    assert len(trials) == 255
    assert trials.n_counted == 202
    np.testing.assert_array_equal(trials.choice, part["choice"])


def test_trials_without_a_response() -> None:
    table = _table()
    table["choice"] = table["choice"].astype(float)
    table.loc[[3, 4, 33], "choice"] = np.nan
    with pytest.raises(
        ValueError, match=r"animal 'b': choice holds 2 of 30 trials without a response .* trial 3"
    ):
        _read(table)
    got = _read(table, drop_no_response=True)
    assert [len(t) for t in got.values()] == [28, 29]


@needs_mice
def test_the_mice() -> None:
    animals = _read(mice())
    print({name: len(t) for name, t in animals.items()})
    assert len(animals) == mice()["animal"].nunique()
    assert len(animals["DAP009"]) == 5289
    assert len(animals["DAP009"].session_labels) == 26


def test_remarks_on_animals() -> None:
    table = _table()
    table.loc[table["animal"] == "a", "choice"] = 1
    with pytest.warns(NB26StatsWarning, match="all choices of a are on one side"):
        _read(table)
    table = _table()
    table.loc[table["animal"] == "b", "reward"] = 0.0
    with pytest.warns(NB26StatsWarning, match="no trial of b is rewarded"):
        _read(table)


def _set(column: str, row: int, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(table: pd.DataFrame) -> pd.DataFrame:
        table[column] = table[column].astype(object)
        table.loc[row, column] = value
        table[column] = table[column].infer_objects()
        return table

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("contrast", 33, 25.0), r"animal 'a': .*\[-1, 1\], got 25 at trial 3: .* percent"),
        (
            _set("contrast", 2, np.nan),
            "animal 'b': contrast .* NaN at trial 2|known on every trial",
        ),
        (_set("reward", 31, 2.0), r"animal 'a': reward must lie in \[0, 1\] .* got 2 at trial 1"),
        (_set("choice", 0, 3), "animal 'b': choice must hold 0 .* got 3 at trial 0"),
        (_set("session", 29, 1), "animal 'b': session goes from 5 to 1 at trial 29"),
        (_set("session", 7, None), "animal 'b': session must label every trial, .* at trial 7"),
        (_set("trial", 45, 0), "animal 'a': trial goes from 4 to 0 within session 2"),
        (_set("animal", 4, None), "animal must be named on every row, but row 4 is empty"),
        (lambda t: t.assign(choice=t["choice"] + 1), "if 2 is right, subtract 1"),
        (lambda t: t.assign(choice=2 * t["choice"] - 1), r"take \(choice \+ 1\) / 2"),
        (
            lambda t: t.assign(choice=np.resize([-1, 0, 1], 2 * N)),
            "if 0 is no response, put NaN there",
        ),
        (lambda t: t.drop(columns=["session", "reward"]), r"lacks session, reward \(or correct"),
        (lambda t: t.rename(columns={"contrast": "c"}), "lacks contrast; it has animal, session"),
        (lambda t: t[:0], "no trial"),
        (lambda t: pd.concat([t, t["choice"]], axis=1), "two columns named 'choice'"),
        (
            lambda t: t.assign(session=np.tile(["x", "y", "x"], 2 * N // 3)),
            "animal 'b': session must be blocks .* 'x' returns at trial 2",
        ),
        (
            lambda t: t.assign(
                session=pd.to_datetime("2020-01-09") - pd.to_timedelta(t["session"], "D")
            ),
            "session goes from 2020-01-08 00:00:00 to 2020-01-07",
        ),
    ],
)
def test_wrong_tables_are_refused(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        _read(change(_table()))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda e: e.pop("y"), ValueError, "animal 'a': its entry lacks y; it must have X, y"),
        (lambda e: e.update(reward=1), ValueError, "animal 'a': its entry has reward;"),
        (lambda e: e.pop("rewards"), ValueError, "animal 'a': rewards and correct_side are both"),
        (lambda e: e.update(y=e["y"][:5]), ValueError, "animal 'a': y has 5 values, but X has 30"),
        (lambda e: e.update(X="x"), TypeError, "animal 'a': X"),
    ],
)
def test_wrong_entries_are_refused(change: Any, kind: type[Exception], words: str) -> None:
    entries = _arrays(_table())
    change(entries["a"])
    with pytest.raises(kind, match=words):
        _read(entries)


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([1, 2], TypeError, "data must be a table with the columns animal"),
        (None, TypeError, "got NoneType"),
        ({}, ValueError, "data holds no animal"),
        ({"a": [1, 2]}, TypeError, "animal 'a' must be a table"),
        ({"a": None}, TypeError, "animal 'a' must be"),
    ],
)
def test_other_things_are_refused(data: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        _read(data)
    with pytest.raises(TypeError, match="drop_no_response"):
        _read(_table(), drop_no_response=1)
