"""Which treated rows an estimand averages over, and which controls stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_int, as_list

from ._rows import Rows

MIN_CONTROLS = 30
"""Controls of a subset below which all controls stand for its treated rows."""


def subset_rows(rows: Rows, trimmed: NDArray[np.bool_], subset: Any) -> NDArray[np.int64]:
    """Return positions in ``rows`` of the treated rows of a subset; trimmed ones do not count.

    Raises
    ------
    ValueError
        A mask of another length, a position that is not there, or no treated row.
    """
    usable = rows.treated & ~trimmed
    if subset is None:
        return np.flatnonzero(usable)
    which = np.flatnonzero(usable & _mask(subset, rows.n_given)[rows.kept])
    if not len(which):
        raise ValueError(
            f"subset holds none of the {int(usable.sum())} treated rows in use: estimands are "
            "averages over treated rows"
        )
    return which


def subset_controls(rows: Rows, excluded: NDArray[np.bool_], subset: Any) -> NDArray[np.int64]:
    """Return positions in ``rows`` of the controls that a subset holds, all if it holds few.

    A mask that covariates make holds the controls of the same region. One that knows treated rows
    alone, or was made by outcomes, tells no region.
    """
    usable = ~rows.treated & ~excluded
    if subset is not None:
        inside = np.flatnonzero(usable & _mask(subset, rows.n_given)[rows.kept])
        if len(inside) >= MIN_CONTROLS:
            return inside
    return np.flatnonzero(usable)


def _mask(subset: Any, n: int) -> NDArray[np.bool_]:
    values = as_list(subset, "subset")
    array = np.asarray(values)
    if array.dtype.kind == "b":
        if array.shape != (n,):
            raise ValueError(f"subset has shape {array.shape}; a mask must have the {n} rows of X")
        return array
    if array.dtype.kind in "iuf" and array.shape == (n,) and n > 2 and np.isin(array, (0, 1)).all():
        return np.asarray(array == 1)  # a mask, as treatments are written too
    out = np.zeros(n, bool)
    out[[as_int(v, "subset", minimum=0, maximum=n - 1) for v in values]] = True
    return out
