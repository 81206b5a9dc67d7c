"""Access to the native extensions and the choice of a device.

Nothing else in the package imports ``_core`` or ``_cuda``.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

from ._check import as_choice


@functools.cache
def core() -> ModuleType:
    """Return the CPU extension.

    Raises
    ------
    ImportError
        The package runs from a source folder in which nothing was compiled.
    """
    try:
        return importlib.import_module("._core", __package__)
    except ModuleNotFoundError as err:
        raise ImportError(
            "nb26stats runs from a source folder whose native part is not built: run "
            "'pip install -e .' there, or leave the folder and use the installed nb26stats command"
        ) from err


def cuda() -> ModuleType:
    """Return the CUDA extension, which has at least one usable device.

    Raises
    ------
    RuntimeError
        There is no extension or no device; the message says which and why.
    """
    module, reason = _find_cuda()
    if module is None:
        raise RuntimeError(f"device='cuda' cannot be had: {reason}")
    return module


def choose_device(device: object) -> str:
    """Return ``"cpu"`` or ``"cuda"``.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` takes CUDA where it works and the CPU elsewhere; ``"cuda"`` raises RuntimeError
        where it does not work.
    """
    name = as_choice(device, "device", ("auto", "cpu", "cuda"))
    if name == "auto":
        return "cpu" if _find_cuda()[0] is None else "cuda"
    if name == "cuda":
        cuda()
    return name


@functools.cache
def _find_cuda() -> tuple[ModuleType | None, str]:
    """Return the CUDA extension, or None and why it cannot be used."""
    try:
        module = importlib.import_module("._cuda", __package__)
    except ModuleNotFoundError:
        return None, (
            "this nb26stats was built without CUDA; reinstall it from source with "
            "NB26STATS_CUDA=1 where nvcc is on PATH"
        )
    except ImportError as err:
        return None, f"the CUDA extension does not load: {err}"
    return (module, "") if module.device_count() > 0 else (None, module.device_reason())
