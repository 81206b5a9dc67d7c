"""Behaviour tables of the International Brain Laboratory, read into one row per trial."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

COLUMNS = (
    "contrastLeft",
    "contrastRight",
    "choice",
    "feedbackType",
    "subject",
    "date",
    "session",
)


def load_ibl_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read choices of mice of the International Brain Laboratory from a csv file.

    Parameters
    ----------
    path : str or path-like
        A csv file, compressed or not, with columns ``contrastLeft``, ``contrastRight``,
        ``choice``, ``feedbackType``, ``subject``, ``date`` and ``session``; others are ignored.

    Returns
    -------
    pandas.DataFrame
        One row per trial, for :func:`nb26stats.compare_architectures`: ``animal``; ``session``, as
        ``date/session``; ``contrast``, right minus left, in [-1, 1]; ``choice``, 1 right, 0
        left, NaN without a response; ``reward``, 1 or 0, NaN where the file does not say. Animals
        in order of their names, sessions in order of date and number, trials as in the file.
        ``attrs["right_code"]`` is the code of the file for a right choice.

    Raises
    ------
    ValueError
        A column is missing, a value cannot be read, contrasts are in percent, a session lies in
        pieces, or codes of choices do not agree with rewards.
    TypeError
        ``path`` is no path.
    FileNotFoundError
        There is no such file.

    Notes
    -----
    Which of the two codes of a choice means right depends on the release. It is read off the
    rewards: where one side had a stimulus, a rewarded choice was of that side.

    A negative contrast on the right is one on the left (81 trials of mouse CSHL_002 in the 2019
    release), an empty contrast is 0, feedback 0 is a reward not known (3 trials of ZM_1084), and
    choice 0 is no response. Drop trials without a response, or fit with ``drop_no_response=True``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from nb26stats import datasets
    >>> table = pd.DataFrame({"contrastLeft": [0.5, 0, 0], "contrastRight": [0, 1, 0.25]})
    >>> table = table.assign(choice=[1, 1, 0], feedbackType=[1, -1, -1], subject="m1", session=1)
    >>> table["date"] = ["2019-01-01", "2019-01-01", "2019-01-02"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mice.csv")
    ...     table.to_csv(file)
    ...     datasets.load_ibl_csv(file)["choice"].tolist()
    [0.0, 0.0, nan]
    """
    import numpy as np
    import pandas as pd

    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be the path of a csv file, got {type(path).__name__}")
    table = pd.read_csv(
        path,
        dtype={"subject": str, "date": str, "session": str},
        keep_default_na=False,
        na_values={c: ["", "nan", "NaN", "NA"] for c in COLUMNS},
    )
    lacking = [c for c in COLUMNS if c not in table.columns]
    if lacking:
        raise ValueError(f"the file lacks the columns {', '.join(lacking)}")
    if table.empty:
        raise ValueError("the file holds no trials")
    for column in ("subject", "date", "session"):
        gone = table[column].isna().to_numpy()
        if gone.any():
            raise ValueError(f"{column} is empty in row {int(np.argmax(gone))} of the file")
    contrast = _contrast(_numbers(table, "contrastLeft"), _numbers(table, "contrastRight"))
    feedback = _codes(_numbers(table, "feedbackType"), "feedbackType", (-1.0, 0.0, 1.0))
    code = _codes(_numbers(table, "choice"), "choice", (-1.0, 0.0, 1.0))
    right_code = _right_code(contrast, code, feedback)
    gone = (code == 0.0) | np.isnan(code)
    out = pd.DataFrame(
        {
            "animal": table["subject"],
            "session": table["date"] + "/" + table["session"],
            "contrast": contrast,
            "choice": np.where(gone, np.nan, (code == right_code).astype(float)),
            "reward": np.where(feedback == 0.0, np.nan, (feedback + 1.0) / 2.0),
        }
    )
    out = out.iloc[_order(table)].reset_index(drop=True)
    out.attrs["right_code"] = int(right_code)
    return out


