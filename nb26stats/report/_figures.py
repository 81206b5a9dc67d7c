"""From axes to a PNG inside the page."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

DPI = 200
SCREEN = 127
"""Pixels per inch on the page: a wide figure takes 900 of the 1100 pixels."""


def png_of(draw: Callable[[], Any]) -> bytes:
    """Return the picture that ``draw`` makes as PNG; nothing reaches pyplot."""
    from nb26stats import plotting

    with plotting.style(offscreen=True), warnings.catch_warnings():
        # names in scripts that the font lacks are drawn as boxes; that needs no warning here
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        axes = draw()
        figure = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()[0].figure
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def shown_size(png: bytes) -> tuple[int, int]:
    """Return width and height in which a page shows the picture: 127 pixels per inch."""
    width, height = (int.from_bytes(png[k : k + 4], "big") for k in (16, 20))
    return round(width / DPI * SCREEN), round(height / DPI * SCREEN)


def data_uri(png: bytes) -> str:
    """Return the picture as text that an HTML page can hold."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
