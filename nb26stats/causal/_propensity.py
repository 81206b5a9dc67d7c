"""The probability of treatment given covariates, out of sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ._folds import FOLDS, generator, seeded_clone, stratified_folds

F64 = NDArray[np.float64]

N_FOLDS = 5
PENALTIES = tuple(np.logspace(-3, 2, 6).tolist())


def propensity(
    X: F64,
    treated: NDArray[np.bool_],
    *,
    model: Any = None,
    randomized: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
) -> F64:
    """Return the cross-fitted probability of treatment of every row.

    By default a logistic regression on standardised columns whose ridge penalty has the smallest
    log loss on the rows left out; accuracy would prefer a constant where arms are unequal.
    """
    share = float(treated.mean())
    n, p = X.shape
    if randomized or (p == 0 and model is None):
        return np.full(n, share)
    fold = stratified_folds(treated, N_FOLDS, generator(seed, FOLDS))
    if model is not None:
        parts = Parallel(n_jobs=n_jobs)(
            delayed(_of_model)(
                seeded_clone(model, generator(seed, FOLDS, 1 + k)), X, treated, fold, k
            )
            for k in range(N_FOLDS)
        )
        e = _gather(parts, fold)
        if not bool(np.all((e >= 0.0) & (e <= 1.0))):
            raise ValueError("propensity_model gave probabilities outside [0, 1] or NaN")
        return e
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_of_logistic)(z, treated, fold, k) for k in range(N_FOLDS)
    )
    by_penalty = [_gather([part[i] for part in parts], fold) for i in range(len(PENALTIES))]
    losses = [_log_loss(e, treated) for e in by_penalty]
    return by_penalty[int(np.argmin(losses))]


def _gather(parts: list[F64], fold: NDArray[np.int64]) -> F64:
    out = np.empty(len(fold))
    for k, part in enumerate(parts):
        out[fold == k] = part
    return out


def _log_loss(e: F64, treated: NDArray[np.bool_]) -> float:
    likelihood = np.where(treated, e, 1.0 - e)
    return -float(np.log(np.maximum(likelihood, np.finfo(float).tiny)).mean())


def _of_logistic(z: F64, treated: NDArray[np.bool_], fold: NDArray[np.int64], k: int) -> list[F64]:
    from sklearn.linear_model import LogisticRegression

    train, out = fold != k, fold == k
    solver = "newton-cholesky" if z.shape[1] <= 200 else "lbfgs"
    models = [
        LogisticRegression(C=c, solver=solver, max_iter=1000).fit(z[train], treated[train])
        for c in PENALTIES
    ]
    return [m.predict_proba(z[out])[:, 1] for m in models]


def _of_model(
    model: Any, X: F64, treated: NDArray[np.bool_], fold: NDArray[np.int64], k: int
) -> F64:
    model.fit(X[fold != k], treated[fold != k])
    return np.asarray(model.predict_proba(X[fold == k])[:, 1], dtype=np.float64)
