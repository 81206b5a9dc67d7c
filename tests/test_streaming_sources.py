"""Rows from files, blocks and NWB time series, in fit, partial_fit and transform."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
from pynwb import NWBHDF5IO, H5DataIO, NWBFile, TimeSeries

from nb26stats.streaming import OjaPCA
from nb26stats.streaming._rows import slabs

# slabs of 4096 rows: two whole ones and a part
N, D = 9000, 6


def rows(dtype: Any = np.float64) -> np.ndarray:
    scale = np.r_[4.0, 3.0, np.ones(D - 2)]
    return (np.random.default_rng(0).normal(size=(N, D)) * scale + 2).astype(dtype)


def estimator(**kw: Any) -> OjaPCA:
    return OjaPCA(2, n_bootstrap=9, random_state=0, **kw)


def assert_same(a: OjaPCA, b: OjaPCA) -> None:
    left, right = a.get_state(), b.get_state()
    assert left.keys() == right.keys()
    for name in left:
        if name.startswith("state_"):
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)


@contextmanager
def hdf5(x: np.ndarray, folder: Path) -> Iterator[Any]:
    with h5py.File(folder / "x.h5", "w") as file:
        yield file.create_dataset("x", data=x)


@contextmanager
def memmap(x: np.ndarray, folder: Path) -> Iterator[Any]:
    np.save(folder / "x.npy", x)
    yield np.load(folder / "x.npy", mmap_mode="r")


class Stored:
    """What a zarr array shows of itself; zarr is not among the packages that tests install."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        assert rows.stop - rows.start <= 4096
        return self.x[rows]


Stored.__module__ = "zarr.core.array"


@contextmanager
def zarr_array(x: np.ndarray, folder: Path) -> Iterator[Any]:
    yield Stored(x)


@contextmanager
def dask_array(x: np.ndarray, folder: Path) -> Iterator[Any]:
    yield da.from_array(x, chunks=((100, 7000, len(x) - 7100), D))


@contextmanager
def series(x: np.ndarray, folder: Path) -> Iterator[Any]:
    yield TimeSeries(name="lfp", data=x, unit="V", rate=1000.0)


@contextmanager
def series_in_file(x: np.ndarray, folder: Path) -> Iterator[Any]:
    file = NWBFile("session", "id", datetime(2026, 1, 1, tzinfo=UTC))
    data = H5DataIO(x, compression="gzip")
    file.add_acquisition(TimeSeries(name="lfp", data=data, unit="V", rate=1000.0))
    with NWBHDF5IO(folder / "x.nwb", "w") as io:
        io.write(file)
    with NWBHDF5IO(folder / "x.nwb", "r") as io:
        yield io.read().acquisition["lfp"]


@contextmanager
def wrapped_series(x: np.ndarray, folder: Path) -> Iterator[Any]:
    yield TimeSeries(name="lfp", data=H5DataIO(x, compression="gzip"), unit="V", rate=1000.0)


Source = Callable[[np.ndarray, Path], Any]
SOURCES = [hdf5, memmap, zarr_array, dask_array, series, series_in_file, wrapped_series]


@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_source_is_its_array(make: Source, dtype: Any, tmp_path: Path) -> None:
    x = rows(dtype)
    whole = estimator().fit(x)
    with make(x, tmp_path) as source:
        assert_same(estimator().fit(source), whole)
        scores = whole.transform(source)
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, whole.transform(x), rtol=0, atol=1e-5)
    later = tmp_path / "later"
    later.mkdir()
    with make(x[777:], later) as rest:
        assert_same(estimator().partial_fit(x[:777]).partial_fit(rest), whole)


class Wide:
    """Rows of a million columns, which must not be read by the thousand."""

    shape, dtype = (40, 10**6), np.dtype(np.float32)

    def __getitem__(self, rows: slice) -> np.ndarray:
        n = rows.stop - rows.start
        assert n <= 4
        return np.random.default_rng(rows.start).normal(size=(n, 10**6)).astype(np.float32)


