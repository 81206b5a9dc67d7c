"""One canonical table of stimuli, choices and rewards from differently written files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_bool, as_choice
from nb26stats._warnings import warn

from ._align import column_verdict
from ._behavior_columns import Columns, Draft, Floats
from ._conventions import NAMES, detect
from ._mapping import TIMES, read_mapping
from ._session import Session, as_session
from ._sides import SideCheck, check_sides, correct_choices, measure_agreement
from ._tables import find_table, row_ids

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "trial",
    "stim_left",
    "stim_right",
    "stim_side",
    "signed_contrast",
    "choice",
    "choice_raw",
    "correct",
    "reward",
    *TIMES,
    "probability_left",
    "include",
    "photostim",
)
"""The canonical columns, in order."""


def behavior(
    s: Any,
    convention: str = "auto",
    mapping: Mapping[str, Any] | None = None,
    *,
    table: str = "trials",
    check: bool = True,
) -> pd.DataFrame:
    """Return stimulus, choice, reward and event times of each trial in one canonical form.

    Files name and code the same things differently; some even write 'left' for a leftward turn of
    the wheel that reports a stimulus on the right. This function knows the published conventions,
    accepts any other table through ``mapping``, and checks the sides against the rewards.

    Parameters
    ----------
    s : str, path, Session or pynwb.NWBFile
        Where the trials are.
    convention : {"auto", "ibl", "ibl_legacy", "steinmetz", "alm", "aibs_change"}, default="auto"
        How to read the table: ``'auto'`` takes the one convention whose columns are all there.
    mapping : dict, optional
        Canonical name -> where it is: ``'column'``, or ``('column', {stored value: meaning})``,
        or, for contrasts and ``probability_left``, ``('column', factor)``. ``choice`` is needed;
        the rest may be left out: ``reward``, ``stim_left`` with ``stim_right``, or ``contrast``
        with ``stim_side``, or ``signed_contrast``; ``stim_side``, ``correct``, ``include``,
        ``photostim``, ``probability_left``, ``t_stim``, ``t_go``, ``t_response``, ``t_feedback``
        (a time may be ``('column', 'session')`` or ``('column', 'column it counts from')``).
        With a mapping nothing else is read, whatever ``convention`` says.
    table : str, default="trials"
        Name of the interval table.
    check : bool, default=True
        Whether to compare the sides of the choices with the rewards. False keeps the sides as
        they are written, whatever the agreement.

    Returns
    -------
    pandas.DataFrame
        One row per trial in file order, index ``id``, columns

        - ``trial``: row position, from 0;
        - ``stim_left``, ``stim_right``: contrast from 0 to 1 (NaN in a task without contrasts);
        - ``stim_side``: ``'left'``, ``'right'`` or ``'none'``; ``signed_contrast``: right - left;
        - ``choice``: the side REPORTED, ``'left'``, ``'right'`` or ``'none'`` (``'lick'`` or
          ``'none'`` in a task without sides); ``choice_raw``: as stored;
        - ``correct``: nullable boolean, missing where choice or side is undefined;
        - ``reward``: 1.0, 0.0 or NaN (unknown);
        - ``t_stim``, ``t_go``, ``t_response``, ``t_feedback``: seconds on the session clock;
        - ``probability_left``; ``include``: bool, True unless the file excludes the trial;
          ``photostim``: bool.

        What a file does not tell is NaN or missing. ``attrs`` holds ``convention``, ``sources``
        (canonical -> file column), ``agreement`` (share of trials on which choice, side and reward
        fit together), ``agreement_trials``, ``agreement_note``, ``flipped`` (with
        ``agreement_before`` the swap), ``file``, ``identifier``, ``session``, ``subject``,
        ``session_start_time`` and ``table``.

    Raises
    ------
    ConventionError
        No convention fits; the message lists what each lacks. Also for a stored choice that the
        convention does not know.
    ValueError
        The sides neither agree nor disagree with the rewards, contrasts out of range, or a bad
        ``mapping``.
    MissingTableError, MissingColumnError
        ``table``, or a column named in ``mapping``, does not exist.
    TypeError
        An argument is of the wrong kind.

    Notes
    -----
    Side check: over trials with a reported side, a stimulus side and a known reward, the share in
    which "choice equals stimulus side" equals "rewarded". At least 95 % keeps the sides, at most
    5 % swaps left and right with a warning; anything between is an error that asks for ``mapping``.
    With fewer than 20 such trials only full agreement passes. The check does not apply to ``alm``
    (choice is derived from side and outcome) and ``aibs_change`` (no sides).

    Time columns may count from the session's or from each trial's start; the rule that
    :func:`spike_counts` applies to ``relative_to='auto'`` decides, column by column, and a column
    it cannot decide becomes NaN with a warning.

    Examples
    --------
    >>> import nb26stats.nwb as nbn
    >>> from nb26stats import datasets
    >>> bh = nbn.behavior(datasets.path("sub_anm00239123_ses_20170627T093549_ecephys_and_ogen"))
    >>> bh.attrs["convention"]
    'alm'
    >>> bh["choice"].value_counts()[["left", "right", "none"]].tolist()
    [157, 98, 157]
    >>> int(bh["correct"].sum()), int(bh["correct"].notna().sum())
    (175, 255)
    """
    as_bool(check, "check")
    as_choice(convention, "convention", ("auto", *NAMES))
    with as_session(s) as session:
        source = find_table(session, table)
        columns = Columns(source)
        if mapping is not None:
            draft, times = read_mapping(columns, mapping)
            name, unchecked, derive = "mapping", "", None
        else:
            known = detect(columns, table, convention)
            draft = known.read(columns, known)
            found = {t: columns.find(spellings) for t, spellings in known.times.items()}
            times = {t: (column, "auto") for t, column in found.items() if column is not None}
            name, unchecked, derive = known.name, known.unchecked, known.correct
        outcome = _checked_sides(draft, columns, unchecked=unchecked, check=check)
        if draft.correct is None:
            draft.correct = (
                derive(draft) if derive else correct_choices(draft.choice, draft.stim_side)
            )
        clocks = _event_times(session, columns, times)
        frame = _frame(columns, draft, draft.correct, clocks)
        frame.attrs.update(
            convention=name,
            sources=dict(columns.sources),
            agreement=outcome.agreement,
            agreement_trials=outcome.n_trials,
            agreement_note=outcome.note,
            flipped=outcome.flipped,
            table=table,
            **_origin(session),
        )
        if outcome.flipped:
            frame.attrs["agreement_before"] = outcome.before
        return frame


def _checked_sides(draft: Draft, columns: Columns, *, unchecked: str, check: bool) -> SideCheck:
    """Apply the side check to the draft, swapping its choices where that is called for."""
    if unchecked:
        return SideCheck(float("nan"), 0, False, float("nan"), f"not checked: {unchecked}")
    if not check:
        agreement, n = measure_agreement(draft.choice, draft.stim_side, draft.reward)
        return SideCheck(agreement, n, False, agreement, "not acted on: check=False")
    stored = sorted({str(value) for value in draft.choice_raw})
    draft.choice, outcome = check_sides(
        draft.choice,
        draft.stim_side,
        draft.reward,
        column=columns.sources["choice"],
        values=", ".join(stored[:8]) + (", …" if len(stored) > 8 else ""),
    )
    return outcome


def _event_times(
    session: Session, columns: Columns, times: Mapping[str, tuple[str, str]]
) -> dict[str, Floats]:
    """Return each event's times on the session clock; one warning for each kind of doubt."""
    out: dict[str, Floats] = {}
    relative: list[str] = []
    undecided: list[str] = []
    for target, (column, reference) in times.items():
        columns.note(target, column)
        try:
            values = columns.numbers(column)
            if reference not in ("auto", "session"):
                values = values + columns.numbers(reference)
        except ValueError as err:
            undecided.append(f"{target} ({err})")
            continue
        if reference == "auto" and np.isfinite(values).any():
            found = column_verdict(session, columns.table, column)
            if found.verdict == "undecided":
                undecided.append(f"{target} ({found.note.split('; ')[0]})")
                continue
            if found.reference is not None:
                values = values + columns.numbers(found.reference)
                relative.append(
                    f"{column!r} ({found.fr:.1%} of rows then lie in their trial, {found.fa:.1%} "
                    "as they stand)"
                )
        out[target] = np.where(np.isfinite(values), values, np.nan)
    if relative:
        warn(
            f"read as relative to start_time: {', '.join(relative)}; the behaviour table holds "
            "times on the session clock"
        )
    if undecided:
        warn(
            f"event times left as NaN, because what they count from is unclear: "
            f"{'; '.join(undecided)}. mapping= can say so: t_go=('column', 'start_time')"
        )
    return out


