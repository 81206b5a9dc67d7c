"""How many parameters the choices can tell apart."""

from __future__ import annotations

from ._model import Model


def n_raw(model: Model) -> int:
    """Return the naive number of parameters: every weight, alpha, beta and, if used, lapse."""
    return model.n_theta


def n_identifiable(model: Model, free_beta: bool, free_alpha: bool = True) -> int:
    """Return the number of parameters that choices identify.

    It is the rank of the derivative of the logits by the parameters at generic ones.

    Parameters
    ----------
    model : Model
        The model.
    free_beta, free_alpha : bool
        Whether beta and alpha are fitted.

    Returns
    -------
    int
        Weights up to what leaves every likelihood as it is, plus alpha, beta and lapse as fitted.
    """
    return identifiable_weights(model) + free_alpha + free_beta + model.lapse


def identifiable_weights(model: Model) -> int:
    """Return the number of weights up to what leaves every likelihood as it is.

    Two linear layers turn into one another by rotations of the hidden units, and units beyond
    inputs plus outputs add nothing. Where updates and choices see the difference of two outputs
    only, so does the count.
    """
    inputs, outputs = model.n_inputs, 1 if sees_difference(model) else model.n_outputs
    if not model.deep:
        return inputs * outputs
    hidden, bias = model.hidden, outputs * model.output_bias
    if model.architecture == "2NL":
        return hidden * (inputs + outputs) + bias
    hidden = min(hidden, inputs + outputs)
    return hidden * (inputs + outputs) - hidden * (hidden - 1) // 2 + bias


def sees_difference(model: Model) -> bool:
    """Return whether only the difference of two outputs matters."""
    return model.n_outputs == 2 and (model.policy or (model.rule == "squared" and not model.deep))
