"""The text table of a fitted OjaPCA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._diagnostics import findings
from ._inference import F64, intervals, order_number, order_statistic, subspace_errors

if TYPE_CHECKING:
    import pandas as pd

    from ._oja import OjaPCA

WIDTH = 78
LOADINGS = 3
COMPONENTS = 5


def _pairs(left: list[tuple[str, str]], right: list[tuple[str, str]]) -> list[str]:
    return [
        f"{a:<20}{b:>14}          {c:<20}{d:>14}"
        for (a, b), (c, d) in zip(left, right, strict=True)
    ]


def _header(est: OjaPCA) -> list[str]:
    s = est._state.settings
    r = est.autocorrelation_
    noise = "none" if np.isnan(r).all() else f"{r[np.nanargmax(np.abs(r))]:.3f}"
    return _pairs(
        [
            ("rows used", f"{est.n_samples_seen_:d}"),
            ("rows left out", f"{est.n_rows_skipped_:d}"),
            ("features", f"{s.n_features:d}"),
            ("replicates", f"{s.n_bootstrap:d}"),
            ("rows per multiplier", f"{s.multiplier_block:d}"),
        ],
        [
            ("eigengap", f"{est.eigengap_:.4g}"),
            ("next step", f"{est.learning_rate_:.4g}"),
            ("start left", f"{est.init_weight_:.2g}"),
            ("noise correlation", noise),
            ("device", est.device_),
        ],
    )


def _variances(est: OjaPCA) -> list[str]:
    values, ratio = est.explained_variance_, est.explained_variance_ratio_
    lines = [f"{'component':<20}{'variance':>14}{'ratio':>14}{'cumulative':>14}"]
    for j, (value, part, total) in enumerate(zip(values, ratio, np.cumsum(ratio), strict=True)):
        lines.append(f"{j:<20d}{value:>14.5g}{part:>14.4f}{total:>14.4f}")
    lines.append(f"{'the rest':<20}{est.noise_variance_:>14.5g}   (mean per direction)")
    return lines


def _errors(errors: F64, level: float) -> list[str]:
    quantile = float(order_statistic(errors, level))
    return [
        f"{'squared error of the subspace':<44}{'median':>10}{f'{level:.4g} quantile':>24}",
        f"{'':<44}{float(np.median(errors)):>10.3g}{quantile:>24.3g}",
    ]


def _loadings(est: OjaPCA, components: F64, replicates: F64, level: float) -> list[str]:
    """Return the largest loadings with normal intervals, component by component."""
    names = est._names()
    lower, upper = intervals(components, replicates, level, "sign", "normal")
    spread = np.sqrt(np.mean((replicates - components) ** 2, axis=0))
    tail = (1.0 - level) / 2.0
    ends = f"{f'[{tail:.4g}':>12}{f'{1.0 - tail:.4g}]':>12}"
    lines = [f"{'largest loadings':<34}{'loading':>10}{'std err':>10}{ends}"]
    for j, row in enumerate(components[:COMPONENTS]):
        for i in np.argsort(-np.abs(row), kind="stable")[:LOADINGS]:
            name = f"feature {i}" if names is None else str(names[i])[:28]
            lines.append(
                f"{j:<4d}{name:<30}{row[i]:>10.4f}{spread[j, i]:>10.4f}"
                f"{lower[j, i]:>12.4f}{upper[j, i]:>12.4f}"
            )
    left = len(components) - COMPONENTS
    return [*lines, f"… and {left} more components"] if left > 0 else lines


def _inference(est: OjaPCA, level: float) -> tuple[list[list[str]], list[str]]:
    """Return tables of what the replicates say, and cautions."""
    state = est._state
    s = state.settings
    if s.n_bootstrap == 0:
        return [], ["no replicates were carried along (n_bootstrap=0), so there are no intervals"]
    if state.n_seen <= s.pilot_size:
        return [], [f"replicates start after pilot_size={s.pilot_size} rows"]
    components, replicates = est._replicates()
    errors = subspace_errors(components, replicates, "sin2_fro")
    found = findings(est, state, errors, sign_aligned=True)
    tables = [_loadings(est, components, replicates, level)]
    try:
        order_number(level, s.n_bootstrap)
    except ValueError as err:
        return tables, [*found, str(err)]
    return [_errors(errors, level), *tables], found


def loading_frame(est: OjaPCA, level: float) -> pd.DataFrame:
    """Return one row per component and feature: loading, standard error and normal interval."""
    import pandas as pd

    components = np.asarray(est.components_, dtype=np.float64)
    k, d = components.shape
    names = est._names()
    spread, lower, upper = (np.full((k, d), np.nan) for _ in range(3))
    state = est._state
    if state.settings.n_bootstrap and state.n_seen > state.settings.pilot_size:
        directions, replicates = est._replicates()
        spread = np.sqrt(np.mean((replicates - directions) ** 2, axis=0))
        lower, upper = intervals(directions, replicates, level, "sign", "normal")
    return pd.DataFrame(
        {
            "component": np.repeat(np.arange(k), d),
            "feature": np.tile(np.arange(d) if names is None else names, k),
            "loading": components.ravel(),
            "standard_error": spread.ravel(),
            "ci_low": lower.ravel(),
            "ci_high": upper.ravel(),
        }
    )


def summary_text(est: OjaPCA, level: float) -> str:
    """Return components with their variances, then what is known of their error."""
    tables, cautions = _inference(est, level)
    lines = ["OjaPCA".center(WIDTH).rstrip(), "=" * WIDTH, *_header(est)]
    for table in [_variances(est), *tables]:
        lines += ["-" * WIDTH, *table]
    lines.append("=" * WIDTH)
    lines += [f"* {sentence}" for sentence in cautions]
    return "\n".join(lines)
