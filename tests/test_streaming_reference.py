"""OjaPCA against exact anchors, the row-loop reference, and batch PCA."""

from __future__ import annotations

import numpy as np
import pytest
from reference.oja import (
    Reference,
    anchor_rows,
    block_update,
    multiplier,
    paired_block_update,
    paired_update,
    philox_words,
    positive_qr,
    sin2,
)
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA

from nb26stats._dispatch import core
from nb26stats.streaming import OjaPCA
from nb26stats.streaming._inference import subspace_errors

ANCHOR = [
    [0.99909929349674629, -0.0029838093769527846],
    [0.0020019912967486209, 0.99927807358861355],
    [-0.010564704408147566, 0.017657468910510331],
    [-0.033643846922078869, -0.013148066569043315],
    [-0.023517490304077108, -0.030818349465891473],
]
ANCHOR_REPLICATE = [
    [0.99988199094029773, -0.00037250568720603144],
    [0.00062849768216729977, 0.99967041137239006],
    [-0.015310011697047832, 0.01773229478381121],
    [-0.00083842976588486971, -0.0030833255600776615],
    [-0.000713975695539861, -0.018302696283881939],
]

ANCHOR_PAIRED = [
    [0.98566757100705056, -0.054563123166178329],
    [0.044331138002979225, 0.98951106685095744],
    [-0.07791008356460831, 0.058930894612566936],
    [-0.112473870427388, -0.040309434606341925],
    [-0.088169365532823421, -0.11310620368358258],
]


def rows(n: int, d: int, seed: int = 0, top: tuple[float, ...] = (3.0, 2.0)) -> np.ndarray:
    scale = np.r_[top, np.ones(d - len(top))]
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * scale + 3 * rng.normal(size=d)


def anchored(**kw: object) -> OjaPCA:
    return OjaPCA(
        2,
        n_bootstrap=3,
        learning_rate="decay",
        eta0=0.5,
        beta=10,
        center=False,
        init=np.eye(5)[:2],
        random_state=0,
        **kw,
    )


@pytest.mark.parametrize("block_size", [1, 7, 64])
@pytest.mark.parametrize("chunk", [1, 13, 60])
def test_anchors(block_size: int, chunk: int) -> None:
    est = anchored(block_size=block_size)
    data = anchor_rows()
    for a in range(0, 60, chunk):
        est.partial_fit(data[a : a + chunk])
    np.testing.assert_allclose(est.components_.T, ANCHOR, rtol=0, atol=1e-10)
    np.testing.assert_allclose(est.bootstrap_components_[0].T, ANCHOR_REPLICATE, atol=1e-10)


def test_the_block_form_is_the_row_loop() -> None:
    data = rows(40, 9, 3)
    omega = np.random.default_rng(0).exponential(size=40)
    w = one = np.eye(9)[:, :3]
    for y, weight in zip(data, omega, strict=True):
        one = one + 0.003 * weight * np.outer(y, y @ one)
    blocked = block_update(w, data, np.full(40, 0.003), omega)
    np.testing.assert_allclose(blocked, one, rtol=1e-12)


@pytest.mark.parametrize("first", [True, False])
def test_the_paired_block_form_is_the_row_loop(first: bool) -> None:
    data = rows(41, 9, 3)
    before = None if first else data[40]
    g = np.random.default_rng(0).normal(scale=np.sqrt(0.5), size=40)
    w = one = np.eye(9)[:, :3]
    last = before
    for y, own in zip(data[:40], g, strict=True):
        one, last = paired_update(one, y, last, 0.003, own), y
    blocked = paired_block_update(w, data[:40], before, np.full(40, 0.003), g)
    np.testing.assert_allclose(blocked, one, rtol=0, atol=1e-12 * np.abs(one).max())


