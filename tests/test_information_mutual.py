"""Mutual information of symbols with its corrections, and bins of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import discrete_information as slow

from nb26stats._numba.counting import effective_bins
from nb26stats.information import discretize, mutual_information
from nb26stats.information._tables import SUM_TOLERANCE

COUNTS = np.array([[10, 3, 2, 0], [4, 9, 1, 1], [0, 2, 7, 6]])  # rows s, columns x


@pytest.mark.parametrize("kind", [np.array, list, pd.Series, pd.Categorical])
def test_symbols_for_another_method_are_told_theirs(kind: Any) -> None:
    words, numbers = kind(["go", "stop"] * 20), [0.0, 1.5] * 20
    with pytest.raises(TypeError, match="for symbols there is method='discrete'") as caught:
        mutual_information(numbers, words)
    assert "str" not in str(caught.value).split("must")[1]
    assert mutual_information(words, words, method="discrete") == pytest.approx(1)


def samples(counts: Any) -> tuple[Any, Any]:
    """Return columns x and s whose contingency table is ``counts``."""
    s, x = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(x, counts.ravel()), np.repeat(s, counts.ravel())


@pytest.mark.parametrize(
    ("bias", "expected"),
    [(None, 0.5669191608), ("miller-madow", 0.5027993812), ("panzeri-treves", 0.4707394914)],
)
def test_e7_corrections_by_formula(bias: str | None, expected: float) -> None:
    x, s = samples(COUNTS)
    found = mutual_information(x, s, method="discrete", bias=bias)
    assert isinstance(found, float)
    assert abs(found - expected) < 1e-9


BIAS = {
    50: {None: (0.216, 0), "miller-madow": (0.110, 0), "panzeri-treves": (0.049, 0)},
    200: {None: (0.053, 0), "miller-madow": (0.008, 0), "panzeri-treves": (0.002, 0)},
}
BIAS[50]["qe"] = (0.005, 0.01)
BIAS[200]["qe"] = (-0.008, 0.01)


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("bias", [None, "miller-madow", "panzeri-treves", "qe"])
def test_e6_mean_bias(n: int, bias: str | None) -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(6), size=4) / 4
    truth = float((p * np.log2(p / p.sum(0) / p.sum(1, keepdims=True))).sum())
    assert abs(truth - 0.35638392) < 1e-8
    rng = np.random.default_rng(2026)
    found = []
    for i in range(1000):
        x, s = samples(rng.multinomial(n, p.ravel()).reshape(p.shape))
        found.append(mutual_information(x, s, method="discrete", bias=bias, random_state=i))
    mean, slack = BIAS[n][bias]
    off = np.mean(found) - truth
    error = np.std(found) / np.sqrt(len(found))
    print(f"N={n} {bias}: bias {off:+.3f}, known {mean:+.3f}, sd {np.std(found):.3f}")
    # both means have this error, and the known one is rounded
    assert abs(off - mean) < 3 * np.sqrt(2) * error + slack + 5e-4


def test_the_spread_of_the_extrapolation() -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(6), size=4) / 4
    rng = np.random.default_rng(1)
    tables = [rng.multinomial(50, p.ravel()).reshape(p.shape) for _ in range(300)]
    sd = [
        np.std([mutual_information(*samples(t), method="discrete", bias=b) for t in tables])
        for b in (None, "qe")
    ]
    assert 1.3 < sd[1] / sd[0] < 1.9


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=2, max_size=60))
def test_plug_in_is_the_definition(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        return
    found = mutual_information(x, y, method="discrete")
    assert abs(found - max(slow.information(pairs), 0.0)) < 1e-12
    assert abs(found - mutual_information(y, x, method="discrete")) < 1e-12


@given(st.lists(st.integers(0, 12), min_size=1, max_size=9).filter(any), st.integers(0, 6))
def test_effective_numbers_of_bins(counts: list[int], empty: int) -> None:
    table = np.array([*counts, *[0] * empty], dtype=np.int64)
    assert effective_bins(table, len(table)) == slow.effective_bins(table.tolist(), len(table))


def test_shuffling_takes_off_the_mean_over_permutations() -> None:
    x, s = samples(COUNTS)
    found = mutual_information(
        x, s, method="discrete", bias="shuffle", n_permutations=30, random_state=5
    )
    null = []
    for p in range(30):
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0, p)))
        null.append(mutual_information(x, s[rng.permutation(len(s))], method="discrete"))
    plug_in = mutual_information(x, s, method="discrete")
    assert abs(found - (plug_in - np.mean(null))) < 1e-12


def test_long_shuffles_do_not_depend_on_their_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from nb26stats.information import _bias

    x, s = samples(COUNTS)
    options: dict[str, Any] = {"method": "discrete", "bias": "shuffle", "random_state": 5}
    whole = mutual_information(x, s, **options)
    monkeypatch.setattr(_bias, "CELLS_AT_ONCE", 7 * len(x))
    assert mutual_information(x, s, **options) == whole


def test_symbols_from_r() -> None:
    x, s = samples(COUNTS)
    expected = mutual_information(x, s, method="discrete")
    names = np.array(["go", "nogo", "catch"])
    assert mutual_information(x * 1.0, names[s], method="discrete") == pytest.approx(expected)
    factor = pd.Categorical(names[s], categories=["nogo", "never", "go", "catch"])
    assert mutual_information(x, factor, method="discrete", base=2.0) == pytest.approx(expected)
    nats = mutual_information(x, s, method="discrete", base=np.e)
    assert nats == pytest.approx(expected * np.log(2))


@pytest.mark.parametrize(
    ("bias", "method"), [("qe", "gaussian"), ("analytic", "discrete"), ("bootstrap", "copula")]
)
def test_every_method_has_its_corrections(bias: str, method: str) -> None:
    with pytest.raises(ValueError, match=f"bias='{bias}' must be one of"):
        mutual_information([0, 1, 1], [1, 0, 1], method=method, bias=bias)


def test_parameters_are_checked() -> None:
    x, s = samples(COUNTS)
    with pytest.raises(ValueError, match="base=1 must be greater than 1"):
        mutual_information(x, s, method="discrete", base=1)
    with pytest.raises(ValueError, match="method='ksg' must be one of"):
        mutual_information(x, s, method="ksg")
    with pytest.raises(ValueError, match="n_permutations=0 must be at least 1"):
        mutual_information(x, s, method="discrete", n_permutations=0)
    with pytest.raises(ValueError, match="x has 45 trials, but y has 44"):
        mutual_information(x, s[:-1], method="discrete")
    with pytest.raises(ValueError, match="at least 4 samples"):
        mutual_information([0, 1, 1], [1, 0, 1], method="discrete", bias="qe")
    with pytest.raises(ValueError, match="y is constant"):
        mutual_information(x, s * 0, method="discrete")
    with pytest.raises(TypeError, match=r"x holds 0.5 at trial 1.*discretize"):
        mutual_information([0, 0.5, 1], [0, 1, 1], method="discrete")
    assert SUM_TOLERANCE == 1e-6


def test_quantile_bins_count_the_quantiles_below() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.gamma(2, size=(200, 3)), 1)
    found = discretize(x, 5)
    assert found.dtype == np.int64
    for j in range(3):
        inner = [np.quantile(x[:, j], k / 5) for k in range(1, 5)]
        np.testing.assert_array_equal(found[:, j], [sum(q < v for q in inner) for v in x[:, j]])
    order = rng.permutation(200)
    np.testing.assert_array_equal(discretize(x[order], 5), found[order])


def test_uniform_bins_have_equal_widths() -> None:
    x = np.array([0.0, 0.9, 1.0, 2.5, 3.0, 4.0])
    np.testing.assert_array_equal(discretize(x, 4, method="uniform"), [0, 0, 1, 2, 3, 3])
    np.testing.assert_array_equal(discretize(x * 4e307, 4, "uniform"), [0, 0, 1, 2, 3, 3])
    np.testing.assert_array_equal(discretize([2, 2], 3.0, "uniform"), [0, 0])  # type: ignore[arg-type]
    frame = pd.DataFrame({"a": x, "b": -x})
    np.testing.assert_array_equal(discretize(frame, 2, "uniform")[:, 1], [1, 1, 1, 0, 0, 0])


def test_bins_of_bad_input() -> None:
    with pytest.raises(ValueError, match="not finite at 1"):
        discretize([1.0, np.nan], 2)
    with pytest.raises(ValueError, match=r"not finite at \(1, 0\)"):
        discretize([[1.0, 2.0], [np.inf, 0.0]], 2)
    with pytest.raises(ValueError, match="n_bins=1 must"):
        discretize([1.0, 2.0], 1)
    with pytest.raises(TypeError, match="n_bins must be a whole number"):
        discretize([1.0, 2.0], 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method='kmeans' must be one of"):
        discretize([1.0, 2.0], 2, "kmeans")
    with pytest.raises(ValueError, match="hold values"):
        discretize([], 2)
    with pytest.raises(ValueError, match="shape"):
        discretize(np.zeros((2, 2, 2)), 2)
    with pytest.raises(TypeError, match="real numbers"):
        discretize(["a", "b"], 2)
