"""Discrete BROJA decompositions against ECOS, on the cone programme of BROJA_2PID, and against dit.

Ours solves a batch of tables on one thread and counts per table; ECOS gets its matrices ready made.
Operations are those of one Newton step, for sources of n symbols and a target of n: eliminated
blocks n (n³/3 + n³ f), Schur complement n² f² and its factor f³/3 with f = n² - n unknowns, two
solutions 8 n² f + 4 f² and 40 per entry of the table, times the iterations taken.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import Row, alone, alternate, compare, per_second, table

from nb26stats.information._broja import Broja, broja

SIZES = {2: 400, 3: 200, 4: 100, 6: 40, 8: 20, 10: 8}
TARGETS = {2: "5 µs", 4: "60 µs, 100x ECOS", 6: "150 µs", 8: "600 µs, 500x ECOS", 10: "2 ms"}
ECOS_TABLES = {2: 20, 3: 10, 4: 5, 6: 2, 8: 1}
IDEAL = 20e9
"""Operations per second of dense arithmetic on one core, what the rate is held against."""
DIT_TABLES = {2: 2, 4: 1}


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    for n, m in SIZES.items():
        pmfs = np.random.default_rng(n).dirichlet(np.ones(n**3), size=m).reshape(m, n, n, n)
        rows += _size(n, pmfs)
    print(table(rows))


def _ours(pmfs: np.ndarray) -> Broja:
    return broja(pmfs, tol=1e-9, max_iter=100, n_threads=1)


def _size(n: int, pmfs: np.ndarray) -> list[Row]:
    found = _ours(pmfs)
    assert found.converged.all()
    steps = float(found.n_iter.mean())
    free = n * n - n
    step = n * (n**3 / 3 + n**3 * free) + n**2 * free**2 + free**3 / 3
    step += 2 * (8 * n**2 * free + 4 * free**2) / 2 + 40 * n**3
    rows = []
    peers: dict[str, tuple[Callable[[], object], int, int]] = {}
    if n in ECOS_TABLES and _module("ecos"):
        few = pmfs[: ECOS_TABLES[n]]
        programmes = [_cones(p) for p in few]
        values = [_solve_cones(*programme) for programme in programmes]
        apart = np.abs(np.array(values) - (found.information[: len(few), 3] - _entropies(few)))
        assert apart.max() < 1e-5, apart
        peers["ECOS"] = (lambda: [_solve_cones(*p) for p in programmes], len(few), 3)
    if n in DIT_TABLES and _module("dit"):
        few = pmfs[: DIT_TABLES[n]]
        peers["dit"] = (lambda few=few: [_dit(p) for p in few], len(few), 1)
    for peer, (call, count, rounds) in peers.items():
        times = alternate({"ours": lambda: _ours(pmfs), peer: call}, rounds)
        each = {
            "ours": [t / len(pmfs) for t in times["ours"]],
            peer: [t / count for t in times[peer]],
        }
        rate = _rate(steps * step, min(each["ours"]))
        row = compare(f"{n}³, per table", each, "ours", peer, target=TARGETS.get(n, ""), rate=rate)
        rows.append(row)
    if not rows:
        seconds = min(alternate({"ours": lambda: _ours(pmfs)}, 3)["ours"]) / len(pmfs)
        rate = _rate(steps * step, seconds)
        rows.append(alone(f"{n}³, per table", seconds, target=TARGETS.get(n, ""), rate=rate))
    return rows


def _rate(operations: float, seconds: float) -> str:
    ideal = operations / IDEAL
    rate = per_second(operations, seconds, "flop")
    return f"{rate}, {seconds / ideal:.1f} x the time at {IDEAL / 1e9:g}"


def _module(name: str) -> Any:
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
    return None


def _entropies(pmfs: np.ndarray) -> np.ndarray:
    target = pmfs.sum((1, 2))
    return -np.sum(target * np.log(target), axis=1)


def _cones(p: np.ndarray) -> tuple[Any, ...]:
    """Maximise sum r with (r, Q, q) in exponential cones: q ln(Q / q) >= r, Q = sum of q over s."""
    from scipy import sparse

    n_x, n_y, n_s = p.shape
    size = p.size
    index = np.arange(size).reshape(p.shape)
    cost = np.tile([-1.0, 0.0, 0.0], size)  # variables r, Q, q for every entry
    cone = -sparse.identity(3 * size, format="csc")
    rows, columns, values, right = [], [], [], []

    def equation(terms: list[tuple[int, float]], value: float) -> None:
        for column, factor in terms:
            rows.append(len(right))
            columns.append(column)
            values.append(factor)
        right.append(value)

    for s in range(n_s):
        for x in range(n_x):
            equation([(3 * i + 2, 1.0) for i in index[x, :, s]], p[x, :, s].sum())
        for y in range(n_y - 1):  # the last follows
            equation([(3 * i + 2, 1.0) for i in index[:, y, s]], p[:, y, s].sum())
    for x, y, s in np.ndindex(p.shape):
        terms = [(3 * i + 2, 1.0) for i in index[x, y]]
        equation([(3 * index[x, y, s] + 1, -1.0), *terms], 0.0)
    shape = (len(right), 3 * size)
    equal = sparse.csc_matrix((values, (rows, columns)), shape=shape)
    return cost, cone, np.zeros(3 * size), {"l": 0, "q": [], "e": size}, equal, np.array(right)


def _solve_cones(*programme: Any) -> float:
    import ecos

    found = ecos.solve(*programme, verbose=False, abstol=1e-9, reltol=1e-9, feastol=1e-9)
    return float(found["info"]["pcost"])


def _dit(p: np.ndarray) -> object:
    import dit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = ["".join(map(str, place)) for place in np.ndindex(p.shape)]
        return dit.pid.PID_BROJA(dit.Distribution(names, p.ravel()))


if __name__ == "__main__":
    main()
