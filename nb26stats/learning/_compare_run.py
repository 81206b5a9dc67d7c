"""Fits of several models to several animals: all animals of a model in one batch, or in parts."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nb26stats._blas import one_blas_thread
from nb26stats._progress import bar
from nb26stats._seed import as_seed
from nb26stats._warnings import warn
from nb26stats._workers import on_arrival

from ._blocks import cut_blocks, held_out, without_blocks
from ._fit import CONVERGED, Optimum, Problem, search
from ._fitted import count_params, criteria
from ._model import Model
from ._options import Options, read_options
from ._rule import DNNLearningRule
from ._table_input import Animal
from ._trials import Trials
from ._verdict import Fit

AT_ONCE = 25
"""Animals whose starts are in memory together."""
PARTS_PER_JOB = 4
"""Parts that each job gets of the animals of a model, so that progress shows and no job idles."""


@dataclass(frozen=True)
class Candidate:
    """One model: its labels in the table, the name in sentences, the estimator's parameters."""

    labels: tuple[Hashable, ...]
    name: str
    options: dict[str, Any]


def model_options(
    kw: Mapping[str, Any], architecture: str, known: Sequence[str], taken: Sequence[str]
) -> dict[str, Any]:
    """Return the estimator's parameters of one architecture.

    Parameters
    ----------
    kw : dict
        Parameters; a dict as value has one entry for each architecture it is about.
    architecture : str
        The architecture.
    known : sequence of str
        All architectures that are compared.
    taken : sequence of str
        Parameters that have another place.
    """
    names = set(inspect.signature(DNNLearningRule).parameters) - {"architecture", *taken}
    out = {}
    for name, value in kw.items():
        if name not in names:
            raise TypeError(f"{name!r} is no parameter here; there are {', '.join(sorted(names))}")
        if isinstance(value, Mapping):
            strange = [key for key in value if key not in known]
            if strange:
                raise ValueError(
                    f"{name} has a value for {strange[0]!r}, but the architectures are "
                    f"{', '.join(known)}"
                )
            if architecture not in value:
                continue
            value = value[architecture]
        out[name] = value
    return out


def run(
    animals: Sequence[Animal],
    candidates: Sequence[Candidate],
    *,
    n_blocks: int | None,
    n_jobs: int | None,
    desc: str,
    verbose: bool,
) -> list[list[Fit]]:
    """Return the fits of each animal, in the order of the candidates.

    All animals of a model are fitted together, or those of each of several parts. A fit that fails
    leaves the others alone; where all fail, the first says why.
    """
    from joblib import delayed, effective_n_jobs

    batches = _batches(animals, candidates, n_blocks)
    jobs = effective_n_jobs(n_jobs)
    done: dict[tuple[int, int], Fit] = {}
    with bar(len(animals) * len(candidates), desc=desc, unit="fit", quiet=not verbose) as shown:
        if jobs == 1:
            for batch in batches:
                done.update(_fit_batch(batch, shown.update))
        else:
            parts = _parts(animals, min(PARTS_PER_JOB * jobs, len(animals)))
            results = _pool(n_jobs)(
                delayed(on_arrival(_fit_batch))(batch.part(rows))
                for batch in batches
                for rows in parts
            )
            try:
                for result in results:
                    done.update(result)
                    shown.update(len(result))
            finally:
                # an interrupt must not leave tasks running behind
                if isinstance(results, Generator):
                    results.close()
    rows = [[done[i, j] for j in range(len(candidates))] for i in range(len(animals))]
    _say_unsure(animals, rows)
    return rows


@dataclass(frozen=True, eq=False)
class _Batch:
    """One model and the animals that it is fitted to, by their place."""

    at: int
    candidate: Candidate
    options: Options
    animals: dict[int, Animal]
    blocks: dict[int, NDArray[np.int64]]

    def part(self, places: Sequence[int]) -> _Batch:
        return replace(
            self,
            animals={i: self.animals[i] for i in places},
            blocks={i: self.blocks[i] for i in places if i in self.blocks},
        )


def _batches(
    animals: Sequence[Animal], candidates: Sequence[Candidate], n_blocks: int | None
) -> list[_Batch]:
    """Return all models with all animals; what is wrong with either is found before the work."""
    first, out = animals[0].name, []
    for at, candidate in enumerate(candidates):
        with _named(first, candidate):
            options = read_options(DNNLearningRule(**candidate.options))
        for animal in animals:
            with _named(animal.name, candidate):
                options.model(animal.trials.x.shape[1])
        out.append(_Batch(at, candidate, options, dict(enumerate(animals)), {}))
    if n_blocks is not None:
        blocks = {}
        for i, animal in enumerate(animals):
            with _named(animal.name, candidates[0]):
                blocks[i] = cut_blocks(animal.trials, n_blocks)
        out = [replace(batch, blocks=blocks) for batch in out]
    return out


@contextmanager
def _named(animal: Hashable, candidate: Candidate) -> Iterator[None]:
    try:
        yield
    except ValueError as err:
        raise ValueError(_failure(animal, candidate.name, err)) from err


