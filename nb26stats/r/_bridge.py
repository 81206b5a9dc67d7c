"""What the R file calls on the Python side, and what R users call to look around."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nb26stats._check import as_int, as_list
from nb26stats._results import to_r
from nb26stats._version import __version__

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def helper() -> str:
    """Return the path of the R file with the helper functions, for ``source()`` in R.

    Returns
    -------
    str
        Path of ``nb26stats.R``, which defines ``nb_df``, ``nb_array``, ``nb_numpy``, ``nb_mask``,
        ``nb_rows``, ``nb_open``, ``nb_result`` and ``nb_check``.

    Examples
    --------
    >>> from nb26stats.r import helper
    >>> helper().endswith("nb26stats.R")
    True
    """
    return str(Path(__file__).with_name("nb26stats.R"))


def versions() -> dict[str, str]:
    """Return the versions of Python, this package and those it hands to R.

    Returns
    -------
    dict of str
        By name: Python, nb26stats, numpy, pandas, scikit-learn.

    Examples
    --------
    >>> from nb26stats.r import versions
    >>> sorted(versions())
    ['Python', 'nb26stats', 'numpy', 'pandas', 'scikit-learn']
    """
    seen = {"Python": platform.python_version(), "nb26stats": __version__}
    return seen | {n: importlib.metadata.version(n) for n in ("numpy", "pandas", "scikit-learn")}


def columns(table: Any) -> dict[str, Any]:
    """Return the columns of a table as lists, its row names among them where they say something.

    Parameters
    ----------
    table : pandas.DataFrame, pandas.Series, Index, mapping or result
        What ``to_r`` takes; only the first two have row names, an Index is nothing else.

    Returns
    -------
    dict of list
        One list per column.

    Raises
    ------
    TypeError
        If ``table`` has no columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from nb26stats.r import columns
    >>> columns(pd.DataFrame({"n": [2, 3]}, index=pd.Index(["a", "b"], name="area")))
    {'area': ['a', 'b'], 'n': [2, 3]}
    """
    import pandas as pd

    if isinstance(table, pd.Index):
        table = pd.DataFrame(index=table)
    if isinstance(table, pd.Series):
        table = table.to_frame(table.name if table.name is not None else "value")
    if isinstance(table, pd.DataFrame) and not _counts(table.index):
        table = table.reset_index()
    out = to_r(table, "table")
    if not isinstance(out, dict) or "dim" in out:
        raise TypeError(f"table must have named columns, got {type(table).__name__}")
    return out


def from_bytes(data: bytes, shape: Sequence[int]) -> NDArray[np.float64]:
    """Return an array of doubles from R's memory, so that no bridge between the two is needed.

    Parameters
    ----------
    data : bytes
        Little-endian doubles in Fortran order (R: ``writeBin(as.double(x), raw())``).
    shape : sequence of int
        Lengths of the dimensions.

    Returns
    -------
    ndarray
        C-contiguous float64 array of that shape.

    Raises
    ------
    ValueError
        If ``data`` does not hold 8 bytes per entry.

    Examples
    --------
    >>> import struct
    >>> from nb26stats.r import from_bytes
    >>> from_bytes(struct.pack("<4d", 1, 2, 3, 4), [2, 2])
    array([[1., 3.],
           [2., 4.]])
    """
    import numpy as np

    lengths = [as_int(n, f"shape[{i}]", minimum=0) for i, n in enumerate(as_list(shape, "shape"))]
    if len(data) % 8:
        raise ValueError(f"data holds {len(data)} bytes, no whole number of doubles")
    flat = np.frombuffer(bytes(data), dtype="<f8").astype(np.float64, copy=False)
    if flat.size != (wanted := int(np.prod(lengths))):
        raise ValueError(
            f"data holds {flat.size} numbers, and shape {tuple(lengths)} needs {wanted}"
        )
    return np.array(flat.reshape(lengths, order="F"), order="C")


def demo_logistic(X: Any, y: Any, *, max_iter: int = 100) -> dict[str, Any]:
    """Fit scikit-learn's logistic regression on what R hands over: a check of the bridge.

    Parameters
    ----------
    X : pandas.DataFrame or array of shape (n_samples, n_features)
        Features.
    y : sequence of length n_samples
        Classes.
    max_iter : int, default=100
        Iterations of the solver; a double such as 1000 is a whole number.

    Returns
    -------
    dict
        Plain lists: ``coef``, ``intercept``, ``classes``, ``n_iter``.

    Raises
    ------
    TypeError, ValueError
        If ``max_iter`` is no whole number, or below 1.

    Examples
    --------
    >>> from nb26stats.r import demo_logistic
    >>> demo_logistic([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])["classes"]
    [0, 1]
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=as_int(max_iter, "max_iter", minimum=1)).fit(X, y)
    return {
        "coef": [float(v) for v in model.coef_.ravel()],
        "intercept": [float(v) for v in model.intercept_],
        "classes": to_r(list(model.classes_), "classes"),
        "n_iter": int(model.n_iter_.max()),
    }


def _counts(index: Any) -> bool:
    """Whether row names are mere positions."""
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
