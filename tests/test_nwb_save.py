"""Saving results: what ends up in the file, where it goes, and what is kept of the source."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import stat
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import nwb_files
import pandas as pd
import pynwb
import pytest
from hdmf.backends.hdf5 import H5DataIO
from pynwb import NWBHDF5IO
from save_tools import (
    READABLE,
    SMALL,
    copied,
    description,
    names_in,
    original,
    parts,
    read_table,
    sha,
    table,
)

import nb26stats
import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, _progress
from nb26stats.nwb import _save_part, _save_provenance, _save_source, save_results


def content(path: Path, replaced: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every object but cached schemas: shape and bytes of data sets, attributes, as text."""
    out: dict[str, Any] = {}
    with h5py.File(path, "r") as file:

        def text(value: Any) -> Any:
            if isinstance(value, h5py.RegionReference):
                return ("region", file[value].name, np.ravel(file[value][value]).tolist())
            if isinstance(value, h5py.Reference):
                return ("reference", file[value].name) if value else "null"
            if isinstance(value, np.ndarray):
                return [str(value.shape), [text(v) for v in value.ravel()]]
            if isinstance(value, np.void):
                return [text(v) for v in value]
            return str(value)

        def visit(name: str, obj: Any) -> None:
            if name.startswith("specifications") or name in replaced:
                return
            attrs = {k: text(v) for k, v in obj.attrs.items()}
            if name == "general/extracellular_ephys/electrodes":
                attrs.pop("neurodata_type", None)
                attrs.pop("namespace", None)
            data = None
            if isinstance(obj, h5py.Dataset):
                plain = obj.dtype.hasobject or obj.shape is None
                value = text(obj[()]) if plain else obj[()].tobytes()
                data = (obj.shape, str(obj.dtype), value)
            out[name] = (attrs, data)

        file.visititems(visit)
    return out


# ---- V15: every readable file ------------------------------------------------------------------
@pytest.mark.parametrize("name", READABLE)
def test_v15_new_file_keeps_everything(name: str, tmp_path: Path) -> None:
    source = copied(name, tmp_path)
    before = sha(source)
    out = save_results(source, {"psth": table()})
    assert out == tmp_path / f"{source.stem}_nb26stats.nwb"
    assert sha(source) == before == sha(original(name))
    assert parts(tmp_path) == []
    held, written = content(source), content(out)
    assert held.keys() <= written.keys()
    assert {k: v for k, v in written.items() if k in held} == held
    stored = read_table(out, "psth")
    pd.testing.assert_frame_equal(
        stored.reset_index(drop=True).astype({"area": object}), table().astype({"area": object})
    )
    with nbn.open(out) as session:
        assert "psth" in session.nwbfile.processing["nb26stats"].data_interfaces


@pytest.mark.parametrize("name", READABLE)
def test_v15_in_place_and_again(name: str, tmp_path: Path) -> None:
    source = copied(name, tmp_path)
    held = content(source)
    assert save_results(source, {"first": table()}, in_place=True) == source
    assert save_results(source, {"second": table(3)}, in_place=True) == source
    assert names_in(source) == {"first", "second"}
    written = content(source)
    assert {k: v for k, v in written.items() if k in held} == held
    assert len(read_table(source, "second")) == 3
    assert parts(tmp_path) == []


def test_append_brings_the_schema_up_and_nothing_else(tmp_path: Path) -> None:
    source = copied("3.0.0_electrodes_dynamic_table.nwb", tmp_path)
    out = save_results(source, {"r": table()})
    with h5py.File(source, "r") as old, h5py.File(out, "r") as new:
        version = new.attrs["nwb_version"]
        assert version != old.attrs["nwb_version"]
        assert version in new["specifications/core"]
        assert set(old["specifications/core"]) <= set(new["specifications/core"])
        assert set(new) == set(old) | {"specifications", "processing"}


