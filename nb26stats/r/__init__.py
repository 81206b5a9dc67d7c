"""For R users: plain forms of results, and the helper file for R itself.

Whole numbers may arrive as doubles, and data frames or named lists of columns as tables. R's
``NA_integer_`` is refused with its place, and ``NA_real_`` is NaN. Two kinds of NA cannot be seen
in Python: a logical ``NA`` arrives as True, ``NA_character_`` as the text ``NA``. On the side of R,
``nb_mask()`` stops at them in masks and ``nb_df()`` in data frames.
"""

from __future__ import annotations

from nb26stats._results import to_r

from ._bridge import columns, demo_logistic, from_bytes, helper, versions

__all__ = ["columns", "demo_logistic", "from_bytes", "helper", "to_r", "versions"]
