"""The same bits for any number of jobs and any backend; progress, and answers to Ctrl-C."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import distributed
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits
from time_pid_data import PLAIN, estimator, step_data

import nb26stats
from nb26stats import _progress
from nb26stats._blas import one_blas_thread
from nb26stats.information import DiscretePID, TimeResolvedPID

FIELDS = (
    *("values_", "z_", "p_max_", "significant_", "null_mean_", "null_sd_", "thresholds_"),
    *("onsets_", "offsets_", "resampled_onsets_"),
)


def assert_same(a: TimeResolvedPID, b: TimeResolvedPID) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def fit(null: str = "target", **kw: Any) -> TimeResolvedPID:
    x, target, times = step_data(n=260)
    return estimator("bootstrap", null=null, n_permutations=149, n_bootstrap=5, **kw).fit(
        x, target, times
    )


@pytest.mark.parametrize("null", ["target", "conditional-y", "noise-shuffle"])
def test_jobs_do_not_change_a_bit(null: str) -> None:
    one = fit(null)
    assert_same(fit(null, n_jobs=2), one)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert_same(fit(null), one)


def test_a_backend_without_generators() -> None:
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        assert_same(fit(), fit())


def test_the_general_way_does_not_depend_on_jobs() -> None:
    rng = np.random.default_rng(0)
    x = {a: rng.integers(0, 3, (90, 3, 1)) for a in "AB"}

    def general(n_jobs: int) -> TimeResolvedPID:
        return TimeResolvedPID(
            DiscretePID(bias="qe"),
            n_permutations=19,
            n_bootstrap=3,
            alpha=0.05,
            n_jobs=n_jobs,
            random_state=1,
            **PLAIN,
        ).fit(x, rng_target, np.arange(3.0))

    rng_target = rng.integers(0, 2, 90)
    assert_same(general(1), general(2))


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_gives_the_same_bits(processes: bool) -> None:
    one = fit()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=processes, dashboard_address=None
    )
    with (
        cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert_same(fit(), one)


def test_threads_of_blas_and_of_the_kernel_do_not_change_a_bit() -> None:
    one = fit()
    with threadpool_limits(2, user_api="blas"):
        assert_same(fit(), one)
    x, target, times = step_data(n=260)
    pid = estimator("bootstrap", n_permutations=149, n_bootstrap=5)
    pid.estimator.set_params(n_threads=1)
    assert_same(pid.fit(x, target, times), one)


def test_blas_gets_its_threads_back_when_the_last_caller_leaves() -> None:
    def threads() -> set[int]:
        return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        outer, inner = one_blas_thread(), one_blas_thread()
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        assert threads() == {1}
        inner.__exit__(None, None, None)
        assert threads() == {2}


def test_seed_fixes_everything_and_clones_start_afresh() -> None:
    first = fit(random_state=2**70 + 3)
    assert first.seed_ == 2**70 % 2**64 + 3
    assert_same(fit(random_state=3.0), first)
    again = clone(first)
    assert not hasattr(again, "values_")
    x, target, times = step_data(n=260)
    assert_same(pickle.loads(pickle.dumps(again)).fit(x, target, times), first)
    assert not np.array_equal(fit(random_state=4).thresholds_, first.thresholds_)
    assert first.estimator.random_state is None


def test_a_bar_counts_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[int | None, int]] = []

    class Bar:
        def __init__(self, total: int | None = None, **kw: Any) -> None:
            assert kw["disable"] is None  # shown where there is a terminal
            self.total, self.n = total, 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            shown.append((self.total, self.n))

        def update(self, n: int) -> None:
            self.n += n

    monkeypatch.setattr(_progress, "_tqdm", lambda: Bar)
    fit(verbose=True)
    (total, count) = shown[0]
    # two targets, blocks of permutations of the data and of the first resample, and the resamples
    assert total == count == 2 * 2 * 3 + 5


def test_nothing_is_printed_without_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    fit()
    out = capsys.readouterr()
    assert out.out == out.err == ""


LONG_FIT = """
    import signal, sys
    import numpy as np
    from nb26stats.information import TimeResolvedPID
    # what a shell starts in the background ignores it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    x = {a: rng.standard_normal((4000, 40, 10)) for a in "ABC"}
    pid = TimeResolvedPID(n_permutations=100_000, n_jobs=int(sys.argv[1]), random_state=0)
    print("ready", flush=True)
    try:
        pid.fit(x, rng.standard_normal((4000, 10)), np.arange(40.0))
    except KeyboardInterrupt:
        print("interrupted", hasattr(pid, "values_"), flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_is_answered_at_once(n_jobs: int, tmp_path: Path) -> None:
    script = tmp_path / "long_fit.py"
    script.write_text(textwrap.dedent(LONG_FIT))
    root = Path(nb26stats.__file__).parent.parent
    env = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen(
        [sys.executable, str(script), str(n_jobs)],
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        stderr=subprocess.DEVNULL,
    )
    assert isinstance(process.stdout, io.TextIOBase)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(6.0)  # well into the permutations
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "interrupted False\n"
        assert time.monotonic() - start < 10.0
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
