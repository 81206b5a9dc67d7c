"""An NWB file of a delayed response with light in some of its trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nwb_pieces import make, trial_table, units_table, write


def light_file(
    path: Path,
    n_trials: int = 400,
    seed: int = 0,
    *,
    share: float = 0.35,
    gain: float = 40.0,
    epoch: str = "delay",
    without: tuple[str, ...] = (),
    lost: bool = False,
) -> tuple[Path, np.ndarray]:
    """Write a file in which light adds spikes in about half of the trials that have it.

    Light falls in ``epoch``; ``gain`` is in spikes/s, ``without`` leaves columns out, and with
    ``lost`` the only unit falls silent halfway. Returned beside the path: the trials changed.
    """
    rng = np.random.default_rng(seed)
    start = 5.0 + 6.0 * np.arange(n_trials)
    light = rng.random(n_trials) < share
    light[:20] = False
    right = rng.random(n_trials) < 0.5
    wrong = rng.random(n_trials) < 0.3
    pole_in, pole_out, cue = start + 0.5, start + 1.5, start + 2.5
    columns: dict[str, Any] = {
        "start_time": start,
        "stop_time": start + 5,
        "type": np.where(right, "lick right", "lick left").tolist(),
        "response": np.where(wrong, "incorrect", "correct").tolist(),
        "stim_present": light.astype(np.int32),
        "is_good": (np.arange(n_trials) % 20 != 7).astype(np.int32),
        "photo_stim_period": np.where(light, epoch, "N/A").tolist(),
        "pole_in_time": pole_in,
        "pole_out_time": pole_out,
        "cue_start_time": cue,
    }
    nwb = make(identifier=f"light-{seed}")
    nwb.trials = trial_table({k: v for k, v in columns.items() if k not in without})
    end = start[-1] + 6
    spikes = [rng.uniform(0, end / 2 if lost else end, rng.poisson(10 * end))]
    changed = light & (rng.random(n_trials) < 0.5)
    begin = pole_in if epoch == "sample" else pole_out
    for t in begin[changed]:
        spikes.append(t + rng.uniform(0, 1, rng.poisson(gain)))
    nwb.units = units_table([np.sort(np.concatenate(spikes))], {"location": ["Thalamus"]})
    return write(nwb, path), changed
