"""Error rates of the selection with exact densities: confounding, unequal arms, wrong scores.

The densities are those of the simulators, so that what is tested is the calibration by controls
with estimated probabilities of treatment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from causal_fake import KnownC2G
from scipy.special import expit
from scipy.stats import norm, t

from nb26stats import datasets
from nb26stats.causal._rows import Rows
from nb26stats.causal._scores import Scores
from nb26stats.causal._selection import Calibration, select

pytestmark = pytest.mark.slow

Q = 0.1


class ExactC2G(KnownC2G):
    """Scores that are given: local false discovery rates to a power, and priors, of every row."""

    def given(self, lfdr: Any, prior: Any, power: float) -> ExactC2G:
        self._exact = lfdr, prior, power
        return self

    def _fit_model(self, rows: Rows, propensity: Any, seed: int) -> Scores:
        lfdr, prior, power = self._exact
        score = lfdr**power
        nothing = np.full(len(score), np.nan)
        return Scores(
            lfdr=np.where(rows.treated, score, np.nan),
            control_score=np.where(rows.treated, np.nan, score),
            prior=prior,
            null_mean=nothing,
            effect=nothing,
            ess=nothing,
        )


def exact_lfdr(residual: Any, prior: Any, effect: Any, density: Any) -> Any:
    null = (1 - prior) * density(residual)
    return null / (null + prior * density(residual - effect))


def rates(chosen: Any, responder: Any) -> tuple[float, float]:
    right = int(responder[chosen].sum())
    return (1 - right / len(chosen) if len(chosen) else 0.0), right / int(responder.sum())


def mean_and_error(values: Any) -> tuple[Any, Any]:
    table = np.array(values)
    return table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))


def noise_of_confounded(residual: Any) -> Any:
    scale = np.sqrt(3 / 5)
    return t.pdf(residual / scale, 5) / scale


@pytest.mark.filterwarnings("ignore::nb26stats.causal.OverlapWarning")
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("a", [-1.5, 1.0, 1.5])
def test_confounded_arms_of_unequal_size(a: float, power: float) -> None:
    """Whatever monotone score: per-unit priors come near q, none at all stay well below."""
    found: dict[Any, list[Any]] = {"plugin": [], "conservative": []}
    for seed in range(20):
        data = datasets.simulate_confounded(1500, 3, a, random_state=seed)
        lfdr = exact_lfdr(data.y - data.null_mean, data.prior, data.effect, noise_of_confounded)
        for pi0, results in found.items():
            model = ExactC2G(pi0=pi0, random_state=0).given(lfdr, data.prior, power)
            model.fit(data.X, data.y, treatment=data.treatment)
            results.append(rates(model.select(), data.responder))
    for pi0, (low, high) in {"plugin": (0.07, Q), "conservative": (0.03, 0.07)}.items():
        (fdr, found_share), (error, _) = mean_and_error(found[pi0])
        print(
            f"a={a:g} score^{power:g} pi0={pi0}: FDR {fdr:.3f}±{error:.3f}, power {found_share:.3f}"
        )
        assert low <= fdr <= high + 2 * error
        # at 1.5 few controls stand for many treated rows, and their absence proves less
        assert found_share > (0.9 if pi0 == "plugin" else 0.75 if a == 1.5 else 0.8)


def two_kinds(seed: int) -> tuple[Any, ...]:
    """Rows of a large effect and many responders beside rows of a small effect and few."""
    r = np.random.default_rng(seed)
    x = r.normal(size=(1500, 2))
    treated = r.random(1500) < expit(x[:, 0])
    prior, effect = np.where(x[:, 1] > 0, 0.9, 0.3), np.where(x[:, 1] > 0, 10.0, 2.0)
    responder = treated & (r.random(1500) < prior)
    y = r.normal(size=1500) + effect * responder
    return x, y, treated, responder, prior, exact_lfdr(y, prior, effect, norm.pdf)


@pytest.mark.filterwarnings("ignore::nb26stats.causal.OverlapWarning")
def test_priors_that_go_with_false_selections() -> None:
    """One common prior is not valid where rows of few responders make the false selections."""
    found: dict[Any, list[Any]] = {"one": [], "plugin": [], "conservative": []}
    for seed in range(20):
        x, y, treated, responder, prior, lfdr = two_kinds(seed)
        for pi0, results in found.items():
            setting = 1 - float(prior[treated].mean()) if pi0 == "one" else pi0
            model = ExactC2G(pi0=setting, random_state=0).given(lfdr, prior, 3.0)
            model.fit(x, y, treatment=treated)
            results.append(rates(model.select(), responder))
    fdr = {}
    for pi0, results in found.items():
        (fdr[pi0], share), (error, _) = mean_and_error(results)
        print(f"pi0={pi0}: FDR {fdr[pi0]:.3f}±{error:.3f}, power {share:.3f}")
        if pi0 != "one":
            assert fdr[pi0] <= Q + 2 * error
    assert fdr["one"] > 0.15 > fdr["plugin"] > fdr["conservative"]


def no_overlap(seed: int) -> tuple[Any, ...]:
    """Rows of high covariate are nearly all treated, and vary less than the score believes."""
    r = np.random.default_rng(seed)
    x = r.normal(size=(1500, 1))
    treated = r.random(1500) < expit(1 + 3 * x[:, 0])
    responder = treated & (r.random(1500) < 0.4)
    spread = np.where(x[:, 0] > 0.9, 0.5, 1.0)
    y = r.normal(size=1500) * spread + 3.0 * responder
    return x, y, treated, responder, exact_lfdr(y, 0.4, 3.0, norm.pdf)


def test_trimming_removes_controls_that_stand_for_trimmed_rows() -> None:
    """With those controls kept, weights stand for more rows than there are, and the rate is off."""
    weight: dict[str, list[float]] = {"kept": [], "excluded": []}
    fdr: dict[str, list[float]] = {"kept": [], "excluded": []}
    for seed in range(40):
        x, y, treated, responder, lfdr = no_overlap(seed)
        model = ExactC2G(pi0="plugin", overlap_action="trim", random_state=0)
        model.given(lfdr, np.full(1500, 0.4), 3.0).fit(x, y, treatment=treated)
        rows = np.flatnonzero(treated & ~model.trimmed_)
        e = model.propensity_
        for name, controls in (
            ("kept", np.flatnonzero(~treated)),
            ("excluded", np.flatnonzero(~treated & (e <= 0.98))),
        ):
            odds = e[controls] / (1 - e[controls])
            weight[name].append(odds.sum() / len(rows))
            own = e[rows] / (1 - e[rows])
            prior = np.full(len(odds), 0.4)
            stand_in = Calibration(model.control_score_[controls], odds, prior, own)
            chosen = rows[select(model.lfdr_[rows], Q, "calibrated", stand_in)]
            fdr[name].append(1 - responder[chosen].mean())
        np.testing.assert_array_equal(chosen, model.select())
    mean, error = {}, {}
    for name in fdr:
        mean[name], error[name] = mean_and_error(fdr[name])
        share = np.mean(weight[name])
        print(f"{name}: FDR {mean[name]:.3f}±{error[name]:.3f}, weight per row {share:.2f}")
    assert mean["excluded"] <= Q + 2 * error["excluded"]
    assert mean["kept"] > mean["excluded"] + 0.005
    assert abs(np.mean(weight["excluded"]) - 1) < 0.1 < np.mean(weight["kept"]) - 1
