"""How often nulls reject where nothing is there, and where something is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from time_pid_data import PLAIN, latency_data

from nb26stats.information import GaussianPID, TimeResolvedPID

pytestmark = pytest.mark.slow

RUNS, MANY = 100, 200
ALPHA = 0.05


def most(runs: int) -> int:
    """Return the count three standard errors above the level."""
    return math.floor(runs * ALPHA + 3 * math.sqrt(runs * ALPHA * (1 - ALPHA)))


def smooth(rng: np.random.Generator, n: int, n_bins: int, d: int) -> np.ndarray:
    """Noise that is correlated over bins, as recordings are."""
    x = rng.standard_normal((n, n_bins, d))
    for b in range(1, n_bins):
        x[:, b] = 0.8 * x[:, b - 1] + 0.6 * x[:, b]
    return x


@pytest.mark.parametrize("correction", ["max", "cluster"])
@pytest.mark.parametrize("bias", [None, "bootstrap"])
def test_false_positives_without_information(
    bias: str | None, correction: str, capsys: pytest.CaptureFixture[str]
) -> None:
    each = np.zeros(7, dtype=int)
    together = responses = 0
    for run in range(MANY):
        rng = np.random.default_rng([4, run])
        x = {"A": smooth(rng, 200, 20, 4), "B": smooth(rng, 200, 20, 3)}
        m = rng.standard_normal((200, 2))
        kw = {"n_permutations": 39, "alpha": ALPHA, "correction": correction, **PLAIN}
        inner = GaussianPID(bias=bias, n_bootstrap=12)
        one = TimeResolvedPID(inner, random_state=run, **kw).fit(x, m, np.arange(20.0))
        each += one.significant_[0, 0].any(axis=1)
        responses += int(np.isfinite(one.onsets_).any())
        scoped = TimeResolvedPID(inner, random_state=run, correction_scope="all", **kw)
        together += int(scoped.fit(x, m, np.arange(20.0)).significant_.any())
    with capsys.disabled():
        print(
            f"\nfalse positives in {MANY} runs, bias={bias}, {correction}: each term "
            f"{each.tolist()}, all terms together {together}, any onset {responses}"
        )
    assert (each <= most(MANY)).all()
    assert together <= most(MANY)


def weaker_copy(rng: np.random.Generator, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y is X with more noise, so it knows nothing of its own."""
    x = m @ np.array([[1.0, 0.5, 0.0, 0.3], [0.0, 0.4, 0.8, 0.2]]) + rng.standard_normal((300, 4))
    return x, x[:, :3] + rng.standard_normal((300, 3))


def weaker(rng: np.random.Generator, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y reads the same directions as X more weakly, with noise of its own."""
    x = m @ np.array([[1.0, 0.5, 0.0, 0.3], [0.0, 0.4, 0.8, 0.2]]) + rng.standard_normal((300, 4))
    return x, m @ np.array([[0.4, 0.0, 0.2], [0.0, 0.3, 0.1]]) + rng.standard_normal((300, 3))


def other_channel(rng: np.random.Generator, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y reads random directions of its own."""
    x = m @ rng.standard_normal((2, 4)) * 0.5 + rng.standard_normal((300, 4))
    return x, m @ rng.standard_normal((2, 3)) * 0.5 + rng.standard_normal((300, 3))


def rejected(
    make: Callable[[np.random.Generator, np.ndarray], tuple[np.ndarray, np.ndarray]],
    null: str,
    term: int,
) -> int:
    count = 0
    for run in range(RUNS):
        rng = np.random.default_rng([2, run])
        m = rng.standard_normal((300, 2))
        x, y = make(rng, m)
        one = TimeResolvedPID(
            GaussianPID(bias=None),
            null=null,
            n_permutations=99,
            alpha=ALPHA,
            min_run=1,
            random_state=run,
            **PLAIN,
        ).fit({"X": x[:, None], "Y": y[:, None]}, m, [0.0])
        count += int(one.significant_[0, 0, term, 0])
    return count


def test_conditional_null_of_unique_information(capsys: pytest.CaptureFixture[str]) -> None:
    copy = rejected(weaker_copy, "conditional-y", 5)
    weak = rejected(weaker, "conditional-y", 5)
    own = rejected(other_channel, "conditional-y", 5)
    with capsys.disabled():
        print(f"\nconditional-y in {RUNS}: copy {copy}, weaker {weak}, own channel {own}")
    assert copy <= most(RUNS)
    assert weak <= most(RUNS)
    assert own >= 60


def test_noise_shuffle_of_independent_noise(capsys: pytest.CaptureFixture[str]) -> None:
    independent = rejected(weaker, "noise-shuffle", 6)
    with capsys.disabled():
        print(f"\nnoise-shuffle in {RUNS}: independent noise {independent}")
    assert independent <= most(RUNS)


def test_synergy_of_the_plug_in_is_offset_where_there_is_information(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = {}
    for bias, null in ((None, "target"), ("bootstrap", "target"), (None, "noise-shuffle")):
        found = []
        for seed in range(6):
            pid = TimeResolvedPID(
                GaussianPID(bias=bias, n_bootstrap=12),
                null=null,
                n_permutations=100,
                random_state=seed,
                **PLAIN,
            ).fit(*latency_data(seed))
            found.append(int(pid.significant_[0, 0, 6].sum()))
        counts[bias, null] = found
    with capsys.disabled():
        print(f"\nsignificant bins of synergy, of 60, where there is none: {counts}")
    assert min(counts[None, "target"]) >= 1
    assert max(counts[None, "target"]) <= 8
    assert sum(counts["bootstrap", "target"]) < sum(counts[None, "target"])
    assert sum(counts[None, "noise-shuffle"]) <= 2