Wide.__module__ = "zarr.core.array"


def test_wide_rows_are_read_a_few_at_a_time() -> None:
    est = OjaPCA(1, pilot_size=8, random_state=0).partial_fit(Wide())
    assert est.n_samples_seen_ == 40


def test_slabs_are_whole_chunks(tmp_path: Path) -> None:
    x = rows()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for chunk, step in ((1000, 4000), (4000, 4000), (5000, 4096)):
            held = file.create_dataset(f"x{chunk}", data=x, chunks=(chunk, 2))
            assert [a for a, _ in slabs(held, 0)] == list(range(0, N, step))
            assert_same(estimator().fit(held), estimator().fit(x))


def test_frames_keep_their_names() -> None:
    frame = pd.DataFrame(rows(), columns=[f"unit {j}" for j in range(D)])
    est = estimator().partial_fit(frame[:5000]).partial_fit(frame[5000:])
    assert est.feature_names_in_.tolist() == list(frame.columns)
    assert_same(est, estimator().fit(frame))
    with pytest.raises(ValueError, match="feature names"):
        est.partial_fit(frame[frame.columns[::-1]])
    out = est.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == ["ojapca0", "ojapca1"]
    assert out.index.equals(frame.index)


def test_a_series_comes_in_its_unit() -> None:
    counts = np.round(100 * rows()).astype(np.int16)
    gains = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0])
    raw = TimeSeries(name="raw", data=counts, unit="V", rate=1.0, conversion=1e-2, offset=0.5)
    assert_same(estimator().fit(raw), estimator().fit(counts * 1e-2 + 0.5))
    # what an ElectricalSeries has beside a TimeSeries
    electrical = SimpleNamespace(
        name="lfp",
        data=counts,
        conversion=1e-2,
        offset=0.0,
        timestamps=None,
        rate=1.0,
        channel_conversion=gains,
    )
    assert_same(estimator().fit(electrical), estimator().fit(counts * (gains * 1e-2)))
    electrical.channel_conversion = gains[:3]
    with pytest.raises(ValueError, match="3 channel conversions for 6 channels"):
        estimator().fit(electrical)


def test_a_series_of_one_channel_is_a_column() -> None:
    x = rows()[:, 0]
    one = TimeSeries(name="eye", data=x, unit="px", rate=100.0)
    est = OjaPCA(1, random_state=0).fit(one)
    np.testing.assert_array_equal(est.components_, [[1.0]])
    assert est.transform(one).shape == (N, 1)


def test_series_refusals() -> None:
    video = TimeSeries(name="video", data=np.zeros((9, 4, 4)), unit="a.u.", rate=30.0)
    with pytest.raises(ValueError, match="'video' has data of 3 dimensions"):
        estimator().fit(video)
    words = TimeSeries(name="words", data=["a", "b"], unit="n/a", rate=1.0)
    with pytest.raises(TypeError, match="'words' must hold real numbers"):
        estimator().partial_fit(words)
    wide = TimeSeries(name="lfp", data=np.zeros((9, 4)), unit="V", rate=1.0)
    with pytest.raises(ValueError, match="4 features, but OjaPCA is expecting 6"):
        estimator().fit(rows()).partial_fit(wide)


def test_a_bad_value_is_named_where_it_stands(tmp_path: Path) -> None:
    x = rows()
    x[5000, 3] = np.nan
    with hdf5(x, tmp_path) as source:
        est = estimator()
        with pytest.raises(ValueError, match="NaN at row 5000, column 3"):
            est.partial_fit(source)
        # the slab before it has been taken
        assert est.n_samples_seen_ == 4096
        with pytest.raises(ValueError, match="NaN at row 5000, column 3"):
            estimator().fit(source)
        with pytest.raises(ValueError, match="NaN at row 5000, column 3"):
            est.transform(source)
        dropped = estimator(missing="drop").partial_fit(source)
        assert dropped.n_rows_skipped_ == 1
        assert_same(dropped, estimator(missing="drop").partial_fit(x))


