"""Principal components of rows that arrive one after the other, with their uncertainty."""

from __future__ import annotations

from ._asymptotic import AsymptoticCovariance, oja_asymptotic_covariance
from ._oja import OjaPCA
from ._regions import RowRegions
from ._subspace_test import SubspaceTest

__all__ = [
    "AsymptoticCovariance",
    "OjaPCA",
    "RowRegions",
    "SubspaceTest",
    "oja_asymptotic_covariance",
]
