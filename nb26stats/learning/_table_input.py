"""Trials of many animals, from a table or from one entry per animal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nb26stats._check import as_bool, refuse_r_na
from nb26stats._warnings import warn

from ._columns import as_column, shown
from ._contrast import check_contrast, encode_contrast
from ._trials import Trials, check_trials

ARRAYS = ("X", "y", "rewards", "correct_side", "sessions", "likelihood_mask")
"""What an entry of arrays may hold; the first two it must."""
COLUMNS = {
    "choice": "y",
    "reward": "rewards",
    "correct_side": "correct_side",
    "session": "sessions",
    "likelihood_mask": "likelihood_mask",
}
"""What a table may hold beside the contrast, and the argument it becomes."""
FORMS = (
    "a table with the columns animal, contrast, choice, reward, session, or a dict of animals, "
    "each a table or a dict with X, y and rewards"
)


@dataclass(frozen=True, eq=False)
class Animal:
    """The name of an animal, and its checked trials."""

    name: Hashable
    trials: Trials

    @property
    def data(self) -> dict[str, Any]:
        """The trials as arguments of ``fit``."""
        t = self.trials
        return {
            "X": t.x,
            "y": t.choice,
            "rewards": t.rewards,
            "correct_side": t.correct_side,
            "sessions": t.sessions,
            "likelihood_mask": t.mask,
        }


def read_animals(data: Any, *, drop_no_response: object = False) -> list[Animal]:
    """Return the checked trials of each animal, in the order of the data.

    Parameters
    ----------
    data : pandas.DataFrame, or dict of animals
        A table has the columns ``animal``, ``contrast`` (fractions, right minus left), ``choice``
        (0 left, 1 right), ``session``, and ``reward`` or ``correct_side``; it may have
        ``likelihood_mask`` and ``trial``, other columns are ignored. An entry of a dict is a table
        without the column ``animal`` (or a dict of its columns), or a dict with ``X``, ``y`` and
        any of ``rewards``, ``correct_side``, ``sessions``, ``likelihood_mask``.
    drop_no_response : bool
        Whether trials without a response are left out.

    Returns
    -------
    list of Animal
        Names and trials.

    Raises
    ------
    ValueError
        Columns are missing, sessions or trials are not in order of time, or values are wrong; the
        message names the animal and the first bad trial.
    TypeError
        The data are of the wrong kind.

    Warns
    -----
    NB26StatsWarning
        All counted choices of an animal are on one side, or no trial of it is rewarded.
    """
    drop = as_bool(drop_no_response, "drop_no_response")
    if _is_frame(data) or (isinstance(data, Mapping) and not _is_entry(data.get("animal"))):
        animals = _split(_frame(data, "data"))
    elif isinstance(data, Mapping):
        animals = dict(data)
    else:
        raise TypeError(f"data must be {FORMS}, got {type(data).__name__}")
    if not animals:
        raise ValueError("data holds no animal")
    one = {"X", "y"} <= set(animals) or {"contrast", "choice"} <= set(animals)
    if one and not all(_is_entry(entry) for entry in animals.values()):
        raise ValueError("data is that of one animal: name it, as in {'m1': data}")
    out = [Animal(name, _read(name, entry, drop)) for name, entry in animals.items()]
    _remark(out)
    return out


def _is_frame(value: object) -> bool:
    import pandas as pd

    return isinstance(value, pd.DataFrame)


def _is_entry(value: object) -> bool:
    # a dict without "animal", or with an animal of that name
    return value is None or isinstance(value, Mapping) or _is_frame(value)


def _frame(value: Any, name: str) -> Any:
    """Return a DataFrame whose columns have names of their own."""
    import pandas as pd

    if not _is_frame(value):
        sizes = {key: np.size(v) for key, v in value.items() if np.ndim(v) < 2}
        size = sizes.get("contrast", 0)
        # R sends a single trial as scalars; entries of other lengths are not columns
        value = pd.DataFrame(
            {
                key: v if np.ndim(v) else [v]
                for key, v in value.items()
                if sizes.get(key) == size or key in COLUMNS or key in ("animal", "contrast")
            }
        )
    twice = value.columns[value.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{name} has two columns named {twice[0]!r}")
    return value


def _split(table: Any) -> dict[Any, Any]:
    """Return one table per animal, in order of appearance."""
    import pandas as pd

    _need(table, ("animal", "contrast", "choice", "session"), "data")
    if not len(table):
        raise ValueError("data holds no trial")
    codes, names = pd.factorize(table["animal"])
    if (codes < 0).any():
        raise ValueError(
            f"animal must be named on every row, but row {int(np.argmin(codes))} is empty"
        )
    return {
        name: table.iloc[np.flatnonzero(codes == i)]
        for i, name in enumerate(pd.Index(names).tolist())
    }


def _need(table: Any, columns: tuple[str, ...], name: str) -> None:
    missing = [c for c in columns if c not in table.columns]
    if not {"reward", "correct_side"} & set(table.columns):
        missing.append("reward (or correct_side)")
    if missing:
        raise ValueError(
            f"{name} lacks {', '.join(missing)}; it has {', '.join(map(str, table.columns))}"
            + ("; see nwb.to_learning for tables of behaviour" * ("stim_left" in table.columns))
        )


def _read(name: Any, entry: Any, drop: bool) -> Trials:
    if _is_frame(entry) or (isinstance(entry, Mapping) and "contrast" in entry):
        read: Callable[[Any, bool], Trials] = _from_table
    elif isinstance(entry, Mapping):
        read = _from_arrays
    else:
        raise TypeError(f"animal {name!r} must be {FORMS}, got {type(entry).__name__}")
    try:
        return read(entry, drop)
    except (ValueError, TypeError) as err:
        kind = ValueError if isinstance(err, ValueError) else TypeError
        raise kind(f"animal {name!r}: {err}") from err


def _from_arrays(entry: Mapping[str, Any], drop: bool) -> Trials:
    unknown = [key for key in entry if key not in ARRAYS]
    missing = [key for key in ("X", "y") if key not in entry]
    if unknown or missing:
        said = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(map(str, unknown))}"
        raise ValueError(
            f"its entry {said}; it must have X, y and may have {', '.join(ARRAYS[2:])}, or be a "
            "table with contrast, choice, reward, session"
        )
    return check_trials(**entry, drop_no_response=drop)


def _from_table(entry: Any, drop: bool) -> Trials:
    table = _frame(entry, "its table")
    _need(table, ("contrast", "choice", "session"), "its table")
    if not len(table):
        raise ValueError("there is no trial")
    contrast = table["contrast"]
    _check_codes(table["choice"])
    _check_order(table)
    arguments = {
        argument: table[column] for column, argument in COLUMNS.items() if column in table.columns
    }
    x = encode_contrast(check_contrast(contrast, "contrast"))
    try:
        return check_trials(x, **arguments, drop_no_response=drop)
    except (ValueError, TypeError) as err:
        # messages begin with the argument, which is a column here
        word, _, rest = str(err).partition(" ")
        named = {argument: column for column, argument in COLUMNS.items()}
        raise type(err)(f"{named.get(word, word)} {rest}") from err


def _check_codes(choice: Any) -> None:
    """Refuse other codes of choices, with the way to ours."""
    values = as_column(choice, "choice", len(choice), of="contrast")
    held = set(np.unique(values[~np.isnan(values)]).tolist())
    if held <= {0.0, 1.0}:
        return
    advice = ""
    if held == {1.0, 2.0}:
        advice = ": if 2 is right, subtract 1"
    elif held == {-1.0, 1.0}:
        advice = ": if 1 is right, take (choice + 1) / 2"
    elif held == {-1.0, 0.0, 1.0}:
        advice = ": if 0 is no response, put NaN there; left must be 0"
    wrong = ~np.isnan(values) & (values != 0.0) & (values != 1.0)
    at = int(np.argmax(wrong))
    raise ValueError(
        f"choice must hold 0 (left), 1 (right) or NaN (no response), got {shown(values[at])} at "
        f"trial {at}{advice}"
    )


def _check_order(table: Any) -> None:
    """Refuse numbered or dated sessions, and numbered trials, that go back in time."""
    session = table["session"]
    refuse_r_na(session, "session")
    at = _first_fall(session)
    if at is not None:
        raise ValueError(
            f"session goes from {session.iloc[at - 1]} to {session.iloc[at]} at trial {at}: put "
            "the rows in order of time"
        )
    if "trial" not in table.columns:
        return
    import pandas as pd

    new = np.flatnonzero(np.diff(pd.factorize(session)[0], prepend=-1))
    at = _first_fall(table["trial"], set(new.tolist()))
    if at is not None:
        raise ValueError(
            f"trial goes from {table['trial'].iloc[at - 1]} to {table['trial'].iloc[at]} within "
            f"session {session.iloc[at]}: put the rows in order of time"
        )


def _first_fall(column: Any, allowed: set[int] | frozenset[int] = frozenset()) -> int | None:
    """Return the first row whose number or time is below that of the row before."""
    if column.dtype.kind not in "iufM" or column.isna().any():
        return None
    values = column.to_numpy()
    falls = np.flatnonzero(values[1:] < values[:-1]) + 1
    return next((int(i) for i in falls if int(i) not in allowed), None)


def _remark(animals: Sequence[Animal]) -> None:
    one_sided = [a.name for a in animals if np.ptp(a.trials.choice[a.trials.mask]) == 0]
    unrewarded = [a.name for a in animals if not (a.trials.rewards > 0.0).any()]
    if one_sided:
        warn(
            f"all choices of {_list(one_sided)} are on one side: the likelihood has no interior "
            "maximum, and what is fitted to it means little"
        )
    if unrewarded:
        warn(f"no trial of {_list(unrewarded)} is rewarded")


def _list(names: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(str(n) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
