"""Methods that need a deep-learning engine: ``pip install "nb26stats[deep]"``."""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as err:
    raise ImportError(
        'nb26stats.deep needs torch, which is not installed: pip install "nb26stats[deep]"'
    ) from err

from ._semiparametric import DeepSemiparametricC2G

__all__ = ["DeepSemiparametricC2G"]
