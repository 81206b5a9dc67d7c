"""CUDA kernels; called by the package only. Imports without a driver."""

def device_count() -> int:
    """Number of usable CUDA devices."""

def device_reason() -> str:
    """Why there is no usable device; empty when there is one."""
