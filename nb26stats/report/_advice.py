"""What to do about a warning, in plain words."""

from __future__ import annotations

ADVICE = (
    (
        "have no time in",
        "That is right where a trial had no such event; otherwise choose another column with "
        "--align.",
    ),
    (
        "relative to start_time",
        "If the event looks misplaced in the figures, say --relative-to session.",
    ),
    (
        "not ascending",
        "Nothing needs doing here; other programs may count such spikes wrongly.",
    ),
    (
        "before the first or end after",
        "Leave such rows out with --trials, or choose a shorter --window.",
    ),
    (
        "no spike can fall",
        "Try --relative-to start_time, or another column with --align.",
    ),
    (
        "NaN or infinite",
        "Ask whoever sorted the spikes where they come from.",
    ),
    (
        "bin edges cannot be exact",
        "Take wider bins with --bin, or ask for the times in double precision.",
    ),
    (
        "samples or milliseconds",
        "Compare the units' first and last spike with the times of the trials.",
    ),
    (
        "start not forgotten",
        "Take the bars as rough: the recording is short for components this close in variance.",
    ),
    (
        "not resolved",
        "The last component shown may as well be the next one: read it with care.",
    ),
    (
        "error too large",
        "Take the components as a first look: the recording is too short to fix their directions.",
    ),
    (
        "are not separated",
        "Read them together, not one by one: turning one into the other fits about as well.",
    ),
    (
        "rank of the data",
        "Some components shown have no variance: leave them aside.",
    ),
    (
        "units are constant and left out",
        "Nothing needs doing: they fired alike in all bins of all these trials.",
    ),
    (
        "rows in an arm",
        "Do not read a rate of errors to the digit, and see what so few trials could have shown.",
    ),
    (
        "were swapped",
        "The figures use the swapped sides; nwb.behavior(path, mapping=...) overrides them.",
    ),
)


def advised(text: str) -> str:
    """Return a warning as a sentence, followed by what to do about it."""
    text = text[:1].upper() + text[1:]
    if not text.endswith((".", "!", "?", "…")):
        text += "."
    for mark, advice in ADVICE:
        if mark.casefold() in text.casefold():
            return f"{text} {advice}"
    return text
