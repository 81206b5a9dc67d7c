"""Helpers of the tests of ``save_results``: source files, hashes, child processes."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from pynwb import NWBHDF5IO

from nb26stats import datasets

ODD = Path(__file__).parent / "data" / "odd"
SHIPPED = [
    "A2929-200711_neurosuite.nwb",
    "A8604-211122_phy.nwb",
    "sub-anm369963_ses-20170228.nwb",
    "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb",
]
READABLE_ODD = [
    "1.5.1_timeseries_no_data.nwb",
    "2.1.0_nwbfile_with_extension.nwb",
    "2.2.0_subject_no_age_reference.nwb",
    "3.0.0_electrodes_dynamic_table.nwb",
    "no_units_no_trials_lfp_only.nwb",
    "schema2.0b_no_cached_specs.nwb",
    "units_in_acquisition_2.0b.nwb",
    "units_without_spike_times_2.0b.nwb",
]
READABLE = SHIPPED + READABLE_ODD
SMALL = "sub-anm369963_ses-20170228.nwb"


def original(name: str) -> Path:
    """The file as it is kept in the repository."""
    return Path(datasets.path(name)) if name in SHIPPED else ODD / name


def copied(name: str, folder: Path) -> Path:
    """A writable copy of a file in ``folder``."""
    target = folder / name
    shutil.copyfile(original(name), target)
    target.chmod(0o644)
    return target


def table(n: int = 6) -> pd.DataFrame:
    """A result with a column of each common kind."""
    return pd.DataFrame(
        {
            "time": np.arange(n) / 10,
            "rate": [np.nan if i == 1 else i * 1.5 for i in range(n)],
            "n": np.arange(n, dtype=np.int32),
            "good": [i % 2 == 0 for i in range(n)],
            "area": ["ALM" if i % 2 else "thalamus é" for i in range(n)],
        }
    )


def sha(path: Path | str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def parts(folder: Path | str) -> list[str]:
    return sorted(p for p in os.listdir(folder) if p.endswith(".part"))


def read_table(path: Path | str, name: str) -> pd.DataFrame:
    """A saved table, read with pynwb alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with NWBHDF5IO(str(path), "r", load_namespaces=True) as io:
            frame = io.read().processing["nb26stats"][name].to_dataframe()
    return frame


def description(path: Path | str, name: str) -> str:
    with h5py.File(path, "r") as file:
        text = file[f"processing/nb26stats/{name}"].attrs["description"]
    assert isinstance(text, str)
    return text


def names_in(path: Path | str) -> set[str]:
    with h5py.File(path, "r") as file:
        return set(file["processing/nb26stats"]) if "processing/nb26stats" in file else set()


@dataclass
class Outcome:
    """How a child process ended; ``error`` is (class name, message, errno)."""

    status: int
    value: Any = None
    error: tuple[str, str, int | None] | None = None

    @property
    def signal(self) -> int:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


class Child:
    """A forked copy of this process that runs ``work``, perhaps as another user."""

    def __init__(self, work: Callable[[], Any], *, user: int | None = None) -> None:
        self._reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # newer Pythons warn of threads; the libraries' threads are idle here
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid:
            os.close(writer)
            return
        os.close(self._reader)
        answer: tuple[Any, Any] = (None, ("nothing", "", None))
        try:
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            answer = (work(), None)
        except BaseException as err:
            answer = (None, (type(err).__name__, str(err), getattr(err, "errno", None)))
        finally:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(answer, pipe)
            os._exit(0)

    def join(self) -> Outcome:
        with os.fdopen(self._reader, "rb") as pipe:
            raw = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        value, error = pickle.loads(raw) if raw else (None, None)
        return Outcome(status, value, error)


def in_child(work: Callable[[], Any], *, user: int | None = None) -> Outcome:
    """Run ``work`` in a forked process and wait for it."""
    return Child(work, user=user).join()
