"""Small real data sets that come with the package (origin and licences: ``LICENCES.md`` beside them)."""

from __future__ import annotations

from ._files import list_nwb, load_nwb, load_rat, path

__all__ = ["list_nwb", "load_nwb", "load_rat", "path"]
