"""The C++ test programs: as released, under AddressSanitizer + UBSan, under ThreadSanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
CSRC = TESTS.parent / "csrc"
PROGRAMS = sorted((TESTS / "native").glob("*_test.cpp"))
NUMBERS = ["-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fopenmp"]
BUILDS = {
    "plain": ["-O3"],
    # without optimisation: the unrolled kernels would take a minute to compile
    "address": ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O0", "-g", "-fsanitize=thread"],
}


def test_the_programs_are_here() -> None:
    assert {p.name for p in PROGRAMS} >= {"math_test.cpp", "philox_test.cpp", "threads_test.cpp"}


@pytest.mark.native
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program(program: Path, build: str, tmp_path: Path) -> None:
    binary = tmp_path / program.stem
    folders = [f"-I{CSRC}", f"-I{CSRC / 'include'}", f"-I{TESTS / 'native'}"]
    warn = ["-Wall", "-Wextra", "-Werror"]
    made = subprocess.run(
        ["g++", *NUMBERS, *BUILDS[build], *warn, *folders, str(program), "-o", str(binary)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    command = [str(binary)]
    if build == "thread" and shutil.which("setarch"):
        # the sanitizer's fixed memory map collides with a widely randomised address space
        command = ["setarch", "-R", *command]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.native
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler on PATH")
def test_tools_compile_for_the_device(tmp_path: Path) -> None:
    source = TESTS / "native" / "tools_device.cu"
    command = [
        "nvcc",
        "-c",
        str(source),
        "-o",
        str(tmp_path / "tools.o"),
        "-std=c++17",
        "-arch=sm_80",
    ]
    made = subprocess.run(
        [*command, "-Werror=all-warnings", f"-I{CSRC / 'include'}", "-Xcompiler=-Wall,-Wextra"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
