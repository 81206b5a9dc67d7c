"""One estimator from several that saw independent parts of a stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._blas import one_blas_thread
from nb26stats._check import as_list
from nb26stats._dispatch import core

from ._advance import current
from ._inference import F64, same_signs
from ._pilot import replicates_of, weighted_directions
from ._sparse import start_from_total
from ._state import (
    AT_FLOOR,
    GAP,
    LAG_PRODUCT,
    LAG_SQUARE,
    PILOT,
    SEEN,
    SQUARES,
    STEPS,
    TOTAL,
    WEIGHT,
    WEIGHTED_SQUARES,
    State,
    fill_spare,
    new_state,
    put_replicate,
)

if TYPE_CHECKING:
    from ._oja import OjaPCA

# setting -> what the message calls it
SAME = {
    "n_features": "n_features_in_",
    "n_components": "n_components",
    "n_bootstrap": "n_bootstrap",
    "center": "center",
    "missing": "missing",
    "dtype": "number type",
    "n_tracked": "number of tracked directions (init)",
}


def merged(cls: type[OjaPCA], estimators: Iterable[OjaPCA]) -> OjaPCA:
    """Return an estimator of class ``cls`` from ``estimators``, which stay as they are."""
    parts = _checked(estimators)
    names = _names(parts)
    first = parts[0]._state.settings
    n = np.array([part._state.n_seen for part in parts], dtype=np.float64)
    pilot = sum(int(part._state.counts[PILOT]) for part in parts)
    # made without a pilot, which would ask for memory
    state = new_state(dataclasses.replace(first, pilot_size=0))
    state.settings = dataclasses.replace(first, pilot_size=pilot)
    state.pilot = None
    state.part_seeds = np.array([seed for part in parts for seed in _seeds(part)], np.uint64)
    state.constant_step = parts[0]._state.constant_step
    state.n_skipped = sum(part._state.n_skipped for part in parts)
    state.counts[SEEN], state.counts[PILOT] = int(n.sum()), pilot
    _directions(state, parts, n)
    _moments(state, parts, n)
    est = cls(**_parameters(parts[0]))
    est._state = state
    est.n_features_in_ = first.n_features
    if names is not None:
        est.feature_names_in_ = names
    _steps(est, parts, n / n.sum())
    _, est.device_ = est._resources(state)
    return est


def _parameters(est: OjaPCA) -> dict[str, Any]:
    from sklearn.base import clone

    params: dict[str, Any] = clone(est).get_params(deep=False)
    return params


def _checked(estimators: Iterable[OjaPCA]) -> list[OjaPCA]:
    from ._oja import OjaPCA

    parts = as_list(estimators, "estimators")
    if not parts:
        raise ValueError("estimators must hold at least one fitted OjaPCA")
    for i, part in enumerate(parts):
        if not isinstance(part, OjaPCA):
            raise TypeError(f"estimators[{i}] must be an OjaPCA, got {type(part).__name__}")
        state: State | None = getattr(part, "_state", None)
        if state is None:
            raise ValueError(f"estimators[{i}] is not fitted")
        if not state.started or state.n_seen <= state.settings.pilot_size:
            raise ValueError(
                f"estimators[{i}] has seen {state.n_seen} rows and needs more than its "
                f"pilot_size_={state.settings.pilot_size}"
            )
    first = parts[0]._state.settings
    seeds: dict[int, int] = {}
    for i, part in enumerate(parts):
        settings = part._state.settings
        for field, called in SAME.items():
            a, b = getattr(first, field), getattr(settings, field)
            if a != b:
                raise ValueError(
                    f"estimators must agree in {called}: {a} in estimators[0], {b} in "
                    f"estimators[{i}]"
                )
        for seed in _seeds(part):
            if seed in seeds:
                raise ValueError(
                    f"estimators[{seeds[seed]}] and estimators[{i}] share the seed {seed}, so "
                    "their replicates are dependent; give each its own random_state"
                )
            seeds[seed] = i
    return parts


def _seeds(part: OjaPCA) -> list[int]:
    """Return the seeds behind an estimator; a merged one has those of all its parts."""
    state = part._state
    return [int(seed) for seed in state.part_seeds] or [state.settings.seed]


def _names(parts: Sequence[OjaPCA]) -> NDArray[Any] | None:
    known: tuple[int, NDArray[Any]] | None = None
    for i, part in enumerate(parts):
        names = part._names()
        if names is None:
            continue
        if known is None:
            known = i, names
        elif list(known[1]) != list(names):
            raise ValueError(
                f"estimators[{known[0]}] and estimators[{i}] have different feature names, or the "
                "same in another order"
            )
    return None if known is None else known[1].copy()


def _leading(rows: F64, weights: F64, k: int) -> F64:
    """Return k orthonormal rows that span the leading directions of weighted rows."""
    gram = rows @ rows.T if len(rows) <= 2 * rows.shape[1] else None
    span = weighted_directions(rows, gram, weights, k)
    assert span is not None  # the rows of one part are independent already
    return np.linalg.qr(span.T)[0].T


def joined(rows: F64, n: F64, values: F64) -> F64:
    """Return the directions (k, d) that stand for those of all parts, (parts, k, d).

    Their span holds the leading directions of all rows, each with the weight ``n`` of its part.
    Within it they are the eigenvectors of the parts' pooled covariance, ``values`` (parts, k) being
    the variances along their directions: neither signs nor a turn or an exchange of directions of
    like variance can cancel.
    """
    many, k, d = rows.shape
    span = _leading(rows.reshape(many * k, d), np.repeat(n, k), k)
    inside = rows @ span.T
    scatter = np.einsum("pji,pj,pjl->il", inside, n[:, None] * values, inside)
    vectors = np.linalg.eigh(scatter)[1]
    return np.asarray(vectors[:, ::-1].T @ span)


def _directions(state: State, parts: Sequence[OjaPCA], n: F64) -> None:
    """Join the parts' directions and replicates, their open rows applied."""
    s = state.settings
    k, d = s.n_components, s.n_features
    values = np.array([part.explained_variance_ for part in parts])
    main, boot = [], []
    for part in parts:
        threads, device = part._resources(part._state)
        rows, lanes = current(
            part._state, replicates=s.n_bootstrap > 0, n_threads=threads, device=device
        )
        main.append(rows.astype(np.float64))
        if lanes is not None:
            boot.append(replicates_of(part._state, lanes))
    with one_blas_thread():
        tracked = np.array(main)
        own = joined(tracked[:, :k], n, values)
        if s.n_tracked > k:
            # the extra direction is the leading one of what the first k leave
            rest = tracked.reshape(-1, d)
            rest = rest - (rest @ own.T) @ own
            own = np.vstack([own, _leading(rest, np.repeat(n, s.n_tracked), 1)])
            own = np.linalg.qr(own.T)[0].T
        state.directions[:, :d] = same_signs(tracked[0], own[None])[0]
        if state.replicates is None:
            return
        for b in range(s.n_bootstrap):
            rows = np.array([of_part[b] for of_part in boot], dtype=np.float64)
            put_replicate(state.replicates, b, joined(rows, n, values))
    fill_spare(state.replicates, s.n_bootstrap)
    core().oja_orthonormalise(s.sizes, state.replicates, parts[0]._resources(state)[0])


