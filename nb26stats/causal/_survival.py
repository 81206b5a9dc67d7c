"""Times to an event as z-scores: where each lies in what a control of its kind could expect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_float
from nb26stats._warnings import warn

from ._arms import read_treatment
from ._columns import check_size, read_matrix
from ._outcome import read_outcome

F64 = NDArray[np.float64]
CLIP = 1e-10
"""Closest that a probability comes to 0 or 1 before it becomes a z-score."""
MIN_EVENTS = 10
FLAT = 1e-5
"""Slope of the log-likelihood per row at which it is at its top."""
FAR = 20.0
"""Log hazard ratio per standard deviation beyond which a covariate separates the events."""


def survival_residual_z(
    time: ArrayLike,
    event: ArrayLike,
    X: ArrayLike,
    *,
    treatment: ArrayLike,
    penalizer: float = 0.05,
) -> F64:
    """Return survival times as z-scores, for the models that want a continuous outcome.

    A proportional-hazards model of the controls says how long a row with its covariates would live
    untreated; the z-score is the place of its own time in that distribution, positive for longer
    than expected.

    Parameters
    ----------
    time : array-like of shape (n,)
        Positive times to the event, or to the end of observation, in any one unit.
    event : array-like of shape (n,)
        1 or True where the event was seen, 0 or False where the time is censored.
    X : array-like of shape (n, p)
        Covariates.
    treatment : array-like of shape (n,)
        Arm of each row, as in ``NonparametricC2G.fit``.
    penalizer : float, default=0.05
        Ridge penalty of the standardised coefficients, per row.

    Returns
    -------
    ndarray of shape (n,)
        The z-scores, between -6.4 and 6.4.

    Raises
    ------
    ValueError
        If lengths differ, a value is missing, a time is not positive, ``event`` holds anything but
        0 and 1, or the controls have fewer than 10 events.
    TypeError
        If something does not hold numbers.

    Notes
    -----
    A censored time is replaced by the mean of the times that its own model leaves possible. That
    is a heuristic: such rows get a typical score for what is left, whatever they would have done,
    so with much censoring long survivors are drawn together and a warning says so. Controls are
    scored by the model that they were fitted to, which makes theirs a little too small in size.
    Proportional hazards are assumed among the controls, nothing about the treated. Where no event
    of a control follows a time, the score does not grow any more.

    References
    ----------
    .. [1] Cox (1972), Journal of the Royal Statistical Society B 34, 187.
    .. [2] Breslow (1974), Biometrics 30, 89.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import survival_residual_z
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 2))
    >>> lives = rng.exponential(np.exp(X[:, 0]))
    >>> z = survival_residual_z(lives, np.ones(400), X, treatment=np.arange(400) % 2)
    >>> bool(abs(z.mean()) < 0.2), bool(0.8 < z.std() < 1.2)
    (True, True)
    """
    lived, seen, x, treated = _read(time, event, X, treatment)
    ridge = as_float(penalizer, "penalizer", minimum=0.0)
    n_events = int(seen[~treated].sum())
    if n_events < MIN_EVENTS:
        raise ValueError(
            f"the controls have {n_events} events, at least {MIN_EVENTS} are needed to say how "
            "long a control lives"
        )
    share = 1.0 - float(seen.mean())
    if share > 0.5:
        warn(
            f"{100 * share:.0f} % of the times are censored: their z-scores come from the model "
            "more than from the rows"
        )
    steps, hazard, risk = _proportional_hazards(lived, seen, x, ~treated, ridge)
    hazard = np.concatenate([[0.0], hazard])  # before the first event, and after each
    at = np.searchsorted(steps, _completed(lived, seen, steps, hazard, risk), side="right")
    alive = np.exp(-risk * hazard[at])
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(1.0 - alive, CLIP, 1.0 - CLIP)))


def _read(
    time: Any, event: Any, X: Any, treatment: Any
) -> tuple[F64, NDArray[np.bool_], F64, NDArray[np.bool_]]:
    lived, happened = read_outcome(time, "time"), read_outcome(event, "event")
    x = np.asarray(read_matrix(X), dtype=np.float64)
    arms = read_treatment(treatment)
    lengths = {"time": len(lived), "event": len(happened), "X": len(x)}
    lengths["treatment"] = len(arms.values)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise ValueError(f"time, event, X and treatment must have one length, got {listed}")
    columns = {"time": lived, "event": happened, "X": x, "treatment": arms.values}
    for name, values in columns.items():
        bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        if bad.any():
            raise ValueError(
                f"{name} is missing or infinite in {bad.sum()} rows, the first is {bad.argmax()}; "
                "leave them out"
            )
    varies = np.flatnonzero(x.min(axis=0) < x.max(axis=0))
    if len(varies):
        check_size(x[:, varies], [f"column {j} of X" for j in varies])
    if (lived <= 0).any():
        i = int((lived <= 0).argmax())
        raise ValueError(f"time must be positive, got {lived[i]:g} in row {i}")
    if not np.isin(happened, (0.0, 1.0)).all():
        i = int((~np.isin(happened, (0.0, 1.0))).argmax())
        raise ValueError(f"event must be 1 (seen) or 0 (censored), got {happened[i]:g} in row {i}")
    return lived, happened == 1.0, x, arms.treated(np.arange(len(lived)))


def _proportional_hazards(
    lived: F64, seen: NDArray[np.bool_], x: F64, own: NDArray[np.bool_], ridge: float
) -> tuple[F64, F64, F64]:
    """Return event times, baseline cumulative hazard there, and the relative risk of every row."""
    center, scale = x[own].mean(axis=0), x[own].std(axis=0)
    varies = scale > 1e-12 * np.abs(x[own]).max(axis=0)
    z = (x[:, varies] - center[varies]) / scale[varies]
    log_risk = z @ _coefficients(lived[own], seen[own], z[own], ridge)
    risk = np.exp(np.clip(log_risk, -700, 700))
    # Breslow's sums; those of statsmodels leave out the event at the time itself
    order = np.argsort(-lived[own], kind="stable")
    down, at_risk = -lived[own][order], np.cumsum(risk[own][order])
    events, count = np.unique(lived[own & seen], return_counts=True)
    alive = at_risk[np.searchsorted(down, -events, side="right") - 1]
    return events, np.cumsum(count / alive), risk


def _coefficients(lived: F64, seen: NDArray[np.bool_], z: F64, ridge: float) -> F64:
    """Return the penalised maximum of Breslow's partial likelihood."""
    from scipy.optimize import minimize
    from statsmodels.duration.hazard_regression import PHReg

    n, p = z.shape
    if p == 0:
        return np.zeros(0)
    model = PHReg(lived, z, status=seen.astype(float), ties="breslow")

    def value_and_slope(b: F64) -> tuple[float, F64]:
        return float(-model.loglike(b) / n + ridge * (b @ b) / 2), -model.score(b) / n + ridge * b

    def curvature(b: F64) -> F64:
        return np.asarray(-model.hessian(b) / n + ridge * np.eye(p))

    failed = True
    with np.errstate(all="ignore"):
        try:
            found = minimize(
                value_and_slope,
                np.zeros(p),
                jac=True,
                hess=curvature,
                method="trust-exact",
                options={"gtol": 1e-8},
            )
            beta = np.asarray(found.x)
            # near the optimum the last steps may drown in rounding, which is no failure
            flat = float(np.abs(found.jac).max()) < FLAT
            failed = not flat or bool(np.abs(beta).max() > FAR)
        except (ValueError, np.linalg.LinAlgError):
            pass
    if failed:
        raise ValueError(
            "the hazard model of the controls has no optimum; a larger penalizer gives it one"
        )
    return beta


def _completed(lived: F64, seen: NDArray[np.bool_], steps: F64, hazard: F64, risk: F64) -> F64:
    """Return the times, the censored ones as the mean of the event times that may follow."""
    out = lived.copy()
    for i in np.flatnonzero(~seen):
        first = int(np.searchsorted(steps, lived[i], side="right"))
        if first == len(steps):
            continue
        # before the first of them, and after each
        alive = np.exp(-risk[i] * hazard[first:])
        mass = alive[:-1] - alive[1:]
        if alive[0] > 0 and mass.sum() > 0:
            # who outlives the last event is counted there
            total = float(mass @ steps[first:]) + float(alive[-1] * steps[-1])
            out[i] = total / float(mass.sum() + alive[-1])
    return out
