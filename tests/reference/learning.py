"""Slow oracle of the learning networks: plain loops over trials, gradients by complex steps.

``drive`` is the reward for the rules "rpe" and "reinforce" and the correct side for the others; NaN
means that the trial has no outcome. Everything works on complex theta, so that one complex step per
parameter gives the gradient to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[Any]

CONTRASTS = (-0.5, -0.25, 0.0, 0.25, 0.5)


@dataclass(frozen=True)
class Walk:
    """What one pass over the trials leaves behind."""

    loglik: Any
    weights: Numbers  # (T + 1, q) before each trial and at the end
    log_left: Numbers  # (T,)
    log_right: Numbers  # (T,)
    diverged: int  # trial of the guard, or -1


def encode(contrast: Floats, p: float | None = 5.0) -> Floats:
    """Return the inputs left, right and 1 of signed contrasts."""
    left, right = np.maximum(-contrast, 0.0), np.maximum(contrast, 0.0)
    if p is not None:
        left, right = np.tanh(p * left) / np.tanh(p), np.tanh(p * right) / np.tanh(p)
    return np.stack([left, right, np.ones_like(left)], axis=1)


def det(n: int) -> tuple[Floats, NDArray[np.int8], Floats, Floats, Floats]:
    """Return x, choice, reward, side and contrast of the deterministic data with n trials."""
    contrast, choice, side = np.zeros(n), np.zeros(n, np.int8), np.zeros(n)
    for t in range(n):
        c = CONTRASTS[(7 * t + 3 * (t // 5)) % 5]
        a = int((t * t + 3 * t) % 7 < 3)
        if t > 100 and c != 0:
            a = int(c > 0)
        contrast[t], choice[t], side[t] = c, a, float(c > 0) if c != 0 else t % 2
    return encode(contrast), choice, (choice == side).astype(float), side, contrast


def det_theta(model: Any) -> Floats:
    """Return the parameters that go with the deterministic data, for 3 inputs and 2 hidden."""
    w1 = np.array([[0.4, -0.3, 0.1], [-0.2, 0.5, 0.05]])
    w2 = np.array([[0.6, -0.4], [-0.5, 0.7]])
    k = model.n_outputs
    w1, w2 = (w1, w2[:k]) if model.deep else (w1[:k], w2[:0])
    return np.concatenate([w1.ravel(), w2.ravel(), [0.05, 2.0]])


def activation(name: str, u: Numbers) -> tuple[Numbers, Numbers]:
    """Return the activation and its derivative."""
    if name == "sigmoid":
        tail = np.exp(np.where(u.real < 0, u, -u))
        h = np.where(u.real < 0, tail, 1.0) / (1.0 + tail)
        return h, h * (1.0 - h)
    if name == "tanh":
        h = np.tanh(u)
        return h, 1.0 - h * h
    on = (u.real > 0).astype(float)
    return u * on, on + 0.0 * u


def log_probabilities(logit: Any) -> tuple[Any, Any]:
    """Return log P(left) and log P(right)."""
    if np.real(logit) >= 0:
        low = np.log1p(np.exp(-logit))
        return -logit - low, -low
    low = np.log1p(np.exp(logit))
    return -low, logit - low


def error(
    model: Any, a: int, drive: float, o: Numbers, p: Any, beta: Any, readout: Floats
) -> Numbers:
    """Return the teaching signal e = -dLoss/do."""
    rule, k = model.rule, model.n_outputs
    if rule == "rpe":
        if k == 1:
            return (2 * a - 1) * (2 * drive - 1) - o
        e = np.zeros_like(o)
        e[a] = drive - o[a]
        return e
    if rule == "squared":
        return (np.array([1 - drive, drive]) if k == 2 else np.array([2 * drive - 1])) - o
    if rule == "reinforce":
        g = (drive - model.baseline) * (a - p)
    elif rule == "expected_reward":
        g = (2 * drive - 1) * p * (1 - p)
    else:
        g = drive - p
    return beta * g * readout


def walk(
    model: Any,
    x: Floats,
    choice: NDArray[np.int8] | None,
    drive: Floats,
    mask: NDArray[Any] | None,
    theta: Numbers,
    *,
    choose: Any = None,
) -> Walk:
    """Run the network over the trials; ``choose(t, p_right)`` replaces ``choice`` if given.

    ``choose`` returns the choice and the drive of trial t.
    """
    n = len(x)
    deep, k = model.deep, model.n_outputs
    readout = np.array([-1.0, 1.0]) if k == 2 else np.array([1.0])
    q = model.n_weights
    w1, w2 = (w.copy() for w in model.weights(np.asarray(theta)))
    alpha, beta = theta[q], theta[q + 1]
    lapse = theta[q + 2] if model.lapse else 0.0
    path = np.zeros((n + 1, q), np.asarray(theta).dtype)
    left, right = np.zeros(n, path.dtype), np.zeros(n, path.dtype)
    loglik: Any = 0.0
    for t in range(n):
        path[t] = np.concatenate([w1.ravel(), w2.ravel()])
        u = w1 @ x[t]
        if deep:
            h, slope = activation(model.activation, u) if model.architecture == "2NL" else (u, 1.0)
            h1 = np.append(h, 1.0) if model.output_bias else h
            o = w2 @ h1
        else:
            o = u
        logit = beta * (readout @ o)
        low = log_probabilities(logit)
        p = np.exp(low[1])
        if model.lapse:
            # lapse != 0 holds for an imaginary step away from 0 as well
            seen = [np.log((1 - lapse) * np.exp(v) + lapse / 2) if lapse != 0 else v for v in low]
        else:
            seen = list(low)
        left[t], right[t] = seen
        if choose is None:
            assert choice is not None
            a, d = int(choice[t]), float(drive[t])
        else:
            a, d = choose(t, np.exp(seen[1]))
        if mask is None or mask[t]:
            loglik = loglik + seen[a]
        if not np.isfinite(loglik):
            return Walk(-1e6 * n - 1e3 * (n - t), path, left, right, t)
        if np.isnan(d):
            if model.missing_reward == "skip":
                continue
            d = 0.5
        e = error(model, a, d, o, p, beta, readout)
        if deep:
            back = slope * (w2[:, : model.hidden].T @ e)
            w2 = w2 + model.alpha_layer2_ratio * alpha * np.outer(e, h1)
            w1 = w1 + alpha * np.outer(back, x[t])
        else:
            w1 = w1 + alpha * np.outer(e, x[t])
        w1, w2 = w1 * (1 - model.weight_decay), w2 * (1 - model.weight_decay)
        weights = np.concatenate([w1.ravel(), w2.ravel()]).real
        if not np.all(np.abs(weights) < model.weight_limit):
            return Walk(-1e6 * n - 1e3 * (n - t), path, left, right, t)
    path[n] = np.concatenate([w1.ravel(), w2.ravel()])
    return Walk(loglik, path, left, right, -1)


def loglik(
    model: Any,
    x: Floats,
    choice: NDArray[np.int8],
    drive: Floats,
    theta: Floats,
    mask: NDArray[Any] | None = None,
) -> float:
    """Return the log-likelihood of the choices, in nats."""
    return float(np.real(walk(model, x, choice, drive, mask, theta).loglik))


def gradient(
    model: Any,
    x: Floats,
    choice: NDArray[np.int8],
    drive: Floats,
    theta: Floats,
    mask: NDArray[Any] | None = None,
    step: float = 1e-30,
) -> Floats:
    """Return the gradient by theta (natural coordinates), one complex step per parameter."""
    out = np.zeros(len(theta))
    for i in range(len(theta)):
        moved = np.asarray(theta, np.complex128).copy()
        moved[i] += 1j * step
        done = walk(model, x, choice, drive, mask, moved)
        out[i] = np.imag(done.loglik) / step if done.diverged < 0 else 0.0
    return out


def simulate(
    model: Any, x: Floats, side: Floats, theta: Floats, uniforms: Floats
) -> tuple[NDArray[np.int8], Floats, Floats, Floats]:
    """Return choice, reward, P(right) and the last weights of one free run."""
    n = len(x)
    choice, reward, p_right = np.zeros(n, np.int8), np.full(n, np.nan), np.zeros(n)
    by_reward = model.rule in ("rpe", "reinforce")

    def choose(t: int, p: Any) -> tuple[int, float]:
        p_right[t] = float(np.real(p))
        choice[t] = uniforms[t] < p_right[t]
        if not np.isnan(side[t]):
            reward[t] = choice[t] * side[t] + (1 - choice[t]) * (1 - side[t])
        return int(choice[t]), float(reward[t] if by_reward else side[t])

    done = walk(model, x, None, side, None, np.asarray(theta, np.float64), choose=choose)
    return choice, reward, p_right, done.weights[n]
