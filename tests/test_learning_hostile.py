"""Input and use that nobody should try: every case ends in one clear sentence."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from nb26stats._dispatch import core
from nb26stats._warnings import NB26StatsWarning
from nb26stats.datasets import load_ibl_csv
from nb26stats.learning import (
    DNNLearningRule,
    _native,
    behavior_metrics,
    compare_architectures,
    compare_learning_rules,
    encode_contrast,
    fit_psychometric,
    select_hidden,
)
from nb26stats.learning._model import Model
from nb26stats.learning._table_input import read_animals

T = 60
CONTRAST = np.tile([-0.5, -0.25, 0.0, 0.25, 0.5], T // 5)
X = encode_contrast(CONTRAST)
Y = (np.arange(T) * 7 % 11 < 5).astype(float)
R = (np.arange(T) * 5 % 7 < 4).astype(float)
SMALL: dict[str, Any] = {"n_restarts": 2, "n_pool": 8, "verbose": False, "random_state": 0}


def _fit(architecture: str = "2NL", **change: Any) -> DNNLearningRule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DNNLearningRule(architecture, **{**SMALL, **change}).fit(X, Y, rewards=R)


def _refuses(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        call()


def test_networks_that_the_kernels_cannot_hold_are_refused_by_name() -> None:
    assert np.isfinite(_fit(hidden=64, max_iter=1, standard_errors=False).loglik_)
    _refuses(lambda: _fit(hidden=65), ValueError, "hidden=65 must lie in [1, 64]")
    wide = np.zeros((2, 100_001))
    _refuses(
        lambda: DNNLearningRule("1L").fit(wide, [0, 1], rewards=[0, 1]),
        ValueError,
        "X must have at most 100000 inputs, got 100001: rows are trials",
    )


@pytest.mark.parametrize("architecture", ["1L", "2L", "2NL"])
@pytest.mark.parametrize("name", ["weight_bound", "weight_sd"])
def test_scales_whose_squares_have_an_inverse(architecture: str, name: str) -> None:
    penalty = "gaussian" if name == "weight_sd" else "none"
    est = _fit(architecture, penalty=penalty, **{name: 1e-100})
    assert np.isfinite(est.loglik_)
    _refuses(
        lambda: _fit(architecture, penalty=penalty, **{name: 1e-300}),
        ValueError,
        f"{name}=1e-300 must be at least 1e-100",
    )


def test_no_start_at_all() -> None:
    _refuses(
        lambda: DNNLearningRule("1L").fit(X, Y, rewards=R, init=np.zeros((0, 5))),
        ValueError,
        "init holds no start: its shape is (0, 5)",
    )


def test_two_columns_of_one_name() -> None:
    frame = pd.DataFrame(X, columns=["left", "left", "one"])
    _refuses(
        lambda: DNNLearningRule("1L").fit(frame, Y, rewards=R),
        ValueError,
        "X has two columns named 'left'",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 5}, "hidden is 5, but was 2 in the fit: set it back or fit again"),
        ({"architecture": "2L"}, "architecture is '2L', but was '2NL' in the fit"),
        ({"activation": "tanh"}, "activation is 'tanh', but was 'sigmoid' in the fit"),
        ({"lapse": True}, "lapse is True, but was False in the fit"),
        ({"baseline": 0.5}, "baseline is 0.5, but was 0.0 in the fit"),
    ],
)
def test_another_model_than_the_fitted_one(change: dict[str, Any], message: str) -> None:
    est = _fit()
    est.set_params(**change)
    for call in (
        lambda: est.score(X, Y, rewards=R),
        lambda: est.one_step_proba(X, Y, rewards=R),
        lambda: est.simulate(X, Y),
        lambda: est.profile_likelihood("alpha", [0.1], X, Y, rewards=R),
        est.summary,
    ):
        _refuses(call, ValueError, message)
    # another theta has nothing to do with the fit
    n_theta = est._options().model(3).n_theta
    assert est.simulate(X, Y, theta=np.full(n_theta, 0.1)).choice.shape == (1, T)


def test_wider_bounds_are_no_other_model() -> None:
    est = _fit()
    want = est.score(X, Y, rewards=R)
    assert est.set_params(beta_bounds=(0.01, 100.0)).score(X, Y, rewards=R) == want


def test_a_profile_of_other_data() -> None:
    _refuses(
        lambda: _fit("1L").profile_likelihood("alpha", [0.1], X[:50], Y[:50], rewards=R[:50]),
        ValueError,
        "X has 50 trials, but the fit had 60: a profile needs the data of the fit",
    )


def test_more_runs_than_there_is_memory() -> None:
    est = DNNLearningRule("1L")
    with pytest.raises(MemoryError):
        est.simulate(X, Y, theta=np.full(5, 0.1), n_runs=10**14)
    for n_runs, said in ((10**18, str(10**18)), (2**70, "1e21")):
        _refuses(
            lambda n_runs=n_runs: est.simulate(X, Y, theta=np.full(5, 0.1), n_runs=n_runs),
            ValueError,
            f"n_runs={said} must be at most 6",
        )


def test_runs_that_explode_are_no_silent_choices() -> None:
    est = DNNLearningRule("1L", rule="rpe")
    theta = np.r_[np.full(6, 0.1), 1e200, 2.0]
    message = r"^the weights of 3 of 3 runs explode, those of run 0 at trial [1-9]\d*: choices "
    with pytest.warns(NB26StatsWarning, match=message) as caught:
        run = est.simulate(X, Y, theta=theta, n_runs=3, random_state=0)
    at = int(re.search(r"trial (\d+)", str(caught[0].message))[1])  # type: ignore[index]
    assert np.isfinite(run.p_right[0, :at]).all()
    assert np.isnan(run.p_right[0, at:]).all()


def test_runs_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    est, theta = DNNLearningRule("1L"), np.full(5, 0.1)
    want = est.simulate(X, Y, theta=theta, n_runs=40, random_state=3)
    monkeypatch.setitem(_native.CALL_TRIALS, "cpu", 1.0)
    got = est.simulate(X, Y, theta=theta, n_runs=40, random_state=3)
    for name in ("choice", "reward", "p_right", "weights"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name))


def test_no_native_call_of_a_large_network_takes_long() -> None:
    small, large = (
        Model("2NL", "reinforce", 1, hidden, n_inputs) for hidden, n_inputs in ((2, 3), (64, 50))
    )
    assert _native.per_call(small, 1000) > 1000
    assert _native.per_call(large, 1000) == 16
    assert _native.per_call(small, 10**9) == 16


@pytest.mark.parametrize(
    "data",
    [
        {"X": X, "y": Y, "rewards": R},
        {"stimulus": X[:, :2], "contrast": CONTRAST, "choice": Y, "reward": R, "session": Y * 0},
    ],
)
def test_one_animal_without_a_name(data: dict[str, Any]) -> None:
    for call in (read_animals, compare_architectures):
        _refuses(
            lambda call=call: call(data),
            ValueError,
            "data is that of one animal: name it, as in {'m1': data}",
        )
    entries = read_animals(
        {"X": {"X": X, "y": Y, "rewards": R}, "y": {"X": X, "y": Y, "rewards": R}}
    )
    assert [a.name for a in entries] == ["X", "y"]


def test_a_table_of_behaviour_is_not_the_table_of_animals() -> None:
    table = pd.DataFrame({"stim_left": [1.0], "choice": ["left"], "reward": [1.0]})
    with pytest.raises(ValueError, match=r"; see nwb\.to_learning for tables of behaviour$"):
        compare_architectures(table)


def test_many_threads_fit_at_once() -> None:
    want, found = _fit(), []

    def work() -> None:
        est = DNNLearningRule("2NL", **SMALL).fit(X, Y, rewards=R)
        found.append(est.theta_)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        threads = [threading.Thread(target=work) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(found) == 12
    for theta in found:
        np.testing.assert_array_equal(theta, want.theta_)


def _spoilt(rng: np.random.Generator, array: Any) -> Any:
    """Return an array that is not what a kernel takes, at times."""
    kind = rng.integers(12)
    if kind == 0:
        return array.astype(np.complex128)
    if kind == 1:
        return array[..., None]
    if kind == 2 and len(array):
        return array[:-1]
    if kind == 3:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if kind == 4:
        return np.empty((0, 3))
    if kind == 5:
        return array.astype(array.dtype.newbyteorder(">"))
    if kind == 6 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, 1e308, -1e308, 5e-324])
    return array


def test_kernels_raise_and_never_crash() -> None:
    rng, kernels = np.random.default_rng(0), core()
    refused = 0
    for _ in range(3000):
        deep = bool(rng.integers(2))
        model = Model(
            "2NL" if deep else "1L",
            rng.choice(["rpe", "squared", "reinforce", "expected_reward", "cross_entropy"]),
            int(rng.integers(1, 3)),
            int(rng.choice([1, 2, 5, 64])) if deep else 0,
            int(rng.integers(1, 6)),
        )
        t, n, m = (int(rng.choice(s)) for s in ([0, 1, 9], [0, 1, 17], [0, 1, 2]))
        options = list(model.native())
        if rng.integers(8) == 0:
            options[rng.integers(13)] = rng.choice([-1, 99, 2**31, 2**62])
        x, choice, drive, theta, masks, which = (
            _spoilt(rng, a)
            for a in (
                rng.normal(size=(t, model.n_inputs)),
                rng.integers(0, 2, t).astype(np.int8),
                rng.random(t),
                rng.normal(size=(n, model.n_theta)) * rng.choice([1.0, 1e200]),
                rng.integers(0, 2, (m, t)).astype(np.uint8),
                rng.integers(-1, m + 1, n),
            )
        )
        try:
            kernels.learning_gradient(
                x, choice, drive, masks, which, theta, tuple(options), bool(rng.integers(2)), 1
            )
            kernels.learning_loglik(x, choice, drive, masks, which, theta, tuple(options), 1)
            one = theta[0] if len(theta) else np.zeros(model.n_theta)
            kernels.learning_trajectory(x, choice, drive, one, tuple(options))
            kernels.learning_simulate(x, drive, one, tuple(options), 0, 3, 1, 1)
            fit = kernels.learning_fit(tuple(options), None, 5, 4, 1e-10, 1e-4)
            bound = np.full(model.n_theta, rng.choice([5.0, -5.0, np.nan, np.inf, 0.0]))
            free = np.ones((n, model.n_theta), np.uint8)
            kernels.learning_fit_add(
                fit, x, choice, drive, masks, which, theta, free, -bound, bound
            )
            kernels.learning_fit_advance(fit, 0.01, False, 1)
            kernels.learning_fit_optima(fit)
        except (ValueError, TypeError, RuntimeError):
            refused += 1
    assert 1000 < refused < 2990


def test_jobs_are_checked_before_the_work() -> None:
    data = {"m": {"X": X, "y": Y, "rewards": R}}
    for call in (compare_architectures, compare_learning_rules, select_hidden):
        with pytest.raises(ValueError, match=r"^n_jobs=0 must be at least 1, or negative"):
            call(data, n_jobs=0)
        with pytest.raises(TypeError, match=r"^n_jobs must be a whole number, got 'all' \(str\)$"):
            call(data, n_jobs="all")
        with pytest.raises(ValueError, match=r"^n_jobs=1000000 must lie in \[-32768, 32768\]$"):
            call(data, n_jobs=1e6)


def test_a_wrong_contrast_of_a_table_is_called_by_its_column() -> None:
    table = pd.DataFrame(
        {"animal": "m", "contrast": 100 * CONTRAST, "choice": Y, "reward": R, "session": 1}
    )
    with pytest.raises(ValueError, match=r"^animal 'm': contrast must hold fractions in \[-1, 1\]"):
        compare_architectures(table)


def test_contrasts_that_can_be_read_once() -> None:
    np.testing.assert_array_equal(encode_contrast(c for c in CONTRAST), X)


def test_two_contrasts_do_not_determine_a_curve_with_lapses() -> None:
    weak = np.where(np.arange(T) % 2, 0.5, -0.5)
    with pytest.warns(ConvergenceWarning, match="do not determine the threshold and the slope"):
        found = fit_psychometric(weak, Y)
    assert found.undetermined == ("threshold", "slope")
    assert fit_psychometric(weak, Y, lapses=False).undetermined == ()


def test_sessions_of_another_length_are_not_drawn() -> None:
    _refuses(
        lambda: _fit().plot(sessions=[1, 2]),
        ValueError,
        "sessions has 2 values, but there are 60 trials",
    )


@pytest.mark.parametrize("path", [None, 3, ["mice.csv"]])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(TypeError, match=r"^path must be the path of a csv file, got "):
        load_ibl_csv(path)


def test_arrays_without_axes_are_single_values() -> None:
    np.testing.assert_array_equal(encode_contrast(np.array(0.3)), encode_contrast([0.3]))
    kw = {"rewards": np.array(1.0), "sessions": np.array("a")}
    with pytest.warns(NB26StatsWarning, match="all 1 counted choices are right"):
        est = DNNLearningRule("1L", **SMALL).fit(X[:1], np.array(1), **kw)  # type: ignore[arg-type]
    assert est.n_trials_ == 1
    for name in ("rewards", "correct_side", "sessions", "likelihood_mask"):
        given = {"rewards": R, name: np.array(1.0)}
        _refuses(
            lambda given=given: DNNLearningRule("1L").fit(X, Y, **given),
            ValueError,
            f"{name} has 1 values, but X has 60 trials",
        )
    _refuses(
        lambda: _fit(alpha_bounds=np.array(0.1)), ValueError, "alpha_bounds must be a pair (low"
    )


def test_ragged_lists_have_no_place() -> None:
    ragged = [[1], [0, 1]] * 30
    message = "must be a flat sequence of numbers, got a ragged one"
    _refuses(lambda: encode_contrast(ragged), ValueError, f"c {message}")  # type: ignore[arg-type]
    _refuses(lambda: DNNLearningRule().fit(X, ragged, rewards=R), ValueError, f"y {message}")  # type: ignore[arg-type]
    _refuses(lambda: DNNLearningRule().fit(X, Y, rewards=ragged), ValueError, f"rewards {message}")  # type: ignore[arg-type]


def test_values_just_beyond_the_end_are_told_from_it() -> None:
    just = 1.0 + 2.0**-52
    shown = "got 1.0000000000000002 at trial 0"
    _refuses(lambda: DNNLearningRule().fit(X[:1], just, rewards=1), ValueError,
             f"y must hold 0 (left) or 1 (right), {shown}")  # fmt: skip
    _refuses(lambda: DNNLearningRule().fit(X[:1], 1, rewards=just), ValueError,
             f"rewards must lie in [0, 1] or be NaN, {shown}")  # fmt: skip
    _refuses(lambda: encode_contrast([just]), ValueError,
             f"c must hold fractions in [-1, 1], {shown}")  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1", 1),
        (("day", 1), ("day", 2)),
        (True, "a"),
        (("day", 1), "b"),
        tuple(np.array(["2020-01-01T10", "2020-01-02"], "M8[ns]")),
    ],
)
def test_labels_of_sessions_stay_what_they_are(first: Any, second: Any) -> None:
    sessions = [first] * 30 + [second] * 30
    curve = _fit("1L").learning_curve(X, Y, rewards=R, sessions=sessions, n_runs=2, random_state=0)  # type: ignore[arg-type]
    assert curve.animal["session"].tolist() == [first, second]
    np.testing.assert_array_equal(curve.animal["n_trials"], 30)
    assert curve.sessions is not None
    assert curve.sessions.shape == (T,)
    assert [*curve.sessions[[0, -1]]] == [first, second]
    assert len(curve.plot()) == 3


def test_sessions_named_by_the_finest_times() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
    table = behavior_metrics(CONTRAST, Y, sessions=np.repeat(days, 30))
    assert table["session"].dtype.kind == "M"
    assert table["session"].tolist() == [*pd.to_datetime(days)]
    _refuses(
        lambda: behavior_metrics(CONTRAST, Y, sessions=np.full(T, "NaT", "M8[ns]")),
        ValueError,
        "sessions must label every trial, got a missing label at trial 0",
    )


def test_more_threads_than_the_system_has() -> None:
    run = DNNLearningRule("1L", n_threads=2**31 - 1).simulate(
        X, Y, theta=np.full(5, 0.1), n_runs=3000, random_state=0
    )
    want = DNNLearningRule("1L", n_threads=1).simulate(
        X, Y, theta=np.full(5, 0.1), n_runs=3000, random_state=0
    )
    np.testing.assert_array_equal(run.choice, want.choice)


@pytest.mark.parametrize("architecture", ["1L", "2L"])
def test_data_on_which_the_fitted_weights_explode(architecture: str) -> None:
    est = _fit(architecture, rule="rpe", drop_no_response=True)
    large, y = X.copy(), np.r_[np.nan, Y[1:]]
    large[20:] *= 1e5
    message = r"^the weights of the fitted network explode on these data at trial 2\d: "
    with pytest.warns(NB26StatsWarning, match=message) as caught:
        assert est.score(large, y, rewards=R) < -1e5
    at = int(re.search(r"trial (\d+)", str(caught[0].message))[1])  # type: ignore[index]
    with pytest.warns(NB26StatsWarning, match=f"at trial {at}: "):
        p = est.one_step_proba(large, y, rewards=R)
    assert np.isfinite(p[1 : at + 1]).all()
    est.score(large[:at], y[:at], rewards=R[:at])


def test_a_slope_beyond_the_range_of_numbers() -> None:
    theta = np.r_[0.1, -0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 1e150]
    est = DNNLearningRule("1L", rule="rpe")
    value = est.log_likelihood(theta, X, Y, R)
    assert -1e155 < value < -1e145  # type: ignore[operator]
    low, slopes = est.log_likelihood(theta, X, Y, R, return_grad=True)  # type: ignore[misc]
    assert low < -1e6 * T
    np.testing.assert_array_equal(slopes, 0.0)
