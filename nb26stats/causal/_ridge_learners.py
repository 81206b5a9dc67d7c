"""Learners of effect and prior that are linear in features, with ridge penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nb26stats._blas import one_blas_thread

from ._noise import Noise
from ._random_features import Features

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

FIRST, EVERY = 5, 10
"""Penalties are chosen in the first iterations and in every tenth."""
FLAT, STEEP = 1e-14, 1e-6
"""Relative gain and slope at which the search for an effect ends."""
FLOOR = 1e-8
"""Penalty of the intercept, which only keeps equations solvable where no row has weight."""


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear function of features."""

    features: Features
    coef: F64

    def __call__(self, x: F64) -> F64:
        """Return values at rows."""
        with one_blas_thread():
            return np.asarray(self.features(x) @ self.coef)


class _Ridge:
    """Cross-fitting over folds and the choice of one penalty for all of them."""

    def __init__(
        self, features: Features, ridges: Sequence[float], x: F64, fold: I64, counts: F64
    ) -> None:
        self._features, self._ridges = features, [float(v) for v in ridges]
        self._phi, self._fold, self._counts = features(x), fold, counts
        self._folds = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)
        ]
        self._parts = [np.ascontiguousarray(self._phi[train]) for train, _ in self._folds]
        n_columns = self._phi.shape[1]
        self._starts = np.zeros((len(self._ridges), len(self._folds), n_columns))
        self._chosen = 0

    def _penalty(self, ridge: float) -> F64:
        out = np.full(self._phi.shape[1], ridge)
        out[0] = FLOOR
        return out

    def _solve(self, phi: F64, rows: I64 | slice, penalty: F64, start: F64) -> F64:
        raise NotImplementedError

    def _loss(self, values: F64) -> float:
        raise NotImplementedError

    def _cross_fit(self, step: int) -> F64:
        every = step < FIRST or (step + 1) % EVERY == 0
        tried = range(len(self._ridges)) if every else [self._chosen]
        values = np.empty((len(self._ridges), len(self._phi)))
        losses = np.full(len(self._ridges), np.inf)
        with one_blas_thread():
            for i in tried:
                penalty = self._penalty(self._ridges[i])
                for k, (train, out) in enumerate(self._folds):
                    coef = self._solve(self._parts[k], train, penalty, self._starts[i, k])
                    self._starts[i, k] = coef
                    values[i, out] = self._phi[out] @ coef
                losses[i] = self._loss(values[i])
        self._chosen = int(losses.argmin())
        return np.asarray(values[self._chosen])

    def _refit(self) -> Linear:
        penalty = self._penalty(self._ridges[self._chosen])
        start = self._starts[self._chosen].mean(axis=0)
        with one_blas_thread():
            return Linear(self._features, self._solve(self._phi, slice(None), penalty, start))


def _gram(phi: F64, weight: F64, penalty: F64) -> F64:
    """Return weighted products of columns, with a penalty on the diagonal."""
    rows = phi * np.sqrt(weight)[:, None]
    # of a matrix and its own transpose NumPy computes one half
    out: F64 = rows.T @ rows
    out[np.diag_indices_from(out)] += penalty
    return out


class RidgeEffect(_Ridge):
    """Effect of response: maximises the weighted log density of what the effect leaves over."""

    _r: F64
    _weight: F64
    _noise: Noise

    def cross_fit(self, r: F64, omega: F64, noise: Noise, step: int) -> F64:
        """Return the effect at every row, by a fit without its fold."""
        self._r, self._weight, self._noise = r, omega * self._counts, noise
        return self._cross_fit(step)

    def refit(self, r: F64, omega: F64, noise: Noise) -> Linear:
        """Return the effect learnt from all rows."""
        self._r, self._weight, self._noise = r, omega * self._counts, noise
        return self._refit()

    def _loss(self, values: F64) -> float:
        return -float(self._weight @ self._noise.log_density(self._r - values))

    def _solve(self, phi: F64, rows: I64 | slice, penalty: F64, start: F64) -> F64:
        from scipy.linalg import cholesky, solve_triangular
        from scipy.optimize import minimize

        r, weight, noise = self._r[rows], self._weight[rows], self._noise
        # coordinates in which normal noise of the same curvature is a sphere: few steps are left
        curvature = _gram(phi, weight, penalty)
        root = cholesky(curvature, lower=False, check_finite=False)

        def loss(v: F64) -> tuple[float, F64]:
            coef = solve_triangular(root, v, check_finite=False)
            left = r - phi @ coef
            log_density, score = noise.log_density_and_score(left)
            value = 0.5 * float(penalty @ coef**2) - float(weight @ log_density)
            slope = phi.T @ (weight * score) + penalty * coef
            return value, solve_triangular(root, slope, trans="T", check_finite=False)

        found = minimize(
            loss,
            root @ start,
            jac=True,
            method="L-BFGS-B",
            options={"ftol": FLAT, "gtol": STEEP, "maxiter": 200},
        )
        return np.asarray(solve_triangular(root, found.x, check_finite=False))


class RidgePrior(_Ridge):
    """Log odds of response: a logistic regression on weights in place of labels."""

    _omega: F64

    def cross_fit(self, omega: F64, step: int) -> F64:
        """Return the log odds at every row, by a fit without its fold."""
        self._omega = omega
        return self._cross_fit(step)

    def refit(self, omega: F64) -> Linear:
        """Return the log odds learnt from all rows."""
        self._omega = omega
        return self._refit()

    def _loss(self, values: F64) -> float:
        return float(self._counts @ (np.logaddexp(0.0, values) - self._omega * values))

    def _solve(self, phi: F64, rows: I64 | slice, penalty: F64, start: F64) -> F64:
        from scipy.linalg import cho_factor, cho_solve

        omega, counts = self._omega[rows], self._counts[rows]

        def loss(coef: F64) -> tuple[float, F64]:
            eta = phi @ coef
            fit = counts @ (np.logaddexp(0.0, eta) - omega * eta)
            return float(fit) + 0.5 * float(penalty @ coef**2), eta

        coef = start
        value, eta = loss(coef)
        for _ in range(100):
            p = expit(eta)
            slope = phi.T @ (counts * (p - omega)) + penalty * coef
            curvature = _gram(phi, counts * p * (1.0 - p), penalty)
            step = cho_solve(cho_factor(curvature, check_finite=False), slope, check_finite=False)
            gain, size = float(slope @ step), 1.0
            if gain <= 1e-10 * (1.0 + abs(value)):
                # so near, the step is exact to rounding
                return np.asarray(coef - step)
            new, new_eta = loss(coef - step)
            while new > value - 1e-4 * size * gain and size > 1e-6:
                size /= 2.0
                new, new_eta = loss(coef - size * step)
            coef, value, eta = coef - size * step, new, new_eta
        return np.asarray(coef)
