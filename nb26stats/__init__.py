"""Statistics and neuroscience methods with a native core.

Every public name loads on first use, so ``import nb26stats`` itself loads no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import datasets, nwb, plotting, r, report, streaming
    from ._warnings import NB26StatsWarning
    from .streaming import OjaPCA

_MODULES = ("datasets", "nwb", "plotting", "r", "report", "streaming")
_HOMES = {"NB26StatsWarning": "_warnings", "OjaPCA": "streaming"}

__all__ = [
    "NB26StatsWarning",
    "OjaPCA",
    "__version__",
    "datasets",
    "nwb",
    "plotting",
    "r",
    "report",
    "streaming",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
