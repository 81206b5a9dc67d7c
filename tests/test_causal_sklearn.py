"""The responder models among scikit-learn's tools: clones, pickles, pipelines, routing, tags.

Scikit-learn's own suite calls ``fit`` without a treatment, so what it would check is checked here.
"""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causal_fake import PUBLIC, KnownC2G, known_data
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

from nb26stats.causal import WeakIdentificationWarning
from nb26stats.causal._base import C2GBase

X, Y, T, _ = known_data(240)
EVERY = [KnownC2G, *PUBLIC]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What a model thinks of 240 rows is not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", WeakIdentificationWarning)
        yield


def make(kind: type[C2GBase], **kw: Any) -> Any:
    small = {"n_bootstrap": 5} if "n_neighbors" in inspect.signature(kind).parameters else {}
    return kind(**{"random_state": 0, **small, **kw})


def state(est: BaseEstimator) -> dict[str, Any]:
    return {k: v for k, v in vars(est).items() if k.endswith("_") and not k.startswith("_")}


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


@pytest.mark.parametrize("kind", EVERY)
def test_clone_keeps_parameters_and_forgets_the_fit(kind: Any) -> None:
    est = make(kind, q=0.15, control="published", overlap=0.01)
    before = est.get_params()
    est.fit(X, Y, treatment=T)
    assert est.get_params() == before
    copy = clone(est)
    assert copy.get_params() == before
    assert not state(copy)
    same(state(copy.fit(X, Y, treatment=T)), state(est))


@pytest.mark.parametrize("kind", EVERY)
def test_pickles_go_on_alike(kind: Any) -> None:
    fresh = pickle.loads(pickle.dumps(make(kind)))
    est = fresh.fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y, treatment=T)
    other = pickle.loads(pickle.dumps(est))
    same(state(other), state(est))
    frame = pd.DataFrame(X[:7], columns=["a", "b", "c"])
    for call in (
        lambda e: e.select(0.3, "model"),
        lambda e: e.lfdr(frame, Y[:7]),
        lambda e: e.predict_prior(frame),
        lambda e: e.predict_effect(frame),
        lambda e: e.estimand_interval("att", subset=range(50)).upper,
        lambda e: e.summary(),
    ):
        np.testing.assert_array_equal(call(other), call(est))


@pytest.mark.parametrize("kind", EVERY)
def test_a_second_fit_forgets_the_first(kind: Any) -> None:
    est = make(kind).fit(X[:200, :2], Y[:200] * 3, treatment=T[:200])
    same(state(est.fit(X, Y, treatment=T)), state(make(kind).fit(X, Y, treatment=T)))


@pytest.mark.parametrize("kind", EVERY)
def test_memory_order_read_only_arrays_and_lists_change_nothing(kind: Any, tmp_path: Path) -> None:
    expected = state(make(kind).fit(X, Y, treatment=T))
    files = []
    for name, values in (("x", X), ("y", Y), ("t", T)):
        np.save(tmp_path / f"{name}.npy", values)
        files.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    for x, y, t in (
        (np.asfortranarray(X), Y[::-1][::-1], T),
        files,
        (X.tolist(), Y.tolist(), T.tolist()),
        (X.copy(), Y.astype(">f8"), T.astype(np.int8)),
    ):
        same(state(make(kind).fit(x, y, treatment=t)), expected)


