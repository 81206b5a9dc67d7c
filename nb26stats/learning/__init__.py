"""Learning rules of single animals: small networks that learn trial by trial, fitted to choices."""

from __future__ import annotations

from ._compare import compare_architectures, compare_learning_rules
from ._contrast import encode_contrast
from ._course import LearningCurve
from ._metrics import behavior_metrics
from ._profile_result import ProfileResult
from ._psychometric import PsychometricResult, fit_psychometric
from ._rule import DNNLearningRule
from ._select import select_hidden
from ._simulation import SimulationResult

__all__ = [
    "DNNLearningRule",
    "LearningCurve",
    "ProfileResult",
    "PsychometricResult",
    "SimulationResult",
    "behavior_metrics",
    "compare_architectures",
    "compare_learning_rules",
    "encode_contrast",
    "fit_psychometric",
    "select_hidden",
]
