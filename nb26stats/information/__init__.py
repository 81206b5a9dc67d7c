"""Mutual information, and what two sources tell about a target: shared, unique, synergistic."""

from __future__ import annotations

from ._result import PIDResult

__all__ = ["PIDResult"]
