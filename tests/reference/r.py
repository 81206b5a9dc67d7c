"""R, where it is installed."""

from __future__ import annotations

import functools
import shutil
import subprocess


@functools.cache
def has_reticulate() -> bool:
    """Return whether R and its bridge to Python are here."""
    if shutil.which("Rscript") is None:
        return False
    command = ["Rscript", "-e", "quit(status = !requireNamespace('reticulate', quietly = TRUE))"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
