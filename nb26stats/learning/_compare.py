"""Comparison of architectures and of learning rules, animal by animal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nb26stats._check import as_bool, as_choice, as_int, as_jobs, as_list
from nb26stats._seed import as_seed
from nb26stats._warnings import warn

from ._compare_run import Candidate, model_options, run
from ._model import ARCHITECTURES, RULES
from ._table_input import Animal, read_animals
from ._verdict import Fit, Judgement, judge

if TYPE_CHECKING:
    import pandas as pd

ALIAS = "squared"
"""Where one output stands for the choice, prediction errors of rewards are those of sides."""


def compare_architectures(
    data: Any,
    *,
    architectures: Sequence[str] = ARCHITECTURES,
    rule: str = "reinforce",
    n_blocks: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = True,
    **kw: Any,
) -> pd.DataFrame:
    """Fit several architectures to each animal, and say which one its choices support.

    Parameters
    ----------
    data : pandas.DataFrame or dict
        A table with columns ``animal``, ``contrast`` (right minus left, in [-1, 1]), ``choice`` (1
        right, 0 left), ``reward`` or ``correct_side``, and ``session``, trials in order of time; or
        a dict animal -> such a table, a dict of its columns, or a dict with ``X``, ``y`` and any of
        ``rewards``, ``correct_side``, ``sessions``, ``likelihood_mask``.
    architectures : sequence of str, default=("1L", "2L", "2NL")
        Architectures of ``DNNLearningRule``.
    rule : str, default="reinforce"
        Learning rule of all of them.
    n_blocks : int, optional
        Blocks of sessions, at least 3, that are held out in turn, each with refits of all models.
        None computes no held-out likelihood.
    n_jobs : int, optional
        None fits all animals of a model together, with native threads. More jobs (or a backend of
        joblib) share out the animals of each model. No bit of the result depends on it.
    verbose : bool, default=True
        Whether a bar shows progress, on a terminal or in a notebook.
    **kw
        Other parameters of ``DNNLearningRule``. A dict holds one value per architecture, such as
        ``n_restarts={"2NL": 60}``; architectures that it leaves out have the default.

    Returns
    -------
    pandas.DataFrame
        Rows animal x architecture, with columns:

        - ``loglik``, ``k`` (parameters that count), ``aic``, ``bic``;
        - ``daic``, ``dbic``: above the lowest of the animal;
        - ``heldout``: log-likelihood per held-out trial (nats) after the first block, and
          ``heldout_first`` that of the first block; ``dheldout`` and ``dheldout_se``: ``heldout``
          against the best of the animal, with its standard error over blocks;
        - ``n_hit``: starts that found the optimum; ``at_bounds``: parameters on a bound;
          ``alpha``, ``beta``, ``converged``;
        - ``verdict``: ``"best"``; ``"tie"``, within 4 AIC units of the lowest; ``"worse"``;
          ``"not ranked"``; or ``"failed"``, where there is no fit.

        ``attrs`` has ``n_best`` (animals in which each architecture has the lowest AIC),
        ``n_best_bic``, ``n_best_heldout``, ``n_tied`` (animals without a single best; none of the
        four counts animals with a failed fit),
        ``fair`` and ``unfair`` (why models are not ranked), ``rule``, ``missing_reward``,
        ``n_blocks``, ``seed``, ``footnotes`` and ``sentences``, one per row.

    Raises
    ------
    ValueError
        A value in the data or a parameter is wrong, or no fit succeeds; the message names the
        animal.
    TypeError
        ``data`` or a parameter is of the wrong kind.

    Warns
    -----
    UserWarning
        Search regions, penalties or the rule for missing rewards differ between models, or there is
        a penalty: nothing is ranked, and ``attrs["fair"]`` is False. Or some fits failed, as where
        all starts diverge: their rows hold NaN.
    sklearn.exceptions.ConvergenceWarning
        Some optima are not confirmed; counted once for all fits.

    Notes
    -----
    A lower AIC is evidence among these models only, under this rule and these bounds. A deep
    network can imitate a shallow one as closely as its bounds allow, so that AIC never excludes
    deep networks, and may prefer one by a few units where the truth is shallow; BIC and held-out
    blocks are more cautious. A difference against a model is called decided only where it is at
    least 4 AIC units, the optimum of the loser was found more than once, and held-out trials do
    not say the opposite. That is no proof: starts that come from one shallow fit can all end in
    the same lesser optimum, so repeat a close call with more ``n_restarts`` and another seed.

    Held-out trials still teach the network, in the refit and in the prediction. Blocks share most
    of their training data, so that the standard error over blocks is a rough one. The first block
    is kept apart: the weights before it are known only through what they became later, and deep
    networks, in which very different beginnings end alike, may predict it far worse than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import compare_architectures
    >>> rng = np.random.default_rng(0)
    >>> contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 1000)
    >>> skill = np.linspace(0.0, 8.0, 1000)
    >>> choice = (rng.random(1000) < 1.0 / (1.0 + np.exp(-skill * contrast))).astype(int)
    >>> mouse = {"contrast": contrast, "choice": choice, "reward": choice == (contrast > 0)}
    >>> mouse["session"] = np.repeat([1, 2, 3, 4], 250)
    >>> table = compare_architectures({"m1": mouse}, architectures=["1L"], random_state=0)
    >>> table.loc[("m1", "1L"), "k"].item(), table.attrs["n_best"]
    (4, {'1L': 1})
    """
    names = _several(architectures, "architectures", ARCHITECTURES)
    rule = as_choice(rule, "rule", RULES)
    common = _common(kw)
    animals = read_animals(data, drop_no_response=kw.get("drop_no_response", False))
    candidates = [
        Candidate(
            (a,),
            a,
            {**common, **_options(kw, a, names), "architecture": a, "rule": rule},
        )
        for a in names
    ]
    fits = _run(animals, candidates, n_blocks, n_jobs, verbose, "compare_architectures")
    table, judgements = table_of([a.name for a in animals], candidates, fits, ["architecture"])
    table.attrs.update(
        _counts(names, fits),
        **_verdict_attrs(judgements, "models"),
        rule=rule,
        missing_reward=_one_value(
            [c.options.get("missing_reward", "expected") for c in candidates]
        ),
        n_blocks=n_blocks,
        seed=common["random_state"],
    )
    return table


def compare_learning_rules(
    data: Any,
    *,
    rules: Sequence[str] = ("reinforce", "rpe", "squared", "expected_reward", "cross_entropy"),
    architectures: Sequence[str] = ARCHITECTURES,
    n_blocks: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = True,
    **kw: Any,
) -> pd.DataFrame:
    """Fit several learning rules in several architectures to each animal.

    Parameters
    ----------
    data : pandas.DataFrame or dict
        As for ``compare_architectures``.
    rules : sequence of str, default=all five
        Learning rules of ``DNNLearningRule``.
    architectures : sequence of str, default=("1L", "2L", "2NL")
        Architectures of ``DNNLearningRule``.
    n_blocks : int, optional
        Blocks of sessions, at least 3, held out in turn; None computes no held-out likelihood.
    n_jobs : int, optional
        None fits all animals of a model together, with native threads. More jobs (or a backend of
        joblib) share out the animals of each model. No bit of the result depends on it.
    verbose : bool, default=True
        Whether a bar shows progress, on a terminal or in a notebook.
    **kw
        Other parameters of ``DNNLearningRule``, as for ``compare_architectures``.

    Returns
    -------
    pandas.DataFrame
        Rows animal x rule x architecture, with the columns of ``compare_architectures``. ``daic``,
        ``dbic``, ``dheldout`` and ``verdict`` are within a rule. ``attrs`` has for each rule
        ``n_best``, ``n_best_bic``, ``n_best_heldout`` and ``n_tied``; ``aic_sum``, the AIC of each
        rule and architecture summed over animals; ``alias``; and those of
        ``compare_architectures``.

    Raises
    ------
    ValueError
        A value in the data or a parameter is wrong, or no fit succeeds; the message names the
        animal.
    TypeError
        ``data`` or a parameter is of the wrong kind.

    Warns
    -----
    UserWarning
        Search regions, penalties or the rule for missing rewards differ between architectures, or
        there is a penalty: nothing is ranked, and ``attrs["fair"]`` is False. Or some fits failed.
    sklearn.exceptions.ConvergenceWarning
        Some optima are not confirmed; counted once for all fits.

    Notes
    -----
    Architectures are ranked within a rule, and rules are not ranked: their search regions are not
    equivalent (rules that follow the policy gradient search wider boxes of weights in "2NL"), and a
    rule chosen on the data at hand has an advantage that AIC does not see. The columns ``aic`` and
    ``heldout`` may be compared with that in mind.

    With ``n_outputs=1``, where the correct side follows from choice and reward, "rpe" and "squared"
    are the same model, which is listed once, as "squared".

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import compare_learning_rules
    >>> rng = np.random.default_rng(0)
    >>> contrast = rng.choice([-0.5, -0.25, 0.25, 0.5], 1000)
    >>> skill = np.linspace(0.0, 8.0, 1000)
    >>> choice = (rng.random(1000) < 1.0 / (1.0 + np.exp(-skill * contrast))).astype(int)
    >>> mouse = {"contrast": contrast, "choice": choice, "reward": choice == (contrast > 0)}
    >>> mouse["session"] = np.repeat([1, 2, 3, 4], 250)
    >>> kw = {"architectures": ["1L"], "n_outputs": 1, "random_state": 0}
    >>> table = compare_learning_rules({"m1": mouse}, rules=["rpe", "squared"], **kw)
    >>> list(table.index), table.attrs["alias"]
    ([('m1', 'squared', '1L')], {'rpe': 'squared'})
    """
    names = _several(architectures, "architectures", ARCHITECTURES)
    listed = _several(rules, "rules", RULES)
    common = _common(kw)
    animals = read_animals(data, drop_no_response=kw.get("drop_no_response", False))
    alias = _alias(listed, kw, names, animals)
    listed = [rule for rule in listed if rule not in alias]
    candidates = [
        Candidate(
            (rule, a),
            f"{a} by {rule}",
            {**common, **_options(kw, a, names), "architecture": a, "rule": rule},
        )
        for rule in listed
        for a in names
    ]
    fits = _run(animals, candidates, n_blocks, n_jobs, verbose, "compare_learning_rules")
    table, judgements = table_of(
        [a.name for a in animals], candidates, fits, ["rule", "architecture"], group=len(names)
    )
    counts: dict[str, dict[str, Any]] = {}
    for i, rule in enumerate(listed):
        part = [row[i * len(names) : (i + 1) * len(names)] for row in fits]
        for key, value in _counts(names, part).items():
            counts.setdefault(key, {})[rule] = value
    aic = table.groupby(level=["rule", "architecture"], sort=False)["aic"]
    # a sum over other animals could not be compared
    sums = aic.sum().where(aic.count() == len(animals))
    table.attrs.update(
        counts,
        **_verdict_attrs(judgements, "architectures"),
        aic_sum={rule: {a: float(sums[(rule, a)]) for a in names} for rule in listed},
        alias=alias,
        rule=listed,
        missing_reward=_one_value(
            [c.options.get("missing_reward", "expected") for c in candidates]
        ),
        n_blocks=n_blocks,
        seed=common["random_state"],
    )
    table.attrs["footnotes"] += [
        f"{one} with one output is {other}, and is listed as that" for one, other in alias.items()
    ]
    if len(listed) > 1:
        table.attrs["footnotes"].append(
            "rules are not ranked: their search regions are not equivalent"
        )
    return table


def table_of(
    animals: Sequence[Hashable],
    candidates: Sequence[Candidate],
    fits: Sequence[Sequence[Fit]],
    levels: Sequence[str],
    group: int | None = None,
) -> tuple[pd.DataFrame, list[Judgement]]:
    """Return fits as a table, judged in groups of so many consecutive candidates."""
    import pandas as pd

    size = group or len(candidates)
    rows, judgements = [], []
    for animal, row in zip(animals, fits, strict=True):
        for i in range(0, len(row), size):
            judged = judge(animal, row[i : i + size])
            judgements.append(judged)
            rows += [
                {
                    "loglik": fit.loglik,
                    "k": fit.k,
                    "aic": fit.aic,
                    "bic": fit.bic,
                    "daic": judged.daic[j],
                    "dbic": judged.dbic[j],
                    "heldout": fit.heldout,
                    "heldout_first": fit.heldout_first,
                    "dheldout": judged.dheldout[j],
                    "dheldout_se": judged.dheldout_se[j],
                    "n_hit": fit.n_hit,
                    "at_bounds": ", ".join(fit.at_bounds),
                    "alpha": fit.alpha,
                    "beta": fit.beta,
                    "converged": fit.converged,
                    "verdict": judged.verdict[j],
                }
                for j, fit in enumerate(row[i : i + size])
            ]
    index = pd.MultiIndex.from_tuples(
        [(animal, *c.labels) for animal in animals for c in candidates],
        names=["animal", *levels],
    )
    return pd.DataFrame(rows, index=index), judgements


def _run(
    animals: Sequence[Animal],
    candidates: Sequence[Candidate],
    n_blocks: object,
    n_jobs: int | None,
    verbose: object,
    desc: str,
) -> list[list[Fit]]:
    return run(
        animals,
        candidates,
        n_blocks=None if n_blocks is None else as_int(n_blocks, "n_blocks", minimum=3),
        n_jobs=as_jobs(n_jobs),
        desc=desc,
        verbose=as_bool(verbose, "verbose"),
    )


def _common(kw: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all models have: the seed, one job per fit, and no standard errors."""
    return {
        "standard_errors": False,
        "random_state": as_seed(kw.get("random_state")),
        "n_jobs": 1,
        "verbose": False,
    }


