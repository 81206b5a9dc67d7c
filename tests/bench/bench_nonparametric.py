"""Who responded, nonparametrically: whole fits at the defaults on two threads, and their memory.

The peer of the kernel, a tree per resample, is in ``bench_density.py``.
"""

from __future__ import annotations

import resource
import time
import warnings

import numpy as np
from measure import Row, alone, table
from reference import c2g_oracle as oracle

from nb26stats import NonparametricC2G

ROWS = (1000, 10_000)
TAU = 3


def main() -> None:
    """Print the table."""
    fits = [_fit(n, design) for n in ROWS for design in ("additive", "nonadditive")]
    print(table([*fits, _without_covariates(ROWS[-1])]))


def _fit(n: int, design: str) -> Row:
    truth = getattr(oracle, design)(n, TAU, 100)
    model = NonparametricC2G(random_state=100, n_threads=2, device="cpu")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(truth.X, truth.y, treatment=truth.treatment)
    spent = time.perf_counter() - start
    fdr, power = oracle.rates(truth, model.selected_)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return alone(
        f"fit, {design} tau={TAU}, N={n}, grid of {len(model.grid_)}",
        spent,
        target="< 15 s, < 1.5 GB" if n == ROWS[-1] else "",
        rate=f"process peaks at {peak:.2f} GB; FDR {fdr:.3f}, power {power:.3f}, "
        f"oracle {oracle.oracle(truth)[1]:.3f}",
    )


def _without_covariates(n: int) -> Row:
    rng = np.random.default_rng(0)
    treated = rng.random(n) < 0.5
    y = rng.normal(size=n) + 3 * (treated & (rng.random(n) < 0.4))
    model = NonparametricC2G(random_state=0, n_threads=1, device="cpu")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.ones((n, 1)), y, treatment=treated)
    return alone(
        f"fit without covariates, N={n}, one thread", time.perf_counter() - start, target="< 30 s"
    )
