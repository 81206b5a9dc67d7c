"""Components of binned spikes: how many, and how long the blocks of the bootstrap have to be."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nb26stats.streaming import OjaPCA

MAX_COMPONENTS = 3
N_BOOTSTRAP = 200
LEVEL = 0.95
FINEST = 0.1
MAX_ROWS = 20_000
MAX_VALUES = 2_000_000
FEWEST_BLOCKS = 50
N_HALVINGS = 3
GROWTH = 1.1
"""The block is the shortest whose bars no longer one widens by more than this factor."""
ALARM = 1.2
"""Growth of the longest block's bars that stands out from the noise of fifty blocks."""


@dataclass(frozen=True)
class Stretches:
    """Bins and stretches of one recording, in seconds and in rows."""

    bin_size: float
    seconds: int
    rows: int
    """Bins in one stretch."""

    @property
    def length(self) -> float:
        """Seconds of one stretch."""
        return self.rows * self.bin_size


@dataclass(frozen=True)
class ComponentFit:
    """Fitted components with their intervals, and how the intervals came about."""

    pca: OjaPCA
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    n_rows: int
    block: int
    pilot_size: int
    widths: pd.DataFrame
    needed: int
    """Block that the correlation of neighbouring bins asks for, in rows."""
    held: float
    """Part of the noise's variance that the block holds, going by that correlation."""

    @property
    def growth(self) -> float:
        """Factor by which the last doubling of the block widened the bars."""
        width = self.widths["half_width"].to_numpy()
        return float(width[-1] / width[-2]) if len(width) > 1 and width[-2] > 0 else 1.0

    @property
    def settled(self) -> bool:
        """Whether nothing speaks for longer blocks than the one used."""
        longest = self.widths["rows"].iloc[-1]
        return self.needed <= self.block and (self.block < longest or self.growth <= ALARM)

    @property
    def gain(self) -> float:
        """Factor by which the bars are wider than those of single bins."""
        width = self.widths.set_index("rows")["half_width"]
        return float(width[self.block] / width[1]) if width[1] > 0 else 1.0


def stretches_of(seconds: int, n_units: int) -> Stretches:
    """Choose the finest bins that leave a page's worth of work, and fifty stretches of them.

    How wide the bars are depends on the seconds in a block and hardly on the bins, so wider bins
    cost nothing but detail in time.
    """
    sizes = (digit * 10**power for power in range(6) for digit in (FINEST, 2 * FINEST, 5 * FINEST))
    size = next(
        s for s in sizes if seconds / s <= MAX_ROWS and seconds / s * max(n_units, 1) <= MAX_VALUES
    )
    longest = seconds // FEWEST_BLOCKS
    # halves of halves are whole seconds where there is room for that
    whole = longest - longest % 4 if longest >= 8 else longest
    rows = max(1, round(whole / size))
    fold = min(2**N_HALVINGS, 2 ** int(np.log2(rows)))
    # the window of the counts holds whole bins
    return Stretches(size, int(seconds // size * size) if size > 1 else seconds, rows - rows % fold)


def in_random_order(rows: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return whole stretches of ``length`` rows in random order, each as it was."""
    whole = rows[: len(rows) // length * length].reshape(-1, length, rows.shape[1])
    return np.random.default_rng(0).permutation(whole).reshape(-1, rows.shape[1])


def how_many(rows: NDArray[np.float64]) -> int:
    """Return the number of components after which the variance falls by the largest factor."""
    from nb26stats.streaming import OjaPCA

    d = rows.shape[1]
    probe = OjaPCA(n_components=min(MAX_COMPONENTS + 1, d), random_state=0).fit(rows)
    values = np.maximum(probe.explained_variance_, 1e-12 * probe.explained_variance_.max())
    return int(np.argmax(values[:-1] / values[1:])) + 1


def fit_components(rows: NDArray[np.float64], length: int, bin_size: float) -> ComponentFit:
    """Fit components to rows in random order of stretches of ``length`` rows.

    All fits share the pilot and the order, so they share the estimate and differ in their bars
    only. The block is the shortest that no longer one outdoes by more than a tenth.
    """
    import pandas as pd

    from nb26stats.streaming import OjaPCA
    from nb26stats.streaming._diagnostics import captured, recommended_block

    n, d = rows.shape
    k = how_many(rows)
    pilot = max(50, 10 * (k + 1), min(d, 200), n // 8)

    def fitted(block: int) -> tuple[OjaPCA, NDArray[np.float64], NDArray[np.float64]]:
        pca = OjaPCA(
            n_components=k,
            n_bootstrap=N_BOOTSTRAP,
            multiplier_block=block,
            pilot_size=pilot,
            random_state=0,
        ).fit(rows)
        with warnings.catch_warnings():
            # the bars of one block only are shown, and the doubts about these are asked for below
            warnings.simplefilter("ignore")
            lower, upper = pca.component_intervals(level=LEVEL)
        return pca, np.asarray(lower), np.asarray(upper)

    single = fitted(1)
    correlation = float(np.nanmax(np.abs(single[0].autocorrelation_), initial=0.0))
    needed = recommended_block(correlation, n)
    halves = [length // 2**j for j in range(N_HALVINGS + 1) if length % 2**j == 0]
    fits = {1: single, **{block: fitted(block) for block in halves if block > 1}}
    tried = sorted(fits)
    width = {b: float(np.median(fits[b][2] - fits[b][1])) / 2 for b in tried}
    block = next(
        b
        for b in tried
        if b == length
        or (b >= needed and max(width[c] for c in tried if c >= b) <= GROWTH * width[b])
    )
    pca, lower, upper = fits[block]
    pca.component_intervals(level=LEVEL)
    widths = pd.DataFrame(
        {
            "rows": tried,
            "block": [b * bin_size for b in tried],
            "n_blocks": [n // b for b in tried],
            "half_width": [width[b] for b in tried],
        }
    )
    held = captured(correlation, block)
    return ComponentFit(pca, lower, upper, n, block, pilot, widths, needed, held)
