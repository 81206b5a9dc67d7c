"""Warnings of this room."""

from __future__ import annotations

from nb26stats._warnings import NB26StatsWarning


class OverlapWarning(NB26StatsWarning):
    """Some treated rows have no comparable controls, or some controls weigh too much."""


class SmallSampleWarning(NB26StatsWarning):
    """An arm has too few rows for its density to be trusted."""


class WeakIdentificationWarning(NB26StatsWarning):
    """The treated residuals do not spread more than the controls', so the prior is a guess."""
