"""Scores on the components, and rows from scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from nb26stats._check import unmasked

from ._csr import CsrRows, as_rows, is_sparse, scores_of
from ._kinds import check_kind, numeric
from ._rows import (
    Rows,
    as_source,
    check_rows,
    is_slab_source,
    parts,
    read,
    slab_source_kind,
    slabs,
)

FLOATS = [np.float64, np.float32]


class OjaScores(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transformation by a fitted OjaPCA; scikit-learn wraps what a transformer itself defines."""

    def transform(self: Any, X: Any) -> NDArray[Any]:
        """Return scores, ``(X - mean_) @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows, from whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (m, k)
            In float32 for float32 rows, else in float64.

        Raises
        ------
        NotFittedError
            Before k + 1 rows were seen.
        ValueError
            For values that are not finite or another number of columns.
        """
        check_is_fitted(self)
        X = as_source(X)
        check_kind(X)
        slab = is_slab_source(X)
        if slab:
            n, kind = self._look(X, reset=False)
        else:
            X = self._rows_of(X, reset=False)
            check_rows(X, self.missing, self._names())
            n, kind = len(X), X.dtype
        dtype = np.float32 if kind == np.float32 else np.float64
        components = self.components_.astype(dtype, copy=False)
        mean = self._state.running_mean
        out = np.empty((n, len(components)), dtype)
        for a, part in slabs(X, 0) if slab else parts(X):
            if slab:
                check_rows(part, self.missing, self._names(), first_row=a)
            if isinstance(part, CsrRows):
                out[a : a + len(part)] = scores_of(part, components, mean)
                continue
            # the mean is subtracted in float64 and only the difference is rounded
            centred = (part - mean).astype(dtype, copy=False)
            np.matmul(centred, components.T, out=out[a : a + len(part)])
        return out

    def inverse_transform(self: Any, X: ArrayLike) -> NDArray[Any]:
        """Return rows with the given scores, ``X @ components_ + mean_``.

        Parameters
        ----------
        X : array-like of shape (m, k)
            Scores.

        Returns
        -------
        ndarray of shape (m, d)
            In float32 for float32 scores, else in float64.

        Raises
        ------
        NotFittedError
            Before k + 1 rows were seen.
        ValueError
            If ``X`` does not have k columns.
        """
        check_is_fitted(self)
        scores = check_array(unmasked(X), dtype=FLOATS)
        components = self.components_.astype(scores.dtype, copy=False)
        if scores.shape[1] != len(components):
            raise ValueError(f"X has {scores.shape[1]} columns but n_components={len(components)}")
        return np.asarray(scores @ components + self._state.running_mean, dtype=scores.dtype)

    def _look(self: Any, source: Any, *, reset: bool) -> tuple[int, np.dtype[Any]]:
        """Check the shape of a source that is read by slabs; return its rows and its dtype."""
        n, dtype = slab_source_kind(source)
        validate_data(self, read(source, 0, 1), reset=reset, dtype=FLOATS, ensure_all_finite=False)
        return n, dtype

    def _rows_of(self: Any, X: Any, *, reset: bool) -> Rows:
        """Return rows in memory after scikit-learn's checks of their shape and names."""
        X = as_rows(X).matrix() if is_sparse(X) else numeric(X)
        X = validate_data(
            self, X, reset=reset, dtype=FLOATS, accept_sparse="csr", ensure_all_finite=False
        )
        rows: Rows = as_rows(X) if is_sparse(X) else X
        return rows

    def _names(self: Any) -> NDArray[Any] | None:
        names: NDArray[Any] | None = getattr(self, "feature_names_in_", None)
        return names
