"""Which architecture naive mice learn with: every mouse, three architectures, held-out blocks.

The trials of the mice have no licence and are not shipped: ``NB26STATS_MICE`` names the file, or it
lies at ``../shared/data/mice/mice_trials.csv.gz``. Prints the table of all fits, how often each
architecture is best, what is tied or in doubt, and one sentence per fit.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from measure import machine
from sklearn.exceptions import ConvergenceWarning

from nb26stats.learning import compare_architectures

MICE = Path(
    os.environ.get("NB26STATS_MICE")
    or Path(__file__).parents[3] / "shared" / "data" / "mice" / "mice_trials.csv.gz"
)
NOT_NAIVE = "DAP044"


def mice(names: list[str] | None) -> pd.DataFrame:
    """Trials of the mice that began without knowing the task."""
    table = pd.read_csv(MICE).rename(
        columns={"mouse": "animal", "signed_contrast": "contrast", "choice_right": "choice"}
    )
    table = table[table["animal"] != NOT_NAIVE]
    return table if names is None else table[table["animal"].isin(names)]


def cpu_seconds() -> float:
    """CPU seconds of this process and of the jobs that have ended."""
    get_reusable_executor().shutdown(wait=True)
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def gaps(table: pd.DataFrame, first: str, second: str) -> None:
    """Print how the AIC of two architectures differs over mice."""
    aic = table["aic"].unstack("architecture")
    gap = (aic[first] - aic[second]).to_numpy()
    print(
        f"AIC({first}) - AIC({second}): min {gap.min():.1f}, median {np.median(gap):.1f}, "
        f"max {gap.max():.1f}; below 4 in size in {int((np.abs(gap) < 4).sum())} of {gap.size}"
    )


def report(table: pd.DataFrame) -> None:
    """Print what the fits say."""
    attrs = table.attrs
    shown = table.drop(columns=["dbic", "converged"]).round(
        {"loglik": 2, "aic": 1, "bic": 1, "daic": 1, "alpha": 6, "beta": 3}
        | dict.fromkeys(["heldout", "heldout_first", "dheldout", "dheldout_se"], 4)
    )
    with pd.option_context("display.width", 250, "display.max_colwidth", 40):
        print(shown.to_string())
    print()
    for name in ("n_best", "n_best_bic", "n_best_heldout"):
        print(f"{name:<15}{attrs[name]}")
    print(f"{'AIC summed':<15}{table['aic'].groupby(level=1, sort=False).sum().round(0).to_dict()}")
    held = table["heldout"].groupby(level=1, sort=False).mean().round(4).to_dict()
    print(f"{'held out, mean':<15}{held}")
    names = list(table.index.unique("architecture"))
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            gaps(table, first, second)
    winners = table[table["daic"] == 0.0]
    print(
        f"{attrs['n_tied']} of {len(winners)} mice have no single best; of the lowest AICs "
        f"{int((winners['n_hit'] == 1).sum())} were found by one start only and "
        f"{int((winners['at_bounds'] != '').sum())} are on a bound"
    )
    print()
    for sentence in attrs["sentences"]:
        print(sentence)
    print()
    for note in attrs["footnotes"]:
        print(note)


def main(arguments: Sequence[str] = ()) -> None:
    """Fit all, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rule", default="reinforce")
    parser.add_argument("--blocks", type=int, default=10, help="held-out blocks, 0 for none")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--missing-reward", default="expected", choices=["expected", "skip"])
    parser.add_argument("--mice", nargs="+", help="some mice only")
    args = parser.parse_args(arguments)
    if not MICE.is_file():
        print("the trials of the mice are not on this machine: NB26STATS_MICE names the file")
        return
    data = mice(args.mice)
    began, used = time.perf_counter(), cpu_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        table = compare_architectures(
            data,
            rule=args.rule,
            n_blocks=args.blocks or None,
            n_jobs=args.jobs,
            missing_reward=args.missing_reward,
            random_state=0,
        )
    seconds = time.perf_counter() - began
    print(
        f"{data['animal'].nunique()} mice, {len(data)} trials, {len(table)} fits and {args.blocks} "
        f"blocks: {seconds:.0f} s, {cpu_seconds() - used:.0f} CPU s, with {args.jobs} jobs"
    )
    report(table)


if __name__ == "__main__":
    print(machine())
    main(sys.argv[1:])
