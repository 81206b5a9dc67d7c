"""NWB files as tables and arrays: trials, units, event-aligned counts, behaviour, saved results.

Every function takes a path, an open :class:`Session` or a ``pynwb.NWBFile``; what it returns is in
memory and needs the file no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nb26stats._lazy import attributes

if TYPE_CHECKING:
    from ._behavior import behavior
    from ._counts import spike_counts
    from ._counts_result import SpikeCounts
    from ._learning import concat_sessions, to_learning
    from ._psth import PSTH, PSTHGroups
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
    "PSTH": "_psth",
    "PSTHGroups": "_psth",
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
    "PSTH",
    "ClosedSessionError",
    "ConventionError",
    "CorruptFileError",
    "MissingColumnError",
    "MissingTableError",
    "NB26NWBError",
    "NWBReadError",
    "NotAnNWBFileError",
    "PSTHGroups",
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

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
