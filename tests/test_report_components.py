"""The section on components: its bars hold what they say, or the page says that they do not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import nwb_files
import pandas as pd
import pytest
from test_report import ALM, NAMELESS, RIPPLES, THALAMUS, check_code, make, section_text, shipped

from nb26stats.report._component_fit import (
    ALARM,
    ComponentFit,
    Stretches,
    fit_components,
    how_many,
    in_random_order,
    stretches_of,
)
from nb26stats.report.components import _from_one
from nb26stats.streaming import OjaPCA


def latent(n: int, rho: float, seed: int = 0, d: int = 6) -> np.ndarray:
    """Rows with two strong directions; everything is autoregressive with coefficient ``rho``."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(d, d)))[0]
    steps = rng.normal(size=(n, d))
    out = np.empty((n, d))
    out[0] = steps[0]
    for t in range(1, n):
        out[t] = rho * out[t - 1] + np.sqrt(1 - rho**2) * steps[t]
    return out * np.array([3.0, 2.2, *np.ones(d - 2)]) @ turn.T


def fit(rows: np.ndarray, length: int = 80) -> ComponentFit:
    return fit_components(in_random_order(rows, length), length, 0.1)


# ---- bins, stretches, number of components -----------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "units", "size", "stretch"),
    [
        (100, 5, 0.1, 1.6),
        (1198, 15, 0.1, 20.0),
        (1086, 3, 0.1, 20.0),
        (3704, 4, 0.2, 72.0),
        (3600, 500, 1.0, 72.0),
        (40_000, 10, 2.0, 800.0),
        (7201, 3000, 20.0, 80.0),
    ],
)
def test_bins_and_stretches_suit_the_length(
    seconds: int, units: int, size: float, stretch: float
) -> None:
    cut = stretches_of(seconds, units)
    assert cut.bin_size == pytest.approx(size)
    assert cut.length == pytest.approx(stretch)
    assert seconds / cut.length >= 50
    assert cut.seconds / cut.bin_size <= 20_000
    assert cut.seconds / cut.bin_size * units <= 2_000_000
    # the window of the counts holds whole bins
    assert cut.seconds / cut.bin_size == pytest.approx(round(cut.seconds / cut.bin_size))
    assert seconds - cut.bin_size < cut.seconds <= seconds


def test_random_order_keeps_stretches_whole() -> None:
    rows = np.arange(46.0).reshape(23, 2)
    mixed = in_random_order(rows, 5)
    assert mixed.shape == (20, 2)
    starts = mixed[::5, 0]
    assert sorted(starts) == [0, 10, 20, 30]
    assert list(starts) != sorted(starts)
    np.testing.assert_array_equal(np.diff(mixed.reshape(4, 5, 2), axis=1), 2)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_components_end_where_the_variance_falls(k: int) -> None:
    scale = np.ones(8)
    scale[:k] = [4.0, 3.6, 3.2][:k]
    rows = np.random.default_rng(k).normal(size=(3000, 8)) * scale
    assert how_many(rows) == k


def test_two_units_have_one_component() -> None:
    rows = np.random.default_rng(0).normal(size=(1000, 2)) * [2, 1]
    assert how_many(rows) == 1
    silent = np.column_stack([rows[:, 0], np.zeros(1000), np.zeros(1000)])
    assert how_many(silent) == 1


# ---- the block ---------------------------------------------------------------------------------
def test_correlated_bins_get_a_block_that_makes_the_bars_right() -> None:
    rho = 0.8
    rows = latent(8000, rho)
    made = fit(rows)
    assert len(made.lower) == 2
    assert made.settled
    # at least five correlation times of the bins, at most the two hundredth part of the recording
    assert 23 <= made.needed <= 40
    assert made.needed <= made.block <= 80
    # widths of single bins lack the factor sqrt((1 + rho^2) / (1 - rho^2))
    expected = np.sqrt((1 + rho**2) / (1 - rho**2))
    assert made.gain == pytest.approx(expected, rel=0.2)
    assert made.widths["rows"].tolist() == [1, 10, 20, 40, 80]
    assert made.widths["n_blocks"].tolist() == [8000, 800, 400, 200, 100]


def test_bars_of_the_chosen_block_cover() -> None:
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(6, 6)))[0][:, :2].T
    inside, single = [], []
    for seed in range(12):
        rows = in_random_order(latent(5000, 0.8, seed), 80)
        made = fit_components(rows, 80, 0.1)
        plain = OjaPCA(2, n_bootstrap=200, pilot_size=made.pilot_size, random_state=0).fit(rows)
        truth = turn * np.sign((turn * made.pca.components_).sum(axis=1))[:, None]
        inside.append(np.mean((made.lower <= truth) & (truth <= made.upper)))
        half = made.widths.set_index("rows")["half_width"]
        narrow = (made.upper - made.lower) / 2 * half[1] / half[made.block]
        single.append(np.mean(np.abs(plain.components_ - truth) <= narrow))
    # 144 loadings of 12 recordings, those of one recording correlated
    assert np.mean(inside) > 0.88
    assert np.mean(single) < 0.82


def test_independent_bins_need_no_long_block() -> None:
    made = fit(latent(8000, 0.0))
    assert made.settled
    assert made.needed <= 10
    assert made.gain == pytest.approx(1.0, abs=0.15)


