"""Figures of OjaPCA: loadings, error against rows, variances."""

from __future__ import annotations

import io
import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from test_plotting import nothing_global  # noqa: F401 - a fixture that every test here uses

from nb26stats import plotting
from nb26stats.plotting._axes import number
from nb26stats.streaming import OjaPCA

BLUE = plotting.OKABE_ITO["blue"]


def rows_of(d: int, k: int, n: int = 3000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scale = np.ones(d)
    scale[:k] = np.linspace(2.0 + k, 3.0, k)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * scale @ turn.T


def fit(d: int = 5, k: int = 2, n_bootstrap: int = 99, **choices: Any) -> OjaPCA:
    return OjaPCA(k, n_bootstrap=n_bootstrap, random_state=0, **choices).fit(rows_of(d, k))


def ends(ax: Any) -> np.ndarray:
    """Lower and upper ends of all bars (2, d), in the order of the features."""
    at = np.concatenate([c.lines[0].get_xdata() for c in ax.containers])
    bars = np.concatenate([np.array(c.lines[2][0].get_segments())[:, :, 1] for c in ax.containers])
    return bars[np.argsort(at)].T


def heights(ax: Any) -> np.ndarray:
    at = np.concatenate([c.lines[0].get_xdata() for c in ax.containers])
    y = np.concatenate([c.lines[0].get_ydata() for c in ax.containers])
    return y[np.argsort(at)]


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts of the figure that cover each other once it is drawn."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    unseen = set()
    for ax in figure.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            # ticks outside the limits exist but are not drawn
            for tick in axis.get_major_ticks():
                if not limits[0] <= tick.get_loc() <= limits[1]:
                    unseen |= {id(tick.label1), id(tick.label2)}
    found, boxes = [], []
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible() and id(text) not in unseen:
            box = text.get_window_extent(canvas.get_renderer())
            boxes.append((text.get_text(), box.shrunk(0.96, 0.9)))
    for i, (a, first) in enumerate(boxes):
        found += [(a, b) for b, second in boxes[i + 1 :] if first.overlaps(second)]
    return found


# ---- loadings ----------------------------------------------------------------------------------
def test_loadings_are_the_default_and_show_the_intervals() -> None:
    pca = fit()
    axes = pca.plot(level=0.9)
    lower, upper = pca.component_intervals(level=0.9)
    assert len(axes) == 2
    for c, ax in enumerate(axes):
        np.testing.assert_allclose(heights(ax), pca.components_[c])
        np.testing.assert_allclose(ends(ax), [lower[c], upper[c]])
        share = 100 * pca.explained_variance_ratio_[c]
        title = f"Component {c + 1}: {share:.2g} % of the variance, 90 % intervals"
        assert ax.get_title(loc="left") == title
        low, high = ax.get_ylim()
        assert low == -high
        assert ax.get_ylabel() == "loading"
        assert ax.get_xlim() == (-0.6, 4.6)
    assert [ax.get_xlabel() for ax in axes] == ["", "feature"]
    assert [t.get_text() for t in axes[1].get_xticklabels()] == list("01234")


def test_loadings_follow_the_choice_of_intervals_and_components() -> None:
    pca = fit(d=6, k=3)
    for align in ("sign", "procrustes"):
        for method in ("normal", "percentile"):
            ax = pca.plot(components=2.0, align=align, method=method, level=0.8)
            lower, upper = pca.component_intervals(level=0.8, align=align, method=method)
            np.testing.assert_allclose(ends(ax), [lower[2], upper[2]])
            assert ax.get_title(loc="left").startswith("Component 3:")
    axes = pca.plot(components=[2, 0])
    assert [a.get_title(loc="left")[:12] for a in axes] == ["Component 3:", "Component 1:"]
    np.testing.assert_allclose(heights(axes[1]), pca.components_[0])
    with pytest.raises(ValueError, match=r"components=3 must lie in \[0, 2\]"):
        pca.plot(components=3)
    with pytest.raises(ValueError, match=r"components=-1 must lie in \[0, 2\]"):
        pca.plot(components=[0, -1])
    with pytest.raises(ValueError, match="at least one"):
        pca.plot(components=[])
    with pytest.raises(TypeError, match="components"):
        pca.plot(components=True)
    with pytest.raises(ValueError, match="align='both'"):
        pca.plot(align="both")


def test_features_have_the_names_of_the_columns() -> None:
    columns = [f"u{j}" for j in range(5)]
    frame = pd.DataFrame(rows_of(5, 1), columns=columns)
    pca = OjaPCA(1, n_bootstrap=99, random_state=0).fit(frame)
    ax = pca.plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == columns
    ax = pca.plot(names=range(5, 10), feature="unit", color="black")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["5", "6", "7", "8", "9"]
    assert ax.get_xlabel() == "unit"
    assert ax.containers[0].lines[0].get_color() == "black"
    groups = plotting.plot_components(pca, groups=["b", "a", "b", "a", "b"], feature="unit")
    np.testing.assert_allclose(heights(groups), pca.components_[0][[0, 2, 4, 1, 3]])
    assert [t.get_text() for t in groups.texts] == ["b", "a"]


def test_many_features_are_pale_where_the_interval_holds_zero() -> None:
    pca = fit(d=120, k=1)
    names = [f"ch{j}" for j in range(120)]
    ax = pca.plot(names=names)
    lower, upper = (bound[0] for bound in pca.component_intervals())
    clear = (lower > 0) | (upper < 0)
    assert 0 < clear.sum() < 120
    shown = {c.lines[0].get_alpha(): c.lines[0].get_xdata() for c in ax.containers}
    np.testing.assert_array_equal(shown[1.0], np.flatnonzero(clear))
    np.testing.assert_array_equal(shown[0.3], np.flatnonzero(~clear))
    assert "pale where they hold 0" in ax.get_title(loc="left")
    np.testing.assert_allclose(ends(ax), [lower, upper])
    largest = [names[j] for j in np.argsort(-np.abs(pca.components_[0]))]
    said = [t.get_text() for t in ax.texts]
    assert said[0] == largest[0]
    assert set(said) <= set(largest[:5])
    # numbers of the features stand on the axis, not their names
    assert 3 <= len(ax.get_xticks()) <= 9
    assert not pca.plot().texts


def test_hundreds_of_features_become_a_line_with_a_band() -> None:
    pca = OjaPCA(1, n_bootstrap=99, random_state=0).fit(rows_of(500, 1, n=600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ax = pca.plot()
        lower, upper = pca.component_intervals()
    np.testing.assert_allclose(ax.lines[1].get_ydata(), pca.components_[0])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(lower.min())
    assert band.max() == pytest.approx(upper.max())
    assert 0.2 <= ax.collections[0].get_alpha() <= 0.25
    assert "95 % pointwise band" in ax.get_title(loc="left")


def test_loadings_without_replicates_say_so() -> None:
    ax = fit(k=1, n_bootstrap=0).plot()
    assert "no intervals (n_bootstrap=0)" in ax.get_title(loc="left")
    assert not ax.containers[0].lines[2]


@pytest.mark.parametrize("d", [5, 30, 120])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_no_text_covers_another(d: int, k: int) -> None:
    k = min(k, d - 1)
    pca = fit(d=d, k=k)
    names = [f"unit_{j:03d}" for j in range(d)]
    groups = ["visual cortex"] * (d // 2) + ["thalamus"] * (d - d // 2)
    with plotting.style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for figure in (
            np.ravel(pca.plot(names=names))[0].figure,
            np.ravel(pca.plot(names=names, groups=groups))[0].figure,
            pca.plot("error").figure,
            pca.plot("scree").figure,
        ):
            assert overlaps(figure) == []
            plt.close(figure)


def test_the_check_for_overlaps_sees_one() -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "here")
    figure.text(0.51, 0.5, "there")
    assert overlaps(figure) == [("here", "there")]


# ---- error against rows ------------------------------------------------------------------------
def test_error_falls_beside_a_guide_of_one_over_n() -> None:
    pca = fit(d=8, k=2, n_bootstrap=199)
    ax = pca.plot("error", level=0.9)
    history = pca.error_history(0.9)
    guide, line = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), history["n_samples"])
    np.testing.assert_array_equal(line.get_ydata(), history["error_quantile"])
    assert line.get_ydata()[-1] == pca.error_quantile(0.9)
    x, y = guide.get_data()
    np.testing.assert_allclose(x * y, 3000 * pca.error_quantile(0.9))
    assert guide.get_linewidth() < line.get_linewidth()
    assert [t.get_text() for t in ax.texts] == ["1/n"]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlabel() == "rows used"
    assert ax.get_ylabel() == "90 % quantile of the squared sine error"
    assert ax.get_title(loc="left") == "Error of the first 2 components, 199 replicates"
    low, high = ax.get_ylim()
    assert low < history["error_quantile"].min()
    assert high > history["error_quantile"].max()
    assert ax.get_xlim()[0] < history["n_samples"][0] < 3000 < ax.get_xlim()[1]


def test_error_without_replicates_is_an_error() -> None:
    with pytest.raises(ValueError, match="set n_bootstrap"):
        fit(n_bootstrap=0).plot("error")
    with pytest.raises(ValueError, match="error of the subspace is 0"):
        fit(d=3, k=3).plot("error")
    with pytest.raises(ValueError, match=r"level=0\.999 needs n_bootstrap"):
        fit().plot("error", level=0.999)


def history_of(n: list[int], error: list[float]) -> Any:
    return SimpleNamespace(
        components_=np.eye(3)[:1],
        n_bootstrap=99.0,
        error_history=lambda level: pd.DataFrame({"n_samples": n, "error_quantile": error}),
    )


@pytest.mark.parametrize(
    ("n", "error", "labels"),
    [
        ([100], [0.3], {"0.2", "0.5"}),
        ([100, 10**7], [0.1, 1e-6], {"1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.1"}),
        ([100, 200, 400], [0.0, 0.02, 0.01], {"0.01", "0.02"}),
    ],
)
def test_error_axes_have_readable_numbers(
    n: list[int], error: list[float], labels: set[str]
) -> None:
    ax = plotting.plot_error_history(history_of(n, error), color="black")
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    assert high / low >= 9.99
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    assert labels <= {t.get_text() for at, t in ticks if low <= at <= high}
    assert len(ax.lines[1].get_xdata()) == sum(e > 0 for e in error)
    assert ax.get_title(loc="left") == "Error of the first component, 99 replicates"
    assert ax.lines[1].get_color() == "black"


# ---- variances ---------------------------------------------------------------------------------
def test_scree_shows_components_next_direction_noise_and_gap() -> None:
    pca = fit(d=8, k=3)
    ax = pca.plot("scree")
    points, noise, after = ax.lines
    np.testing.assert_array_equal(points.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(points.get_ydata(), pca.explained_variance_)
    assert set(noise.get_ydata()) == {pca.noise_variance_}
    assert after.get_xdata() == [4]
    assert after.get_ydata() == [pca.next_variance_]
    assert after.get_markerfacecolor() == "white"
    gap = pca.explained_variance_[-1] - pca.next_variance_
    said = [t.get_text() for t in ax.texts]
    assert f"gap {number(gap)}" in said
    assert f"mean of the\nother 5: {number(pca.noise_variance_)}" in said
    (arrow,) = (t for t in ax.texts if t.arrow_patch)
    assert (arrow.xy, arrow.xyann) == (
        (3.5, pca.next_variance_),
        (3.5, pca.explained_variance_[-1]),
    )
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > pca.explained_variance_[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "3", "next (4)"]
    assert ax.get_xlabel() == "component"
    assert ax.get_ylabel() == "variance along the direction"
    assert ax.get_title(loc="left") == "Variance along 3 components, without error bars"


def test_scree_of_all_components_has_nothing_after_them() -> None:
    pca = fit(d=3, k=3)
    assert np.isnan(pca.next_variance_)
    ax = pca.plot("scree")
    assert len(ax.lines) == 1
    assert not ax.texts
    assert ax.get_xlim() == (0.5, 3.5)


def test_scree_of_a_wide_range_is_logarithmic() -> None:
    rows = rows_of(6, 1) * 1.0
    pca = OjaPCA(1, random_state=0).fit(rows + 30 * rows[:, :1])
    ax = pca.plot("scree", color="black")
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < min(pca.noise_variance_, pca.next_variance_)
    assert high > pca.explained_variance_[0]
    assert ax.lines[0].get_color() == "black"
    ax.figure.canvas.draw()
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    assert {"10", "100"} <= {t.get_text() for at, t in ticks if low <= at <= high}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (0.0001, "0.0001"),
        (0.00012345, "0.000123"),
        (1.2e-7, "1.2e-7"),
        (12.34, "12.3"),
        (1438.2, "1,438"),
        (100_000.0, "100,000"),
        (3e12, "3e12"),
        (999.96, "1,000"),
    ],
)
def test_numbers_in_figures_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_scree_without_a_gap_says_so() -> None:
    made = SimpleNamespace(
        components_=np.eye(4)[:2],
        explained_variance_=np.array([2.0, 1.0]),
        next_variance_=1.1,
        noise_variance_=0.9,
    )
    assert "no gap" in [t.get_text() for t in plotting.plot_scree(made).texts]


