"""The text table of a fitted OjaPCA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._diagnostics import findings
from ._inference import order_number, order_statistic, subspace_errors

if TYPE_CHECKING:
    from ._oja import OjaPCA

WIDTH = 64


def _cautions(est: OjaPCA, level: float) -> list[str]:
    state = est._state
    s = state.settings
    if s.n_bootstrap == 0:
        return ["no replicates were carried along (n_bootstrap=0), so there are no intervals"]
    if state.n_seen <= s.pilot_size:
        return [f"replicates start after pilot_size={s.pilot_size} rows"]
    components, replicates = est._replicates()
    errors = subspace_errors(components, replicates, "sin2_fro")
    found = findings(est, state, errors, sign_aligned=True)
    try:
        order_number(level, s.n_bootstrap)
    except ValueError as err:
        return [*found, str(err)]
    quantile = float(order_statistic(errors, level))
    return [f"the {level:.0%} quantile of the squared subspace error is {quantile:.3g}", *found]


def summary_text(est: OjaPCA, level: float) -> str:
    """Return components with their variances, then what is known of their error."""
    values, ratio = est.explained_variance_, est.explained_variance_ratio_
    lines = [
        "OjaPCA".center(WIDTH).rstrip(),
        "=" * WIDTH,
        f"{'rows used':<24}{est.n_samples_seen_:>12d}",
        f"{'rows left out':<24}{est.n_rows_skipped_:>12d}",
        f"{'features':<24}{est._state.settings.n_features:>12d}",
        f"{'replicates':<24}{est._state.settings.n_bootstrap:>12d}",
        f"{'eigengap':<24}{est.eigengap_:>12.4g}",
        f"{'next step':<24}{est.learning_rate_:>12.4g}",
        f"{'device':<24}{est.device_:>12}",
        "-" * WIDTH,
        f"{'component':<12}{'variance':>14}{'ratio':>12}{'cumulative':>14}",
    ]
    total = 0.0
    for j, (value, part) in enumerate(zip(values, ratio, strict=True)):
        total += float(part)
        lines.append(f"{j:<12d}{value:>14.5g}{part:>12.4f}{total:>14.4f}")
    lines.append(f"{'the rest':<12}{est.noise_variance_:>14.5g}   (mean per direction)")
    lines.append("-" * WIDTH)
    lines += [f"* {sentence}" for sentence in _cautions(est, level)]
    return "\n".join(lines)
