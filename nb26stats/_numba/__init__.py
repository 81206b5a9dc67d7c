"""Numba kernels: loops over ragged integer data, on plain arrays."""
