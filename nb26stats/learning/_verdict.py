"""What a table of fits says: which model of an animal is best, and whether that is decided."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
T = TypeVar("T")
TIE = 4.0
"""Models whose AIC differs by less are tied."""
CHANCE = float(np.log(2.0))
"""What a guess loses per trial (nats)."""
N_ERRORS = 2.0
"""A held-out difference counts from so many standard errors on."""


@dataclass(frozen=True, eq=False)
class Fit:
    """One model fitted to one animal.

    Parameters
    ----------
    name : str
        The model.
    loglik, aic, bic : float
        Log-likelihood and criteria.
    k : int
        Parameters that count.
    n_hit : int
        Starts that found the optimum.
    at_bounds : tuple of str
        Parameters on a bound.
    alpha, beta : float
        Learning rate and inverse temperature.
    converged : bool
        Whether the best start converged.
    terms : tuple of (str, Hashable)
        What must agree between models that are ranked, and its value.
    block_loglik, block_n : ndarray of shape (blocks,), optional
        Held-out log-likelihood, and trials it is a sum over. The first block is kept apart: to
        predict it is to guess the weights before all trials that count.
    failure : str
        Why there is no fit, or an empty text.
    """

    name: str
    loglik: float
    aic: float
    bic: float
    k: int
    n_hit: int
    at_bounds: tuple[str, ...]
    alpha: float
    beta: float
    converged: bool
    terms: tuple[tuple[str, Hashable], ...] = ()
    block_loglik: F64 | None = None
    block_n: F64 | None = None
    failure: str = ""

    @property
    def heldout(self) -> float:
        """Log-likelihood per held-out trial after the first block; NaN where there is none."""
        if self.block_loglik is None or self.block_n is None:
            return float("nan")
        return float(self.block_loglik[1:].sum() / self.block_n[1:].sum())

    @property
    def heldout_first(self) -> float:
        """The same of the first block."""
        if self.block_loglik is None or self.block_n is None:
            return float("nan")
        return float(self.block_loglik[0] / self.block_n[0])

    @property
    def doubt(self) -> str:
        """Why a better optimum may exist, or an empty text."""
        if not self.converged:
            return "did not converge"
        return "was found by one start only" if self.n_hit == 1 else ""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The models of one animal, in the order of the fits.

    ``dheldout`` and its standard error are against the model with the best held-out likelihood,
    everything else against the lowest AIC or BIC.
    """

    daic: list[float]
    dbic: list[float]
    dheldout: list[float]
    dheldout_se: list[float]
    verdict: list[str]
    sentences: list[str]
    footnotes: list[str] = field(default_factory=list)
    unfair: list[str] = field(default_factory=list)


def unequal(fits: Sequence[Fit]) -> list[str]:
    """Return what keeps the models of one animal from being ranked, one clause each."""
    out = []
    for (what, value), *others in zip(*(fit.terms for fit in fits), strict=True):
        for fit, (_, other) in zip(fits[1:], others, strict=True):
            if other != value:
                detail = f" ({value} for {fits[0].name}, {other} for {fit.name})"
                # digests of trials and masks would tell nothing
                out.append(f"{what} differ" + detail * (not isinstance(value, bytes)))
                break
    if any(value == "gaussian" for fit in fits for what, value in fit.terms if what == "penalties"):
        out.append("AIC and BIC do not hold at a penalised optimum")
    return out


def heldout_difference(fit: Fit, other: Fit) -> tuple[float, float]:
    """Return how much better one model predicts than another per trial, and its standard error.

    The error is that of a ratio estimate over blocks after the first: difference of sums over
    number of trials.
    """
    if fit.block_loglik is None or other.block_loglik is None or fit.block_n is None:
        return float("nan"), float("nan")
    gain, n = (fit.block_loglik - other.block_loglik)[1:], fit.block_n[1:]
    mean = float(gain.sum() / n.sum())
    if n.size < 2:
        return mean, float("nan")
    rest = gain - mean * n
    return mean, float(np.sqrt(n.size / (n.size - 1.0) * (rest @ rest)) / n.sum())


def judge(animal: Hashable, fits: Sequence[Fit]) -> Judgement:
    """Return which model of an animal is best, and whether that is decided.

    Models that could not be fitted are judged as if they had not been asked for.
    """
    there = [fit for fit in fits if not fit.failure]
    some = _judge(animal, there) if there else Judgement([], [], [], [], [], [])
    if len(there) == len(fits):
        return some
    failed = [f"{animal}, {fit.name}: not fitted: {fit.failure}" for fit in fits if fit.failure]

    def spread(values: list[T], missing: Iterable[T]) -> list[T]:
        own, others = iter(values), iter(missing)
        return [next(others if fit.failure else own) for fit in fits]

    nothing = [float("nan")] * len(fits)
    return Judgement(
        spread(some.daic, nothing),
        spread(some.dbic, nothing),
        spread(some.dheldout, nothing),
        spread(some.dheldout_se, nothing),
        spread(some.verdict, ["failed"] * len(fits)),
        spread(some.sentences, [f"{text}." for text in failed]),
        [*some.footnotes, *failed],
        some.unfair,
    )


