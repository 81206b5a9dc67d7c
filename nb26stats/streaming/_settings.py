"""Checked parameters of one run of OjaPCA; fixed by its first rows."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_bool, as_choice, as_float, as_int, as_numbers
from nb26stats._seed import as_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._oja import OjaPCA

MULTIPLIERS = ("double", "exponential", "paired")
SCHEDULES = ("auto", "theory", "decay", "constant")
MOST = 2**62  # whole numbers that native code counts with
MOST_PILOT = 2**31
MOST_BLOCK = 2**12  # a block needs memory for the square of this


@dataclass(frozen=True)
class Settings:
    """Plain values only, so that a pickle of a running stream needs nothing else."""

    n_features: int
    n_components: int
    n_tracked: int
    n_bootstrap: int
    dtype: str
    schedule: str
    rate: Callable[[NDArray[np.float64]], Any] | None
    c: float
    kappa: float
    eta0: float
    beta: float
    gap: float | None
    n_total: int | None
    center: bool
    init: str
    pilot_size: int
    block_size: int
    growth_limit: float
    multiplier: str
    multiplier_block: int
    missing: str
    seed: int
    sparse: bool

    @property
    def paired(self) -> bool:
        """Whether a row's weight also takes from the row before it."""
        return self.multiplier == "paired"

    @property
    def slot_rows(self) -> int:
        """Rows of a block in native memory: with the row before it, in whole eights."""
        return (self.block_size + self.paired + 7) // 8 * 8

    @property
    def sizes(self) -> tuple[int, int, int, int, int, bool]:
        """Shape as the native functions take it."""
        return (
            self.n_features,
            self.n_components,
            self.n_tracked,
            self.block_size,
            np.dtype(self.dtype).itemsize,
            self.paired,
        )

    @property
    def rule(self) -> tuple[float, float, float, bool, bool, bool]:
        """Step and closing rule as the native functions take it."""
        refresh = self.init == "pilot" and self.gap is None
        steps = refresh and self.schedule == "auto"
        return (self.growth_limit, self.c, self.kappa, self.center, refresh, steps)

    @property
    def weights(self) -> tuple[int, int, int]:
        """Multipliers as the native functions take them."""
        return (self.seed, MULTIPLIERS.index(self.multiplier), self.multiplier_block)

    @property
    def pilot_weights(self) -> tuple[int, int, int]:
        """The same for the pilot, which cannot use weights below zero."""
        kind = "double" if self.paired else self.multiplier
        return (self.seed, MULTIPLIERS.index(kind), self.multiplier_block)


def start_rows(
    init: object, n_components: int, n_features: int
) -> tuple[str, NDArray[np.float64] | None]:
    """Return the kind of start and, for an array, its rows made orthonormal."""
    if isinstance(init, str):
        return as_choice(init, "init", ("pilot", "random")), None
    try:
        rows = as_numbers(init, "init")
    except TypeError:
        raise TypeError("init must be 'pilot', 'random' or an array of real numbers") from None
    allowed = [(n_components, n_features)]
    if n_components < n_features:
        allowed.append((n_components + 1, n_features))
    if rows.shape not in allowed:
        listed = " or ".join(map(str, allowed))
        raise ValueError(f"init has shape {rows.shape} but must have shape {listed}")
    rows = rows.astype(np.float64)
    if not np.isfinite(rows).all():
        raise ValueError("init must hold finite numbers only")
    q, r = np.linalg.qr(rows.T)
    diagonal = np.diagonal(r)
    if np.min(np.abs(diagonal)) <= 1e-12 * np.max(np.abs(rows)):
        raise ValueError("init must have linearly independent rows")
    return "array", np.ascontiguousarray((q * np.sign(diagonal)).T)


