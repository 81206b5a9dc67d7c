"""Section: what the animal did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _code
from ._context import MissingPartError
from ._figures import png_of
from ._parts import Builder, Figure, cut, plural

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context
    from ._parts import Section

_BAND = "Bars: 95 % Wilson intervals, which take trials as independent."


def section(context: Context) -> Section:
    """Return choices by contrast and accuracy along the session."""
    out = Builder("behavior", "Behaviour", line="behaviour")
    try:
        table = context.behavior
    except MissingPartError as gap:
        return out.missing(str(gap), "No behaviour was read.")
    attrs = table.attrs
    side = table["choice"].astype(object)
    counts = ", ".join(
        f"{word} {int((side == word).sum())}"
        for word in dict.fromkeys(["left", "right", *side])
        if (side == word).any()
    )
    out.say(
        f"The columns are those of the '{attrs['convention']}' convention. "
        f"Choices of {plural(len(table), 'trial')}: {cut(counts, 200)}. {_agreement(attrs)}"
    )
    # which clock the times are on matters to the figures before this one, not here
    doubts = context.warnings.get("behavior", [])
    out.warn([text for text in doubts if not text.startswith("Read as relative")])
    accuracy = _accuracy(context, out, table)
    psychometric = _psychometric(context, out, table)
    out.finding = f"{accuracy} {psychometric}".strip()
    if not (accuracy or psychometric):
        out.gap = "No accuracy: no trial has an outcome."
    return out.done()


def _agreement(attrs: dict[Any, Any]) -> str:
    value = attrs.get("agreement", float("nan"))
    if np.isfinite(value):
        return (
            f"Choice, stimulus side and reward agree on {100 * value:.1f} % of "
            f"{plural(int(attrs.get('agreement_trials', 0)), 'trial')}."
        )
    note = str(attrs.get("agreement_note", "")).removeprefix("not checked: ")
    return f"Whether sides and rewards agree was not checked: {cut(note)}." if note else ""


def _accuracy(context: Context, out: Builder, table: pd.DataFrame) -> str:
    from nb26stats import plotting

    numbers = plotting.accuracy_blocks(table)
    if not len(numbers):
        out.say("No trial has an outcome, so there is no accuracy to show.")
        return ""
    sides = bool(table["choice"].astype(object).isin(["left", "right"]).any())
    outcome = numbers.attrs["outcome"]
    chance = 0.5 if sides and outcome == "correct" and not _three_way(table) else None
    hits, n = int(numbers["n_correct"].sum()), int(numbers["n_trials"].sum())
    word = "correct" if outcome == "correct" else "rewarded"
    finding = f"{100 * hits / n:.1f} % of {plural(n, 'trial')} {word}."
    left_out = _left_out(table)
    out.say(finding + (f" Left out: {left_out}." if left_out else ""))
    size = int(numbers["n_trials"].iloc[0])
    arguments = {} if context.table_name == "trials" else {"table": context.table_name}
    lines = [
        _code.call("trials", "nwb.behavior", arguments),
        "numbers = plotting.accuracy_blocks(trials)",
        "with plotting.style():",
        f"    ax = plotting.plot_accuracy(numbers{'' if chance is None else ', chance=0.5'})",
    ]
    out.add(
        Figure(
            "accuracy",
            png_of(lambda: plotting.plot_accuracy(numbers, chance=chance)),
            alt=f"Share of {word} trials in {plural(len(numbers), 'block')} along the session.",
            caption=f"Each point is a block of {size} trials in a row that share none with the "
            f"others ({plural(n, 'trial')} of one animal). {_BAND}"
            + (" Line: chance, one of two sides." if chance is not None else ""),
            code=_code.block(context.path, lines),
            numbers=numbers,
        )
    )
    return finding


def _three_way(table: pd.DataFrame) -> bool:
    """Whether staying still can be right, so that one half is not chance."""
    none = (table["choice"].astype(object) == "none").to_numpy()
    return bool((none & table["correct"].notna().to_numpy()).any())


def _left_out(table: pd.DataFrame) -> str:
    parts = []
    clean = table["include"].fillna(False).to_numpy(dtype=bool)
    light = table["photostim"].fillna(False).to_numpy(dtype=bool)
    outcome = "reward" if bool(table["correct"].isna().all()) else "correct"
    known = table[outcome].notna().to_numpy()
    for n, what in (
        (int((~clean).sum()), "that the file excludes"),
        (int((clean & light).sum()), "with photostimulation"),
        (int((clean & ~light & ~known).sum()), "without a choice or an outcome"),
    ):
        if n:
            parts.append(f"{plural(n, 'trial')} {what}")
    return ", ".join(parts)


def _psychometric(context: Context, out: Builder, table: pd.DataFrame) -> str:
    from nb26stats import plotting

    numbers = plotting.psychometric_points(table)
    if len(numbers) < 2:
        out.say(
            "There is no psychometric curve: "
            + (
                "the trials have no contrasts."
                if table["signed_contrast"].isna().all()
                else "choices of a side were made at fewer than two contrasts."
            )
        )
        return ""
    low, high = numbers.iloc[0], numbers.iloc[-1]
    finding = (
        f"Choices to the right: {100 * low['p_right']:.0f} % at contrast "
        f"{100 * numbers.index[0]:g} %, {100 * high['p_right']:.0f} % at "
        f"{100 * numbers.index[-1]:g} %."
    )
    out.say(finding)
    arguments = {} if context.table_name == "trials" else {"table": context.table_name}
    lines = [
        _code.call("trials", "nwb.behavior", arguments),
        "numbers = plotting.psychometric_points(trials)",
        "with plotting.style():",
        "    ax = plotting.plot_psychometric(numbers)",
    ]
    n = int(numbers["n_trials"].sum())
    out.add(
        Figure(
            "psychometric",
            png_of(lambda: plotting.plot_psychometric(numbers)),
            alt=f"Share of choices to the right at {len(numbers)} contrasts. {finding}",
            caption=f"Each point is the share of choices to the right at one contrast (right minus "
            f"left), over {plural(n, 'trial')} with a choice of a side. {_BAND} Grey lines: equal "
            "contrasts, and one half.",
            code=_code.block(context.path, lines),
            numbers=numbers,
        )
    )
    return finding
