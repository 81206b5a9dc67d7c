"""Tables of a fitted estimator: rows, estimands, and what else the summary tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._options import ESTIMANDS

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
        "propensity": estimator.propensity_,
        "ess": estimator.ess_,
        "trimmed": estimator.trimmed_,
    }
    return pd.DataFrame(columns, index=rows.index)


def estimand_table(estimator: Any) -> pd.DataFrame:
    """Return all estimands over the treated rows."""
    import pandas as pd

    found: list[pd.DataFrame] = [estimator.estimand_interval(n).to_frame() for n in ESTIMANDS]
    return pd.concat(found)


def details(estimator: Any) -> dict[str, Any]:
    """Return further numbers by name, and lines that end the summary."""
    out: dict[str, Any] = {"pi0_used": estimator.pi0_used_}
    for name in ("zM1", "zM2"):
        value = getattr(estimator, f"{name}_", None)
        if value is not None:
            out[name] = float(value)
    out["notes"] = _notes(estimator)
    return out


def _notes(estimator: Any) -> list[str]:
    o = estimator._overlap
    n1 = int(estimator._rows.treated.sum())
    n0 = len(estimator._rows.treated) - n1
    return [
        f"Overlap: {int(o.flagged.sum())} of {n1} treated rows flagged"
        + (" and left out" if o.trimmed.any() else "")
        + f", {o.n_heavy} of {n0} controls near certain to be treated; largest weight "
        f"{o.max_weight:.3g}, effective controls {o.weight_ess:.4g}"
    ]
