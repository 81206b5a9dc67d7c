"""Text of the results, in the manner of statsmodels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import C2GResult, EstimandInterval

WIDTH = 78


def interval_text(interval: EstimandInterval) -> str:
    """Return an interval as a line of text."""
    i = interval
    ends = f"{i.lower:.4g}" if i.lower == i.upper else f"{i.lower:.4g} to {i.upper:.4g}"
    confidence = (
        ""
        if math.isnan(i.ci_low)
        else f", {100 * i.level:g} % confidence {i.ci_low:.4g} to {i.ci_high:.4g}"
    )
    return f"{i.estimand} {ends}{confidence} ({i.n} treated rows)"


def summary_text(result: C2GResult) -> str:
    """Return header, table of estimands, overlap and cautions."""
    d = result.details
    left = [
        ("Rows:", f"{result.n1 + result.n0}"),
        ("Treated:", f"{result.n1}"),
        ("Controls:", f"{result.n0}"),
        ("Selected:", f"{int(result.table['selected'].sum())}"),
    ]
    right = [
        ("Target FDR q:", f"{result.q:g}"),
        ("Control:", result.control_used),
        ("Estimated FDR:", f"{result.estimated_fdr:.4f}"),
        ("pi0:", f"{d.get('pi0_used', '')}"),
    ]
    for name in ("zM1", "zM2"):
        if name in d:
            (left if name == "zM1" else right).append((f"{name}:", f"{d[name]:.3f}"))
    half = WIDTH // 2 - 1
    lines = [result.method.center(WIDTH).rstrip(), "=" * WIDTH]
    for (a, b), (c, e) in zip(left, right, strict=True):
        lines.append(f"{a:<16}{b:>{half - 16}}  {c:<16}{e:>{half - 16}}")
    lines.append("-" * WIDTH)
    lines.append(f"{'estimand':<18}" + "".join(f"{c:>12}" for c in _COLUMNS))
    for label, row in result.estimands.iterrows():
        lines.append(f"{label!s:<18}" + "".join(f"{row[c]:>12.4g}" for c in _COLUMNS))
    lines.append("=" * WIDTH)
    lines += d.get("notes", [])
    return "\n".join(lines)


_COLUMNS = ("lower", "upper", "ci_low", "ci_high", "n")
