"""Which way a time-resolved fit takes, and the data it takes along."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nb26stats._dispatch import choose_device
from nb26stats._warnings import warn

from ._areas import Pair, classes_of, real_target
from ._copula import normal_scores, warn_of_ties
from ._discrete import DiscretePID
from ._gaussian import GaussianPID
from ._gaussian_bias import plug_in_bias
from ._gaussian_settings import GaussianSettings
from ._gaussian_settings import read_settings as read_gaussian
from ._principal import area_scores, target_scores
from ._series import make_series
from ._time_gaussian import GaussianPlan
from ._time_general import GeneralPlan
from ._time_settings import TimeSettings

DRAWS = 12
FEW_TRIALS = 10


def make_estimator(estimator: Any, seed: int) -> Any:
    """Return a clone of the estimator, or the default one, with the seed of the fit."""
    if estimator is None:
        return GaussianPID(bias="bootstrap", n_bootstrap=DRAWS, random_state=seed)
    if isinstance(estimator, type) or not hasattr(estimator, "result"):
        raise TypeError(
            "estimator must be an instance such as GaussianPID() or DiscretePID(), got "
            f"{estimator!r}"
        )
    model = clone(estimator)
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def make_plan(
    model: Any,
    areas: dict[str, NDArray[Any]],
    targets: dict[str, NDArray[Any]],
    pairs: list[Pair],
    settings: TimeSettings,
    seed: int,
) -> GaussianPlan | GeneralPlan:
    """Return the plan of the fast way where it serves the estimator, else of the general one."""
    classes = {name: classes_of(data) for name, data in targets.items()}
    used = {a: data for a, data in areas.items() if any(a in pair.areas for pair in pairs)}
    if not isinstance(model, GaussianPID):
        _refuse_for_codes(model, settings)
        return GeneralPlan(model, used, targets, classes, tuple(pairs), settings.null, seed)
    real = {name: real_target(data, name) for name, data in targets.items()}
    scores = {a: area_scores(data, settings.area_pca) for a, data in used.items()}
    columns = {t: target_scores(data, settings.target_pca) for t, data in real.items()}
    gaussian = read_gaussian(model)
    if not _is_fast(model, gaussian, settings):
        return GeneralPlan(
            model,
            {a: np.ascontiguousarray(s.transpose(2, 0, 1)) for a, s in scores.items()},
            {t: np.ascontiguousarray(c.T) for t, c in columns.items()},
            classes,
            tuple(pairs),
            settings.null,
            seed,
        )
    _check_trials(scores, columns, pairs, settings, gaussian.base)
    if gaussian.copula:
        _to_normal_scores(scores, columns)
    return GaussianPlan(
        series=make_series(scores, columns, pairs),
        classes=classes,
        null=settings.null,
        measure=gaussian.measure,
        bias=gaussian.bias,
        clip=gaussian.clip,
        n_draws=gaussian.n_bootstrap,
        base=gaussian.base,
        # chosen here, so that all tasks compute on the same kind of device
        device=choose_device(gaussian.device),
        n_threads=gaussian.n_threads,
        seed=seed,
    )


def _is_fast(model: GaussianPID, gaussian: GaussianSettings, settings: TimeSettings) -> bool:
    # ranks of residuals, or of a resample's trials, are not those of the data
    ranks = gaussian.copula and (settings.null != "target" or settings.n_bootstrap > 0)
    plain = type(model) is GaussianPID and gaussian.pca is None and not gaussian.shrinks
    return plain and gaussian.measure != "delta" and not ranks


def _refuse_for_codes(model: Any, settings: TimeSettings) -> None:
    """Raise where an estimator of another kind cannot be given what the settings make."""
    name = type(model).__name__
    if isinstance(model, DiscretePID):
        for what in ("area_pca", "target_pca"):
            if getattr(settings, what) is not None:
                raise ValueError(
                    f"{what}={getattr(settings, what)} turns codes into real numbers; set "
                    f"area_pca=None and target_pca=None for {name}"
                )
    elif settings.area_pca is not None or settings.target_pca is not None:
        raise ValueError(
            f"area_pca and target_pca are for GaussianPID; set them to None for {name}"
        )
    if settings.null.startswith("conditional"):
        raise ValueError(
            f"null={settings.null!r} permutes residuals of a regression, which only GaussianPID "
            f"can take; use null='target' or, for a target of classes, 'noise-shuffle' with {name}"
        )


def _check_trials(
    scores: dict[str, NDArray[np.float64]],
    columns: dict[str, NDArray[np.float64]],
    pairs: list[Pair],
    settings: TimeSettings,
    base: float,
) -> None:
    n = next(iter(columns.values())).shape[1]
    most = max(
        (sum(scores[a].shape[1] for a in pair.areas) + len(c), len(c), pair.label)
        for pair in pairs
        for c in columns.values()
    )
    d, dm, label = most
    resampled = n // 2 if settings.bootstrap == "half" else n
    least = resampled if settings.n_bootstrap else n
    if least <= d:
        what = f"a resample of {least} trials" if least < n else f"{n} trials"
        raise ValueError(
            f"{what} cannot give the covariance of {d} dimensions (pair {label} with its target): "
            "set smaller area_pca and target_pca, or regularization in the estimator"
        )
    if n < FEW_TRIALS * d:
        bits = plug_in_bias(dm, d - dm, n - 1) / np.log(base)
        warn(
            f"{n} trials for {d} dimensions (pair {label} with its target): without a bias "
            f"correction mi_12 is too large by about {bits:.2g}; set smaller area_pca or target_pca"
        )


def _to_normal_scores(
    scores: dict[str, NDArray[np.float64]], columns: dict[str, NDArray[np.float64]]
) -> None:
    """Replace every column of every bin by its normal scores."""
    for name, data in scores.items():
        # ties come from counting, so they are alike in all bins; the last one is looked at
        warn_of_ties(data[-1].T, f"area {name!r}, last bin")
        for b in range(len(data)):
            data[b] = normal_scores(data[b].T).T
    for name, column in columns.items():
        warn_of_ties(column.T, f"target {name!r}")
        columns[name] = np.ascontiguousarray(normal_scores(column.T).T)
