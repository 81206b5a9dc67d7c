"""The house style as a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nb26stats._check import as_bool

RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.4,
    "figure.dpi": 100.0,
    "savefig.dpi": 200.0,
    "svg.fonttype": "none",
}


OFFSCREEN: ContextVar[bool] = ContextVar("nb26stats_offscreen", default=False)


@contextmanager
def style(*, offscreen: bool = False) -> Iterator[None]:
    """Use the house style inside a ``with`` block and restore the old settings after it.

    Parameters
    ----------
    offscreen : bool, default=False
        Make the figures without pyplot, so that no window opens and no list of figures grows: for
        reports, servers and long loops. Such a figure is reached through ``ax.figure``.

    Yields
    ------
    None

    Examples
    --------
    >>> import matplotlib
    >>> from nb26stats import plotting
    >>> before = matplotlib.rcParams["font.size"]
    >>> with plotting.style():
    ...     inside = matplotlib.rcParams["font.size"]
    >>> inside, matplotlib.rcParams["font.size"] == before
    (9.0, True)
    """
    import matplotlib

    token = OFFSCREEN.set(as_bool(offscreen, "offscreen"))
    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context(RC):  # type: ignore[arg-type]
            try:
                yield
            finally:
                interactive = matplotlib.is_interactive()
    finally:
        # no matter of style: a notebook's first figure switches it on, for all that follow
        matplotlib.interactive(interactive)
        OFFSCREEN.reset(token)
