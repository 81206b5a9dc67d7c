"""A time-resolved study: seconds of its parts, and the largest memory of a whole fit.

The study: 22,248 trials, 60 bins, three areas of 20 components, targets of 10 components, four
pairs, 1000 permutations, 12 bootstrap draws. ``--permutations`` and ``--targets`` shorten it; the
table says what a permutation costs, from which the whole study follows.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from measure import alone, machine, per_second, table

from nb26stats._blas import one_blas_thread
from nb26stats.information import TimeResolvedPID
from nb26stats.information import _time_gaussian as gaussian

TRIALS, BINS, UNITS, FEATURES = 22_248, 60, 20, 10
PAIRS = 4


def data(n: int, n_targets: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Three areas in single precision, as recordings come, and targets of which they carry some."""
    rng = np.random.default_rng(0)
    targets = {f"layer {i}": rng.standard_normal((n, FEATURES)) for i in range(n_targets)}
    first = next(iter(targets.values()))
    times = 5.0 * np.arange(BINS) - 100.0
    areas = {}
    for name, onset in (("V1", 40.0), ("V4", 60.0), ("IT", 90.0)):
        signal = 0.2 * first @ rng.standard_normal((FEATURES, UNITS))
        x = rng.standard_normal((n, BINS, UNITS), dtype=np.float32)
        x += (signal[:, None] * (times >= onset)[None, :, None]).astype(np.float32)
        areas[name] = x
    return areas, targets, times


class Clock:
    """Seconds and calls of functions, without changing what they do."""

    def __init__(self, *names: str) -> None:
        self.seconds = dict.fromkeys(names, 0.0)
        for name in names:
            setattr(gaussian, name, self._timed(name, getattr(gaussian, name)))

    def _timed(self, name: str, call: Any) -> Any:
        def timed(*args: Any, **kw: Any) -> Any:
            start = time.perf_counter()
            out = call(*args, **kw)
            self.seconds[name] += time.perf_counter() - start
            return out

        return timed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--targets", type=int, default=1)
    parser.add_argument("--permutations", type=int, default=32)
    parser.add_argument("--bootstrap", type=int, default=0)
    args, _ = parser.parse_known_args()
    areas, targets, times = data(args.trials, args.targets)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    names = ("gains", "channels", "gaussian_informations_of_channels")
    clock = Clock(*names)
    pid = TimeResolvedPID(
        n_permutations=args.permutations,
        alpha=min(0.5, 1.001 / (args.permutations + 1)),
        n_bootstrap=args.bootstrap,
        random_state=0,
    )
    start = time.perf_counter()
    with one_blas_thread():
        pid.fit(areas, targets, times)
    spent = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    count = (args.permutations + 1) * args.targets
    flops = 2.0 * args.trials * FEATURES * 3 * UNITS * BINS * count
    problems = PAIRS * BINS * count
    rest = spent - sum(clock.seconds.values())
    each = {name: clock.seconds[name] / count for name in names}
    study = rest + 5 * 1000 * sum(each.values())
    rows = [
        alone("fit", spent, target=f"{args.targets} targets, {args.permutations} permutations"),
        alone("all but permutations", rest, target="once"),
        alone(
            "gains, per permutation",
            each["gains"],
            rate=per_second(flops, clock.seconds["gains"], "flop"),
        ),
        alone("change of coordinates, per permutation", each["channels"]),
        alone(
            "13 decompositions of each bin and pair",
            each["gaussian_informations_of_channels"],
            rate=f"{13 * problems / clock.seconds[names[2]] / 1e3:.1f} k/s",
        ),
        alone("5 targets, 1000 permutations (from the above)", study),
    ]
    print(table(rows))
    print(f"memory: {before:.2f} GB with the data, {peak:.2f} GB at the most (target < 2 GB)")


if __name__ == "__main__":
    print(machine())
    main()