def _matched(state: State, parts: Sequence[OjaPCA]) -> list[NDArray[np.intp]]:
    """Return for each part which of its tracked directions goes with which of the result's.

    One by one, unless a part has two of them in the other order.
    """
    from scipy.optimize import linear_sum_assignment

    k, d = state.settings.n_components, state.settings.n_features
    own = state.directions[:k, :d].astype(np.float64)
    extra = np.arange(k, state.settings.n_tracked)
    return [
        np.r_[linear_sum_assignment((own @ part.components_.T) ** 2, maximize=True)[1], extra]
        for part in parts
    ]


def _moments(state: State, parts: Sequence[OjaPCA], n: F64) -> None:
    """Pool means and scatter exactly; variances and correlation sums as weighted by rows."""
    share = n / n.sum()
    means = np.array([part._state.running_mean for part in parts])
    mean = share @ means
    if state.sparse is None:
        state.mean[:] = mean
    else:
        start_from_total(state, n.sum() * mean)
    within = sum(float(part._state.sums[SQUARES]) for part in parts)
    between = float(n @ np.sum((means - mean) ** 2, axis=1))
    state.sums[SQUARES] = within + between
    matched = _matched(state, parts)
    values = share @ np.array(
        [part._eigenvalues()[order] for part, order in zip(parts, matched, strict=True)]
    )
    total = float(share @ np.array([part._total() for part in parts]))
    weight = float(n.sum()) * (float(n.sum()) + 1.0) / 2.0
    state.sums[WEIGHT], state.sums[TOTAL] = weight, weight * total
    state.tracked[WEIGHTED_SQUARES] = weight * values
    state.pilot_values = values
    # no part's last row is the one before the next, so none is kept for the lag sums
    for row in (LAG_PRODUCT, LAG_SQUARE):
        state.tracked[row] = sum(
            part._state.tracked[row, order] for part, order in zip(parts, matched, strict=True)
        )


def _steps(est: OjaPCA, parts: Sequence[OjaPCA], share: F64) -> None:
    """Set eigengap, steps and the share of the start that is left."""
    state = est._state
    s = state.settings
    gaps = np.array([part.eigengap_ for part in parts])
    sums = np.array([part._state.sums[STEPS] for part in parts])
    if s.gap is None and s.init == "pilot":
        state.sums[GAP] = share @ gaps
        state.sums[AT_FLOOR] = max(part._gap()[1] for part in parts)
    gap = est.eigengap_
    known = bool(np.isfinite(gap) and np.isfinite(gaps).all())
    state.sums[STEPS] = np.min(gaps * sums) / gap if known else np.min(sums)
    limit, c, kappa, center, _, _ = s.rule
    rule = (limit, c, kappa, center, False, s.schedule == "auto")
    core().oja_refresh(s.sizes, rule, state.tracked, state.counts, state.sums)
