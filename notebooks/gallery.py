"""Draw the four figures of the README: ``python notebooks/gallery.py [FOLDER]``, about a minute."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from nb26stats import (
    DNNLearningRule,
    NonparametricC2G,
    OjaPCA,
    TimeResolvedPID,
    datasets,
    nwb,
    plotting,
)

HERE = Path(__file__).parent / "gallery"


def streaming() -> Axes:
    """Draw which cells of two areas share the leading plane of sleep."""
    with datasets.load_nwb("A2929-200711_neurosuite") as session:
        counts = nwb.spike_counts(
            session, align_to=np.arange(0.0, 600.0, 30.0), window=(0.0, 30.0), bin_size=0.05
        ).concat()
    pca = OjaPCA(2, n_bootstrap=199, multiplier_block=20, random_state=0)
    for slab in np.sqrt(counts.counts["all"]):
        pca.partial_fit(slab)
    return pca.plot(
        align="procrustes",
        names=counts.unit_ids["all"],
        groups=np.asarray(counts.unit_area["all"]),
        feature="unit",
    )


def information() -> Axes:
    """Draw what two simulated areas tell of an image, bin by bin."""
    sim = datasets.simulate_two_areas(random_state=0)
    course = TimeResolvedPID(n_permutations=199, alpha=0.01, random_state=0)
    return course.fit(sim.areas, {"the image": sim.target}, sim.times).plot(event="image")


def learning() -> Axes:
    """Draw how a rat learned, and networks that learn by themselves."""
    rat = datasets.load_rat()
    X = np.column_stack([rat["s1"], rat["s2"], np.ones(len(rat))])
    trials = {
        "y": rat["choice"].to_numpy() - 1,
        "rewards": rat["correct"].to_numpy(dtype=float),
        "sessions": rat["session"].to_numpy(),
    }
    fit = DNNLearningRule("2NL", n_restarts=10, max_iter=1000, random_state=0, verbose=False)
    return fit.fit(X, **trials).learning_curve(X, **trials, n_runs=100, random_state=0).plot()


def causal() -> Axes:
    """Draw which treated rows of a simulated study are named, and why one of them is."""
    study = datasets.simulate_additive(1000, tau=5, random_state=100)
    model = NonparametricC2G(q=0.1, random_state=0)
    model.fit(study.X, study.y, treatment=study.treatment)
    _, (left, right) = plt.subplots(
        1, 2, figsize=(8.2, 2.9), width_ratios=[1.4, 1], layout="constrained"
    )
    named = model.select()
    model.plot(kind="density", row=named[len(named) // 2], ax=left)
    return model.plot(ax=right)


def main(folder: Path) -> None:
    """Write the four figures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (streaming, information, learning, causal):
        with plotting.style(), warnings.catch_warnings(action="ignore"):
            axes = np.ravel(draw())
            axes[0].figure.savefig(folder / f"{draw.__name__}.png", dpi=160, bbox_inches="tight")


if __name__ == "__main__":
    mpl.use("agg")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
