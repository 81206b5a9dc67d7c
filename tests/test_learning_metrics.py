"""Accuracy, sensitivity and bias by session or window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learning_tools import mouse

from nb26stats.learning import behavior_metrics

F64 = Any


def _data(n: int = 400, seed: int = 0) -> tuple[F64, F64]:
    rng = np.random.default_rng(seed)
    c = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5], n)
    return c, (rng.random(n) < 1 / (1 + np.exp(-0.4 - 5 * c))).astype(float)


@pytest.mark.parametrize(
    ("span", "want"),
    [
        (slice(0, 1000), (0.5458, 0.0826, -0.0997)),
        (slice(2000, 3000), (0.8041, 0.6071, 0.0170)),
        (slice(-1000, None), (0.8757, 0.7513, 0.0154)),
    ],
)
def test_known_mouse(span: slice, want: tuple[float, float, float]) -> None:
    trials = mouse("DAP009")[span]
    (row,) = behavior_metrics(trials["signed_contrast"], trials["choice_right"]).itertuples()
    np.testing.assert_allclose((row.accuracy, row.sensitivity, row.bias), want, atol=1e-4)


def test_windows_are_those_of_the_definition() -> None:
    c, a = _data()
    table = behavior_metrics(c, a, window=150, step=100)
    assert table["start"].tolist() == [0, 100, 200]
    assert table["stop"].tolist() == [150, 250, 350]
    for row in table.itertuples():
        cc, aa = c[row.start : row.stop], a[row.start : row.stop]
        right, left = aa[cc > 0].mean(), aa[cc < 0].mean()
        correct = (aa == (cc > 0))[cc != 0].mean()
        np.testing.assert_allclose(
            (row.accuracy, row.sensitivity, row.bias),
            (correct, right - left, (right + left) / 2 - 0.5),
            atol=1e-15,
        )
    assert behavior_metrics(c, a, window=150)["start"].tolist() == [0, 150]
    assert behavior_metrics(c, a)[["start", "stop", "n_trials"]].to_numpy().tolist() == [
        [0, 400, 400]
    ]


def test_sessions_are_rows() -> None:
    c, a = _data()
    labels = np.repeat(["d1", "d2", "d3"], [100, 1, 299])
    table = behavior_metrics(c, a, sessions=labels)
    assert table["session"].tolist() == ["d1", "d2", "d3"]
    assert table["n_trials"].tolist() == [100, 1, 299]
    alone = behavior_metrics(c[101:], a[101:])
    for name in ("accuracy", "sensitivity", "bias"):
        assert table[name].iloc[2] == alone[name].iloc[0]
    assert np.isnan(table["sensitivity"].iloc[1])


def test_logistic_is_the_penalised_optimum() -> None:
    from scipy.optimize import minimize

    c, a = _data()
    (row,) = behavior_metrics(c, a, method="logistic").itertuples()

    def loss(w: F64) -> float:
        z = w[0] + w[1] * c
        return float(np.logaddexp(0, z).sum() - a @ z + 0.5e-3 * w @ w)

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose((row.bias, row.sensitivity), best.x, rtol=1e-5)
    assert loss(np.array([row.bias, row.sensitivity])) <= best.fun + 1e-12


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_logistic_is_finite_for_perfect_choices(scale: float) -> None:
    c = scale * np.tile([-1.0, -0.5, 0.5, 1.0], 500)
    (row,) = behavior_metrics(c, c > 0, method="logistic").itertuples()
    assert row.accuracy == 1.0
    assert 1.0 < row.sensitivity < 1e4
    assert abs(row.bias) < 1e-8
    # the gradient of the penalised likelihood vanishes
    p = 1 / (1 + np.exp(-row.sensitivity * c))
    assert abs(float(c @ ((c > 0) - p)) - 1e-3 * row.sensitivity) < 1e-8


@pytest.mark.parametrize("method", ["simple", "logistic"])
def test_a_missing_side_is_nan(method: str) -> None:
    (row,) = behavior_metrics([0.5, 0.25, 0.0], [1, 0, 1], method=method).itertuples()
    assert row.accuracy == 0.5
    assert np.isnan([row.sensitivity, row.bias]).all()
    (row,) = behavior_metrics([0.0, 0.0], [1, 0], method=method).itertuples()
    assert np.isnan([row.accuracy, row.sensitivity, row.bias]).all()


def test_mirror() -> None:
    c, a = _data()
    for method in ("simple", "logistic"):
        (row,) = behavior_metrics(c, a, method=method).itertuples()
        (other,) = behavior_metrics(-c, 1 - a, method=method).itertuples()
        np.testing.assert_allclose(
            (other.accuracy, other.sensitivity, other.bias),
            (row.accuracy, row.sensitivity, -row.bias),
            atol=1e-9,
        )


@pytest.mark.parametrize(
    ("args", "kw", "error", "match"),
    [
        (([0.5, 50.0], [1, 1]), {}, ValueError, "percent"),
        (([0.5, 0.5], [1]), {}, ValueError, "choice has 1 values, but contrast has 2"),
        (([0.5, 0.5], [1, 2]), {}, ValueError, "got 2 at trial 1"),
        (([0.5, 0.5], [1, np.nan]), {}, ValueError, "1 of 2 trials without a response"),
        (([0.5, 0.5], [1, 0]), {"window": 3}, ValueError, "window=3 is longer"),
        (([0.5, 0.5], [1, 0]), {"window": 1.5}, TypeError, "window must be a whole number"),
        (([0.5, 0.5], [1, 0]), {"step": 1}, ValueError, "step needs a window"),
        (([0.5, 0.5], [1, 0]), {"sessions": [1]}, ValueError, "sessions has 1 values, but contr"),
        (([0.5] * 3, [1, 0, 1]), {"sessions": [1, 2, 1]}, ValueError, "label 1 returns at trial 2"),
        (([0.5], [1]), {"sessions": [1], "window": 1}, ValueError, "both given"),
        (([0.5], [1]), {"sessions": [1], "step": 1}, ValueError, "step is for windows"),
        (([0.5], [1]), {"method": "probit"}, ValueError, "'simple', 'logistic'"),
        (([], []), {}, ValueError, "no trials"),
    ],
)
def test_bad_input(args: Any, kw: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        behavior_metrics(*args, **kw)


def test_whole_floats_are_trial_numbers() -> None:
    c, a = _data()
    windows: Any = {"window": 100.0, "step": 50.0}
    assert behavior_metrics(c, a, **windows).equals(behavior_metrics(c, a, window=100, step=50))
