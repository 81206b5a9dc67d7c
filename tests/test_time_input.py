"""What TimeResolvedPID says about data and settings it cannot use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from time_pid_data import PLAIN, estimator, step_data

from nb26stats import NB26StatsWarning
from nb26stats.information import DiscretePID, GaussianPID, TimeResolvedPID
from nb26stats.information._areas import read_pairs

X, TARGET, TIMES = step_data()


def with_value(value: float) -> dict[str, np.ndarray]:
    out = {a: v.copy() for a, v in X.items()}
    out["B"][17, 3, 2] = value
    return out


@pytest.mark.parametrize(
    ("areas", "target", "times", "error", "message"),
    [
        (with_value(np.nan), TARGET, TIMES, ValueError, r"area 'B' holds nan at trial 17, bin 3,"),
        (with_value(np.inf), TARGET, TIMES, ValueError, r"area 'B' holds inf at .* unit 2"),
        ({**X, "C": X["C"][:-1]}, TARGET, TIMES, ValueError, "'A' has 300, 'C' has 299"),
        (X, TARGET["image"][1:], TIMES, ValueError, "target has 299 trials but the areas have 300"),
        (X, {"t": np.full((300, 1), np.nan)}, TIMES, ValueError, "'t' holds nan at trial 0"),
        (X, TARGET, TIMES[:-1], ValueError, "has 8 bins but times has 7"),
        (X, TARGET, TIMES[::-1], ValueError, "times must increase"),
        (X, TARGET, np.r_[TIMES[:-1], np.inf], ValueError, "times must be finite"),
        (X, TARGET, [], ValueError, "at least one bin"),
        (list(X.values()), TARGET, TIMES, TypeError, "must map the names of areas"),
        (SimpleNamespace(counts=X), TARGET, TIMES, TypeError, "SimpleNamespace; its .counts are"),
        ({}, TARGET, TIMES, ValueError, "holds no area"),
        ({"A": X["A"]}, TARGET, TIMES, ValueError, "default pairs for two or three areas"),
        ({**X, "D": X["A"]}, TARGET, TIMES, ValueError, "with 4 give pairs"),
        ({1: X["A"]}, TARGET, TIMES, TypeError, "name of an area must be text"),
        ({**X, "A": X["A"][0, 0]}, TARGET, TIMES, ValueError, "must have the shape"),
        ({**X, "A": X["A"][..., :0]}, TARGET, TIMES, ValueError, "must have the shape"),
        ({**X, "A": X["A"].astype(str)}, TARGET, TIMES, TypeError, "must hold real numbers"),
        (
            {**X, "A": np.where(X["A"] > 3, -(2**31), 1).astype(np.int32)},
            TARGET,
            TIMES,
            ValueError,
            "area 'A' holds -2147483648, R's NA_integer_",
        ),
        (X, np.r_[-(2**31), np.arange(299)], TIMES, ValueError, "target holds -2147483648"),
        (X, {}, TIMES, ValueError, "target holds no array"),
        (X, np.zeros((300, 2, 2)), TIMES, ValueError, r"must have the shape \(trials, features\)"),
        (X, np.ones((300, 2)), TIMES, ValueError, "every feature of target 'target' is constant"),
        (X, np.tile(["a", "b"], 150), TIMES, TypeError, "holds labels, and GaussianPID needs"),
        (X, np.tile(["a", "b"], 150), TIMES, TypeError, "one fewer than there are classes"),
        (X, TARGET["image"] * 1j, TIMES, TypeError, "numbers or labels, got complex128"),
        ({**X, "B": np.ones((300, 8, 2))}, TARGET, TIMES, ValueError, "unit of area 'B' is const"),
        (
            {**X, "B": np.repeat(X["B"], 2, axis=2)},
            TARGET,
            TIMES,
            ValueError,
            "units of area 'B' are linearly dependent over all bins",
        ),
        ({**X, "B": X["A"]}, TARGET, TIMES, ValueError, "pair A-B are linearly dependent in bin 0"),
        (X, np.tile(TARGET["image"], 2), TIMES, ValueError, "features of target 'target' are lin"),
        (X, X["B"][:, 2], TIMES, ValueError, "infinite information in pair B-C, .* bin 2"),
    ],
)
def test_data(areas: Any, target: Any, times: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        estimator().fit(areas, target, times)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_permutations": 98}, ValueError, "cannot reach alpha=0.01: .* at least 99"),
        ({"n_permutations": 9.5}, TypeError, "n_permutations must be a whole number"),
        ({"alpha": 0.0}, ValueError, "alpha=0 must lie strictly between"),
        ({"level": 1.0}, ValueError, "level=1 must lie"),
        ({"min_run": 9}, ValueError, r"min_run=9 must lie in \[1, 8\]"),
        ({"null": "Target"}, ValueError, "null='Target' must be one of"),
        ({"correction": "fdr"}, ValueError, "correction='fdr' must be one of"),
        ({"correction_scope": "pair"}, ValueError, "correction_scope='pair' must be one of"),
        ({"onset_method": "peak"}, ValueError, "onset_method='peak' must be one of"),
        ({"onset_fraction": 0.0}, ValueError, "onset_fraction=0 must be greater"),
        ({"bootstrap": "block"}, ValueError, "bootstrap='block' must be one of"),
        ({"n_bootstrap": -1}, ValueError, "n_bootstrap=-1 must be at least 0"),
        ({"area_pca": 0}, ValueError, "area_pca=0 must be at least 1"),
        ({"target_pca": "10"}, TypeError, "target_pca must be a whole number"),
        ({"missing": "drop"}, ValueError, "missing='drop' must be one of 'raise'"),
        ({"verbose": 1}, TypeError, "verbose must be True or False"),
        ({"n_jobs": "2"}, TypeError, "n_jobs must be a whole number"),
        ({"random_state": "0"}, TypeError, "random_state must be a whole number"),
        ({"estimator": GaussianPID}, TypeError, "must be an instance"),
        ({"estimator": 3}, TypeError, "must be an instance"),
        ({"estimator": GaussianPID(measure="imin")}, ValueError, "measure='imin' must be one of"),
        ({"estimator": GaussianPID(bias="qe")}, ValueError, "bias='qe' must be one of"),
        ({"estimator": DiscretePID(), "area_pca": 20}, ValueError, "set area_pca=None"),
        ({"estimator": DiscretePID(), "target_pca": 5}, ValueError, "target_pca=5 turns codes"),
        (
            {"estimator": DiscretePID(), "null": "conditional-x"},
            ValueError,
            "permutes residuals of a regression, which only GaussianPID",
        ),
        ({"pairs": []}, ValueError, "pairs is empty"),
        ({"pairs": [("A", "Z")]}, ValueError, "names area 'Z', but X_by_area has A, B, C"),
        ({"pairs": [("A", ("A", "B"))]}, ValueError, "names area 'A' twice"),
        ({"pairs": [("A", "B"), ("A", "B")]}, ValueError, "lists A-B twice"),
        ({"pairs": [("A", "B", "C")]}, ValueError, "must name two sources"),
        ({"pairs": ["A", "B", "C"]}, TypeError, r"must be \(area, area\), got 'A'"),
        ({"pairs": [("A", ())]}, ValueError, "names no area"),
        ({"pairs": [("A", 3)]}, TypeError, "an area in pairs must be text"),
    ],
)
def test_settings(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    pid = estimator().set_params(**settings)
    with pytest.raises(error, match=message):
        pid.fit(X, TARGET, TIMES)
    assert not hasattr(pid, "values_")


def test_integers_and_lists_as_r_sends_them() -> None:
    pid = estimator(
        n_permutations=99.0, min_run=3.0, n_bootstrap=0.0, n_jobs=1.0, pairs=["A", "B"]
    ).fit(X, TARGET, list(TIMES))
    assert pid.pairs_ == ["A-B"]
    fortran = {a: np.asfortranarray(v) for a, v in X.items()}
    same = estimator(pairs=[["A", "B"]]).fit(fortran, TARGET, TIMES)
    np.testing.assert_allclose(same.z_, pid.z_, atol=1e-9)
    block = [p.label for p in read_pairs([[["A", "B"], "C"], ["A", ["B", "C"]]], "ABC")]
    assert block == ["(A,B)-C", "A-(B,C)"]


def test_a_fraction_needs_bins_before_zero() -> None:
    pid = estimator(onset_method="fraction")
    with pytest.raises(ValueError, match="needs bins with times < 0"):
        pid.fit(X, TARGET, TIMES + 20)
    assert pid.fit(X, TARGET, TIMES).onsets_[0, 0, 0] == 0


def test_too_few_trials() -> None:
    few = {a: v[:12] for a, v in X.items()}
    target = TARGET["image"][:12]
    with pytest.raises(ValueError, match=r"12 trials cannot give .* 12 dimensions \(pair \(A,B\)"):
        estimator().fit(few, target, TIMES)
    some = {a: v[:22] for a, v in X.items()}
    with pytest.raises(ValueError, match="a resample of 11 trials"):
        estimator("bootstrap", n_bootstrap=2).fit(some, TARGET["image"][:22], TIMES)
    with pytest.warns(NB26StatsWarning, match=r"22 trials for 12 dimensions.*too large by about"):
        estimator().fit(some, TARGET["image"][:22], TIMES)


def test_constant_units_and_features_are_left_out() -> None:
    areas = {**X, "A": np.concatenate([X["A"], np.full((300, 8, 2), 4.0)], axis=2)}
    target = np.column_stack([TARGET["image"], np.ones(300)])
    with pytest.warns(NB26StatsWarning) as caught:
        pid = estimator().fit(areas, target, TIMES)
    texts = [str(w.message) for w in caught]
    assert any("area 'A': 2 of 5 units are constant" in t and "(units 3, 4," in t for t in texts)
    assert any("1 of 4 features are constant" in t for t in texts)
    want = estimator().fit(X, TARGET["image"], TIMES)
    np.testing.assert_allclose(pid.values_, want.values_, atol=1e-12)


def test_mmi_warns_of_the_unique_information_it_sets_to_zero() -> None:
    with pytest.warns(NB26StatsWarning, match="sets the smaller unique information to 0") as got:
        pid = estimator(measure="mmi").fit(X, TARGET, TIMES)
    assert len(got) == 1
    assert got[0].filename == __file__
    assert np.abs(pid.values_[:, :, 4:6].min(axis=2)).max() < 1e-12
    assert pid.result().measure == "mmi"
    assert "mmi" in pid.result().summary()


def test_repeated_warnings_of_the_estimator_come_once() -> None:
    rng = np.random.default_rng(0)
    codes = {a: rng.integers(0, 4, (40, 3, 1)) for a in "AB"}
    pid = TimeResolvedPID(
        DiscretePID("imin"), n_permutations=19, alpha=0.05, random_state=0, **PLAIN
    )
    with pytest.warns(NB26StatsWarning, match="too few samples per cell") as got:
        pid.fit(codes, rng.integers(0, 4, 40), np.arange(3.0))
    assert len(got) == 1
    assert "(and 2 more of the kind)" in str(got[0].message)


def test_an_area_of_one_unit_and_a_frame_as_target() -> None:
    thin = {"A": X["A"][:, :, 0], "B": X["B"][:, :, :1]}
    frame = pd.DataFrame(TARGET["image"], columns=list("xyz"))
    pid = estimator().fit(thin, frame, TIMES)
    want = GaussianPID(bias=None).fit([thin["A"][:, 5], thin["B"][:, 5]], TARGET["image"])
    np.testing.assert_allclose(pid.values_[0, 0, :3, 5], want.mi_, atol=1e-10)


def test_nothing_is_there_before_fit() -> None:
    pid = TimeResolvedPID()
    for call in (pid.to_frame, pid.result, pid.plot, lambda: pid.latencies_):
        with pytest.raises(NotFittedError):
            call()


def test_a_failed_fit_leaves_the_former_one() -> None:
    pid = estimator().fit(X, TARGET, TIMES)
    before = pid.values_
    with pytest.raises(ValueError, match="holds nan"):
        pid.fit(with_value(np.nan), TARGET, TIMES)
    assert pid.values_ is before
