"""The Gaussian kernel: published values, an iterative optimum, draws, channels, hard input."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reference.gaussian_pid import channel_covariance, information, lattice_covariance
from reference.gaussian_union import coupled, union_by_descent, union_coupling

from nb26stats._dispatch import choose_device, core, cuda
from nb26stats.information import _gaussian_call
from nb26stats.information._gaussian_call import (
    gaussian_informations,
    gaussian_informations_of_channels,
)

F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Dims = tuple[int, int, int]
DIMS: list[Dims] = [
    (1, 1, 1),
    (1, 1, 2),
    (2, 2, 2),
    (3, 2, 4),
    (7, 9, 11),
    (2, 10, 10),
    (1, 3, 13),
    (20, 20, 10),
    (24, 17, 33),
]


@pytest.fixture(params=[0, 1, 2])
def isa(request: pytest.FixtureRequest) -> Iterator[int]:
    level: int = request.param
    if level > core().isa_supported():
        pytest.skip("this machine has no such instructions")
    before = core().get_isa()
    core().set_isa(level)
    yield level
    core().set_isa(before)


def covariances(dims: Dims, n: int, seed: int = 0) -> F64:
    rng = np.random.default_rng(seed)
    d = sum(dims)
    rows = rng.standard_normal((n, 3 * d, d)) * rng.uniform(0.1, 3.0, d)
    rows += rng.standard_normal((n, 3 * d, 1))
    return np.swapaxes(rows, 1, 2) @ rows / (3 * d)


def draws(d: int, n: int, nu: int, seed: int = 1) -> F64:
    rng = np.random.default_rng(seed)
    a = np.tril(rng.standard_normal((n, d, d)), -1)
    a[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(nu - np.arange(d), (n, d)))
    return a / np.sqrt(nu)


def bits(cov: F64, dims: Dims) -> F64:
    four, means, status = gaussian_informations(cov[None], dims, None)
    assert means is None
    assert status.tolist() == [0]
    return four[0] / np.log(2)


def atoms(four: F64) -> F64:
    """Unique 1, unique 2, redundancy and synergy of I_X, I_Y, I_XY, I_U."""
    return np.array(
        [four[3] - four[1], four[3] - four[0], four[0] + four[1] - four[3], four[2] - four[3]]
    )


# (dm, dx, dy), k, then I_X, I_Y, I_XY, U_X, U_Y, R, S in bits
E3 = [
    (
        (2, 1, 1),
        3,
        [0.01542997, 0.01886693, 0.03847034, 0.01223137, 0.01566832, 0.00319860, 0.00737205],
    ),
    (
        (2, 2, 2),
        2,
        [0.17717553, 0.18924101, 0.31060425, 0.01505697, 0.02712245, 0.16211856, 0.10630626],
    ),
    (
        (3, 2, 4),
        5,
        [1.34781382, 2.38771419, 3.24951294, 0.81385842, 1.85375879, 0.53395540, 0.04794033],
    ),
    (
        (4, 4, 4),
        3,
        [2.64954511, 4.09935444, 5.18993334, 0.96548905, 2.41529839, 1.68405606, 0.12508984],
    ),
    (
        (6, 5, 5),
        2,
        [3.74462139, 3.33148960, 5.29134764, 1.66349676, 1.25036497, 2.08112464, 0.29636128],
    ),
    (
        (2, 10, 10),
        4,
        [2.27732458, 2.44638589, 2.69287045, 0.00157799, 0.17063930, 2.27574659, 0.24490658],
    ),
]


@pytest.mark.parametrize(("sizes", "k", "expected"), E3)
def test_e3_published_values(sizes: Dims, k: int, expected: list[float], isa: int) -> None:
    dm, dx, dy = sizes
    four = bits(lattice_covariance(dm, dx, dy, k), (dx, dy, dm))
    np.testing.assert_allclose(np.r_[four[:3], atoms(four)], expected, atol=1e-8, rtol=0)


def rotated(g_x: float, g_y: float, angle: float) -> F64:
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return channel_covariance(np.diag([g_x, 1.0]) @ turn, np.diag([1.0, g_y]))


CHANNELS = [
    ((3, 3, 0), (1.16096405, 1.16096405, 1.0, 0.13750352)),
    ((3, 3, np.pi / 3), (0.62541892, 0.62541892, 1.53554512, 0.30852931)),
    ((2, 3, np.pi / 6), (0.55869325, 1.05869325, 1.10227079, 0.23378800)),
    ((1, 1, np.pi / 2), (0.0, 0.0, 1.0, 0.58496250)),
    ((3, 1, np.pi / 4), (1.16096405, 0.0, 1.0, 0.36123301)),
]


@pytest.mark.parametrize(("channel", "expected"), CHANNELS)
def test_e3_channels(channel: tuple[float, ...], expected: tuple[float, ...], isa: int) -> None:
    four = bits(rotated(*channel), (2, 2, 2))
    np.testing.assert_allclose(atoms(four), expected, atol=1e-8, rtol=0)


def test_e3_scalar_closed_forms(isa: int) -> None:
    def of(x: list[float], y: list[float]) -> F64:
        """Atoms of X and Y as combinations of M and two white noises."""
        root = np.array([x, y, [1.0, 0.0, 0.0]])
        return atoms(bits(root @ root.T, (1, 1, 1)))

    rho = 0.5
    expected = [0.5, 0, 0, 0.5 * np.log2(1 + 1 / (1 - rho**2)) - 0.5]
    got = of([1, 1, 0], [0, rho, np.sqrt(1 - rho**2)])
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert got[3] == pytest.approx(0.11119621, abs=1e-8)
    rho = 0.3
    expected = [0, 0, 0.5, 0.5 * np.log2(1 + 2 / (1 + rho)) - 0.5]
    got = of([1, 1, 0], [1, rho, np.sqrt(1 - rho**2)])
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert got[3] == pytest.approx(0.17197720, abs=1e-8)
    got = of([1, 1, 0], [1, 1, 1])
    np.testing.assert_allclose(got, [0.20751875, 0, 0.29248125, 0], atol=1e-8)


@pytest.mark.parametrize("dims", DIMS)
def test_values_and_means_follow_the_formulas(dims: Dims, isa: int) -> None:
    covs = covariances(dims, 11)
    a = draws(sum(dims), 3, 5 * sum(dims))
    four, means, status = gaussian_informations(covs, dims, a)
    assert not status.any()
    np.testing.assert_allclose(four, [information(c, dims) for c in covs], rtol=1e-11, atol=1e-12)
    roots = np.linalg.cholesky(covs)
    drawn = [[information(root @ f @ f.T @ root.T, dims) for f in a] for root in roots]
    np.testing.assert_allclose(means, np.mean(drawn, axis=1), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dims", DIMS)
def test_channels_are_covariances_in_white_coordinates(dims: Dims, isa: int) -> None:
    dx, _, dm = dims
    p, d = dims[0] + dims[1], sum(dims)
    covs = covariances(dims, 22, seed=2)
    a = draws(d, 3, 5 * d)
    roots = np.linalg.cholesky(covs)
    r = np.ascontiguousarray(roots[::11, dx:p, :p])
    k = np.empty((2, 11, dm, p))
    whole = np.empty_like(covs)
    for i in range(22):
        own = np.linalg.cholesky(covs[i, p:, p:])
        k[i // 11, i % 11] = np.linalg.solve(own, roots[i, p:, :p])
        gain = k[i // 11, i % 11]
        root = np.eye(d)
        root[dx:p, :p] = r[i // 11]
        root[p:, :p] = gain
        root[p:, p:] = np.linalg.cholesky(np.eye(dm) - gain @ gain.T)
        whole[i] = root @ root.T
    four, means, status = gaussian_informations_of_channels(r, k, a)
    assert not status.any()
    expected = gaussian_informations(whole, dims, None)[0]
    expected_means = []
    # a draw of the factor that the channel stands for, whose block of X is the identity
    for i in range(22):
        root = np.eye(d)
        root[dx:p, :p] = r[i // 11]
        root[p:, :p] = k[i // 11, i % 11]
        root[p:, p:] = np.linalg.cholesky(np.eye(dm) - root[p:, :p] @ root[p:, :p].T)
        expected_means.append(np.mean([information(root @ f @ f.T @ root.T, dims) for f in a], 0))
    np.testing.assert_allclose(four.reshape(22, 4), expected, rtol=1e-11, atol=1e-12)
    assert means is not None
    np.testing.assert_allclose(means.reshape(22, 4), expected_means, rtol=1e-11, atol=1e-12)


def test_no_coupling_of_the_noises_does_better() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        h_x, h_y = rng.standard_normal((2, 4, 3))
        union = gaussian_informations(channel_covariance(h_x, h_y)[None], (4, 4, 3), None)[0][0, 3]
        best = union_by_descent(h_x, h_y)
        assert best >= union - 1e-12
        assert best == pytest.approx(union, abs=1e-9)
        # the coupling of the proof has that information
        attained, _ = coupled(h_x, h_y, union_coupling(h_x, h_y) * (1 - 1e-12))
        assert attained == pytest.approx(union, abs=1e-9)
        noises = rng.standard_normal((100, 4, 4))
        noises *= 0.99 / np.linalg.norm(noises, 2, axis=(1, 2))[:, None, None]
        assert min(coupled(h_x, h_y, noise)[0] for noise in noises) > union


def channel_problems(dims: Dims, bins: int, n: int) -> tuple[F64, F64]:
    rng = np.random.default_rng(7)
    p = dims[0] + dims[1]
    r = rng.standard_normal((bins, dims[1], p))
    k = 0.4 * rng.standard_normal((bins, n, dims[2], p)) / np.sqrt(p * dims[2])
    return r, k


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_any_cut_into_calls_gives_the_same_bits(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(name: str) -> Any:
        def call(*arrays: Any) -> Any:
            sizes.append(arrays[0 if name == "gaussian_pid" else 1].shape[-3])
            return getattr(core(), name)(*arrays, *([1] if device == "cuda" else []))

        return call

    dims = (3, 4, 2)
    covs, a = covariances(dims, 50), draws(9, 2, 60)
    r, k = channel_problems(dims, 3, 21)
    whole = gaussian_informations(covs, dims, a), gaussian_informations_of_channels(r, k, a)
    fake = SimpleNamespace(
        gaussian_pid=counted("gaussian_pid"), gaussian_pid_channels=counted("gaussian_pid_channels")
    )
    # a device that this machine may lack answers with the CPU's numbers
    monkeypatch.setattr(_gaussian_call, device if device == "cuda" else "core", lambda: fake)
    monkeypatch.setattr(_gaussian_call, "choose_device", lambda name: name)
    monkeypatch.setattr(_gaussian_call, "LEAST_PROBLEMS", 1)
    for most in (7, 30, 1000):
        work = {device: most * 3 * (9**3 / 6 + 2 * 9**2) * 1.001}
        monkeypatch.setattr(_gaussian_call, "CALL_WORK", work)
        sizes.clear()
        cut = (
            gaussian_informations(covs, dims, a, device=device),
            gaussian_informations_of_channels(r, k, a, device=device),
        )
        assert max(sizes) == min(most, 50)
        for one, other in zip(whole, cut, strict=True):
            for got, expected in zip(other, one, strict=True):
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(n_threads: int) -> None:
    dims = (5, 3, 4)
    covs, a = covariances(dims, 37), draws(12, 2, 60)
    r, k = channel_problems(dims, 2, 19)
    for ours, one in (
        (
            gaussian_informations(covs, dims, a, n_threads=n_threads),
            gaussian_informations(covs, dims, a, n_threads=1),
        ),
        (
            gaussian_informations_of_channels(r, k, a, n_threads=n_threads),
            gaussian_informations_of_channels(r, k, a, n_threads=1),
        ),
    ):
        for got, expected in zip(ours, one, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_no_problems_at_all() -> None:
    four, means, status = gaussian_informations(np.empty((0, 3, 3)), (1, 1, 1), None)
    assert (four.shape, means, status.shape) == ((0, 4), None, (0,))
    four, means, status = gaussian_informations_of_channels(
        np.ones((2, 1, 2)), np.empty((2, 0, 1, 2)), np.eye(3)[None]
    )
    assert means is not None
    assert (four.shape, means.shape, status.shape) == ((2, 0, 4), (2, 0, 4), (2, 0))


def test_problems_without_values_say_why() -> None:
    dims = (2, 2, 2)
    covs = covariances(dims, 6)
    covs[1, 1], covs[1, :, 1] = covs[1, 0], covs[1, :, 0]  # a source twice
    covs[2, 5], covs[2, :, 5] = covs[2, 0], covs[2, :, 0]  # the target holds a source
    covs[3, 5], covs[3, :, 5] = covs[3, 4], covs[3, :, 4]  # the target twice
    covs[4] = np.nan
    four, means, status = gaussian_informations(covs, dims, np.eye(6)[None])
    assert status.tolist() == [0, 1, 2, 1, 1, 0]
    assert means is not None
    good = status == 0
    assert np.isfinite(four[good]).all()
    assert np.isnan(four[~good]).all()
    assert np.isnan(means[~good]).all()
    np.testing.assert_allclose(means[good], four[good], atol=1e-14)
    r, k = channel_problems(dims, 1, 3)
    k[0, 1] /= np.linalg.norm(k[0, 1], 2)
    k[0, 2] = np.eye(4)[:2] * 1.5
    assert gaussian_informations_of_channels(r, k, None)[2].tolist() == [[0, 2, 2]]


def test_extreme_channels_keep_their_digits(isa: int) -> None:
    # posterior variances between 1e-10 and 1, known in closed form
    gain_x, gain_y = np.diag([1e5, 1e-3, 3.0]), np.diag([1e-4, 2e3, 3.0])
    four = gaussian_informations(channel_covariance(gain_x, gain_y)[None], (3, 3, 3), None)[0][0]
    x, y = 1 + np.diag(gain_x) ** 2, 1 + np.diag(gain_y) ** 2
    expected = [np.log(x).sum(), np.log(y).sum(), np.log(x + y - 1).sum()]
    expected.append(np.log(np.maximum(x, y)).sum())
    np.testing.assert_allclose(four, 0.5 * np.array(expected), rtol=1e-6)


@pytest.mark.parametrize(
    ("covs", "dims", "bartlett", "error", "message"),
    [
        (np.ones((1, 3, 3), np.float32), (1, 1, 1), None, TypeError, "covs must have dtype"),
        (np.ones((1, 3, 4)), (1, 1, 1), None, ValueError, "covs must have shape"),
        (np.ones((1, 3, 3)), (1, 1), None, ValueError, "dims must be"),
        (np.ones((1, 3, 3)), (0, 2, 1), None, ValueError, "at least 1"),
        (np.ones((1, 3, 3)), (1, 1, 1), np.ones((1, 4, 4)), ValueError, "bartlett must have shape"),
    ],
)
def test_the_binding_refuses_what_does_not_fit(
    covs: F64, dims: Any, bartlett: F64 | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        core().gaussian_pid(covs, dims, bartlett, 1)


def test_the_channel_binding_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="more columns than rows"):
        core().gaussian_pid_channels(np.ones((1, 2, 2)), np.ones((1, 1, 1, 2)), None, 1)
    with pytest.raises(ValueError, match="k must have shape"):
        core().gaussian_pid_channels(np.ones((1, 1, 2)), np.ones((1, 1, 1, 3)), None, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("dims", DIMS)
def test_the_device_agrees(dims: Dims) -> None:
    if choose_device("auto") != "cuda":
        with pytest.raises(RuntimeError, match="device='cuda' cannot be had"):
            gaussian_informations(covariances(dims, 1), dims, None, device="cuda")
        return
    covs, a = covariances(dims, 70), draws(sum(dims), 3, 5 * sum(dims))
    r, k = channel_problems(dims, 2, 35)
    pairs = [
        (cuda().gaussian_pid(covs, dims, a), core().gaussian_pid(covs, dims, a, 0)),
        (cuda().gaussian_pid_channels(r, k, a), core().gaussian_pid_channels(r, k, a, 0)),
    ]
    for here, there in pairs:
        for got, expected in zip(here, there, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
