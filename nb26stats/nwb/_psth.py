"""Mean firing rate around an event: per unit, and over the units of an area."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._results import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PSTH(Result):
    """Peri-event firing rate of the units of one area.

    Each unit's rate is the mean over its valid trials; ``mean`` is the mean of these over units.

    Attributes
    ----------
    area : str
        The area.
    time : ndarray of float64, shape (n_bins,)
        Left edges of the bins in seconds from the event.
    bin_size : float
        Width of a bin in seconds.
    rate : ndarray of float64, shape (n_bins, n_units)
        Mean rate of each unit in spikes/s; units without a valid trial are left out.
    mean, sem : ndarray of float64, shape (n_bins,)
        Mean over units and its standard error in spikes/s. The standard error is over units when
        there are two or more, else over the trials of the one unit; NaN when neither number
        reaches two.
    n_units, n_trials : int
        Units that enter, and trials that enter for at least one of them.
    sem_over : str
        ``"units"``, ``"trials"``, or ``"none"`` when there is no unit.
    unit_ids : ndarray, shape (n_units,)
        Ids of the units of ``rate``.
    n_trials_unit : ndarray of int64, shape (n_units,)
        Valid trials of each unit.
    n_units_left_out : int
        Units without a valid trial.
    align_to : str
        What time zero is.
    file_areas : tuple of str
        All areas of the file, so that figures give an area the same colour whatever they show.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> with datasets.load_nwb("A2929-200711_neurosuite.nwb") as session:
    ...     counts = session.spike_counts(table="sleep_ripples", window=(-0.1, 0.2), bin_size=0.01)
    >>> psth = counts.psth("ca1")
    >>> psth.to_frame().columns.tolist(), round(float(psth.mean.max()))
    (['time', 'mean', 'sem'], 12)
    """

    area: str
    time: NDArray[np.float64]
    bin_size: float
    rate: NDArray[np.float64]
    mean: NDArray[np.float64]
    sem: NDArray[np.float64]
    n_units: int
    n_trials: int
    sem_over: str
    unit_ids: NDArray[Any]
    n_trials_unit: NDArray[np.int64]
    n_units_left_out: int
    align_to: str
    file_areas: tuple[str, ...] = ()

    @property
    def bin_centers(self) -> NDArray[np.float64]:
        """Middle of each bin in seconds from the event."""
        return np.asarray(self.time + 0.5 * self.bin_size)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin.

        Returns
        -------
        pandas.DataFrame
            Columns ``time`` (left edge, s), ``mean`` and ``sem`` (spikes/s).
        """
        import pandas as pd

        frame = pd.DataFrame({"time": self.time, "mean": self.mean, "sem": self.sem})
        frame.attrs["nb26stats"] = {
            "area": self.area,
            "align_to": self.align_to,
            "n_units": self.n_units,
            "n_trials": self.n_trials,
            "sem_over": self.sem_over,
        }
        return frame

    def summary(self) -> str:
        """Return a short text: numbers of units and trials, and the peak of the mean rate.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        lines = [
            f"Firing rate of {self.area} around {self.align_to}",
            f"units {self.n_units}, trials {self.n_trials}, standard error over {self.sem_over}",
        ]
        if self.n_units_left_out:
            lines.append(f"units without a valid trial, left out: {self.n_units_left_out}")
        if self.n_units:
            k = int(np.argmax(self.mean))
            lines.append(
                f"mean {self.mean.mean():.3g} spikes/s, highest {self.mean[k]:.3g} spikes/s "
                f"in the bin from {self.time[k]:.4g} s"
            )
        return "\n".join(lines)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw mean and standard error against time.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_psth`.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_psth(self, ax=ax, **style)


@dataclass(frozen=True, eq=False, repr=False)
class PSTHGroups(Result, Mapping[Any, PSTH]):
    """Firing rates of one area, one ``PSTH`` per group of trials; reads like a dict.

    Attributes
    ----------
    area : str
        The area.
    by : str
        What the trials are grouped by.
    groups : dict
        Label of the group to its ``PSTH``, labels in ascending order.
    n_unlabelled : int
        Trials whose label is missing; they are in no group.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> with datasets.load_nwb("A2929-200711_neurosuite.nwb") as session:
    ...     counts = session.spike_counts(table="sleep_ripples", window=(-0.1, 0.2), bin_size=0.01)
    >>> halves = ["early"] * (counts.n_trials // 2) + ["late"] * -(-counts.n_trials // 2)
    >>> groups = counts.psth("ca1", by=halves)
    >>> list(groups)
    ['early', 'late']
    """

    area: str
    by: str
    groups: dict[Any, PSTH]
    n_unlabelled: int = 0

    def __getitem__(self, label: Any) -> PSTH:
        return self.groups[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group and bin.

        Returns
        -------
        pandas.DataFrame
            The label in a column named ``by``, then ``time`` (s), ``mean`` and ``sem`` (spikes/s).
        """
        import pandas as pd

        name = "group" if self.by in ("time", "mean", "sem") else self.by
        frames = []
        for label, psth in self.groups.items():
            frame = psth.to_frame()
            frame.insert(0, name, label)
            frame.attrs = {}
            frames.append(frame)
        if not frames:
            return pd.DataFrame(columns=[name, "time", "mean", "sem"])
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> str:
        """Return one line per group.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        lines = [f"Firing rate of {self.area}, trials grouped by {self.by}"]
        for label, psth in self.groups.items():
            rate = f"mean {psth.mean.mean():.3g} spikes/s" if psth.n_units else "no unit"
            lines.append(f"{label}: {psth.n_trials} trials, {psth.n_units} units, {rate}")
        if self.n_unlabelled:
            lines.append(f"{self.n_unlabelled} trials without a label are in no group")
        return "\n".join(lines)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the groups in one panel.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_psth`.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from nb26stats import plotting

        return plotting.plot_psth(self, ax=ax, **style)


def make_psth(
    counts: NDArray[Any],
    valid: NDArray[np.bool_],
    unit_ids: NDArray[Any],
    time: NDArray[np.float64],
    *,
    bin_size: float,
    scale: float,
    area: str,
    align_to: str,
    file_areas: tuple[str, ...] = (),
    trials: NDArray[np.int64] | None = None,
) -> PSTH:
    """Average ``scale`` times ``counts`` (trials, bins, units) over valid trials and units."""
    rows = np.arange(counts.shape[0]) if trials is None else trials
    total = np.zeros(counts.shape[1:], np.float64)
    n = np.zeros(counts.shape[2], np.int64)
    used = np.zeros(counts.shape[0], bool)
    # one trial at a time: a masked copy of all counts could be as large as the counts themselves
    for row in rows:
        here, ok = _trial(counts, valid, row)
        total += here
        n += ok
        used[row] = bool(ok.any())
    kept = np.flatnonzero(n)
    rate = total[:, kept] * scale / n[kept]
    n_units, n_trials = int(kept.size), int(used.sum())
    n_bins = counts.shape[1]
    mean = rate.mean(axis=1) if n_units else np.full(n_bins, np.nan)
    sem = np.full(n_bins, np.nan)
    if n_units >= 2:
        sem = rate.std(axis=1, ddof=1) / np.sqrt(n_units)
    elif n_units == 1 and n_trials >= 2:
        squares = np.zeros(n_bins)
        for row in np.flatnonzero(used):
            here, _ = _trial(counts, valid, row)
            squares += (here[:, kept[0]] * scale - rate[:, 0]) ** 2
        sem = np.sqrt(squares / (n_trials - 1) / n_trials)
    return PSTH(
        area=area,
        time=time,
        bin_size=bin_size,
        rate=rate,
        mean=mean,
        sem=sem,
        n_units=n_units,
        n_trials=n_trials,
        sem_over="units" if n_units >= 2 else "trials" if n_units else "none",
        unit_ids=unit_ids[kept],
        n_trials_unit=n[kept],
        n_units_left_out=int(counts.shape[2] - n_units),
        align_to=align_to,
        file_areas=file_areas,
    )


def _trial(
    counts: NDArray[Any], valid: NDArray[np.bool_], row: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """One trial's counts with zeros where a unit is not valid, and which units are valid."""
    here = counts[row].astype(np.float64)
    ok = valid[row] & ~np.isnan(here).any(axis=0)
    here[:, ~ok] = 0.0
    return here, ok
