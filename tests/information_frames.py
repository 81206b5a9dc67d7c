"""Results of a decomposition over time made by hand, with the columns of the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

TERMS = ("mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy")
START = np.arange(-10, 30) / 100
WIDTH = 0.01
NULL_MEAN, NULL_SD, THRESHOLD = 0.01, 0.02, 3.0
HEIGHT = {
    **{"mi_1": 0.7, "mi_2": 0.5, "mi_12": 1.0, "redundancy": 0.25},
    **{"unique_1": 0.4, "unique_2": 0.2, "synergy": 0.0},
}
BEGIN = {"mi_1": 5, "mi_2": 10, "mi_12": 5, "redundancy": 10, "unique_1": 5, "unique_2": 12}


def values(term: str) -> np.ndarray:
    """A step from the onset of the term to 0.2."""
    bins = np.arange(len(START)) - 10
    on = (bins >= BEGIN.get(term, 99)) & (bins < 20)
    return np.where(on, HEIGHT[term], 0.0)


def over_time(
    pairs: Sequence[str] = ("V1-IT",),
    targets: Sequence[str] = ("image",),
    untested: Sequence[str] = (),
    intervals: bool = False,
    base: float = 2,
) -> Any:
    rows, latencies = [], []
    for pair in pairs:
        for target in targets:
            for term in TERMS:
                value = values(term)
                tested = term not in untested
                z = (value - NULL_MEAN) / NULL_SD if tested else np.full(len(value), np.nan)
                marked = z > THRESHOLD
                for k, start in enumerate(START):
                    null = (NULL_MEAN, NULL_SD, z[k], 0.005 if marked[k] else 1.0)
                    rows.append(
                        (pair, target, term, start, value[k])
                        + (null if tested else (np.nan,) * 4)
                        + (bool(marked[k]),)
                    )
                onset = START[np.argmax(marked)] if marked.any() else np.nan
                offset = 0.2 if marked.any() else np.nan
                ends = (onset - 0.01, onset + 0.02) if intervals else (np.nan, np.nan)
                latencies.append((pair, target, term, onset, offset, *ends, value.max(), 0.1, 0.0))
    return SimpleNamespace(
        table=pd.DataFrame(
            rows,
            columns=[
                *("pair", "target", "atom", "time", "value"),
                *("null_mean", "null_sd", "z", "p_max", "significant"),
            ],
        ),
        latencies=pd.DataFrame(
            latencies,
            columns=[
                *("pair", "target", "atom", "onset", "offset", "ci_low", "ci_high"),
                *("peak", "peak_time", "no_onset_fraction"),
            ],
        ),
        base=base,
    )


def decomposition(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "redundancy": 0.1,
        "unique": np.array([0.4, 0.05]),
        "synergy": 0.2,
        "mi": np.array([0.5, 0.15, 0.75]),
        "base": 2.0,
        "lattice": None,
    }
    return SimpleNamespace(**{**fields, **changes})
