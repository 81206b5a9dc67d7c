"""Every fitted estimator prints, tabulates and draws itself, and says so before it is fitted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from nb26stats import (
    DiscretePID,
    DNNLearningRule,
    GaussianPID,
    NonparametricC2G,
    OjaPCA,
    SemiparametricC2G,
    TimeResolvedPID,
    datasets,
    encode_contrast,
    plotting,
)


def fit_oja(model: Any) -> None:
    model.fit(np.random.default_rng(0).standard_normal((300, 4)) * [3, 2, 1, 1])


def fit_gaussian(model: Any) -> None:
    rng = np.random.default_rng(0)
    model.fit([rng.standard_normal((90, 2)), rng.standard_normal((90, 2))], rng.standard_normal(90))


def fit_discrete(model: Any) -> None:
    rng = np.random.default_rng(0)
    model.fit(list(rng.integers(0, 2, (2, 200))), rng.integers(0, 2, 200))


def fit_course(model: Any) -> None:
    rng = np.random.default_rng(0)
    x = {name: rng.standard_normal((80, 3, 2)) for name in ("V1", "IT")}
    model.fit(x, rng.integers(0, 2, 80), np.arange(3.0))


def fit_rule(model: Any) -> None:
    rng = np.random.default_rng(0)
    contrast = rng.choice([-0.5, 0.5], 200)
    model.fit(encode_contrast(contrast), (contrast > 0) * 1, rewards=np.ones(200))


def fit_responders(model: Any) -> None:
    study = datasets.simulate_additive(200, 4, random_state=0)
    model.fit(study.X, study.y, treatment=study.treatment)


MODELS = [
    (OjaPCA(2, n_bootstrap=19, random_state=0), fit_oja),
    (GaussianPID(n_bootstrap=9, random_state=0), fit_gaussian),
    (DiscretePID(), fit_discrete),
    (TimeResolvedPID(n_permutations=99, random_state=0), fit_course),
    (DNNLearningRule("1L", n_restarts=2, n_pool=9, random_state=0, verbose=False), fit_rule),
    (NonparametricC2G(n_bootstrap=9, random_state=0), fit_responders),
    (SemiparametricC2G(random_state=0), fit_responders),
]


@pytest.mark.parametrize(("model", "fit"), MODELS, ids=lambda v: type(v).__name__)
def test_summary_and_plot_of_every_estimator(model: Any, fit: Any) -> None:
    with pytest.raises(NotFittedError):
        model.summary()
    with pytest.raises(NotFittedError):
        model.plot()
    with pytest.raises(NotFittedError):
        model.to_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(model)
        text = model.summary()
    assert isinstance(text, str)
    assert len(text.splitlines()) > 4
    assert max(map(len, text.splitlines())) <= 100
    with warnings.catch_warnings(), plotting.style(offscreen=True):
        warnings.simplefilter("ignore")
        axes = np.ravel(np.asarray(model.plot(), dtype=object))
    assert all(ax.get_xlabel() or ax.get_ylabel() or ax.get_title(loc="left") for ax in axes)
    assert isinstance(model.to_frame(), pd.DataFrame)
