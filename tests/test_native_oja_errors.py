"""Subspace errors of replicates side by side, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nb26stats._dispatch import core


def inputs(d: int, k: int, dtype: type) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    itemsize = np.dtype(dtype).itemsize
    lanes = core().oja_lanes(itemsize)
    rng = np.random.default_rng(d * 100 + k)
    w = np.zeros((3, (d + 7) // 8 * 8, k, lanes), dtype)
    w[:, :d] = rng.normal(size=(3, d, k, lanes))
    u = np.linalg.qr(rng.normal(size=(d, k)))[0].T.copy()
    return (d, k, k, 64, itemsize), u, w


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "k"), [(2, 1), (7, 3), (8, 4), (33, 5), (130, 9), (40, 40)])
def test_against_numpy(d: int, k: int, dtype: type) -> None:
    sizes, u, w = inputs(d, k, dtype)
    errors = core().oja_errors(sizes, u, w, 1)
    rows = w[:, :d].astype(float).transpose(0, 3, 2, 1)
    residual = rows - (rows @ u.T) @ u
    # a sum of d terms twice, each off by its own rounding
    bound = 4 * d * 2**-52 * np.sum(rows**2, axis=(2, 3))
    assert np.all(np.abs(errors - np.sum(residual**2, axis=(2, 3))) <= bound)
    assert np.array_equal(core().oja_errors(sizes, u, w, 2), errors)
    assert np.array_equal(core().oja_errors(sizes, u, w[1:2].copy(), 1), errors[1:2])


def test_close_spans_do_not_cancel() -> None:
    d, k = 50, 3
    sizes, u, w = inputs(d, k, np.float64)
    outside = np.linalg.svd(u)[2][k]
    w[:, :d] = u.T[:, :, None]
    w[:, :d, 0] += 1e-9 * outside[:, None]
    assert core().oja_errors(sizes, u, w, 1) == pytest.approx(np.full((3, 8), 1e-18), rel=1e-6)


def test_shapes() -> None:
    sizes, u, w = inputs(7, 3, np.float64)
    for directions, replicates in [
        (u[:2], w),
        (u[:, :6].copy(), w),
        (u, w[:, :7]),
        (u, w[..., :4]),
    ]:
        with pytest.raises((ValueError, TypeError)):
            core().oja_errors(sizes, directions, replicates, 1)
