"""Covariates: which columns are used, and how rows that come later get the same ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_table, refuse_r_na, unmasked
from nb26stats._warnings import warn

F64 = NDArray[np.float64]

LARGEST, SMALLEST = 1e150, 1e-150
NO_COLUMN = "X has no column; where there are no covariates give one constant column"


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
        shown = listed([labels[j] for j in gone])
        left = (
            "" if len(gone) < len(labels) else "; no covariate is left, so all rows share one prior"
        )
        warn(f"dropped {len(gone)} of {len(labels)} columns of X that never vary: {shown}{left}")
    used = np.flatnonzero(~constant)
    if len(used):
        check_size(full[:, used], [f"column {labels[j]} of X" for j in used])
    return Columns(tuple(labels[j] for j in used), medians, flagged, used)


def read_matrix(X: Any) -> Any:
    """Return X, a dense matrix or DataFrame of real numbers, with NaN for what a mask hides.

    Raises
    ------
    TypeError
        X is sparse, or no matrix at all.
    ValueError
        X is not two-dimensional, or columns hold something else than numbers; they are named.
    """
    from scipy import sparse

    X = as_table(X, "X")
    if sparse.issparse(X):
        raise TypeError("X must be dense, got a sparse matrix; use X.toarray()")
    pd = sys.modules.get("pandas")
    if pd is not None and isinstance(X, pd.DataFrame):
        _check_frame(X, pd)
        return X
    if pd is not None and isinstance(X, pd.Series):
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}; use X.to_frame()")
    X = unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError as err:
        raise ValueError("X must have rows of one length, got ragged ones") from err
    if array.ndim != 2:
        what = f"shape {array.shape}" if array.ndim else f"a {type(X).__name__}"
        advice = "; use X.reshape(-1, 1) for one covariate, X.reshape(1, -1) for one row"
        raise ValueError(f"X must be two-dimensional, got {what}" + advice * (array.ndim == 1))
    if array.shape[1] == 0:
        raise ValueError(NO_COLUMN)
    if array.dtype.kind not in "biuf":
        mixed = array.dtype.kind == "O"
        bad = [j for j, c in enumerate(array.T) if not (mixed and _all_numbers(c))]
        raise ValueError(
            f"X must hold real numbers, got {array.dtype} values in columns "
            f"{listed([str(j) for j in bad or range(array.shape[1])])}; encode them first"
        )
    refuse_r_na(array, "X")
    return X


def _check_frame(X: Any, pd: Any) -> None:
    if X.shape[1] == 0:
        raise ValueError(NO_COLUMN)
    if any(isinstance(t, pd.SparseDtype) for t in X.dtypes):
        raise TypeError("X must be dense, got sparse columns; use X.sparse.to_dense()")
    bad = [f"{c} ({t})" for c, t in zip(X.columns, X.dtypes, strict=True) if not _is_real(pd, t)]
    if bad:
        several = f"{len(bad)} columns that hold" if len(bad) > 1 else "1 column that holds"
        raise ValueError(
            f"X has {several} no numbers: {listed(bad)}; encode them first, for example as 0 and "
            "1 per category"
        )


def listed(names: Sequence[str]) -> str:
    """Return up to ten names, and an ellipsis where there are more."""
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def check_size(X: F64, labels: Sequence[str]) -> None:
    """Raise ValueError where numbers are too large or too close together to be squared."""
    low, high = X.min(axis=0), X.max(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    bad = (size > LARGEST) | (high / 2 - low / 2 < SMALLEST / 2)
    if bad.any():
        raise ValueError(
            f"{labels[int(bad.argmax())]}: numbers above {LARGEST:g}, or within {SMALLEST:g} of "
            "each other, have squares that float64 cannot hold; give them in other units"
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
