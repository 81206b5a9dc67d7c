"""Covariates: which columns are used, and how rows that come later get the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._warnings import warn

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """What was learned about the columns.

    Attributes
    ----------
    names : tuple of str
        Names of the columns in use, indicators of missing values last.
    medians : ndarray of shape (d,) or None
        What fills each given column, where missing values are filled.
    flagged : ndarray of int
        Given columns whose missing values get an indicator.
    used : ndarray of int
        Columns in use, among the given ones and the indicators after them.
    """

    names: tuple[str, ...]
    medians: F64 | None
    flagged: NDArray[np.int64]
    used: NDArray[np.int64]

    def apply(self, X: F64) -> F64:
        """Return the columns in use; rows with NaN keep it unless missing values are filled."""
        return np.ascontiguousarray(_filled(X, self.medians, self.flagged)[:, self.used])


def fit_columns(X: F64, *, names: Any, impute: bool) -> Columns:
    """Return the columns that vary, after filling if so asked, and say which do not."""
    d = X.shape[1]
    labels = [str(j) for j in range(d)] if names is None else [str(name) for name in names]
    medians = None
    flagged = np.empty(0, np.int64)
    if impute:
        gaps = ~np.isfinite(X)
        flagged = np.flatnonzero(gaps.any(axis=0))
        medians = np.array([0.0 if g.all() else np.median(X[~g, j]) for j, g in enumerate(gaps.T)])
        labels += [f"{labels[j]} missing" for j in flagged]
    full = _filled(X, medians, flagged)
    low, high = full.min(axis=0), full.max(axis=0)
    # the mean of equal numbers need not equal them, so the bound is a few roundings wide
    constant = high / 2 - low / 2 <= 2 * np.finfo(float).eps * np.maximum(abs(low), abs(high))
    gone = np.flatnonzero(constant)
    if len(gone):
        shown = ", ".join(labels[j] for j in gone[:10]) + (", …" if len(gone) > 10 else "")
        left = (
            "" if len(gone) < len(labels) else "; no covariate is left, so all rows share one prior"
        )
        warn(f"dropped {len(gone)} of {len(labels)} columns of X that never vary: {shown}{left}")
    used = np.flatnonzero(~constant)
    return Columns(tuple(labels[j] for j in used), medians, flagged, used)


def check_matrix(X: Any) -> None:
    """Raise where X is not a dense matrix of real numbers.

    Raises
    ------
    TypeError
        X is sparse, or no matrix at all.
    ValueError
        X is not two-dimensional, or columns hold something else than numbers; they are named.
    """
    from scipy import sparse

    if sparse.issparse(X):
        raise TypeError("X must be dense, got a sparse matrix; use X.toarray()")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        import pandas as pd

        kinds = {str(c): t for c, t in zip(X.columns, X.dtypes, strict=True) if not _is_real(pd, t)}
        if kinds:
            shown = [f"{c} ({t})" for c, t in list(kinds.items())[:10]]
            raise ValueError(
                f"X has {len(kinds)} columns that hold no numbers: {', '.join(shown)}"
                + (", …" if len(kinds) > 10 else "")
                + "; encode them first, for example as 0 and 1 per category"
            )
        return
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, got shape {array.shape}"
            + ("; use X.reshape(-1, 1) for one covariate" if array.ndim == 1 else "")
        )
    if array.dtype.kind not in "biuf":
        bad = [
            str(j)
            for j, column in enumerate(array.T)
            if array.dtype.kind != "O" or not _all_numbers(column)
        ] or [str(j) for j in range(array.shape[1])]
        raise ValueError(
            f"X must hold real numbers, got {array.dtype} values in columns "
            f"{', '.join(bad[:10])}{', …' if len(bad) > 10 else ''}; encode them first"
        )


def _is_real(pd: Any, dtype: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(dtype)) and not pd.api.types.is_complex_dtype(dtype)


def _all_numbers(column: NDArray[Any]) -> bool:
    return all(isinstance(v, (int, float, np.number)) for v in column)


def _filled(X: F64, medians: F64 | None, flagged: NDArray[np.int64]) -> F64:
    if medians is None:
        return X
    gaps = ~np.isfinite(X)
    return np.column_stack([np.where(gaps, medians, X), gaps[:, flagged].astype(np.float64)])
