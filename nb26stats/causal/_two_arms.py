"""The densities of both arms as one fitted object that answers in the user's units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nb26stats._workers import on_arrival

from ._density import Arm, Bounds, Curves, bootstrap, densities, tune
from ._rows import Rows
from ._scaling import Scaling, fit_scaling, spread

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

MIN_GRID, MAX_GRID = 75, 400
POINTS_PER_BANDWIDTH = 1.5


class Own(NamedTuple):
    """Which row of either arm each query is itself; -1 where it is none."""

    control: I64
    treated: I64


def own_rows(treated: NDArray[np.bool_]) -> Own:
    """Return the places of all rows in their arms."""
    return Own(*(np.where(arm, np.cumsum(arm) - 1, -1) for arm in (~treated, treated)))


def nobody(n: int) -> Own:
    """Return the places of n rows that come later."""
    return Own(*(np.full(n, -1, dtype=np.int64) for _ in range(2)))


class Rule(NamedTuple):
    """How densities become bounds.

    Attributes
    ----------
    n_bootstrap : int
        Resamples of either arm.
    quantile, ratio_quantile : float
        Lower quantile of the densities over resamples; quantile of their ratio over the grid.
    threshold : float
        Where the treated density is below this, in units of 1 / SD of the controls, arms are not
        compared.
    seed : int
        Key of the resamples.
    """

    n_bootstrap: int
    quantile: float
    ratio_quantile: float
    threshold: float
    seed: int


@dataclass(frozen=True, eq=False)
class TwoArms:
    """Fitted densities, the grid on which they are compared, and the rule of comparison.

    Attributes
    ----------
    scaling : Scaling
        Way to the units of the densities.
    control, treated : Arm
        Fitted densities.
    grid : ndarray of shape (G,)
        Scaled outcomes.
    rule : Rule
        With the threshold in scaled units.
    """

    scaling: Scaling
    control: Arm
    treated: Arm
    grid: F64
    rule: Rule

    def bounds(
        self,
        X: F64,
        y: F64 | None,
        own: Own,
        *,
        device: str,
        n_threads: int,
        keep_resamples: bool = False,
        on_done: Callable[[int], Any] | None = None,
    ) -> Bounds:
        """Return the bounds at rows; means are scaled, see ``difference`` and ``scaling``."""
        return bootstrap(
            self.control,
            self.treated,
            self.scaling.x(X),
            None if y is None else self.scaling.y(y),
            own.control,
            own.treated,
            self.grid,
            n_bootstrap=self.rule.n_bootstrap,
            quantile=self.rule.quantile,
            threshold=self.rule.threshold,
            ratio_quantile=self.rule.ratio_quantile,
            seed=self.rule.seed,
            device=device,
            n_threads=n_threads,
            on_done=on_done,
            keep_resamples=keep_resamples,
        )

    def difference(self, at: Bounds) -> F64:
        """Return treated less control mean at the rows of ``at``, in units of y."""
        return self.scaling.difference(at.treated_mean - at.control_mean)

    def curves(
        self, X: F64, grid: F64, own: Own, *, n_threads: int, n_bootstrap: int = 1
    ) -> Curves:
        """Return both densities (m, G) over outcomes, per unit of y, and their bounds."""
        found = densities(
            self.control,
            self.treated,
            self.scaling.x(X),
            own.control,
            own.treated,
            self.scaling.y(grid),
            n_bootstrap=n_bootstrap,
            quantile=self.rule.quantile,
            seed=self.rule.seed,
            n_threads=n_threads,
        )
        return Curves(*(self.scaling.per_unit(getattr(found, f.name)) for f in fields(Curves)))


def fit_two_arms(
    rows: Rows,
    rule: Rule,
    *,
    n_neighbors: Sequence[int],
    fractions: F64,
    n_grid: int | None,
    standardize: bool,
    n_threads: int,
    n_jobs: int | None,
    on_done: Callable[[int], Any] | None = None,
) -> TwoArms:
    """Scale the rows, choose the settings of either arm, and lay the grid."""
    scaling = fit_scaling(rows.X, rows.y, rows.treated, standardize=standardize)
    x, y = scaling.x(rows.X), scaling.y(rows.y)
    tuned = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(on_arrival(tune))(
            x[arm], y[arm], n_neighbors=n_neighbors, fractions=fractions, n_threads=n_threads
        )
        for arm in (~rows.treated, rows.treated)
    )
    arms: list[Arm] = []
    for arm in tuned:
        arms.append(arm)
        if on_done is not None:
            on_done(len(arm.y))
    unit = spread(y[~rows.treated])
    return TwoArms(
        scaling=scaling,
        control=arms[0],
        treated=arms[1],
        grid=lay_grid(y, min(arm.hy for arm in arms), n_grid),
        rule=rule._replace(threshold=rule.threshold / unit),
    )


def lay_grid(y: F64, hy: float, n_grid: int | None) -> F64:
    """Return points over the range of y: ``n_grid``, or 1.5 per bandwidth within limits."""
    low, high = float(y.min()), float(y.max())
    if n_grid is None:
        wanted = min(POINTS_PER_BANDWIDTH * (high - low) / hy, MAX_GRID)
        n_grid = max(math.ceil(wanted), MIN_GRID)
    return np.linspace(low, high, n_grid)