def test_a_first_slab_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    x = rows()
    x[5, 3] = np.nan
    with hdf5(x, tmp_path) as source:
        est = estimator()
        with pytest.raises(ValueError, match="NaN at row 5, column 3"):
            est.partial_fit(source)
        est.set_params(missing="drop").partial_fit(source)
    assert est.n_rows_skipped_ == 1


def test_an_open_file_cannot_go_to_other_processes(tmp_path: Path) -> None:
    with series_in_file(rows(), tmp_path) as source:
        with pytest.raises(ValueError, match="an open HDF5 dataset cannot"):
            OjaPCA(2, n_bootstrap=40, n_jobs=2).fit(source)
        alone = OjaPCA(2, n_bootstrap=40, n_jobs=1, random_state=0).fit(source)
    assert_same(alone, OjaPCA(2, n_bootstrap=40, n_jobs=2, random_state=0).fit(rows()))


def test_what_a_block_or_a_series_hides_is_missing() -> None:
    x = rows()
    masked = np.ma.masked_greater(x, 12.0)
    plain = estimator(missing="drop").fit(masked.filled(np.nan))
    assert 0 < plain.n_rows_skipped_ < 200
    blocks = da.ma.masked_greater(da.from_array(x, chunks=(4000, D)), 12.0)
    hidden = SimpleNamespace(name="lfp", data=masked, conversion=1.0, timestamps=None, rate=1.0)
    for source in (blocks, hidden):
        assert_same(estimator(missing="drop").fit(source), plain)
        with pytest.raises(ValueError, match="X contains NaN at row"):
            estimator().fit(source)


def test_files_that_hold_no_rows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["rows"], file["none"] = rows(), h5py.Empty("f8")
        file["words"] = np.array([["a", "b"]], dtype=h5py.string_dtype())
        file["na"] = np.full((9, 2), -2147483648, np.int32)
        dataset = file["rows"]
        with pytest.raises(TypeError, match=r"X must be a dataset with rows .* got Dataset"):
            estimator().fit(file["none"])
        with pytest.raises(TypeError, match="got File; give one of the datasets it holds"):
            estimator().fit(file)
        with pytest.raises(TypeError, match="X must hold real numbers: could not convert string"):
            estimator().fit(file["words"])
        with pytest.raises(ValueError, match="NA_integer_"):
            estimator().partial_fit(file["na"])
    est = estimator().fit(rows())
    for call in (est.transform, est.partial_fit, estimator().fit):
        with pytest.raises(ValueError, match="an HDF5 file that is closed; open the file again"):
            call(dataset)
    lfp = SimpleNamespace(name="lfp", data=dataset, conversion=1.0, timestamps=None, rate=1.0)
    with pytest.raises(ValueError, match="an HDF5 file that is closed"):
        est.transform(lfp)


def test_blocks_that_break_their_promise() -> None:
    x = da.from_array(rows(), chunks=(3000, D))

    def broken(change: Callable[[np.ndarray], Any]) -> Any:
        return x.map_blocks(change, dtype=float, meta=np.empty((0, 0)))

    est = estimator().fit(rows())
    for source, text in (
        (broken(lambda b: b[:10]), r"in shape \(\d+, 6\) and gave shape \(10, 6\)"),
        (broken(lambda b: b[:, :3]), r"gave shape \(1, 3\)"),
        (broken(lambda b: b * 1j), "X must hold real numbers, got complex128"),
        (broken(lambda b: b.astype(str)), "X must hold real numbers, got str"),
    ):
        for call in (est.transform, estimator().fit, estimator().partial_fit):
            with pytest.raises(ValueError, match=text):
                call(source)


def test_slabs_without_a_whole_row_count_what_they_left_out(tmp_path: Path) -> None:
    with memmap(np.full((9, D), np.nan), tmp_path) as source:
        est = estimator(missing="drop").partial_fit(source)
    assert est.partial_fit(rows()).n_rows_skipped_ == 9
