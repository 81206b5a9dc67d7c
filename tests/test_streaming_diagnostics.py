"""Every reason for OjaPCA to warn, and the multiplier block that it recommends."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nb26stats import plotting
from nb26stats.streaming import OjaPCA
from nb26stats.streaming._diagnostics import captured, recommended_block
from nb26stats.streaming._inference import subspace_errors


def data(n: int = 800, d: int = 6, seed: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.r_[4, 2.5, np.ones(d - 2)] + 1


X = data()


def fitted(k: int = 2, rows: Any = X, **kw: Any) -> OjaPCA:
    return OjaPCA(k, **{"n_bootstrap": 99, "random_state": 0, **kw}).fit(rows)


def sentences(est: OjaPCA, align: str = "procrustes") -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.component_intervals(align=align)
    assert all(c.category is ConvergenceWarning for c in caught)
    # at the line that asked
    assert all(c.filename == __file__ for c in caught)
    return [str(c.message) for c in caught]


def test_warnings_name_the_line_that_asked() -> None:
    few = OjaPCA(2, n_bootstrap=20, random_state=0).fit(X)
    small = [OjaPCA(2).partial_fit(X[:20]) for _ in range(5)]
    with warnings.catch_warnings(record=True) as caught, plotting.style(offscreen=True):
        warnings.simplefilter("always")
        few.plot()
        few.plot("error", level=0.9)
        few.row_regions()
        few.subspace_test(np.eye(6)[:, :2])
        assert len(caught) == 4
        _ = small[0].components_
        small[1].summary()
        small[2].transform(X)
        small[3].plot("scree")
        small[4].fit(X[:20])
        make_pipeline(StandardScaler(), OjaPCA()).fit(X[:20])
    assert len(caught) == 10
    assert {c.filename for c in caught} == {__file__}


def test_no_warning_without_a_reason() -> None:
    assert sentences(fitted(), align="sign") == []


def test_start_not_forgotten() -> None:
    est = fitted(rows=X[:70])
    assert est.init_weight_ > 0.01
    assert any(
        s.startswith("start not forgotten (weight") and "intervals unreliable" in s
        for s in sentences(est)
    )
    # a gap that is given counts also without the extra direction
    kw: dict[str, Any] = {"learning_rate": "decay", "eta0": 0.01, "random_state": 0}
    given = OjaPCA(2, n_bootstrap=99, init=np.eye(6)[:2], gap=5.0, **kw)
    assert any("start not forgotten" in s for s in sentences(given.fit(X[:70])))
    known = OjaPCA(2, n_bootstrap=99, init=np.eye(6)[:2], **kw)
    assert np.isnan(known.fit(X[:70]).init_weight_)
    assert not any("start" in s or "eigengap" in s for s in sentences(known))


def test_gap_not_resolved() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 6))
    text = "eigengap after the first 2 components not resolved"
    found = [text in sentences(fitted(rows=x, random_state=i)) for i in range(3)]
    states = [fitted(rows=x, random_state=i)._gap()[1] for i in range(3)]
    assert found == states
    # by its rule alone: the gap in use is the floor
    est = fitted()
    assert text not in sentences(est)
    est._state.sums[8] = 1.0
    assert text in sentences(est)
    # a gap that is given is taken at its word
    known = fitted(gap=5.0)
    known._state.sums[8] = 1.0
    assert text not in sentences(known)


def test_rank_below_the_components() -> None:
    x = np.zeros((500, 6))
    x[:, 0] = np.random.default_rng(0).normal(size=500)
    assert "rank of the data is below n_components=2" in sentences(fitted(rows=x))


def test_error_too_large() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 30)) * np.sqrt(np.r_[2.5, 2, np.ones(28)])
    est = fitted(rows=x)
    middle = np.median(subspace_errors(*est._replicates(), "sin2_fro"))
    assert middle / 2 > 0.1
    text = f"error too large for the linear theory (median {middle / 2:.2f} of the largest possible"
    assert any(s.startswith(text) and "quantiles are conservative" in s for s in sentences(est))
    # nothing to be wrong about where all directions are kept
    assert sentences(fitted(6)) == []


def test_tied_components() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2000, 6)) * np.sqrt(np.r_[9, 9, 9, 1, 1, 1])
    est = fitted(3, x)
    gaps = -np.diff(est.explained_variance_)
    assert (est._state.sums[6] * gaps < 0.5).all()
    (text,) = [s for s in sentences(est, align="sign") if "separated" in s]
    assert text == (
        "components 0 and 1, 1 and 2 (counted from 0) are not separated; use align='procrustes' "
        "for them"
    )
    assert not any("separated" in s for s in sentences(est))
    # every schedule has its own number in place of the automatic step's
    for kw, scale in (
        ({"learning_rate": "decay", "eta0": 0.3, "beta": 50}, 0.3),
        ({"learning_rate": "constant", "eta0": 1e-3}, 1e-3 * 2000),
        ({"learning_rate": lambda t: 0.5 / (20 + t)}, 0.5 / 2021 * 2000),
    ):
        est = fitted(3, x * [1, 0.8, 0.7, 1, 1, 1], **kw)
        tied = scale * -np.diff(est.explained_variance_) < 0.5
        named = [s for s in sentences(est, align="sign") if "separated" in s]
        assert bool(named) == tied.any()
        for j in (0, 1):
            assert tied[j] == any(f"{j} and {j + 1}" in s for s in named)


def autoregressive(n: int, d: int, rho: float, seed: int) -> np.ndarray:
    """Spike rows (10, 6, 1, ...) whose columns are AR(1) with coefficient rho."""
    white = np.random.default_rng(seed).normal(size=(n + 200, d))
    columns = lfilter([math.sqrt(1 - rho**2)], [1, -rho], white, axis=0)[200:]
    return np.asarray(columns * np.sqrt(np.r_[10, 6, np.ones(d - 2)]))


def test_a_block_holds_its_part_of_the_long_run_variance() -> None:
    for r in (0.05, 0.25, 0.64, 0.9):
        for block in (1, 2, 7, 40):
            lags = np.arange(1 - block, block)
            inside = np.sum((1 - np.abs(lags) / block) * r ** np.abs(lags))
            assert captured(r, block) == pytest.approx(inside / ((1 + r) / (1 - r)), rel=1e-12)
    assert captured(0.0, 1) == 1.0
    assert 0 < captured(1.0, 10) < 0.02


def test_the_recommended_block() -> None:
    for rho in (0.3, 0.5, 0.8, 0.95):
        r, least = rho**2, math.ceil(5 / (1 - rho) - 1e-9)
        # five correlation times at the least, however few the rows
        assert recommended_block(r, 100) == least
        # with rows enough all but 4 % of the variance lies within blocks
        long = recommended_block(r, 10**7)
        assert captured(r, long) >= 0.96
        assert long == least or captured(r, long - 2) < 0.961
        # in between 200 blocks of the rows at hand
        if long > least:
            middle = (long + least) // 2
            assert recommended_block(r, 200 * middle + 199) == middle
    assert recommended_block(-0.25, 10**7) == recommended_block(0.25, 10**7)
    assert recommended_block(1.0, 1000) == recommended_block(0.999, 1000)


def test_autocorrelated_rows() -> None:
    est = fitted(2, autoregressive(6000, 10, 0.8, 0), n_bootstrap=99, pilot_size=200)
    r = est.autocorrelation_
    j = int(np.argmax(np.abs(r)))
    block = recommended_block(r[j], 6000)
    text = f"rows look autocorrelated (component {j}, r={r[j]:.2f}); set multiplier_block, about"
    assert f"{text} {block} here" in sentences(est)
    assert est.recommended_block_ == block
    assert fitted().recommended_block_ == 1
    # with fewer rows than 200 blocks it says how many there should be
    short = fitted(2, autoregressive(2000, 10, 0.8, 0), n_bootstrap=99, pilot_size=200)
    block = recommended_block(np.max(short.autocorrelation_), 2000)
    (said,) = [s for s in sentences(short) if "autocorrelated" in s]
    assert said.endswith(
        f"about {block} here, though 2000 rows are few for that: it wants {200 * block}"
    )


def test_diagnostics_are_what_the_warnings_say() -> None:
    est = fitted(3, data(300) * [1, 1.5, 1, 1, 1, 1], n_bootstrap=20)
    for align in ("sign", "procrustes"):
        told = est.diagnostics(align)
        assert any(s.startswith("few replicates") for s in told)
        assert told == sentences(est, align)
    assert fitted().diagnostics() == []
    with pytest.raises(ValueError, match="align='other'"):
        est.diagnostics("other")
    with pytest.raises(ValueError, match="set n_bootstrap"):
        fitted(n_bootstrap=0).diagnostics()


def test_correlation_within_its_own_noise_is_none() -> None:
    est = fitted()
    n = 800 - 50
    limit = max(0.05, 4 / math.sqrt(n))
    est._state.tracked[2, :2] = est._state.tracked[3, :2] * [0.98 * limit, -0.98 * limit]
    assert sentences(est) == []
    est._state.tracked[2, 1] = est._state.tracked[3, 1] * -1.02 * limit
    assert any(
        s.startswith("rows look autocorrelated (component 1, r=-0.15)") for s in sentences(est)
    )


def test_a_block_that_is_short() -> None:
    x = autoregressive(6000, 10, 0.8, 0)
    est = fitted(2, x, multiplier_block=5, pilot_size=200)
    r = float(np.max(est.autocorrelation_))
    (said,) = sentences(est)
    assert said.startswith("multiplier_block=5 is short for rows as autocorrelated as these")
    assert f"hold {captured(r, 5):.0%} of the noise's variance" in said
    assert f"set it to about {recommended_block(r, 6000)}" in said
    # what is recommended is long enough, and longer still is no reason either
    for block in (recommended_block(r, 6000), 60):
        assert sentences(fitted(2, x, multiplier_block=block)) == []
    # noise that alternates makes intervals wide, not narrow
    wide = fitted(2, x, multiplier_block=30)
    wide._state.tracked[2] *= -1
    assert sentences(wide) == []


def test_few_blocks() -> None:
    est = fitted(multiplier_block=50, pilot_size=100)
    assert sentences(est) == [
        "few blocks: 800 rows make 16 of multiplier_block=50; intervals want 20 at the least, "
        "better 200"
    ]
    assert sentences(fitted(multiplier_block=40, pilot_size=100)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), [(0.5, 6000), (0.8, 8000)])
def test_the_recommended_block_covers(rho: float, n: int) -> None:
    runs, d = 100, 50
    truth = np.eye(d)[:2]
    naive = fitted(2, autoregressive(n, d, rho, 0), pilot_size=200)
    (said,) = [s for s in sentences(naive) if "autocorrelated" in s]
    block = int(said.split("about ")[1].split()[0])
    assert n >= 200 * block
    inside = []
    for run in range(runs):
        x = autoregressive(n, d, rho, run)
        est = fitted(2, x, n_bootstrap=199, multiplier_block=block, random_state=run)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            inside.append(
                [est.subspace_test(truth.T).statistic <= est.error_quantile(q) for q in (0.9, 0.95)]
            )
    held = np.mean(inside, axis=0)
    print(f"rho={rho}, block {block}: T_F coverage 90/95 %: {held.round(3)}, {runs} runs")
    # standard errors .03 and .022
    assert held[0] >= 0.8
    assert held[1] >= 0.85


@pytest.mark.slow
def test_twice_the_block_tells_slow_tails() -> None:
    n, d, runs = 10_000, 20, 8
    scale = np.sqrt(np.r_[10, 6, np.ones(d - 2)])
    rise: dict[str, list[float]] = {"geometric": [], "slow": []}
    for run in range(runs):
        quick, slow = (autoregressive(n, d, rho, run) / scale for rho in (0.3, 0.97))
        rows = {"geometric": autoregressive(n, d, 0.5, run), "slow": (quick + slow) * scale / 2}
        for name, x in rows.items():
            first = fitted(2, x, pilot_size=200)
            block = recommended_block(float(np.max(first.autocorrelation_)), n)
            once, twice = (fitted(2, x, multiplier_block=m * block) for m in (1, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                rise[name].append(
                    np.median(twice.bootstrap_errors()) / np.median(once.bootstrap_errors())
                )
    mean = {name: np.mean(values) for name, values in rise.items()}
    error = {name: np.std(values) / math.sqrt(runs) for name, values in rise.items()}
    print("errors with twice the block:", mean, error)
    assert mean["geometric"] < 1.1 - 2 * error["geometric"]
    assert mean["slow"] > 1.1 + 2 * error["slow"]
