"""Arms without covariates, whose rows share their sums: the numbers of refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_causal_density import Problem, agree, isa, same_bits  # noqa: F401

from nb26stats import NonparametricC2G


@pytest.mark.parametrize(
    ("n", "k"),
    [((40, 40), 39), ((60, 45), 44), ((30, 50), 29), ((45, 60), 12)],
)
@pytest.mark.usefixtures("isa")
def test_every_resample_agrees_with_its_refit(n: tuple[int, int], k: int) -> None:
    problem = Problem(n, 0, k)
    # alone and far from the others, and the row of which a count is left out
    problem.y[0][3] = problem.outcome[3] = 6.0
    problem.y[0][-1] = problem.outcome[7] = -2.0
    problem.own[0, 7] = n[0] - 1
    agree(problem.bounds(20), problem.refit(20))


def test_resamples_of_the_query_alone_take_its_nearest_row() -> None:
    problem = Problem((8, 8), 0, 1)
    for a in range(2):
        problem.x[a], problem.y[a] = problem.x[a][:2], problem.y[a][:2]
    problem.own[:] = -1
    problem.own[0, :2] = problem.own[1, 8:10] = [0, 1]
    agree(problem.bounds(20), problem.refit(20))


def test_curves_without_outcomes_and_without_threads_to_tell() -> None:
    problem = Problem((60, 60), 0, 59)
    expected, found = problem.refit(20), problem.curves(20)
    for mine, other in (
        (found.control, expected.point[0]),
        (found.treated_upper, expected.upper[1]),
        (found.control_lower, expected.lower[0]),
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
    same_bits(problem.bounds(20), problem.bounds(20, n_threads=2))
    with_outcomes = problem.bounds(20)
    problem.outcome = None  # type: ignore[assignment]
    bare = problem.bounds(20)
    assert np.isnan(bare.lfdr).all()
    assert np.array_equal(with_outcomes.prior, bare.prior)


def test_parts_of_one_run_are_the_run(monkeypatch: Any) -> None:
    from nb26stats.causal import _native

    problem = Problem((60, 60), 0, 59)
    whole = problem.bounds(20)
    monkeypatch.setitem(_native.CALL_WORK, "cpu", 1e4)
    same_bits(whole, problem.bounds(20))


@pytest.mark.slow
def test_many_rows_without_covariates_find_the_responders() -> None:
    r = np.random.default_rng(0)
    n = 10_000
    treated = r.random(n) < 0.5
    y = r.normal(size=n) + 3 * (treated & (r.random(n) < 0.4))
    model = NonparametricC2G(random_state=0, n_threads=1)
    with pytest.warns(UserWarning, match="no covariate is left, so all rows share one prior"):
        model.fit(np.ones((n, 1)), y, treatment=treated)
    assert 0.3 < model.estimand_interval("erpf").lower < 0.42
    low, high = (getattr(model.estimand_interval("att"), end) for end in ("ci_low", "ci_high"))
    assert low < 1.2 < high