def _options(kw: Mapping[str, Any], architecture: str, names: Sequence[str]) -> dict[str, Any]:
    # responses that are missing have been dropped, and the seed is the same for all
    taken = ("rule", "n_jobs", "verbose")
    options = model_options(kw, architecture, names, taken)
    return {k: v for k, v in options.items() if k not in ("random_state", "drop_no_response")}


def _several(value: object, name: str, known: Sequence[str]) -> list[str]:
    out = [as_choice(v, f"{name}[{i}]", known) for i, v in enumerate(as_list(value, name))]
    if not out:
        raise ValueError(f"{name} is empty; there are {', '.join(known)}")
    twice = [v for v in out if out.count(v) > 1]
    if twice:
        raise ValueError(f"{name} holds {twice[0]!r} twice")
    return out


def _alias(
    rules: Sequence[str],
    kw: Mapping[str, Any],
    names: Sequence[str],
    animals: Sequence[Animal],
) -> dict[str, str]:
    """Return rules that are another rule in all architectures, for these trials."""
    if "rpe" not in rules or ALIAS not in rules:
        return {}
    if any(model_options(kw, a, names, ()).get("n_outputs") != 1 for a in names):
        return {}
    for animal in animals:
        a, r = animal.trials.choice, animal.trials.rewards
        if not np.array_equal(
            animal.trials.correct_side, a * r + (1 - a) * (1 - r), equal_nan=True
        ):
            return {}
    return {"rpe": ALIAS}


