"""Slow reference for the discrete BROJA decomposition: a barrier on the dual, and named tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def table(n_s: int, n_x: int, n_y: int, rule: tuple[int, ...]) -> F64:
    """Return the table (x, y, s) of weights ((a s + b x + c y + d s x y + e) mod m) + 1."""
    a, b, c, d, e, m = rule
    s, x, y = np.ogrid[:n_s, :n_x, :n_y]
    weights = ((a * s + b * x + c * y + d * s * x * y + e) % m + 1).astype(float)
    return (weights / weights.sum()).transpose(1, 2, 0)


def squares(n_s: int, n_x: int, n_y: int) -> F64:
    """Return the table (x, y, s) of weights ((5 s² + 3 x y + 7 s y + x + 1) mod 10)²."""
    s, x, y = np.ogrid[:n_s, :n_x, :n_y]
    weights = ((5 * s * s + 3 * x * y + 7 * s * y + x + 1) % 10).astype(float) ** 2
    return (weights / weights.sum()).transpose(1, 2, 0)


def function(f: Callable[[int, int], int], n: int) -> F64:
    """Return the table of a target that is a function of two uniform sources of n symbols."""
    values = np.array([[f(x, y) for y in range(n)] for x in range(n)])
    return np.asarray(np.eye(values.max() + 1)[values] / n**2)


def listed(rows: Sequence[tuple[tuple[int, int, int], float]]) -> F64:
    """Return the table (x, y, s) from ((s, x, y), weight)."""
    shape = np.max([place for place, _ in rows], axis=0) + 1
    weights = np.zeros(shape)
    for place, weight in rows:
        weights[place] += weight
    return (weights / weights.sum()).transpose(1, 2, 0)


def channels(e: float, f: float, one: float) -> F64:
    """Return the table of a binary target seen through two binary symmetric channels."""
    target = np.array([1 - one, one])
    x, y = (np.array([[1 - g, g], [g, 1 - g]]) for g in (e, f))
    return np.einsum("s,sx,sy->xys", target, x, y)


TABLES: dict[str, F64] = {
    "XOR": function(lambda x, y: x ^ y, 2),
    "AND": function(lambda x, y: x & y, 2),
    "COPY": function(lambda x, y: 2 * x + y, 2),
    "UNQ": function(lambda x, y: x, 2),
    "RDN": listed([((0, 0, 0), 1), ((1, 1, 1), 1)]),
    "RDNXOR": listed(
        [
            ((2 * r + (x ^ y), 2 * r + x, 2 * r + y), 1)
            for r in (0, 1)
            for x in (0, 1)
            for y in (0, 1)
        ]
    ),
    "SUM": function(lambda x, y: x + y, 2),
    "SUM3": function(lambda x, y: x + y, 3),
    "PROD3": function(lambda x, y: x * y, 3),
    "MAX3": function(max, 3),
    "PWUNQ": listed([((1, 0, 1), 1), ((1, 1, 0), 1), ((2, 0, 2), 1), ((2, 2, 0), 1)]),
    "RDUCED_OR": listed([((0, 0, 0), 2), ((1, 0, 1), 1), ((1, 1, 0), 1)]),
    "IMPRDN": listed([((0, 0, 0), 0.499), ((0, 0, 1), 0.001), ((1, 1, 1), 0.5)]),
    "BSC(.1,.2,.5)": channels(0.1, 0.2, 0.5),
    "BSC(.05,.3,.3)": channels(0.05, 0.3, 0.3),
    "T222": table(2, 2, 2, (7, 3, 5, 1, 2, 11)),
    "T333": table(3, 3, 3, (7, 3, 5, 2, 2, 11)),
    "T444": table(4, 4, 4, (7, 3, 5, 2, 2, 13)),
    "T234": table(2, 3, 4, (5, 3, 7, 4, 1, 17)),
    "T888": table(8, 8, 8, (7, 3, 5, 2, 2, 13)),
    "Q322": squares(3, 2, 2),
    "Q333": squares(3, 3, 3),
    "Q444": squares(4, 4, 4),
}
"""Tables (x, y, s) by name."""

ATOMS: dict[str, tuple[float, float, float, float]] = {
    "XOR": (0, 0, 0, 1),
    "AND": (0.31127812, 0, 0, 0.5),
    "COPY": (0, 1, 1, 0),
    "UNQ": (0, 1, 0, 0),
    "RDN": (1, 0, 0, 0),
    "RDNXOR": (1, 0, 0, 1),
    "SUM": (0.5, 0, 0, 1),
    "SUM3": (0.61219722, 0, 0, 1.58496250),
    "PROD3": (0.60110106, 0, 0, 1.05664167),
    "MAX3": (0.51722467, 0, 0, 0.83441944),
    "PWUNQ": (0.5, 0, 0, 0.5),
    "RDUCED_OR": (0.31127812, 0, 0, 0.68872188),
    "IMPRDN": (0.98959008, 0.01040992, 0, 0),
    "BSC(.1,.2,.5)": (0.27807191, 0.25293250, 0, 0.10481828),
    "BSC(.05,.3,.3)": (0.10016300, 0.51782150, 0, 0.02221628),
    "T222": (0.02285051, 0.00334807, 0.00095956, 0.07821935),
    "T333": (0.00329587, 0.04290968, 0.00007295, 0.09859599),
    "T444": (0.00108864, 0.01615702, 0.01305865, 0.16026882),
    "T234": (0.00290201, 0, 0.01574144, 0.09509608),
    "T888": (0.00438549, 0.00561531, 0.01265659, 0.17891830),
    "Q322": (0.00956178, 0.01707348, 0.24743427, 0.00624625),
    "Q333": (0.00847908, 0.17670802, 0.21434219, 0.15583449),
    "Q444": (0.02943936, 0.08046105, 0.15643252, 0.17917725),
}
"""Redundancy, both unique informations and synergy in bits, to eight digits."""


def entropy(p: F64) -> float:
    """Return the entropy of a table in nats."""
    positive = p[p > 0]
    return float(-np.sum(positive * np.log(positive)))


def informations(p: F64) -> tuple[float, float, float]:
    """Return I(s;x), I(s;y) and I(s;xy) of a table (x, y, s) in nats, from entropies."""
    target = entropy(p.sum((0, 1)))
    x, y = p.sum(1), p.sum(0)
    return (
        target + entropy(x.sum(1)) - entropy(x),
        target + entropy(y.sum(1)) - entropy(y),
        target + entropy(p.sum(2)) - entropy(p),
    )


def union_bounds(p: F64) -> tuple[float, float]:
    """Return a lower and an upper bound of the union information of a positive table, in nats.

    Newton's method with a log barrier, in dense matrices: maximise <p, a> + <p, b> + mu sum
    log(-LSE) for ever smaller mu. Its points are feasible, so the value without the barrier is a
    lower bound whatever the steps did; the weights mu / -LSE make a table that, fitted to the
    marginals, has an information that is an upper bound.
    """
    n_x, n_y, n_s = p.shape
    of_x, of_y = p.sum(1), p.sum(0)
    pull = np.concatenate([of_x.ravel(), of_y.ravel()])
    # feasible, as the sum of sqrt(p(s|x) p(s|y)) is at most 1
    start = [0.5 * np.log(m / m.sum(1, keepdims=True)) - 0.25 for m in (of_x, of_y)]
    v = np.concatenate([part.ravel() for part in start])
    cells = [(x, y) for x in range(n_x) for y in range(n_y)]
    places = [
        np.concatenate([x * n_s + np.arange(n_s), (n_x + y) * n_s + np.arange(n_s)])
        for x, y in cells
    ]

    # a up and b down by the same amount for one target symbol changes nothing
    same = np.concatenate([np.tile(np.eye(n_s), n_x), np.tile(-np.eye(n_s), n_y)], axis=1)

    def cell(v: F64, at: NDArray[np.int64]) -> tuple[F64, float]:
        both = np.exp(v[at[:n_s]] + v[at[n_s:]])
        return both / both.sum(), -float(np.log(both.sum()))

    def value(v: F64, mu: float) -> float:
        slacks = [cell(v, at)[1] for at in places]
        return float(pull @ v + mu * np.log(slacks).sum()) if min(slacks) > 0 else -np.inf

    mu = 0.05
    while mu > 1e-9:
        mu *= 0.3
        for _ in range(60):
            slope, curve = pull.copy(), same.T @ same
            for at in places:
                soft, slack = cell(v, at)
                twice = np.concatenate([soft, soft])
                slope[at] -= mu / slack * twice
                block = np.diag(soft) + (1 / slack - 1) * np.outer(soft, soft)
                curve[np.ix_(at, at)] += mu / slack * np.tile(block, (2, 2))
            step = np.linalg.solve(curve, slope)
            gain, now = float(slope @ step), value(v, mu)
            size = min(1.0, 2 / float(np.abs(step).max() + 1e-300))
            while value(v + size * step, mu) < now + 0.1 * size * gain and size > 1e-12:
                size /= 2
            v = v + size * step
            if gain < 1e-3 * mu:
                break
    q = np.zeros(p.shape)
    for (x, y), at in zip(cells, places, strict=True):
        soft, slack = cell(v, at)
        q[x, y] = mu / slack * soft
    for _ in range(2000):
        q *= (of_x / q.sum(1))[:, None]
        q *= (of_y / q.sum(0))[None]
    return entropy(p.sum((0, 1))) + float(pull @ v), informations(q)[2]
