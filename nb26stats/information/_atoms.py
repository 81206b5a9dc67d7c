"""The equations that turn four informations into four atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]

ATOMS = ("redundancy", "unique_1", "unique_2", "synergy")
INFORMATION = ("mi_1", "mi_2", "mi_12")


class Atoms(NamedTuple):
    """The four atoms, each with the leading shape of the informations they come from."""

    redundancy: F64
    unique_1: F64
    unique_2: F64
    synergy: F64


def atoms(information: ArrayLike) -> Atoms:
    """Return the atoms of columns ``I_X, I_Y, I_XY, I_U``.

    The informations are the sums ``I_X = R + U_X``, ``I_Y = R + U_Y`` and
    ``I_XY = R + U_X + U_Y + S`` (Williams & Beer 2010); the union ``I_U = R + U_X + U_Y`` is the
    fourth equation that makes them solvable.

    Parameters
    ----------
    information : array-like of shape (..., 4)
        Informations about the target of source 1, source 2, both, and their union.

    Returns
    -------
    Atoms
        Redundancy, unique of source 1, unique of source 2, synergy, each of shape (...).
    """
    i_x, i_y, i_xy, i_u = np.moveaxis(np.asarray(information, dtype=np.float64), -1, 0)
    return Atoms(i_x + i_y - i_u, i_u - i_y, i_u - i_x, i_xy - i_u)
