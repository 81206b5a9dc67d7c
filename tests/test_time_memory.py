"""Memory of a time-resolved fit: one copy of the areas in double precision, and little more."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import nb26stats

FIT = """
    import resource, sys
    import numpy as np
    from nb26stats.information import TimeResolvedPID

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    n, n_bins, d, resamples = 6000, 40, 20, int(sys.argv[1])
    rng = np.random.default_rng(0)
    x = {a: rng.standard_normal((n, n_bins, d), dtype=np.float32) for a in ("V1", "V4", "IT")}
    target = rng.standard_normal((n, 10))
    kw = {"alpha": 0.05, "n_bootstrap": resamples, "random_state": 0}
    small = {a: v[:300, :4] for a, v in x.items()}
    TimeResolvedPID(n_permutations=19, **kw).fit(small, target[:300], np.arange(4.0))
    before = peak()
    TimeResolvedPID(n_permutations=39, **kw).fit(x, target, np.arange(float(n_bins)))
    print(peak() - before, 3 * n * n_bins * d * 8)
"""


@pytest.mark.parametrize(("resamples", "copies"), [(0, 1.6), (2, 2.1)])
@pytest.mark.filterwarnings("ignore:300 trials")
def test_memory(
    resamples: int, copies: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(FIT))
    env = {**os.environ, "PYTHONPATH": str(Path(nb26stats.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, str(script), str(resamples)],
        capture_output=True,
        text=True,
        env=env,
        check=True,
    )
    used, one_copy = map(float, done.stdout.split())
    with capsys.disabled():
        print(f"\n{resamples} resamples: {used / one_copy:.2f} copies of the areas")
    assert used < copies * one_copy
