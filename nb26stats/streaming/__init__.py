"""Principal components of rows that arrive one after the other, with their uncertainty."""

from __future__ import annotations

from ._asymptotic import oja_asymptotic_covariance
from ._oja import OjaPCA

__all__ = ["OjaPCA", "oja_asymptotic_covariance"]
