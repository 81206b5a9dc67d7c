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
    # each pair's two axes first; transposed throughout, for views of one type
    views = (q.transpose(0, 1, 2), q.transpose(0, 2, 1), q.transpose(1, 2, 0))
    marginals = (ab, ac, bc)
    for sweep in range(max_sweeps):
        off = 0.0
        for pair in range(3):
            view, marginal = views[pair], marginals[pair]
            for i in range(view.shape[0]):
                for j in range(view.shape[1]):
                    total = 0.0
                    for k in range(view.shape[2]):
                        total += view[i, j, k]
                    off += abs(total - marginal[i, j])
                    if total > 0.0:
                        for k in range(view.shape[2]):
                            view[i, j, k] *= marginal[i, j] / total
        if off < tol:
            return sweep + 1
    return max_sweeps
