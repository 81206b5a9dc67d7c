"""Reasons not to trust an interval, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nb26stats import _warnings

from ._state import AT_FLOOR, PILOT, SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._oja import OjaPCA
    from ._state import State

FEW = 99
NOT_FORGOTTEN = 0.01
LARGE = 0.1
SEPARATED = 0.5
NO_RANK = 1e-10
CORRELATED = 0.05
NEARLY_ONE = 0.999
MISSED = 0.04
BLOCKS = 200
FEWEST_BLOCKS = 20
SHORT = 0.9


def captured(correlation: float, block: int) -> float:
    """Return the part of the noise's long-run variance that multiplier blocks of a length hold.

    For noise whose correlation at lag h is ``correlation``**h: the sum over |h| < block of
    (1 - |h| / block) correlation**|h|, as a part of the sum over all lags.
    """
    r = min(abs(correlation), NEARLY_ONE)
    return 1.0 - 2.0 * r * (1.0 - r**block) / (block * (1.0 - r * r))


def recommended_block(correlation: float, n: int) -> int:
    """Return the multiplier block for noise with a lag-1 autocorrelation, given ``n`` rows.

    Rows that are autoregressive with coefficient a give the noise a**2. The block is at least five
    of their correlation times 1 / (1 - a); where the rows suffice for ``BLOCKS`` blocks it is so
    long that all but ``MISSED`` of the noise's long-run variance falls within blocks.
    """
    r = min(abs(correlation), NEARLY_ONE)
    least = math.ceil(5.0 / (1.0 - math.sqrt(r)) - 1e-9)
    good = math.ceil(2.0 * r / (1.0 - r * r) / MISSED)
    return max(least, min(good, n // BLOCKS))


def correlation_of(est: OjaPCA, state: State) -> tuple[int, float] | None:
    """Return the component with the largest correlation of its noise, and that, if it is real."""
    r = est.autocorrelation_
    if np.isnan(r).all():
        return None
    # within blocks only a positive correlation makes them too short
    j = int(np.nanargmax(np.abs(r) if state.settings.multiplier_block == 1 else r))
    after = max(state.n_seen - int(state.counts[PILOT]), 1)
    size = float(r[j])
    return None if abs(size) <= max(CORRELATED, 4.0 / math.sqrt(after)) else (j, size)


def findings(
    est: OjaPCA, state: State, errors: NDArray[np.float64], *, sign_aligned: bool
) -> list[str]:
    """Return one sentence for every reason to doubt the replicates.

    ``errors`` are the squared Frobenius errors of the replicates.
    """
    s = state.settings
    k, d = s.n_components, s.n_features
    values = est.explained_variance_
    found = []
    if s.n_bootstrap < FEW:
        found.append(f"few replicates: n_bootstrap={s.n_bootstrap} is below {FEW}")
    if values[k - 1] <= NO_RANK * est._trace():
        found.append(f"rank of the data is below n_components={k}")
    if k < d:
        found += _gap(est, state)
        middle = float(np.median(errors)) / min(k, d - k)
        if middle > LARGE:
            found.append(
                f"error too large for the linear theory (median {middle:.2f} of the largest "
                "possible); quantiles are conservative"
            )
    if sign_aligned:
        found += _ties(est, state, values)
    found += _correlation(est, state)
    return found


def _gap(est: OjaPCA, state: State) -> list[str]:
    s = state.settings
    if s.gap is None and s.n_tracked == s.n_components:
        return []
    at_floor = bool(state.sums[AT_FLOOR]) if s.init == "pilot" else est._gap()[1]
    found = []
    if s.gap is None and at_floor:
        which = "component" if s.n_components == 1 else f"{s.n_components} components"
        found.append(f"eigengap after the first {which} not resolved")
    if est.init_weight_ > NOT_FORGOTTEN:
        found.append(
            f"start not forgotten (weight {est.init_weight_:.2g}), intervals unreliable; "
            "use more rows"
        )
    return found


def _ties(est: OjaPCA, state: State, values: NDArray[np.float64]) -> list[str]:
    s = state.settings
    scale = {
        "auto": float(state.sums[SCALE]),
        "decay": s.eta0,
    }.get(s.schedule, est.learning_rate_ * state.n_seen)
    tied = np.flatnonzero(scale * -np.diff(values[: s.n_components]) < SEPARATED)
    if not len(tied):
        return []
    named = ", ".join(f"{j} and {j + 1}" for j in tied)
    return [
        f"components {named} (counted from 0) are not separated; use align='procrustes' for them"
    ]


def _correlation(est: OjaPCA, state: State) -> list[str]:
    block = state.settings.multiplier_block
    n = state.n_seen
    found = []
    if block > 1 and n < FEWEST_BLOCKS * block:
        found.append(
            f"few blocks: {n} rows make {n // block} of multiplier_block={block}; intervals want "
            f"{FEWEST_BLOCKS} at the least, better {BLOCKS}"
        )
    noticed = correlation_of(est, state)
    if noticed is None:
        return found
    j, size = noticed
    better = recommended_block(size, n)
    which = f"(component {j}, r={size:.2f})"
    if block == 1:
        text = f"rows look autocorrelated {which}; set multiplier_block, about {better} here"
    elif size > 0 and captured(size, block) < SHORT:
        text = (
            f"multiplier_block={block} is short for rows as autocorrelated as these {which}: its "
            f"blocks hold {captured(size, block):.0%} of the noise's variance; set it to about "
            f"{better}"
        )
    else:
        return found
    if n < BLOCKS * better:
        text += f", though {n} rows are few for that: it wants {BLOCKS * better}"
    return [*found, text]


def warn(found: list[str]) -> None:
    """Give every finding as a ConvergenceWarning."""
    from sklearn.exceptions import ConvergenceWarning

    for sentence in found:
        _warnings.warn(sentence, ConvergenceWarning)
