"""The report: right for every kind of file, safe, self-contained, and reproducible by its code."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import nwb_files
import pandas as pd
import pynwb
import pytest

from nb26stats import datasets, nwb, plotting, report
from nb26stats.report._build import SECTIONS, assemble
from nb26stats.report._context import Context
from nb26stats.report._options import make_options
from nb26stats.report._parts import show

ODD = Path(__file__).parent / "data" / "odd"
RIPPLES = "A2929-200711_neurosuite.nwb"
NAMELESS = "A8604-211122_phy.nwb"
ALM = "sub-anm369963_ses-20170228.nwb"
THALAMUS = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
EXPECTED = {
    RIPPLES: {"rates", "raster", "components"},
    NAMELESS: {"rates", "raster", "components"},
    ALM: {"psth", "raster", "accuracy"},
    THALAMUS: {"psth", "raster", "accuracy", "components", "learning", "learning_curve", "causal"},
}


def make(source: Any, **choices: Any) -> report.Report:
    """Make a report in which an error of a section is an error of the test."""
    return assemble(source, make_options(**choices), strict=True)


@cache
def shipped(name: str) -> report.Report:
    return make(datasets.path(name))


class Page(HTMLParser):
    """All tags with their attributes, all text, and the cells of the tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.code: dict[str, str] = {}
        self.tables: list[list[list[str]]] = []
        self._figure: str | None = None
        self._cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "pre" and "data-figure" in dict(attrs):
            self._figure = dict(attrs)["data-figure"]
            self.code[str(self._figure)] = ""
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._figure = None
        elif tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._figure is not None:
            self.code[self._figure] += data
        if self._cell:
            self.tables[-1][-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def section_text(result: report.Report, key: str) -> str:
    inner = re.search(rf'<section id="{key}">(.*?)</section>', result.html, re.DOTALL)
    assert inner, key
    return Page(inner[1]).text


# ---- the four files ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", datasets.list_nwb())
def test_shipped_files_have_their_figures(name: str) -> None:
    result = shipped(name)
    assert set(result.numbers) == EXPECTED[name]
    assert set(result.code) == EXPECTED[name]
    page = Page(result.html)
    assert len(page.all("img")) == len(page.all("figcaption")) == len(EXPECTED[name])
    assert len(page.all("section")) == len(SECTIONS)
    assert "could not be made" not in page.text
    assert len(result.html.encode()) < 3_000_000


@pytest.mark.parametrize("name", datasets.list_nwb())
def test_the_page_asks_for_nothing_and_runs_nothing(name: str) -> None:
    check_safe(shipped(name))


def check_safe(result: report.Report) -> None:
    page = Page(result.html)
    allowed = {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "a", "nav", "ol"),
        *("li", "section", "dl", "dt", "dd", "div", "span", "table", "caption", "thead", "tbody"),
        *("tr", "th", "td", "figure", "img", "figcaption", "details", "summary", "pre", "code"),
        "footer",
    }
    for tag, attrs in page.tags:
        assert tag in allowed, tag
        assert not any(name.startswith("on") for name in attrs), attrs
        assert "style" not in attrs
        if "src" in attrs:
            assert str(attrs["src"]).startswith("data:image/png;base64,")
        if "href" in attrs:
            assert str(attrs["href"]).startswith("#")
    assert "url(" not in result.html
    assert "@import" not in result.html
    (policy,) = (m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@pytest.mark.parametrize("name", datasets.list_nwb())
def test_contents_links_and_alt_texts(name: str) -> None:
    page = Page(shipped(name).html)
    targets = [s["id"] for s in page.all("section")]
    assert [a["href"] for a in page.all("a")] == [f"#{t}" for t in targets]
    assert len(set(targets)) == len(targets)
    for image in page.all("img"):
        assert len(str(image["alt"])) > 30
        assert 300 < int(str(image["width"])) <= 1000
    assert "page-break-inside: avoid" in shipped(name).html
    assert "max-width: 1100px" in shipped(name).html


def test_the_summary_box_has_five_lines() -> None:
    for name in datasets.list_nwb():
        assert [label for label, _ in shipped(name).lines] == [
            "File",
            "Contents",
            "Activity",
            "Behaviour",
            "Limits",
        ]
    lines = dict(shipped(THALAMUS).lines)
    assert "Mus musculus, subject anm00239123, recorded 2017-06-27" in lines["File"]
    assert lines["Contents"] == "The file has 412 trials and 4 units in 1 area."
    assert lines["Activity"].startswith("Thalamus (4 units): the largest change is from a mean of")
    assert lines["Behaviour"].startswith("71.3 % of 202 trials correct. The 202 choices of this")
    assert "4 warnings" in lines["Limits"]
    assert shipped(THALAMUS).summary().splitlines()[0] == shipped(THALAMUS).title


def test_captions_say_band_numbers_and_time_zero() -> None:
    text = section_text(shipped(THALAMUS), "psth")
    assert "± one standard error (SEM) over units" in text
    assert "Thalamus 4 units; 342 trials" in text
    assert "Time zero: cue_start_time" in text
    assert "because it is the time of the go cue in the alm convention" in text
    alm = section_text(shipped(ALM), "psth")
    assert "over trials, as there is one unit" in alm
    assert "ALM 1 unit; 178 trials" in alm
    assert "read as seconds after start_time" in alm
    ripples = section_text(shipped(RIPPLES), "psth")
    assert "adn 7 units, ca1 8 units" in ripples
    components = section_text(shipped(THALAMUS), "components")
    assert "in 18,360 bins of 0.2 s" in components
    assert "95 % intervals, each on its own, from 200 bootstrap replicates" in components
    assert "with one weight per block of 72 s" in components


def test_heads_of_number_tables_have_units() -> None:
    (table, *_) = numbers_tables(shipped(THALAMUS).html)
    assert table[0] == ["area", "time (s)", "mean (spikes/s)", "sem (spikes/s)"]
    (table, *_) = numbers_tables(shipped(RIPPLES).html)
    assert table[0][:3] == ["time (s)", "adn rate (spikes/s)", "adn sem (spikes/s)"]


def test_a_file_without_trials_names_its_tables() -> None:
    text = section_text(shipped(RIPPLES), "psth")
    assert "sleep_ripples (594 rows)" in text
    assert "add --table sleep_ripples to the command" in text
    assert "first 10 s" in section_text(shipped(RIPPLES), "raster")


def test_warnings_are_amber_boxes_with_advice() -> None:
    page = Page(shipped(ALM).html)
    assert sum("warn" in (d.get("class") or "") for d in page.all("div")) >= 5
    text = section_text(shipped(ALM), "psth")
    assert "relative to start_time" in text
    assert "say --relative-to session" in text
    # options stay in one piece, after a bracket too
    assert '(<span class="option">--relative-to</span> session' in shipped(ALM).html
    assert "9 of 178 windows" in text
    warned = section_text(shipped(ALM), "warnings")
    assert "not in ascending order" in warned
    assert "stop_time" in warned
    assert "manufacturer" in section_text(shipped(RIPPLES), "warnings")


def test_trials_with_photostimulation_are_pointed_out() -> None:
    text = section_text(shipped(THALAMUS), "psth")
    assert "63 of these windows belong to trials with photostimulation" in text
    assert "photostimulation" not in section_text(shipped(ALM), "psth")


def test_units_of_no_stated_area() -> None:
    (name,) = (n for n in datasets.list_nwb() if n.startswith("A8604"))
    assert "units of no stated area 6.54 spikes/s" in section_text(shipped(name), "psth")


def test_units_lost_in_the_middle_are_pointed_out() -> None:
    assert "3 units (id 1, 2, 3) fire only in a part" in section_text(shipped(THALAMUS), "units")
    assert "fire only in a part" not in section_text(shipped(RIPPLES), "units")


def test_numbers_of_the_thalamus_file() -> None:
    numbers = shipped(THALAMUS).numbers
    counts = nwb_counts(THALAMUS)
    psth = counts.psth("Thalamus")
    np.testing.assert_array_equal(numbers["psth"].loc["Thalamus", "mean"], psth.mean)
    np.testing.assert_array_equal(numbers["psth"].loc["Thalamus", "sem"], psth.sem)
    assert numbers["raster"]["spikes"].to_dict() == {1: 1615, 2: 1154, 4: 1800}
    assert numbers["accuracy"]["n_correct"].sum() == 144
    assert numbers["accuracy"]["n_trials"].sum() == 202
    components = numbers["components"]
    assert components.index.names == ["component", "unit"]
    assert len(components) == 2 * 4
    assert (components["lower"] <= components["loading"]).all()
    assert (components["loading"] <= components["upper"]).all()
    norms = (components["loading"] ** 2).groupby(level="component").sum()
    np.testing.assert_allclose(norms, 1.0)


def nwb_counts(name: str) -> nwb.SpikeCounts:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nwb.spike_counts(
            datasets.path(name), align_to="cue_start_time", window=(-0.5, 1.0), bin_size=0.025
        )


# ---- the code under the figures ----------------------------------------------------------------
def run_code(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "block"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "block", "exec"), space)
    return space


