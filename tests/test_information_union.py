"""Union information of several Gaussian sources, and the deficiency measure."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from reference.gaussian_pid import channel_covariance, information
from scipy.linalg import block_diag

import nb26stats
from nb26stats.information import GaussianPID, UnionResult, union_information
from nb26stats.information._delta import deficiency, delta_unions
from nb26stats.information._maxdet import largest_below

F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
LN2 = math.log(2)


def table_covariance(dm: int, sizes: tuple[int, ...], k: int) -> F64:
    """Covariance of a published formula, the target first."""
    n = dm + sum(sizes)
    i, j = np.arange(n)[:, None], np.arange(2 * n + 1)
    a = ((3 * i**2 + 5 * j + k * i * j + 1) % 7) - 3.0
    return a @ a.T / (2 * n + 1) + 0.5 * np.eye(n)


def posteriors(cov: F64, dm: int, sizes: tuple[int, ...]) -> tuple[list[F64], F64]:
    """Posterior covariances of the white target given each source, and given all."""
    low = np.linalg.cholesky(cov[:dm, :dm])
    edges = dm + np.cumsum([0, *sizes])

    def given(index: F64) -> F64:
        cross = np.linalg.solve(low, cov[:dm, index])
        out = np.eye(dm) - cross @ np.linalg.solve(cov[np.ix_(index, index)], cross.T)
        return 0.5 * (out + out.T)

    each = [given(np.arange(a, b)) for a, b in itertools.pairwise(edges)]
    return each, given(np.arange(dm, len(cov)))


def random_posteriors(rng: np.random.Generator, k: int, dm: int, spread: float) -> F64:
    gains = rng.standard_normal((k, dm + 1, dm)) * np.exp(
        spread * rng.standard_normal((k, dm + 1, 1))
    )
    return np.linalg.inv(np.eye(dm) + np.swapaxes(gains, 1, 2) @ gains)


E4 = [
    (2, (2, 2, 2), 3, 1.5456424309, 1.6183072806),
    (3, (3, 3, 3), 2, 2.6208882709, 2.6746210258),
    (4, (3, 4, 5), 5, 3.6610424732, 3.9917139410),
]


@pytest.mark.parametrize(("dm", "sizes", "k", "value", "joint"), E4)
def test_e4_union_of_three(
    dm: int, sizes: tuple[int, ...], k: int, value: float, joint: float
) -> None:
    cov = table_covariance(dm, sizes, k)
    each, _ = posteriors(cov, dm, sizes)
    result = union_information(each)
    assert result.value == pytest.approx(value, abs=1e-8)
    assert result.gap < 1e-10
    assert math.isnan(result.joint)

    # trials whose covariance is this one to rounding
    rng = np.random.default_rng(0)
    z = rng.standard_normal((400, len(cov)))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / 399)).T @ np.linalg.cholesky(cov).T
    edges = dm + np.cumsum([0, *sizes])
    sources = [z[:, a:b] for a, b in itertools.pairwise(edges)]
    data = union_information(sources=sources, target=z[:, :dm])
    assert data.value == pytest.approx(value, abs=1e-8)
    assert data.joint == pytest.approx(joint, abs=1e-8)
    assert data.synergy == data.joint - data.value


@pytest.mark.parametrize("dm", [1, 2, 5, 9])
@pytest.mark.parametrize("spread", [0.3, 1.5])
def test_e4_the_barrier_on_two_sources_is_the_closed_form(dm: int, spread: float) -> None:
    for seed in range(5):
        covs = random_posteriors(np.random.default_rng(seed), 2, dm, spread)
        best = largest_below(covs)
        assert best.gap < 1e-10 * LN2
        closed = union_information(covs, base=math.e).value
        assert -0.5 * best.log_det == pytest.approx(closed, abs=1e-9)
        # it is feasible, so never better
        assert -0.5 * best.log_det >= closed - 1e-11 * max(1.0, closed)


@pytest.mark.parametrize(("dm", "k"), [(1, 3), (3, 4), (6, 3), (12, 5)])
def test_more_than_two_sources(dm: int, k: int) -> None:
    covs = random_posteriors(np.random.default_rng(dm), k, dm, 1.0)
    result = union_information(covs)
    assert 0 <= result.gap < 1e-10
    informations = -0.5 * np.linalg.slogdet(covs)[1] / LN2
    assert informations.max() - 1e-10 <= result.value <= informations.sum()
    # a copy, and a source that knows less than another, add nothing; the order does not matter
    weaker = 0.5 * (covs[0] + np.eye(dm))
    more = union_information([*covs[::-1], covs[1], weaker])
    assert more.value == pytest.approx(result.value, abs=2e-10)
    assert union_information(covs[:-1]).value <= result.value + 2e-10
    if dm == 1:
        assert result.value == pytest.approx(informations.max(), abs=1e-10)
    # two independent systems add up
    others = random_posteriors(np.random.default_rng(99), k, 2, 1.0)
    both = [block_diag(a, b) for a, b in zip(covs, others, strict=True)]
    added = result.value + union_information(others).value
    assert union_information(both).value == pytest.approx(added, abs=1e-9)


def test_two_sources_of_data_are_those_of_the_decomposition() -> None:
    rng = np.random.default_rng(3)
    target = rng.standard_normal((300, 3))
    x, y = (target @ rng.standard_normal((3, d)) + rng.standard_normal((300, d)) for d in (4, 2))
    result = union_information(sources=[x, y], target=target)
    pid = GaussianPID(bias=None).fit([x, y], target)
    assert result.value == pytest.approx(pid.union_, abs=1e-12)
    assert result.joint == pytest.approx(pid.mi_[2], abs=1e-12)
    assert result.gap == 0
    nats = union_information(sources={"v1": x, "it": y}, target=target, base=math.e)
    assert nats.value == pytest.approx(result.value * LN2, rel=1e-12)


def test_result_forms() -> None:
    result = UnionResult(1.5, 2.0, 0.0)
    frame = result.to_frame().set_index("quantity")["value"]
    assert frame.to_dict() == {"union": 1.5, "joint": 2.0, "synergy": 0.5, "gap": 0.0}
    assert "bits" in result.summary()
    assert "1.500000" in result._repr_html_()
    assert result.to_r() == {"value": 1.5, "joint": 2.0, "gap": 0.0, "base": 2.0}
    assert pickle.loads(pickle.dumps(result)).value == 1.5
    with nb26stats.plotting.style(offscreen=True):
        ax = result.plot(color="k")
        assert [t.get_text() for t in ax.get_yticklabels()] == ["union", "synergy"]
        alone = UnionResult(1.5, math.nan, 0.0).plot()
        assert [t.get_text() for t in alone.get_yticklabels()] == ["union"]


ONE, TWO = np.array([[0.5]]), np.diag([0.5, 0.9])


@pytest.mark.parametrize(
    ("covs", "error", "message"),
    [
        ([ONE], ValueError, "two or more matrices, got 1"),
        ([ONE, TWO], ValueError, r"covs\[1\] has shape \(2, 2\)"),
        ([ONE, [[-0.1]]], ValueError, r"covs\[1\] is not positive definite"),
        ([ONE, [[1.2]]], ValueError, "eigenvalue 1.2 above 1"),
        ([TWO, [[0.5, 0.2], [0.1, 0.5]]], ValueError, r"covs\[1\] is not symmetric"),
        ([TWO, np.ones((2, 3))], ValueError, "must be square"),
        ([np.ones((9, 2)), np.ones((9, 3))], ValueError, "data go in as sources= and target="),
        ([ONE, [[np.nan]]], ValueError, "NaN"),
        ([ONE, [["a"]]], TypeError, "real numbers"),
        (3, TypeError, "list of matrices"),
        ([np.eye(31) / 2] * 3, ValueError, "at most 30"),
    ],
)
def test_refused_posteriors(covs: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        union_information(covs)  # type: ignore[arg-type]


def test_refused_data() -> None:
    rng = np.random.default_rng(0)
    x, y, m = (rng.standard_normal((40, 2)) for _ in range(3))
    with pytest.raises(TypeError, match="either covs, or sources and target"):
        union_information()
    with pytest.raises(TypeError, match="either covs, or sources and target"):
        union_information([ONE, ONE], sources=[x, y], target=m)
    with pytest.raises(ValueError, match="two or more arrays"):
        union_information(sources=[x], target=m)
    with pytest.raises(ValueError, match="40 trials and target has 39"):
        union_information(sources=[x, y], target=m[:39])
    with pytest.raises(ValueError, match="6 trials are too few for 6 variables"):
        union_information(sources=[x[:6], y[:6]], target=m[:6])
    with (
        pytest.warns(nb26stats.NB26StatsWarning, match="fewer than 10 each"),
        pytest.raises(ValueError, match=r"infinite information: .* source 2"),
    ):
        union_information(sources=[x, np.c_[y[:, :1], m[:, 0]]], target=m)
    with (
        pytest.warns(nb26stats.NB26StatsWarning, match="fewer than 10 each"),
        pytest.raises(ValueError, match="source 1 is a linear function"),
    ):
        union_information(sources=[np.c_[x[:, 0], x[:, 0]], y], target=m)
    with pytest.raises(ValueError, match=r"base=1 must be greater than 1"):
        union_information([ONE, ONE], base=1)


def test_deficiency_of_one_variable_by_search() -> None:
    h_x, h_y = 1.7, 0.8
    t = np.linspace(-3, 3, 2001)[:, None]
    v = np.linspace(0.02, 6, 3000)
    searched = 0.5 * ((1 + (h_x - t * h_y) ** 2) / v - 1 + np.log(v))
    least = np.where(v >= t**2, searched, np.inf).min()
    found = deficiency(np.array([[h_x]]), np.array([[h_y]]))
    assert 0 <= least - found < 1e-4
    # the better channel simulates the worse one
    assert deficiency(np.array([[h_y]]), np.array([[h_x]])) == pytest.approx(0, abs=1e-9)


def test_deficiency_is_zero_exactly_for_degraded_channels() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        h_y = rng.standard_normal((4, 3))
        t = rng.standard_normal((3, 4))
        t *= 0.9 / np.linalg.norm(t, 2)
        assert deficiency(t @ h_y, h_y) == pytest.approx(0, abs=1e-8)
        stronger = 3.0 * rng.standard_normal((4, 3))
        assert deficiency(stronger, 0.3 * h_y) > 0.01


def test_deficiency_is_no_more_than_any_simulation() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        h_x, h_y = rng.standard_normal((3, 2)), rng.standard_normal((4, 2))
        found = deficiency(h_x, h_y)
        for _ in range(50):
            t = 0.7 * rng.standard_normal((3, 4))
            noise = rng.standard_normal((3, 3))
            v = t @ t.T + noise @ noise.T
            rest = np.eye(3) + (h_x - t @ h_y) @ (h_x - t @ h_y).T
            value = 0.5 * (np.trace(np.linalg.solve(v, rest)) - 3 + np.linalg.slogdet(v)[1])
            assert value >= found - 1e-9


def test_delta_of_the_decomposition() -> None:
    rng = np.random.default_rng(4)
    h_x, h_y = rng.standard_normal((2, 3, 2))
    cov = channel_covariance(h_x, h_y)
    pid = GaussianPID("delta", bias=None, base=math.e).fit_covariance(cov, (3, 3, 2), n_samples=500)
    four = information(cov, (3, 3, 2))
    redundancy = min(four[0] - deficiency(h_x, h_y), four[1] - deficiency(h_y, h_x))
    assert pid.redundancy_ == pytest.approx(redundancy, abs=1e-7)
    assert pid.mi_ == pytest.approx(four[:3], abs=1e-10)
    # what is unique by the couplings is so by the deficiency, and the other way round
    h_weak = 0.5 * h_x
    weak = GaussianPID("delta", bias=None).fit_covariance(
        channel_covariance(h_x, h_weak), (3, 3, 2), n_samples=500
    )
    assert weak.unique_[1] == pytest.approx(0, abs=1e-7)
    union, mean = delta_unions(cov[None], (3, 3, 2), four[None], np.eye(8)[None])
    assert mean == pytest.approx(union, abs=1e-7)
    fitted = GaussianPID("delta", n_bootstrap=2, random_state=0).fit_covariance(
        cov, (3, 3, 2), n_samples=50_000
    )
    assert fitted.redundancy_ == pytest.approx(pid.redundancy_ / LN2, abs=0.02)
    with pytest.raises(ValueError, match="not defined for measure='delta'"):
        GaussianPID("delta", bias="analytic").fit_covariance(cov, (3, 3, 2), n_samples=500)
