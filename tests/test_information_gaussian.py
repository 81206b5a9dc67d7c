"""GaussianPID: known values, the ways in, settings, results."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from reference.gaussian_pid import (
    channel_covariance,
    information,
    lattice_covariance,
    mean_of_draws,
)
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf, oas
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from nb26stats import NB26StatsWarning
from nb26stats.information import GaussianPID, PIDResult

F64 = NDArray[np.float64]

# dm, dx, dy, k, then I_X, I_Y, I_XY, U_X, U_Y, R, S in bits
KNOWN = """
2 1 1 3 0.01542997 0.01886693 0.03847034 0.01223137 0.01566832 0.00319860 0.00737205
2 2 2 2 0.17717553 0.18924101 0.31060425 0.01505697 0.02712245 0.16211856 0.10630626
3 2 4 5 1.34781382 2.38771419 3.24951294 0.81385842 1.85375879 0.53395540 0.04794033
4 4 4 3 2.64954511 4.09935444 5.18993334 0.96548905 2.41529839 1.68405606 0.12508984
6 5 5 2 3.74462139 3.33148960 5.29134764 1.66349676 1.25036497 2.08112464 0.29636128
2 10 10 4 2.27732458 2.44638589 2.69287045 0.00157799 0.17063930 2.27574659 0.24490658
"""
# g_x, g_y, angle, then U_X, U_Y, R, S in bits
CHANNELS = [
    ((3, 3, 0.0), (1.16096405, 1.16096405, 1.0, 0.13750352)),
    ((3, 3, np.pi / 3), (0.62541892, 0.62541892, 1.53554512, 0.30852931)),
    ((2, 3, np.pi / 6), (0.55869325, 1.05869325, 1.10227079, 0.23378800)),
    ((1, 1, np.pi / 2), (0.0, 0.0, 1.0, 0.58496250)),
    ((3, 1, np.pi / 4), (1.16096405, 0.0, 1.0, 0.36123301)),
]


def _plain(cov: F64, dims: tuple[int, int, int], **kw: Any) -> GaussianPID:
    return GaussianPID(bias=None, device="cpu", **kw).fit_covariance(cov, dims)


def _rows(
    n: int = 300, seed: int = 0, dx: int = 3, dy: int = 2, dm: int = 2
) -> tuple[F64, F64, F64]:
    rng = np.random.default_rng(seed)
    m = rng.standard_normal((n, dm))
    x = m @ rng.standard_normal((dm, dx)) + rng.standard_normal((n, dx))
    y = m @ rng.standard_normal((dm, dy)) + rng.standard_normal((n, dy)) + 0.3 * x[:, :1]
    return x, y, m


def _values(pid: GaussianPID) -> F64:
    return np.array([*pid.mi_, pid.union_, pid.redundancy_, *pid.unique_, pid.synergy_])


@pytest.mark.parametrize("row", KNOWN.split("\n")[1:-1])
def test_e3_closed_form(row: str) -> None:
    dm, dx, dy, k = (int(v) for v in row.split()[:4])
    known = [float(v) for v in row.split()[4:]]
    pid = _plain(lattice_covariance(dm, dx, dy, k), (dx, dy, dm))
    got = [*pid.mi_, *pid.unique_, pid.redundancy_, pid.synergy_]
    np.testing.assert_allclose(got, known, atol=6e-9)
    assert pid.gap_ == 0
    assert pid.converged_
    assert pid.n_iter_ == 0
    assert pid.n_samples_ is None


@pytest.mark.parametrize(("channel", "known"), CHANNELS)
def test_e3_channels(channel: tuple[float, float, float], known: tuple[float, ...]) -> None:
    g_x, g_y, phi = channel
    turn = np.array([[np.cos(phi), np.sin(phi)], [-np.sin(phi), np.cos(phi)]])
    cov = channel_covariance(np.diag([g_x, 1.0]) @ turn, np.diag([1.0, g_y]))
    pid = _plain(cov, (2, 2, 2))
    np.testing.assert_allclose([*pid.unique_, pid.redundancy_, pid.synergy_], known, atol=6e-9)


def test_e3_scalar_formulas() -> None:
    # X = M + N1, Y = N2 with correlated noises: Y only takes noise away from X
    rho = 0.5
    cov = np.array([[2, rho, 1], [rho, 1, 0], [1, 0, 1]])
    pid = _plain(cov, (1, 1, 1))
    np.testing.assert_allclose([*pid.unique_, pid.redundancy_], [0.5, 0, 0], atol=1e-12)
    assert pid.synergy_ == pytest.approx(0.5 * np.log2(1 + 1 / (1 - rho**2)) - 0.5, abs=1e-12)
    rho = 0.3
    cov = np.array([[2, 1 + rho, 1], [1 + rho, 2, 1], [1, 1, 1]])
    pid = _plain(cov, (1, 1, 1))
    np.testing.assert_allclose([*pid.unique_, pid.redundancy_], [0, 0, 0.5], atol=1e-12)
    assert pid.synergy_ == pytest.approx(0.5 * np.log2(1 + 2 / (1 + rho)) - 0.5, abs=1e-12)
    # Y is a noisy copy of X
    cov = np.array([[2, 2, 1], [2, 3, 1], [1, 1, 1.0]])
    pid = _plain(cov, (1, 1, 1))
    got = [*pid.unique_, pid.redundancy_, pid.synergy_]
    np.testing.assert_allclose(got, [0.20751875, 0, 0.29248125, 0], atol=6e-9)


def test_measures() -> None:
    cov, dims = lattice_covariance(4, 4, 4, 3), (4, 4, 4)
    broja, mmi = _plain(cov, dims), _plain(cov, dims, measure="mmi")
    np.testing.assert_array_equal(broja.mi_, mmi.mi_)
    assert mmi.redundancy_ == pytest.approx(min(mmi.mi_[:2]), abs=1e-12)
    assert min(mmi.unique_) == pytest.approx(0, abs=1e-12)
    assert broja.redundancy_ < mmi.redundancy_ - 0.5
    np.testing.assert_allclose(
        _plain(lattice_covariance(1, 3, 4, 2), (3, 4, 1)).redundancy_,
        _plain(lattice_covariance(1, 3, 4, 2), (3, 4, 1), measure="mmi").redundancy_,
        atol=1e-12,
    )


def test_base_scales_everything() -> None:
    cov, dims = lattice_covariance(2, 2, 2, 2), (2, 2, 2)
    bits, nats = _plain(cov, dims), _plain(cov, dims, base=np.e)
    np.testing.assert_allclose(_values(bits) * np.log(2), _values(nats), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("bias", [None, "analytic", "gpid", "bootstrap"])
def test_fit_is_fit_covariance_of_the_sample_covariance(bias: str | None) -> None:
    x, y, m = _rows()
    kw: dict[str, Any] = {"bias": bias, "n_bootstrap": 5, "random_state": 3}
    pid = GaussianPID(**kw).fit([x, y], m)
    cov = np.cov(np.hstack([x, y, m]).T)
    other = GaussianPID(**kw).fit_covariance(cov, (3, 2, 2), n_samples=300)
    np.testing.assert_allclose(_values(pid), _values(other), atol=1e-10)
    assert pid.n_samples_ == other.n_samples_ == 300
    assert pid.seed_ == 3


def test_plug_in_is_the_oracle() -> None:
    x, y, m = _rows()
    cov = np.cov(np.hstack([x, y, m]).T)
    pid = GaussianPID(bias=None).fit([x, y], m)
    want = information(cov, (3, 2, 2)) / np.log(2)
    np.testing.assert_allclose([*pid.mi_, pid.union_], want, atol=1e-12)


@pytest.mark.parametrize("bias", ["analytic", "gpid", "bootstrap"])
@pytest.mark.parametrize("measure", ["broja", "mmi"])
def test_fit_many_is_a_loop(bias: str, measure: str) -> None:
    covs = np.stack([lattice_covariance(2, 3, 2, k) for k in (2, 3, 4, 5, 6)])
    pid = GaussianPID(measure, bias=bias, n_bootstrap=4, random_state=1)
    table = pid.fit_many(covs, (3, 2, 2), n_samples=90)
    assert list(table.columns) == [
        "redundancy", "unique_1", "unique_2", "synergy", "union", "mi_1", "mi_2", "mi_12",
        "gap", "converged",
    ]  # fmt: skip
    assert table["converged"].all()
    assert (table["gap"] == 0).all()
    for cov, row in zip(covs, table.to_dict("records"), strict=True):
        one = clone(pid).fit_covariance(cov, (3, 2, 2), n_samples=90)
        got = [row[k] for k in ("mi_1", "mi_2", "mi_12", "union", "redundancy", "unique_1")]
        np.testing.assert_allclose(got, _values(one)[:6], atol=1e-12)
        assert row["unique_2"] == pytest.approx(one.unique_[1], abs=1e-12)
        assert row["synergy"] == pytest.approx(one.synergy_, abs=1e-12)


def test_fit_many_takes_any_layout() -> None:
    covs = np.stack([lattice_covariance(2, 3, 2, k) for k in (2, 3, 4)])
    want = GaussianPID(bias=None).fit_many(covs, (3, 2, 2))
    for same in (np.asfortranarray(covs), covs.tolist(), covs[::-1][::-1]):
        got = GaussianPID(bias=None).fit_many(same, (3, 2, 2))
        pd.testing.assert_frame_equal(got, want, check_exact=True)


def test_fit_many_of_nothing() -> None:
    assert len(GaussianPID(bias=None).fit_many(np.empty((0, 3, 3)), (1, 1, 1))) == 0
    pid = GaussianPID(bias=None, pca=1)
    assert len(pid.fit_many(np.empty((0, 5, 5)), (2, 2, 1))) == 0


def test_bootstrap_takes_off_the_mean_excess_of_the_draws() -> None:
    cov, dims, nu, seed = lattice_covariance(2, 3, 2, 2), (3, 2, 2), 99, 11
    factors = []
    for b in range(3):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1, b)))
        a = np.diag(np.sqrt(rng.chisquare(nu - np.arange(7))))
        a[np.tril_indices(7, -1)] = rng.standard_normal(21)
        factors.append(a / np.sqrt(nu))
    plug_in = information(cov, dims)
    want = 2 * plug_in - mean_of_draws(cov, dims, np.array(factors))
    pid = GaussianPID(n_bootstrap=3, base=np.e, random_state=seed)
    pid.fit_covariance(cov, dims, n_samples=nu + 1)
    np.testing.assert_allclose([*pid.mi_, pid.union_], want, atol=1e-12)


def test_seed_decides() -> None:
    x, y, m = _rows()
    first = GaussianPID(n_bootstrap=3, random_state=5).fit([x, y], m)
    again = GaussianPID(n_bootstrap=3, random_state=5.0).fit([x, y], m)
    other = GaussianPID(n_bootstrap=3, random_state=6).fit([x, y], m)
    np.testing.assert_array_equal(_values(first), _values(again))
    assert not np.array_equal(_values(first), _values(other))
    fresh = GaussianPID(n_bootstrap=3).fit([x, y], m)
    same = GaussianPID(n_bootstrap=3, random_state=fresh.seed_).fit([x, y], m)
    np.testing.assert_array_equal(_values(fresh), _values(same))
    drawn = GaussianPID(n_bootstrap=3, random_state=np.random.default_rng(0)).fit([x, y], m)
    assert drawn.seed_ == int(np.random.default_rng(0).integers(0, 2**64, dtype=np.uint64))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_threads_change_no_bit(n_threads: int) -> None:
    covs = np.stack([lattice_covariance(3, 4, 2, k) for k in range(2, 6)] * 7)
    kw: dict[str, Any] = {"n_bootstrap": 3, "random_state": 0, "device": "cpu"}
    want = GaussianPID(**kw).fit_many(covs, (4, 2, 3), n_samples=200)
    got = GaussianPID(n_threads=n_threads, **kw).fit_many(covs, (4, 2, 3), n_samples=200)
    pd.testing.assert_frame_equal(got, want, check_exact=True)


def test_any_array_layout_and_frame_and_single_columns() -> None:
    x, y, m = _rows(dx=2, dy=1, dm=1)
    want = _values(GaussianPID(bias=None).fit([x, y], m))
    got = GaussianPID(bias=None).fit((np.asfortranarray(x), y[:, 0]), m[:, 0])
    np.testing.assert_array_equal(_values(got), want)
    frame = pd.DataFrame(x, columns=["a", "b"])
    got = GaussianPID(bias=None).fit([frame, pd.Series(y[:, 0])], pd.DataFrame(m))
    np.testing.assert_array_equal(_values(got), want)
    got = GaussianPID(bias=None).fit({"v1": x, "it": y}, m)
    np.testing.assert_array_equal(_values(got), want)
    got = GaussianPID(bias=None).fit([x.tolist(), y.tolist()], m.tolist())
    np.testing.assert_array_equal(_values(got), want)


def test_whole_numbers_as_doubles() -> None:
    x, y, m = _rows()
    kw: dict[str, Any] = {"random_state": 2.0, "n_threads": 1.0, "n_bootstrap": 3.0, "pca": 2.0}
    got = GaussianPID(**kw).fit([x, y], m)
    want = GaussianPID(random_state=2, n_threads=1, n_bootstrap=3, pca=2).fit([x, y], m)
    np.testing.assert_array_equal(_values(got), _values(want))
    cov = lattice_covariance(2, 2, 2, 2)
    dims: Any = [2.0, 2.0, 2.0]
    got = GaussianPID("broja", bias=None).fit_covariance(cov, dims)
    np.testing.assert_array_equal(_values(got), _values(_plain(cov, (2, 2, 2))))


def test_inputs_are_left_alone() -> None:
    x, y, m = _rows()
    before = x.copy(), y.copy(), m.copy()
    GaussianPID(pca=2, copula=True, regularization=0.1, n_bootstrap=2).fit([x, y], m)
    for now, then in zip((x, y, m), before, strict=True):
        np.testing.assert_array_equal(now, then)
    covs = np.stack([lattice_covariance(2, 2, 2, k) for k in (2, 3)])
    kept = covs.copy()
    GaussianPID(bias=None, regularization=0.2, pca=1).fit_many(covs, (2, 2, 2))
    np.testing.assert_array_equal(covs, kept)


def test_pca_is_the_first_components() -> None:
    x, y, m = _rows(dx=6, dy=5)
    x *= np.arange(1, 7)
    got = GaussianPID(bias=None, pca=3).fit([x, y], m)
    scores = [PCA(3).fit_transform(s) for s in (x, y)]
    want = GaussianPID(bias=None).fit(scores, m)
    np.testing.assert_allclose(_values(got), _values(want), atol=1e-10)
    cov = np.cov(np.hstack([x, y, m]).T)
    by_cov = _plain(cov, (6, 5, 2), pca=3)
    np.testing.assert_allclose(_values(by_cov), _values(want), atol=1e-10)
    # more components than columns are all of them
    every = GaussianPID(bias=None, pca=50).fit([x, y], m)
    np.testing.assert_allclose(
        _values(every), _values(GaussianPID(bias=None).fit([x, y], m)), atol=1e-10
    )


def test_pca_leaves_out_axes_without_variance() -> None:
    x, y, m = _rows()
    doubled = np.hstack([x, x @ [[1.0], [2.0], [3.0]]])
    got = GaussianPID(bias=None, pca=4).fit([doubled, y], m)
    np.testing.assert_allclose(
        _values(got), _values(GaussianPID(bias=None).fit([x, y], m)), atol=1e-9
    )
    cov = np.cov(np.hstack([doubled, y, m]).T)
    with pytest.raises(ValueError, match="pca=4 is more than the number of components"):
        _plain(cov, (4, 2, 2), pca=4)


def test_pca_makes_wide_populations_possible() -> None:
    x, y, m = _rows(n=80, dx=100, dy=90)
    with pytest.warns(NB26StatsWarning, match="80 trials are few for 12 variables"):
        pid = GaussianPID(pca=5, random_state=0).fit([x, y], m)
    assert pid.mi_[2] > 0.5


def test_copula_is_normal_scores() -> None:
    x, y, m = _rows()
    got = GaussianPID(bias=None, copula=True).fit([np.exp(x), y**3], m)
    scores = [ndtri(rankdata(s, axis=0) / 301) for s in (x, y, m)]
    want = GaussianPID(bias=None).fit(scores[:2], scores[2])
    np.testing.assert_allclose(_values(got), _values(want), atol=1e-12)


@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
def test_regularization_by_the_data(name: str) -> None:
    x, y, m = _rows(n=120)
    z = np.hstack([x, y, m])
    z = (z - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    weight = (ledoit_wolf if name == "ledoit-wolf" else oas)(z, assume_centered=True)[1]
    got = GaussianPID(bias=None, regularization=name).fit([x, y], m)
    want = GaussianPID(bias=None, regularization=weight).fit([x, y], m)
    assert 0 < weight < 1
    np.testing.assert_array_equal(_values(got), _values(want))


def test_regularization_by_weight() -> None:
    x, y, m = _rows()
    corr = np.corrcoef(np.hstack([x, y, m]).T)
    shrunk = 0.75 * corr + 0.25 * np.eye(7)
    got = GaussianPID(bias=None, regularization=0.25).fit([x, y], m)
    np.testing.assert_allclose(_values(got), _values(_plain(shrunk, (3, 2, 2))), atol=1e-12)
    cov = np.cov(np.hstack([x, y, m]).T)
    got = _plain(cov, (3, 2, 2), regularization=0.25)
    np.testing.assert_allclose(_values(got), _values(_plain(shrunk, (3, 2, 2))), atol=1e-12)
    nothing = GaussianPID(bias="analytic", regularization=1).fit([x, y], m)
    assert nothing.union_ == 0
    assert nothing.mi_[2] < 0


def test_regularization_allows_more_variables_than_trials() -> None:
    x, y, m = _rows(n=40, dx=30, dy=20)
    with pytest.warns(
        NB26StatsWarning, match=r"40 trials are few for 52 variables \(fewer than 10"
    ):
        pid = GaussianPID(bias=None, regularization="ledoit-wolf").fit([x, y], m)
    assert pid.mi_[2] > 0.1


def test_clip_puts_the_union_between_its_bounds() -> None:
    rng = np.random.default_rng(1)
    m = rng.standard_normal((60, 2))
    x, y = m @ [[1.0, 0], [0, 0]] + rng.standard_normal((60, 2)), rng.standard_normal((60, 2))
    unclipped, negative = [], 0
    for seed in range(20):
        kw: dict[str, Any] = {"n_bootstrap": 2, "random_state": seed}
        free = GaussianPID(**kw).fit([x, y], m)
        clipped = GaussianPID(clip=True, **kw).fit([x, y], m)
        np.testing.assert_array_equal(free.mi_, clipped.mi_)
        low, high = max(free.mi_[:2]), min(free.mi_[0] + free.mi_[1], free.mi_[2])
        negative += not low <= free.union_ <= high
        unclipped.append(free.union_)
        assert clipped.union_ == pytest.approx(np.clip(free.union_, low, high), abs=1e-12)
    assert negative > 0


def test_result_and_fields() -> None:
    x, y, m = _rows()
    pid = GaussianPID(random_state=0, n_bootstrap=3).fit([x, y], m)
    result = pid.result()
    assert isinstance(result, PIDResult)
    assert result.measure == "broja"
    assert result.base == 2
    assert result.n_samples == 300
    assert list(pid.atoms_.index) == ["redundancy", "unique_1", "unique_2", "synergy"]
    assert pid.atoms_.sum() == pytest.approx(pid.mi_[2], abs=1e-10)
    assert "bits" in result.summary()
    assert result.to_r()["synergy"] == pid.synergy_
    again = pickle.loads(pickle.dumps(pid))
    np.testing.assert_array_equal(_values(again), _values(pid))
    with pytest.raises(NotFittedError):
        GaussianPID().result()


def test_clone_keeps_parameters_as_they_are() -> None:
    pid = GaussianPID("mmi", pca=3, copula=True, regularization=0.5, bias="gpid", n_bootstrap=7,
                      clip=True, base=np.e, device="cpu", n_threads=2, random_state=9)  # fmt: skip
    assert clone(pid).get_params() == pid.get_params()
    assert clone(pid).set_params(measure="broja").measure == "broja"
