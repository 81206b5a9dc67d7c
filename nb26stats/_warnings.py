"""The warning class all our warnings derive from, and the way they point at the user's line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


class NB26StatsWarning(UserWarning):
    """Something in the data or the call needs the user's attention; results are still returned."""


def warn(message: str, category: type[Warning] = NB26StatsWarning) -> None:
    """Warn at the line outside this package and scikit-learn from which it was called."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _is_between(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_between(frame: FrameType) -> bool:
    # scikit-learn wraps transform, and pipelines call through joblib
    root = str(frame.f_globals.get("__name__")).split(".")[0]
    return root in (__name__.split(".")[0], "sklearn", "joblib")
