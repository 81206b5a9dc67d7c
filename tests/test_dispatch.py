"""Choice of a device, and what is said where an extension or a device is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from nb26stats import _dispatch


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Stand-ins for the extensions by name: a module object, or the error of loading it."""
    import importlib

    modules: dict[str, object] = {}

    def load(name: str, package: str | None = None) -> object:
        if name.lstrip(".") in modules:
            found = modules[name.lstrip(".")]
            if isinstance(found, ImportError):
                raise found
            return found
        return importlib.import_module(name, package)

    monkeypatch.setattr(_dispatch, "importlib", SimpleNamespace(import_module=load))
    _dispatch.core.cache_clear()
    _dispatch._find_cuda.cache_clear()
    yield modules
    _dispatch.core.cache_clear()
    _dispatch._find_cuda.cache_clear()


def cuda_with(count: int, reason: str = "") -> SimpleNamespace:
    return SimpleNamespace(device_count=lambda: count, device_reason=lambda: reason)


def test_core_is_the_extension() -> None:
    assert isinstance(_dispatch.core(), ModuleType)
    assert _dispatch.core() is sys.modules["nb26stats._core"]


def test_cpu_is_always_to_be_had() -> None:
    assert _dispatch.choose_device("cpu") == "cpu"


def test_this_machine_gets_cuda_or_the_reason() -> None:
    chosen = _dispatch.choose_device("auto")
    if chosen == "cuda":
        assert _dispatch.choose_device("cuda") == "cuda"
        assert _dispatch.cuda().device_count() > 0
        return
    with pytest.raises(RuntimeError, match=r"device='cuda' cannot be had: \w+"):
        _dispatch.choose_device("cuda")


def test_without_the_cuda_extension(extension: dict[str, object]) -> None:
    extension["_cuda"] = ModuleNotFoundError("no such module")
    assert _dispatch.choose_device("auto") == "cpu"
    with pytest.raises(RuntimeError, match=r"built without CUDA; .*NB26STATS_CUDA=1"):
        _dispatch.choose_device("cuda")


def test_with_an_extension_that_does_not_load(extension: dict[str, object]) -> None:
    extension["_cuda"] = ImportError("no such symbol")
    assert _dispatch.choose_device("auto") == "cpu"
    with pytest.raises(RuntimeError, match="the CUDA extension does not load: no such symbol"):
        _dispatch.choose_device("cuda")


def test_with_the_extension_and_no_device(extension: dict[str, object]) -> None:
    extension["_cuda"] = cuda_with(0, "the driver is too old")
    assert _dispatch.choose_device("auto") == "cpu"
    with pytest.raises(RuntimeError, match="cannot be had: the driver is too old"):
        _dispatch.choose_device("cuda")


def test_with_a_device(extension: dict[str, object]) -> None:
    extension["_cuda"] = cuda_with(1)
    assert _dispatch.choose_device("auto") == _dispatch.choose_device("cuda") == "cuda"
    assert _dispatch.cuda() is extension["_cuda"]


def test_an_unbuilt_source_folder_says_what_to_do(extension: dict[str, object]) -> None:
    extension["_core"] = ModuleNotFoundError("no such module")
    with pytest.raises(ImportError, match=r"not built: run 'pip install -e \.'") as caught:
        _dispatch.core()
    assert "use the installed nb26stats command" in str(caught.value)


@pytest.mark.parametrize("device", ["gpu", "CPU", "", "cuda:0"])
def test_other_names_are_refused(device: str) -> None:
    with pytest.raises(ValueError, match="must be one of 'auto', 'cpu', 'cuda'"):
        _dispatch.choose_device(device)


@pytest.mark.parametrize("device", [None, 0, True, ["cpu"]])
def test_other_kinds_are_refused(device: object) -> None:
    with pytest.raises(TypeError, match="device="):
        _dispatch.choose_device(device)
