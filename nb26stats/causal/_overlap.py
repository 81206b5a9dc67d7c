"""Where arms do not overlap: which rows are flagged, what is said, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nb26stats._warnings import warn

from ._cautions import OverlapWarning
from ._propensity import propensity
from ._rows import Rows

__all__ = ["Overlap", "check_overlap", "odds", "propensity"]

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

MIN_ESS = 5.0
"""Effective number of controls below which a treated row is flagged."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """What was found, over the n rows of :class:`Rows`.

    Attributes
    ----------
    flagged : ndarray of shape (n,)
        Treated rows without comparable controls.
    trimmed : ndarray of shape (n,)
        Treated rows left out.
    excluded : ndarray of shape (n,)
        Controls that do not take part in the calibration.
    n_by_propensity, n_by_ess, n_heavy, n_rare : int
        Treated rows flagged for either reason, controls almost sure to be treated, and controls
        almost sure not to be.
    max_weight, weight_ess : float
        Largest weight of a control in use and the effective number of controls.
    """

    flagged: Mask
    trimmed: Mask
    excluded: Mask
    n_by_propensity: int
    n_by_ess: int
    n_heavy: int
    n_rare: int
    max_weight: float
    weight_ess: float


def odds(e: F64) -> F64:
    """Return e / (1 - e), finite where e rounds to 1."""
    return np.asarray(e / np.maximum(1.0 - e, 2.0**-53))


def check_overlap(
    rows: Rows, e: F64, ess: F64, *, overlap: float, action: str, randomized: bool
) -> Overlap:
    """Flag rows, and warn, trim or raise as ``action`` says."""
    certain = e > 1.0 - overlap
    by_propensity = rows.treated & certain
    with np.errstate(invalid="ignore"):
        by_ess = rows.treated & (ess < MIN_ESS)
    flagged = by_propensity | by_ess
    heavy = ~rows.treated & certain
    none = np.zeros_like(flagged)
    trim = action == "trim"
    excluded = heavy if trim else none
    used = ~rows.treated & ~excluded
    weight = np.ones(int(used.sum())) if randomized else odds(e[used])
    found = Overlap(
        flagged=flagged,
        trimmed=flagged if trim else none,
        excluded=excluded,
        n_by_propensity=int(by_propensity.sum()),
        n_by_ess=int(by_ess.sum()),
        n_heavy=int(heavy.sum()),
        n_rare=int((~rows.treated & (e < overlap)).sum()),
        max_weight=float(weight.max(initial=0.0)),
        weight_ess=float(weight.sum() ** 2 / (weight**2).sum()) if weight.any() else 0.0,
    )
    if action == "raise" and flagged.any():
        raise ValueError(_message(rows, found, overlap))
    if action == "warn" and (flagged.any() or heavy.any()):
        warn(_message(rows, found, overlap), OverlapWarning)
    if trim:
        if not (rows.treated & ~found.trimmed).any():
            raise ValueError(
                "overlap_action='trim' leaves no treated row: every one has a propensity above "
                f"{1 - overlap:g} or fewer than {MIN_ESS:g} effective controls"
            )
        if not used.any():
            raise ValueError(
                "overlap_action='trim' leaves no control: every one has a propensity above "
                f"{1 - overlap:g}"
            )
    return found


def _message(rows: Rows, found: Overlap, overlap: float) -> str:
    parts = []
    if found.flagged.any():
        reasons = []
        if found.n_by_propensity:
            reasons.append(f"{found.n_by_propensity} with a propensity above {1 - overlap:g}")
        if found.n_by_ess:
            reasons.append(f"{found.n_by_ess} with fewer than {MIN_ESS:g} effective controls")
        at = rows.kept[found.flagged]
        shown = ", ".join(str(i) for i in at[:10]) + (", …" if len(at) > 10 else "")
        parts.append(
            f"{len(at)} of {int(rows.treated.sum())} treated rows have no comparable controls "
            f"({', '.join(reasons)}), rows {shown} counted from 0: their results are "
            "extrapolated; leave them out by overlap_action='trim', or take covariates that "
            "decide the treatment out of X"
        )
    if found.n_heavy:
        parts.append(
            f"{found.n_heavy} of {int((~rows.treated).sum())} controls have a propensity above "
            f"{1 - overlap:g}; the largest weight is {found.max_weight:.3g} and the effective "
            f"number of controls {found.weight_ess:.3g}, so that few of them rule the calibration; "
            "overlap_action='trim' leaves them out"
        )
    return "overlap: " + "; ".join(parts)
