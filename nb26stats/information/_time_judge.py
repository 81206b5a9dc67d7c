"""From values and their null to significance, latencies and the onsets of resamples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._correction import correct, null_moments, standardise
from ._latency import Rule, latencies
from ._nulls import TERMS, TESTS
from ._time_run import Raw
from ._time_settings import TimeSettings

F64 = NDArray[np.float64]


def judged(raw: Raw, settings: TimeSettings, outer: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """Return the fitted arrays by name, for ``outer`` pairs and targets."""
    shape = (*outer, len(TERMS))
    tested = np.tile(np.isin(TERMS, TESTS[settings.null]), shape[0] * shape[1])
    found = correct(
        raw.observed,
        raw.null,
        tested,
        alpha=settings.alpha,
        correction=settings.correction,
        scope=settings.scope,
    )
    n_bins = raw.observed.shape[1]
    onsets, offsets = latencies(raw.observed, found.by_maximum, settings.rule)
    resampled = _resampled_onsets(raw, found.threshold, settings.rule)
    return {
        "values_": raw.observed.reshape(*shape, n_bins),
        "z_": found.z.reshape(*shape, n_bins),
        "p_max_": found.p.reshape(*shape, n_bins),
        "significant_": found.significant.reshape(*shape, n_bins),
        "null_mean_": found.mean.reshape(shape),
        "null_sd_": found.sd.reshape(shape),
        "thresholds_": found.threshold.reshape(shape),
        "onsets_": onsets.reshape(shape),
        "offsets_": offsets.reshape(shape),
        "resampled_onsets_": resampled.reshape(len(raw.resampled), *shape),
    }


def _resampled_onsets(raw: Raw, threshold: F64, rule: Rule) -> F64:
    """Return the onsets (resamples, rows) of the resamples."""
    out = np.empty(raw.resampled.shape[:2])
    if raw.resampled_null is None:
        return out
    mean, sd = null_moments(raw.resampled_null)
    for i, values in enumerate(raw.resampled):
        with np.errstate(invalid="ignore"):
            above = standardise(values, mean, sd) > threshold[:, None]
        out[i] = latencies(values, above, rule)[0]
    return out
