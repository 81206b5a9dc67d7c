"""Bad trials: every refusal names the argument and the first bad trial, every form is accepted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nb26stats import NB26StatsWarning
from nb26stats.learning import DNNLearningRule
from nb26stats.learning._options import read_options
from nb26stats.learning._trials import Trials, check_trials

X = np.column_stack([np.linspace(0, 1, 6), np.linspace(1, 0, 6), np.ones(6)])
Y = np.array([0, 1, 1, 0, 1, 0])
R = np.array([1.0, 0.0, np.nan, 1.0, 0.5, 0.0])


def _same(a: Trials, b: Trials) -> None:
    for name in ("x", "choice", "rewards", "correct_side", "sessions", "mask", "position"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.session_labels == b.session_labels


def test_the_side_follows_from_the_reward_and_the_reward_from_the_side() -> None:
    trials = check_trials(X, Y, rewards=R)
    np.testing.assert_array_equal(trials.correct_side, [0, 0, np.nan, 0, 0.5, 1])
    back = check_trials(X, Y, correct_side=trials.correct_side)
    np.testing.assert_array_equal(back.rewards, R)
    both = check_trials(X, Y, rewards=R, correct_side=[1, np.nan, 1, 0, 0, 0])
    np.testing.assert_array_equal(both.rewards, R)
    np.testing.assert_array_equal(both.correct_side, [1, np.nan, 1, 0, 0, 0])


@pytest.mark.parametrize(
    "form",
    [
        lambda a: a.tolist(),
        np.asfortranarray,
        lambda a: a.astype(np.float64),
        lambda a: a[::1].copy()[:],
        lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a, index=range(9, 15)),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.ma.masked_invalid(a) if a.dtype.kind == "f" else a,
    ],
)
def test_forms_of_the_same_trials(form: Any) -> None:
    sessions, mask = np.array([3, 3, 3, 1, 1, 1]), np.array([1, 1, 0, 1, 1, 0], dtype=bool)
    want = check_trials(X, Y, rewards=R, sessions=sessions, likelihood_mask=mask)
    got = check_trials(
        form(X), form(Y), rewards=form(R), sessions=form(sessions), likelihood_mask=form(mask)
    )
    _same(got, want)
    for name in ("x", "choice", "rewards", "correct_side", "mask", "sessions"):
        assert getattr(got, name).flags.c_contiguous


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (pd.array([1, None, 0, 1, 1, 0], dtype="Int64"), [1, np.nan, 0, 1, 1, 0]),
        (
            pd.array([True, None, False, True, True, False], dtype="boolean"),
            [1, np.nan, 0, 1, 1, 0],
        ),
        (pd.Series([0.5, None, 0, 1, 1, 0], dtype="Float64"), [0.5, np.nan, 0, 1, 1, 0]),
        ([True, None, False, True, True, False], [1, np.nan, 0, 1, 1, 0]),
        (np.ma.array([1, 9, 0, 1, 1, 0], mask=[0, 1, 0, 0, 0, 0]), [1, np.nan, 0, 1, 1, 0]),
        (np.array([1, 0, 0, 1, 1, 0], dtype=np.uint8), [1, 0, 0, 1, 1, 0]),
        ((1, 0, 0, 1, 1, 0), [1, 0, 0, 1, 1, 0]),
    ],
)
def test_rewards_of_many_kinds(value: Any, want: list[float]) -> None:
    np.testing.assert_array_equal(check_trials(X, Y, rewards=value).rewards, want)


def test_one_trial_may_come_as_numbers() -> None:
    # R drops the dimensions of a single value
    trials = check_trials([[0.5, 0.0, 1.0]], 1.0, rewards=1, sessions="a", likelihood_mask=True)
    assert len(trials) == 1
    assert trials.session_labels == ("a",)


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (["b", "b", "a", "a", "c", "c"], [0, 0, 1, 1, 2, 2]),
        (pd.to_datetime(["2026-01-02"] * 3 + ["2026-01-01"] * 3), [0, 0, 0, 1, 1, 1]),
        (pd.Categorical(["y"] * 2 + ["x"] * 4), [0, 0, 1, 1, 1, 1]),
        ([1.0, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1]),
        (pd.Series([7] * 6, index=[5, 4, 3, 2, 1, 0]), [0] * 6),
    ],
)
def test_labels_of_sessions(labels: Any, codes: list[int]) -> None:
    np.testing.assert_array_equal(check_trials(X, Y, rewards=R, sessions=labels).sessions, codes)


def test_a_session_without_any_response_disappears() -> None:
    y = np.array([0, 1, np.nan, np.nan, 1, 0])
    trials = check_trials(
        X, y, rewards=R, sessions=["a", "a", "b", "b", "c", "c"], drop_no_response=True
    )
    assert trials.session_labels == ("a", "c")
    np.testing.assert_array_equal(trials.sessions, [0, 0, 1, 1])
    np.testing.assert_array_equal(trials.position, [0, 1, 4, 5])
    np.testing.assert_array_equal(trials.x, X[[0, 1, 4, 5]])


def test_nothing_of_the_caller_changes() -> None:
    x, y, r = X.copy(), Y.astype(float), R.copy()
    for a in (x, y, r):
        a.flags.writeable = False
    trials = check_trials(x, y, rewards=r)
    np.testing.assert_array_equal(x, X)
    for name in ("x", "choice", "rewards", "correct_side", "mask", "position"):
        assert not getattr(trials, name).flags.writeable
    own = X.copy()
    check_trials(own, y, rewards=r)
    assert own.flags.writeable


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    # lengths
    ({"y": Y[:5]}, ValueError, "y has 5 values, but X has 6 trials"),
    ({"rewards": R[:4]}, ValueError, "rewards has 4 values, but X has 6 trials"),
    ({"correct_side": R[:1]}, ValueError, "correct_side has 1 values, but X has 6 trials"),
    ({"sessions": [1, 2]}, ValueError, "sessions has 2 values, but X has 6 trials"),
    ({"likelihood_mask": [True]}, ValueError, "likelihood_mask has 1 values, but X has 6 trials"),
    # ranges
    (
        {"y": [0, 1, 2, 0, 1, 3]},
        ValueError,
        "y must hold 0 (left) or 1 (right), got 2 at trial 2",
    ),
    (
        {"y": [0, 1, -1, 0, 1, -1]},
        ValueError,
        "y must hold 0 (left) or 1 (right), got -1 at trial 2",
    ),
    (
        {"rewards": [0, 1, 1, 0, 1.5, -1]},
        ValueError,
        "rewards must lie in [0, 1] or be NaN, got 1.5 at trial 4",
    ),
    (
        {"correct_side": [0, -0.5, 1, 0, 1, 1]},
        ValueError,
        "correct_side must lie in [0, 1] or be NaN, got -0.5 at trial 1",
    ),
    (
        {"rewards": [0, 1, np.inf, 0, 1, 1]},
        ValueError,
        "rewards must lie in [0, 1] or be NaN, got inf at trial 2",
    ),
    (
        {"likelihood_mask": [0, 1, 2, 0, 1, 1]},
        ValueError,
        "likelihood_mask must hold True or False, got 2 at trial 2",
    ),
    (
        {"likelihood_mask": [0, 1, np.nan, 0, 1, 1]},
        ValueError,
        "likelihood_mask must hold True or False, got nan at trial 2",
    ),
    ({"likelihood_mask": [False] * 6}, ValueError, "likelihood_mask counts no trial"),
    # inputs
    (
        {"X": np.where(np.arange(18).reshape(6, 3) == 7, np.nan, X)},
        ValueError,
        "X must be finite, got nan at trial 2, input 1",
    ),
    (
        {"X": np.where(np.arange(18).reshape(6, 3) == 17, -np.inf, X)},
        ValueError,
        "X must be finite, got -inf at trial 5, input 2",
    ),
    (
        {"X": X[:, 0]},
        ValueError,
        "X must have shape (trials, inputs), got (6,): for contrasts take "
        "encode_contrast(contrast), for one input of another kind X.reshape(-1, 1)",
    ),
    ({"X": X[:0], "y": [], "rewards": []}, ValueError, "X has no trials: its shape is (0, 3)"),
    ({"X": X[:, :0]}, ValueError, "X has no inputs: its shape is (6, 0)"),
    ({"X": [[1, 2], [3]]}, ValueError, "X must have rows of one length, got ragged ones"),
    ({"X": [["a", "b"]] * 6}, TypeError, "X must hold real numbers, got text"),
    ({"X": X + 1j}, TypeError, "X must hold real numbers, got complex128 values"),
    (
        {"X": sparse.csr_array(X)},
        TypeError,
        "X must be a dense table: convert it with X.toarray()",
    ),
    # kinds
    ({"y": list("LRLRLR")}, TypeError, "y must hold real numbers, got text"),
    ({"y": None}, TypeError, "y must not be None"),
    ({"y": Y[:, None]}, ValueError, "y must be one-dimensional, got shape (6, 1)"),
    ({"rewards": ["yes"] * 6}, TypeError, "rewards must hold real numbers, got text"),
    ({"rewards": Y + 1j}, TypeError, "rewards must hold real numbers, got complex128 values"),
    (
        {"y": np.array([0, 1, -2147483648, 0, 1, 1], dtype=np.int32)},
        ValueError,
        "y holds -2147483648, R's NA_integer_, at 2 (counted from 0); use NA_real_ or drop it",
    ),
    ({"X": None}, TypeError, "X must not be None"),
    (
        {"X": pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0})},
        TypeError,
        "X must hold real numbers, but column 'b' holds booleans (bool)",
    ),
    (
        {"X": pd.DataFrame({"a": X[:, 0], "b": pd.Series(list("LRLRLR"), dtype=object)})},
        TypeError,
        "X must hold real numbers, but column 'b' holds no numbers (object)",
    ),
    ({"X": X > 0}, TypeError, "X must hold real numbers, got bool values"),
    (
        {"y": dict(enumerate(Y))},
        TypeError,
        "y must be a sequence with a value per trial, got a dict",
    ),
    (
        {"rewards": {0.0, 1.0}},
        TypeError,
        "rewards must be a sequence with a value per trial, got a set",
    ),
    (
        {"sessions": dict(enumerate(Y))},
        TypeError,
        "sessions must be a sequence with a label per trial, got a dict",
    ),
    # outcomes
    (
        {"rewards": None},
        ValueError,
        "rewards and correct_side are both None: the model learns from one of them",
    ),
    # responses
    (
        {"y": [0, np.nan, 1, np.nan, 1, 0]},
        ValueError,
        "y holds 2 of 6 trials without a response (NaN), the first at trial 1: drop them from all "
        "arguments, or set drop_no_response=True",
    ),
    (
        {"y": [np.nan] * 6, "drop_no_response": True},
        ValueError,
        "y holds no choice: all 6 trials are without a response (NaN)",
    ),
    (
        {
            "y": [np.nan, 0, 1, 0, 1, 0],
            "likelihood_mask": [1, 0, 0, 0, 0, 0],
            "drop_no_response": True,
        },
        ValueError,
        "likelihood_mask counts no trial with a response",
    ),
    (
        {"drop_no_response": 1},
        TypeError,
        "drop_no_response must be True or False, got 1 (int)",
    ),
    # sessions
    (
        {"sessions": ["a", "a", "b", "b", "a", "c"]},
        ValueError,
        "sessions must be blocks of trials, but label 'a' returns at trial 4: put the trials in "
        "order of time",
    ),
    (
        {"sessions": [1, 1, None, 2, 2, 2]},
        ValueError,
        "sessions must label every trial, got a missing label at trial 2",
    ),
    (
        {"sessions": [1, 1, np.nan, 2, 2, 2]},
        ValueError,
        "sessions must label every trial, got a missing label at trial 2",
    ),
    (
        {"sessions": [[1], [1], [2], [2], [3], [3]]},
        TypeError,
        "sessions must hold numbers or text, got list at trial 0",
    ),
    (
        {"sessions": np.ones((6, 2))},
        ValueError,
        "sessions must be one-dimensional, got shape (6, 2)",
    ),
]


@pytest.mark.parametrize(("change", "error", "message"), WRONG, ids=[m for *_, m in WRONG])
def test_refusals_of_data(change: dict[str, Any], error: type[Exception], message: str) -> None:
    given = {"X": X, "y": Y, "rewards": R, **change}
    with pytest.raises(error) as caught:
        check_trials(given.pop("X"), given.pop("y"), **given)
    assert str(caught.value) == message


OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"architecture": "3L"},
        ValueError,
        "architecture='3L' must be one of '1L', '2L', '2NL'",
    ),
    (
        {"architecture": 2},
        TypeError,
        "architecture=2 (int) must be one of '1L', '2L', '2NL'",
    ),
    (
        {"rule": "hebb"},
        ValueError,
        "rule='hebb' must be one of 'rpe', 'squared', 'reinforce', 'expected_reward', "
        "'cross_entropy'",
    ),
    ({"hidden": 0}, ValueError, "hidden=0 must lie in [1, 64]"),
    ({"hidden": 2.5}, TypeError, "hidden must be a whole number, got 2.5 (float)"),
    ({"hidden": True}, TypeError, "hidden must be a whole number, got True (bool)"),
    (
        {"activation": "sine"},
        ValueError,
        "activation='sine' must be one of 'sigmoid', 'tanh', 'relu'",
    ),
    ({"n_outputs": 3, "rule": "rpe"}, ValueError, "n_outputs=3 must lie in [1, 2]"),
    ({"n_outputs": 0, "rule": "rpe"}, ValueError, "n_outputs=0 must lie in [1, 2]"),
    (
        {"n_outputs": 2},
        ValueError,
        "n_outputs=2 is redundant with rule='reinforce', which sees only the difference of the "
        "two outputs: set n_outputs=1, or allow_redundant=True",
    ),
    ({"output_bias": 1}, TypeError, "output_bias must be True or False, got 1 (int)"),
    ({"lapse": "no"}, TypeError, "lapse must be True or False, got 'no' (str)"),
    ({"baseline": np.nan}, ValueError, "baseline=nan must be finite"),
    ({"baseline": "0"}, TypeError, "baseline must be a number, got '0' (str)"),
    (
        {"missing_reward": "drop"},
        ValueError,
        "missing_reward='drop' must be one of 'expected', 'skip'",
    ),
    ({"alpha_layer2_ratio": -1.0}, ValueError, "alpha_layer2_ratio=-1 must be at least 0"),
    ({"weight_decay": 1.5}, ValueError, "weight_decay=1.5 must lie in [0, 1]"),
    (
        {"allow_redundant": None},
        TypeError,
        "allow_redundant must be True or False, got None (NoneType)",
    ),
    ({"penalty": "l1"}, ValueError, "penalty='l1' must be one of 'none', 'gaussian'"),
    ({"penalty": None}, TypeError, "penalty=None (NoneType) must be one of 'none', 'gaussian'"),
    ({"weight_sd": 0.0}, ValueError, "weight_sd=0 must be greater than 0"),
    ({"weight_bound": 0}, ValueError, "weight_bound=0 must be greater than 0"),
    ({"weight_bound": 1e5}, ValueError, "weight_bound=100000 must be at most 10000"),
    (
        {"alpha_bounds": (0.0, 1.0)},
        ValueError,
        "alpha_bounds[0]=0 must lie in [1e-100, 1e+100]",
    ),
    (
        {"alpha_bounds": (0.5, 0.1)},
        ValueError,
        "alpha_bounds=(0.5, 0.1) must be (low, high) with low <= high",
    ),
    (
        {"beta_bounds": (1, 2, 3)},
        ValueError,
        "beta_bounds must be a pair (low, high), got 3 values",
    ),
    ({"beta_bounds": 1.0}, ValueError, "beta_bounds must be a pair (low, high), got 1 values"),
    ({"beta_bounds": (1, np.inf)}, ValueError, "beta_bounds[1]=inf must be finite"),
    ({"n_restarts": 0}, ValueError, "n_restarts=0 must be at least 1"),
    (
        {"n_restarts": 101},
        ValueError,
        "n_restarts=101 must be at most n_pool=100, of which they are the best: raise n_pool",
    ),
    ({"n_pool": 0}, ValueError, "n_pool=0 must lie in [1, 1e+07]"),
    ({"nested_start": 0}, TypeError, "nested_start must be True or False, got 0 (int)"),
    ({"max_iter": 0}, ValueError, "max_iter=0 must lie in [1, 1e+09]"),
    ({"gradient": "both"}, ValueError, "gradient='both' must be one of 'reverse', 'forward'"),
    ({"count": "all"}, ValueError, "count='all' must be one of 'identifiable', 'raw'"),
    ({"standard_errors": 1}, TypeError, "standard_errors must be True or False, got 1 (int)"),
    ({"device": "tpu"}, ValueError, "device='tpu' must be one of 'auto', 'cpu', 'cuda'"),
    (
        {"n_jobs": 0},
        ValueError,
        "n_jobs=0 must be at least 1, or negative to count from all cores",
    ),
    ({"n_threads": -1}, ValueError, "n_threads=-1 must lie in [0, 2.14748e+09]"),
    ({"verbose": 1}, TypeError, "verbose must be True or False, got 1 (int)"),
    ({"random_state": 1.5}, TypeError, "random_state must be a whole number, got 1.5 (float)"),
    (
        {"random_state": "seed"},
        TypeError,
        "random_state must be a whole number, a numpy Generator or RandomState, or None, got str",
    ),
]


@pytest.mark.parametrize(("change", "error", "message"), OPTIONS, ids=[m for *_, m in OPTIONS])
def test_refusals_of_options(change: dict[str, Any], error: type[Exception], message: str) -> None:
    est = DNNLearningRule(**change)
    with pytest.raises(error) as caught:
        est.fit(X, Y, rewards=R)
    assert str(caught.value) == message
    # nothing of a fit that failed
    assert not [name for name in vars(est) if name.endswith("_")]


def test_whole_numbers_and_pairs_as_r_sends_them() -> None:
    est = DNNLearningRule(
        "2NL",
        hidden=2.0,  # type: ignore[arg-type]
        n_outputs=1.0,  # type: ignore[arg-type]
        alpha_bounds=[1e-6, 1],  # type: ignore[arg-type]
        beta_bounds=np.array([0.1, 50]),  # type: ignore[arg-type]
        n_restarts=4.0,  # type: ignore[arg-type]
        n_pool=np.int32(10),  # type: ignore[arg-type]
        n_threads=1.0,  # type: ignore[arg-type]
        n_jobs=1.0,  # type: ignore[arg-type]
    )
    options = read_options(est)
    assert (options.hidden, options.n_outputs, options.n_restarts, options.n_pool) == (2, 1, 4, 10)
    assert options.alpha_bounds == (1e-6, 1.0)
    assert options.beta_bounds == (0.1, 50.0)


def test_redundant_outputs_on_request() -> None:
    assert read_options(DNNLearningRule(n_outputs=2, allow_redundant=True)).n_outputs == 2


THETA: list[tuple[Any, type[Exception], str]] = [
    (
        [1.0, 2.0],
        ValueError,
        "theta must hold 5 values (W1[0,0], W1[0,1], W1[0,2], alpha, beta), got 2",
    ),
    ([0, 0, np.nan, 0.1, 1], ValueError, "theta must be finite, got nan for W1[0,2]"),
    ([0, 0, 0, -0.1, 1], ValueError, "theta: alpha=-0.1 must be at least 0"),
    ([0, 0, 0, 0.1, -1], ValueError, "theta: beta=-1 must be at least 0"),
    (["a"] * 5, TypeError, "theta must hold real numbers, got text"),
]


@pytest.mark.parametrize(("theta", "error", "message"), THETA, ids=[m for *_, m in THETA])
def test_refusals_of_parameters(theta: Any, error: type[Exception], message: str) -> None:
    est = DNNLearningRule("1L")
    for call in (
        lambda: est.log_likelihood(theta, X, Y, R),
        lambda: est.simulate(X, Y, theta=theta),
    ):
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value) == message
    with pytest.raises(error) as caught:
        est.fit(X, Y, rewards=R, init=theta)
    assert str(caught.value) == message.replace("theta", "init")


def test_refusals_of_starts() -> None:
    est = DNNLearningRule("1L")
    with pytest.raises(ValueError, match=r"^init must have shape \(parameters,\) or \(n, param"):
        est.fit(X, Y, rewards=R, init=np.zeros((1, 1, 5)))
    with pytest.raises(ValueError, match=r"^init must have rows of one length, got ragged ones$"):
        est.fit(X, Y, rewards=R, init=[[1, 2], [3]])
    with pytest.raises(ValueError, match=r"^init must hold 5 values .*, got 0$"):
        est.fit(X, Y, rewards=R, init=[])
    with pytest.raises(TypeError, match=r"^init must hold real numbers, got a dict"):
        est.fit(X, Y, rewards=R, init={"alpha": 0.1})


def test_frames_with_pandas_own_numbers() -> None:
    frame = pd.DataFrame(X).astype({0: "Float64", 1: "float32", 2: "Int64"})
    want = X.copy()
    want[:, 1] = X[:, 1].astype(np.float32)
    np.testing.assert_array_equal(check_trials(frame, Y, rewards=R).x, want)
    frame.iloc[4, 0] = pd.NA
    with pytest.raises(ValueError, match=r"^X must be finite, got nan at trial 4, input 0$"):
        check_trials(frame, Y, rewards=R)


def test_a_lapse_must_be_a_share_of_choices() -> None:
    est = DNNLearningRule("1L", lapse=True)
    with pytest.raises(ValueError, match=r"^theta: lapse=0\.6 must lie in \[0, 0\.5\]$"):
        est.log_likelihood([0, 0, 0, 0.1, 1, 0.6], X, Y, R)
    assert est.log_likelihood([0, 0, 0, 0, 1, 0.5], X, Y, R) == pytest.approx(-6 * np.log(2))


def _messages(**change: Any) -> list[tuple[type[Warning], str]]:
    given = {"X": X, "y": Y, "rewards": R, **change}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        est = DNNLearningRule("1L", n_pool=4, random_state=0)
        est.fit(given.pop("X"), given.pop("y"), **given)
    return [(w.category, str(w.message)) for w in seen]


def test_remarks_on_data() -> None:
    right = (
        NB26StatsWarning,
        "all 6 counted choices are right: the likelihood has no interior maximum",
    )
    assert right in _messages(y=np.ones(6))
    left = (
        NB26StatsWarning,
        "all 2 counted choices are left: the likelihood has no interior maximum",
    )
    assert left in _messages(likelihood_mask=[1, 0, 0, 1, 0, 0])
    none = (NB26StatsWarning, "no trial is rewarded: check the coding of rewards")
    assert none in _messages(rewards=np.zeros(6))
    assert none in _messages(rewards=[0, np.nan, 0, 0, np.nan, 0])
    unknown = "no reward is known: nothing tells the model what the animal could learn"
    assert (NB26StatsWarning, unknown) in _messages(rewards=np.full(6, np.nan))
    remarks = [m for category, m in _messages() if category is NB26StatsWarning]
    assert remarks == []


def test_other_methods_check_as_the_fit_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = DNNLearningRule("1L", n_pool=4, random_state=0).fit(X, Y, rewards=R)
    for method in ("score", "one_step_proba", "one_step_log_proba"):
        call = getattr(est, method)
        with pytest.raises(ValueError, match="y must hold 0"):
            call(X, Y + 2, rewards=R)
        with pytest.raises(ValueError, match="both None"):
            call(X, Y)
        with pytest.raises(
            ValueError, match="X has 2 features, but DNNLearningRule is expecting 3"
        ):
            call(X[:, :2], Y, rewards=R)
    with pytest.raises(ValueError, match="expecting 3 features"):
        est.simulate(X[:, :2], Y)
    with pytest.raises(ValueError, match=r"^n_runs=0 must be at least 1$"):
        est.simulate(X, Y, n_runs=0)
    with pytest.raises(ValueError, match="correct_side must lie in"):
        est.simulate(X, Y + 1)
    with pytest.raises(ValueError, match=r"^n_blocks=1 must be at least 2$"):
        est.cross_val_blocks(X, Y, rewards=R, n_blocks=1)
    with pytest.raises(ValueError, match=r"^kind='pie' must be one of 'weights', 'course'$"):
        est.plot("pie")
    with pytest.raises(ValueError, match=r"^kind='course' needs X, y and contrast$"):
        est.plot("course")
