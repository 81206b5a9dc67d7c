"""The user's rows as clean arrays, or one sentence that says what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from nb26stats._warnings import warn

from ._arms import read_treatment
from ._cautions import SmallSampleWarning
from ._columns import Columns, check_size, fit_columns, read_matrix
from ._outcome import check_continuous, read_outcome, refuse_survival

F64 = NDArray[np.float64]

MIN_ARM = 30
SMALL_ARM = 100


@dataclass(frozen=True, eq=False)
class Rows:
    """Complete rows of both arms.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Columns that vary; p may be 0.
    y : ndarray of shape (n,)
        Outcome, in the user's units.
    treated : ndarray of shape (n,)
        Whether a row was treated.
    kept : ndarray of shape (n,)
        Positions of these rows among the user's.
    n_given : int
        Number of the user's rows.
    index : pandas.Index or None
        Labels of the user's rows, where they came with any.
    columns : Columns
        How further rows become columns like those of ``X``.
    """

    X: F64
    y: F64
    treated: NDArray[np.bool_]
    kept: NDArray[np.int64]
    n_given: int
    index: Any
    columns: Columns

    def spread(self, values: Any, at: Any = None, fill: Any = np.nan) -> NDArray[Any]:
        """Return values of these rows (or of those at ``at``) in an array of the user's length."""
        out = np.full(self.n_given, fill)
        out[self.kept if at is None else self.kept[at]] = values
        return out


def check_rows(estimator: Any, X: Any, y: Any, treatment: Any, event: Any = None) -> Rows:
    """Return the complete rows of ``fit``'s arguments.

    Parameters
    ----------
    estimator : estimator
        Has ``missing`` and ``_max_columns``; learns ``n_features_in_`` and ``feature_names_in_``.
    X, y, treatment, event : object
        As the user gave them.

    Raises
    ------
    TypeError
        X is sparse, y holds times to an event, or something is not a number.
    ValueError
        Everything else that makes the model inapplicable.
    """
    refuse_survival(y, event)
    X = read_matrix(X)
    index = getattr(X, "index", None) if hasattr(X, "columns") else getattr(y, "index", None)
    index = None if callable(index) else index
    outcome = read_outcome(y)
    arms = read_treatment(treatment)
    lengths = (len(X), len(outcome), len(arms.values))
    if len(set(lengths)) > 1:
        raise ValueError(
            "X, y and treatment must have one row per sample, got shapes "
            f"{np.shape(X)}, {outcome.shape} and {arms.values.shape}"
        )
    matrix = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False)
    kept = _complete(matrix, outcome, arms.values, estimator.missing)
    treated = arms.treated(kept)
    n1 = int(treated.sum())
    _check_arms(len(kept) - n1, n1)
    outcome = outcome[kept]
    check_continuous(outcome)
    check_size(outcome[:, None], ["y"])
    columns = fit_columns(
        matrix[kept],
        names=getattr(estimator, "feature_names_in_", None),
        impute=estimator.missing == "impute",
    )
    most = estimator._max_columns
    if most is not None and len(columns.names) > most:
        warn(
            f"X has {len(columns.names)} columns, and nearest neighbours tell little in more than "
            f"{most}; reduce the dimension first, for example by principal components"
        )
    return Rows(
        X=columns.apply(matrix[kept]),
        y=outcome,
        treated=treated,
        kept=kept,
        n_given=lengths[0],
        index=index,
        columns=columns,
    )


def _complete(X: F64, y: F64, treatment: F64, missing: str) -> NDArray[np.int64]:
    """Return the positions of the rows to use."""
    bad = {
        "X": ~np.isfinite(X).all(axis=1),
        "y": ~np.isfinite(y),
        "treatment": ~np.isfinite(treatment),
    }
    counts = ", ".join(f"{name} in {int(rows.sum())}" for name, rows in bad.items() if rows.any())
    if not counts:
        return np.arange(len(y))
    if missing == "drop":
        gone = np.logical_or.reduce(list(bad.values()))
        if gone.all():
            raise ValueError(f"none of {len(y)} rows is complete; values are missing: {counts}")
        warn(
            f"dropped {int(gone.sum())} of {len(y)} rows with missing or infinite values: {counts}"
        )
        return np.flatnonzero(~gone)
    if missing == "impute" and not bad["y"].any() and not bad["treatment"].any():
        return np.arange(len(y))
    hint = (
        "missing='impute' fills X only; missing='drop' leaves such rows out"
        if missing == "impute"
        else "missing='drop' leaves such rows out, missing='impute' fills X"
    )
    raise ValueError(f"missing or infinite values, rows counted: {counts}; {hint}")


def _check_arms(n0: int, n1: int) -> None:
    for name, n in (("control", n0), ("treated", n1)):
        if n < MIN_ARM:
            raise ValueError(
                f"tiny arm: {n} {name} rows, and fewer than {MIN_ARM} cannot show a distribution"
            )
    small = [f"{n} {name} rows" for name, n in (("control", n0), ("treated", n1)) if n < SMALL_ARM]
    if small:
        warn(
            f"{' and '.join(small)}: below {SMALL_ARM} rows in an arm its density is rough and "
            "error rates are not well held",
            SmallSampleWarning,
        )
