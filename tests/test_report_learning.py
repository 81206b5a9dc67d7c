"""The section on learning: what it shows, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import behavior_files
import numpy as np
import pandas as pd
import pytest
from nwb_pieces import write
from test_report import ALM, RIPPLES, THALAMUS, check_code, check_safe, make, section_text, shipped

from nb26stats import report
from nb26stats.nwb._session import as_session
from nb26stats.report import _learning_fit, learning
from nb26stats.report._context import Context
from nb26stats.report._learning_fit import animal_of, power_sentence, window_of
from nb26stats.report._options import make_options
from nb26stats.report._parts import Figure, Sentence

NETWORKS = ["1L", "2L", "2NL"]


def session_file(path: Path, *, n: int = 400, learns: bool = True, seed: int = 0) -> Path:
    """A file whose animal follows the stimulus from the start, or more and more."""
    rng = np.random.default_rng(seed)
    contrast = rng.choice([12.5, 25.0, 100.0], n)
    right = rng.random(n) < 0.5
    skill = np.linspace(0.5, 0.97, n) if learns else np.full(n, 0.75)
    correct = rng.random(n) < skill
    columns = behavior_files.ibl_columns(
        n,
        gabor_stimulus_contrast=contrast.tolist(),
        gabor_stimulus_side=np.where(right, "right", "left").tolist(),
        mouse_wheel_choice=np.where(right == correct, "counter_clockwise", "clockwise").tolist(),
        is_mouse_rewarded=correct.tolist(),
    )
    return write(behavior_files.trial_file(columns), path)


def alone(path: Path, **choices: Any) -> tuple[str, str, list[Figure]]:
    """The text of this section, made without the others, its gap and its figures."""
    with as_session(path) as session:
        context = Context(session, str(path), make_options(**choices))
        context.check()
        made = learning.section(context)
    texts = [part.text for part in made.parts if isinstance(part, Sentence)]
    return " ".join(texts), made.gap, [p for p in made.parts if isinstance(p, Figure)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> report.Report:
    return make(session_file(tmp_path_factory.mktemp("learning") / "file.nwb"))


def test_an_animal_that_improves_is_said_to_learn(page: report.Report) -> None:
    text = section_text(page, "learning")
    assert "show that the animal changed: the AIC of a network that learns" in text
    assert "Of 20 sessions simulated from the fitted 2NL" in text
    assert "A network with more layers can imitate one with fewer" in text
    assert "show that the animal changed" in dict(page.lines)["Behaviour"]
    numbers = page.numbers["learning"]
    assert list(numbers.index) == NETWORKS
    assert numbers["daic"].min() == 0
    curve = page.numbers["learning_curve"]
    assert len(curve) == 8
    assert curve["accuracy"].iloc[-1] > curve["accuracy"].iloc[0] + 0.2
    assert (curve["accuracy_low"] <= curve["accuracy_high"]).all()


def test_the_code_gives_the_numbers_and_the_figures(page: report.Report) -> None:
    check_code(page)
    check_safe(page)


def test_an_animal_that_stays_as_it_is_is_said_to_stay(tmp_path: Path) -> None:
    text, gap, figures = alone(session_file(tmp_path / "file.nwb", learns=False, seed=3))
    assert "do not show learning: a network whose weights stay as they are" in text
    assert not gap
    assert [f.name for f in figures] == ["learning", "learning_curve"]
    assert "and a constant" in figures[0].caption


def test_a_session_with_too_few_trials_says_how_many_it_would_take(tmp_path: Path) -> None:
    text, gap, figures = alone(session_file(tmp_path / "file.nwb", n=150))
    assert "needs 200 trials or more" in text
    assert "here are 150" in text
    assert gap == "Learning: too few trials, or none that could tell of it."
    assert not figures


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (RIPPLES, "There are no trials, so there is no behaviour to read."),
        (ALM, "needs 200 trials or more with a choice of a side"),
        (THALAMUS, "do not show learning: a network whose weights stay as they are"),
    ],
)
def test_shipped_files(name: str, words: str) -> None:
    assert words in section_text(shipped(name), "learning")


def test_cues_that_add_up_to_a_constant_need_none() -> None:
    n = 240
    side = np.arange(n) % 2
    data: dict[str, Any] = {
        "stimulus": np.column_stack([1.0 - side, side]),
        "choice": (np.arange(n) % 3 == 0).astype(np.int8),
        "reward": (np.arange(n) % 4 < 2).astype(np.int8),
        "likelihood_mask": np.ones(n, bool),
    }
    np.testing.assert_array_equal(animal_of(data)["X"], data["stimulus"])
    contrast = {**data, "stimulus": data["stimulus"] * 0.25}
    contrast["stimulus"][:5] = 0.0
    assert animal_of(contrast)["X"].shape == (n, 3)
    for key, words in (("choice", "choices of each side"), ("reward", "without a reward")):
        same = {**data, key: np.ones(n, np.int8)}
        with pytest.raises(ValueError, match=f"{words} or more; here are 0"):
            animal_of(same)


def test_windows_and_words_follow_the_numbers() -> None:
    assert [window_of(n) for n in (100, 400, 1000)] == [20, 50, 125]
    for power, words in (
        ((0, 0), ""),
        ((20, 2), "would seldom show two layers"),
        ((20, 15), "often shows two layers"),
        ((20, 20), "shows two layers where there are two as here"),
    ):
        assert words in power_sentence(fit_of(power=power))


def fit_of(power: tuple[int, int] = (20, 2), **columns: Any) -> Any:
    """A fit made by hand: 2L best, 2NL tied, 1L far off."""
    from types import SimpleNamespace

    frame = pd.DataFrame(
        {"aic": [1060.0, 1000.0, 1003.0], "bic": [1070.0, 1020.0, 1030.0], "n_hit": 3},
        index=pd.MultiIndex.from_product([["session"], NETWORKS], names=["animal", "architecture"]),
    ).assign(**{"at_bounds": "", **columns})
    return _learning_fit.LearningFit(
        table=frame,
        fixed=SimpleNamespace(aic_=1002.0),  # type: ignore[arg-type]
        best=SimpleNamespace(architecture="2L"),  # type: ignore[arg-type]
        curve=None,  # type: ignore[arg-type]
        n_trials=300,
        n_counted=280,
        constant=True,
        power=power,
    )


def test_ties_doubts_and_rivals_are_named() -> None:
    fit = fit_of()
    assert fit.gain == 2.0
    assert not fit.learns
    assert "its AIC is 2.0 higher, which is a tie" in learning._change(fit)
    text = learning._architecture(fit)
    assert text.startswith("Between 2L (two linear layers) and 2NL (two layers, one sigmoid)")
    assert "prefers 2L" in text
    clear = fit_of(aic=[1060.0, 1000.0, 1020.0], bic=[990.0, 1020.0, 1030.0])
    text = learning._architecture(clear)
    assert text.startswith("2L (two linear layers) has the lowest AIC, 20.0 below 2NL; BIC")
    assert "prefers 1L" in text
    doubtful = learning._architecture(fit_of(n_hit=[4, 1, 2], at_bounds=["", "", "alpha"]))
    assert "the optimum of 2L was found from one start only" in doubtful
    assert "parameters of 2NL end on a bound" in doubtful
