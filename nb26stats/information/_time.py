"""TimeResolvedPID: what pairs of areas tell about targets, bin by bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from nb26stats._blas import one_blas_thread
from nb26stats._seed import as_seed

from ._areas import read_areas, read_pairs, read_targets, read_times
from ._time_judge import judged
from ._time_plan import make_estimator, make_plan
from ._time_run import run
from ._time_settings import read_settings, warn_of_settings
from ._time_tables import TimeTables


class TimeResolvedPID(TimeTables, BaseEstimator):
    """Partial information decomposition of pairs of brain areas about a target over time.

    In every bin the information that two areas carry about a target is divided into what both
    carry (redundancy), what only one of them carries (unique), and what only the two together
    carry (synergy). Permutations tell which bins stand out, corrected over bins, and from them
    come onsets and offsets.

    Parameters
    ----------
    estimator : estimator, optional
        What divides the information of one bin; by default
        ``GaussianPID(bias="bootstrap", n_bootstrap=12)``. It is cloned and gets the seed of this
        fit. ``GaussianPID`` with ``measure`` ``"broja"`` or ``"mmi"``, any ``bias``, and without
        ``pca`` or ``regularization`` takes a fast way through the native core (with ``copula`` only
        for ``null="target"`` and without resamples). Everything else, ``DiscretePID`` included, is
        fitted anew for each bin and permutation, which takes hundreds of times longer.
        ``DiscretePID`` needs ``area_pca=None`` and ``target_pca=None``.
    pairs : list of (source, source), optional
        A source is the name of an area, or a tuple of names for a block, whose units are put side
        by side. Default for areas A, B, C: (A, C), (B, C), (A, B), ((A, B), C); for two areas the
        one pair.
    target_pca, area_pca : int or None, default=10 and 20
        Number of principal components that replace the features of each target and the units of
        each area, fitted once over all bins; None keeps features or units.
    n_permutations : int, default=1000
        Permutations P of the null.
    null : {"target", "conditional-x", "conditional-y", "noise-shuffle"}, default="target"
        What is permuted, by the same permutations in all bins, pairs and targets. ``"target"``: the
        trials of the target, which tests for information. ``"conditional-y"``: the residuals of
        source 2 on source 1, which tests its unique information; ``"conditional-x"`` likewise for
        source 1. ``"noise-shuffle"``: the residuals of source 2 on the target (for a target of
        classes, trials within each class), which tests what noise correlation adds to synergy.
    correction : {"max", "cluster"}, default="max"
        Over bins: the maximum of z, or the mass of runs of bins with z above 2.33. Latencies always
        come from the maximum, since clusters do not say which of their bins are significant.
    correction_scope : {"separate", "all"}, default="separate"
        Whether each pair, target and atom has its own correction, or one covers all of them.
    alpha : float, default=0.01
        Level of the corrected p-values.
    min_run : int, default=3
        Consecutive significant bins that make a response.
    onset_method : {"run", "fraction"}, default="run"
        ``"run"``: onset is the first bin of the first response, offset the first bin after the
        last. ``"fraction"``: first and last bin with ``onset_fraction`` of the peak above the mean
        of the bins before time 0, where there is a response at all.
    onset_fraction : float, default=0.25
        That part.
    bootstrap : {"half", "full"}, default="half"
        Resamples of trials: half of them without replacement, or all with replacement.
    n_bootstrap : int, default=0
        Resamples for intervals of the onsets; 0 for none.
    level : float, default=0.95
        Coverage of these intervals.
    missing : {"raise"}, default="raise"
        NaN and infinities are errors.
    verbose : bool, default=False
        Whether a bar shows progress, on a terminal or in a notebook.
    n_jobs : int, optional
        Joblib tasks over targets and blocks of permutations or resamples, each with all its pairs.
        It does not change a bit of the result.
    random_state : int, Generator, RandomState or None, default=None
        Seed of permutations, resamples and bootstrap draws.

    Attributes
    ----------
    values_ : ndarray of shape (pairs, targets, 7, bins)
        Informations ``mi_1``, ``mi_2``, ``mi_12`` and atoms ``redundancy``, ``unique_1``,
        ``unique_2``, ``synergy``.
    z_, p_max_, significant_ : ndarray of shape (pairs, targets, 7, bins)
        Standardised values, corrected p-values and the bins at level ``alpha``.
    null_mean_, null_sd_, thresholds_ : ndarray of shape (pairs, targets, 7)
        Moments of the null over permutations and bins, and the threshold of z.
    onsets_, offsets_ : ndarray of shape (pairs, targets, 7)
        NaN where there is none.
    resampled_onsets_ : ndarray of shape (n_bootstrap, pairs, targets, 7)
        Onsets of the resamples.
    pairs_, targets_ : list of str
        Names in the tables.
    times_ : ndarray of shape (bins,)
        Starts of the bins.
    ridged_ : list of (str, int)
        Areas and bins whose covariance was singular and got a ridge of 1e-10 of the variance.
    measure_ : str
        Measure of the estimator; every onset depends on it.
    base_ : float
        Base of the logarithm.
    n_samples_, seed_ : int
        Number of trials, and the key.

    Notes
    -----
    Times are starts of bins, in whatever unit ``times`` has. An offset is NaN where the response
    lasts to the last bin. Smooth signals causally or not at all: a symmetric kernel moves onsets
    forward.

    ``null="target"`` is valid for the three informations. For the atoms it only tests that there is
    no information at all: where the areas do carry information, synergy and redundancy have a
    positive sampling offset that this null lacks. Correct the bias (the default) or use
    ``"noise-shuffle"`` for synergy. Unique information of areas that carry almost the same is
    biased upward by every estimator, synergy and redundancy downward.

    With ``measure="mmi"`` the smaller unique information is zero by definition, so a late area
    seems to have synergy before it has anything of its own. A published onset must say its measure.

    Coverage of the intervals of onsets has not been validated. A resample is judged by the
    threshold of the full data in units of z, with mean and standard deviation from permutations of
    the first resample.

    Axes are fitted without the target. Axes fitted to the target would leak or lose synergy.

    Memory is that of one copy of all areas after ``area_pca``, in double precision, half as much
    again with resamples, and the null values. BLAS runs on one thread in each task, since its bits
    depend on the number of threads; ``n_jobs`` uses more cores.

    The decomposition is that of Bertschinger et al. (2014), in closed form for Gaussian variables;
    maxima over bins follow Nichols & Holmes (2002), clusters Maris & Oostenveld (2007). Nulls of
    unique information and synergy and the resampling scheme are choices of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.information import GaussianPID, TimeResolvedPID
    >>> rng = np.random.default_rng(0)
    >>> image = rng.normal(size=(300, 2))
    >>> gain = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])[:, None]
    >>> areas = {
    ...     "V1": image[:, None] * gain + rng.normal(size=(300, 6, 2)),
    ...     "IT": rng.normal(size=(300, 6, 2)),
    ... }
    >>> pid = TimeResolvedPID(GaussianPID(bias=None), n_permutations=99, random_state=0)
    >>> pid = pid.fit(areas, image, times=[-30, -20, -10, 0, 10, 20])
    >>> onsets = pid.latencies_.set_index("atom")["onset"]
    >>> float(onsets["unique_1"]), float(onsets["mi_2"])
    (0.0, nan)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        pairs: Sequence[Any] | None = None,
        target_pca: int | None = 10,
        area_pca: int | None = 20,
        n_permutations: int = 1000,
        null: str = "target",
        correction: str = "max",
        correction_scope: str = "separate",
        alpha: float = 0.01,
        min_run: int = 3,
        onset_method: str = "run",
        onset_fraction: float = 0.25,
        bootstrap: str = "half",
        n_bootstrap: int = 0,
        level: float = 0.95,
        missing: str = "raise",
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.pairs = pairs
        self.target_pca = target_pca
        self.area_pca = area_pca
        self.n_permutations = n_permutations
        self.null = null
        self.correction = correction
        self.correction_scope = correction_scope
        self.alpha = alpha
        self.min_run = min_run
        self.onset_method = onset_method
        self.onset_fraction = onset_fraction
        self.bootstrap = bootstrap
        self.n_bootstrap = n_bootstrap
        self.level = level
        self.missing = missing
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X_by_area: Mapping[str, ArrayLike],
        target: ArrayLike | Mapping[str, ArrayLike],
        times: ArrayLike,
    ) -> Self:
        """Decompose every bin and compare it with permutations.

        Parameters
        ----------
        X_by_area : mapping of str to array-like of shape (trials, bins, units)
            Activity of each area; an array (trials, bins) is one unit.
        target : array-like of shape (trials, features), or mapping of str to such arrays
            What the activity may tell about; several targets by name.
        times : array-like of shape (bins,)
            Starts of the bins, increasing.

        Returns
        -------
        TimeResolvedPID
            This estimator. An interrupted fit leaves it as it was.

        Raises
        ------
        ValueError
            Shapes or numbers of trials that do not fit together, NaN or infinities, fewer trials
            than dimensions, linearly dependent units, a target that is a function of a source,
            too few permutations for ``alpha``, or an unknown area or setting.
        TypeError
            An array or setting of the wrong kind.
        """
        starts = read_times(times)
        settings = read_settings(self, starts)
        areas = read_areas(X_by_area, len(starts))
        pairs = read_pairs(self.pairs, areas)
        targets = read_targets(target, len(next(iter(areas.values()))))
        seed = as_seed(self.random_state)
        model = make_estimator(self.estimator, seed)
        measure, bias = getattr(model, "measure", None), getattr(model, "bias", None)
        warn_of_settings(measure, bias, settings.n_bootstrap)
        with one_blas_thread():
            plan = make_plan(model, areas, targets, pairs, settings, seed)
            raw = run(
                plan,
                n_permutations=settings.n_permutations,
                n_bootstrap=settings.n_bootstrap,
                bootstrap=settings.bootstrap,
                n_jobs=settings.n_jobs,
                verbose=settings.verbose,
            )
        found = judged(raw, settings, (len(pairs), len(targets)))
        # everything is computed: an interrupt can no longer leave halves of two fits
        for name, value in found.items():
            setattr(self, name, value)
        self.seed_ = seed
        self.pairs_ = [pair.label for pair in pairs]
        self.targets_ = list(targets)
        self.times_ = starts
        self.n_samples_ = len(next(iter(areas.values())))
        self.measure_ = str(measure if measure is not None else type(model).__name__)
        self.base_ = float(getattr(model, "base", 2.0))
        self.ridged_ = list(plan.ridged)
        self._settings: dict[str, Any] = {
            "null": settings.null,
            "correction": settings.correction,
            "alpha": settings.alpha,
            "level": settings.level,
            "n_permutations": settings.n_permutations,
        }
        return self
