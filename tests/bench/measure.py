"""Timing of ours against peers: one process, alternating calls, the ratio of minima."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table; ``ratio`` is the peer's time over ours (above 1: ours is faster)."""

    what: str
    ours: float
    peer: str
    theirs: float | None
    ratio: float | None
    low: float | None
    high: float | None
    target: str = ""
    rate: str = ""


def alternate(calls: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each call in each round, after one call of each to warm up."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def compare(
    what: str,
    times: Mapping[str, Sequence[float]],
    ours: str,
    peer: str,
    *,
    target: str = "",
    rate: str = "",
) -> Row:
    """Ratio of minima, with the range of the ratios of single rounds as its spread."""
    mine, other = times[ours], times[peer]
    rounds = [b / a for a, b in zip(mine, other, strict=True)]
    return Row(
        what,
        min(mine),
        peer,
        min(other),
        min(other) / min(mine),
        min(rounds),
        max(rounds),
        target,
        rate,
    )


def alone(what: str, seconds: float, *, target: str = "", rate: str = "", peer: str = "") -> Row:
    """A line without a measured peer."""
    return Row(what, seconds, peer, None, None, None, None, target, rate)


def per_second(amount: float, seconds: float, unit: str) -> str:
    """``amount`` of bytes or operations as G<unit>/s."""
    return f"{amount / seconds / 1e9:.2f} G{unit}/s"


def table(rows: Sequence[Row]) -> str:
    """The lines as a Markdown table."""
    head = ["what", "ours (s)", "peer", "peer (s)", "peer / ours (rounds)", "target", "rate"]
    body = [
        [
            r.what,
            f"{r.ours:.4g}",
            r.peer,
            "" if r.theirs is None else f"{r.theirs:.4g}",
            "" if r.ratio is None else f"{r.ratio:.2f} ({r.low:.2f}–{r.high:.2f})",
            r.target,
            r.rate,
        ]
        for r in rows
    ]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(head), line(["-" * w for w in widths]), *map(line, body)])


def machine() -> str:
    """The machine in a few words: processor, cores, system, versions."""
    import numpy as np

    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for text in lines:
                if text.startswith("model name"):
                    return text.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "processor unknown"
