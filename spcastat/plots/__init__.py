"""Plots on matplotlib axes: each takes ``ax=``, draws, and returns the Axes.

They draw tables, such as those of other programs; results have methods of the same names. The function with
the suffix ``_data`` returns the plotted values as a table.
"""

from __future__ import annotations

from spcastat.plots.arrows import plot_correlations as plot_correlations
from spcastat.plots.arrows import plot_correlations_data as plot_correlations_data
from spcastat.plots.biplots import BiplotData as BiplotData
from spcastat.plots.biplots import biplot as biplot
from spcastat.plots.biplots import biplot_data as biplot_data
from spcastat.plots.kept_plots import plot_kept as plot_kept
from spcastat.plots.kept_plots import plot_kept_data as plot_kept_data
from spcastat.plots.kept_plots import plot_represented as plot_represented
from spcastat.plots.kept_plots import plot_represented_data as plot_represented_data
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
