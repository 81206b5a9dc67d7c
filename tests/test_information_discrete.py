"""DiscretePID: known tables, input of every kind, results, bias corrections."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.broja import ATOMS, TABLES
from sklearn.base import clone

from nb26stats import NB26StatsWarning, plotting
from nb26stats.information import DiscretePID, PIDResult, _maxent

# redundancy by I_min, MMI and I_ccs in bits
REDUNDANCY: dict[str, tuple[float, float, float]] = {
    "XOR": (0, 0, 0),
    "AND": (0.311278, 0.311278, 0.103759),
    "COPY": (1, 1, 0),
    "UNQ": (0, 0, 0),
    "RDN": (1, 1, 1),
    "RDNXOR": (1, 1, 1),
    "SUM": (0.5, 0.5, 0),
    "SUM3": (0.612197, 0.612197, 0),
    "PROD3": (0.601101, 0.601101, 0.094222),
    "MAX3": (0.517225, 0.517225, 0.140339),
    "PWUNQ": (0.5, 0.5, 0),
    "RDUCED_OR": (0.311278, 0.311278, 0),
    "IMPRDN": (0.989590, 0.989590, 0.997559),
    "BSC(.1,.2,.5)": (0.278072, 0.278072, 0.407230),
    "BSC(.05,.3,.3)": (0.100163, 0.100163, 0.246221),
    "T222": (0.023810, 0.023810, 0.027980),
    "T333": (0.003369, 0.003369, 0.002506),
    "T444": (0.005117, 0.014147, 0.001821),
    "T234": (0.002902, 0.002902, 0.003255),
    "Q322": (0.018788, 0.026635, 0.046210),
    "Q333": (0.111833, 0.185187, 0.006526),
    "Q444": (0.104081, 0.109900, 0.030905),
}


def draw(n: int, seed: int = 0, name: str = "T333") -> tuple[Any, Any, Any]:
    """Return n samples of a named table."""
    p = TABLES[name]
    flat = np.random.default_rng(seed).choice(p.size, size=n, p=p.ravel())
    return np.unravel_index(flat, p.shape)


@pytest.mark.parametrize("name", TABLES)
def test_e1_broja_of_known_tables(name: str) -> None:
    est = DiscretePID().fit_pmf(TABLES[name])
    np.testing.assert_allclose(est.atoms_, ATOMS[name], rtol=0, atol=1e-7)
    assert est.converged_
    assert est.gap_ < 1e-7
    assert est.n_samples_ is None


@pytest.mark.parametrize("name", REDUNDANCY)
@pytest.mark.parametrize("measure", ["imin", "mmi", "iccs"])
def test_e1_other_redundancies_of_known_tables(name: str, measure: str) -> None:
    est = DiscretePID(measure).fit_pmf(TABLES[name])
    expected = REDUNDANCY[name][["imin", "mmi", "iccs"].index(measure)]
    atol = {"imin": 1e-6, "mmi": 1e-6, "iccs": 1e-5}[measure]
    np.testing.assert_allclose(est.redundancy_, expected, rtol=0, atol=atol)
    r, (u1, u2), s = est.redundancy_, est.unique_, est.synergy_
    sums = [r + u1, r + u2, r + u1 + u2 + s]
    np.testing.assert_allclose(sums, est.mi_, rtol=0, atol=1e-12)
    assert est.gap_ == 0
    assert est.converged_


@pytest.mark.parametrize("measure", ["broja", "imin", "mmi", "iccs"])
def test_samples_give_what_their_histogram_gives(measure: str) -> None:
    x, y, s = draw(2000)
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, (x, y, s), 1)
    of_samples = DiscretePID(measure).fit([x, y], s)
    of_table = DiscretePID(measure).fit_pmf(counts / counts.sum())
    np.testing.assert_allclose(of_samples.atoms_, of_table.atoms_, rtol=0, atol=1e-12)
    assert of_samples.n_samples_ == 2000


def test_symbols_of_every_kind() -> None:
    x, y, s = draw(500, seed=1)
    letters = np.array(["left", "none", "right"])
    reference = DiscretePID().fit([x, y], s).atoms_
    kinds: list[tuple[Any, Any, Any]] = [
        (x.astype(float), y.astype(np.uint8), s.tolist()),
        (letters[x], pd.Series(letters[y]), pd.Categorical(letters[s])),
        (pd.Series(letters[x], dtype="category"), pd.Series(y, dtype="Int64"), letters[s].tolist()),
        (letters[x].astype(object), y.astype(object), pd.Index(s)),
        (pd.Series(letters[x], dtype="string"), y * 1e17, s - 1000),
        (np.asfortranarray(x[:, None]), pd.DataFrame({"u": y}), s.astype(np.uint64)),
        (np.array([b"\xff", b"\xfe", b"a"])[x], y.astype(np.float32), s.astype(np.int8)),
        (x - 2**62, y * 2**40, np.ma.masked_array(s)),
    ]
    for a, b, target in kinds:
        found = DiscretePID().fit([a, b], target).atoms_
        np.testing.assert_allclose(found, reference, rtol=0, atol=1e-9)
    spikes = x == 1
    a = DiscretePID("mmi").fit([spikes, y], s).mi_
    b = DiscretePID("mmi").fit({"V1": spikes.astype(int), "IT": y}, s).mi_
    c = DiscretePID("mmi").fit((spikes.astype(object), y), s).mi_
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


def test_columns_of_a_matrix_are_coded_jointly() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (800, 2)), rng.integers(0, 3, 800)
    s = x[:, 0] ^ x[:, 1] ^ (y > 1)
    joint = DiscretePID().fit([x, y], s)
    coded = DiscretePID().fit([2 * x[:, 0] + x[:, 1], y], s)
    np.testing.assert_allclose(joint.atoms_, coded.atoms_, rtol=0, atol=1e-12)
    frame = pd.DataFrame({"a": x[:, 0].astype(float), "b": np.array(["n", "y"])[x[:, 1]]})
    np.testing.assert_array_equal(DiscretePID().fit([frame, y], s).atoms_, joint.atoms_)
    # far more combinations than an integer of 64 bits could number
    wide = np.repeat(x, 40, axis=1)
    np.testing.assert_array_equal(DiscretePID().fit([wide, y], s).atoms_, joint.atoms_)


def test_whole_numbers_may_be_doubles_in_parameters() -> None:
    x, y, s = draw(300, seed=3)
    r: Any = DiscretePID(
        bias="shuffle", n_permutations=5.0, max_iter=100.0, n_threads=1.0, random_state=7.0
    )
    same = DiscretePID(bias="shuffle", n_permutations=5, n_threads=1, random_state=7)
    np.testing.assert_array_equal(r.fit([x, y], s).atoms_, same.fit([x, y], s).atoms_)
    assert r.seed_ == 7
    assert r.get_params()["n_permutations"] == 5.0


def test_base_is_the_unit() -> None:
    bits = DiscretePID().fit_pmf(TABLES["T444"])
    nats = DiscretePID(base=np.e).fit_pmf(TABLES["T444"])
    np.testing.assert_allclose(nats.atoms_, bits.atoms_ * np.log(2), rtol=1e-12)
    np.testing.assert_allclose(nats.gap_, bits.gap_ * np.log(2), rtol=1e-12)
    assert "nats" in nats.result().summary()


def test_parameters_set_after_a_fit_change_nothing_fitted() -> None:
    x, y, s = draw(400, seed=6)
    for sources in ([x > 1, y], [x > 1, y > 0, y > 1]):
        est = DiscretePID("mmi").fit(sources, s)
        before = est.result().to_r()
        est.set_params(base=np.e, measure="imin")
        assert est.result().to_r() == before
        assert est.lattice_.name == "mmi"


def test_fit_many_is_the_loop() -> None:
    rng = np.random.default_rng(4)
    pmfs = rng.dirichlet(np.full(24, 0.3), size=40).reshape(40, 2, 3, 4)
    for measure in ("broja", "imin", "mmi", "iccs"):
        est = DiscretePID(measure)
        frame = est.fit_many(pmfs)
        assert list(frame) == [
            *("redundancy", "unique_1", "unique_2", "synergy", "union"),
            *("mi_1", "mi_2", "mi_12", "gap", "converged"),
        ]
        assert not hasattr(est, "redundancy_")
        one = [DiscretePID(measure).fit_pmf(p) for p in pmfs]
        atoms = np.array([e.atoms_ for e in one])
        np.testing.assert_allclose(frame.iloc[:, :4], atoms, rtol=0, atol=1e-12)
        np.testing.assert_allclose(frame["union"], [e.union_ for e in one], rtol=0, atol=1e-12)
        np.testing.assert_allclose(frame.iloc[:, 5:8], [e.mi_ for e in one], rtol=0, atol=1e-12)
        assert frame["converged"].dtype == bool


def test_the_same_bits_for_any_number_of_threads() -> None:
    x, y, s = draw(400, seed=5)
    found = [
        DiscretePID(bias="shuffle", n_permutations=30, n_threads=k, random_state=1)
        .fit([x, y], s)
        .atoms_
        for k in (1, 2, 4)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_pickles_and_clones() -> None:
    x, y, s = draw(400, seed=6)
    est = DiscretePID("imin", bias="qe", random_state=3).fit([x, y], s)
    again = pickle.loads(pickle.dumps(est))
    pd.testing.assert_series_equal(again.atoms_, est.atoms_)
    assert clone(est).get_params() == est.get_params()
    assert all(
        isinstance(v, (float, int, bool, str, tuple, np.ndarray, type(None)))
        for v in vars(est).values()
    )
    lattice = DiscretePID("mmi").fit([x, y, (x * y) > 1], s)
    pd.testing.assert_series_equal(pickle.loads(pickle.dumps(lattice)).lattice_, lattice.lattice_)
    assert isinstance(pickle.loads(pickle.dumps(est.result())), PIDResult)


def test_result_as_frame_text_and_plain_lists() -> None:
    est = DiscretePID().fit_pmf(TABLES["AND"])
    result = est.result()
    frame = result.to_frame()
    assert frame["atom"].tolist() == [
        *("mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy")
    ]
    np.testing.assert_array_equal(frame["value"], [*est.mi_, *est.atoms_])
    text = result.summary()
    assert "0.311278" in text
    assert "bits" in text
    assert "-0.000000" not in text
    assert result._repr_html_().startswith("<pre>")
    plain = result.to_r()
    assert plain["unique"] == {"data": est.unique_.tolist(), "dim": [2]}
    assert plain["lattice"] is None
    with pytest.raises(AttributeError):
        result.gap = 1.0  # type: ignore[misc]


def test_an_open_solution_is_said() -> None:
    closed = DiscretePID().fit_pmf(TABLES["AND"]).result()
    open_ = dataclasses.replace(closed, converged=False, gap=0.01)
    assert "* not converged: the union may be 0.01 bits too large" in open_.summary()
    assert "not converged" not in closed.summary()


def test_proportional_fitting_alone_is_close(monkeypatch: pytest.MonkeyPatch) -> None:
    # so near the edge of what the marginals allow, a thousand sweeps are not enough
    p = (1 - 1e-6) * TABLES["MAX3"] + 1e-6 / TABLES["MAX3"].size
    exact = _maxent.largest_entropy(p)
    monkeypatch.setattr(_maxent, "LARGEST_SYSTEM", 0)
    fitted = _maxent.largest_entropy(p)
    off = [np.abs((exact - p).sum(axis=k)).max() for k in range(3)]
    assert max(off) < 1e-12
    assert 0 < np.abs(fitted - exact).max() < 1e-4


def test_results_draw_themselves() -> None:
    x, y, s = draw(400, seed=6)
    with plotting.style(offscreen=True):
        two = DiscretePID().fit([x, y], s).result().plot()
        three = DiscretePID("mmi").fit([x, y, (x * y) > 1], s).result().plot(ax=two)
    assert three is two
    assert len(two.patches) >= 4


def test_a_failed_fit_leaves_nothing_fitted() -> None:
    x, y, s = draw(200, seed=7)
    est = DiscretePID().fit([x, y], s)
    with pytest.raises(ValueError, match="200 trials"):
        est.fit([x, y[:-1]], s)
    with pytest.raises(ValueError, match="not fitted"):
        est.result()


@pytest.mark.parametrize("measure", ["broja", "mmi"])
def test_shuffling_takes_off_the_mean_over_permutations(measure: str) -> None:
    x, y, s = draw(150, seed=8)
    est = DiscretePID(measure, bias="shuffle", n_permutations=20, random_state=11).fit([x, y], s)
    plug_in = DiscretePID(measure).fit([x, y], s)
    null = []
    for p in range(20):
        rng = np.random.default_rng(np.random.SeedSequence(11, spawn_key=(0, p)))
        one = DiscretePID(measure).fit([x, y], s[rng.permutation(150)])
        null.append([*one.mi_, one.union_])
    expected = np.array([*plug_in.mi_, plug_in.union_]) - np.mean(null, axis=0)
    np.testing.assert_allclose([*est.mi_, est.union_], expected, rtol=0, atol=1e-12)
    _adds_up(est)


@pytest.mark.parametrize("n", [480, 483])
def test_extrapolation_solves_for_infinitely_many_samples(n: int) -> None:
    x, y, s = draw(n, seed=9)
    est = DiscretePID(bias="qe", random_state=11).fit([x, y], s)
    order = np.random.default_rng(np.random.SeedSequence(11, spawn_key=(3, 0))).permutation(n)
    quarters = np.array_split(order, 4)
    pieces = [[order], [np.concatenate(quarters[i : i + 2]) for i in (0, 2)], quarters]
    values, system = [], []
    for group in pieces:
        fits = [DiscretePID().fit([x[i], y[i]], s[i]) for i in group]
        values.append(np.mean([[*f.mi_, f.union_] for f in fits], axis=0))
        sizes = np.array([len(i) for i in group])
        system.append([1, np.mean(1 / sizes), np.mean(1 / sizes**2)])
    expected = np.linalg.solve(system, values)[0]
    np.testing.assert_allclose([*est.mi_, est.union_], expected, rtol=0, atol=1e-8)
    _adds_up(est)


def _adds_up(est: DiscretePID) -> None:
    r, (u1, u2), s = est.redundancy_, est.unique_, est.synergy_
    sums = [r + u1, r + u2, r + u1 + u2 + s]
    np.testing.assert_allclose(sums, est.mi_, rtol=0, atol=1e-12)


def test_corrections_lower_the_bias() -> None:
    rng = np.random.default_rng(10)
    off: dict[str | None, list[float]] = {None: [], "qe": [], "shuffle": []}
    truth = DiscretePID().fit_pmf(TABLES["T333"]).mi_[2]
    for seed in range(60):
        x, y, s = draw(200, seed=1000 + seed)
        for bias in off:
            est = DiscretePID(bias=bias, n_permutations=20, random_state=rng).fit([x, y], s)
            off[bias].append(est.mi_[2] - truth)
    means = {bias: abs(np.mean(values)) for bias, values in off.items()}
    assert means["qe"] < 0.3 * means[None]
    assert means["shuffle"] < 0.5 * means[None]


def test_negative_atoms_are_kept_and_said() -> None:
    rng = np.random.default_rng(1)
    x, y, s = rng.integers(0, 3, (3, 150))
    result = DiscretePID(bias="shuffle", random_state=0).fit([x, y], s).result()
    values = result.to_frame().set_index("atom")["value"]
    below = values[values < -1e-6].index
    assert len(below)
    assert f"below zero (nothing is clipped): {', '.join(below)}" in result.summary()


def test_a_distribution_has_no_bias_to_correct() -> None:
    est = DiscretePID(bias="qe")
    with pytest.warns(NB26StatsWarning, match="bias='qe' is left out"):
        est.fit_pmf(TABLES["AND"])
    np.testing.assert_allclose(est.atoms_, ATOMS["AND"], rtol=0, atol=1e-7)
    with pytest.warns(NB26StatsWarning, match="bias='qe' is left out"):
        est.fit_many(TABLES["AND"][None])


def test_constant_source_of_a_distribution_tells_nothing() -> None:
    p = TABLES["AND"].sum(axis=0, keepdims=True)
    for measure in ("broja", "imin", "mmi", "iccs"):
        est = DiscretePID(measure).fit_pmf(p)
        np.testing.assert_allclose(est.atoms_, [0, 0, est.mi_[1], 0], rtol=0, atol=1e-9)
