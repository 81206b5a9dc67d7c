"""Gaussian decompositions per problem, one thread, from covariances and in white coordinates.

Peers: an iterative optimum (projected gradient over the coupling of the noises, the way it was
found before the closed form) and the closed form by LAPACK, one problem after the other. The
rate counts the operations of our own algorithm. Draws are what one bootstrap factor adds.
"""

from __future__ import annotations

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table
from reference.gaussian_pid import channel_covariance, information
from reference.gaussian_union import union_by_descent

from nb26stats._dispatch import core

F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Dims = tuple[int, int, int]

SQUARE = {5: 4000, 10: 2000, 20: 400, 50: 32}
TARGETS = {5: "10 us", 10: "30 us", 20: "120 us", 50: "900 us"}
# areas of the study: two areas of 20 components, and a block of two areas with a third
STUDY: list[tuple[Dims, int]] = [((20, 20, 10), 400), ((40, 20, 10), 200)]
DRAWS = 12
ITERATED = 20
"""Largest size at which the iterative peer is run."""


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    for d, m in SQUARE.items():
        rows += _from_covariances(d, m)
    for dims, m in STUDY:
        rows += _draws(dims, m)
    print(table(rows))


def operations(dims: Dims) -> float:
    """Additions and multiplications of one covariance without draws, leading terms."""
    dx, dy, dm = dims
    p, d = dx + dy, dx + dy + dm
    own = dy**2 * (dx + dy / 3) + dy**3 / 3
    cross = dm * dy * (2 * dx + dy) + dm * dy**2
    sums = dm**2 * (p + dm / 3 + dy)
    pencil = 4 * dm**3 / 3 + 4 * dm**3 / 3 + 4 * dm**3 / 3
    return d**3 / 3 + own + cross + sums + pencil


def drawn(dims: Dims) -> float:
    """The same for one draw in white coordinates."""
    dx, dy, dm = dims
    p, d = dx + dy, dx + dy + dm
    return dm * d**2 + 2 * dm * p * dy + dm**2 * (p + dm / 3 + dy) + 4 * dm**3


def _from_covariances(d: int, m: int) -> list[Row]:
    rng = np.random.default_rng(d)
    dims = (d, d, d)
    gains = rng.standard_normal((m, 2, d, d)) / np.sqrt(d)
    covs = np.array([channel_covariance(x, y) for x, y in gains])
    kernel = core().gaussian_pid
    few = 2 if d >= 20 else 10
    calls = {
        "ours": lambda: kernel(covs, dims, None, 1),
        "LAPACK": lambda: [information(cov, dims) for cov in covs[:few]],
    }
    if d <= ITERATED:
        calls["iterative"] = lambda: [union_by_descent(x, y, 200) for x, y in gains[:few]]
    times = alternate(calls, rounds=3)
    each = {
        name: [t / (m if name == "ours" else few) for t in spent] for name, spent in times.items()
    }
    rate = per_second(operations(dims), min(each["ours"]), "flop")
    return [
        compare(f"d={d}", each, "ours", peer, target=TARGETS[d], rate=rate)
        for peer in calls
        if peer != "ours"
    ]


def _draws(dims: Dims, m: int) -> list[Row]:
    rng = np.random.default_rng(0)
    dx, dy, dm = dims
    p, d = dx + dy, sum(dims)
    rows = rng.standard_normal((m, 3 * d, d))
    covs = np.swapaxes(rows, 1, 2) @ rows / (3 * d)
    factors = np.tril(rng.standard_normal((DRAWS, d, d)), -1) / 20
    factors += np.eye(d)
    r = rng.standard_normal((1, dy, p))
    k = 0.5 * rng.standard_normal((1, m, dm, p)) / np.sqrt(p)
    by_covariance, by_channel = core().gaussian_pid, core().gaussian_pid_channels
    times = alternate(
        {
            "plain": lambda: by_covariance(covs, dims, None, 1),
            "drawn": lambda: by_covariance(covs, dims, factors, 1),
            "channel": lambda: by_channel(r, k, None, 1),
            "channel drawn": lambda: by_channel(r, k, factors, 1),
        }
    )
    least = {name: min(spent) / m for name, spent in times.items()}
    each = (least["channel drawn"] - least["channel"]) / DRAWS
    return [
        alone(f"{dims} covariance", least["plain"]),
        alone(f"{dims} covariance, a draw", (least["drawn"] - least["plain"]) / DRAWS),
        alone(f"{dims} channel", least["channel"]),
        alone(f"{dims} channel, a draw", each, rate=per_second(drawn(dims), each, "flop")),
    ]
