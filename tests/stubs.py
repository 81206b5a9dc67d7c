"""Type stubs of the native extensions, written from the built modules.

``python tests/stubs.py FOLDER`` writes ``_core.pyi`` and, where it is built, ``_cuda.pyi`` there
(for the sources: ``nb26stats``); a test compares them with the ones that are checked in.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

LINE = 100
# what pybind11 writes differs between its versions; these are the kinds that bindings here use
KINDS = [
    (r"ndarray|NDArray|ArrayLike|Buffer", "NDArray[Any]"),
    (r"dict", "dict[str, Any]"),
    (r"tuple", "tuple[Any, ...]"),
    (r"object|Any", "object"),
    # before int: pybind11 says that a float also takes an index
    (r"SupportsFloat|float", "float"),
    (r"SupportsInt|SupportsIndex|int", "int"),
    (r"bool", "bool"),
    (r"str", "str"),
    (r"None", "None"),
]


def kind(text: str) -> str:
    """Type of a parameter or result, in one spelling."""
    tuple_of = re.fullmatch(r"tuple\[(.*)\]", text)
    if tuple_of:
        return f"tuple[{', '.join(kind(part) for part in split(tuple_of[1]))}]"
    for words, known in KINDS:
        if re.search(rf"\b({words})\b", text):
            return known
    raise ValueError(f"no stub is known for the type {text!r}")


def split(text: str) -> list[str]:
    """Parts at the commas that are outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def signature(name: str, doc: str) -> tuple[list[str], str, str]:
    """Parameters, result and first paragraph from a pybind11 docstring."""
    found = re.match(rf"{name}\((.*)\) -> ([^\n]+)\n\n?(.*)", doc, re.DOTALL)
    if found is None:
        raise ValueError(f"the docstring of {name} does not start with one signature: {doc!r}")
    parameters = []
    for part in split(found[1]):
        label, _, rest = part.partition(":")
        if not rest:
            parameters.append(label.strip())  # the lone star before keyword-only parameters
            continue
        text, _, default = rest.partition(" = ")
        parameters.append(f"{label.strip()}: {kind(text)}" + (" = ..." if default else ""))
    return parameters, kind(found[2]), found[3].strip().split("\n\n")[0].replace("\n", " ")


def stub(module: ModuleType) -> str:
    """Text of the stub file of ``module``."""
    functions = {n: getattr(module, n) for n in sorted(vars(module)) if not n.startswith("_")}
    blocks = []
    for name, function in functions.items():
        parameters, result, sentence = signature(name, function.__doc__ or "")
        line = f"def {name}({', '.join(parameters)}) -> {result}:"
        if len(line) > LINE:
            rows = "".join(f"    {p},\n" for p in parameters)
            line = f"def {name}(\n{rows}) -> {result}:"
        text = f'"""{sentence}"""'
        lines = textwrap.wrap(text, LINE, initial_indent="    ", subsequent_indent="    ")
        blocks.append("\n".join([line, *lines, ""]))
    body = "\n".join(blocks)
    imports = ""
    if "Any" in body:
        imports = "from typing import Any\n\n"
    if "NDArray" in body:
        imports += "from numpy.typing import NDArray\n\n"
    return f'"""{module.__doc__}"""\n\n{imports}{body}'


def main() -> None:
    """Write the stubs of the extensions that are built."""
    from nb26stats import _dispatch

    folder = Path(sys.argv[1])
    folder.joinpath("_core.pyi").write_text(stub(_dispatch.core()))
    try:
        cuda = importlib.import_module("nb26stats._cuda")
    except ModuleNotFoundError:
        return
    folder.joinpath("_cuda.pyi").write_text(stub(cuda))


if __name__ == "__main__":
    main()
