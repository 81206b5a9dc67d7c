"""Slow reference for the discrete BROJA decomposition: the dual by SciPy, and named tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

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
    """Return a lower and an upper bound of the union information of a table (x, y, s), in nats.

    A log barrier on the dual: maximise <p, a> + <p, b> + mu sum log(-LSE), which SciPy does for
    ever smaller mu. What it returns is feasible, so its value is a lower bound whatever SciPy did;
    the multipliers mu / -LSE, scaled to the marginals, make a table whose information is an upper
    bound. For positive tables.
    """
    n_x, n_y, n_s = p.shape
    of_x, of_y, target = p.sum(1), p.sum(0), p.sum((0, 1))
    start = [0.5 * np.log(of_x / target) - 0.5, 0.5 * np.log(of_y / target)]
    v = np.concatenate([part.ravel() for part in start])

    def parts(v: F64) -> tuple[F64, F64, F64]:
        a = v[: n_x * n_s].reshape(n_x, n_s)
        b = v[n_x * n_s :].reshape(n_y, n_s)
        both = np.exp(a[:, None] + b[None])
        return both / both.sum(2, keepdims=True), -np.log(both.sum(2)), both

    def value(v: F64) -> float:
        return float(v @ np.concatenate([of_x.ravel(), of_y.ravel()]))

    mu = 1e-2
    while mu > 1e-10:

        def objective(v: F64, mu: float = mu) -> tuple[float, F64]:
            soft, slack, _ = parts(v)
            if np.any(slack <= 0):
                return 1e10, np.zeros_like(v)
            pull = (mu / slack)[:, :, None] * soft
            slope = np.concatenate([(pull.sum(1) - of_x).ravel(), (pull.sum(0) - of_y).ravel()])
            return -value(v) - mu * float(np.log(slack).sum()), slope

        v = minimize(
            objective,
            v,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 40},
        ).x
        mu *= 0.2
    soft, slack, _ = parts(v)
    q = (mu / 0.2 / slack)[:, :, None] * soft
    for _ in range(3000):
        q *= (of_x / q.sum(1))[:, None]
        q *= (of_y / q.sum(0))[None]
    return entropy(target) + value(v), informations(q)[2]
