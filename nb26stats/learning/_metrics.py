"""Accuracy, sensitivity and bias of choices, by session or by window of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nb26stats._check import as_choice, as_int

from ._columns import as_labels
from ._contrast import check_choice, check_contrast

if TYPE_CHECKING:
    import pandas as pd

F64 = NDArray[np.float64]
RIDGE = 1e-3
"""Penalty of intercept and slope, with which both are finite for perfect choices."""


def behavior_metrics(
    contrast: ArrayLike,
    choice: ArrayLike,
    *,
    sessions: ArrayLike | None = None,
    window: int | None = None,
    step: int | None = None,
    method: str = "simple",
) -> pd.DataFrame:
    """Return accuracy, sensitivity and bias of choices over time.

    Parameters
    ----------
    contrast : array-like of shape (T,)
        Signed contrasts in [-1, 1], negative on the left.
    choice : array-like of shape (T,)
        0 left, 1 right.
    sessions : array-like of shape (T,), optional
        Labels of sessions: one row for each. Not together with ``window``.
    window : int, optional
        Trials per window. Without it and without ``sessions``, all trials are one window.
    step : int, optional
        Trials from one window to the next; by default ``window``, so that they do not overlap. A
        last window that would be incomplete is left out.
    method : {"simple", "logistic"}, default="simple"
        Where sensitivity and bias come from: shares of right choices, or the slope and intercept of
        a logistic regression on contrast.

    Returns
    -------
    pandas.DataFrame
        One row per session or window:

        - ``session`` where there are sessions; ``start`` and ``stop``, its trials, as in
          ``choice[start:stop]``; ``n_trials``;
        - ``accuracy``: share of correct choices where the contrast is not 0;
        - ``sensitivity``: P(right | c > 0) - P(right | c < 0), or the slope;
        - ``bias``: (P(right | c > 0) + P(right | c < 0)) / 2 - 1/2, or the intercept.

        NaN where a window has no trial that tells.

    Raises
    ------
    ValueError
        Lengths differ, a value is out of range or missing, sessions are not blocks, or ``window``
        is longer than the data.
    TypeError
        An argument is of the wrong kind.

    Notes
    -----
    Both coefficients of the logistic regression carry a ridge penalty of 0.001, so that they are
    finite for perfect choices. With one side missing its slope would come from the penalty alone,
    and is NaN.

    Examples
    --------
    >>> from nb26stats.learning import behavior_metrics
    >>> contrast = [-0.5, 0.5, -0.25, 0.25, 0.0, 0.5, -0.5, 0.5]
    >>> choice = [0, 0, 1, 1, 1, 1, 0, 1]
    >>> behavior_metrics(contrast, choice, window=4)[["start", "accuracy", "sensitivity", "bias"]]
       start  accuracy  sensitivity  bias
    0      0       0.5          0.0   0.0
    1      4       1.0          1.0   0.0
    """
    c = check_contrast(contrast, "contrast")
    a = check_choice(choice, "choice", len(c))
    method = as_choice(method, "method", ("simple", "logistic"))
    labels, spans = _windows(len(c), sessions, window, step)
    rows = [
        {"start": i, "stop": j, "n_trials": j - i, **_measures(c[i:j], a[i:j], method)}
        for i, j in spans
    ]
    import pandas as pd

    table = pd.DataFrame(rows)
    if labels is not None:
        table.insert(0, "session", list(labels))
    return table


def _windows(
    n: int, sessions: object, window: object, step: object
) -> tuple[tuple[Any, ...] | None, list[tuple[int, int]]]:
    """Return the labels of sessions, if there are any, and the trials of each window."""
    if n == 0:
        raise ValueError("contrast holds no trials")
    if sessions is not None:
        if window is not None:
            raise ValueError("sessions and window are both given: rows are either one or the other")
        if step is not None:
            raise ValueError("step is for windows, but sessions are given")
        codes, labels = as_labels(sessions, n, of="contrast")
        begins = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
        return labels, list(zip(begins, [*begins[1:], n], strict=True))
    if window is None:
        if step is not None:
            raise ValueError("step needs a window, which is the number of trials in each row")
        return None, [(0, n)]
    width = as_int(window, "window", minimum=1)
    if width > n:
        raise ValueError(f"window={width} is longer than the data, which have {n} trials")
    stride = width if step is None else as_int(step, "step", minimum=1)
    return None, [(i, i + width) for i in range(0, n - width + 1, stride)]


def _measures(c: F64, a: F64, method: str) -> dict[str, float]:
    left, right = a[c < 0.0], a[c > 0.0]
    sided = left.size + right.size
    out = {
        "accuracy": float(((1.0 - left).sum() + right.sum()) / sided) if sided else np.nan,
        "sensitivity": np.nan,
        "bias": np.nan,
    }
    if left.size and right.size:
        if method == "simple":
            at_right, at_left = float(right.mean()), float(left.mean())
            out["sensitivity"] = at_right - at_left
            out["bias"] = 0.5 * (at_right + at_left) - 0.5
        else:
            out["bias"], out["sensitivity"] = _logistic(c, a)
    return out


def _logistic(c: F64, a: F64) -> tuple[float, float]:
    """Return intercept and slope of the penalised logistic regression, by Newton steps."""
    from scipy.special import expit

    # equal contrasts make one binomial row
    levels, at = np.unique(c, return_inverse=True)
    n, k = np.bincount(at).astype(np.float64), np.bincount(at, weights=a)
    design = np.column_stack([np.ones_like(levels), levels])
    w = np.zeros(2)

    def objective(v: F64) -> float:
        z = design @ v
        return float(k @ z - n @ np.logaddexp(0.0, z) - 0.5 * RIDGE * (v @ v))

    value = objective(w)
    for _ in range(100):
        p = expit(design @ w)
        slope = design.T @ (k - n * p) - RIDGE * w
        curvature = (design.T * (n * p * (1.0 - p))) @ design + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, slope)
        # the objective is concave: a shorter step along the same line always gains
        while (gained := objective(w + step)) < value and float(np.abs(step).max()) > 1e-12:
            step *= 0.5
        w, value = w + step, gained
        if float(np.abs(step).max()) <= 1e-10 * max(1.0, float(np.abs(w).max())):
            break
    return float(w[0]), float(w[1])
