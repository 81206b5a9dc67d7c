"""Learners of effect and prior that are scikit-learn models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from ._folds import FOLDS, generator, seeded_clone
from ._noise import Noise

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

EFFECT_SEEDS, PRIOR_SEEDS = 1000, 2000
"""First generators of the random states of a model's copies; a copy per fold and one for all."""
MARGIN = 1e-6
"""Distance that probabilities of a classifier keep from 0 and 1."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regressor as a function."""

    model: Any

    def __call__(self, x: F64) -> F64:
        """Return predictions, none without rows."""
        if not len(x):
            return np.empty(0)
        return np.asarray(self.model.predict(x), dtype=np.float64).reshape(-1)


@dataclass(frozen=True, eq=False)
class LogOdds:
    """A fitted classifier as a function."""

    model: Any

    def __call__(self, x: F64) -> F64:
        """Return log odds of the second class, none without rows."""
        if not len(x):
            return np.empty(0)
        p = np.asarray(self.model.predict_proba(x)[:, 1], dtype=np.float64)
        return np.asarray(logit(np.clip(p, MARGIN, 1.0 - MARGIN)))


class _Models:
    """Copies of a model: one per fold, and one for all rows; each keeps its random state."""

    def __init__(
        self, model: Any, x: F64, fold: I64, counts: F64, *, seed: int, first: int
    ) -> None:
        self._x, self._fold, self._counts = x, fold, counts
        self._n_folds = int(fold.max()) + 1
        self._model, self._seed, self._first = model, seed, first

    def _copy(self, k: int) -> Any:
        # the same state in every iteration, or the weights would never settle
        return seeded_clone(self._model, generator(self._seed, FOLDS, self._first + k))


class ModelEffect(_Models):
    """Effect of response by weighted least squares, which is exact for normal noise."""

    def _fit(self, k: int, rows: NDArray[np.bool_], r: F64, weight: F64) -> Regression:
        model = self._copy(k)
        return Regression(model.fit(self._x[rows], r[rows], sample_weight=weight[rows]))

    def cross_fit(self, r: F64, omega: F64, noise: Noise, step: int) -> F64:
        """Return the effect at every row, by a fit without its fold."""
        out = np.empty(len(r))
        for k in range(self._n_folds):
            left_out = self._fold == k
            out[left_out] = self._fit(k, ~left_out, r, omega * self._counts)(self._x[left_out])
        return out

    def refit(self, r: F64, omega: F64, noise: Noise) -> Regression:
        """Return the effect learnt from all rows."""
        every = np.ones(len(r), bool)
        return self._fit(self._n_folds, every, r, omega * self._counts)


class ModelPrior(_Models):
    """Log odds of response by a classifier of rows that come twice, once per class."""

    def _fit(self, k: int, rows: NDArray[np.bool_], omega: F64) -> LogOdds:
        x, n = self._x[rows], int(rows.sum())
        weight = self._counts[rows]
        model = self._copy(k)
        return LogOdds(
            model.fit(
                np.concatenate([x, x]),
                np.repeat([1, 0], n),
                sample_weight=np.concatenate([weight * omega[rows], weight * (1.0 - omega[rows])]),
            )
        )

    def cross_fit(self, omega: F64, step: int) -> F64:
        """Return the log odds at every row, by a fit without its fold."""
        out = np.empty(len(omega))
        for k in range(self._n_folds):
            left_out = self._fold == k
            out[left_out] = self._fit(k, ~left_out, omega)(self._x[left_out])
        return out

    def refit(self, omega: F64) -> LogOdds:
        """Return the log odds learnt from all rows."""
        return self._fit(self._n_folds, np.ones(len(omega), bool), omega)
