"""What a time-resolved decomposition is given: areas, targets, times and pairs, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import (
    R_NA_INTEGER,
    as_list,
    as_numbers,
    as_table,
    as_text,
    as_vector,
    refuse_r_na,
    unmasked,
)
from nb26stats._warnings import warn

from ._samples import UNITS, beyond_squares, never_varies

F64 = NDArray[np.float64]
FEW_CLASSES = 2


@dataclass(frozen=True)
class Pair:
    """Two sources, each one area or a block of areas."""

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name in tables: ``V1-IT``, or ``(V1,V4)-IT`` for a block."""
        return f"{_label(self.first)}-{_label(self.second)}"

    @property
    def areas(self) -> tuple[str, ...]:
        """All areas, those of the first source first."""
        return self.first + self.second


def _label(areas: tuple[str, ...]) -> str:
    return areas[0] if len(areas) == 1 else f"({','.join(areas)})"


def read_times(times: object) -> F64:
    """Return the starts of the bins, which must increase."""
    out = as_vector(times, "times")
    if out.size == 0:
        raise ValueError("times must name at least one bin")
    if not np.isfinite(out).all():
        raise ValueError(
            f"times must be finite, got {out[~np.isfinite(out)][0]} at "
            f"position {int(np.argmin(np.isfinite(out)))}"
        )
    if np.any(np.diff(out) <= 0):
        at = int(np.argmax(np.diff(out) <= 0)) + 1
        raise ValueError(
            f"times must increase, but times[{at}]={out[at]:g} follows {out[at - 1]:g}"
        )
    return out


def read_areas(X_by_area: object, n_bins: int) -> dict[str, NDArray[Any]]:
    """Return arrays (trials, bins, units) by name; constant units are left out with a warning.

    The arrays are views of the caller's wherever no unit is left out.
    """
    if not isinstance(X_by_area, Mapping):
        has_them = isinstance(getattr(X_by_area, "counts", None), Mapping)
        raise TypeError(
            "X_by_area must map the names of areas to arrays (trials, bins, units), got "
            f"{type(X_by_area).__name__}{'; its .counts are such arrays' if has_them else ''}"
        )
    if not X_by_area:
        raise ValueError("X_by_area holds no area")
    out: dict[str, NDArray[Any]] = {}
    for name, given in X_by_area.items():
        name = as_text(name, "the name of an area")
        data = as_numbers(given, f"area {name!r}")
        if data.ndim == 2:
            data = data[:, :, None]
        if data.ndim != 3 or data.shape[2] == 0:
            raise ValueError(
                f"area {name!r} must have the shape (trials, bins, units), got {data.shape}"
            )
        if data.shape[1] != n_bins:
            raise ValueError(
                f"area {name!r} has {data.shape[1]} bins but times has {n_bins} entries"
            )
        for other, before in out.items():
            if len(before) != len(data):
                raise ValueError(
                    f"areas differ in trials: {other!r} has {len(before)}, {name!r} has {len(data)}"
                )
        out[name] = _varying(data, name)
    return out


