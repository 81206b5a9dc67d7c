"""For R users: plain forms of results."""

from __future__ import annotations

from nb26stats._results import to_r

__all__ = ["to_r"]
