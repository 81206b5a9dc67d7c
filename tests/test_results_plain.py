"""Every result hands itself over as plain values, and as a table and a text."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from r_cases import ARM, INPUTS, NOISE, OTHER, SIDE, N, P, Z

import nb26stats as nb
from nb26stats import datasets, information, learning, nwb
from nb26stats._results import Result

BIG = 2**31


def _classes(base: type) -> Iterator[type]:
    for child in base.__subclasses__():
        yield child
        yield from _classes(child)


def _made() -> list[Any]:
    rng = np.random.default_rng(0)
    study = datasets.simulate_additive(200, 4, random_state=0)
    model = nb.NonparametricC2G(n_bootstrap=9, random_state=0)
    model.fit(study.X, study.y, treatment=study.treatment)
    areas = {name: rng.standard_normal((80, 3, 2)) for name in ("V1", "IT")}
    course = nb.TimeResolvedPID(n_permutations=99, min_run=1, random_state=0)
    course.fit(areas, rng.integers(0, 2, 80), np.arange(3.0))
    trials = {"rewards": np.asarray(ARM, float)}
    rule = nb.DNNLearningRule("1L", n_restarts=2, n_pool=9, random_state=0, verbose=False)
    rule.fit(INPUTS, OTHER, **trials)
    grid = rule.params_["alpha"] * np.array([0.5, 1.0, 2.0])
    side = np.asarray(SIDE)
    pca = nb.OjaPCA(2, n_bootstrap=19, random_state=0).fit(rng.standard_normal((300, 4)) * 2)
    with datasets.load_nwb("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen") as session:
        counts = nwb.spike_counts(session, align_to="cue_start_time", bin_size=0.5)
    return [
        study,
        datasets.simulate_two_areas(50, random_state=0),
        model.result(),
        model.estimand_interval("att"),
        nb.two_groups(Z),
        nb.q_values(P),
        nb.DiscretePID().fit([SIDE, OTHER], ARM).result(),
        course.result(),
        information.union_information(sources=[NOISE, Z[:N]], target=P[:N]),
        rule.learning_curve(INPUTS, OTHER, **trials, window=60, n_runs=2, random_state=0),
        rule.profile_likelihood("alpha", grid, INPUTS, OTHER, **trials),
        rule.simulate(INPUTS, side, n_runs=2, random_state=0),
        learning.fit_psychometric(2.0 * side - 1, OTHER),
        counts,
        counts.psth("Thalamus"),
        counts.psth("Thalamus", by="response"),
        nb.oja_asymptotic_covariance(np.diag([4.0, 2, 1]), 1, 0.01, 500),
        pca.row_regions(),
        pca.subspace_test(np.eye(4)[:, :2]),
    ]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {type(result).__name__: result for result in _made()}


def _odd(value: Any, where: str = "") -> Iterator[str]:
    """Tell what R could not read."""
    if isinstance(value, dict):
        for key, of in value.items():
            if type(key) is not str:
                yield f"{where}: key {key!r}"
            yield from _odd(of, f"{where}.{key}")
    elif isinstance(value, list):
        for i, of in enumerate(value):
            yield from _odd(of, f"{where}[{i}]")
    elif type(value) is int:
        if not -BIG < value < BIG:
            yield f"{where}: {value} is beyond R's whole numbers"
    elif value is not None and type(value) not in (str, bool, float):
        yield f"{where}: {type(value).__name__}"


def test_no_result_is_left_out(results: dict[str, Any]) -> None:
    for module in pkgutil.walk_packages(nb.__path__, "nb26stats."):
        if "deep" not in module.name and not module.name.startswith("nb26stats.data."):
            importlib.import_module(module.name)
    names = {c.__name__ for c in _classes(Result) if c.__module__.startswith("nb26stats")}
    # a recording of many gigabytes, and a page of HTML, have tests of their own
    assert names - {"TVSD", "Report"} == set(results)


def test_plain_values_only(results: dict[str, Any]) -> None:
    odd = {name: list(_odd(result.to_r())) for name, result in results.items()}
    assert {name: found[:3] for name, found in odd.items() if found} == {}


def test_texts_and_tables(results: dict[str, Any]) -> None:
    for name, result in results.items():
        assert len(result.summary()) > 20, name
        assert repr(result), name
        frame = result.to_frame()
        assert isinstance(frame, pd.DataFrame), name
        assert len(frame), name


def test_positions_from_one_stand_beside(results: dict[str, Any]) -> None:
    plain = results["SpikeCounts"].to_r()
    assert plain["trial1"]["data"] == [i + 1 for i in plain["trial_index"]["data"]]
    assert plain["unit1"]["Thalamus"]["data"] == [1, 2, 3, 4]
    assert plain["unit_index"]["Thalamus"]["data"] == [0, 1, 2, 3]


def test_file_of_helpers_names_what_it_cannot_see() -> None:
    text = Path(nb.r.helper()).read_text()
    assert "reads as" in text
    assert "NA_character_" in (nb.r.__doc__ or "")
