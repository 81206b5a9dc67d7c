"""Covariance of Oja's error by the linear theory, for the planning of studies and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_float, as_int, as_numbers, as_vector
from nb26stats._results import Result

if TYPE_CHECKING:
    import pandas as pd

F64 = NDArray[np.float64]

MOST = 2**62
ASYMMETRIC = 1e-8
NEGATIVE = 1e-8
TIED = 1e-10
LARGE = 0.1
# elements of one piece of a long schedule
PIECE = 2**19


@dataclass(frozen=True, eq=False, repr=False)
class AsymptoticCovariance(Result):
    """What the linear theory says of the error; made by ``oja_asymptotic_covariance``.

    Attributes
    ----------
    entry_variance : ndarray of shape (d - k, k)
        Variance of the part of component j along the tail's eigenvector i. The entries are
        uncorrelated, so this is the whole covariance.
    row_covariance : ndarray of shape (d, k, k)
        Covariance of each feature's row of loadings after rotation towards the truth.
    expected_error : float
        Expected sum of squared sines of the principal angles, the sum of ``entry_variance``.
    eigenvalues : ndarray of shape (d,)
        Of the rows' covariance, in descending order.
    components : ndarray of shape (k, d)
        Its first k eigenvectors, the coordinates of ``row_covariance``.
    n : int
        Number of rows.

    Examples
    --------
    >>> from nb26stats.streaming import oja_asymptotic_covariance
    >>> theory = oja_asymptotic_covariance([[2.0, 0.0], [0.0, 1.0]], 1, eta=0.01, n=1000)
    >>> theory.to_frame()[["component", "tail"]].values.tolist()
    [[0, 1]]
    """

    entry_variance: F64
    row_covariance: F64
    expected_error: float
    eigenvalues: F64
    components: F64
    n: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry.

        Returns
        -------
        pandas.DataFrame
            Columns ``component`` (from 0 to k - 1), ``tail`` (from k to d - 1, as eigenvalues are
            counted), ``variance`` and ``standard_error``.
        """
        import pandas as pd

        rest, k = self.entry_variance.shape
        component, tail = np.meshgrid(np.arange(k), k + np.arange(rest), indexing="ij")
        variance = self.entry_variance.T.ravel()
        return pd.DataFrame(
            {
                "component": component.ravel(),
                "tail": tail.ravel(),
                "variance": variance,
                "standard_error": np.sqrt(variance),
            }
        )

    def summary(self) -> str:
        """Return a text table: eigenvalues and the expected error of each component.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        rest, k = self.entry_variance.shape
        lines = [
            "Error of Oja's rule, linear theory",
            "=" * 52,
            f"{'rows':<24}{self.n:>28d}",
            f"{'features':<24}{k + rest:>28d}",
            f"{'expected squared error':<24}{self.expected_error:>28.4g}",
            "-" * 52,
            f"{'component':<12}{'eigenvalue':>14}{'sum of variances':>26}",
        ]
        sums = self.entry_variance.sum(axis=0)
        lines += [f"{j:<12d}{self.eigenvalues[j]:>14.5g}{sums[j]:>26.4g}" for j in range(k)]
        lines.append("-" * 52)
        if rest and self.expected_error > LARGE * min(k, rest):
            lines.append("* the error is too large for the linear theory: read it as an order only")
        return "\n".join(lines)


def oja_asymptotic_covariance(
    cov: ArrayLike,
    n_components: int,
    eta: float | ArrayLike,
    n: int | None = None,
    kurtosis: float = 1.0,
) -> AsymptoticCovariance:
    """Return the covariance of Oja's error for a known covariance of the rows and known steps.

    The update is linearised about the leading eigenvectors: with tail eigenvalue a and leading
    eigenvalue b, a step e multiplies the error by (1 + e a) / (1 + e b) and adds noise of variance
    ``kurtosis`` e^2 a b / (1 + e b)^2. The start is taken as exact, so what is left of a real start
    comes on top.

    Parameters
    ----------
    cov : array-like of shape (d, d)
        Covariance of the rows, symmetric and without negative eigenvalues.
    n_components : int
        Number of leading directions k; eigenvalues k and k + 1 must differ.
    eta : float or array-like of shape (n,)
        Step: one for all rows, with ``n``, or the step of every row. The steps of ``OjaPCA`` with
        ``learning_rate="auto"`` are about ``np.minimum(c / (gap * t), kappa / total)`` for rows
        ``t = np.arange(1, n + 1)``, with ``c = 1.5``, ``kappa = 0.5``, the gap between eigenvalues
        k and k + 1, and the sum ``total`` of all.
    n : int, optional
        Number of rows. Needed with one step; with an array its length, if given.
    kurtosis : float, default=1.0
        Factor of the fourth moments of elliptical rows, E[r^4] d / ((d + 2) E[r^2]^2) for the
        length r of whitened rows: 1 for Gaussian rows, (nu - 2) / (nu - 4) for a multivariate t
        with nu degrees of freedom, at least d / (d + 2).

    Returns
    -------
    AsymptoticCovariance
        ``entry_variance`` (d - k, k), ``row_covariance`` (d, k, k), ``expected_error``, and the
        eigenvalues and components they refer to; with ``summary()``, ``to_frame()``, ``to_r()``.

    Raises
    ------
    ValueError
        For a matrix that is not a covariance, a tie at the gap, steps that are not positive and
        finite, or a number out of range.
    TypeError
        For an argument of the wrong kind.

    Notes
    -----
    The linearisation follows Oja and Karhunen (1985); steps that end in a / t with a the inverse
    gap have the variance of batch PCA to first order (Anderson, 1963). The cost is of order d^2 k
    for one step and n d k for an array.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import oja_asymptotic_covariance
    >>> made = oja_asymptotic_covariance(np.diag([4.0, 2.0, 1.0, 0.5]), 1, eta=0.01, n=1500)
    >>> made.entry_variance.round(4).ravel()
    array([0.0194, 0.0065, 0.0028])
    >>> bool(np.isclose(made.expected_error, made.entry_variance.sum()))
    True

    How many rows bring the error of ``OjaPCA`` to 0.01?

    >>> variances = np.r_[10.0, 6.0, np.ones(28)]
    >>> for n in (500, 1500):
    ...     eta = np.minimum(1.5 / (5.0 * np.arange(1, n + 1)), 0.5 / variances.sum())
    ...     made = oja_asymptotic_covariance(np.diag(variances), 2, eta)
    ...     print(n, round(made.expected_error, 3))
    500 0.026
    1500 0.009
    """
    matrix = _covariance(cov)
    d = len(matrix)
    k = as_int(n_components, "n_components")
    if not 1 <= k <= d:
        raise ValueError(f"n_components={k} must lie in [1, n_features={d}]")
    factor = as_float(kurtosis, "kurtosis", above=0.0)
    if factor < d / (d + 2.0) * (1.0 - 1e-9):
        raise ValueError(
            f"kurtosis={factor:g} must be at least n_features / (n_features + 2) = {d / (d + 2):g}"
        )
    steps = as_vector(eta, "eta")
    rows = _number_of_rows(steps, n, single=np.ndim(eta) == 0)
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    _check_eigenvalues(values, k)
    values = np.maximum(values, 0.0)
    if not np.isfinite(float(steps.max()) * float(values[0])):
        raise ValueError("eta times the largest eigenvalue of cov overflows; rescale the columns")
    one_step = np.ndim(eta) == 0
    grown = _constant(values, k, float(steps[0]), rows) if one_step else _varying(values, k, steps)
    entry = factor * grown * values[k:, None] * values[:k]
    row = np.zeros((d, k, k))
    row[:, np.arange(k), np.arange(k)] = vectors[:, k:] ** 2 @ entry
    return AsymptoticCovariance(
        entry_variance=entry,
        row_covariance=row,
        expected_error=float(entry.sum()),
        eigenvalues=values,
        components=np.ascontiguousarray(vectors[:, :k].T),
        n=rows,
    )


def _covariance(cov: ArrayLike) -> F64:
    matrix = as_numbers(cov, "cov")
    if matrix.ndim == 0:
        matrix = matrix.reshape(1, 1)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"cov must be a square matrix, got shape {matrix.shape}")
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all():
        raise ValueError("cov must hold finite numbers only")
    largest = float(np.abs(matrix).max())
    off = np.abs(matrix - matrix.T)
    if off.max() > ASYMMETRIC * largest:
        i, j = (int(v) for v in np.unravel_index(int(np.argmax(off)), off.shape))
        raise ValueError(
            f"cov must be symmetric, got {matrix[i, j]:g} at ({i}, {j}) and {matrix[j, i]:g} at "
            f"({j}, {i}) (counted from 0)"
        )
    return np.asarray(matrix / 2.0 + matrix.T / 2.0)


def _number_of_rows(steps: F64, n: int | None, *, single: bool) -> int:
    if not len(steps):
        raise ValueError("eta must hold at least one step")
    bad = ~(np.isfinite(steps) & (steps > 0))
    if bad.any():
        i = int(np.argmax(bad))
        where = "" if single else f" at row {i + 1}"
        raise ValueError(f"eta={steps[i]:g}{where} must be positive and finite")
    if n is None:
        if single:
            raise ValueError("one step eta needs n, the number of rows; or give a step per row")
        return len(steps)
    rows = as_int(n, "n", minimum=1, maximum=MOST)
    if not single and rows != len(steps):
        raise ValueError(f"eta has {len(steps)} steps but n={rows}; leave n out, or give one step")
    return rows


def _check_eigenvalues(values: F64, k: int) -> None:
    if not values[0] > 0:
        raise ValueError("cov must have a positive eigenvalue")
    if values[-1] < -NEGATIVE * values[0]:
        raise ValueError(f"cov must not have negative eigenvalues, its smallest is {values[-1]:g}")
    if k < len(values) and values[k - 1] - values[k] <= TIED * values[0]:
        raise ValueError(
            f"eigenvalues {k} and {k + 1} of cov are both {values[k]:g}, so the first "
            f"n_components={k} directions are not defined"
        )


def _log1p(x: F64) -> F64:
    """Return log(1 + x) for x > -1, finite also where a huge step rounds it to -1."""
    return np.asarray(np.log1p(np.maximum(x, -1.0 + 2.0**-53)))


def _constant(values: F64, k: int, step: float, n: int) -> F64:
    """Return the sum over rows of squared steps times what later rows leave of them."""
    gain = 1.0 + step * values[:k]
    # log of the square of (1 + step tail) / (1 + step lead), exact also for a small gap
    log = 2.0 * _log1p(step * (values[k:, None] - values[:k]) / gain)
    sums = np.full(log.shape, float(n))  # where a step is too small to move the last digit
    np.divide(np.expm1(n * log), np.expm1(log), out=sums, where=log < 0)
    return np.asarray((step / gain) ** 2 * sums)


def _varying(values: F64, k: int, steps: F64) -> F64:
    """Return the same for a step per row: the recursion over rows, taken piece by piece."""
    total = np.zeros((len(values) - k, k))
    size = max(1, PIECE // len(values))
    for a in range(0, len(steps), size):
        e = steps[a : a + size, None]
        # growth against direction k, so that neither factor below can overflow
        log = 2.0 * _log1p(e * (values - values[k - 1]) / (1.0 + e * values[k - 1]))
        later = np.cumsum(log[::-1], axis=0)[::-1] - log
        whole = log.sum(axis=0)
        noise = (e / (1.0 + e * values[:k])) ** 2 * np.exp(-later[:, :k])
        total *= np.exp(whole[k:, None] - whole[:k])
        total += np.exp(later[:, k:]).T @ noise
    return total
