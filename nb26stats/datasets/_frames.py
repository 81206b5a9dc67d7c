"""Arrays of trials, bins and units by area as one long table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._results import MAX_PLAIN

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def long_frame(
    areas: Mapping[str, NDArray[Any]], times: NDArray[np.float64], unit: str
) -> pd.DataFrame:
    """Return one row per area, trial, bin and unit, or raise ValueError where they are too many."""
    import pandas as pd

    n = sum(values.size for values in areas.values())
    if n > MAX_PLAIN:
        raise ValueError(
            f"to_frame would hold {n} rows, more than {MAX_PLAIN}; take some areas, trials or bins"
        )
    parts = []
    for area, values in areas.items():
        trial, time, number = (places.ravel() for places in np.indices(values.shape))
        parts.append(
            pd.DataFrame(
                {
                    "area": area,
                    "trial": trial,
                    "time": times[time],
                    unit: number,
                    "response": values.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
