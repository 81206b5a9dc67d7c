"""An open NWB file: what it holds, and doors to the functions that read it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nb26stats._results import as_html

from .errors import ClosedSessionError

if TYPE_CHECKING:
    import pandas as pd
    import pynwb
    from numpy.typing import ArrayLike

    from ._counts_result import SpikeCounts


class Session:
    """An NWB file that is open for reading.

    Made by :func:`open`; use it in a ``with`` block or call :meth:`close`.

    Attributes
    ----------
    path : Path or None
        Absolute path of the file; None for an ``NWBFile`` that was never written.
    nwb_version : str or None
        Schema version written in the file.
    namespaces : dict of str to str
        Schema namespaces cached in the file and their versions.
    read_warnings : list of str
        What pynwb and hdmf warned about while the file was read.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> with nbn.open(datasets.path("sub-anm369963_ses-20170228.nwb")) as s:
    ...     print(s.nwb_version, len(s.trials()), len(s.units()))
    2.0.2 178 1
    >>> s = datasets.load_nwb("A2929-200711_neurosuite.nwb")
    >>> s.spike_counts(table="sleep_ripples", window=(0.0, 0.2), bin_size=0.1).n_bins
    2
    >>> s.close()
    >>> s.closed
    True
    >>> with datasets.load_nwb("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen") as s:
    ...     print(s.behavior().attrs["convention"])
    alm
    """

    def __init__(
        self,
        nwbfile: pynwb.NWBFile,
        *,
        path: Path | None,
        nwb_version: str | None = None,
        namespaces: Mapping[str, str] | None = None,
        read_warnings: Sequence[str] = (),
        io: Any = None,
    ) -> None:
        self._nwbfile: pynwb.NWBFile | None = nwbfile
        self._io = io
        self.path = path
        self.nwb_version = nwb_version
        self.namespaces = dict(namespaces or {})
        self.read_warnings = list(read_warnings)

    @property
    def nwbfile(self) -> pynwb.NWBFile:
        """The ``pynwb.NWBFile``; raises ClosedSessionError once the session is closed."""
        if self._nwbfile is None:
            raise ClosedSessionError(f"the session of {self.path} is closed: open the file again")
        return self._nwbfile

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._nwbfile is None

    @property
    def label(self) -> str:
        """File name and schema version, for messages."""
        name = self.path.name if self.path is not None else f"NWBFile {self.nwbfile.identifier!r}"
        return f"{name} (NWB {self.nwb_version})" if self.nwb_version else name

    def close(self) -> None:
        """Close the file; a file that the user opened with pynwb stays open."""
        io, self._io, self._nwbfile = self._io, None, None
        if io is not None:
            io.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "an open file cannot be copied or sent to another process; give the path and open it "
            "there"
        )

    def __enter__(self) -> Session:
        self.nwbfile  # noqa: B018 - a closed session must not be entered
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def summary(self) -> str:
        """Return what the file holds, in at most 30 lines.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        from ._describe import summary

        return summary(self)

    def __repr__(self) -> str:
        if self.closed:
            return f"Session of {self.path} (closed)"
        return self.summary()

    def _repr_html_(self) -> str:
        return as_html(repr(self))

    def trials(
        self,
        table: str = "trials",
        columns: Sequence[str] | None = None,
        exclude_ragged: bool = True,
    ) -> pd.DataFrame:
        """Return the trial table; see :func:`nb26stats.nwb.trials`."""
        from ._tables import trials

        return trials(self, table, columns, exclude_ragged)

    def units(self, units: str = "units", areas_from: str | None = None) -> pd.DataFrame:
        """Return one row per unit; see :func:`nb26stats.nwb.units`."""
        from ._units import units as read

        return read(self, units, areas_from)

    def spike_counts(
        self,
        *,
        align_to: str | ArrayLike = "start_time",
        window: tuple[float, float] = (-0.5, 1.0),
        bin_size: float = 0.01,
        areas: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        quality: str | Callable[[pd.DataFrame], Any] | None = None,
        table: str = "trials",
        trials: ArrayLike | str | None = None,
        relative_to: str = "auto",
        units: str = "units",
        areas_from: str | None = None,
        dtype: str = "int32",
        on_nan: str = "drop",
        on_outside: str = "mask",
        rate: bool = False,
        tol: float | None = None,
        n_threads: int = 1,
    ) -> SpikeCounts:
        """Count spikes around events; see :func:`nb26stats.nwb.spike_counts`."""
        from ._counts import spike_counts

        return spike_counts(
            self,
            align_to=align_to,
            window=window,
            bin_size=bin_size,
            areas=areas,
            quality=quality,
            table=table,
            trials=trials,
            relative_to=relative_to,
            units=units,
            areas_from=areas_from,
            dtype=dtype,
            on_nan=on_nan,
            on_outside=on_outside,
            rate=rate,
            tol=tol,
            n_threads=n_threads,
        )

    def behavior(
        self,
        convention: str = "auto",
        mapping: Mapping[str, Any] | None = None,
        *,
        table: str = "trials",
        check: bool = True,
    ) -> pd.DataFrame:
        """Return the canonical behaviour table; see :func:`nb26stats.nwb.behavior`."""
        from ._behavior import behavior

        return behavior(self, convention, mapping, table=table, check=check)