def _judge(animal: Hashable, fits: Sequence[Fit]) -> Judgement:
    best_held = max(fits, key=lambda fit: fit.heldout if fit.heldout == fit.heldout else -np.inf)
    held = [heldout_difference(fit, best_held) for fit in fits]
    dheldout, errors = [d for d, _ in held], [e for _, e in held]
    reasons = unequal(fits)
    if reasons:
        nothing = [float("nan")] * len(fits)
        sentences = [f"{animal}, {fit.name}: not ranked: {'; '.join(reasons)}." for fit in fits]
        return Judgement(
            nothing, nothing, dheldout, errors, ["not ranked"] * len(fits), sentences, [], reasons
        )
    best = min(fits, key=lambda fit: fit.aic)
    daic = [fit.aic - best.aic for fit in fits]
    lowest_bic = min(fit.bic for fit in fits)
    near = [fit for fit, d in zip(fits, daic, strict=True) if d < TIE]
    verdict = [("best" if len(near) == 1 else "tie") if d < TIE else "worse" for d in daic]
    sentences = [
        f"{animal}, {fit.name}: "
        + (_of_best(best, fits, near) if fit is best else _of_other(fit, best))
        for fit in fits
    ]
    return Judgement(
        daic,
        [fit.bic - lowest_bic for fit in fits],
        dheldout,
        errors,
        verdict,
        sentences,
        _footnotes(animal, best, near),
    )


def _of_best(best: Fit, fits: Sequence[Fit], near: Sequence[Fit]) -> str:
    others = [fit for fit in fits if fit is not best]
    if not others:
        return "the only model, so that nothing is decided."
    tied = [fit for fit in near if fit is not best]
    second = min(others, key=lambda fit: fit.aic)
    if tied:
        text = f"lowest AIC, but {_names(tied)} within {TIE:g} units: undecided between them"
    else:
        text = f"lowest AIC, {second.aic - best.aic:.1f} below {second.name}"
        against = [fit for fit in others if _outpredicts(fit, best)]
        doubtful = [fit for fit in others if fit.doubt]
        if against:
            text += f": undecided, since {_names(against)} predicts held-out trials better"
        elif doubtful:
            text += f": undecided, since the optimum of {doubtful[0].name} {doubtful[0].doubt}"
        else:
            text += ": decided by AIC"
    if best.doubt:
        text += f"; its own optimum {best.doubt}, so that its lead may be larger"
    by_bic = min(fits, key=lambda fit: fit.bic)
    if by_bic is not best:
        text += f"; BIC prefers {by_bic.name} by {best.bic - by_bic.bic:.1f}"
    return text + _held(best, max(others, key=lambda fit: fit.heldout)) + "."


def _of_other(fit: Fit, best: Fit) -> str:
    gap = fit.aic - best.aic
    text = f"AIC {gap:.1f} above that of {best.name}"
    if gap < TIE:
        text += f", within {TIE:g} units: undecided between them"
    elif _outpredicts(fit, best):
        text += ": undecided, since it predicts held-out trials better"
    elif fit.doubt:
        text += f": undecided, since its optimum {fit.doubt} and may be better"
    else:
        text += ": decided against it by AIC"
    return text + _held(fit, best) + "."


def _outpredicts(fit: Fit, other: Fit) -> bool:
    gain, error = heldout_difference(fit, other)
    return gain > N_ERRORS * error


def _held(fit: Fit, other: Fit) -> str:
    gain, error = heldout_difference(fit, other)
    if np.isnan(gain):
        return ""
    size = f"{gain:+.4f} nats per held-out trial against {other.name}"
    if np.isnan(error):
        return f"; {size}"
    word = "better" if gain > N_ERRORS * error else "worse" if gain < -N_ERRORS * error else "alike"
    return f"; {size} (SE {error:.4f}: {word})"


def _footnotes(animal: Hashable, best: Fit, near: Sequence[Fit]) -> list[str]:
    out = []
    for fit in near:
        rank = "lowest AIC" if fit is best else "tied for the lowest AIC"
        if fit.doubt:
            out.append(f"{animal}, {fit.name} ({rank}): the optimum {fit.doubt}")
        if fit.at_bounds:
            out.append(f"{animal}, {fit.name} ({rank}): on a bound: {', '.join(fit.at_bounds)}")
        if fit.heldout_first < -CHANCE:
            out.append(
                f"{animal}, {fit.name} ({rank}): without the first block its weights before that "
                f"block are not known ({fit.heldout_first:.2f} nats per trial, chance is "
                f"{-CHANCE:.2f})"
            )
    return out


def _names(fits: Sequence[Fit]) -> str:
    return " and ".join(fit.name for fit in fits)
