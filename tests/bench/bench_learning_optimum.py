"""Whether default fits find the maximum: every mouse and architecture against 40 restarts of scipy.

The peer is scipy's L-BFGS-B with exact gradients, from the 40 likeliest of 400 random starts of
another seed (no nested ones). A default fit should end no more than half a log unit below its best
in 95 % of the cases. The trials of the mice have no licence and are not shipped: ``NB26STATS_MICE``
names the file, or it lies at ``../shared/data/mice/mice_trials.csv.gz``. With arguments:
``PYTHONPATH=tests python tests/bench/bench_learning_optimum.py --mice DAP009``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence

import joblib
import numpy as np
import pandas as pd
from learning_optimum import fitted, searched
from learning_tools import MICE, mice
from measure import machine
from sklearn.exceptions import ConvergenceWarning

ENOUGH = 0.5
SEED = 0


def one(name: str, table: pd.DataFrame, architecture: str, n_runs: int) -> dict[str, object]:
    """Both searches for one mouse and architecture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.process_time()
        rule = fitted(table, architecture, SEED)
        ours_seconds = time.process_time() - began
        began = time.process_time()
        theirs = searched(table, architecture, n_runs, seed=SEED + 1)
    best = float(theirs.max())
    return {
        "animal": name,
        "architecture": architecture,
        "default fit": rule.loglik_,
        "scipy": best,
        "gain": rule.loglik_ - best,
        "n_hit": rule.n_hit_,
        "scipy n_hit": int((theirs >= best - ENOUGH).sum()),
        "at_bounds": len(rule.at_bounds_),
        "CPU s": ours_seconds,
        "scipy CPU s": time.process_time() - began,
    }


def main(arguments: Sequence[str] = ()) -> None:
    """Search all, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=40, help="restarts of scipy")
    parser.add_argument("--architectures", nargs="+", default=["1L", "2L", "2NL"])
    parser.add_argument("--mice", nargs="+", help="some mice only")
    args = parser.parse_args(arguments)
    if not MICE.is_file():
        print("the trials of the mice are not on this machine: NB26STATS_MICE names the file")
        return
    table = mice()
    names = args.mice or list(table["animal"].unique())
    rows = joblib.Parallel(n_jobs=args.jobs)(
        joblib.delayed(one)(name, table[table["animal"] == name], architecture, args.runs)
        for name in names
        for architecture in args.architectures
    )
    out = pd.DataFrame(rows)
    with pd.option_context("display.width", 200):
        print(out.round(2).to_string(index=False))
    gain = out["gain"].to_numpy()
    for architecture, part in out.groupby("architecture", sort=False):
        print(
            f"{architecture}: at least as good within {ENOUGH} in "
            f"{int((part['gain'] >= -ENOUGH).sum())} of {len(part)}, better by more than that in "
            f"{int((part['gain'] > ENOUGH).sum())}; gain from {part['gain'].min():.2f} to "
            f"{part['gain'].max():.2f}; {part['CPU s'].sum():.0f} CPU s against "
            f"{part['scipy CPU s'].sum():.0f}"
        )
    print(
        f"all: at least as good within {ENOUGH} in {100 * np.mean(gain >= -ENOUGH):.1f} % "
        f"of {len(gain)} (target 95 %)"
    )


if __name__ == "__main__":
    print(machine())
    main(sys.argv[1:])
