"""Mutual information, and what two sources tell about a target: shared, unique, synergistic."""

from __future__ import annotations

from ._discrete import DiscretePID
from ._discretize import discretize
from ._gaussian import GaussianPID
from ._mutual import mutual_information
from ._result import PIDResult
from ._time import TimeResolvedPID
from ._time_result import TimeResolvedPIDResult
from ._union import UnionResult, union_information

__all__ = [
    "DiscretePID",
    "GaussianPID",
    "PIDResult",
    "TimeResolvedPID",
    "TimeResolvedPIDResult",
    "UnionResult",
    "discretize",
    "mutual_information",
    "union_information",
]
