"""The package as R sees it: every script of tests/r, beside current and older NumPy and pandas."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.r import has_reticulate

import nb26stats
from nb26stats import r

SCRIPTS = sorted((Path(__file__).parent / "r").glob("*.R"))
OLD = os.environ.get("NB26STATS_OLD_PYTHON", "")
PYTHONS = {"this": sys.executable, "numpy1": OLD}


def _run(script: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # nothing but the package: another Python has libraries of its own
    seen = folder / "seen"
    seen.mkdir()
    (seen / "nb26stats").symlink_to(Path(nb26stats.__file__).parent)
    return subprocess.run(
        ["Rscript", str(script), *arguments],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("COV")}
        | {"PYTHONPATH": str(seen), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def bridge() -> None:
    if not has_reticulate():
        pytest.skip("needs R with reticulate")


@pytest.mark.r
@pytest.mark.parametrize("which", PYTHONS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_says_ok(script: Path, which: str, bridge: None, tmp_path: Path) -> None:
    if not PYTHONS[which]:
        pytest.skip("NB26STATS_OLD_PYTHON names no Python with NumPy 1.26 and pandas 2")
    done = _run(script, tmp_path, PYTHONS[which])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "OK", done.stdout


def test_scripts_for_every_room() -> None:
    rooms = {"streaming", "causal", "information", "learning", "nwb"}
    assert {path.stem for path in SCRIPTS} >= rooms | {"acceptance"}


def test_helper_is_short_and_there() -> None:
    text = Path(r.helper()).read_text()
    assert len(text.splitlines()) < 120
    for name in ["df", "array", "numpy", "mask", "rows", "open", "check", "result"]:
        assert f"nb_{name} <- function(" in text


def test_demo_logistic_takes_what_r_sends() -> None:
    found = r.demo_logistic([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"], max_iter=50.0)
    assert found["classes"] == ["a", "b"]
    assert found["coef"][0] > 0
    with pytest.raises(TypeError, match="max_iter must be a whole number"):
        r.demo_logistic([[0.0], [1.0]], [0, 1], max_iter=2.5)


def test_bytes_in_r_order() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    back = r.from_bytes(bytearray(array.tobytes(order="F")), [2.0, 3, 4])
    np.testing.assert_array_equal(back, array)
    assert back.flags.c_contiguous
    assert back.flags.writeable
    assert r.from_bytes(b"", [0, 3]).shape == (0, 3)
    with pytest.raises(ValueError, match=r"data holds 24 numbers, and shape \(2, 3\) needs 6"):
        r.from_bytes(array.tobytes(), [2, 3])
    with pytest.raises(ValueError, match="data holds 7 bytes, no whole number of doubles"):
        r.from_bytes(b"1234567", [1])


def test_columns_keep_names_of_rows() -> None:
    table = pd.DataFrame({"n": [2, 3]}, index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert r.columns(table) == {"level_0": ["a", "b"], "level_1": [1, 2], "n": [2, 3]}
    assert r.columns(pd.DataFrame({"n": [2, 3]})) == {"n": [2, 3]}
    assert r.columns(pd.Series([2.5], name="x")) == {"x": [2.5]}
    assert r.columns(pd.Series([2.5], index=["u"])) == {"index": ["u"], "value": [2.5]}
    assert r.columns(pd.RangeIndex(3)) == {}
    assert r.columns(pd.Index(["u", "v"], name="area")) == {"area": ["u", "v"]}
    with pytest.raises(TypeError, match="table must have named columns, got ndarray"):
        r.columns(np.arange(3))


@pytest.mark.r
def test_readme_runs_in_r(bridge: None, tmp_path: Path) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"```r\n(.*?)```", readme, re.DOTALL)
    code = "\n".join(blocks)
    assert code.count("path/to/venv/bin/python") == 1
    script = tmp_path / "readme.R"
    script.write_text(code.replace("path/to/venv/bin/python", sys.executable))
    done = _run(script, tmp_path)
    assert done.returncode == 0, done.stderr
