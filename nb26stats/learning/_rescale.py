"""Where the temperature is a matter of scale: the same model at another beta."""

from __future__ import annotations

import numpy as np

from ._model import F64, Model


def beta_is_scale(model: Model) -> bool:
    """Return whether every beta gives the same likelihoods, over rescaled weights.

    So it is for policy rules where outputs are homogeneous in the weights: in one layer, and in two
    that are linear or rectified, unless a constant joins the hidden units.
    """
    linear = model.architecture == "2L" or (model.deep and model.activation == "relu")
    return model.policy and (not model.deep or (linear and not model.output_bias))


def at_beta(model: Model, theta: F64, beta: float) -> F64:
    """Return the parameters of the same likelihood at another beta.

    Parameters
    ----------
    model : Model
        A model with ``beta_is_scale``.
    theta : ndarray of shape (..., P)
        Natural parameters.
    beta : float
        The beta to have.

    Returns
    -------
    ndarray of shape (..., P)
        One layer: ``(c W, c^2 alpha)``, two layers: ``(sqrt(c) W, c alpha)``, with c the old beta
        over the new one.
    """
    out = np.array(theta, dtype=np.float64)
    at = model.alpha_at
    c = out[..., at + 1] / beta
    out[..., :at] *= (np.sqrt(c) if model.deep else c)[..., None]
    out[..., at] *= c if model.deep else c * c
    out[..., at + 1] = beta
    return out
