"""Spike binning at the size of a large recording: 1085 units, 1e7 spikes, 214 events, 150 bins.

The floor is writing the counts once (139 MB as int32), so rates are bytes of output per second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table
from nwb_files import big_spikes, big_trains, simple
from reference.spikes import count_searchsorted

from nb26stats._numba.spikes import count_spikes

W0, WIDTH, N_BINS = -0.5, 0.01, 150
FIRST_CALL = """
import time
import numpy as np
from nb26stats._numba.spikes import count_spikes
def call():
    start = time.perf_counter()
    count_spikes(np.array([0.5]), np.array([0, 1]), [np.array([0])], np.zeros(1),
                 w0=0.0, bin_size=0.1, n_bins=10, tol=1e-9)
    return time.perf_counter() - start
print(call())
"""


def main() -> None:
    """Print the table."""
    times, ends, events = big_trains()
    index = np.concatenate([[0], ends]).astype(np.int64)
    rows = [*_kernel(times, index, events), *_pynapple(times, index), *_whole_file()]
    print(table(rows))


def ours(times: np.ndarray, index: np.ndarray, events: np.ndarray, **options: Any) -> np.ndarray:
    arrays, _ = count_spikes(
        times,
        index,
        [np.arange(index.size - 1)],
        events,
        w0=W0,
        bin_size=WIDTH,
        n_bins=N_BINS,
        tol=1e-9,
        **options,
    )
    return arrays[0]


def filled(shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(shape, np.int32)
    out.fill(1)
    return out


def _kernel(times: np.ndarray, index: np.ndarray, events: np.ndarray) -> list[Row]:
    edges = events[:, None] + (W0 + np.arange(N_BINS + 1) * WIDTH)
    shape = (events.size, N_BINS, index.size - 1)
    counts = ours(times, index, events)
    assert counts.sum() == count_searchsorted(times, index, edges).sum() == 1_072_347
    measured = alternate(
        {
            "ours": lambda: ours(times, index, events),
            "uint8": lambda: ours(times, index, events, dtype="uint8"),
            "two": lambda: ours(times, index, events, n_threads=2),
            "np.empty + fill": lambda: filled(shape),
            "searchsorted loop": lambda: count_searchsorted(times, index, edges),
        }
    )
    size = counts.nbytes
    out = []
    for what, key, peer, target, n in (
        ("bin, int32", "ours", "searchsorted loop", ">= 8", size),
        ("bin, int32", "ours", "np.empty + fill", ">= 0.2", size),
        ("bin, uint8", "uint8", "searchsorted loop", "", size // 4),
        ("bin, int32, 2 threads", "two", "searchsorted loop", "", size),
    ):
        rate = per_second(n, min(measured[key]), "B")
        out.append(compare(what, measured, key, peer, target=target, rate=rate))
    return out


def _pynapple(times: np.ndarray, index: np.ndarray) -> list[Row]:
    try:
        import pynapple as nap
    except ImportError:
        print("pynapple is not installed (pip install pynapple): its two rows are left out\n")
        return []
    # it merges windows that overlap, so these do not
    events = np.arange(214) * 13.0 + 10
    group = nap.TsGroup({u: nap.Ts(times[index[u] : index[u + 1]]) for u in range(index.size - 1)})
    windows = nap.IntervalSet(start=events + W0, end=events + W0 + N_BINS * WIDTH)
    tensor = nap.build_tensor(group, windows, bin_size=WIDTH)
    assert tensor.shape[:2] == (index.size - 1, events.size)
    measured = alternate(
        {
            "ours": lambda: ours(times, index, events),
            "pynapple build_tensor": lambda: nap.build_tensor(group, windows, bin_size=WIDTH),
            "pynapple TsGroup.count": lambda: group.count(WIDTH, windows),
        }
    )
    return [
        compare("bin, disjoint windows", measured, "ours", "pynapple build_tensor", target=">= 10"),
        compare("bin, disjoint windows", measured, "ours", "pynapple TsGroup.count", target=">= 5"),
    ]


def _whole_file() -> list[Row]:
    import nb26stats.nwb as nbn

    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.nwb", big_spikes(Path(folder) / "big.nwb")
        simple(small, spikes=[np.linspace(0, 10, 50)])
        nbn.spike_counts(small, window=(0, 1))
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            nbn.spike_counts(path)
            seconds.append(time.perf_counter() - start)
        size = path.stat().st_size
        fresh = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        code = [sys.executable, "-c", FIRST_CALL]
        first = float(subprocess.run(code, env=fresh, check=True, capture_output=True).stdout)
    whole = f"open, read and bin a file of {size / 1e6:.0f} MB"
    return [
        alone(whole, min(seconds), target="<= 1 s", rate=per_second(size, min(seconds), "B")),
        alone("first call, compilation included", first, target="<= 3 s"),
    ]