def test_paired_anchor() -> None:
    data = anchor_rows()
    w, last = np.eye(5)[:, :2], None
    for t, y in enumerate(data):
        w, last = paired_update(w, y, last, 0.05, 0.5 * (-1) ** t), y
    np.testing.assert_allclose(positive_qr(w), ANCHOR_PAIRED, rtol=0, atol=1e-10)
    w, last = np.eye(5)[:, :2], None
    for a in range(0, 60, 7):
        y = data[a : a + 7]
        g = 0.5 * (-1.0) ** np.arange(a, a + len(y))
        w, last = positive_qr(paired_block_update(w, y, last, np.full(len(y), 0.05), g)), y[-1]
    np.testing.assert_allclose(w, ANCHOR_PAIRED, rtol=0, atol=1e-10)


CASES = {
    "default": {},
    "paired": {"multiplier": "paired"},
    "paired, small blocks": {"multiplier": "paired", "block_size": 7},
    "paired, whole eights": {"multiplier": "paired", "block_size": 15},
    "paired, one row at a time": {"multiplier": "paired", "block_size": 1},
    "paired, early closings": {"multiplier": "paired", "growth_limit": 0.3},
    "exponential": {"multiplier": "exponential"},
    "blocks of rows": {"multiplier_block": 4, "pilot_size": 60},
    "pilots without any weight": {"multiplier_block": 30, "pilot_size": 20},
    "small blocks": {"block_size": 7},
    "gap given": {"gap": 3.0},
    "not centred": {"center": False},
    "decay": {"learning_rate": "decay", "eta0": 0.4, "beta": 30},
    "constant": {"learning_rate": "constant", "eta0": 0.002},
    "early closings": {"growth_limit": 0.3},
}


def test_a_gap_that_vanishes_does_not_bring_the_first_steps_back() -> None:
    # from row 500 on all variances are alike, and from row 1600 on their estimates say so
    late = np.random.default_rng(1).normal(size=(3500, 12))
    data = np.vstack([np.random.default_rng(0).normal(size=(500, 12)) * [6, 4, *[1] * 10], late])
    est, ref = OjaPCA(2, n_bootstrap=9, random_state=7), Reference(2, 12, 9, pilot_size=50, seed=7)
    steps = []
    for part in np.split(data, 8):
        est.partial_fit(part)
        ref.rows(part)
        np.testing.assert_allclose(est.components_, ref.components, atol=1e-9)
        np.testing.assert_allclose(est.bootstrap_components_, ref.boot, atol=1e-9)
        steps.append(est.learning_rate_)
    assert est._gap()[1]
    assert (np.diff(steps[2:]) < 0).all()


@pytest.mark.parametrize("case", CASES)
def test_reference(case: str) -> None:
    kw = CASES[case]
    data = rows(500, 12, 1)
    est = OjaPCA(2, n_bootstrap=9, random_state=7, **kw).fit(data)
    ref = Reference(
        2,
        12,
        9,
        schedule=kw.get("learning_rate", "auto"),
        eta0=kw.get("eta0", 0.0),
        beta=kw.get("beta", 0.0),
        gap=kw.get("gap"),
        center=kw.get("center", True),
        pilot_size=est.pilot_size_,
        block_size=kw.get("block_size", 64),
        growth_limit=kw.get("growth_limit", 4.0),
        kind=kw.get("multiplier", "double"),
        multiplier_block=kw.get("multiplier_block", 1),
        seed=7,
    ).rows(data)
    np.testing.assert_allclose(est.components_, ref.components, rtol=0, atol=1e-12)
    np.testing.assert_allclose(est.bootstrap_components_, ref.boot, rtol=0, atol=1e-12)
    np.testing.assert_allclose(est.explained_variance_, ref.values[:2], rtol=1e-12)
    np.testing.assert_allclose(est.mean_, ref.mean if est.center else np.zeros(12), rtol=1e-12)
    np.testing.assert_allclose(est.autocorrelation_, ref.num / ref.den, atol=1e-12)
    assert est.eigengap_ == pytest.approx(ref.ghat, rel=1e-12)
    assert est.init_weight_ == pytest.approx(np.exp(-2 * ref.ghat * ref.steps), rel=1e-10)
    total = ref.lt / ref.lw
    np.testing.assert_allclose(est.explained_variance_ratio_, ref.values[:2] / total, rtol=1e-12)
    assert est.noise_variance_ == pytest.approx((total - ref.values[:2].sum()) / 10, rel=1e-12)


