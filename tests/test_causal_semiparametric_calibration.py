"""Error rates and power of the semiparametric estimator at its defaults, on simulated trials.

Oracles know the densities and priors. Rates are means over seeds with the standard error of that
mean behind; printed with ``pytest -s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pytest
from reference import c2g_oracle as oracle

from nb26stats import SemiparametricC2G

pytestmark = [
    pytest.mark.slow,
    # what weak effects do is the subject of some tests here
    pytest.mark.filterwarnings("ignore:zM2="),
    pytest.mark.filterwarnings("ignore:the probabilities of response still change"),
]

Q = 0.1
ROOM = 0.03
"""What a mean false discovery rate may lie above Q."""


class Rates(NamedTuple):
    """Means over seeds."""

    fdr: float
    error: float  # standard error of fdr
    power: float
    oracle_power: float
    any_selected: int
    n: int


def run(make: Callable[[int], oracle.Truth], seeds: Iterable[int], label: str) -> Rates:
    """Fit every seed with defaults, and print what came out."""
    rows = []
    for seed in seeds:
        truth = make(seed)
        model = SemiparametricC2G(random_state=seed)
        model.fit(truth.X, truth.y, treatment=truth.treatment)
        rows.append(
            (
                *oracle.rates(truth, model.selected_),
                oracle.oracle(truth)[1],
                model.selected_.any(),
                model.zM2_,
            )
        )
    table = np.array(rows, dtype=float)
    mean, error = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
    found = Rates(mean[0], error[0], mean[1], mean[2], int(table[:, 3].sum()), len(table))
    print(
        f"\n{label}: FDR {found.fdr:.3f} ± {found.error:.3f}, power {found.power:.3f}, oracle "
        f"{found.oracle_power:.3f}, selections in {found.any_selected} of {found.n}, zM2 "
        f"{table[:, 4].min():.1f} to {table[:, 4].max():.1f}"
    )
    return found


@pytest.mark.parametrize("tau", [3, 5])
def test_additive_trials(tau: int) -> None:
    found = run(lambda s: oracle.additive(1000, tau, s), range(100, 112), f"additive tau={tau}")
    assert found.fdr <= Q + ROOM
    assert found.power >= found.oracle_power - 0.06


@pytest.mark.parametrize("tau", [3, 5])
def test_trials_that_are_not_additive(tau: int) -> None:
    """Responses that stretch outcomes cost power, not error."""
    make = oracle.nonadditive
    found = run(lambda s: make(1000, tau, s), range(100, 112), f"nonadditive tau={tau}")
    assert found.fdr <= Q + ROOM
    assert found.power >= 0.4


def test_without_responders_hardly_a_run_selects() -> None:
    found = run(lambda s: oracle.additive(1000, 0, s), range(100, 120), "additive tau=0")
    # in one of ten runs at most
    assert found.any_selected <= 2


@pytest.mark.filterwarnings("ignore:overlap. ")
@pytest.mark.parametrize("a", [-1.5, 1.0])
def test_confounded_and_unequal_arms(a: float) -> None:
    found = run(lambda s: oracle.confounded(1500, 3, s, a), range(10, 20), f"confounded a={a}")
    assert found.fdr <= Q + ROOM
    assert found.any_selected >= 8


@pytest.mark.parametrize("design", ["additive", "nonadditive"])
def test_ten_thousand_rows(design: str) -> None:
    make = getattr(oracle, design)
    found = run(lambda s: make(10_000, 3, s), range(100, 104), f"{design} tau=3, N=10,000")
    assert found.fdr <= Q + ROOM
    if design == "additive":
        assert found.power >= found.oracle_power - 0.06
