"""Maxima of learning networks: against scipy's, in their box, the same however they are run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nb26stats._dispatch import core
from nb26stats.learning import _native, _optimize
from nb26stats.learning._box import box
from nb26stats.learning._model import F64, Model
from nb26stats.learning._optimize import Optima, Prior, Task, evaluate, maximize
from nb26stats.learning._trials import Trials

CONTRASTS = (-0.5, -0.25, 0.0, 0.25, 0.5)
LEARNER = Model("1L", "rpe", 2, 0, 3)


def animal(n: int, seed: int, *, n_missing: int = 0) -> Trials:
    """Trials of a network that learns, in part without a known outcome."""
    rng = np.random.default_rng(seed)
    contrast = rng.choice(CONTRASTS, n)
    seen = np.tanh(5.0 * np.abs(contrast))
    x = np.stack([seen * (contrast < 0), seen * (contrast > 0), np.ones(n)], axis=1)
    side = np.where(contrast == 0, rng.integers(0, 2, n), contrast > 0).astype(float)
    theta = np.concatenate([0.3 * rng.normal(size=LEARNER.n_weights), [0.02, 3.0]])
    choice, reward, _, _ = _native.simulate(LEARNER, x, side, theta, n_runs=1, seed=seed)
    known = reward[0].copy()
    known[rng.choice(n, n_missing, replace=False)] = np.nan
    return Trials(x, choice[0], known, side, None, np.ones(n, dtype=bool))


def model_of(architecture: str, rule: str, n_outputs: int, **options: object) -> Model:
    """A model of two hidden units, three inputs and the limit of its box."""
    hidden = 0 if architecture == "1L" else 2
    model = Model(architecture, rule, n_outputs, hidden, 3, **options)  # type: ignore[arg-type]
    return replace(model, weight_limit=box(model).weight_limit)


def task_of(model: Model, trials: Trials, n: int, seed: int) -> Task:
    """Random starts on one animal, the likeliest of five times as many."""
    region, rng, at = box(model), np.random.default_rng(seed), model.alpha_at
    u = np.zeros((5 * n, model.n_theta))
    u[:, :at] = rng.normal(size=(5 * n, at)) * np.exp(rng.uniform(-2.0, 0.7, (5 * n, 1)))
    u[:, at] = rng.uniform(np.log(1e-4), np.log(0.1), 5 * n)
    u[:, at + 1] = np.where(region.free[at + 1], rng.uniform(0.0, 2.0, 5 * n), 0.0)
    if model.lapse:
        u[:, at + 2] = rng.uniform(-4.0, -1.0, 5 * n)

    def task(starts: F64) -> Task:
        m = len(starts)
        which, free = np.zeros(m, dtype=np.int64), np.tile(region.free, (m, 1))
        return Task(trials, trials.mask[None], which, starts, free, region.lower, region.upper)

    likely = np.argsort(-evaluate(model, task(u)).objective)[:n]
    return task(u[likely])


def rows(task: Task, which: slice) -> Task:
    """Some of the problems of a task."""
    return replace(
        task,
        which_mask=task.which_mask[which],
        starts=task.starts[which],
        free=task.free[which],
    )


def by_scipy(model: Model, task: Task, ftol: float, gtol: float = 1e-4) -> tuple[F64, F64]:
    """Log-likelihoods that L-BFGS-B finds, and which of its runs converged."""
    found, good = [], []
    for i in range(len(task)):
        one = rows(task, slice(i, i + 1))
        free = task.free[i]
        start = np.clip(task.starts[i], task.lower, task.upper)

        def loss(z: F64, one: Task = one, start: F64 = start, free: F64 = free) -> object:
            u = start.copy()
            u[free] = z
            here = evaluate(model, replace(one, starts=u[None]), gradient=True, n_threads=1)
            return -here.objective[0], -here.gradient[0][free]

        run = minimize(
            loss,
            start[free],
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(task.lower[free], task.upper[free], strict=True)),
            options={"maxcor": 20, "ftol": ftol, "gtol": gtol, "maxiter": 1500, "maxfun": 9999},
        )
        found.append(-run.fun)
        good.append(run.status == 0)
    return np.array(found), np.array(good)


@pytest.mark.parametrize(("rule", "n_outputs"), [("rpe", 2), ("reinforce", 1)])
def test_one_layer_ends_where_scipy_does(rule: str, n_outputs: int) -> None:
    model = model_of("1L", rule, n_outputs)
    task = task_of(model, animal(800, 1), 8, seed=2)
    ours = maximize(model, [task], ftol=1e-14, max_iter=1500)[0]
    theirs, good = by_scipy(model, task, 1e-15)
    good &= ours.end == _optimize.CONVERGED
    assert good.sum() >= 6
    np.testing.assert_allclose(ours.loglik[good], theirs[good], atol=1e-6, rtol=0)


DEEP = [("2L", "rpe", 2), ("2L", "cross_entropy", 1), ("2NL", "rpe", 2), ("2NL", "reinforce", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "rule", "n_outputs"), DEEP)
def test_deep_networks_end_where_scipy_does_on_one_hill(
    architecture: str, rule: str, n_outputs: int
) -> None:
    model = model_of(architecture, rule, n_outputs)
    task = task_of(model, animal(600, 1), 8, seed=0)
    found = maximize(model, [task], max_iter=1500)[0]
    top = found.u[found.loglik.argmax()]
    rng = np.random.default_rng(1)
    near = replace(task, starts=top + 0.1 * task.free * rng.normal(size=task.starts.shape))
    # gradients of 1e-6: a linear network still climbs slowly along its valleys
    ours = maximize(model, [near], ftol=1e-15, gtol=1e-6, max_iter=1500)[0]
    theirs, good = by_scipy(model, near, 1e-16, 1e-6)
    good &= ours.end == _optimize.CONVERGED
    gap = (ours.loglik - theirs)[good]
    alike = np.abs(gap) < 1e-6
    print(f"{architecture} {rule}: {alike.sum()} of {good.sum()} alike, least gain {gap.min():.1e}")
    assert gap.min() > -1e-6
    assert alike.sum() >= 6


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "rule", "n_outputs"), DEEP)
def test_deep_networks_climb_no_lower_than_with_scipy(
    architecture: str, rule: str, n_outputs: int
) -> None:
    """From one start two methods may climb two hills, so medians are compared."""
    model = model_of(architecture, rule, n_outputs)
    task = task_of(model, animal(600, 2), 15, seed=3)
    ours = maximize(model, [task])[0].loglik
    theirs, _ = by_scipy(model, task, 1e-10)
    print(f"{architecture} {rule}: medians apart by {np.median(ours) - np.median(theirs):+.4f}")
    assert np.median(ours) >= np.median(theirs) - 0.05


CASES = [
    ("1L", "rpe", 2, {}),
    ("2L", "cross_entropy", 1, {}),
    ("2NL", "reinforce", 1, {}),
    ("2NL", "rpe", 2, {"lapse": True, "output_bias": True}),
]


@pytest.mark.parametrize(("architecture", "rule", "n_outputs", "options"), CASES)
def test_ends_in_the_box_at_a_stationary_point(
    architecture: str, rule: str, n_outputs: int, options: dict[str, object]
) -> None:
    model = model_of(architecture, rule, n_outputs, **options)
    trials = animal(400, 3, n_missing=30)
    task = task_of(model, trials, 6, seed=4)
    found = maximize(model, [task], max_iter=2000)[0]
    assert (found.u >= task.lower).all()
    assert (found.u <= task.upper).all()
    start = np.clip(task.starts, task.lower, task.upper)
    assert (found.u[~task.free] == start[~task.free]).all()
    here = evaluate(model, replace(task, starts=found.u), gradient=True)
    np.testing.assert_array_equal(found.objective, here.objective)
    np.testing.assert_array_equal(found.loglik, here.loglik)
    np.testing.assert_array_equal(found.gradient, np.where(task.free, here.gradient, 0.0))
    assert (found.objective >= evaluate(model, task).objective).all()
    projected = np.clip(found.u + found.gradient, task.lower, task.upper) - found.u
    done = found.end == _optimize.CONVERGED
    assert done.all()
    # little is left of gradients that were tens to hundreds; flat directions end by the small gain
    assert np.abs(projected).max() < 0.1


def same(a: Optima, b: Optima) -> None:
    """Every bit of two results."""
    for name in vars(a):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize(("architecture", "rule", "n_outputs", "options"), CASES)
def test_the_bits_do_not_depend_on_company_or_threads(
    architecture: str, rule: str, n_outputs: int, options: dict[str, object]
) -> None:
    model = model_of(architecture, rule, n_outputs, **options)
    tasks = [task_of(model, animal(n, n), 19, seed=n) for n in (150, 220)]
    masks = np.stack([tasks[0].trials.mask, np.arange(150) < 100])
    tasks[0] = replace(tasks[0], masks=masks, which_mask=np.arange(19) % 2)
    whole = maximize(model, tasks, n_threads=1, max_iter=60)
    for n_threads in (2, 3):
        for a, b in zip(
            whole, maximize(model, tasks, n_threads=n_threads, max_iter=60), strict=True
        ):
            same(a, b)
    for task, all_of_it in zip(tasks, whole, strict=True):
        for part in (slice(0, 1), slice(3, 7), slice(7, 19)):
            alone = maximize(model, [rows(task, part)], max_iter=60)[0]
            same(alone, Optima(*(v[part] for v in vars(all_of_it).values())))


def test_asked_and_told_by_hand_the_bits_are_the_same() -> None:
    model = model_of("2NL", "reinforce", 1)
    tasks = [task_of(model, animal(120, n), 5, seed=n) for n in (1, 2)]
    prior = Prior(np.zeros(model.n_theta), np.full(model.n_theta, 2.0))
    whole = maximize(model, tasks, prior=prior)
    fit = core().learning_fit(model.native(), prior.native(), 300, 20, 1e-10, 1e-4)
    for task in tasks:
        arrays = _optimize._arrays(model, task)
        core().learning_fit_add(fit, *arrays, task.starts, *_optimize._box(task))
    while core().learning_fit_unfinished(fit):
        _optimize._sweep(fit, model, tasks, "reverse", "cpu")
    found = core().learning_fit_optima(fit)
    same(whole[0], Optima(*(v[:5] for v in found)))
    same(whole[1], Optima(*(v[5:] for v in found)))


def test_gradient_in_optimiser_coordinates_is_the_slope() -> None:
    model = model_of("2NL", "rpe", 2, lapse=True)
    task = task_of(model, animal(200, 5), 1, seed=6)
    u = np.clip(task.starts[0], task.lower, task.upper)
    sd = np.full(model.n_theta, 0.7)
    sd[0] = np.inf
    prior = Prior(np.full(model.n_theta, 0.1), sd)
    step = 1e-5 * np.eye(model.n_theta)
    wide = np.full(model.n_theta, np.inf)

    def at(points: F64, gradient: bool | str = False) -> _optimize.Evaluation:
        m = len(points)
        near = replace(
            task,
            starts=points,
            which_mask=np.zeros(m, dtype=np.int64),
            free=np.tile(task.free, (m, 1)),
            lower=-wide,
            upper=wide,
        )
        return evaluate(model, near, prior=prior, gradient=gradient)

    slope = (at(u + step).objective - at(u - step).objective) / 2e-5
    for mode in (True, "reverse", "forward"):
        here = at(u[None], mode)
        np.testing.assert_allclose(here.gradient[0], slope, rtol=1e-5, atol=1e-5)
        penalty = 0.5 * (((u - prior.mean) / sd) ** 2).sum()
        np.testing.assert_allclose(here.objective, here.loglik - penalty, rtol=1e-14)
    assert at(u[None]).gradient.shape == (0, model.n_theta)


def test_forward_gradients_lead_to_the_same_maximum() -> None:
    model = model_of("1L", "reinforce", 1)
    task = task_of(model, animal(300, 7), 3, seed=8)
    reverse = maximize(model, [task])[0]
    forward = maximize(model, [task], gradient="forward")[0]
    np.testing.assert_allclose(forward.loglik, reverse.loglik, atol=1e-7)


def test_a_prior_draws_the_maximum_in() -> None:
    model = model_of("1L", "rpe", 2)
    task = task_of(model, animal(300, 9), 4, seed=10)
    mean, sd = np.zeros(model.n_theta), np.full(model.n_theta, 1e-3)
    plain = maximize(model, [task])[0]
    tight = maximize(model, [task], prior=Prior(mean, sd))[0]
    assert (tight.end == _optimize.CONVERGED).all()
    assert np.abs(tight.u).max() < 0.05 < np.abs(plain.u).max()
    assert (tight.loglik < plain.loglik.max()).all()
    # flat distributions are none
    same(plain, maximize(model, [task], prior=Prior(mean, np.full(model.n_theta, np.inf)))[0])


def test_a_start_that_diverges_is_no_maximum() -> None:
    model = model_of("2L", "rpe", 2)
    task = task_of(model, animal(300, 11), 2, seed=12)
    starts = task.starts.copy()
    starts[0, : model.alpha_at] = 4.9
    starts[0, model.alpha_at] = 0.0
    found = maximize(model, [replace(task, starts=starts)])[0]
    assert found.end[0] == _optimize.START_DIVERGED
    assert found.n_evaluations[0] == 1
    assert found.loglik[0] <= -1e6 * 300
    assert found.end[1] == _optimize.CONVERGED


def test_ends_at_the_last_iteration() -> None:
    model = model_of("2NL", "rpe", 2)
    task = task_of(model, animal(300, 13), 3, seed=14)
    found = maximize(model, [task], max_iter=2)[0]
    assert (found.end == _optimize.MAX_ITER).all()
    assert (found.n_iter == 2).all()


def test_nothing_to_fit() -> None:
    model = model_of("1L", "rpe", 2)
    task = task_of(model, animal(50, 15), 2, seed=16)
    assert maximize(model, []) == []
    empty = rows(task, slice(0, 0))
    assert [len(found) for found in maximize(model, [empty, task, empty])] == [0, 2, 0]
    fixed = replace(task, free=np.zeros_like(task.free))
    found = maximize(model, [fixed])[0]
    np.testing.assert_array_equal(found.u, task.starts)
    assert (found.n_evaluations == 1).all()


def test_progress_is_told_and_an_interruption_heard() -> None:
    model = model_of("2NL", "rpe", 2)
    task = task_of(model, animal(300, 17), 5, seed=18)
    told: list[int] = []
    maximize(model, [task], on_done=told.append)
    assert sum(told) == 5

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maximize(model, [task], on_done=stop)


def test_native_arguments_are_checked() -> None:
    model = model_of("1L", "rpe", 2)
    task = task_of(model, animal(50, 19), 2, seed=20)
    native = core()
    with pytest.raises(ValueError, match="must be positive"):
        native.learning_fit(model.native(), None, 0, 20, 1e-10, 1e-4)
    with pytest.raises(ValueError, match="prior must be"):
        native.learning_fit(model.native(), (np.zeros(8),), 9, 20, 1e-10, 1e-4)
    fit = native.learning_fit(model.native(), None, 9, 20, 1e-10, 1e-4)
    arrays = _optimize._arrays(model, task)
    with pytest.raises(ValueError, match="which_mask must name"):
        native.learning_fit_add(
            fit, *arrays[:4], np.array([0, 1]), task.starts, *_optimize._box(task)
        )
    with pytest.raises(TypeError, match="must come from learning_fit"):
        native.learning_fit_unfinished(7)
    native.learning_fit_add(fit, *arrays, task.starts, *_optimize._box(task))
    index = np.array([5])
    with pytest.raises(ValueError, match="that were asked for"):
        native.learning_fit_tell(
            fit, index, np.zeros(1), np.zeros((1, model.n_theta)), np.array([-1])
        )
