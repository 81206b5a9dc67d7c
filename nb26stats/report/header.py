"""Section: which file this is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nb26stats.nwb._describe import describe

from ._parts import Builder, Facts, cut

if TYPE_CHECKING:
    from ._context import Context
    from ._parts import Section

_SUBJECT = ("subject_id", "species", "strain", "genotype", "sex", "age", "date_of_birth", "weight")


def section(context: Context) -> Section:
    """Return identifier, subject, date and schema version."""
    out = Builder("file", "The file", line="file")
    facts = context.once("facts", lambda: describe(context.session, context.table_name))
    subject = facts["subject"]
    date = (facts["session_start_time"] or "")[:10]
    out.finding = " ".join(
        [
            f"{cut(facts['file'] or 'NWB file in memory', 120)}:",
            f"{cut(_who(subject), 120)},",
            f"recorded {date}." if date else "of unknown date.",
        ]
    )
    out.say(
        f"NWB file of schema version {facts['nwb_version'] or 'unknown'}"
        + (f", {facts['size_bytes'] / 1e6:,.2f} MB" if facts["size_bytes"] is not None else "")
        + "."
    )
    pairs = [
        ("identifier", facts["identifier"]),
        ("session description", facts["session_description"]),
        ("session start", facts["session_start_time"] or "–"),
    ]
    reference = facts["timestamps_reference_time"]
    if reference and reference != facts["session_start_time"]:
        pairs.append(("times count from", reference))
    pairs += [
        (f"subject: {key.replace('_', ' ').removeprefix('subject ')}", subject[key])
        for key in (*_SUBJECT, "description")
        if key in subject
    ]
    pairs += [(key.replace("_", " "), value) for key, value in facts["header"].items()]
    extensions = [
        f"{name} {version}" for name, version in facts["namespaces"].items() if name not in _CORE
    ]
    if extensions:
        pairs.append(("extensions", ", ".join(extensions)))
    out.add(Facts(tuple((k, cut(v)) for k, v in pairs)))
    return out.done()


_CORE = frozenset({"core", "hdmf-common", "hdmf-experimental"})


def _who(subject: dict[str, str]) -> str:
    species = subject.get("species", "")
    name = subject.get("subject_id", "")
    if species and name:
        return f"{species}, subject {name}"
    return f"subject {name}" if name else species or "subject not named"
