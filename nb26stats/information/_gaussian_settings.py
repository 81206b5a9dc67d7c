"""Settings of GaussianPID, read and checked when it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nb26stats._check import as_bool, as_choice, as_float, as_int

from ._shrinkage import as_regularization

MEASURES = ("broja", "mmi", "delta")
BIASES = ("analytic", "gpid", "bootstrap")


@dataclass(frozen=True)
class GaussianSettings:
    """Clean values of the parameters; see GaussianPID."""

    measure: str
    pca: int | None
    copula: bool
    regularization: str | float | None
    bias: str | None
    n_bootstrap: int
    clip: bool
    base: float
    device: str
    n_threads: int

    @property
    def shrinks(self) -> bool:
        """Whether the covariance is regularised."""
        return self.regularization not in (None, 0.0)


def as_base(value: object) -> float:
    """Return the base of the logarithm, above 1."""
    return as_float(value, "base", above=1.0)


def read_settings(pid: Any) -> GaussianSettings:
    """Return the parameters of a GaussianPID.

    Raises
    ------
    ValueError, TypeError
        A parameter is out of range or of the wrong kind.
    """
    as_choice(pid.missing, "missing", ("raise",))
    out = GaussianSettings(
        measure=as_choice(pid.measure, "measure", MEASURES),
        pca=None if pid.pca is None else as_int(pid.pca, "pca", minimum=1),
        copula=as_bool(pid.copula, "copula"),
        regularization=as_regularization(pid.regularization),
        bias=None if pid.bias is None else as_choice(pid.bias, "bias", BIASES),
        n_bootstrap=as_int(pid.n_bootstrap, "n_bootstrap", minimum=1, maximum=10**6),
        clip=as_bool(pid.clip, "clip"),
        base=as_base(pid.base),
        device=as_choice(pid.device, "device", ("auto", "cpu", "cuda")),
        n_threads=as_int(pid.n_threads, "n_threads", minimum=0, maximum=2**16),
    )
    if out.measure == "delta" and out.bias in ("analytic", "gpid"):
        raise ValueError(
            f"bias={out.bias!r} is not defined for measure='delta'; take 'bootstrap' or None"
        )
    return out
