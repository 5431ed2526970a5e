"""Plots on matplotlib axes: ``ax`` in, Axes out, nothing shown; each has a twin that returns its data."""

from __future__ import annotations

from spcastat.plots._biplot_data import BiplotData, biplot_data
from spcastat.plots.biplot import biplot
from spcastat.plots.choice import plot_choice, plot_choice_data, plot_components, plot_components_data
from spcastat.plots.compare import plot_compare, plot_compare_data
from spcastat.plots.contributions import plot_contributions, plot_contributions_data
from spcastat.plots.coordinates import (
    plot_coordinates,
    plot_coordinates_data,
    plot_coordinates_path,
    plot_coordinates_path_data,
)
from spcastat.plots.correlations import plot_correlations, plot_correlations_data
from spcastat.plots.diagnostics import DiagnosticsData, plot_diagnostics, plot_diagnostics_data
from spcastat.plots.frequency import plot_frequency, plot_frequency_data
from spcastat.plots.loadings import plot_loadings, plot_loadings_data
from spcastat.plots.path import plot_path, plot_path_data
from spcastat.plots.reconstruction import plot_reconstruction, plot_reconstruction_data
from spcastat.plots.scores import plot_scores, plot_scores_data
from spcastat.plots.scree import screeplot, screeplot_data

__all__ = [
    "BiplotData",
    "DiagnosticsData",
    "biplot",
    "biplot_data",
    "plot_choice",
    "plot_choice_data",
    "plot_compare",
    "plot_compare_data",
    "plot_components",
    "plot_components_data",
    "plot_contributions",
    "plot_contributions_data",
    "plot_coordinates",
    "plot_coordinates_data",
    "plot_coordinates_path",
    "plot_coordinates_path_data",
    "plot_correlations",
    "plot_correlations_data",
    "plot_diagnostics",
    "plot_diagnostics_data",
    "plot_frequency",
    "plot_frequency_data",
    "plot_loadings",
    "plot_loadings_data",
    "plot_path",
    "plot_path_data",
    "plot_reconstruction",
    "plot_reconstruction_data",
    "plot_scores",
    "plot_scores_data",
    "screeplot",
    "screeplot_data",
]
