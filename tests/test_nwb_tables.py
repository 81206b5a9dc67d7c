"""``trials``: values as pynwb gives them, ragged columns only when asked, errors that list."""

from __future__ import annotations

import h5py
import numpy as np
import nwb_files
import nwb_pieces
import pandas as pd
import pytest
from hdmf.backends.hdf5 import H5DataIO
from hdmf.common import DynamicTable, DynamicTableRegion, VectorData
from hdmf.data_utils import DataChunkIterator

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import (
    CorruptFileError,
    MissingColumnError,
    MissingTableError,
    NB26NWBError,
    NWBReadError,
)
from nb26stats.nwb._data import as_array
from nb26stats.nwb._tables import (
    column_names,
    find_table,
    interval_tables,
    is_ragged,
    read_column,
    row_ids,
)

ALM = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
ECONOMO = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"


def _simple(path, **columns):
    return nwb_files.simple(path, trials={"start_time": np.arange(3.0), **columns})


# ---- values --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "table"),
    [(ALM, "trials"), (ECONOMO, "trials"), (RIPPLES, "sleep_ripples"), (RIPPLES, "epochs")],
)
def test_every_column_equals_what_pynwb_holds(name, table):
    frame = nbn.trials(datasets.path(name), table, exclude_ragged=False)
    with nwb_pieces.reading(datasets.path(name)) as io:
        source = io.read().intervals[table]
        assert list(frame.columns) == list(source.colnames)
        assert frame.index.tolist() == source.id.data[:].tolist()
        for column in frame.columns:
            theirs = [source[column][i] for i in range(len(source))]
            for ours, value in zip(frame[column], theirs, strict=True):
                if isinstance(ours, list):
                    assert ours == list(value)
                else:
                    assert ours == value or (np.isnan(ours) and np.isnan(value))


def test_ids_are_the_index_and_nothing_is_added():
    frame = nbn.trials(datasets.path(ALM))
    assert frame.index.name == "id"
    assert frame.index.tolist() == list(range(1, 413))
    assert "trial" not in frame.columns
    assert frame["start_time"].is_monotonic_increasing


def test_ids_with_gaps_and_any_order(tmp_path):
    path = nwb_files.simple(
        tmp_path / "x.nwb", trials={"start_time": [5.0, 1.0, 3.0]}, trial_ids=[70, 3, 12]
    )
    frame = nbn.trials(path)
    assert frame.index.tolist() == [70, 3, 12]
    assert frame["start_time"].tolist() == [5.0, 1.0, 3.0]
    with nbn.open(path) as s:
        ids = row_ids(find_table(s))
    assert ids.dtype == np.int64


def test_numbers_keep_their_type_and_text_stays_text():
    frame = nbn.trials(datasets.path(ALM))
    assert frame["stim_present"].dtype == np.int32
    assert sorted(frame["stim_present"].unique()) == [0, 1]
    assert (frame["response"] == "N/A").sum() == 70
    assert frame["response"].isna().sum() == 0
    assert frame["type"].map(type).eq(str).all()
    assert frame["type"].dtype == pd.DataFrame({"a": ["text"]})["a"].dtype


def test_bytes_become_text(tmp_path):
    path = _simple(tmp_path / "x.nwb", word=["aa", "bb", "cc"])
    nwb_files.replace_dataset(path, "intervals/trials/word", np.array([b"a", b"caf\xc3\xa9", b""]))
    assert nbn.trials(path)["word"].tolist() == ["a", "café", ""]


def test_columns_of_shape_n_1_are_flat_and_wider_ones_ragged(tmp_path):
    path = _simple(
        tmp_path / "x.nwb", one=np.arange(3).reshape(3, 1), two=np.arange(6.0).reshape(3, 2)
    )
    frame = nbn.trials(path)
    assert frame["one"].tolist() == [0, 1, 2]
    assert "two" not in frame
    assert [v.tolist() for v in nbn.trials(path, columns="two")["two"]] == [[0, 1], [2, 3], [4, 5]]


def test_words_of_an_enumerated_column(tmp_path):
    nwb = nwb_files.make()
    nwb.trials = nwb_files.trial_table({"start_time": np.arange(3.0)})
    with pytest.warns(UserWarning, match="experimental"):
        nwb.trials.add_column(name="side", description="d", data=[0, 1, 0], enum=["left", "right"])
    assert nbn.trials(nwb)["side"].tolist() == ["left", "right", "left"]
    path = nwb_files.write(nwb, tmp_path / "x.nwb")
    assert nbn.trials(path)["side"].tolist() == ["left", "right", "left"]
    with pytest.raises(MissingColumnError, match=r"side \(text\)"):
        nbn.trials(path, columns=["no"])


