"""Tables of fits: every model of every animal under one search."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from nb26stats import NB26StatsWarning
from nb26stats.learning import (
    DNNLearningRule,
    compare_architectures,
    compare_learning_rules,
    encode_contrast,
)

QUICK: dict[str, Any] = {"random_state": 3, "n_restarts": 2, "n_pool": 10}
COLUMNS = [
    "loglik",
    "k",
    "aic",
    "bic",
    "daic",
    "dbic",
    "heldout",
    "heldout_first",
    "dheldout",
    "dheldout_se",
    "n_hit",
    "at_bounds",
    "alpha",
    "beta",
    "converged",
    "verdict",
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _animals(n: int = 300, names: tuple[str, ...] = ("a", "b")) -> pd.DataFrame:
    """Animals that get better at a task of contrasts."""
    parts = []
    for i, name in enumerate(names):
        rng = np.random.default_rng(i)
        contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], n)
        p = 1.0 / (1.0 + np.exp(-np.linspace(0.0, 10.0, n) * contrast))
        choice = (rng.random(n) < p).astype(int)
        parts.append(
            pd.DataFrame(
                {
                    "animal": name,
                    "session": np.arange(n) * 6 // n,
                    "contrast": contrast,
                    "choice": choice,
                    "reward": choice == (contrast > 0),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_rows_are_the_fits_of_the_estimator() -> None:
    data = _animals()
    table = compare_architectures(data, n_blocks=3, **QUICK)
    assert list(table.columns) == COLUMNS
    assert list(table.index) == [(m, a) for m in ("a", "b") for a in ("1L", "2L", "2NL")]
    assert table.index.names == ["animal", "architecture"]
    for (name, architecture), row in table.iterrows():
        part = data[data["animal"] == name]
        arguments = {
            "X": encode_contrast(part["contrast"]),
            "y": part["choice"],
            "rewards": part["reward"],
            "sessions": part["session"],
        }
        fit = DNNLearningRule(architecture, standard_errors=False, **QUICK).fit(**arguments)
        assert row["loglik"] == fit.loglik_
        assert (row["k"], row["aic"], row["bic"]) == (fit.n_params_, fit.aic_, fit.bic_)
        assert (row["n_hit"], row["converged"]) == (fit.n_hit_, fit.converged_)
        assert row["at_bounds"] == ", ".join(fit.at_bounds_)
        assert (row["alpha"], row["beta"]) == (fit.params_["alpha"], fit.params_["beta"])
        held = fit.cross_val_blocks(**arguments, n_blocks=3)
        loglik, n = held["block_loglik"], held["block_n"]
        assert row["heldout_first"] == loglik[0] / n[0]
        np.testing.assert_allclose(row["heldout"], loglik[1:].sum() / n[1:].sum(), rtol=1e-14)
    for name in ("a", "b"):
        part = table.loc[name]
        np.testing.assert_array_equal(part["daic"], part["aic"] - part["aic"].min())
        np.testing.assert_array_equal(part["dbic"], part["bic"] - part["bic"].min())
        assert part["dheldout"].max() == 0.0
    attrs = table.attrs
    assert sum(attrs["n_best"].values()) == 2
    assert sum(attrs["n_best_bic"].values()) == sum(attrs["n_best_heldout"].values()) == 2
    assert attrs["n_tied"] == (table["verdict"] == "tie").groupby(level="animal").any().sum()
    assert (attrs["fair"], attrs["unfair"]) == (True, [])
    assert (attrs["rule"], attrs["missing_reward"]) == ("reinforce", "expected")
    assert (attrs["n_blocks"], attrs["seed"]) == (3, 3)
    assert len(attrs["sentences"]) == 6


def test_n_jobs_changes_no_bit() -> None:
    data = _animals(200)
    one = compare_architectures(data, architectures=["1L", "2L"], n_blocks=3, **QUICK)
    two = compare_architectures(data, architectures=["1L", "2L"], n_blocks=3, n_jobs=2, **QUICK)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert one.attrs == two.attrs


def test_without_blocks_nothing_is_held_out() -> None:
    table = compare_architectures(_animals(200), architectures="1L", **QUICK)
    assert table[["heldout", "heldout_first", "dheldout", "dheldout_se"]].isna().all(axis=None)
    assert table.attrs["n_best_heldout"] is None
    assert table.attrs["n_best"] == {"1L": 2}
    assert table.attrs["sentences"][0] == "a, 1L: the only model, so that nothing is decided."


def test_options_of_one_architecture() -> None:
    data = _animals(200, ("a",))
    quick = {**QUICK, "n_restarts": {"2NL": 6}}
    table = compare_architectures(data, hidden={"2NL": 3}, **quick)
    assert table["k"].tolist() == [4, 8, 14]
    assert table.attrs["fair"]


@pytest.mark.parametrize(
    ("kw", "match"),
    [
        ({"weight_bound": {"2NL": 20.0}}, "weight bounds differ .5.0 for 1L, 20.0 for 2NL"),
        ({"alpha_bounds": {"1L": (1e-5, 1.0)}}, "bounds of alpha differ"),
        ({"beta_bounds": {"2NL": (0.1, 200.0)}}, "bounds of beta differ"),
        ({"missing_reward": {"2NL": "skip"}}, "rules for missing rewards differ"),
        ({"penalty": {"1L": "gaussian"}}, "penalties differ"),
        ({"penalty": "gaussian"}, "do not hold at a penalised optimum"),
    ],
)
def test_what_is_not_alike_is_not_ranked(kw: dict[str, Any], match: str) -> None:
    data = _animals(150, ("a",))
    with pytest.warns(NB26StatsWarning, match=f"models are not ranked: .*{match}"):
        table = compare_architectures(data, architectures=["1L", "2NL"], **QUICK, **kw)
    assert table.attrs["fair"] is False
    assert table["daic"].isna().all()
    assert (table["verdict"] == "not ranked").all()
    assert table.attrs["n_best"] is None
    assert table.attrs["n_tied"] is None
    assert all("not ranked" in s for s in table.attrs["sentences"])


def test_rules() -> None:
    data = _animals(200)
    table = compare_learning_rules(data, architectures=["1L", "2L"], **QUICK)
    rules = ["reinforce", "rpe", "squared", "expected_reward", "cross_entropy"]
    assert list(table.index) == [(m, r, a) for m in "ab" for r in rules for a in ("1L", "2L")]
    assert table["k"].loc["a"].tolist() == [4, 8, 8, 11, 5, 11, 4, 8, 4, 8]
    assert (table["daic"].groupby(level=["animal", "rule"]).min() == 0.0).all()
    assert table.attrs["alias"] == {}
    assert set(table.attrs["n_best"]) == set(rules)
    for rule in rules:
        alone = compare_architectures(data, architectures=["1L", "2L"], rule=rule, **QUICK)
        part = table.xs(rule, level="rule")
        pd.testing.assert_frame_equal(part, alone, check_exact=True)
        assert table.attrs["n_best"][rule] == alone.attrs["n_best"]
        for a in ("1L", "2L"):
            assert table.attrs["aic_sum"][rule][a] == alone["aic"].xs(a, level=1).sum()


def test_one_model_of_two_names_is_listed_once() -> None:
    data = _animals(200, ("a",))
    kw: dict[str, Any] = {"architectures": ["1L", "2NL"], "n_outputs": 1, **QUICK}
    table = compare_learning_rules(data, rules=["rpe", "squared"], **kw)
    assert list(table.index) == [("a", "squared", "1L"), ("a", "squared", "2NL")]
    assert table.attrs["alias"] == {"rpe": "squared"}
    assert table.attrs["footnotes"][-1] == "rpe with one output is squared, and is listed as that"
    other = compare_learning_rules(data, rules=["rpe"], **kw)
    np.testing.assert_array_equal(other["loglik"], table["loglik"])
    # a side that does not follow from choice and reward makes two models of them
    side = np.where(data["contrast"] > 0, 0.9, 0.1)
    table = compare_learning_rules(data.assign(correct_side=side), rules=["rpe", "squared"], **kw)
    assert table.attrs["alias"] == {}
    assert len(table) == 4


def test_two_layers_leave_one_layer_far_behind() -> None:
    """One layer cannot imitate two, only the other way round."""
    rng = np.random.default_rng(0)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 3000)
    X, side = encode_contrast(contrast), (contrast > 0).astype(float)
    truth = DNNLearningRule("2L", rule="rpe")
    theta = np.array([0.2, 0.1, 0.3, 0.1, 0.3, -0.2, 0.1, 0.2, 0.3, -0.1, 0.01, 6.0])
    run = truth.simulate(X, side, theta=theta, random_state=1)
    data = {"a": {"X": X, "y": run.choice[0], "rewards": run.reward[0]}}
    table = compare_architectures(data, rule="rpe", random_state=0, architectures=["1L", "2L"])
    assert table.loc[("a", "1L"), "daic"] > 30.0
    assert table.loc[("a", "2L"), "verdict"] == "best"


def test_unsure_fits_are_counted_once() -> None:
    data = _animals(200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = compare_architectures(data, **QUICK)
    (said,) = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert str(said.message).startswith("of 6 fits, ")
    assert said.filename == __file__
    if (table["n_hit"] == 1).any():
        n = int((table["n_hit"] == 1).sum())
        assert f"{n} found the best optimum from one start only" in str(said.message)
    n = int((table["at_bounds"] != "").sum())
    assert f"{n} have a parameter on a bound" in str(said.message)
    assert n > 0


@pytest.mark.parametrize(
    ("kw", "error", "match"),
    [
        ({"architectures": ["1L", "3L"]}, ValueError, "architectures.1.='3L' must be one of"),
        ({"architectures": []}, ValueError, "architectures is empty"),
        ({"architectures": ["1L", "1L"]}, ValueError, "holds '1L' twice"),
        ({"rule": "hebb"}, ValueError, "rule='hebb' must be one of"),
        ({"n_blocks": 2}, ValueError, "n_blocks=2"),
        ({"n_blocks": 7, "architectures": "1L"}, ValueError, "animal 'a', 1L: n_blocks=7"),
        ({"restarts": 4}, TypeError, "'restarts' is no parameter here"),
        ({"hidden": {"3L": 2}}, ValueError, "hidden has a value for '3L'"),
        ({"hidden": 0}, ValueError, "animal 'a', 1L: hidden=0"),
        ({"verbose": 1}, TypeError, "verbose must be True or False"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be a whole number"),
        ({"random_state": "x"}, TypeError, "random_state"),
    ],
)
def test_bad_parameters(kw: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        compare_architectures(_animals(60), **{**QUICK, **kw})


def test_whole_floats_and_columns_from_elsewhere() -> None:
    data = _animals(120, ("a",))
    want = compare_architectures(data, architectures="1L", n_blocks=3, **QUICK)
    floats = {**QUICK, "n_restarts": 2.0, "n_pool": 10.0, "random_state": 3.0}
    lists = {"a": data.drop(columns="animal").to_dict("list")}
    got = compare_architectures(lists, architectures="1L", n_blocks=3.0, **floats)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(got, want, check_exact=True)
