"""What the sections share: the open file, the choices, and results that are computed once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nb26stats import nwb
from nb26stats.nwb._align import column_verdict, event_times
from nb26stats.nwb._tables import column_names, find_table, interval_tables, require_column

from . import _code
from ._advice import advised
from ._options import BIN_SIZE, WINDOW, Options
from ._parts import cut, listing, plural

if TYPE_CHECKING:
    import pandas as pd

    from nb26stats.nwb import Session, SpikeCounts

T = TypeVar("T")

MAX_COUNTS_BYTES = 1 << 30
"""Event-aligned counts above this size are made from every n-th row of the table."""


NO_UNITS = "There are no units with spikes to show; the section on units says why."


class MissingPartError(ValueError):
    """A part of the report cannot be made; the text is the sentence that says why."""


@dataclass(frozen=True)
class Event:
    """What the windows are aligned to, and why."""

    column: str
    verdict: str
    reference: str
    why: str
    name: str
    """The event in words, such as "cue start" or "trial start"."""


class Context:
    """One report in the making.

    Every property is computed at its first use. Where the file has nothing to compute it from, it
    raises :class:`MissingPartError`, each time with the same sentence. Warnings that come up on the
    way are kept under the name of the property.
    """

    def __init__(self, session: Session, path: str, options: Options) -> None:
        self.session = session
        self.path = path
        self.options = options
        self.warnings: dict[str, list[str]] = {}
        self._made: dict[str, Any] = {}

    # -- keeping results and warnings ---------------------------------------------------------

    @contextmanager
    def collect(self, key: str) -> Iterator[None]:
        """Keep the warnings raised inside, each text once per report."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
        for warning in caught:
            text = advised(cut(warning.message))
            known = any(text in texts for texts in self.warnings.values())
            if issubclass(warning.category, UserWarning) and not known:
                self.warnings.setdefault(key, []).append(text)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return what ``make`` gave at its first call, or raise what it raised then."""
        if key not in self._made:
            with self.collect(key):
                try:
                    self._made[key] = make()
                except MissingPartError as gap:
                    self._made[key] = gap
                except MemoryError:
                    self._made[key] = MissingPartError("There is not enough memory for this part.")
                except (ValueError, OverflowError) as err:
                    self._made[key] = MissingPartError(sentence(err))
        value = self._made[key]
        if isinstance(value, MissingPartError):
            raise value
        return value  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise the errors of choices that do not fit the file, before anything is drawn."""
        chosen = self.options
        if chosen.table is not None:
            find_table(self.session, chosen.table)
        if chosen.relative_to not in (None, "auto", "session"):
            require_column(find_table(self.session, self.table_name), str(chosen.relative_to))
        if chosen.align_to is not None:
            event_times(
                self.session,
                align_to=chosen.align_to,
                table=self.table_name,
                relative_to=chosen.relative_to or "auto",
            )
        if chosen.selects:
            try:
                self.units, self.event  # noqa: B018 - a file without these has nothing to check
            except MissingPartError:
                return
            self._made["counts"] = self._counts()

    # -- the file -----------------------------------------------------------------------------

    @property
    def table_name(self) -> str:
        """Name of the interval table in use."""
        return self.options.table or "trials"

    @property
    def units(self) -> pd.DataFrame:
        """One row per unit."""

        def make() -> pd.DataFrame:
            frame = nwb.units(self.session)
            if not len(frame):
                raise MissingPartError(
                    "The units table has no rows, so nothing can be said about spikes."
                )
            return frame

        return self.once("units", make)

    @property
    def trials(self) -> pd.DataFrame:
        """The interval table in use, with at least one row."""

        def make() -> pd.DataFrame:
            tables = interval_tables(self.session)
            if self.table_name not in tables and self.options.table is None:
                raise MissingPartError(no_trials(tables))
            frame = nwb.trials(self.session, self.table_name)
            if not len(frame):
                raise MissingPartError(f"The table {cut(self.table_name)!r} has no rows.")
            return frame

        return self.once("trials", make)

    @property
    def behavior(self) -> pd.DataFrame:
        """The behaviour table of the convention that the trials fit."""

        def make() -> pd.DataFrame:
            try:
                self.trials  # noqa: B018 - raises the sentence about missing trials
            except MissingPartError:
                raise MissingPartError(
                    "There are no trials, so there is no behaviour to read."
                ) from None
            try:
                return nwb.behavior(self.session, table=self.table_name)
            except nwb.ConventionError as err:
                if "fits no known" not in str(err):
                    raise
                raise MissingPartError(
                    "The columns of the table fit none of the behaviour conventions known here "
                    "(IBL, Steinmetz, Svoboda lab, Allen change detection), so choices cannot be "
                    "read; nwb.behavior(path, mapping=...) takes any columns."
                ) from None

        return self.once("behavior", make)

    # -- event-aligned counts -----------------------------------------------------------------

    @property
    def event(self) -> Event:
        """What the windows are aligned to."""
        return self.once("event", self._choose_event)

    @property
    def count_arguments(self) -> dict[str, Any]:
        """Arguments of ``spike_counts`` for the event-aligned figures."""
        chosen = self.options
        arguments: dict[str, Any] = {"align_to": self.event.column}
        arguments["window"] = chosen.window or WINDOW
        arguments["bin_size"] = chosen.bin_size or BIN_SIZE
        if self.table_name != "trials":
            arguments["table"] = self.table_name
        if chosen.relative_to is not None:
            arguments["relative_to"] = chosen.relative_to
        if chosen.areas is not None:
            arguments["areas"] = list(chosen.areas)
        if chosen.quality is not None:
            arguments["quality"] = chosen.quality
        if chosen.trials is not None:
            arguments["trials"] = chosen.trials
        else:
            step = self.step
            if step > 1:
                rows = list(range(0, len(self.trials), step))
                arguments["trials"] = _code.Raw(f"list(range(0, {len(self.trials)}, {step}))", rows)
        return arguments

    @property
    def counts(self) -> SpikeCounts:
        """Counts around the event, with at least one window and one unit."""
        return self.once("counts", self._counts)

    def _counts(self) -> SpikeCounts:
        self.units  # noqa: B018 - raises the sentence about missing units
        with self.collect("counts"):
            counts = nwb.spike_counts(self.session, **_code.values(self.count_arguments))
        if not counts.n_trials:
            raise MissingPartError("No row of the table has a time to align to.")
        if not counts.n_units:
            raise MissingPartError("No unit is left after the choice of areas and quality.")
        return counts

    @property
    def step(self) -> int:
        """Take every n-th row where the counts of all rows would fill the memory."""
        window = self.options.window or WINDOW
        bins = max(1, round((window[1] - window[0]) / (self.options.bin_size or BIN_SIZE)))
        size = 4 * len(self.trials) * bins * len(self.units)
        return max(1, math.ceil(size / MAX_COUNTS_BYTES))

    def _choose_event(self) -> Event:
        self.trials  # noqa: B018 - raises the sentence about missing trials
        table = find_table(self.session, self.table_name)
        names = column_names(table)
        if self.options.align_to is not None:
            return self._as_event(self.options.align_to, "it was asked for")
        for target in ("t_go", "t_stim"):
            column = self._source(target)
            if column in names and self._usable(column):
                convention = self.behavior.attrs["convention"]
                word = "go cue" if target == "t_go" else "stimulus"
                return self._as_event(
                    column, f"it is the time of the {word} in the {convention} convention"
                )
        frame = self.trials
        for column in frame.columns:
            # every table has a start and a stop; an event of its own says more than either
            if column in ("start_time", "stop_time") or frame[column].dtype.kind != "f":
                continue
            if self._verdict(table, column) == "absolute" and self._usable(column):
                return self._as_event(
                    str(column), "it is the first column of event times on the session clock"
                )
        return self._as_event("start_time", "the table has no other event time that is certain")

    def _source(self, target: str) -> str:
        try:
            sources = self.behavior.attrs.get("sources", {})
        except MissingPartError:
            return ""
        return str(sources.get(target, ""))

    def _verdict(self, table: Any, column: str) -> str:
        try:
            return str(column_verdict(self.session, table, column).verdict)
        except ValueError:
            return ""

    def _usable(self, column: str) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nwb_warning())
            try:
                times = event_times(
                    self.session,
                    align_to=column,
                    table=self.table_name,
                    relative_to=self.options.relative_to or "auto",
                )[0]
            except ValueError:
                return False
        return bool(np.isfinite(times).any())

    def _as_event(self, column: str, why: str) -> Event:
        with warnings.catch_warnings():
            # the counts warn about a relative column themselves
            warnings.simplefilter("ignore", nwb_warning())
            alignment = event_times(
                self.session,
                align_to=column,
                table=self.table_name,
                relative_to=self.options.relative_to or "auto",
            )[2]
        return Event(
            column, alignment.verdict, alignment.reference or "", why, self._in_words(column)
        )

    def _in_words(self, column: str) -> str:
        from nb26stats.plotting._psth import spell

        if column not in ("start_time", "stop_time"):
            return spell(column)
        table = "trial" if self.table_name == "trials" else spell(self.table_name.split("/")[-1])
        return f"{table} {spell(column)}"

    # -- counts over the session --------------------------------------------------------------

    @property
    def span(self) -> tuple[float, int]:
        """First whole second with spikes, and the number of whole seconds up to the last spike."""

        def make() -> tuple[float, int]:
            first, last = self.units["t_first"].min(), self.units["t_last"].max()
            if not np.isfinite(first):
                raise MissingPartError("The units have no spikes.")
            start = float(math.ceil(first))
            seconds = math.floor(last - start)
            if seconds < 1:
                raise MissingPartError("The spikes span less than one second.")
            return start, seconds

        return self.once("span", make)

    def session_arguments(self, bin_size: float, seconds: float) -> dict[str, Any]:
        """Arguments of ``spike_counts`` for one window from the start of the spikes."""
        start, _ = self.span
        arguments: dict[str, Any] = {
            "align_to": [start],
            "window": (0.0, float(seconds)),
            "bin_size": float(bin_size),
        }
        if self.options.areas is not None:
            arguments["areas"] = list(self.options.areas)
        if self.options.quality is not None:
            arguments["quality"] = self.options.quality
        return arguments

    def counts_of(self, key: str, arguments: dict[str, Any]) -> SpikeCounts:
        """Return what ``spike_counts`` gives for these arguments, kept under ``key``."""
        return self.once(key, lambda: nwb.spike_counts(self.session, **_code.values(arguments)))


def nwb_warning() -> type[UserWarning]:
    """Return the class of this package's warnings."""
    from nb26stats._warnings import NB26StatsWarning

    return NB26StatsWarning


def no_trials(tables: dict[str, Any]) -> str:
    """Return the sentence for a file without a trial table."""
    if not tables:
        return "The file has no trial table and no other table with start and stop times."
    names = [f"{cut(name, 60)} ({plural(len(t), 'row')})" for name, t in tables.items()]
    largest = max(tables, key=lambda name: len(tables[name]))
    return (
        "The file has no trial table. Its tables with start and stop times: "
        f"{listing(names)}. To align to one of them, add "
        f"--table {cut(largest, 60)} to the command."
    )


def sentence(err: BaseException) -> str:
    """Return an error as one sentence."""
    text = cut(str(err) or type(err).__name__)
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else text + "."
