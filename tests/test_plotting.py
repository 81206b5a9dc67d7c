"""Every figure is drawn and looked at: labels, limits, artists; nothing global changes."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from nb26stats import plotting
from nb26stats.nwb import SpikeCounts
from nb26stats.nwb._psth import PSTH
from nb26stats.plotting._axes import plain


@pytest.fixture(autouse=True)
def nothing_global(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Settings stay as they were, nothing is shown, and the open figure is left alone."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a figure was shown")

    monkeypatch.setattr(plt, "show", refuse)
    other = plt.figure()
    panel = other.add_subplot()
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    assert not panel.get_lines()
    assert not panel.collections
    assert not panel.texts
    plt.close("all")


def counts_of(
    areas: dict[str, int],
    n_trials: int = 20,
    n_bins: int = 30,
    bin_size: float = 0.05,
    seed: int = 0,
) -> SpikeCounts:
    rng = np.random.default_rng(seed)
    time = -0.5 + bin_size * np.arange(n_bins)
    first = 0
    unit_index, unit_ids = {}, {}
    for area, n in areas.items():
        unit_index[area] = np.arange(first, first + n)
        unit_ids[area] = unit_index[area] + 100
        first += n
    return SpikeCounts(
        counts={
            a: rng.poisson(0.5, (n_trials, n_bins, n)).astype(np.int32) for a, n in areas.items()
        },
        areas=list(areas),
        time=time,
        bin_centers=time + bin_size / 2,
        trial_index=np.arange(n_trials),
        trial_id=np.arange(n_trials),
        event_times=10.0 + np.arange(n_trials),
        unit_ids=unit_ids,
        valid={a: np.ones((n_trials, n), bool) for a, n in areas.items()},
        info={"align_to": "cue_start_time"},
        unit_index=unit_index,
        unit_area={a: np.array([a] * n, dtype=object) for a, n in areas.items()},
        bin_size=bin_size,
        rate=False,
    )


def psths(areas: dict[str, int], **kw: Any) -> list[PSTH]:
    counts = counts_of(areas, **kw)
    return [counts.psth(a) for a in counts.areas]


def band(ax: Any, k: int = 0) -> np.ndarray:
    return ax.collections[k].get_paths()[0].vertices


# ---- colours and style -------------------------------------------------------------------------
def test_area_colours_are_stable_and_distinct() -> None:
    names = ["CA1", "ALM", "Thalamus", "VISp", "MOs", "LGd"]
    colors = plotting.area_colors(names)
    assert list(colors) == names
    assert len(set(colors.values())) == 6
    assert plotting.area_colors(names[::-1]) == colors
    assert set(colors.values()) <= set(plotting.OKABE_ITO.values())


def test_an_area_alone_prefers_one_colour_whatever_its_case() -> None:
    alone = plotting.area_colors("CA1")["CA1"]
    assert plotting.area_colors(["ca1"])["ca1"] == alone
    assert plotting.area_colors(["CA1", "unknown", "mixed"])["CA1"] == alone


def test_no_area_is_grey_and_many_areas_share_evenly() -> None:
    colors = plotting.area_colors(["unknown", "Mixed", *(f"a{k}" for k in range(30))])
    assert colors["unknown"] == colors["Mixed"] == plotting.OKABE_ITO["grey"]
    used = pd.Series([c for a, c in colors.items() if a.startswith("a")]).value_counts()
    assert used.tolist() == [5] * 6


def test_atoms_have_their_colours() -> None:
    assert plotting.ATOM_COLORS["redundancy"] == "#666666"
    assert plotting.ATOM_COLORS["unique_1"] == "#0072B2"
    assert plotting.ATOM_COLORS["unique_2"] == "#D55E00"
    assert plotting.ATOM_COLORS["synergy"] == "#009E73"


def test_style_is_undone_also_after_an_error() -> None:
    before = matplotlib.rcParams["font.size"]

    def fail() -> None:
        with plotting.style():
            assert matplotlib.rcParams["font.size"] == 9.0
            raise KeyError("inside")

    with pytest.raises(KeyError):
        fail()
    assert matplotlib.rcParams["font.size"] == before


def test_a_backend_that_becomes_interactive_inside_stays_so() -> None:
    """As in a notebook, where the first figure switches the display of all others on."""
    assert not matplotlib.is_interactive()
    try:
        with plotting.style():
            matplotlib.interactive(True)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(False)


def test_offscreen_figures_are_unknown_to_pyplot() -> None:
    known = plt.get_fignums()
    with plotting.style(offscreen=True):
        ax = plotting.plot_psth(psths({"CA1": 4}))
    assert plt.get_fignums() == known
    assert isinstance(ax.figure, Figure)
    plotting.plot_psth(psths({"CA1": 4}))
    assert len(plt.get_fignums()) == len(known) + 1


def test_style_refuses_a_number() -> None:
    with pytest.raises(TypeError, match="offscreen"), plotting.style(offscreen=1):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a$b$", r"a\$b\$"), ("two\nlines", "two lines"), ("x" * 60, "x" * 39 + "…"), ("\x07", "?")],
)
def test_text_from_files_is_made_safe(text: str, shown: str) -> None:
    assert plain(text) == shown


# ---- firing rates ------------------------------------------------------------------------------
def test_psth_of_one_area() -> None:
    (part,) = psths({"Thalamus": 4})
    ax = plotting.plot_psth(part)
    assert ax.get_title(loc="left") == "Thalamus (4 units) around cue start"
    assert ax.get_xlabel() == "time from cue start (s)"
    assert ax.get_ylabel() == "firing rate (spikes/s)"
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, part.bin_centers)
    np.testing.assert_array_equal(y, part.mean)
    edges = band(ax)[:, 1]
    assert edges.min() == pytest.approx((part.mean - part.sem).min())
    assert edges.max() == pytest.approx((part.mean + part.sem).max())
    assert 0.20 <= ax.collections[0].get_alpha() <= 0.25
    assert ax.get_ylim()[0] == 0.0
    assert ax.get_xlim() == pytest.approx((-0.5, 1.0))
    assert [t.get_text() for t in ax.texts] == ["cue start"]
    assert ax.lines[1].get_xdata() == [0.0, 0.0]
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()


def test_psth_labels_two_areas_beside_their_lines() -> None:
    parts = psths({"adn": 7, "ca1": 1})
    ax = plotting.plot_psth(parts, event="ripple")
    labels = [t for t in ax.texts if t.get_text() != "ripple"]
    assert sorted(t.get_text() for t in labels) == ["adn, 7 units", "ca1, 1 unit"]
    colors = plotting.area_colors(["adn", "ca1"])
    for text in labels:
        assert text.get_color() == colors[text.get_text().split(",")[0]]
    low, high = ax.get_ylim()
    a, b = sorted(t.xy[1] for t in labels)
    assert b - a >= 0.0999 * (high - low)
    assert low <= a
    assert b <= high
    assert ax.get_xlabel() == "time from ripple (s)"


def test_labels_at_the_top_do_not_leave_the_axes() -> None:
    parts = psths({f"area {k}": 3 for k in range(4)})
    flat = [
        PSTH(**{**vars(p), "mean": np.full_like(p.mean, 5.0), "sem": np.full_like(p.sem, 0.01)})
        for p in parts
    ]
    ax = plotting.plot_psth(flat)
    heights = sorted(t.xy[1] for t in ax.texts if "units" in t.get_text())
    assert len(heights) == 4
    assert heights[-1] <= ax.get_ylim()[1]
    assert np.diff(heights).min() >= 0.0999 * ax.get_ylim()[1]


def test_psth_of_many_areas_takes_panels_with_shared_axes() -> None:
    parts = psths({f"area {k}": 2 for k in range(7)})
    axes = plotting.plot_psth(parts)
    assert axes.shape == (7,)
    assert axes[0].get_title(loc="left") == "area 0, 2 units"
    assert len({a.get_ylim() for a in axes}) == 1
    assert len({a.get_xlim() for a in axes}) == 1
    figure = axes[0].figure
    assert figure.get_supxlabel() == "time from cue start (s)"
    assert figure.get_supylabel() == "firing rate (spikes/s)"
    assert sum(len(a.texts) for a in axes) == 1


def test_psth_on_given_axes() -> None:
    with plotting.style(offscreen=True):
        given = Figure().subplots(1, 2)
    parts = psths({"A": 2, "B": 2})
    out = plotting.plot_psth(parts, ax=given)
    assert list(out) == list(given)
    assert [a.get_ylabel() for a in out] == ["firing rate (spikes/s)"] * 2
    assert plotting.plot_psth(parts, ax=given[0]) is given[0]
    with pytest.raises(ValueError, match="2 axes but the figure has 5"):
        plotting.plot_psth(psths({f"{k}": 1 for k in range(5)}), ax=given)
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        plotting.plot_psth(parts[0], ax="left")


def test_psth_without_sem_has_no_band() -> None:
    (part,) = psths({"A": 1}, n_trials=1)
    assert np.isnan(part.sem).all()
    ax = plotting.plot_psth(part)
    assert not ax.collections


def test_psth_style_reaches_line_and_band() -> None:
    ax = plotting.plot_psth(psths({"A": 3})[0], color="black", linewidth=3, linestyle="--")
    assert ax.lines[0].get_color() == "black"
    assert ax.lines[0].get_linewidth() == 3
    assert ax.lines[0].get_linestyle() == "--"
    assert tuple(ax.collections[0].get_facecolor()[0][:3]) == (0, 0, 0)


def test_psth_by_group_names_the_groups() -> None:
    counts = counts_of({"A": 3})
    groups = counts.psth("A", by=["hit", "miss"] * 10)
    ax = groups.plot()
    assert {t.get_text() for t in ax.texts} == {"hit, 10 trials", "miss, 10 trials", "cue start"}
    colors = [line.get_color() for line in ax.lines[:2]]
    assert colors == [plotting.OKABE_ITO["blue"], plotting.OKABE_ITO["vermillion"]]


def test_counts_plot_is_the_psth() -> None:
    counts = counts_of({"A": 3, "B": 2})
    ax = counts.plot()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), counts.psth("A").mean)
    assert len(counts.plot(areas="B").lines) == 2


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.plot_psth([])
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.plot_raster(counts_of({"A": 0}))
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.plot_psychometric(behavior().iloc[:0])
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.plot_accuracy(behavior().iloc[:0])


def test_dollar_signs_stay_dollar_signs() -> None:
    ax = plotting.plot_psth(psths({"$a_1$": 2, r"\frac": 2}))
    ax.figure.savefig(io.BytesIO(), format="png")
    assert any(t.get_text() == r"\$a_1\$, 2 units" for t in ax.texts)


# ---- rates over a session ----------------------------------------------------------------------
def test_rates_are_means_over_units() -> None:
    counts = counts_of({"A": 4, "B": 1}, n_trials=1, bin_size=1.0)
    frame = plotting.mean_rates(counts)
    data = counts.counts["A"][0].astype(float)
    np.testing.assert_allclose(frame["A", "rate"], data.mean(axis=1))
    np.testing.assert_allclose(frame["A", "sem"], data.std(axis=1, ddof=1) / 2)
    assert frame["B", "sem"].isna().all()
    np.testing.assert_allclose(frame.index, 10.0 + counts.bin_centers)
    ax = plotting.plot_rates(counts)
    assert ax.get_xlabel() == "session time (s)"
    assert len(ax.collections) == 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), frame["A", "rate"])


def test_long_sessions_are_in_minutes_and_huge_clocks_start_at_zero() -> None:
    long = counts_of({"A": 2}, n_trials=1, n_bins=2000, bin_size=1.0)
    ax = plotting.plot_rates(long)
    assert ax.get_xlabel() == "session time (min)"
    assert ax.get_xlim()[1] == pytest.approx((10 - 0.5 + 2000) / 60)
    unix = counts_of({"A": 2}, n_trials=1, bin_size=1.0)
    shifted = SpikeCounts(**{**vars(unix), "event_times": np.array([1.6e9])})
    ax = plotting.plot_rates(shifted)
    assert ax.get_xlabel() == "time from the first bin (s)"
    assert ax.get_xlim()[1] < 100


def test_rates_need_one_window() -> None:
    with pytest.raises(ValueError, match="20 windows"):
        plotting.plot_rates(counts_of({"A": 2}))


# ---- rasters -----------------------------------------------------------------------------------
def segments(ax: Any) -> np.ndarray:
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    return np.array(lines.get_segments())


def test_raster_has_a_tick_for_each_bin_with_spikes() -> None:
    counts = counts_of({"B": 2, "A": 1}, n_trials=12)
    axes = plotting.plot_raster(counts)
    assert len(axes) == 3
    data = counts.to_array()
    for u, ax in enumerate(axes):
        drawn = segments(ax)
        rows, bins = np.nonzero(data[:, :, u])
        assert len(drawn) == len(rows)
        np.testing.assert_allclose(drawn[:, 0, 0], counts.bin_centers[bins])
        np.testing.assert_allclose(drawn[:, :, 1].mean(axis=1), rows + 0.5)
        assert ax.get_ylim() == (12, 0)
        assert ax.get_xlim() == pytest.approx((-0.5, 1.0))
        assert ax.get_xlabel() == "time from cue start (s)"
    assert [a.get_title(loc="left") for a in axes] == [
        "unit 100, B",
        "unit 101, B",
        "unit 102, A",
    ]
    assert [a.get_ylabel() for a in axes] == ["trial", "", ""]


def test_raster_of_chosen_units() -> None:
    counts = counts_of({"A": 20})
    ax = plotting.plot_raster(counts, units=3.0, event="go")  # R sends whole numbers as doubles
    assert ax.get_title(loc="left") == "unit 103, A"
    assert ax.get_xlabel() == "time from go (s)"
    assert len(segments(ax)) == np.count_nonzero(counts.to_array()[:, :, 3])
    with pytest.raises(ValueError, match=r"units=20 must lie in \[0, 19\]"):
        plotting.plot_raster(counts, units=[0, 20])
    with pytest.raises(TypeError, match="whole number"):
        plotting.plot_raster(counts, units=[0.5])
    with pytest.raises(ValueError, match="20 units need as many panels"):
        plotting.plot_raster(counts)


def test_raster_of_one_window_has_a_row_per_unit() -> None:
    counts = counts_of({"A": 3, "B": 5}, n_trials=1)
    ax = plotting.plot_raster(counts)
    assert ax.get_ylim() == (8, 0)
    assert [t.get_text() for t in ax.texts] == ["A (3)", "B (5)"]
    assert ax.get_xlabel() == "time from 10 s in the session (s)"
    n = sum(len(c.get_segments()) for c in ax.collections)
    assert n == np.count_nonzero(counts.to_array())


# ---- behaviour ---------------------------------------------------------------------------------
def behavior(n: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    contrast = rng.choice([-1.0, -0.25, 0.0, 0.25, 1.0], n)
    right = rng.random(n) < 1 / (1 + np.exp(-4 * contrast))
    choice = np.where(right, "right", "left").astype(object)
    choice[::10] = "none"
    correct = pd.array(np.where(right, contrast > 0, contrast < 0), dtype="boolean")
    correct[choice == "none"] = pd.NA
    return pd.DataFrame(
        {
            "trial": np.arange(n),
            "signed_contrast": contrast,
            "choice": choice,
            "correct": correct,
            "reward": np.asarray(correct.fillna(False), float),
            "include": np.arange(n) >= 5,
            "photostim": np.arange(n) % 7 == 0,
        }
    )


def test_psychometric_points_count_clean_choices_of_a_side() -> None:
    from statsmodels.stats.proportion import proportion_confint

    table = behavior()
    points = plotting.psychometric_points(table, level=0.9)
    kept = table[table["include"] & ~table["photostim"] & (table["choice"] != "none")]
    assert points.index.tolist() == [-1.0, -0.25, 0.0, 0.25, 1.0]
    assert points["n_trials"].sum() == len(kept)
    for contrast, row in points.iterrows():
        own = kept[kept["signed_contrast"] == contrast]["choice"] == "right"
        assert row["n_right"] == own.sum()
        assert row["p_right"] == pytest.approx(own.mean())
        expected = proportion_confint(own.sum(), len(own), alpha=0.1, method="wilson")
        assert (row["lower"], row["upper"]) == pytest.approx(expected, abs=1e-12)


def test_accuracy_blocks_share_no_trial() -> None:
    table = behavior()
    blocks = plotting.accuracy_blocks(table, block_size=20)
    kept = table[table["include"] & ~table["photostim"] & table["correct"].notna()]
    assert len(kept) == 73
    # 73 trials: 20, 20, 20 and a last block of 13
    assert blocks["n_trials"].tolist() == [20, 20, 20, 13]
    assert blocks["n_correct"].sum() == kept["correct"].sum()
    assert (blocks["first_trial"].to_numpy()[1:] > blocks["last_trial"].to_numpy()[:-1]).all()
    assert blocks["first_trial"][0] == kept["trial"].iloc[0]
    assert blocks.attrs["outcome"] == "correct"
    assert ((blocks["lower"] <= blocks["accuracy"]) & (blocks["accuracy"] <= blocks["upper"])).all()


def test_a_short_last_block_joins_the_one_before() -> None:
    blocks = plotting.accuracy_blocks(behavior(), block_size=24)
    assert blocks["n_trials"].tolist() == [24, 24, 25]
    assert plotting.accuracy_blocks(behavior())["n_trials"].iloc[0] == 10


def test_accuracy_falls_back_on_reward() -> None:
    table = behavior()
    table["correct"] = pd.array([pd.NA] * len(table), dtype="boolean")
    blocks = plotting.accuracy_blocks(table)
    assert blocks.attrs["outcome"] == "reward"
    assert (
        blocks["n_correct"].sum() == table[table["include"] & ~table["photostim"]]["reward"].sum()
    )
    assert plotting.plot_accuracy(blocks).get_ylabel() == "share of rewarded trials"


def test_behaviour_tables_are_checked() -> None:
    with pytest.raises(ValueError, match="lacks choice, include"):
        plotting.psychometric_points(behavior()[["signed_contrast", "photostim"]])
    with pytest.raises(ValueError, match="block_size=0"):
        plotting.accuracy_blocks(behavior(), block_size=0)
    with pytest.raises(ValueError, match="level"):
        plotting.psychometric_points(behavior(), level=1.5)


def bars(ax: Any) -> tuple[np.ndarray, np.ndarray]:
    (container,) = ax.containers
    (lines,) = container.lines[2]
    ends = np.array(lines.get_segments())[:, :, 1]
    return container.lines[0].get_data(), ends


def test_psychometric_figure() -> None:
    points = plotting.psychometric_points(behavior())
    ax = plotting.plot_psychometric(points)
    (x, y), ends = bars(ax)
    np.testing.assert_allclose(x, [-100, -25, 0, 25, 100])
    np.testing.assert_allclose(y, points["p_right"])
    np.testing.assert_allclose(ends, points[["lower", "upper"]], atol=1e-12)
    assert ax.get_xlabel() == "contrast, right minus left (%)"
    assert ax.get_ylabel() == "share of choices to the right"
    assert ax.get_title(loc="left") == f"Choices by contrast, {points['n_trials'].sum()} trials"
    assert ax.get_ylim() == (-0.02, 1.02)
    same = plotting.plot_psychometric(behavior())
    np.testing.assert_allclose(bars(same)[0][1], y)


def test_accuracy_figure() -> None:
    blocks = plotting.accuracy_blocks(behavior(), block_size=20)
    ax = plotting.plot_accuracy(blocks, chance=0.5)
    (x, y), ends = bars(ax)
    np.testing.assert_allclose(x, (blocks["first_trial"] + blocks["last_trial"]) / 2)
    np.testing.assert_allclose(y, blocks["accuracy"])
    np.testing.assert_allclose(ends, blocks[["lower", "upper"]], atol=1e-12)
    assert ax.get_ylabel() == "share of correct trials"
    assert ax.get_ylim()[0] == 0
    assert [t.get_text() for t in ax.texts] == ["chance"]
    assert not plotting.plot_accuracy(blocks).texts


# ---- components --------------------------------------------------------------------------------
def fitted(d: int = 6, k: int = 2, n_bootstrap: int = 20) -> SimpleNamespace:
    rng = np.random.default_rng(3)
    loadings = np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return SimpleNamespace(
        components_=loadings,
        explained_variance_ratio_=np.linspace(0.4, 0.1, k),
        n_bootstrap=n_bootstrap,
        component_intervals=lambda level, **_: (loadings - 0.1 * level, loadings + 0.2 * level),
    )


def test_components_are_ordered_by_area_with_their_intervals() -> None:
    result = fitted()
    areas = ["B", "A", "B", "A", "A", "B"]
    axes = plotting.plot_components(result, names=range(10, 16), groups=areas, level=0.9)
    assert len(axes) == 2
    order = [0, 2, 5, 1, 3, 4]
    for c, ax in enumerate(axes):
        x = np.concatenate([k.lines[0].get_xdata() for k in ax.containers])
        y = np.concatenate([k.lines[0].get_ydata() for k in ax.containers])
        np.testing.assert_array_equal(x, range(6))
        np.testing.assert_allclose(y, result.components_[c, order])
        ends = np.concatenate(
            [np.array(k.lines[2][0].get_segments())[:, :, 1] for k in ax.containers]
        )
        np.testing.assert_allclose(ends[:, 0], y - 0.09)
        np.testing.assert_allclose(ends[:, 1], y + 0.18)
        low, high = ax.get_ylim()
        assert low == -high
        assert ends.max() < high
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_title(loc="left") == "Component 1: 40 % of the variance, 90 % intervals"
    assert [t.get_text() for t in axes[1].get_xticklabels()] == ["10", "12", "15", "11", "13", "14"]
    assert [t.get_text() for t in axes[0].texts] == ["B", "A"]
    colors = plotting.area_colors(areas)
    assert axes[0].containers[0].lines[0].get_color() == colors["B"]


def test_components_say_when_there_are_no_intervals() -> None:
    ax = plotting.plot_components(fitted(k=1, n_bootstrap=0))
    assert "no intervals (n_bootstrap=0)" in ax.get_title(loc="left")
    assert not ax.containers[0].lines[2]


def test_components_of_many_units_drop_the_names() -> None:
    ax = plotting.plot_components(fitted(d=300, k=1), groups=["A"] * 150 + ["B"] * 150)
    assert len(ax.get_xticks()) == 0
    assert sum(len(c.lines[0].get_xdata()) for c in ax.containers) == 300


def test_components_check_their_lengths() -> None:
    with pytest.raises(ValueError, match="names has 2 entries but there are 6"):
        plotting.plot_components(fitted(), names=["a", "b"])
    with pytest.raises(ValueError, match="groups has 1 entries"):
        plotting.plot_components(fitted(), groups=["a"])
    with pytest.raises(ValueError, match="level"):
        plotting.plot_components(fitted(), level=0)


@pytest.mark.parametrize("wrong", [None, 3, "psth", b"x", object(), {"a": 1}, [1, 2], np.zeros(3)])
@pytest.mark.parametrize(
    "function",
    [
        plotting.plot_psth,
        plotting.plot_raster,
        plotting.plot_rates,
        plotting.plot_psychometric,
        plotting.plot_accuracy,
        plotting.plot_components,
        plotting.plot_error_history,
        plotting.plot_scree,
        plotting.mean_rates,
        plotting.psychometric_points,
        plotting.accuracy_blocks,
    ],
)
def test_wrong_kinds_are_refused_in_one_sentence(function: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"(result|counts|behavior) must be .*, got \w+") as caught:
        function(wrong)
    assert "\n" not in str(caught.value)


def test_area_colours_need_names() -> None:
    with pytest.raises(TypeError, match="areas must not be None"):
        plotting.area_colors(None)  # type: ignore[arg-type]
    assert plotting.area_colors([]) == {}


def test_chance_is_a_share() -> None:
    with pytest.raises(ValueError, match="chance=2"):
        plotting.plot_accuracy(behavior(), chance=2)


def test_every_figure_can_be_saved_as_svg() -> None:
    with plotting.style(offscreen=True):
        drawn = [
            plotting.plot_psth(psths({"A": 2, "B": 2})),
            plotting.plot_raster(counts_of({"A": 2}, n_trials=1)),
            plotting.plot_rates(counts_of({"A": 2}, n_trials=1)),
            plotting.plot_psychometric(behavior()),
            plotting.plot_accuracy(behavior()),
            plotting.plot_components(fitted(k=1)),
        ]
    for ax in drawn:
        out = io.BytesIO()
        ax.figure.savefig(out, format="svg")
        assert out.getvalue().count(b"<path") > 10


def test_an_area_keeps_its_colour_in_every_figure_of_a_file() -> None:
    names = [f"area{k}" for k in range(10)]
    want = plotting.area_colors(names)["area3"]
    assert plotting.area_colors("area3")["area3"] != want

    def shown(n_trials: int) -> SpikeCounts:
        counts = counts_of({"area3": 2}, n_trials=n_trials)
        return dataclasses.replace(counts, info={**counts.info, "file_areas": names})

    pca = fitted(k=1)
    groups = ["area3"] * pca.components_.shape[1]
    with plotting.style(offscreen=True):
        raster = plotting.plot_raster(shown(20), units=[0])
        psth = plotting.plot_psth(shown(20).psth("area3"))
        rates = plotting.plot_rates(shown(1))
        loadings = plotting.plot_components(pca, groups=groups, file_areas=names)
    assert raster.get_title(loc="left").endswith("area3")
    assert matplotlib.colors.to_hex(raster.collections[0].get_color()[0]) == want.lower()
    for ax in (psth, rates):
        assert want in [line.get_color() for line in ax.get_lines()]
    assert want in [line.get_color() for line in loadings.get_lines()]
