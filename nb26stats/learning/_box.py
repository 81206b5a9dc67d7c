"""The region that a fit searches: equivalent across architectures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._model import F64, Model
from ._rescale import beta_is_scale

LOGIT_LAPSE = 9.2
"""Bound on logit(2 lapse): lapse between 5e-5 and .49995."""
DIVERGED = 1e4
"""Size of a diverged weight, before its scale."""
TOUCH = 1e-9
"""Distance to a bound, over the width of the box, that counts as touching it."""


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds in optimiser coordinates.

    Parameters
    ----------
    lower, upper : ndarray of shape (P,)
        Bounds; equal for a fixed parameter.
    free : ndarray of bool, shape (P,)
        Parameters that a fit moves.
    weight_limit : float
        A weight of this size counts as diverged.
    """

    lower: F64
    upper: F64
    free: NDArray[np.bool_]
    weight_limit: float

    def holds(self, u: F64) -> NDArray[np.bool_]:
        """Return whether rows of coordinates lie inside, bounds included."""
        inside = (u >= self.lower - TOUCH) & (u <= self.upper + TOUCH)
        return np.asarray(inside.all(axis=-1))

    def clip(self, u: F64) -> F64:
        """Return the nearest coordinates inside."""
        return np.clip(u, self.lower, self.upper)

    def touched(self, u: F64) -> NDArray[np.bool_]:
        """Return which free parameters lie on one of their bounds."""
        near = TOUCH * (self.upper - self.lower)
        return self.free & ((u <= self.lower + near) | (u >= self.upper - near))


def free_beta(model: Model, *, penalty: str = "none") -> bool:
    """Return whether beta is a parameter: a prior on the weights tells scales apart."""
    return penalty != "none" or not beta_is_scale(model)


def box(
    model: Model,
    *,
    weight_bound: float = 5.0,
    alpha_bounds: tuple[float, float] = (1e-6, 1.0),
    beta_bounds: tuple[float, float] = (0.1, 50.0),
    penalty: str = "none",
) -> Box:
    """Return the bounds of a fit.

    Where beta is fixed at 1, weights and alpha carry its scale, so their bounds widen by it: what
    one architecture can reach with a large beta, the others can reach with large weights.

    Parameters
    ----------
    model : Model
        The model to fit.
    weight_bound : float
        Largest size of a weight, before the scale of beta.
    alpha_bounds, beta_bounds : (float, float)
        Ranges of the learning rate and the inverse temperature.
    penalty : {"none", "gaussian"}
        With a penalty, beta is free in every model.

    Returns
    -------
    Box
        The bounds, in optimiser coordinates.
    """
    (alpha_low, alpha_high), (beta_low, beta_high) = alpha_bounds, beta_bounds
    free = free_beta(model, penalty=penalty)
    scale, power = 1.0, 0.0
    if model.policy and model.deep:
        scale, power = np.sqrt(beta_high), 1.0
    elif model.policy and not free:
        scale, power = beta_high, 2.0
    if free:
        power = 0.0
    else:
        beta_bounds = (1.0, 1.0)
    weights = np.full(model.n_weights, weight_bound * scale)
    alpha = np.log(alpha_low * beta_low**power), np.log(alpha_high * beta_high**power)
    beta = np.log(beta_bounds)
    lapse = [LOGIT_LAPSE] if model.lapse else []
    lower = np.concatenate([-weights, [alpha[0], beta[0]], np.negative(lapse)])
    upper = np.concatenate([weights, [alpha[1], beta[1]], lapse])
    return Box(lower, upper, lower < upper, float(DIVERGED * scale))