def test_growth_limit_hit_exactly() -> None:
    # one-hot rows: forty steps of 0.1 add up to the limit, just above it from left to right
    data = np.eye(4)[np.arange(300) % 4]
    kw = {"learning_rate": "constant", "eta0": 0.1, "center": False, "init": np.eye(4)[:2]}
    ref = Reference(2, 4, 5, "constant", eta0=0.1, center=False, start=np.eye(4)[:2]).rows(data)
    assert ref.closings[:3] == [41, 82, 123]
    made = []
    for chunk in (1, 7, 13, 30, 300):
        est = OjaPCA(2, n_bootstrap=5, random_state=0, **kw)
        for a in range(0, 300, chunk):
            est.partial_fit(data[a : a + chunk])
        made.append(est)
        assert int(est._state.counts[1]) == 300 - ref.closings[-1]
    for est in made:
        np.testing.assert_array_equal(est.components_, made[0].components_)
        np.testing.assert_array_equal(est.bootstrap_components_, made[0].bootstrap_components_)
    np.testing.assert_allclose(made[0].bootstrap_components_, ref.boot, atol=1e-9)


def test_multiplier_words_and_bits() -> None:
    known = {
        (0, 0, 0): "69ef3fd8 625ba72f 2a73002e 122cac08",
        (0, 1, 0): "879a0caa a558231a b1b3c16e 45a4dbdc",
        (0, 0, 1): "74ed3e47 2556056f ce7512d5 aecdc9d0",
        (42, 7, 1000): "315138e3 e794735c f679c7cb c516e013",
    }
    for (seed, b, t0), words in known.items():
        assert " ".join(f"{w:08x}" for w in philox_words(seed, b, t0)) == words
        own = core().philox_words(seed, 0x6F6A6100, np.array([t0], "u8"), np.array([b], "u8"))
        assert " ".join(f"{w:08x}" for w in own[0]) == words
    bits = core().oja_multipliers((0, 0, 1), 0, 1, 1, 12)[0]
    assert bits.tolist() == [0, 0, 2, 0, 2, 2, 2, 0, 0, 0, 0, 2]
    exponential = core().oja_multipliers((0, 1, 1), 0, 1, 1, 1)[0, 0]
    assert exponential == pytest.approx(0.8823558312466834, rel=1e-14)
    paired = core().oja_multipliers((0, 2, 1), 0, 1, 1, 1)[0, 0]
    assert paired - 1 == pytest.approx(0.474003815956791, rel=1e-14)
    shared = core().oja_multipliers((5, 1, 4), 3, 1, 1, 12)[0]
    assert np.array_equal(shared.reshape(3, 4), np.repeat(shared[::4, None], 4, axis=1))
    assert len(set(shared[::4])) == 3


def test_multiplier_moments() -> None:
    omega = core().oja_multipliers((0, 0, 1), 0, 200, 1, 5000)
    assert int(np.sum(omega == 2)) == 500904
    assert omega.mean() == pytest.approx(1.001808, abs=1e-12)
    assert omega.var() == pytest.approx(0.999997, abs=1e-6)
    corr = np.corrcoef(omega)
    assert np.abs(corr[np.triu_indices(200, 1)]).max() < 0.07
    paired = core().oja_multipliers((0, 2, 1), 0, 200, 1, 5000)
    assert paired.mean() == pytest.approx(1, abs=0.003)
    assert paired.var() == pytest.approx(0.5, abs=0.003)
    assert np.mean(paired < 0) == pytest.approx(0.0786, abs=0.002)
    assert paired[17, 4321] == pytest.approx(multiplier("paired", 0, 17, 4322), rel=1e-14)
    big = 2**63 + 12345
    assert core().oja_multipliers((big, 0, 1), 9, 1, 77, 1)[0, 0] == multiplier(
        "double", big, 9, 77
    )


