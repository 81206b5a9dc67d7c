"""The notebooks run, and print what they printed when they were written."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from reference.r import has_reticulate

import nb26stats

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MAX_SECONDS = 120
MAX_BYTES = 400_000
MAX_LINES = 10
# places where files of one machine lie
HERE = re.compile(r"(?<![\w.])(/(home|root|tmp|usr|opt|work|Users|mnt)/|[A-Z]:\\\\)|ipykernel_")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\s?%)?")

every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def drawn(cell: Any) -> bool:
    return any("image/png" in out.get("data", {}) for out in cell.get("outputs", []))


def printed(cell: Any) -> str:
    """What a cell printed or showed, figures aside."""
    parts = [
        out.text if out.output_type == "stream" else out.data.get("text/plain", "")
        for out in cell.outputs
        if "image/png" not in out.get("data", {})
    ]
    # tables are ruled and filled up to the width of their numbers
    return " ".join(re.sub(r"[-=]{3,}", " ", "\n".join(parts)).split())


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size_of_last_digit(number: str, percent: str | None) -> float:
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if not decimals and not exponent and not percent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - decimals)


def assert_same(then: str, now: str) -> None:
    """Assert that words are the same, counts too, and decimals up to one unit of the last digit."""
    assert NUMBER.sub("#", then) == NUMBER.sub("#", now), f"{then}\n\nis now\n\n{now}"
    for old, new in zip(NUMBER.finditer(then), NUMBER.finditer(now), strict=True):
        slack = 1.001 * max(size_of_last_digit(*old.groups()), size_of_last_digit(*new.groups()))
        assert abs(float(old[1]) - float(new[1])) <= slack, f"{then}\n\nis now\n\n{now}"


def test_every_notebook_is_here() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "00_start",
        "01_streaming",
        "02_streaming_limits",
        "03_information",
        "04_learning",
        "05_causal",
        "06_r",
    ]


def test_the_comparison_sees_a_difference() -> None:
    assert_same("0.950 ± 0.031, 12 rows, 98% (1.3e-05)", "0.951 ± 0.030, 12 rows, 97% (1.4e-05)")
    for now in ("0.952 rows 12", "0.950 rows 13", "0.950 row 12", "0.950 rows 12 3"):
        with pytest.raises(AssertionError):
            assert_same("0.950 rows 12", now)


@every
def test_the_file_is_small_and_says_nothing_of_a_machine(path: Path) -> None:
    assert path.stat().st_size < MAX_BYTES
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(not cell.metadata for cell in notebook.cells)
    for cell in code(notebook):
        for out in cell.outputs:
            out.get("data", {}).pop("image/png", None)
    assert not HERE.search(json.dumps(notebook, ensure_ascii=False))


@every
def test_cells_are_short_and_explained(path: Path) -> None:
    notebook = read(path)
    cells = notebook.cells
    assert cells[0].cell_type == cells[-1].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert re.search(r"\b\d+ s\b", cells[0].source), "the run time is not stated"
    for cell in code(notebook):
        assert len([line for line in cell.source.splitlines() if line.strip()]) <= MAX_LINES
    figures = [k for k, cell in enumerate(cells) if drawn(cell)]
    assert len(figures) >= 3
    for k in figures:
        assert cells[k + 1].cell_type == "markdown", f"nothing reads the figure of {cells[k].id}"


@every
def test_outputs_are_kept(path: Path) -> None:
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [out for cell in cells for out in cell.outputs]
    assert sum(out.output_type in ("display_data", "execute_result") for out in outputs) >= 3
    assert all(out.output_type != "error" for out in outputs)
    assert all(out.get("name") != "stderr" for out in outputs)


@pytest.mark.slow
@every
def test_a_new_run_prints_the_same(path: Path, tmp_path: Path) -> None:
    if path.stem == "06_r" and not has_reticulate():
        pytest.skip("needs R with reticulate")
    notebook = read(path)
    fresh = read(path)
    for cell in code(fresh):
        cell.outputs, cell.execution_count = [], None
    # figures in the notebook, not in windows; this package; no coverage of a second process
    env = {k: v for k, v in os.environ.items() if k != "MPLBACKEND" and not k.startswith("COV")}
    here = str(Path(nb26stats.__file__).resolve().parent.parent)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [here, env.get("PYTHONPATH", "")]))
    before = seconds_of_children()
    client = NotebookClient(
        fresh,
        timeout=5 * MAX_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute(env=env)
    # of the processor, since the other tests take their share of the clock
    assert seconds_of_children() - before < MAX_SECONDS
    for then, now in zip(code(notebook), code(fresh), strict=True):
        assert drawn(then) == drawn(now), f"{then.id}: a figure came or went"
        assert_same(printed(then), printed(now))
    # nothing is left beside the notebook
    assert not list(tmp_path.iterdir())
