"""The trials of one animal: what users hand over, checked, as the arrays that kernels take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_bool, as_numbers, as_table, refuse_r_na

from ._columns import as_column, as_labels, shown
from ._model import MOST_INPUTS, REWARD_RULES, Model

F64 = NDArray[np.float64]
_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass(frozen=True)
class Trials:
    """T trials in order of time; every array is C-contiguous.

    Parameters
    ----------
    x : ndarray of shape (T, D)
        Inputs.
    choice : ndarray of shape (T,), int8
        1 is right, 0 left.
    rewards, correct_side : ndarray of shape (T,)
        Outcome in [0, 1], and the side that was correct (1 is right); NaN where not known.
    sessions : ndarray of shape (T,), int64, or None
        0, 1, .. by session.
    mask : ndarray of shape (T,), bool
        Trials that count in the likelihood.
    session_labels : tuple
        The label of each session.
    position : ndarray of shape (T,), int64
        Where the trial stood in the data of the caller.
    n_given : int
        Trials of the caller, those left out included; 0 where nobody counted.
    """

    x: F64
    choice: NDArray[np.int8]
    rewards: F64
    correct_side: F64
    sessions: NDArray[np.int64] | None
    mask: NDArray[np.bool_]
    session_labels: tuple[Any, ...] = ()
    position: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_given: int = 0

    def __len__(self) -> int:
        return len(self.choice)

    @property
    def n_counted(self) -> int:
        """Trials that count in the likelihood."""
        return int(self.mask.sum())

    def drive(self, model: Model) -> F64:
        """Return what moves the weights under the rule of the model: reward or correct side."""
        return self.rewards if model.rule in REWARD_RULES else self.correct_side

    def masked(self, mask: NDArray[np.bool_]) -> Trials:
        """Return the same trials with another mask."""
        return replace(self, mask=mask)


def check_trials(
    X: object,
    y: object,
    *,
    rewards: object = None,
    correct_side: object = None,
    sessions: object = None,
    likelihood_mask: object = None,
    drop_no_response: object = False,
) -> Trials:
    """Return the trials of one animal.

    Parameters
    ----------
    X : array-like of shape (T, D)
        Inputs.
    y : array-like of shape (T,)
        Choices: 1 right, 0 left, NaN no response.
    rewards, correct_side : array-like of shape (T,), optional
        In [0, 1], NaN where not known. Either gives the other.
    sessions : array-like of shape (T,), optional
        Labels, the same within a session.
    likelihood_mask : array-like of bool of shape (T,), optional
        Trials that count in the likelihood; all by default.
    drop_no_response : bool
        Whether trials without a response are left out.

    Raises
    ------
    ValueError
        A value or a length is wrong; the message names the argument and the first bad trial.
    TypeError
        An argument is of the wrong kind.
    """
    drop = as_bool(drop_no_response, "drop_no_response")
    x = check_inputs(X)
    n = len(x)
    choice = as_column(y, "y", n)
    known = ~np.isnan(choice)
    if not drop and not known.all():
        raise ValueError(
            f"y holds {n - int(known.sum())} of {n} trials without a response (NaN), the first at "
            f"{_first(~known)}: drop them from all arguments, or set drop_no_response=True"
        )
    wrong = known & (choice != 0.0) & (choice != 1.0)
    if wrong.any():
        raise ValueError(
            f"y must hold 0 (left) or 1 (right), got {shown(choice[wrong][0])} at {_first(wrong)}"
        )
    if rewards is None and correct_side is None:
        raise ValueError(
            "rewards and correct_side are both None: the model learns from one of them"
        )
    reward = None if rewards is None else _share(rewards, "rewards", n)
    side = None if correct_side is None else check_side(correct_side, n)
    mask = _mask(likelihood_mask, n)
    codes, labels = as_labels(sessions, n) if sessions is not None else (None, ())
    if not known.any():
        raise ValueError(f"y holds no choice: all {n} trials are without a response (NaN)")
    if not mask[known].any():
        raise ValueError(
            "likelihood_mask counts no trial" + (" with a response" if mask.any() else "")
        )
    if reward is None:
        assert side is not None
        reward = choice * side + (1.0 - choice) * (1.0 - side)
    elif side is None:
        side = choice * reward + (1.0 - choice) * (1.0 - reward)
    position = np.arange(n, dtype=np.int64)
    if not known.all():
        x, choice, reward, side = x[known], choice[known], reward[known], side[known]
        mask, position = mask[known], position[known]
        if codes is not None:
            # a session may have had no response at all
            used, codes = np.unique(codes[known], return_inverse=True)
            codes, labels = codes.astype(np.int64), tuple(labels[i] for i in used)
    return Trials(
        _fixed(x),
        _fixed(choice.astype(np.int8)),
        _fixed(reward),
        _fixed(side),
        None if codes is None else _fixed(codes),
        _fixed(mask),
        labels,
        _fixed(position),
        n,
    )


def _fixed(values: NDArray[_Kind]) -> NDArray[_Kind]:
    """Return a contiguous view that nobody can write to; the array itself may be the caller's."""
    out = np.ascontiguousarray(values).view()
    out.flags.writeable = False
    return out