def test_scree_of_twenty_components_has_few_numbers() -> None:
    made = SimpleNamespace(
        components_=np.eye(40)[:20],
        explained_variance_=np.linspace(9, 2, 20),
        next_variance_=1.0,
        noise_variance_=0.5,
    )
    assert len(plotting.plot_scree(made).get_xticks()) <= 12


# ---- the method --------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["loadings", "error", "scree"])
def test_styles_may_have_their_short_names(kind: str) -> None:
    pca = fit()
    short = pca.plot(kind, c="red", lw=3, ms=7)
    long = pca.plot(kind, color="red", linewidth=3, markersize=7)
    for a, b in zip(np.atleast_1d(short), np.atleast_1d(long), strict=True):
        ours, theirs = (
            [
                (line.get_color(), line.get_linewidth(), line.get_markersize())
                for line in ax.get_lines()
            ]
            for ax in (a, b)
        )
        assert ours == theirs
        assert ("red", 3.0, 7.0) in ours


def test_all_of_the_variance_is_a_hundred_percent() -> None:
    pca = OjaPCA(1, n_bootstrap=99, random_state=0).fit(rows_of(1, 1))
    title = pca.plot().get_title(loc="left")
    assert title == "Component 1: 100 % of the variance, 95 % intervals"


def test_names_must_be_a_sequence() -> None:
    drawn = fit().plot(groups=list("aabbc"), file_areas=5)
    assert len(drawn) == 2
    for option in ("names", "groups"):
        with pytest.raises(ValueError, match=f"{option} has 1 entries but there are 5 features"):
            fit().plot(**{option: 5})


