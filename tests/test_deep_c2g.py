"""Networks as learners of responders: pieces against plain NumPy, bits, input, error rates."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import nb26stats
from nb26stats import datasets

torch = pytest.importorskip("torch")

from nb26stats.deep import DeepSemiparametricC2G  # noqa: E402
from nb26stats.deep._learners import DeepEffect, DeepLearners, DeepPrior  # noqa: E402
from nb26stats.deep._networks import Ensemble, Networks, one_thread  # noqa: E402

pytestmark = pytest.mark.deep
QUICK: dict[str, Any] = {"hidden": (8,), "random_state": 0}


def study(n: int = 300, tau: float = 5, seed: int = 1) -> Any:
    return datasets.simulate_additive(n, tau, random_state=seed)


def fit(data: Any, **how: Any) -> DeepSemiparametricC2G:
    model = DeepSemiparametricC2G(**{**QUICK, **how})
    return model.fit(data.X, data.y, treatment=data.treatment)


def networks(k: int = 3, **how: Any) -> Networks:
    given: dict[str, Any] = {"learning_rate": 1e-2, "max_epochs": 30, "patience": 30}
    rng = np.random.default_rng(0)
    return Networks(2, (5, 4), k, rng, device=torch.device("cpu"), **{**given, **how})


# ---- networks ------------------------------------------------------------------------------------
def test_ensemble_is_the_network_of_torch() -> None:
    nets = networks()
    x = np.random.default_rng(1).standard_normal((40, 2))
    ones = np.ones((3, 40))
    goal = np.sin(x[:, 0])

    def squares(v: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (v - goal[rows]) ** 2 / 2, v - goal[rows]

    with one_thread():
        made = nets.fit(x, ones, ones, squares)
        with torch.no_grad():
            expected = nets._forward(torch.tensor(x)).numpy()
    np.testing.assert_allclose(made.each(x), expected, atol=1e-12)
    np.testing.assert_allclose(made(x), expected.mean(axis=0), atol=1e-12)
    assert ((made.each(x) - goal) ** 2).mean() < 0.5 * goal.var()


def test_slopes_are_those_of_the_loss() -> None:
    nets = networks(k=2)
    x = np.random.default_rng(1).standard_normal((30, 2))
    train = np.random.default_rng(2).random((2, 30))
    w = nets._w[1]
    with torch.no_grad():
        nets._w[2].normal_(generator=torch.Generator().manual_seed(0))
    before = [p.detach().clone() for p in (*nets._w, *nets._b)]

    def quartic(v: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (v - 0.3) ** 4, 4 * (v - 0.3) ** 3

    def loss() -> float:
        with torch.no_grad():
            value = quartic(nets._forward(torch.tensor(x)).numpy(), np.arange(30))[0]
        return float((value * train / train.sum(axis=1, keepdims=True)).sum())

    nets._step(torch.tensor(x), np.arange(30), train, train.sum(axis=1, keepdims=True), quartic)
    slope = w.grad.numpy().copy()
    with torch.no_grad():
        for p, old in zip((*nets._w, *nets._b), before, strict=True):
            p.copy_(old)
    for at in [(0, 0, 0), (1, 3, 2), (0, 4, 1)]:
        with torch.no_grad():
            w[at] += 1e-5
            up = loss()
            w[at] -= 2e-5
            down = loss()
            w[at] += 1e-5
        assert (up - down) / 2e-5 == pytest.approx(slope[at], rel=1e-5, abs=1e-8)


def test_each_network_is_kept_at_its_least_held_out_loss_and_goes_on_from_there() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((60, 2))
    goal = rng.standard_normal(60)  # nothing to learn, so that all that is learnt is wrong
    train = np.repeat((np.arange(60) % 2 == 0)[None], 3, axis=0).astype(float)
    held = 1.0 - train
    nets = networks(max_epochs=60, patience=60)

    def squares(v: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (v - goal[rows]) ** 2 / 2, v - goal[rows]

    with one_thread():
        made = nets.fit(x, train, held, squares)
        again = nets.fit(x, train, held, squares)
    start = (held * goal**2).sum(axis=1)
    first = (held * (made.each(x) - goal) ** 2).sum(axis=1)
    second = (held * (again.each(x) - goal) ** 2).sum(axis=1)
    assert (first <= start + 1e-9).all()
    assert (second <= first + 1e-9).all()


def test_networks_do_not_feel_one_another() -> None:
    x = np.random.default_rng(1).standard_normal((50, 2))
    train = np.ones((3, 50))

    def squares(v: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (v - x[rows, 0]) ** 2 / 2, v - x[rows, 0]

    with one_thread():
        plain = networks().fit(x, train, train, squares).each(x)
        other = train.copy()
        other[0, :25] = 0.0
        changed = networks().fit(x, other, train, squares).each(x)
    assert np.abs(plain[0] - changed[0]).max() > 1e-3
    np.testing.assert_array_equal(plain[1:], changed[1:])


@pytest.mark.parametrize("kind", [DeepEffect, DeepPrior])
def test_no_network_sees_the_rows_it_predicts(kind: Any) -> None:
    rng = np.random.default_rng(0)
    x, fold = rng.standard_normal((80, 2)), np.arange(80) % 4
    settings = DeepLearners((6,), 1e-2, 20, 20, "cpu", 0)
    omega = rng.random(80)

    class Square:
        def log_density_and_score(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return -(r**2) / 2, -r

    def values(r: np.ndarray, omega: np.ndarray) -> np.ndarray:
        learner = kind(settings, x, fold, np.ones(80), 20)
        if kind is DeepPrior:
            return learner.cross_fit(omega, 0)
        return learner.cross_fit(r, omega, Square(), 0)

    r = rng.standard_normal(80)
    plain = values(r, omega)
    r2, omega2 = r.copy(), omega.copy()
    r2[fold == 1] += 9
    omega2[fold == 1] = rng.random(20)
    changed = values(r2, omega2)
    np.testing.assert_array_equal(plain[fold == 1], changed[fold == 1])
    assert np.abs(plain - changed)[fold != 1].max() > 1e-6


# ---- the estimator -------------------------------------------------------------------------------
def test_has_all_that_the_other_estimator_has() -> None:
    data = study()
    model = fit(data)
    other = nb26stats.SemiparametricC2G(random_state=0)
    other.fit(data.X, data.y, treatment=data.treatment)
    assert {n for n in vars(other) if n.endswith("_")} == {
        n for n in vars(model) if n.endswith("_")
    }
    assert model.summary().splitlines()[0].strip() == "DeepSemiparametricC2G results"
    assert data.responder[model.select(q=0.2)].mean() > 0.7
    assert model.predict_effect(data.X[:5]).shape == model.predict_prior(data.X[:5]).shape == (5,)
    assert np.isfinite(model.lfdr(data.X[:5], data.y[:5])).all()
    assert model.estimand_interval("erpf").lower > 0
    with nb26stats.plotting.style(offscreen=True):
        for kind in ("lfdr", "density", "residuals"):
            assert model.plot(kind) is not None


def test_bits() -> None:
    data = study(260)
    plain = fit(data)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        np.testing.assert_array_equal(fit(data, n_jobs=2).lfdr_, plain.lfdr_)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    state = torch.random.get_rng_state()
    fit(data)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.abs(fit(data, random_state=1).effect_ - plain.effect_).max() > 0
    resampled = [fit(data, n_bootstrap=2, n_jobs=j).estimand_interval("att") for j in (1, 2)]
    assert dataclasses.astuple(resampled[0]) == dataclasses.astuple(resampled[1])
    assert resampled[0].ci_low < resampled[0].ci_high


def test_a_pickle_predicts_without_torch(tmp_path: Path) -> None:
    data = study(260)
    model = fit(data)
    expected = model.predict_effect(data.X[:4])
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict_effect(data.X[:4]), expected)
    assert isinstance(model._model.mixture.effect_model, Ensemble)
    assert not any("torch" in type(v).__module__ for v in vars(model._model.mixture).values())
    assert clone(model).get_params() == model.get_params()


def test_units_of_the_outcome_do_not_matter() -> None:
    data = study(260)
    plain = fit(data)
    moved = DeepSemiparametricC2G(**QUICK).fit(
        data.X * 8 + 3, 1024 * data.y + 5, treatment=data.treatment
    )
    np.testing.assert_allclose(moved.effect_ / 1024, plain.effect_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved.lfdr_, plain.lfdr_, atol=1e-3)


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"hidden": ()}, ValueError, "hidden must name the units of at least one layer"),
        ({"hidden": (8, 0)}, ValueError, "hidden[1]=0 must be at least 1"),
        ({"hidden": (2.5,)}, TypeError, "hidden[0] must be a whole number"),
        ({"learning_rate": 0}, ValueError, "learning_rate=0 must be greater than 0"),
        ({"max_epochs": 0}, ValueError, "max_epochs=0 must be at least 1"),
        ({"patience": True}, TypeError, "patience must be a whole number"),
        ({"cv": 2}, ValueError, "cv=2 must be at least 3"),
        ({"device": "tpu"}, ValueError, "device='tpu' must be one of 'auto', 'cpu', 'cuda'"),
        ({"noise": "laplace"}, ValueError, "noise='laplace' must be one of"),
        ({"q": 1.5}, ValueError, "q=1.5 must lie strictly between 0 and 1"),
    ],
)
def test_wrong_parameters(how: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        fit(study(100), **how)
    assert words in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
def test_a_missing_device_is_said() -> None:
    with pytest.raises(RuntimeError, match=r"device='cuda' cannot be had: .*use device='cpu'"):
        fit(study(100), device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_device_gives_the_same_to_rounding() -> None:
    data = study()
    here, there = fit(data, device="cpu"), fit(data, device="cuda")
    np.testing.assert_allclose(there.lfdr_, here.lfdr_, atol=1e-3)


def test_without_torch_the_line_to_install_it(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["torch"] = None
import nb26stats
assert "deep" not in nb26stats.__all__
try:
    nb26stats.deep
except ImportError as err:
    print(err)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )
    assert done.stdout.strip().endswith('pip install "nb26stats[deep]"'), done.stderr


# ---- error rates ---------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("tau", [3, 5])
def test_false_discoveries_are_held(tau: float) -> None:
    rates, powers = [], []
    for seed in range(100, 106):
        data = study(1000, tau, seed)
        model = DeepSemiparametricC2G(random_state=0)
        chosen = model.fit(data.X, data.y, treatment=data.treatment).select()
        rates.append(data.false_discovery_proportion(chosen))
        powers.append(data.power(chosen))
    error = np.std(rates, ddof=1) / np.sqrt(len(rates))
    print(f"tau={tau}: false {np.mean(rates):.3f}±{error:.3f}, found {np.mean(powers):.3f}")
    assert np.mean(rates) <= 0.13 + 2 * error
    # the rule that knows the truth finds .67 and .92
    assert np.mean(powers) > {3: 0.6, 5: 0.86}[tau]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::nb26stats.causal.WeakIdentificationWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
def test_without_responders_nobody_is_named() -> None:
    named = [len(fit(study(400, 0, seed)).select()) for seed in range(8)]
    assert named == [0] * 8
