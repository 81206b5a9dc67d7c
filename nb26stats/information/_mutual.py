"""Mutual information of two variables, discrete or Gaussian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nb26stats._check import as_choice, as_float, as_int
from nb26stats._seed import as_seed

from ._bias import miller_madow, panzeri_treves, resampled
from ._gaussian_mutual import gaussian_mutual_information
from ._measures import F64, table_information
from ._tables import as_codes, check_cells, count_table, same_length

BIASES = {
    "gaussian": ("analytic",),
    "copula": ("analytic",),
    "discrete": ("miller-madow", "panzeri-treves", "qe", "shuffle"),
}


def mutual_information(
    x: Any,
    y: Any,
    *,
    method: str = "gaussian",
    bias: str | None = None,
    n_permutations: int = 100,
    base: float = 2,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> float:
    """Return the mutual information of two variables.

    Parameters
    ----------
    x, y : array-like of shape (n,) or (n, d)
        Samples. ``method="discrete"`` takes whole numbers (also as floats), booleans, strings or
        categories, and codes the columns of a matrix jointly; the others take real numbers.
    method : {"gaussian", "copula", "discrete"}, default="gaussian"
        ``"gaussian"``: from the covariance. ``"copula"``: the same after each column has been
        brought to normal scores by its ranks, a lower bound for any marginals (Ince 2017).
        ``"discrete"``: from the contingency table.
    bias : str or None, default=None
        Correction of the sampling bias, not clipped at zero. ``"analytic"`` for the first two
        methods. For ``"discrete"``: ``"miller-madow"``, from the numbers of occupied cells;
        ``"panzeri-treves"``, from Bayesian estimates of how many symbols of ``x`` can occur given
        each symbol of ``y``; ``"qe"``, quadratic extrapolation from halves and quarters of the
        samples; ``"shuffle"``, the mean over permutations of ``y`` taken off.
    n_permutations : int, default=100
        Permutations of ``bias="shuffle"``.
    base : float, default=2
        Base of the logarithm: 2 for bits, ``numpy.e`` for nats.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the partition of ``"qe"`` and the permutations of ``"shuffle"``.

    Returns
    -------
    float
        Information in the unit of ``base``.

    Raises
    ------
    ValueError
        For missing values, different numbers of trials, constant variables, or a parameter out of
        range.
    TypeError
        For data of the wrong kind, such as numbers with fractions where symbols are wanted.

    Notes
    -----
    ``"qe"`` has the least bias of the discrete corrections and the largest spread: with 50 samples
    of a table of 4 by 6 its standard deviation is 1.6 times that of the plug-in.

    Examples
    --------
    >>> from nb26stats.information import mutual_information
    >>> stimulus = ["left", "right"] * 20
    >>> spikes = [0.0, 3.0] * 20
    >>> round(mutual_information(spikes, stimulus, method="discrete"), 6)
    1.0
    """
    how = as_choice(method, "method", tuple(BIASES))
    if bias is not None:
        as_choice(bias, "bias", BIASES[how])
    unit = math.log(as_float(base, "base", above=1.0))
    permutations = as_int(n_permutations, "n_permutations", minimum=1)
    if how != "discrete":
        try:
            return gaussian_mutual_information(x, y, copula=how == "copula", bias=bias) / unit
        except TypeError as err:
            raise TypeError(f"{err}; for symbols there is method='discrete'") from err
    return _discrete(x, y, bias, permutations, as_seed(random_state)) / unit


def _discrete(x: Any, y: Any, bias: str | None, n_permutations: int, seed: int) -> float:
    """Return the information in nats."""
    named = [("x", as_codes(x, "x")), ("y", as_codes(y, "y"))]
    n = same_length(named)
    parts = [coded for _, coded in named]
    shape = (parts[0].n_symbols, parts[1].n_symbols)
    check_cells(shape)
    counts = count_table(parts)
    plug_in = float(table_information(counts / n))
    if bias is None:
        return plug_in
    if bias == "miller-madow":
        return plug_in - miller_madow(counts)
    if bias == "panzeri-treves":
        return plug_in - panzeri_treves(counts)

    def values(tables: F64) -> F64:
        return table_information(tables)[:, None]

    corrected = resampled(
        np.array([plug_in]),
        values,
        parts[0].codes,
        parts[1].codes,
        shape,
        bias=bias,
        n_permutations=n_permutations,
        seed=seed,
    )
    return float(corrected[0])
