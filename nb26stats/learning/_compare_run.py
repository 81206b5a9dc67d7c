"""Fits of several models to several animals, in jobs."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nb26stats._progress import bar
from nb26stats._warnings import NB26StatsWarning, warn

from ._rule import DNNLearningRule
from ._table_input import Animal
from ._trials import Trials
from ._verdict import Fit


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
    """Return the fits of each animal, in the order of the candidates."""
    from joblib import delayed

    tasks = (delayed(_one)(a, c, n_blocks) for a in animals for c in candidates)
    done: list[Fit] = []
    results = _pool(n_jobs)(tasks)
    try:
        with bar(len(animals), desc=desc, unit="animal", quiet=not verbose) as shown:
            for result in results:
                done.append(result)
                shown.update(len(done) % len(candidates) == 0)
    finally:
        # an interrupt must not leave tasks running behind
        if isinstance(results, Generator):
            results.close()
    rows = [done[i : i + len(candidates)] for i in range(0, len(done), len(candidates))]
    _warn_unsure(done)
    return rows


def _pool(n_jobs: int | None) -> Any:
    from joblib import Parallel

    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        # a backend that hands results out only when all are there
        return Parallel(n_jobs=n_jobs)


def _one(animal: Animal, candidate: Candidate, n_blocks: int | None) -> Fit:
    estimator = DNNLearningRule(**candidate.options)
    with warnings.catch_warnings():
        # counted once for all fits; what the data suffer from was said when they were read
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NB26StatsWarning)
        try:
            estimator.fit(**animal.data)
            held = None
            if n_blocks is not None:
                held = estimator.cross_val_blocks(**animal.data, n_blocks=n_blocks)
        except ValueError as err:
            raise ValueError(f"animal {animal.name!r}, {candidate.name}: {err}") from err
    return _fit(estimator, animal.trials, candidate, held)


def _fit(
    estimator: DNNLearningRule, trials: Trials, candidate: Candidate, held: dict[str, Any] | None
) -> Fit:
    return Fit(
        name=candidate.name,
        loglik=float(estimator.loglik_),
        aic=float(estimator.aic_),
        bic=float(estimator.bic_),
        k=int(estimator.n_params_),
        n_hit=int(estimator.n_hit_),
        at_bounds=tuple(estimator.at_bounds_),
        alpha=float(estimator.params_["alpha"]),
        beta=float(estimator.params_["beta"]),
        converged=bool(estimator.converged_),
        terms=_terms(estimator, trials),
        block_loglik=None if held is None else np.asarray(held["block_loglik"], dtype=float),
        block_n=None if held is None else np.asarray(held["block_n"], dtype=float),
    )


def _terms(estimator: DNNLearningRule, trials: Trials) -> tuple[tuple[str, Hashable], ...]:
    """Return what must be the same for two fits to be ranked."""
    # boxes of one set of bounds are equivalent by construction, whatever the architecture
    return (
        ("weight bounds", float(estimator.weight_bound)),
        ("bounds of alpha", tuple(map(float, estimator.alpha_bounds))),
        ("bounds of beta", tuple(map(float, estimator.beta_bounds))),
        ("penalties", str(estimator.penalty)),
        ("rules for missing rewards", str(estimator.missing_reward)),
        ("trials", _digest(trials.x, trials.choice, trials.rewards, trials.correct_side)),
        ("likelihood masks", _digest(trials.mask)),
    )


def _digest(*arrays: Any) -> bytes:
    out = hashlib.sha256()
    for array in arrays:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.digest()


def _warn_unsure(fits: Sequence[Fit]) -> None:
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