def check_code(result: report.Report) -> None:
    """Run each block as the page shows it and compare numbers, table and picture."""
    page = Page(result.html)
    assert page.code == dict(result.code)
    pictures = re.findall(
        r'<figure id="figure-(\w+)">\s*<img src="data:image/png;base64,([^"]+)"', result.html
    )
    assert [name for name, _ in pictures] == list(result.code)
    tables = [t for t in numbers_tables(result.html)]
    for (name, encoded), table in zip(pictures, tables, strict=True):
        space = run_code(page.code[name])
        numbers = result.numbers[name]
        pd.testing.assert_frame_equal(space["numbers"], numbers, check_exact=True)
        flat = numbers.reset_index()
        labels = [c if isinstance(c, tuple) else (c,) for c in flat.columns[:12]]
        heads = [
            re.sub(r" \((s|bits|nats|nats per trial|spikes/s|√\(spikes/s\))\)$", "", head)
            for head in table[0]
        ]
        assert heads == [" ".join(filter(None, label)) for label in labels]
        for cells, row in zip(table[1:], flat.itertuples(index=False), strict=False):
            assert cells == [show(v) for v in row[:12]]
        assert len(table) - 1 == min(len(flat), 120)
        compare_pictures(space["ax"], encoded)
        plt.close("all")


