"""The one colour table: an area, or an information atom, looks the same in every figure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from types import MappingProxyType

from nb26stats._check import as_list

OKABE_ITO = MappingProxyType(
    {
        "blue": "#0072B2",
        "vermillion": "#D55E00",
        "green": "#009E73",
        "purple": "#CC79A7",
        "orange": "#E69F00",
        "sky": "#56B4E9",
        "grey": "#666666",
    }
)
"""Seven colours that colour-blind readers can tell apart (Okabe and Ito, with a darker grey)."""

ATOM_COLORS = MappingProxyType(
    {
        "redundancy": OKABE_ITO["grey"],
        "unique_1": OKABE_ITO["blue"],
        "unique_2": OKABE_ITO["vermillion"],
        "synergy": OKABE_ITO["green"],
    }
)
"""Colours of the atoms of an information decomposition."""

ARCHITECTURE_COLORS = MappingProxyType(
    {"1L": OKABE_ITO["blue"], "2L": OKABE_ITO["vermillion"], "2NL": OKABE_ITO["green"]}
)
"""Colours of learning networks: one linear layer, two of them, two with a nonlinearity between."""

_WHEEL = tuple(value for name, value in OKABE_ITO.items() if name != "grey")
_NO_AREA = frozenset({"unknown", "mixed"})


def area_colors(areas: Iterable[str] | str) -> dict[str, str]:
    """Give every brain area its colour.

    A name always prefers the same colour, in every file; areas shown together that prefer the same
    one move on to the next free colour. ``"unknown"`` and ``"mixed"`` are grey. The order of
    ``areas`` does not matter.

    Parameters
    ----------
    areas : iterable of str, or str
        Names of the areas of one figure or file.

    Returns
    -------
    dict
        Area to colour (hexadecimal text), in the order given.

    Examples
    --------
    >>> from nb26stats.plotting import area_colors
    >>> area_colors(["CA1", "unknown"])["unknown"]
    '#666666'
    >>> len(set(area_colors(["CA1", "ALM", "Thalamus"]).values()))
    3
    """
    names = [str(area) for area in as_list(areas, "areas")]
    used = [0] * len(_WHEEL)
    chosen: dict[str, str] = {}
    for name in sorted(set(names)):
        if name.casefold() in _NO_AREA:
            chosen[name] = OKABE_ITO["grey"]
            continue
        first = zlib.crc32(name.casefold().encode("utf-8", "replace")) % len(_WHEEL)
        # the first colour from the preferred one on that is used least
        place = min(range(len(_WHEEL)), key=lambda k: (used[(first + k) % len(_WHEEL)], k))
        slot = (first + place) % len(_WHEEL)
        used[slot] += 1
        chosen[name] = _WHEEL[slot]
    return {name: chosen[name] for name in names}


def colors_in_file(areas: Iterable[str], file_areas: Iterable[str]) -> dict[str, str]:
    """Return the colours of ``areas``, chosen among all areas of the file they come from."""
    return area_colors([*areas, *as_list(file_areas, "file_areas")])