def _counts(names: Sequence[str], fits: Sequence[Sequence[Fit]]) -> dict[str, Any]:
    """Return in how many animals each model is best; nothing where models are not ranked."""
    out: dict[str, Any] = {}
    fits = [row for row in fits if not any(fit.failure for fit in row)]
    judged = [judge("", row) for row in fits]
    ranked = all("not ranked" not in one.verdict for one in judged)
    every = {
        "n_best": [[-fit.aic for fit in row] for row in fits],
        "n_best_bic": [[-fit.bic for fit in row] for row in fits],
        "n_best_heldout": [[fit.heldout for fit in row] for row in fits],
    }
    for key, rows in every.items():
        values = np.array(rows).reshape(len(rows), len(names))
        if not ranked or np.isnan(values).any():
            out[key] = None
            continue
        first = values.argmax(axis=1)
        out[key] = {name: int((first == i).sum()) for i, name in enumerate(names)}
    out["n_tied"] = sum("tie" in one.verdict for one in judged) if ranked else None
    return out


def _verdict_attrs(judgements: Sequence[Judgement], what: str) -> dict[str, Any]:
    unfair = list(dict.fromkeys(reason for one in judgements for reason in one.unfair))
    if unfair:
        warn(f"{what} are not ranked: {'; '.join(unfair)}")
    return {
        "fair": not unfair,
        "unfair": unfair,
        "footnotes": [note for one in judgements for note in one.footnotes],
        "sentences": [sentence for one in judgements for sentence in one.sentences],
    }


def _one_value(values: Sequence[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else list(values)
