"""Small populations over time for the tests of TimeResolvedPID."""

from __future__ import annotations

from typing import Any

import numpy as np

from nb26stats.information import GaussianPID, TimeResolvedPID

PLAIN = {"area_pca": None, "target_pca": None}


def latency_data(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """V1 reads three dimensions of the target from 40 ms on, IT the fourth from 90 ms on."""
    r = np.random.default_rng(seed)
    m = r.standard_normal((2000, 4))
    h1, h2 = np.zeros((8, 4)), np.zeros((8, 4))
    h1[:, :3] = 0.35 * r.standard_normal((8, 3))
    h2[:, 3] = 0.35 * r.standard_normal(8)
    t = np.arange(-50, 250, 5)
    g1 = np.clip((t - 40) / 30, 0, 1) * np.clip(1 - (t - 140) / 30, 0, 1)
    g2 = np.clip((t - 90) / 30, 0, 1)
    v1 = (m @ h1.T)[:, None] * g1[:, None] + r.standard_normal((2000, 60, 8))
    it = (m @ h2.T)[:, None] * g2[:, None] + r.standard_normal((2000, 60, 8))
    return {"V1": v1, "IT": it}, m, t


def step_data(
    n: int = 300, n_bins: int = 8, d: int = 3, areas: str = "ABC", seed: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Areas that carry the target ``image`` in the second half of the bins, and ``other`` never."""
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((n, 3))
    gain = (np.arange(n_bins) >= n_bins // 2)[None, :, None]
    signal = {a: image @ rng.standard_normal((3, d)) * 0.5 for a in areas}
    x = {a: s[:, None] * gain + rng.standard_normal((n, n_bins, d)) for a, s in signal.items()}
    times = 5.0 * (np.arange(n_bins) - n_bins // 2)
    return x, {"image": image, "other": rng.standard_normal((n, 2))}, times


def estimator(bias: str | None = None, measure: str = "broja", **kw: Any) -> TimeResolvedPID:
    """An estimator with few permutations and no reduction."""
    inner = GaussianPID(measure, bias=bias, n_bootstrap=12)
    return TimeResolvedPID(inner, **{"n_permutations": 99, "random_state": 0, **PLAIN, **kw})
