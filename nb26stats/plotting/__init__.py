"""Figures from result objects; matplotlib loads when the first figure is drawn.

Every ``plot_*`` function takes ``ax=None`` and matplotlib style keywords, returns the axes it drew
on, changes no setting and shows nothing: save with ``ax.figure.savefig(...)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nb26stats._lazy import attributes

if TYPE_CHECKING:
    from ._atoms import plot_atoms
    from ._behavior import plot_accuracy, plot_psychometric
    from ._blocks import accuracy_blocks, psychometric_points
    from ._colors import ARCHITECTURE_COLORS, ATOM_COLORS, OKABE_ITO, area_colors
    from ._components import plot_components
    from ._error_history import plot_error_history
    from ._estimands import plot_estimands
    from ._fdr_calibration import plot_fdr_calibration
    from ._learning_comparison import plot_comparison
    from ._learning_curve import plot_learning_curve
    from ._learning_profile import plot_profile
    from ._learning_weights import plot_learning_weights
    from ._pid import plot_pid
    from ._psth import plot_psth
    from ._raster import plot_raster
    from ._rates import mean_rates, plot_rates
    from ._responders import plot_responders
    from ._scree import plot_scree
    from ._style import style
    from ._two_areas import plot_two_areas
    from ._two_groups import plot_q_values, plot_two_groups
    from ._union import plot_union

_HOMES = {
    "ARCHITECTURE_COLORS": "_colors",
    "ATOM_COLORS": "_colors",
    "OKABE_ITO": "_colors",
    "accuracy_blocks": "_blocks",
    "area_colors": "_colors",
    "mean_rates": "_rates",
    "plot_accuracy": "_behavior",
    "plot_atoms": "_atoms",
    "plot_comparison": "_learning_comparison",
    "plot_components": "_components",
    "plot_error_history": "_error_history",
    "plot_estimands": "_estimands",
    "plot_fdr_calibration": "_fdr_calibration",
    "plot_learning_curve": "_learning_curve",
    "plot_learning_weights": "_learning_weights",
    "plot_pid": "_pid",
    "plot_profile": "_learning_profile",
    "plot_psth": "_psth",
    "plot_psychometric": "_behavior",
    "plot_q_values": "_two_groups",
    "plot_raster": "_raster",
    "plot_rates": "_rates",
    "plot_responders": "_responders",
    "plot_scree": "_scree",
    "plot_two_areas": "_two_areas",
    "plot_two_groups": "_two_groups",
    "plot_union": "_union",
    "psychometric_points": "_blocks",
    "style": "_style",
}

__all__ = [
    "ARCHITECTURE_COLORS",
    "ATOM_COLORS",
    "OKABE_ITO",
    "accuracy_blocks",
    "area_colors",
    "mean_rates",
    "plot_accuracy",
    "plot_atoms",
    "plot_comparison",
    "plot_components",
    "plot_error_history",
    "plot_estimands",
    "plot_fdr_calibration",
    "plot_learning_curve",
    "plot_learning_weights",
    "plot_pid",
    "plot_profile",
    "plot_psth",
    "plot_psychometric",
    "plot_q_values",
    "plot_raster",
    "plot_rates",
    "plot_responders",
    "plot_scree",
    "plot_two_areas",
    "plot_two_groups",
    "plot_union",
    "psychometric_points",
    "style",
]

__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
