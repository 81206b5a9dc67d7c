"""Scikit-learn's own conformance suite over every estimator of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import nb26stats

# check -> why it cannot hold, by estimator
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def _estimators() -> list[BaseEstimator]:
    found = [getattr(nb26stats, name) for name in nb26stats.__all__]
    return [c() for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)]


def test_there_are_estimators() -> None:
    assert any(type(e).__name__ == "OjaPCA" for e in _estimators())


# the suite's data have fewer rows than the default pilot, which is what this warning says
@pytest.mark.filterwarnings("ignore:.* rows do not go beyond pilot_size")
# both come from the suite's own unusual inputs
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix for nan or inf")
@parametrize_with_checks(
    _estimators(),
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
def test_conformance(estimator: BaseEstimator, check: Callable[[Any], None]) -> None:
    assert check(estimator) is None
