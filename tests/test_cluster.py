"""What the README sends to a cluster comes back with the bits of one process."""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from dask import distributed

from nb26stats import OjaPCA, SemiparametricC2G, TimeResolvedPID, compare_architectures, datasets
from nb26stats.learning import DNNLearningRule, encode_contrast

README = (Path(__file__).parent.parent / "README.md").read_text()
ADDRESS = "tcp://scheduler:8786"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def study() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    animals = {}
    for name in ("m1", "m2", "m3"):
        contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 300)
        theta = np.array([0.5, -0.5, 0.1, 0.01, 4.0])
        X = encode_contrast(contrast)
        run = DNNLearningRule("1L").simulate(X, contrast > 0, theta=theta, random_state=1)
        animals[name] = {
            "X": X,
            "y": run.choice[0],
            "rewards": run.reward[0],
            "sessions": np.arange(300) // 60,
        }
    return animals


def areas() -> tuple[dict[str, Any], Any, Any]:
    rng = np.random.default_rng(1)
    stimulus = rng.integers(0, 2, 120)
    x = {name: rng.standard_normal((120, 4, 3)) for name in ("V1", "IT")}
    x["V1"][:, 2:, 0] += stimulus[:, None]
    return x, stimulus, np.arange(4.0)


def everything(client: distributed.Client | None) -> dict[str, Any]:
    """Run the four recipes of the README on small data, with what it calls the cluster."""
    (block,) = re.findall(r"```py\n(.*?)```", README, re.DOTALL)
    assert block.count(f'Client("{ADDRESS}")') == 1
    code = block.replace(f'Client("{ADDRESS}")', "client")
    rng = np.random.default_rng(2)
    trial = datasets.simulate_additive(300, 4, random_state=3)
    x, stimulus, times = areas()
    space: dict[str, Any] = {
        "client": client,
        "animals": study(),
        "areas": x,
        "stimulus": stimulus,
        "times": times,
        "X": trial.X,
        "y": trial.y,
        "treated": trial.treatment,
        "shards": [rng.standard_normal((400, 6)) * [3, 1, 1, 1, 1, 1] for _ in range(3)],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "README.md", "exec"), space)
    return space


def test_recipes_give_the_bits_of_one_process(client: distributed.Client) -> None:
    far = everything(client)
    given = far
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = compare_architectures(given["animals"], random_state=0)
        course = TimeResolvedPID(n_permutations=199, random_state=0)
        course.fit(given["areas"], given["stimulus"], given["times"])
        model = SemiparametricC2G(n_bootstrap=8, random_state=0)
        model.fit(given["X"], given["y"], treatment=given["treated"])
        pca = OjaPCA.merge(
            [
                OjaPCA(3, n_bootstrap=99, random_state=i).fit(s)
                for i, s in enumerate(given["shards"])
            ]
        )
    pd.testing.assert_frame_equal(far["table"], table, check_exact=True)
    np.testing.assert_array_equal(far["course"].values_, course.values_)
    pd.testing.assert_frame_equal(far["course"].latencies_, course.latencies_, check_exact=True)
    found, want = (m.estimand_interval("att") for m in (far["model"], model))
    np.testing.assert_array_equal(dataclasses.astuple(found)[:4], dataclasses.astuple(want)[:4])
    assert found.ci_low < found.ci_high
    np.testing.assert_array_equal(far["model"].lfdr_, model.lfdr_)
    np.testing.assert_array_equal(far["pca"].components_, pca.components_)
    np.testing.assert_array_equal(far["pca"].bootstrap_components_, pca.bootstrap_components_)


def test_work_reaches_the_workers(client: distributed.Client) -> None:
    workers = set(client.run(os.getpid).values())
    with joblib.parallel_config(backend="dask"):
        pids = joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(8))
    assert set(pids) <= workers
    assert os.getpid() not in workers
