"""OjaPCA with and without replicates, at two sizes, every library on one thread.

Peers that would take minutes are timed on a part of their work and scaled: the row loop on a few
rows, the ordinary bootstrap on one resample of 200. Operations per row and column of an iterate:
4 d (two products) + block (recursion) + 4 d k / block (orthonormalisation).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from measure import Row, alternate, compare, per_second, table
from sklearn.decomposition import PCA, IncrementalPCA
from threadpoolctl import threadpool_limits

from nb26stats.streaming import OjaPCA

B, BLOCK = 200, 64


def main() -> None:
    """Print the table."""
    with threadpool_limits(1):
        rows = [*_size(100, 3, 20_000, 500), *_size(1000, 5, 10_000, 100), *_one_row()]
    print(table(rows))


def operations(d: int, k: int, n: int, n_bootstrap: int) -> float:
    """Floating-point operations of a fit; the estimate itself carries one more column."""
    columns = k + 1 + n_bootstrap * k
    return n * (columns * (4 * d + BLOCK + 4 * d * k / BLOCK) + d * BLOCK)


def row_loop(x: np.ndarray, k: int, n_bootstrap: int) -> np.ndarray:
    """Oja's rule for an estimate and its replicates, one row at a time, in NumPy."""
    rng = np.random.default_rng(0)
    w = np.tile(np.eye(x.shape[1])[:, :k], (n_bootstrap + 1, 1, 1))
    for t, y in enumerate(x):
        weight = np.r_[1.0, 2.0 * rng.integers(0, 2, n_bootstrap)] * (0.3 / (100 + t))
        w += weight[:, None, None] * (y[:, None] * (y @ w)[:, None, :])
        if t % BLOCK == BLOCK - 1:
            w, r = np.linalg.qr(w)
            w *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return w


def scaled(times: Mapping[str, Sequence[float]], name: str, factor: float) -> list[float]:
    return [factor * seconds for seconds in times[name]]


def _side_by_side(call: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _size(d: int, k: int, n: int, loop_rows: int) -> list[Row]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)) * np.r_[np.sqrt(np.arange(10, 10 - k, -1.0)), np.ones(d - k)]
    narrow = x.astype(np.float32)
    resample = x[rng.integers(0, n, n)]
    a, b = rng.normal(size=(BLOCK, d)), rng.normal(size=(d, B * k + k + 1))

    def fit(data: np.ndarray, n_bootstrap: int, n_threads: int = 1) -> OjaPCA:
        est = OjaPCA(k, n_bootstrap=n_bootstrap, n_threads=n_threads, random_state=0)
        return est.fit(data)

    times = alternate(
        {
            "ours": lambda: fit(x, B),
            "alone": lambda: fit(x, 0),
            "loop": lambda: row_loop(x[:loop_rows], k, B),
            "one resample": lambda: PCA(k, svd_solver="covariance_eigh").fit(resample),
            "IncrementalPCA(batch_size=100)": lambda: IncrementalPCA(k, batch_size=100).fit(x),
            "product": lambda: [a @ b for _ in range(20)],
        }
    )
    times["NumPy row loop (scaled)"] = scaled(times, "loop", n / loop_rows)
    times["bootstrap of PCA (200 x one)"] = scaled(times, "one resample", B)
    # what loads the machine beside us can only take a ratio below its own, so these get more rounds
    near = alternate(
        {
            "ours in float64": lambda: fit(x, B),
            "float32": lambda: fit(narrow, B),
            "two": lambda: fit(x, B, 2),
            "side by side": lambda: _side_by_side(lambda: fit(x, B)),
        },
        rounds=9,
    )
    near["side by side"] = scaled(near, "side by side", 0.5)
    share = operations(d, k, n, B) / (20 * 2 * BLOCK * d * b.shape[1])
    times["all operations at NumPy's product rate"] = scaled(times, "product", share)
    size = f"d={d}, k={k}, n={n}"
    out = []
    for what, key, peer, target in (
        ("B=200", "ours", "NumPy row loop (scaled)", ">= 25" if d == 1000 else ""),
        ("B=200", "ours", "bootstrap of PCA (200 x one)", ">= 40" if d == 1000 else ">= 8"),
        ("B=200", "ours", "all operations at NumPy's product rate", ">= .59 (1 / 1.7)"),
        ("B=200, float32", "float32", "ours", ">= 1.7 at d=1000"),
        ("B=200, 2 threads", "two", "ours", ">= 1.7 on idle cores"),
        ("B=200, one of two fits side by side", "side by side", "ours", "the machine's own limit"),
        ("B=0", "alone", "IncrementalPCA(batch_size=100)", ">= 1"),
    ):
        work = operations(d, k, n, 0 if key == "alone" else B)
        held, label = (near, "ours in float64") if peer == "ours" else (times, peer)
        rate = per_second(work, min(held[key]), "FLOP")
        out.append(compare(f"{what}, {size}", held, key, label, target=target, rate=rate))
    return out


def _one_row() -> list[Row]:
    x = np.random.default_rng(0).normal(size=(1200, 100))
    est = OjaPCA(2, random_state=0).partial_fit(x[:200])
    peer = IncrementalPCA(2).partial_fit(x[:200])

    def each(check_input: bool) -> None:
        for i in range(200, 1200):
            est.partial_fit(x[i : i + 1], check_input=check_input)

    times = alternate(
        {
            "checked": lambda: each(True),
            "unchecked": lambda: each(False),
            "IncrementalPCA, 2 rows": lambda: [
                peer.partial_fit(x[i : i + 2]) for i in range(200, 1200)
            ],
        }
    )
    per_call = {name: [s / 1000 for s in held] for name, held in times.items()}
    return [
        compare("one row, d=100, B=0", per_call, "checked", "IncrementalPCA, 2 rows"),
        compare(
            "one row, check_input=False",
            per_call,
            "unchecked",
            "IncrementalPCA, 2 rows",
            target="< 5e-5 s",
        ),
    ]


if __name__ == "__main__":
    main()
