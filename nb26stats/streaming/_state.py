"""State of a running stream: NumPy arrays and plain values, changed in place by native code."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core

from ._settings import Settings
from ._sparse import SparseParts, new_parts

# members of counts and sums, rows of tracked, in the order of csrc/include/nb26/oja_api.hpp
SEEN, OPEN, EPOCH, NEXT, PILOT = range(5)
SQUARES, STEPS, GROWTH, TOTAL, WEIGHT, GAP, SCALE, OFFSET, AT_FLOOR = range(9)
EPOCH_SQUARES, WEIGHTED_SQUARES, LAG_PRODUCT, LAG_SQUARE, LAST_SCORE = range(5)

VERSION = 1


def rounded(n: int) -> int:
    """Return ``n`` rounded up to a multiple of 8."""
    return (n + 7) // 8 * 8


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros that start on a cache line, as vector loads like it.

    The system makes them where they are touched first, so that what is never used takes no memory.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    raw = np.zeros(size + 64, np.uint8)
    shift = -raw.ctypes.data % 64
    out: NDArray[Any] = raw[shift : shift + size].view(dtype).reshape(shape)
    return out


def copy_aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that starts on a cache line."""
    own = aligned(array.shape, array.dtype)
    own[...] = array
    return own


@dataclass(eq=False)
class State:
    """Where the estimate and its replicates stand after ``counts[SEEN]`` rows.

    ``replicates`` has shape (groups, d rounded up to 8, k, lanes): lane l of group g is replicate
    g * lanes + l. ``pilot`` holds centred rows until there are ``pilot_size`` of them. With sparse
    rows ``mean``, ``open_rows``, ``last_row`` are empty and ``pilot`` is None: see ``SparseParts``.
    ``history_errors`` (h, replicates) are squared subspace errors after ``history_rows`` (h,) rows.
    ``part_seeds`` are the seeds of the parts that ``merge`` made the state from, none without it.
    """

    settings: Settings
    directions: NDArray[Any]
    mean: NDArray[np.float64]
    open_rows: NDArray[Any]
    open_steps: NDArray[np.float64]
    last_row: NDArray[Any]
    tracked: NDArray[np.float64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    replicates: NDArray[Any] | None
    pilot: NDArray[Any] | None
    pilot_values: NDArray[np.float64]
    history_rows: NDArray[np.int64]
    history_errors: NDArray[np.float64]
    constant_step: float = float("nan")
    n_skipped: int = 0
    torn: bool = False
    told_few: bool = False
    sparse: SparseParts | None = None
    part_seeds: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the native functions change, in their order."""
        return (
            self.directions,
            self.mean,
            self.open_rows,
            self.open_steps,
            self.last_row,
            self.tracked,
            self.counts,
            self.sums,
        )

    @property
    def n_seen(self) -> int:
        """Rows used so far."""
        return int(self.counts[SEEN])

    @property
    def started(self) -> bool:
        """Whether the iterates exist."""
        return self.pilot is None if self.sparse is None else self.sparse.started

    @property
    def running_mean(self) -> NDArray[np.float64]:
        """Mean of the rows seen (d,), zeros without centring."""
        if self.sparse is None:
            return self.mean
        return self.sparse.total / max(self.n_seen, 1)

    def copy(self, groups: slice | None = None) -> State:
        """Return an independent copy, with only some groups of replicates when asked."""
        copied: dict[str, Any] = {
            f.name: value.copy() if isinstance(value, (np.ndarray, SparseParts)) else value
            for f in dataclasses.fields(self)
            if f.name != "replicates"
            for value in [getattr(self, f.name)]
        }
        part = self.replicates
        if part is not None and groups is not None:
            part = part[groups]
        if part is not None:
            part = copy_aligned(part)
        return State(**copied, replicates=part)

    def own(self) -> None:
        """Copy arrays that another process has sent read-only or at an address of no use.

        Vector loads like replicates to start on a cache line.
        """
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray) and not value.flags.carray:
                setattr(self, f.name, np.array(value))
        if self.sparse is not None:
            self.sparse.own()
        if self.replicates is not None and self.replicates.ctypes.data % 64:
            self.replicates = copy_aligned(self.replicates)


def new_state(settings: Settings) -> State:
    """Return a state before the first row."""
    s = settings
    dtype = np.dtype(s.dtype)
    stride, lanes = core().oja_stride(s.sizes), core().oja_lanes(dtype.itemsize)
    m8 = s.slot_rows
    # sparse rows have places of their own
    d, width = (0, 0) if s.sparse else (s.n_features, stride)
    dense_pilot = s.pilot_size and not s.sparse
    groups = -(-s.n_bootstrap // lanes)
    shape = (groups, rounded(s.n_features), s.n_components, lanes)
    replicates = None
    if groups:
        replicates = aligned(shape, dtype)
    counts = np.zeros(5, np.int64)
    counts[PILOT] = s.pilot_size
    sums = np.zeros(9)
    if s.gap is not None:
        sums[GAP] = s.gap
    return State(
        settings=s,
        directions=np.zeros((s.n_tracked, stride), dtype),
        mean=np.zeros(d),
        open_rows=np.zeros((m8, width), dtype),
        open_steps=np.zeros(m8),
        last_row=np.zeros(width, dtype),
        tracked=np.zeros((5, s.n_tracked)),
        counts=counts,
        sums=sums,
        replicates=replicates,
        pilot=np.empty((s.pilot_size, d), dtype) if dense_pilot else None,
        pilot_values=np.full(s.n_tracked, np.nan),
        history_rows=np.empty(0, np.int64),
        history_errors=np.empty((0, s.n_bootstrap)),
        sparse=new_parts(s) if s.sparse else None,
    )


def check_variance(state: State) -> None:
    """Raise ValueError when the rows seen are all the same."""
    if not state.sums[SQUARES] > 0:
        n, pilot = state.n_seen, state.settings.pilot_size
        advice = ""
        if n == pilot:
            advice = "; fit again with a larger pilot_size or with the rows in another order"
        raise ValueError(
            f"X has zero variance in its first {n} rows: they are all the same, or differ so "
            f"little that their squares vanish in {state.settings.dtype}{advice}"
        )


def lanes_to_replicates(lanes: NDArray[Any], n_bootstrap: int, n_features: int) -> NDArray[Any]:
    """Return replicates as (B, k, d) from their native layout."""
    groups, _, k, width = lanes.shape
    out = lanes[:, :n_features].transpose(0, 3, 2, 1).reshape(groups * width, k, n_features)
    return np.ascontiguousarray(out[:n_bootstrap])


def put_replicate(lanes: NDArray[Any], b: int, rows: NDArray[Any]) -> None:
    """Write replicate ``b`` (k, d) into the native layout."""
    group, lane = divmod(b, lanes.shape[3])
    lanes[group, : rows.shape[1], :, lane] = rows.T


def fill_spare(lanes: NDArray[Any], n_bootstrap: int) -> None:
    """Let lanes that no replicate uses repeat the last one, so that they stay finite."""
    used = (n_bootstrap - 1) % lanes.shape[3]
    lanes[-1, :, :, used + 1 :] = lanes[-1, :, :, used, None]
