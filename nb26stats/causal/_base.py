"""What both causal two-groups estimators share: data, overlap, selection, estimands, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from nb26stats._check import as_choice, as_prob
from nb26stats._seed import as_seed

from ._columns import check_matrix
from ._estimand_rows import subset_rows
from ._options import CONTROLS, ESTIMANDS, check_options
from ._outcome import read_outcome, refuse_survival
from ._overlap import check_overlap, odds
from ._propensity import propensity
from ._results import C2GResult, EstimandInterval
from ._rows import Rows, check_rows
from ._scores import Scores
from ._selection import Calibration, q_values
from ._table import details, estimand_table, row_table

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags

F64 = NDArray[np.float64]


class C2GBase(BaseEstimator):
    """Base of the estimators; a subclass fits a model and answers for new rows.

    Hooks: ``_check_parameters`` (its own parameters), ``_fit_model``, ``_lfdr_new``,
    ``_prior_new``, ``_effect_new``, ``_auto_control``, ``_pi0_kind``, ``_ends`` and
    ``_resampled_ends``. Arrays in the hooks run over the rows of :class:`Rows`.
    """

    # parameters that every subclass stores
    q: Any
    control: Any
    pi0: Any
    randomized: Any
    propensity_model: Any
    overlap: Any
    overlap_action: Any
    missing: Any
    n_jobs: Any
    random_state: Any

    _max_columns: ClassVar[int | None] = None
    """Columns of X beyond which fit warns."""
    _pi0_choices: ClassVar[tuple[str, ...]] = ("conservative", "plugin")
    _ci_holds_bounds: ClassVar[bool] = False
    """Whether confidence limits are widened to the ends themselves."""

    def _check_parameters(self) -> None:
        """Check the subclass's own parameters."""

    def _fit_model(self, rows: Rows, propensity: F64, seed: int) -> Scores:
        raise NotImplementedError

    def _lfdr_new(self, x: F64, y: F64) -> F64:
        raise NotImplementedError

    def _prior_new(self, x: F64) -> F64:
        raise NotImplementedError

    def _effect_new(self, x: F64) -> F64:
        raise NotImplementedError

    def _auto_control(self, rows: Rows, scores: Scores) -> str:
        """Return what ``control="auto"`` means here; may warn."""
        return "calibrated"

    def _pi0_kind(self, n0: int) -> str | float:
        """Return "conservative", "plugin" or a number; n0 controls are in use."""
        return self.pi0 if isinstance(self.pi0, str) else float(self.pi0)

    def _ends(self, estimand: str, which: NDArray[np.int64]) -> tuple[float, float]:
        raise NotImplementedError

    def _resampled_ends(self, estimand: str, which: NDArray[np.int64]) -> tuple[F64, F64] | None:
        """Return both ends in every resample, or None where there are no resamples."""
        return None

    def fit(self, X: ArrayLike, y: ArrayLike, *, treatment: ArrayLike, event: None = None) -> Self:
        """Fit the model and select the treated rows that responded.

        Parameters
        ----------
        X : array-like of shape (N, p)
            Covariates on which treatment, response and effect may depend.
        y : array-like of shape (N,)
            Continuous outcome.
        treatment : array-like of shape (N,)
            True and False, 1 and 0, or two words of which the second is treated.
        event : None
            Not taken: outcomes that are times to an event are first made z-scores by
            :func:`nb26stats.survival_residual_z`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If data or parameters are out of range; see the message.
        TypeError
            If X is sparse, or y holds times to an event.
        """
        check_options(self, self._pi0_choices)
        self._check_parameters()
        rows = check_rows(self, X, y, treatment, event)
        seed = as_seed(self.random_state)
        e = propensity(
            rows.X,
            rows.treated,
            model=self.propensity_model,
            randomized=bool(self.randomized),
            seed=seed,
            n_jobs=self.n_jobs,
        )
        scores = self._fit_model(rows, e, seed)
        overlap = check_overlap(
            rows,
            e,
            scores.ess,
            overlap=float(self.overlap),
            action=self.overlap_action,
            randomized=bool(self.randomized),
        )
        self.seed_ = seed
        self._rows, self._scores, self._overlap = rows, scores, overlap
        self._set_rows(e)
        self.pi0_used_ = self._pi0_kind(int((~rows.treated & ~overlap.excluded).sum()))
        self.control_used_ = (
            self._auto_control(rows, scores) if self.control == "auto" else self.control
        )
        values = self._q_values(self.control_used_)
        self.q_values_ = rows.spread(values, rows.treated)
        chosen = values <= float(self.q)
        self.selected_ = rows.spread(chosen, rows.treated, fill=False)
        self.estimated_fdr_ = float(values[chosen].max(initial=0.0))
        return self

    def _set_rows(self, e: F64) -> None:
        rows, scores, treated = self._rows, self._scores, self._rows.treated
        lfdr = np.where(self._overlap.trimmed, 1.0, scores.lfdr)
        self.lfdr_ = self.local_fdr_ = rows.spread(lfdr[treated], treated)
        self.responder_proba_ = rows.spread(np.where(treated, 1.0 - lfdr, 0.0))
        self.control_score_ = rows.spread(scores.control_score[~treated], ~treated)
        self.prior_ = rows.spread(scores.prior)
        self.null_mean_ = rows.spread(scores.null_mean)
        if scores.effect is not None:
            self.effect_ = rows.spread(scores.effect)
        self.propensity_ = rows.spread(e)
        self.ess_ = rows.spread(scores.ess)
        self.trimmed_ = rows.spread(self._overlap.trimmed, fill=False)

    def _q_values(self, control: str) -> F64:
        """Return q-values of the treated rows; 1 where a row is trimmed."""
        rows, scores, overlap = self._rows, self._scores, self._overlap
        used = ~rows.treated & ~overlap.excluded
        out = np.ones(int(rows.treated.sum()))
        kept = ~overlap.trimmed[rows.treated]
        controls = None
        if control != "model":
            e = self.propensity_[rows.kept[used]]
            if self.pi0_used_ == "plugin":
                prior = scores.prior[used]
            else:
                pi0 = 1.0 if self.pi0_used_ == "conservative" else float(self.pi0_used_)
                prior = np.full(len(e), 1.0 - pi0)
            weight = np.ones(len(e)) if self.randomized else odds(e)
            controls = Calibration(scores.control_score[used], weight, prior)
        out[kept] = q_values(scores.lfdr[rows.treated][kept], control, controls)
        return out

    def select(self, q: float | None = None, control: str | None = None) -> NDArray[np.int64]:
        """Return the rows that responded, at another rate or by another rule, without a refit.

        Parameters
        ----------
        q : float, optional
            Target false discovery rate; by default that of the fit.
        control : {"auto", "model", "calibrated", "published"}, optional
            Rule; by default that of the fit.

        Returns
        -------
        ndarray of int
            Sorted positions among the rows given to ``fit``, counted from 0.

        Raises
        ------
        ValueError
            If ``q`` is outside (0, 1) or there is no such rule.
        """
        check_is_fitted(self)
        limit = as_prob(self.q if q is None else q, "q")
        rule = as_choice(self.control if control is None else control, "control", CONTROLS)
        if rule == "auto":
            rule = (
                self.control_used_
                if self.control == "auto"
                else self._auto_control(self._rows, self._scores)
            )
        chosen = self._q_values(rule) <= limit
        positions: NDArray[np.int64] = self._rows.kept[self._rows.treated][chosen]
        return positions

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
            raise ValueError(f"y has missing or infinite values in {int(bad.sum())} rows")
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
        check_matrix(X)
        matrix = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
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

    def estimand_interval(
        self, estimand: str = "erpf", *, subset: ArrayLike | None = None, level: float = 0.9
    ) -> EstimandInterval:
        """Return an average over the treated rows, or over some of them, with its limits.

        Parameters
        ----------
        estimand : {"erpf", "care", "responder_effect", "att"}, default="erpf"
            Expected share of responders; mean over rows of the effect of response; mean effect
            among responders, which is the more stable; mean effect of treatment on the treated.
        subset : array-like, optional
            Boolean mask over the rows given to ``fit``, or positions of rows; treated rows count.
        level : float, default=0.9
            Level of the confidence limits.

        Returns
        -------
        EstimandInterval

        Raises
        ------
        ValueError
            If ``level`` is outside (0, 1), or no treated row is in the subset.
        """
        check_is_fitted(self)
        name = as_choice(estimand, "estimand", ESTIMANDS)
        confidence = as_prob(level, "level")
        which = subset_rows(self._rows, self._overlap.trimmed, subset)
        lower, upper = self._ends(name, which)
        resampled = self._resampled_ends(name, which)
        low = high = float("nan")
        if resampled is not None:
            low = float(np.quantile(resampled[0], (1.0 - confidence) / 2.0))
            high = float(np.quantile(resampled[1], 1.0 - (1.0 - confidence) / 2.0))
            if self._ci_holds_bounds:
                low, high = min(lower, low), max(upper, high)
        return EstimandInterval(float(lower), float(upper), low, high, len(which), name, confidence)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row per row given to ``fit``, with its index.

        Returns
        -------
        pandas.DataFrame
        """
        check_is_fitted(self)
        return row_table(self)

    def result(self) -> C2GResult:
        """Return the outcome as a frozen result.

        Returns
        -------
        C2GResult
        """
        check_is_fitted(self)
        treated = self._rows.treated
        return C2GResult(
            table=row_table(self),
            estimands=estimand_table(self),
            q=float(self.q),
            control_used=self.control_used_,
            estimated_fdr=self.estimated_fdr_,
            n1=int((treated & ~self._overlap.trimmed).sum()),
            n0=int((~treated & ~self._overlap.excluded).sum()),
            seed=self.seed_,
            method=type(self).__name__,
            details=details(self),
        )

    def summary(self) -> str:
        """Return a text table: data, selection, estimands with bounds, overlap and cautions.

        Returns
        -------
        str
        """
        return self.result().summary()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "raise"
        return tags
