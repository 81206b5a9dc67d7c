"""The nulls of TimeResolvedPID: every kind against data that were really permuted."""

from __future__ import annotations

import numpy as np
import pytest
from time_pid_data import PLAIN, estimator, step_data

from nb26stats.information import DiscretePID, GaussianPID, TimeResolvedPID
from nb26stats.information._areas import classes_of
from nb26stats.information._nulls import permutation, resample

NULLS = ("target", "conditional-x", "conditional-y", "noise-shuffle")
KEPT = {"conditional-x": 4, "conditional-y": 5, "noise-shuffle": 6}


def regression(y: np.ndarray, given: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(y)), given])
    return design @ np.linalg.lstsq(design, y, rcond=None)[0]


def moved(x: np.ndarray, y: np.ndarray, m: np.ndarray, null: str, order: np.ndarray) -> list:
    if null == "target":
        return [x, y, m[order]]
    if null == "conditional-x":
        fit = regression(x, y)
        return [fit + (x - fit)[order], y, m]
    fit = regression(y, x if null == "conditional-y" else m)
    return [x, fit + (y - fit)[order], m]


@pytest.mark.parametrize("bias", [None, "analytic", "gpid", "bootstrap"])
@pytest.mark.parametrize("null", NULLS)
def test_null_is_that_of_permuted_data(null: str, bias: str | None) -> None:
    x, target, times = step_data(n=120, n_bins=4)
    count = 19
    pid = estimator(bias, null=null, n_permutations=count, alpha=0.05, random_state=11)
    pid.fit(x, target, times)
    drawn = np.empty((count, 7, 4))
    inner = GaussianPID(bias=bias, n_bootstrap=12, random_state=11)
    for p in range(count):
        order = permutation(11, p, 120)
        for b in range(4):
            s1, s2, m = moved(x["A"][:, b], x["B"][:, b], target["image"], null, order)
            one = inner.fit([s1, s2], m)
            drawn[p, :, b] = [*one.mi_, one.redundancy_, *one.unique_, one.synergy_]
    tested = slice(None) if null == "target" else KEPT[null]
    mean, sd = drawn.mean(axis=(0, 2)), drawn.std(axis=(0, 2))
    np.testing.assert_allclose(pid.null_mean_[2, 0][tested], mean[tested], atol=1e-9)
    np.testing.assert_allclose(pid.null_sd_[2, 0][tested], sd[tested], atol=1e-9)
    largest = ((drawn - mean[:, None]) / sd[:, None]).max(axis=(0, 2))
    np.testing.assert_allclose(pid.thresholds_[2, 0][tested], largest[tested], rtol=1e-7)


@pytest.mark.parametrize("null", NULLS[1:])
def test_rows_that_a_null_does_not_test_are_empty(null: str) -> None:
    x, target, times = step_data()
    pid = estimator("bootstrap", null=null, n_bootstrap=2).fit(x, target, times)
    other = np.arange(7) != KEPT[null]
    for name in ("z_", "p_max_"):
        assert np.isnan(getattr(pid, name)[:, :, other]).all()
        assert np.isfinite(getattr(pid, name)[:, :, ~other]).all()
    for name in ("null_mean_", "null_sd_", "thresholds_", "onsets_", "offsets_"):
        assert np.isnan(getattr(pid, name)[:, :, other]).all()
    assert np.isnan(pid.resampled_onsets_[:, :, :, other]).all()
    assert not pid.significant_[:, :, other].any()
    assert np.isfinite(pid.values_).all()


def test_unique_information_is_found_by_its_own_null() -> None:
    x, target, times = step_data()
    for null in ("conditional-x", "conditional-y"):
        pid = estimator(None, null=null).fit(x, target, times)
        found = pid.significant_[:3, 0, KEPT[null]]
        assert found[:, 4:].all()
        assert not found[:, :4].any()


@pytest.mark.parametrize("inner", ["delta", "ranks", "shrunk", "projected"])
def test_other_settings_take_the_general_way(inner: str) -> None:
    x, target, times = step_data(n=150, n_bins=3)
    models = {
        "delta": GaussianPID("delta", bias=None),
        "ranks": GaussianPID(bias=None, copula=True),
        "shrunk": GaussianPID(bias=None, regularization=0.1),
        "projected": GaussianPID(bias=None, pca=2),
    }
    null = "noise-shuffle" if inner == "ranks" else "target"
    pid = TimeResolvedPID(
        models[inner],
        null=null,
        pairs=[("A", "B")],
        n_permutations=19,
        alpha=0.05,
        min_run=1,
        random_state=4,
        **PLAIN,
    ).fit(x, target["image"], times)
    order = permutation(4, 0, 150)
    assert not np.array_equal(order, np.arange(150))
    alone = models[inner].fit([x["A"][:, 2], x["B"][:, 2]], target["image"])
    np.testing.assert_allclose(pid.values_[0, 0, :3, 2], alone.mi_, atol=1e-12)
    drawn = []
    for p in range(19):
        order = permutation(4, p, 150)
        for b in range(3):
            s1, s2, m = moved(x["A"][:, b], x["B"][:, b], target["image"], null, order)
            drawn.append(models[inner].fit([s1, s2], m).synergy_)
    np.testing.assert_allclose(pid.null_mean_[0, 0, 6], np.mean(drawn), atol=1e-9)


