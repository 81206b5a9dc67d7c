"""Averages over treated rows: as points of a full model, as bounds where only a prior bound holds.

Arrays run over the averaged rows in their last axis; axes before it are resamples. ``difference``
is the mean outcome under treatment less the one under control at a row's covariates, which equals
the prior times the effect of response.

The average effect on the treated needs neither: ``doubly_robust_att`` takes it from outcomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

F64 = NDArray[np.float64]

MIN_PRIOR, MAX_PRIOR = 0.01, 0.99
"""Range of the prior where an effect is divided by it."""


N_SCORES = 999
"""Normal scores that stand for the sampling error of an average."""


class Att(NamedTuple):
    """Average effect on the treated.

    Attributes
    ----------
    value, error : float
        Estimate, and its standard error; NaN where one row has all the weight of its arm.
    """

    value: float
    error: float


def doubly_robust_att(
    residual: ArrayLike, control_residual: ArrayLike, weight: ArrayLike | None = None
) -> Att:
    """Return the mean residual of treated rows less the weighted one of comparable controls.

    Residuals are outcomes less their fitted mean without response. Where that fit is off, it is
    off by as much, on average, at controls that are weighted to look like the treated rows, and
    the difference takes it out: the estimate errs by the product of two errors, of the fitted mean
    and of the weights, and is right where either is.

    Parameters
    ----------
    residual : array-like of shape (m,)
        Residuals of treated rows.
    control_residual : array-like of shape (l,)
        Residuals of controls, out of sample.
    weight : array-like of shape (l,), optional
        Odds of treatment of the controls; equal by default.

    Returns
    -------
    Att
        The error is the root of the sum of the squared influences of single rows, each the change
        that leaving that row out would make.

    Raises
    ------
    ValueError
        If there is no treated row, or no control.
    """
    r1, r0 = (np.asarray(r, dtype=np.float64) for r in (residual, control_residual))
    if not (r1.size and r0.size):
        raise ValueError(
            f"an effect on the treated needs rows in both arms, got {r1.size} and {r0.size}"
        )
    treated, treated_variance = _mean(r1, np.ones_like(r1))
    control, control_variance = _mean(
        r0, np.ones_like(r0) if weight is None else np.asarray(weight, dtype=np.float64)
    )
    return Att(treated - control, float(np.sqrt(treated_variance + control_variance)))


def _mean(values: F64, weight: F64) -> tuple[float, float]:
    """Return the weighted mean, and its variance by leaving out each value."""
    share = weight / weight.sum()
    mean = float(share @ values)
    rest = 1.0 - share
    if rest.min() < 1e-9:
        return mean, float("nan")
    return mean, float(np.sum((share * (values - mean) / rest) ** 2))


def att_limits(att: Att, level: float) -> tuple[float, float]:
    """Return the normal confidence limits of an average effect."""
    reach = float(ndtri((1.0 + level) / 2.0)) * att.error
    return att.value - reach, att.value + reach


def responder_bounds(att: ArrayLike, share: ArrayLike) -> tuple[F64, F64]:
    """Return the ends of the mean effect among responders, of whom ``share`` is the least number.

    All respond at one end, as few as can at the other. ``att`` and ``share`` broadcast.
    """
    a = np.asarray(att, dtype=np.float64)
    # means first: no row is divided by a prior near zero
    at_bound = a / np.clip(np.asarray(share, dtype=np.float64), MIN_PRIOR, 1.0)
    return np.minimum(a, at_bound), np.maximum(a, at_bound)


def responder_limits(att: Att, shares: ArrayLike, level: float) -> tuple[float, float]:
    """Return confidence limits of both ends: the error of the average and that of the share.

    Parameters
    ----------
    att : Att
        Average effect on the treated.
    shares : array-like of shape (B,)
        Least share of responders, as resamples spread it about its estimate.
    level : float
        Level of the limits.

    Notes
    -----
    Every share meets every normal score of the average, as if both erred independently. A sample
    with more responders raises both, so that their ratio varies less and the limits are wide.
    """
    scores = ndtri((np.arange(N_SCORES) + 0.5) / N_SCORES)
    lower, upper = responder_bounds(
        (att.value + att.error * scores)[:, None], np.asarray(shares, dtype=np.float64)
    )
    tail = (1.0 - level) / 2.0
    return float(np.quantile(lower, tail)), float(np.quantile(upper, 1.0 - tail))


def around(value: float, resampled: ArrayLike) -> F64:
    """Return resampled shares moved so that their mean is the estimate, within [0, 1].

    A resample's bound of the prior rests on single densities, not on their quantiles, and lies
    above the estimate: resamples tell the spread, not the place.
    """
    draws = np.asarray(resampled, dtype=np.float64)
    return np.asarray(np.clip(value + draws - draws.mean(), 0.0, 1.0))


def effect_bounds(prior: ArrayLike, difference: ArrayLike) -> tuple[F64, F64]:
    """Return the least and largest effect of response that a prior of at least ``prior`` allows.

    Parameters
    ----------
    prior : array-like
        Lower bounds of the prior.
    difference : array-like
        Differences of the means of both arms, of the same shape.

    Returns
    -------
    lower, upper : ndarray
        Row by row: the difference itself (all respond) and the difference over the bound.
    """
    c = np.asarray(difference, dtype=np.float64)
    at_bound = c / np.clip(np.asarray(prior, dtype=np.float64), MIN_PRIOR, MAX_PRIOR)
    return np.minimum(c, at_bound), np.maximum(c, at_bound)


def bounds(estimand: str, prior: ArrayLike, difference: ArrayLike) -> tuple[F64, F64]:
    """Return both ends of what a lower bound of the prior allows.

    Parameters
    ----------
    estimand : {"erpf", "care"}
        What to average.
    prior : array-like of shape (..., m)
        Lower bounds of the prior.
    difference : array-like of shape (..., m)
        Differences of the means of both arms.

    Returns
    -------
    lower, upper : ndarray of shape (...)

    Raises
    ------
    ValueError
        If there is no row, shapes differ, or there is no such estimand.
    """
    p, c = _pair(prior, difference, "difference")
    if estimand == "erpf":
        least = p.mean(axis=-1)
        return least, np.ones_like(least)
    if estimand == "care":
        low, high = effect_bounds(p, c)
        return low.mean(axis=-1), high.mean(axis=-1)
    raise ValueError(f"estimand={estimand!r} must be one of 'erpf', 'care'")


def points(estimand: str, prior: ArrayLike, effect: ArrayLike) -> F64:
    """Return the estimand of a model that knows both the prior and the effect of response.

    Parameters
    ----------
    estimand : {"erpf", "care", "responder_effect", "att"}
        What to average.
    prior : array-like of shape (..., m)
        Prior of response.
    effect : array-like of shape (..., m)
        Effect of response.

    Returns
    -------
    ndarray of shape (...)

    Raises
    ------
    ValueError
        If there is no row, shapes differ, or there is no such estimand.
    """
    p, d = _pair(prior, effect, "effect")
    if estimand == "erpf":
        return np.asarray(p.mean(axis=-1))
    if estimand == "care":
        return np.asarray(d.mean(axis=-1))
    att = np.asarray((p * d).mean(axis=-1))
    if estimand == "att":
        return att
    if estimand == "responder_effect":
        return np.asarray(att / np.maximum(p.mean(axis=-1), MIN_PRIOR))
    raise ValueError(
        f"estimand={estimand!r} must be one of 'erpf', 'care', 'responder_effect', 'att'"
    )


def _pair(prior: ArrayLike, other: ArrayLike, name: str) -> tuple[F64, F64]:
    p = np.asarray(prior, dtype=np.float64)
    values = np.asarray(other, dtype=np.float64)
    if p.shape != values.shape:
        raise ValueError(f"prior and {name} must have one shape, got {p.shape} and {values.shape}")
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError("an estimand averages over treated rows, and none was given")
    return p, values
