"""The tasks of a time-resolved fit: permutations and resamples, serial or by joblib."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nb26stats._blas import one_blas_thread
from nb26stats._progress import bar
from nb26stats._workers import on_arrival

from ._nulls import resample

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class Plan(Protocol):
    """Data and settings that travel to a task; results do not depend on where it runs."""

    @property
    def targets(self) -> Any:
        """Targets by name."""

    @property
    def seed(self) -> int:
        """Key of the permutations and resamples."""

    @property
    def n_trials(self) -> int:
        """Number of trials."""

    def part(self, rows: I64) -> Any:
        """Return the plan of some of the trials."""

    def block_length(self, target: str) -> int:
        """Return the number of permutations of one task."""

    def observed(self) -> F64:
        """Return informations (targets, pairs, bins, 7)."""

    def null_block(self, target: str, first: int, count: int) -> F64:
        """Return informations (pairs, permutations, bins, 7) of a block of permutations."""

    def resampled(self, i: int, bootstrap: str) -> F64:
        """Return informations (targets, pairs, bins, 7) of resample ``i``."""


@dataclass(frozen=True, eq=False)
class Raw:
    """What the tasks return.

    Attributes
    ----------
    observed : ndarray (rows, bins)
        Rows are pairs, then targets, then the seven terms.
    null : ndarray (permutations, rows, bins)
        The same under permutations.
    resampled : ndarray (resamples, rows, bins)
        The same in resamples.
    resampled_null : ndarray (permutations, rows, bins) or None
        Permutations of the first resample.
    """

    observed: F64
    null: F64
    resampled: F64
    resampled_null: F64 | None


Task = tuple[Plan, str, tuple[Any, ...]]


def one_task(plan: Plan, what: str, arguments: tuple[Any, ...]) -> F64:
    """Run one task; module-level, so that joblib can send it."""
    out: F64 = getattr(plan, what)(*arguments)
    return out


def run(
    plan: Plan,
    *,
    n_permutations: int,
    n_bootstrap: int,
    bootstrap: str,
    n_jobs: int | None,
    verbose: bool,
) -> Raw:
    """Return the informations of the data, of every permutation and of every resample."""
    names = list(plan.targets)
    with one_blas_thread():
        observed = _rows(plan.observed())
        blocks = list(_blocks(plan, names, n_permutations))
        total = len(blocks) * (2 if n_bootstrap else 1) + n_bootstrap
        with bar(total, desc="TimeResolvedPID", unit="block", quiet=not verbose) as shown:
            null = _null(plan, names, blocks, n_permutations, n_jobs, shown)
            resampled = np.empty((n_bootstrap, *observed.shape))
            tasks: list[Task] = [(plan, "resampled", (i, bootstrap)) for i in range(n_bootstrap)]
            for i, values in enumerate(_each(tasks, n_jobs, shown)):
                resampled[i] = _rows(values)
            resampled_null = None
            if n_bootstrap:
                first = plan.part(resample(plan.seed, 0, plan.n_trials, bootstrap))
                resampled_null = _null(first, names, blocks, n_permutations, n_jobs, shown)
    return Raw(observed, null, resampled, resampled_null)


def _blocks(plan: Plan, names: list[str], count: int) -> Iterator[tuple[str, int, int]]:
    for name in names:
        length = plan.block_length(name)
        for first in range(0, count, length):
            yield name, first, min(length, count - first)


def _null(
    plan: Plan,
    names: list[str],
    blocks: list[tuple[str, int, int]],
    count: int,
    n_jobs: int | None,
    shown: Any,
) -> F64:
    tasks: list[Task] = [(plan, "null_block", block) for block in blocks]
    out: F64 | None = None
    for (name, first, length), values in zip(blocks, _each(tasks, n_jobs, shown), strict=True):
        n_pairs, _, n_bins, n_terms = values.shape
        if out is None:
            out = np.empty((count, n_pairs, len(names), n_terms, n_bins))
        part = values.transpose(1, 0, 3, 2)
        out[first : first + length, :, names.index(name)] = part
    assert out is not None
    return out.reshape(count, -1, out.shape[-1])


def _rows(values: F64) -> F64:
    """Return (targets, pairs, bins, 7) as rows (pair, target, term) of bins."""
    return np.ascontiguousarray(values.transpose(1, 0, 3, 2)).reshape(-1, values.shape[2])


def _each(tasks: list[Task], n_jobs: int | None, shown: Any) -> Iterator[F64]:
    """Yield the results in the order of the tasks, while a bar advances."""
    from joblib import delayed

    results: Any = _pool(n_jobs)(delayed(on_arrival(one_task))(*task) for task in tasks)
    try:
        for result in results:
            shown.update(1)
            yield result
    finally:
        # an interrupt must not leave tasks running behind
        if isinstance(results, Generator):
            results.close()


def _pool(n_jobs: int | None) -> Any:
    from joblib import Parallel

    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        # a backend that hands results out only when all are there
        return Parallel(n_jobs=n_jobs)