def check_inputs(X: object) -> F64:
    """Return inputs of shape (T, D) as finite float64."""
    if hasattr(X, "toarray"):
        raise TypeError("X must be a dense table: convert it with X.toarray()")
    if X is None:
        raise TypeError("X must not be None")
    numbers = as_numbers(_frame_numbers(as_table(X, "X")), "X")
    refuse_r_na(numbers, "X")
    if numbers.ndim != 2:
        raise ValueError(
            f"X must have shape (trials, inputs), got {numbers.shape}: for contrasts take "
            "encode_contrast(contrast), for one input of another kind X.reshape(-1, 1)"
        )
    if 0 in numbers.shape:
        what = "trials" if len(numbers) == 0 else "inputs"
        raise ValueError(f"X has no {what}: its shape is {numbers.shape}")
    n_inputs = numbers.size // len(numbers)
    if n_inputs > MOST_INPUTS:
        raise ValueError(
            f"X must have at most {MOST_INPUTS} inputs, got {n_inputs}: rows are trials"
        )
    with np.errstate(over="ignore"):
        x = np.ascontiguousarray(numbers, dtype=np.float64)
    bad = ~np.isfinite(x)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"X must be finite, got {x[row, column]} at trial {row}, input {column}")
    return x


def _frame_numbers(X: Any) -> Any:
    """Return a DataFrame of numbers as an array, anything else as it is."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "to_numpy")):
        return X
    names = list(X.columns)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"X has two columns named {twice[0]!r}")
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "iuf":
            what = "booleans" if getattr(kind, "kind", "O") == "b" else "no numbers"
            raise TypeError(f"X must hold real numbers, but column {name!r} holds {what} ({kind})")
    # pandas' own kinds of numbers have a missing value of their own
    return X.to_numpy(dtype=np.float64, na_value=np.nan)


def check_side(correct_side: object, n: int) -> F64:
    """Return the correct side of n trials, in [0, 1] or NaN."""
    return _share(correct_side, "correct_side", n)


def _share(value: object, name: str, n: int) -> F64:
    out = as_column(value, name, n)
    wrong = (out < 0.0) | (out > 1.0)
    if wrong.any():
        raise ValueError(
            f"{name} must lie in [0, 1] or be NaN, got {shown(out[wrong][0])} at {_first(wrong)}"
        )
    return out


def _mask(value: object, n: int) -> NDArray[np.bool_]:
    if value is None:
        return np.ones(n, dtype=bool)
    out = as_column(value, "likelihood_mask", n)
    wrong = (out != 0.0) & (out != 1.0)
    if wrong.any():
        raise ValueError(
            f"likelihood_mask must hold True or False, got {out[wrong][0]:g} at {_first(wrong)}"
        )
    mask: NDArray[np.bool_] = out == 1.0
    return mask


def _first(wrong: NDArray[np.bool_]) -> str:
    return f"trial {int(np.argmax(wrong))}"
