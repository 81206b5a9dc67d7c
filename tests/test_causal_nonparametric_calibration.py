"""Error rates and power of the nonparametric estimator at its defaults, on simulated trials.

Oracles know the densities and priors. Rates are means over seeds with the standard error of that
mean behind; printed with ``pytest -s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pytest
from reference import c2g_oracle as oracle

from nb26stats import NonparametricC2G

pytestmark = pytest.mark.slow

Q = 0.1
ROOM = 0.03
"""What a mean false discovery rate may lie above Q."""


class Rates(NamedTuple):
    """Means over seeds."""

    fdr: float
    error: float  # standard error of fdr
    power: float
    oracle_power: float
    power_gap_error: float  # standard error of oracle_power - power
    any_selected: int
    n: int


def run(make: Callable[[int], oracle.Truth], seeds: Iterable[int], label: str) -> Rates:
    """Fit every seed with defaults, and print what came out."""
    rows = []
    for seed in seeds:
        truth = make(seed)
        model = NonparametricC2G(random_state=seed, n_threads=1)
        model.fit(truth.X, truth.y, treatment=truth.treatment)
        rows.append(
            (
                *oracle.rates(truth, model.selected_),
                oracle.oracle(truth)[1],
                model.selected_.any(),
            )
        )
    table = np.array(rows, dtype=float)
    mean, error = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
    gap = (table[:, 2] - table[:, 1]).std(ddof=1) / np.sqrt(len(table))
    found = Rates(*mean[:1], *error[:1], *mean[1:3], gap, int(table[:, 3].sum()), len(table))
    print(
        f"\n{label}: FDR {found.fdr:.3f} ± {found.error:.3f}, power {found.power:.3f}, oracle "
        f"{found.oracle_power:.3f} (difference ± {found.power_gap_error:.3f}), selections in "
        f"{found.any_selected} of {found.n}"
    )
    return found


@pytest.mark.parametrize(
    ("design", "tau", "distance"),
    [
        ("additive", 3, 0.30),
        ("additive", 5, 0.15),
        ("nonadditive", 1, 0.13),
        ("nonadditive", 3, 0.15),
        ("nonadditive", 5, 0.10),
    ],
)
def test_rates_and_power_over_twelve_seeds(design: str, tau: int, distance: float) -> None:
    make = getattr(oracle, design)
    found = run(lambda s: make(1000, tau, s), range(100, 112), f"{design} tau={tau}")
    # standard errors are .007 to .014
    assert found.fdr <= Q + ROOM
    assert found.power >= found.oracle_power - distance


def test_hopeless_effects_are_no_licence() -> None:
    found = run(lambda s: oracle.additive(1000, 1, s), range(100, 112), "additive tau=1")
    assert found.fdr <= Q + ROOM


def test_without_responders_hardly_a_run_selects() -> None:
    found = run(lambda s: oracle.additive(1000, 0, s), range(100, 120), "additive tau=0")
    # with a true rate of 2 % of runs, more than 2 of 20 happen 1 time in 140
    assert found.any_selected <= 2


@pytest.mark.filterwarnings("ignore:overlap. ")
@pytest.mark.parametrize("a", [-1.5, 1.0, 1.5])
def test_confounded_and_unequal_arms(a: float) -> None:
    found = run(lambda s: oracle.confounded(1500, 3, s, a), range(10, 20), f"confounded a={a}")
    # standard errors are .012 to .014
    assert found.fdr <= Q + ROOM
    # at 1.5 few controls stand for many treated rows: 19 of 24 studies select
    assert found.any_selected >= (6 if a == 1.5 else 9)


@pytest.mark.parametrize(("design", "tau"), [("additive", 3), ("nonadditive", 3)])
def test_ten_thousand_rows(design: str, tau: int) -> None:
    make = getattr(oracle, design)
    found = run(lambda s: make(10_000, tau, s), range(100, 104), f"{design} tau={tau}, N=10,000")
    assert found.fdr <= Q + ROOM
    assert found.power >= found.oracle_power - {"additive": 0.30, "nonadditive": 0.15}[design]
