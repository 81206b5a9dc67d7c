"""What the user may say about the null, and the null density in the bins that follows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_float, as_numbers

from ._empirical_null import (
    Null,
    central_null,
    central_share,
    mle_null,
    normal_counts,
    sorted_quantile,
)
from ._poisson_spline import Binned

F64 = NDArray[np.float64]

NAMES = ("mle", "theoretical", "central")
WHAT = '"mle", "theoretical", "central", a pair (delta, sigma) or a density as a callable'


@dataclass(frozen=True)
class Choice:
    """The null asked for: one of NAMES, "pair" or "callable" with what comes with it."""

    name: str
    delta: float = math.nan
    sigma: float = math.nan
    density: Callable[[F64], Any] | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """The null in use, its counts per bin, the point lfdr falls away from, and all estimates."""

    null: Null
    f0: F64
    centre: float
    estimates: dict[str, Null]


def read_null(null: Any) -> Choice:
    """Return the choice that an argument stands for."""
    if isinstance(null, str):
        if null not in NAMES:
            raise ValueError(f"null={null!r} must be {WHAT}")
        return Choice(null)
    if callable(null):
        return Choice("callable", density=null)
    try:
        pair = list(null)
    except TypeError:
        raise TypeError(f"null must be {WHAT}, got {type(null).__name__}") from None
    if len(pair) != 2:
        raise ValueError(f"null must be {WHAT}, got {len(pair)} values")
    delta = as_float(pair[0], "delta of null")
    return Choice("pair", delta, as_float(pair[1], "sigma of null", above=0.0))


def fit_null(choice: Choice, ordered: F64, bins: Binned, pct0: float) -> Fitted:
    """Return the null of ``choice`` for sorted z.

    Raises
    ------
    ValueError
        The null asked for cannot be estimated from these z, or vanishes where they are.
    """
    x, f, total = bins.x, bins.f, float(bins.f.sum())
    low, high = sorted_quantile(ordered, pct0), sorted_quantile(ordered, 1.0 - pct0)
    inner = (x > low) & (x < high)
    standard = normal_counts(x, 0.0, 1.0, total)
    estimates = {
        "mle": mle_null(ordered),
        "central": central_null(x, f, bins.log_f, inner),
        "theoretical": Null(central_share(f, standard, inner), 0.0, 1.0),
    }
    middle = sorted_quantile(ordered, 0.5)
    peak = estimates["mle"].delta
    centre = peak if math.isfinite(peak) else middle
    if choice.name in NAMES:
        null = estimates[choice.name]
        _check_estimate(choice.name, null, pct0, inner)
        if choice.name == "theoretical":
            return Fitted(null, standard, centre, estimates)
        return Fitted(null, normal_counts(x, null.delta, null.sigma, total), centre, estimates)
    if choice.density is None:
        f0 = normal_counts(x, choice.delta, choice.sigma, total)
        centre = choice.delta
    else:
        f0 = _evaluated(choice.density, x, total)
        centre = float(x[np.argmax(f0)])
    null = Null(central_share(f, f0, inner), choice.delta, choice.sigma)
    _check_estimate(choice.name, null, pct0, inner)
    return Fitted(null, f0, centre, estimates)


def _check_estimate(name: str, null: Null, pct0: float, inner: NDArray[np.bool_]) -> None:
    if math.isfinite(null.p0):
        return
    if name == "mle":
        raise ValueError(
            'null="mle" needs z with one peak in the middle, and these are flat or hollow there; '
            'null="theoretical" or a pair (delta, sigma) needs no such peak'
        )
    if not inner.any() or (name == "central" and inner.sum() < 3):
        raise ValueError(
            f"{int(inner.sum())} bins lie between the {100 * pct0:g} % and {100 - 100 * pct0:g} % "
            'quantiles of z, too few for this null; use null="mle", raise n_breaks, or clip '
            "extreme z"
        )
    if name == "central":
        raise ValueError(
            'null="central" needs a log density of z that bends down in the middle, and here it '
            'bends up; use null="mle"'
        )
    raise ValueError(
        f"the null density is zero between the {100 * pct0:g} % and {100 - 100 * pct0:g} % "
        'quantiles of z; use null="mle", or z on the scale of that null'
    )


def _evaluated(density: Callable[[F64], Any], x: F64, total: float) -> F64:
    values = as_numbers(density(x.copy()), "what null returns").astype(np.float64)
    if values.shape != x.shape:
        raise ValueError(
            f"null must return a density for each of {len(x)} points, got shape {values.shape}"
        )
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"null must return densities that are finite and not negative, got {values[at]:g} at "
            f"z={x[at]:g}"
        )
    top = values.max()
    if not top > 0:
        raise ValueError("null returns zero at every z; it must be positive where z are")
    scaled = values / top
    return np.asarray(scaled * (total / scaled.sum()))
