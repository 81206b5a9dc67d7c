"""Largest entropy among distributions of three variables with given marginals of every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel


@kernel
def fit_pairs(p: NDArray[np.float64], q: NDArray[np.float64], tol: float, max_sweeps: int) -> int:
    """Scale ``q`` in turn to each pair's marginal of ``p`` (Deming & Stephan 1940).

    Stops when a sweep changed no marginal by more than ``tol`` in sum; returns the sweeps.
    """
    na, nb, nc = p.shape
    ab = np.zeros((na, nb))
    ac = np.zeros((na, nc))
    bc = np.zeros((nb, nc))
    for a in range(na):
        for b in range(nb):
            for c in range(nc):
                ab[a, b] += p[a, b, c]
                ac[a, c] += p[a, b, c]
                bc[b, c] += p[a, b, c]
    for sweep in range(max_sweeps):
        off = 0.0
        for a in range(na):
            for b in range(nb):
                total = 0.0
                for c in range(nc):
                    total += q[a, b, c]
                off += abs(total - ab[a, b])
                if total > 0.0:
                    for c in range(nc):
                        q[a, b, c] *= ab[a, b] / total
        for a in range(na):
            for c in range(nc):
                total = 0.0
                for b in range(nb):
                    total += q[a, b, c]
                off += abs(total - ac[a, c])
                if total > 0.0:
                    for b in range(nb):
                        q[a, b, c] *= ac[a, c] / total
        for b in range(nb):
            for c in range(nc):
                total = 0.0
                for a in range(na):
                    total += q[a, b, c]
                off += abs(total - bc[b, c])
                if total > 0.0:
                    for a in range(na):
                        q[a, b, c] *= bc[b, c] / total
        if off < tol:
            return sweep + 1
    return max_sweeps
