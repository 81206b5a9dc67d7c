"""The simulator of two areas: the published recipe to the bit, and what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest

from nb26stats import datasets


def test_e5_recipe_to_the_bit() -> None:
    r = np.random.default_rng(0)
    target = r.standard_normal((2000, 4))
    h1 = np.zeros((8, 4))
    h1[:, :3] = 0.35 * r.standard_normal((8, 3))
    h2 = np.zeros((8, 4))
    h2[:, 3] = 0.35 * r.standard_normal(8)
    t = np.arange(-50, 250, 5)
    g1 = np.clip((t - 40) / 30, 0, 1) * np.clip(1 - (t - 140) / 30, 0, 1)
    g2 = np.clip((t - 90) / 30, 0, 1)
    v1 = (target @ h1.T)[:, None] * g1[:, None] + r.standard_normal((2000, 60, 8))
    it = (target @ h2.T)[:, None] * g2[:, None] + r.standard_normal((2000, 60, 8))
    made = datasets.simulate_two_areas()
    np.testing.assert_array_equal(made.target, target)
    np.testing.assert_array_equal(made.times, t / 1000)
    # seconds and milliseconds round differently in the last place of the gains
    np.testing.assert_allclose(made.areas["V1"], v1, rtol=0, atol=1e-13)
    np.testing.assert_allclose(made.areas["IT"], it, rtol=0, atol=1e-13)


def test_each_area_follows_its_own_features_from_its_onset_on() -> None:
    made = datasets.simulate_two_areas(4000, 12, random_state=5)
    for name, own in (("V1", [0, 1, 2]), ("IT", [3])):
        data = made.areas[name]
        before = made.times < made.onset[name] + 0.005
        late = (made.times >= made.onset[name] + 0.03) & (made.times < 0.14)
        linked = np.abs(np.einsum("tf,tbu->bfu", made.target, data) / len(data))
        assert linked[before].max() < 0.08
        others = [k for k in range(4) if k not in own]
        assert linked[late][:, others].max() < 0.08
        assert linked[late][:, own].mean(axis=0).max() > 0.3
    assert np.abs(made.areas["V1"][:, made.times >= 0.17].mean(axis=0)).max() < 0.08


def test_seeds_sizes_and_text() -> None:
    one = datasets.simulate_two_areas(30, 3, random_state=7)
    again = datasets.simulate_two_areas(30.0, 3.0, random_state=7.0)  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.areas["IT"], again.areas["IT"])
    other = datasets.simulate_two_areas(30, 3, random_state=8)
    assert not np.array_equal(one.target, other.target)
    assert one.summary() == (
        "two simulated areas: 30 trials, 60 bins of 5 ms, 3 units each; onsets V1 40 ms, IT 90 ms"
    )
    assert one.to_r()["target"]["dim"] == [30, 4]


@pytest.mark.parametrize("name", ["n_trials", "n_units"])
def test_numbers_below_one(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
        datasets.simulate_two_areas(**{name: 0})
