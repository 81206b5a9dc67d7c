"""The report for programs: everything on the page but its pictures, as one JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nb26stats._results import to_r

from ._parts import Code, Facts, Figure, Part, Section, Sentence, Table, Warn

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
"""Raised by one when a reader of older texts would misread a new one."""


def as_json(head: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """Return the text: the head's entries, then what each section holds."""
    body = [
        {
            "key": s.key,
            "title": s.title,
            "finding": s.finding,
            "gap": s.gap,
            "parts": [_part(part) for part in s.parts],
        }
        for s in sections
    ]
    whole = {"format": FORMAT, **head, "sections": body}
    return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Sentence):
        return {"kind": "text", "text": part.text}
    if isinstance(part, Warn):
        return {"kind": "warning", "text": part.text}
    if isinstance(part, Facts):
        return {"kind": "facts", "facts": [list(pair) for pair in part.pairs]}
    if isinstance(part, Code):
        return {"kind": "code", "text": part.text}
    if isinstance(part, Table):
        frame = part.frame.reset_index() if part.index else part.frame
        return {"kind": "table", "title": part.title, **_table(frame)}
    assert isinstance(part, Figure)
    return {
        "kind": "figure",
        "name": part.name,
        "caption": part.caption,
        "units": dict(part.units),
        "code": part.code,
        **_table(part.numbers.reset_index()),
    }


def _table(frame: pd.DataFrame) -> dict[str, Any]:
    """Return names and values by column; JSON has no NaN and no infinity."""
    names = [" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns]
    columns = [to_r(frame.iloc[:, i], name) for i, name in enumerate(names)]
    return {"columns": names, "values": [[_finite(v) for v in column] for column in columns]}


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return value
