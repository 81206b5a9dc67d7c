"""Docstrings of public names keep numpydoc's rules."""

from __future__ import annotations

import ast
import dataclasses
import inspect

import pytest
from house import HAS_TORCH, callables
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

import nb26stats

# rules that hold nowhere, each with its reason
EXCEPT = {
    "ES01": "a summary that says all needs no second paragraph",
    "SA01": "the page of a room lists what belongs together",
}
ROOMS = [name for name in nb26stats.__all__ if inspect.ismodule(getattr(nb26stats, name))]
if HAS_TORCH:
    ROOMS.append("deep")  # not in __all__, which must work without torch


def _objects() -> dict[str, object]:
    """Return public functions and classes, and what classes show, by the address of the code."""
    found: dict[str, object] = {}
    for module in [nb26stats, *(getattr(nb26stats, room) for room in ROOMS)]:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    for value in [v for v in found.values() if inspect.isclass(v)]:
        for name in dir(value):
            owner = next((c for c in value.__mro__ if name in vars(c)), None)
            if name.startswith("_") or not (owner and owner.__module__.startswith("nb26stats")):
                continue
            member = vars(owner)[name]
            if inspect.isfunction(member) or isinstance(
                member, property | classmethod | staticmethod
            ):
                found[f"{owner.__module__}.{owner.__qualname__}.{name}"] = member
    return found


OBJECTS = _objects()
# what our classes and scikit-learn generate is described there
CALLABLES = [(name, value) for name, value in callables() if ".set_" not in name]


def _excused(value: object) -> set[str]:
    """Return rules that do not fit this one."""
    if inspect.isclass(value):
        if issubclass(value, BaseException):
            return {"EX01"}  # nobody makes them by hand
        if dataclasses.is_dataclass(value) or value is nb26stats.nwb.Session:
            return {"PR01"}  # nor these: their fields stand as attributes, see below
        return set()
    if inspect.isfunction(value) and "." not in value.__qualname__:
        return set()
    rules = {"EX01"}  # the example of a class shows its methods
    if getattr(value, "__module__", "") == nb26stats.nwb.Session.__module__:
        rules |= {"PR01", "RT01"}  # said by the functions that they hand their arguments on to
    return rules


def test_rooms_are_found() -> None:
    assert {"streaming", "information", "learning", "causal", "nwb"} <= set(ROOMS)
    assert len(OBJECTS) > 200


@pytest.mark.parametrize("address", sorted(OBJECTS))
def test_numpydoc_finds_nothing(address: str) -> None:
    rules = EXCEPT.keys() | _excused(OBJECTS[address])
    wrong = [(rule, text) for rule, text in validate(address)["errors"] if rule not in rules]
    assert wrong == []


@pytest.mark.parametrize(
    "address", sorted(a for a, v in OBJECTS.items() if dataclasses.is_dataclass(v))
)
def test_fields_of_results_are_described(address: str) -> None:
    value = OBJECTS[address]
    told = {
        name.strip() for entry in ClassDoc(value)["Attributes"] for name in entry.name.split(",")
    }
    fields = {field.name for field in dataclasses.fields(value)}  # type: ignore[arg-type]
    assert fields <= told, f"not described: {sorted(fields - told)}"


def _is_told(default: object, kind: str) -> bool:
    """Return whether the type of a parameter says its default."""
    if default is None:
        return kind.endswith(("optional", "default=None")) or kind == "None"
    told = kind.partition("default=")[2]
    try:
        return bool(ast.literal_eval(told) == default)
    except (ValueError, SyntaxError):
        # several parameters in one entry, or words
        return told.startswith("all") or str(default) in told


@pytest.mark.parametrize(("name", "value"), CALLABLES, ids=[name for name, _ in CALLABLES])
def test_defaults_are_told_as_they_are(name: str, value: object) -> None:
    given = inspect.signature(value).parameters  # type: ignore[arg-type]
    doc = (ClassDoc if inspect.isclass(value) else FunctionDoc)(value)
    for entry in doc["Parameters"]:
        for parameter in entry.name.split(", "):
            if parameter in given and given[parameter].default is not inspect.Parameter.empty:
                default = given[parameter].default
                assert _is_told(default, entry.type), f"{parameter} : {entry.type}, not {default!r}"


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_introduce_themselves(room: str) -> None:
    doc = inspect.getdoc(getattr(nb26stats, room)) or ""
    assert len(doc) > 40
    assert doc.splitlines()[0].endswith(".")
