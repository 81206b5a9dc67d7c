"""The data files of the package: found, unchanged, with provenance, and loadable."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from nb26stats import datasets, nwb
from nb26stats.datasets import _files

FILES = [*datasets.list_nwb(), "rat_W053_trials.csv.gz", "nhefs_complete.csv.gz"]


def licences() -> str:
    return (datasets.path(FILES[0]).parent / "LICENCES.md").read_text(encoding="utf-8")


def listed() -> dict[str, str]:
    """Return file name -> sha256 from the table of LICENCES.md."""
    return dict(re.findall(r"^\| `([^`]+)` \| `([0-9a-f]{64})` \|", licences(), re.MULTILINE))


@pytest.mark.parametrize("name", FILES)
def test_files_are_the_ones_the_licences_describe(name: str) -> None:
    digest = hashlib.sha256(datasets.path(name).read_bytes()).hexdigest()
    assert listed()[name] == digest
    assert f"## {name}" in licences()


def test_every_data_file_is_listed_with_source_and_licence() -> None:
    folder = datasets.path(FILES[0]).parent
    data = {p.name for p in folder.iterdir() if p.suffix in (".nwb", ".gz", ".csv", ".npz")}
    assert data == set(FILES) == set(listed())
    sections = re.split(r"^## ", licences(), flags=re.MULTILINE)[1:]
    for section in sections[: len(FILES)]:
        assert "- Source: " in section
        assert "- Licence: " in section
        assert "- Please cite: " in section
    assert "Version 2.0, January 2004" in (folder / "LICENSE-Apache-2.0.txt").read_text()


def test_names_with_and_without_ending() -> None:
    full = datasets.path("A8604-211122_phy.nwb")
    assert full.is_absolute()
    assert datasets.path("A8604-211122_phy") == full
    assert datasets.path(Path("A8604-211122_phy.nwb")) == full
    assert datasets.path("rat_W053_trials") == datasets.path("rat_W053_trials.csv.gz")


def test_the_list_is_a_copy_in_alphabetical_order() -> None:
    names = datasets.list_nwb()
    assert names == sorted(names)
    names.clear()
    assert len(datasets.list_nwb()) == 4


@pytest.mark.parametrize("name", datasets.list_nwb())
def test_nwb_files_open(name: str) -> None:
    with datasets.load_nwb(name) as session:
        assert isinstance(session, nwb.Session)
        assert session.path == datasets.path(name)


def test_the_rat() -> None:
    rat = datasets.load_rat()
    assert list(rat.columns) == ["session", "s1", "s2", "choice", "answer", "correct"]
    assert rat.shape == (20000, 6)
    assert rat["session"].nunique() == 80
    assert rat["session"].is_monotonic_increasing
    assert set(rat["choice"]) == {1, 2}
    assert (rat["answer"] == 1 + (rat["s1"] > rat["s2"])).all()
    assert (rat["correct"] == (rat["choice"] == rat["answer"])).all()
    assert rat["correct"][:1000].mean() == pytest.approx(0.555)
    assert not rat.isna().any().any()


@pytest.mark.parametrize("load", [datasets.path, datasets.load_nwb])
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nothing.nwb", ValueError),
        ("", ValueError),
        ("../data/A8604-211122_phy.nwb", ValueError),
        (b"A8604-211122_phy.nwb", TypeError),
        (None, TypeError),
        (1, TypeError),
        (["A8604-211122_phy.nwb"], TypeError),
    ],
)
def test_unknown_names(load: object, name: object, error: type[Exception]) -> None:
    match = "A2929-200711_neurosuite.nwb" if error is ValueError else "name of a data file"
    with pytest.raises(error, match=match):
        load(name)  # type: ignore[operator]


def test_the_rat_is_no_nwb_file() -> None:
    with pytest.raises(ValueError, match="no data file named 'rat_W053_trials'"):
        datasets.load_nwb("rat_W053_trials")


def test_an_installation_looks_inside_the_package_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, beside = tmp_path / "pkg" / "data", tmp_path / "data"
    inside.mkdir(parents=True)
    beside.mkdir()
    monkeypatch.setattr(_files, "__file__", str(tmp_path / "pkg" / "datasets" / "_files.py"))
    with pytest.raises(FileNotFoundError, match="reinstall nb26stats"):
        datasets.path("A8604-211122_phy")
    (beside / "A8604-211122_phy.nwb").touch()
    assert datasets.path("A8604-211122_phy") == beside / "A8604-211122_phy.nwb"
    (inside / "A8604-211122_phy.nwb").touch()
    assert datasets.path("A8604-211122_phy") == inside / "A8604-211122_phy.nwb"


def test_smokers_are_complete_in_the_usual_covariates() -> None:
    people = datasets.load_nhefs()
    covariates = ["sex", "age", "race", "school", "smokeintensity", "smokeyrs"]
    covariates += ["wt71", "active", "exercise"]
    assert not people[[*covariates, "qsmk", "wt82_71"]].isna().any(axis=None)
    assert all(people[c].dtype.kind in "if" for c in people.columns)
    assert people["qsmk"].value_counts().to_dict() == {0: 1163, 1: 403}
    # the arms' mean gains of weight in kg, as printed for these data elsewhere
    gain = people.groupby("qsmk")["wt82_71"].mean()
    assert gain[1] == pytest.approx(4.5251, abs=5e-5)
    assert gain[0] == pytest.approx(1.9845, abs=5e-5)
