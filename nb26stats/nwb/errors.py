"""Errors of the NWB rooms: every message says what was found and what would be right."""

from __future__ import annotations


class NB26NWBError(ValueError):
    """Base of the errors about the content of an NWB file."""


class NotAnNWBFileError(NB26NWBError):
    """The file exists but is not an NWB file."""


class UnsupportedNWBVersionError(NB26NWBError):
    """The file is NWB 1.x."""


class CorruptFileError(NB26NWBError):
    """The file is damaged, or its tables contradict each other."""


class NWBReadError(NB26NWBError):
    """The file could not be read by pynwb."""


class MissingTableError(NB26NWBError):
    """The file lacks the table that was asked for."""


class MissingColumnError(NB26NWBError, KeyError):
    """A table lacks the column that was asked for."""

    # KeyError shows its message through repr, which turns line breaks into \n
    __str__ = Exception.__str__


class ConventionError(NB26NWBError):
    """The behaviour table fits no known convention, or one that lacks what was asked for."""


class ClosedSessionError(NB26NWBError):
    """The session was closed before its data were read."""
