"""Which learners of effect and prior an estimator's settings stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._em import EffectLearner, PriorLearner
from ._folds import FEATURES, generator
from ._random_features import draw_features, sampled_distance
from ._ridge_learners import RidgeEffect, RidgePrior
from ._sklearn_learners import EFFECT_SEEDS, PRIOR_SEEDS, ModelEffect, ModelPrior

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChosenLearners:
    """Makes the learners of a run.

    Attributes
    ----------
    effect_model, prior_model : "rff" or scikit-learn model
        Ridge on random features, or a model that takes weights of rows.
    n_features : int
        Random features, the same for both.
    ridges : tuple of float
        Penalties to choose from.
    seed : int
        Seed of the random numbers.
    """

    effect_model: Any
    prior_model: Any
    n_features: int
    ridges: tuple[float, ...]
    seed: int

    def __call__(self, x: F64, fold: I64, counts: F64) -> tuple[EffectLearner, PriorLearner]:
        """Return the learners of effect and prior at the treated rows ``x``."""
        rng = generator(self.seed, FEATURES)
        features = draw_features(x.shape[1], self.n_features, sampled_distance(x), rng)
        effect: EffectLearner
        prior: PriorLearner
        if isinstance(self.effect_model, str):
            effect = RidgeEffect(features, self.ridges, x, fold, counts)
        else:
            effect = ModelEffect(
                self.effect_model, x, fold, counts, seed=self.seed, first=EFFECT_SEEDS
            )
        if isinstance(self.prior_model, str):
            prior = RidgePrior(features, self.ridges, x, fold, counts)
        else:
            prior = ModelPrior(self.prior_model, x, fold, counts, seed=self.seed, first=PRIOR_SEEDS)
        return effect, prior
