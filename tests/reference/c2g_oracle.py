"""What an observer who knew the simulators' truth would select: exact and bound oracles.

Written from the formulas of the simulators alone, draws included, so that it can check the
package's own simulators. The exact oracle ranks by P(no response | x, y); the bound oracle puts
the smallest prior that the two densities allow in the place of the true one.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Truth:
    """One simulated data set with everything that made it."""

    X: Array
    y: Array
    treatment: NDArray[np.bool_]
    responder: NDArray[np.bool_]
    prior: Array
    null_mean: Array
    effect: Array
    propensity: Array
    law: str
    a: Array | None = None
    b: Array | None = None

    def f0(self, y: Array) -> Array:
        """Density of a unit without response, at ``y`` (n, ...) of every unit."""
        shift = self.null_mean.reshape((-1,) + (1,) * (y.ndim - 1))
        return _student(y - shift) if self.law == "student" else _normal(y - shift)

    def f1(self, y: Array) -> Array:
        """Density of a responder, at ``y`` (n, ...) of every unit."""
        extra = (-1,) + (1,) * (y.ndim - 1)
        if self.law == "square":
            assert self.a is not None
            assert self.b is not None
            return square_density(y, self.a.reshape(extra), self.b.reshape(extra))
        shift = (self.null_mean + self.effect).reshape(extra)
        return _student(y - shift) if self.law == "student" else _normal(y - shift)


def additive(n: int, tau: float, seed: int) -> Truth:
    """Normal outcomes whose mean a response raises by tau |X| |gamma|."""
    r = np.random.default_rng(seed)
    p = 10
    beta, gamma, theta = (r.normal(0, 1 / np.sqrt(p), p) for _ in range(3))
    treated = r.random(n) <= 0.5
    X = r.normal(0, 1 / np.sqrt(p), (n, p))
    mu0 = X @ beta
    effect = tau * np.abs(X) @ np.abs(gamma)
    pi = expit(X @ theta)
    responder = treated & (r.random(n) <= pi)
    y0, y1 = r.normal(mu0, 1), r.normal(mu0 + effect, 1)
    y = np.where(responder, y1, y0)
    return Truth(X, y, treated, responder, pi, mu0, effect, np.full(n, 0.5), "normal")


def nonadditive(n: int, tau: float, seed: int) -> Truth:
    """Normal outcomes around a square, which a response stretches by a random amount."""
    r = np.random.default_rng(seed)
    p = 10
    t = np.sqrt(1 + tau) / 2
    beta, gamma, _ = (r.normal(0, 1 / np.sqrt(p), p) for _ in range(3))
    c = np.abs(r.normal(0, 2))
    mask = r.random((1, p, p)) <= 0.1
    weight = r.standard_t(3, (1, p, p))
    X = r.normal(0, 1 / np.sqrt(p), (n, p))
    v = X @ gamma
    treated = r.binomial(1, expit(v), n).astype(bool)
    pi = expit(X @ beta)
    responder = treated & (r.binomial(1, pi, n) == 1)
    size = np.abs(((mask * weight) * (X[:, :, None] * X[:, None, :])).sum(axis=(1, 2)))
    u = r.uniform(0, 2, n)
    a, b = c * expit(v), t * (1 + size)
    y = r.normal((a + b * responder * u) ** 2, 1)
    effect = 4 / 3 * b**2 + 2 * a * b
    return Truth(X, y, treated, responder, pi, a**2, effect, expit(v), "square", a, b)


def confounded(n: int, tau: float, seed: int, a: float) -> Truth:
    """Student outcomes; the first covariate moves both the treatment and the outcome."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 5))
    e = expit(a + X[:, 0])
    treated = r.random(n) < e
    mu0 = X[:, 0] + X[:, 1] ** 2 / 2
    pi = expit(-0.5 + X[:, 1])
    effect = tau * (1 + 0.3 * X[:, 2])
    responder = treated & (r.random(n) < pi)
    eps = r.standard_t(5, n) * np.sqrt(3 / 5)
    return Truth(
        X, mu0 + effect * responder + eps, treated, responder, pi, mu0, effect, e, "student"
    )


def square_density(y: Array, a: Array, b: Array, n_nodes: int = 80) -> Array:
    """Density of (a + b U)^2 + N(0, 1), U uniform on [0, 2], by Gauss-Legendre quadrature.

    With s = a + b U it is the mean of phi(y - s^2) over s in [a, a + 2b], of which only the
    stretch within 40 log units of the largest value is integrated.
    """
    y, a, b = np.broadcast_arrays(y, a, b)
    first, last = a**2, (a + 2 * b) ** 2
    reach = np.sqrt((np.clip(y, first, last) - y) ** 2 + 80)
    low = np.sqrt(np.clip(y - reach, first, last))
    high = np.sqrt(np.clip(y + reach, first, last))
    node, weight = np.polynomial.legendre.leggauss(n_nodes)
    total = np.zeros(y.shape)
    for at, w in zip(node, weight, strict=True):
        s = 0.5 * (low + high) + 0.5 * (high - low) * at
        total += w * _normal(y - s**2)
    return 0.5 * (high - low) * total / (2 * b)


def least_prior(truth: Truth, grid: Array) -> Array:
    """Return 1 - inf over ``grid`` of (density when treated) / (density of controls).

    On the whole line that is the prior itself for the simulators here: far on one side responders
    are infinitely rarer than the others. How close a finite grid comes depends on its ends.
    """
    at = np.broadcast_to(grid, (truth.y.size, grid.size))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = truth.f1(at) / truth.f0(at)
    least = np.where(np.isfinite(ratio), ratio, np.inf).min(axis=1)
    return truth.prior * (1 - np.minimum(1.0, least))


def local_fdr(truth: Truth, prior: Array | None = None) -> Array:
    """Return P(no response | x, y) of every unit, were it treated; or its bound under ``prior``."""
    f0, f1 = truth.f0(truth.y), truth.f1(truth.y)
    mixed = (1 - truth.prior) * f0 + truth.prior * f1
    known = truth.prior if prior is None else prior
    return np.minimum(1.0, (1 - known) * f0 / mixed)


def select(score: Array, q: float) -> NDArray[np.int64]:
    """Return positions of the largest set of smallest scores whose mean is at most ``q``."""
    order = np.argsort(score, kind="stable")
    mean = np.cumsum(score[order]) / np.arange(1, score.size + 1)
    return order[: int(np.searchsorted(mean, q * (1 + 1e-12), side="right"))]


def rates(truth: Truth, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """Return (share of false ones among the chosen, share of responders that were chosen)."""
    hits = int((chosen & truth.responder).sum())
    n_chosen, n_responders = int(chosen.sum()), int(truth.responder.sum())
    return (
        (n_chosen - hits) / n_chosen if n_chosen else 0.0,
        hits / n_responders if n_responders else 0.0,
    )


def oracle(truth: Truth, q: float = 0.1, prior: Array | None = None) -> tuple[float, float]:
    """Return (false share, power) of the rule of running means on the true local fdr."""
    score = local_fdr(truth, prior)
    at = np.flatnonzero(truth.treatment)
    chosen = np.zeros(truth.y.size, bool)
    chosen[at[select(score[at], q)]] = True
    return rates(truth, chosen)


def _normal(z: Array) -> Array:
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


def _student(z: Array) -> Array:
    # Student's t with 5 degrees of freedom, scaled to variance 1
    s = np.sqrt(3 / 5)
    const = np.exp(gammaln(3.0) - gammaln(2.5)) / np.sqrt(5 * np.pi)
    return const * (1 + (z / s) ** 2 / 5) ** -3 / s