@pytest.mark.parametrize("kind", EVERY)
def test_fit_leaves_its_input_alone(kind: Any) -> None:
    x, y, t = X.copy(), Y.copy(), T.copy()
    make(kind).fit(x, y, treatment=t)
    for after, before in ((x, X), (y, Y), (t, T)):
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("kind", EVERY)
def test_methods_before_the_fit(kind: Any) -> None:
    est = make(kind)
    for call in (
        est.select,
        est.summary,
        est.result,
        est.to_frame,
        est.estimand_interval,
        lambda: est.lfdr(X, Y),
        lambda: est.predict_prior(X),
        lambda: est.predict_effect(X),
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("kind", EVERY)
def test_new_rows_are_predicted_one_by_one(kind: Any) -> None:
    est = make(kind).fit(X, Y, treatment=T)
    new, y = known_data(12, seed=5)[:2]
    order = np.r_[3:12, 0:3]
    for call in (
        lambda i: est.lfdr(new[i], y[i]),
        lambda i: est.predict_prior(new[i]),
        lambda i: est.predict_effect(new[i]),
    ):
        whole = call(slice(None))
        assert whole.shape[0] == 12
        assert np.isfinite(whole).all()
        np.testing.assert_allclose(call(order), whole[order], rtol=1e-9)
        np.testing.assert_allclose(
            np.concatenate([call(slice(i, i + 1)) for i in range(12)]), whole, rtol=1e-9
        )


@pytest.mark.parametrize("kind", EVERY)
def test_names_and_index_come_back(kind: Any) -> None:
    labels = pd.Index([f"s{i}" for i in range(len(Y))], name="sample")
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=labels)
    est = make(kind).fit(frame, pd.Series(Y, index=labels), treatment=pd.Series(T, index=labels))
    plain = make(kind).fit(X, Y, treatment=T)
    assert est.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(plain, "feature_names_in_")
    pd.testing.assert_index_equal(est.to_frame().index, labels)
    expected = state(plain)
    same({k: v for k, v in state(est).items() if k != "feature_names_in_"}, expected)


@pytest.mark.parametrize("kind", EVERY)
def test_pipelines_hand_the_treatment_on(kind: Any) -> None:
    direct = make(kind).fit(StandardScaler().fit_transform(X), Y, treatment=T)
    name = kind.__name__.lower()
    pipe = make_pipeline(StandardScaler(), make(kind))
    pipe.fit(X, Y, **{f"{name}__treatment": T})
    same(state(pipe[-1]), state(direct))
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FunctionTransformer(), make(kind).set_fit_request(treatment=True))
        same(
            state(pipe.fit(X, Y, treatment=T)[-1]),
            state(make(kind).fit(X, Y, treatment=T)),
        )
        with pytest.raises(TypeError, match="arm"):
            make_pipeline(make(kind)).fit(X, Y, arm=T)
        est = make(kind).set_fit_request(treatment="arm")
        request = est.get_metadata_routing().fit.requests
    assert request["treatment"] == "arm"


@pytest.mark.parametrize("kind", EVERY)
def test_tags(kind: Any) -> None:
    tags = get_tags(make(kind))
    assert tags.target_tags.required
    assert not tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert get_tags(make(kind, missing="drop")).input_tags.allow_nan
    assert not is_classifier(make(kind))
    assert not is_regressor(make(kind))


@pytest.mark.parametrize("kind", EVERY)
def test_parameters_are_stored_unchanged_and_judged_in_fit(kind: Any) -> None:
    odd = {"q": "high", "control": None, "pi0": -1}
    est = kind(**odd)
    assert {k: est.get_params()[k] for k in odd} == odd
    est.set_params(q=2)
    assert est.q == 2
    with pytest.raises(ValueError, match="q=2 must lie strictly between 0 and 1"):
        est.fit(X, Y, treatment=T)
    assert not state(est)


@pytest.mark.parametrize("kind", EVERY)
def test_seeds(kind: Any) -> None:
    def fitted(seed: Any) -> dict[str, Any]:
        return state(make(kind, random_state=seed).fit(X, Y, treatment=T))

    same(fitted(7), fitted(7.0))
    generator = np.random.default_rng(3)
    first, second = fitted(generator), fitted(generator)
    assert first["seed_"] != second["seed_"]
    same(fitted(np.random.default_rng(3)), first)
    # the key that was drawn brings the same fit back
    again = fitted(int(first["seed_"]))
    same(again, first)
    assert fitted(np.random.RandomState(3))["seed_"] != first["seed_"]
    assert fitted(None)["seed_"] != fitted(None)["seed_"]
