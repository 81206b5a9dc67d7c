"""Progress bars: shown on a terminal or in a notebook, silent elsewhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")


def bar(
    total: int | None = None,
    *,
    desc: str,
    unit: str = "it",
    quiet: bool = False,
    delay: float = 1.0,
) -> Any:
    """Return a tqdm bar with ``update(n)`` and ``close()``; off where stderr is no terminal."""
    return _tqdm()(
        total=total,
        desc=desc,
        unit=unit,
        unit_scale=unit == "B",
        leave=False,
        delay=delay,
        file=sys.stderr,
        disable=True if quiet else None,
    )


def _tqdm() -> Any:
    """Return the bar of the place: a widget in a notebook, or text."""
    from tqdm import TqdmWarning

    if "tqdm.auto" in sys.modules:
        return sys.modules["tqdm.auto"].tqdm
    with warnings.catch_warnings():
        # a notebook without widgets gets the plain bar, and that needs no words
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    return tqdm


def track(
    items: Iterable[T], *, desc: str, total: int | None = None, quiet: bool = False
) -> Iterator[T]:
    """Yield ``items`` while a bar advances."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with bar(total, desc=desc, quiet=quiet) as shown:
        for item in items:
            yield item
            shown.update(1)
