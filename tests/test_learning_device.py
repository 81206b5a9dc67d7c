"""Learning networks on a CUDA device: the numbers of the CPU within 1e-10."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from learning_tools import fixed_trials, problem
from numpy.typing import NDArray

from nb26stats._dispatch import choose_device, core, cuda
from nb26stats.learning import _native
from nb26stats.learning._model import Model
from nb26stats.learning._native import gradient
from nb26stats.learning._optimize import maximize
from nb26stats.learning._trials import Trials

F64 = NDArray[np.float64]

MODELS = [
    Model("1L", "reinforce", 1, 0, 3),
    Model("2L", "rpe", 2, 2, 3),
    Model("2NL", "reinforce", 1, 2, 3),
    Model("2NL", "squared", 2, 2, 3, missing_reward="skip"),
    Model("2NL", "cross_entropy", 1, 4, 3, lapse=True, output_bias=True, weight_decay=0.01),
]


def trials(n: int) -> Trials:
    data = fixed_trials(n)
    rewards = np.where(np.arange(n) % 7 == 3, np.nan, data.rewards)
    return replace(data, rewards=rewards, mask=np.arange(n) % 5 != 2)


def thetas(model: Model, n: int) -> F64:
    rng = np.random.default_rng(model.n_theta)
    out = rng.normal(0.0, 0.6, (n, model.n_theta))
    out[:, model.alpha_at] = np.exp(rng.uniform(np.log(1e-3), np.log(0.05), n))
    out[-3:, model.alpha_at] = 50.0
    out[:, model.alpha_at + 1] = np.exp(rng.uniform(0.0, 1.5, n))
    if model.lapse:
        out[:, model.alpha_at + 2] = rng.uniform(0.0, 0.4, n)
    return out


@pytest.mark.gpu
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.architecture}-{m.rule}")
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_the_device_agrees(model: Model, mode: str) -> None:
    data, points = trials(300), thetas(model, 70)
    masks = np.stack([data.mask, ~data.mask])
    which = np.arange(70) % 2
    options = {"masks": masks, "which_mask": which, "mode": mode}
    if choose_device("auto") != "cuda":
        with pytest.raises(RuntimeError, match="device='cuda' cannot be had"):
            gradient(model, data, points, device="cuda", **options)
        return
    here = gradient(model, data, points, device="cuda", **options)
    there = gradient(model, data, points, **options)
    assert (there[2] >= 0).any()
    np.testing.assert_array_equal(here[2], there[2])
    np.testing.assert_allclose(here[0], there[0], rtol=1e-10)
    scale = np.linalg.norm(there[1], axis=1, keepdims=True)
    assert (np.abs(here[1] - there[1]) <= 1e-10 * np.maximum(1.0, scale)).all()
    arrays = (data.x, data.choice, data.drive(model), masks.astype(np.uint8), which)
    value, diverged = cuda().learning_loglik(*arrays, points, model.native())
    expected = core().learning_loglik(*arrays, points, model.native(), 0)
    np.testing.assert_allclose(value, expected[0], rtol=1e-10)
    np.testing.assert_array_equal(diverged, expected[1])


def test_the_optimiser_climbs_on_what_a_device_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU stands in for the device, so every bit must be that of the CPU's own path."""
    model, data = MODELS[2], trials(120)
    tasks = [problem(model, data, model.to_coordinates(thetas(model, n))) for n in (9, 4)]
    calls = []

    def answer(*arguments: object) -> object:
        calls.append(len(arguments))
        return core().learning_gradient(*arguments, 1)

    stand_in = SimpleNamespace(learning_gradient=answer)
    monkeypatch.setattr(_native, "cuda", lambda: stand_in)
    here = maximize(model, tasks, device="cuda", max_iter=40)
    monkeypatch.undo()
    there = maximize(model, tasks, max_iter=40)
    assert len(calls) > 40
    for a, b in zip(here, there, strict=True):
        for name in vars(b):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