def numbers_tables(text: str) -> list[list[list[str]]]:
    blocks = re.findall(r"<details>(.*?)</details>", text, re.DOTALL)
    return [Page(block).tables[0] for block in blocks]


def compare_pictures(ax: Any, encoded: str) -> None:
    import base64

    out = io.BytesIO()
    with plotting.style():
        figure = np.ravel(np.asarray(ax, dtype=object))[0].figure
        figure.savefig(out, format="png", dpi=200)
    out.seek(0)
    mine = matplotlib.image.imread(out)
    shown = matplotlib.image.imread(io.BytesIO(base64.b64decode(encoded)))
    assert mine.shape == shown.shape
    np.testing.assert_array_equal(mine, shown)


@pytest.mark.parametrize("name", datasets.list_nwb())
def test_the_code_gives_numbers_and_figures_of_the_page(name: str) -> None:
    check_code(shipped(name))


def test_the_code_with_every_choice_made() -> None:
    result = make(
        datasets.path(RIPPLES),
        table="sleep_ripples",
        align_to="stop_time",
        window=(-0.1, 0.2),
        bin_size=0.01,
        areas=["CA1", "adn"],
        quality="n_spikes > 1300",
        trials="start_time < 600",
        relative_to="session",
    )
    assert result.numbers["psth"].index.get_level_values("area").unique().tolist() == ["ca1", "adn"]
    check_code(result)


