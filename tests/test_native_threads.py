"""Thread counts, the guard after a fork, and the table of instruction sets."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nb26stats._dispatch import core


def run(script: str, folder: Path, timeout: float = 60, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=timeout,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_counts() -> None:
    threads_for = core().threads_for
    assert threads_for(3, 100) == 3
    assert threads_for(3, 2) == 2
    assert threads_for(0, 0) == threads_for(5, 1) == 1
    assert core().threads_used(2, 2) == 2
    # a thread that the system refuses would end the process
    assert 256 <= threads_for(2**31 - 1, 2**40) <= max(256, os.cpu_count() or 1)
    with pytest.raises(ValueError, match="n_threads=-1 must be 0"):
        threads_for(-1, 2)


def test_zero_means_what_openmp_offers(tmp_path: Path) -> None:
    script = """
        from nb26stats._dispatch import core
        print(core().threads_for(0, 100), core().threads_used(0, 100))
    """
    assert run(script, tmp_path, OMP_NUM_THREADS="3").split() == ["3", "3"]


def test_a_child_forked_after_a_parallel_region_does_not_hang(tmp_path: Path) -> None:
    script = """
        import os
        from nb26stats._dispatch import core
        before = core().threads_used(2, 2)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            seen = (core().threads_for(2, 2), core().threads_used(2, 2), core().threads_for(0, 9))
            os.write(write, repr(seen).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(before, os.read(read, 100).decode(), core().threads_used(2, 2))
    """
    assert run(script, tmp_path).strip() == "2 (1, 1, 1) 2"


def test_a_forked_pool_of_workers_finishes(tmp_path: Path) -> None:
    script = """
        import multiprocessing, warnings
        from nb26stats._dispatch import core
        warnings.simplefilter("ignore", DeprecationWarning)
        core().threads_used(2, 2)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.starmap(core().threads_used, [(2, 2)] * 4))
    """
    assert run(script, tmp_path).strip() == "[1, 1, 1, 1]"


def test_spawned_workers_keep_their_threads(tmp_path: Path) -> None:
    script = """
        from joblib import Parallel, delayed
        def count():
            from nb26stats._dispatch import core
            return core().threads_used(2, 2)
        if __name__ == "__main__":
            print(Parallel(n_jobs=2)(delayed(count)() for _ in range(2)))
    """
    assert run(script, tmp_path, LOKY_MAX_CPU_COUNT="4", OMP_NUM_THREADS="2").strip() == "[2, 2]"


def test_calls_from_python_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: core().threads_used(2, 2), range(40))) == {2}


def test_levels_can_be_forced(isa: int) -> None:
    assert core().get_isa() == isa == core().isa_supported()
    for level in range(isa + 1):
        core().set_isa(level)
        assert core().get_isa() == level
    for level in (-1, isa + 1):
        with pytest.raises(ValueError, match=rf"isa level={level} must lie in \[0, {isa}\]"):
            core().set_isa(level)


def test_the_level_is_that_of_the_processor(isa: int) -> None:
    flags = Path("/proc/cpuinfo")
    if not flags.exists():
        assert isa in (0, 1, 2)
        return
    has = set(flags.read_text().split())
    want = 0
    if {"avx2", "fma", "bmi2"} <= has:
        want = 2 if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= has else 1
    assert isa == want
