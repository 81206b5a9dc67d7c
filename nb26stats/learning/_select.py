"""How many hidden units the choices of an animal call for: by what each size predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nb26stats._check import as_bool, as_choice, as_int, as_jobs, as_list
from nb26stats._seed import as_seed

from ._compare import table_of
from ._compare_run import Candidate, model_options, run
from ._model import RULES
from ._table_input import read_animals
from ._verdict import TIE, Fit, heldout_difference

if TYPE_CHECKING:
    import pandas as pd

SIZES = (1, 2, 3, 4)
SLACK = 0.5
"""Log units by which a larger network may fit worse and still count as the same."""


def select_hidden(
    data: Any,
    *,
    hidden: Sequence[int] = SIZES,
    architecture: str = "2NL",
    rule: str = "reinforce",
    n_blocks: int = 10,
    n_jobs: int | None = None,
    verbose: bool = True,
    **kw: Any,
) -> pd.DataFrame:
    """Choose the number of hidden units of each animal by blocks of trials held out.

    Every size is fitted to all trials, and then once without each block; the choices in the block
    are predicted by the fit that did not see them, the trials in it still being learned from. The
    smallest size is chosen whose prediction is within one standard error of the best one (Breiman
    et al., 1984). AIC stands beside it.

    Parameters
    ----------
    data : pandas.DataFrame or dict
        Trials, in one of the forms of :func:`compare_architectures`.
    hidden : sequence of int, default=(1, 2, 3, 4)
        Sizes to try.
    architecture : {"2NL", "2L"}, default="2NL"
        Two layers with a nonlinearity, or without.
    rule : str, default="reinforce"
        Learning rule.
    n_blocks : int, default=10
        Number of blocks, at least 3: whole sessions where sessions are known. The first is not
        counted, since nothing before it tells the weights that it starts from.
    n_jobs : int, optional
        None fits all animals of a size together, with native threads; more jobs share out the
        animals.
    verbose : bool, default=True
        Whether a bar shows progress, on a terminal or in a notebook.
    **kw
        Further parameters of :class:`DNNLearningRule`, the same for all sizes.

    Returns
    -------
    pandas.DataFrame
        One row per animal and size (the index), with the columns of
        :func:`compare_architectures`, and ``chosen``. The size is chosen by ``dheldout``, the
        log-likelihood per held-out trial below that of the best size, and its standard error over
        blocks ``dheldout_se``; ``verdict`` is about AIC.

        ``attrs["chosen"]`` and ``attrs["lowest_aic"]`` map animals to sizes, or to None where no
        size could be fitted; ``attrs["sentences"]`` says of each animal what is decided; ``attrs``
        also has ``architecture``, ``rule``, ``n_blocks`` and ``seed``.

    Raises
    ------
    ValueError
        A size is below 1 or given twice, there are fewer sessions than blocks, or data are wrong.
    TypeError
        An argument is of the wrong kind or not known.

    Warns
    -----
    UserWarning
        Some fits failed, as where all starts diverge: their rows hold NaN.
    ConvergenceWarning
        How many fits have an optimum that one start found, a parameter on a bound, or did not
        converge.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and Regression Trees" (1984),
    section 3.4, for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from nb26stats.learning import select_hidden
    >>> rng = np.random.default_rng(0)
    >>> contrast = rng.choice([-0.5, 0.5], 200)
    >>> choice = (contrast > 0) ^ (rng.random(200) < 0.3)
    >>> table = {"contrast": contrast, "choice": choice, "reward": choice == (contrast > 0)}
    >>> table["session"] = np.repeat([1, 2, 3, 4], 50)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this animal learns nothing
    ...     found = select_hidden({"m1": table}, hidden=[1, 2], n_blocks=4, random_state=0)
    >>> found.index.tolist()
    [('m1', 1), ('m1', 2)]
    """
    sizes = _sizes(hidden)
    kind = as_choice(architecture, "architecture", ("2NL", "2L"))
    name_of_rule = as_choice(rule, "rule", RULES)
    blocks = as_int(n_blocks, "n_blocks", minimum=3)
    shown, jobs = as_bool(verbose, "verbose"), as_jobs(n_jobs)
    # one key for all fits, whatever generator it came from
    seed = as_seed(kw.pop("random_state", None))
    options = model_options(kw, kind, (kind,), ("hidden", "rule", "n_jobs", "verbose"))
    animals = read_animals(data, drop_no_response=kw.get("drop_no_response", False))
    settings = {
        "standard_errors": False,
        **options,
        "architecture": kind,
        "rule": name_of_rule,
        "random_state": seed,
        "n_jobs": 1,
        "verbose": False,
    }
    candidates = [Candidate((size,), units(size), {**settings, "hidden": size}) for size in sizes]
    rows = run(
        animals, candidates, n_blocks=blocks, n_jobs=jobs, desc="select_hidden", verbose=shown
    )
    names = [animal.name for animal in animals]
    table, _ = table_of(names, candidates, rows, ["hidden"])
    picks = [choose(fits) for fits in rows]
    table["chosen"] = [i == pick for pick in picks for i in range(len(sizes))]
    lowest = [_lowest_aic(fits) for fits in rows]
    table.attrs.update(
        chosen={
            name: None if i is None else sizes[i] for name, i in zip(names, picks, strict=True)
        },
        lowest_aic={
            name: None if i is None else sizes[i] for name, i in zip(names, lowest, strict=True)
        },
        sentences=[f"{name}: {sentence(fits)}" for name, fits in zip(names, rows, strict=True)],
        architecture=kind,
        rule=name_of_rule,
        n_blocks=blocks,
        seed=seed,
    )
    return table


def units(size: int) -> str:
    """Return the size in words."""
    return f"{size} hidden unit" + "s" * (size != 1)


def _sizes(hidden: object) -> list[int]:
    sizes = [as_int(v, f"hidden[{i}]", minimum=1) for i, v in enumerate(as_list(hidden, "hidden"))]
    if not sizes:
        raise ValueError("hidden must hold at least one size")
    twice = [size for i, size in enumerate(sizes) if size in sizes[:i]]
    if twice:
        raise ValueError(f"hidden holds {twice[0]} twice")
    return sorted(sizes)


def choose(fits: Sequence[Fit]) -> int | None:
    """Return the smallest model within one standard error of the best prediction.

    Parameters
    ----------
    fits : sequence of Fit
        Models from small to large, with held-out blocks.

    Returns
    -------
    int or None
        Its place; None where no model could be fitted.
    """
    there = _there(fits)
    if not there:
        return None
    best = max(there, key=lambda fit: fit.heldout)
    return next(i for i, fit in enumerate(fits) if not fit.failure and _alike(fit, best))


def _there(fits: Sequence[Fit]) -> list[Fit]:
    return [fit for fit in fits if not fit.failure]


def _lowest_aic(fits: Sequence[Fit]) -> int | None:
    there = [i for i, fit in enumerate(fits) if not fit.failure]
    return min(there, key=lambda i: fits[i].aic, default=None)


def _alike(fit: Fit, best: Fit) -> bool:
    below, error = heldout_difference(fit, best)
    return fit is best or -below <= error


def sentence(fits: Sequence[Fit]) -> str:
    """Return what blocks and AIC say about the size, and whether it is decided."""
    failed = "; ".join(f"{fit.name} not fitted: {fit.failure}" for fit in fits if fit.failure)
    fits, place = _there(fits), choose(_there(fits))
    if place is None:
        return f"{failed}."
    best, pick = max(fits, key=lambda fit: fit.heldout), fits[place]
    text = f"{best.name} predict{'s' * best.name.endswith('unit')} held-out trials best"
    text += f" ({best.heldout:.4f} nats per trial)"
    others = [fit for fit in fits if fit is not best]
    alike = [fit for fit in others if _alike(fit, best)]
    if not others:
        text += ", the only size"
    elif not alike:
        text += ", each other size worse by more than one standard error"
    elif len(alike) == len(others):
        text += ", no other size worse by more than one standard error: the size is not decided"
    else:
        text += f", not told apart from {' and '.join(fit.name for fit in alike)}"
    if pick is not best:
        below, error = heldout_difference(pick, best)
        text += f"; {pick.name} will do ({below:+.4f}, SE {error:.4f})"
    low = min(fits, key=lambda fit: fit.aic)
    near = [fit for fit in fits if fit.aic - low.aic < TIE and fit is not low]
    text += f"; AIC is lowest with {low.name}"
    if near:
        text += f", tied with {' and '.join(fit.name for fit in near)}"
    doubt = [fit for fit in fits if fit.doubt]
    if doubt:
        text += "; " + ", ".join(f"the optimum of {fit.name} {fit.doubt}" for fit in doubt)
    # a spare unit can be all but silent, so that more units should not fit worse
    for i, fit in enumerate(fits[1:], 1):
        closest = max(fits[:i], key=lambda smaller: smaller.loglik)
        if fit.loglik < closest.loglik - SLACK:
            text += f"; {fit.name} fit worse than {closest.name}: raise n_restarts"
    return f"{text}; {failed}." if failed else f"{text}."
