"""What both causal two-groups estimators share: data, overlap, selection, estimands, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nb26stats._check import as_choice, as_prob
from nb26stats._seed import as_seed

from ._new_rows import NewRows
from ._options import CONTROLS, check_options
from ._overlap import check_overlap, odds
from ._propensity import propensity
from ._reports import Reports, Setting
from ._rows import Rows, check_rows
from ._scores import Scores
from ._selection import Calibration, q_values

if TYPE_CHECKING:
    from sklearn.utils import Tags

F64 = NDArray[np.float64]


class C2GBase(NewRows, Reports, BaseEstimator):
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

    def _check_parameters(self) -> None:
        """Check the subclass's own parameters."""

    def _fit_model(self, rows: Rows, propensity: F64, seed: int) -> Scores:
        raise NotImplementedError

    def _auto_control(self, rows: Rows, scores: Scores) -> str:
        """Return what ``control="auto"`` means here; may warn."""
        return "calibrated"

    def _pi0_kind(self, n0: int) -> str | float:
        """Return "conservative", "plugin" or a number; n0 controls are in use."""
        return self.pi0 if isinstance(self.pi0, str) else float(self.pi0)

    def fit(self, X: ArrayLike, y: ArrayLike, *, treatment: ArrayLike, event: None = None) -> Self:
        """Fit the model and select the treated rows that responded.

        Parameters
        ----------
        X : array-like of shape (N, p)
            Covariates on which treatment, response and effect may depend.
        y : array-like of shape (N,)
            Continuous outcome.
        treatment : array-like of shape (N,)
            True and False, 1 and 0, or two words of which the second is treated: in the order of
            the levels of a categorical column, else of the alphabet, unless the second is a word
            such as control, placebo or untreated. A warning says which is taken as treated.
        event : None
            Not taken: outcomes that are times to an event are first made z-scores by
            :func:`nb26stats.survival_residual_z`.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If data or parameters are out of range; see the message.
        TypeError
            If X is sparse, or y holds times to an event.
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, treatment, event)
        except BaseException:
            # a fit that fails leaves an earlier one as it was
            self.__dict__ = before
            raise

    def _fit(self, X: ArrayLike, y: ArrayLike, treatment: ArrayLike, event: None) -> Self:
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
        # what later calls go by is the setting of the fit, not of a later set_params
        self._setting = Setting(float(self.q), self.control, bool(self.randomized))
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
            own = self.propensity_[rows.kept[rows.treated]][kept]
            same = self._setting.randomized
            weight, own = (np.ones(len(v)) if same else odds(v) for v in (e, own))
            controls = Calibration(scores.control_score[used], weight, prior, own)
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

        Notes
        -----
        The selected rows are those whose ``q_values_`` are at most ``q``; rows of equal lfdr enter
        together. What is computed afterwards from the outcomes of the selected rows, such as their
        mean, is post-selection: it overstates effects, and its intervals do not hold.

        Examples
        --------
        >>> from nb26stats import SemiparametricC2G, datasets
        >>> data = datasets.simulate_additive(n_samples=400, tau=5, random_state=1)
        >>> model = SemiparametricC2G(random_state=0)
        >>> model = model.fit(data.X, data.y, treatment=data.treatment)
        >>> few, more = model.select(q=0.05), model.select(q=0.3)
        >>> set(few) <= set(more)
        True
        """
        check_is_fitted(self)
        limit = self._setting.q if q is None else as_prob(q, "q")
        wanted = self._setting.control
        rule = wanted if control is None else as_choice(control, "control", CONTROLS)
        if rule == wanted:
            rule = self.control_used_
        elif rule == "auto":
            rule = self._auto_control(self._rows, self._scores)
        chosen = self._q_values(rule) <= limit
        positions: NDArray[np.int64] = self._rows.kept[self._rows.treated][chosen]
        return positions

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selected_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "raise"
        return tags
