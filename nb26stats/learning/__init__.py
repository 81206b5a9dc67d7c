"""Learning rules of single animals: small networks that learn trial by trial, fitted to choices."""

from __future__ import annotations

from ._contrast import encode_contrast
from ._metrics import behavior_metrics
from ._psychometric import PsychometricResult, fit_psychometric

__all__ = [
    "PsychometricResult",
    "behavior_metrics",
    "encode_contrast",
    "fit_psychometric",
]
