"""Reader of the time courses of the THINGS Ventral Stream Spiking Dataset (TVSD)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_choice, as_float, as_list
from nb26stats._progress import track
from nb26stats._results import Result

from ._frames import long_frame
from ._tvsd_order import N_CHANNELS, find_order, read_order

if TYPE_CHECKING:
    import h5py
    import pandas as pd
    from numpy.typing import NDArray

AREAS = {
    "F": {"V1": (0, 512), "IT": (512, 832), "V4": (832, 1024)},
    "N": {"V1": (0, 512), "V4": (512, 768), "IT": (768, 1024)},
}
"""Electrodes of each area once they are in the order of the arrays, counted from 0."""

KEYS = ("ALLMUA", "ALLMAT", "tb")
COLUMNS = {
    7: ("trial", "train_idx", "test_idx", "rep", "count", "correct", "day"),
    6: ("trial", "train_idx", "test_idx", "rep", "count", "day"),
}
SLAB = 50
"""Channels read at a time, where the file stores them in chunks."""
SLAB_BYTES = 1 << 26


@dataclass(frozen=True, eq=False, repr=False)
class TVSD(Result):
    """Binned responses of one monkey; what :func:`read_tvsd` returns.

    Attributes
    ----------
    areas : dict of str to ndarray of shape (trials, bins, electrodes)
        Multi-unit activity in float32, in the units of the file.
    times : ndarray of shape (bins,)
        Starts of the bins in seconds from the image.
    trials : pandas.DataFrame
        One row per trial: ``train_idx`` or ``test_idx`` names the image, counted from 1 (0 where it
        is of the other set), ``day`` the recording day.
    electrodes : dict of str to ndarray
        Rows of the file that the electrodes of each area come from, counted from 0.
    monkey : str
        ``"F"`` or ``"N"``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from nb26stats import datasets
    >>> data = datasets.TVSD(
    ...     areas={"IT": np.zeros((2, 3, 4), np.float32)},
    ...     times=np.array([0.0, 0.005, 0.01]),
    ...     trials=pd.DataFrame({"train_idx": [7, 9]}),
    ...     electrodes={"IT": np.arange(4)},
    ...     monkey="N",
    ... )
    >>> data.summary()
    'monkey N: 2 trials, 3 bins of 5 ms from 0 ms, electrodes: IT 4'
    >>> len(data.to_frame())
    24
    """

    areas: dict[str, NDArray[np.float32]]
    times: NDArray[np.float64]
    trials: pd.DataFrame
    electrodes: dict[str, NDArray[np.int64]]
    monkey: str

    def summary(self) -> str:
        """Return sizes and times.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        sizes = ", ".join(f"{name} {data.shape[2]}" for name, data in self.areas.items())
        width = f" of {1000 * (self.times[1] - self.times[0]):g} ms" if len(self.times) > 1 else ""
        return (
            f"monkey {self.monkey}: {len(self.trials)} trials, {len(self.times)} bins{width} from "
            f"{1000 * self.times[0]:g} ms, electrodes: {sizes}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per area, trial, bin and electrode.

        Returns
        -------
        pandas.DataFrame
            Columns ``area``, ``trial``, ``time`` (start of the bin, s), ``electrode`` and
            ``response``; trials, and the electrodes of an area, are counted from 0.

        Raises
        ------
        ValueError
            If it would have more than 5 million rows.
        """
        return long_frame(self.areas, self.times, "electrode")


def read_tvsd(
    path: str | os.PathLike[str],
    *,
    monkey: str | None = None,
    areas: Sequence[str] | str | None = None,
    trials: str = "all",
    bin_size: float = 0.005,
    window: Sequence[float] | None = None,
    channel_order: Any = None,
) -> TVSD:
    """Read the time courses of one monkey of the TVSD in bins.

    The file ``THINGS_MUA_trials.mat`` holds 1,024 electrodes, about 25,000 presentations of images
    and 300 samples of one millisecond (some 30 to 60 GB). It is read in slabs, so that memory holds
    little more than the result: 6.2 GB for all areas and trials in 5-ms bins, less for one area or
    for ``trials="test"``.

    Its rows follow the recording system and not the arrays. Areas are ranges of electrodes in the
    order of the arrays, and differ between the monkeys; so the order is needed. It comes with the
    data set as ``_logs/1024chns_mapping_20220105.mat``, which is looked for beside the file.

    Parameters
    ----------
    path : str or path-like
        The file ``THINGS_MUA_trials.mat`` of one monkey.
    monkey : {"F", "N"}, optional
        Which monkey; by default as the name of the file or of its folders says (``monkeyF``).
    areas : str or sequence of str, optional
        ``"V1"``, ``"V4"``, ``"IT"``; all by default.
    trials : {"all", "train", "test"}, default="all"
        ``"train"``: images shown once; ``"test"``: 100 images shown 30 times.
    bin_size : float, default=0.005
        Width of the bins in seconds, a whole number of samples; a bin is the mean of its samples.
    window : pair of float, optional
        Start and end in seconds from the image, which must hold whole bins; all by default.
    channel_order : path or array of 1,024 int, optional
        The order of the electrodes: the file above, or its permutation of 1 to 1024 (or from 0).

    Returns
    -------
    TVSD
        Responses by area, starts of bins, the table of trials.

    Raises
    ------
    FileNotFoundError
        If the file, or the order of its electrodes, is not there.
    ValueError
        If the file is of another kind or lacks a variable, its sizes do not fit, the monkey is not
        clear or contradicts the path, or bins do not fit the samples.

    Notes
    -----
    Papale, Wang, Self and Roelfsema (2025), Neuron; https://gin.g-node.org/paolo_papale/TVSD,
    licence CC BY 4.0; the images are not part of it. Most images were shown once, so for them the
    correlation of signals and that of noises cannot be told apart.

    Examples
    --------
    >>> import h5py, numpy as np
    >>> from nb26stats import datasets
    >>> with h5py.File("monkeyN_trials.mat", "w") as file:
    ...     file["ALLMUA"] = np.zeros((300, 2, 1024), np.float32)
    ...     file["ALLMAT"] = np.array([[1, 2], [7, 0], [0, 3], [1, 1], [1, 2], [1, 1], [1, 1]])
    ...     file["tb"] = np.arange(-100, 200)[:, None]
    >>> data = datasets.read_tvsd("monkeyN_trials.mat", channel_order=np.arange(1, 1025))
    >>> data.areas["IT"].shape, data.trials["train_idx"].tolist()
    ((2, 60, 256), [7, 0])
    """
    import h5py

    path = Path(path)
    trials = as_choice(trials, "trials", ("all", "train", "test"))
    who = _monkey(path, monkey)
    wanted = _areas(areas)
    bin_size = as_float(bin_size, "bin_size", above=0.0)
    if not path.is_file():
        raise FileNotFoundError(f"No file at {path}")
    if not h5py.is_hdf5(path):
        raise ValueError(
            f"{path.name} is not a MATLAB v7.3 (HDF5) file; a file of a few hundred bytes is a "
            "pointer of git-annex whose content is not downloaded yet"
        )
    with h5py.File(path, "r") as file:
        _need_keys(file, path.name)
        table = _trial_table(file["ALLMAT"], path.name)
        samples = np.asarray(file["tb"], dtype=np.float64).ravel()
        axes = _axes(file["ALLMUA"].shape, len(table), len(samples), path.name)
        first, per_bin, n_bins, times = _bins(samples, bin_size, window)
        order = find_order(path) if channel_order is None else read_order(channel_order)
        rows = np.flatnonzero(_kept(table, trials))
        if not rows.size:
            raise ValueError(f"{path.name} holds no {trials} trials")
        electrodes = {a: order[slice(*AREAS[who][a])] for a in wanted}
        out = {
            a: np.empty((rows.size, n_bins, where.size), np.float32)
            for a, where in electrodes.items()
        }
        _fill(file["ALLMUA"], axes, rows, slice(first, first + n_bins * per_bin), electrodes, out)
    return TVSD(out, times, table.iloc[rows].reset_index(drop=True), electrodes, who)


def _monkey(path: Path, monkey: str | None) -> str:
    """Return the monkey that is given or named by the path; a contradiction raises."""
    letters: set[str] = set()
    # the name of the file says more than those of its folders
    for part in reversed(path.resolve().parts):
        named = re.findall(r"monkey_?([FN])(?![a-z])", part, flags=re.IGNORECASE)
        letters = {str(letter).upper() for letter in named}
        if letters:
            break
    if monkey is None:
        if len(letters) != 1:
            raise ValueError(
                "the path does not say which monkey this is; give monkey='F' or monkey='N', whose "
                "areas lie on different electrodes"
            )
        return letters.pop()
    given = as_choice(monkey, "monkey", ("F", "N"))
    if letters and given not in letters:
        raise ValueError(f"monkey={given!r}, but the path {path} names monkey{letters.pop()}")
    return given


def _areas(areas: Sequence[str] | str | None) -> list[str]:
    if areas is None:
        return ["V1", "V4", "IT"]
    wanted = [as_choice(a, "areas", ("V1", "V4", "IT")) for a in as_list(areas, "areas")]
    if not wanted:
        raise ValueError("areas must name at least one area")
    return list(dict.fromkeys(wanted))


def _need_keys(file: h5py.File, name: str) -> None:
    missing = [key for key in KEYS if key not in file]
    if not missing:
        return
    held = sorted(key for key in file if not key.startswith("#"))
    text = f"{name} lacks {', '.join(missing)}; it holds {', '.join(held[:12]) or 'nothing'}"
    if "train_MUA" in file:
        text += (
            ". This is the file of responses averaged over time, which has no time course: read "
            "THINGS_MUA_trials.mat"
        )
    raise ValueError(text)


def _trial_table(allmat: h5py.Dataset, name: str) -> pd.DataFrame:
    import pandas as pd

    values = np.asarray(allmat)
    if values.ndim == 2 and values.shape[0] in COLUMNS:
        # the reader sees the axes of the file in reverse
        values = values.T
    if values.ndim != 2 or values.shape[1] not in COLUMNS:
        raise ValueError(
            f"ALLMAT in {name} must have 6 or 7 columns ({', '.join(COLUMNS[7])}), got the shape "
            f"{np.shape(allmat)}"
        )
    return pd.DataFrame(values.astype(np.int64), columns=list(COLUMNS[values.shape[1]]))


def _axes(shape: tuple[int, ...], n_trials: int, n_samples: int, name: str) -> tuple[int, int, int]:
    """Return which axes of the array are trials, samples and channels, by their lengths."""
    sizes = (n_trials, n_samples, N_CHANNELS)
    orders = ((1, 0, 2), (0, 1, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    fitting = [
        axes for axes in orders if len(shape) == 3 and tuple(shape[a] for a in axes) == sizes
    ]
    if not fitting:
        raise ValueError(
            f"ALLMUA in {name} must have {N_CHANNELS} channels, {n_trials} trials (rows of ALLMAT) "
            f"and {n_samples} samples (length of tb) in any order, got shape {shape}"
        )
    # where lengths coincide, the first: samples, trials, channels is how MATLAB's axes arrive here
    return fitting[0]


def _bins(
    samples: NDArray[np.float64], bin_size: float, window: Sequence[float] | None
) -> tuple[int, int, int, NDArray[np.float64]]:
    """Return the first sample, samples per bin, number of bins, and the bins' starts (s)."""
    seconds = samples / 1000
    step = float(np.median(np.diff(seconds))) if seconds.size > 1 else 0.0
    if step <= 0 or not np.allclose(np.diff(seconds), step, rtol=0, atol=1e-3 * step):
        raise ValueError("tb must hold evenly spaced times in milliseconds")
    per_bin = round(bin_size / step)
    if per_bin < 1 or abs(per_bin * step - bin_size) > 1e-6 * step:
        raise ValueError(
            f"bin_size={bin_size:g} must be a whole number of samples, which are {step:g} s apart"
        )
    first, end = 0, seconds.size
    if window is not None:
        ends = [as_float(w, "window") for w in as_list(window, "window")]
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise ValueError(f"window={window!r} must hold a start and a later end")
        first, end = (round((w - seconds[0]) / step) for w in ends)
        if first < 0 or end > seconds.size:
            raise ValueError(
                f"window=({ends[0]:g}, {ends[1]:g}) leaves the samples, which run from "
                f"{seconds[0]:g} to {seconds[-1] + step:g} s"
            )
    n_bins, rest = divmod(end - first, per_bin)
    if rest or not n_bins:
        raise ValueError(
            f"{end - first} samples are not a whole number of bins of {per_bin}; choose another "
            "bin_size or window"
        )
    starts = samples[first : first + n_bins * per_bin : per_bin] / 1000
    return first, per_bin, n_bins, starts


def _kept(table: pd.DataFrame, trials: str) -> NDArray[np.bool_]:
    if trials == "all":
        return np.ones(len(table), dtype=bool)
    return (table[f"{trials}_idx"] > 0).to_numpy()


def _fill(
    data: h5py.Dataset,
    axes: tuple[int, int, int],
    rows: NDArray[np.int64],
    samples: slice,
    electrodes: dict[str, NDArray[np.int64]],
    out: dict[str, NDArray[np.float32]],
) -> None:
    """Read slab after slab and write the means of the bins to their places."""
    n_bins = next(iter(out.values())).shape[1]
    for channels, block in track(list(_slabs(data, axes)), desc="TVSD"):
        inside = (rows >= block.start) & (rows < block.stop)
        places = {
            a: np.flatnonzero((w >= channels.start) & (w < channels.stop))
            for a, w in electrodes.items()
        }
        if not inside.any() or not any(p.size for p in places.values()):
            continue
        where: list[slice] = [slice(None)] * 3
        where[axes[0]], where[axes[1]], where[axes[2]] = block, samples, channels
        slab = np.transpose(data[tuple(where)], axes)[rows[inside] - block.start]
        binned = slab.reshape(len(slab), n_bins, -1, slab.shape[2]).mean(axis=2, dtype=np.float64)
        at = np.flatnonzero(inside)
        for area, p in places.items():
            if p.size:
                # kept rows of one block lie side by side
                out[area][at[0] : at[-1] + 1, :, p] = binned[
                    :, :, electrodes[area][p] - channels.start
                ]


def _slabs(data: h5py.Dataset, axes: tuple[int, int, int]) -> Iterator[tuple[slice, slice]]:
    """Cut channels and trials into blocks of whole chunks that fit the memory of a slab."""
    chunks = data.chunks or (1, 1, 1)
    # without chunks, a part of the last axis would be read in tiny pieces
    least = N_CHANNELS if data.chunks is None and axes[2] == 2 else SLAB
    wide = -(-least // chunks[axes[2]]) * chunks[axes[2]]
    per_trial = wide * data.shape[axes[1]] * data.dtype.itemsize
    tall = max(1, SLAB_BYTES // per_trial // chunks[axes[0]]) * chunks[axes[0]]
    n_trials, n_channels = data.shape[axes[0]], data.shape[axes[2]]
    for c in range(0, n_channels, wide):
        for t in range(0, n_trials, tall):
            yield slice(c, min(c + wide, n_channels)), slice(t, min(t + tall, n_trials))
