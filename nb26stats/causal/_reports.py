"""Estimands, tables, text and figures of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nb26stats._check import as_choice, as_prob

from ._estimand_rows import subset_controls, subset_rows
from ._estimands import (
    Att,
    att_limits,
    doubly_robust_att,
    responder_bounds,
    responder_limits,
)
from ._options import ESTIMANDS
from ._overlap import Overlap, odds
from ._results import C2GResult, EstimandInterval
from ._rows import Rows
from ._scores import Scores
from ._table import details, estimand_table, row_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

F64 = NDArray[np.float64]


class Setting(NamedTuple):
    """Parameters that were in force at the fit and that later calls go by."""

    q: float
    control: str
    randomized: bool


class Bands(NamedTuple):
    """How far both densities at a row are known: (lower, upper) over the grid for either arm."""

    control: tuple[F64, F64]
    treated: tuple[F64, F64]
    level: float
    n_resamples: int


class Reports:
    """Methods that tell the outcome of a fit."""

    _ci_holds_bounds: ClassVar[bool] = False
    """Whether confidence limits are widened to the ends themselves."""
    _att_from_residuals: ClassVar[bool] = False
    """Whether effects on the treated come from residuals, not from the model's own ends."""

    _rows: Rows
    _scores: Scores
    propensity_: F64
    _overlap: Overlap
    _setting: Setting
    control_used_: str
    estimated_fdr_: float
    seed_: int

    def _density_new(self, x: F64, grid: F64) -> tuple[F64, F64]:
        """Return the densities (m, G) of both arms over outcomes, in units of y."""
        raise NotImplementedError

    def _ends(self, estimand: str, which: NDArray[np.int64]) -> tuple[float, float]:
        raise NotImplementedError

    def _resampled_ends(self, estimand: str, which: NDArray[np.int64]) -> tuple[F64, F64] | None:
        """Return both ends in every resample, or None where there are no resamples."""
        return None

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
            Best a mask made from covariates; see the notes.
        level : float, default=0.9
            Level of the confidence limits.

        Returns
        -------
        EstimandInterval
            Bounds where the data allow no number, limits around them, and the rows behind.

        Raises
        ------
        ValueError
            If ``level`` is outside (0, 1), or no treated row is in the subset.

        Notes
        -----
        Where the model bounds the prior alone (:class:`nb26stats.NonparametricC2G`), the effect on
        the treated does without the prior: it is the mean of the treated rows' outcomes less their
        mean without response, less the same mean over controls that are weighted by the odds of
        treatment to look like the treated rows. Controls of the subset are taken, 30 or more; with
        fewer, as where ``subset`` tells only treated rows, all controls are. The mean among
        responders divides that effect by the share of responders. Where the model knows prior and
        effect (:class:`nb26stats.SemiparametricC2G`), both are means of its own.

        A subset that was chosen by outcomes, or by the selection itself (``selected_``), gives
        post-selection averages: they overstate effects, and no limits hold for them.

        Examples
        --------
        >>> from nb26stats import SemiparametricC2G, datasets
        >>> data = datasets.simulate_additive(n_samples=400, tau=5, random_state=1)
        >>> model = SemiparametricC2G(random_state=0)
        >>> model = model.fit(data.X, data.y, treatment=data.treatment)
        >>> share = model.estimand_interval("erpf")
        >>> share.lower == share.upper and 0.3 < share.lower < 0.7
        True
        """
        check_is_fitted(self)
        name = as_choice(estimand, "estimand", ESTIMANDS)
        confidence = as_prob(level, "level")
        which = subset_rows(self._rows, self._overlap.trimmed, subset)
        if self._att_from_residuals and name in ("att", "responder_effect"):
            att = self._att(which, subset_controls(self._rows, self._overlap.excluded, subset))
            lower, upper, low, high = self._of_att(name, att, which, confidence)
        else:
            lower, upper = self._ends(name, which)
            low, high = self._percentiles(name, which, confidence)
        if self._ci_holds_bounds:
            # NaN stays NaN
            low, high = float(np.minimum(lower, low)), float(np.maximum(upper, high))
        return EstimandInterval(float(lower), float(upper), low, high, len(which), name, confidence)

    def _percentiles(
        self, estimand: str, which: NDArray[np.int64], level: float
    ) -> tuple[float, float]:
        resampled = self._resampled_ends(estimand, which)
        if resampled is None:
            return float("nan"), float("nan")
        tail = (1.0 - level) / 2.0
        return float(np.quantile(resampled[0], tail)), float(np.quantile(resampled[1], 1.0 - tail))

    def _att(self, which: NDArray[np.int64], controls: NDArray[np.int64]) -> Att:
        """Return the effect on treated rows from residuals, weighted by the propensity."""
        rows = self._rows
        residual = rows.y - self._scores.null_mean
        e = self.propensity_[rows.kept[controls]]
        weight = None if self._setting.randomized else odds(e)
        return doubly_robust_att(residual[which], residual[controls], weight)

    def _of_att(
        self, estimand: str, att: Att, which: NDArray[np.int64], level: float
    ) -> tuple[float, float, float, float]:
        """Return ends and limits of the effect on the treated, or on responders."""
        if estimand == "att":
            return att.value, att.value, *att_limits(att, level)
        share, resampled = self._ends("erpf", which)[0], self._resampled_ends("erpf", which)
        lower, upper = responder_bounds(att.value, share)
        shares = np.array([share]) if resampled is None else resampled[0]
        return float(lower), float(upper), *responder_limits(att, shares, level)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row per row given to ``fit``, with its index.

        Returns
        -------
        pandas.DataFrame
            Outcome, arm, scores, and who is selected; NaN where a score is not defined.
        """
        check_is_fitted(self)
        return row_table(self)

    def result(self) -> C2GResult:
        """Return the outcome as a frozen result.

        Returns
        -------
        C2GResult
            Everything that was found, without the model.
        """
        check_is_fitted(self)
        treated = self._rows.treated
        return C2GResult(
            table=row_table(self),
            estimands=estimand_table(self),
            q=self._setting.q,
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
            Lines of text, to be printed.
        """
        return self.result().summary()

    def plot(
        self, kind: str = "lfdr", ax: Axes | None = None, *, row: int | None = None, **style: Any
    ) -> Axes:
        """Draw the fit.

        Parameters
        ----------
        kind : {"lfdr", "density", "residuals"}, default="lfdr"
            Local false discovery rates of the treated rows and which are selected; densities of
            both arms at the covariates of one row; outcomes less their mean without response, in
            both arms.
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        row : int, optional
            Position of the row for "density"; by default the treated row of least lfdr.
        **style
            Passed to :func:`nb26stats.plotting.plot_responders`.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        check_is_fitted(self)
        return plotting.plot_responders(self, kind, ax, row=row, **style)

    def _density_at(self, row: int, grid: F64) -> tuple[F64, F64]:
        """Return the densities of controls and of treated rows at the covariates of a row."""
        position = np.searchsorted(self._rows.kept, row)
        f0, ft = self._density_new(self._rows.X[position : position + 1], grid)
        return f0.reshape(-1), ft.reshape(-1)

    def _density_bands(self, row: int, grid: F64) -> Bands | None:
        """Return bands of both densities at a row, or None where there are no resamples."""
        return None
