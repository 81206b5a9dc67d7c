"""Figures of information decompositions: labels, limits, bands, bars and words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from information_frames import (
    NULL_MEAN,
    NULL_SD,
    START,
    WIDTH,
    decomposition,
    over_time,
    values,
)
from matplotlib.figure import Figure
from test_plotting import band, nothing_global  # noqa: F401 - used by every test

from nb26stats import datasets, plotting
from nb26stats.information import DiscretePID, GaussianPID, TimeResolvedPID

COLORS = plotting.ATOM_COLORS


def bars(ax: Any) -> list[Any]:
    """The significance bars: lines whose height is a part of the axes."""
    return [line for line in ax.get_lines() if line.get_label() == "_significant"]


def curves(ax: Any) -> list[Any]:
    return [line for line in ax.get_lines() if len(line.get_xdata()) == len(START)]


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


# ---- one decomposition -------------------------------------------------------------------------
def test_atoms_are_bars_with_their_values() -> None:
    ax = plotting.plot_pid(decomposition(), names=["V1", "IT"])
    assert [p.get_width() for p in ax.patches] == [0.1, 0.4, 0.05, 0.2]
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "redundancy",
        "unique to V1",
        "unique to IT",
        "synergy",
    ]
    assert words(ax) == ["0.1", "0.4", "0.05", "0.2"]
    assert ax.get_xlabel() == "information (bits)"
    assert ax.get_title(loc="left") == "V1 and IT about the target: 0.75 bits"
    assert ax.get_xlim()[0] == 0
    low, high = ax.get_ylim()
    assert low > high, "the first atom is not at the top"


def test_negative_atoms_units_and_style() -> None:
    pid = decomposition(unique=np.array([0.4, -0.05]), synergy=1e-14, base=np.e)
    ax = plotting.plot_pid(pid, color="#123456", height=0.3)
    assert ax.get_xlim()[0] < -0.05
    assert words(ax) == ["0.1", "0.4", "−0.05", "0"]
    assert ax.get_xlabel() == "information (nats)"
    assert ax.get_title(loc="left") == "Two sources about the target: 0.75 nats"
    assert all(p.get_height() == pytest.approx(0.3) for p in ax.patches)


def test_values_stay_clear_of_the_names_of_the_atoms() -> None:
    for least in (-0.0017, -0.05, -0.6):
        pid = decomposition(unique=np.array([0.65, 0.37]), synergy=least, redundancy=0.0)
        ax = plotting.plot_pid(pid)
        ax.figure.draw_without_rendering()
        left = ax.get_xlim()[0]
        edges = [t.get_window_extent().transformed(ax.transData.inverted()) for t in ax.texts]
        assert min(edge.x0 for edge in edges) > 0 > left
        assert max(edge.x1 for edge in edges) < ax.get_xlim()[1]


def test_a_lattice_shows_the_nodes_that_hold_something() -> None:
    lattice = {((0, 1, 2),): 0.5, ((0,), (1, 2)): 0.3, ((1,),): 0.0, ((0, 1), (0, 2)): -0.1}
    ax = plotting.plot_pid(
        SimpleNamespace(
            redundancy=None, unique=None, synergy=None, mi=np.zeros(7), base=2, lattice=lattice
        )
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["{012}", "{0}{12}", "{01}{02}"]
    assert [p.get_width() for p in ax.patches] == [0.5, 0.3, -0.1]
    assert ax.get_title(loc="left") == "Three sources about the target: 0.7 bits"
    assert ax.get_ylabel() == "sets of sources, from 0"
    nothing = plotting.plot_pid(decomposition(lattice={((0,),): 0.0}))
    assert [t.get_text() for t in nothing.get_yticklabels()] == ["all 18 nodes"]


def test_what_is_no_decomposition_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a fitted decomposition or its result\(\), got dict"):
        plotting.plot_pid({})
    with pytest.raises(ValueError, match="names of two sources, got 3"):
        plotting.plot_pid(decomposition(), names=["a", "b", "c"])


# ---- over time ---------------------------------------------------------------------------------
def test_every_atom_has_a_panel_with_its_null() -> None:
    panels = plotting.plot_atoms(over_time(), event="image")
    atoms = ["redundancy", "unique_1", "unique_2", "synergy"]
    assert [p.get_title(loc="left") for p in panels] == [
        "redundancy",
        "unique to V1",
        "unique to IT",
        "synergy",
    ]
    for panel, atom in zip(panels, atoms, strict=True):
        (line,) = curves(panel)
        np.testing.assert_allclose(line.get_xdata(), START + WIDTH / 2)
        np.testing.assert_array_equal(line.get_ydata(), values(atom))
        assert line.get_color() == COLORS[atom]
        edges = band(panel)
        assert edges[:, 1].min() == pytest.approx(NULL_MEAN - 2 * NULL_SD)
        assert edges[:, 1].max() == pytest.approx(NULL_MEAN + 2 * NULL_SD)
        assert panel.get_xlim() == pytest.approx((-0.1, 0.3))
        assert panel.get_ylim() == panels[0].get_ylim()
        assert panel.get_ylim()[1] > 0.4
    figure = panels[0].figure
    assert figure._suptitle.get_text() == "Information of V1 and IT about image"
    assert figure._supxlabel.get_text() == "time from image (s)"
    assert figure._supylabel.get_text() == "information (bits)"


def test_bars_and_onsets_are_those_of_the_frames() -> None:
    panels = plotting.plot_atoms(over_time(intervals=True))
    (bar,) = bars(panels[1])
    # whole bins: from the start of the first to the end of the last
    np.testing.assert_allclose(bar.get_xdata(), [0.05, 0.2])
    assert bar.get_color() == COLORS["unique_1"]
    assert not bars(panels[3])
    assert words(panels[1]) == ["onset 0.05 s\n(0.04 to 0.07)"]
    assert words(panels[3]) == ["no onset"]
    assert words(panels[0]) == ["onset 0.1 s\n(0.09 to 0.12)", "grey: null ± 2 SD"]


@pytest.mark.parametrize("intervals", [False, True])
def test_the_name_of_the_band_stands_between_verdict_and_line(intervals: bool) -> None:
    result = over_time(intervals=intervals)
    # a line that ends above its band, where the name of the band once stood
    last = (result.table["atom"] == "redundancy") & (result.table["time"] > 0.2)
    result.table.loc[last, "value"] = 0.08
    panel = plotting.plot_atoms(result)[0]
    panel.figure.draw_without_rendering()
    verdict, name = (t.get_window_extent() for t in panel.texts)
    assert name.y1 < verdict.y0
    top = panel.transData.transform((0, max(curves(panel)[0].get_ydata())))[1]
    assert name.y0 > top


def test_terms_without_a_test_say_so() -> None:
    panels = plotting.plot_atoms(over_time(untested=("redundancy", "synergy")))
    assert words(panels[0]) == words(panels[3]) == ["no test"]
    assert not panels[0].collections
    assert not bars(panels[0])
    assert words(panels[1]) == ["onset 0.05 s", "grey: null ± 2 SD"]


def test_one_axes_takes_all_atoms() -> None:
    ax = Figure().add_subplot()
    result = over_time(base=np.e)
    assert plotting.plot_atoms(result, ax, event="the go cue", color="#123456") is ax
    assert len(curves(ax)) == 4
    assert {line.get_color() for line in curves(ax)} == {"#123456"}
    heights = [bar.get_ydata()[0] for bar in bars(ax)]
    assert len(set(heights)) == len(heights) == 3
    assert len(ax.collections) == 1
    assert words(ax) == ["redundancy", "unique to V1", "unique to IT", "synergy"]
    assert ax.get_xlabel() == "time from the go cue (s)"
    assert ax.get_ylabel() == "information (nats)"
    assert ax.get_title(loc="left") == "Information of V1 and IT about image"


def test_given_axes_are_labelled_each() -> None:
    panels = Figure().subplots(1, 2)
    drawn = plotting.plot_atoms(
        over_time(), panels, atoms=["mi_1", "synergy"], names=["a", "b"], time_unit="ms"
    )
    assert list(drawn) == list(panels)
    assert [p.get_title(loc="left") for p in panels] == ["a", "synergy"]
    assert {p.get_xlabel() for p in panels} == {"time (ms)"}
    assert {p.get_ylabel() for p in panels} == {"information (bits)"}
    assert words(panels[0])[0] == "onset 0.05 ms"


def test_pairs_and_targets_have_rows() -> None:
    result = over_time(("V1-IT", "(V1,V4)-IT"), ("faces", "places"))
    panels = plotting.plot_atoms(result)
    assert panels.shape == (16,)
    assert panels[9].get_title(loc="left") == "unique to V1+V4"
    assert [panels[k].get_ylabel() for k in (0, 4, 8, 12)] == [
        "V1 and IT\nfaces",
        "V1 and IT\nplaces",
        "V1+V4 and IT\nfaces",
        "V1+V4 and IT\nplaces",
    ]
    assert panels[0].figure._suptitle.get_text() == "Information of two areas about a target"
    one = plotting.plot_atoms(result, pair="(V1,V4)-IT", target="places", atoms="synergy")
    assert one.shape == (1,)
    with pytest.raises(ValueError, match="one pair and one target, but 4 fit"):
        plotting.plot_atoms(result, Figure().add_subplot())
    with pytest.raises(ValueError, match="names are those of one pair"):
        plotting.plot_atoms(result, names=["a", "b"])
    with pytest.raises(ValueError, match="holds 8 pairs and targets"):
        plotting.plot_atoms(over_time([f"a-b{k}" for k in range(8)]))


def test_a_fitted_estimator_is_drawn_like_its_result() -> None:
    result = over_time()
    fitted = SimpleNamespace(to_frame=None, result=lambda: result)
    panels = plotting.plot_atoms(fitted)
    np.testing.assert_array_equal(curves(panels[1])[0].get_ydata(), values("unique_1"))


@pytest.mark.parametrize("label", ["left-V1-IT", "V1", "a-(b)-c"])
def test_labels_that_cannot_be_split_give_plain_names(label: str) -> None:
    panels = plotting.plot_atoms(over_time([label]))
    assert panels[1].get_title(loc="left") == "unique to source 1"


def test_markup_and_dollars_in_names_are_text() -> None:
    panels = plotting.plot_atoms(over_time(), names=["a$b$", "x" * 60])
    assert panels[1].get_title(loc="left") == r"unique to a\$b\$"
    assert len(panels[2].get_title(loc="left")) < 30


@pytest.mark.parametrize(
    ("choice", "words_of_error"),
    [
        ({"pair": "V2-IT"}, "pair='V2-IT' is not in the result; there are: 'V1-IT'"),
        ({"target": "sound"}, "target='sound' is not in the result; there are: 'image'"),
        ({"atoms": ["unique"]}, "must hold some of mi_1"),
        ({"atoms": []}, "must hold some of mi_1"),
        ({"time_unit": ""}, "time_unit must not be empty"),
    ],
)
def test_bad_choices(choice: dict[str, Any], words_of_error: str) -> None:
    with pytest.raises(ValueError, match=words_of_error):
        plotting.plot_atoms(over_time(), **choice)
    if "atoms" not in choice:
        with pytest.raises(ValueError, match=words_of_error):
            plotting.plot_two_areas(over_time(), **choice)


def test_what_is_no_result_is_refused() -> None:
    for draw in (plotting.plot_atoms, plotting.plot_two_areas):
        with pytest.raises(TypeError, match="TimeResolvedPID or its result, got int"):
            draw(3)


# ---- two areas ---------------------------------------------------------------------------------
def test_two_areas_at_a_glance() -> None:
    panels = plotting.plot_two_areas(over_time(intervals=True), event="image")
    above, middle, below = panels
    assert above.get_title(loc="left") == "Information of V1 and IT about image"
    assert [len(curves(p)) for p in (above, middle)] == [3, 4]
    assert words(above)[:3] == ["V1", "IT", "V1 and IT"]
    assert curves(above)[2].get_color() == "#000000"
    assert curves(above)[0].get_color() == COLORS["unique_1"]
    assert len(above.collections) == len(middle.collections) == 1
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in below.patches]
    np.testing.assert_allclose(
        spans, [(0.05, 0.2), (0.1, 0.2), (0.05, 0.2), (0.1, 0.2), (0.05, 0.2), (0.12, 0.2)]
    )
    assert words(below) == [
        "0.05 s (0.04 to 0.07)",
        "0.1 s (0.09 to 0.12)",
        "0.05 s (0.04 to 0.07)",
        "0.1 s (0.09 to 0.12)",
        "0.05 s (0.04 to 0.07)",
        "0.12 s (0.11 to 0.14)",
        "no onset",
    ]
    assert below.get_xlabel() == "time from image (s)"
    assert not above.get_xlabel()
    assert above.get_xlim() == below.get_xlim()


def test_intervals_are_seen_on_bars_of_any_colour() -> None:
    below = plotting.plot_two_areas(over_time(intervals=True))[2]
    lines = [line for line in below.get_lines() if len(line.get_xdata()) == 2]
    intervals = [line for line in lines if line.get_path_effects()]
    np.testing.assert_allclose(intervals[2].get_xdata(), [0.04, 0.07])
    assert len(intervals) == 6
    assert below.patches[2].get_facecolor()[:3] == (0, 0, 0)


def test_two_areas_on_given_axes_without_nulls() -> None:
    panels = Figure().subplots(3)
    result = over_time(untested=[*("mi_1", "mi_2", "mi_12"), *COLORS])
    result.latencies[["onset", "offset"]] = np.nan
    drawn = plotting.plot_two_areas(result, panels, names=["a", "b"], linewidth=3)
    assert list(drawn) == list(panels)
    assert {line.get_linewidth() for line in curves(panels[1])} == {3.0}
    assert not panels[0].collections
    assert words(panels[2]) == ["no test"] * 7
    with pytest.raises(ValueError, match="1 axes but the figure has 3"):
        plotting.plot_two_areas(result, panels[0])


def test_an_offset_beyond_the_last_bin_runs_to_the_end() -> None:
    result = over_time()
    result.latencies.loc[result.latencies["atom"] == "mi_1", "offset"] = np.nan
    below = plotting.plot_two_areas(result)[2]
    first = below.patches[0]
    assert first.get_x() + first.get_width() == pytest.approx(0.3)


def test_two_areas_want_one_pair() -> None:
    result = over_time(("V1-IT", "V4-IT"))
    with pytest.raises(ValueError, match="one pair and one target, but 2 fit"):
        plotting.plot_two_areas(result)
    assert len(plotting.plot_two_areas(result, pair="V4-IT")) == 3


# ---- real results ------------------------------------------------------------------------------
def test_results_of_the_estimators_draw_themselves() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(300, 2))
    sources = [target + rng.normal(size=(300, 2)), rng.normal(size=(300, 1))]
    pid = GaussianPID(bias=None).fit(sources, target)
    result = pid.result()
    ax = result.plot(names=["A", "B"])
    same = plotting.plot_pid(pid, names=["A", "B"])
    assert [p.get_width() for p in same.patches] == [p.get_width() for p in ax.patches]
    widths = [p.get_width() for p in ax.patches]
    assert widths == pytest.approx([result.redundancy, *result.unique, result.synergy])
    assert ax.get_title(loc="left").startswith("A and B about the target: ")

    coins = rng.integers(0, 2, (400, 3))
    lattice = DiscretePID("imin").fit(list(coins.T), coins.sum(axis=1) % 2).result()
    nodes = [t.get_text() for t in lattice.plot().get_yticklabels()]
    assert nodes[0] == "{012}"
    assert set(nodes) <= set(lattice.to_frame()["atom"])


def test_a_real_course_draws_itself() -> None:
    made = datasets.simulate_two_areas(300)
    pid = TimeResolvedPID(
        GaussianPID(bias=None),
        area_pca=None,
        target_pca=None,
        n_permutations=99,
        n_bootstrap=3,
        null="conditional-y",
        random_state=0,
    )
    with pytest.warns(UserWarning, match="not corrected for its"):
        pid.fit(made.areas, made.target, made.times)
    latencies = pid.latencies_.set_index("atom")
    panels = pid.plot(event="image")
    onset = latencies.loc["unique_2", "onset"]
    assert words(panels[2])[0].startswith(f"onset {onset:g} s\n(")
    # this null speaks of the second area's own part only
    assert [words(panels[k]) for k in (0, 1, 3)] == [["no test"]] * 3
    assert panels[0].figure._suptitle.get_text() == "Information of V1 and IT about the target"
    below = plotting.plot_two_areas(pid.result(), event="image")[2]
    (span,) = below.patches
    assert span.get_x() == pytest.approx(onset)
