"""What a learning rule says about trials: likelihoods, simulations, profiles, held-out blocks."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from nb26stats._blas import one_blas_thread
from nb26stats._check import as_int, as_table
from nb26stats._progress import bar
from nb26stats._seed import as_seed
from nb26stats._warnings import warn

from . import _native
from ._blocks import cross_validate
from ._columns import as_array
from ._contrast import check_contrast
from ._course import LearningCurve, curve_of, sided
from ._fit import BAR_DELAY, prior_of
from ._fitted import path
from ._model import F64, Model
from ._options import Options, read_options
from ._profile import profile
from ._simulation import SimulationResult, check_runs, simulate
from ._start_draws import start_task
from ._theta import check_theta
from ._trials import Trials, check_inputs, check_side, check_trials

if TYPE_CHECKING:
    from ._profile_result import ProfileResult


class LearningMethods:
    """Methods of a learning rule beside its fit."""

    architecture: str
    random_state: Any
    theta_: F64
    n_features_in_: int
    seed_: int
    _u_: F64
    n_trials_: int
    _model_: dict[str, Any]

    def one_step_proba(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
    ) -> F64:
        """Return P(left) and P(right) of every trial, given the choices before it.

        The fitted network starts at the first trial and learns from the choices in ``y``.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side : array-like, optional
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (T, 2)
            Rows sum to 1; NaN on trials without a response, and once weights have exploded.
        """
        return np.exp(self.one_step_log_proba(X, y, rewards=rewards, correct_side=correct_side))

    def one_step_log_proba(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
    ) -> F64:
        """Return log P(left) and log P(right) of every trial, given the choices before it.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side : array-like, optional
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (T, 2)
            Logarithms; NaN on trials without a response, and once weights have exploded.
        """
        _, model, trials = self._fitted(X, y, rewards=rewards, correct_side=correct_side)
        self._loglik(model, trials)
        walk = path(model, trials, self.theta_)
        return np.column_stack([walk.log_left, walk.log_right])

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        likelihood_mask: ArrayLike | None = None,
    ) -> float:
        """Return the mean log-likelihood per counted trial (nats), one step ahead.

        Parameters stay as they are; weights run over all trials from the first. To score late
        trials, hand over the earlier ones too and mask them: the weights need the history.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side, sessions, likelihood_mask : array-like, optional
            As for :meth:`fit`.

        Returns
        -------
        float
            -0.693 is chance. Where the weights explode on these data the value lies far below all
            others, with a warning.
        """
        _, model, trials = self._fitted(
            X,
            y,
            rewards=rewards,
            correct_side=correct_side,
            sessions=sessions,
            likelihood_mask=likelihood_mask,
        )
        return self._loglik(model, trials) / trials.n_counted

    def log_likelihood(
        self,
        theta: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        rewards: ArrayLike | None = None,
        *,
        correct_side: ArrayLike | None = None,
        likelihood_mask: ArrayLike | None = None,
        return_grad: bool = False,
    ) -> float | tuple[float, F64]:
        """Return the log-likelihood at given parameters; no fit is needed.

        Parameters
        ----------
        theta : array-like of shape (P,)
            W1 and W2 by rows, alpha, beta (also where a fit holds it) and, if used, lapse.
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side, likelihood_mask : array-like, optional
            As for :meth:`fit`.
        return_grad : bool, default=False
            Whether the gradient is returned too.

        Returns
        -------
        float or (float, ndarray of shape (P,))
            Nats; with the derivatives by ``theta`` as it stands. Where the weights explode, or with
            ``return_grad`` the derivatives leave the range of numbers, the value lies far below all
            others, with a gradient of zeros.
        """
        options = self._options()
        trials = check_trials(
            X,
            y,
            rewards=rewards,
            correct_side=correct_side,
            likelihood_mask=likelihood_mask,
            drop_no_response=options.drop_no_response,
        )
        model = options.model(trials.x.shape[1])
        point = check_theta(model, theta, "theta")[None]
        if return_grad:
            loglik, slopes, _ = _native.gradient(
                model, trials, point, mode=options.gradient, n_threads=options.n_threads
            )
            return float(loglik[0]), slopes[0]
        return float(_native.loglik(model, trials, point, n_threads=options.n_threads)[0][0])

    def simulate(
        self,
        X: ArrayLike,
        correct_side: ArrayLike,
        *,
        n_runs: int = 1,
        theta: ArrayLike | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> SimulationResult:
        """Let the network choose for itself and learn from its own choices.

        Parameters
        ----------
        X : array-like of shape (T, D)
            Inputs.
        correct_side : array-like of shape (T,)
            Correct sides in [0, 1], 1 is right. Where NaN, the simulated choice is treated as
            ``missing_reward`` says.
        n_runs : int, default=1
            Number of runs.
        theta : array-like of shape (P,), optional
            Parameters; those of the fit by default.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the choices. A run depends on the seed and its number alone.

        Returns
        -------
        SimulationResult
            ``choice``, ``reward`` and ``p_right`` of shape (n_runs, T), and ``weights`` at the end.
        """
        options = self._options()
        X = as_table(X, "X")
        x = check_inputs(X)
        side = check_side(correct_side, len(x))
        runs = check_runs(n_runs, len(x))
        if theta is None:
            check_is_fitted(
                self, "theta_", msg="%(name)s is not fitted: call fit first, or give theta="
            )
            validate_data(self, X, reset=False, skip_check_array=True)
            model, point = self._same_model(options), self.theta_
        else:
            model = options.model(x.shape[1])
            point = check_theta(model, theta, "theta")
        return simulate(
            model,
            x,
            side,
            point,
            n_runs=runs,
            seed=as_seed(random_state),
            n_threads=options.n_threads,
        )

    def learning_curve(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        contrast: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        window: int | None = None,
        step: int | None = None,
        n_runs: int = 100,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> LearningCurve:
        """Compare accuracy, bias and sensitivity of the animal with runs of the fitted network.

        The network starts where the fit says, chooses for itself on the same trials and learns from
        its own choices. That is a harder test than the likelihood, which shows it every choice of
        the animal.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        contrast : array-like of shape (T,), optional
            Signed contrasts for :func:`behavior_metrics`. By default -1 and 1 for a correct side on
            the left and right, so that any inputs will do.
        rewards, correct_side, sessions : array-like, optional
            As for :meth:`fit`.
        window, step : int, optional
            Trials per window, and from one window to the next. Without them a row per session, or
            twenty windows where there are no sessions.
        n_runs : int, default=100
            Number of runs.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the simulated choices.

        Returns
        -------
        LearningCurve
            The animal's measures and those of each run.
        """
        c = None if contrast is None else check_contrast(contrast, "contrast")
        if c is not None and rewards is None and correct_side is None:
            correct_side = np.where(c == 0.0, np.nan, (c > 0.0).astype(np.float64))
        options, model, trials = self._fitted(
            X, y, rewards=rewards, correct_side=correct_side, sessions=sessions
        )
        if c is None:
            c = sided(trials.correct_side)
        elif len(c) != trials.n_given:
            raise ValueError(f"contrast has {len(c)} trials but X has {trials.n_given}")
        else:
            c = c[trials.position]
        if window is None and sessions is None:
            window = max(1, len(trials) // 20)
        runs = simulate(
            model,
            trials.x,
            trials.correct_side,
            self.theta_,
            n_runs=check_runs(n_runs, len(trials)),
            seed=as_seed(random_state),
            n_threads=options.n_threads,
        )
        labels = None
        if trials.sessions is not None:
            labels = as_array(trials.session_labels)[trials.sessions]
        return curve_of(
            c,
            trials.choice,
            runs.choice,
            sessions=labels,
            window=window,
            step=step,
            architecture=self.architecture,
            seed=runs.seed,
        )

    def profile_likelihood(
        self,
        name: str,
        grid: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        likelihood_mask: ArrayLike | None = None,
        level: float = 0.95,
    ) -> ProfileResult:
        """Return how well the choices determine one parameter: refits with it held, along a grid.

        Parameters
        ----------
        name : str
            ``"alpha"``, ``"beta"``, ``"lapse"`` or a weight such as ``"W1[0,2]"``.
        grid : array-like of shape (n,)
            Values in natural units.
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side, sessions, likelihood_mask : array-like, optional
            As for :meth:`fit`, the same data.
        level : float, default=0.95
            Level of the interval.

        Returns
        -------
        ProfileResult
            The curve, and the interval in which it stays within half the chi-squared quantile of
            its maximum.
        """
        options, model, trials = self._fitted(
            X,
            y,
            rewards=rewards,
            correct_side=correct_side,
            sessions=sessions,
            likelihood_mask=likelihood_mask,
        )
        if len(trials) != self.n_trials_:
            raise ValueError(
                f"X has {len(trials)} trials, but the fit had {self.n_trials_}: a profile needs "
                "the data of the fit"
            )
        region = options.box(model)
        u = self._u_
        shown = bar(
            desc="profile_likelihood", unit="refit", quiet=not options.verbose, delay=BAR_DELAY
        )
        with one_blas_thread(), shown:
            return profile(
                model,
                start_task(trials, u[None], region),
                u,
                name,
                grid,
                prior=prior_of(options, model),
                level=level,
                max_iter=options.max_iter,
                gradient=options.gradient,
                n_threads=options.n_threads,
                on_done=shown.update,
            )

    def cross_val_blocks(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        likelihood_mask: ArrayLike | None = None,
        n_blocks: int = 10,
    ) -> dict[str, Any]:
        """Return how well fits without a block of trials predict the choices in it.

        Each block is left out of the likelihood once; the network still learns through it, so the
        sequence stays whole.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        rewards, correct_side, sessions, likelihood_mask : array-like, optional
            As for :meth:`fit`. With ``sessions``, blocks are made of whole sessions.
        n_blocks : int, default=10
            Number of blocks.

        Returns
        -------
        dict
            ``block_loglik`` and ``block_n`` of shape (n_blocks,): log-likelihood and counted trials
            of each block; ``mean``: log-likelihood per counted trial (nats); ``blocks`` of shape
            (T,): the block of each trial used; ``block_theta`` and ``block_n_hit``: parameters of
            the refits, and how many starts found each.
        """
        options = self._options()
        trials = check_trials(
            X,
            y,
            rewards=rewards,
            correct_side=correct_side,
            sessions=sessions,
            likelihood_mask=likelihood_mask,
            drop_no_response=options.drop_no_response,
        )
        blocks = as_int(n_blocks, "n_blocks", minimum=2)
        seed = self._seed()
        shown = bar(
            desc="cross_val_blocks", unit="start", quiet=not options.verbose, delay=BAR_DELAY
        )
        with one_blas_thread(), shown:
            return cross_validate(
                options,
                options.model(trials.x.shape[1]),
                trials,
                seed,
                blocks,
                on_done=shown.update,
            )

    def _options(self) -> Options:
        return read_options(self)

    def _loglik(self, model: Model, trials: Trials) -> float:
        """Return the log-likelihood of the fit on other data, and warn where weights explode."""
        loglik, diverged = _native.loglik(model, trials, self.theta_[None], n_threads=1)
        if diverged[0] >= 0:
            warn(
                "the weights of the fitted network explode on these data at trial "
                f"{trials.position[diverged[0]]}: what it says of later trials means nothing; "
                "check the scale of X"
            )
        return float(loglik[0])

    def _seed(self) -> int:
        """Return the key of the fit, if there was one and the parameter does not name another."""
        drawn = not isinstance(self.random_state, numbers.Real)
        return self.seed_ if drawn and hasattr(self, "seed_") else as_seed(self.random_state)

    def _fitted(self, X: ArrayLike, y: ArrayLike, **given: Any) -> tuple[Options, Model, Trials]:
        """Return options, model and trials for a method of a fitted estimator."""
        check_is_fitted(self, "theta_")
        options = self._options()
        X = as_table(X, "X")
        trials = check_trials(X, y, drop_no_response=options.drop_no_response, **given)
        validate_data(self, X, reset=False, skip_check_array=True)
        return options, self._same_model(options), trials

    def _same_model(self, options: Options) -> Model:
        """Return the model of the fit, of which no parameter may have been changed since."""
        model = options.model(self.n_features_in_)
        for name, then in self._model_.items():
            now = getattr(model, name)
            # wider bounds are no other model
            if now != then and name != "weight_limit":
                raise ValueError(
                    f"{name} is {now!r}, but was {then!r} in the fit: set it back or fit again"
                )
        return model
