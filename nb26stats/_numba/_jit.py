"""The one decorator for Numba kernels; numba itself loads at the first call."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` on first call: cached on disk where possible, without the GIL."""
    compiled: list[Any] = []

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if not compiled:
            compiled.append(_compile(function))
        return compiled[0](*args)

    return cast("F", call)


def _compile(function: Callable[..., Any]) -> Any:
    import numba

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.errors.NumbaWarning)
            return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # numba raises where no folder can hold its cache (a read-only install without HOME)
        return numba.njit(cache=False, **options)(function)
