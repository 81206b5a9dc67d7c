"""Two groups of 5,000 z-scores: null and local false discovery rates.

Peer: statsmodels' `NullDistribution` with its share of nulls, then `local_fdr`. Beside the times
stand the distances of both from what R's locfdr 1.1-8 gives for these z-scores.
"""

from __future__ import annotations

import numpy as np
from measure import alternate, compare, table
from statsmodels.stats.multitest import NullDistribution
from statsmodels.stats.multitest import local_fdr as peer_fdr

from nb26stats import two_groups

R_NULL = (0.04491445887, 1.0513561996, 0.94933412720)
R_CALLED = 166
"""Local false discovery rates of at most .2."""


def scores() -> np.ndarray:
    """Return the z-scores that R's numbers are for."""
    rng = np.random.default_rng(2026)
    responds = rng.random(5000) < 0.1
    shifted, null = rng.normal(2.5, 1, 5000), rng.normal(0, 1, 5000)
    return np.where(responds, shifted, null)


def by_statsmodels(z: np.ndarray) -> tuple[tuple[float, float, float], np.ndarray]:
    """Return mean, SD and share of the nulls, and local false discovery rates."""
    null = NullDistribution(z, estimate_null_proportion=True)
    share = float(null.null_proportion)
    rates = peer_fdr(z, null_proportion=share, null_pdf=null.pdf)
    return (float(null.mean), float(null.sd), share), rates


def main() -> None:
    """Print the table."""
    z = scores()
    times = alternate(
        {"ours": lambda: two_groups(z), "statsmodels": lambda: by_statsmodels(z)}, rounds=7
    )
    print(table([compare("5,000 z-scores", times, "ours", "statsmodels", target="5")]))
    fit = two_groups(z)
    mine = (fit.delta, fit.sigma, fit.p0), fit.lfdr
    print("\n| | delta | sigma | p0 | lfdr at most .2 |\n|---|---|---|---|---|")
    print(f"| R | {' | '.join(f'{v:.7f}' for v in R_NULL)} | {R_CALLED} |")
    for name, (null, rates) in {"ours": mine, "statsmodels": by_statsmodels(z)}.items():
        print(f"| {name} | {' | '.join(f'{v:.7f}' for v in null)} | {(rates <= 0.2).sum()} |")


if __name__ == "__main__":
    main()
