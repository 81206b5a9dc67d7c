"""The Gaussian penalty of a fit: a prior on weights, learning rate and temperature."""

from __future__ import annotations

import numpy as np

from ._model import Model
from ._optimize import Prior

LOG_ALPHA = (float(np.log(0.01)), 2.0)
LOG_BETA = (float(np.log(3.0)), 1.0)


def gaussian_prior(model: Model, *, weight_sd: float = 1.0) -> Prior:
    """Return the prior in optimiser coordinates.

    Parameters
    ----------
    model : Model
        The model.
    weight_sd : float
        Standard deviation of every weight around 0.

    Returns
    -------
    Prior
        Log alpha around log .01 with standard deviation 2, log beta around log 3 with 1; the lapse
        has none.
    """
    q = model.n_weights
    mean = np.zeros(model.n_theta)
    sd = np.full(model.n_theta, np.inf)
    sd[:q] = weight_sd
    mean[q], sd[q] = LOG_ALPHA
    mean[q + 1], sd[q + 1] = LOG_BETA
    return Prior(mean, sd)


def log_constant(prior: Prior) -> float:
    """Return what to add to the quadratic penalty so that it is the log density of the prior."""
    finite = prior.sd[np.isfinite(prior.sd)]
    return float(-np.log(finite).sum() - 0.5 * finite.size * np.log(2.0 * np.pi))
