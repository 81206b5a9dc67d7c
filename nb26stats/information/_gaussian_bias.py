"""Sampling bias of Gaussian informations: what is expected under the Wishart distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

F64 = NDArray[np.float64]

BARTLETT = 1
"""First word of the spawn key of the Bartlett factors."""


def bartlett_factors(seed: int, n_bootstrap: int, d: int, nu: int) -> F64:
    """Return lower factors A of Wishart matrices, divided by the root of ``nu``.

    With ``S = L L'`` a draw of the sample covariance on ``nu`` degrees of freedom is
    ``L A A' L'`` (Bartlett 1933). Factor b depends on ``seed`` and b alone.

    Parameters
    ----------
    seed : int
        Key of the fit.
    n_bootstrap : int
        Number of factors B.
    d : int
        Number of variables.
    nu : int
        Degrees of freedom, at least d.

    Returns
    -------
    ndarray of shape (B, d, d)
        Lower triangular factors.
    """
    out = np.zeros((n_bootstrap, d, d))
    below = np.tril_indices(d, -1)
    for b, factor in enumerate(out):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(BARTLETT, b)))
        np.fill_diagonal(factor, np.sqrt(rng.chisquare(nu - np.arange(d))))
        factor[below] = rng.standard_normal(len(below[0]))
    out /= np.sqrt(nu)
    return out


def log_determinant_bias(d: int, nu: int) -> float:
    """Return the mean of the log determinant of a sample covariance of d white variables."""
    return float((digamma((nu - np.arange(d)) / 2) - np.log(nu / 2)).sum())


def plug_in_bias(d1: int, d2: int, nu: int) -> float:
    """Return how much (nats) the plug-in information between d1 and d2 variables is too large.

    Exact for Gaussian variables, dependent or not, because the bias of a log determinant does not
    depend on the covariance (Goodman 1963; Misra et al. 2005).
    """
    parts = log_determinant_bias(d1, nu) + log_determinant_bias(d2, nu)
    return 0.5 * (parts - log_determinant_bias(d1 + d2, nu))


def _package_term(d: int, n: int) -> float:
    return 0.5 * float(np.log1p(-np.arange(1, d + 1) / n).sum())


def package_bias(d1: int, d2: int, n: int) -> float:
    """Return the bias (nats) that the package gpid takes off (Venkatesh et al. 2023)."""
    return _package_term(d1, n) + _package_term(d2, n) - _package_term(d1 + d2, n)


def corrected(
    information: F64,
    means: F64 | None,
    *,
    bias: str | None,
    measure: str,
    dims: tuple[int, int, int],
    n_samples: int,
    clip: bool,
) -> F64:
    """Return the four informations less their bias.

    Parameters
    ----------
    information : ndarray of shape (..., 4)
        I_X, I_Y, I_XY and the union, nats.
    means : ndarray of shape (..., 4) or None
        Means over bootstrap draws, for ``bias="bootstrap"``.
    bias : {None, "analytic", "gpid", "bootstrap"}
        How.
    measure : str
        For ``"mmi"`` the union is the larger of the corrected I_X and I_Y.
    dims : tuple of int
        dx, dy, dm.
    n_samples : int
        Number of trials.
    clip : bool
        Whether the union is put between its bounds.

    Returns
    -------
    ndarray of shape (..., 4)
        A new array.
    """
    out = information.copy()
    if bias == "bootstrap":
        out = 2.0 * information - means  # type: ignore[operator]
    elif bias in ("analytic", "gpid"):
        dx, dy, dm = dims
        for column, d in enumerate((dx, dy, dx + dy)):
            out[..., column] -= (
                plug_in_bias(dm, d, n_samples - 1)
                if bias == "analytic"
                else package_bias(dm, d, n_samples)
            )
        if bias == "gpid":
            out[..., :2] = np.maximum(out[..., :2], 0.0)
            out[..., 2] = np.maximum(out[..., 2], out[..., :2].max(axis=-1))
        plug_in = information[..., 2]
        share = np.divide(out[..., 2], plug_in, out=np.zeros_like(plug_in), where=plug_in != 0)
        out[..., 3] = information[..., 3] * share
    if measure == "mmi":
        out[..., 3] = out[..., :2].max(axis=-1)
    if clip or bias == "gpid":
        low = out[..., :2].max(axis=-1)
        high = np.minimum(out[..., 0] + out[..., 1], out[..., 2])
        out[..., 3] = np.clip(out[..., 3], low, high)
    return out
