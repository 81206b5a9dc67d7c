"""Numbers behind the behaviour figures: shares with Wilson intervals."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_int, as_prob

from ._axes import need

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def psychometric_points(behavior: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Share of choices to the right at each signed contrast.

    Only trials with a choice of a side and a finite contrast count, that the file includes and
    that had no photostimulation.

    Parameters
    ----------
    behavior : pandas.DataFrame
        What :func:`nb26stats.nwb.behavior` returns.
    level : float, default=0.95
        Level of the Wilson score intervals.

    Returns
    -------
    pandas.DataFrame
        Index ``signed_contrast`` (right minus left, ascending); columns ``n_trials``,
        ``n_right``, ``p_right``, ``lower``, ``upper``.

    Raises
    ------
    ValueError
        If ``behavior`` lacks a column.

    Notes
    -----
    Interval: E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats.plotting import psychometric_points
    >>> trials = pd.DataFrame({"signed_contrast": [-1, -1, 1, 1], "choice": ["left", "left",
    ...     "left", "right"], "include": True, "photostim": False})
    >>> psychometric_points(trials)["p_right"].tolist()
    [0.0, 0.5]
    """
    level = as_prob(level, "level")
    _need(behavior, "signed_contrast", "choice", "include", "photostim")
    contrast = behavior["signed_contrast"].to_numpy(dtype=np.float64, na_value=np.nan)
    side = behavior["choice"].astype(object).to_numpy()
    kept = _clean(behavior) & np.isin(side, ["left", "right"]) & np.isfinite(contrast)
    values, place = np.unique(contrast[kept], return_inverse=True)
    n = np.bincount(place, minlength=values.size)
    right = np.bincount(place, weights=side[kept] == "right", minlength=values.size).astype(int)
    return _shares(values, right, n, level)


def fitted_points(fit: Any, *, level: float = 0.95) -> pd.DataFrame:
    """Return the same for the choices that a psychometric curve was fitted to."""
    right, n = (np.asarray(v, dtype=np.int64) for v in (fit.n_right, fit.n_trials))
    return _shares(np.asarray(fit.levels, dtype=np.float64), right, n, level)


def _shares(
    contrast: NDArray[np.float64], right: NDArray[np.int64], n: NDArray[np.int64], level: float
) -> pd.DataFrame:
    import pandas as pd

    lower, upper = wilson(right, n, level)
    return pd.DataFrame(
        {
            "n_trials": n,
            "n_right": right,
            "p_right": right / np.maximum(n, 1),
            "lower": lower,
            "upper": upper,
        },
        index=pd.Index(contrast, name="signed_contrast"),
    )


def accuracy_blocks(
    behavior: pd.DataFrame, *, block_size: int | None = None, level: float = 0.95
) -> pd.DataFrame:
    """Share of correct trials in blocks along the session.

    Only trials with an outcome count, that the file includes and that had no photostimulation. The
    outcome is ``correct``, or ``reward`` where ``correct`` is missing throughout. Blocks hold
    ``block_size`` such trials each, so they share none; a last block less than half full joins the
    one before.

    Parameters
    ----------
    behavior : pandas.DataFrame
        What :func:`nb26stats.nwb.behavior` returns.
    block_size : int, optional
        Trials per block; by default a twentieth of the trials that count, but at least 10.
    level : float, default=0.95
        Level of the Wilson score intervals.

    Returns
    -------
    pandas.DataFrame
        One row per block: ``first_trial`` and ``last_trial`` (row positions in the trial table,
        from 0), ``n_trials``, ``n_correct``, ``accuracy``, ``lower``, ``upper``;
        ``attrs["outcome"]`` names the column used.

    Raises
    ------
    ValueError
        If ``behavior`` lacks a column, or ``block_size`` is below 1.

    Notes
    -----
    Interval: E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats.plotting import accuracy_blocks
    >>> trials = pd.DataFrame({"trial": range(4), "correct": [True, False] * 2,
    ...     "reward": [1, 0] * 2, "include": True, "photostim": False})
    >>> accuracy_blocks(trials, block_size=2)["accuracy"].tolist()
    [0.5, 0.5]
    """
    import pandas as pd

    level = as_prob(level, "level")
    if block_size is not None:
        block_size = as_int(block_size, "block_size", minimum=1)
    _need(behavior, "trial", "correct", "reward", "include", "photostim")
    outcome = "reward" if bool(behavior["correct"].isna().all()) else "correct"
    value = behavior[outcome].to_numpy(dtype=np.float64, na_value=np.nan)
    kept = _clean(behavior) & np.isfinite(value)
    trial = behavior["trial"].to_numpy()[kept]
    hits = value[kept] > 0
    size = block_size or max(10, -(-hits.size // 20))
    starts = np.arange(0, hits.size, size)
    if starts.size > 1 and 2 * (hits.size - starts[-1]) < size:
        starts = starts[:-1]
    ends = np.append(starts[1:], hits.size) if starts.size else starts
    n = ends - starts
    correct = np.array([int(hits[a:b].sum()) for a, b in zip(starts, ends, strict=True)], dtype=int)
    lower, upper = wilson(correct, n, level)
    frame = pd.DataFrame(
        {
            "first_trial": trial[starts],
            "last_trial": trial[ends - 1],
            "n_trials": n,
            "n_correct": correct,
            "accuracy": correct / np.maximum(n, 1),
            "lower": lower,
            "upper": upper,
        }
    )
    frame.attrs["outcome"] = outcome
    return frame


def wilson(
    hits: NDArray[np.int64], n: NDArray[np.int64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper Wilson score bounds of ``hits / n``."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    count = np.maximum(np.asarray(n, dtype=np.float64), 1.0)
    share = np.asarray(hits, dtype=np.float64) / count
    centre = share + z**2 / (2 * count)
    spread = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    scale = 1 + z**2 / count
    return np.clip((centre - spread) / scale, 0, 1), np.clip((centre + spread) / scale, 0, 1)


def _clean(behavior: pd.DataFrame) -> NDArray[np.bool_]:
    included = behavior["include"].fillna(False).to_numpy(dtype=bool)
    stimulated = behavior["photostim"].fillna(False).to_numpy(dtype=bool)
    return np.asarray(included & ~stimulated)


def _need(behavior: pd.DataFrame, *columns: str) -> None:
    need(behavior, "behavior", "what nwb.behavior returns", "columns", "iloc")
    missing = [name for name in columns if name not in behavior.columns]
    if missing:
        raise ValueError(
            f"the behaviour table lacks {', '.join(missing)}; give what nwb.behavior returns"
        )
