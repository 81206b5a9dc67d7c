"""What the caller of a report can choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nb26stats._check import as_choice, as_float, as_list, as_text

SECTIONS = (
    "header",
    "contents",
    "trials",
    "units",
    "psth",
    "raster",
    "behavior",
    "learning",
    "components",
    "information",
    "causal",
    "warnings",
    "versions",
)
"""Modules of this folder, in the order of the page; each has ``section(context) -> Section``."""
WINDOW = (-0.5, 1.0)
BIN_SIZE = 0.025
MAX_BINS = 20_000
"""More bins than this take minutes and cannot be told apart on a page."""


@dataclass(frozen=True)
class Options:
    """Choices of a report; ``None`` means that the report chooses and says so."""

    table: str | None = None
    align_to: str | None = None
    relative_to: str | None = None
    window: tuple[float, float] | None = None
    bin_size: float | None = None
    areas: tuple[str, ...] | None = None
    quality: str | None = None
    trials: str | None = None
    sections: tuple[str, ...] | None = None

    @property
    def selects(self) -> bool:
        """Whether anything that bears on the spike counts was chosen by the caller."""
        return any(v is not None for name, v in vars(self).items() if name != "sections")

    def as_dict(self) -> dict[str, Any]:
        """Return the choices as plain values, tuples as lists."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


def make_options(
    *,
    table: str | None = None,
    align_to: str | None = None,
    relative_to: str | None = None,
    window: Sequence[float] | None = None,
    bin_size: float | None = None,
    areas: Sequence[str] | str | None = None,
    quality: str | None = None,
    trials: str | None = None,
    sections: Sequence[str] | str | None = None,
) -> Options:
    """Check the kinds of the choices; whether the file has such a column shows later."""
    span: tuple[float, float] | None = None
    if window is not None:
        ends = [as_float(w, "window") for w in as_list(window, "window")]
        if len(ends) != 2:
            raise ValueError(f"window must hold two times, start and end, got {len(ends)}")
        if ends[1] <= ends[0]:
            raise ValueError(f"window=({ends[0]:g}, {ends[1]:g}) must end after it starts")
        span = (ends[0], ends[1])
    names: tuple[str, ...] | None = None
    if areas is not None:
        names = tuple(as_text(a, "areas") for a in as_list(areas, "areas"))
        if not names:
            raise ValueError("areas must name at least one area")
    chosen: tuple[str, ...] | None = None
    if sections is not None:
        asked = {as_choice(name, "sections", SECTIONS) for name in as_list(sections, "sections")}
        if not asked:
            raise ValueError("sections must name at least one section")
        chosen = tuple(name for name in SECTIONS if name in asked)
    texts: dict[str, Any] = {
        "table": table,
        "align_to": align_to,
        "relative_to": relative_to,
        "quality": quality,
        "trials": trials,
    }
    for name, value in texts.items():
        if value is not None:
            as_text(value, name)
    if bin_size is not None:
        bin_size = as_float(bin_size, "bin_size", above=0.0)
    start, stop = span or WINDOW
    if (stop - start) / (bin_size or BIN_SIZE) > MAX_BINS:
        raise ValueError(
            f"window=({start:g}, {stop:g}) holds more than {MAX_BINS} bins of "
            f"{bin_size or BIN_SIZE:g} s; choose a wider --bin (bin_size) or a shorter --window"
        )
    return Options(window=span, bin_size=bin_size, areas=names, sections=chosen, **texts)
