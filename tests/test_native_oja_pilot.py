"""Pilots of the replicates, eight side by side, against LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nb26stats._dispatch import core
from nb26stats.streaming import OjaPCA, _pilot

WEIGHTS = {"double": (5, 0, 1), "exponential": (5, 1, 1), "blocks": (5, 0, 7)}


def rows_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    if kind == "spike":
        return rng.normal(size=(60, 40)) * np.r_[3, 2, np.ones(38)]
    if kind == "noise":
        return rng.normal(size=(90, 300))
    if kind == "graded":
        return rng.normal(size=(40, 40)) * 10.0 ** -np.arange(0, 20, 0.5)
    if kind == "one-hot":
        return np.eye(8)[np.arange(48) % 8]
    if kind == "copies":
        return np.repeat(rng.normal(size=(6, 30)), 9, axis=0)
    if kind == "rank two":
        return rng.normal(size=(50, 2)) @ rng.normal(size=(2, 30))
    if kind == "huge":
        return rng.normal(size=(30, 20)) * 1e152
    if kind == "tiny":
        return rng.normal(size=(30, 20)) * 1e-150
    if kind == "outlier":
        out = rng.normal(size=(30, 20))
        out[7] *= 1e120
        return out
    return rng.normal(size=(3, 5))


KINDS = ["spike", "noise", "graded", "one-hot", "copies", "huge", "tiny", "outlier", "short"]


@pytest.mark.parametrize("how", WEIGHTS)
@pytest.mark.parametrize("kind", [*KINDS, "rank two"])
@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_vectors(kind: str, how: str, k: int) -> None:
    rows = rows_of(kind)
    n = len(rows)
    if k > n:
        with pytest.raises(ValueError, match="k must lie in"):
            core().oja_pilot_vectors(WEIGHTS[how], rows @ rows.T, k, 0, 1, 1)
        return
    gram = rows @ rows.T
    omega = core().oja_multipliers(WEIGHTS[how], 0, 16, 1, n)
    coefficients, ends = core().oja_pilot_vectors(WEIGHTS[how], gram, k, 0, 2, 1)
    assert coefficients.shape == (2, n, k, 8)
    for b in range(16):
        made = coefficients[b // 8, :, :, b % 8].T @ rows
        _, s, vt = np.linalg.svd(np.sqrt(omega[b])[:, None] * rows, full_matrices=False)
        squares = s**2
        full = int(np.sum(squares > 1e-12 * squares[0])) >= k and squares[0] > 0
        # no doubt about the rank where the last square is clearly on one side
        ratio = squares[k - 1] / squares[0] if k <= len(s) and squares[0] > 0 else 0.0
        if not 1e-14 < ratio < 1e-10:
            assert ends.ravel()[b] == (0 if full else 1)
        if ends.ravel()[b] == 1:
            assert not coefficients[b // 8, :, :, b % 8].any()
            continue
        worth = squares[0] / squares[:k]
        np.testing.assert_array_less(np.abs(np.linalg.norm(made, axis=1) - 1), 1e-12 * (1 + worth))
        # the span that any exact set of leading vectors has, wherever it is defined
        for j in range(1, k + 1):
            gap = (squares[j - 1] - (squares[j] if j < len(s) else 0.0)) / squares[0]
            if gap < 1e-8:
                continue
            q = np.linalg.qr(made[:j].T)[0]
            rest = q - vt[:j].T @ (vt[:j] @ q)
            assert np.abs(rest).max() < 1e-13 / gap * np.sqrt(worth[j - 1])


def test_neighbours_threads_and_instruction_sets(isa: int) -> None:
    rows = rows_of("noise")
    gram = rows @ rows.T
    made: dict[int, Any] = {}
    for level in range(isa + 1):
        core().set_isa(level)
        whole, ends = core().oja_pilot_vectors((9, 0, 1), gram, 4, 0, 6, 1)
        assert not ends.any()
        for threads in (0, 2, 5):
            other, _ = core().oja_pilot_vectors((9, 0, 1), gram, 4, 0, 6, threads)
            np.testing.assert_array_equal(other, whole)
        for first in (3, 8, 17):
            part, _ = core().oja_pilot_vectors((9, 0, 1), gram, 4, first, 2, 1)
            for i in range(16):
                b = first + i
                np.testing.assert_array_equal(part[i // 8, :, :, i % 8], whole[b // 8, :, :, b % 8])
        made[level] = whole
    if isa == 2:
        np.testing.assert_array_equal(made[1], made[2])
    size = np.abs(made[isa]).max()
    for level in range(isa):
        turn = np.sign(np.sum(made[level] * made[isa], axis=1, keepdims=True))
        assert np.abs(made[level] * turn - made[isa]).max() < 1e-10 * size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lapack_starts_the_same_replicates(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = (rows_of("noise") * np.r_[9, 6, 4, np.ones(297)] + 1).astype(dtype)
    kw = {"n_bootstrap": 37, "pilot_size": 80, "random_state": 1}
    native = OjaPCA(3, **kw).fit(x).bootstrap_components_
    calls = []
    alone = _pilot._start_one
    monkeypatch.setattr(_pilot, "MOST_SIDE_BY_SIDE", 0)
    monkeypatch.setattr(_pilot, "_start_one", lambda *a: (calls.append(a), alone(*a)))
    lapack = OjaPCA(3, **kw).fit(x).bootstrap_components_
    assert len(calls) == 37
    np.testing.assert_allclose(native, lapack, atol=1e-11 if dtype == np.float64 else 2e-6)


def test_what_cannot_be_vouched_for_goes_to_lapack(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows_of("noise") * np.r_[9, 6, 4, np.ones(297)]
    kw = {"n_bootstrap": 21, "pilot_size": 80, "random_state": 1}
    native = OjaPCA(3, **kw).fit(x).bootstrap_components_
    kernel = core().oja_pilot_vectors

    def unsure(*args: Any) -> Any:
        coefficients, ends = kernel(*args)
        coefficients[0, :, :, 2] = 1.0
        ends[0, 2] = 2
        return coefficients, ends

    monkeypatch.setattr(core(), "oja_pilot_vectors", unsure)
    np.testing.assert_allclose(OjaPCA(3, **kw).fit(x).bootstrap_components_, native, atol=1e-11)


def test_small_batches_make_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows_of("noise").astype(np.float32)
    kw = {"n_bootstrap": 70, "pilot_size": 80, "random_state": 1}
    whole = OjaPCA(2, **kw).fit(x).bootstrap_components_
    monkeypatch.setattr(_pilot, "PILOT_WORK", 1.0)
    np.testing.assert_array_equal(OjaPCA(2, **kw).fit(x).bootstrap_components_, whole)


def test_refusals() -> None:
    gram = np.eye(4)
    for bad in (
        np.eye(4)[:3],
        np.eye(4, dtype=np.float32),
        np.asfortranarray(np.ones((4, 4)))[::2],
    ):
        with pytest.raises((TypeError, ValueError)):
            core().oja_pilot_vectors((0, 0, 1), bad, 1, 0, 1, 1)
    for k, first, groups in ((0, 0, 1), (5, 0, 1), (1, -1, 1), (1, 0, -1)):
        with pytest.raises(ValueError, match="k must lie in"):
            core().oja_pilot_vectors((0, 0, 1), gram, k, first, groups, 1)
    sizes, rows = (5, 2, 3, 16, 8), np.ones((4, 5))
    with pytest.raises(ValueError, match="coefficients must have shape"):
        core().oja_pilot_start(sizes, rows, np.ones((1, 4, 3, 8)), np.ones((1, 8, 2, 8)), 1)
    both = np.ones((1, 8, 2, 8))
    with pytest.raises(ValueError, match="share memory"):
        core().oja_pilot_start(sizes, rows, both[:, :4], both, 1)
