"""Two areas and the trials' cue and choice: which areas, which trials, and the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._context import MissingPartError
from ._options import WINDOW
from ._parts import cut, listing, plural

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nb26stats.information import TimeResolvedPID
    from nb26stats.nwb import SpikeCounts

    from ._context import Context

BIN = 0.1
"""Seconds: counts in narrower bins are mostly zero, and their information is lost in noise."""
MIN_TRIALS = 100
MIN_EACH = 10
PER_DIMENSION = 10
"""Trials for each dimension of the areas and the target together."""
MAX_DIMENSIONS = 10
N_PERMUTATIONS = 499
ALPHA = 0.01
NAMELESS = ("unknown", "mixed")
WORDS = {"stim_side": "cue", "choice": "choice"}
SIDES = ("left", "right")


@dataclass(frozen=True)
class InformationFit:
    """The fitted decomposition and what went into it."""

    pid: TimeResolvedPID
    areas: tuple[str, str]
    n_units: tuple[int, int]
    columns: tuple[str, ...]
    """Columns of the behaviour table that are the target."""
    dimensions: int
    n_trials: int

    @property
    def about(self) -> str:
        """The target in words."""
        return about(self.columns)


def about(columns: tuple[str, ...]) -> str:
    """Return columns of the behaviour table in words."""
    return " and ".join(WORDS[column] for column in columns)


def named(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the areas that have a name and units, those with most units first."""
    kept = {a: int(n) for a, n in sizes.items() if n and a.casefold() not in NAMELESS}
    return dict(sorted(kept.items(), key=lambda pair: -pair[1]))


def two_or_why_not(sizes: Mapping[str, int]) -> tuple[str, str]:
    """Return the two areas with most units, or raise the sentence that says why there are none."""
    found = named(sizes)
    if len(found) < 2:
        held = " and ".join(f"{cut(a, 60)} with {plural(n, 'unit')}" for a, n in found.items())
        raise MissingPartError(
            "What two areas tell about a trial, together and alone, needs units in two named "
            f"areas; here {f'is one ({held})' if held else 'is none'}."
        )
    first, second = list(found)[:2]
    return first, second


def no_trials_for(sizes: Mapping[str, int]) -> str:
    """Return the sentence for two areas without trials."""
    found = named(sizes)
    held = listing([f"{a} with {plural(n, 'unit')}" for a, n in found.items()], 4)
    return (
        f"Here are {len(found)} areas ({held}), but no trials whose cue or choice they could tell "
        "about. A signal that runs through the session, such as a position, can be the target "
        "instead: nb26stats.information.GaussianPID takes it."
    )


def bin_of(context: Context) -> float:
    """Return the width of the bins: as asked for, else wide ones where they fit the window."""
    if context.options.bin_size is not None:
        return float(context.options.bin_size)
    start, stop = context.options.window or WINDOW
    whole = abs((stop - start) / BIN - round((stop - start) / BIN)) < 1e-6
    return BIN if whole and stop - start > 3 * BIN else float(context.counts.bin_size)


def usable(rows: pd.DataFrame) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return which trials count and which columns are the target, or raise why there is none."""
    clean = rows["include"].fillna(False) & ~rows["photostim"].fillna(False)
    keep = clean.to_numpy(dtype=bool) & rows["choice"].isin(SIDES).to_numpy()
    cued = keep & rows["stim_side"].isin(SIDES).to_numpy()
    # a cue that the animal always follows is the choice
    both = cued & (rows["stim_side"].astype(object) != rows["choice"].astype(object)).to_numpy()
    columns: tuple[str, ...] = ("choice",)
    if both.sum() >= MIN_EACH and cued.sum() >= MIN_TRIALS:
        keep, columns = cued, ("stim_side", "choice")
    if keep.sum() < MIN_TRIALS:
        raise MissingPartError(
            f"What two areas tell about the choice needs {MIN_TRIALS} trials or more with a choice "
            f"of a side, without light and not excluded; here are {int(keep.sum())}."
        )
    fewest = min(int((rows[c][keep] == side).sum()) for c in columns for side in SIDES)
    if fewest < MIN_EACH:
        raise MissingPartError(
            f"What two areas tell about the {about(columns)} needs {MIN_EACH} trials or more of "
            f"each side; here are {fewest} of one."
        )
    return keep, columns


def dimensions_of(n_trials: int, n_features: int) -> int:
    """Return the number of components of each area for which there are trials enough."""
    return max(1, min(MAX_DIMENSIONS, (n_trials // PER_DIMENSION - n_features) // 2))


def fit_information(
    counts: SpikeCounts, rows: pd.DataFrame, areas: tuple[str, str]
) -> InformationFit:
    """Decompose what two areas tell about cue and choice in each bin."""
    from nb26stats.information import TimeResolvedPID

    keep, columns = usable(rows)
    given: dict[str, Any] = {}
    for area in areas:
        seen = counts.valid[area][keep].all(axis=0)
        if not seen.any():
            raise MissingPartError(
                f"No unit of {cut(area, 60)} was observed in all trials with a choice."
            )
        given[area] = np.sqrt(counts.counts[area][keep][:, :, seen])
    target = np.column_stack([rows[c][keep] == "right" for c in columns]).astype(float)
    size = dimensions_of(len(target), len(columns))
    pid = TimeResolvedPID(
        area_pca=size, n_permutations=N_PERMUTATIONS, alpha=ALPHA, random_state=0
    ).fit(given, {f"the {about(columns)}": target}, counts.time)
    n_units = (given[areas[0]].shape[2], given[areas[1]].shape[2])
    return InformationFit(pid, areas, n_units, columns, size, len(target))
