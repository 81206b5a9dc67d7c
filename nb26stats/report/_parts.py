"""What a report is made of: sections, and the pieces inside them. Pieces hold plain text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MAX_TEXT = 500
"""Text from a file is cut at this many characters."""


def cut(value: object, limit: int = MAX_TEXT) -> str:
    """Return text from a file on one line, without control characters, cut at ``limit``."""
    text = " ".join(str(value).split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listing(names: Sequence[object], limit: int = 12, each: int = 80) -> str:
    """Return names as one phrase, the first ``limit`` of them."""
    shown = [cut(name, each) for name in names[:limit]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def plural(n: int, noun: str, many: str = "") -> str:
    """Return the number with its noun."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


@dataclass(frozen=True)
class Sentence:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Warn:
    """An amber box."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Pairs of a label and a value."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A small table; with ``index`` the index is the first column.

    ``right`` aligns all other columns to the right, for tables whose rows are of mixed kinds.
    """

    frame: pd.DataFrame
    title: str = ""
    index: bool = True
    max_rows: int = 60
    right: bool = False


@dataclass(frozen=True)
class Code:
    """Python text."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A picture with its caption, the code that makes it and the numbers behind it."""

    name: str
    png: bytes
    alt: str
    caption: str
    code: str
    numbers: pd.DataFrame
    units: Mapping[str, str] = field(default_factory=dict)
    """Column of the numbers to its unit, for the head of the table."""


Part = Sentence | Warn | Facts | Table | Code | Figure


@dataclass(frozen=True)
class Section:
    """One section.

    ``finding`` is its sentence in the summary box, under the line named ``line`` ("file",
    "contents", "activity" or "behaviour"); ``gap`` says what could not be said, and why.
    """

    key: str
    title: str
    parts: tuple[Part, ...]
    line: str = ""
    finding: str = ""
    gap: str = ""


@dataclass
class Builder:
    """Collects the pieces of one section."""

    key: str
    title: str
    line: str = ""
    finding: str = ""
    gap: str = ""
    parts: list[Part] = field(default_factory=list)

    def say(self, text: str) -> Builder:
        """Add a paragraph."""
        self.parts.append(Sentence(text))
        return self

    def warn(self, texts: Sequence[str]) -> Builder:
        """Add an amber box for each text."""
        self.parts.extend(Warn(text) for text in texts)
        return self

    def add(self, part: Part) -> Builder:
        """Add any other piece."""
        self.parts.append(part)
        return self

    def missing(self, text: str, gap: str | None = None) -> Section:
        """Close the section with the one sentence that says why there is nothing to show.

        ``gap`` goes to the summary box, empty where another section says it already.
        """
        self.say(text)
        self.gap = text if gap is None else gap
        return self.done()

    def done(self) -> Section:
        """Return the finished section."""
        return Section(self.key, self.title, tuple(self.parts), self.line, self.finding, self.gap)


def show(value: Any) -> str:
    """Return a table cell as text: four significant digits, blanks for missing values."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if np.isnan(number):
            return "–"
        if number == int(number) if np.isfinite(number) else False:
            return str(int(number)) if abs(number) < 1e15 else f"{number:.4g}"
        # times keep their milliseconds, everything else four digits
        return f"{number:.3f}" if 100 <= abs(number) < 1e7 else f"{number:.4g}"
    return cut(value)
