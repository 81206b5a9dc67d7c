"""The density kernel at the size of its benchmark: agreement with refits, memory."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import json
import numpy as np
from nb26stats.causal._density import Arm, bootstrap, tune

def peak():
    with open("/proc/self/status") as lines:
        return next(int(l.split()[1]) * 1024 for l in lines if l.startswith("VmHWM"))

n, p = 10_000, 5
rng = np.random.default_rng(0)
x = rng.standard_normal((n, p))
y = x[:, 0] + rng.standard_normal(n)
own = np.arange(n)
rows = [np.where(own % 2 == a, own // 2, -1) for a in range(2)]
grid = np.linspace(y.min(), y.max(), 75)

def fit(m, n_bootstrap):
    arms = [tune(x[a:m:2], y[a:m:2], n_neighbors=(20,), fractions=np.array([0.05, 0.2]))
            for a in range(2)]
    return bootstrap(*arms, x[:m], y[:m], rows[0][:m], rows[1][:m], grid,
                     n_bootstrap=n_bootstrap, quantile=0.2, threshold=0.05, ratio_quantile=0.01,
                     seed=0, device="cpu", n_threads=1)

fit(200, 2)
before = peak()
found = fit(n, 40)
print(json.dumps({"grown": peak() - before, "kept": 3 * found.prior_b.nbytes}))
"""


@pytest.mark.slow
def test_the_problem_of_the_benchmark_agrees_with_refits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "bench"))
    bench = importlib.import_module("bench_density")
    assert bench.furthest(bench.problem(1000, 200, 75)) < 1e-10


def test_no_table_of_queries_resamples_and_points(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,  # not where a source folder would hide what is installed
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    table = 2 * 10_000 * 40 * 75 * 8  # 480 MB
    assert found["kept"] == 3 * 10_000 * 40 * 8
    assert found["grown"] < 3 * found["kept"] + 32e6 < table / 3
