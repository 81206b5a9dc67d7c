"""Union information of any number of Gaussian sources."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from nb26stats._check import as_float, as_numbers
from nb26stats._results import Result
from nb26stats._warnings import warn

from ._gaussian_call import gaussian_informations
from ._gaussian_checks import DEPENDENT
from ._maxdet import largest_below
from ._result import WIDTH, unit
from ._samples import Samples, name_sources, read_samples, same_trials, varying
from ._shrinkage import standardised

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

F64 = NDArray[np.float64]

MOST_TARGETS = 30
"""The Newton matrix has the fourth power of it in entries."""
ASYMMETRY = 1e-8
ABOVE_ONE = 1e-8
"""Rounding by which a posterior variance may exceed the prior one."""


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult(Result):
    """Union information of several sources about a target.

    Attributes
    ----------
    value : float
        What the sources tell when each is taken alone and nothing is counted twice.
    joint : float
        Information of all sources together; NaN where only their posteriors were given.
    gap : float
        Certified distance of ``value`` from the optimum; 0 for the closed form of two sources.
    base : float, default=2
        Base of the logarithm.

    Examples
    --------
    >>> from nb26stats.information import UnionResult
    >>> UnionResult(value=1.5, joint=2.0, gap=0.0).synergy
    0.5
    """

    value: float
    joint: float
    gap: float
    base: float = 2.0

    @property
    def synergy(self) -> float:
        """What only several sources together tell: ``joint - value``."""
        return self.joint - self.value

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantity.

        Returns
        -------
        pandas.DataFrame
            Columns ``quantity`` (``union``, ``joint``, ``synergy``, ``gap``) and ``value``.
        """
        import pandas as pd

        values = [self.value, self.joint, self.synergy, self.gap]
        return pd.DataFrame({"quantity": ["union", "joint", "synergy", "gap"], "value": values})

    def summary(self) -> str:
        """Return the quantities as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        frame = self.to_frame()
        lines = [
            "Union information".center(WIDTH).rstrip(),
            "=" * WIDTH,
            f"{'unit':<20}{unit(self.base):>34}",
            "-" * WIDTH,
        ]
        rows = zip(frame["quantity"], frame["value"], strict=True)
        lines += [
            f"{name:<34}{value:>20.3g}" if name == "gap" else f"{name:<34}{value:>20.6f}"
            for name, value in rows
        ]
        return "\n".join([*lines, "=" * WIDTH])

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the union and what the sources add together as bars.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_union``.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        draw: Any = plotting.plot_union
        axes: Axes = draw(self, ax=ax, **style)
        return axes


def union_information(
    covs: Sequence[ArrayLike] | None = None,
    *,
    sources: Sequence[ArrayLike] | None = None,
    target: ArrayLike | None = None,
    base: float = 2,
) -> UnionResult:
    """Return the union information of two or more Gaussian sources about a target.

    It is the least information that all sources together can have about the target when each keeps
    what it tells alone: half of minus the largest log det of a covariance that is below every
    posterior covariance C_i of the target. What ``joint`` has above it is synergy of any order.

    Give either the posteriors (``covs``) or data (``sources`` and ``target``), not both.

    Parameters
    ----------
    covs : sequence of array-like of shape (dm, dm), optional
        Posterior covariances of the target given each source, where the target itself has
        covariance I.
    sources : sequence of array-like of shape (n, d_i) or (n,), optional
        Two or more sources, one row per trial.
    target : array-like of shape (n, dm) or (n,), optional
        The target, one row per trial.
    base : float, default=2
        Base of the logarithm: 2 for bits.

    Returns
    -------
    UnionResult
        Union, joint information (NaN for ``covs``) and certified gap. Values from data are
        plug-in values, which few trials make too large.

    Raises
    ------
    TypeError
        Neither kind of input, both, or no numbers.
    ValueError
        Fewer than two sources, shapes that differ, a posterior that is not symmetric, not positive
        definite or above I, more than 30 target dimensions for three or more sources, or data with
        too few trials or infinite information.

    Notes
    -----
    Two sources have a closed form. For more, a barrier method maximises log det C subject to
    C <= C_i; the bound is attained because a channel with the posterior C can be degraded into
    each source.

    Examples
    --------
    Three sources that each see one part of the target:

    >>> import numpy as np
    >>> from nb26stats.information import union_information
    >>> seen, unseen = 0.25, 1.0
    >>> posteriors = [np.diag(np.where(np.arange(3) == i, seen, unseen)) for i in range(3)]
    >>> result = union_information(posteriors)
    >>> round(result.value, 6)  # each adds log2(4) / 2
    3.0
    """
    log_base = math.log(as_float(base, "base", above=1.0))
    if covs is not None and sources is None and target is None:
        value, gap = _union(_read_posteriors(covs))
        joint = math.nan
    elif covs is None and sources is not None and target is not None:
        value, joint, gap = _from_data(sources, target)
    else:
        raise TypeError("union_information takes either covs, or sources and target")
    return UnionResult(value / log_base, joint / log_base, gap / log_base, float(base))


def _read_posteriors(covs: Sequence[ArrayLike]) -> F64:
    if isinstance(covs, (str, bytes)) or not hasattr(covs, "__len__"):
        raise TypeError(f"covs must be a list of matrices, got {type(covs).__name__}")
    if len(covs) < 2:
        raise ValueError(f"covs must hold two or more matrices, got {len(covs)}")
    out: list[F64] = []
    for i, cov in enumerate(covs):
        name = f"covs[{i}]"
        matrix = np.atleast_2d(as_numbers(cov, name).astype(np.float64))
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise ValueError(
                f"{name} must be square, got shape {matrix.shape}; data go in as sources= and "
                "target="
            )
        if out and matrix.shape != out[0].shape:
            raise ValueError(
                f"{name} has shape {matrix.shape} and covs[0] {out[0].shape}; all must be "
                "covariances of the same target"
            )
        if not np.isfinite(matrix).all():
            raise ValueError(f"{name} holds NaN or an infinite value")
        if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
            raise ValueError(f"{name} is not symmetric")
        matrix = 0.5 * (matrix + matrix.T)
        values = np.linalg.eigvalsh(matrix)
        if values[0] < DEPENDENT:
            raise ValueError(
                f"{name} is not positive definite: smallest eigenvalue {values[0]:.6g}; a target "
                "that a source determines has infinite information"
            )
        if values[-1] > 1.0 + ABOVE_ONE:
            raise ValueError(
                f"{name} has the eigenvalue {values[-1]:.6g} above 1: a posterior covariance of a "
                "target of covariance I cannot exceed I"
            )
        out.append(matrix)
    return np.array(out)


def _union(covs: F64) -> tuple[float, float]:
    """Return the union information of posterior covariances in nats, and its gap."""
    d = covs.shape[1]
    if len(covs) == 2:
        return _union_of_two(covs), 0.0
    if d > MOST_TARGETS:
        raise ValueError(
            f"the target has {d} dimensions; three or more sources take at most {MOST_TARGETS}: "
            "reduce the target, for example to its principal components"
        )
    best = largest_below(covs)
    return -0.5 * best.log_det, best.gap


def _union_of_two(covs: F64) -> float:
    """Return the closed form of posteriors that need no joint covariance, which loses digits."""
    own = -0.5 * float(np.linalg.slogdet(covs[0])[1])
    ratios = eigh(covs[1], covs[0], eigvals_only=True)
    return own + 0.5 * float(np.maximum(-np.log(ratios), 0.0).sum())


def _from_data(sources: Sequence[ArrayLike], target: ArrayLike) -> tuple[float, float, float]:
    parts = _read_data(sources, target)
    sizes = [part.values.shape[1] for part in parts]
    n, d, dm = len(parts[0].values), sum(sizes), sizes[-1]
    if n <= d:
        raise ValueError(
            f"{n} trials are too few for {d} variables (sources and target together): a Gaussian "
            f"estimate needs more than {d}"
        )
    if n < 10 * d:
        warn(f"{n} trials are few for {d} variables (fewer than 10 each): values are too large")
    z = standardised(np.hstack([part.values for part in parts]))
    cov = z.T @ z / (n - 1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    blocks = [np.arange(a, b) for a, b in itertools.pairwise(starts)]
    everything = np.concatenate(blocks[:-1])
    whiten = _factor(cov, blocks[-1], parts[-1].name)
    posteriors = [
        _posterior(cov, part, whiten, block)
        for part, block in zip(parts, blocks[:-1], strict=False)
    ]
    all_of_them = Samples(parts[0].values, "the sources together")
    both = _posterior(cov, all_of_them, whiten, everything)
    joint = -0.5 * float(np.linalg.slogdet(both)[1])
    if len(posteriors) == 2:
        dims = (sizes[0], sizes[1], dm)
        four, _, _ = gaussian_informations(cov[None], dims, None)
        return float(four[0, 3]), float(four[0, 2]), 0.0
    value, gap = _union(np.array(posteriors))
    return value, joint, gap


def _read_data(sources: Sequence[ArrayLike], target: ArrayLike) -> list[Samples]:
    named = name_sources(sources)
    if len(named) < 2:
        raise ValueError(f"sources must hold two or more arrays, got {len(named)}")
    read = [read_samples(value, name) for name, value in named]
    return [varying(part) for part in same_trials(*read, read_samples(target, "target"))]


def _factor(cov: F64, block: NDArray[np.intp], name: str) -> F64:
    own: F64 = cov[np.ix_(block, block)]
    if np.linalg.eigvalsh(own)[0] < DEPENDENT:
        raise ValueError(f"a column of {name} is a linear function of its others")
    out: F64 = np.linalg.cholesky(own).astype(np.float64, copy=False)
    return out


def _posterior(cov: F64, part: Samples, whiten: F64, block: NDArray[np.intp]) -> F64:
    """Return the covariance of the white target given the columns of a block."""
    dm = len(whiten)
    own = _factor(cov, block, part.name)
    cross = np.linalg.solve(whiten, cov[-dm:][:, block])
    gain = np.linalg.solve(own, cross.T)
    out = np.eye(dm) - gain.T @ gain
    if np.linalg.eigvalsh(out)[0] < DEPENDENT:
        raise ValueError(
            f"infinite information: a combination of the target's columns is a linear function of "
            f"{part.name}"
        )
    symmetric: F64 = 0.5 * (out + out.T)
    return symmetric