def _varying(data: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the units that are not constant over all bins; NaN and infinities raise."""
    low = np.full(data.shape[2], np.inf)
    high = np.full(data.shape[2], -np.inf)
    for b in range(data.shape[1]):
        rows = data[:, b]
        if rows.dtype.kind == "f" and not np.isfinite(rows).all():
            trial, unit = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
            raise ValueError(
                f"area {name!r} holds {rows[trial, unit]} at trial {trial}, bin {b}, unit {unit} "
                "(counted from 0); leave out such trials or units first"
            )
        if len(rows):
            low = np.minimum(low, rows.min(axis=0))
            high = np.maximum(high, rows.max(axis=0))
    _refuse_na(data, f"area {name!r}", float(low.min()))
    keep = ~never_varies(low, high, data.dtype)
    extreme = beyond_squares(low, high) & keep
    if extreme.any():
        raise ValueError(f"area {name!r}, unit {int(extreme.argmax())}: {UNITS}")
    if keep.all():
        return data
    if not keep.any():
        raise ValueError(f"every unit of area {name!r} is constant, so it carries no information")
    where = ", ".join(str(int(u)) for u in np.flatnonzero(~keep)[:5])
    warn(
        f"area {name!r}: {int(np.sum(~keep))} of {keep.size} units are constant and left out "
        f"(units {where}{', …' if np.sum(~keep) > 5 else ''}, counted from 0)"
    )
    return data[:, :, keep]


def _refuse_na(data: NDArray[Any], what: str, lowest: float) -> None:
    if lowest == R_NA_INTEGER:
        refuse_r_na(data, what, "leave out such trials")


def read_targets(target: object, n_trials: int) -> dict[str, NDArray[Any]]:
    """Return targets (trials, features) by name, of any kind of entry."""
    given = target if isinstance(target, Mapping) else {"target": target}
    if not given:
        raise ValueError("target holds no array")
    out: dict[str, NDArray[Any]] = {}
    for name, values in given.items():
        name = as_text(name, "the name of a target")
        what = "target" if not isinstance(target, Mapping) else f"target {name!r}"
        values = as_table(unmasked(values), what)
        try:
            data = np.asarray(values)
        except ValueError as err:
            raise ValueError(f"{what} must have rows of one length, got ragged ones") from err
        if data.dtype.kind not in "biufOUS":
            raise TypeError(f"{what} must hold numbers or labels, got {data.dtype.name}")
        if data.ndim == 1:
            data = data[:, None]
        if data.ndim != 2 or data.shape[1] == 0:
            raise ValueError(f"{what} must have the shape (trials, features), got {data.shape}")
        if len(data) != n_trials:
            raise ValueError(f"{what} has {len(data)} trials but the areas have {n_trials}")
        if data.dtype.kind == "f" and not np.isfinite(data).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(data))[0])
            raise ValueError(
                f"{what} holds {data[row, column]} at trial {row}, feature {column} "
                "(counted from 0); leave out such trials first"
            )
        if data.dtype.kind == "i" and data.size:
            _refuse_na(data, what, float(data.min()))
        out[name] = data
    return out


def real_target(data: NDArray[Any], name: str) -> F64:
    """Return a target as float64 without constant features."""
    if data.dtype.kind not in "biuf":
        raise TypeError(
            f"target {name!r} holds labels, and GaussianPID needs numbers; code the classes as 0/1 "
            "columns, one fewer than there are classes, or use DiscretePID"
        )
    out = data.astype(np.float64, order="C")
    low, high = out.min(axis=0), out.max(axis=0)
    keep = ~never_varies(low, high, data.dtype)
    extreme = beyond_squares(low, high) & keep
    if extreme.any():
        raise ValueError(f"target {name!r}, feature {int(extreme.argmax())}: {UNITS}")
    if not keep.any():
        raise ValueError(f"every feature of target {name!r} is constant")
    if not keep.all():
        warn(
            f"target {name!r}: {int(np.sum(~keep))} of {keep.size} features are constant and left "
            "out"
        )
        out = out[:, keep]
    return out


def classes_of(data: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the class of every trial if the target is discrete, otherwise None.

    Discrete are labels, booleans and whole numbers (also as floats, which R sends) with two or more
    trials per class on average.
    """
    if data.dtype.kind == "f" and not (data == np.round(data)).all():
        return None
    _, codes = np.unique(
        data.astype(str) if data.dtype.kind == "O" else data, axis=0, return_inverse=True
    )
    codes = codes.reshape(-1).astype(np.int64)
    return codes if (codes.max() + 1) * FEW_CLASSES <= len(codes) else None


def read_pairs(pairs: object, areas: Iterable[str]) -> list[Pair]:
    """Return the pairs asked for, or the default ones of two or three areas."""
    names = list(areas)
    if pairs is None:
        return _default_pairs(names)
    listed = as_list(pairs, "pairs")
    if len(listed) == 2 and all(isinstance(p, str) for p in listed):
        listed = [listed]  # one pair, as R sends a list of length one
    out: list[Pair] = []
    for entry in listed:
        if isinstance(entry, (str, bytes)) or not isinstance(entry, Iterable):
            raise TypeError(f"an entry of pairs must be (area, area), got {entry!r}")
        sides = list(entry)
        if len(sides) != 2:
            raise ValueError(f"an entry of pairs must name two sources, got {entry!r}")
        pair = Pair(*(_side(side, names) for side in sides))
        twice = {a for a in pair.areas if pair.areas.count(a) > 1}
        if twice:
            raise ValueError(f"pair {pair.label} names area {sorted(twice)[0]!r} twice")
        if pair.label in [p.label for p in out]:
            raise ValueError(f"pairs lists {pair.label} twice")
        out.append(pair)
    if not out:
        raise ValueError("pairs is empty; leave it out for the default pairs")
    return out


def _side(side: object, names: list[str]) -> tuple[str, ...]:
    areas = tuple(as_text(a, "an area in pairs") for a in as_list(side, "a source in pairs"))
    if not areas:
        raise ValueError("a block in pairs names no area")
    for area in areas:
        if area not in names:
            raise ValueError(f"pairs names area {area!r}, but X_by_area has {', '.join(names)}")
    return areas


def _default_pairs(names: list[str]) -> list[Pair]:
    if len(names) == 2:
        return [Pair((names[0],), (names[1],))]
    if len(names) == 3:
        a, b, c = names
        return [Pair((a,), (c,)), Pair((b,), (c,)), Pair((a,), (b,)), Pair((a, b), (c,))]
    raise ValueError(
        f"there are default pairs for two or three areas; with {len(names)} give pairs, "
        "a list such as [('V1', 'IT'), (('V1', 'V4'), 'IT')]"
    )
