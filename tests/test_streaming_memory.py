"""Peak memory of OjaPCA.fit in a process of its own: what NumPy asks for, and what is resident."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.lib.format import open_memmap

SLAB_ROWS = 4096
SMALLEST = 2**18  # closed blocks and a pilot's coefficients may take this much whatever the sizes
OBJECTS = 2**18  # of the interpreter
CHUNK = 2**19  # elements that are checked at a time, one byte each

# the first fit imports and warms up; file pages of a memory map are not the process's own
CODE = """
import json, sys, threading, time, tracemalloc
import h5py
import numpy as np
from nb26stats.streaming import OjaPCA

path, k, b = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = h5py.File(path)["x"] if path.endswith(".h5") else np.load(path, mmap_mode="r")
kw = {"random_state": 0, "n_threads": 2}
OjaPCA(k, n_bootstrap=1, **kw).fit(held[:300])

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

before = top = resident()
done = False

def watch():
    global top
    while not done:
        top = max(top, resident())
        time.sleep(2e-4)

watcher = threading.Thread(target=watch)
watcher.start()
est = OjaPCA(k, n_bootstrap=b, **kw).fit(held)
done = True
watcher.join()
pilot = est.pilot_size_
del est
tracemalloc.start()
est = OjaPCA(k, n_bootstrap=b, **kw).fit(held)
traced = tracemalloc.get_traced_memory()[1]
print(json.dumps({"resident": top - before, "traced": traced, "pilot": pilot}))
"""


# freed memory goes back at once, so that what is resident is what is in use
GLIBC = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_TOP_PAD_": "0",
    "MALLOC_ARENA_MAX": "1",
}


def peaks(path: Path, k: int, b: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(path), str(k), str(b)],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=path.parent,  # not where a source folder would hide what is installed
        env={**os.environ, **GLIBC},
    )
    assert done.returncode == 0, done.stderr
    out: dict[str, int] = json.loads(done.stdout)
    return out


def bound(d: int, k: int, b: int, pilot: int) -> int:
    """Half as much again as all iterates, the pilot where it counts, and two blocks."""
    return int(8 * (k + 1 + b * k) * d * 1.5 + 8 * (pilot + 2 * 64) * d)


def memory_map(path: Path, n: int, d: int) -> Path:
    """A file of n rows, zeros that take no room on the disk after the first thousand."""
    x = open_memmap(path, "w+", np.float64, (n, d))
    x[:1000] = np.random.default_rng(0).normal(size=(1000, d)) * np.r_[3, 2, np.ones(d - 2)]
    x.flush()
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("b", [160, 250])
def test_of_a_memory_map(b: int, tmp_path: Path) -> None:
    d, k = 500, 4
    found = peaks(memory_map(tmp_path / "x.npy", 3000, d), k, b)
    # not even the pilot adds to half as much again as the iterates
    most = bound(d, k, b, 0)
    assert 0.5 * most < found["traced"] <= most
    assert found["resident"] <= most + OBJECTS


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_of_a_source_that_is_read(tmp_path: Path) -> None:
    d, k, b = 500, 4, 250
    x = np.load(memory_map(tmp_path / "x.npy", 10_000, d), mmap_mode="r")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = x
    found = peaks(tmp_path / "x.h5", k, b)
    # one slab more, and the marks of what is finite in it
    most = bound(d, k, b, found["pilot"]) + 8 * SLAB_ROWS * d + 2 * CHUNK
    assert found["traced"] <= most
    assert found["resident"] <= most + OBJECTS


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_of_ten_thousand_rows_and_of_a_million(tmp_path: Path) -> None:
    d, k, b = 24, 2, 100
    few = peaks(memory_map(tmp_path / "few.npy", 10_000, d), k, b)
    many = peaks(memory_map(tmp_path / "many.npy", 1_000_000, d), k, b)
    # beside that only the errors kept at every doubling of the rows grow
    doublings = 8 * b * 14
    assert abs(many["traced"] - few["traced"]) <= doublings + 2**17
    assert abs(many["resident"] - few["resident"]) <= OBJECTS
    for found in (few, many):
        most = bound(d, k, b, found["pilot"]) + SMALLEST + OBJECTS
        assert found["traced"] <= most
        assert found["resident"] <= most
