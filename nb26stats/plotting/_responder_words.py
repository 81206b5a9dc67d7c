"""What figures of responders say of how well the model is identified."""

from __future__ import annotations

from typing import Any

IDENTIFIED = 3.0
"""zM2 from which prior and effect can be told apart; as in the summary of the model."""


def excess(result: Any) -> dict[str, float]:
    """Return by how many standard errors treated residuals differ, where the model tells."""
    known = getattr(result, "details", {})
    found = {name: getattr(result, f"{name}_", known.get(name)) for name in ("zM1", "zM2")}
    return {name: float(value) for name, value in found.items() if value is not None}


def caution(result: Any) -> str:
    """Return what a prior may not be shown without; nothing where it is a bound."""
    z = excess(result).get("zM2")
    if z is None:
        return ""
    return f"zM2 = {z:.1f}" + ("" if z >= IDENTIFIED else ": prior and effect cannot be told apart")
