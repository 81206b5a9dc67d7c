"""Figures of a fitted OjaPCA; what draws them lives in the room of figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nb26stats._check import as_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

KINDS = ("loadings", "error", "scree")
TAKES = {
    "loadings": (
        *("level", "align", "method", "components"),
        *("names", "groups", "file_areas", "feature"),
    ),
    "error": ("level",),
    "scree": (),
}


class OjaPlots:
    """Drawing of OjaPCA."""

    def plot(
        self: Any,
        kind: str = "loadings",
        ax: Axes | Sequence[Axes] | None = None,
        *,
        level: float | None = None,
        align: str | None = None,
        method: str | None = None,
        components: Sequence[int] | int | None = None,
        names: Sequence[Any] | None = None,
        groups: Sequence[str] | None = None,
        file_areas: Sequence[str] | None = None,
        feature: str | None = None,
        **style: Any,
    ) -> Axes | NDArray[Any]:
        """Draw the loadings, the error against the rows, or the variances.

        Parameters
        ----------
        kind : {"loadings", "error", "scree"}, default="loadings"
            ``"loadings"``: loadings with intervals, a panel per component. ``"error"``: quantile of
            the subspace error against the number of rows. ``"scree"``: variance along each
            component and the next direction.
        ax : matplotlib axes or sequence of axes, optional
            Where to draw; for several components one axes each. A new figure by default.
        level : float, optional
            Level of the intervals or of the error quantile, 0.95 by default.
        align, method : str, optional
            How intervals are computed, as in ``component_intervals``. Loadings only, like the next.
        components : int or sequence of int, optional
            Which components, counted from 0; all by default. Titles of panels count from 1.
        names, groups : sequence, optional
            Name and group of each feature; names default to those of the columns.
        file_areas : sequence of str, optional
            All areas of the file, so that an area keeps the colour it has in other figures.
        feature : str, optional
            What a feature is, for the label of the axis, such as ``"unit"``.
        **style
            Properties of points and lines in matplotlib (``color``, ``marker``, ...).

        Returns
        -------
        Axes or ndarray of Axes
            Several for several components.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, an option does not belong to it, or the error is asked for
            without replicates.

        Examples
        --------
        >>> import numpy as np
        >>> from nb26stats import OjaPCA, plotting
        >>> rows = np.random.default_rng(0).normal(size=(800, 5)) * [3, 2, 1, 1, 1]
        >>> pca = OjaPCA(n_components=2, n_bootstrap=99, random_state=0).fit(rows)
        >>> with plotting.style(offscreen=True):
        ...     axes = pca.plot(level=0.9)
        ...     scree = pca.plot("scree")
        >>> len(axes), scree.get_xlabel()
        (2, 'component')
        """
        kind = as_choice(kind, "kind", KINDS)
        options: dict[str, Any] = {
            "level": level,
            "align": align,
            "method": method,
            "components": components,
            "names": names,
            "groups": groups,
            "file_areas": file_areas,
            "feature": feature,
        }
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if name not in TAKES[kind]:
                raise ValueError(f"{name} has no meaning for kind={kind!r}")
        self._read()
        from nb26stats import plotting

        if kind == "loadings":
            return plotting.plot_components(self, ax, **given, **style)
        one: Any = ax
        if kind == "error":
            return plotting.plot_error_history(self, one, **given, **style)
        return plotting.plot_scree(self, one, **style)
