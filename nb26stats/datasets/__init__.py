"""Data sets and simulators: small real files, a reader of a large one, and known answers.

``LICENCES.md`` beside the files that come with the package names their origin and licence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nb26stats._lazy import attributes

from ._files import list_nwb, load_nhefs, load_nwb, load_rat, path

if TYPE_CHECKING:
    from ._c2g import (
        ResponderData,
        simulate_additive,
        simulate_confounded,
        simulate_nonadditive,
    )
    from ._ibl import load_ibl_csv
    from ._tvsd import TVSD, read_tvsd
    from ._two_areas import TwoAreas, simulate_two_areas

# these need NumPy, which finding a file does not
_HOMES = {
    "ResponderData": "_c2g",
    "TVSD": "_tvsd",
    "TwoAreas": "_two_areas",
    "load_ibl_csv": "_ibl",
    "read_tvsd": "_tvsd",
    "simulate_additive": "_c2g",
    "simulate_confounded": "_c2g",
    "simulate_nonadditive": "_c2g",
    "simulate_two_areas": "_two_areas",
}

__all__ = [
    "TVSD",
    "ResponderData",
    "TwoAreas",
    "list_nwb",
    "load_ibl_csv",
    "load_nhefs",
    "load_nwb",
    "load_rat",
    "path",
    "read_tvsd",
    "simulate_additive",
    "simulate_confounded",
    "simulate_nonadditive",
    "simulate_two_areas",
]

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
