"""Where a saved result comes from, as JSON in the description of its table."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nb26stats._version import __version__

from ._save_items import Item

_LONGEST = 100_000
"""Sequences with more elements are described, not listed."""


def provenance_json(item: Item, *, source: str, sha256: str, description: str) -> str:
    """Return the JSON text for one stored table or series.

    Parameters
    ----------
    item : Table or pandas.Series
        What is stored.
    source : str
        Name of the source file.
    sha256 : str
        Hash of the source file in hexadecimal.
    description : str
        The user's own words; left out when empty.
    """
    import h5py
    import pynwb

    content: dict[str, Any] = {
        "nb26stats": __version__,
        "result": item.result,
        "function": None,
        "parameters": {},
        "seed": None,
        **item.provenance,
        "numpy": np.__version__,
        "pynwb": pynwb.__version__,
        "h5py": h5py.__version__,
        "utc": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "source": source,
        "source_sha256": sha256,
    }
    if description:
        content["description"] = description
    return json.dumps(plain(content), ensure_ascii=True, allow_nan=False)


def result_of(description: Any) -> str | None:
    """Return which result a stored description belongs to, None when it is not ours."""
    if isinstance(description, bytes):
        description = description.decode("utf-8", "replace")
    try:
        content = json.loads(description)
    except (TypeError, ValueError):
        return None
    name = content.get("result") if isinstance(content, dict) else None
    return name if isinstance(name, str) else None


def plain(x: Any) -> Any:
    """Return ``x`` as JSON values: NaN and infinity become null, the unknown its type's name."""
    if isinstance(x, np.generic):
        x = x.item()
    if x is None or isinstance(x, (bool, str, int)):
        return x
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if isinstance(x, Mapping):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        if x.size > _LONGEST:
            return f"array of shape {x.shape}, {x.dtype}"
        return plain(x.tolist())
    if isinstance(x, (list, tuple, set, frozenset)):
        if len(x) > _LONGEST:
            return f"{type(x).__name__} of {len(x)} elements"
        return [plain(v) for v in x]
    if isinstance(x, slice):
        return str(x)
    if isinstance(x, Path):
        # the folder is the user's business
        return x.name
    if isinstance(x, (datetime.datetime, datetime.date, datetime.time)):
        return x.isoformat()
    return getattr(x, "__qualname__", type(x).__qualname__)
