"""Fitted attributes of OjaPCA, read from the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nb26stats._warnings import warn

from ._advance import current
from ._inference import same_signs
from ._pilot import pilot_directions, pilot_rows, replicates_of
from ._schedule import next_step
from ._settings import Settings
from ._state import (
    AT_FLOOR,
    GAP,
    LAG_PRODUCT,
    LAG_SQUARE,
    SQUARES,
    STEPS,
    TOTAL,
    WEIGHT,
    WEIGHTED_SQUARES,
    State,
    check_variance,
)

GAP_SHARE = 1e-3
GAP_OF_TRACE = 1e-8
LENGTH_OFF = 0.01


def tell_few_rows(state: State) -> None:
    """Warn once that the rows seen do not go beyond the pilot."""
    if state.n_seen <= state.settings.pilot_size and not state.told_few:
        state.told_few = True
        warn(
            f"{state.n_seen} rows do not go beyond pilot_size={state.settings.pilot_size}: the "
            "components are the plain PCA of those rows; a smaller pilot_size or more rows start "
            "the stream"
        )


def check_unit(rows: NDArray[Any], settings: Settings) -> None:
    """Raise ValueError where directions (..., d) were lost to rounding: all have length 1."""
    if not np.all(np.abs(np.linalg.norm(rows, axis=-1) - 1.0) < LENGTH_OFF):
        raise ValueError(
            f"directions were lost to rounding within a block: growth_limit="
            f"{settings.growth_limit:g} is too large for {settings.dtype}; fit again with a "
            "smaller one, or with smaller steps"
        )


class OjaFields:
    """Properties of a fitted OjaPCA; each is computed from the state when it is read."""

    _state: State
    n_threads: Any

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are enough rows for components."""
        state: State | None = getattr(self, "_state", None)
        return state is not None and state.n_seen > state.settings.n_components

    def _read(self) -> State:
        check_is_fitted(self)
        if not self._state.started:
            check_variance(self._state)
        tell_few_rows(self._state)
        return self._state

    def _tracked(self) -> NDArray[Any]:
        """Return all tracked directions (k0, d), signs as reported."""
        state = self._read()
        s = state.settings
        if not state.started:
            rows = pilot_directions(pilot_rows(state), s.n_tracked)[0].astype(s.dtype)
        else:
            rows, _ = current(state, replicates=False)
            check_unit(rows, s)
        largest = np.argmax(np.abs(rows), axis=1)
        return np.asarray(rows * np.sign(rows[np.arange(len(rows)), largest])[:, None])

    def _eigenvalues(self) -> NDArray[np.float64]:
        """Return the variances along all tracked directions (k0,)."""
        state = self._read()
        if not state.started:
            return pilot_directions(pilot_rows(state), state.settings.n_tracked)[1]
        if not state.sums[WEIGHT] > 0:
            return state.pilot_values
        return np.asarray(state.tracked[WEIGHTED_SQUARES] / state.sums[WEIGHT])

    def _trace(self) -> float:
        state = self._state
        return float(state.sums[SQUARES]) / max(state.n_seen, 1)

    def _total(self) -> float:
        state = self._state
        if not state.sums[WEIGHT] > 0:
            return self._trace()
        return float(state.sums[TOTAL] / state.sums[WEIGHT])

    def _gap(self) -> tuple[float, bool]:
        """Return the eigengap in use and whether it is only the floor."""
        state = self._read()
        s = state.settings
        if s.gap is not None:
            return s.gap, False
        if s.init == "pilot" and state.started:
            return float(state.sums[GAP]), bool(state.sums[AT_FLOOR])
        values = self._eigenvalues()
        k = s.n_components
        if len(values) > k:
            gap = float(values[k - 1] - values[k])
        elif k == s.n_features:
            gap = float(values[k - 1])
        else:
            return float("nan"), False
        floor = max(GAP_SHARE * float(values[k - 1]), GAP_OF_TRACE * self._trace())
        return max(gap, floor), gap < floor

    @property
    def components_(self) -> NDArray[Any]:
        """Directions, one per row, (n_components, n_features)."""
        return self._tracked()[: self._state.settings.n_components]

    @property
    def explained_variance_(self) -> NDArray[np.float64]:
        """Variance along each component, weighted towards later rows, (n_components,)."""
        return self._eigenvalues()[: self._state.settings.n_components].copy()

    @property
    def explained_variance_ratio_(self) -> NDArray[np.float64]:
        """Part of the total variance along each component, (n_components,)."""
        values = self.explained_variance_
        return values / self._total() if self._total() > 0 else np.zeros_like(values)

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions left out; 0 when there are none."""
        values = self.explained_variance_
        s = self._state.settings
        if s.n_components == s.n_features:
            return 0.0
        rest = self._total() - float(values.sum())
        return max(0.0, rest) / (s.n_features - s.n_components)

    @property
    def next_variance_(self) -> float:
        """Variance along the tracked direction after the last component; NaN without one."""
        values = self._eigenvalues()
        k = self._state.settings.n_components
        return float(values[k]) if len(values) > k else float("nan")

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Running mean of the rows, zeros without centring, (n_features,)."""
        check_is_fitted(self)
        return self._state.running_mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """Rows used."""
        check_is_fitted(self)
        return self._state.n_seen

    @property
    def n_rows_skipped_(self) -> int:
        """Rows left out because they held NaN."""
        check_is_fitted(self)
        return self._state.n_skipped

    @property
    def n_components_(self) -> int:
        """Number of components."""
        check_is_fitted(self)
        return self._state.settings.n_components

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def pilot_size_(self) -> int:
        """Rows of the pilot; 0 without one."""
        check_is_fitted(self)
        return self._state.settings.pilot_size

    @property
    def seed_(self) -> int:
        """Seed of the random weights."""
        check_is_fitted(self)
        return self._state.settings.seed

    @property
    def eigengap_(self) -> float:
        """Eigenvalue of the last component less that of the next, as the steps use it."""
        return self._gap()[0]

    @property
    def learning_rate_(self) -> float:
        """Step of the row that comes next; NaN while the pilot is collected."""
        check_is_fitted(self)
        return next_step(self._state)

    @property
    def init_weight_(self) -> float:
        """Share of the start that is left in the estimate, exp(-2 eigengap_ sum of steps)."""
        gap = self._gap()[0]
        return float(np.exp(-2.0 * gap * self._state.sums[STEPS]))

    @property
    def autocorrelation_(self) -> NDArray[np.float64]:
        """Lag-1 correlation of the noise that drives each component's error, (n_components,)."""
        state = self._read()
        k = state.settings.n_components
        product, square = state.tracked[LAG_PRODUCT, :k], state.tracked[LAG_SQUARE, :k]
        out = np.full(k, np.nan)
        np.divide(product, square, out=out, where=square > 0)
        return out

    @property
    def recommended_block_(self: Any) -> int:
        """Multiplier block for the correlation seen so far, at the least; 1 where there is none."""
        from ._diagnostics import correlation_of, recommended_block

        state = self._read()
        noticed = correlation_of(self, state)
        return 1 if noticed is None else recommended_block(noticed[1], state.n_seen)

    def _replicates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return components and replicates as of now, in float64, signs matched."""
        state = self._read()
        s = state.settings
        if s.n_bootstrap == 0:
            raise ValueError("there are no replicates: set n_bootstrap")
        if not state.started or state.n_seen == s.pilot_size:
            raise NotFittedError(
                f"replicates need more than pilot_size_={s.pilot_size} rows, got {state.n_seen}"
            )
        threads, device = self._resources(state)
        _, lanes = current(state, replicates=True, n_threads=threads, device=device)
        assert lanes is not None
        components = self.components_.astype(np.float64)
        replicates = replicates_of(state, lanes).astype(np.float64)
        check_unit(replicates, s)
        return components, same_signs(components, replicates)

    if TYPE_CHECKING:

        def _resources(self, state: State) -> tuple[int, str]: ...

    @property
    def bootstrap_components_(self) -> NDArray[Any]:
        """Replicates of ``components_``, signs matched, (n_bootstrap, n_components, n_features)."""
        state = self._read()
        s = state.settings
        if s.n_bootstrap == 0:
            return np.empty((0, s.n_components, s.n_features), s.dtype)
        return self._replicates()[1].astype(s.dtype, copy=False)
