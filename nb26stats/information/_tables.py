"""From columns of symbols to codes and tables, and the checks of a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_numbers, as_table, refuse_r_na, unmasked
from nb26stats._numba.counting import count_pairs, presence
from nb26stats._warnings import warn

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

LARGEST_ALPHABET = 2000
LARGEST_TABLE = 2**24
SUM_TOLERANCE = 1e-6
SAMPLES_PER_CELL = 4


class Codes(NamedTuple):
    """Symbols of one variable as numbers from 0, all of which occur."""

    codes: I64
    n_symbols: int


def compress(codes: I64) -> Codes:
    """Return codes renumbered in their order, without those that do not occur."""
    low, high = int(codes.min()), int(codes.max())
    if high - low <= 4 * codes.size + 1024:
        number = np.zeros(high - low + 1, dtype=np.int64)
        n = int(presence(codes, low, number))
        return Codes(number[codes - low], n)
    values, inverse = np.unique(codes, return_inverse=True)
    return Codes(inverse.astype(np.int64).ravel(), len(values))


def as_codes(data: object, name: str, *, constant: bool = False) -> Codes:
    """Return one code per row of ``data``; the columns of a matrix are coded jointly.

    Parameters
    ----------
    data : array-like, pandas.Series or pandas.DataFrame of shape (n,) or (n, d)
        Whole numbers (also as floats), booleans, strings or categories.
    name : str
        What to call it in a message.
    constant : bool, default=False
        Whether a single symbol will do.

    Raises
    ------
    ValueError
        For missing or infinite values, no rows, more than two dimensions, or one symbol only.
    TypeError
        For numbers with fractions or values that have no order.
    """
    named = [(label, *_one(column, name, label)) for label, column in _columns(data, name)]
    varying = [(codes, n) for _, codes, n in named if n > 1]
    if not varying and constant:
        return Codes(*named[0][1:])
    if not varying:
        raise ValueError(f"{name} is constant, so it has no information to give or to explain")
    if len(varying) < len(named):
        same = [label for label, _, n in named if n == 1]
        listed = ", ".join(same[:5]) + (", …" if len(same) > 5 else "")
        warn(f"{name}: {len(same)} of {len(named)} columns are constant and left out: {listed}")
    out = Codes(*varying[0])
    for codes, n in varying[1:]:
        out = compress(out.codes * n + codes)
    return out


def _columns(data: object, name: str) -> list[tuple[str, Any]]:
    import pandas as pd

    data = as_table(data, name)
    found: list[tuple[str, Any]]
    if isinstance(data, pd.DataFrame):
        found = [(f"column {c!r}", data.iloc[:, i]) for i, c in enumerate(data.columns)]
    elif isinstance(data, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        found = [("", pd.Series(data))]
    else:
        try:
            values = np.asarray(unmasked(data))
        except ValueError as err:
            raise ValueError(f"{name} must have rows of one length, got ragged ones") from err
        if values.ndim not in (1, 2):
            raise ValueError(f"{name} must have shape (n,) or (n, d), got {values.shape}")
        if values.ndim == 1:
            found = [("", values)]
        else:
            found = [(f"column {j}", values[:, j]) for j in range(values.shape[1])]
    if not found or not len(found[0][1]):
        raise ValueError(f"{name} is empty")
    return found


def _one(column: Any, name: str, label: str) -> Codes:
    """Return the codes of one column."""
    import pandas as pd

    where = f", {label}" if label else ""
    missing = np.asarray(pd.isna(column))
    if missing.any():
        raise ValueError(f"{name} holds a missing value (NaN) at trial {missing.argmax()}{where}")
    if isinstance(column, pd.Series):
        if isinstance(column.dtype, pd.CategoricalDtype):
            _tell_na(np.asarray(column == "NA", dtype=bool), name, where)
            return compress(np.asarray(column.cat.codes, dtype=np.int64))
        column = column.to_numpy()
    values: NDArray[Any] = column
    if values.dtype.kind == "O":
        values = _plain(values, name, where)
    if values.dtype.kind == "f":
        return _whole(values, name, where)
    if values.dtype.kind in "biu":
        refuse_r_na(values, f"{name}{where}", "leave out such trials")
        if values.dtype != np.uint64:
            return compress(values.astype(np.int64))
    elif values.dtype.kind not in "US":
        raise TypeError(
            f"{name}{where} must hold whole numbers, booleans, strings or categories, "
            f"got {values.dtype.name}"
        )
    elif values.dtype.kind == "U":
        _tell_na(values == "NA", name, where)
    found, inverse = np.unique(values, return_inverse=True)
    return Codes(inverse.astype(np.int64).ravel(), len(found))


def _tell_na(missing: NDArray[np.bool_], name: str, where: str) -> None:
    # R's missing strings come over as this text, which a word of the data might be too
    if missing.any():
        warn(
            f"{name} holds the text 'NA' at trial {missing.argmax()}{where}, which counts as a "
            "symbol; if it is R's missing value, leave these trials out"
        )


def _plain(values: NDArray[Any], name: str, where: str) -> NDArray[Any]:
    """Return an array of objects as one of numbers or of text, whichever all of them are."""
    kinds = {type(v) for v in values}
    if all(issubclass(k, str) for k in kinds):
        return values.astype(str)
    if all(issubclass(k, (bool, np.bool_)) for k in kinds):
        return values.astype(bool)
    if all(
        issubclass(k, (int, float, np.integer, np.floating)) and not issubclass(k, bool)
        for k in kinds
    ):
        return np.array(values.tolist())
    listed = ", ".join(sorted(k.__name__ for k in kinds))
    raise TypeError(
        f"{name}{where} must hold whole numbers, booleans, strings or categories, got {listed}"
    )


def _whole(values: NDArray[Any], name: str, where: str) -> Codes:
    endless = np.isinf(values)
    if endless.any():
        raise ValueError(f"{name} holds an infinite value at trial {endless.argmax()}{where}")
    broken = values != np.floor(values)
    if broken.any():
        i = int(broken.argmax())
        raise TypeError(
            f"{name} holds {values[i]:g} at trial {i}{where}: numbers with fractions must be "
            "binned first, for example with discretize(x, n_bins)"
        )
    if float(np.abs(values).max()) < 2**53:  # half precision has no such number
        return compress(values.astype(np.int64))
    found, inverse = np.unique(values, return_inverse=True)
    return Codes(inverse.astype(np.int64).ravel(), len(found))


def same_length(named: Sequence[tuple[str, Codes]]) -> int:
    """Return the number of rows that all variables share."""
    first, n = named[0][0], named[0][1].codes.size
    for name, coded in named[1:]:
        if coded.codes.size != n:
            raise ValueError(f"{first} has {n} trials, but {name} has {coded.codes.size}")
    return n


def joint_codes(parts: Sequence[Codes]) -> I64:
    """Return the position of each row in the flattened table of ``parts``."""
    flat = parts[0].codes
    for part in parts[1:]:
        flat = flat * part.n_symbols + part.codes
    return flat


def count_table(parts: Sequence[Codes]) -> I64:
    """Return how often each combination occurs, one axis per variable."""
    shape = tuple(part.n_symbols for part in parts)
    out = np.zeros((math.prod(shape[:-1]), shape[-1]), dtype=np.int64)
    count_pairs(joint_codes(parts[:-1]), parts[-1].codes, out)
    return out.reshape(shape)


def check_alphabet(shape: Sequence[int]) -> None:
    """Refuse tables that no sample could fill and no solver should be given."""
    *sources, n_target = shape
    if len(sources) == 2 and n_target * min(sources) > LARGEST_ALPHABET:
        raise ValueError(
            f"the target has {n_target} symbols and the smaller source {min(sources)}; their "
            f"product must be at most {LARGEST_ALPHABET}: use fewer bins"
        )
    check_cells(shape)


def check_cells(shape: Sequence[int]) -> None:
    """Refuse a table that would not fit."""
    cells = math.prod(shape)
    if cells > LARGEST_TABLE:
        raise ValueError(
            f"the joint table of shape {tuple(shape)} has {cells} cells, more than "
            f"{LARGEST_TABLE}: use fewer bins"
        )


def warn_if_sparse(n: int, shape: Sequence[int]) -> None:
    """Warn when samples are few for the cells of their table."""
    cells = math.prod(shape)
    if n < SAMPLES_PER_CELL * cells:
        warn(
            f"too few samples per cell: {n} samples for {cells} cells, where at least "
            f"{SAMPLES_PER_CELL * cells} are wanted; use fewer bins, or bias='qe' and a null"
        )


def as_pmf(pmf: object, name: str, ndim: Sequence[int], *, batch: bool = False) -> F64:
    """Return a distribution (or a batch along the first axis) that sums to one.

    Raises
    ------
    ValueError
        For a wrong number of axes, values that are negative or not finite, or a sum that is off 1
        by more than 1e-6.
    TypeError
        For anything but real numbers.
    """
    out: F64 = np.ascontiguousarray(as_numbers(pmf, name), dtype=np.float64)
    if out.ndim not in ndim or 0 in out.shape[batch:]:
        axes = " or ".join(str(n) for n in ndim)
        raise ValueError(
            f"{name} must have {axes} axes"
            + (", problems first" if batch else "")
            + f", the sources before the target, got shape {out.shape}"
        )
    for bad, what in ((~np.isfinite(out), "a value that is not finite"), (out < 0, "")):
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"{name} holds {what or f'the negative value {out[at]:g}'} at {at}")
    axes_of_one = tuple(range(int(batch), out.ndim))
    total = out.sum(axis=axes_of_one, keepdims=True)
    off = np.abs(total - 1.0).ravel()
    if (off > SUM_TOLERANCE).any():
        i = int(off.argmax())
        which = f" of problem {i}" if batch else ""
        raise ValueError(
            f"{name} must sum to 1, but the sum{which} is {total.ravel()[i]:.9g}; divide by it"
        )
    out = out / total
    return out
