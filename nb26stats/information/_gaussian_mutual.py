"""Mutual information of two sets of Gaussian columns, or of columns with a Gaussian copula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from ._copula import normal_scores, warn_of_ties
from ._gaussian_bias import plug_in_bias
from ._gaussian_checks import DEPENDENT
from ._samples import read_samples, same_trials, varying
from ._shrinkage import standardised

F64 = NDArray[np.float64]


def gaussian_mutual_information(x: object, y: object, *, copula: bool, bias: str | None) -> float:
    """Return the information in nats between the columns of x and those of y.

    Parameters
    ----------
    x, y : array-like of shape (n, d) or (n,)
        The same trials in rows.
    copula : bool
        Whether columns are replaced by the normal scores of their ranks (Ince et al. 2017).
    bias : {None, "analytic"}
        Whether the exact bias of Gaussian variables is taken off.

    Returns
    -------
    float
        Nats; with ``"analytic"`` it may be negative.

    Raises
    ------
    ValueError
        Numbers of trials differ or are too few, a value is not finite, no column varies, columns
        are linearly dependent, or one set is a function of the other.
    """
    parts = [varying(s) for s in same_trials(read_samples(x, "x"), read_samples(y, "y"))]
    values = [s.values for s in parts]
    if copula:
        for s in parts:
            warn_of_ties(s.values, s.name)
        values = [normal_scores(v) for v in values]
    n, (dx, dy) = len(values[0]), (v.shape[1] for v in values)
    if n <= dx + dy:
        raise ValueError(
            f"{n} trials are too few for {dx + dy} columns (x and y together): a Gaussian estimate "
            f"needs more than {dx + dy}"
        )
    z = standardised(np.hstack(values))
    cov = z.T @ z / (n - 1)
    low_x, low_y = _factor(cov[:dx, :dx]), _factor(cov[dx:, dx:])
    if low_x is None or low_y is None:
        name = parts[0 if low_x is None else 1].name
        raise ValueError(f"a column of {name} is a linear function of its others")
    joint = _factor(cov)
    if joint is None:
        raise ValueError(
            "infinite information: a combination of the columns of y is a linear function of x"
        )
    # x comes first in the joint factor, so its own diagonal cancels
    out = float(np.log(np.diag(low_y)).sum() - np.log(np.diag(joint)[dx:]).sum())
    return out - (plug_in_bias(dx, dy, n - 1) if bias is not None else 0.0)


def _factor(correlation: F64) -> F64 | None:
    """Return the lower Cholesky factor, or None where a column depends on those before it."""
    try:
        out: F64 = cholesky(correlation, lower=True)
    except LinAlgError:
        return None
    return None if float(np.diag(out).min()) ** 2 < DEPENDENT else out
