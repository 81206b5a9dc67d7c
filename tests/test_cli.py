"""The command line: what it prints, its exit codes, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import nwb_files
import pytest

import nb26stats
from nb26stats import datasets
from nb26stats.__main__ import main
from nb26stats.report import _build

ODD = Path(__file__).parent / "data" / "odd"
ALM = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nb26stats", *argv],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env},
    )


# ---- the program -------------------------------------------------------------------------------
def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"nb26stats {nb26stats.__version__}"
    with pytest.raises(SystemExit) as stop:
        main(["report", "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for option in (
        "-o",
        "--table",
        "--align",
        "--relative-to",
        "--window",
        "--bin",
        "--areas",
        "--quality",
        "--trials",
        "--force",
    ):
        assert option in shown


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["inform"],
        ["info"],
        ["info", "a.nwb", "b.nwb"],
        ["report", "a.nwb", "--window", "1"],
        ["report", "a.nwb", "--bin", "narrow"],
        ["report", "a.nwb", "--color", "red"],
    ],
)
def test_bad_arguments_take_one_line_and_exit_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("nb26stats: ")


def test_it_runs_as_a_module_and_prints_no_traceback(tmp_path: Path) -> None:
    done = run("info", "no such file.nwb")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [f"nb26stats: No file at {tmp_path / 'no such file.nwb'}"]
    done = run("info", "no such file.nwb", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "FileNotFoundError: No file at" in done.stderr


def test_a_closed_pipe_is_no_error() -> None:
    path = str(datasets.path(RIPPLES))
    command = (
        f'"{sys.executable}" -m nb26stats info "{path}" --json | head -c 1; exit ${{PIPESTATUS[0]}}'
    )
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_output_that_the_caller_closed() -> None:
    command = f'"{sys.executable}" -m nb26stats validate "{datasets.path(RIPPLES)}" >&-'
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_interruption_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nb26stats.report._info.facts", stop)
    assert main(["info", str(datasets.path(ALM))]) == 130
    assert capsys.readouterr().err == "nb26stats: interrupted\n"


# ---- info --------------------------------------------------------------------------------------
def test_info_shows_structure_clocks_and_convention(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(datasets.path(ALM))]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert f"{ALM} NWB 2.0.2" in lines
    assert "identifier anm369963_2017-02-28_2" in lines
    assert "table trials 178 rows" in lines
    assert "start_time session clock" in lines
    assert "cue_start_time relative to start_time" in lines
    assert "behaviour alm" in lines
    assert "ALM 1" in lines
    assert any(line.startswith("warning") and "relative to start_time" in line for line in lines)


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(datasets.path(ALM))]) == 0
    found = json.loads(capsys.readouterr().out)
    clocks = {row["column"]: row for row in found["alignable"]["trials"]}
    assert clocks["start_time"]["verdict"] == "absolute"
    assert clocks["start_time"]["share_absolute"] is None
    assert clocks["cue_start_time"]["verdict"] == "relative"
    assert clocks["cue_start_time"]["reference"] == "start_time"
    assert clocks["cue_start_time"]["share_relative"] == pytest.approx(0.927, abs=1e-3)
    assert "is_good" not in clocks
    assert found["convention"] == "alm"
    assert found["units"]["areas"] == {"ALM": 1}
    assert found["intervals"] == {"trials": 178}


@pytest.mark.parametrize("name", datasets.list_nwb())
def test_json_of_every_shipped_file_is_strict(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(datasets.path(name)), "--json"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(capsys.readouterr().out, parse_constant=refuse)["file"] == name


def test_info_lists_remarks_of_the_reader(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(datasets.path(RIPPLES))]) == 0
    out, err = capsys.readouterr()
    assert "reader's remark" in out
    assert err == ""


def test_info_of_markup_and_other_alphabets_on_a_narrow_terminal(tmp_path: Path) -> None:
    path = nwb_files.simple(tmp_path / "мышь 鼠.nwb", session_description="θ-Wellen")
    done = run("info", str(path), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert r"\u03b8-Wellen" in done.stdout
    assert done.stderr == ""


def test_text_from_a_file_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nwb_files.simple(tmp_path / "e.nwb", session_description="red \x1b[31m", identifier="bell \x07")
    for argv in (["info", "e.nwb"], ["info", "--json", "e.nwb"], ["info", "no\x1b[31m.nwb"]):
        main(argv)
        out, err = capsys.readouterr()
        assert all(c.isprintable() or c == "\n" for c in out + err)
        assert out + err


# ---- validate ----------------------------------------------------------------------------------
def problems(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, list[str]]:
    code = main(["validate", str(path)])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out.splitlines()


def test_a_clean_file_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = problems(capsys, datasets.path(RIPPLES))
    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith("no problems found")
    assert "nwbinspector" in lines[0]


def test_a_real_file_with_three_problems(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = problems(capsys, datasets.path(ALM))
    assert code == 1
    assert [line.split(":")[0] for line in lines] == [
        "unsorted spikes",
        "NaN columns",
        "relative times",
        "3 problems",
    ]
    assert "1 unit" in lines[0]
    assert "stop_time" in lines[1]
    assert "cue_start_time" in lines[2]


def test_unknown_areas(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = problems(capsys, datasets.path("A8604-211122_phy.nwb"))
    assert code == 1
    assert lines[0].startswith("unknown areas: The brain area of 3 of 3 units is not stated.")
    assert lines[-1] == "1 problem"


def outside(path: Path) -> Path:
    return nwb_files.simple(
        path, spikes=[[0.5, 2.0, 9.0], [1.0, 4.0]], obs_intervals=[[(0, 3)], [(0.5, 5)]]
    )


def samples(path: Path) -> Path:
    spikes = [np.linspace(0, 5, 50) * 30_000, np.linspace(0.1, 5, 50) * 30_000]
    return nwb_files.simple(path, spikes=spikes)


def later(path: Path) -> Path:
    return nwb_files.simple(path, spikes=[np.linspace(5000, 5010, 40), np.linspace(5001, 5009, 9)])


def empty_column(path: Path) -> Path:
    start = np.arange(8.0) * 2
    trials = {"start_time": start, "go_time": np.full(8, np.nan), "cue_time": start + 0.5}
    return nwb_files.simple(path, trials=trials, spikes=[np.linspace(0, 14, 30)])


def no_start(path: Path) -> Path:
    start = np.r_[np.nan, np.arange(1.0, 8) * 2]
    return nwb_files.simple(path, trials={"start_time": start}, spikes=[np.linspace(0, 14, 30)])


@pytest.mark.parametrize(
    ("build", "check", "words"),
    [
        (nwb_files.nonfinite_spikes, "non-finite spikes", "5 spike times are NaN or infinite"),
        (nwb_files.unsorted_spikes, "unsorted spikes", "2 units are not in ascending order"),
        (nwb_files.float32_spikes, "spikes", "float32"),
        (nwb_files.bad_index, "spikes", "cannot be read"),
        (outside, "spikes outside obs_intervals", "1 spike of 1 unit"),
        (samples, "spans", "samples or milliseconds"),
        (later, "spans", "do not overlap"),
        (empty_column, "NaN columns", "go_time holds no value"),
        (no_start, "NaN columns", "1 row of table trials have no start_time"),
    ],
)
def test_each_check_finds_its_problem(
    build: Callable[[Path], Path],
    check: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, lines = problems(capsys, build(tmp_path / "file.nwb"))
    assert code == 1
    assert any(line.startswith(f"{check}: ") and words in line for line in lines), lines


@pytest.mark.parametrize(
    "build", [nwb_files.simple, nwb_files.without_units, nwb_files.without_trials]
)
def test_missing_parts_are_no_problem(
    build: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problems(capsys, build(tmp_path / "file.nwb"))[0] == 0


UNREADABLE = [
    "hdf5_empty.nwb",
    "nwb1.0.5_AIBS_496908818s.nwb",
    "matnwb_2.0b_version_array_unreadable.nwb",
    "matnwb_2.0b_incomplete_timeseries.nwb",
    "ndx_events_construct_error.nwb",
    "truncated.nwb",
]


@pytest.mark.parametrize("command", ["info", "validate", "report"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files_exit_2_with_one_line(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(ODD / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert name in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "text", "empty", "missing", "url"])
def test_other_things_exit_2(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "thing.nwb"
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("not a file of that kind")
    elif kind == "empty":
        path.touch()
    argument = "https://example.org/a.nwb" if kind == "url" else str(path)
    for command in ("info", "validate", "report"):
        assert main([command, argument]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "Traceback" not in err


# ---- report ------------------------------------------------------------------------------------
def test_report_lands_in_the_current_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    assert main(["report", str(source)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'session_report.html'}\n"
    assert err == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["session.nwb", "session_report.html"]
    assert (tmp_path / "session_report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_an_existing_report_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    out = tmp_path / "out.html"
    out.write_text("mine")

    def compute(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    with monkeypatch.context() as patch:
        patch.setattr(_build, "assemble", compute)
        assert main(["report", str(source), "-o", str(out)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--force" in err
    assert out.read_text() == "mine"
    assert main(["report", str(source), "-o", str(out), "--force"]) == 0
    assert out.read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("force", [False, True])
def test_the_nwb_file_is_never_the_output(
    force: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    before = source.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(source)
    for out in (source, link):
        assert main(["report", str(source), "-o", str(out), *(["--force"] * force)]) == 2
        assert "is the NWB file itself" in capsys.readouterr().err
    assert source.read_bytes() == before


def test_outputs_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    for out, words in ((tmp_path, "is a folder"), (tmp_path / "no" / "a.html", "does not exist")):
        assert main(["report", str(source), "-o", str(out)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("force", [False, True])
def test_devices_and_pipes_are_left_alone(
    force: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["report", str(source), "-o", str(pipe), *(["--force"] * force)]) == 2
    assert "not an ordinary file" in capsys.readouterr().err
    assert pipe.is_fifo()
    assert main(["report", str(source), "-o", ""]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_failure_leaves_neither_report_nor_part_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_build.os, "fsync", full)
    assert main(["report", str(source)]) == 2
    assert "No space left" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["session.nwb"]


def test_a_report_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = nwb_files.simple(tmp_path / "session.nwb")
    real = _build.os.fsync

    def meanwhile(handle: int) -> None:
        (tmp_path / "session_report.html").write_text("theirs")
        real(handle)

    monkeypatch.setattr(_build.os, "fsync", meanwhile)
    assert main(["report", str(source)]) == 2
    assert "appeared" in capsys.readouterr().err
    assert (tmp_path / "session_report.html").read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["two words.nwb", "мышь_鼠_ñ.nwb", "quote'\"$x$.nwb"])
def test_names_with_spaces_and_other_alphabets(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a folder").mkdir()
    nwb_files.simple(tmp_path / "a folder" / name)
    assert main(["report", f"a folder/{name}"]) == 0
    written = Path(capsys.readouterr().out.rstrip("\n"))
    assert written == tmp_path / f"{Path(name).stem}_report.html"
    assert written.stat().st_size > 10_000


def test_a_linked_source_and_a_linked_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nwb_files.simple(tmp_path / "session.nwb")
    (tmp_path / "link.nwb").symlink_to("session.nwb")
    (tmp_path / "pages").mkdir()
    (tmp_path / "latest.html").symlink_to("pages/page.html")
    assert main(["report", "link.nwb", "-o", "latest.html"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'pages' / 'page.html'}\n"
    assert (tmp_path / "latest.html").is_symlink()
    assert (tmp_path / "pages" / "page.html").is_file()


def test_choices_reach_the_report(tmp_path: Path) -> None:
    source = str(datasets.path(RIPPLES))
    choices = ["--table", "sleep_ripples", "--align", "stop_time", "--window", "-1e-1", "0.2"]
    choices += ["--bin", "0.02", "--areas", "CA1", "--trials", "start_time < 600"]
    choices += ["--quality", "n_spikes > 1500", "--relative-to", "session"]
    assert main(["report", source, "-o", "out.html", *choices]) == 0
    page = (tmp_path / "out.html").read_text("utf-8")
    for argument in (
        "align_to=&#x27;stop_time&#x27;",
        "window=(-0.1, 0.2)",
        "bin_size=0.02",
        "table=&#x27;sleep_ripples&#x27;",
        "relative_to=&#x27;session&#x27;",
        "areas=[&#x27;CA1&#x27;]",
        "quality=&#x27;n_spikes &gt; 1500&#x27;",
        "trials=&#x27;start_time &lt; 600&#x27;",
    ):
        assert argument in page, argument
    assert "because it was asked for" in page


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (["--table", "nothing"], "tables with start/stop times in this file"),
        (["--align", "nothing_time"], "has no column 'nothing_time'"),
        (["--align", "type"], "not times"),
        (["--align", "is_good"], "relative_to"),
        (["--areas", "V1"], "no area 'V1'"),
        (["--quality", "superb"], "superb"),
        (["--quality", "n_spikes > @x"], "'@'"),
        (["--trials", "a.__class__"], "__"),
        (["--trials", "nothing == 1"], "nothing"),
        (["--window", "1", "-1"], "must end after it starts"),
        (["--window", "0", "1.0003"], "bin"),
        (["--window", "nan", "1"], "finite"),
        (["--bin", "0"], "greater than 0"),
        (["--relative-to", "nothing"], "nothing"),
    ],
)
def test_choices_that_do_not_fit_exit_2_and_write_nothing(
    choices: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(datasets.path(ALM)), *choices]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert list(tmp_path.iterdir()) == []
