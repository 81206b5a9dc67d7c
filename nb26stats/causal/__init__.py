"""Who responded to treatment: causal two-groups models and the classical two-groups tools."""

from __future__ import annotations

from ._cautions import OverlapWarning, SmallSampleWarning, WeakIdentificationWarning
from ._nonparametric import NonparametricC2G
from ._results import C2GResult, EstimandInterval
from ._semiparametric import SemiparametricC2G
from ._survival import survival_residual_z
from .twogroups import (
    QValuesResult,
    TwoGroupsResult,
    grenander_lfdr,
    local_fdr,
    q_values,
    two_groups,
)

__all__ = [
    "C2GResult",
    "EstimandInterval",
    "NonparametricC2G",
    "OverlapWarning",
    "QValuesResult",
    "SemiparametricC2G",
    "SmallSampleWarning",
    "TwoGroupsResult",
    "WeakIdentificationWarning",
    "grenander_lfdr",
    "local_fdr",
    "q_values",
    "survival_residual_z",
    "two_groups",
]
