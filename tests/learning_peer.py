"""Maxima of learning networks by scipy's L-BFGS-B: the peer of the package's own optimiser."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from nb26stats.learning._model import F64, Model
from nb26stats.learning._optimize import Task, evaluate


class Together:
    """Evaluates the points of several runs at once: the last that asks computes for all."""

    def __init__(self, model: Model, task: Task) -> None:
        self.model, self.task = model, task
        self.running = len(task)
        self.asked: dict[int, F64] = {}
        self.answers: dict[int, tuple[float, F64, bool]] = {}
        self.round = threading.Condition()

    def __call__(self, i: int, u: F64) -> tuple[float, F64, bool]:
        """Return log-likelihood, gradient and whether it diverged, for run i at u."""
        with self.round:
            self.asked[i] = u
            if len(self.asked) == self.running:
                self.compute()
            while i not in self.answers:
                self.round.wait()
            return self.answers.pop(i)

    def leave(self) -> None:
        """Wait for this run no longer."""
        with self.round:
            self.running -= 1
            if self.asked and len(self.asked) == self.running:
                self.compute()

    def compute(self) -> None:
        """Answer all that asked."""
        rows = list(self.asked)
        here = replace(
            self.task,
            starts=np.array([self.asked[i] for i in rows]),
            which_mask=self.task.which_mask[rows],
            free=self.task.free[rows],
        )
        found = evaluate(self.model, here, gradient=True, n_threads=1)
        for k, i in enumerate(rows):
            self.answers[i] = (found.loglik[k], found.gradient[k], bool(found.diverged[k] >= 0))
        self.asked.clear()
        self.round.notify_all()


def climb(model: Model, task: Task, max_iter: int = 500) -> F64:
    """Return the log-likelihood that L-BFGS-B reaches from each start of a task.

    Every start is run to the end as scipy has it: 20 pairs, ftol 1e-10, gtol 1e-4.
    """
    together, found = Together(model, task), np.full(len(task), -np.inf)

    def run(i: int) -> None:
        free = task.free[i]
        start = np.clip(task.starts[i], task.lower, task.upper)

        def loss(z: F64) -> tuple[float, F64]:
            u = start.copy()
            u[free] = z
            value, gradient, _ = together(i, u)
            return -value, -gradient[free]

        try:
            result = minimize(
                loss,
                start[free],
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(task.lower[free], task.upper[free], strict=True)),
                options={"maxcor": 20, "ftol": 1e-10, "gtol": 1e-4, "maxiter": max_iter},
            )
            found[i] = -result.fun
        finally:
            together.leave()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(task))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
