"""Density of the noise by predictive recursion: 30 widths, 10 sweeps, 200 points.

Peer: the same recursion as a NumPy loop over the residuals, timed on three widths and scaled.
The operations counted are a multiply-add and a multiplication per residual, sweep, width and point.
"""

from __future__ import annotations

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table
from reference.c2g_noise import recursion

from nb26stats.causal import _noise

FEW = 3


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    for n in (500, 10_000):
        y = np.random.default_rng(0).standard_normal(n)

        def ours(y: np.ndarray = y) -> object:
            return _noise.fit_noise(y, kind="predictive_recursion", seed=0)

        grid, orders = _noise.grid_of(y), _noise.orders(n, 0)
        calls = {"ours": ours}
        if n == 500:
            calls["NumPy loop"] = lambda y=y, grid=grid, orders=orders: [
                recursion(y, grid, scale, orders) for scale in np.geomspace(0.05, 1.5, FEW)
            ]
        times = alternate(calls, rounds=5)
        best = min(times["ours"])
        steps = n * _noise.N_SWEEPS * _noise.N_SCALES * _noise.N_POINTS
        rate = per_second(4 * steps, best, "op")
        if n == 500:
            times["NumPy loop"] = [t * _noise.N_SCALES / FEW for t in times["NumPy loop"]]
            rows.append(
                compare(f"{n} residuals", times, "ours", "NumPy loop", target="38", rate=rate)
            )
        else:
            rows.append(alone(f"{n} residuals", best, rate=rate))
    print(table(rows))


if __name__ == "__main__":
    main()
