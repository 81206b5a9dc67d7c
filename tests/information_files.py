"""An NWB file of two areas that follow the cue and the choice of a delayed response."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from nwb_pieces import make, trial_table, units_table, write

AREAS = ("VISp", "MOs")
N_UNITS = {"VISp": 5, "MOs": 4, "CA1": 1}
# seconds after the cue in which the units of an area follow it
FOLLOW = {"VISp": (0.0, 0.5), "MOs": (0.3, 0.9)}


def two_areas(
    path: Path,
    n_trials: int = 240,
    seed: int = 0,
    *,
    gain: float = 1.0,
    errors: float = 0.3,
    third: bool = False,
    silent: bool = False,
    where: dict[str, str] | None = None,
) -> Path:
    """VISp follows the cue, MOs the choice, which is wrong in a part of the trials.

    ``gain=0`` makes them follow nothing; ``third`` adds an area of one unit, ``silent`` a unit
    of MOs that fires outside the trials only; ``where`` renames areas.
    """
    rng = np.random.default_rng(seed)
    start = 5.0 + 4.0 * np.arange(n_trials)
    cue = start + 1.0
    right = rng.random(n_trials) < 0.5
    wrong = rng.random(n_trials) < errors
    chosen = right ^ wrong
    nwb = make(identifier=f"two-areas-{seed}")
    nwb.trials = trial_table(
        {
            "start_time": start,
            "stop_time": start + 3.5,
            "type": np.where(right, "lick right", "lick left").tolist(),
            "response": np.where(wrong, "incorrect", "correct").tolist(),
            "stim_present": np.zeros(n_trials, np.int32),
            "is_good": (np.arange(n_trials) % 20 != 7).astype(np.int32),
            "cue_start_time": cue,
        }
    )
    areas = [*AREAS, *(["CA1"] if third else [])]
    trains, places = [], []
    end = start[-1] + 5
    for area in areas:
        follows = {"VISp": right, "MOs": chosen}.get(area, np.zeros(n_trials, bool))
        first, last = FOLLOW.get(area, (0.0, 1.0))
        for k in range(N_UNITS[area]):
            spikes = [rng.uniform(0, end, rng.poisson(8 * end))]
            # every second unit prefers the other side
            likes = follows if k % 2 else ~follows
            for t in cue[likes]:
                n = rng.poisson(gain * 12 * (last - first))
                spikes.append(t + rng.uniform(first, last, n))
            trains.append(np.sort(np.concatenate(spikes)))
            places.append((where or {}).get(area, area))
    if silent:
        trains.append(np.array([0.5, 1.0, end - 0.5]))
        places.append((where or {}).get("MOs", "MOs"))
    nwb.units = units_table(trains, {"location": places})
    return write(nwb, path)
