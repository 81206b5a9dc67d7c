"""Gaussian decompositions by the batch: device, and calls that Ctrl-C need not wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._dispatch import choose_device, core, cuda

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
Answer = tuple[F64, F64 | None, I8]

# multiply-adds of one native call: below half a second of one thread, and of a whole device
CALL_WORK = {"cpu": 1e9, "cuda": 1e12}
CALL_BYTES = 2e9
"""Bytes of the problems of one call: a device holds them beside its work."""
LEAST_PROBLEMS = 64


def gaussian_informations(
    covs: F64,
    dims: tuple[int, int, int],
    factors: F64 | None,
    *,
    device: str = "cpu",
    n_threads: int = 0,
) -> Answer:
    """Return the four information values of every covariance, in nats.

    Parameters
    ----------
    covs : ndarray of shape (m, d, d)
        Joint covariances in the order X, Y, M.
    dims : tuple of int
        Numbers of variables (dx, dy, dm); d is their sum.
    factors : ndarray of shape (B, d, d), or None
        Lower factors A: each covariance L L' is also evaluated as L A A' L'.
    device : {"auto", "cpu", "cuda"}
        Where to compute.
    n_threads : int
        Threads on the CPU; 0 takes what OpenMP offers.

    Returns
    -------
    information : ndarray of shape (m, 4)
        I_X, I_Y, I_XY and I_U; NaN where the status is not 0.
    means : ndarray of shape (m, 4), or None
        Their means over the factors.
    status : ndarray of shape (m,)
        0, 1 where a covariance is not positive definite, 2 where the information is infinite.
    """
    device = choose_device(device)
    call = _caller("gaussian_pid", device, n_threads)
    draws = 1 if factors is None else 1 + len(factors)
    step = _problems_per_call(draws, sum(dims), dims[2], device)
    parts = [call(covs[i : i + step], dims, factors) for i in range(0, len(covs), step)]
    return _joined(parts, 0) if parts else call(covs, dims, factors)


def gaussian_informations_of_channels(
    r: F64, k: F64, factors: F64 | None, *, device: str = "cpu", n_threads: int = 0
) -> Answer:
    """Return the four information values of channels in white coordinates, in nats.

    X is z_x, Y is ``r`` times (z_x, z_y|x), and the target is ``k`` times (z_x, z_y|x) plus noise
    of covariance I - k k'. All problems of one bin share ``r``.

    Parameters
    ----------
    r : ndarray of shape (n_bins, dy, dx + dy)
        Sources Y in white coordinates.
    k : ndarray of shape (n_bins, P, dm, dx + dy)
        Correlations of the white target with the white coordinates.
    factors : ndarray of shape (B, d, d), or None
        Lower factors A, as for ``gaussian_informations``; d = dx + dy + dm.
    device : {"auto", "cpu", "cuda"}
        Where to compute.
    n_threads : int
        Threads on the CPU; 0 takes what OpenMP offers.

    Returns
    -------
    information : ndarray of shape (n_bins, P, 4)
        I_X, I_Y, I_XY and I_U; NaN where the status is not 0.
    means : ndarray of shape (n_bins, P, 4), or None
        Their means over the factors.
    status : ndarray of shape (n_bins, P)
        0, or 2 where the information is infinite.
    """
    device = choose_device(device)
    call = _caller("gaussian_pid_channels", device, n_threads)
    n_bins, n, dm, p = k.shape
    draws = 1 if factors is None else 1 + len(factors)
    step = _problems_per_call(draws, p + dm, dm, device)
    bins = max(1, step // max(1, n))
    rows = [
        _joined([call(r[i:j], k[i:j, a:b], factors) for a, b in _stretches(n, step)], 1)
        for i, j in _stretches(n_bins, bins)
    ]
    return _joined(rows, 0)


def _stretches(n: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of parts of at most ``step``, at least one part."""
    for start in range(0, max(n, 1), step):
        yield start, min(n, start + step)


def _problems_per_call(draws: int, d: int, dm: int, device: str) -> int:
    work = draws * (d**3 / 6 + dm * d**2)
    most = min(CALL_WORK[device] / work, CALL_BYTES / (8 * d**2))
    return max(LEAST_PROBLEMS, int(most))


def _caller(name: str, device: str, n_threads: int) -> Callable[..., Any]:
    if device == "cuda":
        on_device: Callable[..., Any] = getattr(cuda(), name)
        return on_device
    kernel = getattr(core(), name)

    def call(*arrays: Any) -> Any:
        return kernel(*arrays, n_threads)

    return call


def _joined(parts: list[Any], axis: int) -> Answer:
    if len(parts) == 1:
        only: Answer = parts[0]
        return only
    information, means, status = zip(*parts, strict=True)
    return (
        np.concatenate(information, axis),
        None if means[0] is None else np.concatenate(means, axis),
        np.concatenate(status, axis),
    )