@pytest.mark.filterwarnings("ignore:multiplier_block=80 is short")
def test_slow_changes_are_told() -> None:
    made = fit(latent(8000, 0.995))
    assert not made.settled
    assert made.block == 80
    assert made.needed > 80
    # noise of score times residual has rho squared
    assert made.held == pytest.approx(0.5, abs=0.15)


def test_bars_that_still_grow_are_not_settled() -> None:
    # the bins themselves look independent, but their variances change with the minutes
    rng = np.random.default_rng(5)
    loud = np.repeat(rng.choice([0.3, 3.0], size=(10, 6)), 1600, axis=0)
    rows = latent(16_000, 0.0) * loud
    made = fit(rows, 320)
    assert made.needed < 100
    assert made.block == 320
    assert made.growth > ALARM
    assert not made.settled


def made_with(**changes: Any) -> ComponentFit:
    widths = pd.DataFrame(
        {
            "rows": [1, 20, 40],
            "block": [0.1, 2.0, 4.0],
            "n_blocks": [4000, 200, 100],
            "half_width": [0.1, 0.2, 0.3],
        }
    )
    given: dict[str, Any] = {
        "pca": None,
        "lower": np.zeros((1, 3)),
        "upper": np.zeros((1, 3)),
        "n_rows": 4000,
        "block": 40,
        "pilot_size": 500,
        "widths": widths,
        "needed": 12,
        "held": 0.64,
    }
    return ComponentFit(**{**given, **changes})


def test_what_settled_means() -> None:
    assert made_with().growth == pytest.approx(1.5)
    assert made_with().gain == pytest.approx(3.0)
    assert not made_with().settled
    assert made_with(block=20).settled
    assert not made_with(block=20, needed=30).settled
    flat = made_with().widths.assign(half_width=[0.1, 0.2, 0.23])
    assert made_with(widths=flat).settled
    none = made_with().widths.assign(half_width=0.0)
    assert made_with(widths=none).growth == made_with(widths=none).gain == 1.0


def test_short_bars_are_said_with_the_reason() -> None:
    from nb26stats.report.components import _too_short

    cut = Stretches(0.1, 400, 40)
    (text,) = _too_short(made_with(), cut)
    assert "still grew by 50 % when the blocks went from 2 s to 4 s" in text
    assert "by an unknown factor" in text
    (text,) = _too_short(made_with(needed=90), cut)
    assert "blocks of 9 s or more are called for" in text
    assert "50 blocks of at most 4 s" in text
    assert "should be 1.2 times as long, or longer" in text
    assert _too_short(made_with(block=20), cut) == []


def test_settled_bars_are_said_with_the_evidence() -> None:
    from nb26stats.report.components import _bars

    cut = Stretches(0.1, 400, 40)
    assert "2 times that from single bins; longer blocks widen" in _bars(made_with(block=20), cut)
    flat = made_with().widths.assign(half_width=[0.1, 0.2, 0.23])
    text = _bars(made_with(widths=flat), cut)
    assert "the last doubling of the block changed them by 15 %" in text
    assert _bars(made_with(), cut).endswith("3 times that from single bins.")


# ---- the page ----------------------------------------------------------------------------------
def test_the_section_of_each_file() -> None:
    text = section_text(shipped(THALAMUS), "components")
    assert "the bootstrap weighs blocks of 72 s" in text
    assert re.search(r"bars is \d+ times that from single bins\.", text)
    assert "The bars are too short, by an unknown factor" in text
    assert "still grew by" in text
    assert "but the intervals are too short (see the figure)" in text
    assert "autocorrelated" not in text
    text = section_text(shipped(RIPPLES), "components")
    assert "blocks of 20 s" in text
    assert "The bars are too short" in text
    text = section_text(shipped(NAMELESS), "components")
    assert "so one component is shown" in text
    assert "longer blocks widen them by a tenth at most" in text
    assert "too short" not in text
    assert "this choice holds one" in section_text(shipped(ALM), "components")


def test_the_table_shows_the_block_in_use() -> None:
    page = shipped(NAMELESS).html
    (table,) = re.findall(r"<table>(?:(?!</table>).)*?longer blocks.*?</table>", page, re.DOTALL)
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr>")]
    rows = [r for r in rows if r]
    assert [r[0] for r in rows] == ["0.1", "2.5", "5", "10", "20"]
    assert sum(r[3] == "yes" for r in rows) == 1
    (used,) = (r[0] for r in rows if r[3] == "yes")
    assert f"one weight per block of {used} s" in section_text(shipped(NAMELESS), "components")
    assert (
        "multiplier_block=" + str(round(float(used) / 0.1)) in shipped(NAMELESS).code["components"]
    )


def test_long_recordings_of_many_units(tmp_path: Path) -> None:
    trains = nwb_files.poisson_trains(60, 600.0, rate=3.0)
    path = nwb_files.simple(tmp_path / "m.nwb", spikes=trains, with_trials=False)
    result = make(path)
    assert len(result.numbers["components"]) % 60 == 0
    check_code(result)


def test_doubts_count_components_as_the_figure_does() -> None:
    text = "Components 1 and 2, 9 and 10 (counted from 0) are not separated; use it."
    assert _from_one(text) == "Components 2 and 3, 10 and 11 are not separated; use it."
    text = "Rows look autocorrelated (component 0, r=0.52); set multiplier_block, about 18 here."
    assert _from_one(text) == text.replace("component 0", "component 1")
