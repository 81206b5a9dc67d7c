"""Tables of a fitted estimator: rows, estimands, and what else the summary tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._options import ESTIMANDS
from ._overlap import odds

if TYPE_CHECKING:
    import pandas as pd


def row_table(estimator: Any) -> pd.DataFrame:
    """Return a row per row given to ``fit``; rows left out have NaN, and False in the flags."""
    import pandas as pd

    rows = estimator._rows
    treated = np.full(rows.n_given, np.nan, object)
    treated[rows.kept] = rows.treated.tolist()
    columns: dict[str, Any] = {
        "treated": pd.Series(treated, dtype="boolean").array,
        "y": rows.spread(rows.y),
        "selected": estimator.selected_,
        "lfdr": estimator.lfdr_,
        "q_value": estimator.q_values_,
        "responder_proba": estimator.responder_proba_,
        "prior": estimator.prior_,
        "null_mean": estimator.null_mean_,
    }
    if hasattr(estimator, "effect_"):
        columns["effect"] = estimator.effect_
    columns |= {
        "control_score": estimator.control_score_,
        "control_weight": rows.spread(_control_weight(estimator)),
        "propensity": estimator.propensity_,
        "ess": estimator.ess_,
        "trimmed": estimator.trimmed_,
    }
    return pd.DataFrame(columns, index=rows.index)


def _control_weight(estimator: Any) -> NDArray[np.float64]:
    """Return what each control counts for, so that they resemble the treated; NaN at these."""
    rows = estimator._rows
    weight = np.ones(len(rows.y))
    if not estimator._setting.randomized:
        weight = odds(estimator.propensity_[rows.kept])
    weight[estimator._overlap.excluded] = 0.0
    weight[rows.treated] = np.nan
    return weight


def estimand_table(estimator: Any) -> pd.DataFrame:
    """Return all estimands over the treated rows."""
    import pandas as pd

    found: list[pd.DataFrame] = [estimator.estimand_interval(n).to_frame() for n in ESTIMANDS]
    return pd.concat(found)


def details(estimator: Any) -> dict[str, Any]:
    """Return further numbers of the summary by name, and its line on overlap."""
    out: dict[str, Any] = {"pi0_used": estimator.pi0_used_}
    for name in ("zM1", "zM2"):
        value = getattr(estimator, f"{name}_", None)
        if value is not None:
            out[name] = float(value)
    if estimator.control_used_ == "model":
        out["n_calibrated"] = len(estimator.select(control="calibrated"))
    out["overlap"] = _overlap_line(estimator)
    if estimator._att_from_residuals:
        out["limits"] = (
            "In brackets: confidence limits, by resamples of both arms; those of the ATT by the "
            "influence of each row."
        )
    return out


def _overlap_line(estimator: Any) -> str:
    o, rows = estimator._overlap, estimator._rows
    n1 = int(rows.treated.sum())
    left = rows.n_given - len(rows.kept)
    return (
        f"Overlap: {int(o.flagged.sum())} of {n1} treated rows lack comparable controls"
        + (" and are left out" if o.trimmed.any() else "")
        + f"; of {len(rows.treated) - n1} controls {o.n_heavy} are near certain to be treated and "
        f"{o.n_rare} near certain not to be; largest weight {o.max_weight:.3g}, effective number "
        f"of controls {o.weight_ess:.4g}."
        + (f" {left} rows with missing values are left out." if left else "")
    )
