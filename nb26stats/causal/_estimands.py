"""Averages over treated rows: as points of a full model, as bounds where only a prior bound holds.

Arrays run over the averaged rows in their last axis; axes before it are resamples. ``difference``
is the mean outcome under treatment less the one under control at a row's covariates, which equals
the prior times the effect of response.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]

MIN_PRIOR, MAX_PRIOR = 0.01, 0.99
"""Range of the prior where an effect is divided by it."""


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
    estimand : {"erpf", "care", "responder_effect", "att"}
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
    if estimand == "att":
        return c.mean(axis=-1), c.mean(axis=-1)
    if estimand == "care":
        low, high = effect_bounds(p, c)
        return low.mean(axis=-1), high.mean(axis=-1)
    if estimand == "responder_effect":
        # means first: no row is divided by a prior near zero
        return effect_bounds_of_means(p, c)
    raise ValueError(_unknown(estimand))


def effect_bounds_of_means(prior: F64, difference: F64) -> tuple[F64, F64]:
    """Return the ends of the mean effect among responders: all respond, or as few as can."""
    c = difference.mean(axis=-1)
    at_bound = c / np.clip(prior.mean(axis=-1), MIN_PRIOR, 1.0)
    return np.minimum(c, at_bound), np.maximum(c, at_bound)


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
    raise ValueError(_unknown(estimand))


def _pair(prior: ArrayLike, other: ArrayLike, name: str) -> tuple[F64, F64]:
    p = np.asarray(prior, dtype=np.float64)
    values = np.asarray(other, dtype=np.float64)
    if p.shape != values.shape:
        raise ValueError(f"prior and {name} must have one shape, got {p.shape} and {values.shape}")
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError("an estimand averages over treated rows, and none was given")
    return p, values


def _unknown(estimand: str) -> str:
    return f"estimand={estimand!r} must be one of 'erpf', 'care', 'responder_effect', 'att'"
