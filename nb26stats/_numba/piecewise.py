"""Piecewise cubics on equal intervals, value and slope in one look, straight lines outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._jit import kernel


@kernel
def evaluate_cubic(
    x: NDArray[np.float64],
    start: float,
    step: float,
    coefficients: NDArray[np.float64],
    ends: NDArray[np.float64],
    value: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> None:
    """Fill ``value`` and ``slope`` at ``x``.

    Row j of ``coefficients`` is the cubic of interval j, highest power first, in the distance from
    its left end; ``ends`` are value and slope at the left end, then at the right.
    """
    intervals = coefficients.shape[0]
    stop = start + step * intervals
    for i in range(x.size):
        if x[i] < start:
            value[i] = ends[0] + (x[i] - start) * ends[1]
            slope[i] = ends[1]
        elif x[i] > stop:
            value[i] = ends[2] + (x[i] - stop) * ends[3]
            slope[i] = ends[3]
        elif x[i] == x[i]:
            j = min(int((x[i] - start) / step), intervals - 1)
            t = x[i] - (start + j * step)
            a, b, c, d = (
                coefficients[j, 0],
                coefficients[j, 1],
                coefficients[j, 2],
                coefficients[j, 3],
            )
            value[i] = ((a * t + b) * t + c) * t + d
            slope[i] = (3.0 * a * t + 2.0 * b) * t + c
        else:
            value[i] = np.nan
            slope[i] = np.nan