def test_plot_draws_on_given_axes() -> None:
    pca = fit()
    with plotting.style(offscreen=True):
        given = Figure().subplots(2, 2)
    out = pca.plot(ax=given[0])
    assert list(out) == list(given[0])
    assert pca.plot("error", given[1, 0]) is given[1, 0]
    assert pca.plot("scree", ax=given[1, 1]) is given[1, 1]
    with pytest.raises(ValueError, match="4 axes but the figure has 2"):
        pca.plot(ax=given)
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        pca.plot("scree", ax=given[0])


def test_plot_refuses_what_a_kind_has_no_use_for() -> None:
    pca = fit()
    with pytest.raises(ValueError, match="kind='biplot' must be one of"):
        pca.plot("biplot")
    with pytest.raises(TypeError, match="kind"):
        pca.plot(2)
    with pytest.raises(ValueError, match="level has no meaning for kind='scree'"):
        pca.plot("scree", level=0.9)
    with pytest.raises(ValueError, match="names has no meaning for kind='error'"):
        pca.plot("error", names=list("abcde"))
    with pytest.raises(ValueError, match="level=1"):
        pca.plot(level=1.0)


def test_an_area_keeps_its_colour_when_drawn_alone() -> None:
    pca = fit()
    d = pca.n_features_in_
    groups = ["CA1"] * d
    both = ["ADN", "CA1"]
    axes = np.atleast_1d(pca.plot(groups=groups, file_areas=both))
    held = {container[0].get_color() for ax in axes for container in ax.containers}
    assert held == {plotting.area_colors(both)["CA1"]} != {plotting.area_colors(groups)["CA1"]}


