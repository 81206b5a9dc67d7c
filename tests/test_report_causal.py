"""The section on light: whom it names, and what it says where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from causal_files import light_file
from test_report import NAMELESS, RIPPLES, THALAMUS, run_code

from nb26stats import datasets, report
from nb26stats.nwb._session import as_session
from nb26stats.report import causal
from nb26stats.report._build import assemble
from nb26stats.report._context import Context
from nb26stats.report._options import make_options
from nb26stats.report._parts import Figure, Section, Sentence, Table


def alone(path: Path, **choices: Any) -> Section:
    """The section, made without the others."""
    with as_session(path) as session:
        context = Context(session, str(path), make_options(**choices))
        context.check()
        return causal.section(context)


def words(section: Section) -> str:
    return " ".join(part.text for part in section.parts if isinstance(part, Sentence))


def figure_of(section: Section) -> Figure:
    (figure,) = [part for part in section.parts if isinstance(part, Figure)]
    return figure


@pytest.fixture(scope="module")
def thalamus() -> Section:
    return alone(datasets.path(THALAMUS))


# ---- a real session ----------------------------------------------------------------------------
def test_a_session_in_which_nobody_can_be_named(thalamus: Section) -> None:
    assert thalamus.title == "In which trials light changed firing in the delay"
    assert thalamus.finding == (
        "None of 63 trials with light can be named as changed in the delay, at a false discovery "
        "rate of 0.1."
    )
    # as the notebook on responders finds it by hand
    assert (
        "the square root of the rate in the delay is -0.02 √(spikes/s) (90 % limits -0.24 to 0.20)"
        in words(thalamus)
    )
    caption = figure_of(thalamus).caption
    assert "63 trials with light against 221 without" in caption
    assert "unit 4, of 4 units in the delay (1.3 s)" in caption
    assert "light has no after-effect" in words(thalamus)


def test_placebos_say_what_could_have_been_seen(thalamus: Section) -> None:
    (table,) = [part.frame for part in thalamus.parts if isinstance(part, Table)]
    assert table["changed in the delay"].tolist() == [
        "nothing",
        "all spikes gone",
        "five times as many",
    ]
    nothing, gone, more = (row for _, row in table.iterrows())
    assert nothing["named"] == 0
    assert more["rightly"] > 0.7 * more["trials changed"]
    assert more["rightly"] > gone["rightly"]
    assert (table["rightly"] <= table["named"]).all()


def test_the_code_gives_the_numbers(thalamus: Section) -> None:
    figure = figure_of(thalamus)
    assert len(figure.numbers) == 63
    space = run_code(figure.code)
    pd.testing.assert_frame_equal(space["numbers"], figure.numbers, check_exact=True)
    assert space["ax"].get_ylabel() == "trials with light"
    plt.close("all")


# ---- files in which the truth is known ---------------------------------------------------------
@pytest.mark.parametrize("epoch", ["delay", "sample"])
def test_changed_trials_are_named(tmp_path: Path, epoch: str) -> None:
    path, changed = light_file(tmp_path / "light.nwb", epoch=epoch)
    section = alone(path)
    assert section.title == f"In which trials light changed firing in the {epoch}"
    numbers = figure_of(section).numbers
    named = numbers.index[numbers["named"]].to_numpy()
    usable = changed & (np.arange(len(changed)) % 20 != 7)
    assert changed[named].mean() >= 0.8
    assert len(np.intersect1d(named, np.flatnonzero(usable))) >= 0.8 * usable.sum()
    n = len(numbers)
    assert section.finding.startswith(f"Of {n} trials with light {len(named)} are named as changed")
    space = run_code(figure_of(section).code)
    pd.testing.assert_frame_equal(space["numbers"], numbers, check_exact=True)
    plt.close("all")


def test_light_that_does_nothing(tmp_path: Path) -> None:
    path, _ = light_file(tmp_path / "light.nwb", gain=0.0)
    assert alone(path).finding.startswith("None of")


def test_the_epoch_that_is_assumed_is_said(tmp_path: Path) -> None:
    path, _ = light_file(tmp_path / "light.nwb", without=("photo_stim_period",))
    assert "does not say when the light was on; the delay is assumed" in words(alone(path))


# ---- what cannot be said -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"share": 0.0}, "No trial is marked as having light."),
        ({"share": 0.05}, "needs 30 trials or more with light"),
        (
            {"without": ("pole_in_time", "pole_out_time")},
            "When the light was on cannot be told: the table has no times of sample and delay.",
        ),
        ({"lost": True}, "None of 1 unit fires both in the first and in the last trials"),
    ],
)
def test_why_there_is_nothing(tmp_path: Path, choices: dict[str, Any], said: str) -> None:
    section = alone(light_file(tmp_path / "light.nwb", **choices)[0])
    assert said in words(section)
    assert not [part for part in section.parts if isinstance(part, Figure)]
    # no light is nothing to regret
    assert (section.gap == "") == (choices == {"share": 0.0})


@pytest.mark.parametrize("name", [RIPPLES, NAMELESS])
def test_files_without_trials(name: str) -> None:
    section = alone(datasets.path(name))
    assert section.finding == ""
    assert words(section).startswith("Which trials light changed needs trials")
    assert "no behaviour to read" in words(section)


def test_chosen_alone_and_as_json() -> None:
    made = assemble(datasets.path(THALAMUS), make_options(sections=["causal"]), strict=True)
    assert isinstance(made, report.Report)
    (section,) = json.loads(made.json)["sections"]
    assert section["key"] == "causal"
    assert {"text", "warning", "figure", "table"} <= {part["kind"] for part in section["parts"]}
    assert list(made.numbers) == ["causal"]
    assert made.html.count("<figure") == 1
