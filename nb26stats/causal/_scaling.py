"""Covariates and outcomes on scales of their own, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Affine maps of the columns of X and of y.

    Attributes
    ----------
    x_centre, x_scale : ndarray of shape (p,)
        What is taken off each column, and what it is divided by.
    y_centre, y_scale : float
        The same for the outcome.
    """

    x_centre: F64
    x_scale: F64
    y_centre: float
    y_scale: float

    def x(self, X: F64) -> F64:
        """Return scaled covariates."""
        return np.ascontiguousarray((X - self.x_centre) / self.x_scale)

    def y(self, y: F64) -> F64:
        """Return scaled outcomes."""
        return np.asarray((y - self.y_centre) / self.y_scale)

    def level(self, y: F64) -> F64:
        """Return scaled outcomes in the user's units."""
        return np.asarray(y * self.y_scale + self.y_centre)

    def difference(self, d: F64) -> F64:
        """Return differences of scaled outcomes in the user's units."""
        return np.asarray(d * self.y_scale)

    def per_unit(self, density: F64) -> F64:
        """Return densities of scaled outcomes as densities in the user's units."""
        return np.asarray(density / self.y_scale)


def spread(values: F64) -> float:
    """Return the standard deviation, also where squares of the values leave float64."""
    off = values - values.mean()
    largest = float(np.abs(off).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(np.mean((off / largest) ** 2)))


def fit_scaling(X: F64, y: F64, treated: NDArray[np.bool_], *, standardize: bool) -> Scaling:
    """Return means and standard deviations: of all rows for X, of the controls for y.

    Without ``standardize`` nothing is changed. Only the outcome's scale is the controls', so that
    responders do not set the unit in which they are looked for.

    Raises
    ------
    ValueError
        If y is the same in all controls.
    """
    controls = y[~treated]
    y_scale = spread(controls)
    if y_scale == 0.0:
        raise ValueError(
            f"y is {controls[0]:g} in all {len(controls)} control rows; without a spread in "
            "the controls there is nothing to tell a response from"
        )
    if not standardize:
        return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]), 0.0, 1.0)
    return Scaling(
        x_centre=X.mean(axis=0),
        x_scale=np.array([spread(column) for column in X.T]),
        y_centre=float(controls.mean()),
        y_scale=y_scale,
    )
