"""Classical two-groups tools: local false discovery rates of z-scores, q-values of p-values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_float, as_int, as_vector
from nb26stats._warnings import warn

from ._cautions import SmallSampleWarning
from ._empirical_null import centre_and_scale
from ._grenander import grenander
from ._null_choice import Fitted, fit_null, read_null
from ._poisson_spline import Binned, fit_counts
from ._storey import LAMBDA, estimate_pi0, pi0_curve, q_of
from ._twogroups_results import QValuesResult, TwoGroupsResult

__all__ = [
    "QValuesResult",
    "TwoGroupsResult",
    "grenander_lfdr",
    "local_fdr",
    "q_values",
    "two_groups",
]

F64 = NDArray[np.float64]
NullLike = str | tuple[float, float] | Callable[[F64], Any]

FEWEST, FEW = 200, 1000
MAX_MISFIT = 1.5
MIN_MIDDLE = 3.0
"""Bins that the middle half of z should cover."""
LARGEST = 1e150


def two_groups(
    z: ArrayLike,
    *,
    null: NullLike = "mle",
    n_breaks: int = 120,
    df: int = 7,
    pct0: float = 0.25,
) -> TwoGroupsResult:
    """Fit a null and an overall density to z-scores: Efron's local false discovery rate.

    The density of all z is a Poisson regression of histogram counts on a natural spline. The null
    density is normal with mean and SD estimated from the middle of z, or given.

    Parameters
    ----------
    z : array-like of shape (n,)
        The z-scores, at least 200.
    null : {"mle", "theoretical", "central"}, pair of float or callable, default="mle"
        "mle" fits a truncated normal distribution to the z around the median; "central" fits a
        parabola to the log density there; "theoretical" is N(0, 1). A pair is (delta, sigma), the
        mean and SD of the null. A callable takes an array of z and returns null densities, up to a
        factor.
    n_breaks : int, default=120
        Ends of the bins of the histogram, which number one less.
    df : int, default=7
        Degrees of freedom of the spline, beside its constant.
    pct0 : float, default=0.25
        The z between the quantiles ``pct0`` and ``1 - pct0`` give the share of nulls; "mle" has a
        window of its own, which shrinks with n.

    Returns
    -------
    TwoGroupsResult
        Densities of all and of nulls, local false discovery rates, and the null's estimates.

    Raises
    ------
    ValueError
        Fewer than 200 z, missing or infinite ones, more than half of them equal, a parameter out
        of range, or a null that cannot be estimated or evaluated.
    TypeError
        Something is not a number, or ``null`` is of none of the kinds above.

    Warns
    -----
    SmallSampleWarning
        Fewer than 1000 z.
    NB26StatsWarning
        The spline does not follow the histogram (``misfit`` above 1.5), or a few extreme z make
        the bins too wide.

    Notes
    -----
    The conventions are those of the R package locfdr 1.1-8, to whose numbers this is tested.
    Between bin centres the local false discovery rate is interpolated.

    References
    ----------
    .. [1] Efron, B. (2004). Large-scale simultaneous hypothesis testing: the choice of a null
       hypothesis. Journal of the American Statistical Association 99, 96-104.
    .. [2] Efron, B. (2007). Size, power and false discovery rates. Annals of Statistics 35,
       1351-1377.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import two_groups
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0.0, 1.2, 5000)  # the null is wider than N(0, 1)
    >>> z[:250] += 5.0
    >>> result = two_groups(z)
    >>> bool(abs(result.sigma - 1.2) < 0.1)
    True
    """
    values = _read_z(z)
    choice = read_null(null)
    degrees = as_int(df, "df", minimum=2, maximum=1000)
    breaks = as_int(n_breaks, "n_breaks", minimum=degrees + 4, maximum=100_000)
    share = as_float(pct0, "pct0", above=0.0)
    if not share < 0.5:
        raise ValueError(f"pct0={share:g} must be less than 0.5")
    ordered = np.sort(values)
    scale = _check_spread(ordered)
    _caution(len(values), ordered, scale, breaks)
    bins = fit_counts(values, breaks, degrees)
    fitted = fit_null(choice, ordered, bins, share)
    if bins.misfit > MAX_MISFIT:
        warn(
            f"the density does not follow the histogram of z (misfit {bins.misfit:.2f}, about 1 "
            f"where it does); try df larger than {degrees}, and look at plot()"
        )
    curve = _monotone(bins, fitted, choice.name)
    return TwoGroupsResult(
        lfdr=np.interp(values, bins.x, curve),
        f=bins.f,
        f0=fitted.f0,
        x=bins.x,
        p0=fitted.null.p0,
        delta=fitted.null.delta,
        sigma=fitted.null.sigma,
        estimates=_table(fitted),
        misfit=bins.misfit,
        null=choice.name,
        z=values,
        counts=bins.counts,
        index=_labels(z),
    )


def local_fdr(
    z: ArrayLike,
    *,
    null: NullLike = "mle",
    n_breaks: int = 120,
    df: int = 7,
    pct0: float = 0.25,
) -> F64:
    """Return the local false discovery rate of every z-score.

    Parameters
    ----------
    z : array-like of shape (n,)
        The z-scores, at least 200.
    null : {"mle", "theoretical", "central"}, pair of float or callable, default="mle"
        Null density; see :func:`two_groups`.
    n_breaks : int, default=120
        Ends of the bins of the histogram.
    df : int, default=7
        Degrees of freedom of the spline.
    pct0 : float, default=0.25
        The z between the quantiles ``pct0`` and ``1 - pct0`` give the share of nulls.

    Returns
    -------
    ndarray of shape (n,)
        Probability that each z is null, given its value.

    Raises
    ------
    ValueError, TypeError
        As :func:`two_groups`, which also returns the densities.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats import local_fdr
    >>> z = np.random.default_rng(2).normal(size=3000)
    >>> z[0] = 6.0
    >>> lfdr = local_fdr(z, null="theoretical")
    >>> bool(lfdr[0] < 0.01), bool(np.median(lfdr) > 0.9)
    (True, True)
    """
    return two_groups(z, null=null, n_breaks=n_breaks, df=df, pct0=pct0).lfdr


def q_values(p: ArrayLike, *, pi0: str | float = "smoother") -> QValuesResult:
    """Return Storey's q-values of p-values.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-values, in [0, 1].
    pi0 : {"smoother", "bootstrap"} or float, default="smoother"
        Share of true nulls. "smoother" is the value at 0.95 of a smoothing spline with three
        degrees of freedom through the estimates at 0.05, 0.10, ..., 0.95; "bootstrap" is the
        estimate with least approximate mean squared error. A number in (0, 1] is used as it is; 1
        gives the adjusted p-values of Benjamini and Hochberg.

    Returns
    -------
    QValuesResult
        The q-values, and the share of true nulls behind them.

    Raises
    ------
    ValueError
        No p-values, missing ones or some outside [0, 1], or ``pi0`` out of range.
    TypeError
        Something is not a number.

    Warns
    -----
    NB26StatsWarning
        The estimate of ``pi0`` is not positive, and the next method is used: bootstrap, then 1.

    References
    ----------
    .. [1] Storey, J. D. and Tibshirani, R. (2003). Statistical significance for genomewide studies.
       PNAS 100, 9440-9445.
    .. [2] Storey, J. D., Taylor, J. E. and Siegmund, D. (2004). Strong control, conservative point
       estimation and simultaneous conservative consistency of false discovery rates. Journal of
       the Royal Statistical Society B 66, 187-205.

    Examples
    --------
    >>> from nb26stats import q_values
    >>> q_values([0.001, 0.01, 0.02, 0.8], pi0=1.0).q.round(4).tolist()
    [0.004, 0.02, 0.0267, 0.8]
    """
    values = _read_p(p)
    if isinstance(pi0, str) and pi0 not in ("smoother", "bootstrap"):
        raise ValueError(
            f'pi0={pi0!r} must be "smoother", "bootstrap" or a number above 0 and at most 1'
        )
    given = None if isinstance(pi0, str) else as_float(pi0, "pi0", above=0.0, maximum=1.0)
    order = np.argsort(values)
    ordered = values[order]
    curve = pi0_curve(ordered)
    share = estimate_pi0(ordered, curve, str(pi0)) if given is None else given
    return QValuesResult(
        q=q_of(values, order, share),
        pi0=share,
        lam=LAMBDA.copy(),
        pi0_lam=curve,
        p=values,
        index=_labels(p),
    )


def grenander_lfdr(p: ArrayLike, *, pi0: float = 1.0) -> F64:
    """Return local false discovery rates of p-values whose density never rises.

    The density is Grenander's estimate: the slope of the least concave majorant of the distribution
    function of ``p``. Nothing needs to be tuned.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-values, in [0, 1].
    pi0 : float, default=1.0
        Share of true nulls, in (0, 1], for example that of :func:`q_values`.

    Returns
    -------
    ndarray of shape (m,)
        ``min(1, pi0 / density)``; 0 where p is 0.

    Raises
    ------
    ValueError
        No p-values, missing ones or some outside [0, 1], or ``pi0`` out of range.
    TypeError
        Something is not a number.

    References
    ----------
    .. [1] Strimmer, K. (2008). A unified approach to false discovery rate estimation. BMC
       Bioinformatics 9, 303.

    Examples
    --------
    >>> from nb26stats import grenander_lfdr
    >>> grenander_lfdr([0.01, 0.02, 0.5, 0.9]).round(3).tolist()
    [0.04, 0.04, 1.0, 1.0]
    """
    return grenander(_read_p(p), as_float(pi0, "pi0", above=0.0, maximum=1.0))


def _monotone(bins: Binned, fitted: Fitted, name: str) -> F64:
    """Return lfdr at the bin centres: 1 all the way between the outermost ones on either side."""
    x, centre = bins.x, fitted.centre
    with np.errstate(over="ignore"):
        lfdr = np.minimum(1.0, fitted.null.p0 * fitted.f0 / bins.f)
    left = x[(x <= centre) & (lfdr == 1.0)]
    right = x[(x >= centre) & (lfdr == 1.0)]
    low = left[0] if len(left) else centre
    high = right[-1] if len(right) else centre
    lfdr[(x >= low) & (x <= high)] = 1.0
    if name == "mle":
        lfdr[np.abs(x - fitted.null.delta) <= fitted.null.sigma] = 1.0
    return lfdr


def _table(fitted: Fitted) -> Any:
    import pandas as pd

    rows = {name: (n.delta, n.sigma, n.p0) for name, n in fitted.estimates.items()}
    table = pd.DataFrame(list(rows.values()), index=list(rows), columns=["delta", "sigma", "p0"])
    return table.rename_axis("null")


def _labels(values: Any) -> Any:
    """Return the index of a pandas Series; lists have an ``index`` too, but it is a method."""
    index = getattr(values, "index", None)
    return None if callable(index) else index


def _read_z(z: Any) -> F64:
    values = as_vector(z, "z")
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"z has {int(bad.sum())} missing or infinite values, the first at position "
            f"{int(bad.argmax())}; leave them out"
        )
    if len(values) < FEWEST:
        raise ValueError(
            f"z has {len(values)} values, and a density needs at least {FEWEST}; for few tests "
            "use q_values or grenander_lfdr on their p-values"
        )
    if np.abs(values).max() > LARGEST:
        raise ValueError(
            f"z reaches {np.abs(values).max():g} in size; z-scores are of the order of 1"
        )
    return values


def _check_spread(ordered: F64) -> float:
    """Return the scale of the middle of z, which must not be 0."""
    if ordered[0] == ordered[-1]:
        raise ValueError(f"all {len(ordered)} z are {ordered[0]:g}; a density needs a spread")
    _, scale = centre_and_scale(ordered)
    smallest = np.finfo(float).eps * max(abs(ordered[0]), abs(ordered[-1]))
    if not scale > smallest:
        raise ValueError(
            f"the middle half of z is {np.median(ordered):g} throughout (interquartile range 0); "
            "z must be continuous"
        )
    return scale


def _caution(n: int, ordered: F64, scale: float, n_breaks: int) -> None:
    if n < FEW:
        warn(
            f"z has {n} values; below {FEW} the estimates of the null and of the tails are rough",
            SmallSampleWarning,
        )
    width = (ordered[-1] - ordered[0]) / (n_breaks - 1)
    middle = 2 * 0.6744897501960817 * scale / width
    if math.isfinite(middle) and middle < MIN_MIDDLE:
        warn(
            f"z from {ordered[0]:g} to {ordered[-1]:g} stretch the bins so that the middle half of "
            f"z lies in {middle:.2g} of them; clip extreme z, or raise n_breaks"
        )


def _read_p(p: Any) -> F64:
    values = as_vector(p, "p")
    if not len(values):
        raise ValueError("p holds no p-value")
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"p must lie in [0, 1], got {values[at]:g} at position {at}, counted from 0 "
            f"({int(bad.sum())} such values)"
        )
    return values