# ---- ragged columns and references ---------------------------------------------------------------
def test_ragged_columns_and_references_are_read_only_when_named(tmp_path):
    path = nwb_files.aibs_change(tmp_path / "x.nwb")
    with nbn.open(path) as s:
        table = find_table(s, "presentations")
        assert column_names(table) == ["start_time", "stop_time", "tags", "timeseries"]
        assert is_ragged(table, "tags")
        assert is_ragged(table, "timeseries")
        assert list(s.trials("presentations").columns) == ["start_time", "stop_time"]
        named = s.trials("presentations", columns=["timeseries", "tags", "start_time"])
        everything = s.trials("presentations", exclude_ragged=False)
        with pytest.raises(NB26NWBError, match="several values or references per row"):
            read_column(table, "tags")
    assert list(named.columns) == ["timeseries", "tags", "start_time"]
    assert named["tags"].tolist() == [[], ["a"], ["a", "b"], []]
    assert named["timeseries"].tolist() == [
        [(0, 5, "running")], [(10, 5, "running")], [(20, 5, "running")], [(30, 5, "running")]
    ]  # fmt: skip
    assert list(everything.columns) == ["start_time", "stop_time", "tags", "timeseries"]


def test_default_columns_never_touch_the_links(tmp_path, monkeypatch):
    path = nwb_files.aibs_change(tmp_path / "x.nwb")
    read = []
    original = h5py.Dataset.__getitem__

    def spy(self, key, **kwargs):
        read.append(self.name)
        return original(self, key, **kwargs)

    with nbn.open(path) as s:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", spy)
        s.trials("presentations")
    assert sorted(set(read)) == [
        "/intervals/presentations/id",
        "/intervals/presentations/start_time",
        "/intervals/presentations/stop_time",
    ]
    assert len(read) == 3


def test_three_levels_of_lists(tmp_path):
    nwb = nwb_files.make()
    nwb.trials = nwb_files.trial_table({"start_time": np.arange(2.0)})
    deep = [[[["a"], ["b", "c"]]], [[["d"]], []]]
    nwb.trials.add_column(name="deep", description="d", data=deep, index=3)
    for source in (nwb, nwb_files.write(nwb, tmp_path / "x.nwb")):
        assert nbn.trials(source, columns=["deep"])["deep"].tolist() == deep


def test_a_missing_compression_filter_is_named(tmp_path, monkeypatch):
    def broken(self, key, **kwargs):
        raise OSError("Can't synchronously read data (required filter 'blosc' is not registered)")

    with nbn.open(_simple(tmp_path / "x.nwb", cue=np.arange(3.0))) as s:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", broken)
        with pytest.raises(NWBReadError, match="pip install hdf5plugin"):
            s.trials()


def test_an_unknown_failure_of_a_store_is_passed_on_in_words(tmp_path, monkeypatch):
    def broken(self, key, **kwargs):
        raise TypeError("no codec")

    with nbn.open(_simple(tmp_path / "x.nwb", cue=np.arange(3.0))) as s:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", broken)
        with pytest.raises(NWBReadError, match="cannot be read: no codec"):
            s.trials()


