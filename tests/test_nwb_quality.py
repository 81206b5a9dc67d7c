"""Which units pass ``quality=``: a word, a query or a function; a miss lists what there is."""

from __future__ import annotations

import numpy as np
import nwb_files
import pandas as pd
import pytest

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.nwb import MissingColumnError, spike_counts
from nb26stats.nwb._select import select_quality

ECONOMO = "sub-anm369963_ses-20170228.nwb"
RIPPLES = "A2929-200711_neurosuite.nwb"


def _kept(table, quality):
    mask, info = select_quality(table, quality)
    assert info["n_kept"] == mask.sum()
    assert info["n_excluded"] == (~mask).sum()
    return np.flatnonzero(mask).tolist(), info["column"]


def test_quality_words_name_a_value_of_a_quality_column():
    table = pd.DataFrame(
        {
            "label": ["good", "x", "mua"],
            "group": [1, 2, 3],
            "KSLabel": ["good", "mua", "GOOD "],
            "snr": [1.0, 2.0, 3.0],
        }
    )
    assert _kept(table, None) == ([0, 1, 2], None)
    assert _kept(table, "good") == ([0, 2], "KSLabel")
    assert _kept(table, "Mua") == ([1], "KSLabel")
    assert _kept(table, "x") == ([1], "label")  # KSLabel does not hold it
    assert _kept(table, "snr > 1 and KSLabel != 'mua'") == ([2], None)
    assert _kept(table, "snr>1") == ([1, 2], None)
    assert _kept(table, "snr.isna()") == ([], None)
    assert _kept(table, lambda f: f["snr"] < 3) == ([0, 1], None)
    assert _kept(table, [True, False, True]) == ([0, 2], None)
    assert _kept(pd.DataFrame({"Quality": ["single unit", "b"]}), "Single Unit") == ([0], "Quality")


@pytest.mark.parametrize(
    ("quality", "error", "words"),
    [
        ("bad", ValueError, "KSLabel: 'good', 'mua'; group: 1, 2"),
        ("multi-unit", ValueError, "in no quality column"),
        ("", ValueError, "must not be empty"),
        ("  ", ValueError, "must not be empty"),
        ("@x", ValueError, "in no quality column"),
        ("snr > @x", ValueError, "must not contain '@'"),
        ("snr.__class__", ValueError, "in no quality column"),
        ("not a query", ValueError, "not a valid query"),
        ("snr >", ValueError, "not a valid query"),
        ("zzz > 1", MissingColumnError, "zzz"),
        (3, ValueError, "does not exist"),
        (b"good", TypeError, "quality"),
        ({"good": 1}, TypeError, "quality"),
        ([True], ValueError, "1 values for 2 rows"),
        (lambda f: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_hostile_quality(quality, error, words):
    table = pd.DataFrame({"KSLabel": ["good", "mua"], "group": [1, 2], "snr": [1.0, 2.0]})
    with pytest.raises(error, match=words):
        select_quality(table, quality)


def test_quality_of_a_file_without_such_columns():
    with pytest.raises(MissingColumnError, match=r"no quality column.*snr, n_spikes"):
        select_quality(pd.DataFrame({"snr": [1.0], "n_spikes": [3]}), "good")


def test_many_distinct_values_are_cut():
    table = pd.DataFrame({"quality": [f"q{i}" for i in range(50)]})
    with pytest.raises(ValueError, match=r"'q9', … \(50 values\)"):
        select_quality(table, "good")


@pytest.mark.parametrize(
    ("name", "words"), [(RIPPLES, "group: 0, 1"), (ECONOMO, "quality: 'Excellent'")]
)
def test_v24_a_missing_quality_lists_the_values(name, words):
    path = datasets.path(name)
    with pytest.raises(ValueError, match=words):
        select_quality(nbn.units(path), "good")
    with pytest.raises(ValueError, match=words):
        spike_counts(path, align_to=[500.0], quality="good")


def test_v24_quality_matches_in_any_case():
    mask, info = select_quality(nbn.units(datasets.path(ECONOMO)), "excellent")
    assert mask.tolist() == [True]
    assert info["column"] == "quality"


def test_quality_on_layouts_of_published_sets(tmp_path):
    steinmetz = nbn.units(nwb_files.steinmetz_like(tmp_path / "a.nwb", n_units=40))
    assert 0 < select_quality(steinmetz, "phy_annotations >= 2")[0].sum() < 40
    ibl = nbn.units(nwb_files.ibl_current(tmp_path / "b.nwb"))
    assert select_quality(ibl, "ibl_quality_score == 1")[0].tolist() == [True, False, True, False]
    aibs = nbn.units(nwb_files.aibs_change(tmp_path / "c.nwb"))
    assert select_quality(aibs, "good")[0].tolist() == [True, True, False, True]
    assert select_quality(aibs, "snr > 2")[0].tolist() == [True, False, False, False]
