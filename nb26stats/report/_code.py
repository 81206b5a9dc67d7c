"""The code blocks: Python text made from the very arguments that were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 96


@dataclass(frozen=True)
class Raw:
    """An argument whose code is not its ``repr``: what to write, and what it stands for."""

    text: str
    value: Any


def values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as they are handed to the function."""
    return {k: v.value if isinstance(v, Raw) else v for k, v in arguments.items()}


def call(target: str, function: str, arguments: Mapping[str, Any], first: str = "path") -> str:
    """Return ``target = function(first, name=value, ...)``, one argument per line if long."""
    parts = [first, *(f"{k}={_text(v)}" for k, v in arguments.items())]
    line = f"{target} = {function}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {part},\n" for part in parts)
    return f"{target} = {function}(\n{inner})"


def block(path: str, lines: Sequence[str], *, imports: Sequence[str] = ()) -> str:
    """Return a whole program: imports, the path as the user gave it, the lines, the numbers."""
    head = [*imports, "from nb26stats import nwb, plotting", "", f"path = {path!r}"]
    return "\n".join([*head, *lines, "print(numbers)"]) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return repr(value)
