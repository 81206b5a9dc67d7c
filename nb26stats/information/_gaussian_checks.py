"""What Gaussian estimates need of their covariances and of the number of trials."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_int, as_list, as_numbers
from nb26stats._warnings import warn

from ._gaussian_bias import plug_in_bias
from ._samples import LARGEST, SMALLEST, UNITS

F64 = NDArray[np.float64]

ASYMMETRY = 1e-8
FEW_TRIALS = 10
"""Trials per variable below which plug-in values are mostly bias."""
DEPENDENT = 1e-12
"""Smallest eigenvalue of correlations below which a column counts as a function of others."""
SLAB = 2**15


def as_dims(dims: object) -> tuple[int, int, int]:
    """Return ``(dx, dy, dm)``."""
    parts = as_list(dims, "dims")
    if len(parts) != 3:
        raise ValueError(f"dims must be the three numbers (dx, dy, dm), got {len(parts)} of them")
    dx, dy, dm = (as_int(v, f"dims[{i}]", minimum=1) for i, v in enumerate(parts))
    return dx, dy, dm


def as_covariances(covs: ArrayLike, dims: tuple[int, int, int], name: str) -> F64:
    """Return covariances of shape (m, d, d), symmetric in every bit.

    Raises
    ------
    ValueError
        Wrong shape, an entry that is not finite, or asymmetry.
    """
    out = np.array(as_numbers(covs, name), dtype=np.float64, order="C")
    d = sum(dims)
    if out.ndim != 3 or out.shape[1:] != (d, d):
        shape = out.shape[1:] if name == "cov" else out.shape
        wanted = f"({d}, {d})" if name == "cov" else f"(m, {d}, {d})"
        raise ValueError(f"{name} must have shape {wanted} for dims={dims}, got {shape}")
    # a few at a time stay in cache
    step = max(1, SLAB // (d * d))
    for first in range(0, len(out), step):
        _make_symmetric(out[first : first + step], name, first)
    return out


def _make_symmetric(covs: F64, name: str, first: int) -> None:
    """Check some of the covariances and average each with its transpose, in place."""
    flipped = covs.transpose(0, 2, 1)
    if not np.isfinite(covs).all():
        p, i, j = (int(v) for v in np.argwhere(~np.isfinite(covs))[0])
        raise ValueError(f"{which(name, first + p)} holds {covs[p, i, j]} at row {i}, column {j}")
    variances = np.einsum("pii->pi", covs)
    extreme = (np.abs(variances) > LARGEST**2) | ((variances > 0) & (variances < SMALLEST**2))
    if extreme.any():
        p, i = (int(v) for v in np.argwhere(extreme)[0])
        raise ValueError(
            f"{which(name, first + p)} holds the variance {variances[p, i]:g} at row {i}: {UNITS}"
        )
    if np.array_equal(covs, flipped):
        return
    scale = np.sqrt(np.abs(np.einsum("pii->pi", covs)))
    apart = np.abs(covs - flipped) > ASYMMETRY * scale[:, :, None] * scale[:, None]
    if apart.any():
        p, i, j = (int(v) for v in np.argwhere(apart)[0])
        raise ValueError(
            f"{which(name, first + p)} is not symmetric: {covs[p, i, j]:.6g} at row {i}, column "
            f"{j} and {covs[p, j, i]:.6g} at row {j}, column {i}"
        )
    covs[:] = 0.5 * (covs + flipped)


def which(name: str, p: int) -> str:
    """Return what to call covariance ``p``."""
    return name if name in ("cov", "data") else f"{name}[{p}]"


def refuse_status(
    status: NDArray[np.int8], covs: F64, dims: tuple[int, int, int], name: str
) -> None:
    """Raise ValueError for the first covariance that the kernel could not decompose."""
    bad = np.flatnonzero(status)
    if len(bad) == 0:
        return
    p = int(bad[0])
    cov, where = covs[p], which(name, p)
    data = name == "data"
    advice = "; leave columns out, or give pca= or regularization=" if data else ""
    cov_name = "the covariance of sources and target" if data else where
    smallest = float(np.linalg.eigvalsh(cov)[0])
    dx, dy, dm = dims
    diagonal = np.diag(cov)
    if (diagonal <= 0).any():
        raise ValueError(
            f"{cov_name} is not positive definite: smallest eigenvalue {smallest:.6g}{advice}"
        )
    unit = cov / np.sqrt(np.outer(diagonal, diagonal))
    sources, target = np.arange(dx + dy), np.arange(dx + dy, dx + dy + dm)
    parts = {
        "source 1": sources[:dx],
        "source 2": sources[dx:],
        "the two sources together": sources,
        "the target": target,
    }
    for part, index in parts.items():
        if np.linalg.eigvalsh(unit[np.ix_(index, index)])[0] < DEPENDENT:
            raise ValueError(
                f"{cov_name} is not positive definite: smallest eigenvalue {smallest:.6g}, because "
                f"in {part} a column is a linear function of the others{advice}"
            )
    if status[p] == 2 or smallest >= -DEPENDENT * float(diagonal.max()):
        raise ValueError(
            f"infinite information in {'the data' if data else where}: a combination of the "
            "target's columns is a linear function of the sources; add noise or leave it out"
        )
    raise ValueError(
        f"{cov_name} is not positive definite: smallest eigenvalue {smallest:.6g}{advice}"
    )


def check_trials(
    n: int, dims: tuple[int, int, int], *, bias: str | None, shrinks: bool, base: float
) -> None:
    """Refuse too few trials for ``d`` variables; warn of few.

    Raises
    ------
    ValueError
        No more trials than variables, where nothing shrinks or a bias is to be corrected.
    """
    d = sum(dims)
    if n <= d and not shrinks:
        raise ValueError(
            f"{n} trials are too few for {d} variables (sources and target together): a Gaussian "
            f"estimate needs more than {d}; give pca= or regularization="
        )
    if n <= d and bias is not None:
        raise ValueError(
            f"bias={bias!r} needs more trials than the {d} variables of sources and target, got "
            f"{n}; give pca= or bias=None"
        )
    if n < FEW_TRIALS * d:
        dx, dy, dm = dims
        size = (
            f": the plug-in I_XY is too large by about "
            f"{plug_in_bias(dm, dx + dy, n - 1) / np.log(base):.3g}"
            f"{' bits' if base == 2 else ''}"
            if n > d
            else ""
        )
        warn(f"{n} trials are few for {d} variables (fewer than {FEW_TRIALS} each){size}")