def test_the_code_runs_as_a_program_beside_the_file(tmp_path: Path) -> None:
    name = "a session's file.nwb"
    (tmp_path / name).write_bytes(datasets.path(THALAMUS).read_bytes())
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        result = make(name)
    finally:
        os.chdir(here)
    code = result.code["psth"]
    assert f"path = {name!r}" in code
    (tmp_path / "block.py").write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, "block.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(result.numbers["psth"]).strip()


BUILDERS: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "steinmetz": (
        nwb_files.steinmetz_like,
        {"psth", "raster", "accuracy", "psychometric", "components"},
    ),
    "ibl": (nwb_files.ibl_current, {"psth", "raster", "accuracy", "psychometric", "components"}),
    "interim": (
        nwb_files.ibl_interim,
        {"psth", "raster", "accuracy", "psychometric", "components"},
    ),
    "legacy without units": (nwb_files.ibl_legacy, {"accuracy", "psychometric"}),
    "aibs": (nwb_files.aibs_change, {"psth", "raster", "accuracy", "components"}),
    "alm": (nwb_files.alm_like, {"psth", "raster", "accuracy", "components"}),
    "one unit": (nwb_files.one_unit, {"psth", "raster"}),
    "without trials": (nwb_files.without_trials, {"rates", "raster"}),
    "without units": (nwb_files.without_units, set()),
    "empty": (nwb_files.empty_file, set()),
    "observation intervals": (nwb_files.with_obs_intervals, {"psth", "raster"}),
    "invalid times": (nwb_files.with_invalid_times, {"psth", "raster"}),
    "not finite": (nwb_files.nonfinite_spikes, {"psth", "raster"}),
    "bad index": (nwb_files.bad_index, set()),
    "markup": (nwb_files.html_everywhere, {"psth", "raster"}),
}


@pytest.mark.parametrize("kind", BUILDERS)
def test_other_kinds_of_files(kind: str, tmp_path: Path) -> None:
    build, figures = BUILDERS[kind]
    result = make(build(tmp_path / "file.nwb"))
    assert set(result.numbers) == figures
    check_safe(result)
    check_code(result)
    assert len(result.lines) == 5


# ---- what the page says about them -------------------------------------------------------------
def test_default_alignments(tmp_path: Path) -> None:
    def why(path: Path) -> str:
        return section_text(make(path), "psth")

    text = why(nwb_files.steinmetz_like(tmp_path / "s.nwb"))
    assert "column go_cue, because it is the time of the go cue in the steinmetz" in text
    text = why(nwb_files.aibs_change(tmp_path / "a.nwb"))
    assert "column change_time, because it is the time of the stimulus in the aibs_change" in text
    start = np.arange(20.0) * 2
    trials = {"start_time": start, "power": start * 0 + 0.5, "event_time": start + 0.4}
    path = nwb_files.simple(tmp_path / "e.nwb", trials=trials, spikes=[np.arange(0, 40, 0.3)])
    text = why(path)
    assert "column event_time, because it is the first column of event times" in text
    del trials["event_time"]
    path = nwb_files.simple(tmp_path / "p.nwb", trials=trials, spikes=[np.arange(0, 40, 0.3)])
    assert "column start_time, because the table has no other event time" in why(path)


def test_missing_parts_are_one_sentence_each(tmp_path: Path) -> None:
    result = make(nwb_files.without_units(tmp_path / "u.nwb"))
    assert "no units table" in section_text(result, "units")
    assert "No units, so no firing rates." in dict(result.lines)["Limits"]
    result = make(nwb_files.one_unit(tmp_path / "o.nwb"))
    assert "Components need two or more units" in section_text(result, "components")
    assert "fit none of the behaviour conventions" in section_text(result, "behavior")
    result = make(nwb_files.without_trials(tmp_path / "t.nwb"))
    assert "no trial table and no other table" in section_text(result, "psth")
    assert "no behaviour to read" in section_text(result, "behavior")
    assert "need 100 s or more" in section_text(result, "components")


