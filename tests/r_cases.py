"""Every public call that takes data, as R writes it: lists, whole numbers as doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import nb26stats as nb
from nb26stats import information, learning

N = 240
_rng = np.random.default_rng(5)
ARM = [int(v) for v in _rng.integers(0, 2, N)]
SIDE = [int(v) for v in _rng.integers(0, 2, N)]
OTHER = [int(v) for v in _rng.integers(0, 2, N)]
COLUMNS = {name: [int(v) for v in _rng.integers(0, 9, N)] for name in ("a", "b", "c")}
NOISE = [float(v) for v in _rng.standard_normal(N)]
Z = [float(v) for v in _rng.standard_normal(400)]
P = [float(v) for v in _rng.random(400)]
COUNTS = _rng.poisson(4, (N, 2, 2)).tolist()
MORE = _rng.standard_normal((N, 2, 2)).tolist()
INPUTS = [[1, 0, 1] if v else [0, 1, 1] for v in _rng.integers(0, 2, N)]
DAYS = [int(v) for v in np.arange(N) // 60]


@dataclass(frozen=True)
class Case:
    """A call with its data.

    Parameters
    ----------
    call : callable
        Takes the data and integer parameters by name; returns numbers to compare.
    data : dict
        Arguments that hold data.
    flat : tuple of str
        Those that are columns of whole numbers, or may be.
    tables : tuple of str
        Those that may be tables.
    whole : dict
        Integer parameters, with values.
    """

    call: Callable[..., Any]
    data: dict[str, Any]
    flat: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    whole: dict[str, int] = field(default_factory=dict)


def _rows(columns: dict[str, list[int]]) -> list[list[int]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _c2g(cls: Any, **few: Any) -> Callable[..., Any]:
    def call(X: Any, y: Any, treatment: Any, **whole: Any) -> Any:
        model = cls(**{"random_state": 0} | few | whole)
        return model.fit(X, y, treatment=treatment).lfdr_

    return call


def _oja(X: Any, **whole: Any) -> Any:
    pca = nb.OjaPCA(**{"n_components": 2, "random_state": 0} | whole).fit(X)
    return pca.transform(X)


def _fitted(cls: Any, name: str, **fixed: Any) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        data = {k: given.pop(k) for k in ("sources", "areas", "target", "times") if k in given}
        model = cls(**{"random_state": 0} | fixed | given)
        return getattr(model.fit(*data.values()), name)

    return call


def _rule(X: Any, y: Any, rewards: Any, sessions: Any, **whole: Any) -> Any:
    settings = {"n_restarts": 2, "max_iter": 5, "random_state": 0, "n_pool": 8} | whole
    rule = nb.DNNLearningRule("1L", verbose=False, **settings)
    rule.fit(X, y, rewards=rewards, sessions=sessions)
    return rule.one_step_proba(X, y, rewards=rewards)


def _compared(function: Any, **fixed: Any) -> Callable[..., Any]:
    def call(data: Any, **whole: Any) -> Any:
        few = {"n_restarts": 2, "max_iter": 5, "n_pool": 8, "random_state": 0, "n_blocks": 3}
        return function(data, verbose=False, **fixed, **few | whole)["loglik"].to_numpy()

    return call


def _pair(first: Any, second: Any, target: Any) -> dict[str, Any]:
    return {"sources": [first, second], "target": target}


_ARMS = {"X": _rows(COLUMNS), "y": NOISE, "treatment": ARM}
_ANIMAL = {
    "animal": ["m1"] * N,
    "contrast": [v - 0.5 for v in SIDE],
    "choice": OTHER,
    "reward": ARM,
    "session": DAYS,
}
_SEARCH = {"n_restarts": 2, "max_iter": 5, "n_pool": 8, "random_state": 3}
_DESCENT = _SEARCH | {"n_threads": 1, "n_jobs": 1, "n_outputs": 1}

CASES: dict[str, Case] = {
    "OjaPCA": Case(
        _oja,
        {"X": _rows(COLUMNS)},
        tables=("X",),
        whole={
            "n_components": 2,
            "n_bootstrap": 9,
            "n_threads": 1,
            "random_state": 3,
            "multiplier_block": 2,
            "pilot_size": 20,
            "block_size": 16,
            "n_total": 500,
            "n_jobs": 1,
        },
    ),
    "NonparametricC2G": Case(
        _c2g(nb.NonparametricC2G, n_bootstrap=20),
        _ARMS,
        flat=("y", "treatment"),
        tables=("X",),
        whole={"n_bootstrap": 20, "n_jobs": 1, "n_threads": 1, "random_state": 3},
    ),
    "SemiparametricC2G": Case(
        _c2g(nb.SemiparametricC2G, n_bootstrap=0),
        _ARMS,
        flat=("y", "treatment"),
        tables=("X",),
        whole={
            "n_bootstrap": 2,
            "n_jobs": 1,
            "random_state": 3,
            "n_features": 20,
            "cv": 3,
            "max_iter": 50,
            "max_kernel_n": 3000,
        },
    ),
    "two_groups": Case(
        lambda z, **whole: nb.two_groups(z, **whole).lfdr,
        {"z": Z},
        flat=("z",),
        whole={"n_breaks": 120, "df": 7},
    ),
    "local_fdr": Case(nb.local_fdr, {"z": Z}, flat=("z",), whole={"n_breaks": 120, "df": 7}),
    "q_values": Case(lambda p: nb.q_values(p).q, {"p": P}, flat=("p",)),
    "grenander_lfdr": Case(nb.grenander_lfdr, {"p": P}, flat=("p",)),
    "survival_residual_z": Case(
        nb.survival_residual_z,
        {
            "time": [abs(v) + 0.1 for v in NOISE],
            "event": OTHER,
            "X": _rows(COLUMNS),
            "treatment": ARM,
        },
        flat=("time", "event", "treatment"),
        tables=("X",),
    ),
    "DiscretePID": Case(
        _fitted(nb.DiscretePID, "synergy_"),
        _pair(SIDE, OTHER, ARM),
        flat=("target",),
        whole={"n_permutations": 9, "max_iter": 100, "n_threads": 1, "random_state": 3},
    ),
    "GaussianPID": Case(
        _fitted(nb.GaussianPID, "synergy_"),
        _pair(_rows(COLUMNS), NOISE, NOISE[::-1]),
        flat=("target",),
        whole={"pca": 1, "n_bootstrap": 5, "n_threads": 1, "random_state": 3},
    ),
    "TimeResolvedPID": Case(
        _fitted(nb.TimeResolvedPID, "values_", verbose=False, min_run=1),
        {"areas": {"V1": COUNTS, "IT": MORE}, "target": NOISE, "times": [0, 10]},
        flat=("target", "times"),
        whole={
            "target_pca": 1,
            "area_pca": 2,
            "n_permutations": 99,
            "n_bootstrap": 2,
            "min_run": 1,
            "n_jobs": 1,
            "random_state": 3,
        },
    ),
    "mutual_information": Case(
        lambda x, y, **whole: nb.mutual_information(
            x, y, method="discrete", bias="shuffle", **{"random_state": 0} | whole
        ),
        {"x": _rows(COLUMNS), "y": SIDE},
        flat=("y",),
        tables=("x",),
        whole={"n_permutations": 9, "random_state": 3},
    ),
    "discretize": Case(
        lambda x, n_bins=3: nb.discretize(x, n_bins),
        {"x": _rows(COLUMNS)},
        tables=("x",),
        whole={"n_bins": 3},
    ),
    "union_information": Case(
        lambda sources, target: information.union_information(sources=sources, target=target).value,
        {"sources": [_rows(COLUMNS), NOISE], "target": NOISE[::-1]},
        flat=("target",),
    ),
    "DNNLearningRule": Case(
        _rule,
        {"X": INPUTS, "y": OTHER, "rewards": ARM, "sessions": DAYS},
        flat=("y", "rewards", "sessions"),
        tables=("X",),
        whole=_DESCENT,
    ),
    "compare_architectures": Case(
        _compared(nb.compare_architectures, architectures=["1L"]),
        {"data": _ANIMAL},
        tables=("data",),
        whole=_SEARCH | {"n_jobs": 1, "n_blocks": 3},
    ),
    "compare_learning_rules": Case(
        _compared(nb.compare_learning_rules, architectures=["1L"], rules=["rpe"]),
        {"data": _ANIMAL},
        tables=("data",),
        whole=_SEARCH | {"n_jobs": 1, "n_blocks": 3},
    ),
    "select_hidden": Case(
        _compared(learning.select_hidden, hidden=[2.0]),
        {"data": _ANIMAL},
        tables=("data",),
        whole=_SEARCH | {"n_jobs": 1, "n_blocks": 3},
    ),
    "behavior_metrics": Case(
        lambda **given: nb.behavior_metrics(**given)["accuracy"].to_numpy(),
        {"contrast": [2 * v - 1 for v in SIDE], "choice": OTHER},
        flat=("contrast", "choice"),
        whole={"window": 60, "step": 30},
    ),
    "fit_psychometric": Case(
        lambda **given: nb.fit_psychometric(**given).to_frame()["n_right"].to_numpy(),
        {"contrast": [2 * v - 1 for v in SIDE], "choice": OTHER},
        flat=("contrast", "choice"),
    ),
    "encode_contrast": Case(nb.encode_contrast, {"c": [2 * v - 1 for v in SIDE]}, flat=("c",)),
    "oja_asymptotic_covariance": Case(
        lambda cov, **whole: (
            nb.oja_asymptotic_covariance(
                cov, **{"n_components": 1, "eta": 0.01} | whole
            ).expected_error
        ),
        {"cov": [[4, 1], [1, 2]]},
        whole={"n_components": 1, "n": 500},
    ),
}
