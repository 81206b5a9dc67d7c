"""OjaPCA: principal components of a stream, with bootstrap replicates carried along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nb26stats._check import as_bool, as_choice, as_int, as_jobs, as_prob
from nb26stats._dispatch import choose_device, cuda

from ._advance import absorb
from ._csr import CsrRows, as_rows, is_sparse
from ._errors import OjaErrors
from ._fields import OjaFields, tell_few_rows
from ._fit import run, take_rest, worth_a_bar
from ._kinds import check_kind
from ._merge import merged
from ._pilot import start_without_pilot
from ._plot import OjaPlots
from ._rows import (
    as_source,
    check_rows,
    count_complete,
    is_slab_source,
    parts,
    working,
)
from ._scores import OjaScores
from ._settings import Settings, read_settings
from ._state import State, check_variance, new_state
from ._store import dump, load
from ._table import loading_frame, summary_text

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags


class OjaPCA(OjaErrors, OjaPlots, OjaScores, OjaFields, BaseEstimator):
    """Principal components by Oja's rule in one pass, with online bootstrap intervals.

    Every row updates the directions by ``W + eta y (y' W)`` and is then forgotten, so memory does
    not grow with the number of rows. ``n_bootstrap`` replicates see the same rows with random
    weights; their spread around the estimate gives errors of the subspace and intervals of the
    loadings in the same pass.

    Parameters
    ----------
    n_components : int, default=1
        Number of directions k, at most the number of features d.
    n_bootstrap : int, default=0
        Number of replicates B; intervals want 99 or more.
    learning_rate : {"auto", "theory", "decay", "constant"} or callable, default="auto"
        Step eta of row t. ``"auto"``: ``c / gap / (offset + t)`` with the eigengap estimated from
        the pilot and again whenever the number of rows has doubled (while no gap is in sight steps
        go on as they were); the offset keeps the step times the total variance below ``kappa``.
        ``"theory"``: ``c log(N) / (N gap)`` for N = ``n_total`` rows. ``"decay"``:
        ``eta0 / (beta + t)``. ``"constant"``: ``eta0``, which follows drift and never converges. A
        callable maps an array of row numbers (from 1) to steps.
    c : float, optional
        Constant of ``"auto"`` (default 1.5) and ``"theory"`` (default 1).
    kappa : float, default=0.5
        Bound on the step times the total variance in ``"auto"``.
    eta0, beta : float, optional
        Constants of ``"decay"`` and ``"constant"``; ``beta`` defaults to 0.
    gap : float, optional
        Eigengap after component k, in place of the estimate.
    n_total : int, optional
        Number of rows that ``"theory"`` plans for; ``fit`` knows it.
    center : bool, default=True
        Subtract the running mean, exactly: the rows used have the scatter of centred data.
    init : {"pilot", "random"} or array of shape (k, d) or (k + 1, d), default="pilot"
        Start. ``"pilot"`` keeps the first ``pilot_size`` rows and starts from their PCA, each
        replicate from a PCA with its own weights. With the others ``"auto"`` and ``"theory"`` need
        ``gap``, and replicates share the start.
    pilot_size : int, optional
        Rows of the pilot, at least 4 (k + 1). Default: the largest of 50, 10 (k + 1), min(d, 200),
        and 20 ``multiplier_block`` if that is above 1.
    block_size : int, default=64
        Rows between orthonormalisations. The update does not depend on it, but with ``"auto"`` the
        directions used for the eigengap are those of the last block, so estimates do a little.
    growth_limit : float, optional
        A block closes early when the sum of step times squared length passes this (default 4),
        before one direction drowns the others.
    multiplier : {"double", "exponential", "paired"}, default="double"
        Weights of the replicates: 0 or 2 with equal chance, or exponential; both have mean 1 and
        variance 1. ``"paired"``: the row's weight is ``1 + g`` and that of the row before it loses
        ``g``, a normal number of variance 1/2, so that the scatter is resampled about itself; more
        conservative, for ``multiplier_block=1`` only. Its weights may be negative, and the pilot
        takes those of ``"double"``.
    multiplier_block : int, default=1
        Consecutive rows that share a weight. Autocorrelated rows, such as bins of a recording, need
        at least five times their correlation time; otherwise intervals are too narrow, which a
        warning says, and which block to take. See the notes.
    missing : {"raise", "drop"}, default="raise"
        Rows with NaN or a masked value: an error, or left out and counted in ``n_rows_skipped_``.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where replicates are computed; those of sparse rows on the CPU only.
    n_jobs : int, optional
        Joblib tasks over groups of replicates in ``fit``; ``partial_fit`` ignores it.
    n_threads : int, default=0
        OpenMP threads of one native call, 0 for all that are offered. Neither this nor ``n_jobs``
        changes a bit of the result.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random weights and of a random start.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal directions, largest entry of each positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (k,)
        Variance along each direction, measured before a row is absorbed and weighted by its number.
    noise_variance_ : float
        Mean variance of the other directions.
    next_variance_ : float
        Variance along the direction after the last component; NaN where none is tracked.
    mean_ : ndarray of shape (d,)
        Mean of the rows.
    bootstrap_components_ : ndarray of shape (B, k, d)
        Replicates of ``components_``, signs matched.
    eigengap_, learning_rate_, init_weight_ : float
        Gap in use, next step, and what is left of the start (below 0.01 for trustworthy intervals).
    autocorrelation_ : ndarray of shape (k,)
        Lag-1 correlation of the noise behind each component's error; near 0 for independent rows.
    recommended_block_ : int
        ``multiplier_block`` that this correlation asks for at the least, 1 where there is none.
    n_samples_seen_, n_rows_skipped_, n_features_in_, n_components_, pilot_size_, seed_ : int
        Counts and the key of the weights.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if the rows had them.
    device_ : str
        ``"cpu"`` or ``"cuda"``.

    Notes
    -----
    The first rows fix the parameters: ``set_params`` no longer changes the estimate of a stream
    that has begun.

    The method needs a gap between eigenvalues k and k + 1. One pass depends on the order of rows:
    shuffle rows that are sorted by class or time unless drift is the question. The intervals are
    for the population's directions, not for the PCA of the sample at hand. Batch PCA is the more
    accurate estimate where the data fit in memory; with the default constants the squared error
    here is about 1.3 times larger. One estimator is for one thread at a time; estimators of their
    own may run side by side.

    Rows further apart than ``multiplier_block`` are taken for independent. The block that a warning
    names goes by neighbouring rows and correlations that fall off geometrically: where they fall
    more slowly, as they do in recordings, it is a lower bound. Fit again with twice the block; if
    the median of ``bootstrap_errors()`` rises by more than a tenth, take longer blocks still. The
    rows should make 200 blocks or more. Rows that are sorted, or whose source changes on the way,
    look autocorrelated too; there no block helps.

    Sparse rows are centred without being filled in. Where the mean of a column is m times its
    spread, that costs up to twice as many digits as m has; subtract such a mean beforehand.

    Peak memory is up to one and a half times the directions and replicates, beside the pilot and
    two blocks of rows; a source that is read adds one slab of 4096 rows. Small streams take a
    quarter of a megabyte more.

    The update is Oja's (1982); replicates with random weights follow the online bootstrap of Lunde,
    Sarkar and Ward (2021), here for several components. Step schedule, pilot and block weights are
    choices of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.streaming import OjaPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 10)) * np.r_[3.0, 2.0, np.ones(8)]
    >>> pca = OjaPCA(2, n_bootstrap=199, random_state=0)
    >>> for rows in np.array_split(X, 7):
    ...     pca = pca.partial_fit(rows)
    >>> pca.components_.shape, pca.n_samples_seen_
    ((2, 10), 3000)
    >>> lower, upper = pca.component_intervals(level=0.95)
    >>> bool(np.all(lower <= pca.components_) and np.all(pca.components_ <= upper))
    True
    >>> 0 < pca.error_quantile(0.95) < 0.1
    True
    >>> pca.bootstrap_errors().shape, pca.diagnostics()
    ((199,), [])
    >>> pca.error_history(level=0.95).columns.tolist()
    ['n_samples', 'error_quantile']

    Scores, and rows from scores:

    >>> scores = pca.transform(X)
    >>> scores.shape, pca.inverse_transform(scores).shape
    ((3000, 2), (3000, 10))

    The stream goes on where it was saved; ``fit`` starts it anew:

    >>> again = OjaPCA.from_state(pca.get_state())
    >>> again.partial_fit(X).n_samples_seen_, again.fit(X).n_samples_seen_
    (6000, 3000)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_bootstrap: int = 0,
        learning_rate: str | Callable[[NDArray[np.float64]], ArrayLike] = "auto",
        c: float | None = None,
        kappa: float = 0.5,
        eta0: float | None = None,
        beta: float | None = None,
        gap: float | None = None,
        n_total: int | None = None,
        center: bool = True,
        init: str | ArrayLike = "pilot",
        pilot_size: int | None = None,
        block_size: int = 64,
        growth_limit: float | None = None,
        multiplier: str = "double",
        multiplier_block: int = 1,
        missing: str = "raise",
        device: str = "auto",
        n_jobs: int | None = None,
        n_threads: int = 0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_bootstrap = n_bootstrap
        self.learning_rate = learning_rate
        self.c = c
        self.kappa = kappa
        self.eta0 = eta0
        self.beta = beta
        self.gap = gap
        self.n_total = n_total
        self.center = center
        self.init = init
        self.pilot_size = pilot_size
        self.block_size = block_size
        self.growth_limit = growth_limit
        self.multiplier = multiplier
        self.multiplier_block = multiplier_block
        self.missing = missing
        self.device = device
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _resources(self, state: State) -> tuple[int, str]:
        threads = as_int(self.n_threads, "n_threads", minimum=0, maximum=2**16)
        if state.settings.sparse:
            if as_choice(self.device, "device", ("auto", "cpu", "cuda")) == "cuda":
                raise ValueError(
                    "device='cuda' takes no sparse rows; use 'auto' or 'cpu', or start the stream "
                    "with dense rows"
                )
            return threads, "cpu"
        device = choose_device(self.device)
        if device == "cuda" and self.device == "auto" and not cuda().oja_fits(state.settings.sizes):
            device = "cpu"
        return threads, device

    def fit(self, X: Any, y: object = None) -> Self:
        """Pass over ``X`` once, from the start.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows in the order of the stream. Memory maps, HDF5 and zarr datasets and NWB time series
            (scaled to their unit) are read by slabs, dask arrays block by block. Sparse
            matrices of any SciPy format are taken as they are, in time and memory that go with
            their stored values and with d, never with n d.
        y : None
            Ignored.

        Returns
        -------
        OjaPCA
            The estimator itself.

        Raises
        ------
        ValueError
            For fewer than k + 1 rows, values that are not finite or too large for the number type,
            data without variance, or a parameter out of range.
        TypeError
            For a parameter or data of the wrong kind.
        RuntimeError
            If ``device="cuda"`` cannot be had.
        """
        # whatever goes wrong below, no half of a fit passes for a whole one
        self.__dict__.pop("_state", None)
        X = as_source(X)
        check_kind(X)
        slab = is_slab_source(X)
        if slab:
            n, dtype = self._look(X, reset=True)
        else:
            X = self._rows_of(X, reset=True)
            missing = as_choice(self.missing, "missing", ("raise", "drop"))
            check_rows(X, missing, self._names())
            n, dtype = count_complete(X, missing), X.dtype
        unknown = slab and self.missing == "drop"
        settings, start = read_settings(
            self,
            self.n_features_in_,
            dtype,
            None if unknown else n,
            sparse=isinstance(X, CsrRows),
        )
        _enough(n, settings)
        state = _begin(settings, start)
        jobs = as_jobs(self.n_jobs)
        threads, self.device_ = self._resources(state)
        state = run(state, X, n_jobs=jobs, n_threads=threads, device=self.device_)
        _enough(state.n_seen, settings)
        check_variance(state)
        self._state = state
        tell_few_rows(state)
        return self

    def partial_fit(self, X: Any, y: object = None, check_input: bool = True) -> Self:
        """Take more rows of the stream; any number from one on.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Next rows, from whatever ``fit`` takes. However the stream is cut into calls, the result
            is the same to the last bit. The first rows decide whether the stream is dense or
            sparse; later ones of the other kind are converted. A bad value in a source that is read
            by slabs is found when its slab is; the slabs before it have been taken then. So have
            the rows before one that is too large for the number type or for its step.
        y : None
            Ignored.
        check_input : bool, default=True
            False skips all checks, for C-contiguous arrays of finite numbers in the dtype of the
            first rows.

        Returns
        -------
        OjaPCA
            The estimator itself.

        Raises
        ------
        ValueError
            For values that are not finite, data without variance, or a parameter out of range.
        TypeError
            For a parameter or data of the wrong kind.
        """
        begun = getattr(self, "_state", None) is not None
        slab = False
        if as_bool(check_input, "check_input"):
            X = as_source(X)
            check_kind(X)
            slab = is_slab_source(X)
        if slab:
            _, dtype = self._look(X, reset=not begun)
        elif check_input:
            X = self._rows_of(X, reset=not begun)
            # like the other parameters, fixed by the first rows
            missing = self._state.settings.missing if begun else self.missing
            check_rows(X, as_choice(missing, "missing", ("raise", "drop")), self._names())
        else:
            if is_sparse(X):
                X = as_rows(X)
            elif not isinstance(X, np.ndarray) or X.ndim != 2:
                raise TypeError(
                    "check_input=False takes two-dimensional NumPy arrays and sparse matrices, got "
                    f"{type(X).__name__}"
                )
            if not begun:
                self.n_features_in_ = X.shape[1]
        sparse = isinstance(X, CsrRows)
        if not begun:
            settings, start = read_settings(
                self, X.shape[1], dtype if slab else X.dtype, None, sparse=sparse
            )
            state = _begin(settings, start)
        else:
            state = self._state
        threads, self.device_ = self._resources(state)
        self._state = state
        try:
            if slab:
                show = worth_a_bar(state, int(X.shape[0]))
                take_rest(state, X, 0, 0, threads, self.device_, show)
            elif not check_input and sparse == state.settings.sparse:
                absorb(state, X, n_threads=threads, device=self.device_)
            else:
                for _, part in parts(X) if sparse or state.settings.sparse else [(0, X)]:
                    rows, skipped = working(part, state.settings)
                    state.n_skipped += skipped
                    absorb(state, rows, n_threads=threads, device=self.device_)
        finally:
            # a stream that has taken nothing has not begun
            if not begun and not state.n_seen and not state.n_skipped:
                del self._state
        return self

    def summary(self, level: float = 0.95) -> str:
        """Return a text table: components, variances, subspace error, and cautions.

        Parameters
        ----------
        level : float, default=0.95
            Level of the error quantile.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        check_is_fitted(self)
        return summary_text(self, as_prob(level, "level"))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return all loadings as a table, with what the replicates say of each.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of each interval on its own.

        Returns
        -------
        pandas.DataFrame
            One row per component and feature: ``component``, ``feature`` (its name, or its number
            from 0), ``loading``, ``standard_error``, ``ci_low`` and ``ci_high``, as
            ``component_intervals`` gives them; the last three are NaN without replicates.

        Raises
        ------
        NotFittedError
            Before k + 1 rows were seen.
        """
        check_is_fitted(self)
        return loading_frame(self, as_prob(level, "level"))

    def get_state(self) -> dict[str, Any]:
        """Return the whole stream as arrays and scalars, fit for npz and HDF5 files.

        Returns
        -------
        dict
            Flat; ``from_state`` continues from it bit for bit.

        Raises
        ------
        NotFittedError
            Before the first row.
        TypeError
            If ``learning_rate`` is a function.
        """
        if getattr(self, "_state", None) is None:
            check_is_fitted(self)
        return dump(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return an estimator that continues where ``get_state`` was called.

        Parameters
        ----------
        state : mapping
            What ``get_state`` returned, also after a trip through npz or HDF5.

        Returns
        -------
        OjaPCA

        Raises
        ------
        ValueError
            If the state is of another version, incomplete or damaged.
        """
        est = cls()
        load(est, state)
        _, est.device_ = est._resources(est._state)
        return est

    @classmethod
    def merge(cls, estimators: Iterable[OjaPCA]) -> Self:
        """Return one estimator from several that saw independent parts of the rows.

        Each part's directions count with its number of rows: the result spans the leading
        directions of all parts' directions together, and so does replicate b for the parts'
        replicates b. The error is about that of one pass over all rows. The parts stay as they
        are.

        Parameters
        ----------
        estimators : iterable of OjaPCA
            Parts with the same features, ``n_components``, ``n_bootstrap``, ``center``, ``missing``
            and number type, every one with its own ``random_state`` and past its pilot. The first
            gives the result its parameters and ``seed_``; otherwise their order does not matter,
            up to rounding.

        Returns
        -------
        OjaPCA
            Ready for inference, ``partial_fit``, ``get_state`` and another ``merge``.
            ``init_weight_`` is the largest of the parts', ``pilot_size_`` the sum of theirs.

        Raises
        ------
        ValueError
            If parts do not go together, share a seed, or have not passed their pilot; the message
            says which.
        TypeError
            For anything that is not a fitted OjaPCA.

        Examples
        --------
        >>> import numpy as np
        >>> from nb26stats import OjaPCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(4000, 10)) * np.r_[3.0, 2.0, np.ones(8)]
        >>> parts = [
        ...     OjaPCA(2, n_bootstrap=99, random_state=i).fit(rows)
        ...     for i, rows in enumerate(np.split(X, 2))
        ... ]
        >>> pca = OjaPCA.merge(parts)
        >>> pca.n_samples_seen_, pca.error_quantile() < parts[0].error_quantile()
        (4000, True)
        """
        return cast(Self, merged(cls, estimators))


def _begin(settings: Settings, start: NDArray[np.float64] | None) -> State:
    state = new_state(settings)
    if settings.init != "pilot":
        start_without_pilot(state, start)
    return state


def _enough(n: int, settings: Settings) -> None:
    need = settings.n_components + 1
    if n < need:
        raise ValueError(f"n_samples={n} must be at least n_components + 1 = {need}")
