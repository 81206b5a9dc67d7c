"""What every fitted decomposition of two sources shares: its fields, its series, its frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._atoms import ATOMS, F64, INFORMATION, atoms
from ._result import PIDResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def frame_of_many(information: F64, gap: F64, converged: Any) -> pd.DataFrame:
    """Return one row per problem from columns ``I_X, I_Y, I_XY, I_U`` in their final unit."""
    import pandas as pd

    columns = dict(zip(ATOMS, atoms(information), strict=True))
    columns["union"] = information[:, 3]
    columns.update(zip(INFORMATION, information[:, :3].T, strict=True))
    return pd.DataFrame({**columns, "gap": gap, "converged": np.asarray(converged, dtype=bool)})


class PIDFields:
    """Fitted attributes of a decomposition of two sources, and how they leave it."""

    def _set_fields(
        self: Any,
        information: F64,
        *,
        gap: float = 0.0,
        converged: bool = True,
        n_iter: int = 0,
        n_samples: int | None = None,
    ) -> None:
        """Store informations ``I_X, I_Y, I_XY, I_U`` in their final unit, and their atoms."""
        parts = atoms(information)
        # set_params after a fit changes neither what was computed nor its unit
        self._measured = (self.measure, float(self.base))
        self.redundancy_ = float(parts.redundancy)
        self.unique_ = np.array([parts.unique_1, parts.unique_2])
        self.synergy_ = float(parts.synergy)
        self.union_ = float(information[3])
        self.mi_ = np.array(information[:3])
        self.gap_ = float(gap)
        self.converged_ = bool(converged)
        self.n_iter_ = int(n_iter)
        self.n_samples_ = n_samples

    def __sklearn_is_fitted__(self) -> bool:
        # the key of a batch alone is no fit
        return "mi_" in self.__dict__

    @property
    def atoms_(self: Any) -> pd.Series[float]:
        """Series of redundancy, unique_1, unique_2 and synergy."""
        import pandas as pd

        check_is_fitted(self)
        values = [self.redundancy_, *self.unique_.tolist(), self.synergy_]
        return pd.Series(values, index=list(ATOMS), name=self._measured[0])

    def result(self: Any) -> PIDResult:
        """Return the fitted values as a result object.

        Returns
        -------
        PIDResult
            Informations and atoms, which draw, print and tabulate themselves.
        """
        check_is_fitted(self)
        measure, base = self._measured
        return PIDResult(
            measure=measure,
            base=base,
            redundancy=self.redundancy_,
            unique=self.unique_.copy(),
            synergy=self.synergy_,
            union=self.union_,
            mi=self.mi_.copy(),
            gap=self.gap_,
            converged=self.converged_,
            n_iter=self.n_iter_,
            n_samples=self.n_samples_,
        )

    def to_frame(self: Any) -> pd.DataFrame:
        """Return informations and atoms as a table.

        Returns
        -------
        pandas.DataFrame
            As ``PIDResult.to_frame`` of ``result()``.
        """
        table: pd.DataFrame = self.result().to_frame()
        return table

    def summary(self: Any) -> str:
        """Return informations and atoms as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        text: str = self.result().summary()
        return text

    def plot(self: Any, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the atoms as bars.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_pid``, such as ``names`` of the sources.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        axes: Axes = self.result().plot(ax, **style)
        return axes
