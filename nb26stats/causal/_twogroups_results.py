"""Results of the classical two-groups tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_prob
from nb26stats._results import Result

from ._selection import select

if TYPE_CHECKING:
    import pandas as pd

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class TwoGroupsResult(Result):
    """Local false discovery rates of z-scores and the densities behind them.

    Attributes
    ----------
    lfdr : ndarray of shape (n,)
        Local false discovery rate of each z.
    f, f0 : ndarray of shape (k,)
        Expected z per bin: of all, and of the null if all z were null. ``p0 * f0 / f`` is the
        local false discovery rate before it is made monotone.
    x : ndarray of shape (k,)
        Centres of the bins.
    p0 : float
        Share of null z in use; can exceed 1 unless it is estimated with its null.
    delta, sigma : float
        Centre and SD of the null in use, NaN for a callable.
    estimates : pandas.DataFrame
        ``delta``, ``sigma`` and ``p0`` for "mle", "central" and "theoretical", NaN where the null
        could not be estimated.
    misfit : float
        Mean squared residual of the counts, about 1 where the spline fits them.
    null : str
        "mle", "theoretical", "central", "pair" or "callable".
    z : ndarray of shape (n,)
        The z-scores.
    counts : ndarray of shape (k,)
        z per bin.
    index : pandas.Index or None
        Labels of the z, where they came with any.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import two_groups
    >>> z = np.random.default_rng(1).normal(size=2000)
    >>> z[:100] += 4
    >>> result = two_groups(z)
    >>> bool((result.select(0.1) < 100).mean() > 0.8)
    True
    """

    lfdr: F64
    f: F64
    f0: F64
    x: F64
    p0: float
    delta: float
    sigma: float
    estimates: pd.DataFrame
    misfit: float
    null: str
    z: F64
    counts: F64
    index: Any = None

    def select(self, q: float) -> NDArray[np.int64]:
        """Return the positions of the z that are called, at a false discovery rate of ``q``.

        These are as many of the smallest local false discovery rates as have a mean of at most
        ``q``, tied ones all or none.

        Parameters
        ----------
        q : float
            Target false discovery rate, between 0 and 1.

        Returns
        -------
        ndarray of int
            Positions in ascending order.
        """
        return select(self.lfdr, as_prob(q, "q"), "model")

    def to_frame(self) -> pd.DataFrame:
        """Return a table with ``z`` and ``lfdr`` of every z.

        Returns
        -------
        pandas.DataFrame
            With the index of the values that were given.
        """
        import pandas as pd

        return pd.DataFrame({"z": self.z, "lfdr": self.lfdr}, index=self.index)

    def summary(self) -> str:
        """Return a text table: the null in use, how the spline fits, all nulls.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        n = len(self.z)
        lines = [
            f"Two groups, {n} z-scores, null: {self.null}",
            f"{'':12}{'delta':>10}{'sigma':>10}{'p0':>10}",
        ]
        rows = [("in use", self.delta, self.sigma, self.p0)]
        rows += [
            (str(name), float(delta), float(sigma), float(p0))
            for name, delta, sigma, p0 in self.estimates.itertuples(name=None)
        ]
        lines += [f"{name:12}{d:10.4f}{s:10.4f}{p:10.4f}" for name, d, s, p in rows]
        lines += [
            f"misfit of the density {self.misfit:.2f} (about 1 where it fits)",
            f"lfdr <= 0.2: {int((self.lfdr <= 0.2).sum())} of {n}",
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None, **style: Any) -> NDArray[np.object_]:
        """Draw the histogram of z with both densities, and the local false discovery rate.

        Parameters
        ----------
        ax : sequence of two matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_two_groups`.

        Returns
        -------
        ndarray of Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_two_groups(self, ax, **style)


@dataclass(frozen=True, eq=False, repr=False)
class QValuesResult(Result):
    """The q-values, and the share of true nulls they rest on.

    Attributes
    ----------
    q : ndarray of shape (m,)
        q-value of each p-value.
    pi0 : float
        Share of true nulls in use.
    lam : ndarray of shape (19,)
        Thresholds 0.05, 0.10, ..., 0.95.
    pi0_lam : ndarray of shape (19,)
        Share of true nulls as estimated from the p-values above each threshold.
    p : ndarray of shape (m,)
        The p-values.
    index : pandas.Index or None
        Labels of the p-values, where they came with any.

    Examples
    --------
    >>> from nb26stats import q_values
    >>> q_values([0.01, 0.02, 0.5, 0.9], pi0=1.0).to_frame()["q"].round(3).tolist()
    [0.04, 0.04, 0.667, 0.9]
    """

    q: F64
    pi0: float
    lam: F64
    pi0_lam: F64
    p: F64
    index: Any = None

    def to_frame(self) -> pd.DataFrame:
        """Return a table with ``p`` and ``q`` of every p-value.

        Returns
        -------
        pandas.DataFrame
            With the index of the values that were given.
        """
        import pandas as pd

        return pd.DataFrame({"p": self.p, "q": self.q}, index=self.index)

    def summary(self) -> str:
        """Return a few lines of text: pi0, and how many q-values are small.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        counts = ", ".join(f"{int((self.q <= a).sum())} at {a:g}" for a in (0.01, 0.05, 0.1))
        return f"q-values of {len(self.p)} p-values, pi0 = {self.pi0:.4f}\nq at most: {counts}"

    def plot(self, ax: Any = None, **style: Any) -> NDArray[np.object_]:
        """Draw pi0 against the threshold, and q against p.

        Parameters
        ----------
        ax : sequence of two matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_q_values`.

        Returns
        -------
        ndarray of Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_q_values(self, ax, **style)
