"""Spike counts around events, as (trials, time bins, units) arrays per area."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats import _check
from nb26stats._results import MAX_PLAIN, Result, to_r

from ._psth import PSTH, PSTHGroups, make_psth
from ._select import select_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SpikeCounts(Result):
    """Spike counts of each area around events; what :func:`spike_counts` returns.

    Attributes
    ----------
    counts : dict of str to ndarray, each (n_trials, n_bins, n_units of the area)
        Spikes in each bin (spikes/s with ``rate=True``), C-contiguous.
    areas : list of str
        The keys of ``counts``, in order.
    time : ndarray of float64, shape (n_bins,)
        Left edges of the bins in seconds from the event; bins are half-open, ``[left, right)``.
    bin_centers : ndarray of float64, shape (n_bins,)
        Middles of the bins in seconds from the event.
    trial_index : ndarray of int64, shape (n_trials,)
        Row positions (0-based) of the kept events in the trial table or array of times.
    trial_id : ndarray, shape (n_trials,)
        NWB ids of these rows.
    event_times : ndarray of float64, shape (n_trials,)
        Time zero of each row in seconds on the clock of the session.
    unit_ids : dict of str to ndarray
        NWB ids of the units of each area, in the order of the last axis.
    valid : dict of str to ndarray of bool, each (n_trials, n_units of the area)
        False where the file says that the unit was not observed over the whole window.
    info : dict
        Where the numbers come from: file, alignment, window, tolerance, what was left out.
    unit_index : dict of str to ndarray of int64
        Row positions (0-based) of the units in the units table.
    unit_area : dict of str to ndarray of str
        Area of each unit as the file has it; differs from the key when areas were grouped.
    bin_size : float
        Width of a bin in seconds.
    rate : bool
        Whether ``counts`` holds rates in spikes/s.
    trials : pandas.DataFrame or None
        The kept rows of the trial table without ragged columns; None for an array of times.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> counts = nbn.spike_counts(
    ...     datasets.path("A2929-200711_neurosuite.nwb"),
    ...     table="sleep_ripples",
    ...     window=(-0.1, 0.2),
    ...     bin_size=0.1,
    ... )
    >>> {area: array.shape for area, array in counts.counts.items()}
    {'adn': (594, 3, 7), 'ca1': (594, 3, 8)}
    >>> counts.to_array().shape, counts.sel(time=(0, 0.2)).n_bins
    ((594, 3, 15), 2)
    >>> counts.concat("all").areas
    ['all']
    """

    counts: dict[str, NDArray[Any]]
    areas: list[str]
    time: NDArray[np.float64]
    bin_centers: NDArray[np.float64]
    trial_index: NDArray[np.int64]
    trial_id: NDArray[Any]
    event_times: NDArray[np.float64]
    unit_ids: dict[str, NDArray[Any]]
    valid: dict[str, NDArray[np.bool_]]
    info: dict[str, Any]
    unit_index: dict[str, NDArray[np.int64]]
    unit_area: dict[str, NDArray[np.object_]]
    bin_size: float
    rate: bool
    trials: pd.DataFrame | None = None

    @property
    def n_trials(self) -> int:
        """Number of events."""
        return int(self.event_times.size)

    @property
    def n_bins(self) -> int:
        """Number of time bins."""
        return int(self.time.size)

    @property
    def n_units(self) -> int:
        """Number of units over all areas."""
        return sum(c.shape[2] for c in self.counts.values())

    def to_array(self, area: str | None = None) -> NDArray[Any]:
        """Return the counts of one area, or of all units in the order of the file.

        Parameters
        ----------
        area : str, optional
            An area (case does not matter where it is unambiguous); None for all units.

        Returns
        -------
        ndarray, shape (n_trials, n_bins, n_units)
            The array of the area itself, or a new one for ``area=None``.

        Raises
        ------
        ValueError
            If there is no such area.
        """
        if area is not None:
            return self.counts[self._area(area)]
        out = np.empty((self.n_trials, self.n_bins, self.n_units), self._dtype())
        place = np.empty(self.n_units, np.int64)
        place[self._file_order()] = np.arange(self.n_units)
        start = 0
        for name in self.areas:
            stop = start + self.counts[name].shape[2]
            out[:, :, place[start:stop]] = self.counts[name]
            start = stop
        return out

    def concat(self, name: str = "all") -> SpikeCounts:
        """Return the same counts with all areas in one, units in the order of the file.

        Parameters
        ----------
        name : str, default="all"
            What to call the single area; ``unit_area[name]`` tells the units' own areas.

        Returns
        -------
        SpikeCounts
            With ``areas == [name]``.
        """
        name = _check.as_text(name, "name")
        order = self._file_order()
        valid = [self.valid[a] for a in self.areas]
        none = np.empty((self.n_trials, 0), bool)
        return dataclasses.replace(
            self,
            counts={name: self.to_array()},
            areas=[name],
            unit_ids={name: self._joined(self.unit_ids, np.int64)[order]},
            valid={name: np.concatenate([none, *valid], axis=1)[:, order]},
            unit_index={name: self._joined(self.unit_index, np.int64)[order]},
            unit_area={name: self._joined(self.unit_area, np.object_)[order]},
        )

    def psth(self, area: str, by: str | Sequence[Any] | None = None) -> PSTH | PSTHGroups:
        """Return the mean firing rate around the event.

        Parameters
        ----------
        area : str
            The area.
        by : str or sequence, optional
            A column of ``trials``, or one label per kept trial: one curve per distinct label.

        Returns
        -------
        PSTH or PSTHGroups
            Each unit's mean rate over its valid trials, and mean and standard error over units.

        Raises
        ------
        ValueError
            If there is no such area or column, or the labels do not match the trials.

        Examples
        --------
        >>> import nb26stats.nwb as nbn
        >>> from nb26stats import datasets
        >>> counts = nbn.spike_counts(
        ...     datasets.path("A2929-200711_neurosuite.nwb"),
        ...     table="sleep_ripples",
        ...     window=(-0.1, 0.2),
        ...     bin_size=0.01,
        ... )
        >>> psth = counts.psth("ca1")
        >>> psth.rate.shape, psth.n_units, psth.n_trials, psth.sem_over
        ((30, 8), 8, 594, 'units')
        >>> long = (counts.trials["stop_time"] - counts.trials["start_time"]) > 0.1
        >>> sorted(counts.psth("ca1", by=long))
        [False, True]
        """
        area = self._area(area)
        options: dict[str, Any] = {
            "bin_size": self.bin_size,
            "scale": 1.0 if self.rate else 1.0 / self.bin_size,
            "area": area,
            "align_to": str(self.info.get("align_to", "event")),
            "file_areas": tuple(self.info.get("file_areas", self.areas)),
        }
        data = (self.counts[area], self.valid[area], self.unit_ids[area], self.time)
        if by is None:
            return make_psth(*data, **options)
        name, labels = self._labels(by)
        import pandas as pd

        try:
            codes, found = pd.factorize(labels, sort=True)
        except TypeError as err:
            raise TypeError(f"by must hold one plain label per trial: {err}") from None
        keys = found.tolist() if hasattr(found, "tolist") else list(found)
        groups = {
            key: make_psth(*data, trials=np.flatnonzero(codes == i), **options)
            for i, key in enumerate(keys)
        }
        return PSTHGroups(area=area, by=name, groups=groups, n_unlabelled=int((codes < 0).sum()))

    def sel(self, trials: Any = None, time: Sequence[float] | None = None) -> SpikeCounts:
        """Return some of the trials and time bins.

        Parameters
        ----------
        trials : array-like or str, optional
            Which of the kept trials (0-based positions within this result, a boolean mask, or a
            query on the columns of ``trials``).
        time : pair of float, optional
            Keep the bins that lie within ``[a, b]`` seconds from the event.

        Returns
        -------
        SpikeCounts
            Copies; ``info["window"]`` tells the window that is left.

        Raises
        ------
        ValueError
            If a position is out of range or no bin lies within ``time``.
        """
        rows = np.arange(self.n_trials)
        if trials is not None:
            rows = select_rows(self.trials, trials, name="trials", n_rows=self.n_trials)
        bins = slice(0, self.n_bins)
        info = {**self.info, "sel_n_trials": int(rows.size)}
        if time is not None:
            bins = self._bins(time)
            left = float(self.time[bins.start])
            info["window"] = [left, left + (bins.stop - bins.start) * self.bin_size]
        return dataclasses.replace(
            self,
            counts={a: np.ascontiguousarray(c[rows, bins]) for a, c in self.counts.items()},
            time=self.time[bins].copy(),
            bin_centers=self.bin_centers[bins].copy(),
            trial_index=self.trial_index[rows],
            trial_id=self.trial_id[rows],
            event_times=self.event_times[rows],
            valid={a: v[rows] for a, v in self.valid.items()},
            info=info,
            trials=None if self.trials is None else self.trials.iloc[rows],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per trial, bin and unit.

        Returns
        -------
        pandas.DataFrame
            Columns ``trial`` (row position), ``trial_id``, ``time`` (left edge, s), ``area``,
            ``unit_id``, ``count`` (or ``rate``) and ``valid``.

        Raises
        ------
        ValueError
            If it would have more than 5 million rows.
        """
        import pandas as pd

        self._refuse_large("to_frame")
        n_trials, n_bins, n_units = self.n_trials, self.n_bins, self.n_units
        everything = self.concat()
        (name,) = everything.areas
        per_trial = n_bins * n_units
        valid = np.broadcast_to(everything.valid[name][:, None, :], (n_trials, n_bins, n_units))
        return pd.DataFrame(
            {
                "trial": np.repeat(self.trial_index, per_trial),
                "trial_id": np.repeat(self.trial_id, per_trial),
                "time": np.tile(np.repeat(self.time, n_units), n_trials),
                "area": np.tile(self._unit_keys(everything.unit_index[name]), n_trials * n_bins),
                "unit_id": np.tile(everything.unit_ids[name], n_trials * n_bins),
                "rate" if self.rate else "count": everything.counts[name].ravel(),
                "valid": valid.ravel(),
            }
        )

    def summary(self) -> str:
        """Return a short text: events, window, and spikes per area.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        info = self.info
        window = info.get("window", [self.time[0], self.time[-1] + self.bin_size])
        lines = [
            f"Spike counts around {info.get('align_to', 'event')}"
            + (f" in {info['file']}" if info.get("file") else ""),
            f"{self.n_trials} trials, {self.n_bins} bins of {self.bin_size:g} s "
            f"from {window[0]:g} to {window[1]:g} s, {self.n_units} units",
        ]
        if info.get("verdict") == "relative":
            lines.append(f"event times are relative to {info.get('reference')}")
        if info.get("n_dropped_nan"):
            lines.append(f"events without a time, left out: {info['n_dropped_nan']}")
        if info.get("outside_spikes"):
            lines.append(
                f"windows that reach past the recorded spikes: {len(info['outside_spikes'])}"
            )
        if info.get("n_dropped_outside"):
            lines.append(f"events outside the recording, left out: {info['n_dropped_outside']}")
        if not self.areas:
            return "\n".join([*lines, "no units"])
        width = max(len("area"), *(len(a) for a in self.areas))
        lines.append(f"{'area':<{width}}  units     spikes  spikes/s  valid")
        for area in self.areas:
            counts, valid = self.counts[area], self.valid[area]
            total = float(np.nansum(counts, dtype=np.float64)) * (
                self.bin_size if self.rate else 1.0
            )
            seconds = self.n_bins * self.bin_size * valid.size
            rate = f"{total / seconds:.3g}" if seconds else "-"
            share = f"{100 * valid.mean():.0f} %" if valid.size else "-"
            lines.append(
                f"{area:<{width}}  {counts.shape[2]:>5}  {total:>9.0f}  {rate:>8}  {share:>5}"
            )
        return "\n".join(lines)

    def plot(
        self, ax: Any = None, *, areas: str | Sequence[str] | None = None, **style: Any
    ) -> Any:
        """Draw the mean rate of each area against time.

        Parameters
        ----------
        ax : matplotlib axes or sequence of axes, optional
            Where to draw. A new figure by default.
        areas : str or sequence of str, optional
            Which areas; all by default.
        **style
            Passed to :func:`nb26stats.plotting.plot_psth`.

        Returns
        -------
        Axes or ndarray of Axes
            What was drawn on.
        """
        from nb26stats import plotting

        names = self.areas if areas is None else _check.as_list(areas, "areas")
        psths = {self._area(a): self.psth(a) for a in names}
        return plotting.plot_psth(psths, ax=ax, **style)

    def to_r(self) -> dict[str, Any]:
        """Return plain lists for R; positions also come 1-based as ``trial1`` and ``unit1``.

        Returns
        -------
        dict
            Arrays as ``{"data", "dim"}`` in Fortran order; ``counts`` by area.

        Raises
        ------
        ValueError
            If there are more than 5 million counts.
        """
        self._refuse_large("to_r")
        out = super().to_r()
        out["trial1"] = to_r(self.trial_index + 1)
        out["unit1"] = {a: to_r(i + 1) for a, i in self.unit_index.items()}
        return out

    def _area(self, area: str) -> str:
        if not isinstance(area, str):
            raise TypeError(f"area must be text, got {type(area).__name__}")
        same = [a for a in self.areas if a.casefold() == area.casefold()]
        if area in self.counts:
            return area
        if len(same) == 1:
            return same[0]
        listed = ", ".join(repr(a) for a in self.areas) or "none"
        raise ValueError(f"area={area!r} must be one of the areas of this result: {listed}")

    def _dtype(self) -> np.dtype[Any]:
        kinds = [c.dtype for c in self.counts.values()]
        return kinds[0] if kinds else np.dtype(self.info.get("dtype", "int32"))

    def _joined(self, parts: dict[str, NDArray[Any]], dtype: Any) -> NDArray[Any]:
        if not self.areas:
            return np.empty(0, dtype)
        return np.concatenate([parts[a] for a in self.areas])

    def _file_order(self) -> NDArray[np.int64]:
        return np.asarray(np.argsort(self._joined(self.unit_index, np.int64), kind="stable"))

    def _unit_keys(self, unit_index: NDArray[np.int64]) -> NDArray[np.object_]:
        """Area key of each of the units at ``unit_index``."""
        key = {int(u): a for a in self.areas for u in self.unit_index[a]}
        return np.array([key[int(u)] for u in unit_index], dtype=np.object_)

    def _labels(self, by: Any) -> tuple[str, Any]:
        import pandas as pd

        if isinstance(by, str):
            if self.trials is None:
                raise ValueError(
                    f"by={by!r} names a column, but these events come from an array of times; "
                    "give one label per trial"
                )
            if by not in self.trials.columns:
                listed = ", ".join(str(c) for c in self.trials.columns)
                raise ValueError(f"by={by!r} must be one of the columns of the trials: {listed}")
            return by, self.trials[by]
        labels = pd.Series(_check.as_list(by, "by"))
        if len(labels) != self.n_trials:
            raise ValueError(f"by holds {len(labels)} labels for {self.n_trials} trials")
        name = getattr(by, "name", None)
        return (name if isinstance(name, str) else "group"), labels

    def _bins(self, time: Any) -> slice:
        ends = _check.as_vector(time, "time")
        if ends.size != 2 or not np.isfinite(ends).all() or ends[0] >= ends[1]:
            raise ValueError(f"time={time!r} must be a pair (a, b) of seconds with a < b")
        # edges are rounded; a thousandth of a bin separates a rounding from a choice
        slack = 1e-3 * self.bin_size
        inside = (self.time >= ends[0] - slack) & (self.time + self.bin_size <= ends[1] + slack)
        kept = np.flatnonzero(inside)
        if kept.size == 0:
            raise ValueError(
                f"time=({ends[0]:g}, {ends[1]:g}) holds no whole bin of {self.bin_size:g} s; the "
                f"window is {self.time[0]:g} to {self.time[-1] + self.bin_size:g} s"
            )
        return slice(int(kept[0]), int(kept[-1]) + 1)

    def _refuse_large(self, what: str) -> None:
        n = self.n_trials * self.n_bins * self.n_units
        if n > MAX_PLAIN:
            raise ValueError(
                f"{what} would hold {n} counts, more than {MAX_PLAIN}; use psth() for mean rates "
                "or sel() for some trials and times"
            )
