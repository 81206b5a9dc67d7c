"""TimeResolvedPID as a whole: the latency experiment, frames, blocks, several targets."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from time_pid_data import PLAIN, estimator, latency_data, step_data

from nb26stats import NB26StatsWarning
from nb26stats.information import GaussianPID, TimeResolvedPID
from nb26stats.r import to_r

TERMS = ["mi_1", "mi_2", "mi_12", "redundancy", "unique_1", "unique_2", "synergy"]


def onsets(seed: int, measure: str) -> pd.Series:
    pid = TimeResolvedPID(
        GaussianPID(measure, bias=None), n_permutations=100, alpha=0.01, random_state=seed, **PLAIN
    )
    return pid.fit(*latency_data(seed)).latencies_.set_index("atom")["onset"]


@pytest.mark.filterwarnings("ignore:measure='mmi' sets")
def test_e5_onsets_and_the_artefact_of_mmi(capsys: pytest.CaptureFixture[str]) -> None:
    synergies = 0
    lines = []
    for seed in range(10):
        broja, mmi = onsets(seed, "broja"), onsets(seed, "mmi")
        lines.append(f"seed {seed}: BROJA {broja.to_dict()} MMI {mmi.to_dict()}")
        assert abs(broja["mi_1"] - 45) <= 5
        assert abs(broja["unique_1"] - 45) <= 5
        assert broja["mi_2"] in {90, 95, 100, 105}
        assert broja["unique_2"] in {90, 95, 100, 105}
        assert mmi["unique_2"] - mmi["synergy"] >= 40
        synergies += np.isfinite(broja["synergy"])
        if seed == 0:
            want = {"mi_1": 45, "unique_1": 45, "mi_2": 95, "unique_2": 100}
            assert {k: broja[k] for k in want} == want
            assert np.isnan(broja["redundancy"])
            assert (mmi["synergy"], mmi["unique_2"]) == (95, 160)
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert synergies <= 2


def test_bins_are_what_the_estimator_gives_alone() -> None:
    x, target, times = step_data()
    for bias in (None, "analytic", "gpid", "bootstrap"):
        pid = estimator(bias).fit(x, target, times)
        for j, (a, b) in enumerate((("A", "C"), ("B", "C"), ("A", "B"))):
            for t, m in enumerate(target.values()):
                for bin_ in (0, 6):
                    one = GaussianPID(bias=bias, n_bootstrap=12, random_state=0)
                    one.fit([x[a][:, bin_], x[b][:, bin_]], m)
                    alone = [*one.mi_, one.redundancy_, *one.unique_, one.synergy_]
                    # bootstrap draws act on the order of the variables, which is the same here
                    np.testing.assert_allclose(pid.values_[j, t, :, bin_], alone, atol=1e-9)


def test_a_block_is_its_areas_side_by_side() -> None:
    x, target, times = step_data()
    pid = estimator("bootstrap").fit(x, target, times)
    assert pid.pairs_ == ["A-C", "B-C", "A-B", "(A,B)-C"]
    joined = {"AB": np.concatenate([x["A"], x["B"]], axis=2), "C": x["C"]}
    alone = estimator("bootstrap").fit(joined, target, times)
    np.testing.assert_allclose(pid.values_[3], alone.values_[0], atol=1e-9)
    np.testing.assert_allclose(pid.null_sd_[3], alone.null_sd_[0], atol=1e-9)
    # more units never add to what only the other source knows
    plain = estimator(None).fit(x, target, times)
    single, block = plain.values_[1, 0, 5], plain.values_[3, 0, 5]
    assert (block <= single + 1e-12).all()


def test_swapping_sources_swaps_unique_information() -> None:
    x, target, times = step_data()
    pid = estimator(pairs=[("A", "B"), ("B", "A")]).fit(x, target, times)
    swap = [1, 0, 2, 3, 5, 4, 6]
    np.testing.assert_allclose(pid.values_[0], pid.values_[1][:, swap], atol=1e-10)
    np.testing.assert_allclose(pid.null_mean_[0], pid.null_mean_[1][:, swap], atol=1e-10)
    np.testing.assert_array_equal(pid.p_max_[0], pid.p_max_[1][:, swap])


def test_one_target_and_one_pair_do_not_depend_on_the_others() -> None:
    x, target, times = step_data()
    everything = estimator("bootstrap", n_bootstrap=3).fit(x, target, times)
    alone = estimator("bootstrap", n_bootstrap=3, pairs=[("A", "B")]).fit(
        {"A": x["A"], "B": x["B"]}, target["other"], times
    )
    np.testing.assert_allclose(everything.z_[2, 1], alone.z_[0, 0], atol=1e-9)
    np.testing.assert_array_equal(
        everything.resampled_onsets_[:, 2, 1], alone.resampled_onsets_[:, 0, 0]
    )


def test_the_order_of_trials_and_invertible_maps_do_not_matter() -> None:
    x, target, times = step_data()
    want = estimator().fit(x, target, times)
    rng = np.random.default_rng(1)
    order = rng.permutation(300)
    mixed = {a: v[order] @ rng.standard_normal((3, 3)) + 5 for a, v in x.items()}
    turned = {t: m[order] @ rng.standard_normal((m.shape[1],) * 2) for t, m in target.items()}
    got = estimator().fit(mixed, turned, times)
    np.testing.assert_allclose(got.values_, want.values_, atol=1e-10)


def test_frames_have_the_columns_of_the_tables() -> None:
    x, target, times = step_data()
    pid = estimator(n_bootstrap=0).fit(x, target, times)
    frame = pid.to_frame()
    assert list(frame) == [
        *("pair", "target", "atom", "time", "value"),
        *("null_mean", "null_sd", "z", "p_max", "significant"),
    ]
    assert len(frame) == 4 * 2 * 7 * 8
    assert frame["significant"].dtype == bool
    found = frame.query("pair == 'A-B' and target == 'image' and atom == 'synergy' and time == 5")
    assert found["value"].item() == pid.values_[2, 0, 6, 5]
    assert found["z"].item() == pid.z_[2, 0, 6, 5]
    late = pid.latencies_
    assert list(late) == [
        *("pair", "target", "atom", "onset", "offset"),
        *("ci_low", "ci_high", "peak", "peak_time", "no_onset_fraction"),
    ]
    assert list(late["atom"][:7]) == TERMS
    row = late.query("pair == 'A-C' and target == 'image' and atom == 'mi_1'").iloc[0]
    assert row["onset"] == 0
    assert np.isnan(row["offset"])
    assert np.isnan(row["ci_low"])
    course = frame.query("pair == 'A-C' and target == 'image' and atom == 'mi_1'")
    assert row["peak"] == course["value"].max()
    assert row["peak_time"] == course["time"][course["value"].idxmax()]


def test_result_prints_pickles_and_goes_to_r() -> None:
    x, target, times = step_data()
    pid = estimator("bootstrap", n_bootstrap=4).fit(x, target, times)
    result = pid.result()
    again = pickle.loads(pickle.dumps(result))
    pd.testing.assert_frame_equal(again.to_frame(), pid.to_frame())
    text = result.summary()
    assert "broja" in text
    assert "(A,B)-C about other" in text
    assert result._repr_html_().startswith("<pre>")
    plain = to_r(result)
    assert plain["base"] == 2.0
    assert plain["measure"] == "broja"
    assert plain["latencies"]["pair"][0] == "A-C"
    limit = result.thresholds.query("pair == 'A-C' and target == 'image' and atom == 'mi_1'")
    above = pid.to_frame().query("pair == 'A-C' and target == 'image' and atom == 'mi_1'")
    np.testing.assert_array_equal(
        above["value"] > limit["value"].item() + 1e-12, above["significant"]
    )
    changed = result.to_frame()
    changed.loc[0, "value"] = 9
    assert result.table.loc[0, "value"] != 9
    assert pickle.loads(pickle.dumps(pid)).latencies_.equals(pid.latencies_)


def test_summary_says_how_many_resamples_an_interval_leaves_out() -> None:
    result = estimator("bootstrap", n_bootstrap=4).fit(*step_data()).result()
    late = result.latencies.head(3).copy()
    late[["onset", "ci_low", "ci_high"]] = [[0.0, 0.0, 20.0]] * 2 + [[0.0, np.nan, np.nan]]
    late["no_onset_fraction"] = [0.6, 0.0, 1.0]
    text = dataclasses.replace(result, latencies=late).summary()
    assert text.splitlines()[-2:] == [
        "* intervals are those of the resamples that have an onset; without one:",
        f"  {late['pair'][0]} about {late['target'][0]}, mi_1: 60 %",
    ]
    late["no_onset_fraction"] = [0.0, 0.0, np.nan]
    assert "*" not in dataclasses.replace(result, latencies=late).summary()


def test_nats_are_bits_times_ln_2() -> None:
    x, target, times = step_data()
    bits = estimator("bootstrap").fit(x, target, times)
    nats = TimeResolvedPID(
        GaussianPID(n_bootstrap=12, base=np.e), n_permutations=99, random_state=0, **PLAIN
    ).fit(x, target, times)
    np.testing.assert_allclose(nats.values_, bits.values_ * np.log(2), atol=1e-12)
    np.testing.assert_allclose(nats.z_, bits.z_, atol=1e-8)
    assert nats.base_ == np.e


def test_the_default_estimator_corrects_by_twelve_draws() -> None:
    x, target, times = step_data()
    default = TimeResolvedPID(n_permutations=99, random_state=5).fit(x, target, times)
    said = TimeResolvedPID(
        GaussianPID(bias="bootstrap", n_bootstrap=12), n_permutations=99, random_state=5
    ).fit(x, target, times)
    np.testing.assert_array_equal(default.values_, said.values_)
    other = TimeResolvedPID(n_permutations=99, random_state=6).fit(x, target, times)
    assert np.abs(default.values_ - other.values_).max() > 1e-4
    assert default.measure_ == "broja"
    assert default.seed_ == 5


def test_pca_takes_the_same_axes_in_all_bins() -> None:
    x, target, times = step_data(d=6)
    reduced = TimeResolvedPID(
        GaussianPID(bias=None), area_pca=2, target_pca=2, n_permutations=99, random_state=0
    ).fit(x, target, times)
    scores = {}
    for name, data in x.items():
        flat = data.reshape(-1, data.shape[2])
        axes = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)[2][:2]
        scores[name] = data @ axes.T
    small = {
        name: (m - m.mean(0)) @ np.linalg.svd(m - m.mean(0), full_matrices=False)[2][:2].T
        for name, m in target.items()
    }
    by_hand = estimator(None).fit(scores, small, times)
    np.testing.assert_allclose(reduced.values_, by_hand.values_, atol=1e-9)


def test_wide_targets_are_reduced_from_their_small_side() -> None:
    x, _, times = step_data()
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 700)) * 3
    wide += rng.standard_normal((300, 700))
    kw = {"n_permutations": 99, "random_state": 0, "area_pca": None}
    pid = TimeResolvedPID(GaussianPID(bias=None), target_pca=4, **kw).fit(x, wide, times)
    centred = wide - wide.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:4].T
    same = TimeResolvedPID(GaussianPID(bias=None), target_pca=None, **kw).fit(x, scores, times)
    np.testing.assert_allclose(pid.values_, same.values_, atol=1e-9)


def test_a_silent_bin_gets_a_ridge_and_no_information() -> None:
    x, target, times = step_data(d=4)
    x["A"][:, 2] = 0.0
    x["B"][:, 6, 1] = 7.0
    for pca in (None, 3):
        pid = TimeResolvedPID(
            GaussianPID(bias="bootstrap", n_bootstrap=12),
            area_pca=pca,
            n_permutations=99,
            n_bootstrap=2,
            random_state=0,
        ).fit(x, target, times)
        assert ("A", 2) in pid.ridged_
        assert pca is not None or ("B", 6) in pid.ridged_
        plain = TimeResolvedPID(
            GaussianPID(bias=None), area_pca=pca, n_permutations=99, random_state=0
        ).fit(x, target, times)
        np.testing.assert_allclose(plain.values_[0, :, 0, 2], 0, atol=1e-12)
    few = GaussianPID(bias=None).fit([x["B"][:, 6, [0, 2, 3]], x["C"][:, 6]], target["image"])
    bins = estimator(None, pairs=[("B", "C")]).fit(x, target, times)
    np.testing.assert_allclose(bins.values_[0, 0, :3, 6], few.mi_, atol=1e-6)


def test_counts_and_single_precision_are_taken() -> None:
    x, target, times = step_data()
    counts = {a: np.round(3 * v).astype(np.int16) for a, v in x.items()}
    as_float = {a: v.astype(float) for a, v in counts.items()}
    np.testing.assert_array_equal(
        estimator().fit(counts, target, times).values_,
        estimator().fit(as_float, target, times).values_,
    )
    single = {a: np.asfortranarray(v.astype(np.float32)) for a, v in x.items()}
    before = {a: v.copy() for a, v in single.items()}
    pid = estimator().fit(single, target, times)
    np.testing.assert_allclose(pid.values_, estimator().fit(x, target, times).values_, atol=1e-5)
    for a in single:
        np.testing.assert_array_equal(single[a], before[a])


def test_latency_differences_use_the_same_resamples() -> None:
    areas, m, times = latency_data(3)
    keep = slice(15, 35)
    some = {a: v[:600, keep] for a, v in areas.items()}
    pid = TimeResolvedPID(n_permutations=99, n_bootstrap=20, random_state=1).fit(
        some, m[:600], times[keep]
    )
    late = pid.latencies_.set_index("atom")
    assert late.loc["mi_1", "ci_low"] <= late.loc["mi_1", "ci_high"] < late.loc["mi_2", "ci_low"]
    assert late.loc["mi_1", "no_onset_fraction"] == 0
    apart = pid.latency_difference(("V1-IT", "target", "mi_1"), ("V1-IT", "mi_2"))
    assert apart["difference"] == late.loc["mi_2", "onset"] - late.loc["mi_1", "onset"]
    draws = pid.resampled_onsets_[:, 0, 0, 1] - pid.resampled_onsets_[:, 0, 0, 0]
    assert apart["ci_low"] == np.nanquantile(draws, 0.025)
    assert 0 < apart["ci_low"] <= apart["ci_high"]
    assert apart["missing_fraction"] == np.isnan(draws).mean()
    with pytest.raises(ValueError, match="no atom 'surprise'"):
        pid.latency_difference(("V1-IT", "surprise"), ("V1-IT", "mi_2"))
    with pytest.raises(ValueError, match="must be \\(pair, target, atom\\)"):
        pid.latency_difference("V1-IT", ("V1-IT", "mi_2"))


def test_full_resamples_inflate_and_half_resamples_are_as_large_as_said() -> None:
    x, target, times = step_data(n=400)
    half = estimator("bootstrap", n_bootstrap=3).fit(x, target, times)
    full = estimator("bootstrap", n_bootstrap=3, bootstrap="full").fit(x, target, times)
    np.testing.assert_array_equal(half.values_, full.values_)
    assert (half.resampled_onsets_[:, 0, 0, 0] == 0).all()
    assert (full.resampled_onsets_[:, 0, 0, 0] == 0).all()
    with pytest.warns(NB26StatsWarning, match="advance"):
        estimator(None, n_bootstrap=2).fit(x, target, times)


def test_plot_draws_the_atoms_of_one_pair() -> None:
    from nb26stats import plotting

    x, target, times = step_data()
    pid = estimator("bootstrap").fit(x, target, times)
    with plotting.style(offscreen=True):
        axes = pid.plot(pair="(A,B)-C", target="image", time_unit="ms")
        again = pid.result().plot(pair="(A,B)-C", target="image", time_unit="ms")
    for drawn in (axes, again):
        titles = [ax.get_title(loc="left") for ax in drawn]
        assert titles == ["redundancy", "unique to A+B", "unique to C", "synergy"]
    with pytest.raises(ValueError, match="pair='Z' is not in the result"):
        pid.plot(pair="Z")
