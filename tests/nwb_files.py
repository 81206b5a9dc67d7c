"""Builders of small NWB files for the tests: ``builder(path, ...)`` writes one and returns it.

``make(...)`` gives the ``NWBFile`` in memory, ``write(nwbfile, path)`` puts it on disk,
``trial_table``/``units_table`` make tables of any shape from arrays. The named builders below
imitate the layouts of published data sets with simulated values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hdmf.common import VectorIndex
from nwb_pieces import (
    START,
    add_electrodes,
    column,
    ends_of,
    make,
    poisson_trains,
    ragged,
    replace_dataset,
    trial_table,
    units_table,
    write,
)
from pynwb import TimeSeries
from pynwb.file import Subject
from pynwb.misc import Units

__all__ = [
    "HTML",
    "START",
    "add_electrodes",
    "aibs_change",
    "alm_like",
    "bad_index",
    "big_spikes",
    "big_trains",
    "column",
    "empty_file",
    "ends_of",
    "float32_spikes",
    "html_everywhere",
    "ibl_current",
    "ibl_interim",
    "ibl_legacy",
    "integer_spikes",
    "make",
    "nonfinite_spikes",
    "one_unit",
    "poisson_trains",
    "ragged",
    "replace_dataset",
    "simple",
    "steinmetz_like",
    "trial_table",
    "uint8_index",
    "units_table",
    "unsorted_spikes",
    "with_invalid_times",
    "with_obs_intervals",
    "with_reference_time",
    "without_trials",
    "without_units",
    "write",
]


# ---- layouts of published data sets ------------------------------------------------------------
def steinmetz_like(path: Path, n_trials: int = 60, n_units: int = 6, seed: int = 0) -> Path:
    """Two contrasts per trial, wheel choice in {-1, 0, 1}; (n, 1) columns, 50 electrodes a unit.

    Units of probe ``p0`` are in VISp, those of ``p1`` in MOs, by ``peak_channel`` and ``site_id``.
    """
    rng = np.random.default_rng(seed)
    nwb = make(identifier=f"steinmetz-{seed}")
    sites = 60
    table = add_electrodes(
        nwb,
        ["VISp"] * sites + ["MOs"] * sites,
        groups=["p0"] * sites + ["p1"] * sites,
        site_id=[*range(sites), *range(sites)],
    )
    start = np.arange(n_trials) * 4.0 + 1
    left = rng.choice([0.0, 0.25, 0.5, 1.0], n_trials)
    right = rng.choice([0.0, 0.25, 0.5, 1.0], n_trials)
    correct = np.where(left > right, 1, np.where(right > left, -1, 0))
    slip = rng.random(n_trials) < 0.15
    choice = np.where(slip, rng.choice([-1, 0, 1], n_trials), correct)
    rewarded = np.where(choice == correct, 1, -1)
    equal = (left == right) & (left > 0)
    rewarded[equal] = rng.choice([-1, 1], int(equal.sum()))
    nwb.trials = trial_table(
        {
            "start_time": start,
            "stop_time": start + 3.5,
            "included": rng.random(n_trials) < 0.9,
            "go_cue": start + 1.0,
            "visual_stimulus_time": start + 0.4,
            "visual_stimulus_left_contrast": left,
            "visual_stimulus_right_contrast": right,
            "response_time": start + 1.6,
            "response_choice": choice.astype(float),
            "feedback_time": start + 1.7,
            "feedback_type": rewarded.astype(float),
            "rep_num": np.ones(n_trials),
        }
    )
    probe = np.arange(n_units) % 2
    groups = [nwb.electrode_groups[f"p{p}"] for p in probe]
    nwb.units = units_table(
        poisson_trains(n_units, start[-1] + 5, seed=seed),
        {
            "peak_channel": rng.integers(0, sites, (n_units, 1)).astype(float),
            "phy_annotations": rng.integers(1, 4, (n_units, 1)).astype(float),
            "electrode_group": groups,
        },
        electrodes=[np.arange(50) + sites * p for p in probe],
        electrode_table=table,
        waveform_mean=rng.normal(size=(n_units, 20, 4)),
    )
    return write(nwb, path)


def _ibl(n_trials: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    start = np.arange(n_trials) * 5.0 + 2
    side = rng.choice(["left", "right"], n_trials)
    contrast = rng.choice([0.0, 0.0625, 0.125, 0.25, 1.0], n_trials)
    correct = rng.random(n_trials) < 0.8
    gone = rng.random(n_trials) < 0.05
    chosen = np.where(correct, side, np.where(side == "left", "right", "left"))
    return {
        "start_time": start,
        "stop_time": start + 4,
        "side": side,
        "contrast": contrast,
        "chosen": np.where(gone, "none", chosen),
        "reward": correct & ~gone,
        "probability_left": rng.choice([0.2, 0.5, 0.8], n_trials),
    }


def _ibl_times(start: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "gabor_stimulus_onset_time": start + 0.5,
        "auditory_cue_time": start + 0.51,
        "choice_registration_time": start + 1.2,
        "feedback_time": start + 1.25,
    }


def ibl_current(
    path: Path, n_trials: int = 80, seed: int = 0, words: Mapping[str, str] | None = None
) -> Path:
    """Contrast in percent and the side in words; the wheel turned (counter-)clockwise.

    ``words`` maps the reported side ('left', 'right', 'none') to what the file says.
    """
    words = words or {"left": "clockwise", "right": "counter_clockwise", "none": "no_go"}
    t = _ibl(n_trials, seed)
    nwb = make(identifier=f"ibl-{seed}")
    table = add_electrodes(
        nwb, ["VISp2/3", "VISp5", "CA1", "CA1"], beryl_location=["VISp", "VISp", "CA1", "CA1"]
    )
    nwb.trials = trial_table(
        {
            "start_time": t["start_time"],
            "stop_time": t["stop_time"],
            "gabor_stimulus_contrast": 100 * t["contrast"],
            "gabor_stimulus_side": t["side"].tolist(),
            "mouse_wheel_choice": [words[c] for c in t["chosen"]],
            "is_mouse_rewarded": t["reward"],
            "probability_left": t["probability_left"],
            **_ibl_times(t["start_time"]),
        }
    )
    nwb.units = units_table(
        poisson_trains(4, t["stop_time"][-1], seed=seed),
        {"ibl_quality_score": np.array([1.0, 0.66, 1.0, 0.33])},
        electrodes=[[0], [1], [2, 3], [3]],
        electrode_table=table,
    )
    return write(nwb, path)


def ibl_interim(path: Path, n_trials: int = 80, seed: int = 0) -> Path:
    """As ``ibl_current``, but the words name the direction of the wheel: 'left' is right."""
    swapped = {"left": "right", "right": "left", "none": "none"}
    return ibl_current(path, n_trials, seed, words=swapped)


def ibl_legacy(path: Path, n_trials: int = 80, seed: int = 0, camel: bool = False) -> Path:
    """One contrast is NaN; choice +1 reports left; ``camel`` uses the ALF spelling of names."""
    t = _ibl(n_trials, seed)
    names = ("contrast_left", "contrast_right", "feedback_type", "probability_left")
    if camel:
        names = ("contrastLeft", "contrastRight", "feedbackType", "probabilityLeft")
    on_left = t["side"] == "left"
    number = {"left": 1.0, "right": -1.0, "none": 0.0}
    nwb = make(identifier=f"ibl-legacy-{seed}")
    nwb.trials = trial_table(
        {
            "start_time": t["start_time"],
            "stop_time": t["stop_time"],
            names[0]: np.where(on_left, t["contrast"], np.nan),
            names[1]: np.where(on_left, np.nan, t["contrast"]),
            "choice": np.array([number[c] for c in t["chosen"]]),
            names[2]: np.where(t["reward"], 1.0, -1.0),
            names[3]: t["probability_left"],
        }
    )
    return write(nwb, path)


def aibs_change(path: Path, n_trials: int = 50, seed: int = 0, linked: bool = True) -> Path:
    """Change detection without sides; peak channels by id; ``linked`` trials point to series."""
    rng = np.random.default_rng(seed)
    nwb = make(identifier=f"aibs-{seed}")
    ids = [850, 851, 852, 853]
    table = add_electrodes(nwb, ["VISl", "VISp", "LGd", "APN"])
    table.id.data[:] = ids
    start = np.arange(n_trials) * 6.0
    aborted = rng.random(n_trials) < 0.2
    go = ~aborted & (rng.random(n_trials) < 0.8)
    catch = ~aborted & ~go
    lick = rng.random(n_trials) < 0.6
    auto = go & (np.arange(n_trials) < 3)
    nwb.trials = trial_table(
        {
            "start_time": start,
            "stop_time": start + 5,
            "go": go,
            "catch": catch,
            "hit": go & lick & ~auto,
            "miss": go & ~lick & ~auto,
            "false_alarm": catch & lick,
            "correct_reject": catch & ~lick,
            "aborted": aborted,
            "auto_rewarded": auto,
            "change_time": np.where(aborted, np.nan, start + 2.5),
            "response_time": np.where(lick & ~aborted, start + 2.9, np.nan),
        }
    )
    if linked:
        series = TimeSeries(
            name="running", data=np.zeros(100), unit="cm/s", rate=10.0, description="speed"
        )
        nwb.add_acquisition(series)
        epochs = nwb.create_time_intervals(name="presentations", description="stimuli")
        for i in range(4):
            epochs.add_interval(
                start_time=float(i), stop_time=i + 0.5, tags=["a", "b"][: i % 3], timeseries=series
            )
    nwb.units = units_table(
        poisson_trains(4, start[-1] + 5, seed=seed),
        {
            "peak_channel_id": np.array([853, 851, 850, 851]),
            "quality": ["good", "good", "noise", "good"],
            "snr": np.array([3.1, 1.2, 0.5, np.nan]),
        },
        ids=[950001, 950002, 950003, 950004],
        waveform_mean=np.ones((4, 8)),
    )
    return write(nwb, path)


def alm_like(
    path: Path, n_trials: int = 60, seed: int = 0, relative: bool = False, two_sides: bool = False
) -> Path:
    """Delayed response with lick left/right; ``relative`` cue times; ids count from 1.

    Locations are ``key: value`` text; ``two_sides`` puts units in both hemispheres.
    """
    rng = np.random.default_rng(seed)
    start = np.arange(n_trials) * 6.0 + 10
    response = rng.choice(["correct", "incorrect", "early lick", "no response"], n_trials,
                          p=[0.6, 0.2, 0.1, 0.1])  # fmt: skip
    cue = np.full(n_trials, 2.0) + rng.uniform(0, 0.3, n_trials)
    nwb = make(identifier=f"alm-{seed}")
    sides = ["left", "right" if two_sides else "left"]
    table = add_electrodes(
        nwb,
        [f"brain_region: ALM; brain_subregion: N/A; hemisphere: {h}" for h in sides],
    )
    nwb.trials = trial_table(
        {
            "start_time": start,
            "stop_time": start + 5,
            "type": rng.choice(["lick left", "lick right"], n_trials).tolist(),
            "response": response.tolist(),
            "stim_present": (rng.random(n_trials) < 0.2).astype(np.int32),
            "is_good": (rng.random(n_trials) < 0.95).astype(np.int32),
            "cue_start_time": cue if relative else start + cue,
        },
        ids=range(1, n_trials + 1),
    )
    nwb.units = units_table(
        poisson_trains(3, start[-1] + 6, seed=seed),
        {"cell_type": ["PT", "IT", "PT"]},
        electrodes=[[0], [1], [1]],
        electrode_table=table,
        ids=[1, 2, 3],
    )
    return write(nwb, path)


# ---- files with one peculiarity ----------------------------------------------------------------
def simple(
    path: Path,
    *,
    spikes: Sequence[Any] | None = ((0.5, 1.0, 1.5, 4.5), (0.1, 2.2, 3.3)),
    unit_columns: Mapping[str, Any] | None = None,
    trials: Mapping[str, Any] | None = None,
    with_trials: bool = True,
    obs_intervals: Sequence[Any] | None = None,
    invalid_times: Sequence[tuple[float, float]] = (),
    unit_ids: Any = None,
    trial_ids: Any = None,
    **header: Any,
) -> Path:
    """The plain file: trials every 2 s, two units in area "A"; change what the test needs.

    ``spikes=None`` leaves the units out, ``with_trials=False`` the trials.
    """
    nwb = make(**header)
    if with_trials:
        columns = trials if trials is not None else {"cue_time": np.array([0.5, 2.5, 4.5])}
        nwb.trials = trial_table(columns, ids=trial_ids)
    if spikes is not None:
        columns = (
            dict(unit_columns) if unit_columns is not None else {"location": ["A"] * len(spikes)}
        )
        nwb.units = units_table(spikes, columns, obs_intervals=obs_intervals, ids=unit_ids)
    for start, stop in invalid_times:
        nwb.add_invalid_time_interval(start_time=start, stop_time=stop)
    return write(nwb, path)


def one_unit(path: Path) -> Path:
    return simple(path, spikes=[np.arange(40) * 0.15])


def without_units(path: Path) -> Path:
    return simple(path, spikes=None)


def without_trials(path: Path) -> Path:
    return simple(path, with_trials=False, spikes=poisson_trains(3, 20.0))


def empty_file(path: Path) -> Path:
    """Neither trials nor units."""
    return simple(path, spikes=None, with_trials=False)


def with_obs_intervals(path: Path) -> Path:
    """Unit 0 observed for 0-3 s and 3-10 s, unit 1 for 2-4 s, unit 2 without a row."""
    return simple(
        path,
        spikes=[[0.5, 2.6, 4.6], [2.6, 3.1], [0.7, 4.9]],
        obs_intervals=[[(0, 3), (3, 10)], [(2, 4)], []],
    )


def with_invalid_times(path: Path) -> Path:
    return simple(path, invalid_times=[(2.4, 2.8)])


def with_reference_time(path: Path) -> Path:
    """``timestamps_reference_time`` one hour after ``session_start_time``."""
    return simple(path, timestamps_reference_time=START + timedelta(hours=1))


def float32_spikes(path: Path, offset: float = 2000.0) -> Path:
    """Spike times on a 1 ms grid after ``offset`` seconds, stored as float32."""
    times = [offset + np.arange(50) / 1000, offset + np.arange(30) / 1000 + 0.5]
    simple(path, spikes=times, trials={"start_time": offset + np.array([0.0, 0.2, 0.4])})
    replace_dataset(path, "units/spike_times", np.concatenate(times).astype(np.float32))
    return path


def integer_spikes(path: Path) -> Path:
    """Spike times stored as whole numbers (samples at 30 kHz)."""
    simple(path, spikes=[[0.0, 1.0, 2.0], [3.0]])
    replace_dataset(path, "units/spike_times", np.array([100, 30_000, 150_000, 140_000], np.int64))
    return path


def unsorted_spikes(path: Path) -> Path:
    """Unit 0 is descending, unit 1 ascending, unit 2 has no spike, unit 3 is shuffled."""
    return simple(path, spikes=[[3.0, 2.0, 1.0], [0.5, 0.6], [], [4.0, 1.0, 2.0]])


def nonfinite_spikes(path: Path) -> Path:
    """NaN and infinite times between finite ones; unit 1 has only those."""
    nan, inf = np.nan, np.inf
    return simple(path, spikes=[[0.5, nan, 1.5], [nan, inf], [-inf, 2.0, 3.0, nan]])


def uint8_index(path: Path) -> Path:
    """More units than spikes fit in uint8 differences: ends up to 200 stored as uint8."""
    simple(path, spikes=[np.linspace(0, 4, 150), [], np.linspace(1, 4, 50)])
    replace_dataset(path, "units/spike_times_index", np.array([150, 150, 200], np.uint8))
    with h5py.File(path, "r+") as file:
        file["units/spike_times_index"].attrs["target"] = file["units/spike_times"].ref
    return path


def bad_index(path: Path, ends: Sequence[int] = (3, 2)) -> Path:
    """A spike_times_index that contradicts the spike times."""
    simple(path, spikes=[[0.5, 1.0], [1.5]])
    replace_dataset(path, "units/spike_times_index", np.array(ends, np.uint8))
    with h5py.File(path, "r+") as file:
        file["units/spike_times_index"].attrs["target"] = file["units/spike_times"].ref
    return path


HTML = "<script>alert('x')</script><b>&amp;$a_1$"


def html_everywhere(path: Path) -> Path:
    """Markup (and ``$``) in every text the file holds: header, subject, names, values."""
    nwb = make(
        session_description=f"description {HTML}",
        identifier=f"identifier {HTML}",
        experimenter=[f"Experimenter, {HTML}"],
        experiment_description=f"experiment {HTML}",
        institution=f"institution {HTML}",
        keywords=[f"keyword {HTML}"],
        lab=f"lab {HTML}",
        notes=f"notes {HTML}",
        related_publications=[f"publication {HTML}"],
        session_id=f"session {HTML}",
        subject=Subject(
            subject_id=f"subject {HTML}",
            species=f"species {HTML}",
            description=f"subject description {HTML}",
            genotype=f"genotype {HTML}",
            strain=f"strain {HTML}",
            sex="U",
            age="P9D",
        ),
    )
    mark = "<i>name $x$"  # a name may not hold a slash
    nwb.add_acquisition(
        TimeSeries(
            name=mark.replace("/", ""),
            data=[0.0],
            unit=HTML,
            rate=1.0,
            description=f"series {HTML}",
        )
    )
    module = nwb.create_processing_module(
        name=mark.replace("/", "") + " module", description=f"module {HTML}"
    )
    module.add(TimeSeries(name="<u>inner", data=[0.0], unit="s", rate=1.0, description=HTML))
    n = 30
    start = np.arange(n) * 2.0
    name = "<b>column $y$"
    nwb.trials = trial_table(
        {
            "start_time": start,
            "stop_time": start + 1.5,
            name: [f"value {i % 2} {HTML}" for i in range(n)],
            "<i>time": start + 0.5,
        },
        **{name: f"column {HTML}"},
    )
    nwb.units = units_table(
        poisson_trains(4, 2.0 * n, seed=1),
        {"location": [f"area 1 {HTML}"] * 2 + [f"area 2 {HTML}"] * 2, "<b>unit column": [HTML] * 4},
    )
    return write(nwb, path)


# ---- the reference load ------------------------------------------------------------------------
def big_trains() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1085 units, 10,017,476 spikes in 3000 s: flat times, ends per unit, 214 event times."""
    rng = np.random.default_rng(1)
    rates = rng.lognormal(0, 1.2, 1085)
    counts = np.floor(rates / rates.sum() * 10_017_476).astype(np.int64)
    counts[0] += 10_017_476 - counts.sum()
    ends = np.cumsum(counts)
    times = np.empty(ends[-1])
    for end, n in zip(ends, counts, strict=True):
        part = times[end - n : end]
        part[:] = rng.uniform(0, 3000, n)
        part.sort()
    events = np.sort(rng.uniform(10, 2990, 214))
    return times, ends, events


def big_spikes(path: Path, n_areas: int = 10) -> Path:
    """The reference load as a file (80 MB of spikes, 43 MB of waveforms): about two seconds."""
    times, ends, events = big_trains()
    n = len(ends)
    nwb = make(identifier="big")
    values = column("spike_times", times)
    index = VectorIndex(name="spike_times_index", data=ends.astype(np.uint64), target=values)
    waveforms = np.random.default_rng(2).normal(size=(n, 82, 120)).astype(np.float32)
    nwb.units = Units(
        name="units",
        description="simulated units",
        columns=[
            column("location", [f"area{u % n_areas}" for u in range(n)]),
            values,
            index,
            column("waveform_mean", waveforms),
        ],
        colnames=["location", "spike_times", "waveform_mean"],
        id=list(range(n)),
    )
    nwb.trials = trial_table({"start_time": events, "stop_time": events + 1})
    return write(nwb, path)
