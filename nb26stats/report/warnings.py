"""Section: what to be careful with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._checks import find_problems
from ._parts import Builder, cut, plural

if TYPE_CHECKING:
    from ._context import Context
    from ._parts import Section

_IN_PLACE = frozenset(
    {
        "units",
        "event",
        "counts",
        "raster",
        "rates",
        "behavior",
        "learning",
        "components",
        "bins",
        "information counts",
        "information",
        "light counts",
        "light fit",
    }
)


def section(context: Context) -> Section:
    """Return the remarks of the reader and the problems that the checks found."""
    out = Builder("warnings", "Warnings")
    problems = context.once("problems", lambda: find_problems(context.session))
    remarks = context.session.read_warnings
    others = [
        text for key, texts in context.warnings.items() if key not in _IN_PLACE for text in texts
    ]
    if not (problems or remarks or others):
        out.say("The checks of this file found nothing, and reading it raised no remark.")
        if any(context.warnings.get(key) for key in _IN_PLACE):
            out.say("The amber boxes above concern single figures.")
        return out.done()
    if problems:
        out.say(f"The checks of this file found {plural(len(problems), 'point')} to know of:")
        out.warn([cut(f"{p.what} {p.advice}") for p in problems])
    if remarks:
        out.say(
            f"{plural(len(remarks), 'remark')} of the reading library (pynwb) on how the file is "
            "written; ask whoever made it, or read it with the version it was made for:"
        )
        out.warn([cut(text) for text in remarks[:20]])
        if len(remarks) > 20:
            out.say(f"{len(remarks) - 20} more remarks: nb26stats info FILE lists all.")
    if others:
        out.warn(others)
    return out.done()
