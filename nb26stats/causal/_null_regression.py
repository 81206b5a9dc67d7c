"""Mean outcome without response, from the controls, with predictions that have not seen a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nb26stats._workers import on_arrival

from ._folds import FEATURES, FOLDS, generator, seeded_clone, stratified_folds
from ._krr import fit_kernel_ridge
from ._random_features import fit_feature_ridge

F64 = NDArray[np.float64]

OUTCOME_FOLDS, OUTCOME_SEEDS = 100, 101
"""Generators of the folds, and first one of the random states of a model's copies."""
OUTCOME_FEATURES = 1


class NullRegression(Protocol):
    """A fitted mean: ``loo`` (n0,) at controls without themselves, and ``predict`` elsewhere."""

    @property
    def loo(self) -> F64:
        """Return predictions at the controls, each by a fit that has not seen it."""
        ...

    def predict(self, x: F64) -> F64:
        """Return predictions at rows that were not trained on."""
        ...


@dataclass(frozen=True, eq=False)
class Mean:
    """What is left without a covariate."""

    loo: F64
    mean: float

    def predict(self, x: F64) -> F64:
        """Return the mean of the controls."""
        return np.full(len(x), self.mean)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Copies of a scikit-learn regressor, each fitted without one fold."""

    loo: F64
    models: tuple[Any, ...]

    def predict(self, x: F64) -> F64:
        """Return the average over the copies."""
        if not len(x):
            return np.empty(0)
        return np.asarray(np.mean([_predict(model, x) for model in self.models], axis=0))


def fit_null(
    x: F64,
    y: F64,
    counts: F64,
    *,
    model: Any,
    max_kernel_n: int,
    n_folds: int,
    seed: int,
    n_jobs: int | None,
) -> NullRegression:
    """Fit the mean of the controls.

    Parameters
    ----------
    x : ndarray of shape (n0, p)
        Scaled covariates of the controls.
    y : ndarray of shape (n0,)
        Scaled outcomes.
    counts : ndarray of shape (n0,)
        How often each row counts; predictions at a row have seen none of its copies.
    model : "krr" or scikit-learn regressor
        Kernel ridge regression (random features beyond ``max_kernel_n`` rows), or a model that is
        cross-fitted over ``n_folds``.
    """
    if not isinstance(model, str):
        return _cross_fit(x, y, counts, model, n_folds=n_folds, seed=seed, n_jobs=n_jobs)
    if x.shape[1] == 0:
        total, n = float(np.sum(counts * y)), float(counts.sum())
        return Mean((total - counts * y) / (n - counts), total / n)
    if len(y) > max_kernel_n:
        rng = generator(seed, FEATURES, OUTCOME_FEATURES)
        return fit_feature_ridge(x, y, counts, rng=rng, n_jobs=n_jobs)
    return fit_kernel_ridge(x, y, counts, n_jobs=n_jobs)


def _cross_fit(
    x: F64, y: F64, counts: F64, model: Any, *, n_folds: int, seed: int, n_jobs: int | None
) -> CrossFitted:
    fold = stratified_folds(np.zeros(len(y), bool), n_folds, generator(seed, FOLDS, OUTCOME_FOLDS))
    # a bootstrap's copies of a row stand side by side, and in one fold
    at = np.repeat(np.arange(len(y)), counts.astype(np.int64))
    models = Parallel(n_jobs=n_jobs)(
        delayed(on_arrival(_fit))(
            seeded_clone(model, generator(seed, FOLDS, OUTCOME_SEEDS + k)), x, y, at[fold[at] != k]
        )
        for k in range(n_folds)
    )
    loo = np.empty(len(y))
    for k, fitted in enumerate(models):
        loo[fold == k] = _predict(fitted, x[fold == k])
    return CrossFitted(loo, tuple(models))


def _fit(model: Any, x: F64, y: F64, rows: NDArray[np.int64]) -> Any:
    return model.fit(x[rows], y[rows])


def _predict(model: Any, x: F64) -> F64:
    out = np.asarray(model.predict(x), dtype=np.float64).reshape(-1)
    if not bool(np.isfinite(out).all()):
        raise ValueError("outcome_model predicted values that are not finite")
    return out
