"""Results into a new NWB file, or in place, without ever endangering the source."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nb26stats._check import as_bool, as_choice
from nb26stats._warnings import NB26StatsWarning

from ._open import storage_of
from ._save_disk import FULL, full_error, is_full
from ._save_items import DiffersError, Item
from ._save_part import (
    folder_lock,
    part_file,
    publish,
    remove_dead_parts,
    set_mode,
    sync,
    sync_folder,
)
from ._save_provenance import provenance_json
from ._save_results import convert_results
from ._save_sidecar import check_header, read_header, write_sidecar
from ._save_source import copy_and_hash, hash_source, relative_links, saved_names, stamp
from ._save_target import Target, check_target, resolve_target
from ._save_verify import check_items
from ._save_walk import check_source_kept
from ._save_write import add_to_copy
from ._session import open as open_session

if TYPE_CHECKING:
    import pynwb

    from ._session import Session


def save_results(
    src: str | os.PathLike[str] | Session | pynwb.NWBFile,
    results: Mapping[str, Any],
    out: str | os.PathLike[str] | None = None,
    *,
    mode: str = "copy",
    in_place: bool = False,
    overwrite: bool = False,
    store_counts: bool = False,
    description: str = "",
) -> Path:
    """Save results in an NWB file, by default in a new copy of the source.

    The copy is made and checked under another name and moved to ``out`` in one step: whatever
    happens on the way, the source and an older ``out`` stay as they were. The results go to the
    processing module ``nb26stats``; the description of each is JSON with the function and
    parameters they come from, versions, time, and the sha256 of the source.

    Parameters
    ----------
    src : path, Session or pynwb.NWBFile
        The file the results belong to. What counts is the file on disk; a session may stay open
        (it keeps the old content when results are saved in place).
    results : dict of str to result
        Each value is a DataFrame, a result object with ``to_frame()``, a ``SpikeCounts``, or
        ``dict(data=array, unit=text)`` with ``rate`` (Hz, and ``starting_time`` in s unless it is
        0) or ``timestamps`` (s), time along the first axis. A DataFrame needs rows; its columns
        hold bool, whole numbers, floats, text, categories (stored as text) or datetimes (stored
        as ISO text). Missing text becomes ``""``, missing whole numbers and bool NaN. A named
        index becomes a column, ``id`` under the name ``row_id``.
    out : path, optional
        The new file; ``<name of src>_nb26stats.nwb`` beside the source if left out.
    mode : {"copy", "sidecar"}, default="copy"
        ``'sidecar'`` writes a small file with the same clock and subject but none of the data of
        the source: for files too large to copy, and for Zarr.
    in_place : bool, default=False
        Add to the source itself, by way of a copy that replaces it. The name of the file then
        leads to a new file: programs that have it open keep the old content.
    overwrite : bool, default=False
        Make an existing ``out`` anew, or replace results of the same name. A warning tells what is
        lost; HDF5 does not give back the space of replaced results.
    store_counts : bool, default=False
        Allow ``SpikeCounts``, stored as one time series per area with a column for each trial and
        unit, time running from the event.
    description : str, default=""
        Your own words, kept with each result.

    Returns
    -------
    Path
        Absolute path of the written file.

    Raises
    ------
    ValueError
        A result, column or name cannot be stored; ``out`` exists, or is the source; the source has
        results of that name, other names (hard links), or links that would break in another
        folder; the source is not a readable NWB file.
    TypeError
        An argument is of the wrong kind.
    FileNotFoundError
        No source, or no folder for ``out``.
    PermissionError
        The folder or the file is read-only.
    OSError
        Not enough room on the disk (``errno.ENOSPC``).
    RuntimeError
        Another program is writing to the source, or the written file fails the comparison with it.

    Warns
    -----
    NB26StatsWarning
        ``overwrite`` removes results.

    Notes
    -----
    pynwb brings the schema of a copy up to its own version: ``nwb_version`` rises, some 170 kB of
    schema are added, and an electrodes table stored as ``DynamicTable`` becomes an
    ``ElectrodesTable``, which older readers may not know. This is why a new file is the default.
    All else is compared with the source, data sets up to 64 MB by value. Owner, access lists and
    extended attributes of the file are not carried over.

    In-place calls on files of one folder wait for each other for up to 60 s. Where the disk has no
    such locks (Windows, some network disks), let one program write in place at a time.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> table = pd.DataFrame({"time": [0.0, 0.1], "rate": [4.0, 5.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = nbn.save_results(
    ...         datasets.path("sub-anm369963_ses-20170228.nwb"),
    ...         {"psth": table},
    ...         out=os.path.join(folder, "with_psth.nwb"),
    ...     )
    ...     out.name
    'with_psth.nwb'
    """
    mode = as_choice(mode, "mode", ("copy", "sidecar"))
    in_place = as_bool(in_place, "in_place")
    overwrite = as_bool(overwrite, "overwrite")
    items = convert_results(results, store_counts=as_bool(store_counts, "store_counts"))
    description = _as_description(description)
    target = resolve_target(src, out, mode=mode, in_place=in_place, overwrite=overwrite)
    lock = folder_lock(target.real) if in_place else contextlib.nullcontext()
    with lock:
        _save(target, items, description)
    return target.out


def _save(target: Target, items: Sequence[Item], description: str) -> None:
    needed = check_target(target, sum(item.nbytes for item in items))
    header = _read_source(target)
    replaced = _check_content(target, items)
    remove_dead_parts(target.real)
    before = stamp(target.real_source)
    final_mode = target.final_mode()
    try:
        with part_file(target.real) as part:
            if target.mode == "copy":
                digest = copy_and_hash(target.real_source, part)
            else:
                digest = hash_source(target.real_source)
            # an early look, before results are added to a copy that may be torn
            _check_unchanged(target, before)
            texts = {
                item.name: provenance_json(
                    item, source=target.source.name, sha256=digest, description=description
                )
                for item in items
            }
            with _steps():
                if target.mode == "copy":
                    add_to_copy(part, items, texts, replaced)
                    check_items(part, items, texts)
                    check_source_kept(target.real_source, part, replaced=replaced)
                else:
                    write_sidecar(part, header, items, texts)
                    check_items(part, items, texts)
                    check_header(part, header)
            sync(part)
            set_mode(part, final_mode)
            _check_unchanged(target, before)
            publish(part, target.real, replace=target.replace)
    except _StepError as err:
        cause = err.__cause__ or err
        if _interrupted(cause):
            raise KeyboardInterrupt from cause
        if is_full(cause, target.real.parent):
            raise _no_room(target, needed) from cause
        first = " ".join(str(cause).split())[:300] or "no message"
        raise RuntimeError(
            f"the results could not be written to {target.out.name} ({type(cause).__name__}: "
            f"{first}); nothing was saved and {target.source.name} is unchanged"
        ) from cause
    except OSError as err:
        if err.errno in FULL:
            raise _no_room(target, needed) from err
        raise
    sync_folder(target.real.parent)


class _StepError(Exception):
    """pynwb or HDF5 failed; its own error is the cause."""


@contextlib.contextmanager
def _steps() -> Iterator[None]:
    try:
        yield
    except (DiffersError, MemoryError):
        raise
    except Exception as err:
        raise _StepError from err


def _interrupted(err: BaseException | None) -> bool:
    """Return whether an interrupt is behind the error: h5py may wrap one in a SystemError."""
    while err is not None and not isinstance(err, KeyboardInterrupt):
        err = err.__cause__ or err.__context__
    return err is not None


def _no_room(target: Target, needed: int) -> OSError:
    hint = "; mode='sidecar' needs less" if target.mode == "copy" else ""
    return full_error(target.real, needed, hint=hint)


def _read_source(target: Target) -> dict[str, Any]:
    """Make sure that the source is a readable NWB file; return the header for a sidecar."""
    try:
        if target.mode == "sidecar":
            return read_header(target.source)
        with open_session(target.source):
            return {}
    except BlockingIOError as err:
        raise RuntimeError(
            f"{target.source} is open for writing in another program; close it there and run again"
        ) from err


def _check_content(target: Target, items: Sequence[Item]) -> list[str]:
    """Refuse what the content of source and target forbids; return the names to replace."""
    if target.mode == "copy" and not target.same_folder:
        links = relative_links(target.real_source)
        if links:
            raise ValueError(
                f"{target.source.name} points to other files by relative paths, which would break "
                f"in {target.real.parent}: {', '.join(links[:5])}"
                + (f" and {len(links) - 5} more" if len(links) > 5 else "")
                + "; give an out in the folder of the source, or use mode='sidecar'"
            )
    replaced: list[str] = []
    if target.mode == "copy" and storage_of(target.source) == "hdf5":
        new, results = {i.name for i in items}, {i.result for i in items}
        held = saved_names(target.real_source)
        replaced = [name for name, of in held.items() if name in new or of in results]
        if replaced and not target.overwrite:
            raise ValueError(
                f"{target.source.name} already holds results named {', '.join(replaced)}; choose "
                "other names, or pass overwrite=True to replace them"
            )
    _warn_of_loss(target, replaced)
    return replaced


def _warn_of_loss(target: Target, replaced: Sequence[str]) -> None:
    lost: list[str] = []
    if target.overwrite and not target.in_place and target.real.exists():
        lost = list(saved_names(target.real))
    causes = []
    if lost:
        causes.append(
            f"{target.out.name} is made anew: the results saved in it are lost ({', '.join(lost)})"
        )
    if replaced:
        causes.append(
            f"the results {', '.join(replaced)} of {target.source.name} are replaced in "
            f"{target.out.name}; HDF5 does not give back the space of the old ones"
        )
    if causes:
        warnings.warn("; ".join(causes), NB26StatsWarning, stacklevel=5)


def _check_unchanged(target: Target, before: Any) -> None:
    try:
        same = stamp(target.real_source) == before
    except FileNotFoundError:
        same = False
    if not same:
        raise RuntimeError(
            f"another program wrote to the file {target.source} while results were being saved; "
            "run again when it has finished"
        )


def _as_description(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"description must be text, got {type(text).__name__}")
    return text
