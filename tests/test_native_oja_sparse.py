"""Direct calls of the entry points for sparse rows: what does not fit is refused beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_native_oja import SPOILT

from nb26stats._dispatch import core

SIZES = (5, 2, 3, 16, 8)
RULE = (4.0, 1.5, 0.5, True, True, True)
WEIGHTS = (7, 0, 1)
M8 = 16


class Call:
    """Arguments of one call to ``oja_sparse_rows``: 20 rows of three values each."""

    def __init__(self) -> None:
        self.state: list[Any] = [
            np.eye(3, 8),
            np.zeros(M8),
            np.zeros((5, 3)),
            np.zeros(5, np.int64),
            np.zeros(9),
            np.zeros(5),
            np.zeros(5),
            np.zeros(3),
            np.zeros(6),
        ]
        self.state[4][5:8] = 5.0, 0.3, 20.0
        rng = np.random.default_rng(0)
        self.rows: list[Any] = [
            rng.normal(size=60),
            np.tile(np.array([0, 2, 4], np.int32), 20),
            np.arange(0, 61, 3),
        ]
        self.slots: list[Any] = [
            np.zeros((2, 8)),
            np.zeros((2, M8, M8)),
            np.zeros((2, M8)),
            np.zeros((2, 3), np.int64),
        ]
        self.steps: Any = None
        self.replicates: Any = np.ones((2, 8, 2, 8))

    def __call__(self) -> tuple[int, int, int]:
        done: tuple[int, int, int] = core().oja_sparse_rows(
            SIZES,
            RULE,
            tuple(self.state),
            tuple(self.rows),
            self.steps,
            tuple(self.slots),
            self.replicates,
            WEIGHTS,
            0,
            1,
        )
        return done

    def apply(self, blocks: int) -> None:
        core().oja_sparse_replicates(
            SIZES,
            RULE,
            WEIGHTS,
            tuple(self.rows),
            tuple(self.slots),
            blocks,
            self.replicates,
            0,
            1,
        )


def test_what_fits_is_taken() -> None:
    call = Call()
    assert call() == (20, 1, 0)
    assert call.state[3][:2].tolist() == [20, 4]
    assert np.isfinite(call.replicates).all()
    call.apply(1)


@pytest.mark.parametrize("how", SPOILT)
def test_arrays_that_do_not_fit(how: str) -> None:
    for part in ("state", "rows", "slots"):
        for i in range(len(getattr(Call(), part))):
            if part == "rows" and (how == "read-only" or (how == "too short" and i == 2)):
                continue  # rows are only read, and fewer of them are fine
            call = Call()
            arrays = getattr(call, part)
            arrays[i] = SPOILT[how](arrays[i])
            before = [a.copy() for a in call.state if isinstance(a, np.ndarray)]
            with pytest.raises((TypeError, ValueError)):
                call()
            after = [a for a in call.state if isinstance(a, np.ndarray)]
            for a, b in zip(before, after, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("at", "value"), [(1, -1), (1, 0), (2, 5), (4, 2**30), (59, -(2**31)), (30, 4)]
)
def test_columns_outside(at: int, value: int) -> None:
    call = Call()
    call.rows[1][at] = value
    with pytest.raises(ValueError, match="columns must ascend within a row"):
        call()
    with pytest.raises(ValueError, match="columns must ascend within a row"):
        call.apply(0)


@pytest.mark.parametrize(
    ("at", "value"), [(0, -1), (1, -1), (20, 61), (20, 2**62), (7, 2**62), (3, 2)]
)
def test_starts_outside(at: int, value: int) -> None:
    call = Call()
    call.rows[2][at] = value
    with pytest.raises(ValueError, match="starts must ascend within the values"):
        call()


def test_rows_that_the_state_holds_must_be_there() -> None:
    call = Call()
    call.state[3][:] = 30, 15, 0, 0, 10
    call.rows[2] = call.rows[2][:15]
    with pytest.raises(ValueError, match="rows must start with those of the open block"):
        call()
    with pytest.raises(ValueError, match="rows must start with those of the open block"):
        core().oja_sparse_close(SIZES, RULE, tuple(call.state), tuple(call.rows), tuple(call.slots))
    call = Call()
    call.state[3][:] = 30, 15, 0, 0, 10
    call.steps = np.full(5, 0.01)
    with pytest.raises(ValueError, match=r"steps must have shape \(4,\)"):
        call()


@pytest.mark.parametrize("open_rows", [-1, 16, 2**62, -(2**63)])
def test_counts_that_point_outside(open_rows: int) -> None:
    call = Call()
    call.state[3][1] = open_rows
    with pytest.raises(ValueError, match="open rows must be fewer than block"):
        call()


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ((0, 1, 0), "sizes of a slot"),
        ((17, 1, 0), "sizes of a slot"),
        ((16, 0, 0), "sizes of a slot"),
        ((16, 1, -1), "a slot must lie in the rows"),
        ((16, 1, 5), "a slot must lie in the rows"),
        ((16, 1, 2**62), "a slot must lie in the rows"),
    ],
)
def test_blocks_that_are_no_blocks(size: tuple[int, int, int], text: str) -> None:
    call = Call()
    call.slots[3][:] = size
    with pytest.raises(ValueError, match=text):
        call.apply(2)
    with pytest.raises(ValueError, match="blocks must lie in the slots"):
        call.apply(3)


def test_arrays_that_share_memory() -> None:
    call = Call()
    call.state[6] = call.state[5]
    with pytest.raises(ValueError, match="share memory"):
        call()
    call = Call()
    call.rows[0] = call.slots[1].reshape(-1)[:60]
    with pytest.raises(ValueError, match="share memory"):
        call()
    with pytest.raises(ValueError, match="share memory"):
        call.apply(0)