def read_settings(
    est: OjaPCA, n_features: int, dtype: np.dtype[Any], n_rows: int | None, *, sparse: bool
) -> tuple[Settings, NDArray[np.float64] | None]:
    """Check the parameters of ``est`` against the first rows; ``n_rows`` is None in partial_fit."""
    k = as_int(est.n_components, "n_components")
    if not 1 <= k <= n_features:
        raise ValueError(f"n_components={k} must lie in [1, n_features={n_features}]")
    positive = {
        name: None if value is None else as_float(value, name, above=0.0)
        for name, value in (
            ("c", est.c),
            ("kappa", est.kappa),
            ("eta0", est.eta0),
            ("gap", est.gap),
            ("growth_limit", est.growth_limit),
        )
    }
    if positive["kappa"] is None:
        raise TypeError("kappa must be a number, got None")
    beta = 0.0 if est.beta is None else as_float(est.beta, "beta", minimum=0.0)
    n_total = (
        None if est.n_total is None else as_int(est.n_total, "n_total", minimum=2, maximum=MOST)
    )
    block = as_int(est.multiplier_block, "multiplier_block", minimum=1, maximum=MOST)
    multiplier = as_choice(est.multiplier, "multiplier", MULTIPLIERS)
    if multiplier == "paired" and block > 1:
        raise ValueError(
            f"multiplier_block={block} must be 1 with multiplier='paired', whose weights take from "
            "the row before; choose another multiplier for autocorrelated rows"
        )
    pilot_size = None
    if est.pilot_size is not None:
        pilot_size = as_int(est.pilot_size, "pilot_size", minimum=4 * (k + 1), maximum=MOST_PILOT)

    rate = est.learning_rate if callable(est.learning_rate) else None
    if isinstance(est.learning_rate, numbers.Real) and not isinstance(est.learning_rate, bool):
        raise TypeError(
            f"learning_rate={est.learning_rate} is a number; a fixed step is "
            f"learning_rate='constant', eta0={est.learning_rate}"
        )
    schedule = "callable" if rate else as_choice(est.learning_rate, "learning_rate", SCHEDULES)
    init, rows = start_rows(est.init, k, n_features)
    if schedule in ("decay", "constant") and positive["eta0"] is None:
        raise ValueError(f"learning_rate={schedule!r} needs eta0")
    if schedule in ("auto", "theory") and init != "pilot" and positive["gap"] is None:
        raise ValueError(f"learning_rate={schedule!r} needs gap unless init='pilot'")
    if schedule == "theory" and n_total is None:
        if n_rows is None:
            raise ValueError("learning_rate='theory' needs n_total in partial_fit")
        n_total = max(n_rows, 2)

    if pilot_size is None:
        pilot_size = max(50, 10 * (k + 1), min(n_features, 200), 20 * block if block > 1 else 0)
        if pilot_size > MOST_PILOT:
            raise ValueError(
                f"multiplier_block={block} asks for a pilot of {pilot_size} rows; take a shorter "
                "block, or give pilot_size"
            )
    narrow = dtype == np.float32
    limit = positive["growth_limit"]
    settings = Settings(
        n_features=n_features,
        n_components=k,
        n_tracked=min(k + 1, n_features) if rows is None else len(rows),
        n_bootstrap=as_int(est.n_bootstrap, "n_bootstrap", minimum=0, maximum=2**31),
        dtype="float32" if narrow else "float64",
        schedule=schedule,
        rate=rate,
        c=positive["c"] or (1.0 if schedule == "theory" else 1.5),
        kappa=positive["kappa"],
        eta0=positive["eta0"] or 0.0,
        beta=beta,
        gap=positive["gap"],
        n_total=n_total,
        center=as_bool(est.center, "center"),
        init=init,
        pilot_size=pilot_size if init == "pilot" else 0,
        block_size=as_int(est.block_size, "block_size", minimum=1, maximum=MOST_BLOCK),
        growth_limit=4.0 if limit is None else limit,
        multiplier=multiplier,
        multiplier_block=block,
        missing=as_choice(est.missing, "missing", ("raise", "drop")),
        seed=as_seed(est.random_state),
        sparse=sparse,
    )
    return settings, rows