def test_zero_trials(tmp_path: Path) -> None:
    from hdmf.common import VectorData
    from pynwb.epoch import TimeIntervals

    made = nwb_files.make()
    names = ["start_time", "stop_time", "cue_time"]
    made.trials = TimeIntervals(
        name="trials",
        description="none yet",
        columns=[VectorData(name=n, description=n, data=np.empty(0)) for n in names],
        colnames=names,
        id=[],
    )
    made.units = nwb_files.units_table(nwb_files.poisson_trains(3, 20.0))
    result = make(nwb_files.write(made, tmp_path / "z.nwb"))
    assert "has no rows" in section_text(result, "trials")
    assert set(result.numbers) == {"rates", "raster"}
    check_code(result)


def test_units_without_spikes(tmp_path: Path) -> None:
    result = make(nwb_files.simple(tmp_path / "q.nwb", spikes=[[], []]))
    assert "The mean rate does not change" in section_text(result, "psth")
    assert "have no spikes" in section_text(result, "components")
    check_code(result)
    result = make(nwb_files.simple(tmp_path / "r.nwb", spikes=[[], []], with_trials=False))
    assert "have no spikes" in section_text(result, "psth")
    assert result.numbers == {}


def test_repeated_unit_ids_are_told_apart(tmp_path: Path) -> None:
    spikes = nwb_files.poisson_trains(5, 6.0, rate=20.0)
    path = nwb_files.simple(tmp_path / "r.nwb", spikes=spikes, unit_ids=[7, 7, 7, 7, 7])
    result = make(path)
    assert len(result.numbers["raster"]) == 3
    check_code(result)


def test_thirty_areas(tmp_path: Path) -> None:
    n = 60
    start = np.arange(40.0) * 5 + 1
    path = nwb_files.simple(
        tmp_path / "many.nwb",
        spikes=nwb_files.poisson_trains(n, 210.0),
        unit_columns={"location": [f"area {u % 30}" for u in range(n)]},
        trials={"start_time": start},
    )
    result = make(path)
    assert result.numbers["psth"].index.get_level_values("area").nunique() == 30
    assert "units as named above the panels; 40 trials" in section_text(result, "psth")
    assert len(result.html) < 3_000_000
    check_code(result)


def test_more_areas_than_fit_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nb26stats.report.psth.MAX_AREAS", 3)
    path = nwb_files.simple(
        tmp_path / "more.nwb",
        spikes=nwb_files.poisson_trains(9, 20.0),
        unit_columns={"location": [*"abcdeacea"]},
        trials={"start_time": np.arange(4.0) * 5 + 1},
    )
    result = make(path)
    shown = result.numbers["psth"].index.get_level_values("area").unique()
    assert shown.tolist() == ["a", "c", "e"]
    assert "the 3 areas with the most units, of 5" in section_text(result, "psth")
    check_code(result)
    with nwb.open(path) as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(nwb, "trials", lambda *_: pd.DataFrame())
        result = make(session)
    assert result.numbers["rates"].columns.unique(level=0).tolist() == ["a", "c", "e"]
    check_code(result)


