"""Questions that replicates answer: errors of the subspace and intervals of the loadings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nb26stats._check import as_choice

from ._diagnostics import findings, warn
from ._inference import F64, intervals, order_statistic, subspace_errors
from ._regions import RowRegions, make_regions
from ._subspace_test import SubspaceTest, make_test

if TYPE_CHECKING:
    import pandas as pd


class OjaErrors:
    """Inference of OjaPCA; every answer comes with a warning for each reason to doubt it."""

    def bootstrap_errors(self: Any, metric: str = "sin2_fro") -> F64:
        """Return the distance of every replicate's subspace from the estimate's.

        Parameters
        ----------
        metric : {"sin2_fro", "sin2_op", "sin_op", "projection_fro"}, default="sin2_fro"
            Sum of squared sines of the principal angles, the largest of them, its root, or the
            Frobenius distance of the projections.

        Returns
        -------
        ndarray of shape (B,)
            One distance per replicate.

        Raises
        ------
        ValueError
            Without replicates, or before the rows go beyond the pilot.
        """
        components, replicates = self._replicates()
        errors = subspace_errors(components, replicates, metric)
        self._warn(components, replicates, sign_aligned=False)
        return errors

    def error_quantile(self: Any, level: float = 0.95, metric: str = "sin2_fro") -> float:
        """Return a bound that the error of the subspace keeps with probability ``level``.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.
        metric : str, default="sin2_fro"
            As in ``bootstrap_errors``.

        Returns
        -------
        float
            Order statistic of ``bootstrap_errors``.

        Raises
        ------
        ValueError
            If the level needs more replicates than there are; the message says how many.
        """
        components, replicates = self._replicates()
        errors = subspace_errors(components, replicates, metric)
        quantile = float(order_statistic(errors, level))
        self._warn(components, replicates, sign_aligned=False)
        return quantile

    def error_history(self: Any, level: float = 0.95) -> pd.DataFrame:
        """Return the error quantile along the stream.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.

        Returns
        -------
        pandas.DataFrame
            Columns ``n_samples`` and ``error_quantile`` (of ``"sin2_fro"``): a line for every
            doubling of the rows since the pilot (without a pilot, since row 64), and one for now.

        Raises
        ------
        ValueError
            Without replicates, before the rows go beyond the pilot, or if the level needs more
            replicates.
        """
        import pandas as pd

        components, replicates = self._replicates()
        now = subspace_errors(components, replicates, "sin2_fro")
        state = self._state
        n, errors = state.history_rows, state.history_errors
        if not len(n) or n[-1] < state.n_seen:
            n, errors = np.append(n, state.n_seen), np.vstack([errors, now])
        quantile = order_statistic(errors.T, level)
        self._warn(components, replicates, sign_aligned=False)
        return pd.DataFrame({"n_samples": n, "error_quantile": quantile})

    def component_intervals(
        self: Any, level: float = 0.95, align: str = "sign", method: str = "normal"
    ) -> tuple[F64, F64]:
        """Return an interval for every loading.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of each interval on its own.
        align : {"sign", "procrustes"}, default="sign"
            ``"sign"`` compares components one by one; the target is the eigenvector. With ties
            among the first k eigenvalues use ``"procrustes"``, which compares after the best
            rotation within the subspace; the target is the subspace's basis closest to the
            estimate.
        method : {"normal", "percentile"}, default="normal"
            Normal quantile times the root mean square deviation of the replicates, or an order
            statistic of their absolute deviations.

        Returns
        -------
        lower : ndarray of shape (k, d)
            Lower ends, by component and feature.
        upper : ndarray of shape (k, d)
            Upper ends.

        Raises
        ------
        ValueError
            Without replicates, or before the rows go beyond the pilot.
        """
        components, replicates = self._replicates()
        bounds = intervals(components, replicates, level, align, method)
        self._warn(components, replicates, sign_aligned=align == "sign")
        return bounds

    def row_regions(self: Any, level: float = 0.95) -> RowRegions:
        """Return a confidence region for every feature's row of loadings.

        Replicates are rotated within their span as close to the estimate as they get
        (``align="procrustes"``), so the regions hold also where the first k eigenvalues are tied.
        With one component they are the intervals ``component_intervals(level, "procrustes")``.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of each region on its own.

        Returns
        -------
        RowRegions
            Unpacks into ``centre`` (d, k), ``cov`` (d, k, k) and ``radius2``: the region of feature
            i is the set of v with (centre_i - v)' cov_i^-1 (centre_i - v) <= radius2. Where a
            covariance is singular its pseudoinverse is used, with the rank as degrees of freedom:
            see ``rank`` and ``row_radius2``. ``nonzero`` says which features have a part in the
            subspace at all; ``contains(V)``, ``to_frame()``, ``summary()`` and ``to_r()``.

        Raises
        ------
        ValueError
            Without replicates, or for a level outside (0, 1).
        NotFittedError
            Before the rows go beyond the pilot.

        Examples
        --------
        >>> import numpy as np
        >>> from nb26stats import OjaPCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 10)) * np.r_[3.0, 2.0, np.ones(8)]
        >>> pca = OjaPCA(2, n_bootstrap=199, random_state=0).fit(X)
        >>> centre, cov, radius2 = pca.row_regions(level=0.95)
        >>> centre.shape, cov.shape, round(radius2, 3)
        ((10, 2), (10, 2, 2), 5.991)
        >>> pca.row_regions().nonzero[:2]
        array([ True,  True])
        """
        components, replicates = self._replicates()
        s = self._state.settings
        names = self._names()
        features = np.arange(s.n_features) if names is None else np.asarray(names, dtype=object)
        regions = make_regions(components, replicates, level, s.dtype, features)
        self._warn(components, replicates, sign_aligned=False)
        return regions

    def subspace_test(self: Any, V: ArrayLike, metric: str = "sin2_fro") -> SubspaceTest:
        """Test whether the first k eigenvectors span a given subspace.

        Parameters
        ----------
        V : array-like of shape (d, k)
            Columns that span the subspace; they need not be orthonormal. With one component a
            vector will do. A table whose row labels are text must have the features' order.
        metric : {"sin2_fro", "sin2_op", "sin_op", "projection_fro"}, default="sin2_fro"
            Distance of subspaces, as in ``bootstrap_errors``.

        Returns
        -------
        SubspaceTest
            ``statistic``, the distance of the estimate from the subspace; ``pvalue``, the share of
            replicates at least as far from the estimate, (1 + number) / (B + 1); ``metric``,
            ``n_bootstrap``; with ``summary()``, ``to_frame()`` and ``to_r()``.

        Raises
        ------
        ValueError
            Without replicates, for another shape (one column per direction, ``components_.T``), or
            for columns that are linearly dependent.
        TypeError
            If ``V`` does not hold real numbers.
        NotFittedError
            Before the rows go beyond the pilot.

        Notes
        -----
        ``V`` must be fixed beforehand. A subspace that was itself estimated, from the same rows or
        from others, has an error of its own, which this test does not know.

        Examples
        --------
        >>> import numpy as np
        >>> from nb26stats import OjaPCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 10)) * np.r_[3.0, 2.0, np.ones(8)]
        >>> pca = OjaPCA(2, n_bootstrap=199, random_state=0).fit(X)
        >>> pca.subspace_test(np.eye(10)[:, :2]).pvalue > 0.05
        True
        >>> pca.subspace_test(np.eye(10)[:, [0, 2]]).pvalue
        0.005
        """
        components, replicates = self._replicates()
        s = self._state.settings
        test = make_test(V, metric, components, replicates, s.dtype, self._names())
        self._warn(components, replicates, sign_aligned=False)
        return test

    def diagnostics(self: Any, align: str = "sign") -> list[str]:
        """Return the reasons to doubt what the replicates say, one sentence each.

        They are what the other methods warn of; ``summary`` prints them.

        Parameters
        ----------
        align : {"sign", "procrustes"}, default="sign"
            As in ``component_intervals``: ties among the components matter with ``"sign"`` only.

        Returns
        -------
        list of str
            Empty when there is none.

        Raises
        ------
        ValueError
            Without replicates, or before the rows go beyond the pilot.
        """
        align = as_choice(align, "align", ("sign", "procrustes"))
        components, replicates = self._replicates()
        errors = subspace_errors(components, replicates, "sin2_fro")
        return findings(self, self._state, errors, sign_aligned=align == "sign")

    def _warn(self: Any, components: F64, replicates: F64, *, sign_aligned: bool) -> None:
        errors = subspace_errors(components, replicates, "sin2_fro")
        warn(findings(self, self._state, errors, sign_aligned=sign_aligned))
