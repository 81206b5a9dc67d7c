"""Learning curves: the animal beside runs of its network, in windows and in sessions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nb26stats.learning import DNNLearningRule, LearningCurve, behavior_metrics, encode_contrast

N = 300
RNG = np.random.default_rng(0)
CONTRAST = RNG.choice([-0.5, -0.25, 0.25, 0.5], N)
SIDE = (CONTRAST > 0).astype(float)
CHOICE = np.where(RNG.random(N) < np.linspace(0.5, 0.95, N), SIDE, 1 - SIDE)
REWARD = (CHOICE == SIDE).astype(float)
SESSIONS = np.repeat(["a", "b", "c"], N // 3)
X = encode_contrast(CONTRAST)


@pytest.fixture(scope="module")
def rule() -> DNNLearningRule:
    settings = {"n_pool": 10, "n_restarts": 2, "random_state": 0, "verbose": False}
    est = DNNLearningRule("1L", rule="rpe", penalty="gaussian", **settings)  # type: ignore[arg-type]
    return est.fit(X, CHOICE, rewards=REWARD)


def by_hand(values: list[list[float]]) -> LearningCurve:
    """A curve of one window whose runs have these accuracies."""
    animal = pd.DataFrame({"accuracy": [0.6], "bias": [np.nan], "sensitivity": [0.2]})
    runs = [pd.DataFrame({"accuracy": v, "bias": 0.0, "sensitivity": 0.5}) for v in values]
    return LearningCurve(animal, runs, None, "2L", 7)


def test_sides_stand_for_contrasts(rule: DNNLearningRule) -> None:
    by_side = rule.learning_curve(X, CHOICE, rewards=REWARD, window=50, n_runs=3, random_state=1)
    given = rule.learning_curve(
        X, CHOICE, contrast=CONTRAST, rewards=REWARD, window=50, n_runs=3, random_state=1
    )
    for a, b in zip(
        [by_side.animal, *by_side.simulated], [given.animal, *given.simulated], strict=True
    ):
        pd.testing.assert_frame_equal(a, b)
    assert by_side.seed == 1
    run = rule.simulate(X, SIDE, n_runs=3, random_state=1)
    expected = behavior_metrics(CONTRAST, run.choice[2], window=50)
    pd.testing.assert_frame_equal(by_side.simulated[2], expected)


def test_sessions_are_rows_and_trials_without_response_are_left_out(rule: DNNLearningRule) -> None:
    given = {"rewards": REWARD, "sessions": SESSIONS, "n_runs": 2, "random_state": 0}
    curve = rule.learning_curve(X, CHOICE, **given)
    assert curve.animal["session"].tolist() == ["a", "b", "c"]
    assert curve.sessions is not None
    assert len(curve.sessions) == N
    choice = CHOICE.copy()
    choice[[3, 150]] = np.nan
    dropping = DNNLearningRule(**{**rule.get_params(), "drop_no_response": True})
    dropping.fit(X, choice, rewards=REWARD)
    fewer = dropping.learning_curve(X, choice, contrast=CONTRAST, **given)
    assert fewer.animal["n_trials"].tolist() == [99, 99, 100]


def test_without_windows_and_sessions_there_are_twenty(rule: DNNLearningRule) -> None:
    curve = rule.learning_curve(X, CHOICE, rewards=REWARD, n_runs=2, random_state=0)
    assert len(curve.animal) == 20
    panels = curve.plot()
    assert [p.get_title(loc="left") for p in panels] == ["Accuracy", "Bias", "Sensitivity"]


def test_medians_bands_and_shares() -> None:
    curve = by_hand([[k / 100] for k in range(101)])
    row = curve.to_frame(0.9).iloc[0]
    assert row["accuracy_low"] == pytest.approx(0.05)
    assert row["accuracy_median"] == pytest.approx(0.5)
    assert row["accuracy_high"] == pytest.approx(0.95)
    inside = curve.inside()
    assert (inside["accuracy"], inside["sensitivity"]) == (1.0, 0.0)
    # the animal has no bias here
    assert np.isnan(inside["bias"])
    text = curve.summary()
    assert "Learning curve of 1 windows, 101 runs of 2L" in text
    assert "0.500 (0.025, 0.975)" in text
    with pytest.raises(ValueError, match="level"):
        curve.to_frame(95)


def test_what_does_not_fit_is_refused(rule: DNNLearningRule) -> None:
    with pytest.raises(ValueError, match="contrast has 10 trials but X has 300"):
        rule.learning_curve(X, CHOICE, contrast=CONTRAST[:10], rewards=REWARD)
    with pytest.raises(ValueError, match="both None"):
        rule.learning_curve(X, CHOICE)
    with pytest.raises(ValueError, match=r"^n_runs=0 must be at least 1$"):
        rule.learning_curve(X, CHOICE, rewards=REWARD, n_runs=0)