def test_tables_too_large_for_memory_are_thinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = np.arange(50.0) * 2
    path = nwb_files.simple(
        tmp_path / "f.nwb", spikes=nwb_files.poisson_trains(2, 100.0), trials={"start_time": start}
    )
    monkeypatch.setattr("nb26stats.report._context.MAX_COUNTS_BYTES", 4 * 50 * 60 * 2 // 3)
    result = make(path)
    assert "every 3th row" not in result.html
    assert "one row in 3 was used" in section_text(result, "psth")
    assert "17 windows of 50 rows" in section_text(result, "psth")
    check_code(result)


def test_rasters_of_long_tables_are_thinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nb26stats.report.raster.MAX_ROWS", 20)
    result = make(nwb_files.alm_like(tmp_path / "a.nwb"), trials="response == 'correct'")
    assert re.search(r"One trial in \d is drawn", section_text(result, "raster"))
    check_code(result)


def test_rasters_of_long_windows_have_no_more_bins_and_ticks_than_a_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nb26stats.report.raster.MAX_FINE_BINS", 100)
    monkeypatch.setattr("nb26stats.report.raster.MAX_TICKS", 50)
    result = make(nwb_files.alm_like(tmp_path / "a.nwb"), window=(-1, 1))
    text = section_text(result, "raster")
    assert "each tick a bin of 12.5 ms that holds a spike" in text
    assert re.search(r"One trial in \d+ is drawn", text)
    check_code(result)


def test_sides_that_contradict_the_rewards_are_said(tmp_path: Path) -> None:
    path = nwb_files.ibl_current(tmp_path / "i.nwb")
    with nwb_files.h5py.File(path, "r+") as file:
        rewards = file["intervals/trials/is_mouse_rewarded"]
        rewards[::2] = ~rewards[::2]
    result = make(path)
    assert "agree with the rewards on" in section_text(result, "behavior")
    assert not {"accuracy", "psychometric"} & set(result.numbers)
    assert "No behaviour was read." in dict(result.lines)["Limits"]


def test_a_column_on_an_unclear_clock_needs_to_be_told(tmp_path: Path) -> None:
    start = np.arange(20.0) * 2
    odd = np.where(np.arange(20) % 2, start + 0.5, 0.5)
    trials = {"start_time": start, "cue_time": odd}
    spikes = [np.arange(0, 40, 0.3)]
    path = nwb_files.simple(tmp_path / "u.nwb", trials=trials, spikes=spikes)
    result = make(path)
    assert "column start_time" in section_text(result, "psth")
    assert "undecided" in section_text(result, "trials")
    with pytest.raises(ValueError, match="relative_to"):
        make(path, align_to="cue_time")
    told = make(path, align_to="cue_time", relative_to="session")
    assert "column cue_time, because it was asked for" in section_text(told, "psth")
    check_code(told)


# ---- text from files ---------------------------------------------------------------------------
def test_markup_in_every_field_is_shown_as_text(tmp_path: Path) -> None:
    result = make(nwb_files.html_everywhere(tmp_path / "h.nwb"))
    assert "<script" not in result.html
    assert "<b>" not in result.html
    assert "<i>" not in result.html
    page = Page(result.html)
    assert page.text.count("<script>alert('x')</script>") > 15
    for key in ("identifier", "description", "lab", "institution", "notes", "keyword", "species"):
        assert f"{key} {nwb_files.HTML}" in page.text, key


def test_control_characters_do_not_reach_the_page(tmp_path: Path) -> None:
    path = nwb_files.simple(
        tmp_path / "c.nwb",
        session_description="bell \x07 escape \x1b[31m right-to-left \u202e end",
        trials={"start_time": np.arange(3.0), "word": ["a\x1b[2J", "b", "c"]},
    )
    text = make(path).html
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "bell \ufffd escape \ufffd[31m right-to-left \ufffd end" in text


def test_long_text_is_cut_at_500_characters(tmp_path: Path) -> None:
    path = nwb_files.simple(
        tmp_path / "l.nwb", session_description="d" * 2000, notes="word " * 400, lab="l" * 500
    )
    text = make(path).html
    assert "d" * 499 + "…" in text
    assert "d" * 500 not in text
    assert "l" * 500 in text
    assert "word " * 101 not in text


# ---- sources and API ---------------------------------------------------------------------------
def test_sessions_and_pynwb_objects_stay_open(tmp_path: Path) -> None:
    path = nwb_files.simple(tmp_path / "s.nwb")
    with nwb.open(path) as session:
        result = make(session)
        assert not session.closed
        assert f"path = {str(path)!r}" in result.code["psth"]
    with pynwb.NWBHDF5IO(str(path), "r") as io_:
        made = io_.read()
        assert set(make(made).numbers) == {"psth", "raster"}
        assert made.trials["start_time"][0] == 0.0


def test_an_object_in_memory(tmp_path: Path) -> None:
    made = nwb_files.make()
    made.units = nwb_files.units_table(nwb_files.poisson_trains(2, 20.0))
    result = make(made)
    assert set(result.numbers) == {"rates", "raster"}
    assert "path = 'session.nwb'" in result.code["rates"]


def test_save_follows_the_rules_of_the_command(tmp_path: Path) -> None:
    result = shipped(NAMELESS)
    out = tmp_path / "page.html"
    assert result.save(out) == out
    assert out.read_text("utf-8") == result.html
    with pytest.raises(FileExistsError, match="overwrite=True"):
        result.save(out)
    assert result.save(str(out), overwrite=True) == out
    with pytest.raises(TypeError, match="overwrite"):
        result.save(out, overwrite=1)  # type: ignore[arg-type]
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_results_have_a_plain_form() -> None:
    plain = shipped(NAMELESS).to_r()
    assert plain["title"] == f"Report on {NAMELESS}"
    assert plain["numbers"]["raster"]["spikes"]
    assert plain["code"]["raster"].startswith("import pandas")


@pytest.mark.parametrize(
    ("choices", "error", "words"),
    [
        ({"window": 1.0}, ValueError, "two times"),
        ({"window": (0, np.inf)}, ValueError, "finite"),
        ({"window": ("a", "b")}, TypeError, "number"),
        ({"bin_size": -1}, ValueError, "greater than 0"),
        ({"bin_size": True}, TypeError, "number"),
        ({"bin_size": 1e-6}, ValueError, "more than 20000 bins of 1e-06 s"),
        ({"window": (-20000, 20000)}, ValueError, "choose a wider --bin"),
        ({"areas": []}, ValueError, "at least one"),
        ({"areas": [1]}, TypeError, "text"),
        ({"table": ""}, ValueError, "empty"),
        ({"table": 3}, TypeError, "text"),
        ({"trials": [1, 2]}, TypeError, "text"),
        ({"align_to": "no such"}, nwb.MissingColumnError, "no such"),
        ({"table": "no such"}, nwb.MissingTableError, "no such"),
    ],
)
def test_bad_choices(choices: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        report.build_report(datasets.path(THALAMUS), **choices)


@pytest.mark.parametrize("source", [3, None, b"bytes", ["a"], {}])
def test_bad_sources(source: Any) -> None:
    with pytest.raises(TypeError, match="path"):
        report.build_report(source)


def test_a_broken_section_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Context) -> None:
        raise ZeroDivisionError("by <zero>")

    monkeypatch.setattr("nb26stats.report.raster.section", fail)
    result = report.build_report(datasets.path(NAMELESS))
    assert set(result.numbers) == {"rates", "components"}
    assert "could not be made: ZeroDivisionError: by <zero>" in Page(result.html).text
    with pytest.raises(ZeroDivisionError):
        make(datasets.path(NAMELESS))


@pytest.mark.parametrize(
    "name",
    [
        "1.5.1_timeseries_no_data.nwb",
        "2.1.0_nwbfile_with_extension.nwb",
        "2.2.0_subject_no_age_reference.nwb",
        "3.0.0_electrodes_dynamic_table.nwb",
        "no_units_no_trials_lfp_only.nwb",
        "schema2.0b_no_cached_specs.nwb",
        "units_in_acquisition_2.0b.nwb",
        "units_without_spike_times_2.0b.nwb",
    ],
)
def test_odd_files_that_open_get_a_page(name: str) -> None:
    result = make(ODD / name)
    check_safe(result)
    assert len(Page(result.html).all("section")) == len(SECTIONS)


@pytest.mark.slow
def test_a_large_recording_gets_a_small_page(tmp_path: Path) -> None:
    path = nwb_files.big_spikes(tmp_path / "big.nwb")
    result = make(path)
    assert {"psth", "raster", "components"} <= set(result.numbers)
    assert len(result.html) < 3_000_000


def test_clean_checks_do_not_deny_the_warnings_above(tmp_path: Path) -> None:
    warned = make(nwb_files.html_everywhere(tmp_path / "x.nwb"))
    assert "1 warning, in the amber boxes" in dict(warned.lines)["Limits"]
    assert "amber boxes above concern single figures" in section_text(warned, "warnings")
    quiet = make(nwb_files.one_unit(tmp_path / "y.nwb"))
    assert "found nothing" in section_text(quiet, "warnings")
    assert "amber boxes" not in section_text(quiet, "warnings")
