"""DNNLearningRule among scikit-learn's tools: clones, pickles, parameters, routing, tags."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.learning import det
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from nb26stats.learning import DNNLearningRule

X, Y, R, SIDE, _ = det(200)
SESSIONS = np.repeat([1, 2], 100)
QUICK: dict[str, Any] = {"n_pool": 10, "n_restarts": 2, "random_state": 0}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Warnings of short fits are not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _fields(est: BaseEstimator) -> dict[str, Any]:
    return {k: v for k, v in vars(est).items() if k.endswith("_")}


def _same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            _same(a[key], b[key])
    else:
        np.testing.assert_array_equal(a, b)


def test_clone_keeps_parameters_and_forgets_the_fit() -> None:
    est = DNNLearningRule("2L", rule="rpe", alpha_bounds=(1e-5, 0.5), **QUICK)
    est.fit(X, Y, rewards=R)
    copy = clone(est)
    assert copy.get_params() == est.get_params()
    assert not _fields(copy)
    _same(_fields(copy.fit(X, Y, rewards=R)), _fields(est))


def test_a_pickle_before_the_fit_fits_alike() -> None:
    est = DNNLearningRule("2NL", **QUICK)
    other = pickle.loads(pickle.dumps(est))
    _same(_fields(other.fit(X, Y, rewards=R)), _fields(est.fit(X, Y, rewards=R)))


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
def test_a_pickle_after_the_fit_goes_on_alike(architecture: str) -> None:
    est = DNNLearningRule(architecture, rule="rpe", penalty="gaussian", **QUICK)
    est.fit(X, Y, rewards=R)
    other = pickle.loads(pickle.dumps(est))
    _same(_fields(other), _fields(est))
    for call in (
        lambda e: e.score(X, Y, rewards=R),
        lambda e: e.one_step_proba(X, Y, rewards=R),
        lambda e: e.simulate(X, SIDE, n_runs=2, random_state=1).choice,
        lambda e: e.log_likelihood(e.theta_, X, Y, R),
        lambda e: e.cross_val_blocks(X, Y, rewards=R, sessions=SESSIONS, n_blocks=2)["mean"],
        lambda e: e.summary(),
        lambda e: e.fit(X, Y, rewards=R).loglik_,
    ):
        _same(call(other), call(est))


def test_fitted_state_is_plain() -> None:
    est = DNNLearningRule("2NL", **QUICK).fit(X, Y, rewards=R)
    plain = (np.ndarray, float, int, str, bool, type(None))
    for name, value in _fields(est).items():
        inner = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else [value]
        )
        assert all(isinstance(v, plain) and not isinstance(v, np.generic) for v in inner), name


def test_parameters_are_stored_as_given() -> None:
    signature = inspect.signature(DNNLearningRule.__init__).parameters
    given = {name: object() for name in signature if name != "self"}
    est = DNNLearningRule(**given)  # type: ignore[arg-type]
    assert vars(est) == given
    assert est.get_params() == given
    est = DNNLearningRule()
    assert vars(est) == {n: p.default for n, p in signature.items() if n != "self"}
    assert est.set_params(hidden=3, rule="rpe").get_params()["hidden"] == 3
    with pytest.raises(ValueError, match="Invalid parameter 'hiden'"):
        est.set_params(hiden=3)
    # a fit does not touch them
    est = DNNLearningRule("1L", **QUICK)
    before = est.get_params()
    est.fit(X, Y, rewards=R)
    assert est.get_params() == before


def test_only_the_architecture_is_positional() -> None:
    kinds = [p.kind for p in inspect.signature(DNNLearningRule).parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}


def test_it_is_no_classifier() -> None:
    est = DNNLearningRule("1L", **QUICK).fit(X, Y, rewards=R)
    assert not is_classifier(est)
    assert not is_regressor(est)
    tags = get_tags(est)
    assert tags.estimator_type is None
    assert tags.classifier_tags is None
    for name in ("predict", "predict_proba", "decision_function", "classes_", "transform"):
        assert not hasattr(est, name)
    text = DNNLearningRule.__doc__ or ""
    for words in ("not a classifier", "cross_val_score", "cross_val_blocks"):
        assert words in text


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.score(X, Y, rewards=R),
        lambda e: e.one_step_proba(X, Y, rewards=R),
        lambda e: e.one_step_log_proba(X, Y, rewards=R),
        lambda e: e.simulate(X, SIDE),
        lambda e: e.profile_likelihood("beta", [1.0], X, Y, rewards=R),
        lambda e: e.summary(),
        lambda e: e.plot(),
    ],
)
def test_methods_need_a_fit(call: Any) -> None:
    with pytest.raises(NotFittedError):
        call(DNNLearningRule("1L"))


def test_extra_arguments_are_routed() -> None:
    step = FunctionTransformer()
    with config_context(enable_metadata_routing=True):
        inner = DNNLearningRule("1L", rule="rpe", **QUICK)
        inner.set_fit_request(rewards=True, sessions=True, likelihood_mask=True, init=False)
        inner.set_fit_request(correct_side=False)
        inner.set_score_request(rewards=True, sessions=True, likelihood_mask=True)
        inner.set_score_request(correct_side=False)
        pipe = make_pipeline(step, inner)
        mask = np.arange(200) < 150
        given = {"rewards": R, "sessions": SESSIONS, "likelihood_mask": mask}
        pipe.fit(X, Y, **given)
        scorer = check_scoring(pipe[-1])
        assert scorer.get_metadata_routing().consumes("score", [*given, "init"]) == set(given)
        got = scorer(pipe[-1], X, Y, **given)
    direct = DNNLearningRule("1L", rule="rpe", **QUICK).fit(X, Y, **given)
    assert pipe[-1].loglik_ == direct.loglik_
    assert got == direct.score(X, Y, **given)
    assert direct.n_counted_ == 150


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("fit", ["correct_side", "init", "likelihood_mask", "rewards", "sessions"]),
        ("score", ["correct_side", "likelihood_mask", "rewards", "sessions"]),
    ],
)
def test_what_can_be_requested(method: str, names: list[str]) -> None:
    requests = DNNLearningRule().get_metadata_routing()
    assert sorted(getattr(requests, method).requests) == names


def test_names_of_inputs_are_remembered() -> None:
    frame = pd.DataFrame(X, columns=["left", "right", "one"])
    est = DNNLearningRule("1L", **QUICK).fit(frame, Y, rewards=R)
    assert est.feature_names_in_.tolist() == ["left", "right", "one"]
    assert est.score(frame, Y, rewards=R) * 200 == pytest.approx(est.loglik_)
    with pytest.raises(ValueError, match="feature names should match"):
        est.score(frame[["right", "left", "one"]], Y, rewards=R)
    assert not hasattr(est.fit(X, Y, rewards=R), "feature_names_in_")


def test_a_second_fit_forgets_the_first() -> None:
    est = DNNLearningRule("1L", **QUICK)
    est.fit(X, Y, rewards=R)
    again = est.fit(X[:100, :2], Y[:100], rewards=R[:100])
    fresh = DNNLearningRule("1L", **QUICK).fit(X[:100, :2], Y[:100], rewards=R[:100])
    _same(_fields(again), _fields(fresh))


def test_a_fit_that_fails_keeps_the_one_before() -> None:
    est = DNNLearningRule("1L", **QUICK).fit(X, Y, rewards=R)
    before = _fields(est)
    with pytest.raises(ValueError, match="X must be finite"):
        est.fit(X * np.nan, Y, rewards=R)
    _same(_fields(est), before)


def test_names_that_scikit_learn_refuses_are_refused() -> None:
    frame = pd.DataFrame(X, columns=["left", 2, "one"])
    est = DNNLearningRule("1L", **QUICK)
    with pytest.raises(TypeError, match="Feature names are only supported"):
        est.fit(frame, Y, rewards=R)
    assert not _fields(est)
