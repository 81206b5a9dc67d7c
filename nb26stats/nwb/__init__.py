"""NWB files as tables and arrays: trials, units, event-aligned counts, behaviour, saved results.

Every function takes a path, an open :class:`Session` or a ``pynwb.NWBFile``; what it returns is in
memory and needs the file no more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._behavior import behavior
    from ._counts import spike_counts
    from ._counts_result import SpikeCounts
    from ._learning import concat_sessions, to_learning
    from ._save import save_results
    from ._session import Session, open
    from ._tables import trials
    from ._units import units
    from .errors import (
        ClosedSessionError,
        ConventionError,
        CorruptFileError,
        MissingColumnError,
        MissingTableError,
        NB26NWBError,
        NotAnNWBFileError,
        NWBReadError,
        UnsupportedNWBVersionError,
    )

_HOMES = {
    "ClosedSessionError": "errors",
    "ConventionError": "errors",
    "CorruptFileError": "errors",
    "MissingColumnError": "errors",
    "MissingTableError": "errors",
    "NB26NWBError": "errors",
    "NWBReadError": "errors",
    "NotAnNWBFileError": "errors",
    "Session": "_session",
    "SpikeCounts": "_counts_result",
    "UnsupportedNWBVersionError": "errors",
    "behavior": "_behavior",
    "concat_sessions": "_learning",
    "open": "_session",
    "save_results": "_save",
    "spike_counts": "_counts",
    "to_learning": "_learning",
    "trials": "_tables",
    "units": "_units",
}

__all__ = [
    "ClosedSessionError",
    "ConventionError",
    "CorruptFileError",
    "MissingColumnError",
    "MissingTableError",
    "NB26NWBError",
    "NWBReadError",
    "NotAnNWBFileError",
    "Session",
    "SpikeCounts",
    "UnsupportedNWBVersionError",
    "behavior",
    "concat_sessions",
    "open",
    "save_results",
    "spike_counts",
    "to_learning",
    "trials",
    "units",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