def _frame(
    columns: Columns, draft: Draft, correct: Floats, clocks: Mapping[str, Floats]
) -> pd.DataFrame:
    import pandas as pd

    n = columns.n_rows
    missing = np.full(n, np.nan)
    data: dict[str, Any] = {
        "trial": np.arange(n, dtype=np.int64),
        "stim_left": draft.stim_left,
        "stim_right": draft.stim_right,
        "stim_side": pd.array(list(draft.stim_side), dtype=_text_dtype()),
        "signed_contrast": draft.stim_right - draft.stim_left,
        "choice": pd.array(list(draft.choice), dtype=_text_dtype()),
        "choice_raw": draft.choice_raw,
        "correct": pd.array([pd.NA if np.isnan(v) else bool(v) for v in correct], dtype="boolean"),
        "reward": draft.reward,
        **{name: clocks.get(name, missing) for name in TIMES},
        "probability_left": draft.probability_left,
        "include": draft.include == 1.0,
        "photostim": draft.photostim == 1.0,
    }
    index = pd.Index(row_ids(columns.table), name="id")
    return pd.DataFrame(data, index=index, columns=list(COLUMNS))


def _text_dtype() -> Any:
    """Return the text type of the installed pandas, also for an empty table."""
    import pandas as pd

    return pd.Series(["text"]).dtype


def _origin(session: Session) -> dict[str, Any]:
    """Return which animal and session the file is about, as plain values."""
    nwb = session.nwbfile
    subject = getattr(nwb.subject, "subject_id", None) if nwb.subject is not None else None
    start = nwb.session_start_time
    stem = session.path.name.removesuffix(".nwb") if session.path is not None else None
    return {
        "file": str(session.path) if session.path is not None else None,
        "identifier": str(nwb.identifier),
        "session": str(nwb.session_id or stem or nwb.identifier),
        "subject": str(subject) if subject else None,
        "session_start_time": start.isoformat() if start is not None else None,
    }
