"""Trials with light as treated rows: which trials, which units, what was known before, the fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._context import MAX_COUNTS_BYTES, MissingPartError
from ._parts import cut, plural

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from nb26stats.causal import EstimandInterval, NonparametricC2G
    from nb26stats.nwb import SpikeCounts

    from ._context import Context

    F64 = NDArray[np.float64]

MIN_ARM = 30
"""Fewer rows in an arm than this are refused by the estimator."""
Q = 0.1
FINE, COARSE = 0.01, 0.05
"""Seconds of a bin: as fine as the window that fades asks for, unless memory forbids."""
ENDS = 10
"""A unit lasts if it fires in one of so many first windows, and of so many last ones."""
PLACEBOS = 5
EPOCHS = {"sample": ("pole_in_time", "pole_out_time"), "delay": ("pole_out_time", "cue_start_time")}
"""When light is on, as the files of the convention call it, and where that begins and ends."""


@dataclass(frozen=True)
class LightTrials:
    """Trials that can be compared.

    Attributes
    ----------
    rows : list of int
        Positions in the trial table.
    epoch : str
        What light falls in, "sample" or "delay".
    told : bool
        Whether the file says so.
    width : float
        Seconds that the epoch lasts.
    """

    rows: list[int]
    epoch: str
    told: bool
    width: float


@dataclass(frozen=True)
class LightFit:
    """The fitted model and what went into it."""

    model: NonparametricC2G
    outcome: F64
    light: NDArray[np.bool_]
    trials: NDArray[Any]
    units: list[Any]
    n_units: int
    effect: EstimandInterval
    placebos: pd.DataFrame


def light_trials(trials: pd.DataFrame, behavior: pd.DataFrame) -> LightTrials:
    """Return the trials from the first with light on, or raise why there are none."""
    performed = behavior["include"].fillna(False).to_numpy(dtype=bool)
    light = behavior["photostim"].fillna(False).to_numpy(dtype=bool)
    if not light.any():
        raise MissingPartError("No trial is marked as having light.")
    epoch, told = _epoch(trials, light)
    begin, end = (trials[c].to_numpy(dtype=float) for c in EPOCHS[epoch])
    width = round(float(np.nanmedian(end - begin)), 1)
    if not width > 0:
        raise MissingPartError(f"The {epoch} ends before it begins, so no window can be counted.")
    from_then_on = np.arange(len(light)) >= int(np.argmax(performed & light))
    rows = np.flatnonzero(performed & from_then_on & np.isfinite(begin))
    n_light = int(light[rows].sum())
    if min(n_light, len(rows) - n_light) < MIN_ARM:
        raise MissingPartError(
            f"Which trials light changed needs {MIN_ARM} trials or more with light, and as many "
            f"without from the first of them on; here are {n_light} and {len(rows) - n_light}."
        )
    return LightTrials([int(r) for r in rows], epoch, told, width)


def _epoch(trials: pd.DataFrame, light: NDArray[np.bool_]) -> tuple[str, bool]:
    there = [name for name, pair in EPOCHS.items() if set(pair) <= set(trials.columns)]
    if not there:
        raise MissingPartError(
            "When the light was on cannot be told: the table has no times of sample and delay."
        )
    if "photo_stim_period" in trials.columns:
        words = trials.loc[light, "photo_stim_period"].astype(str).str.casefold()
        for name in there:
            if words.str.contains(name, regex=False).mean() > 0.5:
                return name, True
    return there[-1], False


def count_arguments(context: Context, chosen: LightTrials) -> dict[str, Any]:
    """Return the arguments of ``spike_counts`` for the epoch and as long a time before it."""
    arguments: dict[str, Any] = {"align_to": EPOCHS[chosen.epoch][0]}
    arguments["window"] = (-chosen.width, chosen.width)
    size = 8.0 * len(chosen.rows) * len(context.units) * chosen.width / FINE
    arguments["bin_size"] = FINE if size <= MAX_COUNTS_BYTES else COARSE
    arguments["trials"] = chosen.rows
    if context.table_name != "trials":
        arguments["table"] = context.table_name
    for name in ("areas", "quality"):
        value = getattr(context.options, name)
        if value is not None:
            arguments[name] = list(value) if isinstance(value, tuple) else value
    return arguments


def lasting(counts: SpikeCounts) -> tuple[NDArray[np.int64], list[Any], int]:
    """Return spikes (trials, bins) of the units that fire from first to last, and which these are.

    The loss of a unit halfway would look like an effect of whatever began then.
    """
    total: NDArray[np.int64] | None = None
    kept: list[Any] = []
    n_units = 0
    for area, spikes in counts.counts.items():
        fires = np.asarray(spikes).sum(axis=1) > 0
        lasts = fires[:ENDS].any(axis=0) & fires[-ENDS:].any(axis=0)
        lasts &= counts.valid[area].all(axis=0)
        part = np.asarray(spikes)[:, :, lasts].sum(axis=2, dtype=np.int64)
        total = part if total is None else total + part
        kept += np.asarray(counts.unit_ids[area])[lasts].tolist()
        n_units += len(lasts)
    if total is None or not kept:
        raise MissingPartError(
            f"None of {plural(n_units, 'unit')} fires both in the first and in the last trials "
            "compared, so a change would say nothing about light."
        )
    return total, kept, n_units


def root_rate(spikes: Any, time: F64, start: float, stop: float) -> F64:
    """Return the square root of the rate between start and stop, under a window that fades."""
    inside = (time > start) & (time < stop)
    weight = np.where(inside, np.sin(np.pi * (time - start) / (stop - start)) ** 2, 0)
    out: F64 = np.sqrt(spikes @ weight / (weight.sum() * (time[1] - time[0])))
    return out


def known_before(spikes: Any, time: F64, width: float, rows: pd.DataFrame) -> pd.DataFrame:
    """Return what was there before the light: covariates, a row per trial."""
    import pandas as pd

    delay = root_rate(spikes, time, 0, width)
    return pd.DataFrame(
        {
            "before": root_rate(spikes, time, -width, 0),
            "previous": np.roll(delay, 1),
            "right": rows["stim_side"].eq("right").fillna(False).to_numpy(bool),
            "previous correct": (rows["reward"].shift() == 1).to_numpy(),
            "number": np.arange(len(rows)),
        }
    ).astype(float)


def fit_light(counts: SpikeCounts, rows: pd.DataFrame, chosen: LightTrials) -> LightFit:
    """Name the trials whose activity light changed, and ask what could have been seen."""
    from nb26stats.causal import NonparametricC2G

    spikes, units, n_units = lasting(counts)
    time = counts.bin_centers
    light = rows["photostim"].fillna(False).to_numpy(dtype=bool)
    outcome = root_rate(spikes, time, 0, chosen.width)
    before = known_before(spikes, time, chosen.width, rows)
    model = NonparametricC2G(q=Q, random_state=0).fit(before, outcome, treatment=light)
    return LightFit(
        model=model,
        outcome=outcome,
        light=light,
        trials=np.asarray(counts.trial_id),
        units=units,
        n_units=n_units,
        effect=model.estimand_interval("att"),
        placebos=_placebos(spikes, time, before, light, chosen.width),
    )


def _placebos(
    spikes: NDArray[np.int64],
    time: F64,
    before: pd.DataFrame,
    light: NDArray[np.bool_],
    width: float,
) -> pd.DataFrame:
    """Call dark trials lit at random, change half of those, and count who is named."""
    import pandas as pd

    from nb26stats.causal import NonparametricC2G

    dark, during = np.flatnonzero(~light), np.flatnonzero(time > 0)
    n = min(int(light.sum()), len(dark) - MIN_ARM, len(dark) // 2)
    if n < MIN_ARM:
        return pd.DataFrame()
    plain = spikes[dark].astype(float)
    mean = plain[:, during].mean()
    changes = {
        "nothing": (1.0, 0.0),
        "all spikes gone": (0.0, 0.0),
        "five times as many": (1.0, 4.0),
    }
    table = []
    for word, (keep, more) in changes.items():
        named, right, changed = [], [], []
        for seed in range(PLACEBOS):
            draw = np.random.default_rng(seed)
            called = np.isin(np.arange(len(dark)), draw.choice(len(dark), n, replace=False))
            hit = called & (draw.random(len(dark)) < 0.5)
            fake = plain.copy()
            at = np.ix_(hit, during)
            fake[at] = keep * fake[at] + draw.poisson(more * mean, fake[at].shape)
            model = NonparametricC2G(q=Q, randomized=True, random_state=0)
            with warnings.catch_warnings(action="ignore"):  # said of the trials with light already
                model.fit(before.iloc[dark], root_rate(fake, time, 0, width), treatment=called)
            picked = model.select()
            named.append(len(picked))
            right.append(int(hit[picked].sum()))
            changed.append(int(hit.sum()))
        table.append(
            (word, np.mean(changed) if word != "nothing" else 0.0, np.mean(named), np.mean(right))
        )
    columns = ["changed in the delay", "trials changed", "named", "rightly"]
    return pd.DataFrame(table, columns=columns).round(1)


def in_words(units: list[Any], n_units: int) -> str:
    """Return the units compared as a phrase."""
    if len(units) == 1:
        return f"unit {cut(units[0], 20)}, of {plural(n_units, 'unit')}"
    shown = ", ".join(cut(u, 20) for u in units[:6]) + (" …" if len(units) > 6 else "")
    return f"{len(units)} of {n_units} units ({shown})"
