"""Plots on matplotlib axes: every function accepts ``ax=``, draws, and returns the Axes.

The functions draw tables, which may come from other programs; results have methods with the same names. The
function with the suffix ``_data`` returns the plotted values as a table.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported on first use, see __getattr__
    from spcastat.plots.arrows import plot_correlations as plot_correlations
    from spcastat.plots.arrows import plot_correlations_data as plot_correlations_data
    from spcastat.plots.biplots import ARROWS as ARROWS
    from spcastat.plots.biplots import biplot as biplot
    from spcastat.plots.biplots import biplot_data as biplot_data
    from spcastat.plots.captions import BiplotData as BiplotData
    from spcastat.plots.cell_map import ROW_INCHES as ROW_INCHES
    from spcastat.plots.cell_map import CellMap as CellMap
    from spcastat.plots.cell_map import cell_map_of as cell_map_of
    from spcastat.plots.cell_map import checked_sizes as checked_sizes
    from spcastat.plots.cell_map import draw_cell_map as draw_cell_map
    from spcastat.plots.cell_map import limits_in as limits_in
    from spcastat.plots.drawing import axes_of_known_size as axes_of_known_size
    from spcastat.plots.drawing import write_note as write_note
    from spcastat.plots.kept_plots import plot_kept as plot_kept
    from spcastat.plots.kept_plots import plot_kept_data as plot_kept_data
    from spcastat.plots.kept_plots import plot_represented as plot_represented
    from spcastat.plots.kept_plots import plot_represented_data as plot_represented_data
    from spcastat.plots.loadings_plot import inches_in_one_column as inches_in_one_column
    from spcastat.plots.loadings_plot import inches_of as inches_of
    from spcastat.plots.loadings_plot import plot_loadings as plot_loadings
    from spcastat.plots.loadings_plot import plot_loadings_data as plot_loadings_data
    from spcastat.plots.measure_plots import plot_choice as plot_choice
    from spcastat.plots.measure_plots import plot_choice_data as plot_choice_data
    from spcastat.plots.measure_plots import plot_compare as plot_compare
    from spcastat.plots.measure_plots import plot_compare_data as plot_compare_data
    from spcastat.plots.measure_plots import plot_path as plot_path
    from spcastat.plots.measure_plots import plot_path_data as plot_path_data
    from spcastat.plots.measure_plots import screeplot as screeplot
    from spcastat.plots.measure_plots import screeplot_data as screeplot_data
    from spcastat.plots.score_panels import plot_coordinates as plot_coordinates
    from spcastat.plots.score_panels import plot_coordinates_data as plot_coordinates_data
    from spcastat.plots.score_panels import plot_scores as plot_scores
    from spcastat.plots.score_panels import plot_scores_data as plot_scores_data
    from spcastat.plots.score_plots import plot_diagnostics as plot_diagnostics
    from spcastat.plots.score_plots import plot_diagnostics_data as plot_diagnostics_data
    from spcastat.plots.slopes import plot_slopes as plot_slopes
    from spcastat.plots.slopes import plot_slopes_data as plot_slopes_data

#: Modules of this package -> names in them for users and for reports.
_OFFERED = {
    "arrows": ("plot_correlations", "plot_correlations_data"),
    "biplots": ("ARROWS", "biplot", "biplot_data"),
    "captions": ("BiplotData",),
    "cell_map": ("ROW_INCHES", "CellMap", "cell_map_of", "checked_sizes", "draw_cell_map", "limits_in"),
    "drawing": ("axes_of_known_size", "write_note"),
    "kept_plots": ("plot_kept", "plot_kept_data", "plot_represented", "plot_represented_data"),
    "loadings_plot": ("inches_in_one_column", "inches_of", "plot_loadings", "plot_loadings_data"),
    "measure_plots": (
        "plot_choice",
        "plot_choice_data",
        "plot_compare",
        "plot_compare_data",
        "plot_path",
        "plot_path_data",
        "screeplot",
        "screeplot_data",
    ),
    "score_panels": ("plot_coordinates", "plot_coordinates_data", "plot_scores", "plot_scores_data"),
    "score_plots": ("plot_diagnostics", "plot_diagnostics_data"),
    "slopes": ("plot_slopes", "plot_slopes_data"),
}
_MODULES = {name: module for module, names in _OFFERED.items() for name in names}

__all__ = [
    "BiplotData",
    "biplot",
    "biplot_data",
    "plot_choice",
    "plot_compare",
    "plot_coordinates",
    "plot_correlations",
    "plot_diagnostics",
    "plot_kept",
    "plot_loadings",
    "plot_path",
    "plot_represented",
    "plot_scores",
    "plot_slopes",
    "screeplot",
]


if not TYPE_CHECKING:  # so that type checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        """Import a function on first use, so that a fit without plots does not import Matplotlib."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        return globals()[name]


def __dir__() -> list[str]:
    """Return the names of the functions, imported or not."""
    return sorted({*__all__, *(name for name in _MODULES if name.endswith("_data"))})