# ---- provenance --------------------------------------------------------------------------------
def test_provenance_is_json(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    start = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    frame = table()
    frame.attrs["nb26stats"] = {
        "function": "my_fit",
        "parameters": {"n": np.int64(3), "x": np.nan, "w": np.array([1.0, 2.0])},
        "seed": 2**60,
        "note": "n1",
        "descriptions": {"rate": "spikes per second"},
    }
    out = save_results(source, {"psth": frame, "plain": table()}, description="für Anna")
    told = json.loads(description(out, "psth"))
    assert told["nb26stats"] == nb26stats.__version__
    assert told["function"] == "my_fit"
    assert told["parameters"] == {"n": 3, "x": None, "w": [1.0, 2.0]}
    assert told["seed"] == 2**60
    assert told["info"] == {"note": "n1"}
    assert told["numpy"] == np.__version__
    assert told["pynwb"] == pynwb.__version__
    assert told["source"] == SMALL
    assert told["source_sha256"] == sha(source)
    assert told["description"] == "für Anna"
    written = datetime.datetime.fromisoformat(told["utc"])
    assert start <= written <= datetime.datetime.now(datetime.UTC)
    plain = json.loads(description(out, "plain"))
    assert plain["seed"] is None
    assert plain["parameters"] == {}
    assert str(tmp_path) not in description(out, "psth")
    with h5py.File(out, "r") as file:
        columns = file["processing/nb26stats/psth"]
        assert columns["rate"].attrs["description"] == "spikes per second"
        assert columns["area"].attrs["description"] == "column area of a result"


def test_provenance_of_our_own_tables(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    with pytest.warns(NB26StatsWarning, match="relative to start_time"):
        bh = nbn.behavior(source)
    out = save_results(source, {"trials_read": nbn.trials(source), "bh": bh})
    told = json.loads(description(out, "trials_read"))
    assert told["parameters"]["table"] == "trials"
    assert "descriptions" not in told["parameters"]
    assert json.loads(description(out, "bh"))["parameters"]["convention"] == "alm"
    stored = read_table(out, "trials_read")
    assert stored["row_id"].tolist() == nbn.trials(source).index.tolist()
    assert read_table(out, "bh")["choice"].tolist() == bh["choice"].tolist()


def test_hash_in_place_is_of_the_file_before(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    before = sha(source)
    save_results(source, {"a": table()}, in_place=True)
    between = sha(source)
    save_results(source, {"b": table()}, in_place=True)
    assert json.loads(description(source, "a"))["source_sha256"] == before
    assert json.loads(description(source, "b"))["source_sha256"] == between


# ---- kinds of source and result ----------------------------------------------------------------
def test_source_may_be_path_session_or_nwbfile(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    first = save_results(str(source), {"r": table()}, out=tmp_path / "1.nwb")
    with nbn.open(source) as session:
        second = save_results(session, {"r": table()}, out=str(tmp_path / "2.nwb"))
        assert len(session.trials()) == 178
    # a closed session still knows its file
    third = save_results(session, {"r": table()}, out=tmp_path / "3.nwb")
    with NWBHDF5IO(str(source), "r") as io:
        fourth = save_results(io.read(), {"r": table()}, out=tmp_path / "4.nwb")
        assert len(io.read().trials) == 178
    for path in (first, second, third, fourth):
        assert names_in(path) == {"r"}


def test_nwbfile_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="write the file first"):
        save_results(nwb_files.make(), {"r": table()}, out=tmp_path / "x.nwb")
    session = nbn.open(nwb_files.make())
    with pytest.raises(ValueError, match="write the file first"):
        save_results(session, {"r": table()}, out=tmp_path / "x.nwb")
    assert os.listdir(tmp_path) == []


def test_session_in_the_same_process_keeps_the_old_content(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    with nbn.open(source) as session:
        save_results(session, {"r": table()}, in_place=True)
        assert "nb26stats" not in session.nwbfile.processing
        assert int(session.nwbfile.units.spike_times.shape[0]) == 1679
        assert len(session.nwbfile.units.spike_times[:]) == 1679
    assert names_in(source) == {"r"}


def test_time_series(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    rng = np.random.default_rng(1)
    trace = rng.normal(size=(50, 3)).astype(np.float32)
    out = save_results(
        source,
        {
            "regular": {"data": trace, "rate": 10, "unit": "V"},
            "later": {"data": [1, 2, 3], "rate": 2.0, "starting_time": 5, "unit": "a"},
            "irregular": {"data": [True, False], "timestamps": (0.5, 2.0), "unit": "flag"},
            "one": {"data": 4.0, "timestamps": 0.25, "unit": "V"},
            "fortran": {"data": np.asfortranarray(trace), "rate": 1, "unit": "V"},
        },
    )
    with NWBHDF5IO(str(out), "r") as io:
        module = io.read().processing["nb26stats"]
        np.testing.assert_array_equal(module["regular"].data[:], trace)
        assert module["regular"].data.dtype == np.float32
        assert (module["regular"].rate, module["regular"].starting_time) == (10.0, 0.0)
        assert (module["later"].rate, module["later"].starting_time) == (2.0, 5.0)
        assert module["later"].data.dtype.kind == "i"
        assert module["irregular"].timestamps[:].tolist() == [0.5, 2.0]
        assert module["irregular"].data[:].tolist() == [True, False]
        assert module["irregular"].unit == "flag"
        assert module["one"].data.shape == (1,)
        np.testing.assert_array_equal(module["fortran"].data[:], trace)


def test_plain_dict_of_lists_is_a_table(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    out = save_results(source, {"t": {"x": [1.0, 2.0], "s": ("a", "b")}, "one": {"x": 3.0}})
    assert read_table(out, "t")["s"].tolist() == ["a", "b"]
    assert read_table(out, "one")["x"].tolist() == [3.0]


def test_psth_and_spike_counts(tmp_path: Path) -> None:
    source = copied("A2929-200711_neurosuite.nwb", tmp_path)
    counts = nbn.spike_counts(
        source, table="sleep_ripples", window=(-0.1, 0.2), bin_size=0.1, areas=["adn", "ca1"]
    )
    with pytest.raises(ValueError, match="store_counts=True"):
        save_results(source, {"sc": counts})
    assert os.listdir(tmp_path) == [source.name]
    out = save_results(source, {"psth": counts.psth("adn"), "sc": counts}, store_counts=True)
    assert names_in(out) == {"psth", "sc_adn", "sc_ca1"}
    told = json.loads(description(out, "sc_ca1"))
    assert told["result"] == "sc"
    assert told["area"] == "ca1"
    assert told["unit_ids"] == counts.unit_ids["ca1"].tolist()
    assert (told["n_trials"], told["n_units"]) == (594, 8)
    assert told["parameters"]["align_to"] == "start_time"
    with nbn.open(out) as session:
        stored = session.nwbfile.processing["nb26stats"]["sc_ca1"]
        assert stored.data.shape == (3, 594 * 8)
        back = stored.data[:].reshape(3, 594, 8).transpose(1, 0, 2)
        np.testing.assert_array_equal(back, counts.counts["ca1"])
        assert stored.data.dtype == np.int32
        assert stored.rate == pytest.approx(10.0)
        assert stored.starting_time == pytest.approx(-0.1)
        assert stored.unit == "spikes"
    psth = read_table(out, "psth")
    np.testing.assert_array_equal(psth["mean"], counts.psth("adn").mean)


def test_spike_counts_area_names_that_nwb_cannot_hold(tmp_path: Path) -> None:
    source = copied("A2929-200711_neurosuite.nwb", tmp_path)
    counts = nbn.spike_counts(
        source, table="sleep_ripples", window=(0, 0.1), bin_size=0.1, areas={"VISp2/3 a": ["adn"]}
    )
    out = save_results(source, {"sc": counts}, store_counts=True)
    assert names_in(out) == {"sc_VISp2_3_a"}
    assert json.loads(description(out, "sc_VISp2_3_a"))["area"] == "VISp2/3 a"
    clash = {"sc": counts, "sc_VISp2_3_a": table()}
    with pytest.raises(ValueError, match="both be stored as 'sc_VISp2_3_a'"):
        save_results(source, clash, out=tmp_path / "x.nwb", store_counts=True)


def test_overwriting_counts_replaces_all_areas_of_that_result(tmp_path: Path) -> None:
    source = copied("A2929-200711_neurosuite.nwb", tmp_path)
    both = nbn.spike_counts(source, table="sleep_ripples", window=(0, 0.1), bin_size=0.1)
    one = nbn.spike_counts(
        source, table="sleep_ripples", window=(0, 0.1), bin_size=0.1, areas=["adn"]
    )
    save_results(source, {"sc": both, "keep": table()}, in_place=True, store_counts=True)
    assert names_in(source) == {"sc_adn", "sc_ca1", "keep"}
    with pytest.raises(ValueError, match="already holds results named sc_adn, sc_ca1"):
        save_results(source, {"sc": one}, in_place=True, store_counts=True)
    with pytest.warns(NB26StatsWarning, match="sc_adn, sc_ca1"):
        save_results(source, {"sc": one}, in_place=True, overwrite=True, store_counts=True)
    assert names_in(source) == {"sc_adn", "keep"}


# ---- where it goes -----------------------------------------------------------------------------
def test_existing_out_is_refused_and_kept(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    out = save_results(source, {"a": table()})
    before = sha(out)
    with pytest.raises(ValueError, match="exists: pass overwrite=True"):
        save_results(source, {"b": table()})
    assert sha(out) == before


def test_overwrite_makes_out_anew_and_names_what_is_lost(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    out = save_results(source, {"old_one": table(), "old_two": table()})
    out.chmod(0o640)
    with pytest.warns(NB26StatsWarning, match=r"are lost \(old_one, old_two\)") as caught:
        save_results(source, {"b": table()}, overwrite=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert names_in(out) == {"b"}
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_overwrite_without_anything_to_lose_is_silent(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    (tmp_path / "x.nwb").write_text("notes")
    out = save_results(source, {"b": table()}, out=tmp_path / "x.nwb", overwrite=True)
    assert names_in(out) == {"b"}


def test_warning_as_error_leaves_out_alone(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    out = save_results(source, {"a": table()})
    before = sha(out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NB26StatsWarning):
            save_results(source, {"b": table()}, overwrite=True)
    assert sha(out) == before
    assert parts(tmp_path) == []


def test_in_place_with_a_taken_name(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    save_results(source, {"a": table(), "b": table()}, in_place=True)
    before = sha(source)
    with pytest.raises(ValueError, match="already holds results named a, b; choose other names"):
        save_results(source, {"b": table(2), "a": table(), "c": table()}, in_place=True)
    assert sha(source) == before
    with pytest.warns(NB26StatsWarning, match="does not give back the space") as caught:
        save_results(source, {"b": table(2)}, in_place=True, overwrite=True)
    assert len(caught) == 1
    assert len(read_table(source, "b")) == 2
    assert len(read_table(source, "a")) == 6


def test_copy_of_a_file_that_holds_the_name(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    first = save_results(source, {"a": table(), "b": table()})
    with pytest.raises(ValueError, match="already holds results named a"):
        save_results(first, {"a": table(3)}, out=tmp_path / "y.nwb")
    with pytest.warns(NB26StatsWarning, match="the results a of"):
        second = save_results(first, {"a": table(3)}, out=tmp_path / "y.nwb", overwrite=True)
    assert len(read_table(second, "a")) == 3
    assert len(read_table(second, "b")) == 6
    assert len(read_table(first, "a")) == 6


def test_out_equal_to_source_needs_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copied(SMALL, tmp_path)
    link = tmp_path / "link.nwb"
    link.symlink_to(source)
    monkeypatch.chdir(tmp_path)
    for out in (source, SMALL, f"./{SMALL}", link):
        for overwrite in (False, True):
            with pytest.raises(ValueError, match="pass in_place=True"):
                save_results(source, {"a": table()}, out=out, overwrite=overwrite)
    assert save_results(source, {"a": table()}, out=SMALL, in_place=True) == source
    with pytest.raises(ValueError, match="is another file; leave out away"):
        save_results(source, {"b": table()}, out=tmp_path / "new.nwb", in_place=True)


def test_symlinks_stay_and_their_targets_are_written(tmp_path: Path) -> None:
    real = tmp_path / "store"
    real.mkdir()
    desk = tmp_path / "desk"
    desk.mkdir()
    source = copied(SMALL, real)
    before = sha(source)
    link = desk / "session.nwb"
    link.symlink_to(source)
    # beside the link, under the link's name
    out = save_results(link, {"a": table()})
    assert out == desk / "session_nb26stats.nwb"
    assert link.is_symlink()
    assert sha(source) == before
    # out is a link to an existing file, then to one that does not exist yet
    target = real / "results.nwb"
    target.write_bytes(out.read_bytes())
    shown = desk / "shown.nwb"
    shown.symlink_to(target)
    with pytest.warns(NB26StatsWarning, match="shown.nwb is made anew"):
        assert save_results(link, {"b": table()}, out=shown, overwrite=True) == shown
    assert shown.is_symlink()
    assert names_in(target) == {"b"}
    dangling = desk / "dangling.nwb"
    dangling.symlink_to(real / "fresh.nwb")
    save_results(link, {"c": table()}, out=dangling)
    assert dangling.is_symlink()
    assert names_in(real / "fresh.nwb") == {"c"}
    # in place through a link
    save_results(link, {"d": table()}, in_place=True)
    assert link.is_symlink()
    assert not source.is_symlink()
    assert names_in(source) == {"d"}
    assert parts(real) == parts(desk) == []


def test_hard_links_refuse_in_place(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    other = tmp_path / "other_name.nwb"
    os.link(source, other)
    before = sha(source)
    with pytest.raises(ValueError, match="2 names"):
        save_results(source, {"a": table()}, in_place=True)
    with pytest.raises(ValueError, match="pass in_place=True"):
        save_results(source, {"a": table()}, out=other, overwrite=True)
    assert sha(source) == sha(other) == before
    assert names_in(save_results(source, {"a": table()})) == {"a"}


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o644, 0o644), (0o444, 0o644), (0o600, 0o600), (0o664, 0o664)]
)
def test_mode_bits_come_from_the_source(mode: int, expected: int, tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    source.chmod(mode)
    out = save_results(source, {"a": table()})
    assert stat.S_IMODE(out.stat().st_mode) == expected
    assert stat.S_IMODE(source.stat().st_mode) == mode


def test_read_only_file_refuses_in_place_for_root_too(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    source.chmod(0o444)
    before = sha(source)
    with pytest.raises(PermissionError, match="read-only"):
        save_results(source, {"a": table()}, in_place=True)
    assert sha(source) == before
    assert parts(tmp_path) == []


def test_paths_with_spaces_unicode_and_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my data é 数据 'q\""
    folder.mkdir()
    source = copied(SMALL, folder)
    source = source.rename(folder / "sub 01.ses é.nwb")
    monkeypatch.chdir(folder)
    out = save_results(Path(source.name), {"a b é": table()})
    assert out == folder / "sub 01.ses é_nb26stats.nwb"
    assert out.is_absolute()
    assert len(read_table(out, "a b é")) == 6
    up = save_results(source.name, {"a": table()}, out="../up.nwb")
    assert up == tmp_path / "up.nwb"
    monkeypatch.setenv("HOME", str(tmp_path))
    home = save_results("~/up.nwb", {"b": table()}, out="~/home.nwb")
    assert home == tmp_path / "home.nwb"
    assert names_in(home) == {"a", "b"}


def test_longest_file_name(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    out = tmp_path / ("x" * 251 + ".nwb")
    assert save_results(source, {"a": table()}, out=out) == out
    assert names_in(out) == {"a"}
    name = _save_part._prefix(out)
    assert len(name) < 150
    assert "x" * 10 not in name


# ---- files that point elsewhere ----------------------------------------------------------------
def linked_file(folder: Path, kind: str, absolute: bool) -> Path:
    other = folder / "raw.h5"
    with h5py.File(other, "w") as file:
        file["x"] = np.arange(5.0)
    where = str(other) if absolute else "raw.h5"
    nwbfile = nwb_files.make()
    if kind == "external_file":
        nwbfile.add_acquisition(
            pynwb.image.ImageSeries(
                name="video",
                external_file=[where, "https://example.org/v.avi"],
                starting_frame=[0, 10],
                format="external",
                timestamps=np.arange(20.0),
                unit="n.a.",
            )
        )
    path = nwb_files.write(nwbfile, folder / "linked.nwb")
    if kind == "external link":
        with h5py.File(path, "r+") as file:
            file["acquisition/raw"] = h5py.ExternalLink(where, "/x")
    return path


@pytest.mark.parametrize("kind", ["external link", "external_file"])
def test_relative_links_stay_in_their_folder(kind: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    away = tmp_path / "away"
    away.mkdir()
    source = linked_file(home, kind, absolute=False)
    with pytest.raises(ValueError, match=r"would break in .*-> raw\.h5") as caught:
        save_results(source, {"a": table()}, out=away / "x.nwb")
    assert "example.org" not in str(caught.value)
    assert os.listdir(away) == []
    assert names_in(save_results(source, {"a": table()})) == {"a"}
    # another way to the same folder
    (tmp_path / "door").symlink_to(home)
    assert names_in(save_results(source, {"a": table()}, out=tmp_path / "door" / "y.nwb")) == {"a"}
    side = save_results(source, {"a": table()}, out=away / "side.nwb", mode="sidecar")
    assert names_in(side) == {"a"}


@pytest.mark.parametrize("kind", ["external link", "external_file"])
def test_absolute_links_may_go_anywhere(kind: str, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    source = linked_file(tmp_path, kind, absolute=True)
    out = save_results(source, {"a": table()}, out=away / "x.nwb")
    assert names_in(out) == {"a"}
    if kind == "external link":
        with h5py.File(out, "r") as file:
            assert file["acquisition/raw"][:].tolist() == [0, 1, 2, 3, 4]


def test_data_in_other_files_and_a_folder_that_is_not_ascii(tmp_path: Path) -> None:
    folder = tmp_path / "données"
    folder.mkdir()
    raw = nwb_files.make(identifier="raw")
    raw.add_acquisition(pynwb.TimeSeries(name="lfp", data=np.arange(9.0), unit="V", rate=1.0))
    with NWBHDF5IO(str(nwb_files.write(raw, folder / "raw.nwb")), "r") as io:
        linked = nwb_files.make()
        data = H5DataIO(io.read().acquisition["lfp"].data, link_data=True)
        linked.add_acquisition(pynwb.TimeSeries(name="here", data=data, unit="V", rate=1.0))
        source = nwb_files.write(linked, folder / "linked.nwb")
    with h5py.File(source, "r+") as file:
        # the same path in both files: the link must not be taken for one to the file itself
        file["acquisition/lfp"] = h5py.ExternalLink("raw.nwb", "/acquisition/lfp")
    for out in (
        save_results(source, {"a": table()}),
        save_results(source, {"b": table()}, in_place=True),
    ):
        with NWBHDF5IO(str(out), "r") as io:
            held = io.read().acquisition
            assert held["here"].data[:].tolist() == list(range(9))
            assert held["lfp"].data[:].tolist() == list(range(9))
        with h5py.File(out, "r") as file:
            assert file["acquisition"].get("lfp", getlink=True).filename == "raw.nwb"
            assert (
                file["acquisition/here"].get("data", getlink=True).path == "/acquisition/lfp/data"
            )
    assert names_in(folder / "raw.nwb") == set()


def test_virtual_and_external_storage_by_relative_path(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    nwbfile = nwb_files.make()
    for name in ("virtual", "outside"):
        series = pynwb.TimeSeries(name=name, data=np.zeros(4), unit="V", rate=1.0)
        nwbfile.add_acquisition(series)
    source = nwb_files.write(nwbfile, tmp_path / "s.nwb")
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["x"] = np.arange(4.0)
    with h5py.File(source, "r+") as file:
        for name in ("virtual", "outside"):
            group = file[f"acquisition/{name}"]
            attrs = dict(group["data"].attrs)
            del group["data"]
            if name == "virtual":
                layout = h5py.VirtualLayout((4,), "f8")
                layout[:] = h5py.VirtualSource("part.h5", "x", (4,))
                data = group.create_virtual_dataset("data", layout)
            else:
                raw = [("raw.bin", 0, h5py.h5f.UNLIMITED)]
                data = group.create_dataset("data", (4,), "f8", external=raw)
            data.attrs.update(attrs)
    with pytest.raises(ValueError, match="would break") as caught:
        save_results(source, {"a": table()}, out=away / "x.nwb")
    assert "/acquisition/virtual/data -> part.h5" in str(caught.value)
    assert "/acquisition/outside/data -> raw.bin" in str(caught.value)
    assert os.listdir(away) == []
    out = save_results(source, {"a": table()})
    with h5py.File(out, "r") as file:
        assert file["acquisition/virtual/data"][:].tolist() == [0, 1, 2, 3]
        assert file["acquisition/outside/data"].external[0][0] == "raw.bin"


def test_values_of_any_kind_become_json() -> None:
    def fit() -> None:
        """Stand for a callable parameter."""

    known = {
        "numbers": (1, np.float32(0.5), np.int8(3), True, np.bool_(False), None),
        "not finite": [np.nan, np.inf, np.array([1.0, np.nan])],
        "times": [datetime.date(2024, 1, 2), np.datetime64("2024-01-02")],
        "slice": slice(0, 3),
        "path": Path("/secret/place.nwb"),
        "callable": fit,
        "object": table(),
        3: {"nested": {1}},
        "long": np.zeros((400, 300)),
        "long list": [0] * 100_001,
    }
    told = json.loads(json.dumps(_save_provenance.plain(known), allow_nan=False))
    assert told == {
        "numbers": [1, 0.5, 3, True, False, None],
        "not finite": [None, None, [1.0, None]],
        "times": ["2024-01-02", "2024-01-02"],
        "slice": "slice(0, 3, None)",
        "path": "place.nwb",
        "callable": "test_values_of_any_kind_become_json.<locals>.fit",
        "object": "DataFrame",
        "3": {"nested": [1]},
        "long": "array of shape (400, 300), float64",
        "long list": "list of 100001 elements",
    }


@pytest.mark.parametrize("text", [None, 3, "", "no JSON", "[1]", '{"result": 3}', b'{"x": 1}'])
def test_descriptions_of_others_belong_to_no_result(text: Any) -> None:
    assert _save_provenance.result_of(text) is None
    assert _save_provenance.result_of(b'{"result": "psth"}') == "psth"


@pytest.mark.parametrize("mode", ["copy", "sidecar"])
def test_large_files_show_progress(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copied(SMALL, tmp_path)
    shown: list[tuple[str, int, int, bool]] = []

    class Bar:
        def __init__(self, total: int, *, desc: str, quiet: bool, unit: str = "") -> None:
            self.total, self.desc, self.quiet, self.done = total, desc, quiet, 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            shown.append((self.desc, self.total, self.done, self.quiet))

        def update(self, n: int) -> None:
            self.done += n

    monkeypatch.setattr(_progress, "bar", Bar)
    size = source.stat().st_size
    save_results(source, {"a": table()}, mode=mode)
    verb = "copying" if mode == "copy" else "hashing"
    assert shown[0] == (f"{verb} {SMALL}", size, size, True)
    assert all(total == done for _, total, done, _ in shown)
    shown.clear()
    monkeypatch.setattr(_save_source, "_BAR_FROM", 1)
    save_results(source, {"b": table()}, mode=mode, out=tmp_path / "b.nwb")
    assert shown[0] == (f"{verb} {SMALL}", size, size, False)


def test_counts_that_are_rates_or_empty(tmp_path: Path) -> None:
    source = copied("A2929-200711_neurosuite.nwb", tmp_path)
    rates = nbn.spike_counts(
        source, table="sleep_ripples", window=(0, 0.1), bin_size=0.05, rate=True, trials=[0, 3]
    )
    out = save_results(source, {"r": rates}, store_counts=True)
    with nbn.open(out) as session:
        stored = session.nwbfile.processing["nb26stats"]["r_ca1"]
        assert stored.unit == "spikes/s"
        assert stored.data.shape == (2, 16)
    assert json.loads(description(out, "r_ca1"))["trial_index"] == [0, 3]
    none = dataclasses.replace(rates, counts={k: v[:0] for k, v in rates.counts.items()})
    with pytest.raises(ValueError, match="no counts in area 'adn'"):
        save_results(source, {"r": none}, out=tmp_path / "x.nwb", store_counts=True)


def test_a_name_that_starts_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = copied(SMALL, tmp_path)
    out = save_results(source, {"a": table()}, out="~nobody of that name.nwb")
    assert out == tmp_path / "~nobody of that name.nwb"
    assert out.is_file()
