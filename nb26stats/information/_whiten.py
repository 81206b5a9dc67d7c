"""White coordinates of two sources and a target, in which information is a matter of gains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

F64 = NDArray[np.float64]

SMALLEST_PIVOT = 1e-12
"""Variance left of a standardised column after those before it, below which it is dependent."""


@dataclass(frozen=True, eq=False)
class White:
    """Two sources and a target, standardised and whitened: ``z' z = nu I`` where nothing shrinks.

    Parameters
    ----------
    x : ndarray of shape (n, dx)
        White source 1.
    y : ndarray of shape (n, dy)
        White residual of source 2 on source 1, so x and y are uncorrelated.
    m : ndarray of shape (n, dm)
        White target.
    r : ndarray of shape (dy, dx + dy)
        Source 2 itself, standardised, is ``[x, y] r'``; its last dy columns are triangular.
    keep : float
        One minus the shrinkage weight: what shrinkage leaves of the cross-covariance with m.
    """

    x: F64
    y: F64
    m: F64
    r: F64
    keep: float = 1.0

    def gain(self, order: NDArray[np.intp] | None = None) -> F64:
        """Return K of shape (dm, dx + dy), for the rows of the target in another ``order``."""
        target = self.m if order is None else self.m[order]
        scale = self.keep / (len(target) - 1)
        gain: F64 = np.hstack([target.T @ self.x, target.T @ self.y]) * scale
        return gain


def standardised(x: F64) -> F64:
    """Return columns of mean 0 and sample variance 1."""
    centred = x - x.mean(axis=0)
    out: F64 = centred / np.sqrt((centred**2).sum(axis=0) / (len(x) - 1))
    return out


def lower_factor(cov: F64, name: str) -> F64:
    """Return the lower Cholesky factor of a correlation matrix; ValueError names what it is of."""
    try:
        low: F64 = cholesky(cov, lower=True)
        smallest = float(np.diag(low).min()) ** 2
    except LinAlgError:
        smallest = 0.0
    if smallest < SMALLEST_PIVOT:
        raise ValueError(
            f"{name}: a column is a linear function of the others (smallest eigenvalue of the "
            f"correlations {np.linalg.eigvalsh(cov)[0]:.3g}); leave columns out, or give pca= or "
            "regularization="
        )
    return low


def whiten(x: F64, y: F64, m: F64, *, weight: float = 0.0, names: tuple[str, str, str]) -> White:
    """Return the white coordinates of columns that all vary.

    Parameters
    ----------
    x, y, m : ndarray of shape (n, dx), (n, dy), (n, dm)
        Source 1, source 2 and target; n is more than any of the dimensions unless something
        shrinks.
    weight : float
        Shrinkage of the joint correlations towards the identity.
    names : tuple of str
        What to call the three in a message.

    Returns
    -------
    White
        Coordinates whose gains give the covariance ``(1 - weight) S + weight I`` of the
        standardised columns.

    Raises
    ------
    ValueError
        Columns are linearly dependent.
    """
    dx, nu, keep = x.shape[1], len(x) - 1, 1.0 - weight
    sources, target = np.hstack([standardised(x), standardised(y)]), standardised(m)
    low = lower_factor(shrunk(sources.T @ sources / nu, weight), f"{names[0]} with {names[1]}")
    low_m = lower_factor(shrunk(target.T @ target / nu, weight), names[2])
    z = solve_triangular(low, sources.T, lower=True).T
    z_m = solve_triangular(low_m, target.T, lower=True).T
    parts = (np.ascontiguousarray(part) for part in (z[:, :dx], z[:, dx:], z_m))
    return White(*parts, r=low[dx:].copy(), keep=keep)


def shrunk(correlation: F64, weight: float) -> F64:
    """Return correlations moved towards the identity by ``weight``; symmetric in every bit."""
    out = (1.0 - weight) * 0.5 * (correlation + correlation.T)
    np.fill_diagonal(out, 1.0)
    return out
