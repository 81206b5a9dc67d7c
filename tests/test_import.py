"""Importing the package costs nothing and loads nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nb26stats


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        env={k: v for k, v in os.environ.items() if not k.startswith("COV")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_other_package_is_loaded(tmp_path: Path) -> None:
    script = """
import sys
before = set(sys.modules)
import nb26stats
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
    loaded = set(run(script, tmp_path).split()) - {"nb26stats"}
    assert loaded <= sys.stdlib_module_names


def test_it_takes_less_than_a_tenth_of_a_second(tmp_path: Path) -> None:
    script = (
        "import time; t = time.process_time(); import nb26stats; print(time.process_time() - t)"
    )
    assert min(float(run(script, tmp_path)) for _ in range(5)) < 0.1


def test_the_submodules_named_in_all_load_on_use(tmp_path: Path) -> None:
    script = """
import sys
import nb26stats
assert "nb26stats.nwb" not in sys.modules
assert nb26stats.nwb is sys.modules["nb26stats.nwb"]
assert set(nb26stats.__all__) <= set(dir(nb26stats))
try:
    nb26stats.nothing
except AttributeError as err:
    print(err)
"""
    assert run(script, tmp_path) == "module 'nb26stats' has no attribute 'nothing'"


def test_a_star_import_brings_every_public_name(tmp_path: Path) -> None:
    script = """
from nb26stats import *
import sys
print(*sorted(set(globals()) & set(sys.modules["nb26stats"].__all__)))
print("torch" in sys.modules)
"""
    names, torch = run(script, tmp_path).splitlines()
    assert names.split() == sorted(nb26stats.__all__)
    assert torch == "False"


def test_the_version_is_written_once() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("nb26stats")
    except PackageNotFoundError:  # run from a source folder
        installed = nb26stats.__version__
    assert installed == nb26stats.__version__
