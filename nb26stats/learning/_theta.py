"""Parameters that a caller hands over, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from nb26stats._check import as_numbers, as_vector

from ._model import F64, Model


def check_theta(model: Model, value: object, name: str) -> F64:
    """Return natural parameters of the model as (P,) float64."""
    theta = as_vector(value, name)
    if len(theta) != model.n_theta:
        raise ValueError(
            f"{name} must hold {model.n_theta} values ({', '.join(model.names())}), "
            f"got {len(theta)}"
        )
    if not np.isfinite(theta).all():
        at = int(np.argmin(np.isfinite(theta)))
        raise ValueError(f"{name} must be finite, got {theta[at]} for {model.names()[at]}")
    for at in range(model.alpha_at, model.n_theta):
        if theta[at] < 0.0 or (at == model.alpha_at + 2 and theta[at] > 0.5):
            where = "lie in [0, 0.5]" if at == model.alpha_at + 2 else "be at least 0"
            raise ValueError(f"{name}: {model.names()[at]}={theta[at]:g} must {where}")
    return theta


def check_init(model: Model, init: Any) -> F64:
    """Return starts of the caller as (n, P) natural parameters."""
    rows = as_numbers(init, "init")
    if rows.ndim > 2:
        raise ValueError(f"init must have shape (parameters,) or (n, parameters), got {rows.shape}")
    if rows.ndim == 2 and len(rows) == 0:
        raise ValueError(f"init holds no start: its shape is {rows.shape}")
    return np.array([check_theta(model, row, "init") for row in np.atleast_2d(rows)])
