"""The reader of the TVSD: areas, bins and trials of a small file of its layout, and its errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tvsd_file
from scipy.io import savemat

from nb26stats import datasets
from nb26stats.datasets import _tvsd

RANGES = {
    "F": {"V1": (0, 512), "IT": (512, 832), "V4": (832, 1024)},
    "N": {"V1": (0, 512), "V4": (512, 768), "IT": (768, 1024)},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tvsd_file.write(tmp_path_factory.mktemp("tvsd") / "monkeyF" / "THINGS_MUA_trials.mat")


def expected(monkey: str, area: str, trials: Any, first: int = 0, n: int = 60, per: int = 5) -> Any:
    low, high = RANGES[monkey][area]
    bins = first + per * np.arange(n) + (per - 1) / 2
    return tvsd_file.value(
        np.arange(low, high), np.asarray(trials)[:, None, None], bins[None, :, None]
    )


@pytest.mark.parametrize("monkey", ["F", "N"])
def test_areas_and_bins_are_those_of_the_arrays(monkey: str, tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / f"monkey{monkey}" / "THINGS_MUA_trials.mat")
    data = datasets.read_tvsd(source)
    assert data.monkey == monkey
    assert list(data.areas) == ["V1", "V4", "IT"]
    for area, responses in data.areas.items():
        assert responses.dtype == np.float32
        np.testing.assert_array_equal(responses, expected(monkey, area, range(6)))
        low, high = RANGES[monkey][area]
        np.testing.assert_array_equal(data.electrodes[area], tvsd_file.order()[low:high] - 1)
    np.testing.assert_array_equal(data.times, np.arange(-100, 200, 5) / 1000)
    assert data.trials["train_idx"].tolist() == [100, 101, 0, 103, 104, 0]
    assert data.trials["day"].tolist() == [1, 1, 1, 1, 2, 2]


def test_the_monkeys_differ_in_v4_and_it(path: Path) -> None:
    data = datasets.read_tvsd(path)
    assert [d.shape[2] for d in data.areas.values()] == [512, 192, 320]
    assert data.summary() == (
        "monkey F: 6 trials, 60 bins of 5 ms from -100 ms, electrodes: V1 512, V4 192, IT 320"
    )


@pytest.mark.parametrize(("kind", "rows"), [("train", [0, 1, 3, 4]), ("test", [2, 5])])
def test_trials_of_one_kind(path: Path, kind: str, rows: list[int]) -> None:
    data = datasets.read_tvsd(path, trials=kind, areas="IT")
    assert list(data.areas) == ["IT"]
    np.testing.assert_array_equal(data.areas["IT"], expected("F", "IT", rows))
    assert data.trials["trial"].tolist() == [r + 1 for r in rows]
    assert data.trials.index.tolist() == list(range(len(rows)))


@pytest.mark.parametrize("axes", [(2, 1, 0), (0, 1, 2), (1, 2, 0)])
def test_axes_are_found_by_their_lengths(axes: tuple[int, int, int], tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyN.mat", axes=axes)
    data = datasets.read_tvsd(source, areas=["V4"])
    np.testing.assert_array_equal(data.areas["V4"], expected("N", "V4", range(6)))


def test_slabs_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tvsd_file.write(tmp_path / "monkeyN.mat", chunks=True)
    with h5py.File(source) as file:
        slabs = list(_tvsd._slabs(file["ALLMUA"], (1, 0, 2)))
        # one slab holds whole chunks of 64 channels
        assert [c.start for c, _ in slabs] == list(range(0, 1024, 64))
        monkeypatch.setattr(_tvsd, "SLAB_BYTES", 200_000)
        small = list(_tvsd._slabs(file["ALLMUA"], (1, 0, 2)))
    assert len(small) == 3 * len(slabs)
    plain = tvsd_file.write(tmp_path / "plain" / "monkeyN.mat")
    with h5py.File(plain) as file:
        in_rows = list(_tvsd._slabs(file["ALLMUA"], (1, 0, 2)))
    # contiguous rows of channels are read whole
    assert [(c.stop, t.start) for c, t in in_rows] == [(1024, t) for t in range(6)]
    data = datasets.read_tvsd(source, trials="train")
    for area, responses in data.areas.items():
        np.testing.assert_array_equal(responses, expected("N", area, [0, 1, 3, 4]))


def test_bins_and_window(path: Path) -> None:
    data = datasets.read_tvsd(path, areas="V1", bin_size=0.01, window=(-0.05, 0.15))
    assert data.times[0] == -0.05
    assert len(data.times) == 20
    np.testing.assert_array_equal(
        data.areas["V1"], expected("F", "V1", range(6), first=50, n=20, per=10)
    )


def test_six_columns_and_an_order_of_the_older_format(tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyF.mat", columns=6, with_order=False)
    named = tmp_path / "monkeyF_1024chns_mapping_20220105.mat"
    savemat(named, {"mapping": tvsd_file.order()[None]})
    beside = datasets.read_tvsd(source, areas="V4")
    assert list(beside.trials) == ["trial", "train_idx", "test_idx", "rep", "count", "day"]
    for order in (named, str(named), tvsd_file.order(), tvsd_file.order() - 1):
        given = datasets.read_tvsd(source, areas="V4", channel_order=order)
        np.testing.assert_array_equal(given.areas["V4"], beside.areas["V4"])


def test_results_are_plain_and_pickle(path: Path) -> None:
    data = datasets.read_tvsd(path, areas="V4", trials="test", bin_size=0.1)
    copy = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(copy.areas["V4"], data.areas["V4"])
    assert data.to_r()["areas"]["V4"]["dim"] == [2, 3, 192]


# ---- errors ------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["ALLMUA", "ALLMAT", "tb"])
def test_missing_variables_are_named(key: str, tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyF.mat", leave_out=(key,))
    with pytest.raises(ValueError, match=f"lacks {key}; it holds ALL"):
        datasets.read_tvsd(source)


def test_the_averaged_file_is_recognised(tmp_path: Path) -> None:
    source = tmp_path / "monkeyF_THINGS_normMUA.mat"
    with h5py.File(source, "w") as file:
        file["train_MUA"] = np.zeros((3, 1024))
        file["tb"] = np.zeros((300, 1))
    with pytest.raises(ValueError, match=r"lacks ALLMUA, ALLMAT;.*averaged over time"):
        datasets.read_tvsd(source)


def test_a_pointer_or_older_file_is_recognised(tmp_path: Path) -> None:
    source = tmp_path / "monkeyF.mat"
    source.write_text("/annex/objects/SHA256E-s40--abc.mat")
    with pytest.raises(ValueError, match="pointer of git-annex"):
        datasets.read_tvsd(source)
    with pytest.raises(FileNotFoundError, match="No file at"):
        datasets.read_tvsd(tmp_path / "monkeyN.mat")


def test_the_monkey_must_be_clear(tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "THINGS_MUA_trials.mat")
    with pytest.raises(ValueError, match="does not say which monkey"):
        datasets.read_tvsd(source)
    assert datasets.read_tvsd(source, monkey="N", areas="V1", trials="test").monkey == "N"
    named = source.rename(tmp_path / "monkeyF_trials.mat")
    with pytest.raises(ValueError, match=r"monkey='N', but the path .* names monkeyF"):
        datasets.read_tvsd(named, monkey="N")


def test_the_order_must_be_there_and_whole(tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyF.mat", with_order=False)
    with pytest.raises(FileNotFoundError, match="order of the recording system"):
        datasets.read_tvsd(source)
    for wrong in (np.arange(1023), np.ones(1024), np.arange(1024) + 0.5):
        with pytest.raises(ValueError, match="each whole number from 1 to 1024"):
            datasets.read_tvsd(source, channel_order=wrong)
    other = tmp_path / "order.mat"
    savemat(other, {"elsewhere": 1.0})
    with pytest.raises(ValueError, match="lacks mapping; it holds elsewhere"):
        datasets.read_tvsd(source, channel_order=other)
    other.write_text("no order")
    with pytest.raises(ValueError, match="not a MATLAB file"):
        datasets.read_tvsd(source, channel_order=other)
    with pytest.raises(FileNotFoundError, match="No file at"):
        datasets.read_tvsd(source, channel_order=tmp_path / "none.mat")


def test_sizes_must_fit(tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyF.mat", leave_out=("ALLMAT", "tb"))
    with h5py.File(source, "a") as file:
        file["ALLMAT"] = np.zeros((7, 9))
        file["tb"] = np.arange(-100.0, 200.0)
    with pytest.raises(ValueError, match="must have 1024 channels, 9 trials"):
        datasets.read_tvsd(source)
    with h5py.File(source, "a") as file:
        del file["ALLMAT"]
        file["ALLMAT"] = np.zeros((5, 9))
    with pytest.raises(ValueError, match="6 or 7 columns"):
        datasets.read_tvsd(source)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"bin_size": 0.0015}, "whole number of samples"),
        ({"bin_size": 0.007}, "not a whole number of bins"),
        ({"window": (0.0, 0.5)}, "leaves the samples"),
        ({"window": (0.1, 0.0)}, "a start and a later end"),
        ({"areas": "V2"}, "must be one of 'V1', 'V4', 'IT'"),
        ({"areas": []}, "at least one area"),
        ({"trials": "both"}, "must be one of"),
        ({"monkey": "X"}, "must be one of 'F', 'N'"),
    ],
)
def test_bad_choices(path: Path, choice: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        datasets.read_tvsd(path, **choice)


def test_uneven_times_and_no_trials_of_a_kind(tmp_path: Path) -> None:
    source = tvsd_file.write(tmp_path / "monkeyF.mat", leave_out=("tb", "ALLMAT"))
    table = tvsd_file.matlab_table()
    table[:, 2] = 0
    with h5py.File(source, "a") as file:
        file["tb"] = np.arange(300.0) ** 2
        file["ALLMAT"] = table.T
    with pytest.raises(ValueError, match="evenly spaced"):
        datasets.read_tvsd(source)
    with h5py.File(source, "a") as file:
        file["tb"][:] = np.arange(300.0)
    with pytest.raises(ValueError, match="holds no test trials"):
        datasets.read_tvsd(source, trials="test")
