"""Many animals in one batch: the bits of single fits, parts, failures, progress, interruption."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from dask import distributed

import nb26stats
from nb26stats import NB26StatsWarning
from nb26stats.learning import (
    DNNLearningRule,
    _compare_run,
    compare_architectures,
    compare_learning_rules,
    encode_contrast,
    select_hidden,
)

QUICK: dict[str, Any] = {"random_state": 3, "n_restarts": 2, "n_pool": 6, "max_iter": 60}
NAMES = ("a", "b", "c", "d", "e")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _animal(seed: int, n: int) -> dict[str, Any]:
    """One that gets better at a task of contrasts."""
    rng = np.random.default_rng(seed)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], n)
    p = 1.0 / (1.0 + np.exp(-np.linspace(0.0, 10.0, n) * contrast))
    choice = (rng.random(n) < p).astype(int)
    return {
        "X": encode_contrast(contrast),
        "y": choice,
        "rewards": (choice == (contrast > 0)).astype(float),
        "sessions": np.arange(n) * 4 // n,
    }


DATA = {name: _animal(i, 120 + 20 * i) for i, name in enumerate(NAMES)}


def _wild() -> dict[str, Any]:
    """An animal whose inputs are so large that two layers never stay finite."""
    one = _animal(9, 120)
    return {**one, "X": 1e3 * one["X"]}


def _table(data: dict[str, Any] = DATA, **kw: Any) -> pd.DataFrame:
    return compare_architectures(data, n_blocks=3, **{**QUICK, **kw})


def _same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True)
    assert repr(a.attrs) == repr(b.attrs)


def test_sizes_are_the_fits_of_the_estimator() -> None:
    table = select_hidden(DATA, hidden=[1, 3], n_blocks=3, **QUICK)
    for (name, size), row in table.iterrows():
        one = DNNLearningRule("2NL", hidden=size, standard_errors=False, **QUICK).fit(**DATA[name])
        assert (row["loglik"], row["aic"], row["n_hit"]) == (one.loglik_, one.aic_, one.n_hit_)
        held = one.cross_val_blocks(**DATA[name], n_blocks=3)
        assert row["heldout_first"] == held["block_loglik"][0] / held["block_n"][0]


@pytest.mark.parametrize("at_once", [1, 2])
def test_company_changes_no_bit(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = _table()
    alone = pd.concat([_table({name: DATA[name]}) for name in NAMES])
    pd.testing.assert_frame_equal(together, alone, check_exact=True)
    monkeypatch.setattr(_compare_run, "AT_ONCE", at_once)
    _same(_table(), together)
    turned = _table({name: DATA[name] for name in reversed(NAMES)})
    for name in NAMES:
        pd.testing.assert_frame_equal(turned.loc[name], together.loc[name], check_exact=True)


def test_animals_with_other_inputs() -> None:
    """A third input makes another model, which has a batch of its own."""
    more = _animal(7, 140)
    more["X"] = np.column_stack([more["X"], np.linspace(-1.0, 1.0, 140)])
    table = _table({"a": DATA["a"], "more": more, "b": DATA["b"]}, architectures=["1L", "2NL"])
    assert list(table.index.unique("animal")) == ["a", "more", "b"]
    assert (table["k"].unstack().loc["more"] > table["k"].unstack().loc["a"]).all()
    want = _table(architectures=["1L", "2NL"])
    for name in ("a", "b"):
        pd.testing.assert_frame_equal(table.loc[name], want.loc[name], check_exact=True)


@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("loky", 2), ("threading", 2), ("threading", 3), ("threading", 9)]
)
def test_jobs_change_no_bit(backend: str, n_jobs: int) -> None:
    want = _table()
    with joblib.parallel_config(backend=backend):
        _same(_table(n_jobs=n_jobs), want)
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        _same(_table(), want)


def test_dask_workers_change_no_bit() -> None:
    kw: dict[str, Any] = {"architectures": ["1L", "2NL"], "rules": ["reinforce", "rpe"], **QUICK}
    want = compare_learning_rules(DATA, **kw)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        _same(compare_learning_rules(DATA, n_jobs=2, **kw), want)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_animal_that_cannot_be_fitted_leaves_the_others_alone(n_jobs: int | None) -> None:
    data = {"a": DATA["a"], "wild": _wild(), "b": DATA["b"]}
    kw: dict[str, Any] = {"rule": "rpe", "nested_start": False, "architectures": ["1L", "2L"]}
    with (
        joblib.parallel_config(backend="threading"),
        pytest.warns(NB26StatsWarning, match=r"of 6 fits failed: animal 'wild', .*diverge") as said,
    ):
        table = _table(data, n_jobs=n_jobs, **kw)
    assert len([w for w in said if issubclass(w.category, NB26StatsWarning)]) == 1
    want = _table(**kw)
    for name in ("a", "b"):
        pd.testing.assert_frame_equal(table.loc[name], want.loc[name], check_exact=True)
    lost = table.loc[("wild", "2L")]
    assert lost["verdict"] == "failed"
    assert (lost["n_hit"], lost["converged"], lost["k"]) == (0, False, 11)
    assert lost[["loglik", "aic", "bic", "daic", "heldout", "dheldout", "alpha"]].isna().all()
    sentence = table.attrs["sentences"][3]
    assert sentence.startswith("wild, 2L: not fitted: ")
    assert "random starts diverge" in sentence
    assert sentence.rstrip(".") in table.attrs["footnotes"]
    # the animal counts for no architecture
    assert sum(table.attrs["n_best"].values()) == 2


def test_sums_over_other_animals_are_not_compared() -> None:
    data = {"a": DATA["a"], "wild": _wild()}
    with pytest.warns(NB26StatsWarning, match="fits failed"):
        table = compare_learning_rules(
            data, rules=["rpe"], architectures=["2L"], nested_start=False, **QUICK
        )
    assert np.isnan(table.attrs["aic_sum"]["rpe"]["2L"])
    assert np.isfinite(table.loc[("a", "rpe", "2L"), "aic"])


def test_a_size_that_cannot_be_fitted() -> None:
    data = {"a": DATA["a"], "wild": _wild()}
    kw: dict[str, Any] = {"architecture": "2L", "rule": "rpe", "nested_start": False, "n_blocks": 3}
    with pytest.warns(NB26StatsWarning, match=r"2 of 4 fits failed: animal 'wild', 1 hidden unit"):
        table = select_hidden(data, hidden=[1, 2], **kw, **QUICK)
    assert table.attrs["chosen"]["wild"] is None
    assert table.attrs["lowest_aic"]["wild"] is None
    assert table.attrs["chosen"]["a"] in (1, 2)
    assert table["chosen"].groupby(level="animal").sum().to_dict() == {"a": 1, "wild": 0}
    assert table.attrs["sentences"][1].startswith("wild: 1 hidden unit not fitted: ")
    assert "2 hidden units not fitted: " in table.attrs["sentences"][1]


def test_where_nothing_can_be_fitted_the_first_says_why() -> None:
    with pytest.raises(ValueError, match=r"animal 'wild', 2L: .* random starts diverge"):
        _table({"wild": _wild()}, rule="rpe", architectures=["2L"], nested_start=False)


class _Bar:
    """A bar that keeps what it is told."""

    def __init__(self) -> None:
        self.total = 0
        self.steps: list[int] = []

    def __call__(self, total: int, **_: Any) -> _Bar:
        self.total = total
        return self

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: object, where: TracebackType | None
    ) -> None: ...

    def update(self, n: int) -> None:
        self.steps.append(n)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_goes_by_animals(n_jobs: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    told = _Bar()
    monkeypatch.setattr(_compare_run, "bar", told)
    # every slice of work ends with at most one animal done
    monkeypatch.setattr("nb26stats.learning._optimize.SLICE", 0.0)
    data = {**DATA, "wild": _wild()}
    with (
        joblib.parallel_config(backend="threading"),
        pytest.warns(NB26StatsWarning, match="1 of 6 fits failed"),
    ):
        _table(
            data, rule="rpe", architectures=["2L"], nested_start=False, n_threads=1, n_jobs=n_jobs
        )
    assert told.total == sum(told.steps) == 6
    assert max(told.steps) == 1


LONG_STUDY = """
import signal, sys
import numpy as np
from nb26stats.learning import compare_architectures

if __name__ == "__main__":
    # what a shell starts in the background ignores it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 20000)
    choice = (rng.random(20000) < 1.0 / (1.0 + np.exp(-np.linspace(0, 9, 20000) * contrast))) * 1
    one = {"contrast": contrast, "choice": choice, "reward": choice == (contrast > 0)}
    data = {f"m{i}": {**one, "session": np.arange(20000) // 1000} for i in range(8)}
    print("ready", flush=True)
    try:
        compare_architectures(data, n_blocks=10, n_jobs=int(sys.argv[1]), random_state=0)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_is_answered_at_once(n_jobs: int, tmp_path: Path) -> None:
    script = tmp_path / "long_study.py"
    script.write_text(LONG_STUDY)
    root = Path(nb26stats.__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, str(script), str(n_jobs)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert isinstance(process.stdout, io.TextIOBase)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(4.0)  # well into the fits
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        # a tenth of a second on a machine at leisure; the study itself takes minutes
        assert time.monotonic() - start < 15.0
    finally:
        # its workers too
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