def test_ranks_take_the_fast_way_for_the_target_null() -> None:
    x, target, times = step_data(n=150, n_bins=3)
    x = {a: np.sign(v) * v**2 for a, v in x.items()}
    pid = TimeResolvedPID(
        GaussianPID(bias=None, copula=True), n_permutations=99, min_run=1, random_state=0, **PLAIN
    ).fit(x, target, times)
    one = GaussianPID(bias=None, copula=True).fit([x["A"][:, 2], x["C"][:, 2]], target["image"])
    np.testing.assert_allclose(pid.values_[0, 0, :3, 2], one.mi_, atol=1e-9)


def test_classes_of_targets() -> None:
    labels = np.array(["a", "b"] * 20)[:, None]
    np.testing.assert_array_equal(classes_of(labels), np.tile([0, 1], 20))
    np.testing.assert_array_equal(classes_of(labels == "b"), np.tile([0, 1], 20))
    both = np.column_stack([np.tile([0, 1], 20), np.repeat([0, 1], 20)])
    assert np.unique(classes_of(both)).size == 4
    assert classes_of(np.arange(40)[:, None]) is None
    assert np.unique(classes_of(np.tile([0.0, 1.0], 20)[:, None])).size == 2
    assert classes_of(np.tile([0.5, 1.0], 20)[:, None]) is None


def test_permutations_within_classes_stay_there() -> None:
    classes = np.array([2, 0, 1] * 30)
    free = permutation(5, 3, 90)
    kept = permutation(5, 3, 90, classes)
    np.testing.assert_array_equal(np.sort(kept), np.arange(90))
    np.testing.assert_array_equal(classes[kept], classes)
    for c in range(3):
        np.testing.assert_array_equal(kept[classes == c], free[classes[free] == c])


def test_noise_shuffle_of_a_target_of_classes() -> None:
    rng = np.random.default_rng(2)
    n, shared = 400, rng.standard_normal((400, 6, 1))
    m = np.arange(n) % 4
    signal = 0.4 * np.stack([m % 2, m // 2], axis=1)[:, None]
    x = {"A": signal + 0.3 * rng.standard_normal((n, 6, 2)) + shared}
    # B carries the noise of A and little signal, so noise correlation is what makes synergy
    x["B"] = 0.3 * rng.standard_normal((n, 6, 2)) + shared
    times = np.arange(6.0)
    kw = {"null": "noise-shuffle", "n_permutations": 99, "random_state": 0, **PLAIN}
    coded = np.stack([m % 2, m // 2], axis=1)
    pid = TimeResolvedPID(GaussianPID(bias=None), **kw).fit(x, coded, times)
    assert pid.significant_[0, 0, 6].all()
    order = permutation(0, 0, n, classes_of(coded))
    one = GaussianPID(bias=None).fit([x["A"][:, 0], x["B"][order, 0]], coded)
    one_null = TimeResolvedPID(GaussianPID(bias=None), **{**kw, "min_run": 1}).fit(
        {a: v[:, :1] for a, v in x.items()}, coded, times[:1]
    )
    lowest, highest = one_null.null_mean_[0, 0, 6] + np.array([-4, 4]) * one_null.null_sd_[0, 0, 6]
    assert lowest < one.synergy_ < highest < one_null.values_[0, 0, 6, 0]


def test_discrete_estimators_are_fitted_to_codes() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (120, 4, 1)), rng.integers(0, 2, (120, 4, 1))
    labels = np.array(["no", "yes"])[(a ^ b)[:, 2, 0]]
    pid = TimeResolvedPID(
        DiscretePID("broja"), n_permutations=19, alpha=0.05, min_run=1, random_state=0, **PLAIN
    ).fit({"A": a, "B": b}, labels, np.arange(4.0))
    one = DiscretePID("broja").fit([a[:, 2], b[:, 2]], labels)
    np.testing.assert_allclose(pid.values_[0, 0, 6, 2], one.synergy_, atol=1e-8)
    np.testing.assert_array_equal(pid.significant_[0, 0, 6], [False, False, True, False])
    assert pid.onsets_[0, 0, 6] == 2
    drawn = [
        DiscretePID("broja").fit([a[:, k], b[:, k]], labels[permutation(0, p, 120)]).mi_[2]
        for p in range(19)
        for k in range(4)
    ]
    np.testing.assert_allclose(pid.null_mean_[0, 0, 2], np.mean(drawn), atol=1e-9)
    shuffled = TimeResolvedPID(
        DiscretePID("imin"),
        null="noise-shuffle",
        n_permutations=19,
        alpha=0.05,
        min_run=1,
        random_state=0,
        **PLAIN,
    ).fit({"A": a, "B": b}, (a ^ b)[:, 2, 0].astype(float), np.arange(4.0))
    assert np.isfinite(shuffled.p_max_[0, 0, 6]).all()


def test_resamples_are_halves_or_draws_with_replacement() -> None:
    half, full = resample(3, 1, 101, "half"), resample(3, 1, 101, "full")
    assert len(half) == 50 == np.unique(half).size
    assert len(full) == 101 > np.unique(full).size
    assert not np.array_equal(half, resample(3, 2, 101, "half"))
    np.testing.assert_array_equal(half, resample(3, 1, 101, "half"))
