"""Section: whether and how the animal learned within the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _code
from ._context import MissingPartError
from ._figures import png_of
from ._learning_fit import (
    FIXED,
    FIXED_WEIGHTS,
    MAX_TRIALS,
    N_BLOCKS,
    N_RUNS,
    TIE,
    LearningFit,
    fit_learning,
    power_sentence,
    window_of,
)
from ._parts import Builder, Figure, plural

if TYPE_CHECKING:
    import pandas as pd

    from ._context import Context
    from ._parts import Section

COLUMNS = ["k", "loglik", "aic", "daic", "bic", "dbic", "heldout", "n_hit", "verdict"]
_IMPORTS = [
    "import warnings",
    "",
    "import numpy as np",
    "",
    "from nb26stats import learning",
]
_NETWORKS = {"1L": "one linear layer", "2L": "two linear layers", "2NL": "two layers, one sigmoid"}


def section(context: Context) -> Section:
    """Return what three learning networks, and one that does not learn, make of the choices."""
    out = Builder("learning", "Learning within the session", line="behaviour")
    try:
        table = context.behavior
    except MissingPartError as gap:
        return out.missing(str(gap), "")
    from nb26stats import nwb

    try:
        fit = context.once("learning", lambda: fit_learning(nwb.to_learning(table)))
    except MissingPartError as gap:
        return out.missing(str(gap), "Learning: too few trials, or none that could tell of it.")
    out.finding = _change(fit)
    out.say(out.finding)
    out.say(_architecture(fit))
    out.say(_limits(fit))
    out.warn(context.warnings.get("learning", []))
    _comparison(context, out, fit)
    _curve(context, out, fit)
    return out.done()


def _change(fit: LearningFit) -> str:
    """Say whether the animal changed."""
    best = str(fit.best.architecture)
    trials = plural(fit.n_counted, "choice")
    if not fit.learns:
        how = (
            f"its AIC is {fit.gain:.1f} higher, which is a tie"
            if fit.gain >= 0
            else f"its AIC is {-fit.gain:.1f} lower"
        )
        return (
            f"The {trials} of this session do not show learning: a network whose weights stay as "
            f"they are describes them as well as the best one that learns ({best}; {how})."
        )
    return (
        f"The {trials} of this session show that the animal changed: the AIC of a network that "
        f"learns ({best}) is {fit.gain:.1f} below that of one whose weights stay as they are."
    )


def _architecture(fit: LearningFit) -> str:
    """Say which network it was, as far as that can be said."""
    one = fit.table.droplevel(0)
    order = one["aic"].sort_values(kind="stable")
    tied = [str(name) for name in order.index if order[name] - order.iloc[0] < TIE]
    if len(tied) > 1:
        listed = " and ".join(f"{name} ({_NETWORKS[name]})" for name in tied)
        text = f"Between {listed} the session does not decide: within {TIE:g} units of AIC is a tie"
    else:
        second, gap = str(order.index[1]), float(order.iloc[1] - order.iloc[0])
        text = f"{tied[0]} ({_NETWORKS[tied[0]]}) has the lowest AIC, {gap:.1f} below {second}"
    by_bic = str(one["bic"].idxmin())
    if by_bic not in tied or len(tied) > 1:
        text += f"; BIC, which counts parameters more heavily, prefers {by_bic}"
    doubts = []
    for name, row in one.iterrows():
        if row["n_hit"] == 1:
            doubts.append(f"the optimum of {name} was found from one start only")
        if row["at_bounds"]:
            doubts.append(f"parameters of {name} end on a bound")
    if doubts:
        text += f". Read it with care: {', '.join(doubts)}"
    return f"{text}."


def _limits(fit: LearningFit) -> str:
    """Say what no session of this kind can tell."""
    parts = [power_sentence(fit)]
    if fit.n_trials == MAX_TRIALS:
        parts.append(f"Only the first {MAX_TRIALS:,} trials were used.")
    parts.append(
        "One session says how one animal, as it came into the session, went on from there; it says "
        "nothing of how it learned the task before. A network with more layers can imitate one "
        "with fewer, so that a tie never excludes the deeper one. Join the sessions of the animal "
        "(nwb.concat_sessions) to ask how it learned."
    )
    return " ".join(part for part in parts if part)


def _comparison(context: Context, out: Builder, fit: LearningFit) -> None:
    from nb26stats import plotting

    numbers = _numbers(fit.table)
    held = (
        "held-out blocks (each fifth of the choices predicted by fits to the others; lines: ± SE)"
    )
    out.add(
        Figure(
            "learning",
            png_of(lambda: plotting.plot_comparison(fit.table)),
            alt="AIC, BIC and held-out likelihood of three learning networks, from the best. "
            + out.finding,
            caption=f"Distance of three networks from the best, by AIC, BIC and {held}, over "
            f"{plural(fit.n_counted, 'choice')} of one animal. They learn by gradient ascent on "
            f"the reward (rule 'reinforce'); inputs are the stimulus on the left, on the right"
            f"{', and a constant' if fit.constant else ''}. Grey: ties, less than {TIE:g} units of "
            "AIC. Open: found from one start only; crossed: parameters on a bound.",
            code=_code.block(context.path, _lines(context, fit), imports=_IMPORTS),
            numbers=numbers,
            units={"loglik": "nats", "heldout": "nats per trial"},
        )
    )


def _curve(context: Context, out: Builder, fit: LearningFit) -> None:
    curve = fit.curve
    numbers = _curve_numbers(curve.to_frame())
    name = str(fit.best.architecture)
    inside = curve.inside()
    out.add(
        Figure(
            "learning_curve",
            png_of(curve.plot),
            alt=f"Accuracy, bias and sensitivity along the session, of the animal and of {name}.",
            caption=f"Accuracy, bias (share of right choices over both sides, less one half) and "
            f"sensitivity (share of right choices where right is correct, less where left is), in "
            f"windows of {window_of(fit.n_trials)} of {plural(fit.n_trials, 'trial')}. Black: the "
            f"animal. In colour: {name}, fitted to these trials, which then chose for "
            f"itself {N_RUNS} times; median, and band of 95 % of the runs. The animal lies inside "
            f"in {100 * inside['accuracy']:.0f} %, {100 * inside['bias']:.0f} % and "
            f"{100 * inside['sensitivity']:.0f} % of the windows.",
            code=_code.block(
                context.path, [*_data_lines(context, fit), *_curve_lines(fit)], imports=_IMPORTS
            ),
            numbers=numbers,
        )
    )


def _numbers(table: pd.DataFrame) -> pd.DataFrame:
    return table.droplevel(0)[COLUMNS]


def _curve_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    measures = ("accuracy", "bias", "sensitivity")
    names = [f"{m}{end}" for m in measures for end in ("", "_low", "_high")]
    return frame.set_index("start")[names]


def _data_lines(context: Context, fit: LearningFit) -> list[str]:
    behavior = {} if context.table_name == "trials" else {"table": context.table_name}
    cut = f"[:{MAX_TRIALS}]" if fit.n_trials == MAX_TRIALS else ""
    last = "1:" if fit.constant else "1:2"
    return [
        _code.call("trials", "nwb.behavior", behavior),
        "data = nwb.to_learning(trials)",
        f'left, right = data["stimulus"]{cut}.T',
        "code = learning.encode_contrast",
        f"X = np.column_stack([code(-left)[:, 0], code(right)[:, {last}]])",
        "animal = {",
        '    "X": X,',
        f'    "y": data["choice"]{cut},',
        f'    "rewards": data["reward"]{cut}.astype(float),',
        f'    "likelihood_mask": data["likelihood_mask"]{cut},',
        "}",
        '# what warnings say of the search stands in the columns "n_hit" and "at_bounds"',
        'warnings.filterwarnings("ignore", category=UserWarning)',
    ]


def _lines(context: Context, fit: LearningFit) -> list[str]:
    fixed = ", ".join(f"{k}={v!r}" for k, v in FIXED.items())
    return [
        *_data_lines(context, fit),
        f'table = learning.compare_architectures({{"session": animal}}, n_blocks={N_BLOCKS}, '
        "random_state=0)",
        "fixed = learning.DNNLearningRule(",
        f'    "1L", weight_bound={FIXED_WEIGHTS}, {fixed}, random_state=0',
        ").fit(**animal)",
        'print("AIC without learning:", fixed.aic_)',
        "with plotting.style():",
        "    ax = plotting.plot_comparison(table)",
        f"numbers = table.droplevel(0)[{COLUMNS!r}]",
    ]


def _curve_lines(fit: LearningFit) -> list[str]:
    columns: list[Any] = list(_curve_numbers(fit.curve.to_frame()).columns)
    return [
        f"rule = learning.DNNLearningRule({fit.best.architecture!r}, random_state=0).fit(**animal)",
        "curve = rule.learning_curve(",
        '    X, animal["y"], rewards=animal["rewards"],',
        f"    window={window_of(fit.n_trials)}, n_runs={N_RUNS}, random_state=0,",
        ")",
        "with plotting.style():",
        "    ax = curve.plot()",
        f'numbers = curve.to_frame().set_index("start")[{columns!r}]',
    ]
