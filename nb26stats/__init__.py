"""Statistics and neuroscience methods with a native core.

Every public name loads on first use, so ``import nb26stats`` itself loads no other package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import attributes
from ._version import __version__

if TYPE_CHECKING:
    from . import causal, datasets, information, learning, nwb, plotting, r, report, streaming
    from ._warnings import NB26StatsWarning
    from .causal import (
        NonparametricC2G,
        SemiparametricC2G,
        grenander_lfdr,
        local_fdr,
        q_values,
        survival_residual_z,
        two_groups,
    )
    from .information import (
        DiscretePID,
        GaussianPID,
        TimeResolvedPID,
        discretize,
        mutual_information,
    )
    from .learning import (
        DNNLearningRule,
        behavior_metrics,
        compare_architectures,
        compare_learning_rules,
        encode_contrast,
        fit_psychometric,
        select_hidden,
    )
    from .streaming import OjaPCA, oja_asymptotic_covariance

_HOMES = {
    "DNNLearningRule": "learning",
    "DiscretePID": "information",
    "GaussianPID": "information",
    "NB26StatsWarning": "_warnings",
    "NonparametricC2G": "causal",
    "OjaPCA": "streaming",
    "SemiparametricC2G": "causal",
    "TimeResolvedPID": "information",
    "behavior_metrics": "learning",
    "causal": "",
    "compare_architectures": "learning",
    "compare_learning_rules": "learning",
    "datasets": "",
    "deep": "",
    "discretize": "information",
    "encode_contrast": "learning",
    "fit_psychometric": "learning",
    "grenander_lfdr": "causal",
    "information": "",
    "learning": "",
    "local_fdr": "causal",
    "mutual_information": "information",
    "nwb": "",
    "oja_asymptotic_covariance": "streaming",
    "plotting": "",
    "q_values": "causal",
    "r": "",
    "report": "",
    "select_hidden": "learning",
    "streaming": "",
    "survival_residual_z": "causal",
    "two_groups": "causal",
}

__all__ = [
    "DNNLearningRule",
    "DiscretePID",
    "GaussianPID",
    "NB26StatsWarning",
    "NonparametricC2G",
    "OjaPCA",
    "SemiparametricC2G",
    "TimeResolvedPID",
    "__version__",
    "behavior_metrics",
    "causal",
    "compare_architectures",
    "compare_learning_rules",
    "datasets",
    "discretize",
    "encode_contrast",
    "fit_psychometric",
    "grenander_lfdr",
    "information",
    "learning",
    "local_fdr",
    "mutual_information",
    "nwb",
    "oja_asymptotic_covariance",
    "plotting",
    "q_values",
    "r",
    "report",
    "select_hidden",
    "streaming",
    "survival_residual_z",
    "two_groups",
]

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
