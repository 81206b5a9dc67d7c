"""What all results, estimators and figures share, as one author would have written them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from house import callables, public, walk

from nb26stats import NonparametricC2G, datasets, plotting, q_values, two_groups
from nb26stats._results import Result

PUBLIC = dict(public())


def _results(base: type[Result] = Result) -> Iterator[type[Result]]:
    for module in walk():
        importlib.import_module(module)
    for cls in base.__subclasses__():
        # tests have results of their own
        if cls.__module__.startswith("nb26stats."):
            yield cls
            yield from _results(cls)


RESULTS = sorted(set(_results()), key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", RESULTS, ids=lambda cls: cls.__name__)
def test_results_are_alike(cls: type[Result]) -> None:
    assert cls in PUBLIC.values(), "the room does not show what it returns"
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert cls.__repr__ is Result.__repr__, "a result prints its summary"
    assert cls.summary is not Result.summary
    assert cls.to_frame is not Result.to_frame


FIGURES = [
    (name, value)
    for name, value in PUBLIC.items()
    if name.startswith("plotting.plot_") and inspect.isfunction(value)
] + [
    (f"{name}.plot", value.plot)
    for name, value in PUBLIC.items()
    if hasattr(value, "plot") and inspect.isclass(value) and value.plot is not Result.plot
]


@pytest.mark.parametrize(("name", "value"), FIGURES, ids=[name for name, _ in FIGURES])
def test_figures_are_asked_for_alike(name: str, value: object) -> None:
    given = [p for p in inspect.signature(value).parameters.values() if p.name != "self"]  # type: ignore[arg-type]
    ax = next(p for p in given if p.name == "ax")
    assert ax.default is None
    assert ax.kind is ax.POSITIONAL_OR_KEYWORD
    before, after = given[: given.index(ax)], given[given.index(ax) + 1 :]
    # what is drawn and which figure of it come before the axes; all else is named
    assert [p.name for p in before] in (
        [],
        ["kind"],
        ["result"],
        ["counts"],
        ["result", "kind"],
        ["q", "fdp"],
    )
    assert given[-1].name == "style"
    assert all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in after)


def test_a_result_without_a_figure_says_so() -> None:
    with pytest.raises(TypeError, match="TwoAreas has no figure"):
        datasets.simulate_two_areas(n_trials=2).plot()


def test_figures_of_responders_take_the_properties_of_lines() -> None:
    z = np.random.default_rng(0).normal(size=1000)
    data = datasets.simulate_additive(300, 5, random_state=1)
    model = NonparametricC2G(n_bootstrap=9, device="cpu", random_state=0)
    model.fit(data.X, data.y, treatment=data.treatment)
    with plotting.style(offscreen=True):
        for ax in (
            *two_groups(z).plot(c="#123456"),
            q_values(np.linspace(0.001, 1, 1000)).plot(color="#123456")[1],
            *plotting.plot_estimands(model, c="#123456"),
            plotting.plot_fdr_calibration([0.1, 0.2], [[0.1, 0.2]] * 2, c="#123456"),
            model.plot("density", c="#123456"),
        ):
            assert "#123456" in [line.get_color() for line in ax.lines]
        treated = model.plot("residuals", edgecolor="#123456").patches[-1]
        assert treated.get_edgecolor()[:3] == pytest.approx([0x12 / 255, 0x34 / 255, 0x56 / 255])
        bars = model.plot("lfdr", alpha=0.5).patches
        assert bars[0].get_alpha() == 0.5


def test_long_tables_of_areas_hold_every_response() -> None:
    simulated = datasets.simulate_two_areas(n_trials=3, n_units=2)
    frame = simulated.to_frame()
    assert len(frame) == sum(values.size for values in simulated.areas.values())
    row = frame[(frame["area"] == "IT") & (frame["trial"] == 2) & (frame["unit"] == 1)].iloc[7]
    assert row["response"] == simulated.areas["IT"][2, 7, 1]
    assert row["time"] == simulated.times[7]
    large = dataclasses.replace(simulated, areas={"V1": np.zeros((100_000, 60, 1))})
    with pytest.raises(ValueError, match="6000000 rows, more than 5000000"):
        large.to_frame()


# parameters that many take, with the default that all of them have
DEFAULTS = {
    "ax": None,
    "base": 2,
    "device": "auto",
    "level": 0.95,
    "missing": "raise",
    "n_jobs": None,
    "n_threads": 0,
    "overwrite": False,
    "random_state": None,
    "standardize": True,
    "verbose": False,
}
# who differs, and why
OTHERWISE = {
    "level": {
        "estimand_interval": "5th and 95th percentiles",
        "OjaPCA.plot": "told apart from unset",
    },
    "n_threads": {"spike_counts": "counting is short work"},
    "random_state": {
        "simulate_": "examples are the same for everybody",
        "DNNLearningRule.plot": "a figure drawn twice is the same",
    },
    "verbose": {
        "compare_": "takes minutes or hours, over many animals",
        "select_hidden": "the same",
    },
}


def test_shared_parameters_have_one_default() -> None:
    used = set()
    for name, value in callables():
        if dataclasses.is_dataclass(value):
            continue
        for parameter in inspect.signature(value).parameters.values():  # type: ignore[arg-type]
            default = parameter.default
            if parameter.name not in DEFAULTS or default is parameter.empty:
                continue
            excused = [part for part in OTHERWISE.get(parameter.name, {}) if part in name]
            if default == DEFAULTS[parameter.name]:
                continue
            assert excused, f"{parameter.name}={default!r} in {name}"
            used.update((parameter.name, part) for part in excused)
    assert used == {(name, part) for name, parts in OTHERWISE.items() for part in parts}


def test_parameters_of_estimators_are_named() -> None:
    for name, value in PUBLIC.items():
        if inspect.isclass(value) and hasattr(value, "get_params"):
            _, *others = inspect.signature(value).parameters.values()
            assert all(p.kind is p.KEYWORD_ONLY for p in others), name
