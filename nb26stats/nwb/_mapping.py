"""Columns that the user names instead of a convention."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._behavior_columns import Columns, Draft, Floats, Words, as_flags, as_key, as_numbers
from ._conventions import check_contrast, contrast_on_side, one_sided
from ._sides import larger_side

TIMES = ("t_stim", "t_go", "t_response", "t_feedback")
_WORD_KEYS = {
    "choice": ("left", "right", "none", "lick"),
    "stim_side": ("left", "right", "none"),
}
_FLAG_KEYS = ("reward", "correct", "include", "photostim")
_CONTRAST_KEYS = ("stim_left", "stim_right", "contrast", "signed_contrast")
KEYS = (*_WORD_KEYS, *_FLAG_KEYS, *_CONTRAST_KEYS, "probability_left", *TIMES)


def read_mapping(columns: Columns, mapping: object) -> tuple[Draft, dict[str, tuple[str, str]]]:
    """Return the canonical columns and, for each time, its file column and what it counts from.

    Parameters
    ----------
    columns : Columns
        The table.
    mapping : mapping
        Canonical name -> column, or (column, {stored value: meaning}), or (column, factor), or
        for a time (column, what it counts from).

    Returns
    -------
    Draft
        Everything but the times.
    dict of str to (str, str)
        Event -> (column, reference); the reference is ``"auto"`` where the user did not say.
    """
    entries = _checked(mapping)
    draft = Draft.empty(columns.n_rows)
    values: dict[str, Floats] = {}
    for key, (column, recode) in entries.items():
        if key in TIMES:
            for name in (column, recode):
                if name not in (None, "session", "auto"):
                    columns.raw(name)
            continue
        columns.note(key, column)
        if key == "choice":
            draft.choice_raw = columns.raw(column)
            columns.note("choice_raw", column)
            draft.choice = _words(columns, key, column, recode)
        elif key == "stim_side":
            draft.stim_side = _words(columns, key, column, recode)
        elif key in _FLAG_KEYS:
            _set_flag(draft, key, _numbers(columns, key, column, recode, as_flags))
        else:
            values[key] = _numbers(columns, key, column, recode, as_numbers)
            _check_range(values[key], key, column)
    if "probability_left" in values:
        draft.probability_left = values.pop("probability_left")
    _place_contrasts(draft, values, side_given="stim_side" in entries, columns=columns)
    times = {key: entries[key] for key in TIMES if key in entries}
    return draft, {key: (column, reference or "auto") for key, (column, reference) in times.items()}


def _checked(mapping: object) -> dict[str, tuple[str, Any]]:
    if not isinstance(mapping, Mapping):
        raise TypeError(
            "mapping must be a dict such as dict(choice=('column', {1: 'left'}), reward='column'), "
            f"got {type(mapping).__name__}"
        )
    entries: dict[str, tuple[str, Any]] = {}
    for key, value in mapping.items():
        if key not in KEYS:
            raise ValueError(f"mapping has no entry {key!r}; the entries are {', '.join(KEYS)}")
        if value is not None:
            entries[key] = _entry(key, value)
    if "choice" not in entries:
        raise ValueError("mapping must name the column of the choice: choice=('column', {…})")
    given = [key for key in _CONTRAST_KEYS if key in entries]
    if given not in ([], ["stim_left", "stim_right"], ["contrast"], ["signed_contrast"]):
        raise ValueError(
            "mapping takes the contrasts as stim_left and stim_right, or as contrast with "
            f"stim_side, or as signed_contrast; got {', '.join(given)}"
        )
    if given == ["contrast"] and "stim_side" not in entries:
        raise ValueError("mapping['contrast'] needs stim_side too: the side it was shown on")
    return entries


def _entry(key: str, value: object) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, None
    if isinstance(value, Sequence) and len(value) == 2 and isinstance(value[0], str):
        column, recode = value
        if key in TIMES:
            if recode is None or isinstance(recode, str):
                return column, recode
            raise TypeError(
                f"mapping[{key!r}] must be 'column' or ('column', 'session' or another column that "
                f"its times count from), got {value!r:.80}"
            )
        if recode is None or (isinstance(recode, Mapping) and len(recode)):
            return column, recode
        is_number = isinstance(recode, numbers.Real) and not isinstance(recode, (bool, np.bool_))
        if is_number and key not in _WORD_KEYS and key not in _FLAG_KEYS:
            return column, float(recode)
    kinds = "'column' or ('column', {stored value: meaning})"
    if key in _CONTRAST_KEYS or key == "probability_left":
        kinds += " or ('column', factor)"
    raise TypeError(f"mapping[{key!r}] must be {kinds}, got {value!r:.80}")


def _words(columns: Columns, key: str, column: str, recode: Any) -> Words:
    allowed = _WORD_KEYS[key]
    if recode is None:
        stored = columns.words(column)
        table = {word: word for word in allowed} | {"": "none"}
    else:
        raw = columns.raw(column)
        stored = _as_keys(raw)
        table = {"": "none"} | _recoding(recode, raw, key)
        for value in table.values():
            if value not in allowed:
                raise ValueError(
                    f"mapping[{key!r}] must turn values into {', '.join(map(repr, allowed))}, "
                    f"got {value!r}"
                )
    unknown = sorted({str(v) for v in stored} - set(table))
    if unknown:
        raise ValueError(
            f"mapping[{key!r}] does not say what {', '.join(map(repr, unknown[:10]))} in column "
            f"{column!r} means; write ({column!r}, {{{unknown[0]!r}: {allowed[0]!r}, …}})"
        )
    out = np.empty(columns.n_rows, dtype=object)
    out[:] = [table[v] for v in stored]
    return out


def _numbers(
    columns: Columns,
    key: str,
    column: str,
    recode: Any,
    convert: Callable[[NDArray[Any], str], Floats],
) -> Floats:
    raw = columns.raw(column)
    if not isinstance(recode, Mapping):
        out = convert(raw, column)
        return out if recode is None else out * recode
    stored, table = _as_keys(raw), _recoding(recode, raw, key)
    unknown = sorted({str(v) for v in stored} - set(table) - {""})
    if unknown:
        raise ValueError(
            f"mapping[{key!r}] does not say what {', '.join(map(repr, unknown[:10]))} in column "
            f"{column!r} means"
        )
    recoded = np.empty(columns.n_rows, dtype=object)
    recoded[:] = [table.get(v) for v in stored]
    return convert(recoded, f"{column}' after mapping['{key}")


def _as_keys(raw: NDArray[Any]) -> Words:
    out = np.empty(len(raw), dtype=object)
    out[:] = [as_key(value) for value in raw]
    return out


def _recoding(recode: Mapping[Any, Any], raw: NDArray[Any], key: str) -> dict[str, Any]:
    """Return stored value, as text -> meaning; R can only send the values as text."""
    out: dict[str, Any] = {}
    for value, meaning in recode.items():
        name = as_key(value)
        if raw.dtype.kind == "b":
            name = name.lower()
        elif raw.dtype.kind in "iuf":
            with contextlib.suppress(ValueError):
                name = as_key(float(name))
        out[name] = meaning.strip().lower() if isinstance(meaning, str) else meaning
    return out


def _set_flag(draft: Draft, key: str, flags: Floats) -> None:
    if key == "reward":
        draft.reward = flags
    elif key == "correct":
        draft.correct = flags
    elif key == "include":
        draft.include = flags
    else:
        draft.photostim = flags


def _check_range(values: Floats, key: str, column: str) -> None:
    check_contrast(np.abs(values) if key == "signed_contrast" else values, column, 1.0)


def _place_contrasts(
    draft: Draft, values: dict[str, Floats], *, side_given: bool, columns: Columns
) -> None:
    if "contrast" in values:
        draft.stim_left, draft.stim_right = contrast_on_side(values["contrast"], draft.stim_side)
        used = (columns.sources.pop("contrast"), columns.sources["stim_side"])
        columns.note("stim_left", *used)
        columns.note("stim_right", *used)
    elif "signed_contrast" in values:
        signed = values["signed_contrast"]
        # adding 0.0 turns a negative zero into zero
        draft.stim_left = np.maximum(-signed, 0.0) + 0.0
        draft.stim_right = np.maximum(signed, 0.0) + 0.0
        source = columns.sources["signed_contrast"]
        columns.note("stim_left", source)
        columns.note("stim_right", source)
        if not side_given:
            draft.stim_side = larger_side(draft.stim_left, draft.stim_right)
            columns.note("stim_side", source)
    elif "stim_left" in values:
        left, right, side = one_sided(values["stim_left"], values["stim_right"])
        draft.stim_left, draft.stim_right = left, right
        if not side_given:
            draft.stim_side = side
            columns.note("stim_side", columns.sources["stim_left"], columns.sources["stim_right"])
