"""Gaussian copula: every column by its ranks to normal scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from nb26stats._warnings import warn

F64 = NDArray[np.float64]

MOST_TIED = 0.05


def normal_scores(x: F64) -> F64:
    """Return the normal quantiles of ``rank / (n + 1)`` in each column; ties share a rank."""
    out: F64 = ndtri(rankdata(x, axis=0) / (len(x) + 1))
    return out


def tied_fraction(x: F64) -> F64:
    """Return for each column the fraction of values that occur more than once."""
    s = np.sort(x, axis=0)
    same = s[1:] == s[:-1]
    nothing = np.zeros((1, x.shape[1]), dtype=bool)
    tied = np.vstack([nothing, same]) | np.vstack([same, nothing])
    out: F64 = tied.mean(axis=0)
    return out


def warn_of_ties(x: F64, name: str) -> None:
    """Warn when a column has so many equal values that ranks say little about a Gaussian."""
    tied = tied_fraction(x)
    many = int((tied > MOST_TIED).sum())
    if many:
        warn(
            f"{name}: {many} of {x.shape[1]} columns have more than {MOST_TIED:.0%} tied values "
            f"(up to {tied.max():.0%}), for which normal scores are a poor model; smooth the "
            "signals, pool units, or use DiscretePID"
        )
