"""Networks as learners of effect and prior for the EM of the additive model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit

from nb26stats.causal._folds import WEIGHTS, generator
from nb26stats.causal._noise import Noise

from ._networks import Ensemble, LossAndSlope, Networks, one_thread

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

EFFECT, PRIOR = 20, 30
"""Numbers of the generators of both learners."""


@dataclass(frozen=True, eq=False)
class DeepLearners:
    """Makes the learners of a run; see ``DeepSemiparametricC2G`` for the settings."""

    hidden: tuple[int, ...]
    learning_rate: float
    max_epochs: int
    patience: int
    device: str
    seed: int

    def __call__(self, x: F64, fold: I64, counts: F64) -> tuple[DeepEffect, DeepPrior]:
        """Return the learners of effect and prior at the treated rows ``x``."""
        return DeepEffect(self, x, fold, counts, EFFECT), DeepPrior(self, x, fold, counts, PRIOR)


class _Deep:
    """One network per fold: it learns from all folds but two, one for stopping, one to predict."""

    def __init__(self, settings: DeepLearners, x: F64, fold: I64, counts: F64, number: int) -> None:
        self._x, self._fold, self._counts = x, fold, counts
        n_folds = int(fold.max()) + 1
        own = fold == np.arange(n_folds)[:, None]
        held = fold == (np.arange(n_folds)[:, None] + 1) % n_folds
        self._own = own
        self._held = held * counts
        self._train = (~own & ~held) * counts
        self._networks = Networks(
            x.shape[1],
            settings.hidden,
            n_folds,
            generator(settings.seed, WEIGHTS, number),
            learning_rate=settings.learning_rate,
            max_epochs=settings.max_epochs,
            patience=settings.patience,
            device=torch.device(settings.device),
        )
        self._ensemble: Ensemble | None = None

    def _cross_fit(self, loss_and_slope: LossAndSlope, weight: F64) -> F64:
        with one_thread():
            self._ensemble = self._networks.fit(
                self._x, self._train * weight, self._held * weight, loss_and_slope
            )
        values = self._ensemble.each(self._x)
        return np.asarray(values[self._fold, np.arange(len(self._fold))])

    def _whole(self) -> Ensemble:
        assert self._ensemble is not None
        return self._ensemble


class DeepEffect(_Deep):
    """Effect of response: maximises the weighted log density of what the effect leaves over."""

    def cross_fit(self, r: F64, omega: F64, noise: Noise, step: int) -> F64:
        """Return the effect at every row, by the network that has not seen its fold."""
        weight = self._train * omega
        self._networks.start_at((weight @ r) / np.maximum(weight.sum(axis=1), 1e-12))

        def loss_and_slope(d: F64, rows: I64) -> tuple[F64, F64]:
            log_density, score = noise.log_density_and_score(r[rows] - d)
            return -log_density, score

        # rows of no weight are not divided by
        return self._cross_fit(loss_and_slope, np.maximum(omega, 1e-12))

    def refit(self, r: F64, omega: F64, noise: Noise) -> Ensemble:
        """Return the mean of the networks of all folds."""
        return self._whole()


class DeepPrior(_Deep):
    """Log odds of response: a logistic regression on weights in place of labels."""

    def cross_fit(self, omega: F64, step: int) -> F64:
        """Return the log odds at every row, by the network that has not seen its fold."""
        share = (self._train @ omega) / self._train.sum(axis=1)
        self._networks.start_at(logit(np.clip(share, 1e-6, 1 - 1e-6)))

        def loss_and_slope(eta: F64, rows: I64) -> tuple[F64, F64]:
            return np.logaddexp(0.0, eta) - omega[rows] * eta, expit(eta) - omega[rows]

        return self._cross_fit(loss_and_slope, np.ones(len(omega)))

    def refit(self, omega: F64) -> Ensemble:
        """Return the mean of the networks of all folds."""
        return self._whole()


def usable_device(device: str) -> str:
    """Return "cpu" or "cuda"; "auto" takes a device where torch sees one.

    Raises
    ------
    RuntimeError
        "cuda" is asked for and torch sees none; the message says why.
    """
    seen = bool(torch.cuda.is_available())
    if device == "auto":
        return "cuda" if seen else "cpu"
    if device == "cuda" and not seen:
        why = (
            "this torch is built without CUDA"
            if not torch.backends.cuda.is_built()
            else "torch finds no CUDA device"
        )
        raise RuntimeError(f"device='cuda' cannot be had: {why}; use device='cpu'")
    return device


def checked_hidden(hidden: Any) -> tuple[int, ...]:
    """Return the units of the hidden layers."""
    from nb26stats._check import as_int, as_list

    sizes = tuple(
        as_int(n, f"hidden[{i}]", minimum=1) for i, n in enumerate(as_list(hidden, "hidden"))
    )
    if not sizes:
        raise ValueError("hidden must name the units of at least one layer, such as (64, 64)")
    return sizes
