"""The semiparametric estimator with networks for effect and prior."""

from __future__ import annotations

from typing import Any

from nb26stats._check import as_choice, as_float, as_int
from nb26stats.causal._additive_estimator import AdditiveC2G
from nb26stats.causal._em import Learners

from ._learners import DeepLearners, checked_hidden, usable_device


class DeepSemiparametricC2G(AdditiveC2G):
    """Select individual responders; effect and prior of response are neural networks.

    The model, its identification and its rules of selection are those of
    :class:`nb26stats.SemiparametricC2G`; in place of ridge regressions on random features, small
    networks learn the effect and the log odds of response. They pay where both depend on many
    covariates in ways that a smooth function of all of them misses, and where there are thousands
    of treated rows; with some hundred rows the ridge regressions do as well in a fraction of the
    time.

    Parameters
    ----------
    q : float, default=0.1
        Target false discovery rate, in (0, 1).
    hidden : sequence of int, default=(64, 64)
        Units of the hidden layers, with rectified linear units.
    learning_rate : float, default=1e-3
        Step of the optimiser (AdamW).
    max_epochs : int, default=200
        Passes over the rows in one iteration of EM. Networks go on from where the last iteration
        left them.
    patience : int, default=10
        Passes without a gain in held-out loss after which they end.
    outcome_model : "krr" or scikit-learn regressor, default="krr"
        Model of the mean outcome of the controls.
    noise : {"predictive_recursion", "npmle", "gaussian"}, default="predictive_recursion"
        Density of the noise.
    cv : int, default=5
        Folds, at least 3: a network learns from all but two, of which one says when to stop and
        one is what it predicts.
    max_iter : int, default=50
        Iterations of EM.
    tol : float, default=1e-3
        Mean change of a row's probability of response at which EM stops.
    control : {"auto", "model", "calibrated", "published"}, default="auto"
        Rule of selection.
    pi0 : {"conservative", "plugin"} or float, default="conservative"
        Share of the counted controls that are held against the selection.
    randomized : bool, default=False
        Whether the treatment was assigned at random, with one probability for all.
    propensity_model : scikit-learn classifier, optional
        Model of the treatment given the covariates.
    overlap : float, default=0.02
        Treated rows whose probability of treatment is within this of 1 are flagged.
    overlap_action : {"warn", "trim", "raise"}, default="warn"
        What to do with flagged rows.
    max_kernel_n : int, default=3000
        Controls beyond which random features take the place of kernels in ``outcome_model``.
    standardize : bool, default=True
        Whether to scale the columns of X, and y by the standard deviation of the controls.
    n_bootstrap : int, default=0
        Refits to resamples of both arms behind the confidence limits; 0 gives none.
    missing : {"raise", "drop", "impute"}, default="raise"
        What to do with missing values; "impute" fills X only.
    verbose : bool, default=False
        Whether a bar shows progress, on a terminal or in a notebook.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the networks learn; "auto" takes a CUDA device where torch sees one. Bits are the
        same from run to run on the CPU.
    n_jobs : int, optional
        Joblib tasks over folds, bandwidths and refits.
    random_state : int, Generator, RandomState or None, default=None
        Seed of folds, weights and orders.

    Attributes
    ----------
    lfdr_, local_fdr_, q_values_, responder_proba_, prior_, effect_ : ndarray of shape (N,)
        Of every row, as in :class:`nb26stats.SemiparametricC2G`.
    null_mean_, control_score_, propensity_, ess_ : ndarray of shape (N,)
        As there.
    selected_, trimmed_ : ndarray of bool, shape (N,)
        As there.
    estimated_fdr_, zM1_, zM2_ : float
        As there.
    control_used_, pi0_used_ : str or float
        As there.
    n_iter_, converged_, n_features_in_, seed_ : int or bool
        As there.

    Notes
    -----
    Networks compute in double precision, on one thread of the CPU. A fitted estimator holds plain
    arrays and predicts without torch. For new rows, and at the controls, effect and log odds are
    means over the networks of all folds. The defaults are a choice, not tuned to data.

    References
    ----------
    "Treatment response as a latent variable", arXiv:2502.08776. Loshchilov and Hutter, "Decoupled
    weight decay regularization", ICLR 2019.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> from nb26stats.deep import DeepSemiparametricC2G
    >>> data = datasets.simulate_additive(n_samples=300, tau=5, random_state=1)
    >>> model = DeepSemiparametricC2G(hidden=(16,), random_state=0)
    >>> model = model.fit(data.X, data.y, treatment=data.treatment)
    >>> model.predict_effect(data.X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        q: float = 0.1,
        *,
        hidden: Any = (64, 64),
        learning_rate: float = 1e-3,
        max_epochs: int = 200,
        patience: int = 10,
        outcome_model: Any = "krr",
        noise: str = "predictive_recursion",
        cv: int = 5,
        max_iter: int = 50,
        tol: float = 1e-3,
        control: str = "auto",
        pi0: Any = "conservative",
        randomized: bool = False,
        propensity_model: Any = None,
        overlap: float = 0.02,
        overlap_action: str = "warn",
        max_kernel_n: int = 3000,
        standardize: bool = True,
        n_bootstrap: int = 0,
        missing: str = "raise",
        verbose: bool = False,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.q = q
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.outcome_model = outcome_model
        self.noise = noise
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.control = control
        self.pi0 = pi0
        self.randomized = randomized
        self.propensity_model = propensity_model
        self.overlap = overlap
        self.overlap_action = overlap_action
        self.max_kernel_n = max_kernel_n
        self.standardize = standardize
        self.n_bootstrap = n_bootstrap
        self.missing = missing
        self.verbose = verbose
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_int(self.cv, "cv", minimum=3)
        checked_hidden(self.hidden)
        as_float(self.learning_rate, "learning_rate", above=0.0)
        as_int(self.max_epochs, "max_epochs", minimum=1)
        as_int(self.patience, "patience", minimum=1)
        usable_device(as_choice(self.device, "device", ("auto", "cpu", "cuda")))

    def _learners(self, seed: int) -> Learners:
        return DeepLearners(
            hidden=checked_hidden(self.hidden),
            learning_rate=float(self.learning_rate),
            max_epochs=int(self.max_epochs),
            patience=int(self.patience),
            device=usable_device(self.device),
            seed=seed,
        )
