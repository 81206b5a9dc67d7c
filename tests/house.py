"""What the package shows: its public names and its modules."""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
from pathlib import Path

import nb26stats

PACKAGE = Path(nb26stats.__file__).parent
# the room "deep" stays shut without torch
HAS_TORCH = importlib.util.find_spec("torch") is not None


def public() -> list[tuple[str, object]]:
    """Every public name of the package and its rooms, once."""
    found: dict[int, tuple[str, object]] = {}
    for name in [*nb26stats.__all__, *(["deep"] if HAS_TORCH else [])]:
        value = getattr(nb26stats, name)
        if inspect.ismodule(value):
            for inner in value.__all__:
                member = getattr(value, inner)
                found.setdefault(id(member), (f"{name}.{inner}", member))
        elif not isinstance(value, str):
            found.setdefault(id(value), (name, value))
    return sorted(found.values(), key=lambda pair: pair[0])


def callables() -> list[tuple[str, object]]:
    """Public functions and classes, and the methods of these."""
    out = []
    for name, value in public():
        if inspect.isclass(value):
            if not issubclass(value, BaseException):
                out.append((name, value))
                out += [
                    (f"{name}.{attr}", member)
                    for attr, member in inspect.getmembers(value, inspect.isroutine)
                    if not attr.startswith("_")
                    and (getattr(member, "__module__", None) or "").startswith("nb26stats")
                ]
        elif callable(value):
            out.append((name, value))
    return out


def walk() -> list[str]:
    """Every module of Python code."""
    return sorted(
        m.name
        for m in pkgutil.walk_packages([str(PACKAGE)], "nb26stats.")
        if not m.name.rsplit(".", 1)[1].startswith(("_core", "_cuda", "__main__"))
        and ".data" not in m.name
        and (HAS_TORCH or not m.name.startswith("nb26stats.deep"))
    )
