"""Typed calls of the native density kernels, in parts that Ctrl-C need not wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import core, cuda

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U16 = NDArray[np.uint16]
Progress = Callable[[int], None]
NativeArm = tuple[F64, F64, int, float, float, U16]
"""Covariates (p, n), outcomes (n,), k, hx, hy and counts (B, n)."""

CALL_WORK = {"cpu": 1e9, "cuda": 1e11}
"""Multiply-adds of one native call: below a second of one thread, or of a whole device."""
ROWS_EACH = 30.0
"""Multiply-adds that finding a row's neighbours costs per row of the arm, beside its distance."""


def resamples(n: int, n_bootstrap: int, arm: int, seed: int, n_threads: int = 0) -> U16:
    """Return how often each resample of an arm (0 control, 1 treated) counts each row (B, n)."""
    counts: U16 = core().density_resamples(n, n_bootstrap, arm, seed, n_threads)
    return counts


def bounds(
    arms: tuple[NativeArm, NativeArm],
    x: F64,
    y: F64 | None,
    own: tuple[I64, I64],
    grid: F64,
    rule: tuple[float, float, float],
    *,
    keep_resamples: bool,
    curves: bool,
    device: str,
    n_threads: int,
    on_done: Progress | None,
) -> tuple[Any, ...]:
    """Return what the bootstrap says at each query; see ``_core.density_bootstrap``."""
    call = _caller(device, n_threads)
    n_bootstrap = arms[0][5].shape[0]
    # without covariates rows share all but what their own outcome is to the others
    columns = len(grid) + 3 if x.shape[1] or device == "cuda" else 1
    kept = sum(arm[2] for arm in arms) * n_bootstrap * columns
    found = sum(arm[0].shape[1] * (arm[0].shape[0] + ROWS_EACH) for arm in arms)
    parts = []
    for i, j in stretches(len(x), CALL_WORK[device] / (kept + found)):
        some_y = None if y is None else y[i:j]
        rows = own[0][i:j], own[1][i:j]
        parts.append(call(*arms, x[i:j], some_y, rows, grid, rule, keep_resamples, curves))
        if on_done is not None:
            on_done(j - i)
    if len(parts) == 1:
        only: tuple[Any, ...] = parts[0]
        return only
    axes = (0, 0, 1, 1, 0, 1, 1, 2)
    return tuple(
        None if each[0] is None else np.concatenate(each, axis)
        for each, axis in zip(zip(*parts, strict=True), axes, strict=True)
    )


def leave_one_out(
    x: F64,
    y: F64,
    k: I64,
    hx: F64,
    hy: F64,
    *,
    n_threads: int,
    on_done: Progress | None = None,
) -> F64:
    """Return the log-likelihood of each row given the others under every setting (k, hx, hy).

    ``x`` is (p, n). The rows are summed in parts that depend on the data's size alone, so that
    threads do not change a bit.
    """
    n = len(y)
    each = k[-1] * (len(hx) + 8.0) * (len(hy) + 2.0) + n * (len(x) + ROWS_EACH)
    total = np.zeros((len(k), len(hx), len(hy)))
    for i, j in stretches(n, CALL_WORK["cpu"] / each):
        total += core().density_loo(x, y, k, hx, hy, i, j, n_threads).sum(axis=0)
        if on_done is not None:
            on_done(j - i)
    return total


def spread(x: F64, ranks: I64, *, n_threads: int) -> F64:
    """Return the median over rows of x (p, n) of the distance to the ranks-th nearest other row."""
    n = x.shape[1]
    parts = [
        core().density_spread(x, ranks, i, j, n_threads)
        for i, j in stretches(n, CALL_WORK["cpu"] / (n * (len(x) + 4 * ROWS_EACH)))
    ]
    out: F64 = np.median(np.concatenate(parts), axis=0)
    return out


def stretches(n: int, step: float) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of parts of at most ``step`` rows, at least one part."""
    size = max(1, int(step))
    for start in range(0, max(n, 1), size):
        yield start, min(n, start + size)


def _caller(device: str, n_threads: int) -> Callable[..., Any]:
    if device == "cuda":
        on_device: Callable[..., Any] = cuda().density_bootstrap
        return on_device

    def call(*arguments: Any) -> Any:
        return core().density_bootstrap(*arguments, n_threads)

    return call
