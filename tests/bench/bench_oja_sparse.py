"""OjaPCA on sparse rows against scikit-learn, every library on one thread.

The rows have three directions of 100 columns each, which carry a part of the values, and noise
elsewhere; 0.2 % of the values are stored. IncrementalPCA takes no sparse rows, so that its chunks
are filled in; it is timed on a part of them and scaled, like the ordinary bootstrap. Memory is the
peak of a process of its own over what it had before the fit (Linux only).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import Row, alternate, compare, per_second, table
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from threadpoolctl import threadpool_limits

from nb26stats.streaming import OjaPCA

D, K, N, B, BLOCK = 50_000, 3, 10_000, 50, 64
DENSITY = 2e-3
CHUNK, PART = 100, 500


def main() -> None:
    """Print the table and the memory."""
    with threadpool_limits(1):
        print(table(_times()))
    print()
    for name in FITS:
        print(f"peak memory of {name}: {_peak(name) / 1e6:.0f} MB")
    print(f"the same rows filled in: {8 * N * D / 1e6:.0f} MB")


def rows() -> sparse.csr_array:
    """Sparse rows with three leading directions."""
    rng = np.random.default_rng(0)
    each = 20
    columns = np.concatenate(
        [rng.integers(100 * j, 100 * (j + 1), (N, each)) for j in range(K)]
        + [rng.integers(100 * K, D, (N, int(DENSITY * D) - K * each))],
        axis=1,
    )
    scores = np.repeat(rng.normal(size=(N, K)) * [4, 3.5, 3], each, axis=1)
    noise = rng.normal(size=(N, columns.shape[1] - K * each))
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    out = sparse.csr_array(
        (np.concatenate([scores, noise], axis=1).ravel(), columns.ravel(), starts), shape=(N, D)
    )
    out.sum_duplicates()
    return out


def fit(x: sparse.csr_array, n_bootstrap: int) -> OjaPCA:
    return OjaPCA(K, n_bootstrap=n_bootstrap, n_threads=1, random_state=0).fit(x)


def incremental(x: sparse.csr_array) -> IncrementalPCA:
    est = IncrementalPCA(K)
    for a in range(0, x.shape[0], CHUNK):
        est.partial_fit(x[a : a + CHUNK].toarray())
    return est


FITS: dict[str, Callable[[sparse.csr_array], object]] = {
    "OjaPCA, B=0": lambda x: fit(x, 0),
    "OjaPCA, B=50": lambda x: fit(x, B),
    "TruncatedSVD": lambda x: TruncatedSVD(K, random_state=0).fit(x),
    "PCA(arpack)": lambda x: PCA(K, svd_solver="arpack", random_state=0).fit(x),
    "IncrementalPCA on filled chunks": lambda x: incremental(x[: 2 * CHUNK]),
}


def operations(values: float, n_bootstrap: int) -> float:
    """Floating-point operations of a fit, orthonormalisation and mean at the end of a block."""
    columns = K + 1 + n_bootstrap * K
    return N * columns * (4 * values + BLOCK + D * (2 * K + 4) / BLOCK)


def _times() -> list[Row]:
    x = rows()
    part = x[:PART]
    calls: dict[str, Callable[[], object]] = {
        name: lambda call=call: call(x)  # type: ignore[misc]
        for name, call in FITS.items()
        if "Incremental" not in name
    }
    calls["IncrementalPCA"] = lambda: incremental(part)
    times = alternate(calls, rounds=3)
    times["IncrementalPCA on filled chunks (scaled)"] = [
        N / PART * seconds for seconds in times["IncrementalPCA"]
    ]
    times["bootstrap of PCA(arpack) (50 x one)"] = [B * s for s in times["PCA(arpack)"]]
    size = f"d={D}, {x.nnz / N:.0f} values a row, k={K}, n={N}"
    out = []
    for key, n_bootstrap, peers in (
        (
            "OjaPCA, B=0",
            0,
            ("TruncatedSVD", "PCA(arpack)", "IncrementalPCA on filled chunks (scaled)"),
        ),
        ("OjaPCA, B=50", B, ("bootstrap of PCA(arpack) (50 x one)",)),
    ):
        rate = per_second(operations(x.nnz / N, n_bootstrap), min(times[key]), "FLOP")
        for peer in peers:
            out.append(compare(f"{key[8:]}, {size}", times, key, peer, rate=rate))
    return out


def _status(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split(f"{field}:")[1].split()[0])


def _measure(name: str) -> int:
    x = rows()
    with threadpool_limits(1):
        FITS[name](x[: 3 * CHUNK, : 20 * CHUNK])
        # the peak so far is that of making the rows
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        FITS[name](x)
    return _status("VmHWM") - before


def _peak(name: str) -> int:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (name,))


if __name__ == "__main__":
    main()
