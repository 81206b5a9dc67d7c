"""Constructor parameters of a learning rule, checked together, and the model they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nb26stats._check import as_bool, as_choice, as_float, as_int, as_jobs, as_list

from ._box import DIVERGED, Box, box
from ._embedding import shallow
from ._model import (
    ACTIVATIONS,
    ARCHITECTURES,
    MISSING_REWARD,
    MOST_HIDDEN,
    POLICY_RULES,
    RULES,
    Model,
)

N_RESTARTS = {"1L": 4, "2L": 8, "2NL": 24}
LARGEST = 1e100
"""Bounds beyond it, or below its inverse, would leave the range of numbers when rescaled."""


@dataclass(frozen=True)
class Options:
    """Clean parameters; ``model`` and ``box`` follow from them and the number of inputs."""

    architecture: str
    hidden: int
    activation: str
    rule: str
    n_outputs: int
    output_bias: bool
    lapse: bool
    baseline: float
    missing_reward: str
    drop_no_response: bool
    alpha_layer2_ratio: float
    weight_decay: float
    penalty: str
    weight_sd: float
    weight_bound: float
    alpha_bounds: tuple[float, float]
    beta_bounds: tuple[float, float]
    n_restarts: int
    own_restarts: bool
    n_pool: int
    nested_start: bool
    max_iter: int
    gradient: str
    count: str
    standard_errors: bool
    device: str
    n_jobs: int | None
    n_threads: int
    verbose: bool

    def model(self, n_inputs: int) -> Model:
        """Return the model for data with so many inputs."""
        model = Model(
            architecture=self.architecture,
            rule=self.rule,
            n_outputs=self.n_outputs,
            hidden=self.hidden if self.architecture != "1L" else 0,
            n_inputs=n_inputs,
            activation=self.activation if self.architecture == "2NL" else "sigmoid",
            output_bias=self.output_bias and self.architecture != "1L",
            lapse=self.lapse,
            baseline=self.baseline,
            missing_reward=self.missing_reward,
            alpha_layer2_ratio=self.alpha_layer2_ratio,
            weight_decay=self.weight_decay,
        )
        return self.limited(model)

    def limited(self, model: Model) -> Model:
        """Return the model with the weight limit that belongs to its box."""
        return replace(model, weight_limit=self.box(model).weight_limit)

    def box(self, model: Model) -> Box:
        """Return the region that a fit of the model searches."""
        return box(
            model,
            weight_bound=self.weight_bound,
            alpha_bounds=self.alpha_bounds,
            beta_bounds=self.beta_bounds,
            penalty=self.penalty,
        )

    def shallow(self, model: Model) -> tuple[Options, Model]:
        """Return options and model of the one-layer fit that a deep fit starts from."""
        n_restarts = N_RESTARTS["1L"] if self.own_restarts else self.n_restarts
        options = replace(
            self, architecture="1L", n_restarts=min(n_restarts, self.n_pool), verbose=False
        )
        return options, options.limited(shallow(model))


def read_options(est: Any) -> Options:
    """Return the parameters of ``est``; the first one that is wrong raises."""
    architecture = as_choice(est.architecture, "architecture", ARCHITECTURES)
    rule = as_choice(est.rule, "rule", RULES)
    n_pool = as_int(est.n_pool, "n_pool", minimum=1, maximum=10**7)
    own = est.n_restarts is None
    n_restarts = (
        min(N_RESTARTS[architecture], n_pool)
        if own
        else as_int(est.n_restarts, "n_restarts", minimum=1)
    )
    if n_restarts > n_pool:
        raise ValueError(
            f"n_restarts={n_restarts} must be at most n_pool={n_pool}, of which they are the best: "
            "raise n_pool"
        )
    return Options(
        architecture=architecture,
        hidden=as_int(est.hidden, "hidden", minimum=1, maximum=MOST_HIDDEN),
        activation=as_choice(est.activation, "activation", ACTIVATIONS),
        rule=rule,
        n_outputs=_outputs(est, architecture, rule),
        output_bias=as_bool(est.output_bias, "output_bias"),
        lapse=as_bool(est.lapse, "lapse"),
        baseline=as_float(est.baseline, "baseline"),
        missing_reward=as_choice(est.missing_reward, "missing_reward", MISSING_REWARD),
        drop_no_response=as_bool(est.drop_no_response, "drop_no_response"),
        alpha_layer2_ratio=as_float(est.alpha_layer2_ratio, "alpha_layer2_ratio", minimum=0.0),
        weight_decay=as_float(est.weight_decay, "weight_decay", minimum=0.0, maximum=1.0),
        penalty=as_choice(est.penalty, "penalty", ("none", "gaussian")),
        weight_sd=_scale(est.weight_sd, "weight_sd", LARGEST),
        weight_bound=_scale(est.weight_bound, "weight_bound", DIVERGED),
        alpha_bounds=_bounds(est.alpha_bounds, "alpha_bounds"),
        beta_bounds=_bounds(est.beta_bounds, "beta_bounds"),
        n_restarts=n_restarts,
        own_restarts=own,
        n_pool=n_pool,
        nested_start=as_bool(est.nested_start, "nested_start"),
        max_iter=as_int(est.max_iter, "max_iter", minimum=1, maximum=10**9),
        gradient=as_choice(est.gradient, "gradient", ("reverse", "forward")),
        count=as_choice(est.count, "count", ("identifiable", "raw")),
        standard_errors=as_bool(est.standard_errors, "standard_errors"),
        device=as_choice(est.device, "device", ("auto", "cpu", "cuda")),
        n_jobs=as_jobs(est.n_jobs),
        n_threads=as_int(est.n_threads, "n_threads", minimum=0, maximum=2**31 - 1),
        verbose=as_bool(est.verbose, "verbose"),
    )


def _outputs(est: Any, architecture: str, rule: str) -> int:
    redundant = as_bool(est.allow_redundant, "allow_redundant")
    if est.n_outputs is None:
        deep = architecture != "1L"
        return 2 if rule == "rpe" or (rule == "squared" and deep) else 1
    n_outputs = as_int(est.n_outputs, "n_outputs", minimum=1, maximum=2)
    if n_outputs == 2 and rule in POLICY_RULES and not redundant:
        raise ValueError(
            f"n_outputs=2 is redundant with rule={rule!r}, which sees only the difference of the "
            "two outputs: set n_outputs=1, or allow_redundant=True"
        )
    return n_outputs


def _bounds(value: object, name: str) -> tuple[float, float]:
    pair = as_list(value, name)
    if len(pair) != 2:
        raise ValueError(f"{name} must be a pair (low, high), got {len(pair)} values")
    low, high = (
        as_float(v, f"{name}[{i}]", minimum=1 / LARGEST, maximum=LARGEST)
        for i, v in enumerate(pair)
    )
    if low > high:
        raise ValueError(f"{name}=({low:g}, {high:g}) must be (low, high) with low <= high")
    return low, high


def _scale(value: object, name: str, largest: float) -> float:
    positive = as_float(value, name, above=0.0, maximum=largest)
    # squares of what is smaller still have no inverse
    return as_float(positive, name, minimum=1 / LARGEST)
