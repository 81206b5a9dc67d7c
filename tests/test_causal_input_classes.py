"""Each kind of input, and what every estimator of responders makes of it, word for word."""

from __future__ import annotations

import html
import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causal_fake import PUBLIC, known_data
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nb26stats import NB26StatsWarning, _dispatch
from nb26stats.causal import OverlapWarning, SmallSampleWarning, WeakIdentificationWarning
from nb26stats.causal._base import C2GBase

X, Y, T, RESPONDER = known_data(240)
N = len(Y)
RULES = ("auto", "model", "calibrated", "published")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What a model thinks of 240 rows is not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", WeakIdentificationWarning)
        yield


@pytest.fixture(params=PUBLIC, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def make(kind: type[C2GBase], **kw: Any) -> Any:
    few = {"n_bootstrap": 5, "n_threads": 1} if _neighbours(kind) else {"n_features": 20}
    few = {k: v for k, v in few.items() if k in inspect.signature(kind).parameters}
    return kind(**{"random_state": 0, **few, **kw})


def _neighbours(kind: type[C2GBase]) -> bool:
    return "n_neighbors" in inspect.signature(kind).parameters


def fit(kind: Any, x: Any = X, y: Any = Y, treatment: Any = T, event: Any = None, **kw: Any) -> Any:
    return make(kind, **kw).fit(x, y, treatment=treatment, event=event)


def heard(call: Callable[[], Any]) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """Return what a call returns and its warnings of the input."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = call()
    about_fit = (ConvergenceWarning, WeakIdentificationWarning)
    said = [(w.category, str(w.message)) for w in caught]
    return out, [(c, text) for c, text in said if not issubclass(c, about_fit)]


# what is refused: name -> (arguments, error, whole message)

GAPS_X, GAPS_Y, GAPS_T = X.copy(), Y.copy(), T.astype(float)
GAPS_X[[3, 5], 1], GAPS_X[7, 0], GAPS_Y[[5, 9]], GAPS_T[11] = np.nan, np.inf, np.nan, np.nan
CONTINUOUS = (
    "the model needs a continuous outcome; for a binary, ordinal or count outcome take a risk "
    "difference or a regression of that family, or two_groups on z-scores per sample"
)
CONVERT = (
    "times to an event are censored; convert them to z-scores with "
    "nb26stats.survival_residual_z(time, event, X, treatment=treatment) and pass those as y"
)
ARMS = "treatment must be True and False, 1 and 0, or two words of which the second is treated; "
FRAME = pd.DataFrame(X, columns=list("abc"))
TIMES = np.zeros(N, [("event", bool), ("time", float)])
COUNTS = np.arange(N) % 100

REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "X is shorter": (
        {"x": X[:-1]},
        ValueError,
        "X, y and treatment must have one row per sample, got shapes (239, 3), (240,) and (240,)",
    ),
    "y is shorter": (
        {"y": Y[:-1]},
        ValueError,
        "X, y and treatment must have one row per sample, got shapes (240, 3), (239,) and (240,)",
    ),
    "treatment is shorter": (
        {"treatment": T[:-1]},
        ValueError,
        "X, y and treatment must have one row per sample, got shapes (240, 3), (240,) and (239,)",
    ),
    "one-dimensional X": (
        {"x": X[:, 0]},
        ValueError,
        "X must be two-dimensional, got shape (240,); use X.reshape(-1, 1) for one covariate, "
        "X.reshape(1, -1) for one row",
    ),
    "gaps": (
        {"x": GAPS_X, "y": GAPS_Y, "treatment": GAPS_T},
        ValueError,
        "missing or infinite values, rows counted: X in 3, y in 2, treatment in 1; missing='drop' "
        "leaves such rows out, missing='impute' fills X",
    ),
    "gaps of y are not filled": (
        {"x": GAPS_X, "y": GAPS_Y, "missing": "impute"},
        ValueError,
        "missing or infinite values, rows counted: X in 3, y in 2; missing='impute' fills X only; "
        "missing='drop' leaves such rows out",
    ),
    "gaps of the treatment are not filled": (
        {"treatment": GAPS_T, "missing": "impute"},
        ValueError,
        "missing or infinite values, rows counted: treatment in 1; missing='impute' fills X only; "
        "missing='drop' leaves such rows out",
    ),
    "three arms": ({"treatment": np.arange(N) % 3}, ValueError, ARMS + "found 0, 1, 2"),
    "no control": ({"treatment": np.ones(N)}, ValueError, ARMS + "found 1"),
    "nobody treated": ({"treatment": np.zeros(N, bool)}, ValueError, ARMS + "found 0"),
    "other numbers": ({"treatment": T + 1}, ValueError, ARMS + "found 1, 2"),
    "one word": ({"treatment": ["a"] * N}, ValueError, ARMS + "found 'a'"),
    "tiny treated arm": (
        {"treatment": np.arange(N) < 29},
        ValueError,
        "tiny arm: 29 treated rows, and fewer than 30 cannot show a distribution",
    ),
    "tiny control arm": (
        {"treatment": np.arange(N) >= 29},
        ValueError,
        "tiny arm: 29 control rows, and fewer than 30 cannot show a distribution",
    ),
    "binary y": ({"y": RESPONDER * 1.0}, ValueError, f"y holds 2 distinct values: {CONTINUOUS}"),
    "ordinal y": (
        {"y": np.arange(N) % 9 / 7},
        ValueError,
        f"y holds only 9 distinct values: {CONTINUOUS}",
    ),
    "counts": (
        {"y": COUNTS},
        ValueError,
        f"y holds whole numbers, and 58 % of the rows repeat a value: {CONTINUOUS}",
    ),
    "y in columns": (
        {"y": np.column_stack([Y, T])},
        TypeError,
        f"y must be one-dimensional, got shape (240, 2): {CONVERT}",
    ),
    "y of fields": ({"y": TIMES}, TypeError, f"y has the fields event, time: {CONVERT}"),
    "event": ({"event": T}, TypeError, f"event= is not taken here: {CONVERT}"),
    "sparse X": (
        {"x": sparse.csr_array(X)},
        TypeError,
        "X must be dense, got a sparse matrix; use X.toarray()",
    ),
    "words in X": (
        {"x": FRAME.assign(sex=pd.Series(np.where(T, "f", "m"), dtype=object))},
        ValueError,
        "X has 1 column that holds no numbers: sex (object); encode them first, for example as 0 "
        "and 1 per category",
    ),
    "strings in X": (
        {"x": FRAME.assign(sex=pd.array(np.where(T, "f", "m"), dtype="string"))},
        ValueError,
        "X has 1 column that holds no numbers: sex (string); encode them first, for example as 0 "
        "and 1 per category",
    ),
    "categories in X": (
        {"x": FRAME.assign(site=pd.Categorical(np.where(T, "x", "y")))},
        ValueError,
        "X has 1 column that holds no numbers: site (category); encode them first, for example as "
        "0 and 1 per category",
    ),
    "q of 0": ({"q": 0}, ValueError, "q=0 must lie strictly between 0 and 1"),
    "q of 1": ({"q": 1}, ValueError, "q=1 must lie strictly between 0 and 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_and_in_which_words(kind: Any, case: str) -> None:
    arguments, error, message = REFUSED[case]
    with pytest.raises(error) as caught:
        fit(kind, **arguments)
    assert type(caught.value) is error
    assert str(caught.value) == message


@pytest.mark.parametrize("pi0", [0.0, -0.5, 1.5])
def test_shares_outside_their_range(kind: Any, pi0: float) -> None:
    with pytest.raises(ValueError, match=rf"^pi0={pi0:g} must lie in \(0, 1\], or be one of '"):
        fit(kind, pi0=pi0)


# what is taken, with a word or without: name -> (arguments, whole messages)

LATE = np.arange(N) % 8 == 0
TAKEN: dict[str, tuple[dict[str, Any], list[tuple[type[Warning], str]]]] = {
    "truth values": ({}, []),
    "zeros and ones": ({"treatment": T.astype(int)}, []),
    "zeros and ones as floats": ({"treatment": T.astype(float)}, []),
    "two words": (
        {"treatment": np.where(T, "old", "new")},
        [(NB26StatsWarning, "treatment: 'old' is taken as treated and 'new' as control")],
    ),
    "gaps left out": (
        {"x": GAPS_X, "y": GAPS_Y, "treatment": GAPS_T, "missing": "drop"},
        [
            (
                NB26StatsWarning,
                "dropped 5 of 240 rows with missing or infinite values: X in 3, y in 2, treatment "
                "in 1",
            )
        ],
    ),
    "gaps filled": ({"x": GAPS_X, "missing": "impute"}, []),
    "a constant column": (
        {"x": np.column_stack([X, np.ones(N)])},
        [(NB26StatsWarning, "dropped 1 of 4 columns of X that never vary: 3")],
    ),
    "constant columns only": (
        {"x": np.ones((N, 2))},
        [
            (
                NB26StatsWarning,
                "dropped 2 of 2 columns of X that never vary: 0, 1; no covariate is left, so all "
                "rows share one prior",
            )
        ],
    ),
    "half of the rows repeat a value": ({"y": np.round(Y, 2)}, []),
    "whole numbers, half of them repeated": ({"y": np.argsort(np.argsort(Y)) // 2}, []),
}


@pytest.mark.parametrize("case", TAKEN)
def test_what_is_taken_and_what_is_said(kind: Any, case: str) -> None:
    arguments, expected = TAKEN[case]
    model, said = heard(lambda: fit(kind, **arguments))
    assert said == expected
    gone = np.isnan(model.propensity_)
    assert gone.sum() == (5 if case == "gaps left out" else 0)
    treated = T & ~gone
    assert np.isfinite(model.lfdr_[treated]).all()
    assert np.isnan(model.lfdr_[~treated]).all()
    assert ((model.q_values_[treated] >= 0) & (model.q_values_[treated] <= 1)).all()
    assert not model.selected_[~treated].any()


def test_small_arms_are_named_and_cap_the_neighbours(kind: Any) -> None:
    x, y, t, _ = known_data(120)
    model, said = heard(lambda: fit(kind, x, y, t))
    text = (
        "60 control rows and 60 treated rows: below 100 rows in an arm its density is rough and "
        "error rates are not well held"
    )
    assert (SmallSampleWarning, text) in said
    if _neighbours(kind):
        assert all(arm["n_neighbors"] <= 59 for arm in model.bandwidths_.values())


def test_many_columns_are_too_many_for_neighbours_alone(kind: Any) -> None:
    x = np.random.default_rng(0).normal(size=(N, 51))
    _, said = heard(lambda: fit(kind, x, randomized=True))
    text = (
        "X has 51 columns, and nearest neighbours tell little in more than 50; reduce the "
        "dimension first, for example by principal components"
    )
    assert ((NB26StatsWarning, text) in said) is _neighbours(kind)


def test_nothing_to_select_is_an_empty_array_without_a_word(kind: Any) -> None:
    model = fit(kind, y=np.random.default_rng(1).normal(size=N), randomized=True)
    for rule in RULES:
        chosen, said = heard(lambda rule=rule: model.select(1e-9, rule))  # type: ignore[misc]
        assert (chosen.shape, chosen.dtype, said) == ((0,), np.int64, [])


def test_rates_and_levels_of_later_calls(kind: Any) -> None:
    model = fit(kind)
    for call, message in (
        (lambda: model.select(0), "q=0 must lie strictly between 0 and 1"),
        (lambda: model.select(1.0), "q=1 must lie strictly between 0 and 1"),
        (lambda: model.estimand_interval(level=0), "level=0 must lie strictly between 0 and 1"),
        (lambda: model.estimand_interval(level=90), "level=90 must lie strictly between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call()


def test_a_device_that_is_not_there_is_refused_with_the_reason(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_dispatch, "_find_cuda", lambda: (None, "no driver is loaded"))
    if "device" in inspect.signature(kind).parameters:
        with pytest.raises(RuntimeError, match="no driver is loaded"):
            fit(kind, device="cuda")
    else:
        with pytest.raises(TypeError, match="device"):
            make(kind, device="cuda")


# point masses


def earnings() -> tuple[Any, Any, Any]:
    """Rows of which a third earn nothing, some of them alike in all they have."""
    x, y, t, _ = known_data(300, seed=4)
    x[:, 0] = np.round(x[:, 0])
    x[:, 1] = x[:, 0] > 0
    x[:, 2] = np.arange(300) % 4 < 2
    return x, np.where(np.random.default_rng(4).random(300) < 0.31, 0.0, np.exp(y)), t


def test_a_point_mass_is_named_and_rows_alike_enter_together(kind: Any) -> None:
    x, y, t = earnings()
    model, said = heard(lambda: fit(kind, x, y, t, randomized=True))
    n = int((y == 0).sum())
    text = (
        f"y is 0 in {n} of 300 rows: densities smear out such a point mass, and rows there are "
        "not told apart"
    )
    assert (NB26StatsWarning, text) in said
    lfdr, q = model.lfdr_[t], model.q_values_[t]
    if _neighbours(kind):
        assert len(np.unique(lfdr)) < len(lfdr) - 20
    for value in np.unique(lfdr):
        assert len(set(q[lfdr == value])) == 1
    for rate in np.r_[0.05:0.95:0.05, q]:
        if 0 < rate < 1:
            chosen = np.isin(np.flatnonzero(t), model.select(float(rate)))
            # none outside is as good as one inside
            assert chosen.all() or not chosen.any() or lfdr[~chosen].min() > lfdr[chosen].max()


# later calls and results


def test_selections_are_the_rows_whose_q_values_allow_it(kind: Any) -> None:
    for rule in ("model", "calibrated", "published"):
        model = fit(kind, control=rule)
        assert model.control_used_ == rule
        for q in np.r_[0.01, 0.1:1:0.1, model.q_values_[T]]:
            if 0 < q < 1:
                chosen = model.select(float(q))
                with np.errstate(invalid="ignore"):
                    np.testing.assert_array_equal(chosen, np.flatnonzero(model.q_values_ <= q))
        np.testing.assert_array_equal(np.flatnonzero(model.selected_), model.select())
        last = model.q_values_[model.selected_]
        assert model.estimated_fdr_ == (last.max() if len(last) else 0.0)
        # another rule, without a fit, is what a fit by that rule gives
        other = fit(kind, control="model")
        np.testing.assert_array_equal(model.select(0.3, "model"), other.select(0.3))


def test_a_fit_that_fails_leaves_the_earlier_one_whole(kind: Any) -> None:
    model = fit(kind, FRAME)
    before, text, chosen = dict(vars(model)), model.summary(), model.select(0.3)
    x, y, t = X.copy(), Y[::-1].copy(), T.copy()
    x[:, 0] += 8.0 * T
    model.overlap_action = "raise"
    with pytest.raises(ValueError, match="have no comparable controls"):
        model.fit(x, y, treatment=t)
    after = vars(model)
    assert after.keys() == before.keys()
    # set by hand, not by the fit
    assert all(after[k] is v for k, v in before.items() if k != "overlap_action")
    assert model.summary() == text
    np.testing.assert_array_equal(model.select(0.3), chosen)
    fresh = make(kind, overlap_action="raise")
    with pytest.raises(ValueError, match="have no comparable controls"):
        fresh.fit(x, y, treatment=t)
    with pytest.raises(NotFittedError):
        fresh.select()


def test_tables_texts_and_plain_forms(kind: Any) -> None:
    labels = pd.Index([f"p{i}" for i in range(N)], name="patient")
    model = fit(kind, FRAME.set_axis(labels))
    result = model.result()
    for table in (model.to_frame(), result.to_frame()):
        pd.testing.assert_index_equal(table.index, labels)
        np.testing.assert_array_equal(table["treated"].to_numpy(dtype=bool), T)
        np.testing.assert_array_equal(table["selected"], model.selected_)
        np.testing.assert_array_equal(table["lfdr"], model.lfdr_)
    assert (result.n1, result.n0, result.seed) == (120, 120, 0)
    assert result.estimands.index.tolist() == ["erpf", "care", "responder_effect", "att"]
    text = model.summary()
    assert text == result.summary()
    for word in (kind.__name__, "Rows in use", "Target FDR q", "Selected", "ERPF", "Overlap"):
        assert word in text
    assert result._repr_html_() == f"<pre>{html.escape(text)}</pre>"
    plain = result.to_r()
    assert plain["estimands"].keys() >= {"lower", "upper", "ci_low", "ci_high"}
    json.dumps(plain)


def test_rows_without_overlap_are_numbered_as_given(kind: Any) -> None:
    x, y = X.copy(), Y.copy()
    # gaps before them move the rows that remain
    y[:4] = np.nan
    x[:, 0] = np.where(np.isin(np.arange(N), [101, 103]), 12.0, x[:, 0])
    x[:, 0] += 1.5 * T
    model, said = heard(lambda: fit(kind, x, y, missing="drop", overlap_action="warn"))
    (text,) = [text for category, text in said if category is OverlapWarning]
    flagged = [int(i) for i in re.search(r"rows ([\d, ]+)", text)[1].split(",") if i.strip()]  # type: ignore[index]
    assert {101, 103} <= set(flagged)
    trimmed, _ = heard(lambda: fit(kind, x, y, missing="drop", overlap_action="trim"))
    np.testing.assert_array_equal(np.flatnonzero(trimmed.trimmed_)[: len(flagged)], flagged)
    assert (trimmed.lfdr_[trimmed.trimmed_] == 1).all()
    assert not trimmed.selected_[trimmed.trimmed_].any()
    assert trimmed.result().n1 == T[4:].sum() - trimmed.trimmed_.sum()
    assert not model.trimmed_.any()


def test_masks_of_zeros_and_ones_are_masks() -> None:
    from nb26stats import NonparametricC2G, datasets

    data = datasets.simulate_additive(300, 5, random_state=0)
    model = NonparametricC2G(n_bootstrap=10, random_state=0)
    model.fit(data.X, data.y, treatment=data.treatment)
    mask = data.X[:, 0] > 0

    def asked(subset: Any) -> tuple[Any, ...]:
        answer = model.estimand_interval("att", subset=subset)
        return answer.n, answer.lower, answer.upper, answer.ci_low, answer.ci_high

    expected = asked(mask)
    for form in (mask.astype(int), mask.astype(float), mask.astype(int).tolist()):
        assert asked(form) == expected
    assert asked(np.flatnonzero(mask)) == expected


def test_covariates_of_extreme_scale_are_refused_by_the_survival_scores() -> None:
    from nb26stats import survival_residual_z

    rng = np.random.default_rng(0)
    X, time, arm = rng.normal(size=(200, 2)), rng.exponential(size=200), np.arange(200) % 2
    for scale in (1e-300, 1e300):
        with pytest.raises(ValueError, match="column 0 of X"):
            survival_residual_z(time, np.ones(200), X * scale, treatment=arm)
