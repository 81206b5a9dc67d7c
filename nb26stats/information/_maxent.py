"""The distribution of largest entropy that keeps the marginals of every pair of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from nb26stats._numba.maxent import fit_pairs

from ._measures import F64

TOLERANCE = 1e-13
SWEEPS = 1000
"""Sweeps of proportional fitting after which something better is tried."""
LAST_SWEEPS = 50_000
NEWTON_STEPS = 60
LARGEST_SYSTEM = 1500


def largest_entropy(pmf: F64) -> F64:
    """Return the distribution of largest entropy with the marginals of every pair of ``pmf``.

    Proportional fitting, which is fast unless masses of very different size meet or some vanish;
    then a linear program finds the masses that must vanish, and Newton's method the others.

    Parameters
    ----------
    pmf : ndarray of shape (n1, n2, n3)
        Joint distribution, C-contiguous.
    """
    q = np.full(pmf.shape, 1.0 / pmf.size)
    if fit_pairs(pmf, q, TOLERANCE, SWEEPS) < SWEEPS:
        return q
    if (pmf == 0).any():
        q *= _reachable(pmf)
        if fit_pairs(pmf, q, TOLERANCE, SWEEPS) < SWEEPS:
            return q
    q = _newton(pmf, q)
    fit_pairs(pmf, q, TOLERANCE, LAST_SWEEPS)
    return q


def _marginals(shape: tuple[int, ...]) -> Any:
    """Return the sparse matrix from cells to the marginals of the three pairs."""
    from scipy import sparse

    cell = np.arange(int(np.prod(shape)))
    places = np.unravel_index(cell, shape)
    ones = np.ones(cell.size)
    rows = [
        np.ravel_multi_index((places[i], places[j]), (shape[i], shape[j]))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    return sparse.vstack([sparse.csr_matrix((ones, (row, cell))) for row in rows], format="csr")


def _reachable(pmf: F64) -> F64:
    """Return 1 for cells that some table with the pairs' marginals of ``pmf`` fills, else 0.

    A direction that changes no marginal and leads upwards from every zero is scaled until each of
    the zeros it can fill has moved by 1: a linear program.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    marginals = _marginals(pmf.shape)
    zero = np.flatnonzero(pmf.ravel() == 0)
    upwards = sparse.csr_matrix(
        (np.ones(zero.size), (np.arange(zero.size), zero)), shape=(zero.size, pmf.size)
    )
    # unknowns: the direction of every cell, then what each zero is worth, at most 1
    least = np.full(pmf.size, -np.inf)
    least[zero] = 0.0
    program: dict[str, Any] = {
        "c": np.repeat([0.0, -1.0], [pmf.size, zero.size]),
        "A_ub": sparse.hstack([-upwards, sparse.identity(zero.size)]),
        "b_ub": np.zeros(zero.size),
        "A_eq": sparse.hstack([marginals, sparse.csr_matrix((marginals.shape[0], zero.size))]),
        "b_eq": np.zeros(marginals.shape[0]),
        "bounds": np.column_stack(
            [np.append(least, 0.0 * zero), np.repeat([np.inf, 1.0], [pmf.size, zero.size])]
        ),
    }
    found = linprog(**program)
    out = np.ones(pmf.size)
    if found.success:
        out[zero] = found.x[pmf.size :] > 0.5
    return out.reshape(pmf.shape)


def _newton(pmf: F64, q: F64) -> F64:
    """Return ``q`` after Newton steps on the dual, whose variables scale the marginals.

    The step is the least-squares one, because marginals that repeat each other leave directions
    free.
    """
    marginals = _marginals(pmf.shape)
    wanted = marginals @ pmf.ravel()
    if wanted.size > LARGEST_SYSTEM:
        return q
    filled = q.ravel() > 0
    kept = wanted > 0
    a, b = marginals[kept][:, filled], wanted[kept]
    start = np.log(q.ravel()[filled])
    dual = np.zeros(b.size)
    w = np.exp(start)
    value = w.sum()
    for _ in range(NEWTON_STEPS):
        gradient = b - a @ w
        if np.abs(gradient).sum() < TOLERANCE:
            break
        scale = 1.0 / np.sqrt(np.maximum(a @ w, np.finfo(float).tiny))
        hessian = (a.multiply(w) @ a.T).toarray() * np.outer(scale, scale)
        step = scale * np.linalg.lstsq(hessian, scale * gradient, rcond=1e-13)[0]
        slope, size = float(gradient @ step), min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        while size > 1e-6:
            trial = np.exp(start + a.T @ (dual + size * step))
            after = trial.sum() - b @ (dual + size * step)
            if after <= value - 1e-4 * size * slope + 1e-15:
                break
            size /= 2
        else:
            break
        dual, w, value = dual + size * step, trial, after
    out = np.zeros(pmf.size)
    out[filled] = w
    return out.reshape(pmf.shape)
