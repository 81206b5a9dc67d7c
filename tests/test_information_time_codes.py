"""Decomposition over time of symbols: bins in which an area is silent."""

from __future__ import annotations

import numpy as np

from nb26stats.information import DiscretePID, TimeResolvedPID


def test_silent_bins_carry_no_information() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 200)
    v1 = np.zeros((200, 6, 1), dtype=int)
    it = np.zeros((200, 6, 1), dtype=int)
    v1[:, 2:, 0] = target[:, None] ^ (rng.random((200, 4)) < 0.1)
    it[:, 4:, 0] = target[:, None] ^ (rng.random((200, 2)) < 0.1)
    fitted = TimeResolvedPID(
        DiscretePID(),
        area_pca=None,
        target_pca=None,
        n_permutations=19,
        alpha=0.05,
        min_run=2,
        random_state=0,
    ).fit({"V1": v1, "IT": it}, target, np.arange(6) * 0.005)
    frame = fitted.to_frame().pivot(index="time", columns="atom", values="value")
    assert (frame.iloc[:2].abs() < 1e-9).all(axis=None)
    assert (frame["mi_1"].iloc[2:] > 0.2).all()
    assert (frame["mi_2"].iloc[:4].abs() < 1e-9).all()
    assert (frame["mi_2"].iloc[4:] > 0.2).all()
    last = DiscretePID().fit([v1[:, 5], it[:, 5]], target)
    np.testing.assert_allclose(frame["synergy"].iloc[5], last.synergy_, rtol=0, atol=1e-12)
