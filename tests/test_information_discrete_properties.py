"""What holds for every discrete decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nb26stats.information import DiscretePID
from nb26stats.information._maxent import largest_entropy

F64 = NDArray[np.float64]
MEASURES = ["broja", "imin", "mmi", "iccs"]


@st.composite
def tables(draw: Any) -> F64:
    """Distributions of 2 to 4 symbols each, with zeros, or of small counts."""
    shape = tuple(draw(st.integers(2, 4)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["flat", "rough", "sparse", "counts"]))
    if kind == "counts":
        p = rng.integers(0, 4, shape).astype(float)
        p[0, 0, 0] += 1
        return p / p.sum()
    concentration = {"flat": 1.0, "rough": 0.3, "sparse": 0.1}[kind]
    # masses near 1e-12 are neither there nor gone, and no solver agrees on them
    p = rng.dirichlet(np.full(int(np.prod(shape)), concentration)).reshape(shape)
    p[p < 1e-8] = 0.0
    return p / p.sum()


def fitted(p: F64, measure: str = "broja") -> DiscretePID:
    return DiscretePID(measure).fit_pmf(p)


@pytest.mark.parametrize("measure", MEASURES)
@given(p=tables())
def test_atoms_add_up_to_the_informations(measure: str, p: F64) -> None:
    est = fitted(p, measure)
    r, (u1, u2), s = est.redundancy_, est.unique_, est.synergy_
    sums = [r + u1, r + u2, r + u1 + u2 + s, est.union_ + s]
    np.testing.assert_allclose(sums, [*est.mi_, est.mi_[2]], rtol=0, atol=1e-10)


@given(p=tables())
def test_union_lies_between_its_bounds(p: F64) -> None:
    est = fitted(p)
    one, two, both = est.mi_
    slack = est.gap_ + 1e-10
    assert max(one, two) - slack <= est.union_ <= min(one + two, both) + slack
    assert min(est.atoms_) >= -slack
    assert est.redundancy_ <= fitted(p, "mmi").redundancy_ + slack


@pytest.mark.parametrize("measure", MEASURES)
@given(p=tables())
def test_swapped_sources_swap_what_is_unique(measure: str, p: F64) -> None:
    a, b = fitted(p, measure), fitted(np.swapaxes(p, 0, 1), measure)
    slack = a.gap_ + b.gap_ + 1e-9
    np.testing.assert_allclose(a.unique_, b.unique_[::-1], rtol=0, atol=slack)
    np.testing.assert_allclose(a.redundancy_, b.redundancy_, rtol=0, atol=slack)


@pytest.mark.parametrize("measure", MEASURES)
@given(p=tables(), seed=st.integers(0, 999))
def test_names_of_symbols_do_not_matter(measure: str, p: F64, seed: int) -> None:
    rng = np.random.default_rng(seed)
    other = p[np.ix_(*(rng.permutation(n) for n in p.shape))]
    a, b = fitted(p, measure), fitted(other, measure)
    slack = a.gap_ + b.gap_ + 1e-9
    np.testing.assert_allclose(a.atoms_, b.atoms_, rtol=0, atol=slack)


@pytest.mark.parametrize("measure", ["broja", "imin", "mmi"])
@given(p=tables(), share=st.floats(0.05, 0.95))
def test_a_symbol_in_two_halves_tells_what_it_told(measure: str, p: F64, share: float) -> None:
    split = np.concatenate([p[:1] * share, p[:1] * (1 - share), p[1:]])
    a, b = fitted(p, measure), fitted(split, measure)
    np.testing.assert_allclose(a.atoms_, b.atoms_, rtol=0, atol=a.gap_ + b.gap_ + 1e-9)


@given(p=tables(), seed=st.integers(0, 999))
def test_a_noisy_copy_of_a_source_adds_nothing(p: F64, seed: int) -> None:
    channel = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(p))
    est = fitted(np.einsum("xs,xy->xys", p.sum(axis=1), channel))
    slack = est.gap_ + 1e-9
    assert abs(est.unique_[1]) < slack
    assert abs(est.synergy_) < slack


@given(p=tables(), seed=st.integers(0, 999))
def test_no_table_with_the_same_marginals_tells_less(p: F64, seed: int) -> None:
    rng = np.random.default_rng(seed)
    est = fitted(p)
    xs, ys, s = p.sum(axis=1), p.sum(axis=0), p.sum(axis=(0, 1))
    # given each target symbol, a random coupling of the sources, scaled to their marginals
    q = np.zeros_like(p)
    for k in np.flatnonzero(s):
        c = rng.uniform(0.02, 1.0, size=p.shape[:2])
        for _ in range(400):
            c *= _ratio(xs[:, k], c.sum(axis=1))[:, None]
            c *= _ratio(ys[:, k], c.sum(axis=0))
        q[:, :, k] = c
    np.testing.assert_allclose(q.sum(axis=1), xs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(q.sum(axis=0), ys, rtol=0, atol=1e-12)
    assert fitted(q, "mmi").mi_[2] >= est.union_ - est.gap_ - 1e-9


def _ratio(wanted: F64, got: F64) -> F64:
    return np.divide(wanted, got, out=np.zeros_like(got), where=got > 0)


@given(p=tables())
def test_the_largest_entropy_keeps_the_marginals_of_pairs(p: F64) -> None:
    q = largest_entropy(p)
    for axis in range(3):
        np.testing.assert_allclose(q.sum(axis=axis), p.sum(axis=axis), rtol=0, atol=1e-10)
    # it has no interaction of three: log q is a sum of functions of pairs where it is not 0
    log = np.log(np.where(q > 1e-300, q, 1.0))
    for i, j, k in np.ndindex(*(n - 1 for n in p.shape)):
        cube = (slice(i, i + 2), slice(j, j + 2), slice(k, k + 2))
        if (q[cube] > 1e-10).all():
            x = log[cube]
            odd = x[1, 1, 1] + x[1, 0, 0] + x[0, 1, 0] + x[0, 0, 1]
            assert abs(odd - (x[0, 0, 0] + x[1, 1, 0] + x[1, 0, 1] + x[0, 1, 1])) < 1e-6


@pytest.mark.parametrize("measure", MEASURES)
@given(seed=st.integers(0, 999))
def test_the_order_of_trials_does_not_matter(measure: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 2, (2, 200))
    s = (x + y + (rng.random(200) < 0.2)) % 3
    order = rng.permutation(200)
    a = DiscretePID(measure).fit([x, y], s)
    b = DiscretePID(measure).fit([x[order], y[order]], s[order])
    np.testing.assert_allclose(a.atoms_, b.atoms_, rtol=0, atol=1e-10)
