"""Progress bars: shown on a terminal or in a notebook, silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")


def bar(total: int | None = None, *, desc: str, unit: str = "it", quiet: bool = False) -> Any:
    """Return a tqdm bar with ``update(n)`` and ``close()``; off where stderr is no terminal."""
    from tqdm.auto import tqdm

    return tqdm(
        total=total,
        desc=desc,
        unit=unit,
        unit_scale=unit == "B",
        leave=False,
        delay=1.0,
        file=sys.stderr,
        disable=True if quiet else None,
    )


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
