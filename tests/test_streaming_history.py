"""The error quantile along the stream."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nb26stats.streaming import OjaPCA

# short streams have their start in them still, which is what the warnings say
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 12)) * np.r_[6.0, 4.0, np.ones(10)]


def test_entries_stand_at_doublings_and_now() -> None:
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(1000))
    history = est.error_history(0.9)
    assert list(history["n_samples"]) == [100, 200, 400, 800, 1000]
    assert history["error_quantile"].iloc[-1] == est.error_quantile(0.9)  # not kept yet
    for n, quantile in zip(*history.to_numpy()[:4].T, strict=True):
        part = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(1000)[: int(n)])
        # the same 2 x 12 squares in another order
        assert quantile == pytest.approx(part.error_quantile(0.9), rel=24 * 2**-52)


def test_an_entry_now_is_not_doubled() -> None:
    est = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(400))
    assert list(est.error_history()["n_samples"]) == [100, 200, 400]


def test_without_a_pilot_entries_start_at_row_64() -> None:
    est = OjaPCA(
        2, n_bootstrap=99, init="random", learning_rate="constant", eta0=0.02, random_state=0
    )
    history = est.fit(rows(500)).error_history()
    assert list(history["n_samples"]) == [64, 128, 256, 500]


@pytest.mark.parametrize("chunk", [1, 7, 100, 333])
def test_the_history_does_not_depend_on_the_cut(chunk: int) -> None:
    whole = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(900)).error_history()
    est = OjaPCA(2, n_bootstrap=99, random_state=0)
    for a in range(0, 900, chunk):
        est.partial_fit(rows(900)[a : a + chunk])
        if a % 5 == 0:
            est = pickle.loads(pickle.dumps(est))
    assert est.error_history().equals(whole)
    assert OjaPCA.from_state(est.get_state()).error_history().equals(whole)


def test_the_history_does_not_depend_on_jobs() -> None:
    whole = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(900)).error_history()
    apart = OjaPCA(2, n_bootstrap=99, n_jobs=2, random_state=0).fit(rows(900)).error_history()
    assert apart.equals(whole)


def test_a_damaged_history_is_refused() -> None:
    state = OjaPCA(2, n_bootstrap=99, random_state=0).fit(rows(400)).get_state()
    state["state_history_rows"] = state["state_history_rows"][::-1].copy()
    with pytest.raises(ValueError, match="state_history_rows must ascend"):
        OjaPCA.from_state(state)


def test_without_replicates_there_is_no_history() -> None:
    with pytest.raises(ValueError, match="set n_bootstrap"):
        OjaPCA(2).fit(rows(400)).error_history()


def test_a_basis_of_all_features_has_no_error() -> None:
    est = OjaPCA(3, n_bootstrap=99, random_state=0).fit(rows(400)[:, :3])
    assert not est.error_history()["error_quantile"].any()
