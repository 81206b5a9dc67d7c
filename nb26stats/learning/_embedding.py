"""Shallow networks inside deep ones: starts that a deep fit owes to the shallow one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ._box import Box
from ._model import F64, Model
from ._rescale import at_beta, beta_is_scale

SCALES = (1.0, 2.0, 4.0)
"""Weights of layer 2 in two linear layers."""
STEPS = (0.5, 1.0)
"""How far hidden units leave the linear middle of their nonlinearity."""
JITTER = 0.01
DOUBLINGS = 12
"""Betas tried, by doubling, until a shallow fit that may have any lies in the deep box."""


@dataclass(frozen=True, eq=False)
class Start:
    """A start in optimiser coordinates, and whether noise was added to it."""

    u: F64
    jittered: bool


def shallow(model: Model) -> Model:
    """Return the one-layer model of the same rule, outputs and options."""
    return replace(model, architecture="1L", hidden=0, output_bias=False, activation="sigmoid")


def embed(model: Model, theta_1l: F64, scale: float) -> F64 | None:
    """Return a deep network that learns nearly like a shallow one.

    Parameters
    ----------
    model : Model
        The deep model.
    theta_1l : ndarray of shape (P1,)
        Natural parameters of `shallow(model)`.
    scale : float
        Two linear layers: the weight zeta of layer 2, ``W1 = W / zeta``, ``alpha / zeta**2``; the
        log-likelihoods differ by the order of ``zeta**-4``. Sigmoid and tanh units: the size eps of
        the weights into them; the difference is of the order of ``eps**2``.

    Returns
    -------
    ndarray of shape (P,) or None
        Natural parameters; None where there are too few hidden units (outputs for linear and tanh
        ones, twice as many for sigmoid ones), or rectified ones.
    """
    small = shallow(model)
    rows = model.n_outputs
    needed = 2 * rows if model.architecture == "2NL" and model.activation == "sigmoid" else rows
    if model.hidden < needed or (model.architecture == "2NL" and model.activation == "relu"):
        return None
    weight = small.weights(theta_1l)[0]
    first, second = np.zeros(model.shape_1), np.zeros(model.shape_2)
    eye = np.eye(rows)
    if model.architecture == "2L":
        first[:rows], second[:, :rows] = weight / scale, scale * eye
        factor = scale**-2
    elif model.activation == "tanh":
        first[:rows], second[:, :rows] = scale * weight, eye / scale
        factor = scale**2
    else:
        # sigmoid(s) - sigmoid(-s) is s / 2 near zero
        first[:needed:2], first[1:needed:2] = scale * weight, -scale * weight
        second[:, :needed:2], second[:, 1:needed:2] = 2.0 / scale * eye, -2.0 / scale * eye
        factor = 2.0 * scale**2
    rest = theta_1l[small.alpha_at :].copy()
    rest[0] *= factor
    return np.concatenate([first.ravel(), second.ravel(), rest])


def embeddings(
    model: Model, theta_1l: F64, box: Box, seed: int, *, n_pool: int = 100
) -> list[Start]:
    """Return the starts of a deep fit that repeat the shallow one.

    Parameters
    ----------
    model : Model
        The deep model.
    theta_1l : ndarray of shape (P1,)
        Natural parameters of the fit of `shallow(model)`.
    box : Box
        Bounds of the deep model.
    seed : int
        Key of the fit. The noise of start j is drawn with the spawn key ``10 n_pool + j``.
    n_pool : int
        Draws in the pool of the fit.

    Returns
    -------
    list of Start
        Every scale once with noise on the weights and once without, where the weights and alpha lie
        in the box; two linear layers also with the largest weight of layer 2 that the box allows,
        without noise. Spare hidden units are zero, or noise.
    """
    noisy = plain = list(STEPS)
    if model.architecture == "2L":
        noisy = list(SCALES)
        plain = list(dict.fromkeys([*noisy, float(box.upper[model.n_weights - 1])]))
    out = []
    wanted = [*((s, True) for s in noisy), *((s, False) for s in plain)]
    for j, (scale, jittered) in enumerate(wanted):
        u = _inside(model, theta_1l, box, scale)
        if u is None:
            continue
        if jittered:
            key = np.random.SeedSequence(entropy=seed, spawn_key=(10 * n_pool + j,))
            noise = np.random.default_rng(key).standard_normal(model.n_weights)
            u[: model.n_weights] += JITTER * noise
        out.append(Start(box.clip(u), jittered))
    return out


def _inside(model: Model, theta_1l: F64, box: Box, scale: float) -> F64 | None:
    """Return the embedding in coordinates of the box, or None where it lies outside."""
    small = shallow(model)
    # a shallow policy fit at beta 1 is the same model at every beta, a deep one with beta is not
    movable = beta_is_scale(small) and bool(box.free[model.alpha_at + 1])
    own = float(theta_1l[small.alpha_at + 1])
    for doubling in range(DOUBLINGS if movable else 1):
        theta = at_beta(small, theta_1l, own * 2.0**doubling) if doubling else theta_1l
        deep = embed(model, theta, scale)
        if deep is None:
            return None
        u = model.to_coordinates(deep)
        if box.holds(u):
            return u
    return None
