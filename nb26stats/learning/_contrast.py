"""Contrasts: their checks, and their coding as inputs of a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_bool, as_float

from ._columns import as_column, shown


def encode_contrast(c: ArrayLike, p: float | None = 5.0, bias: bool = True) -> NDArray[np.float64]:
    """Return signed contrasts as inputs of a learning network: left, right and a constant.

    The contrast of each side is ``tanh(p |c|) / tanh(p)``, which keeps 0 and 1 and lets weak
    stimuli count for more than their contrast says.

    Parameters
    ----------
    c : array-like of shape (T,)
        Signed contrasts as fractions in [-1, 1]: negative where the stimulus was on the left.
    p : float or None, default=5.0
        Steepness of the compression, above 0; None for contrasts as they are.
    bias : bool, default=True
        Whether a column of ones follows, from which a preference of one side is learned.

    Returns
    -------
    ndarray of shape (T, 3), or (T, 2) without ``bias``
        Columns: left, right and, with ``bias``, 1.

    Raises
    ------
    ValueError
        A contrast is missing or beyond 1 (in percent), or ``p`` is not positive.
    TypeError
        ``c`` does not hold numbers.

    Notes
    -----
    The compression and its default are those of Ashwood et al. (2020, NeurIPS 33) and of
    psytrack's analysis of the mice of the International Brain Laboratory.

    Examples
    --------
    >>> from nb26stats.learning import encode_contrast
    >>> encode_contrast([-0.5, 0.0, 1.0], p=None)
    array([[0.5, 0. , 1. ],
           [0. , 0. , 1. ],
           [0. , 1. , 1. ]])
    """
    contrast = check_contrast(c, "c")
    steepness = None if p is None else as_float(p, "p", above=0.0)
    bias = as_bool(bias, "bias")
    sides = np.stack([np.maximum(-contrast, 0.0), np.maximum(contrast, 0.0)], axis=1)
    if steepness is not None:
        # of a tiny p both tanh vanish, and their ratio is |c|
        small = np.tanh(steepness) < 1e-150
        sides = sides if small else np.tanh(steepness * sides) / np.tanh(steepness)
    return np.hstack([sides, np.ones((len(sides), 1))]) if bias else sides


def check_contrast(value: object, name: str) -> NDArray[np.float64]:
    """Return signed contrasts in [-1, 1]."""
    contrast = as_column(value, name, None)
    wrong = ~(np.abs(contrast) <= 1.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        if np.isnan(contrast[at]):
            raise ValueError(f"{name} must be known on every trial, got NaN at trial {at}")
        raise ValueError(
            f"{name} must hold fractions in [-1, 1], got {shown(contrast[at])} at trial {at}: "
            "contrasts in percent must be divided by 100"
        )
    return contrast


def check_choice(value: object, name: str, n: int) -> NDArray[np.float64]:
    """Return n choices, each 0 or 1."""
    choice = as_column(value, name, n, of="contrast")
    gone = np.isnan(choice)
    if gone.any():
        raise ValueError(
            f"{name} holds {int(gone.sum())} of {n} trials without a response (NaN), the first at "
            f"trial {int(np.argmax(gone))}: drop them"
        )
    wrong = (choice != 0.0) & (choice != 1.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold 0 (left) or 1 (right), got {shown(choice[at])} at trial {at}"
        )
    return choice
