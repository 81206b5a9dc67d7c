"""Smokers who quit, nonparametrically: numbers of a prototype in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nb26stats import NonparametricC2G, datasets

COVARIATES = [
    "sex",
    "age",
    "race",
    "school",
    "smokeintensity",
    "smokeyrs",
    "wt71",
    "active",
    "exercise",
]


def test_weight_gain_after_quitting() -> None:
    smokers = datasets.load_nhefs()
    quit_smoking = smokers["qsmk"].to_numpy(dtype=float) == 1
    model = NonparametricC2G(random_state=0, n_threads=1)
    model.fit(smokers[COVARIATES].astype(float), smokers["wt82_71"], treatment=quit_smoking)
    assert len(model.select(q=0.1, control="model")) == 6
    # the prototype had 16, and .201, with other resamples
    assert 13 <= len(model.select(q=0.2, control="model")) <= 19
    assert model.estimand_interval("erpf").lower == pytest.approx(0.201, abs=0.01)
    assert model.ess_[quit_smoking].min() == pytest.approx(9.6, abs=0.05)
    assert np.median(model.ess_[quit_smoking]) == pytest.approx(84, abs=0.5)
    assert model.pi0_used_ == "plugin"
    assert model.control_used_ == "calibrated"
    # the calibration finds too many controls that look like responders
    assert not model.selected_.any()
