"""The comparison of a written file with its source, and with what was sent."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from save_tools import SMALL, copied, names_in, parts, sha, table

from nb26stats.nwb import _save, _save_walk, save_results
from nb26stats.nwb._save_items import DiffersError
from nb26stats.nwb._save_results import convert_results
from nb26stats.nwb._save_verify import check_items
from nb26stats.nwb._save_walk import check_source_kept
from nb26stats.nwb._save_write import add_to_copy


def bits(group: h5py.Group, name: str) -> None:
    space = h5py.h5s.create_simple((2,))
    h5py.h5d.create(group.id, name.encode(), h5py.h5t.STD_B8LE, space)


def exotic(path: Path) -> Path:
    """A file with every kind of object and value that HDF5 and h5py know."""
    with h5py.File(path, "w") as file:
        group = file.create_group("g")
        group["numbers"] = np.array([1.0, np.nan, -0.0])
        group["fixed"] = np.array([b"ab", b"c"])
        group["text"] = np.array(["a", "bé"], dtype=h5py.string_dtype())
        group["one text"] = "scalar"
        group["scalar"] = np.int16(3)
        group["null"] = h5py.Empty("f4")
        group["enum"] = np.array([0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, basetype="i1"))
        group["bool"] = np.array([True, False])
        group["half"] = np.array([1.5], np.float16)
        group["complex"] = np.array([1 + 2j])
        group["opaque"] = np.array([np.void(b"abc")])
        ragged = group.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype(np.int32))
        ragged[0], ragged[2] = [1, 2, 3], [4]
        one = group.create_dataset("one ragged", (), dtype=h5py.vlen_dtype(np.int32))
        one[()] = np.array([5, 6], np.int32)
        words = group.create_dataset("words", (1,), dtype=h5py.vlen_dtype(h5py.string_dtype()))
        words[0] = np.array(["x", "y"], dtype=object)
        kind = np.dtype(
            [
                ("i", "i4"),
                ("x", "f8", (2,)),
                ("s", h5py.string_dtype()),
                ("r", h5py.ref_dtype),
                ("n", [("deep", "u1")]),
            ],
            align=True,
        )
        rows = np.zeros(2, kind)
        rows["i"], rows["x"], rows["s"] = [1, 2], [[0, 1], [2, 3]], ["a", "b"]
        rows["r"] = [group.ref, group["numbers"].ref]
        rows["n"]["deep"] = [7, 8]
        group["rows"] = rows
        group["one row"] = rows[0]
        group["named type"] = np.dtype("f4")
        group["refs"] = np.array(
            [group.ref, h5py.Reference(), group["text"].ref], dtype=h5py.ref_dtype
        )
        numbers = group["numbers"]
        grid = group.create_dataset("grid", data=np.arange(12).reshape(3, 4))
        group["regions"] = np.array(
            [numbers.regionref[0:2], grid.regionref[:, 1:3], grid.regionref[...]],
            dtype=h5py.regionref_dtype,
        )
        points = np.zeros((3, 4), bool)
        points[[0, 2], [1, 3]] = True
        group["points"] = np.array([grid.regionref[points]], dtype=h5py.regionref_dtype)
        file["z packed"] = group.create_dataset(
            "packed", data=np.arange(1000), chunks=(100,), compression="gzip", shuffle=True
        )
        group.create_dataset("sparse", (1000,), "f8", chunks=(100,))
        group["z hard"] = numbers
        group["soft"] = h5py.SoftLink("/g/text")
        group["broken"] = h5py.SoftLink("/nowhere")
        group["external"] = h5py.ExternalLink("other.h5", "/x")
        group["loop"] = group
        group["empty"] = np.empty((0, 3))
        bits(group, "bits")
        h5py.h5a.create(group.id, b"bits", h5py.h5t.STD_B8LE, h5py.h5s.create_simple((2,)))
        attrs = group.attrs
        attrs["number"], attrs["array"], attrs["text"] = 1.5, np.array([1, 2]), "é"
        attrs["texts"] = ["a", "b"]
        attrs["ref"], attrs["region"] = grid.ref, grid.regionref[0, :]
        attrs["null"] = h5py.Empty("S3")
        attrs["refs"] = np.array([grid.ref], dtype=h5py.ref_dtype)
        attrs["row"] = rows[0]
        numbers.attrs["unit"] = "V"
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:2] = h5py.VirtualSource("other.h5", "y", (2,))
        group.create_virtual_dataset("virtual", layout)
        raw = [("raw.bin", 0, 16)]
        group.create_dataset("outside", (2,), "f8", external=raw)
        # two data sets to break references with
        file["spare"] = np.arange(4.0)
        file["gone"] = np.arange(2)
        group["dangling"] = np.array([file["gone"].ref], dtype=h5py.ref_dtype)
        del file["gone"]
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    source = exotic(tmp_path / "source.h5")
    part = tmp_path / "copy.h5"
    shutil.copyfile(source, part)
    return source, part


def test_equal_files_pass_and_new_objects_do_not_matter(pair: tuple[Path, Path]) -> None:
    source, part = pair
    assert check_source_kept(source, part) is None
    with h5py.File(part, "r+") as file:
        file["g/new"] = 1
        file["other"] = 2
        file.attrs["nwb_version"] = "3"
        file.attrs["object_id"] = "x"
    assert check_source_kept(source, part) is None


def replace(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = value

    return change


def put(name: str, where: Any, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][where] = value

    return change


def field(name: str, key: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        rows = file[name][()]
        rows[key][0] = value
        file[name][()] = rows

    return change


def attribute(name: str, value: Any) -> Callable[[h5py.File], None]:
    return lambda file: file["g"].attrs.__setitem__(name, value)


def moved(file: h5py.File) -> None:
    # an equal data set at another address: references still lead to the old place
    file["new"] = file["g/grid"][()]
    del file["g/grid"]
    file.move("new", "g/grid")


def outside(file: h5py.File, name: str) -> None:
    file.create_dataset("g/outside", (2,), "f8", external=[(name, 0, 16)])


def virtual(file: h5py.File, name: str, stop: int) -> None:
    del file["g/virtual"]
    layout = h5py.VirtualLayout((4,), "f8")
    layout[stop - 2 : stop] = h5py.VirtualSource("other.h5", name, (2,))
    file.create_virtual_dataset("g/virtual", layout)


def link(name: str, value: Any) -> Callable[[h5py.File], None]:
    return replace(name, value)


CHANGES: dict[str, tuple[Callable[[h5py.File], Any], str]] = {
    "missing data set": (lambda f: f.__delitem__("spare"), "/spare is missing"),
    "missing link": (lambda f: f.__delitem__("g/soft"), "/g/soft is missing"),
    "value": (put("g/numbers", 0, 2.0), "the values of /g/numbers differ"),
    "sign of zero": (put("g/numbers", 2, 0.0), "the values of /g/numbers differ"),
    "packed value": (put("g/packed", 5, -1), "the values of /z packed differ"),
    "fixed text": (put("g/fixed", 0, b"aX"), "the values of /g/fixed"),
    "text": (put("g/text", 1, "bè"), "the values of /g/text"),
    "one text": (put("g/one text", (), "Scalar"), "the values of /g/one text"),
    "scalar": (put("g/scalar", (), 4), "the values of /g/scalar"),
    "enum value": (put("g/enum", 0, 1), "the values of /g/enum"),
    "opaque": (put("g/opaque", 0, np.void(b"abd")), "the values of /g/opaque"),
    "ragged element": (put("g/ragged", 0, [1, 2, 4]), "the values of /g/ragged"),
    "ragged length": (put("g/ragged", 1, [1]), "the values of /g/ragged"),
    "one ragged": (put("g/one ragged", (), np.array([5], "i4")), "the values of /g/one ragged"),
    "ragged text": (put("g/words", 0, np.array(["x", "z"], object)), "the values of /g/words"),
    "field": (field("g/rows", "i", 9), "the values of /g/rows"),
    "array field": (field("g/rows", "x", [9, 9]), "the values of /g/rows"),
    "text field": (field("g/rows", "s", "z"), "the values of /g/rows"),
    "deep field": (field("g/rows", "n", (9,)), "the values of /g/rows"),
    "shape": (replace("spare", np.arange(5.0)), r"/spare has shape \(5,\), not \(4,\)"),
    "not null": (replace("g/null", np.float32(1)), r"/g/null has shape \(\), not None"),
    "other null": (replace("g/null", h5py.Empty("f8")), "/g/null has another type"),
    "type": (replace("spare", np.arange(4)), "/spare has another type"),
    "byte order": (replace("spare", np.arange(4, dtype=">f8")), "/spare has another type"),
    "enum names": (
        replace("g/enum", np.array([0, 1], h5py.enum_dtype({"A": 0, "C": 1}, basetype="i1"))),
        "/g/enum has another type",
    ),
    "bool to number": (replace("g/bool", np.array([1, 0], "i1")), "/g/bool has another type"),
    "text encoding": (
        replace("g/text", np.array(["a", "b"], dtype=h5py.string_dtype("ascii"))),
        "/g/text has another type",
    ),
    "fixed text for any": (
        replace("g/fixed", np.array(["ab", "c"], dtype=h5py.string_dtype())),
        "/g/fixed has another type",
    ),
    "ragged type": (
        lambda f: (
            f.__delitem__("g/ragged"),
            f.create_dataset("g/ragged", (3,), h5py.vlen_dtype("i8")),
        ),
        "/g/ragged has another type",
    ),
    "fields": (replace("g/rows", np.zeros(2, [("i", "i4")])), "/g/rows has another type"),
    "plain for fields": (replace("g/rows", np.zeros(2)), "/g/rows has another type"),
    "bit field": (replace("g/bits", np.zeros(2, "u1")), "/g/bits has another type"),
    "other file": (
        lambda f: (f.__delitem__("g/outside"), outside(f, "other.bin")),
        "the values of /g/outside",
    ),
    "no other file": (replace("g/outside", np.zeros(2)), "the values of /g/outside"),
    "virtual source": (lambda f: virtual(f, "z", 2), "the values of /g/virtual"),
    "virtual place": (lambda f: virtual(f, "y", 3), "the values of /g/virtual"),
    "not virtual": (replace("g/virtual", np.zeros(4)), "the values of /g/virtual"),
    "named type": (replace("g/named type", np.dtype("f8")), "/g/named type is another type"),
    "named type for data": (replace("g/named type", 1.0), "/g/named type is a Dataset"),
    "group for data": (
        lambda f: (f.__delitem__("spare"), f.create_group("spare")),
        "/spare is a Group, not a Dataset",
    ),
    "soft link": (link("g/soft", h5py.SoftLink("/spare")), "/g/soft links to somewhere else"),
    "external link": (
        link("g/external", h5py.ExternalLink("other.h5", "/y")),
        "/g/external links to somewhere else",
    ),
    "kind of link": (link("g/soft", 1), "/g/soft is another kind of link"),
    "hard link": (link("g/z hard", np.array([1.0, np.nan, -0.0])), "no longer the same object"),
    "loop": (lambda f: (f.__delitem__("g/loop"), f.create_group("g/loop")), "no longer the same"),
    "attribute": (attribute("number", 2.5), "attribute 'number' of /g differs"),
    "attribute type": (attribute("number", np.float32(1.5)), "attribute 'number' of /g differs"),
    "attribute shape": (attribute("array", np.array([1, 2, 3])), "'array' of /g differs"),
    "attribute text": (attribute("text", "e"), "'text' of /g differs"),
    "attribute texts": (attribute("texts", ["a", "c"]), "'texts' of /g differs"),
    "attribute null": (attribute("null", h5py.Empty("S4")), "'null' of /g differs"),
    "attribute bits": (attribute("bits", np.array([1, 2], "u1")), "'bits' of /g differs"),
    "attribute missing": (lambda f: f["g"].attrs.__delitem__("text"), "'text' of /g is missing"),
    "attribute new": (attribute("more", 1), "'more' of /g is new"),
    "attribute of the root": (lambda f: f.attrs.__setitem__("x", 1), "'x' of / is new"),
    "reference": (lambda f: put("g/refs", 0, f["spare"].ref)(f), "the values of /g/refs"),
    "reference to null": (put("g/refs", 0, h5py.Reference()), "the values of /g/refs"),
    "null to reference": (lambda f: put("g/refs", 1, f["spare"].ref)(f), "the values of /g/refs"),
    "reference in a field": (
        lambda f: field("g/rows", "r", f["spare"].ref)(f),
        "the values of /g/rows",
    ),
    "attribute reference": (
        lambda f: attribute("ref", f["spare"].ref)(f),
        "attribute 'ref' of /g differs",
    ),
    "region": (
        lambda f: put("g/regions", 0, f["g/numbers"].regionref[0:3])(f),
        "the values of /g/regions",
    ),
    "region of another": (
        lambda f: put("g/regions", 0, f["spare"].regionref[0:2])(f),
        "the values of /g/regions",
    ),
    "whole to part": (
        lambda f: put("g/regions", 2, f["g/grid"].regionref[0:1, :])(f),
        "the values of /g/regions",
    ),
    "attribute region": (
        lambda f: attribute("region", f["g/grid"].regionref[1, :])(f),
        "attribute 'region' of /g differs",
    ),
    "target replaced": (moved, "the values of /g/regions"),
    "dangling no more": (
        lambda f: put("g/dangling", 0, f["spare"].ref)(f),
        "the values of /g/dangling",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_every_change_is_found(case: str, pair: tuple[Path, Path]) -> None:
    source, part = pair
    change, message = CHANGES[case]
    with h5py.File(part, "r+") as file:
        change(file)
    with pytest.raises(DiffersError, match=message) as caught:
        check_source_kept(source, part)
    assert "does not hold everything source.h5 holds" in str(caught.value)


def test_references_count_by_path_not_by_address(tmp_path: Path) -> None:
    paths = []
    for order in (("a", "b"), ("b", "a")):
        path = tmp_path / f"{order[0]}.h5"
        paths.append(path)
        with h5py.File(path, "w") as file:
            for name in order:
                file[name] = np.arange(3)
            file["refs"] = np.array([file["a"].ref, file["b"].ref], dtype=h5py.ref_dtype)
            file["region"] = np.array([file["b"].regionref[1:]], dtype=h5py.regionref_dtype)
    assert check_source_kept(*paths) is None
    with h5py.File(paths[1], "r+") as file:
        file["refs"][0] = file["b"].ref
    with pytest.raises(DiffersError, match="the values of /refs"):
        check_source_kept(*paths)


def test_large_data_sets_are_compared_by_shape_and_type_only(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, part = pair
    assert _save_walk.BY_VALUE == 64 << 20
    with h5py.File(part, "r+") as file:
        file["g/packed"][0] = -5
    monkeypatch.setattr(_save_walk, "BY_VALUE", 7999)
    assert check_source_kept(source, part) is None
    monkeypatch.setattr(_save_walk, "BY_VALUE", 8000)
    with pytest.raises(DiffersError, match="packed"):
        check_source_kept(source, part)


def test_what_pynwb_changes_is_allowed_there_and_nowhere_else(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    part = tmp_path / "part.nwb"
    shutil.copyfile(source, part)
    electrodes = "general/extracellular_ephys/electrodes"
    with h5py.File(part, "r+") as file:
        file[electrodes].attrs["neurodata_type"] = "ElectrodesTable"
        file[electrodes].attrs["namespace"] = "core"
        del file["specifications/core"]
        file["processing/nb26stats/old"] = 1
    assert check_source_kept(source, part) is None
    shutil.copyfile(part, tmp_path / "second.nwb")
    with h5py.File(tmp_path / "second.nwb", "r+") as file:
        del file["processing/nb26stats/old"]
    with pytest.raises(DiffersError, match="/processing/nb26stats/old is missing"):
        check_source_kept(part, tmp_path / "second.nwb")
    assert check_source_kept(part, tmp_path / "second.nwb", replaced=["old"]) is None
    with h5py.File(part, "r+") as file:
        file["units"].attrs["neurodata_type"] = "DynamicTable"
    with pytest.raises(DiffersError, match="'neurodata_type' of /units differs"):
        check_source_kept(source, part)


def test_compression_that_is_not_installed(tmp_path: Path) -> None:
    source, part = tmp_path / "source.h5", tmp_path / "part.h5"
    with h5py.File(source, "w") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
    raw = source.read_bytes()
    # number, length of name, flags, count of values, then the name; gzip's number becomes 999
    at = raw.index(b"deflate\0") - 8
    assert raw[at : at + 2] == b"\x01\x00"
    source.write_bytes(raw[:at] + (999).to_bytes(2, "little") + raw[at + 2 :])
    with h5py.File(source, "r") as file, pytest.raises(OSError, match="read data"):
        file["x"][()]
    shutil.copyfile(source, part)
    assert check_source_kept(source, part) is None
    with h5py.File(part, "r+") as file:
        chunk = file["x"].id.read_direct_chunk((100,))[1]
        file["x"].id.write_direct_chunk((100,), chunk[:-1] + b"?")
    with pytest.raises(DiffersError, match="the values of /x differ"):
        check_source_kept(source, part)


# ---- new tables --------------------------------------------------------------------------------
def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [1.0, np.nan], "s": ["a", ""], "n": np.array([1, 2], "u1")})


TAMPER: dict[str, tuple[Callable[[h5py.Group], Any], str]] = {
    "number": (lambda g: g["t/x"].__setitem__(0, 2.0), "column 'x' of 't'"),
    "NaN": (lambda g: g["t/x"].__setitem__(1, 0.0), "column 'x' of 't'"),
    "text": (lambda g: g["t/s"].__setitem__(1, "b"), "column 's' of 't'"),
    "order": (lambda g: g["t"].attrs.__setitem__("colnames", ["s", "x", "n"]), "column names"),
    "row ids": (lambda g: g["t/id"].__setitem__(0, 5), "row ids of 't'"),
    "description": (lambda g: g["t"].attrs.__setitem__("description", "{}"), "description of 't'"),
    "column text": (
        lambda g: g["t/x"].attrs.__setitem__("description", "?"),
        "description of 'x' of 't'",
    ),
    "series data": (lambda g: g["y/data"].__setitem__(0, 5.0), "data of 'y'"),
    "series rate": (lambda g: g["y/starting_time"].attrs.__setitem__("rate", 3.0), "rate of 'y'"),
    "series start": (lambda g: g["y/starting_time"].__setitem__((), 3.0), "starting time of 'y'"),
    "series unit": (lambda g: g["y/data"].attrs.__setitem__("unit", "A"), "unit of 'y'"),
    "timestamps": (lambda g: g["z/timestamps"].__setitem__(0, -1.0), "timestamps of 'z'"),
}


@pytest.mark.parametrize("case", TAMPER)
def test_new_tables_are_compared_with_what_was_sent(case: str, tmp_path: Path) -> None:
    part = copied(SMALL, tmp_path)
    results = {
        "t": frame(),
        "y": {"data": [1.0, 2.0], "rate": 2.0, "unit": "V"},
        "z": {"data": [1.0, 2.0], "timestamps": [0.0, 1.0], "unit": "V"},
    }
    items = convert_results(results, store_counts=False)
    texts = {item.name: f"text of {item.name}" for item in items}
    add_to_copy(part, items, texts, [])
    assert check_items(part, items, texts) is None
    change, message = TAMPER[case]
    with h5py.File(part, "r+") as file:
        change(file["processing/nb26stats"])
    with pytest.raises(DiffersError, match=message):
        check_items(part, items, texts)


def test_a_difference_stops_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = copied(SMALL, tmp_path)
    before = sha(source)
    check = _save.check_items

    def tamper(part: Path, *rest: Any) -> None:
        check(part, *rest)
        with h5py.File(part, "r+") as file:
            file["units/spike_times"][3] += 1e-9

    monkeypatch.setattr(_save, "check_items", tamper)
    for how in ({"in_place": True}, {"out": tmp_path / "x.nwb"}):
        with pytest.raises(RuntimeError, match="the values of /units/spike_times differ"):
            save_results(source, {"a": table()}, **how)
    assert sha(source) == before
    assert parts(tmp_path) == []
    assert not (tmp_path / "x.nwb").exists()


def test_references_into_a_replaced_table_stop_the_call(tmp_path: Path) -> None:
    source = copied(SMALL, tmp_path)
    save_results(source, {"a": table()}, in_place=True)
    with h5py.File(source, "r+") as file:
        file["general"].attrs["points_to"] = file["processing/nb26stats/a"].ref
    before = sha(source)
    with (
        pytest.warns(match="are replaced"),
        pytest.raises(RuntimeError, match="nothing was saved"),
    ):
        save_results(source, {"a": table()}, in_place=True, overwrite=True)
    assert sha(source) == before
    assert names_in(source) == {"a"}
