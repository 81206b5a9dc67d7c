"""What DiscretePID says of input that it cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.broja import TABLES

from nb26stats import NB26StatsWarning
from nb26stats.information import DiscretePID

X = np.tile([0, 1, 2], 100)
Y = np.repeat([0, 1], 150)
S = (X + Y) % 2


def fit(x: Any = X, y: Any = Y, s: Any = S, **settings: Any) -> DiscretePID:
    return DiscretePID(**settings).fit([x, y], s)


def altered(i: int, value: Any) -> Any:
    out = X.astype(object if isinstance(value, (str, type(None))) else float)
    out[i] = value
    return out


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (altered(7, np.nan), r"source 1 holds a missing value \(NaN\) at trial 7"),
        (altered(7, None), r"source 1 holds a missing value \(NaN\) at trial 7"),
        (altered(3, -np.inf), "source 1 holds an infinite value at trial 3"),
        (np.ma.masked_equal(X, 2), r"source 1 holds a missing value \(NaN\) at trial 2"),
        (
            np.column_stack([X, altered(5, np.nan)]),
            r"source 1 holds a missing value \(NaN\) at trial 5, column 1",
        ),
        (
            pd.DataFrame({"u3": altered(5, np.nan)}),
            r"source 1 holds a missing value \(NaN\) at trial 5, column 'u3'",
        ),
        (pd.Series(X, dtype="Int64").replace(2, pd.NA), r"missing value \(NaN\) at trial 2"),
        (np.where(X == 1, -2147483648, X), "R's NA_integer_, at 1 "),
        (X * 0, "source 1 is constant"),
        (np.zeros((300, 2)), "source 1 is constant"),
        (np.zeros((300, 0)), "source 1 is empty"),
        ([], "source 1 is empty"),
        (np.zeros((300, 2, 2)), r"source 1 must have shape \(n,\) or \(n, d\), got \(300, 2, 2\)"),
        ([[1, 2], [1]], "source 1 must have rows of one length"),
        (X[:-1], "source 1 has 299 trials, but source 2 has 300"),
    ],
)
def test_values_that_will_not_do(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (altered(4, 0.5), r"source 1 holds 0.5 at trial 4: .*discretize\(x, n_bins\)"),
        (altered(4, "a"), "source 1 must hold whole numbers, .*got int, str"),
        (X * 1j, "source 1 must hold whole numbers, .*got complex128"),
        (X.astype("datetime64[s]"), "source 1 must hold whole numbers, .*got datetime64"),
    ],
)
def test_values_of_the_wrong_kind(x: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fit(x)


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series, pd.Categorical])
def test_missing_text_of_r_is_pointed_out(kind: Any) -> None:
    text = np.array(["go", "no", "stop"], dtype=object)[X]
    text[7] = "NA"
    with pytest.warns(NB26StatsWarning, match="source 1 holds the text 'NA' at trial 7"):
        found = fit(kind(text))
    np.testing.assert_allclose(found.atoms_, fit(np.where(text == "NA", 3, X)).atoms_, atol=1e-9)


def test_the_target_is_named() -> None:
    with pytest.raises(ValueError, match="source 1 has 300 trials, but target has 200"):
        fit(s=S[:200])
    with pytest.raises(ValueError, match="target is constant"):
        fit(s=S * 0)
    with pytest.raises(TypeError, match=r"target holds 0\.5 at trial 1"):
        fit(s=S / 2)
    with pytest.raises(ValueError, match=r"source 'IT' holds a missing value"):
        DiscretePID().fit({"V1": X, "IT": altered(0, np.nan)}, S)


def test_sources_are_a_list_of_two_or_three() -> None:
    for sources in ([X], [X, Y, X, Y], []):
        with pytest.raises(ValueError, match=rf"two or three arrays, got {len(sources)}"):
            DiscretePID().fit(sources, S)
    for sources in (X, np.column_stack([X, Y]), "ab", 3, None):
        with pytest.raises(TypeError, match="sources must be a list"):
            DiscretePID().fit(sources, S)  # type: ignore[arg-type]


def test_constant_columns_are_left_out_with_a_warning() -> None:
    frame = pd.DataFrame({"silent": 0, "u1": X})
    with pytest.warns(NB26StatsWarning, match=r"source 1: 1 of 2 columns .*column 'silent'"):
        found = fit(frame)
    np.testing.assert_array_equal(found.atoms_, fit().atoms_)


def test_few_samples_per_cell_are_said() -> None:
    with pytest.warns(NB26StatsWarning, match="too few samples per cell: 43 samples for 12 cells"):
        fit(X[::7], Y[::7], S[::7])


def test_too_many_symbols() -> None:
    rng = np.random.default_rng(0)
    x, s = rng.permutation(3000), rng.permutation(3000)
    with pytest.raises(ValueError, match="at most 2000: use fewer bins"):
        DiscretePID().fit([x, x], s % 2)
    with pytest.raises(ValueError, match="at most 2000: use fewer bins"):
        DiscretePID().fit_pmf(np.full((45, 45, 45), 45.0**-3))
    with pytest.raises(ValueError, match="cells, more than"):
        DiscretePID("mmi").fit([x, x, x], s % 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({(0, 1, 0): -0.01}, r"pmf holds the negative value -0.01 at \(0, 1, 0\)"),
        ({(1, 1, 1): np.nan}, r"pmf holds a value that is not finite at \(1, 1, 1\)"),
        ({(0, 0, 0): 0.25 + 2e-6}, "pmf must sum to 1, but the sum is 1.000002"),
    ],
)
def test_bad_distributions(change: dict[tuple[int, int, int], float], message: str) -> None:
    p = TABLES["AND"].copy()
    for at, value in change.items():
        p[at] = value
    with pytest.raises(ValueError, match=message):
        DiscretePID().fit_pmf(p)


def test_a_sum_that_is_a_little_off_is_mended() -> None:
    p = TABLES["AND"] * (1 + 9e-7)
    found = DiscretePID("mmi").fit_pmf(p).atoms_
    np.testing.assert_allclose(found, DiscretePID("mmi").fit_pmf(TABLES["AND"]).atoms_, atol=1e-12)


def test_distributions_of_the_wrong_shape_or_kind() -> None:
    with pytest.raises(ValueError, match="pmf must have 3 or 4 axes"):
        DiscretePID().fit_pmf(np.full((2, 2), 0.25))
    with pytest.raises(ValueError, match="pmf must have 3 or 4 axes"):
        DiscretePID().fit_pmf(np.zeros((2, 0, 2)))
    with pytest.raises(ValueError, match="pmfs must have 4 axes, problems first"):
        DiscretePID().fit_many(TABLES["AND"])
    with pytest.raises(TypeError, match="pmf must hold real numbers"):
        DiscretePID().fit_pmf(np.full((2, 2, 2), "0.125"))
    with pytest.raises(ValueError, match=r"sum of problem 1 is 2; divide by it"):
        DiscretePID().fit_many([TABLES["AND"], 2 * TABLES["AND"]])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"measure": "ibroja"}, ValueError, "measure='ibroja' must be one of"),
        ({"measure": None}, TypeError, "measure=None"),
        ({"bias": "miller-madow"}, ValueError, "defined for mutual information only"),
        ({"bias": "panzeri-treves"}, ValueError, "defined for mutual information only"),
        ({"bias": "bootstrap"}, ValueError, "bias='bootstrap' must be one of 'qe', 'shuffle'"),
        ({"n_permutations": 0}, ValueError, "n_permutations=0 must be at least 1"),
        ({"n_permutations": 2.5}, TypeError, "n_permutations must be a whole number"),
        ({"n_permutations": True}, TypeError, "n_permutations must be a whole number"),
        ({"tol": 0.0}, ValueError, "tol=0 must be greater than 0"),
        ({"max_iter": 0}, ValueError, "max_iter=0 must lie in"),
        ({"base": 1}, ValueError, "base=1 must be greater than 1"),
        ({"base": "e"}, TypeError, "base must be a number"),
        ({"missing": "drop"}, ValueError, "missing='drop' must be one of 'raise'"),
        ({"n_threads": -1}, ValueError, "n_threads=-1 must lie in"),
        ({"random_state": "a"}, TypeError, "random_state must be a whole number"),
    ],
)
def test_parameters_are_checked_in_fit(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fit(**settings)
    with pytest.raises(error, match=message):
        DiscretePID(**settings).fit_pmf(TABLES["AND"])


def test_quarters_need_four_samples() -> None:
    with (
        pytest.raises(ValueError, match="at least 4 samples"),
        pytest.warns(NB26StatsWarning, match="too few samples"),
    ):
        fit([0, 1, 1], [1, 0, 1], [0, 1, 0], bias="qe")
