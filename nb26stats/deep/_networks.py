"""Several small networks of one shape, trained at once, each on rows of its own."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

BATCH = 128
"""Rows of a step of the optimiser."""

LossAndSlope = Callable[[F64, I64], tuple[F64, F64]]
"""Of the values (K, m) of all networks at m rows: loss at each of them, and its derivative."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, so that bits do not depend on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The mean of several trained networks; plain arrays, so that it needs no torch.

    Attributes
    ----------
    weights : list of ndarray of shape (K, n_in, n_out)
        Layers.
    biases : list of ndarray of shape (K, 1, n_out)
        Their constants.
    """

    weights: list[F64]
    biases: list[F64]

    def each(self, x: F64) -> F64:
        """Return the value of every network at rows, (K, m)."""
        a: F64 = np.broadcast_to(x, (len(self.weights[0]), *x.shape))
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            # einsum adds in one order, whatever the threads of BLAS
            a = np.einsum("kni,kio->kno", a, w) + b
            if i < last:
                a = np.maximum(a, 0.0)
        return a[:, :, 0]

    def __call__(self, x: F64) -> F64:
        """Return the mean over the networks at rows."""
        return np.asarray(self.each(x).mean(axis=0))


class Networks:
    """K networks with ReLU units that start as one constant and go on from fit to fit.

    Parameters
    ----------
    n_features : int
        Columns of the rows.
    hidden : sequence of int
        Units of the hidden layers.
    n_networks : int
        How many.
    rng : numpy.random.Generator
        Of first weights and of the order of rows.
    learning_rate : float
        Step of AdamW.
    max_epochs, patience : int
        Passes over the rows of one fit, and of those without a gain before it ends.
    device : torch.device
        Where to compute.
    """

    def __init__(
        self,
        n_features: int,
        hidden: Sequence[int],
        n_networks: int,
        rng: np.random.Generator,
        *,
        learning_rate: float,
        max_epochs: int,
        patience: int,
        device: Any,
    ) -> None:
        self._rng, self._device = rng, device
        self._max_epochs, self._patience = max_epochs, patience
        sizes = [n_features, *hidden, 1]
        self._w, self._b = [], []
        for i, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
            # He's spread; the last layer starts at nothing, so that the function is a constant
            spread = 0.0 if i == len(hidden) else np.sqrt(2.0 / max(n_in, 1))
            w = spread * rng.standard_normal((n_networks, n_in, n_out))
            self._w.append(self._tensor(w).requires_grad_())
            self._b.append(self._tensor(np.zeros((n_networks, 1, n_out))).requires_grad_())
        self._started = False
        self._optimizer = torch.optim.AdamW([*self._w, *self._b], lr=learning_rate)

    def _tensor(self, array: F64) -> Any:
        return torch.tensor(array, dtype=torch.float64, device=self._device)

    def _forward(self, x: Any) -> Any:
        a = x.expand(len(self._w[0]), *x.shape)
        for w, b in zip(self._w[:-1], self._b[:-1], strict=True):
            a = torch.relu(torch.baddbmm(b, a, w))
        return torch.baddbmm(self._b[-1], a, self._w[-1])[:, :, 0]

    def start_at(self, constants: F64) -> None:
        """Set the constants (K,) that the networks start as; later calls change nothing."""
        if not self._started:
            with torch.no_grad():
                self._b[-1].copy_(self._tensor(constants[:, None, None]))
            self._started = True

    def fit(self, x: F64, train: F64, held: F64, loss_and_slope: LossAndSlope) -> Ensemble:
        """Train every network and return each as it was when its held-out loss was least.

        Parameters
        ----------
        x : ndarray of shape (n, p)
            Rows.
        train, held : ndarray of shape (K, n)
            Weights of the rows in the loss of each network, and in its held-out loss.
        loss_and_slope : callable
            Loss at rows for the values (K, m) there, and its derivative in them.
        """
        rows, n = self._tensor(x), len(x)
        everyone = np.arange(n)
        scale = train.sum(axis=1, keepdims=True)
        best, left = np.full(len(train), np.inf), np.full(len(train), self._patience)
        kept = self._copy()
        for epoch in range(self._max_epochs + 1):
            with torch.no_grad():
                values = self._forward(rows).cpu().numpy()
            now = (held * loss_and_slope(values, everyone)[0]).sum(axis=1)
            better = now < best
            best = np.where(better, now, best)
            left = np.where(better, self._patience, left - 1)
            for old, new in zip(kept, self._copy(), strict=True):
                old[better] = new[better]
            if epoch == self._max_epochs or (left <= 0).all():
                break
            order = self._rng.permutation(n)
            for start in range(0, n, BATCH):
                self._step(rows, order[start : start + BATCH], train, scale, loss_and_slope)
        with torch.no_grad():
            # the next fit goes on from here, not from where this one went too far
            for p, best_one in zip((*self._w, *self._b), kept, strict=True):
                p.copy_(self._tensor(best_one))
        half = len(self._w)
        return Ensemble(kept[:half], kept[half:])

    def _step(
        self, rows: Any, batch: I64, train: F64, scale: F64, loss_and_slope: LossAndSlope
    ) -> None:
        values = self._forward(rows[torch.as_tensor(batch, device=self._device)])
        slope = loss_and_slope(values.detach().cpu().numpy(), batch)[1] * train[:, batch] / scale
        self._optimizer.zero_grad()
        # the mean over all rows, as large for a batch as for all of them
        values.backward(self._tensor(slope * (train.shape[1] / len(batch))))
        self._optimizer.step()

    def _copy(self) -> list[F64]:
        return [p.detach().cpu().numpy().copy() for p in (*self._w, *self._b)]
