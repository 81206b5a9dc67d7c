"""Informations of every bin by fitting any estimator to data: slower than the Gaussian way."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nb26stats._blas import one_blas_thread
from nb26stats._warnings import NB26StatsWarning, warn

from ._areas import Pair
from ._discrete import DiscretePID
from ._nulls import permutation, resample
from ._series import Travels

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
N_VALUES = 7
# permutations of one joblib task
BLOCK = 8


@dataclass(frozen=True, eq=False)
class GeneralPlan(Travels):
    """All that a task needs besides the number of its permutation or resample.

    Attributes
    ----------
    estimator : estimator
        With the seed of the fit.
    areas : dict of ndarray (trials, bins, units)
        What the estimator is given.
    targets : dict of ndarray (trials, features)
        Likewise.
    classes : dict of ndarray or None
        Class of every trial for a discrete target.
    pairs, null, seed
        Settings.
    """

    estimator: Any
    areas: dict[str, NDArray[Any]]
    targets: dict[str, NDArray[Any]]
    classes: dict[str, I64 | None]
    pairs: tuple[Pair, ...]
    null: str
    seed: int

    def __sizeof__(self) -> int:
        # a scheduler goes by this to send the data once instead of with every task
        return sum(a.nbytes for a in (*self.areas.values(), *self.targets.values()))

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(next(iter(self.areas.values())))

    @property
    def ridged(self) -> tuple[tuple[str, int], ...]:
        """No area gets a ridge: the estimator has its own ways."""
        return ()

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return int(next(iter(self.areas.values())).shape[1])

    def part(self, rows: I64) -> GeneralPlan:
        """Return the plan of some of the trials."""
        return replace(
            self,
            areas={name: data[rows] for name, data in self.areas.items()},
            targets={name: data[rows] for name, data in self.targets.items()},
            classes={t: None if c is None else c[rows] for t, c in self.classes.items()},
        )

    def block_length(self, target: str) -> int:
        """Return the number of permutations of one task."""
        return BLOCK

    def observed(self) -> F64:
        """Return the informations (targets, pairs, bins, 7) of the trials as they are."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = self._all_pairs()
        _tell_once(caught)
        return out

    def null_block(self, target: str, first: int, count: int) -> F64:
        """Return the informations (pairs, permutations, bins, 7) of one block of permutations."""
        out = np.empty((len(self.pairs), count, self.n_bins, N_VALUES))
        classes = self.classes[target] if self.null == "noise-shuffle" else None
        model = clone(self.estimator)
        m = self.targets[target]
        with one_blas_thread(), _quiet():
            for i in range(count):
                order = permutation(self.seed, first + i, self.n_trials, classes)
                for j, pair in enumerate(self.pairs):
                    for b in range(self.n_bins):
                        x, y = self._source(pair.first, b), self._source(pair.second, b)
                        x, y, moved = self._null_data(x, y, m, order, discrete=classes is not None)
                        with _saying_where(pair, target, b):
                            out[j, i, b] = _fit(model, x, y, moved)
        return out

    def resampled(self, i: int, bootstrap: str) -> F64:
        """Return the informations (targets, pairs, bins, 7) of resample ``i``."""
        with _quiet():
            rows = resample(self.seed, i, self.n_trials, bootstrap)
            return self.part(rows)._all_pairs()

    def _all_pairs(self) -> F64:
        out = np.empty((len(self.targets), len(self.pairs), self.n_bins, N_VALUES))
        model = clone(self.estimator)
        with one_blas_thread():
            for t, (name, m) in enumerate(self.targets.items()):
                for j, pair in enumerate(self.pairs):
                    for b in range(self.n_bins):
                        x, y = self._source(pair.first, b), self._source(pair.second, b)
                        with _saying_where(pair, name, b):
                            out[t, j, b] = _fit(model, x, y, m)
        return out

    def _source(self, names: tuple[str, ...], b: int) -> NDArray[Any]:
        return np.concatenate([self.areas[name][:, b] for name in names], axis=1)

    def _null_data(
        self, x: NDArray[Any], y: NDArray[Any], m: NDArray[Any], order: I64, *, discrete: bool
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        if self.null == "target":
            return x, y, m[order]
        if self.null == "conditional-x":
            return _moved_residuals(x, y, order), y, m
        if self.null == "conditional-y":
            return x, _moved_residuals(y, x, order), m
        return x, y[order] if discrete else _moved_residuals(y, m, order), m


def _moved_residuals(y: F64, given: F64, order: I64) -> F64:
    """Return the regression of ``y`` on ``given`` with the residuals of other trials."""
    design = given - given.mean(axis=0)
    mean = y.mean(axis=0)
    fitted = mean + design @ np.linalg.lstsq(design, y - mean, rcond=None)[0]
    return np.asarray(fitted + (y - fitted)[order])


def _fit(model: Any, x: NDArray[Any], y: NDArray[Any], m: NDArray[Any]) -> F64:
    target = m if m.shape[1] > 1 else m[:, 0]
    if isinstance(model, DiscretePID):
        # an area that is silent in some bins tells nothing there
        model._fit([x, y], target, constant=True)
    else:
        model.fit([x, y], target)
    result = model.result()
    return np.array([*result.mi, result.redundancy, *result.unique, result.synergy])


@contextmanager
def _saying_where(pair: Pair, target: str, b: int) -> Iterator[None]:
    """Tell which of many fits it was that the estimator refused."""
    try:
        yield
    except (ValueError, TypeError) as err:
        kind = TypeError if isinstance(err, TypeError) else ValueError
        raise kind(f"pair {pair.label} with target {target!r} in bin {b}: {err}") from err


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the observed data have said already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NB26StatsWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _tell_once(caught: list[warnings.WarningMessage]) -> None:
    """Warn once per cause, with the number of bins and pairs that had it."""
    seen: dict[tuple[type[Warning], str], list[str]] = {}
    for entry in caught:
        text = str(entry.message)
        seen.setdefault((entry.category, re.sub(r"[\d.]+", "#", text)), []).append(text)
    for (category, _), texts in seen.items():
        more = f" (and {len(texts) - 1} more of the kind)" if len(texts) > 1 else ""
        warn(texts[0] + more, category)
