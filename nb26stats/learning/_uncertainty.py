"""Standard errors of a fit, from the curvature of its objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._gauge import flat_directions, inside, turned
from ._model import F64, Model
from ._optimize import Prior, Task, evaluate

STEP = 1e-4
FLAT = 1e-6
"""Curvatures below this share of the largest are none."""
LOADING = 1e-3
"""Squared loading on a direction without curvature that leaves a parameter without an error."""


def hessian(
    model: Model,
    task: Task,
    u: F64,
    prior: Prior | None = None,
    *,
    gradient: str = "reverse",
    n_threads: int = 0,
) -> F64:
    """Return minus the second derivatives of the objective: the observed information.

    Central differences of the analytic gradient, all evaluated side by side.

    Parameters
    ----------
    model : Model
        The model.
    task : Task
        Its trials, first mask and first row of free parameters are used.
    u : ndarray of shape (P,)
        Optimiser coordinates.
    prior : Prior, optional
        The penalty in the objective.
    gradient : {"reverse", "forward"}
        How gradients are taken.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    ndarray of shape (M, M)
        Over free parameters, also those on a bound. NaN in rows and columns of a parameter near
        which an evaluation diverges.
    """
    free = np.flatnonzero(task.free[0])
    step = STEP * np.maximum(1.0, np.abs(u[free]))
    points = np.tile(u, (2 * free.size, 1))
    rows = np.arange(free.size)
    points[rows, free] += step
    points[free.size + rows, free] -= step
    n = len(points)
    wide = np.full(model.n_theta, np.inf)
    near = Task(
        trials=task.trials,
        masks=task.masks,
        which_mask=np.full(n, task.which_mask[0], dtype=np.int64),
        starts=points,
        free=np.tile(task.free[0], (n, 1)),
        # differences are taken across the bounds too
        lower=-wide,
        upper=wide,
    )
    found = evaluate(model, near, prior=prior, gradient=gradient, n_threads=n_threads)
    slopes = found.gradient[:, free]
    width = points[rows, free] - points[free.size + rows, free]
    out = -(slopes[: free.size] - slopes[free.size :]) / width[:, None]
    lost = (found.diverged.reshape(2, -1) >= 0).any(axis=0)
    out = 0.5 * (out + out.T)
    out[lost] = np.nan
    out[:, lost] = np.nan
    return np.asarray(out)


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors in optimiser coordinates, and the curvatures behind them.

    Parameters
    ----------
    standard_errors : ndarray of shape (P,)
        NaN where there is none.
    covariance : ndarray of shape (P, P)
        NaN in rows and columns without a standard error.
    n_dropped : int
        Directions without curvature, those of the model included.
    indefinite : bool
        Whether the objective rises in some direction, so that there are no errors at all.
    """

    standard_errors: F64
    covariance: F64
    n_dropped: int
    indefinite: bool


def standard_errors(
    model: Model,
    u: F64,
    information: F64,
    free: NDArray[np.bool_],
    touched: NDArray[np.bool_],
    *,
    penalised: bool = False,
) -> Errors:
    """Return standard errors from the observed information.

    Parameters on a bound are held there and have none. Directions that are flat by the model, or in
    which the curvature is below a millionth of the largest, are left out, and parameters that load
    on them by more than a thousandth (squared) have no standard error. Nor has any parameter where
    the objective rises in some direction: such a point is no maximum.

    Parameters
    ----------
    model : Model
        The model.
    u : ndarray of shape (P,)
        Optimiser coordinates of the fit.
    information : ndarray of shape (M, M)
        From ``hessian``.
    free, touched : ndarray of bool, shape (P,)
        Parameters fitted, and those of them on a bound.
    penalised : bool
        Whether a prior is part of the objective.

    Returns
    -------
    Errors
        NaN for fixed parameters too.
    """
    n = model.n_theta
    covariance = np.full((n, n), np.nan)
    used = np.array(free)
    used[free] = ~touched[free] & np.isfinite(np.diag(information))
    flat = inside(flat_directions(model, u, penalised=penalised), used)
    curved, lost, indefinite = _split(information[np.ix_(used[free], used[free])], flat)
    if not indefinite and curved is not None:
        at = np.flatnonzero(used)
        keep = (lost**2).sum(axis=1) <= LOADING
        # a weight on a bound stops the turns, but the single weights are as open as before
        keep &= ~turned(model)[at]
        at = at[keep]
        covariance[np.ix_(at, at)] = curved[np.ix_(keep, keep)]
    return Errors(np.sqrt(np.diag(covariance)), covariance, lost.shape[1], indefinite)


def _split(information: F64, flat: F64) -> tuple[F64 | None, F64, bool]:
    """Return the inverse outside the dropped directions, these, and whether it is indefinite."""
    n = len(information)
    if n == 0:
        return None, np.zeros((0, 0)), False
    # the complement of the flat directions
    left = np.linalg.svd(flat, full_matrices=True)[0] if flat.shape[1] else np.eye(n)
    rest = left[:, flat.shape[1] :]
    values, vectors = np.linalg.eigh(rest.T @ information @ rest)
    vectors = rest @ vectors
    largest = np.abs(values).max(initial=0.0)
    small = np.abs(values) < FLAT * largest
    if largest == 0.0 or (values[~small] < 0.0).any():
        return None, flat, largest > 0.0
    kept = vectors[:, ~small]
    return (kept / values[~small]) @ kept.T, np.hstack([flat, vectors[:, small]]), False


def named_errors(model: Model, theta: F64, errors: F64) -> dict[str, Any]:
    """Return standard errors by name.

    Parameters
    ----------
    model : Model
        The model.
    theta : ndarray of shape (P,)
        Natural parameters.
    errors : ndarray of shape (P,)
        Standard errors in optimiser coordinates.

    Returns
    -------
    dict
        ``W1`` and, if there are two layers, ``W2`` (arrays); ``log_alpha``, ``log_beta`` and, by
        the delta method, ``alpha``, ``beta``; likewise ``logit_lapse`` (of twice the lapse) and
        ``lapse``.
    """
    first, second = model.weights(errors)
    out: dict[str, Any] = {"W1": first.copy()}
    if model.deep:
        out["W2"] = second.copy()
    at = model.alpha_at
    for k, name in enumerate(("alpha", "beta")):
        out[name] = float(theta[at + k] * errors[at + k])
        out[f"log_{name}"] = float(errors[at + k])
    if model.lapse:
        lapse = theta[at + 2]
        out["lapse"] = float(lapse * (1.0 - 2.0 * lapse) * errors[at + 2])
        out["logit_lapse"] = float(errors[at + 2])
    return out