def _numbers(table: pd.DataFrame, column: str) -> NDArray[np.float64]:
    import numpy as np
    import pandas as pd

    held = table[column]
    out = pd.to_numeric(held, errors="coerce").to_numpy(dtype=float)
    wrong = np.isnan(out) & held.notna().to_numpy()
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{column} must be a number, got {held.iloc[at]!r} in row {at} of the file"
        )
    return out


def _codes(
    value: NDArray[np.float64], column: str, known: tuple[float, ...]
) -> NDArray[np.float64]:
    import numpy as np

    # an empty cell says as little as code 0
    value = np.nan_to_num(value, nan=0.0)
    wrong = ~np.isin(value, known)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{column} must be -1, 0 or 1, got {value[at]:g} in row {at} of the file")
    return value


def _contrast(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    unknown = np.isnan(left) & np.isnan(right)
    if unknown.any():
        raise ValueError(
            f"contrastLeft and contrastRight are both empty in row {int(np.argmax(unknown))} of "
            "the file"
        )
    left, right = np.nan_to_num(left, nan=0.0), np.nan_to_num(right, nan=0.0)
    for name, value in (("contrastLeft", left), ("contrastRight", right)):
        large = np.abs(value) > 1.0
        if large.any():
            at = int(np.argmax(large))
            raise ValueError(
                f"{name} must be a fraction, got {value[at]:g} in row {at} of the file: contrasts "
                "in percent must be divided by 100"
            )
    negative = left < 0.0
    if negative.any():
        at = int(np.argmax(negative))
        raise ValueError(f"contrastLeft is negative ({left[at]:g}) in row {at} of the file")
    moved = right < 0.0
    clash = moved & (left != 0.0) & (left != -right)
    if clash.any():
        at = int(np.argmax(clash))
        raise ValueError(
            f"contrastRight is negative ({right[at]:g}) in row {at} of the file, where "
            f"contrastLeft is {left[at]:g}: the side is not known"
        )
    out: NDArray[np.float64] = np.where(moved, right, right - left)
    return out


def _right_code(
    contrast: NDArray[np.float64], code: NDArray[np.float64], feedback: NDArray[np.float64]
) -> float:
    """Return which of -1 and 1 means right, by the side that was rewarded."""
    import numpy as np

    tells = (contrast != 0.0) & (code != 0.0) & (feedback != 0.0)
    if not tells.any():
        raise ValueError(
            "the code of a right choice is not known: no trial has a stimulus, a choice and its "
            "feedback"
        )
    # the sign of a choice times the sign of feedback is the side that was correct
    agrees = (code * feedback * np.sign(contrast))[tells] > 0.0
    share = float(agrees.mean())
    if 0.05 < share < 0.95:
        raise ValueError(
            f"code 1 of choice agrees with right by the feedback on {share:.0%} of trials, where "
            "it should on all or on none: choice, feedbackType or the contrasts are not what they "
            "seem"
        )
    return 1.0 if share > 0.5 else -1.0


def _order(table: pd.DataFrame) -> NDArray[np.int64]:
    """Return the rows by animal, date and session, each session as in the file."""
    import numpy as np
    import pandas as pd

    dates = pd.to_datetime(table["date"], errors="coerce", format="mixed")
    wrong = dates.isna().to_numpy()
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"date {table['date'].iloc[at]!r} in row {at} of the file is no date")
    key = table["subject"] + "\n" + table["date"] + "\n" + table["session"]
    codes = pd.factorize(key)[0]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    returns = pd.Series(codes[begins]).duplicated().to_numpy()
    if returns.any():
        at = int(begins[np.argmax(returns)])
        raise ValueError(
            f"session {table['session'].iloc[at]} of {table['subject'].iloc[at]} on "
            f"{table['date'].iloc[at]} begins again in row {at} of the file: its trials must lie "
            "together"
        )
    number = pd.to_numeric(table["session"], errors="coerce")
    # names that are no numbers keep the order of the file
    keys = pd.DataFrame(
        {"subject": table["subject"], "date": dates, "number": number.fillna(np.inf)}
    )
    order: NDArray[np.int64] = keys.sort_values(
        ["subject", "date", "number"], kind="stable"
    ).index.to_numpy(np.int64)
    return order
