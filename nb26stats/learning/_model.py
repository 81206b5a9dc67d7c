"""What a learning network is: its sizes and options, and the flat order of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

ARCHITECTURES = ("1L", "2L", "2NL")
RULES = ("rpe", "squared", "reinforce", "expected_reward", "cross_entropy")
POLICY_RULES = ("reinforce", "expected_reward", "cross_entropy")
REWARD_RULES = ("rpe", "reinforce")
"""Rules whose update needs the reward; the others need the correct side."""
MOST_HIDDEN, MOST_INPUTS = 64, 10**5
"""What the kernels hold."""
ACTIVATIONS = ("sigmoid", "tanh", "relu")
MISSING_REWARD = ("expected", "skip")


@dataclass(frozen=True)
class Model:
    """One learning network.

    Parameters
    ----------
    architecture : {"1L", "2L", "2NL"}
        One linear layer, two linear layers, or two with a nonlinearity between.
    rule : str
        One of ``RULES``.
    n_outputs : {1, 2}
        Outputs K.
    hidden : int
        Hidden units H; 0 for one layer.
    n_inputs : int
        Inputs D.
    activation : {"sigmoid", "tanh", "relu"}
        Nonlinearity of 2NL.
    output_bias : bool
        Whether a constant 1 joins the hidden units.
    lapse : bool
        Whether the lapse rate is a parameter.
    baseline : float
        Baseline b of the rule "reinforce".
    missing_reward : {"expected", "skip"}
        What a trial without an outcome does to the weights.
    alpha_layer2_ratio : float
        Learning rate of layer 2 over that of layer 1.
    weight_decay : float
        Share of every weight lost per update.
    weight_limit : float
        A weight of this size counts as diverged.
    """

    architecture: str
    rule: str
    n_outputs: int
    hidden: int
    n_inputs: int
    activation: str = "sigmoid"
    output_bias: bool = False
    lapse: bool = False
    baseline: float = 0.0
    missing_reward: str = "expected"
    alpha_layer2_ratio: float = 1.0
    weight_decay: float = 0.0
    weight_limit: float = 1e4

    @property
    def deep(self) -> bool:
        """Whether there are two layers."""
        return self.architecture != "1L"

    @property
    def policy(self) -> bool:
        """Whether the rule follows the gradient of the choice probability."""
        return self.rule in POLICY_RULES

    @property
    def shape_1(self) -> tuple[int, int]:
        """Shape of W1."""
        return (self.hidden if self.deep else self.n_outputs, self.n_inputs)

    @property
    def shape_2(self) -> tuple[int, int]:
        """Shape of W2; (0, 0) for one layer."""
        return (self.n_outputs, self.hidden + self.output_bias) if self.deep else (0, 0)

    @cached_property
    def n_weights(self) -> int:
        """Number of weights q."""
        (a, b), (c, d) = self.shape_1, self.shape_2
        return a * b + c * d

    @property
    def n_theta(self) -> int:
        """Length of theta: weights, alpha, beta and, where it is used, lapse."""
        return self.n_weights + 2 + self.lapse

    @property
    def alpha_at(self) -> int:
        """Position of alpha in theta; beta and lapse follow."""
        return self.n_weights

    def weights(self, theta: F64) -> tuple[F64, F64]:
        """Return W1 and W2 of the last axis of theta, or of rows of weights."""
        first = self.shape_1[0] * self.shape_1[1]
        lead = theta.shape[:-1]
        return (
            theta[..., :first].reshape(*lead, *self.shape_1),
            theta[..., first : self.n_weights].reshape(*lead, *self.shape_2),
        )

    def names(self) -> list[str]:
        """Return the name of every entry of theta, such as ``W1[0,2]``."""
        out = [
            f"{name}[{i},{j}]"
            for name, (rows, columns) in (("W1", self.shape_1), ("W2", self.shape_2))
            for i in range(rows)
            for j in range(columns)
        ]
        return [*out, "alpha", "beta", *(["lapse"] if self.lapse else [])]

    def to_coordinates(self, theta: F64) -> F64:
        """Return optimiser coordinates: weights, log alpha, log beta, logit(2 lapse)."""
        out = np.array(theta, dtype=np.float64)
        at = self.alpha_at
        with np.errstate(divide="ignore"):
            out[..., at : at + 2] = np.log(out[..., at : at + 2])
            if self.lapse:
                lapse = out[..., at + 2]
                out[..., at + 2] = np.log(2.0 * lapse) - np.log1p(-2.0 * lapse)
        return out

    def to_natural(self, u: F64) -> F64:
        """Return theta of optimiser coordinates."""
        out = np.array(u, dtype=np.float64)
        at = self.alpha_at
        out[..., at : at + 2] = np.exp(out[..., at : at + 2])
        if self.lapse:
            out[..., at + 2] = 0.5 / (1.0 + np.exp(-out[..., at + 2]))
        return out

    def native(
        self,
    ) -> tuple[int, int, int, int, int, int, bool, bool, float, bool, float, float, float]:
        """Return the options as the native kernels take them."""
        return (
            ARCHITECTURES.index(self.architecture),
            RULES.index(self.rule),
            self.n_outputs,
            self.hidden if self.deep else 0,
            self.n_inputs,
            ACTIVATIONS.index(self.activation),
            self.output_bias and self.deep,
            self.lapse,
            self.baseline,
            self.missing_reward == "skip",
            self.alpha_layer2_ratio,
            self.weight_decay,
            self.weight_limit,
        )
