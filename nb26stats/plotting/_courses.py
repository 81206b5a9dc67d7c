"""Time courses of information terms: taken from a result's frames, drawn with their null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_list

from ._axes import GREY, SMALL, line_style, need, plain
from ._terms import TERM_COLORS, TERMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

NULL_SD = 2.0
"""Half-height of the null band in standard deviations of the permutations."""
BAR = 0.03
"""Distance between significance bars as a part of the height of the axes."""


@dataclass(frozen=True)
class Course:
    """One term of one pair and target over time; NaN where the null does not speak of the term."""

    pair: Any
    target: Any
    term: str
    time: NDArray[np.float64]
    value: NDArray[np.float64]
    null_mean: NDArray[np.float64]
    null_sd: NDArray[np.float64]
    significant: NDArray[np.bool_]
    onset: float
    offset: float
    ci_low: float
    ci_high: float

    @property
    def width(self) -> float:
        """Width of a bin; one where there is a single bin."""
        return float(np.median(np.diff(self.time))) if self.time.size > 1 else 1.0

    @property
    def middle(self) -> NDArray[np.float64]:
        """Middles of the bins."""
        return self.time + self.width / 2

    @property
    def tested(self) -> bool:
        """Whether the term has a null."""
        return bool(np.isfinite(self.null_mean).any())

    @property
    def band(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper edge of the null band."""
        return (
            self.null_mean - NULL_SD * self.null_sd,
            self.null_mean + NULL_SD * self.null_sd,
        )

    @property
    def extent(self) -> tuple[float, float]:
        """Lowest and highest value of the line and the band."""
        parts = np.concatenate([self.value, *self.band])
        finite = parts[np.isfinite(parts)]
        return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def read(result: Any) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Return time courses, latencies and base of a result, or of the result of an estimator."""
    if not hasattr(result, "table") and callable(getattr(result, "result", None)):
        result = result.result()
    kind = "a fitted TimeResolvedPID or its result"
    need(result, "result", kind, "table", "latencies", "base")
    return result.table, result.latencies, float(result.base)


def choices(table: pd.DataFrame, pair: Any, target: Any) -> list[tuple[Any, Any]]:
    """Return the pairs and targets to draw, in their order in the table."""
    found = list(dict.fromkeys(zip(table["pair"], table["target"], strict=True)))
    for column, wanted in (("pair", pair), ("target", target)):
        known = list(dict.fromkeys(table[column]))
        if wanted is not None and not any(same(wanted, k) for k in known):
            listed = ", ".join(map(repr, known))
            raise ValueError(f"{column}={wanted!r} is not in the result; there are: {listed}")
    return [
        (p, t)
        for p, t in found
        if (pair is None or same(pair, p)) and (target is None or same(target, t))
    ]


def one_choice(table: pd.DataFrame, pair: Any, target: Any) -> tuple[Any, Any]:
    """Return the one pair and target to draw."""
    found = choices(table, pair, target)
    if len(found) != 1:
        raise ValueError(
            f"the figure shows one pair and one target, but {len(found)} fit: give pair= and "
            "target="
        )
    return found[0]


def same(a: Any, b: Any) -> bool:
    """Whether two names of a pair mean the same, also as a list from R."""
    return bool(_frozen(a) == _frozen(b))


def _frozen(name: Any) -> Any:
    return tuple(_frozen(n) for n in name) if isinstance(name, (list, tuple)) else name


def checked_terms(terms: Any, name: str, default: Sequence[str]) -> list[str]:
    """Return the terms asked for."""
    if terms is None:
        return list(default)
    given = as_list(terms, name)
    unknown = [t for t in given if t not in TERMS]
    if unknown or not given:
        raise ValueError(f"{name}={terms!r} must hold some of {', '.join(TERMS)}")
    return given


def course(
    table: pd.DataFrame, latencies: pd.DataFrame, pair: Any, target: Any, term: str
) -> Course:
    """Return one term of a pair and target, in order of time."""

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        keep = [
            same(p, pair) and same(t, target) and a == term
            for p, t, a in zip(frame["pair"], frame["target"], frame["atom"], strict=True)
        ]
        return frame[np.array(keep, dtype=bool)]

    part = rows(table).sort_values("time", kind="stable")
    when = rows(latencies)

    def values(column: str) -> NDArray[np.float64]:
        return part[column].to_numpy(dtype=np.float64)

    def moment_of(column: str) -> float:
        return float(when[column].iloc[0]) if len(when) else float("nan")

    # without a test the frame may hold a missing value
    marked = part["significant"].eq(True).to_numpy(dtype=bool, na_value=False)
    return Course(
        pair=pair,
        target=target,
        term=term,
        time=values("time"),
        value=values("value"),
        null_mean=values("null_mean"),
        null_sd=values("null_sd"),
        significant=marked,
        onset=moment_of("onset"),
        offset=moment_of("offset"),
        ci_low=moment_of("ci_low"),
        ci_high=moment_of("ci_high"),
    )


def draw_line(ax: Axes, one: Course, style: dict[str, Any], *, among: bool = False) -> None:
    """Draw the values over the middles of the bins; ``among`` other terms or alone."""
    line: dict[str, Any] = {"color": TERM_COLORS[one.term], "linewidth": 1.4}
    if among and one.term == "synergy":
        # synergy and redundancy coincide where one area's information decides both
        line["dashes"] = (4.0, 1.5)
    ax.plot(one.middle, one.value, **{**line, **line_style(style)})


def draw_null(ax: Axes, low: NDArray[np.float64], high: NDArray[np.float64], one: Course) -> None:
    """Draw the grey null band."""
    ax.fill_between(one.middle, low, high, color=GREY, alpha=0.22, linewidth=0, zorder=0)


def draw_bars(ax: Axes, one: Course, row: int = 0, color: str | None = None) -> None:
    """Draw a thin bar over every run of significant bins, ``row`` bars below the top."""
    height = 0.985 - BAR * row
    for first, last in runs(one.significant):
        ax.plot(
            [one.time[first], one.time[last] + one.width],
            [height, height],
            color=color or TERM_COLORS[one.term],
            linewidth=2.0,
            solid_capstyle="butt",
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            label="_significant",
        )


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def moment(value: float, time_unit: str) -> str:
    """Return a time in few digits with its unit."""
    return f"{brief(value)} {time_unit}"


def brief(value: float) -> str:
    """Return a number in few digits with the minus sign of the axes."""
    # sums of bin widths are off by rounding
    return f"{round(value, 9) + 0.0:.4g}".replace("-", "\N{MINUS SIGN}")


def verdict(one: Course, time_unit: str, between: str = "\n") -> str:
    """Return the onset with its interval, or why there is none."""
    if not one.tested:
        return "no test"
    if not np.isfinite(one.onset):
        return "no onset"
    text = f"onset {moment(one.onset, time_unit)}"
    if np.isfinite(one.ci_low) and np.isfinite(one.ci_high):
        text += f"{between}({brief(one.ci_low)} to {brief(one.ci_high)})"
    return text


def set_limits(panels: Sequence[Axes], shown: Sequence[Course], room: float) -> None:
    """Set common limits: all bins, and zero at the bottom unless something lies below it."""
    low = min([0.0, *(one.extent[0] for one in shown)])
    high = max([0.0, *(one.extent[1] for one in shown)])
    span = high - low or 1.0
    left = min(float(one.time[0]) for one in shown)
    right = max(float(one.time[-1]) + one.width for one in shown)
    for panel in panels:
        panel.set_ylim(low - (0.04 * span if low < 0 else 0.0), high + room * span)
        panel.set_xlim(left, right)


def time_label(event: str | None, time_unit: str) -> str:
    """Return the label of the time axis."""
    return f"time from {plain(event)} ({time_unit})" if event else f"time ({time_unit})"


def about(target: Any) -> str:
    """Return the name of a target in a sentence."""
    return "the target" if target == "target" else plain(target)


def note(ax: Axes, text: str, x: float, y: float, color: str = GREY, **where: Any) -> None:
    """Write a short text inside the axes, in parts of their size."""
    ax.text(x, y, text, transform=ax.transAxes, fontsize=SMALL, color=color, **where)
