"""Simulated trials of which it is known who responded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nb26stats._check import as_float, as_int, as_list
from nb26stats._results import Result
from nb26stats._seed import as_seed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

FEATURES = 10
CONFOUNDED_FEATURES = 5


@dataclass(frozen=True, eq=False, repr=False)
class ResponderData(Result):
    """Simulated rows of a treated and a control arm; what the three simulators return.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Covariates.
    y : ndarray of shape (n,)
        Outcome.
    treatment : ndarray of bool, shape (n,)
        Arm.
    responder : ndarray of bool, shape (n,)
        Who responded: treated rows only.
    prior : ndarray of shape (n,)
        Probability of response under treatment.
    effect : ndarray of shape (n,)
        Mean change of y in responders at these covariates.
    null_mean : ndarray of shape (n,)
        Mean of y without response.
    propensity : ndarray of shape (n,)
        Probability of treatment.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> datasets.simulate_additive(n_samples=200).summary()
    '200 rows of 10 covariates: 94 treated, 44 responders'
    >>> data = datasets.simulate_additive(n_samples=200)
    >>> named = data.treatment & (data.y > 2)  # who might be said to have responded
    >>> data.false_discovery_proportion(named) < 0.2, data.power(named) > 0.5
    (True, True)
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    treatment: NDArray[np.bool_]
    responder: NDArray[np.bool_]
    prior: NDArray[np.float64]
    effect: NDArray[np.float64]
    null_mean: NDArray[np.float64]
    propensity: NDArray[np.float64]

    def summary(self) -> str:
        """Return sizes.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        n, p = self.X.shape
        return (
            f"{n} rows of {p} covariates: {int(self.treatment.sum())} treated, "
            f"{int(self.responder.sum())} responders"
        )

    def false_discovery_proportion(self, selected: ArrayLike) -> float:
        """Return the share of selected rows that did not respond, 0 where none is selected.

        Parameters
        ----------
        selected : array-like
            Positions of rows, as ``select`` returns them, or a boolean mask over all rows.

        Returns
        -------
        float
            Between 0 and 1.
        """
        chosen = self.responder[_positions(selected, len(self.responder))]
        return 1.0 - float(chosen.mean()) if chosen.size else 0.0

    def power(self, selected: ArrayLike) -> float:
        """Return the share of responders that is selected, NaN where nobody responded.

        Parameters
        ----------
        selected : array-like
            Positions of rows, as ``select`` returns them, or a boolean mask over all rows.

        Returns
        -------
        float
            Between 0 and 1, or NaN.
        """
        n = int(self.responder.sum())
        found = self.responder[_positions(selected, len(self.responder))].sum()
        return float(found) / n if n else float("nan")

    def to_frame(self) -> pd.DataFrame:
        """Return all as one table, a row per row of X.

        Returns
        -------
        pandas.DataFrame
            Covariates first, then outcome, treatment and what is known of the truth.
        """
        import pandas as pd

        columns = {f"x{j}": column for j, column in enumerate(self.X.T)}
        names = ("y", "treatment", "responder", "prior", "effect", "null_mean", "propensity")
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names})


def simulate_additive(
    n_samples: int = 1000, tau: float = 3.0, *, random_state: object = 0
) -> ResponderData:
    """Simulate a randomised trial in which response adds an effect to the outcome.

    Ten covariates; half of the rows are treated at random. Response has a logistic prior, and its
    effect is ``tau`` times a weighted sum of sizes of the covariates, so that it is positive
    everywhere and differs between rows. The noise is standard normal.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    tau : float, default=3.0
        Size of the effect: 0 is none, 1 hopeless for single rows, 3 moderate, 5 strong.
    random_state : int, Generator, RandomState or None, default=0
        Seed; a whole number ``s`` stands for ``numpy.random.default_rng(s)``.

    Returns
    -------
    ResponderData
        The study, and who responded in truth.

    Notes
    -----
    The design is that of the reference code of Chen et al., "Treatment response as a latent
    variable" (arXiv:2502.08776), draw for draw.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> data = datasets.simulate_additive(n_samples=1000, tau=3, random_state=100)
    >>> int(data.treatment.sum()), int(data.responder.sum())
    (467, 240)
    """
    from scipy.special import expit

    n, tau, r = _settings(n_samples, tau, random_state)
    spread = 1 / np.sqrt(FEATURES)
    beta, gamma, theta = (r.normal(0, spread, FEATURES) for _ in range(3))
    treated = r.random(n) <= 0.5
    X = r.normal(0, spread, (n, FEATURES))
    null_mean = X @ beta
    effect = tau * (np.abs(X) @ np.abs(gamma))
    prior = expit(X @ theta)
    responder = treated & (r.random(n) <= prior)
    without = r.normal(null_mean, 1)
    within = r.normal(null_mean + effect, 1)
    y = np.where(responder, within, without)
    return ResponderData(X, y, treated, responder, prior, effect, null_mean, np.full(n, 0.5))


def simulate_nonadditive(
    n_samples: int = 1000, tau: float = 3.0, *, random_state: object = 0
) -> ResponderData:
    """Simulate a confounded study in which response changes the whole distribution of the outcome.

    Ten covariates, of which one combination drives both treatment and outcome. Responders' outcomes
    are a mixture over a uniform dose that enters as a square, with interactions of covariates.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    tau : float, default=3.0
        Size of the effect, at least -1.
    random_state : int, Generator, RandomState or None, default=0
        Seed; a whole number ``s`` stands for ``numpy.random.default_rng(s)``.

    Returns
    -------
    ResponderData
        The study, and who responded in truth.

    Notes
    -----
    The design is that of the reference code of Chen et al., "Treatment response as a latent
    variable" (arXiv:2502.08776), draw for draw.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> data = datasets.simulate_nonadditive(n_samples=1000, tau=3, random_state=100)
    >>> int(data.treatment.sum()), int(data.responder.sum())
    (514, 253)
    """
    from scipy.special import expit

    n, tau, r = _settings(n_samples, tau, random_state, minimum=-1.0)
    strength = np.sqrt(1 + tau) / 2
    spread = 1 / np.sqrt(FEATURES)
    # the third draw is used for nothing, as in the reference
    beta, gamma, _ = (r.normal(0, spread, FEATURES) for _ in range(3))
    c = np.abs(r.normal(0, 2))
    present = r.random((1, FEATURES, FEATURES)) <= 0.1
    pairs = (present * r.standard_t(3, (1, FEATURES, FEATURES)))[0]
    X = r.normal(0, spread, (n, FEATURES))
    propensity = expit(X @ gamma)
    treated = r.binomial(1, propensity, n).astype(bool)
    prior = expit(X @ beta)
    responder = treated & r.binomial(1, prior, n).astype(bool)
    interaction = np.abs(np.einsum("ni,ij,nj->n", X, pairs, X))
    dose = r.uniform(0, 2, n)
    a, b = c * propensity, strength * (1 + interaction)
    y = r.normal((a + b * responder * dose) ** 2, 1)
    # mean over the dose of (a + b u)^2 - a^2
    effect = 4 / 3 * b**2 + 2 * a * b
    return ResponderData(X, y, treated, responder, prior, effect, a**2, propensity)


def simulate_confounded(
    n_samples: int = 1500, tau: float = 3.0, a: float = 1.0, *, random_state: object = 0
) -> ResponderData:
    """Simulate a study in which a covariate drives both treatment and outcome, with unequal arms.

    Five standard normal covariates. The first drives treatment and outcome, the second response and
    outcome, the third the effect. The noise is that of Student's t with 5 degrees of freedom,
    scaled to variance 1.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows.
    tau : float, default=3.0
        Size of the effect.
    a : float, default=1.0
        Log odds of treatment at the mean covariates: -1.5 treats 22 % of the rows, 1 treats 70 %,
        1.5 treats 77 %.
    random_state : int, Generator, RandomState or None, default=0
        Seed; a whole number ``s`` stands for ``numpy.random.default_rng(s)``.

    Returns
    -------
    ResponderData
        The study, and who responded in truth.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> data = datasets.simulate_confounded(n_samples=1500, a=1.0, random_state=0)
    >>> data.X.shape
    (1500, 5)
    """
    from scipy.special import expit

    n, tau, r = _settings(n_samples, tau, random_state)
    log_odds = as_float(a, "a")
    X = r.normal(size=(n, CONFOUNDED_FEATURES))
    propensity = expit(log_odds + X[:, 0])
    treated = r.random(n) < propensity
    null_mean = X[:, 0] + X[:, 1] ** 2 / 2
    prior = expit(-0.5 + X[:, 1])
    effect = tau * (1 + 0.3 * X[:, 2])
    responder = treated & (r.random(n) < prior)
    y = null_mean + effect * responder + r.standard_t(5, n) * np.sqrt(3 / 5)
    return ResponderData(X, y, treated, responder, prior, effect, null_mean, propensity)


def _settings(
    n_samples: object, tau: object, random_state: object, minimum: float | None = None
) -> tuple[int, float, np.random.Generator]:
    n = as_int(n_samples, "n_samples", minimum=1)
    return n, as_float(tau, "tau", minimum=minimum), np.random.default_rng(as_seed(random_state))


def _positions(selected: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return positions of distinct rows."""
    values = as_list(selected, "selected")
    array = np.asarray(values)
    if array.dtype.kind == "b":
        if array.shape != (n,):
            raise ValueError(f"selected has shape {array.shape}; a mask must have the {n} rows")
        return np.flatnonzero(array)
    return np.unique([as_int(v, "selected", minimum=0, maximum=n - 1) for v in values]).astype(
        np.int64
    )
