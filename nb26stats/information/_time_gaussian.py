"""Gaussian informations of every bin from white coordinates: observed, permuted, resampled."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nb26stats._blas import one_blas_thread

from ._areas import Pair
from ._atoms import atoms
from ._gaussian_bias import bartlett_factors, corrected
from ._gaussian_call import gaussian_informations, gaussian_informations_of_channels
from ._nulls import (
    TERMS,
    block_length,
    channels,
    gains,
    permutation,
    resample,
    residual_covariances,
)
from ._series import Series, add_ridge

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GaussianPlan:
    """All that a task needs besides the number of its permutation or resample.

    Attributes
    ----------
    series : pandas.Series
        The data, white in every bin.
    classes : dict of ndarray or None
        Class of every trial for a discrete target.
    null, measure, bias, clip, n_draws, base, device, n_threads, seed
        Settings; ``n_draws`` is the number of bootstrap draws of ``bias="bootstrap"``.
    """

    series: Series
    classes: dict[str, I64 | None]
    null: str
    measure: str
    bias: str | None
    clip: bool
    n_draws: int
    base: float
    device: str
    n_threads: int
    seed: int

    def __sizeof__(self) -> int:
        return self.series.__sizeof__()

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return self.series.nu + 1

    @property
    def targets(self) -> dict[str, F64]:
        """White targets by name."""
        return self.series.targets

    @property
    def ridged(self) -> tuple[tuple[str, int], ...]:
        """Areas and bins that needed a ridge."""
        return self.series.ridged

    def factors(self, dims: tuple[int, int, int], nu: int) -> F64 | None:
        """Return the Bartlett factors of problems of these dimensions."""
        if self.bias != "bootstrap":
            return None
        return bartlett_factors(self.seed, self.n_draws, sum(dims), nu)

    def seven(
        self, information: F64, means: F64 | None, dims: tuple[int, int, int], nu: int
    ) -> F64:
        """Return informations and atoms (..., 7) in the unit of ``base``."""
        four = corrected(
            information,
            means,
            bias=self.bias,
            measure=self.measure,
            dims=dims,
            n_samples=nu + 1,
            clip=self.clip,
        )
        four = four / np.log(self.base)
        return np.stack([*np.moveaxis(four[..., :3], -1, 0), *atoms(four)], axis=-1)

    def part(self, rows: I64) -> GaussianPlan:
        """Return the plan of some of the trials."""
        classes = {t: None if c is None else c[rows] for t, c in self.classes.items()}
        return dataclasses.replace(self, series=self.series.part(rows), classes=classes)

    def block_length(self, target: str) -> int:
        """Return the number of permutations of one task."""
        return block_length(self.series, len(self.series.targets[target]))

    def observed(self) -> F64:
        """Return the informations (targets, pairs, bins, 7) of the trials as they are."""
        order = [np.arange(self.n_trials)]
        out = [self._by_gains(name, order, "")[:, 0] for name in self.series.targets]
        return np.stack(out).reshape(len(out), len(self.series.maps), *out[0].shape[1:])

    def null_block(self, target: str, first: int, count: int) -> F64:
        """Return the informations (pairs, permutations, bins, 7) of one block of permutations."""
        classes = self.classes[target] if self.null == "noise-shuffle" else None
        orders = [
            permutation(self.seed, p, self.n_trials, classes) for p in range(first, first + count)
        ]
        if self.null == "target":
            return self._by_gains(target, orders, " under a permutation")
        return self._by_residuals(target, orders, discrete=classes is not None)

    def _by_gains(self, target: str, orders: list[I64], where: str) -> F64:
        series = self.series
        dm = len(series.targets[target])
        with one_blas_thread():
            by_area = gains(series, target, orders)
            out = []
            for pair_map in series.maps:
                r, k = channels(pair_map, by_area)
                dims = (*pair_map.dims, dm)
                information, means, status = gaussian_informations_of_channels(
                    r,
                    k,
                    self.factors(dims, series.nu),
                    device=self.device,
                    n_threads=self.n_threads,
                )
                _complain(status, pair_map.pair, target, where)
                out.append(self.seven(information, means, dims, series.nu).transpose(1, 0, 2))
        return np.stack(out)

    def _by_residuals(self, target: str, orders: list[I64], *, discrete: bool) -> F64:
        series = self.series
        dm = len(series.targets[target])
        n_bins = len(next(iter(series.areas.values())))
        out = np.empty((len(series.maps), len(orders), n_bins, len(TERMS)))
        with one_blas_thread():
            for i, pair_map in enumerate(series.maps):
                dims = (*pair_map.dims, dm)
                factors = self.factors(dims, series.nu)
                for b, covs in residual_covariances(
                    series, pair_map, target, orders, self.null, discrete=discrete
                ):
                    information, means, status = gaussian_informations(
                        covs, dims, factors, device=self.device, n_threads=self.n_threads
                    )
                    at = np.zeros((b + 1, len(status)), dtype=np.int8)
                    at[b] = status
                    _complain(at, pair_map.pair, target, " under a permutation")
                    out[i, :, b] = self.seven(information, means, dims, series.nu)
        return out

    def resampled(self, i: int, bootstrap: str) -> F64:
        """Return the informations (targets, pairs, bins, 7) of resample ``i``."""
        series = self.series
        rows = resample(self.seed, i, self.n_trials, bootstrap)
        nu = len(rows) - 1
        n_bins = len(next(iter(series.areas.values())))
        names = [("area", n) for n in series.areas] + [("target", n) for n in series.targets]
        sizes = [series.areas[n].shape[1] for n in series.areas]
        sizes += [len(white) for white in series.targets.values()]
        edges = np.cumsum([0, *sizes])
        places = {
            name: np.arange(a, b) for name, a, b in zip(names, edges, edges[1:], strict=False)
        }
        out = np.empty((len(series.targets), len(series.maps), n_bins, len(TERMS)))
        with one_blas_thread():
            targets = [white[:, rows] for white in series.targets.values()]
            covs = np.empty((n_bins, edges[-1], edges[-1]))
            for b in range(n_bins):
                parts = [data[b][:, rows] for data in series.areas.values()]
                joined = np.concatenate([*parts, *targets])
                joined -= joined.mean(axis=1, keepdims=True)
                covs[b] = joined @ joined.T / nu
                for name in series.areas:
                    add_ridge(covs[b], places["area", name])
            for j, pair_map in enumerate(series.maps):
                where = [places["area", n] for n in pair_map.pair.areas]
                for t, name in enumerate(series.targets):
                    index = np.concatenate([*where, places["target", name]])
                    dims = (*pair_map.dims, len(places["target", name]))
                    information, means, status = gaussian_informations(
                        np.ascontiguousarray(covs[:, index[:, None], index]),
                        dims,
                        self.factors(dims, nu),
                        device=self.device,
                        n_threads=self.n_threads,
                    )
                    _complain(status[:, None], pair_map.pair, name, f" of resample {i}")
                    out[t, j] = self.seven(information, means, dims, nu)
        return out


def _complain(status: NDArray[np.int8], pair: Pair, target: str, where: str) -> None:
    """Raise for problems (bins, permutations) that have no finite answer."""
    if not status.any():
        return
    b = int(np.argwhere(status)[0][0])
    if (status == 2).any():
        raise ValueError(
            f"infinite information in pair {pair.label}, target {target!r}, bin {b}{where}: the "
            "target is a function of a source; add noise, or fewer target features"
        )
    raise ValueError(
        f"the covariance of pair {pair.label} with target {target!r} is not positive definite in "
        f"bin {b}{where}; use fewer components (area_pca, target_pca) or more trials"
    )
