"""DiscretePID: decomposition for symbols, from samples or from a distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nb26stats._check import as_choice, as_float, as_int
from nb26stats._seed import as_seed
from nb26stats._warnings import warn

from ._atoms import F64
from ._bias import resampled
from ._evaluate import MEASURES, OF_LATTICE, Evaluated, Solver, evaluate, values_of
from ._fitted import PIDFields, frame_of_many
from ._lattice import nodes
from ._result import SUBSETS, PIDResult
from ._samples import name_sources
from ._tables import (
    as_codes,
    as_pmf,
    check_alphabet,
    count_table,
    joint_codes,
    same_length,
    warn_if_sparse,
)

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("redundancy_", "unique_", "synergy_", "union_", "mi_", "gap_", "converged_", "n_iter_")


class Settings(NamedTuple):
    """Checked parameters."""

    measure: str
    bias: str | None
    n_permutations: int
    base: float
    solver: Solver


class DiscretePID(PIDFields, BaseEstimator):
    """Partial information decomposition of symbols.

    What one source tells about the target, what the other tells, what both tell alike (redundancy)
    and what only the two together tell (synergy).

    Parameters
    ----------
    measure : {"broja", "imin", "mmi", "iccs"}, default="broja"
        ``"broja"``: the union is the least information that any joint distribution with the given
        marginals of (source, target) carries [2]_. ``"imin"``: redundancy is the expected smallest
        specific information [1]_. ``"mmi"``: it is the smaller mutual information [3]_, so one of
        the unique informations is always zero, whatever the data. ``"iccs"``: it is the common
        change in surprisal [4]_, and atoms may be negative.
    bias : {None, "qe", "shuffle"}, default=None
        Correction of the three informations and the union in ``fit``; the atoms follow from them
        and are not clipped, so they may come out slightly negative. ``"qe"``: extrapolation from
        halves and quarters of the samples to infinitely many. ``"shuffle"``: the mean over
        permutations of the target is taken off.
    n_permutations : int, default=100
        Permutations of ``bias="shuffle"``.
    tol : float, default=1e-9
        Tolerance of the BROJA solver in nats.
    max_iter : int, default=100
        Iterations of its first run.
    base : float, default=2
        Base of the logarithm: 2 for bits, ``numpy.e`` for nats.
    missing : {"raise"}, default="raise"
        Missing values are an error.
    n_threads : int, default=0
        Threads over the problems of one call, 0 for all that are offered. The result does not
        depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the partition of ``"qe"`` and the permutations of ``"shuffle"``.

    Attributes
    ----------
    redundancy_, synergy_, union_ : float
        Shared and synergistic information, and all but the synergistic. Absent, like the next, for
        three sources.
    unique_ : ndarray of shape (2,)
        Unique information of each source.
    mi_ : ndarray of shape (3,) or (7,)
        Information about the target of source 1, source 2 and both; for three sources of the sets
        1, 2, 3, 12, 13, 23, 123.
    gap_ : float
        Certified distance of ``union_`` from the optimum (before a bias correction), 0 for the
        measures with a closed form.
    converged_ : bool
        Whether every solution passed ``tol``.
    n_iter_ : int
        Iterations of the solver.
    n_samples_ : int or None
        Number of samples; None for a distribution.
    seed_ : int
        Seed of the random numbers.
    atoms_ : pandas.Series
        Redundancy, unique_1, unique_2, synergy.
    lattice_ : pandas.Series
        Atom of every node of the lattice of redundancy (18 for three sources, 4 for two); a node is
        a tuple of tuples of source positions from 0, such as ``((0,), (1, 2))``.

    Notes
    -----
    The atoms are not symmetric in target and sources: swapping the target with a source asks
    another question. Three sources go with ``"imin"`` and ``"mmi"`` only; for the others use
    ``union_information`` of Gaussian sources, or join two of the sources to a block.

    References
    ----------
    .. [1] Williams & Beer (2010), arXiv:1004.2515.
    .. [2] Bertschinger, Rauh, Olbrich, Jost & Ay (2014), Entropy 16, 2161.
    .. [3] Barrett (2015), Physical Review E 91, 052802.
    .. [4] Ince (2017), Entropy 19, 318.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.information import DiscretePID
    >>> x = np.repeat([0, 0, 1, 1], 25)
    >>> y = np.tile([0, 1], 50)
    >>> pid = DiscretePID().fit([x, y], x ^ y)
    >>> pid.atoms_.round(6).abs().to_dict()
    {'redundancy': 0.0, 'unique_1': 0.0, 'unique_2': 0.0, 'synergy': 1.0}

    The same from probabilities, of one table or of many:

    >>> pmf = np.zeros((2, 2, 2))
    >>> pmf[[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] = 0.25
    >>> round(DiscretePID().fit_pmf(pmf).synergy_, 6)
    1.0
    >>> DiscretePID().fit_many([pmf, np.full((2, 2, 2), 0.125)])["synergy"].round(6).abs().tolist()
    [1.0, 0.0]
    """

    def __init__(
        self,
        measure: str = "broja",
        *,
        bias: str | None = None,
        n_permutations: int = 100,
        tol: float = 1e-9,
        max_iter: int = 100,
        base: float = 2,
        missing: str = "raise",
        n_threads: int = 0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.measure = measure
        self.bias = bias
        self.n_permutations = n_permutations
        self.tol = tol
        self.max_iter = max_iter
        self.base = base
        self.missing = missing
        self.n_threads = n_threads
        self.random_state = random_state

    def _settings(self) -> Settings:
        if self.bias in ("miller-madow", "panzeri-treves"):
            raise ValueError(
                f"bias={self.bias!r} is defined for mutual information only; use 'qe', 'shuffle' "
                "or None"
            )
        if self.bias is not None:
            as_choice(self.bias, "bias", ("qe", "shuffle"))
        as_choice(self.missing, "missing", ("raise",))
        return Settings(
            as_choice(self.measure, "measure", MEASURES),
            self.bias,
            as_int(self.n_permutations, "n_permutations", minimum=1),
            as_float(self.base, "base", above=1.0),
            Solver(
                as_float(self.tol, "tol", above=0.0),
                as_int(self.max_iter, "max_iter", minimum=1, maximum=10**6),
                as_int(self.n_threads, "n_threads", minimum=0, maximum=2**16),
            ),
        )

    def fit(self, sources: Sequence[Any] | Mapping[str, Any], target: ArrayLike) -> Self:
        """Decompose what the sources tell about the target, from samples.

        Parameters
        ----------
        sources : sequence or dict of two (or three) array-likes of shape (n,) or (n, d)
            Whole numbers (also as floats), booleans, strings or categories; the columns of a
            matrix are coded jointly.
        target : array-like of shape (n,) or (n, d)
            The same for the target.

        Returns
        -------
        DiscretePID
            The estimator itself.

        Raises
        ------
        ValueError
            For missing values, different numbers of trials, constant variables, too many symbols,
            or a parameter out of range.
        TypeError
            For numbers with fractions (see :func:`discretize`) or data of the wrong kind.
        """
        return self._fit(sources, target)

    def _fit(self, sources: object, target: object, *, constant: bool = False) -> Self:
        """Do what ``fit`` does; with ``constant`` a variable of one symbol is no error."""
        self._forget()
        settings = self._settings()
        given = [*_sources(sources, settings.measure), ("target", target)]
        named = [(name, as_codes(x, name, constant=constant)) for name, x in given]
        n = same_length(named)
        parts = [coded for _, coded in named]
        shape = tuple(coded.n_symbols for coded in parts)
        check_alphabet(shape)
        warn_if_sparse(n, shape)
        seed = as_seed(self.random_state)
        found = evaluate(settings.measure, count_table(parts)[None] / n, settings.solver)
        values = found.values[0]
        if settings.bias is not None:
            values = resampled(
                values,
                values_of(settings.measure, shape, settings.solver),
                joint_codes(parts[:-1]),
                parts[-1].codes,
                (math.prod(shape[:-1]), shape[-1]),
                bias=settings.bias,
                n_permutations=settings.n_permutations,
                seed=seed,
            )
        self.seed_ = seed
        self._store(settings, found, values, n)
        return self

    def fit_pmf(self, pmf: ArrayLike) -> Self:
        """Decompose a known distribution.

        Parameters
        ----------
        pmf : array-like of shape (n1, n2, nS) or (n1, n2, n3, nS)
            Probabilities; axes are the sources in their order, then the target. They must sum to 1
            within 1e-6, and are then divided by their sum. There is no bias to correct.

        Returns
        -------
        DiscretePID
            The estimator itself.

        Raises
        ------
        ValueError
            For negative values, a sum that is off 1, or too many symbols.
        TypeError
            For anything but real numbers.
        """
        self._forget()
        settings = self._settings()
        table = as_pmf(pmf, "pmf", (3, 4))
        if table.ndim == 4:
            _three(settings.measure)
        check_alphabet(table.shape)
        _no_bias(settings.bias)
        seed = as_seed(self.random_state)
        found = evaluate(settings.measure, table[None], settings.solver)
        self.seed_ = seed
        self._store(settings, found, found.values[0], None)
        return self

    def fit_many(self, pmfs: ArrayLike) -> pd.DataFrame:
        """Decompose many distributions of one shape in one call.

        Parameters
        ----------
        pmfs : array-like of shape (m, n1, n2, nS)
            Probabilities, each table as in :meth:`fit_pmf`.

        Returns
        -------
        pandas.DataFrame
            One row per distribution: redundancy, unique_1, unique_2, synergy, union, mi_1, mi_2,
            mi_12, gap, converged. The estimator itself stays as it was.

        Raises
        ------
        ValueError
            For negative values, a sum that is off 1, or too many symbols; it names the problem.
        TypeError
            For anything but real numbers.
        """
        settings = self._settings()
        tables = as_pmf(pmfs, "pmfs", (4,), batch=True)
        check_alphabet(tables.shape[1:])
        _no_bias(settings.bias)
        found = evaluate(settings.measure, tables, settings.solver)
        scale = math.log(settings.base)
        return frame_of_many(found.values / scale, found.gap / scale, found.converged)

    def _forget(self) -> None:
        # whatever goes wrong below, no half of a fit passes for a whole one
        for name in (*FIELDS, "n_samples_", "seed_", "_lattice", "_measured"):
            self.__dict__.pop(name, None)

    def _store(
        self, settings: Settings, found: Evaluated, values: F64, n_samples: int | None
    ) -> None:
        scaled = values / math.log(settings.base)
        if len(scaled) == 4:
            self._set_fields(
                scaled,
                gap=float(found.gap[0]) / math.log(settings.base),
                converged=bool(found.converged[0]),
                n_iter=int(found.n_iter[0]),
                n_samples=n_samples,
            )
            return
        self._measured = (settings.measure, settings.base)
        self.mi_ = scaled[: len(SUBSETS)]
        self._lattice = scaled[len(SUBSETS) :]
        self.gap_, self.converged_, self.n_iter_ = 0.0, True, 0
        self.n_samples_ = n_samples

    @property
    def atoms_(self) -> pd.Series[float]:
        """Series of redundancy, unique_1, unique_2 and synergy."""
        if "_lattice" in self.__dict__:
            raise AttributeError("three sources have no four atoms; see lattice_")
        return super().atoms_

    @property
    def lattice_(self) -> pd.Series[float]:
        """Series of the atoms, keyed by nodes such as ``((0,), (1, 2))``."""
        import pandas as pd

        check_is_fitted(self)
        if "_lattice" in self.__dict__:
            values, keys = self._lattice.tolist(), nodes(3)
        else:
            values = [self.redundancy_, *self.unique_.tolist(), self.synergy_]
            keys = nodes(2)
        index = pd.Index(list(keys), tupleize_cols=False, name="node")
        return pd.Series(values, index=index, name=self._measured[0])

    def result(self) -> PIDResult:
        """Return the fitted values as a result object.

        Returns
        -------
        PIDResult
            Informations and atoms, which draw, print and tabulate themselves.
        """
        check_is_fitted(self)
        if "_lattice" not in self.__dict__:
            return super().result()
        measure, base = self._measured
        return PIDResult(
            measure=measure,
            base=base,
            redundancy=None,
            unique=None,
            synergy=None,
            union=None,
            mi=self.mi_.copy(),
            n_samples=self.n_samples_,
            lattice=dict(zip(nodes(3), self._lattice.tolist(), strict=True)),
        )


def _three(measure: str) -> None:
    if measure not in OF_LATTICE:
        raise ValueError(
            f"measure={measure!r} takes two sources, got 3; use 'imin' or 'mmi' for the lattice, "
            "union_information for Gaussian sources, or join two sources to a block (the columns "
            "of one matrix)"
        )


def _sources(sources: object, measure: str) -> list[tuple[str, Any]]:
    named = name_sources(sources)
    if len(named) not in (2, 3):
        raise ValueError(f"sources must hold two or three arrays, got {len(named)}")
    if len(named) == 3:
        _three(measure)
    return named


def _no_bias(bias: str | None) -> None:
    if bias is not None:
        warn(f"bias={bias!r} is left out: a distribution is not a sample and has no bias")
