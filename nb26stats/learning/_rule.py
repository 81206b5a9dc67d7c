"""DNNLearningRule: a small network that learns trial by trial, fitted to one animal's choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from nb26stats._blas import one_blas_thread
from nb26stats._check import as_choice, as_table
from nb26stats._seed import as_seed

from ._evaluation import LearningMethods
from ._fit import find_optimum
from ._fitted import fitted_fields, warn_of_data, warn_unsure
from ._summary import parameter_frame, summary_text
from ._theta import check_init
from ._trials import check_trials

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class DNNLearningRule(LearningMethods, BaseEstimator):
    """Learning rule of one animal: a small network fitted to its choices while it learned.

    The network chooses between left and right from the inputs of a trial and changes its weights by
    one step of gradient descent after it. Initial weights, learning rate alpha and inverse
    temperature beta are estimated by maximum likelihood from the choices; at every trial the
    network is told the choice that the animal made.

    Parameters
    ----------
    architecture : {"1L", "2L", "2NL"}, default="2NL"
        One linear layer, two linear layers, or two with a nonlinearity between.
    hidden : int, default=2
        Hidden units of two layers.
    activation : {"sigmoid", "tanh", "relu"}, default="sigmoid"
        Nonlinearity of "2NL"; the other architectures have none.
    rule : {"reinforce", "rpe", "squared", "expected_reward", "cross_entropy"}, default="reinforce"
        What the network descends. See the notes.
    n_outputs : {1, 2}, optional
        One decision variable, or one value per side. By default 2 for "rpe" and for "squared" in
        two layers, else 1.
    output_bias : bool, default=False
        Whether a constant 1 joins the hidden units.
    lapse : bool, default=False
        Whether a lapse rate is estimated: the share of choices made at random.
    baseline : float, default=0.0
        Reward that "reinforce" takes for granted.
    missing_reward : {"expected", "skip"}, default="expected"
        What happens on a trial whose outcome is NaN (reward for "rpe" and "reinforce", correct side
        for the others). It counts in the likelihood in either case. ``"expected"``: the network
        learns as from an outcome of one half, which is the mean update where either outcome was
        equally likely, so that the likelihood is an approximation. ``"skip"``: it does not learn on
        that trial, which is a claim about the animal. AIC of fits that differ in this option are
        not evidence about architectures.
    drop_no_response : bool, default=False
        Leave out trials without a response (``y`` is NaN) instead of refusing them.
    alpha_layer2_ratio : float, default=1.0
        Learning rate of layer 2 over that of layer 1.
    weight_decay : float, default=0.0
        Share of every weight lost per update.
    allow_redundant : bool, default=False
        Accept ``n_outputs=2`` with rules that see only the difference of the outputs.
    penalty : {"none", "gaussian"}, default="none"
        ``"gaussian"`` estimates by maximum a posteriori: weights around 0, log alpha around log .01
        (standard deviation 2), log beta around log 3 (1). Better for parameters of single animals;
        for AIC take ``"none"``.
    weight_sd : float, default=1.0
        Standard deviation of the weights in the penalty.
    weight_bound : float, default=5.0
        Largest size of a weight. Where beta is fixed its range widens this box and that of alpha,
        so that all architectures search equivalent regions.
    alpha_bounds : pair of float, default=(1e-6, 1.0)
        Range of the learning rate.
    beta_bounds : pair of float, default=(0.1, 50.0)
        Range of the inverse temperature.
    n_restarts : int, optional
        Random starts: by default 4, 8 and 24 for "1L", "2L" and "2NL".
    n_pool : int, default=100
        Random draws of which the starts are the likeliest.
    nested_start : bool, default=True
        Whether two layers also start from the fit of one.
    max_iter : int, default=300
        Largest number of iterations of one start.
    gradient : {"reverse", "forward"}, default="reverse"
        How the exact gradient is taken; ``"forward"`` needs less memory.
    count : {"identifiable", "raw"}, default="identifiable"
        Which parameters AIC and BIC count: those that choices can tell apart, or all.
    standard_errors : bool, default=True
        Whether the curvature at the optimum is computed.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the restarts run; ``"auto"`` takes CUDA where it is there and there are at least
        1000 starts.
    n_jobs : int, optional
        Joblib tasks over groups of starts.
    n_threads : int, default=0
        OpenMP threads of one native call, 0 for all that are offered. No bit of the result depends
        on it, nor on ``n_jobs``.
    verbose : bool, default=False
        Whether a bar shows progress, on a terminal or in a notebook, after two seconds.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    params_ : dict
        ``W1``, ``W2`` (two layers), ``alpha``, ``beta`` and, if used, ``lapse``: the weights before
        the first trial, in a canonical form where several are equivalent.
    theta_ : ndarray of shape (P,)
        The same, flat: W1 and W2 by rows, alpha, beta, lapse.
    fixed_ : dict
        Parameters that are not estimated, such as beta where the weights carry its scale.
    loglik_, logpost_ : float
        Log-likelihood (nats), and with a penalty plus the log prior.
    aic_, bic_ : float
        Criteria; small is good. Differences of AIC below 4 are ties.
    aic_is_penalised_ : bool
        Whether the parameters maximise something else than the likelihood.
    n_params_, n_params_raw_ : int
        Parameters counted, and all there are.
    n_outputs_ : int
        Outputs of the network.
    std_errors_ : dict or None
        By name as ``params_``, with ``log_alpha`` and ``log_beta`` too; NaN where a parameter is
        fixed, on a bound or not identified. In "2L" single weights have none.
    hessian_, hessian_eigenvalues_ : ndarray or None
        Minus the second derivatives of what was maximised, over the estimated parameters: weights,
        log alpha, log beta and log(2 lapse / (1 - 2 lapse)).
    at_bounds_ : list of str
        Parameters that ended on a bound; weights of "2L" are judged before their rotation to the
        canonical form.
    restart_logliks_ : ndarray of shape (n,)
        Log-likelihoods of all starts, best first.
    n_hit_ : int
        Starts within 0.5 log units of the best. Many can agree on a common hill and miss a better
        one: for results that matter raise ``n_restarts``, and try another ``random_state``.
    n_diverged_ : int
        Starts replaced or dropped because the weights explode.
    converged_ : bool
        Whether the best start ended at an optimum.
    weights_ : ndarray of shape (T + 1, q)
        Weights before every trial and at the end.
    p_right_ : ndarray of shape (T,)
        P(right) of every trial given the history before it; NaN on trials left out.
    n_trials_, n_counted_ : int
        Trials used, and those that count in the likelihood.
    seed_ : int
        Seed of the starts.
    device_ : {"cpu", "cuda"}
        Where the restarts ran.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (D,)
        Names of the inputs, where ``X`` had any.

    Notes
    -----
    This is not a classifier. The probability of a choice depends on the earlier choices, so there
    is no ``predict`` and no ``classes_``. Do not use ``cross_val_score`` or ``GridSearchCV``: they
    cut trials out of the sequence and shuffle it, and run without a complaint on what is left.
    Use :meth:`cross_val_blocks`, which keeps the history whole, or compare AIC.

    Rules: ``"rpe"`` corrects the value of the chosen side by the reward prediction error;
    ``"squared"`` corrects all outputs by what would have been right; ``"reinforce"`` is the policy
    gradient of the reward (Williams 1992), ``"expected_reward"`` that of the probability of being
    right, and ``"cross_entropy"`` that of its logarithm; Ashwood et al. (2020) fitted rules of this
    kind to animals. ``"rpe"`` with one output is ``"squared"`` with one output wherever the
    correct side is derived from the rewards.

    With the last three rules beta is only a scale in "1L" and "2L" and is fixed at 1. Hidden units
    of "2L" can be rotated, those of "2NL" exchanged. A shallow network is the limit of deep ones,
    so the choices of an animal that is shallow cannot exclude a deep network. Single weights are
    only moderately identified by choices, learning rate and temperature well; standard errors from
    curvature are too small without a penalty. In one animal of sixteen (1000 simulated: 5000
    trials, "1L", "rpe", penalised), such as one that chooses one side nearly always or knows the
    task from the start, log alpha has a standard error above 0.5. A fifth of these estimates of
    alpha are wrong by a factor of e or more, and some by twenty, where a second hill far from the
    truth is as high; of the others 3 of 937 are wrong by e. ``summary`` marks such an animal.

    With an estimated model the reward is needed on every trial that teaches; with unobserved
    rewards the likelihood is an approximation (see ``missing_reward``).

    References
    ----------
    Williams, R. J. (1992). Simple statistical gradient-following algorithms for connectionist
    reinforcement learning. Machine Learning 8, 229-256.
    Ashwood, Z. et al. (2020). Inferring learning rules from animal decision-making. NeurIPS 33.
    Liebana, S. et al. (2025). Dopamine encodes deep network teaching signals for individual
    learning trajectories. Cell 188, 3789.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import DNNLearningRule, encode_contrast
    >>> rng = np.random.default_rng(0)
    >>> contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 400)
    >>> X, side = encode_contrast(contrast), (contrast > 0).astype(float)
    >>> truth = DNNLearningRule("1L", rule="rpe")
    >>> theta = np.array([0.3, 0.1, 0.2, 0.1, 0.3, 0.2, 0.02, 5.0])
    >>> run = truth.simulate(X, side, theta=theta, random_state=1)
    >>> fit = DNNLearningRule("1L", rule="rpe", penalty="gaussian", random_state=0)
    >>> fit = fit.fit(X, run.choice[0], rewards=run.reward[0])
    >>> bool(fit.loglik_ > -400 * np.log(2)), fit.n_params_
    (True, 8)

    How well the next choice is predicted, at the estimate and in trials left out of the fit:

    >>> trials = {"X": X, "y": run.choice[0], "rewards": run.reward[0]}
    >>> fit.one_step_proba(**trials).shape, fit.one_step_log_proba(**trials).shape
    ((400, 2), (400, 2))
    >>> bool(np.isclose(fit.log_likelihood(fit.theta_, **trials), fit.loglik_))
    True
    >>> bool(np.isclose(fit.score(**trials), fit.loglik_ / 400))
    True
    >>> bool(fit.cross_val_blocks(**trials, n_blocks=4)["mean"] > -np.log(2))
    True

    How well a parameter is determined, and whether free runs of the network behave likewise:

    >>> profile = fit.profile_likelihood("alpha", [1e-5, 0.01, 0.02, 0.05, 0.5], **trials)
    >>> profile.estimate == fit.params_["alpha"]
    True
    >>> curve = fit.learning_curve(**trials, contrast=contrast, window=100, n_runs=50)
    >>> sorted(curve.inside(level=0.95))
    ['accuracy', 'bias', 'sensitivity']
    """

    def __init__(
        self,
        architecture: str = "2NL",
        *,
        hidden: int = 2,
        activation: str = "sigmoid",
        rule: str = "reinforce",
        n_outputs: int | None = None,
        output_bias: bool = False,
        lapse: bool = False,
        baseline: float = 0.0,
        missing_reward: str = "expected",
        drop_no_response: bool = False,
        alpha_layer2_ratio: float = 1.0,
        weight_decay: float = 0.0,
        allow_redundant: bool = False,
        penalty: str = "none",
        weight_sd: float = 1.0,
        weight_bound: float = 5.0,
        alpha_bounds: tuple[float, float] = (1e-6, 1.0),
        beta_bounds: tuple[float, float] = (0.1, 50.0),
        n_restarts: int | None = None,
        n_pool: int = 100,
        nested_start: bool = True,
        max_iter: int = 300,
        gradient: str = "reverse",
        count: str = "identifiable",
        standard_errors: bool = True,
        device: str = "auto",
        n_jobs: int | None = None,
        n_threads: int = 0,
        verbose: bool = False,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.architecture = architecture
        self.hidden = hidden
        self.activation = activation
        self.rule = rule
        self.n_outputs = n_outputs
        self.output_bias = output_bias
        self.lapse = lapse
        self.baseline = baseline
        self.missing_reward = missing_reward
        self.drop_no_response = drop_no_response
        self.alpha_layer2_ratio = alpha_layer2_ratio
        self.weight_decay = weight_decay
        self.allow_redundant = allow_redundant
        self.penalty = penalty
        self.weight_sd = weight_sd
        self.weight_bound = weight_bound
        self.alpha_bounds = alpha_bounds
        self.beta_bounds = beta_bounds
        self.n_restarts = n_restarts
        self.n_pool = n_pool
        self.nested_start = nested_start
        self.max_iter = max_iter
        self.gradient = gradient
        self.count = count
        self.standard_errors = standard_errors
        self.device = device
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rewards: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        likelihood_mask: ArrayLike | None = None,
        init: ArrayLike | None = None,
    ) -> Self:
        """Estimate the parameters from the choices of one animal.

        Parameters
        ----------
        X : array-like of shape (T, D)
            Inputs of all trials in order of time, such as :func:`encode_contrast` gives.
        y : array-like of shape (T,)
            Choices: 1 right, 0 left, NaN no response.
        rewards : array-like of shape (T,), optional
            Outcomes in [0, 1], 1 is rewarded; NaN where not observed.
        correct_side : array-like of shape (T,), optional
            Correct sides in [0, 1], 1 is right; NaN where not known. Derived from choice and reward
            by default, as the rewards are from it.
        sessions : array-like of shape (T,), optional
            Label of the session of each trial. Weights carry over; labels matter for blocks.
        likelihood_mask : array-like of bool of shape (T,), optional
            Trials that count in the likelihood. The network learns on all of them: keep trials that
            repeat after errors and mask them.
        init : array-like of shape (P,) or (n, P), optional
            More starts, in the order of ``theta_``.

        Returns
        -------
        DNNLearningRule
            The fitted estimator itself.

        Raises
        ------
        ValueError
            A value or a length is wrong, or all starts diverge; the message names the argument and
            the first bad trial.
        TypeError
            An argument is of the wrong kind.
        RuntimeError
            ``device="cuda"`` and there is none that can be used.

        Warns
        -----
        ConvergenceWarning
            One start only reached the best value, a parameter is on a bound, or the best start did
            not converge.
        NB26StatsWarning
            All choices are equal, or no trial is rewarded.
        """
        options = self._options()
        X = as_table(X, "X")
        trials = check_trials(
            X,
            y,
            rewards=rewards,
            correct_side=correct_side,
            sessions=sessions,
            likelihood_mask=likelihood_mask,
            drop_no_response=options.drop_no_response,
        )
        # names of columns that scikit-learn refuses are refused before the work
        validate_data(BaseEstimator(), X, skip_check_array=True)
        model = options.model(trials.x.shape[1])
        starts = None if init is None else check_init(model, init)
        warn_of_data(trials)
        seed = as_seed(self.random_state)
        with one_blas_thread():
            optimum = find_optimum(options, model, trials, seed, init=starts)
            found = fitted_fields(options, model, trials, optimum)
        warn_unsure(options, optimum, found["at_bounds_"])
        validate_data(self, X, skip_check_array=True)
        self.seed_ = seed
        # in the box, where the canonical form of two linear layers need not lie
        self._u_ = optimum.u
        self._model_ = asdict(model)
        for name, value in found.items():
            setattr(self, name, value)
        return self

    def summary(self) -> str:
        """Return estimates, errors and criteria as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        check_is_fitted(self, "theta_")
        return summary_text(self)

    def to_frame(self) -> pd.DataFrame:
        """Return estimates and their errors as a table.

        Returns
        -------
        pandas.DataFrame
            One row per parameter: ``parameter`` (its name, with row and column of a weight),
            ``estimate``, ``standard_error`` (NaN where there is none) and ``note``: "fixed",
            "on a bound" or empty.
        """
        check_is_fitted(self, "theta_")
        return parameter_frame(self)

    def plot(
        self,
        kind: str = "weights",
        ax: Sequence[Axes] | None = None,
        *,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        contrast: ArrayLike | None = None,
        correct_side: ArrayLike | None = None,
        sessions: ArrayLike | None = None,
        window: int | None = None,
        step: int | None = None,
        n_runs: int = 20,
        random_state: int | np.random.Generator | np.random.RandomState | None = 0,
        **style: Any,
    ) -> Any:
        """Draw the weights over trials, or what the animal and the fitted network do over trials.

        Parameters
        ----------
        kind : {"weights", "course"}, default="weights"
            ``"weights"``: weights before every trial. ``"course"``: accuracy, bias and sensitivity
            of the animal and of free runs of the network; needs ``X``, ``y`` and ``contrast``.
        ax : sequence of matplotlib axes, optional
            Where to draw. A new figure by default.
        X, y : array-like, optional
            Inputs and choices.
        contrast : array-like of shape (T,), optional
            Signed contrasts.
        correct_side : array-like of shape (T,), optional
            Correct sides for the free runs; by default those of the contrasts, NaN at 0.
        sessions : array-like of shape (T,), optional
            Label of the session of each trial.
        window, step : int, optional
            Windows in trials, as for :func:`behavior_metrics`.
        n_runs : int, default=20
            Number of free runs.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the free runs.
        **style
            Passed to ``nb26stats.plotting.plot_learning_weights`` or ``plot_learning_curve``.

        Returns
        -------
        ndarray of Axes
            What was drawn on.
        """
        check_is_fitted(self, "theta_")
        chosen = as_choice(kind, "kind", ("weights", "course"))
        from nb26stats import plotting

        if chosen == "weights":
            return plotting.plot_learning_weights(self, ax, sessions=sessions, **style)
        if X is None or y is None or contrast is None:
            raise ValueError("kind='course' needs X, y and contrast")
        return self.learning_curve(
            X,
            y,
            contrast=contrast,
            correct_side=correct_side,
            sessions=sessions,
            window=window,
            step=step,
            n_runs=n_runs,
            random_state=random_state,
        ).plot(ax, **style)
