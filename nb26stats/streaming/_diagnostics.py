"""Reasons not to trust an interval, in words."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

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


def recommended_block(correlation: float) -> int:
    """Return the multiplier block for noise whose lag-1 autocorrelation is ``correlation``.

    For rows that are autoregressive with coefficient r the noise has r**2; five correlation times
    1 / (1 - r) are enough.
    """
    return math.ceil(5.0 / (1.0 - min(math.sqrt(abs(correlation)), 0.99)))


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
        found.append(f"eigengap after component {s.n_components} not resolved")
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
    s = state.settings
    r = est.autocorrelation_
    if s.multiplier_block > 1 or np.isnan(r).all():
        return []
    n = state.n_seen - int(state.counts[PILOT])
    j = int(np.nanargmax(np.abs(r)))
    if abs(r[j]) <= max(CORRELATED, 4.0 / math.sqrt(n)):
        return []
    return [
        f"rows look autocorrelated (component {j}, r={r[j]:.2f}); set multiplier_block, "
        f"about {recommended_block(float(r[j]))} here"
    ]


def warn(found: list[str]) -> None:
    """Give every finding as a ConvergenceWarning."""
    from sklearn.exceptions import ConvergenceWarning

    for sentence in found:
        warnings.warn(sentence, ConvergenceWarning, stacklevel=4)
