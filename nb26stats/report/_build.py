"""From a file to a report: the sections in order, the page around them, a safe way to disk."""

from __future__ import annotations

import contextlib
import datetime
import errno
import importlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nb26stats._check import as_bool
from nb26stats._progress import track
from nb26stats._results import Result
from nb26stats._version import __version__

from ._json import as_json
from ._options import SECTIONS, Options, make_options
from ._page import page, summary_lines
from ._parts import Builder, Figure, Section, cut

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """A finished report; what :func:`build_report` returns.

    Attributes
    ----------
    title : str
        Title of the page.
    html : str
        The whole page: one HTML file that needs nothing else.
    numbers : dict of str to pandas.DataFrame
        Numbers behind each figure, by the name of the figure.
    code : dict of str to str
        Python text that makes each figure and its numbers.
    lines : list of (str, str)
        The five lines of the summary box.
    json : str
        All of that for programs: sections, sentences, tables and numbers as one JSON text.
    source : Path or None
        The file that the report is about; ``save`` never writes over it.

    Examples
    --------
    >>> from nb26stats import datasets, report
    >>> result = report.build_report(datasets.path("A8604-211122_phy.nwb"))
    >>> result.save("phy.html").name
    'phy.html'
    >>> [label for label, _ in result.lines]
    ['File', 'Contents', 'Activity', 'Behaviour', 'Limits']
    """

    title: str
    html: str
    numbers: Mapping[str, pd.DataFrame]
    code: Mapping[str, str]
    lines: Sequence[tuple[str, str]]
    json: str
    source: Path | None = field(default=None)

    def save(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, json: bool = False
    ) -> Path:
        """Write the page to ``path``, all of it or nothing.

        Parameters
        ----------
        path : str or path-like
            Where to; a link is followed.
        overwrite : bool, default=False
            Whether a file that exists may be replaced.
        json : bool, default=False
            Whether to write the JSON text beside it too, ending in ``.json``.

        Returns
        -------
        Path
            Absolute path of the file written.

        Raises
        ------
        FileExistsError
            If the file exists and ``overwrite`` is False.
        ValueError
            If ``path`` is the file that the report is about.
        """
        again = as_bool(overwrite, "overwrite")
        target = check_target(path, self.source, overwrite=again)
        if as_bool(json, "json"):
            # the page comes last: where it is, all is
            beside = check_target(json_path(target), self.source, overwrite=again)
            write(beside, self.json.encode("utf-8", "replace"), overwrite=again)
        write(target, self.html.encode("utf-8", "replace"), overwrite=again)
        return target

    def summary(self) -> str:
        """Return the title and the five lines of the summary box.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        return "\n".join([self.title, *(f"{label}: {text}" for label, text in self.lines)])

    def to_frame(self) -> pd.DataFrame:
        """Return the summary box as a table; ``numbers`` has the tables of the figures.

        Returns
        -------
        pandas.DataFrame
            Columns ``label`` and ``text``, a row per line of the box.
        """
        import pandas as pd

        return pd.DataFrame(list(self.lines), columns=["label", "text"])


def build_report(
    source: Any,
    *,
    table: str | None = None,
    align_to: str | None = None,
    relative_to: str | None = None,
    window: Sequence[float] | None = None,
    bin_size: float | None = None,
    areas: Sequence[str] | str | None = None,
    quality: str | None = None,
    trials: str | None = None,
    sections: Sequence[str] | str | None = None,
) -> Report:
    """Make a report of one NWB file as a single HTML page.

    Parameters
    ----------
    source : str, path-like, Session or pynwb.NWBFile
        The file.
    table : str, optional
        Table of intervals to align to; by default the trials.
    align_to : str, optional
        Column to align to. By default the go cue, else the stimulus, of the behaviour convention
        that the table fits; else the first column of event times that is on the session clock for
        certain; else ``start_time``. The report says which and why.
    relative_to : str, optional
        What the times of that column count from, as in :func:`nb26stats.nwb.spike_counts`.
    window : pair of float, optional
        Seconds before and after the event, (-0.5, 1.0) by default.
    bin_size : float, optional
        Bin width in seconds, 0.025 by default.
    areas, quality, trials : optional
        Areas, units and rows to use, as in :func:`nb26stats.nwb.spike_counts` (names, a word or
        query, a query).
    sections : sequence of str, optional
        Parts to make, in the order of the page: header, contents, trials, units, psth, raster,
        behavior, learning, components, information, causal, warnings, versions. All by default.

    Returns
    -------
    Report
        The page, and the numbers and code of its figures. ``save`` writes it.

    Raises
    ------
    NB26NWBError
        If the file cannot be read, or a table, column or area asked for does not exist.
    ValueError, TypeError
        If a choice makes no sense.

    Examples
    --------
    >>> from nb26stats import datasets, report
    >>> result = report.build_report(datasets.path("A8604-211122_phy.nwb"))
    >>> result.html.startswith("<!DOCTYPE html>"), sorted(result.numbers)
    (True, ['components', 'raster', 'rates'])
    """
    options = make_options(
        table=table,
        align_to=align_to,
        relative_to=relative_to,
        window=window,
        bin_size=bin_size,
        areas=areas,
        quality=quality,
        trials=trials,
        sections=sections,
    )
    return assemble(source, options)


def assemble(source: Any, options: Options, *, strict: bool = False) -> Report:
    """Make the report; with ``strict`` an error inside a section is raised, not reported."""
    from nb26stats.nwb._session import as_session

    from ._context import Context

    with as_session(source) as session:
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
        else:
            path = str(session.path or "session.nwb")
        context = Context(session, path, options)
        context.check()
        names = options.sections or SECTIONS
        sections = [_one(name, context, strict=strict) for name in track(names, desc="report")]
        name = session.path.name if session.path else session.nwbfile.identifier
        title = f"Report on {cut(name, 200)}"
    now = datetime.datetime.now().astimezone()
    subtitle = f"Made by nb26stats {__version__} on {now.strftime('%Y-%m-%d %H:%M %Z')}"
    figures = [part for s in sections for part in s.parts if isinstance(part, Figure)]
    lines = summary_lines(sections, partial=options.sections is not None)
    head = {
        "created": now.isoformat(timespec="seconds"),
        "nb26stats": __version__,
        "title": title,
        "file": file_facts(session.path),
        "options": options.as_dict(),
        "lines": [list(line) for line in lines],
    }
    return Report(
        title=title,
        html=page(title, subtitle, lines, sections, footer=_FOOTER),
        numbers={f.name: f.numbers for f in figures},
        code={f.name: f.code for f in figures},
        lines=lines,
        json=as_json(head, sections),
        source=session.path,
    )


_FOOTER = (
    "This page is one file: no scripts, nothing loaded from elsewhere. To browse a file "
    "interactively there are neurosift and nwbwidgets; schema checks are the business of "
    "nwbinspector and dandi validate."
)


def _one(name: str, context: Context, *, strict: bool) -> Section:
    module = importlib.import_module(f".{name}", __package__)
    try:
        section: Section = module.section(context)
    except Exception as err:
        if strict:
            raise
        # one broken part must not cost the reader the rest of the page
        out = Builder(name, name.capitalize())
        return out.missing(
            f"The section {name!r} could not be made: {type(err).__name__}: {cut(err, 200)}."
        )
    return section


def file_facts(path: Path | None) -> dict[str, Any]:
    """Return what tells whether a report is about a file as it is now."""
    one = path is not None and path.is_file()
    return {"name": path and path.name, "bytes": path.stat().st_size if path and one else None}


def json_path(target: Path) -> Path:
    """Return where the JSON text of a page goes."""
    return target.with_suffix(".json")


def check_target(path: str | os.PathLike[str], source: Path | None, *, overwrite: bool) -> Path:
    """Return where to write, links followed, or raise before anything is computed."""
    from nb26stats.nwb._open import with_home

    target = Path(os.path.realpath(with_home(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name the file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    if os.path.lexists(target) and not target.is_file():
        # a device or a pipe would be replaced by an ordinary file
        raise ValueError(f"{target} is not an ordinary file; name another one")
    if target.exists():
        if source is not None and source.exists() and target.samefile(source):
            raise ValueError(f"{target} is the NWB file itself; give the report another name")
        if not overwrite:
            raise FileExistsError(
                f"{target} exists; --force (overwrite=True) replaces it, -o names another file"
            )
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the folder {target.parent} cannot be written to")
    return target


def write(target: Path, data: bytes, *, overwrite: bool) -> None:
    """Write to a part file beside the target and rename it when it is complete."""
    # a name as long as the system allows leaves no room for the marks of the part file
    part = target.with_name(f".{target.name[:60]}.{os.getpid()}.{secrets.token_hex(4)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite:
            os.replace(part, target)
            return
        try:
            os.link(part, target)
        except OSError as err:
            if isinstance(err, FileExistsError) or err.errno == errno.EEXIST or target.exists():
                raise FileExistsError(
                    f"{target} appeared while the report was made; --force replaces it"
                ) from None
            # some disks have no links
            os.replace(part, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
