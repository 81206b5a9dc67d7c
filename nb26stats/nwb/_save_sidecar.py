"""A small NWB file of its own for results: clock and subject of the source, none of its data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._save_items import DiffersError, Item
from ._save_write import write_new
from ._session import open as open_session
from .errors import NB26NWBError

if TYPE_CHECKING:
    import pynwb

_SUBJECT = (
    "age",
    "age__reference",
    "description",
    "genotype",
    "sex",
    "species",
    "subject_id",
    "weight",
    "date_of_birth",
    "strain",
)


def read_header(source: Path) -> dict[str, Any]:
    """Return what a sidecar takes over from its source.

    Times count from ``timestamps_reference_time``, so it goes along with ``session_start_time``.
    """
    with open_session(source) as session:
        nwbfile = session.nwbfile
        if nwbfile.session_start_time is None:
            raise NB26NWBError(
                f"{session.label} has no session_start_time, which a sidecar needs for its clock"
            )
        subject = nwbfile.subject
        return {
            "session_description": str(nwbfile.session_description or ""),
            "identifier": f"{nwbfile.identifier}_nb26stats",
            "session_start_time": nwbfile.session_start_time,
            "timestamps_reference_time": nwbfile.timestamps_reference_time,
            "subject": None
            if subject is None
            else {name: getattr(subject, name, None) for name in _SUBJECT},
        }


def write_sidecar(
    part: Path, header: Mapping[str, Any], items: Sequence[Item], texts: Mapping[str, str]
) -> None:
    """Write the items into the empty file ``part`` under the header of their source."""
    write_new(part, _nwbfile(header), items, texts)


def check_header(part: Path, header: Mapping[str, Any]) -> None:
    """Compare the header of the written file with the one of the source."""
    stored = read_header(part)
    stored["identifier"] = stored["identifier"].removesuffix("_nb26stats")
    if header["subject"] is not None and header["subject"]["age__reference"] is None:
        # older schemas leave it open; the newer one reads that as its default
        stored["subject"]["age__reference"] = None
    for key, value in header.items():
        if stored[key] != value:
            raise DiffersError(f"read back from the new file, {key} differs from the source")


def _nwbfile(header: Mapping[str, Any]) -> pynwb.NWBFile:
    from pynwb import NWBFile
    from pynwb.file import Subject

    with warnings.catch_warnings():
        # old subjects may have ages and dates that newer schemas warn about
        warnings.simplefilter("ignore")
        fields = {k: v for k, v in header.items() if k != "subject"}
        nwbfile = NWBFile(**fields)
        if header["subject"] is not None:
            given = {k: v for k, v in header["subject"].items() if v is not None}
            nwbfile.subject = Subject(**given)
            # pynwb would write 'birth' where an older file leaves this open
            nwbfile.subject.fields["age__reference"] = given.get("age__reference")
    return nwbfile