def open(path: str | os.PathLike[str], *, backend: str = "auto") -> Session:
    """Open an NWB file for reading.

    Nothing but the structure is read; tables and spike times load when they are asked for. The
    file is never opened for writing.

    Parameters
    ----------
    path : str or path-like
        An HDF5 file, or a Zarr folder (needs the package ``hdmf-zarr``). An open ``Session`` is
        returned as it is, and a ``pynwb.NWBFile`` is wrapped and stays the user's to close.
    backend : {"auto", "hdf5", "zarr"}, default="auto"
        How the file is stored; ``'auto'`` looks at its first bytes.

    Returns
    -------
    Session
        Use it in a ``with`` block, or call its ``close``.

    Raises
    ------
    FileNotFoundError
        No file at this path.
    NotAnNWBFileError
        The file is neither HDF5 nor Zarr, or holds no NWB version.
    UnsupportedNWBVersionError
        The file is NWB 1.x.
    CorruptFileError
        HDF5 cannot open the file, for example because it is truncated.
    NWBReadError
        pynwb cannot make sense of the content; its own error is the cause.
    ImportError
        A Zarr folder, and ``hdmf-zarr`` is not installed.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> with nbn.open(datasets.path("A2929-200711_neurosuite.nwb")) as s:
    ...     s.nwb_version
    '2.4.0'
    """
    from ._open import open_file

    if isinstance(path, Session):
        path.nwbfile  # noqa: B018 - raises when it is closed
        return path
    if _is_nwbfile(path):
        return _wrap(path)
    return Session(**open_file(path, backend))


@contextlib.contextmanager
def as_session(source: Any) -> Iterator[Session]:
    """Give a session for a path (closed at the end), a Session or an NWBFile (both left open)."""
    if isinstance(source, Session):
        source.nwbfile  # noqa: B018 - raises when it is closed
        yield source
    elif _is_nwbfile(source):
        yield _wrap(source)
    else:
        with open(source) as session:
            yield session


def _is_nwbfile(source: object) -> bool:
    import sys

    pynwb = sys.modules.get("pynwb")
    return pynwb is not None and isinstance(source, pynwb.NWBFile)


def _wrap(nwbfile: Any) -> Session:
    source = nwbfile.container_source
    io = nwbfile.read_io
    version = getattr(io, "nwb_version", None) if io is not None else None
    return Session(
        nwbfile,
        path=Path(source).absolute() if source else None,
        nwb_version=version[0] if isinstance(version, tuple) else version,
    )
