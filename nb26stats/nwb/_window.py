"""The time grid around an event: whole bins, the tolerance at their edges, and what fits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats import _check


def bin_grid(window: Any, bin_size: Any) -> tuple[float, float, int]:
    """Return the left end of the window, the width of a bin (both s) and the number of bins.

    Raises
    ------
    ValueError
        If the window is empty or not a whole number of bins; the message names windows that fit.
    """
    ends = _check.as_vector(window, "window")
    if ends.size != 2:
        raise ValueError(f"window must hold two times (start, stop), got {ends.size}")
    if not np.isfinite(ends).all():
        raise ValueError(f"window=({ends[0]}, {ends[1]}) must be finite")
    w0, w1 = float(ends[0]), float(ends[1])
    width = _check.as_float(bin_size, "bin_size", above=0.0)
    if w1 <= w0:
        raise ValueError(f"window=({w0:g}, {w1:g}) must stop after it starts")
    ratio = (w1 - w0) / width
    if not ratio < 2**53:
        raise ValueError(f"bin_size={width:g} is too small for window=({w0:g}, {w1:g})")
    n = round(ratio)
    if n < 1 or abs(ratio - n) > min(1e-6 * n, 1e-3):
        low = max(1, int(np.floor(ratio)))
        fits = [f"({w0:.10g}, {w0 + k * width:.10g})" for k in (low, low + 1)]
        raise ValueError(
            f"window=({w0:.10g}, {w1:.10g}) is {ratio:.10g} bins of {width:.10g} s; the nearest "
            f"windows of whole bins are {fits[0]} and {fits[1]}"
        )
    return w0, width, n


def edge_tolerance(
    tol: float | None, bin_size: float, spikes: NDArray[np.float64], events: NDArray[np.float64]
) -> float:
    """Return how far left of an edge, in seconds, a spike still belongs to the bin on its right.

    The default grows with the rounding of the largest time of the file, before any selection, so
    that a part of the events gets the same bins as all of them.
    """
    if tol is None:
        finite = events[np.isfinite(events)]
        largest = max(
            (float(np.abs([v.min(), v.max()]).max()) for v in (spikes, finite) if v.size),
            default=0.0,
        )
        tol = max(1e-9, 4.0 * float(np.spacing(largest)))
        if bin_size <= 1e-7:
            raise ValueError(
                f"bin_size={bin_size:g} is too small: edges are told apart to a nanosecond, so "
                "bins must be wider than 1e-07 s (or give a smaller tol)"
            )
        if tol >= bin_size / 100:
            raise ValueError(
                f"times up to {largest:.6g} s are too large for bin_size={bin_size:g}: their "
                f"rounding ({tol:.2g} s) reaches a hundredth of a bin; subtract an offset from all "
                "times, or use wider bins"
            )
    elif tol >= bin_size / 100:
        raise ValueError(f"tol={tol:g} must be below a hundredth of bin_size={bin_size:g}")
    return tol


def refuse_too_large(n_trials: int, n_bins: int, n_units: int, item_bytes: int) -> None:
    """Raise MemoryError when the counts are larger than the memory that is free."""
    need = n_trials * n_bins * n_units * item_bytes + 16 * n_bins
    have = _free_memory()
    if need > have:
        raise MemoryError(
            f"counts of {n_trials} trials x {n_bins} bins x {n_units} units need {need / 1e9:.3g} "
            f"GB, but {have / 1e9:.3g} GB are free; use wider bins, a shorter window, fewer "
            "areas or trials, or dtype='uint8'"
        )


def _free_memory() -> int:
    """Return the bytes that can be had without swapping; all of the memory where none can say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(n.split()[1]) for n in lines if n.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):  # not Linux
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 1 << 46
