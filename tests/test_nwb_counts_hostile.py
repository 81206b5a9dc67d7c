"""Arguments that cannot be right: each is one clear error of the right class, at once."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import pytest
from nwb_files import bad_index, empty_file, make, simple, trial_table, units_table, without_units

import nb26stats.nwb as nbn
from nb26stats import NB26StatsWarning, datasets


@pytest.fixture(scope="module")
def nwb():
    """Two units in "A" and "B", twelve trials of 1.5 s, a quality column."""
    file = make()
    start = np.arange(12) * 2.0
    file.trials = trial_table({"start_time": start, "cue_time": start + 0.5, "kind": ["a"] * 12})
    file.units = units_table(
        [np.arange(-5, 40, 0.1)] * 2, {"location": ["A", "B"], "quality": ["good", "mua"]}
    )
    return file


CASES = [
    # window and bins
    ({"window": (0, 600.0003), "bin_size": 0.001}, ValueError, r"\(0, 600\) and \(0, 600.001\)"),
    ({"window": (0, 1000.0004), "bin_size": 0.001}, ValueError, r"\(0, 1000\) and \(0, 1000.001\)"),
    ({"window": (0, 5e-7), "bin_size": 1}, ValueError, r"\(0, 1\) and \(0, 2\)"),
    ({"window": (0, 0.25), "bin_size": 0.1}, ValueError, r"\(0, 0.2\) and \(0, 0.3\)"),
    ({"window": (1, 0)}, ValueError, "must stop after it starts"),
    ({"window": (0, 0)}, ValueError, "must stop after it starts"),
    ({"window": (0, np.inf)}, ValueError, "finite"),
    ({"window": (np.nan, 1)}, ValueError, "finite"),
    ({"window": (-1e308, 1e308)}, ValueError, "window"),
    ({"window": 1.0}, ValueError, "window must hold two times"),
    ({"window": (0, 1, 2)}, ValueError, "window must hold two times"),
    ({"window": None}, TypeError, "window"),
    ({"window": "all"}, TypeError, "window"),
    ({"window": (0, "1")}, TypeError, "window"),
    ({"window": [[0, 1]]}, ValueError, "window"),
    ({"bin_size": 0}, ValueError, "bin_size"),
    ({"bin_size": -0.01}, ValueError, "bin_size"),
    ({"bin_size": np.nan}, ValueError, "bin_size"),
    ({"bin_size": True}, TypeError, "bin_size"),
    ({"bin_size": "0.1"}, TypeError, "bin_size"),
    ({"bin_size": None}, TypeError, "bin_size"),
    ({"bin_size": 1e-320}, ValueError, "bin_size"),
    ({"bin_size": 10**400}, ValueError, "bin_size is too large"),
    ({"bin_size": np.timedelta64(1, "s")}, TypeError, "bin_size must be a number"),
    ({"bin_size": 1e-8}, ValueError, "bins must be wider than 1e-07 s"),
    ({"window": (0, 1e12), "bin_size": 0.1}, MemoryError, "12 trials x 10000000000000 bins"),
    ({"window": (0, 1e300), "bin_size": 0.1}, ValueError, "bin_size=0.1 is too small"),
    ({"window": np.ma.array([0, 1], mask=[0, 1])}, ValueError, "finite"),
    # tolerance, types, choices
    ({"tol": -1e-9}, ValueError, "tol"),
    ({"tol": 1e-4}, ValueError, "tol=0.0001 must be below a hundredth of bin_size"),
    ({"tol": "small"}, TypeError, "tol"),
    ({"dtype": "int8"}, ValueError, "dtype"),
    ({"dtype": None}, TypeError, "dtype"),
    ({"dtype": object}, ValueError, "dtype"),
    ({"dtype": np.int64}, ValueError, "dtype"),
    ({"dtype": 3}, TypeError, "dtype"),
    ({"on_nan": "ignore"}, ValueError, "on_nan.*'drop', 'raise', 'keep'"),
    ({"on_nan": None}, TypeError, "on_nan"),
    ({"on_outside": "warn"}, ValueError, "on_outside.*'mask', 'drop', 'raise'"),
    ({"rate": 1}, TypeError, "rate must be True or False"),
    ({"n_threads": -1}, ValueError, "n_threads"),
    ({"n_threads": 1.5}, TypeError, "n_threads must be a whole number, got 1.5"),
    ({"n_threads": True}, TypeError, "n_threads"),
    ({"n_threads": -2147483648}, ValueError, "NA_integer_"),
    # events
    ({"align_to": "cue"}, nbn.MissingColumnError, "no column 'cue'(.|\n)*cue_time"),
    ({"align_to": "kind"}, ValueError, "'kind'.*holds text"),
    ({"align_to": ""}, ValueError, "align_to"),
    ({"align_to": None}, TypeError, "align_to"),
    ({"align_to": [True]}, TypeError, "align_to"),
    ({"align_to": 1e300}, ValueError, "too large for bin_size"),
    ({"align_to": 10**400}, TypeError, "align_to"),
    ({"relative_to": "kind"}, ValueError, "relative_to='kind'"),
    ({"relative_to": 3}, TypeError, "relative_to"),
    ({"relative_to": ""}, ValueError, "relative_to"),
    ({"table": "epochs"}, nbn.MissingTableError, r"trials \(12 rows\)"),
    ({"table": 7}, TypeError, "table"),
    # trials
    ({"trials": [12]}, ValueError, "row position 12 does not exist"),
    ({"trials": [-1]}, ValueError, "must not be negative"),
    ({"trials": [1, 1]}, ValueError, "more than once"),
    ({"trials": [0.5]}, ValueError, "whole numbers"),
    ({"trials": [True] * 11}, ValueError, "11 values for 12 rows"),
    ({"trials": [None, 1]}, TypeError, "trials"),
    ({"trials": {"a": 1}}, TypeError, "trials"),
    ({"trials": np.ma.array([True] * 12, mask=[True] * 12)}, TypeError, "missing"),
    ({"trials": "kind = 'a'"}, ValueError, "=="),
    ({"trials": "nothing == 1"}, nbn.MissingColumnError, "nothing"),
    ({"trials": "@x"}, ValueError, "'@'"),
    ({"trials": "kind.__class__"}, ValueError, "'__'"),
    ({"trials": "().__class__.__base__"}, ValueError, "'__'"),
    # units
    ({"areas": "CA1"}, ValueError, r"areas.*'CA1'.*A \(1 unit"),
    ({"areas": []}, ValueError, "areas"),
    ({"areas": {}}, ValueError, "areas"),
    ({"areas": {"g": []}}, ValueError, r"areas\['g'\] must name at least one area"),
    ({"areas": 3}, TypeError, "areas"),
    ({"areas": {"g": ["A"], "h": ["a"]}}, ValueError, "areas"),
    ({"areas": [None]}, TypeError, "areas"),
    ({"quality": "excellent"}, ValueError, "'good', 'mua'"),
    ({"quality": "@pd.eval('1')"}, ValueError, "'@'"),
    ({"quality": "snr > 2"}, nbn.MissingColumnError, "snr"),
    ({"quality": lambda frame: frame["nope"]}, KeyError, "nope"),
    ({"quality": lambda frame: "good"}, TypeError, "quality"),
    ({"quality": 3.5}, ValueError, "quality"),
    ({"units": "acquisition/Units"}, nbn.MissingTableError, "acquisition/Units"),
    ({"units": None}, TypeError, "units"),
    ({"areas_from": "layer"}, nbn.MissingColumnError, "layer"),
    ({"areas_from": 1}, TypeError, "areas_from"),
]


NAMES = [f"{i}-{'-'.join(case[0])}" for i, case in enumerate(CASES)]


@pytest.mark.parametrize(("options", "error", "match"), CASES, ids=NAMES)
def test_one_clear_error(nwb, options, error, match):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NB26StatsWarning)
        with pytest.raises(error, match=match) as caught:
            nbn.spike_counts(nwb, **options)
    assert str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (None, TypeError),
        (3, TypeError),
        (["a.nwb"], TypeError),
        ("nowhere.nwb", FileNotFoundError),
        ("", ValueError),
    ],
    ids=str,
)
def test_sources_that_are_no_file(source, error):
    with pytest.raises(error):
        nbn.spike_counts(source)


def test_files_that_are_not_what_they_should_be(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no data here")
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = [1]
    whole = simple(tmp_path / "whole.nwb").read_bytes()
    short = tmp_path / "short.nwb"
    short.write_bytes(whole[: len(whole) // 2])
    for path, error in (
        (text, nbn.NotAnNWBFileError),
        (tmp_path / "plain.h5", nbn.NotAnNWBFileError),
        (tmp_path, nbn.NotAnNWBFileError),
        (short, nbn.CorruptFileError),
        (without_units(tmp_path / "u.nwb"), nbn.MissingTableError),
        (empty_file(tmp_path / "e.nwb"), nbn.MissingTableError),
        (bad_index(tmp_path / "i.nwb"), nbn.CorruptFileError),
    ):
        with pytest.raises(error):
            nbn.spike_counts(path)


def test_positional_arguments_are_refused():
    with pytest.raises(TypeError, match="positional"):
        nbn.spike_counts(datasets.path("A2929-200711_neurosuite.nwb"), "start_time")


def test_a_file_without_trials_offers_its_tables():
    with pytest.raises(nbn.MissingTableError, match=r"sleep_ripples \(594 rows\)"):
        nbn.spike_counts(datasets.path("A2929-200711_neurosuite.nwb"))


def test_selection_text_never_runs(nwb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in (
        "__import__('os').system('touch ran')",
        "@__import__('os').system('touch ran')",
        "kind.str.cat(open('ran', 'w'))",
        "kind.to_csv('ran')",
        "eval('1')",
        "(lambda: 1)()",
        "[x for x in (1,)]",
    ):
        for name in ("trials", "quality"):
            with pytest.raises(ValueError, match=f"{name}="):
                nbn.spike_counts(nwb, **{name: text})
    assert list(tmp_path.iterdir()) == []


def test_doubles_and_scalars_as_r_sends_them(nwb):
    got = nbn.spike_counts(
        nwb,
        window=[0.0, 1.0],
        bin_size=1,
        areas="A",
        trials=[3.0],
        n_threads=2.0,
        tol=0,
    )
    assert got.counts["A"].shape == (1, 1, 1)
    one = nbn.spike_counts(nwb, window=np.array([0, 1]), bin_size=1.0, trials=3.0, areas=("A",))
    np.testing.assert_array_equal(one.to_array(), got.to_array())


def test_windows_of_a_whole_number_of_bins_pass_despite_rounding(nwb):
    for window, width, n_bins in (
        ((0, 1), 1 / 30, 30),
        ((0, 9.9999999), 0.1, 100),
        ((-0.1, 0.2), 0.01, 30),
        ((0, 0.1), 0.01, 10),
        ((0, 1), 1.0, 1),
        ((2.5, 3.0), 0.1, 5),
    ):
        got = nbn.spike_counts(nwb, window=window, bin_size=width, trials=[2])
        assert got.n_bins == n_bins
        assert got.info["window"][1] == pytest.approx(window[0] + n_bins * width)


def test_warnings_point_at_the_caller():
    nwb = make()
    nwb.units = units_table([[2.0, 1.0]], {"location": ["A"]})
    with pytest.warns(NB26StatsWarning) as caught:
        nbn.spike_counts(nwb, align_to=[0.0, np.nan, 1.0], window=(0, 1))
    assert len(caught) == 3
    assert {w.filename for w in caught} == {__file__}
    with nbn.open(datasets.path("sub-anm369963_ses-20170228.nwb")) as session:
        with pytest.warns(NB26StatsWarning) as caught:
            session.spike_counts(align_to="cue_start_time")
        with pytest.warns(NB26StatsWarning, match="relative to start_time") as more:
            session.behavior()
    assert len(caught) == 3
    assert {w.filename for w in [*caught, *more]} == {__file__}
