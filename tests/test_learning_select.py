"""Number of hidden units: the rule of one standard error, what is said, and fits behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import DNNLearningRule, encode_contrast, select_hidden
from nb26stats.learning._select import choose, sentence
from nb26stats.learning._verdict import Fit

BLOCKS = np.full(5, 100.0)


def _fit(name: str, aic: float, per_block: Any, **more: Any) -> Fit:
    given: dict[str, Any] = {
        "name": name,
        "loglik": -0.5 * aic,
        "aic": aic,
        "bic": aic + 3.0,
        "k": 3,
        "n_hit": 4,
        "at_bounds": (),
        "alpha": 0.01,
        "beta": 3.0,
        "converged": True,
        # the first block is far off, and must not count
        "block_loglik": np.array([-70.0 * (aic == 500.0) - 900.0, *per_block]),
        "block_n": BLOCKS,
    }
    return Fit(**{**given, **more})


ONE = _fit("1 hidden unit", 500.0, [-60, -62, -61, -63])
TWO = _fit("2 hidden units", 400.0, [-50, -52, -51, -53])
THREE = _fit("3 hidden units", 399.0, [-49, -53, -50, -53])
FOUR = _fit("4 hidden units", 402.0, [-55, -57, -56, -58])


@pytest.mark.parametrize(
    ("fits", "want"),
    [
        # three units predict best by 1 unit of log-likelihood, with a standard error of 2
        ([ONE, TWO, THREE, FOUR], 1),
        ([ONE, THREE, FOUR], 1),
        ([ONE, FOUR], 1),
        ([TWO], 0),
        # worse by the same in every block: no error, so no tolerance
        ([_fit("a", 1, [-50.125, -52.125, -51.125, -53.125]), TWO], 1),
        # alike in every block
        ([_fit("a", 1, TWO.block_loglik[1:]), TWO], 0),
    ],
)
def test_the_smallest_size_within_one_standard_error(fits: list[Fit], want: int) -> None:
    assert choose(fits) == want


def test_the_standard_error_is_that_of_paired_blocks() -> None:
    # sums differ by 4, blocks by 1 each but for noise with a standard error of 4
    noise = np.array([2.0, -2.0, 2.0, -2.0]) * np.sqrt(3) / 2
    near = _fit("a", 1, np.asarray(TWO.block_loglik[1:]) - 1.0 + noise * 0.99)
    assert choose([near, TWO]) == 1
    near = _fit("a", 1, np.asarray(TWO.block_loglik[1:]) - 1.0 + noise * 1.01)
    assert choose([near, TWO]) == 0


def test_what_is_said() -> None:
    text = sentence([ONE, TWO, THREE, FOUR])
    assert text == (
        "3 hidden units predict held-out trials best (-0.5125 nats per trial), not told apart from "
        "2 hidden units; 2 hidden units will do (-0.0025, SE 0.0048); AIC is lowest with 3 hidden "
        "units, tied with 2 hidden units and 4 hidden units; 4 hidden units fit worse than 3 "
        "hidden units: raise n_restarts."
    )
    assert "each other size worse by more than one standard error" in sentence([ONE, TWO])
    assert "the size is not decided" in sentence([TWO, THREE])
    assert "1 hidden unit predicts held-out trials best" in sentence([ONE])
    assert "the only size" in sentence([ONE])
    assert "fit worse" not in sentence([ONE, TWO, _fit("3 hidden units", 400.8, [0, 0, 0, 0])])
    once = _fit("4 hidden units", 402.0, FOUR.block_loglik[1:], n_hit=1)
    assert "the optimum of 4 hidden units was found by one start only" in sentence([TWO, once])


def _animal(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], n)
    p = 0.5 + 0.4 * np.sign(contrast) * np.linspace(0, 1, n)
    choice = (rng.random(n) < p).astype(int)
    return pd.DataFrame(
        {
            "animal": f"m{seed}",
            "contrast": contrast,
            "choice": choice,
            "reward": (choice == (contrast > 0)).astype(float),
            "session": np.repeat(np.arange(4), n // 4),
        }
    )


DATA = pd.concat([_animal(200, 1), _animal(240, 2)])
SETTINGS: dict[str, Any] = {
    "n_restarts": 3,
    "n_pool": 10,
    "random_state": 5,
    "verbose": False,
    "standard_errors": False,
}


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    with pytest.warns(
        ConvergenceWarning, match="of 4 fits"
    ):  # fits of so few starts are seldom confirmed
        return select_hidden(DATA, hidden=[2, 1], n_blocks=4, **SETTINGS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_are_the_fits_and_blocks_of_the_estimator(found: pd.DataFrame) -> None:
    assert found.index.names == ["animal", "hidden"]
    assert found.index.tolist() == [("m1", 1), ("m1", 2), ("m2", 1), ("m2", 2)]
    for (name, size), row in found.iterrows():
        part = DATA[DATA["animal"] == name]
        data = {
            "X": encode_contrast(part["contrast"]),
            "y": part["choice"],
            "rewards": part["reward"],
            "sessions": part["session"],
        }
        est = DNNLearningRule("2NL", hidden=size, **SETTINGS).fit(**data)
        held = est.cross_val_blocks(**data, n_blocks=4)
        assert row["loglik"] == est.loglik_
        assert row["aic"] == est.aic_
        assert row["bic"] == est.bic_
        assert row["k"] == est.n_params_
        assert row["n_hit"] == est.n_hit_
        later = held["block_loglik"][1:].sum() / held["block_n"][1:].sum()
        assert row["heldout"] == pytest.approx(later, rel=1e-12)


def test_columns_and_attributes(found: pd.DataFrame) -> None:
    for name, part in found.groupby(level="animal"):
        assert part["daic"].min() == part["dbic"].min() == 0.0
        assert part["dheldout"].max() == 0.0
        np.testing.assert_allclose(part["dheldout"], part["heldout"] - part["heldout"].max())
        assert part["chosen"].sum() == 1
        assert found.attrs["chosen"][name] == part.index[part["chosen"]][0][1]
        assert found.attrs["lowest_aic"][name] == part["aic"].idxmin()[1]
    assert len(found.attrs["sentences"]) == 2
    assert found.attrs["sentences"][0].startswith("m1: ")
    assert found.attrs["rule"] == "reinforce"
    assert found.attrs["architecture"] == "2NL"
    assert found.attrs["seed"] == 5
    assert found.attrs["n_blocks"] == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_jobs", [2])
def test_jobs_do_not_change_a_bit(found: pd.DataFrame, n_jobs: int) -> None:
    again = select_hidden(DATA, hidden=[1.0, 2], n_blocks=4.0, n_jobs=n_jobs, **SETTINGS)  # type: ignore[list-item, arg-type]
    pd.testing.assert_frame_equal(again, found, check_exact=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_generator_gives_one_key_to_all_sizes() -> None:
    settings = {**SETTINGS, "random_state": np.random.default_rng(3)}
    one = select_hidden({"m1": _animal(80, 1)}, hidden=1, n_blocks=3, **settings)  # type: ignore[arg-type]
    want = int(np.random.default_rng(3).integers(0, 2**64, dtype=np.uint64))
    assert one.attrs["seed"] == want


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"hidden": [1, 2, 1]}, ValueError, "hidden holds 1 twice"),
        ({"hidden": []}, ValueError, "at least one size"),
        ({"hidden": [2, 0]}, ValueError, r"hidden\[1\]=0"),
        ({"hidden": [1.5]}, TypeError, r"hidden\[0\] must be a whole number"),
        ({"architecture": "1L"}, ValueError, "architecture='1L' must be one of '2NL', '2L'"),
        ({"rule": "hebb"}, ValueError, "rule='hebb'"),
        ({"n_blocks": 2}, ValueError, "n_blocks=2 must be at least 3"),
        ({"n_blocks": 5}, ValueError, "animal 'm1'.*n_blocks=5 must be at most .* 4"),
        ({"n_restart": 5}, TypeError, "'n_restart' is no parameter here"),
        ({"verbose": 1}, TypeError, "verbose must be True or False"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_wrong_options_are_refused(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        select_hidden(DATA, **{**SETTINGS, **options})
    with pytest.raises(TypeError, match="data must be a table"):
        select_hidden([1, 2])
