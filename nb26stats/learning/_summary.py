"""The text table of a fitted learning rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from ._rule import DNNLearningRule

WIDTH = 78
OPEN_RATE = 0.5
"""Standard error of log alpha above which one estimate in five is wrong by a factor of e."""


def parameter_frame(est: DNNLearningRule) -> pd.DataFrame:
    """Return one row per parameter."""
    import pandas as pd

    columns = ["parameter", "estimate", "standard_error", "note"]
    return pd.DataFrame(list(_rows(est)), columns=columns)


def summary_text(est: DNNLearningRule) -> str:
    """Return estimates, errors and criteria of a fit."""
    options = est._options()
    model = est._same_model(options)
    left = {
        "Architecture": model.architecture + (f", {model.hidden} hidden" if model.deep else ""),
        "Rule": f"{model.rule}, {model.n_outputs} output{'s' * (model.n_outputs > 1)}",
        "Missing rewards": model.missing_reward,
        "Penalty": options.penalty,
        "Trials": est.n_trials_,
        "Counted": est.n_counted_,
        "Converged": "yes" if est.converged_ else "NO",
    }
    right = {
        "Log-likelihood": f"{est.loglik_:.3f}",
        "AIC": f"{est.aic_:.2f}" + (" (penalised)" if est.aic_is_penalised_ else ""),
        "BIC": f"{est.bic_:.2f}",
        "Parameters": f"{est.n_params_} ({est.n_params_raw_} raw)",
        "Per trial": f"{est.loglik_ / est.n_counted_:.5f} nats",
        "Best reached": f"{est.n_hit_} of {len(est.restart_logliks_)} starts",
        "Seed": est.seed_,
    }
    half = WIDTH // 2 - 1
    lines = ["Learning rule of one animal".center(WIDTH).rstrip(), "=" * WIDTH]
    for (a, v), (b, w) in zip(left.items(), right.items(), strict=True):
        lines.append(f"{a + ':':<18}{v!s:>{half - 18}}  {b + ':':<16}{w!s:>{half - 16}}")
    lines += ["-" * WIDTH, f"{'':<20}{'estimate':>14}{'std err':>14}{'':>6}{'':<24}".rstrip()]
    lines += [
        f"{name:<20}{value:>14.5g}{_error(error):>14}{'':>4}{note}".rstrip()
        for name, value, error, note in _rows(est)
    ]
    lines.append("=" * WIDTH)
    lines += _footnotes(est, model.architecture, model.hidden)
    return "\n".join(lines)


def _rows(est: DNNLearningRule) -> Iterator[tuple[str, float, float, str]]:
    errors: dict[str, Any] = est.std_errors_ or {}
    for name, value in est.params_.items():
        error = errors.get(name, np.full(np.shape(value), np.nan))
        for index in np.ndindex(np.shape(value)):
            label = name + (f"[{index[0]},{index[1]}]" if index else "")
            note = "fixed" if label in est.fixed_ else "on a bound" * (label in est.at_bounds_)
            yield label, float(np.asarray(value)[index]), float(np.asarray(error)[index]), note


def _error(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "-"


def _footnotes(est: DNNLearningRule, architecture: str, hidden: int) -> list[str]:
    notes = []
    if est.n_hit_ == 1:
        notes.append("One start only reached the best value: the optimum is not confirmed.")
    if est.at_bounds_ and architecture == "2L":
        notes.append("Bounds on weights are judged before the rotation to the reported form.")
    if est.std_errors_ is None:
        notes.append("No standard errors: standard_errors=False.")
    elif architecture == "2L" and hidden > 1:
        notes.append("Hidden units of 2L can be rotated: its single weights have no errors.")
    elif any(not (np.isfinite(error) or note) for _, _, error, note in _rows(est)):
        notes.append("No error (-): the choices leave this parameter nearly open.")
    if est.std_errors_ is not None and est.std_errors_["log_alpha"] > OPEN_RATE:
        notes.append(
            f"Standard error of log alpha above {OPEN_RATE}: alpha can be wrong by a factor of ten."
        )
    if est.std_errors_ is not None and not est.aic_is_penalised_:
        notes.append("Errors are from curvature; without a penalty their intervals are too narrow.")
    return notes
