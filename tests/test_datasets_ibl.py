"""Behaviour tables of the International Brain Laboratory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nb26stats.datasets import load_ibl_csv


def _table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two mice, three sessions each, 10 trials per session; +1 is a right choice."""
    rng = np.random.default_rng(seed)
    c = rng.choice([-1.0, -0.25, -0.04, 0.0, 0.08, 0.5], n)
    side = np.where(c == 0.0, rng.choice([-1.0, 1.0], n), np.sign(c))
    choice = rng.choice([-1, 0, 1], n, p=[0.4, 0.1, 0.5])
    return pd.DataFrame(
        {
            "extra": "x",
            "contrastLeft": np.maximum(-c, 0.0),
            "contrastRight": np.maximum(c, 0.0),
            "choice": choice,
            "feedbackType": np.where(choice == side, 1, -1),
            "subject": np.repeat(["KS001", "CSHL_002"], n // 2),
            "date": np.tile(np.repeat(["2019-02-01", "2019-02-02"], [10, 20]), n // 30),
            "session": np.tile(np.repeat([1, 1, 2], 10), n // 30),
        }
    )


def _load(table: pd.DataFrame, folder: Path, name: str = "mice.csv") -> pd.DataFrame:
    table.to_csv(folder / name, index=False)
    return load_ibl_csv(folder / name)


def test_columns_and_order(tmp_path: Path) -> None:
    raw = _table()
    got = _load(raw, tmp_path)
    assert list(got.columns) == ["animal", "session", "contrast", "choice", "reward"]
    assert got["animal"].tolist() == ["CSHL_002"] * 30 + ["KS001"] * 30
    labels = ["2019-02-01/1", "2019-02-02/1", "2019-02-02/2"]
    assert got["session"].iloc[:30].tolist() == np.repeat(labels, 10).tolist()
    want = pd.concat([raw.iloc[30:], raw.iloc[:30]])
    np.testing.assert_array_equal(got["contrast"], want["contrastRight"] - want["contrastLeft"])
    choice = np.where(want["choice"] == 0, np.nan, want["choice"] == 1)
    np.testing.assert_array_equal(got["choice"], choice)
    np.testing.assert_array_equal(got["reward"], (want["feedbackType"] + 1) / 2)
    assert got.attrs["right_code"] == 1


def test_either_code_may_mean_right(tmp_path: Path) -> None:
    raw = _table()
    got = _load(raw.assign(choice=-raw["choice"]), tmp_path)
    assert got.attrs["right_code"] == -1
    pd.testing.assert_frame_equal(
        got.reset_index(), _load(raw, tmp_path).reset_index(), check_flags=False
    )


def test_known_quirks(tmp_path: Path) -> None:
    raw = _table()
    want = _load(raw, tmp_path)
    left = raw["contrastLeft"] > 0
    moved = raw.assign(
        contrastRight=raw["contrastRight"].where(~left, -raw["contrastLeft"]),
        contrastLeft=raw["contrastLeft"].where(~left, 0.0),
    )
    for table in (
        moved,
        moved.assign(contrastLeft=raw["contrastLeft"]),
        # the side without a stimulus is left empty
        raw.assign(
            contrastLeft=raw["contrastLeft"].where(raw["contrastRight"] == 0),
            contrastRight=raw["contrastRight"].where(~left),
        ),
    ):
        pd.testing.assert_frame_equal(_load(table, tmp_path), want)
    quiet = raw.assign(feedbackType=raw["feedbackType"].where(raw.index % 20 != 3, 0))
    got = _load(quiet, tmp_path)
    assert np.flatnonzero(np.isnan(got["reward"])).tolist() == [13, 33, 53]
    np.testing.assert_array_equal(got["choice"], want["choice"])


def test_sessions_are_put_in_order_of_time(tmp_path: Path) -> None:
    raw = _table()
    parts = [raw.iloc[i : i + 10] for i in range(0, 60, 10)]
    mixed = pd.concat([parts[i] for i in (5, 0, 2, 3, 1, 4)])
    pd.testing.assert_frame_equal(_load(mixed, tmp_path), _load(raw, tmp_path))
    ten = raw.assign(session=raw["session"].replace({1: 2, 2: 10}))
    assert _load(ten, tmp_path)["session"].unique().tolist()[-1] == "2019-02-02/10"


def test_compressed_and_text_paths(tmp_path: Path) -> None:
    raw = _table()
    raw.to_csv(tmp_path / "mice.csv.gz", index=False)
    pd.testing.assert_frame_equal(load_ibl_csv(str(tmp_path / "mice.csv.gz")), _load(raw, tmp_path))


def _with(row: int, **values: Any) -> Any:
    def change(raw: pd.DataFrame) -> pd.DataFrame:
        raw = raw.astype(object)
        for column, value in values.items():
            raw.loc[row, column] = value
        return raw

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t.drop(columns=["date", "choice"]), "lacks the columns choice, date"),
        (lambda t: t.iloc[:0], "holds no trials"),
        (_with(7, contrastLeft=25.0, contrastRight=0), "got 25 in row 7 of the file.*percent"),
        (_with(7, contrastRight=-25.0, contrastLeft=0), "got -25 in row 7.*percent"),
        (_with(7, contrastLeft=-0.5), "contrastLeft is negative .-0.5. in row 7"),
        (_with(7, contrastRight=-0.5, contrastLeft=0.25), "the side is not known"),
        (_with(7, contrastRight=None, contrastLeft=None), "both empty in row 7"),
        (_with(7, choice=2), "choice must be -1, 0 or 1, got 2 in row 7"),
        (_with(7, feedbackType=0.5), "feedbackType must be -1, 0 or 1, got 0.5 in row 7"),
        (_with(7, choice="left"), "choice must be a number, got 'left' in row 7"),
        (_with(7, date="soon"), "date 'soon' in row 7 of the file is no date"),
        (_with(7, subject=None), "subject is empty in row 7"),
        (lambda t: t.iloc[[*range(5), *range(10, 15), *range(5, 10)]], "begins again in row 10"),
        (lambda t: t.assign(feedbackType=np.tile([1, -1], 30)), "of trials, where it should"),
        (lambda t: t.assign(feedbackType=0), "code of a right choice is not known"),
    ],
)
def test_bad_files(change: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=match):
        _load(change(_table()), tmp_path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_ibl_csv(tmp_path / "none.csv")
