"""Small real data sets of the package; ``LICENCES.md`` beside them names origin and licence."""

from __future__ import annotations

from ._files import list_nwb, load_nwb, load_rat, path

__all__ = ["list_nwb", "load_nwb", "load_rat", "path"]
