"""Section: how to make this report again."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING

from nb26stats._version import __version__

from . import _code
from ._parts import Builder, Code, Facts

if TYPE_CHECKING:
    from ._context import Context
    from ._parts import Section

PACKAGES = ("numpy", "pandas", "pynwb", "hdmf", "h5py", "numba", "matplotlib", "scikit-learn")


def section(context: Context) -> Section:
    """Return exact versions and the call that makes the report."""
    out = Builder("versions", "Versions and code")
    out.say("Made with these versions; the same versions give the same numbers.")
    pairs = [("nb26stats", __version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            pairs.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            pairs.append((name, "not installed"))
    out.add(Facts(tuple(pairs)))
    out.say(
        "The block under each figure makes that figure and its numbers; a figure is saved with "
        'ax.figure.savefig("figure.png"), or numpy.ravel(ax)[0].figure.savefig(...) where it has '
        "several panels. This makes the whole report:"
    )
    chosen = {k: v for k, v in vars(context.options).items() if v is not None}
    call = _code.call("result", "report.build_report", chosen)
    out.add(
        Code(
            "\n".join(
                [
                    "from nb26stats import report",
                    "",
                    f"path = {context.path!r}",
                    call,
                    'result.save("report.html")',
                ]
            )
        )
    )
    return out.done()
