"""Figures of responders: what is drawn, over which rows, with which words."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causal_fake import PRIOR, KnownC2G, known_data
from matplotlib.colors import to_hex
from scipy.integrate import trapezoid
from test_plotting import nothing_global  # noqa: F401 - used by every test

from nb26stats import NonparametricC2G, SemiparametricC2G, datasets, plotting
from nb26stats.causal import C2GResult, SmallSampleWarning, _summary

X, Y, T, _ = known_data()
N = len(Y)
BLUE, GREY = plotting.OKABE_ITO["blue"], plotting.OKABE_ITO["grey"]
RED = plotting.OKABE_ITO["vermillion"]


def fit(y: Any = Y, x: Any = X, treatment: Any = T, **kw: Any) -> KnownC2G:
    kw.setdefault("random_state", 0)
    return KnownC2G(**kw).fit(x, y, treatment=treatment)


@pytest.fixture(scope="module")
def bounded() -> NonparametricC2G:
    data = datasets.simulate_additive(300, tau=5, random_state=1)
    model = NonparametricC2G(n_bootstrap=20, device="cpu", n_threads=1, random_state=0)
    return model.fit(data.X, 1000 * data.y, treatment=data.treatment)


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def title(ax: Any) -> str:
    return str(ax.get_title(loc="left"))


def bars(ax: Any, k: int) -> Any:
    return np.array([patch.get_height() for patch in ax.containers[k]])


def outline(ax: Any, k: int) -> Any:
    """Heights of the k-th histogram drawn as a line."""
    steps = [p for p in ax.patches if not p.get_fill()][k]
    return steps.get_xy()[1:-1:2, 1]


def nothing_overlaps(ax: Any) -> None:
    """Words lie in the figure and off one another; no bar or curve reaches the legend."""
    figure = ax.figure
    figure.draw_without_rendering()
    whole = figure.bbox
    boxes = [t.get_window_extent() for t in ax.texts]
    legend = ax.get_legend().get_window_extent()
    for box in (
        *boxes,
        legend,
        ax.xaxis.label.get_window_extent(),
        ax._left_title.get_window_extent(),
    ):
        assert box.x0 >= whole.x0 - 1
        assert box.x1 <= whole.x1 + 1
        assert box.y1 <= whole.y1 + 1
    assert not any(box.overlaps(legend) for box in boxes)
    for artist in (*ax.lines, *ax.patches):
        path = artist.get_transform().transform_path(artist.get_path()).vertices
        inside = (
            (path[:, 0] > legend.x0)
            & (path[:, 0] < legend.x1)
            & (path[:, 1] > legend.y0)
            & (path[:, 1] < legend.y1)
        )
        assert not inside.any()


# ---- local false discovery rates ---------------------------------------------------------------
def test_every_treated_row_has_its_place_among_the_lfdr() -> None:
    model = fit()
    n = len(model.select())
    for source in (model, model.result()):
        ax = source.plot()
        assert title(ax) == f"{n} of 200 treated rows selected at q = 0.1"
        assert bars(ax, 0).sum() == n
        # stacked: the others stand upon the selected
        assert bars(ax, 1).sum() == 200 - n
        assert words(ax) == [
            f"{n} selected",
            f"{200 - n} other treated",
            "200 controls, weighted, to scale",
        ]
        assert outline(ax, 0).sum() == pytest.approx(200)
        assert ax.get_xlim() == (0.0, 1.0)
        assert ax.get_xlabel() == "local false discovery rate (probability of no response)"
        assert ax.get_ylabel() == "treated rows"
        nothing_overlaps(ax)


def test_controls_count_as_in_the_calibration() -> None:
    model = fit()
    weight, score = model.to_frame()[["control_weight", "control_score"]].dropna().to_numpy().T
    e = model.propensity_[~T]
    np.testing.assert_allclose(weight, e / (1 - e), rtol=1e-12)
    edges = np.linspace(0, 1, len(bars(model.plot(), 0)) + 1)
    expected = np.histogram(score, edges, weights=weight)[0] * 200 / weight.sum()
    np.testing.assert_allclose(outline(model.plot(), 0), expected, rtol=1e-9)
    even = fit(randomized=True)
    assert (even.to_frame()["control_weight"].dropna() == 1).all()
    assert words(even.plot())[2] == "200 controls, to scale"


def test_the_title_keeps_the_rate_of_the_fit() -> None:
    model = fit(q=0.2).set_params(q=0.01)
    assert title(model.plot()).endswith("at q = 0.2")


def test_nothing_selected_is_a_figure_too() -> None:
    rng = np.random.default_rng(2)
    model = fit(rng.normal(size=N))
    assert not model.selected_.any()
    ax = model.plot()
    assert title(ax).startswith("0 of 200 treated rows")
    assert bars(ax, 0).sum() == 0
    nothing_overlaps(ax)


def test_rows_without_comparable_controls_are_counted_apart() -> None:
    x = X.copy()
    x[:, 0] += 3.0 * T
    model = fit(x=x, overlap_action="trim", overlap=0.2)
    n_left, n_used = int(model.trimmed_.sum()), int((T & ~model.trimmed_).sum())
    assert n_left > 0
    ax = model.plot()
    assert title(ax) == f"{model.selected_.sum()} of {n_used} treated rows selected at q = 0.1"
    assert bars(ax, 0).sum() + bars(ax, 1).sum() == n_used
    assert ax.get_legend().get_title().get_text() == (
        f"{n_left} treated left out: no comparable controls"
    )
    weight = model.to_frame()["control_weight"].to_numpy()
    # controls that the calibration leaves out
    assert (weight[~T][model.propensity_[~T] > 0.8] == 0).all()
    nothing_overlaps(ax)
    at = int(np.flatnonzero(model.trimmed_)[0])
    assert title(model.plot("density", row=at)) == f"Row {at}, left out: no comparable controls"


@pytest.mark.parametrize("scale", [1e100, 1e-140, 1e-3, 12345.0])
@pytest.mark.parametrize("kind", ["density", "residuals"])
def test_any_unit_fits_into_the_figure(scale: float, kind: str) -> None:
    x, _, t, responder = known_data(200)
    y = np.random.default_rng(0).normal(size=200) + 3.0 * responder
    model = SemiparametricC2G(n_features=20, random_state=0, randomized=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "zM2=|the probabilities of response still")
        model.fit(x, scale * y, treatment=t)
    nothing_overlaps(model.plot(kind))


@pytest.mark.parametrize("n", [60, 20_000])
@pytest.mark.parametrize("kind", ["lfdr", "density", "residuals"])
def test_small_and_large_studies_fit_into_the_figure(n: int, kind: str) -> None:
    x, y, t, _ = known_data(n)
    with plotting.style(offscreen=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        ax = fit(y, x, t, randomized=True, n_jobs=1).plot(kind)
    nothing_overlaps(ax)
    if n == 20_000 and kind == "lfdr":
        assert "of 10,000 treated rows" in title(ax)


# ---- residuals ---------------------------------------------------------------------------------
def test_residuals_are_densities_of_both_arms() -> None:
    ax = fit().plot("residuals")
    assert words(ax) == ["200 controls, weighted", "200 treated"]
    low, high = ax.get_xlim()
    for k, color in ((0, GREY), (1, BLUE)):
        heights = outline(ax, k)
        assert heights.sum() * (high - low) / len(heights) == pytest.approx(1, abs=0.03)
        assert to_hex(ax.patches[k].get_edgecolor()) == color.lower()
    assert ax.get_ylabel() == "density (per unit of y)"
    nothing_overlaps(ax)


def test_far_residuals_are_counted_and_do_not_squeeze_the_rest() -> None:
    y = Y.copy()
    y[4] = 1e4
    ax = fit(y).plot("residuals")
    assert ax.get_xlim()[1] < 15
    assert [t.get_text() for t in ax.texts] == ["1 beyond the axis"]
    nothing_overlaps(ax)


def test_excesses_over_the_controls_are_told_where_the_model_knows_them() -> None:
    result = dataclasses.replace(fit().result(), details={"zM1": 4.21, "zM2": -0.3})
    ax = result.plot("residuals")
    assert [t.get_text() for t in ax.texts] == ["zM1 = 4.2\nzM2 = -0.3"]
    nothing_overlaps(ax)


def test_no_prior_is_shown_without_what_identifies_it() -> None:
    model = fit()
    model.zM1_, model.zM2_ = 0.5, 1.66
    weak = "zM2 = 1.7: prior and effect cannot be told apart"
    ax = model.plot("density")
    assert ax.get_legend().get_title().get_text() == weak
    nothing_overlaps(ax)
    share, _ = plotting.plot_estimands(model)
    assert share.texts[-1].get_text().replace("\n", " ").endswith(weak)
    model.zM2_ = 3.0
    assert model.plot("density").get_legend().get_title().get_text() == "zM2 = 3.0"
    # the figure and the summary draw the line at the same place
    assert plotting._responder_words.IDENTIFIED == _summary.IDENTIFIED


def test_equal_residuals_have_a_figure() -> None:
    table = pd.DataFrame(
        {
            "treated": [True, False],
            "selected": [False, False],
            "lfdr": [0.5, None],
            "control_score": [None, 0.5],
            "y": [1.0, 1.0],
            "null_mean": [0.0, 0.0],
        }
    )
    result = C2GResult(table, pd.DataFrame(), 0.1, "model", 0.0, 1, 1, 0)
    assert result.plot("residuals").get_xlim() == (0.5, 1.5)


# ---- densities ---------------------------------------------------------------------------------
def test_densities_at_a_row_and_what_no_response_explains() -> None:
    ax = fit().plot("density", row=3)
    f0, ft, without, outcome = ax.lines
    np.testing.assert_allclose(without.get_ydata(), (1 - PRIOR) * f0.get_ydata())
    # no response explains no more than there is
    assert (without.get_ydata() <= ft.get_ydata() + 1e-12).all()
    assert outcome.get_xdata()[0] == Y[3]
    assert not ax.collections  # no resamples, no bands
    assert words(ax) == [
        "controls like this row",
        "treated like this row",
        "no response: 0.60 × controls",
        f"its outcome, {plotting._axes.number(Y[3])}",
    ]
    nothing_overlaps(ax)


def test_bands_are_those_of_the_resamples(bounded: NonparametricC2G) -> None:
    at = int(np.nanargmin(bounded.lfdr_))
    ax = bounded.plot("density")
    assert title(ax).startswith(f"Row {at}, lfdr ")
    assert title(ax).endswith("selected" if bounded.selected_[at] else ", not selected")
    grid = ax.lines[0].get_xdata()
    # in the user's units, though the model scales
    for line in ax.lines[:2]:
        assert trapezoid(line.get_ydata(), grid) == pytest.approx(1, abs=0.03)
    bands = bounded._density_bands(at, grid)
    for drawn, (lower, upper) in zip(ax.collections, (bands.control, bands.treated), strict=True):
        vertices = drawn.get_paths()[0].vertices
        assert vertices[:, 1].max() == pytest.approx(upper.max())
        assert (lower <= upper).all()
    assert ax.get_legend().get_title().get_text() == "bands: middle 60% of 20 resamples"
    # the score of the row is that of the bands at its outcome
    here = bounded._density_bands(at, np.array([bounded._rows.y[at]]))
    score = (1 - bounded.prior_[at]) * here.control[1][0] / here.treated[0][0]
    assert min(score, 1) == pytest.approx(bounded.lfdr_[at], rel=1e-9)
    nothing_overlaps(ax)


def test_additive_densities_are_a_mixture_of_shifts() -> None:
    data = datasets.simulate_additive(400, tau=5, random_state=1)
    model = SemiparametricC2G(random_state=0).fit(data.X, data.y, treatment=data.treatment)
    ax = model.plot("density")
    at = int(np.nanargmin(model.lfdr_))
    f0, ft, without = (line.get_ydata() for line in ax.lines[:3])
    grid = ax.lines[0].get_xdata()
    for f in (f0, ft):
        assert trapezoid(f, grid) == pytest.approx(1, abs=0.03)
    shifted = np.interp(grid - model.effect_[at], grid, f0, left=0, right=0)
    prior = model.prior_[at]
    np.testing.assert_allclose(ft, without + prior * shifted, atol=0.02 * f0.max())
    assert ax.get_legend().get_title().get_text() == f"zM2 = {model.zM2_:.1f}"
    # the score of the row is the ratio of the curves at its outcome
    here, both = (float(np.interp(model._rows.y[at], grid, f)) for f in (without, ft))
    assert here / both == pytest.approx(model.lfdr_[at], abs=0.02)
    nothing_overlaps(ax)
    nothing_overlaps(model.plot())
    nothing_overlaps(model.plot("residuals"))


def test_rows_have_their_labels() -> None:
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"patient ${i}" for i in range(N)])
    model = fit(x=frame)
    assert title(model.plot("density", row=0)) == r"Row 0 (patient \$0), a control"
    with pytest.raises(ValueError, match="row=400 must lie in"):
        model.plot("density", row=400)


# ---- calibration -------------------------------------------------------------------------------
def test_realised_rates_over_promised_ones() -> None:
    fdp = np.array([[0.0, 0.1, 0.3], [0.2, 0.1, np.nan], [0.1, 0.1, 0.5]])
    ax = plotting.plot_fdr_calibration([0.3, 0.1, 0.2], fdp)
    (points,) = ax.containers
    line, _, (stems,) = points
    # in order of the promise
    np.testing.assert_allclose(line.get_xdata(), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(line.get_ydata(), [0.1, 0.4, 0.1])
    half = [np.ptp(segment[:, 1]) / 2 for segment in stems.get_segments()]
    # SD 0.1 over three runs, SD 0.1 sqrt(2) over two; a bar ends at 0
    np.testing.assert_allclose(half, [0, 0.2, (0.1 + 0.2 / np.sqrt(3)) / 2], atol=1e-12)
    diagonal = ax.lines[-1] if ax.lines[-1] is not line else ax.lines[0]
    assert ax.get_xlim() == ax.get_ylim()
    assert words(ax) == ["promise kept exactly", "realised"]
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert ax.get_legend().get_title().get_text() == "mean of 3 runs ± 2 s.e."
    # beside the axes
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_several_designs_and_rates_that_each_run_estimated() -> None:
    rng = np.random.default_rng(0)
    fdp = {name: rng.random((5, 2)) for name in ("a", "b")}
    fdp["b"] = fdp["b"][:4]
    q = {"a": rng.random((5, 2)), "b": [0.1, 0.2]}
    ax = plotting.plot_fdr_calibration(q, fdp)
    assert words(ax) == ["promise kept exactly", "a", "b"]
    a, b = (container[0] for container in ax.containers)
    np.testing.assert_allclose(np.sort(q["a"].mean(axis=0)), a.get_xdata())
    np.testing.assert_array_equal(b.get_xdata(), [0.1, 0.2])
    assert a.get_marker() != b.get_marker()
    assert ax.get_legend().get_title().get_text() == "mean of 4 to 5 runs ± 2 s.e."
    one = plotting.plot_fdr_calibration([0.1], [[0.05]])
    assert one.get_legend().get_title().get_text() == "one run"


@pytest.mark.parametrize(
    ("q", "fdp", "message"),
    [
        ([0.1], [[0.1, 0.2]], r"q has shape \(1,\) and fdp has \(1, 2\)"),
        ([0.1], [0.1], r"fdp must have the shape \(runs, rates\), got \(1,\)"),
        ([0.1], [[1.2]], "fdp has 1.2; rates lie between 0 and 1"),
        ([-0.1], [[0.2]], "q has -0.1; rates lie between 0 and 1"),
        ([0.1], [[np.nan]], "fdp holds NaN alone"),
        ([np.nan], [[0.1]], "q holds NaN"),
        ([0.1], {}, "fdp is an empty dict"),
        ([0.1], {k: [[0.1]] for k in "abcdefg"}, "fdp has 7 lines; a figure tells 6 apart"),
        ({"a": [0.1]}, {"b": [[0.1]]}, r"same labels, got \['a'\] and \['b'\]"),
        ([0.1, 0.2], {"b": [[0.1]]}, r"fdp\['b'\] has \(1, 1\)"),
    ],
)
def test_rates_that_do_not_match_are_named(q: Any, fdp: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plotting.plot_fdr_calibration(q, fdp)


# ---- estimands ---------------------------------------------------------------------------------
def estimands(**ends: tuple[float, float, float, float]) -> C2GResult:
    columns = ["lower", "upper", "ci_low", "ci_high"]
    table = pd.DataFrame(ends, columns).T.assign(n=200, level=0.9)
    return dataclasses.replace(fit().result(), estimands=table)


def drawn(ax: Any) -> list[tuple[float, float]]:
    lines = [line.get_xdata() for line in ax.lines if line.get_color() == BLUE]
    return [(float(x[0]), float(x[-1])) for x in lines]


def test_bounds_points_and_limits() -> None:
    model = fit(n_bootstrap=11)
    table = model.result().estimands
    for source in (model, model.result()):
        share, effects = plotting.plot_estimands(source)
        assert title(share) == "Who responds (200 treated)"
        assert share.get_xlabel() == "share of the treated"
        assert effects.get_xlabel() == "mean effect (units of y)"
        assert [t.get_text() for t in effects.get_yticklabels()] == [
            "all treated",
            "responders",
            "responders,\nrow by row",
        ]
        att = table.loc["att"]
        assert (att["ci_low"], att["ci_high"]) in drawn(effects)
        assert (att["lower"], att["upper"]) in drawn(effects)
        assert share.texts[-1].get_text() == "thin: 90% confidence"


def test_points_without_limits() -> None:
    nan = float("nan")
    result = estimands(erpf=(0.4, 0.4, nan, nan), att=(-1.0, -1.0, nan, nan))
    share, effects = plotting.plot_estimands(result)
    assert drawn(share) == [(0.4, 0.4)]
    assert drawn(effects) == [(-1.0, -1.0)]
    assert effects.lines[0].get_marker() == "o"
    assert [t.get_text() for t in share.texts] == ["no confidence limits: no resamples"]


def test_an_end_far_away_is_told_by_an_arrow() -> None:
    result = estimands(
        erpf=(0.0, 1.0, 0.0, 1.0),
        att=(1.0, 1.0, 0.5, 1.5),
        responder_effect=(1.0, 4.0, 0.5, 900.0),
        care=(-50.0, 381.0, -60.0, 381.0),
    )
    _, effects = plotting.plot_estimands(result)
    assert effects.get_xlim()[1] < 10
    assert [t.get_text() for t in effects.texts] == ["to 900", "to -60", "to 381"]
    markers = [line.get_marker() for line in effects.lines]
    assert (markers.count("<"), markers.count(">")) == (1, 2)


def test_other_things_have_no_estimands() -> None:
    for thing in (3, datasets.simulate_additive(50)):
        with pytest.raises(TypeError, match="result must be a fitted causal two-groups model"):
            plotting.plot_estimands(thing)
    with pytest.raises(ValueError, match="ax holds 1 axes but the figure has 2 panels"):
        plotting.plot_estimands(fit(), ax=fit().plot())


def test_tables_that_lack_what_a_figure_needs() -> None:
    table = fit().to_frame()
    for kind, column in (("lfdr", "control_score"), ("residuals", "null_mean")):
        short = dataclasses.replace(fit().result(), table=table.drop(columns=column))
        with pytest.raises(TypeError, match="result must be a fitted causal two-groups model"):
            short.plot(kind)
