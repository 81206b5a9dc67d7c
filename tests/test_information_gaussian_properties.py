"""GaussianPID: what must hold for any covariance."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference.gaussian_pid import channel_covariance
from scipy.linalg import block_diag

from nb26stats.information import GaussianPID

F64 = NDArray[np.float64]
Problem = tuple[F64, tuple[int, int, int]]

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=60)


@st.composite
def problems(draw: st.DrawFn, largest: int = 6) -> Problem:
    """Covariances of all shapes, from nearly independent to nearly deterministic."""
    rng = np.random.default_rng(draw(SEEDS))
    dx, dy, dm = (draw(st.integers(1, largest)) for _ in range(3))
    d = dx + dy + dm
    a = rng.standard_normal((d, draw(st.integers(1, 2 * d))))
    noise = 10.0 ** draw(st.integers(-2, 2))
    scale = 10.0 ** rng.uniform(-3, 3, d)
    cov = (a @ a.T + noise * np.eye(d)) * np.outer(scale, scale)
    return 0.5 * (cov + cov.T), (dx, dy, dm)


def _fit(cov: F64, dims: tuple[int, int, int], **kw: Any) -> GaussianPID:
    return GaussianPID(**{"bias": None, "device": "cpu", **kw}).fit_covariance(
        0.5 * (cov + cov.T), dims, n_samples=1000 if kw.get("bias") else None
    )


def _values(pid: GaussianPID) -> F64:
    return np.array([*pid.mi_, pid.union_, pid.redundancy_, *pid.unique_, pid.synergy_])


def _pieces(cov: F64, dims: tuple[int, int, int], order: str) -> F64:
    """Return the covariance with its blocks x, y and m in another order or left out."""
    dx, dy, dm = dims
    index = {"x": np.arange(dx), "y": np.arange(dx, dx + dy), "m": np.arange(dx + dy, dx + dy + dm)}
    some = np.concatenate([index[k] for k in order])
    return cov[np.ix_(some, some)]


@MANY
@given(problems(), st.sampled_from(["broja", "mmi"]))
def test_atoms_add_up_and_informations_are_in_order(problem: Problem, measure: str) -> None:
    pid = _fit(*problem, measure=measure)
    i_x, i_y, i_xy = pid.mi_
    assert abs(pid.redundancy_ + pid.unique_[0] - i_x) <= 1e-10
    assert abs(pid.redundancy_ + pid.unique_[1] - i_y) <= 1e-10
    assert abs(pid.redundancy_ + pid.unique_.sum() + pid.synergy_ - i_xy) <= 1e-10
    assert abs(pid.redundancy_ + pid.unique_.sum() - pid.union_) <= 1e-10
    assert min(pid.redundancy_, *pid.unique_, pid.synergy_) >= -1e-10
    assert max(i_x, i_y) - 1e-10 <= pid.union_ <= min(i_x + i_y, i_xy) + 1e-10


@MANY
@given(problems(), st.sampled_from(["analytic", "gpid", "bootstrap"]))
def test_corrected_atoms_add_up(problem: Problem, bias: str) -> None:
    pid = _fit(*problem, bias=bias, n_bootstrap=2, random_state=0)
    assert abs(pid.redundancy_ + pid.unique_[0] - pid.mi_[0]) <= 1e-10
    assert abs(pid.redundancy_ + pid.unique_[1] - pid.mi_[1]) <= 1e-10
    assert abs(pid.redundancy_ + pid.unique_.sum() + pid.synergy_ - pid.mi_[2]) <= 1e-10


@MANY
@given(problems(), st.sampled_from([None, "analytic", "gpid"]))
def test_swapping_sources_swaps_unique(problem: Problem, bias: str | None) -> None:
    cov, (dx, dy, dm) = problem
    pid = _fit(cov, (dx, dy, dm), bias=bias)
    other = _fit(_pieces(cov, (dx, dy, dm), "yxm"), (dy, dx, dm), bias=bias)
    np.testing.assert_allclose(other.unique_, pid.unique_[::-1], atol=1e-9)
    np.testing.assert_allclose(other.mi_, pid.mi_[[1, 0, 2]], atol=1e-9)
    assert abs(other.synergy_ - pid.synergy_) <= 1e-9
    assert abs(other.redundancy_ - pid.redundancy_) <= 1e-9


@MANY
@given(problems())
def test_broja_has_no_more_redundancy_than_mmi(problem: Problem) -> None:
    assert _fit(*problem).redundancy_ <= _fit(*problem, measure="mmi").redundancy_ + 1e-10


@MANY
@given(problems(), SEEDS)
def test_invertible_maps_change_nothing(problem: Problem, seed: int) -> None:
    cov, dims = problem
    rng = np.random.default_rng(seed)
    scale = np.sqrt(np.diag(cov))
    maps = []
    for d in dims:
        q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        maps.append(q * rng.uniform(0.3, 3, d))
    change = block_diag(*maps) / scale
    np.testing.assert_allclose(
        _values(_fit(change @ cov @ change.T, dims)), _values(_fit(cov, dims)), atol=1e-9
    )


@MANY
@given(problems(), SEEDS, st.integers(1, 4))
def test_a_noisy_copy_adds_nothing(problem: Problem, seed: int, dy: int) -> None:
    cov, (dx, _, dm) = problem
    rng = np.random.default_rng(seed)
    xm = _pieces(cov, problem[1], "xm")
    xm /= np.sqrt(np.outer(np.diag(xm), np.diag(xm)))
    read = rng.standard_normal((dy, dx))
    d = dx + dm
    change = np.zeros((dx + dy + dm, d))
    change[:dx, :dx], change[dx : dx + dy, :dx] = np.eye(dx), read
    change[dx + dy :, dx:] = np.eye(dm)
    full = change @ xm @ change.T
    full[dx : dx + dy, dx : dx + dy] += np.eye(dy)
    pid = _fit(full, (dx, dy, dm))
    assert abs(pid.unique_[1]) <= 1e-10
    assert abs(pid.synergy_) <= 1e-10


@MANY
@given(problems(4), problems(4))
def test_independent_systems_add(first: Problem, second: Problem) -> None:
    dims = tuple(a + b for a, b in zip(first[1], second[1], strict=True))
    both = block_diag(first[0], second[0])
    places: list[int] = []
    start, other = 0, len(first[0])
    for a, b in zip(first[1], second[1], strict=True):
        places += [*range(start, start + a), *range(other, other + b)]
        start, other = start + a, other + b
    joint = _fit(both[np.ix_(places, places)], dims)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        _values(joint), _values(_fit(*first)) + _values(_fit(*second)), atol=1e-9
    )


@MANY
@given(problems(), SEEDS)
def test_the_other_source_loses_unique_information_to_a_larger_one(
    problem: Problem, seed: int
) -> None:
    cov, (dx, dy, dm) = problem
    if dx == 1:
        cov, (dx, dy, dm) = block_diag([[1.0]], cov), (2, dy, dm)
    kept = 1 + seed % (dx - 1)
    index = np.r_[:kept, dx : dx + dy + dm]
    small = _fit(cov[np.ix_(index, index)], (kept, dy, dm))
    assert _fit(cov, (dx, dy, dm)).unique_[1] <= small.unique_[1] + 1e-9


@MANY
@given(problems(1))
def test_one_column_each_is_mmi(problem: Problem) -> None:
    np.testing.assert_allclose(
        _values(_fit(*problem)), _values(_fit(*problem, measure="mmi")), atol=1e-10
    )


@MANY
@given(SEEDS, st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_the_union_is_attained(seed: int, dx: int, dy: int, dm: int) -> None:
    """Noises correlated as the optimum asks leave no more information than the union."""
    rng = np.random.default_rng(seed)
    h_x, h_y = rng.standard_normal((dx, dm)), rng.standard_normal((dy, dm))
    pid = _fit(channel_covariance(h_x, h_y), (dx, dy, dm), base=np.e)
    c_x, c_y = (np.linalg.inv(np.eye(dm) + h.T @ h) for h in (h_x, h_y))
    low = np.linalg.cholesky(c_x)
    inverse = np.linalg.inv(low)
    values, vectors = np.linalg.eigh(inverse @ c_y @ inverse.T)
    t = low @ vectors
    best = np.linalg.inv(t @ np.diag(np.minimum(values, 1)) @ t.T)
    fisher = best - np.eye(dm)
    noise = h_x @ np.linalg.pinv(fisher, rcond=1e-10, hermitian=True) @ h_y.T
    norm = np.linalg.norm(noise, 2)
    assert norm <= 1 + 1e-8
    # at a norm of one the noise is degenerate, and a hair inside more information is left
    regular = norm < 0.999
    noise *= 1.0 if regular else 1 - 1e-9
    joint = channel_covariance(h_x, h_y, noise)
    d = dx + dy
    i_xy = 0.5 * (np.linalg.slogdet(joint[:d, :d])[1] - _log_det_noise(noise))
    assert i_xy >= pid.union_ - 1e-7
    if regular:
        assert abs(i_xy - pid.union_) <= 1e-11


def _log_det_noise(noise: F64) -> float:
    dx, dy = noise.shape
    joint = np.block([[np.eye(dx), noise], [noise.T, np.eye(dy)]])
    return float(np.linalg.slogdet(joint)[1])


@MANY
@given(problems(), SEEDS)
def test_no_coupling_has_less_than_the_union(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dx, dy, dm = problem[1]
    h_x, h_y = rng.standard_normal((dx, dm)), rng.standard_normal((dy, dm))
    union = _fit(channel_covariance(h_x, h_y), (dx, dy, dm)).union_
    noise = rng.standard_normal((dx, dy))
    noise *= rng.uniform(0, 0.999) / np.linalg.norm(noise, 2)
    assert _fit(channel_covariance(h_x, h_y, noise), (dx, dy, dm)).mi_[2] >= union - 1e-10


def _rows(seed: int) -> list[F64]:
    rng = np.random.default_rng(seed)
    m = rng.standard_normal((200, 2))
    x = m @ rng.standard_normal((2, 3)) + rng.standard_normal((200, 3))
    return [x, x[:, :2] + m + rng.standard_normal((200, 2)), m]


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([{}, {"copula": True}, {"pca": 2}, {"regularization": "oas"}]))
def test_the_order_of_trials_does_not_matter(seed: int, kw: dict[str, Any]) -> None:
    x, y, m = _rows(seed)
    order = np.random.default_rng(seed).permutation(200)
    want = GaussianPID(bias=None, **kw).fit([x, y], m)
    got = GaussianPID(bias=None, **kw).fit([x[order], y[order]], m[order])
    np.testing.assert_allclose(_values(got), _values(want), atol=1e-10)


@settings(max_examples=20)
@given(problems(5), st.integers(1, 20), SEEDS)
def test_a_batch_gives_each_what_it_gets_alone(problem: Problem, m: int, seed: int) -> None:
    cov, dims = problem
    grow = np.random.default_rng(seed).uniform(0, 1, m)
    covs = np.stack([cov + g * np.diag(np.diag(cov)) for g in grow])
    pid = GaussianPID(n_bootstrap=2, random_state=seed, device="cpu")
    table = pid.fit_many(covs, dims, n_samples=1000)
    for i in (0, m // 2, m - 1):
        alone = pid.fit_many(covs[i : i + 1], dims, n_samples=1000)
        # no bit depends on the neighbours in a lane
        assert table.iloc[i].tolist() == alone.iloc[0].tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_give_the_same_bits(n_jobs: int) -> None:
    kw: dict[str, Any] = {"n_bootstrap": 5, "random_state": 4, "device": "cpu", "n_threads": 1}
    want = [GaussianPID(**kw).fit(_rows(i)[:2], _rows(i)[2]) for i in range(3)]
    tasks = (joblib.delayed(GaussianPID(**kw).fit)(_rows(i)[:2], _rows(i)[2]) for i in range(3))
    for one, other in zip(want, joblib.Parallel(n_jobs=n_jobs)(tasks), strict=True):
        np.testing.assert_array_equal(_values(one), _values(other))
