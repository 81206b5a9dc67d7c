"""The plan of the house, as checks: who imports whom, one name per idea, docs that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
from house import HAS_TORCH, PACKAGE, callables, public, walk

import nb26stats

CSRC = Path(__file__).parent.parent / "csrc"

# names of parameters that only the room has that stays shut without torch
ONLY_DEEP = {"max_epochs", "patience"}

HELPERS = {
    "_blas",
    "_check",
    "_dispatch",
    "_lazy",
    "_numba",
    "_progress",
    "_results",
    "_seed",
    "_version",
    "_warnings",
    "_workers",
}
METHODS = {"causal", "information", "learning", "streaming"}
# room -> rooms it may import, at module level or inside functions
MAY_IMPORT = {
    **{helper: HELPERS for helper in HELPERS},
    **{method: HELPERS | {method, "plotting"} for method in METHODS},
    "nwb": HELPERS | {"nwb", "plotting"},
    "plotting": HELPERS | {"plotting"},
    "datasets": HELPERS | {"datasets", "nwb"},
    "r": HELPERS | {"r"},
    "deep": HELPERS | METHODS | {"deep"},
    "report": HELPERS | METHODS | {"nwb", "plotting", "datasets", "report"},
    "__main__": HELPERS | METHODS | {"nwb", "plotting", "datasets", "report", "__main__"},
}


def _imports(path: Path) -> set[tuple[str, bool]]:
    """Rooms of the package that a module imports, and whether only for type checkers."""
    module = "nb26stats." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    package = (
        module.rsplit(".", 1)[0] if path.name != "__init__.py" else module[: -len(".__init__")]
    )
    tree = ast.parse(path.read_text())
    typing_only = {
        id(sub)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for sub in ast.walk(node)
    }
    out = set()
    for node in ast.walk(tree):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            targets = [base] if base != "nb26stats" else [f"{base}.{a.name}" for a in node.names]
        for target in targets:
            if target.startswith("nb26stats."):
                out.add((target.split(".")[1], id(node) in typing_only))
    return out


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_import_only_what_the_plan_allows(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ("__init__", "data"):
        return
    assert room in MAY_IMPORT, f"{room} has no place in the plan"
    for target, typing_only in _imports(path):
        assert typing_only or target in MAY_IMPORT[room], f"{path} imports {target}"


def test_only_dispatch_imports_the_extensions() -> None:
    for path in _modules():
        if path.name != "_dispatch.py":
            assert not re.search(
                r"import _(core|cuda)\b|nb26stats\._(core|cuda)\b", path.read_text()
            )


def _sources(*patterns: str) -> list[Path]:
    return sorted(p for pattern in patterns for p in CSRC.glob(pattern))


def test_native_rooms_include_only_what_the_plan_allows() -> None:
    every = _sources("**/*.hpp", "**/*.cpp", "**/*.cu")
    assert len(every) > 10
    for path in every:
        text = path.read_text()
        room = path.parent.name
        includes = re.findall(r'#include\s+[<"]([^>"]+)[>"]', text)
        assert room == "bind" or not any("pybind11" in i for i in includes), path
        assert room == "cpu" or ("omp.h" not in includes and "#pragma omp" not in text), path
        if any(i.startswith("cuda") for i in includes):
            assert room == "cuda" or path.name == "hd.hpp", path
        if room == "bind":
            own = [i for i in includes if i.startswith("nb26/")]
            # the tools' own bindings have no kernel behind them, so they name the tools
            assert path.name.endswith("_tools.cpp") or all(i.endswith("_api.hpp") for i in own), (
                path
            )


PARAMETERS = {
    line.split(":")[0].strip(): line.split(":")[1].strip()
    for line in (Path(__file__).parent / "parameters.txt").read_text().splitlines()
    if ":" in line
}


def test_one_idea_has_one_parameter_name() -> None:
    used: dict[str, list[str]] = {}
    for name, value in callables():
        for parameter in inspect.signature(value).parameters.values():  # type: ignore[arg-type]
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                used.setdefault(parameter.name, []).append(name)
    used.pop("self", None)
    unlisted = {p: names for p, names in used.items() if p not in PARAMETERS}
    assert not unlisted, f"parameters missing from parameters.txt: {unlisted}"
    unused = set(PARAMETERS) - set(used) - (set() if HAS_TORCH else ONLY_DEEP)
    assert not unused, "parameters.txt lists names nobody uses"


def test_parameter_names_work_in_r() -> None:
    import keyword

    for name in PARAMETERS:
        assert not keyword.iskeyword(name)
        assert not name.startswith("_")


@pytest.mark.parametrize(("name", "value"), callables(), ids=[n for n, _ in callables()])
def test_public_names_are_documented(name: str, value: object) -> None:
    doc = inspect.getdoc(value) or ""
    assert doc, f"{name} has no docstring"
    if value is nb26stats.nwb.Session:
        return  # made by nwb.open, not by its constructor
    same = re.search(r":func:`(?:nb26stats\.)?nwb\.(\w+)`", doc)
    if same and name.startswith("nwb.Session."):
        # a method that hands its arguments on is documented where they go
        doc += inspect.getdoc(getattr(nb26stats.nwb, same[1])) or ""
    missing = [
        p.name
        for p in inspect.signature(value).parameters.values()  # type: ignore[arg-type]
        if p.name not in ("self", "cls", "y") and not re.search(rf"(?<!\w){p.name}\b", doc)
    ]
    assert not missing, f"the docstring of {name} does not mention {missing}"


@pytest.mark.parametrize("name", ["trials", "units", "spike_counts", "behavior"])
def test_session_methods_take_what_the_functions_take(name: str) -> None:
    nwb = nb26stats.nwb
    of_method = list(inspect.signature(getattr(nwb.Session, name)).parameters.values())[1:]
    of_function = list(inspect.signature(getattr(nwb, name)).parameters.values())[1:]
    assert [(p.name, p.kind, p.default) for p in of_method] == [
        (p.name, p.kind, p.default) for p in of_function
    ]


@pytest.mark.parametrize("module", walk())
def test_docstring_examples_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(
        importlib.import_module(module),
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert result.failed == 0


def test_every_public_function_has_an_executed_example() -> None:
    bare = [
        name
        for name, value in public()
        if callable(value)
        and not (inspect.isclass(value) and issubclass(value, BaseException))
        and ">>>" not in (inspect.getdoc(value) or "")
    ]
    assert not bare, f"no example in the docstring of {bare}"


# shown once, by the examples of figures and tables
COMMON = {"summary", "plot", "to_frame", "to_r", "result"}


def test_every_public_method_is_used_in_an_example() -> None:
    bare = []
    for name, value in callables():
        room, _, method = name.rpartition(".")
        owner = dict(public()).get(room)
        if owner is None or method in COMMON or method.startswith("set_"):
            continue
        shown = re.findall(
            r"^(?:>>>|\.\.\.) (.*)$",
            f"{inspect.getdoc(owner)}\n{inspect.getdoc(value)}",
            re.MULTILINE,
        )
        if not any(f".{method}(" in line for line in shown):
            bare.append(name)
    assert not bare, f"no example uses {bare}"


def test_sources_name_no_place_or_leftover() -> None:
    # built from pieces so that this file does not contain what it looks for
    leak = re.compile("|".join(["/wo" + "rk/", "/ro" + "ot/", "TO" + "DO", "FIX" + "ME"]))
    for path in [*_modules(), *_sources("**/*.hpp", "**/*.cpp", "**/*.cu")]:
        assert not leak.search(path.read_text()), path
