"""Conditional densities of two arms: bootstrap and settings.

Peer: the estimator fitted anew to every resample, a tree for the neighbours and NumPy for the
kernels, timed on a few resamples and scaled; then NumPy's quantiles of all of them. The limit
counts a multiply-add per resample, query, neighbour and grid point, at 8 of them per cycle; BLAS
is timed on just these products. We need fewer, for a third of the rows is not in a resample.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table
from reference.c2g_density import fit_at, prior_on, qualified, refit_with_tree, resample_counts

from nb26stats._blas import one_blas_thread
from nb26stats.causal._density import Arm, Bounds, bootstrap, tune
from nb26stats.causal._native import F64, I64

GIGAHERTZ = 3.0
LANES = 8
N_BOOTSTRAP = 100
FEW = 3
"""Resamples that the peer is timed on."""
P = 10


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    for k in (200, 50):
        rows += _bootstrap(1000, k, 75)
    rows += _whole(10_000)
    print(table(rows))


@dataclass(frozen=True)
class Problem:
    """Two arms and their rows as queries."""

    arms: tuple[Arm, Arm]
    x: F64
    y: F64
    own: tuple[I64, I64]
    grid: F64

    def bounds(self, n_bootstrap: int, n_threads: int) -> Bounds:
        return bootstrap(
            *self.arms,
            self.x,
            self.y,
            *self.own,
            self.grid,
            n_bootstrap=n_bootstrap,
            quantile=0.2,
            threshold=0.05,
            ratio_quantile=0.01,
            seed=0,
            device="cpu",
            n_threads=n_threads,
        )

    def bounds_of(self, fits: list[F64]) -> F64:
        """Return pi* from densities (B, m, g) of both arms."""
        control = np.quantile(fits[0], 0.2, axis=0)
        treated = np.quantile(fits[1], 0.8, axis=0)
        prior = [
            prior_on(qualified(up, 0.05), low, up, 0.01)
            for low, up in zip(control, treated, strict=True)
        ]
        return np.array(prior)

    def refits(self, n_bootstrap: int) -> list[tuple[F64, F64]]:
        out = []
        for a, arm in enumerate(self.arms):
            counts = resample_counts(len(arm.y), n_bootstrap, a, 0)
            setting = (arm.n_neighbors, arm.hx, arm.hy)
            fits = [
                refit_with_tree(arm.x, arm.y, each, setting, self.x, self.own[a], self.grid)
                for each in counts
            ]
            out.append((np.array([f[0] for f in fits]), np.array([f[1] for f in fits])))
        return out


def problem(n: int, k: int, g: int) -> Problem:
    """Standard normal covariates; outcomes that depend on the first, shifted in a third."""
    rng = np.random.default_rng(n + k)
    x = rng.standard_normal((n, P))
    treated = np.arange(n) % 2 == 1
    y = x[:, 0] + rng.standard_normal(n) + 2.0 * (treated & (rng.random(n) < 1 / 3))
    arms = [Arm(x[rows], y[rows], k, 1.5, 0.3) for rows in (~treated, treated)]
    own = [np.where(rows, np.cumsum(rows) - 1, -1) for rows in (~treated, treated)]
    return Problem((arms[0], arms[1]), x, y, (own[0], own[1]), np.linspace(y.min(), y.max(), g))


def furthest(given: Problem) -> float:
    """Largest difference from the refits in a few resamples, and of the point estimates."""
    found = given.bounds(FEW, 1)
    (control, mean_0), (treated, mean_1) = given.refits(FEW)
    assert found.prior_b is not None
    assert found.control_mean_b is not None
    assert found.treated_mean_b is not None
    worst = [
        np.abs(found.control_mean_b - mean_0.T).max(),
        np.abs(found.treated_mean_b - mean_1.T).max(),
    ]
    upper = np.quantile(treated, 0.8, axis=0)
    for i in range(len(given.y)):
        use = qualified(upper[i], 0.05)
        for b in range(FEW):
            prior = prior_on(use, control[b, i], treated[b, i], 0.01)
            worst.append(abs(found.prior_b[i, b] - prior))
    arm = given.arms[0]
    once = np.ones(len(arm.y), dtype=np.int64)
    setting = (arm.n_neighbors, arm.hx, arm.hy)
    for i in range(5):
        local = fit_at(arm.x, arm.y, once, setting, given.x[i], given.own[0][i], given.grid)
        worst.append(abs(found.control_mean[i] - local.mean))
    return float(max(worst))


def side_by_side(given: Problem, rounds: int) -> dict[str, list[float]]:
    """Seconds of ours, of refits of every resample, and of the bare products by BLAS."""
    k, g = given.arms[0].n_neighbors, len(given.grid)
    rng = np.random.default_rng(0)
    weights, table = rng.random((N_BOOTSTRAP, k)), rng.random((k, g))

    def products() -> None:
        with one_blas_thread():
            for _ in range(2 * len(given.y)):
                weights @ table

    every = [rng.random((N_BOOTSTRAP, len(given.y), g)) for _ in range(2)]
    calls = {
        "ours": lambda: given.bounds(N_BOOTSTRAP, 1),
        "few refits": lambda: given.refits(FEW),
        "quantiles": lambda: given.bounds_of(every),
        "BLAS": products,
    }
    times = alternate(calls, rounds)
    times["refit"] = [
        few * N_BOOTSTRAP / FEW + rest
        for few, rest in zip(times.pop("few refits"), times.pop("quantiles"), strict=True)
    ]
    return times


def _bootstrap(n: int, k: int, g: int) -> list[Row]:
    given = problem(n, k, g)
    times = side_by_side(given, rounds=5)
    work = 2.0 * N_BOOTSTRAP * n * k * g
    limit = work / (LANES * GIGAHERTZ * 1e9)
    spent = min(times["ours"])
    what = f"bounds, N={n}, k={k}, grid of {g}, one thread"
    rate = f"{per_second(2 * work, spent, 'FLOP')}, {spent / limit:.1f} limits"
    apart = f"apart by {furthest(given):.0e}"
    return [
        compare(what, times, "ours", "refit", target=">= 60x" if k == 200 else "", rate=apart),
        compare(what, times, "ours", "BLAS", target="<= 4 limits" if k == 200 else "", rate=rate),
    ]


def _whole(n: int) -> list[Row]:
    given = problem(n, 200, 75)
    start = time.perf_counter()
    arms = [
        tune(arm.x, arm.y, n_neighbors=(50, 100, 200), fractions=np.logspace(-3, 0, 10))
        for arm in given.arms
    ]
    tuned = time.perf_counter()
    tuned_problem = Problem((arms[0], arms[1]), given.x, given.y, given.own, given.grid)
    tuned_problem.bounds(N_BOOTSTRAP, 0)
    end = time.perf_counter()
    return [
        alone(f"settings of both arms, N={n}, all threads", tuned - start),
        alone(
            f"bounds, N={n}, k={arms[0].n_neighbors} and {arms[1].n_neighbors}, all threads",
            end - tuned,
            target="both < 15 s",
        ),
    ]
