"""Direct calls of the Oja entry points: what does not fit is refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nb26stats._dispatch import core

SIZES = (5, 2, 3, 16, 8)
RULE = (4.0, 1.5, 0.5, True, True, True)
WEIGHTS = (7, 0, 1)
STRIDE, M8 = 8, 16


class Call:
    """Arguments of one call to ``oja_rows``."""

    def __init__(self) -> None:
        self.state: list[Any] = [
            np.eye(3, STRIDE),
            np.zeros(5),
            np.zeros((M8, STRIDE)),
            np.zeros(M8),
            np.zeros(STRIDE),
            np.zeros((5, 3)),
            np.zeros(5, np.int64),
            np.zeros(9),
        ]
        self.state[7][5:8] = 5.0, 0.3, 20.0
        self.slots: list[Any] = [
            np.zeros((2, M8, STRIDE)),
            np.zeros((2, M8, M8)),
            np.zeros((2, M8)),
            np.zeros((2, 2), np.int64),
        ]
        self.x: Any = np.random.default_rng(0).normal(size=(20, 5))
        self.steps: Any = None
        self.replicates: Any = np.ones((2, 8, 2, 8))
        self.sizes: tuple[Any, ...] = SIZES

    def __call__(self) -> tuple[int, int, int]:
        done: tuple[int, int, int] = core().oja_rows(
            self.sizes,
            RULE,
            tuple(self.state),
            self.x,
            self.steps,
            tuple(self.slots),
            self.replicates,
            WEIGHTS,
            0,
            False,
            1,
        )
        return done


def test_what_fits_is_taken() -> None:
    call = Call()
    assert call() == (20, 1, 0)
    assert call.state[6][:2].tolist() == [20, 4]
    assert np.isfinite(call.replicates).all()


def _odd(a: np.ndarray) -> np.ndarray:
    return np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)


def _read_only(a: np.ndarray) -> np.ndarray:
    out = a.copy()
    out.flags.writeable = False
    return out


SPOILT: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda a: a.tolist(),
    "other dtype": lambda a: a.astype(np.float32),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "too short": lambda a: a[:-1].copy(),
    "empty": lambda a: a[:0],
    "one more dimension": lambda a: a[None],
    "backwards": lambda a: a[::-1],
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "one value": lambda a: np.broadcast_to(np.zeros((), a.dtype), a.shape),
    "odd address": _odd,
    "read-only": _read_only,
    "nothing": lambda a: None,
}


@pytest.mark.parametrize("how", SPOILT)
def test_arrays_that_do_not_fit(how: str) -> None:
    for part, n in (("state", 8), ("slots", 4)):
        for i in range(n):
            call = Call()
            arrays = getattr(call, part)
            arrays[i] = SPOILT[how](arrays[i])
            before = [a.copy() for a in call.state if isinstance(a, np.ndarray)]
            with pytest.raises((TypeError, ValueError)):
                call()
            after = [a for a in call.state if isinstance(a, np.ndarray)]
            for a, b in zip(before, after, strict=True):
                np.testing.assert_array_equal(a, b)
    if how not in ("too short", "empty", "nothing"):  # fewer groups, or none, are fine
        call = Call()
        call.replicates = SPOILT[how](call.replicates)
        with pytest.raises((TypeError, ValueError)):
            call()


def test_arrays_that_share_memory() -> None:
    call = Call()
    both = np.zeros(9)
    call.state[6], call.state[7] = both[:5].view(np.int64), both
    with pytest.raises(ValueError, match="share memory"):
        call()
    call = Call()
    call.x = call.slots[0].reshape(-1)[:100].reshape(20, 5)
    with pytest.raises(ValueError, match="share memory"):
        call()
    with pytest.raises(ValueError, match="share memory"):
        core().oja_refresh(SIZES, RULE, np.zeros((5, 3)), both[:5].view(np.int64), both)


@pytest.mark.parametrize("open_rows", [-1, 16, 2**62, -(2**63)])
def test_counts_that_point_outside(open_rows: int) -> None:
    call = Call()
    call.state[6][1] = open_rows
    with pytest.raises(ValueError, match="open rows must be fewer than block"):
        call()


@pytest.mark.parametrize(
    "sizes",
    [
        (0, 1, 1, 8, 8),
        (5, 0, 1, 8, 8),
        (5, 2, 4, 8, 8),
        (5, 6, 6, 8, 8),
        (5, 2, 3, 0, 8),
        (5, 2, 3, 4097, 8),
        (2**31 + 1, 2, 3, 8, 8),
        (5, 2, 3, 8, 0),
        (5, 2, 3, 8, 16),
    ],
)
def test_sizes_out_of_range(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"sizes must satisfy|itemsize must be 4 or 8"):
        core().oja_stride(sizes)
    call = Call()
    call.sizes = sizes
    with pytest.raises(ValueError, match=r"sizes must satisfy|itemsize must be 4 or 8"):
        call()


def test_lanes() -> None:
    assert (core().oja_lanes(8), core().oja_lanes(4)) == (8, 16)
    for itemsize in (0, 2, -8):
        with pytest.raises(ValueError, match="itemsize must be 4 or 8"):
            core().oja_lanes(itemsize)


@pytest.mark.parametrize("size", [(0, 1), (17, 1), (-1, 1), (16, 0), (16, -(2**63))])
def test_blocks_that_are_no_blocks(size: tuple[int, int]) -> None:
    call = Call()
    call.slots[3][:] = size
    with pytest.raises(ValueError, match="sizes of a slot"):
        core().oja_replicates(SIZES, WEIGHTS, tuple(call.slots), 2, call.replicates, 0, 1)
    with pytest.raises(ValueError, match="blocks must lie in the slots"):
        core().oja_replicates(SIZES, WEIGHTS, tuple(call.slots), 3, call.replicates, 0, 1)


def test_paired_weights_and_sizes_that_do_not_say_so() -> None:
    call = Call()
    call.sizes = (*SIZES, True)
    with pytest.raises(ValueError, match="paired weights need sizes that say so"):
        call()
    with pytest.raises(ValueError, match=r"open_rows must have shape \(24, 8\)"):
        core().oja_center(call.sizes, RULE, tuple(call.state), call.x, call.x.copy())
    slots = tuple(call.slots)
    for sizes, weights in ((SIZES, (7, 2, 1)), ((*SIZES, False), (7, 2, 1))):
        with pytest.raises(ValueError, match="paired weights need sizes that say so"):
            core().oja_replicates(sizes, weights, slots, 0, call.replicates, 0, 1)
    paired = (np.zeros((1, 24, 8)), np.zeros((1, 24, 24)), np.zeros((1, 24)), np.ones((1, 2), int))
    with pytest.raises(ValueError, match="paired weights need sizes that say so"):
        core().oja_replicates((*SIZES, True), WEIGHTS, paired, 0, call.replicates, 0, 1)
    paired[3][0] = 17, 1  # sixteen rows and the one before them
    core().oja_replicates((*SIZES, True), (7, 2, 1), paired, 1, call.replicates, 0, 1)
    paired[3][0, 0] = 18
    with pytest.raises(ValueError, match="sizes of a slot must be rows in the block"):
        core().oja_replicates((*SIZES, True), (7, 2, 1), paired, 1, call.replicates, 0, 1)
    with pytest.raises(ValueError, match="no use for weights below zero"):
        core().oja_pilot_vectors((7, 2, 1), np.eye(3), 1, 0, 1, 1)
