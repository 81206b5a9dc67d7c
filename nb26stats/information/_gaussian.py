"""GaussianPID: what two multivariate sources tell about a target, from their covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator

from nb26stats._check import as_int, as_numbers
from nb26stats._seed import as_seed
from nb26stats._warnings import warn

from ._copula import normal_scores, warn_of_ties
from ._delta import delta_unions
from ._fitted import PIDFields, frame_of_many
from ._gaussian_bias import bartlett_factors, corrected
from ._gaussian_call import gaussian_informations
from ._gaussian_checks import as_covariances, as_dims, check_trials, refuse_status
from ._gaussian_settings import GaussianSettings, read_settings
from ._reduce import principal_axes
from ._samples import read_pair, varying
from ._shrinkage import shrinkage_weight, shrunk, standardised

if TYPE_CHECKING:
    import pandas as pd

F64 = NDArray[np.float64]


class GaussianPID(PIDFields, BaseEstimator):
    """Partial information decomposition of jointly Gaussian sources and target.

    Two sources, such as the activities of two areas, tell about a target, such as features of an
    image. Their joint information is split into what either tells (redundancy), what only one
    tells (unique) and what only both together tell (synergy).

    Parameters
    ----------
    measure : {"broja", "mmi", "delta"}, default="broja"
        Definition of the union information (redundancy plus both unique informations).
        ``"broja"``: the least joint information over all couplings with the given source-target
        pairs, by a closed form. ``"mmi"``: redundancy is the smaller of the two informations.
        ``"delta"``: by how far either source is from simulating the other. See the notes.
    pca : int, optional
        Project each source on its first ``pca`` principal components (all it has, if fewer).
    copula : bool, default=False
        Replace every column by the normal scores of its ranks, after the projection.
    regularization : {None, "ledoit-wolf", "oas"} or float, default=None
        Weight with which the correlations of all columns together are moved towards zero, by
        the data or as given in [0, 1].
    bias : {None, "analytic", "gpid", "bootstrap"}, default="bootstrap"
        Correction of the informations for the number of trials; the atoms follow from them and
        may be slightly negative. ``"bootstrap"`` takes off the mean excess of Wishart draws about
        the estimate. ``"analytic"`` is exact for the mutual informations of Gaussian variables and
        scales the union alike; ``"gpid"`` does what the package of that name does. Neither is
        defined for ``measure="delta"``.
    n_bootstrap : int, default=50
        Number of Wishart draws.
    clip : bool, default=False
        Put the corrected union between its bounds, so that no atom is negative.
    base : float, default=2
        Base of the logarithm: 2 for bits, ``numpy.e`` for nats.
    missing : {"raise"}, default="raise"
        Missing values are an error.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where batches are computed.
    n_threads : int, default=0
        OpenMP threads of one native call, 0 for all that are offered. No bit of the result
        depends on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the Wishart draws.

    Attributes
    ----------
    redundancy_, synergy_, union_ : float
        Atoms, and redundancy plus both unique informations.
    unique_ : ndarray of shape (2,)
        What only source 1 tells, and only source 2.
    mi_ : ndarray of shape (3,)
        Information about the target of source 1, source 2 and both.
    gap_ : float
        0, since the values are closed forms.
    converged_ : bool
        Whether the values are final.
    n_iter_ : int
        Iterations of a solver, 0 where there is none.
    n_samples_ : int or None
        Number of trials, if known.
    seed_ : int
        Seed of the draws.
    atoms_ : pandas.Series
        Redundancy, unique_1, unique_2, synergy.

    Notes
    -----
    With the target whitened, let C_X and C_Y be its covariances given source 1 and source 2, and
    lambda the eigenvalues of ``C_Y v = lambda C_X v``. Then for ``"broja"`` (Bertschinger et al.
    2014) the unique informations are half the sums of ``max(0, log lambda)`` and
    ``max(0, -log lambda)``: each direction of the target belongs to the source that knows it
    better. This is the optimum over all couplings, Gaussian or not; earlier work approached it by
    gradient descent (Venkatesh et al. 2023). The values do not change under invertible linear maps
    of sources or target.

    With ``"mmi"`` (Barrett 2015) the weaker source never has unique information, whatever it
    knows, and two sources that know different things come out as redundant and synergistic.

    With ``"delta"`` (Venkatesh & Schamberg 2022) the redundancy is the smaller of I_X - D_X and
    I_Y - D_Y, where the deficiency D_X is the least divergence of X from what linear processing
    and noise can make of Y. It is found by iterations, some thousand times slower.

    The unique informations of sources that know nearly the same keep a positive bias under every
    correction, and synergy and redundancy a negative one: compare them with a null.

    The target's axes are taken as they come. Axes fitted to predict the target leak when applied
    to the trials they were fitted on, and predictions from other folds still lose synergy.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.information import GaussianPID
    >>> rng = np.random.default_rng(0)
    >>> target = rng.standard_normal((2000, 2))
    >>> v1 = target @ [[1.0, 0.3, 0.0], [0.0, 0.0, 0.1]] + rng.standard_normal((2000, 3))
    >>> it = target @ [[0.0, 0.2], [2.0, 1.0]] + rng.standard_normal((2000, 2))
    >>> pid = GaussianPID(random_state=0).fit([v1, it], target)
    >>> bool(pid.unique_[1] > pid.unique_[0] > 0.2)
    True
    >>> parts = pid.redundancy_ + pid.unique_.sum() + pid.synergy_
    >>> bool(abs(parts - pid.mi_[2]) < 1e-10)
    True

    From covariances that are known, of sources and target in this order:

    >>> cov = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    >>> known = GaussianPID(bias=None).fit_covariance(cov, dims=(1, 1, 1))
    >>> known.unique_.round(3)
    array([0.208, 0.   ])
    >>> known.fit_many([cov, np.eye(3)], dims=(1, 1, 1))["unique_1"].round(3).abs().tolist()
    [0.208, 0.0]
    """

    def __init__(
        self,
        measure: str = "broja",
        *,
        pca: int | None = None,
        copula: bool = False,
        regularization: str | float | None = None,
        bias: str | None = "bootstrap",
        n_bootstrap: int = 50,
        clip: bool = False,
        base: float = 2,
        missing: str = "raise",
        device: str = "auto",
        n_threads: int = 0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.measure = measure
        self.pca = pca
        self.copula = copula
        self.regularization = regularization
        self.bias = bias
        self.n_bootstrap = n_bootstrap
        self.clip = clip
        self.base = base
        self.missing = missing
        self.device = device
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(
        self, sources: Sequence[ArrayLike] | Mapping[str, ArrayLike], target: ArrayLike
    ) -> Self:
        """Decompose what two sources tell about the target in the same trials.

        Parameters
        ----------
        sources : list or dict of two array-likes of shape (n, d_i) or (n,)
            The sources, trials in rows; messages use the keys of a dict and the column names of
            DataFrames. Columns that never vary are dropped with a warning.
        target : array-like of shape (n, dm) or (n,)
            The target in the same trials.

        Returns
        -------
        GaussianPID
            The fitted estimator itself.

        Raises
        ------
        ValueError
            Numbers of trials differ or are too few, a value is not finite, no column of an array
            varies, columns are linearly dependent, or the target is a function of the sources.
        TypeError
            ``sources`` is not a list, or entries are not real numbers.
        RuntimeError
            ``device="cuda"`` and there is none that can be used.
        """
        settings = read_settings(self)
        parts = [varying(samples) for samples in read_pair(sources, target)]
        names = [samples.name for samples in parts]
        columns = [samples.values for samples in parts]
        if settings.pca is not None:
            columns[:2] = [_scores(x, settings.pca) for x in columns[:2]]
        if settings.copula:
            for x, name in zip(columns, names, strict=True):
                warn_of_ties(x, name)
            columns = [normal_scores(x) for x in columns]
        dx, dy, dm = (x.shape[1] for x in columns)
        n = len(columns[0])
        check_trials(
            n, (dx, dy, dm), bias=settings.bias, shrinks=settings.shrinks, base=settings.base
        )
        z = standardised(np.hstack(columns))
        weight = shrinkage_weight(z, settings.regularization)
        cov = shrunk(z.T @ z / (n - 1), weight)
        seed = as_seed(self.random_state)
        four = self._decompose(settings, cov[None], (dx, dy, dm), n, seed, "data")
        self.seed_ = seed
        self._set_fields(four[0], n_samples=n)
        return self

    def fit_covariance(
        self, cov: ArrayLike, dims: tuple[int, int, int], *, n_samples: int | None = None
    ) -> Self:
        """Decompose a covariance.

        Parameters
        ----------
        cov : array-like of shape (d, d)
            Joint covariance of source 1, source 2 and target, in this order.
        dims : tuple of int
            Numbers of columns ``(dx, dy, dm)`` of the three.
        n_samples : int, optional
            Number of trials that ``cov`` was estimated from, with divisor ``n_samples - 1``.
            Without it nothing is corrected, which a warning says.

        Returns
        -------
        GaussianPID
            The fitted estimator itself.

        Raises
        ------
        ValueError
            ``cov`` is not symmetric and positive definite, the target is a function of the
            sources, or a setting needs the trials themselves.
        TypeError
            Entries are not real numbers.
        """
        covs = as_numbers(cov, "cov")[None]
        four, seed, n = self._from_covariances(covs, dims, n_samples, "cov")
        self.seed_ = seed
        self._set_fields(four[0], n_samples=n)
        return self

    def fit_many(
        self, covs: ArrayLike, dims: tuple[int, int, int], *, n_samples: int | None = None
    ) -> pd.DataFrame:
        """Decompose many covariances of the same dimensions at once.

        Parameters
        ----------
        covs : array-like of shape (m, d, d)
            Joint covariances of source 1, source 2 and target, in this order.
        dims : tuple of int
            Numbers of columns ``(dx, dy, dm)`` of the three.
        n_samples : int, optional
            Number of trials that each was estimated from, with divisor ``n_samples - 1``.
            Without it nothing is corrected, which a warning says.

        Returns
        -------
        pandas.DataFrame
            One row per covariance: redundancy, unique_1, unique_2, synergy, union, mi_1, mi_2,
            mi_12, gap, converged. All share the same draws of ``bias="bootstrap"``, so a row is
            what ``fit_covariance`` gives with the same ``random_state``.

        Raises
        ------
        ValueError
            As ``fit_covariance``; the message names the covariance.
        """
        four, self.seed_, _ = self._from_covariances(covs, dims, n_samples, "covs")
        return frame_of_many(four, np.zeros(len(four)), np.ones(len(four), dtype=bool))

    def _from_covariances(
        self, covs: ArrayLike, dims: object, n_samples: object, name: str
    ) -> tuple[F64, int, int | None]:
        settings = read_settings(self)
        sizes = as_dims(dims)
        matrices = as_covariances(covs, sizes, name)
        n = None if n_samples is None else as_int(n_samples, "n_samples", minimum=2, maximum=2**53)
        if settings.copula or isinstance(settings.regularization, str):
            what = "copula=True" if settings.copula else f"regularization={self.regularization!r}"
            raise ValueError(f"{what} needs the trials themselves: call fit")
        if n is None and settings.bias is not None:
            warn(
                f"without n_samples the bias cannot be corrected: bias={settings.bias!r} is "
                "skipped; give n_samples= or bias=None"
            )
        if settings.pca is not None:
            matrices, sizes = _project(matrices, sizes, settings.pca)
        if n is not None:
            check_trials(n, sizes, bias=settings.bias, shrinks=settings.shrinks, base=settings.base)
        if settings.shrinks:
            weight = float(settings.regularization or 0.0)
            for cov in matrices:
                cov[:] = _shrink_covariance(cov, weight)
        seed = as_seed(self.random_state)
        return self._decompose(settings, matrices, sizes, n, seed, name), seed, n

    def _decompose(
        self,
        settings: GaussianSettings,
        covs: F64,
        dims: tuple[int, int, int],
        n: int | None,
        seed: int,
        name: str,
    ) -> F64:
        """Return corrected informations of shape (m, 4) in the unit of ``base``."""
        bias = settings.bias if n is not None else None
        if len(covs) == 0:
            return np.empty((0, 4))
        factors = None
        if bias == "bootstrap" and n is not None:
            factors = bartlett_factors(seed, settings.n_bootstrap, sum(dims), n - 1)
        information, means, status = gaussian_informations(
            covs, dims, factors, device=settings.device, n_threads=settings.n_threads
        )
        refuse_status(status, covs, dims, name)
        if settings.measure == "delta":
            information[:, 3], mean = delta_unions(covs, dims, information, factors)
            if means is not None:
                means[:, 3] = mean
        four = corrected(
            information,
            means,
            bias=bias,
            measure=settings.measure,
            dims=dims,
            n_samples=n or 0,
            clip=settings.clip,
        )
        out: F64 = four / np.log(settings.base)
        return out


def _scores(x: F64, k: int) -> F64:
    centred = x - x.mean(axis=0)
    out: F64 = centred @ principal_axes(centred.T @ centred / (len(x) - 1), k)
    return out


def _project(covs: F64, dims: tuple[int, int, int], k: int) -> tuple[F64, tuple[int, int, int]]:
    """Return covariances of the first principal components of either source, and their sizes."""
    dx, dy, dm = dims
    out, sizes = [], {(min(dx, k), min(dy, k))}
    for cov in covs:
        blocks = cov[:dx, :dx], cov[dx : dx + dy, dx : dx + dy]
        axes = [principal_axes(block, k) for block in blocks]
        sizes.add((axes[0].shape[1], axes[1].shape[1]))
        change = block_diag(*axes, np.eye(dm))
        projected = change.T @ cov @ change
        out.append(0.5 * (projected + projected.T))
    if len(sizes) > 1:
        raise ValueError(
            f"pca={k} is more than the number of components with variance in a covariance: "
            f"{min(min(pair) for pair in sizes)}"
        )
    return np.array(out).reshape(-1, *2 * (sum(next(iter(sizes))) + dm,)), (*sizes.pop(), dm)


def _shrink_covariance(cov: F64, weight: float) -> F64:
    diagonal = np.diag(cov)
    if (diagonal <= 0).any():
        return cov
    scale = np.sqrt(np.outer(diagonal, diagonal))
    return shrunk(cov / scale, weight) * scale
