"""Log-likelihood and gradient of learning networks against JAX (lax.scan) and torch (autograd).

Times are per trial and problem, on one thread. The floor of many problems is a count of
instructions: with one output, two hidden units and three inputs, a trial of 2NL takes `FORWARD` and
`BACK` arithmetic operations on vectors (a fused multiply-add is one) and three divisions, counted
in the machine code of both loops at AVX-512, at one vector of eight numbers per cycle. Moves
between registers and memory come on top. The floor of one problem is the wait of each operation for
the one before, from a trial's sums to the next one's: `CHAIN` cycles on Zen 4, of which two
exponentials with their divisions take 94.

The peer is JAX 0.10.2: `lax.scan` of one problem, and `vmap` of it over sixteen. JAX's time depends
on the runtime of XLA far more than on the machine: for one problem 0.10.2, 0.5.3 and 0.4.38 take 8
to 9 ms, while 0.5.3 and 0.4.38 with XLA_FLAGS=--xla_cpu_use_thunk_runtime=false take 0.8 to 0.9 ms,
0.4.30 as it comes 0.7 ms, and 0.10.2 knows that runtime no more. Unrolling the scan by eight gains
at most 45 per cent.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from learning_cases import random_theta, random_trials
from measure import Row, alone, alternate, compare, table

from nb26stats._dispatch import core
from nb26stats.learning import _native as native
from nb26stats.learning._model import F64, Model
from nb26stats.learning._trials import Trials

TRIALS = 5000
NETWORKS = {
    "2NL K1 reinforce": Model("2NL", "reinforce", 1, 2, 3),
    "2NL K2 rpe": Model("2NL", "rpe", 2, 2, 3),
    "2L K1 reinforce": Model("2L", "reinforce", 1, 2, 3),
    "1L K1 reinforce": Model("1L", "reinforce", 1, 0, 3),
    "2NL K1 reinforce, 4 hidden": Model("2NL", "reinforce", 1, 4, 3),
    "2NL K1 reinforce, lapse": Model("2NL", "reinforce", 1, 2, 3, lapse=True),
}
FORWARD, BACK, DIVISIONS, CHAIN = 154, 75, 3, 119
DIVISION_CYCLES = 10.0  # of a vector of 512 bits


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    trials = random_trials(TRIALS, rng)
    rows: list[Row] = []
    top = core().get_isa()
    try:
        for level in range(top, 0, -1):
            core().set_isa(level)
            for name, model in NETWORKS.items():
                rows += _ours(name, model, trials, rng, ("", "AVX2", "AVX-512")[level])
    finally:
        core().set_isa(top)
    rows += _peers(trials, rng)
    print(table(rows))
    hertz = _hertz()
    cycles = (FORWARD + BACK + DIVISIONS * DIVISION_CYCLES) / 8
    print(
        f"\nFloor with AVX-512: {FORWARD} + {BACK} operations and {DIVISIONS} divisions in lanes "
        f"of 8 are {cycles:.0f} cycles, {cycles / hertz * 1e9:.1f} ns at {hertz / 1e9:.2f} GHz.\n"
        f"Floor of one problem: {CHAIN} cycles forward are {CHAIN / hertz * 1e9:.1f} ns."
    )


def _gradient(model: Model, trials: Trials, thetas: F64) -> Callable[[], Any]:
    return lambda: native.gradient(model, trials, thetas, n_threads=1)


def _ours(
    name: str, model: Model, trials: Trials, rng: np.random.Generator, level: str
) -> list[Row]:
    rows = []
    for n in (1, 16, 64):
        thetas = np.array([random_theta(model, rng, 0.01) for _ in range(n)])
        times = alternate(
            {
                "gradient": _gradient(model, trials, thetas),
                "value": lambda thetas=thetas: native.loglik(model, trials, thetas, n_threads=1),
            },
            rounds=15,
        )
        per = {key: min(seconds) / n / TRIALS * 1e9 for key, seconds in times.items()}
        target = "" if model != NETWORKS["2NL K1 reinforce"] else "70 ns" if n == 1 else "20 ns"
        rows.append(
            alone(
                f"{name}, {level}, {n} problem{'s' * (n > 1)}",
                min(times["gradient"]),
                target=target,
                rate=f"{per['gradient']:.1f} ns, value alone {per['value']:.1f} ns",
            )
        )
    return rows


def _peers(trials: Trials, rng: np.random.Generator) -> list[Row]:
    model = NETWORKS["2NL K1 reinforce"]
    theta = random_theta(model, rng, 0.01)
    ours = _gradient(model, trials, theta[None])
    wanted = ours()
    rows = []
    for name, make, rounds, target in (
        ("JAX lax.scan", _jax, 25, "50x"),
        ("torch autograd", _torch, 3, "2000x"),
    ):
        if importlib.util.find_spec(name.split()[0].lower()) is None:
            continue
        call = make(model, trials, theta)
        value, slope = call()
        assert abs(value - wanted[0][0]) < 1e-8 * abs(value)
        assert np.max(np.abs(slope - wanted[1][0])) < 1e-9 * np.max(np.abs(slope))
        # ours again right before its turn: the peer has emptied the caches
        times = alternate({"warm": ours, "ours": ours, name: call}, rounds=rounds)
        rows.append(compare(f"gradient, {TRIALS} trials", times, "ours", name, target=target))
    if importlib.util.find_spec("jax") is not None:
        thetas = np.array([random_theta(model, rng, 0.01) for _ in range(16)])
        many, theirs = _gradient(model, trials, thetas), _jax(model, trials, thetas)
        np.testing.assert_allclose(theirs()[0], many()[0], rtol=1e-8)
        times = alternate({"warm": many, "ours": many, "JAX vmap": theirs}, rounds=9)
        what = f"gradients of 16 problems, {TRIALS} trials"
        rows.append(compare(what, times, "ours", "JAX vmap", target="50x"))
    return rows


def _jax(model: Model, trials: Trials, theta: F64) -> Callable[[], tuple[Any, F64]]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    data = tuple(jnp.asarray(a) for a in (trials.x, trials.choice * 1.0, trials.rewards))

    def loglik(point: Any) -> Any:
        w1, w2, alpha, beta = point[:6].reshape(2, 3), point[6:8], point[8], point[9]

        def step(weights: Any, trial: Any) -> Any:
            one, two = weights
            x, a, r = trial
            h = jax.nn.sigmoid(one @ x)
            z = beta * (two @ h)
            p = jax.nn.sigmoid(z)
            e = beta * (r - model.baseline) * (a - p)
            back = h * (1 - h) * two * e
            return (one + alpha * jnp.outer(back, x), two + alpha * e * h), jax.nn.log_sigmoid(
                (2 * a - 1) * z
            )

        return jax.lax.scan(step, (w1, w2), data)[1].sum()

    both = jax.value_and_grad(loglik)
    both = jax.jit(both if theta.ndim == 1 else jax.vmap(both))

    def call() -> tuple[Any, F64]:
        value, slope = both(jnp.asarray(theta))
        return np.asarray(value), np.asarray(slope)

    return call


def _torch(model: Model, trials: Trials, theta: F64) -> Callable[[], tuple[float, F64]]:
    import torch

    torch.set_num_threads(1)
    x = torch.from_numpy(trials.x)

    def call() -> tuple[float, F64]:
        point = torch.tensor(theta, requires_grad=True)
        one, two, alpha, beta = point[:6].reshape(2, 3), point[6:8], point[8], point[9]
        total = torch.zeros((), dtype=torch.float64)
        for t in range(len(trials)):
            a, r = float(trials.choice[t]), float(trials.rewards[t])
            h = torch.sigmoid(one @ x[t])
            z = beta * (two @ h)
            e = beta * (r - model.baseline) * (a - torch.sigmoid(z))
            back = h * (1 - h) * two * e
            one, two = one + alpha * torch.outer(back, x[t]), two + alpha * e * h
            total = total + torch.nn.functional.logsigmoid((2 * a - 1) * z)
        total.backward()
        assert point.grad is not None
        return float(total.detach()), point.grad.numpy().copy()

    return call


def _hertz() -> float:
    """Cycles per second, from a chain of integer additions in numba, one cycle each."""
    import numba

    @numba.njit
    def chain(n: int, seed: int) -> int:
        x = seed
        for _ in range(n):
            x = (x ^ (x >> 1)) + 1  # three dependent operations
        return x

    chain(10, 1)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        chain(3_000_000, 1)
        best = min(best, time.perf_counter() - start)
    return 9e6 / best


if __name__ == "__main__":
    main()
