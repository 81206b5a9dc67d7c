"""Results of the estimators of this room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nb26stats._results import Result

from ._summary import interval_text, summary_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class EstimandInterval(Result):
    """Interval of one estimand; what ``estimand_interval`` returns.

    Attributes
    ----------
    lower, upper : float
        Ends of what the model allows: equal where the estimand is a point, identification bounds
        where it is not. Sampling error is not in them.
    ci_low, ci_high : float
        Confidence limits, NaN without resamples.
    n : int
        Treated rows averaged over.
    estimand : str
        "erpf", "care", "responder_effect" or "att".
    level : float
        Level of the confidence limits.

    Examples
    --------
    >>> from nb26stats.causal import EstimandInterval
    >>> EstimandInterval(0.4, 1.0, 0.35, 1.0, 450, "erpf", 0.9).summary()
    'erpf 0.4 to 1, 90 % confidence 0.35 to 1 (450 treated rows)'
    """

    lower: float
    upper: float
    ci_low: float
    ci_high: float
    n: int
    estimand: str
    level: float

    def summary(self) -> str:
        """Return the interval as a line of text.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        return interval_text(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the interval as a table of one row.

        Returns
        -------
        pandas.DataFrame
            With the columns that the attributes name.
        """
        import dataclasses

        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(self)]).set_index("estimand")


@dataclass(frozen=True, eq=False, repr=False)
class C2GResult(Result):
    """Who responded: the table of rows, the estimands and how the selection was made.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per row of the data; see ``to_frame`` of the estimator.
    estimands : pandas.DataFrame
        ``lower``, ``upper``, ``ci_low``, ``ci_high``, ``n`` and ``level`` per estimand.
    q : float
        Target false discovery rate.
    control_used : str
        "model", "calibrated" or "published".
    estimated_fdr : float
        Estimated false discovery rate of the selected rows.
    n1, n0 : int
        Treated rows and controls in use.
    seed : int
        Seed of the random numbers.
    method : str
        Name of the estimator.
    details : dict
        Further numbers of the summary by name, such as ``zM2``.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats.causal import C2GResult
    >>> table = pd.DataFrame({"selected": [True, False]})
    >>> result = C2GResult(table, pd.DataFrame(), 0.1, "calibrated", 0.08, 1, 1, 0)
    >>> result.to_r()["table"]
    {'selected': [True, False]}
    """

    table: pd.DataFrame
    estimands: pd.DataFrame
    q: float
    control_used: str
    estimated_fdr: float
    n1: int
    n0: int
    seed: int
    method: str = "C2G"
    details: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> str:
        """Return a text table: data, selection, estimands, overlap and cautions.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        return summary_text(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of rows.

        Returns
        -------
        pandas.DataFrame
            With the columns that the attributes name.
        """
        return self.table.copy()

    def plot(self, kind: str = "lfdr", ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the result.

        Parameters
        ----------
        kind : {"lfdr", "residuals"}, default="lfdr"
            Local false discovery rates of the treated rows and which are selected, or outcomes less
            their mean without response in both arms. Densities need the estimator itself.
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_responders`.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_responders(self, kind, ax, **style)
