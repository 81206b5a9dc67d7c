"""Density of the noise by predictive recursion: 30 widths, 10 sweeps, 200 points.

Peers, timed on three widths and scaled: the recursion as a NumPy loop over the residuals that works
out their densities as it meets them (the reference of the tests), and one that looks them up in a
table and works in place. Counted are four operations, two multiplications and two additions,
per residual, sweep, width and point.
"""

from __future__ import annotations

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table
from numpy.typing import NDArray
from reference.c2g_noise import normal, recursion

from nb26stats.causal import _noise

FEW = 3
F64 = NDArray[np.float64]


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    for n in (500, 10_000):
        y = np.random.default_rng(0).standard_normal(n)
        steps = n * _noise.N_SWEEPS * _noise.N_SCALES * _noise.N_POINTS
        times = _side_by_side(y, peers=n == 500)
        rate = per_second(4 * steps, min(times["ours"]), "op")
        what = f"{n} residuals"
        peers = [name for name in times if name != "ours"]
        rows += [
            compare(what, times, "ours", peer, target=target, rate=rate)
            for peer, target in zip(peers, ("38", ""), strict=False)
        ] or [alone(what, min(times["ours"]), target="about 1 s", rate=rate)]
    print(table(rows))


def tabled(y: F64, grid: F64, scale: float, orders: NDArray[np.int64]) -> tuple[float, F64]:
    """Return what ``recursion`` returns, from one table of densities, in place."""
    densities, width = normal(y[:, None], grid, scale), grid[-1] - grid[0]
    weights = np.full(len(grid), width / (len(grid) - 1))
    weights[[0, -1]] /= 2
    evidence, mean = 0.0, np.zeros(len(grid))
    for order in orders:
        u = np.full(len(grid), 1 / width)
        for i, j in enumerate(order):
            f = u * densities[j]
            mass = max(1e-10, f @ weights)
            step = (3 + i) ** -0.67
            u *= 1 - step
            f *= step / mass
            u += f
            evidence += np.log(mass)
        mean += u
    return evidence / len(orders), mean / len(orders)


def _side_by_side(y: F64, *, peers: bool) -> dict[str, list[float]]:
    grid, orders = _noise.grid_of(y), _noise.orders(len(y), 0)
    few = np.geomspace(*_noise.SCALES, FEW)
    calls = {"ours": lambda: _noise.fit_noise(y, kind="predictive_recursion", seed=0)}
    if not peers:
        return alternate(calls)
    for scale in few:
        (one, u), (other, v) = (f(y, grid, scale, orders) for f in (recursion, tabled))
        np.testing.assert_allclose(one, other, rtol=1e-11)
        np.testing.assert_allclose(u, v, rtol=1e-9, atol=1e-12)
    calls["NumPy loop"] = lambda: [recursion(y, grid, s, orders) for s in few]
    calls["NumPy loop, tabled"] = lambda: [tabled(y, grid, s, orders) for s in few]
    times = alternate(calls)
    return {
        name: [t * (1 if name == "ours" else _noise.N_SCALES / FEW) for t in spent]
        for name, spent in times.items()
    }


if __name__ == "__main__":
    main()
