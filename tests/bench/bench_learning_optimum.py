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
from collections.abc import Sequence

import numpy as np
import pandas as pd
from learning_optimum import ENOUGH, both
from learning_tools import MICE, mice
from measure import machine


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
    if args.mice:
        table = table[table["animal"].isin(args.mice)]
    out = both(table, args.architectures, args.runs, args.jobs)
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
