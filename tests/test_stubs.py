"""The stubs that are shipped say what the built extensions hold."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import stubs

import nb26stats
from nb26stats._dispatch import core

PACKAGE = Path(nb26stats.__file__).parent
BIND = Path(__file__).resolve().parent.parent / "csrc" / "bind"


def test_core_stub_is_what_the_extension_gives() -> None:
    assert PACKAGE.joinpath("_core.pyi").read_text() == stubs.stub(core())


def test_cuda_stub_is_what_the_extension_gives() -> None:
    text = PACKAGE.joinpath("_cuda.pyi").read_text()
    # also where no CUDA compiler is: the bindings' sources list the same names
    sources = "".join(path.read_text() for path in BIND.glob("cuda_*.cpp"))
    registered = re.findall(r'm\.def\(\s*"(\w+)"', sources)
    assert re.findall(r"^def (\w+)", text, re.MULTILINE) == sorted(set(registered))
    try:
        module = importlib.import_module("nb26stats._cuda")
    except ModuleNotFoundError:
        return
    assert text == stubs.stub(module)


@pytest.mark.parametrize(
    ("doc", "line"),
    [
        ("f() -> None\n\nDo.\n", "def f() -> None:"),
        (
            "f(a: typing.SupportsInt | typing.SupportsIndex, *, b: typing.SupportsFloat = 0.5, "
            "c: bool = True) -> tuple[numpy.typing.NDArray[numpy.float64], str]\n\nDo.\n",
            "def f(a: int, *, b: float = ..., c: bool = ...) -> tuple[NDArray[Any], str]:",
        ),
    ],
)
def test_signatures_are_put_in_one_spelling(doc: str, line: str) -> None:
    parameters, result, sentence = stubs.signature("f", doc)
    assert f"def f({', '.join(parameters)}) -> {result}:" == line
    assert sentence == "Do."


def test_an_undocumented_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="no stub is known for the type 'Widget'"):
        stubs.kind("Widget")
    with pytest.raises(ValueError, match="does not start with one signature"):
        stubs.signature("f", "f(*args)\nOverloaded function.\n")
