"""The warning class all our warnings derive from, and the way they point at the user's line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


class NB26StatsWarning(UserWarning):
    """Something in the data or the call needs the user's attention; results are still returned."""


def warn(message: str) -> None:
    """Warn at the line outside this package from which it was called."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, NB26StatsWarning, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).split(".")[0] == __name__.split(".")[0]
