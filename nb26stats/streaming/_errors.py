"""Questions that replicates answer: errors of the subspace and intervals of the loadings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._diagnostics import findings, warn
from ._inference import F64, intervals, order_statistic, subspace_errors

if TYPE_CHECKING:
    import pandas as pd


class OjaErrors:
    """Inference of OjaPCA; every answer comes with a warning for each reason to doubt it."""

    def bootstrap_errors(self: Any, metric: str = "sin2_fro") -> F64:
        """Return the distance of every replicate's subspace from the estimate's.

        Parameters
        ----------
        metric : {"sin2_fro", "sin2_op", "sin_op", "projection_fro"}
            Sum of squared sines of the principal angles, the largest of them, its root, or the
            Frobenius distance of the projections.

        Returns
        -------
        ndarray of shape (B,)

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
        metric : str
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
        DataFrame
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
        align : {"sign", "procrustes"}
            ``"sign"`` compares components one by one; the target is the eigenvector. With ties
            among the first k eigenvalues use ``"procrustes"``, which compares after the best
            rotation within the subspace; the target is the subspace's basis closest to the
            estimate.
        method : {"normal", "percentile"}
            Normal quantile times the root mean square deviation of the replicates, or an order
            statistic of their absolute deviations.

        Returns
        -------
        lower, upper : ndarray of shape (k, d)

        Raises
        ------
        ValueError
            Without replicates, or before the rows go beyond the pilot.
        """
        components, replicates = self._replicates()
        bounds = intervals(components, replicates, level, align, method)
        self._warn(components, replicates, sign_aligned=align == "sign")
        return bounds

    def _warn(self: Any, components: F64, replicates: F64, *, sign_aligned: bool) -> None:
        errors = subspace_errors(components, replicates, "sin2_fro")
        warn(findings(self, self._state, errors, sign_aligned=sign_aligned))