def _failure(animal: Hashable, model: str, why: object) -> str:
    return f"animal {animal!r}, {model}: {why}"


def _parts(animals: Sequence[Animal], n_parts: int) -> list[list[int]]:
    """Return places of animals in parts of about as many trials each."""
    sizes = [len(animal.trials) for animal in animals]
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    for i in sorted(range(len(animals)), key=lambda i: -sizes[i]):
        min(parts, key=lambda part: sum(sizes[k] for k in part)).append(i)
    return parts


def _pool(n_jobs: int | None) -> Any:
    from joblib import Parallel

    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        # a backend that hands results out only when all are there
        return Parallel(n_jobs=n_jobs)


def _fit_batch(
    batch: _Batch, on_animal: Callable[[int], object] | None = None
) -> dict[tuple[int, int], Fit]:
    """Return the fit of each animal and, with blocks, the refits, which advance together."""
    options, seed = batch.options, as_seed(batch.candidate.options["random_state"])
    groups: dict[Model, dict[int, Problem]] = {}
    for i, animal in batch.animals.items():
        trials = animal.trials
        masks = trials.mask[None]
        if i in batch.blocks:
            masks = np.concatenate([masks, without_blocks(trials, batch.blocks[i])])
        # animals may differ in the number of inputs
        model = options.model(trials.x.shape[1])
        groups.setdefault(model, {})[i] = Problem(trials, masks, seed)
    out = {}
    with one_blas_thread():
        for model, problems in groups.items():
            for first in range(0, len(problems), AT_ONCE):
                places = list(problems)[first : first + AT_ONCE]
                some = [problems[i] for i in places]
                found = search(options, model, some, on_problem=on_animal)
                for i, optima in zip(places, found, strict=True):
                    out[i, batch.at] = _fit(batch, model, i, optima)
    return out


def _fit(batch: _Batch, model: Model, place: int, optima: list[Optimum] | ValueError) -> Fit:
    options, trials, name = batch.options, batch.animals[place].trials, batch.candidate.name
    terms = _terms(options, trials)
    if isinstance(optima, ValueError):
        nan = float("nan")
        return Fit(
            name=name,
            loglik=nan,
            aic=nan,
            bic=nan,
            k=count_params(options, model),
            n_hit=0,
            at_bounds=(),
            alpha=nan,
            beta=nan,
            converged=False,
            terms=terms,
            failure=str(optima),
        )
    best, *refits = optima
    found = criteria(options, model, trials, best)
    held = held_out(options, model, trials, batch.blocks[place], refits) if refits else None
    return Fit(
        name=name,
        loglik=found.loglik,
        aic=found.aic,
        bic=found.bic,
        k=found.n_params,
        n_hit=best.n_hit,
        at_bounds=tuple(found.at_bounds(model)),
        alpha=float(found.theta[model.alpha_at]),
        beta=float(found.theta[model.alpha_at + 1]),
        converged=best.end == CONVERGED,
        terms=terms,
        block_loglik=None if held is None else np.asarray(held["block_loglik"], dtype=float),
        block_n=None if held is None else np.asarray(held["block_n"], dtype=float),
    )


def _terms(options: Options, trials: Trials) -> tuple[tuple[str, Hashable], ...]:
    """Return what must be the same for two fits to be ranked."""
    # boxes of one set of bounds are equivalent by construction, whatever the architecture
    return (
        ("weight bounds", options.weight_bound),
        ("bounds of alpha", options.alpha_bounds),
        ("bounds of beta", options.beta_bounds),
        ("penalties", options.penalty),
        ("rules for missing rewards", options.missing_reward),
        ("trials", _digest(trials.x, trials.choice, trials.rewards, trials.correct_side)),
        ("likelihood masks", _digest(trials.mask)),
    )


def _digest(*arrays: Any) -> bytes:
    out = hashlib.sha256()
    for array in arrays:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.digest()


def _say_unsure(animals: Sequence[Animal], rows: Sequence[Sequence[Fit]]) -> None:
    """Warn once of all fits that failed, and once of all that are in doubt."""
    failed = [
        _failure(animal.name, fit.name, fit.failure)
        for animal, row in zip(animals, rows, strict=True)
        for fit in row
        if fit.failure
    ]
    fits = [fit for row in rows for fit in row if not fit.failure]
    if not fits:
        raise ValueError(failed[0])
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        warn(f"{len(failed)} of {len(fits) + len(failed)} fits failed: {failed[0]}{more}")
    parts = [
        (sum(f.n_hit == 1 for f in fits), "found the best optimum from one start only"),
        (sum(bool(f.at_bounds) for f in fits), "have a parameter on a bound"),
        (sum(not f.converged for f in fits), "did not converge"),
    ]
    said = [f"{n} {text}" for n, text in parts if n]
    if said:
        warn(
            f"of {len(fits)} fits, {', '.join(said)}: see the columns n_hit, at_bounds and "
            "converged",
            ConvergenceWarning,
        )
