"""Text of the results, in the manner of statsmodels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._results import C2GResult, EstimandInterval

WIDTH = 80
IDENTIFIED = 3.0
"""zM2 from which the spread of the treated residuals tells prior and effect apart."""
MEAN_RISES = 2.0
"""Size of zM1 below which it does not: the effect is the one rise over the other."""
NAMES = {
    "erpf": "ERPF, share responding",
    "care": "CARE, mean over rows",
    "responder_effect": "effect in responders",
    "att": "ATT",
}


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
    lines = [f"{result.method} results".center(WIDTH).rstrip(), "=" * WIDTH]
    lines += _header(result)
    if len(result.estimands):
        lines += ["-" * WIDTH, *_estimands(result)]
    lines.append("=" * WIDTH)
    lines += [line for note in _notes(result) for line in _wrap(note)]
    return "\n".join(lines)


def _header(result: C2GResult) -> list[str]:
    d = result.details
    n_selected = int(result.table["selected"].sum())
    pairs: list[tuple[str, Any]] = [
        ("Rows in use", result.n1 + result.n0),
        ("Target FDR q", f"{result.q:g}"),
        ("Treated", result.n1),
        ("Control", result.control_used),
        ("Controls", result.n0),
        ("pi0", d.get("pi0_used", "")),
        ("Selected", n_selected),
        ("Estimated FDR", f"{result.estimated_fdr:.4f}"),
    ]
    pairs += [(name, f"{d[name]:.3f}") for name in ("zM1", "zM2") if name in d]
    half = WIDTH // 2 - 1
    cells = [f"{name + ':':<16}{value!s:>{half - 16}}" for name, value in pairs]
    cells += [""] * (len(cells) % 2)
    return [f"{a}  {b}".rstrip() for a, b in zip(cells[::2], cells[1::2], strict=True)]


def _estimands(result: C2GResult) -> list[str]:
    table = result.estimands
    columns = ["lower", "upper"]
    heads = {"lower": "lower", "upper": "upper"}
    if not table["ci_low"].isna().all():
        level = 100 * float(table["level"].iloc[0])
        columns += ["ci_low", "ci_high"]
        # as statsmodels writes them: [0.05 and 0.95]
        tail = (1 - level / 100) / 2
        heads |= {"ci_low": f"[{tail:.3g}", "ci_high": f"{1 - tail:.3g}]"}
    lines = [f"{'':<24}" + "".join(f"{heads[c]:>14}" for c in columns)]
    lines += [
        f"{NAMES.get(str(label), str(label)):<24}" + "".join(f"{row[c]:>14.4g}" for c in columns)
        for label, row in table.iterrows()
    ]
    return lines


def _notes(result: C2GResult) -> list[str]:
    d, table = result.details, result.estimands
    notes = [d["overlap"]] if "overlap" in d else []
    if not len(table):
        limits = ""
    elif bool(table["ci_low"].isna().all()):
        limits = "No confidence limits: they need resamples, n_bootstrap > 0."
    else:
        limits = d.get("limits", "In brackets: percentiles over resamples of both arms.")
    if len(table) and bool((table["lower"] != table["upper"]).any()):
        limits = (
            "lower and upper are what the data allow without an assumption on responders' "
            f"outcomes; sampling error is not in them. {limits}"
        )
    if limits:
        notes.append(
            f"{limits} Averages over rows that were chosen by outcomes, the selected ones among "
            "them, are post-selection: they overstate effects, and no limits hold for them."
        )
    if "zM2" in d:
        notes.append(_of_spread(float(d["zM2"]), float(d["zM1"])))
    if "n_calibrated" in d:
        notes.append(_of_rules(int(result.table["selected"].sum()), int(d["n_calibrated"])))
    return [f"[{i}] {note}" for i, note in enumerate(notes, 1)]


def _of_spread(z: float, mean: float) -> str:
    text = (
        "zM2 is the excess of the treated residuals' mean square over the controls', in standard "
        "errors. "
    )
    if z >= IDENTIFIED and abs(mean) < MEAN_RISES:
        return text + (
            "It is large, but zM1, the same of the mean, is not: the spread may be that of a "
            "poor prediction. Do not read priors, ERPF or effects, only the rows selected by "
            "calibration."
        )
    if z >= IDENTIFIED:
        return text + "From 3 on, as here, prior and effect of response can be told apart."
    return text + (
        "Below 3, as here, prior and effect cannot be told apart: do not read priors, ERPF or "
        "effects, only the rows selected by calibration."
    )


def _of_rules(n_model: int, n_calibrated: int) -> str:
    text = f"Calibrated by the controls, the rule would select {n_calibrated} rows, not {n_model}."
    if n_calibrated >= n_model / 2:
        return text
    return (
        text + " Rules that differ as much as here call for care: the model trusts that noise is "
        "alike in both arms, calibration does not."
    )


def _wrap(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, WIDTH, subsequent_indent="    ")
