"""What estimators of the additive model share, whatever learns effect and prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nb26stats._check import as_choice, as_float, as_int
from nb26stats._progress import bar
from nb26stats._warnings import warn

from ._additive import AdditiveModel, Arm, Settings, fit_additive
from ._base import C2GBase
from ._cautions import WeakIdentificationWarning
from ._em import Learners, evidence
from ._estimands import points
from ._model_checks import check_model
from ._moments import excess_z
from ._overlap import odds
from ._refits import refits
from ._rows import Rows
from ._scaling import Scaling, fit_scaling, spread
from ._scores import Scores
from ._summary import IDENTIFIED, MEAN_RISES

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

LARGEST = 1e90
"""Spread of the outcome whose third power, or one over it, leaves float64."""
NOISES = ("predictive_recursion", "npmle", "gaussian")


class AdditiveC2G(C2GBase):
    """Base of the estimators of the additive model; a subclass says what learns effect and prior.

    A subclass stores the parameters below and implements ``_learners``.
    """

    outcome_model: Any
    noise: Any
    cv: Any
    max_iter: Any
    tol: Any
    max_kernel_n: Any
    standardize: Any
    n_bootstrap: Any
    verbose: Any

    _model: AdditiveModel
    _scaling: Scaling
    _resamples: tuple[F64, F64] | None

    def _learners(self, seed: int) -> Learners:
        """Return what makes the learners of one run; it must pickle."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_model(self.outcome_model, "outcome_model", "krr", "regressor", weighted=False)
        as_choice(self.noise, "noise", NOISES)
        as_int(self.cv, "cv", minimum=2)
        as_int(self.max_iter, "max_iter", minimum=1)
        as_float(self.tol, "tol", above=0.0)
        as_int(self.max_kernel_n, "max_kernel_n", minimum=1)

    def _fit_model(self, rows: Rows, propensity: F64, seed: int) -> Scores:
        t = rows.treated
        smaller = int(min(t.sum(), (~t).sum()))
        as_int(self.cv, "cv", minimum=2, maximum=smaller)
        scaling = fit_scaling(rows.X, rows.y, t, standardize=bool(self.standardize))
        x, y = scaling.x(rows.X), scaling.y(rows.y)
        if not 1.0 / LARGEST < spread(y[~t]) < LARGEST:
            raise ValueError(
                f"y spreads by {spread(y[~t]):.3g} in the controls, which is too far from 1 for "
                "densities of y itself; use standardize=True"
            )
        control, treated = (Arm(x[arm], y[arm], np.ones(int(arm.sum()))) for arm in (~t, t))
        settings = Settings(
            outcome_model=self.outcome_model,
            noise=self.noise,
            learners=self._learners(seed),
            n_folds=int(self.cv),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            max_kernel_n=int(self.max_kernel_n),
            seed=seed,
        )
        quiet = not self.verbose
        with bar(settings.max_iter, desc="responders", unit="iteration", quiet=quiet) as shown:
            model = fit_additive(
                control, treated, settings, n_jobs=self.n_jobs, on_done=shown.update
            )
        if not model.mixture.converged:
            self._say_unconverged()
        resamples, n_bootstrap = None, int(self.n_bootstrap)
        if n_bootstrap:
            with bar(n_bootstrap, desc="refits", unit="refit", quiet=quiet) as shown:
                resamples = refits(
                    control,
                    treated,
                    settings,
                    n_bootstrap,
                    n_jobs=self.n_jobs,
                    on_done=shown.update,
                )
        self._model, self._scaling, self._resamples = model, scaling, resamples
        self.n_iter_, self.converged_ = model.mixture.n_iter, model.mixture.converged
        self._set_moments(rows, propensity)
        return self._scores_of(t, control)

    def _say_unconverged(self) -> None:
        from sklearn.exceptions import ConvergenceWarning

        warn(
            f"the probabilities of response still change by {float(self.tol):g} or more after "
            f"max_iter={int(self.max_iter)} iterations; raise max_iter, or tol",
            ConvergenceWarning,
        )

    def _set_moments(self, rows: Rows, propensity: F64) -> None:
        # trimmed rows say nothing, and their controls weigh too much
        near = propensity > 1.0 - float(self.overlap)
        used = ~near if self.overlap_action == "trim" else np.ones(len(near), bool)
        r1 = self._model.treated_residuals[used[rows.treated]]
        r0 = self._model.residuals[used[~rows.treated]]
        weight = None if self.randomized else odds(propensity[~rows.treated & used])
        # neither statistic has a unit, and fourth powers leave float64 early
        unit = max(float(np.abs(r1).max()), float(np.abs(r0).max()))
        r1, r0 = r1 / unit, r0 / unit
        self.zM1_ = excess_z(r1, r0, weight)
        self.zM2_ = excess_z(r1**2, r0**2, weight)

    def _scores_of(self, t: NDArray[np.bool_], control: Arm) -> Scores:
        model, m = self._model, self._model.mixture
        log_odds, effect = m.prior_model(control.x), m.effect_model(control.x)
        score = expit(-evidence(log_odds, model.residuals, effect, model.noise))
        nothing = np.full(len(t), np.nan)
        return Scores(
            lfdr=_merge(t, expit(-m.evidence), nothing[~t]),
            control_score=_merge(t, nothing[t], score),
            prior=_merge(t, expit(m.log_odds), expit(log_odds)),
            null_mean=self._scaling.level(_merge(t, model.null_treated, model.null.loo)),
            effect=self._scaling.difference(_merge(t, m.effect, effect)),
            ess=nothing,
        )

    def _auto_control(self, rows: Rows, scores: Scores) -> str:
        if self.zM2_ >= IDENTIFIED and abs(self.zM1_) >= MEAN_RISES:
            return "model"
        if self.zM2_ >= IDENTIFIED:
            warn(
                f"zM2={self.zM2_:.2f} but zM1={self.zM1_:.2f}: the treated residuals spread more "
                "than the controls' without a rise of their mean, as where the outcome is "
                "predicted worse for treated rows; the selection is calibrated by the controls, "
                "and priors, effects and estimands are not to be read",
                WeakIdentificationWarning,
            )
            return "calibrated"
        warn(
            f"zM2={self.zM2_:.2f} is below {IDENTIFIED:g}: the treated residuals hardly spread "
            "more than the controls', so the prior cannot be told from the effect of response; "
            "the selection is calibrated by the controls, and priors, effects and estimands are "
            "not to be read",
            WeakIdentificationWarning,
        )
        return "calibrated"

    def _lfdr_new(self, x: F64, y: F64) -> F64:
        z = self._scaling.x(x)
        return self._model.lfdr(z, self._scaling.y(y) - self._model.null.predict(z))

    def _prior_new(self, x: F64) -> F64:
        return self._model.prior(self._scaling.x(x))

    def _effect_new(self, x: F64) -> F64:
        return self._scaling.difference(self._model.effect(self._scaling.x(x)))

    def _density_new(self, x: F64, grid: F64) -> tuple[F64, F64]:
        z = self._scaling.x(x)
        model = self._model
        return self._mixture(model.null.predict(z), model.prior(z), model.effect(z), grid)

    def _density_at(self, row: int, grid: F64) -> tuple[F64, F64]:
        # as in the fit, by what the row itself was not learnt from
        at, s = np.searchsorted(self._rows.kept, [row]), self._scores
        assert s.effect is not None
        effect = s.effect[at] / self._scaling.y_scale
        f0, ft = self._mixture(self._scaling.y(s.null_mean[at]), s.prior[at], effect, grid)
        return f0[0], ft[0]

    def _mixture(self, null: F64, prior: F64, effect: F64, grid: F64) -> tuple[F64, F64]:
        """Return densities (m, G) of controls and treated rows, per unit of y."""
        left = self._scaling.y(grid) - null[:, None]
        f0 = np.exp(self._model.noise.log_density(left))
        f1 = np.exp(self._model.noise.log_density(left - effect[:, None]))
        ft = (1.0 - prior[:, None]) * f0 + prior[:, None] * f1
        return self._scaling.per_unit(f0), self._scaling.per_unit(ft)

    def _ends(self, estimand: str, which: I64) -> tuple[float, float]:
        assert self._scores.effect is not None
        value = float(points(estimand, self._scores.prior[which], self._scores.effect[which]))
        return value, value

    def _resampled_ends(self, estimand: str, which: I64) -> tuple[F64, F64] | None:
        if self._resamples is None:
            return None
        at = (np.cumsum(self._rows.treated) - 1)[which]
        prior, effect = (values[:, at] for values in self._resamples)
        value = points(estimand, prior, self._scaling.difference(effect))
        return value, value


def _merge(treated: NDArray[np.bool_], at_treated: F64, at_controls: F64) -> F64:
    out = np.empty(len(treated))
    out[treated], out[~treated] = at_treated, at_controls
    return out