def test_plot_needs_rows() -> None:
    from sklearn.exceptions import NotFittedError

    for kind in ("loadings", "error", "scree"):
        with pytest.raises(NotFittedError):
            OjaPCA(2, n_bootstrap=99).plot(kind)
    early = OjaPCA(1, n_bootstrap=99).partial_fit(rows_of(5, 1)[:20])
    with pytest.warns(UserWarning, match="do not go beyond"):
        assert early.plot("scree").lines[0].get_ydata() == early.explained_variance_


def test_plot_gives_the_doubts_of_the_intervals() -> None:
    from sklearn.exceptions import ConvergenceWarning

    pca = fit(n_bootstrap=40)
    with pytest.warns(ConvergenceWarning, match="few replicates"):
        pca.plot()


def test_a_restored_stream_draws_the_same() -> None:
    pca = fit()
    again = pickle.loads(pickle.dumps(pca))
    for kind in ("loadings", "error", "scree"):
        with plotting.style(offscreen=True):
            first, second = (np.ravel(p.plot(kind))[0] for p in (pca, again))
        for a, b in zip(first.lines, second.lines, strict=True):
            np.testing.assert_array_equal(a.get_ydata(), b.get_ydata())


def test_figures_can_be_saved_as_svg() -> None:
    pca = fit(k=1)
    with plotting.style(offscreen=True):
        for kind in ("loadings", "error", "scree"):
            out = io.BytesIO()
            pca.plot(kind).figure.savefig(out, format="svg")
            assert out.getvalue().count(b"<use") > 5


def test_colours_come_from_the_one_table() -> None:
    ax = fit(k=1).plot()
    assert matplotlib.colors.same_color(ax.containers[0].lines[0].get_color(), BLUE)
