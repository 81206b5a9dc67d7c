"""The nonparametric estimator: conditional densities of both arms and the bound they imply."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_choice, as_float, as_int, as_list
from nb26stats._dispatch import choose_device
from nb26stats._progress import bar

from ._base import C2GBase
from ._density import Bounds, Curves
from ._estimands import around, bounds, effect_bounds
from ._reports import Bands
from ._rows import Rows
from ._scores import Scores
from ._two_arms import Rule, fit_two_arms, nobody, own_rows

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

FRACTIONS = tuple(np.logspace(-3.0, 0.0, 10).tolist())
"""Ranks of neighbours whose median distances are tried as bandwidths, as shares of an arm."""
THIN = 400
"""Controls below which pi* overshoots, so that the calibration does without it."""


class NonparametricC2G(C2GBase):
    r"""Select individual responders to a treatment with the false discovery rate held.

    Nothing is assumed of the effect: the densities of the outcome given the covariates are
    estimated in either arm by nearest neighbours, and the prior of response enters by the least
    value that the two densities allow.

    Parameters
    ----------
    q : float, default=0.1
        Target false discovery rate, in (0, 1).
    n_neighbors : sequence of int, default=(50, 100, 200)
        Numbers of neighbours to choose from, by leave-one-out likelihood, for each arm.
    bandwidth_fracs : "auto" or sequence of float, default="auto"
        Bandwidths to choose from: median distances to the neighbours of these ranks, as shares of
        an arm in (0, 1]; "auto" is ten from 0.001 to 1.
    n_bootstrap : int, default=100
        Resamples of both arms behind the bounds of the densities and the confidence limits.
    bootstrap_quantile : float, default=0.2
        Lower quantile of the resampled densities, in (0, 0.5]; the upper one mirrors it.
    density_threshold : float, default=0.05
        Where the treated density is below this, in units of 1 / SD of the controls' outcome, it is
        not compared with the controls'.
    ratio_quantile : float, default=0.01
        Quantile, in [0, 1), of the ratio of densities that stands for its least value.
    n_grid : "auto" or int, default="auto"
        Outcomes at which densities are compared; "auto" takes 1.5 per bandwidth, at least 75 and
        at most 400.
    control : {"auto", "model", "calibrated", "published"}, default="auto"
        Rule of selection. "model" trusts the local false discovery rate; "calibrated", which
        "auto" stands for, also counts the controls that would be selected; "published" compares
        counts as the published code does.
    pi0 : {"auto", "conservative", "plugin"} or float, default="auto"
        Share of the counted controls that are held against the selection: all, or one minus the
        prior bound at the control's own covariates, or a number. "auto" is "conservative" below 400
        controls and "plugin" from there on.
    randomized : bool, default=False
        Whether the treatment was assigned at random, with one probability for all.
    propensity_model : scikit-learn classifier, optional
        Model of the treatment given the covariates; by default logistic regression.
    overlap : float, default=0.02
        Treated rows whose probability of treatment is within this of 1 are flagged.
    overlap_action : {"warn", "trim", "raise"}, default="warn"
        What to do with flagged rows.
    standardize : bool, default=True
        Whether to scale the columns of X, and y by the standard deviation of the controls.
    missing : {"raise", "drop", "impute"}, default="raise"
        What to do with missing values; "impute" fills X only.
    verbose : bool, default=False
        Whether a bar shows progress, on a terminal or in a notebook.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where densities are computed.
    n_threads : int, default=0
        OpenMP threads of one native call, 0 for all that are offered.
    n_jobs : int, optional
        Joblib tasks over the folds of the propensity and over the arms.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the resamples and folds.

    Attributes
    ----------
    lfdr_, local_fdr_ : ndarray of shape (N,)
        Upper bound of the probability that a treated row did not respond; NaN at controls.
    q_values_ : ndarray of shape (N,)
        Smallest q at which a treated row is selected; NaN at controls.
    selected_ : ndarray of bool, shape (N,)
        Whether a row is selected at ``q``.
    estimated_fdr_ : float
        Estimated false discovery rate of the selection.
    responder_proba_ : ndarray of shape (N,)
        Lower bound of the probability of response; 0 at controls.
    prior_ : ndarray of shape (N,)
        Lower bound pi* of the prior of response.
    null_mean_ : ndarray of shape (N,)
        Mean outcome of neighbouring controls.
    effect_bounds_ : ndarray of shape (N, 2)
        Bounds of the effect of response at the covariates of each row.
    control_score_ : ndarray of shape (N,)
        The local false discovery rate as computed at controls; NaN at treated rows.
    propensity_, ess_ : ndarray of shape (N,)
        Probability of treatment, and effective number of controls behind a row.
    trimmed_ : ndarray of bool, shape (N,)
        Treated rows left out for want of comparable controls.
    control_used_, pi0_used_ : str or float
        What "auto" became.
    bandwidths_ : dict
        Chosen ``n_neighbors``, ``hx`` and ``hy`` of "control" and "treated", in scaled units.
    grid_ : ndarray of shape (G,)
        Outcomes at which densities were compared, in units of y.
    n_features_in_, seed_ : int
        Columns of X, and key of the random numbers.

    Notes
    -----
    With densities :math:`f_0` of controls and :math:`f_t` of treated rows the prior of response is
    at least :math:`\pi^*(x) = 1 - \inf_y f_t(y|x) / f_0(y|x)`, and
    :math:`(1 - \pi^*) f_0 / f_t` bounds the local false discovery rate from above whatever the
    effect. Causal reading needs three assumptions: no unmeasured confounding, consistency, and
    controls that are comparable with every treated row. The bound is conservative where responders
    can have any outcome that controls have; where the effect is additive,
    :class:`nb26stats.SemiparametricC2G` finds more. It does not use the sign of an effect: where
    that is known and the noise is simple, one-sided tests can do as well.

    The average effect on the treated ("att") needs no prior: outcomes of treated rows less the
    smoothed mean of controls, less the same at controls weighted by the odds of treatment. It is
    doubly robust, right where the smoothed mean or the odds are. Its normal limits are for the
    effect in the population of treated rows, and cover that of the treated rows at hand at least
    as often. The published formula averages the difference of two smoothed means, and errs where
    the smoothing does: in 48 runs of each of nine simulated designs with effects it was 6 to 32 %
    off, and its limits at a level of 0.9 covered in 0 to 85 % of runs. From residuals it is
    within 2.5 %, and limits cover in 85 to 96 %.

    Other averages of the effect are intervals, since the prior is only bounded; see
    ``estimand_interval``. Prefer "responder_effect", which divides "att" once by the least share
    of responders, to "care", which divides row by row and averages the smoothed difference, its
    bias included. "erpf" and "responder_effect" are as good as the bound of the prior: it
    overshoots where rows are few, arms unequal, or effects neither small nor additive, and the
    upper end of "responder_effect" is then too low. Their limits add the spread over resamples,
    with bandwidths held, and not that bias: at a level of 0.9 those of "responder_effect" covered
    in 96 % of additive runs or more, and in 50 to 96 % of the others.

    References
    ----------
    "Treatment response as a latent variable", arXiv:2502.08776, and its reference code
    (github.com/tansey-lab/causal2groups).

    Examples
    --------
    >>> from nb26stats import NonparametricC2G, datasets
    >>> data = datasets.simulate_additive(n_samples=400, tau=5, random_state=1)
    >>> model = NonparametricC2G(n_bootstrap=30, device="cpu", random_state=0)
    >>> model = model.fit(data.X, data.y, treatment=data.treatment)
    >>> bool(data.responder[model.select(q=0.2)].mean() > 0.7)
    True
    >>> model.predict_effect(data.X[:3]).shape
    (3, 2)
    """

    _max_columns: ClassVar[int | None] = 50
    _pi0_choices: ClassVar[tuple[str, ...]] = ("auto", "conservative", "plugin")
    _ci_holds_bounds: ClassVar[bool] = True
    _att_from_residuals: ClassVar[bool] = True

    def __init__(
        self,
        q: float = 0.1,
        *,
        n_neighbors: Any = (50, 100, 200),
        bandwidth_fracs: Any = "auto",
        n_bootstrap: int = 100,
        bootstrap_quantile: float = 0.2,
        density_threshold: float = 0.05,
        ratio_quantile: float = 0.01,
        n_grid: Any = "auto",
        control: str = "auto",
        pi0: Any = "auto",
        randomized: bool = False,
        propensity_model: Any = None,
        overlap: float = 0.02,
        overlap_action: str = "warn",
        standardize: bool = True,
        missing: str = "raise",
        verbose: bool = False,
        device: str = "auto",
        n_threads: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.q = q
        self.n_neighbors = n_neighbors
        self.bandwidth_fracs = bandwidth_fracs
        self.n_bootstrap = n_bootstrap
        self.bootstrap_quantile = bootstrap_quantile
        self.density_threshold = density_threshold
        self.ratio_quantile = ratio_quantile
        self.n_grid = n_grid
        self.control = control
        self.pi0 = pi0
        self.randomized = randomized
        self.propensity_model = propensity_model
        self.overlap = overlap
        self.overlap_action = overlap_action
        self.standardize = standardize
        self.missing = missing
        self.verbose = verbose
        self.device = device
        self.n_threads = n_threads
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._neighbors()
        self._fractions()
        as_int(self.n_bootstrap, "n_bootstrap", minimum=1)
        if not 0.0 < as_float(self.bootstrap_quantile, "bootstrap_quantile") <= 0.5:
            raise ValueError(
                f"bootstrap_quantile={float(self.bootstrap_quantile):g} must lie in (0, 0.5]"
            )
        as_float(self.density_threshold, "density_threshold", above=0.0)
        if not 0.0 <= as_float(self.ratio_quantile, "ratio_quantile") < 1.0:
            raise ValueError(f"ratio_quantile={float(self.ratio_quantile):g} must lie in [0, 1)")
        self._grid_size()
        as_int(self.n_threads, "n_threads", minimum=0)
        choose_device(self.device)

    def _neighbors(self) -> list[int]:
        """Return the candidate numbers of neighbours."""
        given = as_list(self.n_neighbors, "n_neighbors")
        if not given:
            raise ValueError("n_neighbors is empty; give numbers of neighbours, at least 1")
        return [as_int(k, "n_neighbors", minimum=1) for k in given]

    def _fractions(self) -> F64:
        """Return the candidate bandwidths as shares of an arm."""
        if isinstance(self.bandwidth_fracs, str):
            as_choice(self.bandwidth_fracs, "bandwidth_fracs", ("auto",))
            return np.array(FRACTIONS)
        given = as_list(self.bandwidth_fracs, "bandwidth_fracs")
        if not given:
            raise ValueError("bandwidth_fracs is empty; give shares of an arm in (0, 1]")
        return np.array([as_float(f, "bandwidth_fracs", above=0.0, maximum=1.0) for f in given])

    def _grid_size(self) -> int | None:
        """Return the number of grid points; None is for "auto"."""
        if isinstance(self.n_grid, str):
            as_choice(self.n_grid, "n_grid", ("auto",))
            return None
        return as_int(self.n_grid, "n_grid", minimum=2, maximum=100_000)

    def _fit_model(self, rows: Rows, propensity: F64, seed: int) -> Scores:
        rule = Rule(
            n_bootstrap=int(self.n_bootstrap),
            quantile=float(self.bootstrap_quantile),
            ratio_quantile=float(self.ratio_quantile),
            threshold=float(self.density_threshold),
            seed=seed,
        )
        own = own_rows(rows.treated)
        with bar(2 * len(rows.y), desc="densities", unit="row", quiet=not self.verbose) as shown:
            arms = fit_two_arms(
                rows,
                rule,
                n_neighbors=self._neighbors(),
                fractions=self._fractions(),
                n_grid=self._grid_size(),
                standardize=bool(self.standardize),
                n_threads=int(self.n_threads),
                n_jobs=self.n_jobs,
                on_done=shown.update,
            )
            at = arms.bounds(
                rows.X,
                rows.y,
                own,
                device=self.device,
                n_threads=int(self.n_threads),
                keep_resamples=True,
                on_done=shown.update,
            )
        self._arms, self._own = arms, own
        self._keep(rows, at)
        return Scores(
            lfdr=np.where(rows.treated, at.lfdr, np.nan),
            control_score=np.where(rows.treated, np.nan, at.lfdr),
            prior=at.prior,
            null_mean=arms.scaling.level(at.control_mean),
            effect=None,
            ess=at.control_ess,
        )

    def _keep(self, rows: Rows, at: Bounds) -> None:
        """Keep what estimands need, and the attributes that only this estimator has."""
        assert at.prior_b is not None
        assert at.control_mean_b is not None
        assert at.treated_mean_b is not None
        arms, chosen = self._arms, rows.treated
        self._difference = arms.difference(at)
        self._prior_b = at.prior_b[chosen].T
        self._difference_b = arms.scaling.difference(
            (at.treated_mean_b[chosen] - at.control_mean_b[chosen]).T
        )
        limits = np.full((rows.n_given, 2), np.nan)
        limits[rows.kept] = np.column_stack(effect_bounds(at.prior, self._difference))
        self.effect_bounds_ = limits
        self.grid_ = arms.scaling.level(arms.grid)
        self.bandwidths_ = {
            name: {"n_neighbors": arm.n_neighbors, "hx": arm.hx, "hy": arm.hy}
            for name, arm in (("control", arms.control), ("treated", arms.treated))
        }

    def _at(self, x: F64, y: F64 | None = None) -> Bounds:
        """Return the bounds at rows that come later."""
        n_threads = int(self.n_threads)
        return self._arms.bounds(x, y, nobody(len(x)), device=self.device, n_threads=n_threads)

    def _lfdr_new(self, x: F64, y: F64) -> F64:
        return self._at(x, y).lfdr

    def _prior_new(self, x: F64) -> F64:
        return self._at(x).prior

    def _effect_new(self, x: F64) -> F64:
        at = self._at(x)
        return np.column_stack(effect_bounds(at.prior, self._arms.difference(at)))

    def _density_new(self, x: F64, grid: F64) -> tuple[F64, F64]:
        found = self._arms.curves(x, grid, nobody(len(x)), n_threads=int(self.n_threads))
        return found.control, found.treated

    def _density_at(self, row: int, grid: F64) -> tuple[F64, F64]:
        found = self._curves_at(row, grid, 1)
        return found.control[0], found.treated[0]

    def _density_bands(self, row: int, grid: F64) -> Bands:
        rule = self._arms.rule
        found = self._curves_at(row, grid, rule.n_bootstrap)
        return Bands(
            control=(found.control_lower[0], found.control_upper[0]),
            treated=(found.treated_lower[0], found.treated_upper[0]),
            level=1.0 - 2.0 * rule.quantile,
            n_resamples=rule.n_bootstrap,
        )

    def _curves_at(self, row: int, grid: F64, n_bootstrap: int) -> Curves:
        # as in the fit, the row is none of its own neighbours
        at = np.searchsorted(self._rows.kept, [row])
        own = type(self._own)(*(places[at] for places in self._own))
        n_threads = int(self.n_threads)
        return self._arms.curves(
            self._rows.X[at], grid, own, n_threads=n_threads, n_bootstrap=n_bootstrap
        )

    def _pi0_kind(self, n0: int) -> str | float:
        if self.pi0 == "auto":
            return "conservative" if n0 < THIN else "plugin"
        return super()._pi0_kind(n0)

    def _ends(self, estimand: str, which: I64) -> tuple[float, float]:
        lower, upper = bounds(estimand, self._scores.prior[which], self._difference[which])
        return float(lower), float(upper)

    def _resampled_ends(self, estimand: str, which: I64) -> tuple[F64, F64]:
        at = self._own.treated[which]
        lower, upper = bounds(estimand, self._prior_b[:, at], self._difference_b[:, at])
        if estimand == "erpf":
            lower = around(self._ends(estimand, which)[0], lower)
        return lower, upper
