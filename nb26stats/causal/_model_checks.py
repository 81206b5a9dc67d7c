"""Checks of models that a user hands in."""

from __future__ import annotations

from typing import Any


def check_model(model: Any, name: str, word: str, kind: str, *, weighted: bool) -> None:
    """Raise unless ``model`` is the word, or a scikit-learn model of the kind.

    Parameters
    ----------
    model : object
        What the user gave.
    name, word : str
        Name of the parameter, and the word that stands for the default.
    kind : {"regressor", "classifier"}
        What the model has to be.
    weighted : bool
        Whether its ``fit`` has to take ``sample_weight``.
    """
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, str):
        if model != word:
            raise ValueError(f"{name}={model!r} must be {word!r} or a scikit-learn {kind}")
        return
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(f"{name} must be {word!r} or a scikit-learn {kind}, got {model!r}")
    method = "predict" if kind == "regressor" else "predict_proba"
    if not hasattr(model, method):
        raise TypeError(f"{name}={model!r} has no {method}")
    if weighted and not has_fit_parameter(model, "sample_weight"):
        raise TypeError(
            f"{name}={model!r} does not take weights of rows: its fit must have sample_weight"
        )
