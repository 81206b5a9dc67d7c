"""The warning class all our warnings derive from."""

from __future__ import annotations


class NB26StatsWarning(UserWarning):
    """Something in the data or the call needs the user's attention; results are still returned."""
