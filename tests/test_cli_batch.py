"""Reports of many files: resumed after a kill, each output whole, failures named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nwb_files
import pytest

from nb26stats import report
from nb26stats.__main__ import main
from nb26stats.report import _batch
from nb26stats.report._options import make_options

QUICK = ["--sections", "header", "contents", "units"]


def program(*argv: str, **how: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nb26stats", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        **how,
    )


def session_files(folder: Path) -> list[Path]:
    folder.mkdir()
    files = [
        nwb_files.steinmetz_like(folder / "a.nwb"),
        nwb_files.ibl_current(folder / "b.nwb"),
        nwb_files.alm_like(folder / "c.nwb"),
        nwb_files.simple(folder / "d.nwb"),
        nwb_files.without_trials(folder / "e.nwb"),
    ]
    broken = folder / "broken.nwb"
    broken.write_bytes(files[0].read_bytes()[:20_000])
    return [*files[:3], broken, *files[3:]]


def undated(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    assert found.pop("created")
    return found


@pytest.mark.slow
def test_killed_halfway_and_started_again(tmp_path: Path) -> None:
    files = [str(path) for path in session_files(tmp_path / "data")]
    out = tmp_path / "out"
    first = program("batch", *files, "-o", str(out), cwd=tmp_path, start_new_session=True)
    until = time.monotonic() + 200
    while len(list(out.glob("*.html"))) < 2:
        assert time.monotonic() < until
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("*.html")}
    assert 2 <= len(finished) < 5

    again = program("batch", *files, "-o", str(out), "--n-jobs", "2", cwd=tmp_path)
    said, errors = again.communicate(timeout=250)
    assert again.returncode == 1, errors
    assert said.splitlines()[-1] == f"{5 - len(finished)} done, {len(finished)} skipped, 1 failed"
    listed = [line for line in errors.splitlines() if line.startswith("nb26stats:")]
    assert len(listed) == 1
    assert files[3] in listed[0]
    assert "truncated" in listed[0]
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    names = {path.name for path in out.iterdir()}
    pages = {f"{stem}_report.{kind}" for stem in "abcde" for kind in ("html", "json")}
    assert names == pages | {"batch.json"}
    table = json.loads((out / "batch.json").read_text())["files"]
    assert [row["file"] for row in table] == files
    assert [row["status"] == "failed" for row in table] == [i == 3 for i in range(6)]

    alone = tmp_path / "alone"
    alone.mkdir()
    for file in files[:3] + files[4:]:
        page = f"{Path(file).stem}_report.html"
        done = program("report", file, "-o", str(alone / page), "--json", cwd=tmp_path)
        assert done.communicate(timeout=120)[1].count("nb26stats:") == 0
        beside = Path(page).with_suffix(".json")
        assert undated(alone / beside) == undated(out / beside)


def test_what_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = nwb_files.simple(tmp_path / "a.nwb")
    out = tmp_path / "out"
    assert main(["batch", str(tmp_path), "-o", str(out), *QUICK]) == 0
    assert capsys.readouterr().out.splitlines() == [f"done: {file}", "1 done, 0 skipped, 0 failed"]
    assert main(["batch", str(file), str(file), "-o", str(out), *QUICK]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 done, 1 skipped, 0 failed"

    # other choices, another state of the file, somebody's page: none is replaced unasked
    page = out / "a_report.html"
    before = page.stat().st_mtime_ns
    assert main(["batch", str(file), "-o", str(out), "--sections", "units"]) == 1
    assert "--force replaces it" in capsys.readouterr().err
    file.write_bytes(file.read_bytes() + b"\0")
    assert main(["batch", str(file), "-o", str(out), *QUICK]) == 1
    assert "of another state of the file" in capsys.readouterr().err
    assert page.stat().st_mtime_ns == before
    assert main(["batch", str(file), "-o", str(out), *QUICK, "--force"]) == 0
    assert page.stat().st_mtime_ns > before
    page.unlink()
    (out / "a_report.json").write_text("[1]")
    assert main(["batch", str(file), "-o", str(out), *QUICK]) == 1
    assert "is no report of ours" in capsys.readouterr().err
    assert (out / "a_report.json").read_text() == "[1]"


def test_json_without_its_page_is_a_half_that_is_made_whole(tmp_path: Path) -> None:
    file = nwb_files.simple(tmp_path / "a.nwb")
    options = make_options(sections=["header"])
    (done,) = _batch.run_batch([file], tmp_path / "out", options)
    assert done.status == "done"
    page = tmp_path / "out" / done.report
    page.unlink()
    assert not _batch.is_finished(str(file), page, options)
    (again,) = _batch.run_batch([file], tmp_path / "out", options)
    assert again.status == "done"
    assert _batch.is_finished(str(file), page, options)


def test_leftovers_of_the_dead_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead = tmp_path / f".a_report.html.{gone.pid}.0123abcd.part"
    alive = tmp_path / f".a_report.html.{os.getpid()}.0123abcd.part"
    other = tmp_path / "notes.part"
    for path in (dead, alive, other):
        path.touch()
    _batch.remove_leftovers(tmp_path)
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["none.nwb", "-o", "a.nwb"], "a.nwb is a file; -o names the folder"),
        (["empty", "-o", "out"], "the folder empty holds no .nwb file"),
        (["a.nwb", "sub/a.nwb", "-o", "out"], "would share the report a_report.html"),
        (["a.nwb", "-o", "out", "--sections", "nonsense"], "sections='nonsense' must be one of"),
        (["a.nwb", "-o", "out", "--window", "1", "0"], "must end after it starts"),
    ],
)
def test_what_is_refused_before_anything_is_made(
    argv: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    nwb_files.simple(tmp_path / "a.nwb")
    (tmp_path / "sub").mkdir()
    nwb_files.simple(tmp_path / "sub" / "a.nwb", session_id="two")
    (tmp_path / "empty").mkdir()
    assert main(["batch", *argv]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_missing_file_is_one_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = nwb_files.simple(tmp_path / "a.nwb")
    missing = str(tmp_path / "missing.nwb")
    assert main(["batch", missing, str(file), "-o", str(tmp_path / "out"), *QUICK]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"nb26stats: {missing}: ")
    assert captured.out.splitlines()[-1] == "1 done, 0 skipped, 1 failed"


def test_a_worker_that_dies_is_a_failure(tmp_path: Path) -> None:
    files = [nwb_files.simple(tmp_path / f"{name}.nwb") for name in "ab"]
    files.append(tmp_path / "missing.nwb")
    options = make_options(sections=["header"])
    # the explanation of the missing file's error is what kills the worker; as a lambda it travels
    # whole, where a function would be looked up in a module that workers cannot import
    found = _batch.run_batch(
        files,
        tmp_path / "out",
        options,
        n_jobs=2,
        explain=lambda _: os.kill(os.getpid(), signal.SIGKILL),
    )
    assert found[-1].status == "failed"
    assert "a worker process died" in found[-1].error
    for outcome in found[:-1]:
        page = tmp_path / "out" / outcome.report
        assert (outcome.status == "done") == _batch.is_finished(outcome.file, page, options)


def test_report_of_some_sections_as_page_and_json(tmp_path: Path) -> None:
    made = report.build_report(
        nwb_files.steinmetz_like(tmp_path / "a.nwb"), sections=["units", "behavior", "header"]
    )
    whole = json.loads(made.json)
    assert [section["key"] for section in whole["sections"]] == ["file", "units", "behavior"]
    assert whole["options"]["sections"] == ["header", "units", "behavior"]
    assert [label for label, _ in made.lines] == ["File", "Behaviour", "Limits"]
    figure, *_ = [p for s in whole["sections"] for p in s["parts"] if p["kind"] == "figure"]
    numbers = made.numbers[figure["name"]]
    assert all(len(column) == len(numbers) for column in figure["values"])
    assert figure["columns"][-1] == str(numbers.columns[-1])
    page = made.save(tmp_path / "x.html", json=True)
    assert (tmp_path / "x.json").read_text("utf-8") == made.json
    with pytest.raises(FileExistsError):
        made.save(page, json=True)
    page.unlink()
    with pytest.raises(FileExistsError, match=r"x\.json exists"):
        made.save(page, json=True)
    assert not page.exists()
