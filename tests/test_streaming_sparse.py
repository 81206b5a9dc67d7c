"""Sparse rows: the same estimate as dense rows, and the same bits however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nb26stats.streaming import OjaPCA

FIELDS = (
    "components_",
    "bootstrap_components_",
    "explained_variance_",
    "noise_variance_",
    "mean_",
    "eigengap_",
    "init_weight_",
    "learning_rate_",
    "autocorrelation_",
    "n_samples_seen_",
)
NEAR = 1e-8


def data(n: int = 400, d: int = 23, *, share: float = 0.25, seed: int = 5) -> np.ndarray:
    """Rows of which ``share`` is not zero, with a mean and two leading directions."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.r_[5, 4, np.ones(d - 2)] + rng.normal(size=d)
    return np.where(rng.random((n, d)) < share, x, 0.0)


def estimator(**kw: Any) -> OjaPCA:
    return OjaPCA(**{"n_components": 2, "n_bootstrap": 19, "random_state": 3, **kw})


def assert_same(a: OjaPCA, b: OjaPCA) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_near(a: OjaPCA, b: OjaPCA, near: float = NEAR) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=near, atol=near, err_msg=name
        )


def chunked(est: OjaPCA, x: Any, size: int) -> OjaPCA:
    for a in range(0, x.shape[0], size):
        est.partial_fit(x[a : a + size])
    return est


SCHEDULES: dict[str, dict[str, Any]] = {
    "auto": {},
    "theory": {"learning_rate": "theory"},
    "decay": {"learning_rate": "decay", "eta0": 0.3, "beta": 20},
    "constant": {"learning_rate": "constant", "eta0": 0.004},
    "callable": {"learning_rate": lambda t: 0.3 / (20 + t)},
    "random start": {"init": "random", "gap": 4.0},
    "given start": {"init": np.eye(23)[:3], "gap": 4.0},
    "start without a spare row": {"init": np.eye(23)[:2], "gap": 4.0},
    "shared weights": {"multiplier_block": 5},
    "exponential weights": {"multiplier": "exponential", "block_size": 7},
    "blocks that close early": {"growth_limit": 0.05},
    "blocks of one row": {"block_size": 1},
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("how", SCHEDULES)
def test_v19_as_dense_rows(how: str, center: bool) -> None:
    x = data()
    kw = {**SCHEDULES[how], "center": center}
    dense, thin = estimator(**kw).fit(x), estimator(**kw).fit(sparse.csr_array(x))
    assert_near(thin, dense)
    np.testing.assert_allclose(
        thin.transform(sparse.csr_array(x)), dense.transform(x), atol=NEAR, rtol=NEAR
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("center", [True, False])
def test_v2_chunks(center: bool, dtype: Any) -> None:
    x = sparse.csr_array(data().astype(dtype))
    whole = estimator(center=center).fit(x)
    for size in (1, 7, 30, 90):
        assert_same(chunked(estimator(center=center), x, size), whole)
