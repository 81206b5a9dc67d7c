"""Figures of learning: labels, limits, lines, bands, symbols and words."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from test_plotting import band, nothing_global  # noqa: F401 - used by every test

from nb26stats import plotting
from nb26stats.learning import behavior_metrics, fit_psychometric

COLORS = plotting.ARCHITECTURE_COLORS
N_SESSIONS = 8


def learner(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contrasts, choices that become better, and eight sessions."""
    rng = np.random.default_rng(seed)
    contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], n)
    good = rng.random(n) < 0.5 + 0.45 * np.arange(n) / n
    choice = np.where(good, contrast > 0, contrast < 0).astype(int)
    return contrast, choice, np.repeat(np.arange(N_SESSIONS), n // N_SESSIONS)


def metrics(seed: int, **how: Any) -> pd.DataFrame:
    contrast, choice, sessions = learner(seed)
    return behavior_metrics(contrast, choice, **(how or {"sessions": sessions}))


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def line(ax: Any, label: str) -> Any:
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found


def upright(ax: Any) -> list[float]:
    """Where the light lines between sessions stand."""
    x = [np.asarray(one.get_xdata()) for one in ax.get_lines() if one.get_color() == "#e4e4e4"]
    return [float(v[0]) for v in x]


def rule(n_hidden: int = 2, n_outputs: int = 1, n_trials: int = 60, bias: int = 0) -> Any:
    """A fitted rule made by hand: every weight walks a straight line of its own."""
    shapes = {"W1": (n_hidden or n_outputs, 3)}
    if n_hidden:
        shapes["W2"] = (n_outputs, n_hidden + bias)
    q = sum(a * b for a, b in shapes.values())
    weights = np.linspace(np.zeros(q), np.arange(1.0, q + 1) / q, n_trials + 1)
    return SimpleNamespace(weights_=weights, params_={k: np.zeros(s) for k, s in shapes.items()})


def table(n_animals: int = 1, **columns: Any) -> pd.DataFrame:
    """A comparison: per animal 1L far off, 2L best, 2NL 3 units behind."""
    rows = [
        (f"m{k}", name, 1000.0 + k + above, 1010.0 + k + above, -0.5 - above / 1e5, 3, ())
        for k in range(n_animals)
        for name, above in (("1L", 60.0), ("2L", 0.0), ("2NL", 3.0))
    ]
    names = ["animal", "architecture", "aic", "bic", "heldout", "n_hit", "at_bounds"]
    return pd.DataFrame(rows, columns=names).assign(**columns)


def dots(ax: Any, color: str) -> list[tuple[float, bool]]:
    """Place and filling of the points of one colour."""
    return [
        (float(x), to_hex(one.get_markerfacecolor()) != "#ffffff")
        for one in ax.get_lines()
        if one.get_linestyle() == "None" and to_hex(one.get_color()) == color.lower()
        for x in np.atleast_1d(one.get_xdata())
    ]


def crosses(ax: Any) -> list[float]:
    found = [one for one in ax.get_lines() if one.get_marker() == "x"]
    return [float(x) for one in found for x in np.atleast_1d(one.get_xdata())]


def profile(**changes: Any) -> Any:
    grid = np.geomspace(0.001, 0.1, 9)
    fields: dict[str, Any] = {
        "name": "alpha",
        "grid": grid,
        "objective": -50.0 - 2 * np.log(grid / 0.01) ** 2,
        "maximum": -50.0,
        "estimate": 0.01,
        "interval": (0.0037, 0.0266),
        "level": 0.95,
        "converged": np.arange(9) != 2,
    }
    return SimpleNamespace(**{**fields, **changes})


# ---- the learning curve ------------------------------------------------------------------------
def test_the_animal_is_drawn_in_the_middle_of_its_sessions() -> None:
    real = metrics(0)
    panels = plotting.plot_learning_curve(real)
    assert [p.get_title(loc="left") for p in panels] == ["Accuracy", "Bias", "Sensitivity"]
    assert [p.get_ylabel() for p in panels] == ["share correct", "bias to the right", "sensitivity"]
    assert panels[1].get_xlabel() == "trial, from 0"
    for panel, column in zip(panels, ("accuracy", "bias", "sensitivity"), strict=True):
        animal = line(panel, "animal")
        np.testing.assert_array_equal(animal.get_ydata(), real[column])
        np.testing.assert_allclose(animal.get_xdata(), 24.5 + 50 * np.arange(N_SESSIONS))
        assert upright(panel) == [50.0 * k - 0.5 for k in range(1, N_SESSIONS)]
        assert not panel.collections
        assert not words(panel)
    low, high = panels[1].get_ylim()
    assert low == -high
    assert panels[0].get_ylim()[1] == panels[2].get_ylim()[1] == 1.0
    assert not panels[0].spines["top"].get_visible()


def test_simulated_runs_are_a_median_and_a_band_in_the_colour_of_the_network() -> None:
    runs = [metrics(seed) for seed in range(1, 42)]
    panels = plotting.plot_learning_curve(metrics(0), simulated=runs, architecture="2NL", level=0.9)
    for panel, column in zip(panels, ("accuracy", "bias", "sensitivity"), strict=True):
        values = np.array([run[column] for run in runs])
        middle = line(panel, "simulated")
        assert middle.get_color() == COLORS["2NL"]
        np.testing.assert_allclose(middle.get_ydata(), np.median(values, axis=0))
        low, high = np.quantile(values, [0.05, 0.95], axis=0)
        edges = band(panel)[:, 1]
        assert edges.min() == pytest.approx(low.min())
        assert edges.max() == pytest.approx(high.max())
        assert panel.get_ylim()[0] <= min(low.min(), panel.get_ylim()[1])
    assert words(panels[2]) == ["2NL: median and\n90 % of 41 runs", "animal"]
    assert panels[2].texts[0].get_color() == COLORS["2NL"]
    assert [t.get_va() for t in panels[2].texts] == ["bottom", "bottom"]


def test_the_key_stands_where_the_lines_are_not() -> None:
    real = metrics(0)
    for learned in (0.1, 0.9):
        real["sensitivity"] = learned
        panel = plotting.plot_learning_curve(real, simulated=[real, real])[2]
        panel.figure.draw_without_rendering()
        height = panel.transData.transform((0.0, learned))[1]
        spans = [t.get_window_extent() for t in panel.texts]
        assert all(not s.y0 < height < s.y1 for s in spans)
        assert not spans[0].overlaps(spans[1])


def test_windows_stand_in_their_middle_and_sessions_can_be_named_apart() -> None:
    real = metrics(0, window=100, step=20)
    panels = plotting.plot_learning_curve(real, sessions=learner(0)[2], color="#123456")
    animal = line(panels[0], "animal")
    np.testing.assert_allclose(animal.get_xdata(), real["start"] + 49.5)
    assert animal.get_color() == "#123456"
    assert upright(panels[0]) == [50.0 * k - 0.5 for k in range(1, N_SESSIONS)]
    # lines closer than this would be a grey field
    crowded = plotting.plot_learning_curve(real, sessions=np.arange(400))
    assert not upright(crowded[0])


def test_a_table_without_trials_stands_at_its_index() -> None:
    columns = ["accuracy", "bias", "sensitivity"]
    by_day = metrics(0)[columns].set_axis(pd.Index(range(3, 11), name="day"))
    panels = plotting.plot_learning_curve(by_day)
    np.testing.assert_array_equal(line(panels[0], "animal").get_xdata(), range(3, 11))
    assert panels[1].get_xlabel() == "day"
    named = plotting.plot_learning_curve(by_day.set_axis(list("abcdefgh")))
    np.testing.assert_array_equal(line(named[0], "animal").get_xdata(), range(8))
    assert named[1].get_xlabel() == "window, from 0"


def test_windows_that_say_nothing_leave_gaps_not_warnings() -> None:
    real = metrics(0)
    runs = [metrics(seed) for seed in (1, 2)]
    for one in (real, *runs):
        one.loc[2, ["accuracy", "bias", "sensitivity"]] = np.nan
    panels = plotting.plot_learning_curve(real, simulated=runs)
    assert np.isnan(line(panels[0], "animal").get_ydata()[2])
    assert np.isnan(line(panels[0], "simulated").get_ydata()[2])
    one_run = plotting.plot_learning_curve(real, simulated=runs[0])
    assert words(one_run[2]) == ["network: one run", "animal"]
    assert not one_run[0].collections
    real[["accuracy", "bias", "sensitivity"]] = np.nan
    nothing = plotting.plot_learning_curve(real)
    assert nothing[1].get_ylim() == (-0.5, 0.5)


def test_learning_curves_refuse_what_they_cannot_draw() -> None:
    real = metrics(0)
    with pytest.raises(ValueError, match="run 1 of simulated has 4 windows but the animal has 8"):
        plotting.plot_learning_curve(real, simulated=[real, metrics(1, window=100)])
    with pytest.raises(ValueError, match="result lacks bias"):
        plotting.plot_learning_curve(real.drop(columns="bias"))
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.plot_learning_curve(real[:0])
    with pytest.raises(ValueError, match="level"):
        plotting.plot_learning_curve(real, level=95)
    with pytest.raises(ValueError, match="ax holds 1 axes but the figure has 3 panels"):
        plotting.plot_learning_curve(real, ax=Figure().add_subplot())


def test_learning_curves_use_the_axes_given() -> None:
    axes = Figure().subplots(1, 3)
    assert list(plotting.plot_learning_curve(metrics(0), ax=axes)) == list(axes)


# ---- weights -----------------------------------------------------------------------------------
def test_two_layers_have_a_panel_per_input_and_output() -> None:
    result = rule()
    sessions = np.repeat([0, 1, 2], 20)
    panels = plotting.plot_learning_weights(
        result, inputs=["left", "right", "constant"], sessions=sessions
    )
    assert [p.get_title(loc="left") for p in panels] == [
        "Layer 1, from left",
        "Layer 1, from right",
        "Layer 1, from constant",
        "Layer 2, right against left",
    ]
    w1 = result.weights_[:, :6].reshape(-1, 2, 3)
    for j in range(3):
        for h in range(2):
            one = line(panels[j], f"unit {h + 1}")
            np.testing.assert_array_equal(one.get_ydata(), w1[:, h, j])
            np.testing.assert_array_equal(one.get_xdata(), np.arange(61))
            assert one.get_color() == list(plotting.OKABE_ITO.values())[h]
        assert words(panels[j]) == ["unit 1", "unit 2"]
        assert panels[j].get_ylim() == panels[0].get_ylim()
        assert upright(panels[j]) == [19.5, 39.5]
    np.testing.assert_array_equal(line(panels[3], "unit 2").get_ydata(), result.weights_[:, 7])
    assert panels[3].get_xlim() == (0, 60)
    assert [p.get_ylabel() for p in panels] == ["weight", "", "weight", ""]
    assert [p.get_xlabel() for p in panels] == ["", "", "trial, from 0", "trial, from 0"]


def test_one_layer_has_a_line_per_input() -> None:
    (panel,) = plotting.plot_learning_weights(rule(n_hidden=0), linewidth=0.7)
    assert words(panel) == ["input 0", "input 1", "input 2"]
    assert line(panel, "input 2").get_linewidth() == 0.7
    both = plotting.plot_learning_weights(rule(n_hidden=0, n_outputs=2))
    assert [p.get_title(loc="left") for p in both] == [
        "Weights of the inputs, left",
        "Weights of the inputs, right",
    ]


def test_the_bias_of_the_output_and_many_units_are_named() -> None:
    panels = plotting.plot_learning_weights(rule(bias=1))
    assert words(panels[3]) == ["unit 1", "unit 2", "bias"]
    many = plotting.plot_learning_weights(rule(n_hidden=8))
    legend = many[1].get_legend()
    assert [t.get_text() for t in legend.get_texts()] == [f"unit {k}" for k in range(1, 9)]
    looks = {(x.get_color(), x.get_linestyle()) for x in many[0].get_lines()[-8:]}
    assert len(looks) == 8


def test_long_walks_are_thinned_and_keep_their_ends() -> None:
    result = rule(n_trials=20_001)
    one = line(plotting.plot_learning_weights(result)[0], "unit 1")
    assert len(one.get_xdata()) < 4100
    assert one.get_xdata()[-1] == 20_001
    assert one.get_ydata()[-1] == result.weights_[-1, 0]


def test_weights_refuse_what_does_not_fit() -> None:
    with pytest.raises(TypeError, match="result must be a fitted DNNLearningRule, got dict"):
        plotting.plot_learning_weights({})
    with pytest.raises(ValueError, match="inputs has 2 names but the network has 3 inputs"):
        plotting.plot_learning_weights(rule(), inputs=["a", "b"])
    broken = rule()
    broken.weights_ = broken.weights_[:, :5]
    with pytest.raises(ValueError, match="the layers of params_ hold 8 weights"):
        plotting.plot_learning_weights(broken)


# ---- comparison --------------------------------------------------------------------------------
def test_every_network_stands_at_its_distance_from_the_best() -> None:
    panels = plotting.plot_comparison(table())
    assert [p.get_title(loc="left") for p in panels] == ["AIC", "BIC", "Held-out blocks"]
    assert [p.get_xlabel() for p in panels] == [
        "AIC above the best",
        "BIC above the best",
        "nats lost per 1,000 trials",
    ]
    for panel, unit in zip(panels, (1.0, 1.0, 0.01), strict=True):
        for name, above in (("1L", 60.0), ("2L", 0.0), ("2NL", 3.0)):
            ((x, filled),) = dots(panel, COLORS[name])
            assert x == pytest.approx(unit * above, abs=1e-9)
            assert filled
        assert not crosses(panel)
    assert [t.get_text() for t in panels[0].get_yticklabels()] == ["m0"]
    # the band of ties lies under AIC only
    (tie,) = panels[0].patches
    assert (tie.get_x(), tie.get_width()) == (0, 4)
    assert not panels[1].patches
    assert not panels[2].patches
    legend = panels[2].get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["1L", "2L", "2NL", "tie (< 4)"]
    assert not legend.get_title().get_text()


def test_lonely_and_bounded_fits_have_their_symbols() -> None:
    bounds = [(), ("alpha",), ("W1[0,1]", "beta")]
    frame = table(n_hit=[4, 1, 3], at_bounds=bounds)
    (panel,) = plotting.plot_comparison(frame, criterion="aic")
    assert dots(panel, COLORS["2L"]) == [(0.0, False)]
    assert dots(panel, COLORS["1L"]) == [(60.0, True)]
    assert sorted(crosses(panel)) == [0.0, 3.0]
    names = [t.get_text() for t in panel.get_legend().get_texts()]
    assert names[3:5] == ["one start only", "on a bound"]
    for marks in ([0, 1, 2], [False, True, True], [np.nan, 1.0, 2.0]):
        (same,) = plotting.plot_comparison(frame.assign(at_bounds=marks), criterion=["aic"])
        assert sorted(crosses(same)) == [0.0, 3.0]


def test_many_animals_have_a_row_each_on_a_scale_that_shows_ties_and_gaps() -> None:
    frame = table(24)
    frame.loc[0, "aic"] += 900
    panels = plotting.plot_comparison(frame.set_index(["animal", "architecture"]))
    assert len(panels[0].get_yticks()) == 24
    low, high = panels[0].get_ylim()
    assert low > high, "the first animal is not at the top"
    assert panels[0].get_xscale() == "symlog"
    assert panels[0].get_xlabel() == "AIC above the best, log above 10"
    assert panels[1].get_xscale() == "linear"
    assert len(dots(panels[0], COLORS["2NL"])) == 24
    assert panels[0].figure.get_size_inches()[1] > 4
    panels[0].figure.draw_without_rendering()
    texts = [t.get_window_extent() for t in panels[0].get_yticklabels()]
    assert all(a.y0 > b.y1 - 3 for a, b in itertools.pairwise(texts)), "names overlap"


def test_an_unfair_comparison_says_so() -> None:
    frame = table()
    frame.attrs["fair"] = False
    legend = plotting.plot_comparison(frame)[-1].get_legend()
    assert legend.get_title().get_text() == "not a fair comparison"
    frame.attrs["fair"] = True
    assert not plotting.plot_comparison(frame)[-1].get_legend().get_title().get_text()


def test_rules_are_compared_within_an_animal() -> None:
    frame = pd.concat([table().assign(rule="rpe"), table().assign(rule="reinforce", aic=[7, 8, 9])])
    (panel,) = plotting.plot_comparison(frame, criterion="aic")
    assert [t.get_text() for t in panel.get_yticklabels()] == ["m0, rpe", "m0, reinforce"]
    assert dots(panel, COLORS["1L"]) == [(60.0, True), (0.0, True)]


def test_held_out_differences_carry_their_errors() -> None:
    panel = plotting.plot_comparison(table(dheldout_se=[0.001, 0.0, 0.0005]))[-1]
    assert panel.get_xlabel() == "nats lost per 1,000 trials (± SE)"
    spans = [x.get_xdata() for x in panel.get_lines() if x.get_linewidth() == 1.0]
    np.testing.assert_allclose(sorted(map(tuple, spans)), [(-0.47, 0.53), (-0.4, 1.6)], atol=1e-9)
    assert panel.get_xlim()[0] < -0.47
    # without blocks the column is empty
    assert len(plotting.plot_comparison(table(heldout=np.nan))) == 2


def test_comparisons_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(ValueError, match="lacks 'architecture'"):
        plotting.plot_comparison(table().drop(columns="architecture"))
    with pytest.raises(ValueError, match="none of aic, bic and heldout"):
        plotting.plot_comparison(table()[["animal", "architecture"]])
    with pytest.raises(ValueError, match="the table has no column bic"):
        plotting.plot_comparison(table().drop(columns="bic"), criterion="bic")
    with pytest.raises(ValueError, match="criterion='waic'"):
        plotting.plot_comparison(table(), criterion="waic")
    with pytest.raises(ValueError, match="the table holds no network"):
        plotting.plot_comparison(table()[:0])
    alone = table().drop(columns=["animal", "n_hit", "at_bounds"])
    (panel,) = plotting.plot_comparison(alone, criterion="bic", ax=Figure().add_subplot())
    assert dots(panel, COLORS["1L"]) == [(60.0, True)]


# ---- profile -----------------------------------------------------------------------------------
def test_the_profile_shows_the_cut_and_the_interval() -> None:
    result = profile()
    ax = plotting.plot_profile(result)
    curve = ax.get_lines()[0]
    np.testing.assert_array_equal(curve.get_xdata(), result.grid)
    np.testing.assert_allclose(curve.get_ydata(), result.objective + 50)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "learning rate α"
    assert ax.get_ylabel() == "log-likelihood, from its maximum"
    assert ax.get_title(loc="left") == "α = 0.01, 95 % interval 0.0037 to 0.0266"
    bar = line(ax, "_interval")
    np.testing.assert_allclose(bar.get_xdata(), [0.0037, 0.0266])
    np.testing.assert_allclose(bar.get_ydata(), -1.9207, atol=1e-4)
    assert words(ax) == ["95 %: drop\nof 1.92"]
    faces = [to_hex(p.get_markerfacecolor()) for p in ax.get_lines() if p.get_marker() == "o"]
    sizes = [len(p.get_xdata()) for p in ax.get_lines() if p.get_marker() == "o"]
    assert dict(zip(faces, sizes, strict=True)) == {"#0072b2": 8, "#ffffff": 1}
    low, high = ax.get_ylim()
    assert low < -1.92 < 0 < high


def test_an_open_interval_runs_to_the_edge() -> None:
    grid = np.linspace(-2, 2, 9)
    result = profile(
        name="W1[0,2]",
        grid=grid,
        objective=-50 - 0.1 * (grid - 1) ** 2,
        estimate=1.0,
        interval=(-1.5, np.nan),
        converged=np.ones(9, bool),
        level=0.68,
    )
    ax = plotting.plot_profile(result, color="#123456")
    assert line(ax, "_interval").get_xdata()[1] == ax.get_xlim()[1]
    assert ax.get_xscale() == "linear"
    assert ax.get_xlabel() == "weight W1[0,2]"
    assert ax.get_title(loc="left") == "W1[0,2] = 1, 68 % interval −1.5 to open"
    assert ax.get_lines()[0].get_color() == "#123456"
    with pytest.raises(TypeError, match="what profile_likelihood returns, got dict"):
        plotting.plot_profile({})


def test_a_steep_profile_is_shown_near_its_top() -> None:
    grid = np.linspace(0.1, 0.3, 5)
    steep = profile(
        name="lapse",
        grid=grid,
        objective=-1e5 * (grid - 0.2) ** 2,
        maximum=0.0,
        estimate=0.2,
        interval=(0.19, 0.21),
        converged=np.ones(5, bool),
    )
    ax = plotting.plot_profile(steep)
    assert -20 < ax.get_ylim()[0] < -10
    assert ax.get_title(loc="left") == "Lapse = 0.2, 95 % interval 0.19 to 0.21"


# ---- the psychometric curve --------------------------------------------------------------------
def test_choices_carry_wilson_intervals_and_the_fitted_curve() -> None:
    rng = np.random.default_rng(0)
    contrast = np.repeat([-0.5, -0.25, 0.25, 0.5], 200)
    choice = rng.random(800) < 0.1 + 0.8 / (1 + np.exp(-8 * (contrast - 0.1)))
    fit = fit_psychometric(contrast, choice.astype(int))
    ax = fit.plot()
    (bars,) = ax.containers
    points, _, (spans,) = bars.lines
    np.testing.assert_allclose(points.get_xdata(), [-50, -25, 25, 50])
    share = fit.n_right / fit.n_trials
    np.testing.assert_allclose(points.get_ydata(), share)
    assert points.get_linestyle() == "None"
    for (low, high), p, n in zip(
        [s[:, 1] for s in spans.get_segments()], share, fit.n_trials, strict=True
    ):
        # the bounds of Wilson's interval solve |p - q| = z sqrt(q (1 - q) / n)
        for q in (low, high):
            assert abs(p - q) == pytest.approx(1.959964 * np.sqrt(q * (1 - q) / n), rel=1e-6)
    curve = next(x for x in ax.get_lines() if len(x.get_xdata()) == 201)
    np.testing.assert_allclose(curve.get_ydata(), fit.p_right(np.linspace(-0.5, 0.5, 201)))
    assert ax.get_xlabel() == "contrast, right minus left (%)"
    assert ax.get_ylabel() == "share of choices to the right"
    assert ax.get_ylim() == (-0.02, 1.02)
    assert ax.get_title(loc="left") == "Choices by contrast, 800 trials"


def test_networks_have_one_colour_each() -> None:
    assert dict(COLORS) == {"1L": "#0072B2", "2L": "#D55E00", "2NL": "#009E73"}
