"""The section on two areas: what it shows, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import information_files
import matplotlib.pyplot as plt
import numpy as np
import nwb_files
import pandas as pd
import pytest
from nwb_pieces import make as new_file
from nwb_pieces import trial_table, units_table, write
from test_report import (
    ALM,
    NAMELESS,
    RIPPLES,
    THALAMUS,
    check_code,
    check_safe,
    make,
    run_code,
    section_text,
    shipped,
)

from nb26stats import report
from nb26stats.nwb._session import as_session
from nb26stats.report import information
from nb26stats.report._context import Context, MissingPartError
from nb26stats.report._information_fit import (
    dimensions_of,
    named,
    two_or_why_not,
    usable,
)
from nb26stats.report._options import make_options
from nb26stats.report._parts import Figure, Sentence

TERMS = ["mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> report.Report:
    return make(information_files.two_areas(tmp_path_factory.mktemp("two") / "file.nwb"))


def alone(path: Path, **choices: Any) -> tuple[str, Figure | None]:
    """The text of this section, made without the others, and its figure."""
    with as_session(path) as session:
        context = Context(session, str(path), make_options(**choices))
        context.check()
        made = information.section(context)
    texts = [part.text for part in made.parts if isinstance(part, Sentence)]
    figures = [part for part in made.parts if isinstance(part, Figure)]
    return " ".join([made.title, *texts]), figures[0] if figures else None


def check_block(figure: Figure | None) -> pd.DataFrame:
    """Run the code of a figure and return its numbers, which are those of the page."""
    assert figure is not None
    space = run_code(figure.code)
    pd.testing.assert_frame_equal(space["numbers"], figure.numbers, check_exact=True)
    plt.close("all")
    return figure.numbers


# ---- a file that can give it -------------------------------------------------------------------
def test_cue_and_choice_are_found_where_and_when_they_are(page: report.Report) -> None:
    numbers = page.numbers["information"]
    assert list(numbers.columns) == TERMS
    assert len(numbers) == 15
    at = numbers.index.to_numpy()
    cue, choice = (at > -0.01) & (at < 0.45), (at > 0.25) & (at < 0.85)
    before, after = at < -0.05, at > 0.85
    assert numbers["unique_1"][cue].min() > 0.3
    assert numbers["unique_2"][choice].min() > 0.3
    # nobody knows both and nothing needs both; bounds are those of 228 trials
    assert numbers[["redundancy", "synergy"]].abs().max().max() < 0.08
    assert numbers[before | after].abs().max().max() < 0.08
    text = section_text(page, "information")
    assert text.startswith("What VISp and MOs tell about the cue and choice")
    assert (
        "from 0 s on. Significant parts: unique to VISp from 0 s, unique to MOs from 0.3 s." in text
    )
    assert "of 228 trials" in text
    assert "5 units in VISp and 4 in MOs, in bins of 100 ms" in text
    assert "499 permutations" in text


def test_the_code_gives_the_numbers_and_the_figure(page: report.Report) -> None:
    check_code(page)
    check_safe(page)


def test_areas_that_tell_nothing(tmp_path: Path) -> None:
    text, _ = alone(information_files.two_areas(tmp_path / "file.nwb", gain=0.0))
    assert "tell nothing about the cue and choice that stands out from permuted trials" in text


def test_a_choice_that_follows_the_cue_is_one_number(tmp_path: Path) -> None:
    text, figure = alone(information_files.two_areas(tmp_path / "file.nwb", errors=0.0))
    assert text.startswith("What VISp and MOs tell about the choice")
    assert "by construction only the area that tells more has a unique part" in text
    numbers = check_block(figure)
    assert np.minimum(numbers["unique_1"], numbers["unique_2"]).abs().max() < 0.05


def test_the_two_largest_of_three_areas_and_choices_of_the_caller(tmp_path: Path) -> None:
    path = information_files.two_areas(tmp_path / "file.nwb", third=True)
    text, _ = alone(path)
    assert text.startswith("What VISp and MOs tell")
    assert "the two areas with the most units, of 3" in text
    chosen, figure = alone(path, areas=["CA1", "MOs"], window=(-0.2, 0.6), bin_size=0.2)
    assert chosen.startswith("What MOs and CA1 tell")
    assert check_block(figure).index.tolist() == pytest.approx([-0.2, 0.0, 0.2, 0.4])
    one, _ = alone(path, areas="MOs")
    assert "needs units in two named areas; here is one (MOs with 4 units)" in one


def test_names_with_markup_and_a_silent_unit(tmp_path: Path) -> None:
    names = {"VISp": "<b>left-V1</b> $x$", "MOs": "(a,b)-c"}
    path = information_files.two_areas(tmp_path / "file.nwb", silent=True, where=names)
    result = make(path)
    check_safe(result)
    text = section_text(result, "information")
    assert text.startswith("What <b>left-V1</b> $x$ and (a,b)-c tell about the cue and choice")
    assert "1 of 5 units are constant and left out" in text
    assert "Nothing needs doing: they fired alike" in text
    assert section_text(result, "information").count("left out") == 1


# ---- files that cannot -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (RIPPLES, "Here are 2 areas (ca1 with 8 units, adn with 7 units), but no trials"),
        (NAMELESS, "needs units in two named areas; here is none."),
        (ALM, "here is one (ALM with 1 unit)."),
        (THALAMUS, "here is one (Thalamus with 4 units)."),
    ],
)
def test_shipped_files_say_why_not(name: str, words: str) -> None:
    result = shipped(name)
    assert words in section_text(result, "information")
    assert "information" not in result.numbers
    limits = dict(result.lines)["Limits"]
    reason = "no trials" if name == RIPPLES else "fewer than two are named"
    assert f"No information of two areas: {reason}." in limits


def test_too_few_trials(tmp_path: Path) -> None:
    text, figure = alone(information_files.two_areas(tmp_path / "file.nwb", n_trials=60))
    assert "needs 100 trials or more with a choice of a side" in text
    assert "here are 57" in text
    assert figure is None


def test_trials_without_choices_and_files_without_units(tmp_path: Path) -> None:
    nwb = new_file()
    nwb.trials = trial_table({"cue_time": np.array([1.0, 3.0, 5.0])})
    nwb.units = units_table([[0.5, 2.0], [1.0, 4.0]], {"location": ["A", "B"]})
    text, _ = alone(write(nwb, tmp_path / "file.nwb"))
    assert "fit none of the behaviour conventions" in text
    text, _ = alone(nwb_files.without_units(tmp_path / "none.nwb"))
    assert "There are no units" in text


# ---- pieces ------------------------------------------------------------------------------------
def rows(n: int = 200, **columns: object) -> pd.DataFrame:
    side = np.where(np.arange(n) % 2 == 0, "left", "right")
    frame = pd.DataFrame({"choice": side, "stim_side": side, "include": True, "photostim": False})
    return frame.assign(**columns)


def test_cues_that_choices_follow_are_left_out() -> None:
    keep, columns = usable(rows())
    assert keep.all()
    assert columns == ("choice",)
    cue = np.where(np.arange(200) % 3 == 0, "left", "right")
    assert usable(rows(stim_side=cue))[1] == ("stim_side", "choice")
    # a task without cued sides
    assert usable(rows(stim_side="none"))[1] == ("choice",)


def test_excluded_lit_and_missed_trials_do_not_count() -> None:
    k = np.arange(200)
    keep, _ = usable(rows(include=k > 10, photostim=k > 180))
    np.testing.assert_array_equal(np.flatnonzero(keep), np.arange(11, 181))
    with pytest.raises(MissingPartError, match="here are 0"):
        usable(rows(choice="none"))
    few = np.where(k < 4, "left", "right")
    with pytest.raises(MissingPartError, match="10 trials or more of each side; here are 4"):
        usable(rows(choice=few))


@pytest.mark.parametrize(
    ("trials", "features", "size"), [(100, 2, 4), (228, 2, 10), (60, 2, 2), (12, 1, 1)]
)
def test_components_leave_ten_trials_for_each_dimension(
    trials: int, features: int, size: int
) -> None:
    assert dimensions_of(trials, features) == size
    if size > 1:
        assert trials >= 10 * (2 * size + features)


def test_areas_without_a_name_do_not_count() -> None:
    assert list(named({"unknown": 9, "A": 1, "B": 3, "mixed": 5, "C": 0})) == ["B", "A"]
    assert two_or_why_not({"A": 1, "B": 3}) == ("B", "A")
    with pytest.raises(MissingPartError, match="here is none"):
        two_or_why_not({"Unknown": 4})
