"""Who responded, semiparametrically: whole fits at the defaults in one process, and their memory.

Fits at N = 1,000 and 10,000 (random features in place of kernels), and at about the largest number
of controls that still gets kernels. Processor seconds stand beside those of the clock.
"""

from __future__ import annotations

import resource
import time
import warnings

from measure import Row, alone, table
from reference import c2g_oracle as oracle

from nb26stats import SemiparametricC2G

TAU = 3
TARGETS = {1000: "about 1 s", 10_000: "< 10 s, < 1.5 GB"}


def main() -> None:
    """Print the table."""
    # compilation and imports are not what is measured
    _fit(400, "additive")
    rows = [_fit(n, design) for n in TARGETS for design in ("additive", "nonadditive")]
    print(table([*rows, _fit(5900, "additive")]))


def _fit(n: int, design: str) -> Row:
    truth = getattr(oracle, design)(n, TAU, 100)
    model = SemiparametricC2G(random_state=100)
    start, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(truth.X, truth.y, treatment=truth.treatment)
    spent, worked = time.perf_counter() - start, time.process_time() - worked
    fdr, power = oracle.rates(truth, model.selected_)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return alone(
        f"fit, {design} tau={TAU}, N={n}, {type(model._model.null).__name__}",
        spent,
        target=TARGETS.get(n, ""),
        rate=f"{worked:.2f} s of processor, peak {peak:.2f} GB; FDR {fdr:.3f}, power {power:.3f}, "
        f"oracle {oracle.oracle(truth)[1]:.3f}",
    )
