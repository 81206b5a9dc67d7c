"""Settings shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TQDM_DISABLE", "1")

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "nb26stats",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("nb26stats")


@pytest.fixture
def isa() -> Iterator[int]:
    """Highest instruction-set level of the native core, in force again after the test."""
    from nb26stats._dispatch import core

    highest: int = core().isa_supported()
    yield highest
    core().set_isa(highest)
