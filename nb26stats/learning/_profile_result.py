"""ProfileResult: how well the choices pin one parameter of a learning rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._results import Result

from ._model import F64

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH = 60


@dataclass(frozen=True, eq=False, repr=False)
class ProfileResult(Result):
    """Largest log-likelihood over all other parameters, at values of one.

    Attributes
    ----------
    name : str
        The parameter, such as ``alpha`` or ``W1[0,2]``.
    grid : ndarray of shape (n,)
        Its values, rising.
    loglik : ndarray of shape (n,)
        Log-likelihood of the refit at each value.
    objective : ndarray of shape (n,)
        What the refits maximise: ``loglik``, plus the log prior if the fit has a penalty.
    theta : ndarray of shape (n, P)
        Parameters of the refits, in the order of ``theta_`` of the estimator.
    converged : ndarray of bool, shape (n,)
        Whether the refit ended at an optimum.
    estimate : float
        Where the objective is largest: the fit, or a grid value that surpasses it.
    maximum : float
        The objective there.
    interval : (float, float)
        Where the objective stays within half the chi-squared quantile of its maximum; NaN on a side
        that the grid leaves open.
    level : float
        Level of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import ProfileResult
    >>> curve = -(np.array([1.0, 2.0, 3.0]) - 2.1) ** 2 * 4
    >>> result = ProfileResult("beta", np.array([1.0, 2.0, 3.0]), curve, curve,
    ...     np.zeros((3, 5)), np.ones(3, bool), 2.1, 0.0, (1.4, 2.8), 0.95)
    >>> "95 % interval" in result.summary()
    True
    >>> list(result.to_frame().columns)
    ['value', 'loglik', 'objective', 'drop', 'converged']
    """

    name: str
    grid: F64
    loglik: F64
    objective: F64
    theta: F64
    converged: NDArray[np.bool_]
    estimate: float
    maximum: float
    interval: tuple[float, float]
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per value of the grid.

        Returns
        -------
        pandas.DataFrame
            Columns ``value``, ``loglik``, ``objective``, ``drop`` (of the objective, from its
            maximum) and ``converged``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "value": self.grid,
                "loglik": self.loglik,
                "objective": self.objective,
                "drop": np.maximum(self.maximum - self.objective, 0.0),
                "converged": self.converged,
            }
        )

    def summary(self) -> str:
        """Return the estimate, its interval and the curve as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        low, high = (f"{v:.4g}" if np.isfinite(v) else "open" for v in self.interval)
        facts = {
            "estimate": f"{self.estimate:.4g}",
            f"{100 * self.level:g} % interval": f"[{low}, {high}]",
            "largest objective": f"{self.maximum:.3f}",
            "values that did not converge": f"{int((~self.converged).sum())} of {self.grid.size}",
        }
        lines = [f"Profile likelihood of {self.name}".center(WIDTH).rstrip(), "=" * WIDTH]
        lines += [f"{k:<32}{v:>28}" for k, v in facts.items()]
        lines += ["-" * WIDTH, f"{self.name:<20}{'log-likelihood':>20}{'drop':>20}"]
        lines += [
            f"{value:<20.5g}{loglik:>20.3f}{max(self.maximum - objective, 0.0):>20.3f}"
            for value, loglik, objective in zip(self.grid, self.loglik, self.objective, strict=True)
        ]
        return "\n".join([*lines, "=" * WIDTH])

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the curve, the drop that bounds the interval, and the interval.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_profile``.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        draw: Any = plotting.plot_profile
        axes: Axes = draw(self, ax=ax, **style)
        return axes
