"""An estimator whose model is known exactly, so that what it shares with the others can be tested.

Everyone's outcome is standard normal about the mean of the controls, responders' is shifted; the
local false discovery rates are therefore numbers that a test can write down.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from nb26stats import causal
from nb26stats.causal._base import C2GBase
from nb26stats.causal._rows import Rows
from nb26stats.causal._scores import Scores

SHIFT, PRIOR = 3.0, 0.4
PUBLIC = [
    value
    for value in map(vars(causal).__getitem__, causal.__all__)
    if inspect.isclass(value) and issubclass(value, C2GBase)
]
"""The estimators that users have."""


class KnownC2G(C2GBase):
    """Two normal densities, one prior."""

    _max_columns = 50
    _pi0_choices = ("conservative", "plugin", "auto")

    def __init__(
        self,
        q: Any = 0.1,
        *,
        n_bootstrap: Any = 0,
        control: Any = "auto",
        pi0: Any = "plugin",
        randomized: Any = False,
        propensity_model: Any = None,
        overlap: Any = 0.02,
        overlap_action: Any = "warn",
        standardize: Any = True,
        missing: Any = "raise",
        verbose: Any = False,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        for name, value in locals().items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _fit_model(self, rows: Rows, propensity: Any, seed: int) -> Scores:
        self._mean = float(rows.y[~rows.treated].mean())
        f = self._formula(rows.y)
        n = len(f)
        return Scores(
            lfdr=np.where(rows.treated, f, np.nan),
            control_score=np.where(rows.treated, np.nan, f),
            prior=np.full(n, PRIOR),
            null_mean=np.full(n, self._mean),
            effect=np.full(n, SHIFT),
            ess=np.full(n, np.nan),
        )

    def _formula(self, y: Any) -> Any:
        # log of the ratio of both normal densities
        ratio = SHIFT * (y - self._mean) - SHIFT**2 / 2
        return expit(-ratio - logit(PRIOR))

    def _pi0_kind(self, n0: int) -> str | float:
        return "conservative" if self.pi0 == "auto" else super()._pi0_kind(n0)

    def _lfdr_new(self, x: Any, y: Any) -> Any:
        return self._formula(y)

    def _prior_new(self, x: Any) -> Any:
        return np.full(len(x), PRIOR)

    def _effect_new(self, x: Any) -> Any:
        return np.column_stack([np.full(len(x), SHIFT), np.full(len(x), SHIFT + 1.0)])

    def _density_new(self, x: Any, grid: Any) -> Any:
        null, other = (norm.pdf(grid - self._mean - shift) for shift in (0.0, SHIFT))
        return np.tile(null, (len(x), 1)), np.tile((1 - PRIOR) * null + PRIOR * other, (len(x), 1))

    def _ends(self, estimand: str, which: Any) -> tuple[float, float]:
        values = self._rows.y[which]
        return float(values.mean()), float(values.mean()) + 1.0

    def _resampled_ends(self, estimand: str, which: Any) -> Any:
        if not self.n_bootstrap:
            return None
        draws = np.arange(self.n_bootstrap, dtype=float)
        return draws, draws + 10.0


def known_data(n: int = 400, p: int = 3, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Covariates, outcome, treatment and who responded; half of the rows are treated."""
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, p))
    t = np.arange(n) % 2 == 1
    responder = t & (r.random(n) < PRIOR)
    return x, r.normal(size=n) + SHIFT * responder, t, responder
