"""Checks of the parameters that both estimators share."""

from __future__ import annotations

from typing import Any

from nb26stats._check import as_bool, as_choice, as_float, as_int, as_jobs, as_prob

CONTROLS = ("auto", "model", "calibrated", "published")
ESTIMANDS = ("erpf", "care", "responder_effect", "att")
ACTIONS = ("warn", "trim", "raise")
MISSING = ("raise", "drop", "impute")


def check_options(estimator: Any, pi0_choices: tuple[str, ...]) -> None:
    """Raise for the first parameter out of range or of the wrong kind."""
    as_prob(estimator.q, "q")
    as_choice(estimator.control, "control", CONTROLS)
    check_pi0(estimator.pi0, pi0_choices)
    as_bool(estimator.randomized, "randomized")
    if not 0.0 <= as_float(estimator.overlap, "overlap") < 0.5:
        raise ValueError(f"overlap={estimator.overlap:g} must lie in [0, 0.5)")
    as_choice(estimator.overlap_action, "overlap_action", ACTIONS)
    as_choice(estimator.missing, "missing", MISSING)
    as_bool(estimator.verbose, "verbose")
    as_bool(estimator.standardize, "standardize")
    as_int(estimator.n_bootstrap, "n_bootstrap", minimum=0)
    as_jobs(estimator.n_jobs)
    check_classifier(estimator.propensity_model)


def check_pi0(pi0: Any, choices: tuple[str, ...]) -> None:
    """Raise unless ``pi0`` is one of the words or a number in (0, 1]."""
    listed = ", ".join(repr(c) for c in choices)
    if isinstance(pi0, str):
        if pi0 not in choices:
            raise ValueError(f"pi0={pi0!r} must be one of {listed}, or a number in (0, 1]")
        return
    if not 0.0 < as_float(pi0, "pi0") <= 1.0:
        raise ValueError(f"pi0={float(pi0):g} must lie in (0, 1], or be one of {listed}")


def check_classifier(model: Any) -> None:
    """Raise unless ``model`` is None or an estimator that tells probabilities."""
    if model is None:
        return
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(
            "propensity_model must be a scikit-learn classifier, such as LogisticRegression(), "
            f"got {model!r}"
        )
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"propensity_model={model!r} has no predict_proba")
