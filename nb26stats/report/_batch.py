"""Reports of many files: side by side, each whole or absent, and no work done twice."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nb26stats._check import as_jobs
from nb26stats._progress import bar
from nb26stats._version import __version__

from ._build import assemble, check_target, file_facts, json_path, write
from ._options import Options

DONE, SKIPPED, FAILED = "done", "skipped", "failed"
OVERVIEW = "batch.json"
_PART = re.compile(r"^\..+\.(\d+)\.[0-9a-f]{8}\.part$")


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes
    ----------
    file : str
        The file as it was named.
    report : str
        Page, inside the folder.
    status : str
        done, skipped or failed.
    error : str
        Why it failed, in one line.
    seconds : float
        How long it took.
    """

    file: str
    report: str
    status: str
    error: str = ""
    seconds: float = 0.0


def run_batch(
    files: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    options: Options,
    *,
    n_jobs: int | None = None,
    overwrite: bool = False,
    say: Callable[[Outcome], object] | None = None,
    explain: Callable[[BaseException], str] = str,
) -> list[Outcome]:
    """Write the report and the JSON text of every file into a folder.

    A file whose report is there, made of the same file with the same choices by this version, is
    skipped; any other file of that name is left alone, and that counts as a failure. Each output
    appears whole, by renaming; what a killed run left half-written is removed.

    Parameters
    ----------
    files : sequence of str or path-like
        NWB files; a folder stands for the ``.nwb`` files in it.
    folder : str or path-like
        Where to write; made if it does not exist.
    options : Options
        Choices of the reports.
    n_jobs : int, optional
        Files at a time, as in joblib.
    overwrite : bool
        Whether reports that are there are made again, and files in their place replaced.
    say : callable, optional
        Called with the outcome of each file as soon as it is known.
    explain : callable
        Turns an error into one line.

    Returns
    -------
    list of Outcome
        One per file, in the order given.
    """
    import joblib

    n_jobs = as_jobs(n_jobs)
    where = Path(folder).expanduser()
    if where.exists() and not where.is_dir():
        raise NotADirectoryError(f"{where} is a file; -o names the folder for the reports")
    plan = targets(files, where)
    where.mkdir(parents=True, exist_ok=True)
    if not os.access(where, os.W_OK):
        raise PermissionError(f"the folder {where} cannot be written to")
    remove_leftovers(where)
    found: dict[str, Outcome] = {}

    def settle(outcome: Outcome) -> None:
        found[outcome.file] = outcome
        if say is not None:
            say(outcome)

    left = {}
    for file, page in plan.items():
        if not overwrite and is_finished(file, page, options):
            settle(Outcome(file, page.name, SKIPPED))
        elif not overwrite and (why := in_the_way(page)):
            settle(Outcome(file, page.name, FAILED, why))
        else:
            left[file] = page
    with bar(len(left), desc="nb26stats batch", unit="file", quiet=False) as shown:
        try:
            jobs = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
                joblib.delayed(_one)(file, page, options, explain) for file, page in left.items()
            )
            for outcome in jobs:
                settle(outcome)
                shown.update(1)
        except joblib.externals.loky.process_executor.TerminatedWorkerError:
            # what was finished by then is on the disk, and counts
            for file, page in left.items():
                if file not in found:
                    ended = is_finished(file, page, options)
                    why = "" if ended else "a worker process died, perhaps for want of memory"
                    settle(Outcome(file, page.name, DONE if ended else FAILED, why))
    outcomes = [found[file] for file in plan]
    table = {"nb26stats": __version__, "files": [asdict(outcome) for outcome in outcomes]}
    write(where / OVERVIEW, (json.dumps(table, indent=1) + "\n").encode(), overwrite=True)
    return outcomes


def targets(files: Sequence[str | os.PathLike[str]], folder: Path) -> dict[str, Path]:
    """Return the page of each file, or raise where two files would share one."""
    named: list[str] = []
    for file in files:
        path = Path(file).expanduser()
        # a folder that is itself a recording in Zarr is one file
        if path.is_dir() and path.suffix != ".nwb" and not path.name.endswith(".zarr"):
            inside = sorted(str(p) for p in path.glob("*.nwb"))
            if not inside:
                raise FileNotFoundError(f"the folder {path} holds no .nwb file")
            named += inside
        else:
            named.append(str(path))
    out: dict[str, Path] = {}
    owner: dict[str, str] = {}
    for name in named:
        page = f"{Path(name).stem}_report.html"
        # some disks take upper and lower case for the same
        first = owner.setdefault(page.lower(), name)
        if first != name and not _same(first, name):
            raise ValueError(
                f"{first} and {name} would share the report {page}; give them separate folders"
            )
        if first == name:
            out[name] = folder / page
    return out


def is_finished(file: str, page: Path, options: Options) -> bool:
    """Return whether the report is there and still says what a new one would."""
    if not page.is_file():
        return False
    head = _head(json_path(page))
    made = (head.get("nb26stats"), head.get("file"), head.get("options"))
    return made == (__version__, file_facts(Path(file)), options.as_dict())


def in_the_way(page: Path) -> str:
    """Say what stands where a report should go; nothing if the place is free."""
    if os.path.lexists(page):
        return (
            f"{page} exists, and was made with other choices, of another state of the file or by "
            "another version; --force replaces it"
        )
    beside = json_path(page)
    if os.path.lexists(beside) and _head(beside).get("nb26stats") is None:
        return f"{beside} exists and is no report of ours; --force replaces it"
    return ""


def _head(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remove_leftovers(folder: Path) -> None:
    """Remove the part files of processes that are gone."""
    for part in folder.iterdir():
        mark = _PART.match(part.name)
        if mark and not _alive(int(mark[1])):
            part.unlink(missing_ok=True)


def _one(
    file: str, page: Path, options: Options, explain: Callable[[BaseException], str]
) -> Outcome:
    import warnings

    start = time.perf_counter()
    error = ""
    try:
        with warnings.catch_warnings():
            # what matters to the reader is part of the page
            warnings.simplefilter("ignore")
            check_target(page, Path(file), overwrite=True)
            assemble(file, options).save(page, overwrite=True, json=True)
    except Exception as err:
        error = explain(err)
    status = FAILED if error else DONE
    return Outcome(file, page.name, status, error, round(time.perf_counter() - start, 2))


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return os.path.abspath(a) == os.path.abspath(b)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def count(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return how many files ended in each way."""
    return {s: sum(o.status == s for o in outcomes) for s in (DONE, SKIPPED, FAILED)}
