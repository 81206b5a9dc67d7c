"""Which model of an animal is best, and when that is left open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nb26stats.learning._verdict import Fit, heldout_difference, judge, unequal

TERMS = (
    ("weight bounds", 5.0),
    ("penalties", "none"),
    ("trials", b"a"),
    ("likelihood masks", b"b"),
)


def _fit(name: str, aic: float, **kw: Any) -> Fit:
    given: dict[str, Any] = {
        "loglik": -0.5 * aic,
        "bic": aic + 30.0,
        "k": 8,
        "n_hit": 3,
        "at_bounds": (),
        "alpha": 0.01,
        "beta": 1.0,
        "converged": True,
        "terms": TERMS,
        **kw,
    }
    return Fit(name=name, aic=aic, **given)


def _blocks(per_trial: list[float], n: int = 100) -> dict[str, Any]:
    # the first block tells nothing
    return {
        "block_loglik": n * np.array([-9.0, *per_trial]),
        "block_n": np.full(1 + len(per_trial), float(n)),
    }


def test_a_clear_winner_is_decided() -> None:
    got = judge("m", [_fit("1L", 5100.0), _fit("2L", 5010.0), _fit("2NL", 5000.0)])
    assert got.verdict == ["worse", "worse", "best"]
    assert got.daic == [100.0, 10.0, 0.0]
    assert got.sentences == [
        "m, 1L: AIC 100.0 above that of 2NL: decided against it by AIC.",
        "m, 2L: AIC 10.0 above that of 2NL: decided against it by AIC.",
        "m, 2NL: lowest AIC, 10.0 below 2L: decided by AIC.",
    ]
    assert got.footnotes == []
    assert got.unfair == []


@pytest.mark.parametrize(("gap", "tied"), [(0.0, True), (3.999, True), (4.0, False)])
def test_less_than_four_units_are_a_tie(gap: float, tied: bool) -> None:
    got = judge("m", [_fit("2L", 5000.0 + gap), _fit("2NL", 5000.0)])
    assert (got.verdict == ["tie", "tie"]) == tied
    assert ("undecided between them" in got.sentences[0]) == tied
    if gap:
        assert ("undecided between them" in got.sentences[1]) == tied


def test_a_loser_that_may_be_better_decides_nothing() -> None:
    for doubt in ({"n_hit": 1}, {"converged": False}):
        got = judge("m", [_fit("2L", 5050.0, **doubt), _fit("2NL", 5000.0)])
        assert got.verdict == ["worse", "best"]
        assert all("undecided" in s for s in got.sentences)
        assert got.footnotes == []
    # a winner that may be better still wins
    got = judge("m", [_fit("2L", 5050.0), _fit("2NL", 5000.0, n_hit=1, at_bounds=("W2[0,1]",))])
    assert got.sentences[0].endswith("decided against it by AIC.")
    assert "its lead may be larger" in got.sentences[1]
    assert got.footnotes == [
        "m, 2NL (lowest AIC): the optimum was found by one start only",
        "m, 2NL (lowest AIC): on a bound: W2[0,1]",
    ]


def test_held_out_trials_may_contradict() -> None:
    better = _blocks([-0.50, -0.51, -0.49, -0.50])
    worse = _blocks([-0.60, -0.62, -0.58, -0.61])
    got = judge("m", [_fit("1L", 5050.0, **better), _fit("2L", 5000.0, **worse)])
    assert got.verdict == ["worse", "best"]
    assert "undecided, since it predicts held-out trials better" in got.sentences[0]
    assert "undecided, since 1L predicts held-out trials better" in got.sentences[1]
    assert "better)" in got.sentences[0]
    assert "worse)" in got.sentences[1]
    got = judge("m", [_fit("1L", 5050.0, **worse), _fit("2L", 5000.0, **better)])
    assert (
        "decided against it by AIC; -0.1025 nats per held-out trial against 2L" in got.sentences[0]
    )
    noisy = _blocks([-0.40, -0.70, -0.40, -0.64])
    got = judge("m", [_fit("1L", 5050.0, **noisy), _fit("2L", 5000.0, **better)])
    assert "alike)" in got.sentences[0]


def test_standard_error_is_that_of_differences_of_blocks() -> None:
    rng = np.random.default_rng(0)
    n_blocks, n_sets = 12, 4000
    # blocks differ in difficulty, which both models share
    n = rng.integers(200, 600, (n_sets, n_blocks + 1)).astype(float)
    shared = -0.5 * n + rng.normal(size=n.shape) * 40
    gain = 0.01 * n + rng.normal(size=n.shape) * np.sqrt(n) * 0.1
    pairs = [
        (
            _fit("a", 0.0, block_loglik=s + g, block_n=m),
            _fit("b", 0.0, block_loglik=s, block_n=m),
        )
        for s, g, m in zip(shared, gain, n, strict=True)
    ]
    got = np.array([heldout_difference(a, b) for a, b in pairs])
    # 4000 sets: the spread of means is known to about 1 %, the bias of the error is below 5 %
    np.testing.assert_allclose(got[:, 0].mean(), 0.01, atol=4 * got[:, 0].std() / 63)
    np.testing.assert_allclose(np.sqrt((got[:, 1] ** 2).mean()), got[:, 0].std(), rtol=0.06)


def test_a_first_block_worse_than_chance_is_a_footnote() -> None:
    fits = [_fit("1L", 5050.0, **_blocks([-0.5])), _fit("2L", 5000.0, **_blocks([-0.4]))]
    assert judge("m", fits).footnotes == [
        "m, 2L (lowest AIC): without the first block its weights before that block are not known "
        "(-9.00 nats per trial, chance is -0.69)"
    ]


def test_one_block_has_no_standard_error() -> None:
    a, b = _fit("a", 0.0, **_blocks([-0.5])), _fit("b", 10.0, **_blocks([-0.6]))
    assert np.isnan(heldout_difference(a, b)[1])
    assert judge("m", [a, b]).sentences[0].endswith("against b.")


@pytest.mark.parametrize(
    ("terms", "match"),
    [
        ((("weight bounds", 20.0), *TERMS[1:]), "weight bounds differ (5.0 for 2L, 20.0 for 2NL)"),
        ((*TERMS[:2], ("trials", b"c"), TERMS[3]), "trials differ"),
        ((*TERMS[:3], ("likelihood masks", b"c")), "likelihood masks differ"),
    ],
)
def test_unequal_models_are_not_ranked(terms: Any, match: str) -> None:
    fits = [_fit("2L", 5000.0), _fit("2NL", 4000.0, terms=terms)]
    assert unequal(fits) == [match]
    got = judge("m", fits)
    assert got.verdict == ["not ranked"] * 2
    assert np.isnan([got.daic, got.dbic]).all()
    assert got.sentences[1] == f"m, 2NL: not ranked: {match}."
    assert got.unfair == [match]


def test_a_penalised_optimum_has_no_aic() -> None:
    terms = (TERMS[0], ("penalties", "gaussian"), *TERMS[2:])
    got = judge("m", [_fit(n, 5000.0, terms=terms) for n in ("1L", "2L")])
    assert got.unfair == ["AIC and BIC do not hold at a penalised optimum"]


def test_bic_may_prefer_another() -> None:
    got = judge("m", [_fit("1L", 5010.0, bic=5050.0), _fit("2L", 5000.0, bic=5080.0)])
    assert got.dbic == [0.0, 30.0]
    assert "BIC prefers 1L by 30.0" in got.sentences[1]


def test_one_model_decides_nothing() -> None:
    got = judge("m", [_fit("1L", 5000.0)])
    assert got.sentences == ["m, 1L: the only model, so that nothing is decided."]
    assert got.verdict == ["best"]