def test_an_empty_dataspace_is_an_empty_column(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["nothing"] = h5py.Empty("f8")
        assert as_array(file["nothing"], "x").tolist() == []


def test_lists_of_lists_and_rows_of_other_tables():
    nwb = nwb_files.make()
    electrodes = nwb_files.add_electrodes(nwb, ["A", "B", "C"])
    table = nwb_files.trial_table({"start_time": np.arange(2.0)})
    table.add_column(name="deep", description="d", data=[[[1, 2], [3]], [[4]]], index=2)
    region = DynamicTableRegion(name="sites", description="d", data=[2, 0], table=electrodes)
    nwb.trials = table
    frame = nbn.trials(nwb, columns=["deep"])
    assert frame["deep"].tolist() == [[[1, 2], [3]], [[4]]]
    assert "deep" not in nbn.trials(nwb)
    holder = DynamicTable(name="t", description="d", columns=[region], id=[0, 1])
    assert is_ragged(holder, "sites")


# ---- attributes and empty tables -----------------------------------------------------------------
def test_attributes_say_where_the_table_comes_from():
    frame = nbn.trials(datasets.path(ALM), columns=["response", "start_time"])
    told = frame.attrs["nb26stats"]
    assert told["file"].endswith(ALM)
    assert told["identifier"] == "anm00239123_2017-06-27_09-35-49"
    assert told["table"] == "trials"
    assert list(told["descriptions"]) == ["response", "start_time"]
    assert told["descriptions"]["start_time"] == "Start time of epoch, in seconds"


def test_a_table_without_rows_has_its_columns(tmp_path):
    nwb = nwb_files.make()
    nwb.trials = nwb_files.trial_table(
        {"start_time": np.empty(0), "stop_time": np.empty(0), "n": np.empty(0, int)}
    )
    for source in (nwb, nwb_files.write(nwb, tmp_path / "x.nwb")):
        frame = nbn.trials(source)
        assert frame.shape == (0, 3)
        assert sorted(frame.columns) == ["n", "start_time", "stop_time"]
        assert frame.index.name == "id"


def test_results_live_after_the_file_is_closed():
    frame = nbn.trials(datasets.path(RIPPLES), "epochs", exclude_ragged=False)
    assert frame["tags"].tolist() == [["sleep"], ["wake"]]
    kinds = {type(v) for column in frame for v in frame[column]}
    assert not any(k.__module__.startswith(("h5py", "hdmf", "pynwb")) for k in kinds)


# ---- which table ---------------------------------------------------------------------------------
def test_without_trials_the_tables_are_listed_never_guessed():
    with pytest.raises(MissingTableError) as caught:
        nbn.trials(datasets.path(RIPPLES))
    message = str(caught.value)
    assert message.startswith(f"no 'trials' in {RIPPLES} (NWB 2.4.0)")
    assert "epochs (2 rows)" in message
    assert "sleep_ripples (594 rows)" in message
    assert "pass table='epochs'" in message
    # a single other table is not taken either
    with pytest.raises(MissingTableError, match=r"epochs \(1 rows\); pass table='epochs'"):
        nbn.trials(datasets.path("A8604-211122_phy.nwb"))


def test_any_table_of_intervals_can_be_named(tmp_path):
    nwb = nwb_files.make()
    module = nwb.create_processing_module(name="behavior", description="d")
    module.add(nwb_files.trial_table({"start_time": [1.0, 2.0]}, name="licks"))
    nwb.add_epoch(0.0, 5.0, ["whole"])
    nwb.add_invalid_time_interval(start_time=1.0, stop_time=2.0)
    nwb.add_time_intervals(nwb_files.trial_table({"start_time": [4.0]}, name="stimuli"))
    for source in (nwb, nwb_files.write(nwb, tmp_path / "x.nwb")):
        with nbn.open(source) as s:
            names = interval_tables(s)
            assert sorted(names) == ["behavior/licks", "epochs", "invalid_times", "stimuli"]
            for name, rows in zip(sorted(names), (2, 1, 1, 1), strict=True):
                assert len(s.trials(name)) == rows
            assert len(s.trials("processing/behavior/licks")) == 2
            assert len(s.trials("intervals/stimuli")) == 1
            with pytest.raises(MissingTableError, match="behavior/licks"):
                s.trials("licks")


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (None, TypeError),
        (0, TypeError),
        (["trials"], TypeError),
        (b"trials", TypeError),
        (np.nan, TypeError),
        ("", ValueError),
        ("nope", MissingTableError),
        ("units", MissingTableError),
        ("../trials", MissingTableError),
        ("__class__", MissingTableError),
        ("x" * 10_000, MissingTableError),
    ],
)
def test_hostile_table_names(table, error):
    with pytest.raises(error):
        nbn.trials(datasets.path(ALM), table)


# ---- which columns -------------------------------------------------------------------------------
def test_unknown_columns_list_all_of_them():
    with pytest.raises(MissingColumnError) as caught:
        nbn.trials(datasets.path(ALM), columns=["response", "Response"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "the table 'trials' has no column 'Response'. Its columns are:"
    assert len(lines) == 1 + 16
    assert any(line.startswith("  stim_present (int32): ") for line in lines)
    assert any(line.startswith("  response (text): ") for line in lines)


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([3], TypeError),
        (3, TypeError),
        ([None], TypeError),
        ([["response"]], TypeError),
        ([""], ValueError),
        ("nope", MissingColumnError),
        ("id", MissingColumnError),
        ("__class__", MissingColumnError),
        ("tags_index", MissingColumnError),
    ],
)
def test_hostile_column_names(columns, error):
    with pytest.raises(error):
        nbn.trials(datasets.path(ALM), columns=columns)


def test_columns_may_be_one_name_a_tuple_or_repeated():
    path = datasets.path(ALM)
    assert list(nbn.trials(path, columns="type").columns) == ["type"]
    assert list(nbn.trials(path, columns=("type", "response")).columns) == ["type", "response"]
    assert list(nbn.trials(path, columns=["type", "type"]).columns) == ["type"]
    assert nbn.trials(path, columns=[]).shape == (412, 0)


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_exclude_ragged_is_a_flag(value):
    with pytest.raises(TypeError, match="exclude_ragged"):
        nbn.trials(datasets.path(ALM), exclude_ragged=value)


