"""Three sources: the lattice of redundancy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.discrete_information import Node, lattice, three_sources

from nb26stats import NB26StatsWarning
from nb26stats.information import DiscretePID
from nb26stats.information._lattice import below, nodes

ALL: Node = ((0, 1, 2),)
PAIRS: Node = ((0, 1), (0, 2), (1, 2))
SINGLES: Node = ((0,), (1,), (2,))
KNOWN: dict[str, tuple[Any, dict[Node, float]]] = {
    "XOR3": (lambda a, b, c: a ^ b ^ c, {ALL: 1.0}),
    "AND3": (
        lambda a, b, c: a & b & c,
        {ALL: 0.25, PAIRS: 0.155639062, SINGLES: 0.137925381},
    ),
    "MAJ3": (
        lambda a, b, c: a + b + c > 1,
        {ALL: 0.5, PAIRS: 0.311278124, SINGLES: 0.188721876},
    ),
    "SUM": (lambda a, b, c: a + b + c, {ALL: 1.0, PAIRS: 0.5, SINGLES: 0.311278124}),
    "MUX": (
        lambda a, b, c: b if a else c,
        {ALL: 0.5, PAIRS: 0.311278124, ((1,), (2,)): 0.188721876},
    ),
    "COPY XOR": (lambda a, b, c: (a, b ^ c), {ALL: 1.0, ((0,), (1, 2)): 1.0}),
}


@pytest.mark.parametrize("measure", ["imin", "mmi"])
@pytest.mark.parametrize("name", KNOWN)
def test_e2_atoms_of_known_functions(name: str, measure: str) -> None:
    rule, expected = KNOWN[name]
    found = DiscretePID(measure).fit_pmf(three_sources(rule)).lattice_
    assert len(found) == 18
    for node, value in found.items():
        assert abs(value - expected.get(node, 0.0)) < 1e-8, node


@pytest.mark.parametrize("measure", ["imin", "mmi"])
def test_atoms_of_random_tables_follow_from_the_definition(measure: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((2, 3, 2, 3), (3, 2, 4, 2), (2, 2, 2, 5)):
        p = rng.dirichlet(np.full(int(np.prod(shape)), 0.3)).reshape(shape)
        found = DiscretePID(measure).fit_pmf(p).lattice_
        expected = lattice(measure, p)
        assert set(found.index) == set(expected)
        for node, value in expected.items():
            assert abs(found[node] - value) < 1e-12


def test_every_node_comes_after_those_below_it() -> None:
    for n_sources, count in ((2, 4), (3, 18)):
        every = nodes(n_sources)
        assert len(every) == len(set(every)) == count
        for j, v in enumerate(every):
            assert all(i <= j for i, u in enumerate(every) if below(u, v))


@pytest.mark.parametrize("measure", ["imin", "mmi"])
def test_the_atoms_add_up_to_the_informations(measure: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (3, 700))
    s = x[0] + (x[1] & x[2])
    est = DiscretePID(measure).fit(list(x), s)
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    for part, mi in zip(sets, est.mi_, strict=True):
        inside = [value for node, value in est.lattice_.items() if below(node, (part,))]
        assert abs(sum(inside) - mi) < 1e-12
    assert not hasattr(est, "redundancy_")
    assert not hasattr(est, "unique_")
    assert not hasattr(est, "synergy_")
    with pytest.raises(AttributeError, match="lattice_"):
        est.atoms_  # noqa: B018


def test_two_sources_have_four_nodes() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (2, 300))
    est = DiscretePID().fit([x, y], x & y)
    found = est.lattice_
    assert list(found.index) == [((0,), (1,)), ((0,),), ((1,),), ((0, 1),)]
    np.testing.assert_array_equal(found, est.atoms_)
    assert found[((0,), (1,))] == est.redundancy_


def test_a_third_source_comes_and_goes() -> None:
    rng = np.random.default_rng(3)
    x, y, z = rng.integers(0, 2, (3, 300))
    est = DiscretePID("mmi").fit([x, y, z], x ^ y ^ z)
    assert len(est.lattice_) == 18
    est.fit([x, y], x ^ y)
    assert len(est.lattice_) == 4
    assert est.synergy_ > 0.9
    est.fit([x, y, z], x ^ y ^ z)
    assert not hasattr(est, "synergy_")


@pytest.mark.parametrize("bias", ["qe", "shuffle"])
def test_corrected_atoms_still_add_up(bias: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, (3, 400))
    s = (x.sum(axis=0) + (rng.random(400) < 0.3)) // 2
    est = DiscretePID("imin", bias=bias, n_permutations=20, random_state=0).fit(list(x), s)
    plug_in = DiscretePID("imin").fit(list(x), s)
    assert abs(est.lattice_.sum() - est.mi_[-1]) < 1e-12
    assert est.mi_[-1] < plug_in.mi_[-1]


@pytest.mark.parametrize("measure", ["broja", "iccs"])
def test_other_measures_take_two_sources(measure: str) -> None:
    x, y, z = np.random.default_rng(5).integers(0, 2, (3, 300))
    with pytest.raises(ValueError, match=r"union_information.*block"):
        DiscretePID(measure).fit([x, y, z], x)
    with pytest.raises(ValueError, match=r"union_information.*block"):
        DiscretePID(measure).fit_pmf(np.full((2, 2, 2, 2), 1 / 16))


def test_result_of_a_lattice() -> None:
    p = three_sources(KNOWN["AND3"][0])
    result = DiscretePID("mmi").fit_pmf(p).result()
    frame = result.to_frame().set_index("atom")["value"]
    assert len(frame) == 7 + 18
    assert abs(frame["{01}{02}{12}"] - 0.155639062) < 1e-8
    assert list(frame.index[:7]) == [*("mi_1", "mi_2", "mi_3", "mi_12", "mi_13", "mi_23", "mi_123")]
    plain = result.to_r()
    assert plain["redundancy"] is None
    assert plain["lattice"]["{0}{1}{2}"] == pytest.approx(0.137925381, abs=1e-8)
    assert "{0}{12}" in result.summary()
    assert "{0}{12}: what source 1 shares with the pair of 2 and 3" in result.summary()
    two = DiscretePID("mmi").fit_pmf(np.full((2, 2, 2), 0.125)).result()
    assert "shares" not in two.summary()
    assert isinstance(frame, pd.Series)


def test_few_samples_for_the_cells_are_said() -> None:
    x, y, z = np.random.default_rng(6).integers(0, 3, (3, 200))
    with pytest.warns(NB26StatsWarning, match="200 samples for 81 cells, where at least 324"):
        DiscretePID("mmi").fit([x, y, z], x)
