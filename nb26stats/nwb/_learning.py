"""Behaviour tables as the plain arrays that a model of learning takes, one or many sessions."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import R_NA_INTEGER, as_choice

from ._behavior_columns import Floats, Words, as_flags, as_key, as_numbers
from ._sides import is_side
from .errors import ConventionError, MissingColumnError

if TYPE_CHECKING:
    import pandas as pd

_NEEDED = (
    "trial",
    "stim_left",
    "stim_right",
    "stim_side",
    "choice",
    "reward",
    "include",
    "photostim",
)
_ORIGIN = ("convention", "subject", "session_start_time", "identifier", "file", "table", "flipped")
# arrays of a learning dict and their types, ``stimulus`` (two columns) aside
_VECTORS: dict[str, Any] = {
    "contrast": np.float64,
    "choice": np.int8,
    "reward": np.int8,
    "likelihood_mask": np.bool_,
    "trial": np.int64,
}


def to_learning(bh: pd.DataFrame | Mapping[str, Any], *, zero: str = "keep") -> dict[str, Any]:
    """Return a behaviour table as the input of a model of learning from choices.

    Trials without a choice are left out. Trials with a choice that the file excludes, or that had
    photostimulation, stay because the animal learned from them; ``likelihood_mask`` is False there.

    Parameters
    ----------
    bh : pandas.DataFrame or dict of lists
        A table from :func:`behavior` (or its columns as lists, as R sends them).
    zero : {"keep", "drop"}, default="keep"
        What to do with trials whose two contrasts are equal.

    Returns
    -------
    dict
        In the order of the table, T trials:

        - ``stimulus``: (T, 2) float64, contrast left and right; where the task has no contrasts
          1.0 on the cued side and 0.0 on the other;
        - ``contrast``: (T,) float64, right - left;
        - ``choice``: (T,) int8, 0 left, 1 right; ``reward``: (T,) int8;
        - ``likelihood_mask``: (T,) bool; ``trial``: (T,) int64, row positions in the file;
        - ``session``: (T,) int64, zeros; ``session_names``: list with one name;
        - ``info``: dict with convention, subject, session start and what was dropped.

    Raises
    ------
    ConventionError
        The task has no sides, or a choice is not left, right or none.
    ValueError
        The reward of a trial with a choice is not known, or its stimulus; the message has the
        count.
    MissingColumnError
        A canonical column is missing.
    TypeError
        ``bh`` is not a table.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> bh = nbn.behavior(datasets.path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen"))
    >>> d = nbn.to_learning(bh)
    >>> d["choice"].size, int(d["likelihood_mask"].sum())
    (255, 202)
    """
    zero = as_choice(zero, "zero", ("keep", "drop"))
    table, attrs = _columns(bh)
    choice, side = _words(table["choice"]), _words(table["stim_side"])
    convention = attrs.get("convention")
    _check_words(choice, side, convention)
    n = len(choice)
    left, right = _cued(_numbers(table, "stim_left"), _numbers(table, "stim_right"), side)
    chosen = is_side(choice)
    equal = left == right
    keep = chosen & ~equal if zero == "drop" else chosen
    no_stimulus = int(np.sum(keep & (np.isnan(left) | np.isnan(right))))
    if no_stimulus:
        raise ValueError(
            f"{no_stimulus} trials with a choice have no known stimulus; give them a contrast or "
            "a side, or drop these rows"
        )
    reward = as_flags(table["reward"], "reward")
    unknown = int(np.sum(keep & np.isnan(reward)))
    if unknown:
        raise ValueError(
            f"the reward is NaN on {unknown} of {int(keep.sum())} trials with a choice; fill it "
            "in or drop these rows"
        )
    mask = (as_flags(table["include"], "include") == 1.0) & (
        as_flags(table["photostim"], "photostim") != 1.0
    )
    stimulus = np.ascontiguousarray(np.column_stack([left, right])[keep])
    trial = _numbers(table, "trial")
    info = {key: attrs.get(key) for key in _ORIGIN}
    info.update(
        agreement=attrs.get("agreement"),
        zero=zero,
        n_rows=n,
        n_trials=int(keep.sum()),
        n_no_choice=int(n - chosen.sum()),
        n_equal_dropped=int(np.sum(chosen & equal)) if zero == "drop" else 0,
        n_masked=int(np.sum(keep & ~mask)),
    )
    return {
        "stimulus": stimulus,
        "contrast": stimulus[:, 1] - stimulus[:, 0],
        "choice": (choice[keep] == "right").astype(np.int8),
        "reward": reward[keep].astype(np.int8),
        "likelihood_mask": mask[keep],
        "trial": trial[keep].astype(np.int64),
        "session": np.zeros(int(keep.sum()), dtype=np.int64),
        "session_names": [str(attrs.get("session") or attrs.get("identifier") or "session")],
        "info": info,
    }


def concat_sessions(parts: Sequence[Any]) -> dict[str, Any]:
    """Join the sessions of one animal in order of time.

    Parameters
    ----------
    parts : sequence of dict or pandas.DataFrame
        Outputs of :func:`to_learning` for one session each, or tables from :func:`behavior`, in
        any order.

    Returns
    -------
    dict
        The same entries as from :func:`to_learning`. ``session`` numbers the sessions from 0 in
        order of their start, ``session_names`` names them, ``trial`` counts within each file, and
        ``info["sessions"]`` keeps what each part said.

    Raises
    ------
    ValueError
        A start time is missing, two are equal, subjects or conventions differ, or there is
        nothing to join.
    TypeError
        A part is neither a table nor a dict from :func:`to_learning`.

    Examples
    --------
    >>> import pandas as pd
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> bh = nbn.behavior(datasets.path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen"))
    >>> later = bh.copy()
    >>> later.attrs["session_start_time"] = "2017-06-28T10:00:00-05:00"
    >>> d = nbn.concat_sessions([later, bh])
    >>> d["choice"].size, d["session"].max().item()
    (510, 1)
    """
    sessions = [_session(part, i) for i, part in enumerate(_parts(parts))]
    starts = [_start(d, i) for i, d in enumerate(sessions)]
    for key, what in (("subject", "subjects"), ("convention", "conventions")):
        held = {d["info"].get(key) for d in sessions}
        if len(held) > 1:
            listed = ", ".join(sorted(map(str, held)))
            raise ValueError(f"the sessions are of different {what}: {listed}; join those of one")
    try:
        order = sorted(range(len(sessions)), key=lambda i: starts[i])
    except TypeError as err:
        raise ValueError(
            "some session start times have a time zone and some have none; make them alike"
        ) from err
    for before, after in itertools.pairwise(order):
        if starts[before] == starts[after]:
            raise ValueError(
                f"parts {before} and {after} both start at {starts[before].isoformat()}, so their "
                "order is unknown; the same session may have been given twice"
            )
    ordered = [sessions[i] for i in order]
    infos = [d["info"] for d in ordered]
    out: dict[str, Any] = {
        key: np.concatenate([d[key] for d in ordered]) for key in ("stimulus", *_VECTORS)
    }
    out["session"] = np.repeat(np.arange(len(ordered)), [d["choice"].size for d in ordered])
    out["session_names"] = [d["session_names"][0] for d in ordered]
    out["info"] = {
        "convention": infos[0].get("convention"),
        "subject": infos[0].get("subject"),
        "n_trials": int(out["choice"].size),
        "n_masked": int(np.sum(~out["likelihood_mask"])),
        "sessions": infos,
    }
    return out


def _columns(bh: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the canonical columns that matter as arrays of equal length, and the attributes."""
    import pandas as pd

    if isinstance(bh, pd.DataFrame):
        attrs = {str(key): value for key, value in bh.attrs.items()}
        held = {str(name): bh[name] for name in bh.columns}
    elif isinstance(bh, Mapping):
        attrs, held = {}, {str(name): values for name, values in bh.items()}
    else:
        raise TypeError(
            f"bh must be a table from behavior(), or its columns as lists, got {type(bh).__name__}"
        )
    missing = [name for name in _NEEDED if name not in held]
    if missing:
        raise MissingColumnError(
            f"the behaviour table lacks {', '.join(missing)}; it has "
            f"{', '.join(map(str, held)) or 'no columns'}"
        )
    table = {name: _vector(held[name], name) for name in _NEEDED}
    sizes = {name: len(values) for name, values in table.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"the columns of the behaviour table differ in length: {listed}")
    return table, attrs


def _vector(values: Any, name: str) -> NDArray[Any]:
    """Return a column as a flat object array; a scalar is a table of one row."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        values = [values]
    items = list(values)
    out = np.empty(len(items), dtype=object)
    for i, value in enumerate(items):
        if isinstance(value, (list, tuple, np.ndarray, Mapping)):
            raise ValueError(f"column {name!r} must hold one value a trial; row {i} holds several")
        out[i] = value
    return out


def _words(values: NDArray[Any]) -> Words:
    out = np.empty(len(values), dtype=object)
    out[:] = [as_key(value) for value in values]
    return out


def _numbers(table: Mapping[str, NDArray[Any]], name: str) -> Floats:
    out = as_numbers(table[name], name)
    if np.any(out == R_NA_INTEGER):
        raise ValueError(f"column {name!r} holds {R_NA_INTEGER}, R's NA_integer_; use NA_real_")
    if np.isinf(out).any():
        raise ValueError(f"column {name!r} must hold finite numbers or NaN")
    if name == "trial" and not np.all(out == np.floor(out)):
        raise ValueError("column 'trial' must hold whole numbers, the row positions in the file")
    if name != "trial" and np.any((out < 0.0) | (out > 1.0)):
        raise ValueError(
            f"column {name!r} must hold contrasts from 0 to 1, largest is {np.nanmax(out):g}"
        )
    return out


def _check_words(choice: Words, side: Words, convention: object) -> None:
    strange = sorted({w or "missing" for w in choice} - {"left", "right", "none"})
    if convention == "aibs_change" or strange == ["lick"]:
        raise ConventionError(
            "this task has no left and right choices, so it cannot be modelled as a choice of side"
        )
    if strange:
        raise ConventionError(
            f"choices must be 'left', 'right' or 'none', got {', '.join(map(repr, strange[:10]))}"
        )
    strange = sorted({w or "missing" for w in side} - {"left", "right", "none"})
    if strange:
        raise ConventionError(
            f"stim_side must be 'left', 'right' or 'none', got {', '.join(map(repr, strange[:10]))}"
        )


def _cued(left: Floats, right: Floats, side: Words) -> tuple[Floats, Floats]:
    """Return the contrasts; in a task that has none, 1.0 on the cued side."""
    if np.isfinite(left).any() or np.isfinite(right).any():
        return left, right
    cued = is_side(side)
    return (
        np.where(cued, (side == "left").astype(np.float64), np.nan),
        np.where(cued, (side == "right").astype(np.float64), np.nan),
    )


def _parts(parts: Any) -> list[Any]:
    import pandas as pd

    if isinstance(parts, pd.DataFrame) or (isinstance(parts, Mapping) and "choice" in parts):
        return [parts]
    if isinstance(parts, Mapping):
        parts = list(parts.values())
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Sequence):
        raise TypeError(
            f"parts must be a list of outputs of to_learning(), got {type(parts).__name__}"
        )
    if not parts:
        raise ValueError("parts is empty: there are no sessions to join")
    return list(parts)


def _session(part: Any, i: int) -> dict[str, Any]:
    """Return one part as a clean learning dict, whatever a trip through R did to its arrays."""
    import pandas as pd

    if isinstance(part, pd.DataFrame) or (isinstance(part, Mapping) and "stim_side" in part):
        return to_learning(part)
    if not isinstance(part, Mapping):
        raise TypeError(
            f"part {i} must be an output of to_learning() or a table from behavior(), "
            f"got {type(part).__name__}"
        )
    needed = ("stimulus", *_VECTORS, "session_names", "info")
    missing = [key for key in needed if key not in part]
    if missing:
        raise ValueError(f"part {i} is no output of to_learning(): it lacks {', '.join(missing)}")
    names = part["session_names"]
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != 1:
        raise ValueError(f"part {i} holds {len(names)} sessions; give each session as its own part")
    if not isinstance(part["info"], Mapping):
        raise TypeError(f"info of part {i} must be a dict, got {type(part['info']).__name__}")
    out: dict[str, Any] = {"session_names": [str(names[0])], "info": dict(part["info"])}
    for key, dtype in _VECTORS.items():
        out[key] = _array(part[key], f"{key} of part {i}").ravel().astype(dtype)
    n = out["choice"].size
    out["stimulus"] = _array(part["stimulus"], f"stimulus of part {i}").astype(np.float64)
    sizes = {key: out[key].size for key in _VECTORS}
    if set(sizes.values()) != {n} or out["stimulus"].shape != (n, 2):
        raise ValueError(
            f"the arrays of part {i} do not fit together: {sizes}, stimulus {out['stimulus'].shape}"
        )
    return out


def _array(values: Any, name: str) -> NDArray[Any]:
    """Return an array from an array, a list, a scalar, or the {data, dim} form made for R."""
    if isinstance(values, Mapping):
        if set(values) != {"data", "dim"}:
            raise ValueError(f"{name} must be an array")
        flat = np.atleast_1d(np.asarray(values["data"]))
        shape = tuple(int(v) for v in np.atleast_1d(np.asarray(values["dim"])))
        out = flat.reshape(shape, order="F")
    else:
        out = np.atleast_1d(np.asarray(values))
    if out.size and out.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers")
    if out.dtype.kind in "if" and not np.all(np.isfinite(out) & (out != R_NA_INTEGER)):
        raise ValueError(f"{name} holds missing values")
    return out


def _start(part: Mapping[str, Any], i: int) -> datetime.datetime:
    value = part["info"].get("session_start_time")
    if value is None or value == "":
        raise ValueError(
            f"part {i} ({part['session_names'][0]}) has no session_start_time in its info, so the "
            "order of the sessions is unknown; set it to a text such as '2024-05-17T09:30:00'"
        )
    if isinstance(value, datetime.datetime):
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"session_start_time of part {i} must be text or a datetime, got {type(value).__name__}"
        )
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError as err:
        raise ValueError(f"session_start_time of part {i} is no date and time: {value!r}") from err
