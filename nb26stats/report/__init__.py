"""One HTML page about an NWB file: tables, figures with their code and numbers, warnings."""

from __future__ import annotations

from ._build import Report, build_report

__all__ = ["Report", "build_report"]