# ---- files that were never written, damaged tables -----------------------------------------------
def test_lists_and_wrapped_data_read_like_datasets(tmp_path):
    nwb = nwb_files.make()
    nwb.add_trial_column("word", "d")
    nwb.add_trial_column("many", "d", index=True)
    for i in range(3):
        nwb.add_trial(start_time=float(i), stop_time=i + 0.5, word="ab"[i % 2], many=[1] * i)
    nwb.trials.add_column(name="w", description="d", data=H5DataIO([1, 2, 3], compression="gzip"))
    nwb.trials.add_column(name="x", description="d", data=H5DataIO(np.array(["p", "q", "r"])))
    before = nbn.trials(nwb, exclude_ragged=False)
    after = nbn.trials(nwb_files.write(nwb, tmp_path / "x.nwb"), exclude_ragged=False)
    assert before["x"].tolist() == ["p", "q", "r"]
    assert before["w"].tolist() == [1, 2, 3]
    for column in after:
        assert before[column].tolist() == after[column].tolist()


def test_data_still_to_come_cannot_be_read():
    column = VectorData(name="x", description="d", data=DataChunkIterator(data=iter([1, 2])))
    with pytest.raises(NB26NWBError, match="write the file first"):
        as_array(column.data, "column 'x'")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, []),
        ([], []),
        ((1, 2), [1, 2]),
        ([True, False], [True, False]),
        (["a", b"b"], ["a", "b"]),
        (np.array(["a"]), ["a"]),
        ([1.5, np.nan], [1.5, np.nan]),
        ([[1], [2]], [[1], [2]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (np.array([[b"a"], [b"b"]]), [["a"], ["b"]]),
    ],
)
def test_the_one_door_to_stored_values(data, expected):
    got = as_array(data, "x")
    assert isinstance(got, np.ndarray)
    for ours, right in zip(got.tolist(), expected, strict=True):
        assert ours == right or np.isnan(right)


def test_damaged_data_are_reported_by_column(tmp_path):
    path = nwb_files.simple(tmp_path / "x.nwb", spikes=None, trials={"cue": np.arange(5000.0)})
    with h5py.File(path, "r+") as file:
        data = file["intervals/trials/cue"][:]
    nwb_files.replace_dataset(path, "intervals/trials/cue", data)
    with h5py.File(path, "r+") as file:
        group = file["intervals/trials"]
        attributes = dict(group["cue"].attrs)
        del group["cue"]
        made = group.create_dataset("cue", data=data, chunks=(1000,), compression="gzip")
        made.attrs.update(attributes)
        place = made.id.get_chunk_info(2)
    content = bytearray(path.read_bytes())
    content[place.byte_offset : place.byte_offset + place.size] = bytes(place.size)
    path.write_bytes(bytes(content))
    with nbn.open(path) as s:
        with pytest.raises(CorruptFileError, match="column 'cue' of 'trials' cannot be read"):
            s.trials()
        assert len(s.trials(columns="start_time")) == 5000


def test_tables_that_contradict_themselves_are_refused_on_opening(tmp_path):
    short = _simple(tmp_path / "x.nwb", cue=np.arange(3.0))
    nwb_files.replace_dataset(short, "intervals/trials/cue", np.arange(2.0))
    gone = _simple(tmp_path / "y.nwb", cue=np.arange(3.0))
    with h5py.File(gone, "r+") as file:
        del file["intervals/trials/cue"]
    for path in (short, gone):
        with pytest.raises(NWBReadError, match="root/intervals/trials"):
            nbn.trials(path)


def test_columns_of_unequal_length_in_memory():
    nwb = nwb_files.make()
    nwb.trials = nwb_files.trial_table({"start_time": np.arange(3.0), "cue": np.arange(3.0)})
    nwb.trials["cue"].data.resize((2,), refcheck=False)
    with pytest.raises(CorruptFileError, match="'cue' of 'trials' has 2 values for 3 rows"):
        nbn.trials(nwb)


@pytest.mark.parametrize("ends", [(2, 1, 3), (1, 2, 2), (1, 2, 9)])
def test_a_bad_index_of_a_ragged_column_names_the_row(tmp_path, ends):
    path = nwb_files.simple(
        tmp_path / "x.nwb",
        trials={"start_time": np.arange(3.0), "tags": [["a"], ["b"], ["c"]]},
        trial_ids=[11, 12, 13],
    )
    nwb_files.replace_dataset(path, "intervals/trials/tags_index", np.array(ends, np.uint8))
    with h5py.File(path, "r+") as file:
        file["intervals/trials/tags_index"].attrs["target"] = file["intervals/trials/tags"].ref
    with pytest.raises(CorruptFileError, match=r"index of 'tags' of 'trials'.*id 1[23]"):
        nbn.trials(path, columns="tags")
    assert len(nbn.trials(path)) == 3
