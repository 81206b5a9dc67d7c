"""Functions for joblib's workers, whose arrays may arrive where a kernel cannot read them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


class on_arrival:  # noqa: N801
    """Call a function with aligned arrays: ``delayed(on_arrival(function))(...)``.

    Clusters unpack arrays inside the bytes of a message, at any address; Dask does. Native code
    reads numbers at multiples of their size only.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(
            *(aligned(value) for value in args),
            **{name: aligned(value) for name, value in kwargs.items()},
        )


def aligned(value: Any) -> Any:
    """Return ``value`` with every array in it aligned; the same object where all are.

    Looks into lists, tuples, dicts and dataclasses.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy()
    if isinstance(value, dict):
        new = {key: aligned(v) for key, v in value.items()}
        return new if any(new[key] is not value[key] for key in value) else value
    if type(value) in (list, tuple):
        items = [aligned(v) for v in value]
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        changed = {name: new for name, v in old.items() if (new := aligned(v)) is not v}
        if changed:
            value = copy.copy(value)
            for name, new in changed.items():
                object.__setattr__(value, name, new)
    return value
