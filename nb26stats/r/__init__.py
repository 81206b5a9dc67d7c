"""For R users: plain forms of results, and the helper file for R itself."""

from __future__ import annotations

from nb26stats._results import to_r

from ._bridge import columns, demo_logistic, from_bytes, helper, versions

__all__ = ["columns", "demo_logistic", "from_bytes", "helper", "to_r", "versions"]
