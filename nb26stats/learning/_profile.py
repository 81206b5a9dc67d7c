"""Profile likelihood: refits with one parameter held, along a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from nb26stats._check import as_prob, as_text, as_vector
from nb26stats._warnings import warn

from ._box import TOUCH
from ._gauge import turned
from ._model import F64, Model
from ._optimize import CONVERGED, START_DIVERGED, Prior, Task, evaluate, maximize
from ._profile_result import ProfileResult

GAIN = 1e-4
"""A refit must gain so much, in log units, for its neighbours to start from it."""
SURPASSED = 0.01
"""A refit so much above the fit shows that the fit was no maximum."""
MAX_ROUNDS = 50


def profile(
    model: Model,
    task: Task,
    u: F64,
    name: object,
    grid: object,
    *,
    prior: Prior | None = None,
    level: object = 0.95,
    max_iter: int = 300,
    gradient: str = "reverse",
    n_threads: int = 0,
    on_done: Callable[[int], object] | None = None,
) -> ProfileResult:
    """Return the profile likelihood of one parameter around a fit.

    All values are refitted from the fit at once; then each starts again from its neighbours as long
    as these improve, so that ridges are followed along the grid.

    Parameters
    ----------
    model : Model
        The model.
    task : Task
        Its trials, first mask, bounds and first row of free parameters are used.
    u : ndarray of shape (P,)
        The fit, in optimiser coordinates.
    name : str
        One of ``model.names()``.
    grid : array-like of shape (n,)
        Values in natural units.
    prior : Prior, optional
        The penalty in the objective.
    level : float
        Level of the interval.
    max_iter : int
        Iterations of a refit.
    gradient : {"reverse", "forward"}
        How gradients are taken.
    n_threads : int
        OpenMP threads.
    on_done : callable, optional
        Called with the number of refits done since its last call.

    Returns
    -------
    ProfileResult
        The curve and the interval.

    Raises
    ------
    ValueError
        The name is unknown or the parameter is fixed or not identified; the grid is empty, not
        finite or outside the bounds.
    """
    level = as_prob(level, "level")
    at = _position(model, task, name)
    values, held = _values(model, task, u, at, grid)
    n = values.size
    best = np.tile(u, (n, 1))
    best[:, at] = held
    objective, loglik = np.full(n, -np.inf), np.full(n, -np.inf)
    converged = np.zeros(n, dtype=bool)
    here, starts = np.arange(n), best
    for _ in range(MAX_ROUNDS):
        (found,) = maximize(
            model,
            [_rows(task, starts, at)],
            prior=prior,
            max_iter=max_iter,
            gradient=gradient,
            n_threads=n_threads,
            on_done=on_done,
        )
        improved = np.zeros(n, dtype=bool)
        for row, i in enumerate(here):
            gain = found.objective[row] - objective[i]
            if found.end[row] != START_DIVERGED and gain > 0.0:
                improved[i] |= gain > GAIN
                best[i], objective[i] = found.u[row], found.objective[row]
                loglik[i], converged[i] = found.loglik[row], found.end[row] == CONVERGED
        pairs = [(i, j) for i in range(n) for j in (i - 1, i + 1) if 0 <= j < n and improved[j]]
        if not pairs:
            break
        here = np.array([i for i, _ in pairs])
        starts = best[[j for _, j in pairs]]
        starts[:, at] = held[here]
    top = float(
        evaluate(model, _rows(task, u[None]), prior=prior, n_threads=n_threads).objective[0]
    )
    estimate = model.to_natural(u)[at]
    where = u[at]
    best_at = int(np.argmax(objective))
    if objective[best_at] > top + SURPASSED:
        warn(
            f"the refit at {name}={values[best_at]:.4g} is {objective[best_at] - top:.3g} log "
            "units above the fit, which was no maximum; the interval is taken around the refit: "
            "fit again with more n_restarts",
            ConvergenceWarning,
        )
        top, estimate, where = float(objective[best_at]), values[best_at], held[best_at]
    ends = crossings(
        np.append(held, where), np.append(objective, top), top - 0.5 * float(chi2.ppf(level, 1))
    )
    low, high = (_natural(model, u, at, v) for v in ends)
    _warn_open(str(name), values, objective, top, (low, high))
    if not converged.all():
        warn(
            f"{int((~converged).sum())} of {n} refits of {name} did not converge, the first at "
            f"{values[~converged][0]:.4g}: raise max_iter",
            ConvergenceWarning,
        )
    theta = model.to_natural(best)
    theta[:, at] = values
    return ProfileResult(
        name=str(name),
        grid=values,
        loglik=loglik,
        objective=objective,
        theta=theta,
        converged=converged,
        estimate=float(estimate),
        maximum=top,
        interval=(low, high),
        level=level,
    )


def crossings(at: F64, objective: F64, floor: float) -> tuple[float, float]:
    """Return where a curve first and last crosses a floor; NaN where it starts or ends above it.

    The root of the drop from the maximum, negative before it, is nearly linear in the parameter,
    and is what is interpolated: monotone between neighbours, with continuous slope.
    """
    order = np.argsort(at, kind="stable")
    at, drop = at[order], np.maximum(objective.max() - objective[order], 0.0)
    # the fit may lie on the grid
    twin = np.flatnonzero(np.diff(at) <= TOUCH * (at[-1] - at[0]))
    drop[twin] = drop[twin + 1] = np.minimum(drop[twin], drop[twin + 1])
    at, drop = np.delete(at, twin), np.delete(drop, twin)
    root = np.sqrt(2.0 * drop) * np.sign(np.arange(at.size) - int(drop.argmin()))
    limit = float(np.sqrt(2.0 * (objective.max() - floor)))
    above = np.flatnonzero(np.abs(root) <= limit)
    known = np.isfinite(root)
    curve = PchipInterpolator(at[known], root[known]) if known.sum() > 1 else None
    ends = []
    for i, side in ((int(above[0]), -1), (int(above[-1]), 1)):
        j = i + side
        if not 0 <= j < at.size:
            ends.append(np.nan)
        elif curve is None or not known[j]:
            ends.append(float(at[i]))
        else:
            ends.append(float(brentq(lambda v, c=curve, r=side * limit: c(v) - r, at[i], at[j])))
    return ends[0], ends[1]


def _position(model: Model, task: Task, name: object) -> int:
    names = model.names()
    text = as_text(name, "name")
    if text not in names:
        raise ValueError(f"name={text!r} must be one of {', '.join(names)}")
    at = names.index(text)
    if not task.free[0, at]:
        raise ValueError(f"name={text!r} is fixed in this model: there is no profile to take")
    if turned(model)[at]:
        raise ValueError(
            f"name={text!r} is not identified: the hidden units of two linear layers can be "
            "rotated without any change of a likelihood"
        )
    return at


def _values(model: Model, task: Task, u: F64, at: int, grid: object) -> tuple[F64, F64]:
    """Return the grid, sorted, in natural units and in coordinates."""
    values = np.unique(as_vector(grid, "grid"))
    if values.size == 0:
        raise ValueError("grid must hold at least one value")
    if not np.isfinite(values).all():
        raise ValueError("grid must be finite")
    low, high = (_natural(model, u, at, bound[at]) for bound in (task.lower, task.upper))
    slack = TOUCH * max(abs(low), abs(high))
    outside = (values < low - slack) | (values > high + slack)
    if outside.any():
        raise ValueError(
            f"grid must lie in [{low:g}, {high:g}], the bounds of {model.names()[at]}, got "
            f"{values[outside][0]:g}"
        )
    theta = np.tile(model.to_natural(u), (values.size, 1))
    theta[:, at] = np.clip(values, low, high)
    return values, model.to_coordinates(theta)[:, at]


def _natural(model: Model, u: F64, at: int, value: float) -> float:
    if np.isnan(value):
        return float("nan")
    row = u.copy()
    row[at] = value
    return float(model.to_natural(row)[at])


def _rows(task: Task, starts: F64, held: int | None = None) -> Task:
    n = len(starts)
    free = np.tile(task.free[0], (n, 1))
    if held is not None:
        free[:, held] = False
    mask = np.full(n, task.which_mask[0], dtype=np.int64)
    return replace(task, starts=starts, free=free, which_mask=mask)


def _warn_open(
    name: str, values: F64, objective: F64, top: float, interval: tuple[float, float]
) -> None:
    for side, end, value, drop in (
        ("below", interval[0], values[0], top - objective[0]),
        ("above", interval[1], values[-1], top - objective[-1]),
    ):
        if np.isnan(end):
            warn(
                f"the interval of {name} is open {side}: at {value:.4g}, where grid ends, the "
                f"objective has fallen by {max(drop, 0.0):.3g} only; widen grid",
                ConvergenceWarning,
            )
