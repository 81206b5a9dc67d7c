"""What a fitted model says of rows that come later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ._columns import read_matrix
from ._outcome import read_outcome, refuse_survival
from ._rows import Rows

F64 = NDArray[np.float64]


class NewRows:
    """Methods for new rows; the hooks take usable columns of complete rows."""

    missing: Any
    _rows: Rows

    def _lfdr_new(self, x: F64, y: F64) -> F64:
        raise NotImplementedError

    def _prior_new(self, x: F64) -> F64:
        raise NotImplementedError

    def _effect_new(self, x: F64) -> F64:
        raise NotImplementedError

    def lfdr(self, X: ArrayLike, y: ArrayLike) -> F64:
        """Return the local false discovery rate of new treated rows.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Covariates.
        y : array-like of shape (m,)
            Outcomes under treatment.

        Returns
        -------
        ndarray of shape (m,)
            Probabilities of no response.

        Examples
        --------
        >>> from nb26stats import SemiparametricC2G, datasets
        >>> data = datasets.simulate_additive(n_samples=400, tau=5, random_state=1)
        >>> model = SemiparametricC2G(random_state=0)
        >>> model = model.fit(data.X, data.y, treatment=data.treatment)
        >>> new = datasets.simulate_additive(n_samples=5, tau=5, random_state=2)
        >>> model.lfdr(new.X, new.y).shape
        (5,)
        """
        x, keep = self._new_rows(X)
        refuse_survival(y, None)
        outcome = read_outcome(y)
        if len(outcome) != len(keep):
            raise ValueError(
                f"X and y must have one row per sample, got shapes {np.shape(X)} and "
                f"{outcome.shape}"
            )
        bad = ~np.isfinite(outcome)
        if bad.any() and self.missing != "drop":
            raise ValueError(
                f"y has missing or infinite values in {int(bad.sum())} rows, the first is row "
                f"{int(bad.argmax())}, counted from 0"
            )
        both = keep & ~bad
        return self._spread_new(both, self._lfdr_new(x[both[keep]], outcome[both]))

    def predict_prior(self, X: ArrayLike) -> F64:
        """Return the prior probability of response at new covariates, or its lower bound.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Covariates.

        Returns
        -------
        ndarray of shape (m,)
            Probabilities, before the outcome is seen.

        Examples
        --------
        >>> from nb26stats import SemiparametricC2G, datasets
        >>> data = datasets.simulate_additive(n_samples=400, tau=5, random_state=1)
        >>> model = SemiparametricC2G(random_state=0)
        >>> model = model.fit(data.X, data.y, treatment=data.treatment)
        >>> prior = model.predict_prior(data.X)
        >>> bool(0 < prior.min() and prior.max() < 1)
        True
        """
        x, keep = self._new_rows(X)
        return self._spread_new(keep, self._prior_new(x))

    def predict_effect(self, X: ArrayLike) -> F64:
        """Return the effect of response at new covariates, in units of y.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Covariates.

        Returns
        -------
        ndarray of shape (m,) or (m, 2)
            Semiparametric: the effect. Nonparametric: its lower and upper bound.
        """
        x, keep = self._new_rows(X)
        return self._spread_new(keep, self._effect_new(x))

    def _new_rows(self, X: Any) -> tuple[F64, NDArray[np.bool_]]:
        """Return usable rows of new covariates, and which of the given rows they are."""
        check_is_fitted(self)
        matrix = validate_data(
            self, read_matrix(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        good = np.isfinite(matrix).all(axis=1)
        if self.missing == "impute":
            good[:] = True
        elif self.missing == "raise" and not good.all():
            raise ValueError(
                f"X has missing or infinite values in {int((~good).sum())} rows, the first is row "
                f"{int((~good).argmax())}, counted from 0"
            )
        return self._rows.columns.apply(matrix[good]), good

    @staticmethod
    def _spread_new(keep: NDArray[np.bool_], values: F64) -> F64:
        out = np.full((len(keep), *np.shape(values)[1:]), np.nan)
        out[keep] = values
        return out
