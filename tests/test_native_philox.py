"""The counter-based generator against published answers and an independent peer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nb26stats._dispatch import core

OJA = 0x6F6A6100
ONES = 2**64 - 1


def words(seed: int, index: object, stream: object, salt: int = 0) -> NDArray[np.uint32]:
    i, s = np.broadcast_arrays(
        np.atleast_1d(np.asarray(index, dtype=np.uint64)), np.asarray(stream, dtype=np.uint64)
    )
    out = core().philox_words(seed, salt, np.ascontiguousarray(i), np.ascontiguousarray(s))
    return np.asarray(out)


def hexes(row: NDArray[np.uint32]) -> str:
    return " ".join(f"{w:08x}" for w in row)


@pytest.mark.parametrize(
    ("counter", "answer"),
    [
        (0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (ONES, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ],
)
def test_known_answers(counter: int, answer: str) -> None:
    assert hexes(words(counter, counter, counter)[0]) == answer


@pytest.mark.parametrize(
    ("seed", "stream", "index", "answer"),
    [
        (0, 0, 0, "69ef3fd8 625ba72f 2a73002e 122cac08"),
        (0, 1, 0, "879a0caa a558231a b1b3c16e 45a4dbdc"),
        (0, 0, 1, "74ed3e47 2556056f ce7512d5 aecdc9d0"),
        (42, 7, 1000, "315138e3 e794735c f679c7cb c516e013"),
    ],
)
def test_anchors_with_a_kernels_own_key(seed: int, stream: int, index: int, answer: str) -> None:
    assert hexes(words(seed, index, stream, OJA)[0]) == answer


def test_weights_of_the_first_steps() -> None:
    bits = words(0, np.arange(12), 0, OJA)[:, 0] >> 31
    assert (2 * bits).tolist() == [0, 0, 2, 0, 2, 2, 2, 0, 0, 0, 0, 2]


def test_half_of_a_million_weights() -> None:
    index, stream = np.meshgrid(np.arange(5000), np.arange(200))
    top = words(0, index.ravel(), stream.ravel(), OJA)[:, 0] >> 31
    assert int(top.sum()) == 500904


def test_randomgen_agrees() -> None:
    from randomgen import Philox

    rng = np.random.default_rng(1)
    for _ in range(300):
        seed, index, stream = (int(v) for v in rng.integers(0, 2**64, size=3, dtype=np.uint64))
        salt = int(rng.integers(0, 2**32))
        counter = index + (stream << 64)
        peer = Philox(
            key=seed ^ (salt << 32),
            counter=(counter - 1) % 2**128,  # this class steps the counter before it draws
            number=4,
            width=32,
        )
        assert words(seed, index, stream, salt)[0].tolist() == peer.random_raw(4).tolist()


@pytest.mark.parametrize("level", range(3))
def test_levels_give_the_same_words(level: int, isa: int) -> None:
    index = np.arange(2**32 - 500, 2**32 + 501, dtype=np.uint64)
    want = [words(7, i, 3)[0] for i in index[::250]]
    core().set_isa(min(level, isa))
    np.testing.assert_array_equal(words(7, index, 3)[::250], want)


def test_the_words_are_spread_evenly() -> None:
    got = words(123, np.arange(200_000), 5)
    bits = np.unpackbits(got.view(np.uint8)).mean()
    assert abs(bits - 0.5) < 5 * 0.5 / np.sqrt(got.size * 32)
    below = words(124, np.arange(200_000), 5)
    matches = np.unpackbits((got ^ below).view(np.uint8)).mean()
    assert abs(matches - 0.5) < 5 * 0.5 / np.sqrt(got.size * 32)


@pytest.mark.parametrize(
    ("index", "stream", "error", "says"),
    [
        (
            np.zeros(3),
            np.zeros(3, np.uint64),
            TypeError,
            "index must have dtype uint64, got float64",
        ),
        (
            np.zeros(3, np.uint64),
            np.zeros(2, np.uint64),
            ValueError,
            r"stream must have shape \(3,\)",
        ),
        (np.zeros((3, 1), np.uint64), np.zeros(3, np.uint64), ValueError, r"shape \(any,\)"),
        (np.zeros(6, np.uint64)[::2], np.zeros(3, np.uint64), ValueError, "C-contiguous"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    index: object, stream: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        core().philox_words(0, 0, index, stream)
