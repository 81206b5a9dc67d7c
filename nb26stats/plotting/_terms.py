"""Names, colours and units of the terms of an information decomposition."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from nb26stats._check import as_list, as_text

from ._axes import plain
from ._colors import ATOM_COLORS

ATOMS = ("redundancy", "unique_1", "unique_2", "synergy")
MEASURED = ("mi_1", "mi_2", "mi_12")
TERMS = (*MEASURED, *ATOMS)

TERM_COLORS = MappingProxyType(
    {
        **ATOM_COLORS,
        "mi_1": ATOM_COLORS["unique_1"],
        "mi_2": ATOM_COLORS["unique_2"],
        "mi_12": "#000000",
    }
)
"""Colours of the atoms, and of the information of each source and of both together."""

LONGEST = 18


def unit_of(base: float) -> str:
    """Return the unit of information counted with logarithms of this base."""
    if base == 2:
        return "bits"
    if math.isclose(base, math.e):
        return "nats"
    return "hartleys" if base == 10 else f"base {base:g}"


def two_names(names: Sequence[str] | None, pair: Any = None) -> tuple[str, str]:
    """Return what the two sources are called: as given, else by the pair, else by number."""
    if names is not None:
        given = [as_text(name, "names") for name in as_list(names, "names")]
        if len(given) != 2:
            raise ValueError(f"names must hold the names of two sources, got {len(given)}")
    else:
        given = _sides(pair) if isinstance(pair, str) else ["source 1", "source 2"]
    return plain(given[0], LONGEST), plain(given[1], LONGEST)


def _sides(label: str) -> list[str]:
    """Return the two sides of ``V1-IT`` or ``(V1,V4)-IT``, where the label leaves no doubt."""
    found = re.fullmatch(r"(\([^()]+\)|[^()-]+)-(\([^()]+\)|[^()-]+)", label)
    if not found:
        return ["source 1", "source 2"]
    return [side.strip("()").replace(",", "+") for side in found.groups()]


def called(term: str, names: tuple[str, str]) -> str:
    """Return a term in words."""
    words = {
        "mi_1": names[0],
        "mi_2": names[1],
        "mi_12": f"{names[0]} and {names[1]}",
        "unique_1": f"unique to {names[0]}",
        "unique_2": f"unique to {names[1]}",
    }
    return words.get(term, term)
