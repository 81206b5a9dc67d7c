"""CUDA kernels; called by the package only. Imports without a driver."""

from typing import Any

def device_count() -> int:
    """Number of usable CUDA devices."""

def device_reason() -> str:
    """Why there is no usable device; empty when there is one."""

def oja_fits(sizes: tuple[Any, ...]) -> bool:
    """Whether replicates of these sizes stay in the device's shared memory."""

def oja_replicates(
    sizes: tuple[Any, ...],
    weights: tuple[Any, ...],
    slots: tuple[Any, ...],
    blocks: int,
    replicates: object,
    first: int,
) -> None:
    """Apply the blocks in the first slots to the replicates."""