def test_digits() -> None:
    data = load_digits().data[np.random.default_rng(0).permutation(1797)]
    est = OjaPCA(3, n_bootstrap=199, random_state=0).fit(data)
    batch = PCA(3).fit(data)
    ours = sin2(est.components_, batch.components_)
    assert ours == pytest.approx(0.015798, rel=1e-4)
    assert est.error_quantile(0.9) == pytest.approx(0.059577, rel=1e-4)
    assert est.error_quantile(0.95) == pytest.approx(0.067383, rel=1e-4)
    assert est.error_quantile(0.95, "sin2_op") == pytest.approx(0.044795, rel=1e-4)
    np.testing.assert_allclose(est.explained_variance_, [172.028, 162.154, 144.451], rtol=1e-4)
    assert est.explained_variance_.sum() == pytest.approx(484.51, rel=0.015)
    np.testing.assert_allclose(est.mean_, batch.mean_, rtol=0, atol=1e-10)
    stored = load_digits().data
    incremental = IncrementalPCA(3, batch_size=50).fit(stored)
    # each merge of the incremental method keeps three directions only, in class order it loses them
    assert sin2(incremental.components_, PCA(3).fit(stored).components_) > 10 * ours


def test_the_pilot_is_batch_pca() -> None:
    data = rows(50, 20, 5)
    with pytest.warns(UserWarning, match="do not go beyond pilot_size=50"):
        est = OjaPCA(3, random_state=0).fit(data)
    batch = PCA(3).fit(data)
    assert sin2(est.components_, batch.components_) < 1e-20
    np.testing.assert_allclose(est.explained_variance_ * 50 / 49, batch.explained_variance_)
    np.testing.assert_allclose(
        est.explained_variance_ratio_, batch.explained_variance_ratio_, rtol=1e-10
    )


@pytest.mark.parametrize("metric", ["sin2_fro", "sin2_op", "sin_op", "projection_fro"])
def test_metrics(metric: str) -> None:
    rng = np.random.default_rng(2)
    a, b = (np.linalg.qr(rng.normal(size=(7, 3)))[0].T for _ in range(2))
    cosines = np.linalg.svd(a @ b.T, compute_uv=False)
    s2 = 1 - cosines**2
    expected = {
        "sin2_fro": s2.sum(),
        "sin2_op": s2.max(),
        "sin_op": np.sqrt(s2.max()),
        "projection_fro": np.linalg.norm(a.T @ a - b.T @ b),
    }[metric]
    assert subspace_errors(a, b[None], metric)[0] == pytest.approx(expected, rel=1e-12)


def test_intervals() -> None:
    data = rows(600, 6, 2)
    est = OjaPCA(2, n_bootstrap=199, random_state=1).fit(data)
    w, boot = est.components_, est.bootstrap_components_
    turned = []
    for b in boot:
        u, _, vt = np.linalg.svd(b @ w.T)
        # the rows of b turned so that the product with w becomes symmetric and positive
        turned.append((u @ vt).T @ b)
    for align, moved in (("sign", boot), ("procrustes", np.array(turned))):
        size = np.abs(moved - w)
        lower, upper = est.component_intervals(0.9, align)
        np.testing.assert_allclose(upper - w, 1.6448536269514722 * np.sqrt((size**2).mean(0)))
        np.testing.assert_allclose(w - lower, upper - w, atol=1e-15)
        lower, upper = est.component_intervals(0.9, align, "percentile")
        np.testing.assert_allclose(upper - w, np.sort(size, axis=0)[179], atol=1e-15)
        np.testing.assert_allclose(w - lower, upper - w, atol=1e-15)
