"""Spike counting at the size of a large recording: numbers and memory; the bench scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench.measure import alternate, compare, table
from nwb_files import big_spikes, big_trains, simple
from reference.spikes import count_searchsorted

from nb26stats._numba.spikes import count_spikes

RUN = Path(__file__).parent / "bench" / "run.py"

# the highest resident size of this very process; resource.getrusage would start at the parent's
CHILD = """
import json, sys, warnings
import nb26stats.nwb as nbn

def peak():
    with open("/proc/self/status") as lines:
        return next(int(l.split()[1]) * 1024 for l in lines if l.startswith("VmHWM"))

nbn.spike_counts(sys.argv[1], window=(0, 1), on_outside="mask")
before = peak()
counts = nbn.spike_counts(sys.argv[2])
grown = peak() - before
print(json.dumps({
    "grown": grown,
    "output": sum(c.nbytes for c in counts.counts.values()),
    "total": int(sum(c.sum() for c in counts.counts.values())),
}))
"""


@pytest.mark.slow
def test_v17_counts_of_a_large_recording_are_those_of_searchsorted():
    times, ends, events = big_trains()
    index = np.concatenate([[0], ends]).astype(np.int64)
    edges = events[:, None] + (-0.5 + np.arange(151) * 0.01)
    (counts,), _ = count_spikes(
        times,
        index,
        [np.arange(1085)],
        events,
        w0=-0.5,
        bin_size=0.01,
        n_bins=150,
        tol=1e-9,
    )
    assert counts.sum() == 1_072_347
    np.testing.assert_array_equal(counts, count_searchsorted(times, index, edges))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_v17_memory_is_spikes_and_output_and_little_more(tmp_path):
    small = simple(tmp_path / "small.nwb", spikes=[np.linspace(0, 20, 50)])
    big = big_spikes(tmp_path / "big.nwb")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(small), str(big)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,  # not where a source folder would hide what is installed
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["total"] == 1_072_347
    assert seen["output"] == 1085 * 214 * 150 * 4
    assert seen["output"] < seen["grown"] <= 8 * 10_017_476 + seen["output"] + 64e6, seen


def test_bench_names_what_it_does_not_know():
    done = subprocess.run(
        [sys.executable, str(RUN), "nonsense"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no benchmark 'nonsense'" in done.stderr
    assert "spikes" in done.stderr


def test_bench_compares_minima_and_shows_the_spread():
    row = compare("x", {"a": [1.0, 2.0, 4.0], "b": [8.0, 6.0, 4.0]}, "a", "b", target=">= 3")
    assert (row.ours, row.theirs, row.ratio) == (1.0, 4.0, 4.0)
    assert (row.low, row.high) == (1.0, 8.0)
    lines = table([row]).splitlines()
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1
    assert "4.00 (1.00–8.00)" in lines[2]


def test_calls_alternate_after_a_warm_up():
    order = []
    times = alternate({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3)
    assert order == ["a", "b"] * 4
    assert {k: len(v) for k, v in times.items()} == {"a": 3, "b": 3}
