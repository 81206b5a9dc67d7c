"""Two simulated areas with a known answer: each tells its own part, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nb26stats._check import as_int
from nb26stats._results import Result
from nb26stats._seed import as_seed

from ._frames import long_frame

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

FEATURES = 4
GAIN = 0.35
RISE = 0.030
"""Seconds in which a gain goes from 0 to 1, and back."""
ONSET = {"V1": 0.040, "IT": 0.090}
V1_END = 0.140


@dataclass(frozen=True, eq=False, repr=False)
class TwoAreas(Result):
    """Simulated responses of two areas; what :func:`simulate_two_areas` returns.

    Attributes
    ----------
    areas : dict of str to ndarray of shape (trials, bins, units)
        Responses of ``"V1"`` and ``"IT"``.
    target : ndarray of shape (trials, 4)
        What the areas respond to. V1 reads the features 0 to 2, IT reads feature 3.
    times : ndarray of shape (bins,)
        Starts of the bins in seconds from the stimulus.
    onset : dict of str to float
        When the responses of each area begin to depend on the target (s).

    Examples
    --------
    >>> from nb26stats import datasets
    >>> datasets.simulate_two_areas(n_trials=20).summary()
    'two simulated areas: 20 trials, 60 bins of 5 ms, 8 units each; onsets V1 40 ms, IT 90 ms'
    >>> datasets.simulate_two_areas(n_trials=20).to_frame().columns.tolist()
    ['area', 'trial', 'time', 'unit', 'response']
    """

    areas: dict[str, NDArray[np.float64]]
    target: NDArray[np.float64]
    times: NDArray[np.float64]
    onset: dict[str, float]

    def summary(self) -> str:
        """Return sizes and onsets.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        trials, bins, units = next(iter(self.areas.values())).shape
        onsets = ", ".join(f"{name} {1000 * t:g} ms" for name, t in self.onset.items())
        return (
            f"two simulated areas: {trials} trials, {bins} bins of 5 ms, {units} units each; "
            f"onsets {onsets}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per area, trial, bin and unit.

        Returns
        -------
        pandas.DataFrame
            Columns ``area``, ``trial``, ``time`` (start of the bin, s), ``unit`` and ``response``;
            trials and units are counted from 0.

        Raises
        ------
        ValueError
            If it would have more than 5 million rows.
        """
        return long_frame(self.areas, self.times, "unit")


def simulate_two_areas(
    n_trials: int = 2000, n_units: int = 8, *, random_state: object = 0
) -> TwoAreas:
    """Simulate two areas that tell different features of a target, with different latencies.

    From 40 ms on, "V1" follows the features 0 to 2 of the target; its gain rises and falls within
    30 ms and ends at 170 ms. From 90 ms on, "IT" follows feature 3, and goes on. Every unit has
    independent noise of unit variance. By construction all information is unique: there is no
    redundancy, since no feature is in both areas, and no synergy, since the noises are independent.
    A measure that reports either of them here is wrong about it.

    Parameters
    ----------
    n_trials : int, default=2000
        Number of trials.
    n_units : int, default=8
        Units in each area.
    random_state : int, Generator, RandomState or None, default=0
        Seed; a whole number ``s`` stands for ``numpy.random.default_rng(s)``.

    Returns
    -------
    TwoAreas
        Responses in 60 bins of 5 ms from -50 ms on, the target, and the onsets.

    Raises
    ------
    ValueError
        If a number is below 1.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> simulated = datasets.simulate_two_areas(n_trials=50, random_state=1)
    >>> simulated.areas["IT"].shape, simulated.target.shape
    ((50, 60, 8), (50, 4))
    >>> simulated.onset
    {'V1': 0.04, 'IT': 0.09}
    """
    n_trials = as_int(n_trials, "n_trials", minimum=1)
    n_units = as_int(n_units, "n_units", minimum=1)
    rng = np.random.default_rng(as_seed(random_state))
    milliseconds = np.arange(-50, 250, 5)
    times = milliseconds / 1000
    target = rng.standard_normal((n_trials, FEATURES))
    of_v1 = np.zeros((n_units, FEATURES))
    of_v1[:, :3] = GAIN * rng.standard_normal((n_units, 3))
    of_it = np.zeros((n_units, FEATURES))
    of_it[:, 3] = GAIN * rng.standard_normal(n_units)
    v1_gain = np.clip((times - ONSET["V1"]) / RISE, 0, 1) * np.clip(
        1 - (times - V1_END) / RISE, 0, 1
    )
    it_gain = np.clip((times - ONSET["IT"]) / RISE, 0, 1)
    shape = (n_trials, len(times), n_units)
    areas = {
        name: (target @ weights.T)[:, None] * gain[:, None] + rng.standard_normal(shape)
        for name, weights, gain in (("V1", of_v1, v1_gain), ("IT", of_it, it_gain))
    }
    return TwoAreas(areas, target, times, dict(ONSET))
